//! A rule is a row: its title, the exchange that tests it, and the expected outcome.

use std::pin::Pin;
use std::time::Duration;

use crate::caller::Caller;
use crate::exchange::Exchange;
use crate::record::{Expect, Record};

/// How long a rule may take unless its row says otherwise.
pub const USUAL_BOUND: u64 = 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// An agent that breaks it loses matches or is not understood.
    Must,
    /// An agent that breaks it gets by in a lenient league.
    Should,
}

impl Level {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Must => "MUST",
            Self::Should => "SHOULD",
        }
    }

    /// The weight in the grade.
    pub const fn weight(self) -> u32 {
        match self {
            Self::Must => 2,
            Self::Should => 1,
        }
    }
}

/// The result of a rule: passed, or why not.
pub type Judgement = Result<(), Trouble>;

/// The future of a running rule.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

pub struct Rule {
    /// Its id without the letter of the kind: `JOIN-03`.
    pub id: &'static str,
    pub title: &'static str,
    /// The clause of the documents that asks for it.
    pub clause: &'static str,
    pub level: Level,
    /// Whether it asks for leniency, which a strict agent need not show.
    pub kindness: bool,
    /// How to fix an agent that breaks it.
    pub fix: &'static str,
    pub bound: Duration,
    pub exchange: Exchange,
    /// The expectations for each record of the exchange.
    pub expects: Vec<Expect>,
}

impl Rule {
    /// All expectations for a record: the due types of message, then the rest.
    pub fn expectations(&self) -> Vec<Expect> {
        let due = self.exchange.due();
        let due = (!due.is_empty()).then_some(Expect::Kind(due));
        due.into_iter()
            .chain(self.expects.iter().copied())
            .collect()
    }

    /// Plays the rule.
    /// Returns why it is not passed.
    pub async fn play(&self, caller: &Caller) -> Judgement {
        if let Exchange::Steps(steps) = &self.exchange {
            return steps(caller).await;
        }
        let records = self.exchange.records(caller).await?;
        records.iter().try_for_each(|record| {
            record.note(caller);
            self.judge(record)
        })
    }

    /// Judges a record by all expectations.
    /// Returns the expectation that is not met.
    pub fn judge(&self, record: &Record) -> Judgement {
        let all = self.expectations();
        all.iter().try_for_each(|expect| expect.judge(record))
    }
}

/// Rules about one subject, in the order in which they are played.
pub struct Topic {
    pub name: &'static str,
    /// The rules whose answer all others here depend on, without the letter of the kind.
    pub needs: Vec<&'static str>,
    pub rules: Vec<Rule>,
}

/// Why a rule is not passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    Broken(String),
    /// Broken in a way that a lenient league forgives.
    Forgiven(String),
    /// It could not be played, or does not apply to this agent.
    Skipped {
        reason: String,
        /// What to do so that it can be played; may be empty.
        hint: &'static str,
    },
}

impl Trouble {
    pub fn broken(found: impl Into<String>) -> Self {
        Self::Broken(found.into())
    }

    /// Broken in a way that is forgiven or not.
    pub(crate) fn of(is_forgiven: bool, found: String) -> Self {
        match is_forgiven {
            true => Self::Forgiven(found),
            false => Self::Broken(found),
        }
    }

    pub fn forgiven(found: impl Into<String>) -> Self {
        Self::Forgiven(found.into())
    }

    pub fn skipped(reason: impl Into<String>) -> Self {
        let (reason, hint) = (reason.into(), "");
        Self::Skipped { reason, hint }
    }

    /// Says what to do so that a skipped rule can be played.
    #[must_use]
    pub fn hint(mut self, told: &'static str) -> Self {
        if let Self::Skipped { hint, .. } = &mut self {
            *hint = told;
        }
        self
    }
}

/// Passes if a condition holds; otherwise the rule is broken, and the text says what was found.
macro_rules! hold {
    ($holds:expr, else $($found:tt)+) => {
        if $holds { Ok(()) } else { Err($crate::rule::Trouble::broken(format!($($found)+))) }
    };
}

/// Passes if a condition holds; otherwise the rule is skipped, for the reason in the text.
macro_rules! need {
    ($holds:expr, else $($reason:tt)+) => {
        if $holds { Ok(()) } else { Err($crate::rule::Trouble::skipped(format!($($reason)+))) }
    };
}

/// A topic: its name, the rules that all others need, then its rows: id, level, a bound in seconds
/// if the usual one does not fit, clause, title, fix, exchange, expectations. `kind` before a row
/// says that only a lenient agent owes it.
macro_rules! topic {
    (@kindness) => { false };
    (@kindness kind) => { true };
    (@bound) => { $crate::rule::USUAL_BOUND };
    (@bound $seconds:literal) => { $seconds };
    (@expects) => { Vec::new() };
    (@expects $expects:expr) => { Vec::from($expects) };
    ($name:literal $(needs $($needed:literal)+)?: $($($kindness:ident)? $id:literal $level:ident $([$seconds:literal])?
        $clause:literal: $title:literal => $fix:literal, $exchange:expr $(, $expects:expr)?;)*) => {
        $crate::rule::Topic {
            name: $name,
            needs: vec![$($($needed),+)?],
            rules: vec![$($crate::rule::Rule {
                id: $id,
                title: $title,
                clause: $clause,
                level: $crate::rule::Level::$level,
                kindness: topic!(@kindness $($kindness)?),
                fix: $fix,
                bound: std::time::Duration::from_secs(topic!(@bound $($seconds)?)),
                exchange: $exchange.into(),
                expects: topic!(@expects $($expects)?),
            }),*],
        }
    };
}

/// A situation that an async function sets up: `after!(joined)`.
macro_rules! after {
    ($function:path $(, $argument:expr)*) => {
        |caller| Box::pin($function(caller $(, $argument)*))
    };
}

/// An exchange that an async function records: `seen!(told(MatchCourse::Decided, "GAME_OVER"))`.
macro_rules! seen {
    ($function:ident($($argument:expr),*)) => {
        $crate::exchange::Exchange::Seen(|caller| Box::pin($function(caller $(, $argument)*)))
    };
}

/// A rule in several steps, which an async function plays and judges: `steps!(again)`.
macro_rules! steps {
    ($function:ident $(($($argument:expr),*))?) => {
        $crate::exchange::Exchange::Steps(|caller| Box::pin($function(caller $($(, $argument)*)?)))
    };
}

pub(crate) use {after, hold, need, seen, steps, topic};
