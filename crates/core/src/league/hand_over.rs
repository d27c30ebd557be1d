//! The hand-over of moves (ruling 27): when dice are due, a referee hands over all moves of the match,
//! and gets the seed of the roll only once they are written down. From a roll on that ends the game
//! the result is fixed, whatever becomes of the referee.

use league_games::{Seat, Table, Turn};
use league_protocol::id::PlayerId;
use league_protocol::message::{
    ByPlayer, DrawRequest, DrawResponse, Evidence, HandedOver, MatchResult, MatchStatus,
    OpenedDraw, PlayerEvidence, SignedMove,
};
use league_protocol::secret::{ProofKey, Seed};
use league_protocol::sender::Agent;
use league_protocol::time::Timestamp;
use league_protocol::token::AuthToken;
use serde_json::Value;

use super::command::{Refusal, Reply};
use super::event::Event;
use super::report::{check_right, refused};
use super::roster::RefereeEntry;
use super::round::{FixtureStage, LeagueFixture};
use super::verify::{MAX_MOVES, ReportPart, ReportProblem};
use super::{AuthenticatedAgent, Decision, League};
use crate::draw::{self, MAX_NONCE_LENGTH};
use crate::played::{self, choices_of, roll_all};

const SEATS: [Seat; 2] = [Seat::A, Seat::B];

impl League {
    pub(crate) fn weigh_request(
        &self,
        at: Timestamp,
        caller: &AuthenticatedAgent,
        request: &DrawRequest,
    ) -> Result<Decision, Refusal> {
        let (number, referee) = self.calling_referee(caller)?;
        let fixture = self.reported(&request.match_id)?;
        check_right(fixture, number, request.attempt)?;
        self.check_order_token(fixture, referee, request.order_token.as_ref())?;
        let (handed, moves) = (fixture.handed_moves(), &request.moves[..]);
        let mut rolls = fixture.rolls().iter();
        if let Some(roll) = rolls.position(|(_, before)| handed[..*before] == *moves) {
            return Ok(Decision::reply(self.draw_response(fixture, roll)));
        }
        let goes_on = moves.starts_with(handed) && !fixture.is_fixed();
        let match_id = fixture.match_id.clone();
        let digest = self.digest(&(&request.match_id, request.attempt, moves));
        if !goes_on || fixture.stage == FixtureStage::Finished {
            let event = Event::ReportConflicted {
                match_id: match_id.clone(),
                referee: referee.id.clone(),
                digest: digest.clone(),
                at,
            };
            let refusal = Refusal::OtherMoves(match_id);
            return Ok(self.refuse(at, fixture, number, &digest, event, refusal));
        }
        match self.check_request(fixture, request) {
            Ok(last) => {
                let event = Event::MovesReceived {
                    match_id,
                    referee: referee.id.clone(),
                    attempt: fixture.attempt,
                    moves: moves.to_vec(),
                    last,
                    at,
                };
                let reply = self.draw_response(fixture, fixture.rolls().len());
                Ok(Decision::accept(vec![event], reply))
            }
            Err(problem) => {
                let event = self.refusal_event(at, fixture, referee, &digest, &problem);
                let refusal = Refusal::BadMoves { match_id, problem };
                Ok(self.refuse(at, fixture, number, &digest, event, refusal))
            }
        }
    }

    /// A refusal that is noted once and costs the referee the match, unless that is over: the referee
    /// would only say the same again.
    pub(crate) fn refuse(
        &self,
        at: Timestamp,
        fixture: &LeagueFixture,
        number: u32,
        digest: &str,
        event: Event,
        refusal: Refusal,
    ) -> Decision {
        let by_proof = matches!(
            event,
            Event::ReportRefused {
                problem: ReportProblem::Proof(_),
                ..
            }
        );
        let mut decision = refused(fixture, digest, event, refusal);
        if fixture.stage == FixtureStage::Finished {
            return decision;
        }
        // A wrong proof may be the player's fault: the referee cannot check it.
        if by_proof {
            decision.events.push(self.take_away(at, fixture, number));
        } else {
            decision.events.extend(self.lose(at, fixture, number));
        }
        decision
    }

    fn draw_response(&self, fixture: &LeagueFixture, roll: usize) -> Reply {
        Reply::Draw(DrawResponse {
            match_id: fixture.match_id.clone(),
            attempt: fixture.attempt,
            seed: self.roll_seed(fixture, &fixture.seed, roll),
        })
    }

    fn roll_seed(&self, fixture: &LeagueFixture, seed: &Seed, roll: usize) -> Seed {
        let roll = u32::try_from(roll).unwrap_or(u32::MAX);
        draw::roll_seed(seed, fixture.draw_attempt(), roll)
    }

    /// Checks that the order of this attempt was given to this referee.
    pub(crate) fn check_order_token(
        &self,
        fixture: &LeagueFixture,
        referee: &RefereeEntry,
        shown: Option<&AuthToken>,
    ) -> Result<(), Refusal> {
        let match_id = || fixture.match_id.clone();
        let shown = shown.map(AuthToken::hash);
        let shown = shown.ok_or_else(|| Refusal::OrderTokenMissing(match_id()))?;
        if shown == self.order_token(fixture, referee).hash() {
            Ok(())
        } else {
            Err(Refusal::OrderTokenInvalid(match_id()))
        }
    }

