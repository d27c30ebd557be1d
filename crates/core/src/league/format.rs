//! Formats: who meets whom next, or that the league is over.
//!
//! A format is a pure function from the players, the settings and the results so far. It has one
//! file in this folder and one line in `FORMATS`; machine, journal, pages and checks know only
//! `FormatRule`. Rounds that follow from results are written in the journal when they begin, and
//! the audit of a journal works them out again.

mod arena;
mod bracket;
mod double_elimination;
mod gauntlet;
mod groups;
mod ladder;
mod matching;
mod round_robin;
mod swiss;
mod view;

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

use super::schedule::Pairing;
use super::standings::{MatchEnding, PlayerTally, Standings};
use super::tiebreak::Tiebreaker;

pub(crate) use ladder::{Positions, SettledMatch};
pub use round_robin::{RoundRobin, Sides};
pub use view::{
    BracketPart, BracketPlace, BracketTie, FormatView, GroupRow, GroupTable, LadderPlace,
};

/// Every format, the usual one first.
static FORMATS: &[&dyn FormatRule] = &[
    &round_robin::AllAgainstAll,
    &swiss::Swiss,
    &bracket::KNOCKOUT,
    &double_elimination::DOUBLE_ELIMINATION,
    &groups::Groups,
    &gauntlet::Gauntlet,
    &ladder::Ladder,
    &arena::Arena,
];

/// The rules of a format.
pub(crate) trait FormatRule: Sync {
    /// The name in settings and commands.
    fn name(&self) -> &'static str;

    /// The name in sentences.
    fn title(&self) -> &'static str;

    /// The fewest players.
    fn min_players(&self) -> u32 {
        2
    }

    /// Refuses settings that cannot work; the number of players is at least the fewest.
    fn check(&self, plan: &FormatPlan) -> Result<(), FormatError>;

    /// Whether it takes a number of groups.
    fn has_groups(&self) -> bool {
        false
    }

    /// After which time no match begins; `None` if results alone end the league.
    fn duration(&self, _: &FormatPlan) -> Option<Duration> {
        None
    }

    /// How many rounds there are, unless draws or absent players change it.
    fn rounds(&self, plan: &FormatPlan) -> u32;

    /// How many rounds there can be.
    fn max_rounds(&self, plan: &FormatPlan) -> u32 {
        self.rounds(plan)
    }

    /// How many matches there are, unless draws or absent players change it.
    fn total_matches(&self, plan: &FormatPlan) -> u64;

    /// All rounds, if they do not depend on results.
    fn computed(&self, _: &FormatPlan) -> Option<RoundRobin> {
        None
    }

    /// How many rounds count by a table, which is settled when the last of them is over. The results
    /// of each later round are settled when the next begins, and each of its matches has a winner to
    /// find.
    fn table_rounds(&self, _: &FormatPlan) -> u32 {
        0
    }

    /// Takes a round that is settled into what the format keeps of settled rounds, so that it need not
    /// look at them again.
    fn settle(&self, _: &mut Positions, _round: &[SettledMatch], _players: u32) {}

    /// How many matches a round has at most.
    fn matches_a_round(&self, plan: &FormatPlan) -> u32 {
        plan.players / 2
    }

    /// The pairings of the next round; `None` if the league is over.
    fn next_round(&self, so_far: &SoFar<'_>) -> Option<NextRound>;

    /// The matches that join the round that is played, in a format whose rounds grow; `None` if none
    /// can before something else happens.
    fn joining(&self, _: &SoFar<'_>) -> Option<Joining> {
        None
    }

    /// The usual order of its table.
    fn tiebreakers(&self) -> &'static [Tiebreaker] {
        &Tiebreaker::USUAL
    }

    /// How far each player has come, if that counts before points.
    fn progress(&self, _: &SoFar<'_>) -> Option<Vec<u32>> {
        None
    }

    /// Whether a player that comes after so many rounds can still play.
    fn takes_late_entrants(&self, _: &FormatPlan, _rounds: u32) -> bool {
        false
    }

    /// What shows the league beside its table.
    fn views(&self, _: &SoFar<'_>) -> Vec<FormatView> {
        vec![FormatView::CrossTable]
    }
}

/// A format by its name.
#[derive(Clone, Copy)]
pub struct Format(&'static dyn FormatRule);

impl Format {
    /// Finds a format by the name in settings.
    pub fn find(name: &str) -> Option<Self> {
        Self::all().find(|format| format.name() == name)
    }

    /// Every format, the usual one first.
    pub fn all() -> impl Iterator<Item = Self> {
        FORMATS.iter().map(|rule| Self(*rule))
    }

    /// The name in settings and commands.
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// The name in sentences.
    pub fn title(self) -> &'static str {
        self.0.title()
    }

    /// The usual order of its table.
    pub fn tiebreakers(self) -> &'static [Tiebreaker] {
        self.0.tiebreakers()
    }

    /// Whether players may come after the start.
    pub fn takes_late_entrants(self) -> bool {
        let plan = FormatPlan::default();
        self.0.takes_late_entrants(&plan, 0)
    }

    /// The formats in which players may come after the start, in a sentence.
    pub(crate) fn late_ones() -> String {
        let late = Self::all().filter(|format| format.takes_late_entrants());
        let titles: Vec<String> = late.map(|format| format!("a {}", format.title())).collect();
        let last = titles.len().saturating_sub(1);
        match titles.split_at(last) {
            ([], last) => last.concat(),
            (first, last) => format!("{} or {}", first.join(", "), last.concat()),
        }
    }

    pub(crate) fn rule(self) -> &'static dyn FormatRule {
        self.0
    }
}

