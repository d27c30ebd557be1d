//! What can go wrong, how often it does in one league, and how often it did.

use crate::chance::Rng;
use crate::lies::Lie;

macro_rules! faults {
    ($($(#[$doc:meta])* $fault:ident = $name:literal;)*) => {
        /// Something that went wrong.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum InjectedFault {
            $($(#[$doc])* $fault,)*
        }

        impl InjectedFault {
            /// Every kind.
            pub const ALL: &[Self] = &[$(Self::$fault,)*];

            /// What it is called in reports.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$fault => $name,)* }
            }
        }
    };
}

faults! {
    /// A message never arrived.
    MessageLost = "messages lost";
    /// A message arrived twice.
    MessageDoubled = "messages doubled";
    /// A message arrived late.
    MessageLate = "messages late";
    /// An answer never arrived.
    AnswerLost = "answers lost";
    /// An answer arrived late.
    AnswerLate = "answers late";
    /// A letter was sent to an agent that was down.
    Unreachable = "calls to agents that were down";
    /// A letter could not leave the machine of its sender.
    Unsent = "calls that could not be made";
    /// A machine received an outcome twice.
    OutcomeDoubled = "outcomes heard twice";
    /// The manager fell.
    ManagerCrash = "crashes of the manager";
    /// A referee fell.
    RefereeCrash = "crashes of referees";
    /// A player fell.
    PlayerCrash = "crashes of players";
    /// Part of the last write was lost in a crash.
    TornTail = "journals with a torn tail";
    /// A restarted agent had lost the file with its token.
    TokenLost = "tokens lost";
    /// A player broke the rules of the game or of good manners.
    BadManners = "answers of ill-behaved players";
    /// A hostile call was made.
    Mischief = "hostile calls";
    /// A referee or a player lied.
    Lie = "lies of referees and players";
}

/// How often what goes wrong in one league: so often in a million.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Rates {
    pub(crate) lost: u32,
    pub(crate) doubled: u32,
    pub(crate) late: u32,
    pub(crate) answer_lost: u32,
    pub(crate) answer_late: u32,
    pub(crate) heard_twice: u32,
    pub(crate) unsent: u32,
    pub(crate) manager_crash: u32,
    pub(crate) referee_crash: u32,
    pub(crate) player_crash: u32,
    pub(crate) token_lost: u32,
    /// Per match.
    pub(crate) mischief: u32,
}

impl Rates {
    /// No fault beside a lie, so that each unjust loss is known as one. A stranger makes hostile
    /// calls.
    pub(crate) fn beside(self, lie: Lie) -> Self {
        Self {
            mischief: if lie == Lie::Stranger { 500_000 } else { 0 },
            ..Self::default()
        }
    }

    /// Some kinds of fault do not occur at all in a league, others often: an even mixture would
    /// never show the effect of a single one.
    pub(crate) fn draw(chance: &mut Rng, matches: u64) -> Self {
        let steps = matches.max(1) * 30;
        let crashes = |chance: &mut Rng, most: u64| {
            let wanted = u64::from(swarm(chance, 1_000_000)) * most.min(2 + matches);
            u32::try_from(wanted / steps).unwrap_or(0)
        };
        Self {
            lost: swarm(chance, 100_000),
            doubled: swarm(chance, 200_000),
            late: swarm(chance, 50_000),
            answer_lost: swarm(chance, 100_000),
            answer_late: swarm(chance, 50_000),
            heard_twice: swarm(chance, 100_000),
            manager_crash: crashes(chance, 12),
            referee_crash: crashes(chance, 60),
            player_crash: crashes(chance, 120),
            token_lost: swarm(chance, 100_000),
            mischief: swarm(chance, 500_000),
            unsent: swarm(chance, 300_000),
        }
    }
}

/// Nothing in a third of the cases, else anything up to `most`, small numbers as likely as large.
fn swarm(chance: &mut Rng, most: u32) -> u32 {
    if chance.below(3) == 0 {
        return 0;
    }
    let halvings = chance.below(8);
    let most = u64::from(most) >> halvings;
    u32::try_from(chance.between(most / 2, most)).unwrap_or(0)
}