    pub(crate) fn order_token(&self, fixture: &LeagueFixture, referee: &RefereeEntry) -> AuthToken {
        let (league, secret) = (&self.rules.league_id, self.secrets.tokens.keyed());
        secret.order_token(league, &fixture.match_id, &referee.id, fixture.attempt)
    }

    /// Checks a hand-over; says whether the roll that is due ends the game.
    fn check_request(
        &self,
        fixture: &LeagueFixture,
        request: &DrawRequest,
    ) -> Result<bool, ReportProblem> {
        self.check_place(fixture, &request.league_id, request.round_id)?;
        let mut replay = self.check_moves(fixture, &request.moves)?;
        self.check_proofs(fixture, &request.moves, |seat, attempt| {
            self.proof_key(fixture, seat, attempt)
        })?;
        self.roll(fixture, &fixture.seed, &mut replay);
        Ok(matches!(replay.table.turn(), Turn::Over(_)))
    }

    /// Plays moves up to a roll that is due and whose seed was not given yet.
    pub(crate) fn check_moves<'m>(
        &self,
        fixture: &LeagueFixture,
        moves: &'m [SignedMove],
    ) -> Result<Replay<'m>, ReportProblem> {
        let replay = self.replay(fixture, moves, &fixture.seed)?;
        if replay.table.turn() == Turn::Dice {
            Ok(replay)
        } else {
            Err(ReportProblem::NoDraw)
        }
    }

    /// What a new referee of the match goes on from.
    pub(crate) fn handed_over(&self, fixture: &LeagueFixture) -> Option<HandedOver> {
        let handed = fixture.handed.as_ref()?;
        let seed = |roll| self.roll_seed(fixture, &fixture.seed, roll);
        Some(HandedOver {
            attempt: fixture.draw_attempt(),
            moves: handed.moves.clone(),
            seeds: (0..handed.rolls.len()).map(seed).collect(),
        })
    }

    /// The result that follows from the moves that are handed over, if they decide the match.
    pub(crate) fn settled(&self, fixture: &LeagueFixture, seed: &Seed) -> Option<MatchResult> {
        let moves = &fixture.handed.as_ref().filter(|handed| handed.last)?.moves;
        let replay = self.replay(fixture, moves, seed).ok()?;
        let players = self.seats_of(fixture)?.map(Clone::clone);
        let parts = MatchResult {
            status: MatchStatus::Draw,
            winner: None,
            points: [0; 2],
            failed: ByPlayer::new(),
            choices: self.choices_of(fixture, moves),
            details: serde_json::Map::new(),
            reason: String::new(),
            draw: Some(OpenedDraw {
                commitment: fixture.commitment,
                seed: Some(*seed),
                mode: self.rules.draws,
                attempt: fixture.draw_attempt(),
                nonces: replay.nonces.map(str::to_owned),
            }),
            evidence: Evidence {
                players: self.opened_keys(fixture, &Evidence::default()),
                moves: moves.clone(),
            },
            players,
        };
        played::ended(parts, &*replay.table, &self.rules.score)
    }

    pub(crate) fn choices_of(
        &self,
        fixture: &LeagueFixture,
        moves: &[SignedMove],
    ) -> ByPlayer<Value> {
        let players = self.seats_of(fixture).into_iter().flatten();
        choices_of(players, moves, self.opening.0.rules().hidden_moves)
    }
}

/// A game that is played again.
pub(crate) struct Replay<'m> {
    pub(crate) table: Box<dyn Table>,
    /// What each player put into the draw: the nonce of its first move, before the first roll.
    pub(crate) nonces: [&'m str; 2],
    pub(crate) rolls: usize,
}

