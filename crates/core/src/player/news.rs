//! How a player handles notices of the league and its matches.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use league_protocol::fault::Code;
use league_protocol::finding::harmless;
use league_protocol::id::{LeagueId, MatchId, PlayerId};
use league_protocol::message::{
    CallQuery, CallQueryResponse, GameError, GameOver, LeagueCompleted, MatchResult, MatchStatus,
    PlayValidation, RoundAnnouncement, Rows, StandingRow,
};
use league_protocol::secret::{Commitment, ProofKey};
use league_protocol::time::Timestamp;
use league_protocol::token::TokenHash;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Decision;
use super::Player;
use super::command::{PlayerNotice, Refusal, Reply};
use super::event::Event;
use super::memory::{MatchOutcome, MatchRecord};
use super::play::CallWatch;
use crate::draw::{have_shares, keeps_promise};

type Facts = Result<Vec<Event>, Refusal>;

impl Player {
    pub(crate) fn told(
        &self,
        at: Timestamp,
        news: &PlayerNotice,
        token: Option<&TokenHash>,
    ) -> Result<Decision, Refusal> {
        if is_from_manager(news) {
            self.prove_manager(token)?;
        }
        let events = match news {
            PlayerNotice::LeagueStart(start) => {
                self.is_my_league(&start.league_id).map(|()| Vec::new())
            }
            PlayerNotice::RoundAnnouncement(announcement) => self.announced(announcement),
            PlayerNotice::StandingsUpdate(update) => {
                self.ranked(&update.league_id, &update.standings)
            }
            PlayerNotice::RoundCompleted(round) => self.ranked(&round.league_id, &round.standings),
            PlayerNotice::LeagueCompleted(end) => self.league_completed(at, end),
            PlayerNotice::GameStart(start) => self
                .prove(&start.league_id, &start.match_id, token)
                .map(|()| Vec::new()),
            PlayerNotice::PlayValidation(validation) => self.validated(validation, token),
            PlayerNotice::GameError(error) => self.failed(at, error, token),
            PlayerNotice::GameOver(over) => self.game_over(at, over, token),
        }?;
        Ok(Decision::accept(events, Reply::Acknowledged))
    }

    /// Lets a caller pass that shows the manager's token, or anyone while none is known.
    fn prove_manager(&self, token: Option<&TokenHash>) -> Result<(), Refusal> {
        match (self.manager_token(), token) {
            (None, _) => Ok(()),
            (Some(known), Some(shown)) if known == *shown => Ok(()),
            (Some(_), Some(_)) => Err(Refusal::WrongManagerToken),
            (Some(_), None) => Err(Refusal::NoManagerToken),
        }
    }

    fn announced(&self, announcement: &RoundAnnouncement) -> Facts {
        self.is_my_league(&announcement.league_id)?;
        let Some(own) = &announcement.own else {
            return Ok(Vec::new());
        };
        let (match_id, token) = (own.match_id.clone(), own.token.hash());
        match self.announced.find(&match_id) {
            Some(before) if before.attempt > own.attempt => Ok(Vec::new()),
            Some(before)
                if before.attempt == own.attempt
                    && before.token == token
                    && before.referee_token == own.referee_token =>
            {
                Ok(Vec::new())
            }
            Some(before) if before.attempt == own.attempt && before.token != token => {
                Err(Refusal::AnnouncedOtherwise { match_id })
            }
            // A new attempt, or a referee that came back with another token of its own: nothing
            // that was said before counts in it.
            Some(_) | None => Ok(vec![
                Event::Announced {
                    round_id: announcement.round_id,
                    match_id: match_id.clone(),
                    attempt: own.attempt,
                    token,
                    referee_token: own.referee_token,
                    commitment: promise(announcement, &match_id),
                },
                Event::AttemptWatched { match_id },
            ]),
        }
    }

    /// Tells the manager whether a referee has called. A player that has not seen the whole attempt
    /// cannot deny it.
    pub(crate) fn call_queried(
        &self,
        query: &CallQuery,
        token: Option<&TokenHash>,
    ) -> Result<Decision, Refusal> {
        self.prove_manager(token)?;
        self.is_my_league(&query.league_id)?;
        let announced = self.announced.find(&query.match_id);
        let uncalled = announced.is_some_and(|known| {
            known.attempt == query.attempt && known.watch == CallWatch::Uncalled
        });
        Ok(Decision::reply(Reply::Called(Box::new(
            CallQueryResponse {
                match_id: query.match_id.clone(),
                attempt: query.attempt,
                called: !uncalled,
            },
        ))))
    }

