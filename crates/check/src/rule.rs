//! What a rule is: a row of a table, and a function that plays it.
//!
//! A rule knows neither who runs it nor how its verdict is printed.

use std::pin::Pin;
use std::time::Duration;

use super::act::Act;
use super::wire::Exchange;

/// How long a rule may take that names no bound of its own.
pub const USUAL_BOUND: Duration = Duration::from_secs(20);

/// How binding a rule is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Whoever breaks it loses matches, or is not understood.
    Must,
    /// Whoever breaks it gets by in a lenient league, or is no worse off than before.
    Should,
}

impl Level {
    /// The word of the report.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Must => "MUST",
            Self::Should => "SHOULD",
        }
    }

    /// What it weighs in the grade.
    pub const fn weight(self) -> u32 {
        match self {
            Self::Must => 2,
            Self::Should => 1,
        }
    }
}

/// A rule that is being played.
pub type Playing<'a> = Pin<Box<dyn Future<Output = Played> + Send + 'a>>;

/// How a rule ended: nothing to say, or why it is not passed.
pub type Played = Result<(), Trouble>;

/// One rule.
pub struct Rule<S> {
    /// Its name without the letter of the kind: `JOIN-03`.
    pub id: &'static str,
    /// What it asks, in one sentence.
    pub title: &'static str,
    /// Where the documents ask for it.
    pub clause: &'static str,
    /// How binding it is.
    pub level: Level,
    /// Whether it asks for forgiveness, which nobody owes who is strict.
    pub kindness: bool,
    /// How to mend an agent that breaks it.
    pub fix: &'static str,
    /// How long it may take.
    pub bound: Duration,
    /// Plays it.
    pub play: for<'a> fn(&'a Act<S>) -> Playing<'a>,
}

/// Rules about one thing.
pub struct Topic<S> {
    /// What they are about.
    pub name: &'static str,
    /// The rules, in the order in which they are played.
    pub rules: Vec<Rule<S>>,
}

/// Why a rule is not passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// The rule is broken.
    Broken(Evidence),
    /// The rule is bent in a way that a lenient league forgives.
    Forgiven(Evidence),
    /// The rule could not be played, or does not concern this agent.
    Skipped {
        /// Why.
        reason: String,
        /// What to do so that it can be played; may be empty.
        hint: &'static str,
    },
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Evidence {
    /// What is wrong, in one sentence.
    pub found: String,
    /// What was said and answered, if it is not the last exchange of the rule.
    pub exchange: Option<Box<Exchange>>,
}

impl Trouble {
    /// The rule is broken, as this sentence says.
    pub fn broken(found: impl Into<String>) -> Self {
        Self::Broken(Evidence {
            found: found.into(),
            exchange: None,
        })
    }

    /// The rule is bent, as this sentence says, and a lenient league forgives it.
    pub fn forgiven(found: impl Into<String>) -> Self {
        Self::Forgiven(Evidence {
            found: found.into(),
            exchange: None,
        })
    }

    /// The rule could not be played.
    pub fn skipped(reason: impl Into<String>, hint: &'static str) -> Self {
        Self::Skipped {
            reason: reason.into(),
            hint,
        }
    }

    /// Names the exchange that shows it.
    #[must_use]
    pub fn about(mut self, exchange: &Exchange) -> Self {
        if let Self::Broken(evidence) | Self::Forgiven(evidence) = &mut self {
            evidence.exchange = Some(Box::new(exchange.clone()));
        }
        self
    }
}

/// Passes if something holds, and is broken otherwise.
///
/// # Errors
///
/// Says what was found instead.
pub fn hold(holds: bool, otherwise: impl FnOnce() -> String) -> Played {
    if holds {
        Ok(())
    } else {
        Err(Trouble::broken(otherwise()))
    }
}

/// The rows of a topic: id, level, clause, title, how to mend it, the function, and a bound in
/// seconds if the usual one does not fit. `kind` before a row says that only a lenient agent owes it.
macro_rules! rules {
    (@kindness) => {
        false
    };
    (@kindness kind) => {
        true
    };
    (@bound) => {
        $crate::rule::USUAL_BOUND
    };
    (@bound $seconds:literal) => {
        std::time::Duration::from_secs($seconds)
    };
    ($($($kindness:ident)? $id:literal $level:ident $clause:literal: $title:literal => $fix:literal, $play:expr $(, $seconds:literal)?;)*) => {
        vec![$($crate::rule::Rule {
            id: $id,
            title: $title,
            clause: $clause,
            level: $crate::rule::Level::$level,
            kindness: rules!(@kindness $($kindness)?),
            fix: $fix,
            bound: rules!(@bound $($seconds)?),
            play: |act| Box::pin($play(act)),
        }),*]
    };
}

pub(super) use rules;