impl League {
    /// Plays moves from the start, with all rolls whose seeds were given.
    pub(crate) fn replay<'m>(
        &self,
        fixture: &LeagueFixture,
        moves: &'m [SignedMove],
        seed: &Seed,
    ) -> Result<Replay<'m>, ReportProblem> {
        check_bounds(moves)?;
        let mut replay = Replay {
            table: self.opening.0.boxed_clone(),
            nonces: [""; 2],
            rolls: 0,
        };
        let mut moved = [false; 2];
        for made in moves {
            self.roll_given(fixture, seed, &mut replay);
            let seat = self.seat_of(fixture, &made.player_id)?;
            if !moved[seat] && replay.rolls == 0 {
                replay.nonces[seat] = made.nonce.as_deref().unwrap_or_default();
            }
            moved[seat] = true;
            let played = replay.table.play(SEATS[seat], &made.choice);
            played.map_err(|_| ReportProblem::Choices)?;
        }
        self.roll_given(fixture, seed, &mut replay);
        Ok(replay)
    }

    /// Rolls dice that are due, if their seed was given.
    fn roll_given(&self, fixture: &LeagueFixture, seed: &Seed, replay: &mut Replay<'_>) {
        if replay.rolls < fixture.rolls().len() {
            self.roll(fixture, seed, replay);
        }
    }

    fn roll(&self, fixture: &LeagueFixture, seed: &Seed, replay: &mut Replay<'_>) {
        if replay.table.turn() != Turn::Dice {
            return;
        }
        let seed = self.roll_seed(fixture, seed, replay.rolls);
        let (league, attempt) = (&self.rules.league_id, fixture.draw_attempt());
        let mut dice = draw::dice_of(league, &fixture.match_id, &seed, attempt, replay.nonces);
        roll_all(&mut *replay.table, &mut dice);
        replay.rolls += 1;
    }

    fn seat_of(&self, fixture: &LeagueFixture, player: &PlayerId) -> Result<usize, ReportProblem> {
        let seats = self.seats_of(fixture).into_iter().flatten();
        let seat = seats.into_iter().position(|seated| seated == player);
        seat.ok_or(ReportProblem::Choosers)
    }

    /// Checks the proofs of the players that sign, with the key of a seat in an attempt.
    pub(crate) fn check_proofs(
        &self,
        fixture: &LeagueFixture,
        moves: &[SignedMove],
        key: impl Fn(usize, u32) -> Option<ProofKey>,
    ) -> Result<(), ReportProblem> {
        let rules = self.opening.0.rules();
        let mut turns = [0; 2];
        for (place, made) in moves.iter().enumerate() {
            let seat = self.seat_of(fixture, &made.player_id)?;
            turns[seat] += 1;
            if !fixture.signs[seat] {
                continue;
            }
            let seen = moves.iter().take(rules.open_moves(place));
            let seen = seen.map(|made| (&made.player_id, &made.choice));
            let expected = key(seat, fixture.attempt_of(place)).map(|key| {
                let nonce = made.nonce.as_deref();
                draw::proof(&key, turns[seat], seen, &made.choice, nonce)
            });
            if expected.is_none() || made.proof != expected {
                return Err(ReportProblem::Proof(made.player_id.clone()));
            }
        }
        Ok(())
    }

    /// The key of a player's proofs in one attempt.
    fn proof_key(&self, fixture: &LeagueFixture, seat: usize, attempt: u32) -> Option<ProofKey> {
        let player = self.seats_of(fixture)?[seat].clone();
        let token = self.return_token_of(&Agent::Player(player), 0);
        let league = &self.rules.league_id;
        Some(draw::proof_key(&token, league, &fixture.match_id, attempt))
    }

    /// The keys of the players that sign, an entry for each attempt that has proofs; beside the last
    /// one what proves that the player joined, if it is true.
    pub(crate) fn opened_keys(
        &self,
        fixture: &LeagueFixture,
        told: &Evidence,
    ) -> Vec<PlayerEvidence> {
        let mut opened = Vec::new();
        for (seat, player) in self.seats_of(fixture).into_iter().flatten().enumerate() {
            if !fixture.signs[seat] {
                continue;
            }
            for attempt in fixture.signed_attempts() {
                let key = self.proof_key(fixture, seat, attempt);
                let join = told.of(player).and_then(|told| told.join);
                let is_now = attempt == fixture.attempt;
                let join =
                    join.filter(|join| is_now && key.as_ref().map(draw::join_proof) == Some(*join));
                opened.push(PlayerEvidence {
                    player_id: player.clone(),
                    join,
                    key,
                });
            }
        }
        opened
    }

    /// Checks that a result opens one key for each player that signs and each attempt, and that what
    /// it says of joining is true.
    pub(crate) fn check_opened(
        &self,
        fixture: &LeagueFixture,
        result: &MatchResult,
    ) -> Result<(), ReportProblem> {
        let attempts = fixture.signed_attempts();
        let key = |seat: usize, attempt: u32| {
            let place = attempts.iter().position(|known| *known == attempt)?;
            let player = &result.players[seat];
            let mut mine = result.evidence.players.iter();
            mine.by_ref()
                .filter(|known| known.player_id == *player)
                .nth(place)?
                .key
        };
        for known in &result.evidence.players {
            let proven = known.key.as_ref().map(draw::join_proof);
            if known.join.is_some() && known.join != proven {
                return Err(ReportProblem::Proof(known.player_id.clone()));
            }
        }
        for (seat, player) in result.players.iter().enumerate() {
            let whole = attempts.iter().all(|attempt| key(seat, *attempt).is_some());
            if fixture.signs[seat] && !whole {
                return Err(ReportProblem::Proof(player.clone()));
            }
        }
        self.check_proofs(fixture, &result.evidence.moves, key)
    }
}

fn check_bounds(moves: &[SignedMove]) -> Result<(), ReportProblem> {
    if moves.len() > 2 * MAX_MOVES {
        return Err(ReportProblem::TooLong(ReportPart::Choices));
    }
    let nonces = moves.iter().filter_map(|made| made.nonce.as_ref());
    if nonces
        .into_iter()
        .any(|nonce| nonce.len() > MAX_NONCE_LENGTH)
    {
        return Err(ReportProblem::TooLong(ReportPart::Nonces));
    }
    Ok(())
}
