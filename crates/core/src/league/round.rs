//! The round that is being played: its matches, who runs them, how far they are.

use std::collections::BTreeSet;
use std::sync::Arc;

use league_protocol::id::{MatchId, PlayerId, RefereeId};
use league_protocol::message::{
    AnnouncedMatch, MatchResult, MatchStatus, RoundSummary, Rows, SignedMove,
};
use league_protocol::secret::{Commitment, Seed};
use league_protocol::time::Timestamp;
use league_protocol::token::AuthToken;

use super::Derived;
use super::event::Doubt;
use super::schedule::Pairing;

/// How far a match is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FixtureStage {
    /// No referee can take it for now.
    Waiting,
    /// Its referee has others to run first.
    Queued,
    /// The referee has its order.
    Ordered,
    Running,
    /// The manager rules: a player is out of the league or proves no move, or the moves that decide
    /// are handed over and the referee failed.
    Unplayable,
    Finished,
}

/// A match of the present round, or of one just past.
#[derive(Debug, Clone, PartialEq)]
pub struct LeagueFixture {
    pub(crate) match_id: MatchId,
    pub(crate) pairing: Pairing,
    pub(crate) referee: Option<u32>,
    /// Referees that had it before, in order.
    pub(crate) former: Vec<u32>,
    pub(crate) attempt: u32,
    pub(crate) stage: FixtureStage,
    /// When it came to its present referee's hands, renewed when the order is accepted; or since when
    /// it waits for one.
    pub(crate) since: Timestamp,
    pub(crate) seed: Seed,
    pub(crate) commitment: Commitment,
    /// What its referee shows to seat A and seat B in this attempt.
    pub(crate) tokens: [AuthToken; 2],
    /// Which seats sign their moves.
    pub(crate) signs: [bool; 2],
    /// What referees have handed over.
    pub(crate) handed: Option<HandOver>,
    /// Why technical losses in it did not count; at most [`MAX_DOUBTS`].
    pub(crate) doubts: Vec<Doubt>,
    /// Players whose proofs were wrong, and who told so, once for each refused hand-over or report.
    pub(crate) unproven: Vec<(PlayerId, RefereeId)>,
    /// Which seats were told of this attempt; a restart tells them again.
    pub(crate) informed: [bool; 2],
    /// Until when its order waits for the acknowledgement of its announcements.
    pub(crate) held_until: Option<Timestamp>,
    /// Which seats do not know the result yet, though its referee or the manager tells them.
    pub(crate) untold: [bool; 2],
    /// A technical loss that waits for the word of its players; a restart asks for the report again.
    pub(crate) claim: Option<LossClaim>,
    /// A result without a proven draw, and when it is recorded unless another report differs.
    pub(crate) told: Option<(Arc<MatchResult>, Timestamp)>,
    /// Whether two told results differed: only a referee that proves its draws may run it.
    pub(crate) is_contested: bool,
    pub(crate) result: Option<Arc<MatchResult>>,
    /// The seconds by which the organiser extended its clock.
    pub(crate) extra_time: u32,
    /// Digests of reports that were turned down and noted.
    pub(crate) noted: Vec<String>,
}

/// The moves that the manager holds of a match.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HandOver {
    /// All moves, in the order of play.
    pub(crate) moves: Vec<SignedMove>,
    /// The attempt in which each roll was requested, and how many moves came before it; at least
    /// one roll.
    pub(crate) rolls: Vec<(u32, usize)>,
    /// Whether the last roll ends the game.
    pub(crate) last: bool,
}

/// A technical loss that waits for the word of its players.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LossClaim {
    pub(crate) result: Arc<MatchResult>,
    /// The players whose word is missing.
    pub(crate) open: Vec<PlayerId>,
    /// Whether its referee tells later that the players know the result.
    pub(crate) tells_later: bool,
}

/// So many wrong proofs cost a player the match if they come by two referees: those of one may be
/// its own fault.
const MAX_UNPROVEN: usize = 2;
/// So many do if the match has but one referee.
const MAX_UNPROVEN_BY_ONE: usize = 4;

/// How many technical losses of one match do not count: one that a referee could not reach its
/// player, and one that the player denies.
pub(crate) const MAX_DOUBTS: usize = 2;

/// How many bad or contradicting reports of one match are noted in the journal.
pub(crate) const MAX_NOTED_REPORTS: usize = 8;

impl LeagueFixture {
    pub fn match_id(&self) -> &MatchId {
        &self.match_id
    }

    /// Its place in the schedule.
    pub fn pairing(&self) -> Pairing {
        self.pairing
    }

    /// The number of referees ordered to run this match so far.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// How far it is.
    pub fn stage(&self) -> FixtureStage {
        self.stage
    }

    /// Whether the players at seat A and seat B sign their moves in it.
    pub fn signs(&self) -> [bool; 2] {
        self.signs
    }

    /// The promise on its draw.
    pub fn commitment(&self) -> Commitment {
        self.commitment
    }

    pub fn result(&self) -> Option<&Arc<MatchResult>> {
        self.result.as_ref()
    }

    /// Whether the organiser ended it without a result of its own.
    pub fn is_closed(&self) -> bool {
        self.stage == FixtureStage::Finished && self.result.is_none()
    }

    /// Whether its referee has the order and no result is recorded.
    pub fn is_started(&self) -> bool {
        matches!(self.stage, FixtureStage::Ordered | FixtureStage::Running)
    }

    /// The attempt that players are told of; before the first referee it is the first.
    pub(crate) fn announced_attempt(&self) -> u32 {
        self.attempt.saturating_add(u32::from(!self.was_given()))
    }