    fn ranked(&self, league_id: &LeagueId, standings: &Rows<StandingRow>) -> Facts {
        self.is_my_league(league_id)?;
        // The end of a round tells the table once more.
        if standings.is_empty() || self.standings.as_ref() == Some(standings) {
            return Ok(Vec::new());
        }
        Ok(vec![Event::Ranked {
            standings: standings.clone(),
        }])
    }

    fn league_completed(&self, at: Timestamp, end: &LeagueCompleted) -> Facts {
        self.is_my_league(&end.league_id)?;
        let league_id = self.league_id().unwrap_or(&end.league_id);
        if self.completed.as_ref() == Some(league_id) {
            return Ok(Vec::new());
        }
        let champion = end.champion.as_ref();
        Ok(vec![
            Event::Ranked {
                standings: end.final_standings.clone(),
            },
            Event::LeagueCompleted {
                league_id: league_id.clone(),
                champion: champion.map(|champion| champion.player_id.clone()),
                at,
            },
        ])
    }

    fn validated(&self, validation: &PlayValidation, token: Option<&TokenHash>) -> Facts {
        self.prove(&validation.league_id, &validation.match_id, token)?;
        let mine = self.player_id() == Some(&validation.player_id);
        if mine && validation.error.is_some() {
            Ok(self.move_refused(&validation.match_id))
        } else {
            Ok(Vec::new())
        }
    }

    fn failed(&self, at: Timestamp, error: &GameError, token: Option<&TokenHash>) -> Facts {
        self.prove(&error.league_id, &error.match_id, token)?;
        self.is_me(&error.player_id)?;
        match error.code {
            Code::InvalidMove => Ok(self.move_refused(&error.match_id)),
            Code::TokenInvalid => Ok(self.token_doubted(at, &error.match_id)),
            _ => Ok(Vec::new()),
        }
    }

    fn move_refused(&self, match_id: &MatchId) -> Vec<Event> {
        match self.tables.get(match_id) {
            Some(table) if table.has_moves() => vec![Event::MoveRefused {
                match_id: match_id.clone(),
            }],
            Some(_) | None => Vec::new(),
        }
    }

    /// A fresh registration, once for each match that complains; only a referee that showed the
    /// announced token can bring it about.
    fn token_doubted(&self, at: Timestamp, match_id: &MatchId) -> Vec<Event> {
        let proven = self.announced.token(match_id).is_some();
        let before = self.doubted.as_ref() == Some(match_id);
        if !proven || before || !self.contact.is_quiet() {
            return Vec::new();
        }
        let mut events = vec![Event::TokenDoubted {
            match_id: match_id.clone(),
        }];
        events.extend(self.register(at).events);
        events
    }

    fn game_over(&self, at: Timestamp, over: &GameOver, token: Option<&TokenHash>) -> Facts {
        match self.ended(at, over, token) {
            // An unguarded player acknowledges a nonsensical result and ignores it; an error would
            // only stop a foreign league.
            Err(
                Refusal::NotSeated { .. } | Refusal::NotPlayed { .. } | Refusal::NoWinner { .. },
            ) if !self.is_guarded() && self.announced.token(&over.match_id).is_none() => {
                let still_here = self.tables.get(&over.match_id).is_some();
                let left = still_here.then(|| left(&over.match_id));
                Ok(left.into_iter().collect())
            }
            ended => ended,
        }
    }

    fn ended(&self, at: Timestamp, over: &GameOver, token: Option<&TokenHash>) -> Facts {
        match self.prove(&over.league_id, &over.match_id, token) {
            // A referee that crashed after the match has lost the token; opening the manager's
            // commitment proves it as well.
            Err(Refusal::NoToken { .. }) if self.opens_promise(over) => {}
            proved => proved?,
        }
        self.is_me(&over.receiver)?;
        let record = self.record(at, over)?;
        if self.memory.knows_end_of(over.round_id, &over.match_id) {
            let still_here = self.tables.get(&over.match_id).is_some();
            return Ok(still_here
                .then(|| left(&over.match_id))
                .into_iter()
                .collect());
        }
        let announced = self.announced.token(&over.match_id).is_some();
        if !announced && self.tables.get(&over.match_id).is_none() {
            let match_id = over.match_id.clone();
            return Err(Refusal::NotPlayed { match_id });
        }
        let problem = self.draw_problem(over).filter(|problem| {
            *problem != DrawProblem::NotOpened || !self.is_own_token(over, token)
        });
        let disputed = problem.map(|problem| Event::DrawDisputed {
            match_id: over.match_id.clone(),
            problem,
            at,
        });
        let record = Arc::new(record);
        let remembered = Event::Remembered { record };
        Ok(disputed.into_iter().chain([remembered]).collect())
    }

    /// Whether the referee shows its own token: then the manager knows that it opens no draw.
    fn is_own_token(&self, over: &GameOver, token: Option<&TokenHash>) -> bool {
        let announced = self.announced.find(&over.match_id);
        let own = announced.and_then(|announced| announced.referee_token.as_ref());
        own.is_some() && own == token
    }