impl Default for Format {
    fn default() -> Self {
        Self(FORMATS[0])
    }
}

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Format {}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for Format {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Format {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::find(&name).ok_or_else(|| {
            let names: Vec<String> = Self::all().map(|it| format!("`{}`", it.name())).collect();
            serde::de::Error::custom(format!("one of {}, not `{name}`", names.join(", ")))
        })
    }
}

/// The settings of a format, and how many players begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FormatPlan {
    pub format: Format,
    pub players: u32,
    /// How many of the players came after the start.
    pub late: u32,
    /// How many games two players have each time they meet; in a bracket, how many a tie has at
    /// most unless it is level.
    pub legs: u32,
    /// How many rounds there are; `None` for as many as the format needs.
    pub rounds: Option<u32>,
    /// How many groups there are; `None` for as many as suit the players.
    pub groups: Option<u32>,
    /// After which time no match begins.
    pub duration: Option<Duration>,
    pub sides: Sides,
}

impl Default for FormatPlan {
    fn default() -> Self {
        Self {
            format: Format::default(),
            players: 0,
            late: 0,
            legs: 1,
            rounds: None,
            groups: None,
            duration: None,
            sides: Sides::AsPrinted,
        }
    }
}

impl FormatPlan {
    /// Refuses what the format cannot do.
    pub fn check(&self) -> Result<(), FormatError> {
        let (format, min, found) = (self.format.title(), self.min_players(), self.players);
        if found < min {
            return Err(FormatError::Players { format, min, found });
        }
        let most = RoundRobin::MAX_LEGS;
        if !(1..=most).contains(&self.legs) {
            return Err(FormatError::Legs(self.legs));
        }
        if self.groups.is_some() && !self.format.0.has_groups() {
            return Err(FormatError::NotTaken(format, "groups"));
        }
        if self.duration.is_some() && self.format.0.duration(self).is_none() {
            return Err(FormatError::NotTaken(format, "duration"));
        }
        if self.duration == Some(Duration::ZERO) {
            return Err(FormatError::NoDuration(format));
        }
        self.format.0.check(self)
    }

    /// Refuses settings that the format cannot work with, whatever the number of players.
    pub fn check_settings(&self) -> Result<(), FormatError> {
        let most = RoundRobin::MAX_PLAYERS;
        Self {
            players: most,
            ..*self
        }
        .check()
    }

    /// The fewest players that the format takes.
    pub fn min_players(&self) -> u32 {
        self.format.0.min_players()
    }

    /// How many rounds are planned.
    pub fn rounds(&self) -> u32 {
        self.format.0.rounds(self)
    }

    /// How many rounds there can be, whatever the results are.
    pub fn max_rounds(&self) -> u32 {
        self.format.0.max_rounds(self)
    }

    /// How many matches a round has at most.
    pub fn matches_a_round(&self) -> u32 {
        self.format.0.matches_a_round(self)
    }

    /// Whether matches join a round while it is played.
    pub fn has_growing_rounds(&self) -> bool {
        self.matches_a_round() > self.players / 2
    }

    /// Whether neither rounds nor time end it.
    pub fn is_endless(&self) -> bool {
        self.max_rounds() == u32::MAX && self.ends_after().is_none()
    }

    /// How many matches are planned.
    pub fn total_matches(&self) -> u64 {
        self.format.0.total_matches(self)
    }

    /// After which time no match begins; `None` if results alone end the league.
    pub fn ends_after(&self) -> Option<Duration> {
        self.format.0.duration(self)
    }

    /// Takes in a player after so many rounds; returns how many matches the plan has more.
    pub fn admit(&mut self, rounds: u32) -> u64 {
        let before = self.total_matches();
        (self.players, self.late) = (self.players + 1, self.late + 1);
        let more = self.total_matches().saturating_sub(before);
        let all = self.rounds().max(1);
        more * u64::from(all.saturating_sub(rounds)) / u64::from(all)
    }

    pub(crate) fn computed(&self) -> Option<RoundRobin> {
        self.format.0.computed(self)
    }

    fn must_have_no_rounds(&self) -> Result<(), FormatError> {
        match self.rounds {
            None => Ok(()),
            Some(_) => Err(FormatError::OwnRounds(self.format.title())),
        }
    }

