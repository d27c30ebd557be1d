//! What a run brought: figures, or what did not hold and how to see it again.

use std::collections::BTreeMap;
use std::fmt;

use crate::fault::InjectedFault;

/// Which promise was broken; the numbers are those of the list at the head of this crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Invariant {
    /// I1.
    AckedResultsStay,
    /// I2.
    OneResultPerMatch,
    /// I3.
    TableFollowsFromResults,
    /// I4.
    PairsMeetOnce,
    /// I5.
    RoundsCloseWhenFull,
    /// I6.
    OnlyTheAssignedRefereeCounts,
    /// I7.
    NothingHiddenIsSeen,
    /// I8.
    TheDrawKeepsItsPromise,
    /// I9.
    StatesFollowTheDiagrams,
    /// I10 and I15.
    TheJournalSaysAll,
    /// I12.
    AttemptsAreCounted,
    /// I13.
    IdsAndTokens,
    /// I14.
    EveryLeagueEnds,
    /// I16.
    OnlyTheManagerCommands,
    /// I17.
    LiesChangeNothing,
    /// I18.
    MessagesComeInOrder,
    /// I19.
    PresentPlayersAreAsked,
    /// The levers of the organiser do what they say.
    LeversHold,
    /// No referee has more than it can run.
    CapacityHolds,
    /// Byes, seats, ties, groups and ladders are as the format promises.
    FormatsHold,
}

impl Invariant {
    /// The number in the list.
    pub const fn number(self) -> &'static str {
        match self {
            Self::AckedResultsStay => "I1",
            Self::OneResultPerMatch => "I2",
            Self::TableFollowsFromResults => "I3",
            Self::PairsMeetOnce => "I4",
            Self::RoundsCloseWhenFull => "I5",
            Self::OnlyTheAssignedRefereeCounts => "I6",
            Self::NothingHiddenIsSeen => "I7",
            Self::TheDrawKeepsItsPromise => "I8",
            Self::StatesFollowTheDiagrams => "I9",
            Self::TheJournalSaysAll => "I10/I15",
            Self::AttemptsAreCounted => "I12",
            Self::IdsAndTokens => "I13",
            Self::EveryLeagueEnds => "I14",
            Self::OnlyTheManagerCommands => "I16",
            Self::LiesChangeNothing => "I17",
            Self::MessagesComeInOrder => "I18",
            Self::PresentPlayersAreAsked => "I19",
            Self::LeversHold => "levers",
            Self::CapacityHolds => "capacity",
            Self::FormatsHold => "formats",
        }
    }
}

impl fmt::Display for Invariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({self:?})", self.number())
    }
}

/// A promise that was broken, and how to see it broken again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The seed of the run.
    pub seed: u64,
    /// Which league of the run, from 0.
    pub league: u64,
    /// Which step of that league.
    pub step: u64,
    pub invariant: Invariant,
    pub what: String,
    /// Whether the run had faults.
    pub faults: bool,
    /// Whether the leagues had an organiser that pulls levers.
    pub levers: bool,
    /// Whether their rounds followed from results.
    pub formats: bool,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} does not hold: {}", self.invariant, self.what)?;
        writeln!(
            f,
            "seed {}, league {}, step {}",
            self.seed, self.league, self.step
        )?;
        let (seed, league) = (self.seed, self.league);
        let calm = if self.faults { "" } else { " --no-faults" };
        let levers = if self.levers { " --levers" } else { "" };
        let formats = if self.formats { " --formats" } else { "" };
        write!(
            f,
            "again: cargo xtask campaign sim --seed {seed} --league {league}{calm}{levers}{formats}"
        )
    }
}

impl std::error::Error for Violation {}

/// What a run brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimulationReport {
    /// The seed of the run.
    pub seed: u64,
    pub leagues: u64,
    /// Matches that were played, rulings of the manager among them.
    pub matches: u64,
    /// Matches that ended with a technical loss.
    pub technical_losses: u64,
    /// Players that came after the start.
    pub late: u64,
    /// Messages and answers that were sent.
    pub messages: u64,
    pub facts: u64,
    pub steps: u64,
    /// How often each kind of fault occurred, in the order of [`InjectedFault::ALL`].
    pub faults: Vec<u64>,
    pub crashes: u64,
    /// How many leagues were in each format, by its name.
    pub formats: BTreeMap<&'static str, u64>,
    /// How often each lever was pulled, by its name.
    pub levers: BTreeMap<&'static str, u64>,
    pub virtual_seconds: u64,
    /// Tells two runs apart; 0 if none was asked for.
    pub digest: u64,
}

impl SimulationReport {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            seed,
            leagues: 0,
            matches: 0,
            technical_losses: 0,
            late: 0,
            messages: 0,
            facts: 0,
            steps: 0,
            faults: vec![0; InjectedFault::ALL.len()],
            crashes: 0,
            formats: BTreeMap::new(),
            levers: BTreeMap::new(),
            virtual_seconds: 0,
            digest: 0,
        }
    }

    /// How often a fault occurred.
    pub fn count(&self, fault: InjectedFault) -> u64 {
        self.faults.get(fault as usize).copied().unwrap_or(0)
    }

    pub fn all_faults(&self) -> u64 {
        self.faults.iter().sum()
    }

    pub(crate) fn fault(&mut self, fault: InjectedFault) {
        self.faults[fault as usize] += 1;
    }

    pub(crate) fn add(&mut self, part: &Self) {
        self.leagues += part.leagues;
        self.matches += part.matches;
        self.technical_losses += part.technical_losses;
        self.late += part.late;
        self.messages += part.messages;
        self.facts += part.facts;
        self.steps += part.steps;
        for (sum, more) in self.faults.iter_mut().zip(&part.faults) {
            *sum += more;
        }
        self.crashes += part.crashes;
        for (name, more) in &part.formats {
            *self.formats.entry(name).or_default() += more;
        }
        for (name, more) in &part.levers {
            *self.levers.entry(name).or_default() += more;
        }
        self.virtual_seconds += part.virtual_seconds;
        self.digest = self.digest.rotate_left(1) ^ part.digest;
    }
}

impl fmt::Display for SimulationReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed              {}", self.seed)?;
        writeln!(f, "leagues           {}", self.leagues)?;
        writeln!(f, "matches           {}", self.matches)?;
        writeln!(f, "technical losses  {}", self.technical_losses)?;
        writeln!(f, "late players      {}", self.late)?;
        writeln!(f, "messages          {}", self.messages)?;
        writeln!(f, "steps             {}", self.steps)?;
        writeln!(f, "facts             {}", self.facts)?;
        writeln!(f, "virtual hours     {}", self.virtual_seconds / 3_600)?;
        write!(f, "faults            {}", self.all_faults())?;
        for &fault in InjectedFault::ALL {
            write!(f, "\n  {:<30} {}", fault.name(), self.count(fault))?;
        }
        for (name, count) in &self.formats {
            write!(f, "\n  format {name:<23} {count}")?;
        }
        for (name, count) in &self.levers {
            write!(f, "\n  lever {name:<24} {count}")?;
        }
        Ok(())
    }
}

/// FNV-1a over text, which never has to be kept.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Digest(u64);

impl Digest {
    pub(crate) fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    pub(crate) fn value(self) -> u64 {
        self.0
    }
}

impl fmt::Write for Digest {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Ok(())
    }
}