    fn record(&self, at: Timestamp, over: &GameOver) -> Result<MatchRecord, Refusal> {
        let (own, result) = (&over.receiver, &over.result);
        let match_id = || over.match_id.clone();
        let (opponent_id, points) = opposite(result, own).ok_or_else(|| Refusal::NotSeated {
            own: own.clone(),
            match_id: match_id(),
        })?;
        let league_id = self.league_id().unwrap_or(&over.league_id);
        let is_technical = result.status == MatchStatus::TechnicalLoss;
        Ok(MatchRecord {
            league_id: league_id.clone(),
            round_id: over.round_id,
            match_id: match_id(),
            game_type: over.game_type.clone(),
            opponent_id: self.opponent_in(&over.match_id, opponent_id),
            result: verdict(result, own).ok_or_else(|| Refusal::NoWinner {
                match_id: match_id(),
            })?,
            points,
            my_choice: choice(result, own),
            opponent_choice: choice(result, opponent_id),
            reason: is_technical.then(|| harmless(&result.reason, MAX_REASON_CHARS)),
            failure: result.failed.get(own).copied(),
            at,
        })
    }
}

/// The promise that is announced for a match.
fn promise(announcement: &RoundAnnouncement, match_id: &MatchId) -> Option<Commitment> {
    let mut rows = announcement.matches.iter();
    rows.find(|row| row.match_id == *match_id)?.commitment
}

/// Whether the manager tells this, and not a referee.
const fn is_from_manager(news: &PlayerNotice) -> bool {
    match news {
        PlayerNotice::LeagueStart(_)
        | PlayerNotice::RoundAnnouncement(_)
        | PlayerNotice::StandingsUpdate(_)
        | PlayerNotice::RoundCompleted(_)
        | PlayerNotice::LeagueCompleted(_) => true,
        PlayerNotice::GameStart(_)
        | PlayerNotice::PlayValidation(_)
        | PlayerNotice::GameError(_)
        | PlayerNotice::GameOver(_) => false,
    }
}

fn left(match_id: &MatchId) -> Event {
    Event::Left {
        match_id: match_id.clone(),
    }
}

/// Who sat opposite a player, and the player's points; `None` if it had no seat.
fn opposite<'a>(result: &'a MatchResult, own: &PlayerId) -> Option<(&'a PlayerId, u32)> {
    let [a, b] = &result.players;
    let [points_a, points_b] = result.points;
    if a == own {
        Some((b, points_a))
    } else if b == own {
        Some((a, points_b))
    } else {
        None
    }
}

/// What a player chose; some dialects write `null` where nothing came.
fn choice(result: &MatchResult, player: &PlayerId) -> Option<Value> {
    let choice = result.choices.get(player);
    choice.filter(|choice| !choice.is_null()).cloned()
}

/// A result from a player's side; `None` for a win without a winner.
///
/// Not every dialect names who failed to play, so a technical loss is everyone's but the winner's.
fn verdict(result: &MatchResult, own: &PlayerId) -> Option<MatchOutcome> {
    let won = result.winner.as_ref() == Some(own);
    match result.status {
        MatchStatus::Draw => Some(MatchOutcome::Draw),
        MatchStatus::Win | MatchStatus::TechnicalLoss if won => Some(MatchOutcome::Win),
        MatchStatus::Win => result.winner.as_ref().map(|_| MatchOutcome::Loss),
        MatchStatus::TechnicalLoss => Some(MatchOutcome::TechnicalLoss),
    }
}

/// The most characters of a reason that are remembered.
const MAX_REASON_CHARS: usize = 300;

/// How many attempts at a match have their keys checked: so many of the last, and of the first.
const MAX_KEYS: u32 = 1_000;

/// How many disputed draws are shown; one more drops the oldest. The journal holds them all.
pub const SHOWN_DISPUTES: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DrawProblem {
    /// A promise was announced, and nothing is opened.
    NotOpened,
    /// The opened seed belongs to another promise than the one announced.
    PromiseBroken,
    /// The share of this player is none that it sent.
    NonceChanged,
    /// A move of this player is another than it made, or is left out.
    MoveChanged,
    /// The key that is opened for this player is not its own.
    KeyChanged,
    /// A referee asked for a move with options, a view or moves that the rules do not lead to.
    FalseQuestion,
}

/// The problem in words for people.
impl fmt::Display for DrawProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotOpened => "it was announced with a commitment and never opened",
            Self::PromiseBroken => "the opened seed does not fit the commitment of the round",
            Self::NonceChanged => "it does not use the nonce that this player sent",
            Self::MoveChanged => "it does not hold the moves that this player made",
            Self::KeyChanged => "the key that was opened for this player is not its own",
            Self::FalseQuestion => {
                "its referee asked with options, a view or moves that the rules do not lead to"
            }
        })
    }
}

