//! The hand-over of moves (ruling 27): when dice are due, a referee hands over all moves of the match,
//! and gets the seed of the roll only once they are written down. From a roll on that ends the game
//! the result is fixed, whatever becomes of the referee.

use league_games::Turn;
use league_protocol::fault::Code;
use league_protocol::id::PlayerId;
use league_protocol::message::{
    ByPlayer, DrawRequest, DrawResponse, Evidence, HandedOver, MatchResult, PlayerEvidence,
    SignedMove,
};
use league_protocol::secret::{ProofKey, Seed};
use league_protocol::sender::Agent;
use league_protocol::time::Timestamp;
use league_protocol::token::AuthToken;

use super::command::{Refusal, Reply};
use super::event::Event;
use super::report::{check_right, refused};
use super::roster::RefereeEntry;
use super::round::{FixtureStage, LeagueFixture};
use super::verify::ReportProblem;
use super::{AuthenticatedAgent, Decision, League};
use crate::draw;
use crate::judge::{Draw, Judged, judge};

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
        self.check_moves(fixture, &request.moves)?;
        self.check_proofs(fixture, &request.moves, |seat, attempt| {
            self.proof_key(fixture, seat, attempt)
        })?;
        let rolls = fixture.rolls().len() + 1;
        let drawn = (&fixture.seed, rolls);
        let judged = self.judged(fixture, drawn, &request.moves, &ByPlayer::new())?;
        Ok(matches!(judged, Judged::Over(_)))
    }

    /// Checks that moves lead to a roll that is due and whose seed was not given yet.
    pub(crate) fn check_moves(
        &self,
        fixture: &LeagueFixture,
        moves: &[SignedMove],
    ) -> Result<(), ReportProblem> {
        let drawn = (&fixture.seed, fixture.rolls().len());
        match self.judged(fixture, drawn, moves, &ByPlayer::new())? {
            Judged::Going(Turn::Dice) => Ok(()),
            Judged::Going(_) | Judged::Over(_) => Err(ReportProblem::NoDraw),
        }
    }

    /// Judges a match with the first rolls of a seed.
    pub(crate) fn judged(
        &self,
        fixture: &LeagueFixture,
        (seed, rolls): (&Seed, usize),
        moves: &[SignedMove],
        failed: &ByPlayer<Code>,
    ) -> Result<Judged, ReportProblem> {
        let players = self.seats_of(fixture).ok_or(ReportProblem::Choosers)?;
        let roll = |roll| self.roll_seed(fixture, seed, roll);
        let draw = Draw {
            league: &self.rules.league_id,
            match_id: &fixture.match_id,
            commitment: fixture.commitment,
            mode: self.rules.draws,
            attempt: fixture.draw_attempt(),
            seed: Some(*seed),
            rolls: (0..rolls).map(roll).collect(),
        };
        let (game, players) = (&*self.opening.0, players.map(Clone::clone));
        judge(game, &draw, &players, moves, failed, &self.rules.score)
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