    fn must_have_one_leg(&self) -> Result<(), FormatError> {
        match self.legs {
            1 => Ok(()),
            _ => Err(FormatError::NotTaken(self.format.title(), "legs")),
        }
    }
}

/// Settings that a format cannot work with.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FormatError {
    #[error(
        "a {format} has at least {min} players, not {found}: expect more, or choose another format"
    )]
    Players {
        format: &'static str,
        min: u32,
        found: u32,
    },
    #[error(
        "{players} players have met after {most} rounds of a round robin, so it can end after 1 to {most}, not {found}: choose fewer `rounds`, or leave them out"
    )]
    AllRounds { players: u32, most: u32, found: u32 },
    #[error("the number of rounds of a {0} follows from its players: leave `rounds` out")]
    OwnRounds(&'static str),
    #[error(
        "{players} players can play 1 to {most} rounds of a Swiss tournament without meeting again, not {found}: choose fewer, or play a round robin"
    )]
    Rounds { players: u32, most: u32, found: u32 },
    #[error("a {format} has 1 to {most} rounds, not {found}")]
    AnyRounds {
        format: &'static str,
        most: u32,
        found: u32,
    },
    #[error("a {0} has at least 1 round: choose more in `rounds`, or leave it out")]
    NoRounds(&'static str),
    #[error("a {0} of 0 s is over at once: choose a longer `duration`, or leave it out")]
    NoDuration(&'static str),
    #[error(
        "{players} players make 2 to {most} groups of at least 3, not {found}: choose as many, or leave `groups` out"
    )]
    Groups { players: u32, most: u32, found: u32 },
    #[error("a meeting has 1 to {most} games, not {0}: choose as many in `legs`", most = RoundRobin::MAX_LEGS)]
    Legs(u32),
    #[error("a {0} has no `{1}`: leave `{1}` out")]
    NotTaken(&'static str, &'static str),
    #[error("a {0} takes no players after its start: leave `late_entry` out, or play {late}", late = Format::late_ones())]
    LateEntry(&'static str),
}

/// The pairings of a round.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NextRound {
    /// Seat A and seat B of each match.
    pub pairings: Vec<[u32; 2]>,
    /// The players that rest and are paid for it as for a win.
    pub byes: Vec<u32>,
}

impl NextRound {
    /// A round without byes; `None` if no match is left.
    fn of(pairings: Vec<[u32; 2]>) -> Option<Self> {
        let byes = Vec::new();
        (!pairings.is_empty()).then_some(Self { pairings, byes })
    }
}

/// Matches that join a round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Joining {
    /// Seat A and seat B of each match.
    pub pairings: Vec<[u32; 2]>,
    /// How long after the last event of the round they join it; other events may offer better ones.
    pub wait: Duration,
}

/// What a format decides by.
pub(crate) struct SoFar<'s> {
    pub(crate) standings: &'s Standings,
    /// Whether a player plays on.
    pub(crate) is_in: &'s dyn Fn(u32) -> bool,
    /// Whether a player that plays on has no match to play.
    pub(crate) is_free: &'s dyn Fn(u32) -> bool,
}

impl SoFar<'_> {
    fn plan(&self) -> &FormatPlan {
        self.standings.schedule().plan()
    }

    fn players(&self) -> u32 {
        self.plan().players
    }

    /// How many rounds were opened.
    fn rounds(&self) -> u32 {
        self.standings.schedule().opened()
    }

    fn is_in(&self, player: u32) -> bool {
        (self.is_in)(player)
    }

    /// The matches of a player, the last one first.
    fn matches_of(&self, player: u32) -> impl Iterator<Item = Pairing> {
        let schedule = self.standings.schedule();
        let rounds = (1..=self.rounds()).rev();
        rounds.flat_map(move |round| schedule.pairings_of(player, round).rev())
    }

    /// The matches of a round.
    fn pairings(&self, round: u32) -> impl Iterator<Item = Pairing> {
        self.standings.schedule().pairings_in(round)
    }

    /// The players that rest in a round and are paid for it.
    fn byes(&self, round: u32) -> &[u32] {
        self.standings.schedule().byes(round)
    }

    /// The seats of all matches so far, the first round first.
    fn all_seats(&self) -> impl Iterator<Item = [u32; 2]> {
        let schedule = self.standings.schedule();
        schedule.pairings().map(|pairing| pairing.seats)
    }

    /// What a player has done, as it counts now.
    fn tally(&self, player: u32) -> PlayerTally {
        self.standings.record(player)
    }

    /// How a match counts now.
    fn ending(&self, pairing: Pairing) -> Option<MatchEnding> {
        self.standings.ending(pairing)
    }

    /// How a match counted for later rounds when the round after it began, or counts now.
    fn settled(&self, pairing: Pairing) -> Option<MatchEnding> {
        self.standings.settled(pairing)
    }
}