/// The latest draws that this player does not believe.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Disputes(VecDeque<(MatchId, DrawProblem)>);

impl Disputes {
    pub(crate) fn add(&mut self, match_id: &MatchId, problem: DrawProblem) {
        self.0.push_back((match_id.clone(), problem));
        if self.0.len() > SHOWN_DISPUTES {
            self.0.pop_front();
        }
    }

    pub(crate) fn contains(&self, match_id: &MatchId, problem: DrawProblem) -> bool {
        let mut known = self.0.iter();
        known.any(|known| known.0 == *match_id && known.1 == problem)
    }

    pub(crate) fn list(&self) -> Vec<(MatchId, DrawProblem)> {
        self.0.iter().cloned().collect()
    }
}

impl Player {
    /// Whether an end opens the promise that was made on the draw of its match.
    pub(crate) fn opens_promise(&self, over: &GameOver) -> bool {
        let promised = self.announced.commitment(&over.match_id).is_some();
        promised && self.draw_problem(over).is_none()
    }

    /// Checks the draw of a finished match and what stands there as this player's own, as far as
    /// this player can tell.
    ///
    /// After a restart the player does not know its earlier moves.
    pub(crate) fn draw_problem(&self, over: &GameOver) -> Option<DrawProblem> {
        self.promise_problem(over)
            .or_else(|| self.share_problem(over))
            .or_else(|| self.evidence_problem(over))
    }

    fn promise_problem(&self, over: &GameOver) -> Option<DrawProblem> {
        self.announced.commitment(&over.match_id)?;
        let opened = over.result.draw.as_ref();
        let Some(opened) = opened.filter(|opened| opened.seed.is_some()) else {
            return Some(DrawProblem::NotOpened);
        };
        let kept = self
            .announced
            .is_promised(&over.match_id, opened.commitment)
            && keeps_promise(&over.league_id, &over.match_id, opened);
        (!kept).then_some(DrawProblem::PromiseBroken)
    }

    fn share_problem(&self, over: &GameOver) -> Option<DrawProblem> {
        // Without a draw no share is used.
        if over.result.status == MatchStatus::TechnicalLoss {
            return None;
        }
        let opened = over.result.draw.as_ref()?;
        let seat = usize::from(over.result.players[1] == over.receiver);
        let sent = self.tables.get(&over.match_id)?.nonces();
        let counts = have_shares(&over.game_type, &over.result)[seat];
        let changed = counts && !sent.is_empty() && !sent.contains(&opened.nonces[seat]);
        changed.then_some(DrawProblem::NonceChanged)
    }

    fn evidence_problem(&self, over: &GameOver) -> Option<DrawProblem> {
        let evidence = &over.result.evidence;
        let mut keys = evidence
            .players
            .iter()
            .filter(|known| known.player_id == over.receiver)
            .filter_map(|own| own.key);
        if keys.any(|key| !self.is_own_key(over, &key)) {
            return Some(DrawProblem::KeyChanged);
        }
        // Not every referee shows the moves.
        if evidence.moves.is_empty() {
            return None;
        }
        let shown = evidence
            .moves
            .iter()
            .filter(|made| made.player_id == over.receiver);
        let shown: Vec<_> = shown.collect();
        let announced = self.announced.find(&over.match_id);
        let is_first = announced.is_none_or(|announced| announced.attempt <= 1);
        let mut answers = self.tables.get(&over.match_id)?.answers();
        let changed = answers.any(|(turn, answer)| {
            let place = (turn as usize).saturating_sub(1);
            match shown.get(place) {
                Some(made) => made.choice != answer.choice || made.nonce != answer.nonce,
                // A later attempt may have ended without this move; only a player that signs is told
                // of attempts.
                None => {
                    let is_played = over.result.status != MatchStatus::TechnicalLoss;
                    is_played && is_first && answer.proof.is_some()
                }
            }
        });
        changed.then_some(DrawProblem::MoveChanged)
    }

    /// Whether a key is that of this player's proofs. A match that went on with another referee
    /// shows the keys of earlier attempts too.
    fn is_own_key(&self, over: &GameOver, key: &ProofKey) -> bool {
        let announced = self.announced.find(&over.match_id);
        // Without its return token or an attempt the player cannot tell.
        let Some(announced) = announced.filter(|_| self.return_token.is_some()) else {
            return true;
        };
        let last = announced.attempt;
        let first = last.saturating_sub(MAX_KEYS).max(1);
        (first..=last).any(|attempt| self.proof_key(&over.match_id, attempt).as_ref() == Some(key))
    }
}