    /// Whether a referee was told to run it.
    pub(crate) fn was_given(&self) -> bool {
        self.attempt > 0
    }

    /// Whether the moves that are handed over decide it.
    pub(crate) fn is_fixed(&self) -> bool {
        self.handed.as_ref().is_some_and(|handed| handed.last)
    }

    /// Whether only a referee that proves its draws may run it: two told results differed, or moves
    /// were handed over that the next referee has to take up.
    pub(crate) fn needs_proof(&self) -> bool {
        self.is_contested || self.handed.is_some()
    }

    /// The moves that are handed over.
    pub(crate) fn handed_moves(&self) -> &[SignedMove] {
        self.handed.as_ref().map_or(&[], |handed| &handed.moves)
    }

    /// The rolls whose seeds were given.
    pub(crate) fn rolls(&self) -> &[(u32, usize)] {
        self.handed.as_ref().map_or(&[], |handed| &handed.rolls)
    }

    /// The attempt that its draw is made for: the first that requested one.
    pub(crate) fn draw_attempt(&self) -> u32 {
        self.rolls().first().map_or(self.attempt, |first| first.0)
    }

    /// The attempts whose keys prove its moves, in order; the present one is the last.
    pub(crate) fn signed_attempts(&self) -> Vec<u32> {
        let mut attempts: Vec<u32> = self.rolls().iter().map(|roll| roll.0).collect();
        attempts.push(self.attempt);
        attempts.dedup();
        attempts
    }

    /// The attempt in which the move at this place was made.
    pub(crate) fn attempt_of(&self, place: usize) -> u32 {
        let mut rolls = self.rolls().iter();
        let roll = rolls.find(|(_, moves)| place < *moves);
        roll.map_or(self.attempt, |roll| roll.0)
    }

    /// Whether a player has lost it because its proofs are wrong.
    pub(crate) fn is_unproven(&self, player: &PlayerId) -> bool {
        let wrong = self.unproven.iter().filter(|(wrong, _)| wrong == player);
        let referees: BTreeSet<&RefereeId> = wrong.clone().map(|(_, referee)| referee).collect();
        referees.len() >= MAX_UNPROVEN || wrong.count() >= MAX_UNPROVEN_BY_ONE
    }

    /// Whether one more technical loss may be doubted; a denial is heard once.
    pub(crate) fn may_doubt(&self, doubt: Doubt) -> bool {
        let heard = doubt == Doubt::Denied && self.doubts.contains(&doubt);
        self.doubts.len() < MAX_DOUBTS && !heard
    }

    pub(crate) fn may_note(&self, digest: &str) -> bool {
        self.noted.len() < MAX_NOTED_REPORTS && !self.noted.iter().any(|noted| noted == digest)
    }
}

/// A round of the league.
#[derive(Debug, Clone, PartialEq)]
pub struct LeagueRound {
    pub(crate) number: u32,
    pub(crate) fixtures: Vec<LeagueFixture>,
    pub(crate) open: u32,
    pub(crate) closed: bool,
    /// When it began.
    pub(crate) opened: Timestamp,
    pub(crate) summary: RoundSummary,
    /// Matches that no referee can take for now.
    pub(crate) waiting: BTreeSet<u32>,
    /// Matches that the manager has to rule.
    pub(crate) unplayable: BTreeSet<u32>,
    /// Told results that are not recorded yet, by the time when they are.
    pub(crate) told: BTreeSet<(Timestamp, u32)>,
    /// The matches as players are told them; forgotten when one moves, or a referee does.
    pub(super) announced: Derived<Rows<AnnouncedMatch>>,
}

impl LeagueRound {
    /// Which round, from 1.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Its matches in order.
    pub fn fixtures(&self) -> &[LeagueFixture] {
        &self.fixtures
    }

    /// How many matches have no result yet.
    pub fn open(&self) -> u32 {
        self.open
    }

    /// How the matches ended so far.
    pub fn summary(&self) -> RoundSummary {
        self.summary
    }

    pub(crate) fn fixture(&self, index: u32) -> Option<&LeagueFixture> {
        self.fixtures.get(index as usize)
    }

    pub(crate) fn fixture_mut(&mut self, index: u32) -> Option<&mut LeagueFixture> {
        self.fixtures.get_mut(index as usize)
    }

    /// Forgets a told result: it is recorded, or does not count.
    pub(crate) fn drop_told(&mut self, index: u32) {
        let told = self.fixture_mut(index).and_then(|own| own.told.take());
        if let Some((_, until)) = told {
            self.told.remove(&(until, index));
        }
    }

    pub(crate) fn count(&mut self, status: MatchStatus) {
        self.open = self.open.saturating_sub(1);
        match status {
            MatchStatus::Win => self.summary.wins += 1,
            MatchStatus::Draw => self.summary.draws += 1,
            MatchStatus::TechnicalLoss => self.summary.technical_losses += 1,
        }
    }
}

/// The round and place, from 1 and 0, that a match id names: `R2M1` is round 2, place 0.
pub(crate) fn read_match_id(match_id: &MatchId) -> Option<(u32, u32)> {
    let (round, number) = match_id.numbers()?;
    Some((round, number - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn match_id_has_one_spelling() {
        let read = |text: &str| read_match_id(&MatchId::new(text).unwrap());
        assert_eq!(read("R1M1"), Some((1, 0)));
        assert_eq!(read("R9999M5000"), Some((9_999, 4_999)));
        for other in [
            "R0M1", "R1M0", "R01M1", "R1M01", "r1m1", "R1", "M1", "R1M1x", "R1M-1",
        ] {
            assert_eq!(read(other), None, "{other}");
        }
        assert_eq!(read("R4294967296M1"), None);
    }
}
