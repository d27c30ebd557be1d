//! What the agents of a league were forgiven, and by whom that was seen: in `league run` one process
//! sees all, a manager by itself has the referees' files beside its own.

use std::time::Duration;

use crate::storage::root::Root;
use crate::wire::deviations::Deviations;
use crate::wire::observed::{self, MANAGER, ObservedDocument};
use league_protocol::id::LeagueId;
use league_protocol::time::Timestamp;

use super::asking::count;

/// How long the last files of referees are waited for.
const LONGEST_WAIT: Duration = Duration::from_secs(3);
/// How often it is looked whether they are there.
const LOOK: Duration = Duration::from_millis(20);

/// What agents were forgiven.
pub(super) struct Forgiven {
    /// By all who saw it.
    pub(super) deviations: Deviations,
    /// Whose counts these are; none if one process saw all.
    pub(super) seen_by: Option<SeenBy>,
}

/// Whose counts a manager has.
pub(super) struct SeenBy {
    /// Those who told what they saw.
    pub(super) observers: Vec<String>,
    /// How many referees told nothing.
    pub(super) silent: usize,
}

impl Forgiven {
    /// What one process saw that holds the whole league.
    pub(super) fn in_one(deviations: &Deviations) -> Self {
        Self {
            deviations: deviations.clone(),
            seen_by: None,
        }
    }

    /// What a manager saw, and so many referees of a league that is over since then.
    pub(super) async fn by_all(
        own: &Deviations,
        root: &Root,
        league: &LeagueId,
        referees: usize,
        over: Timestamp,
    ) -> Self {
        let until = tokio::time::Instant::now() + LONGEST_WAIT;
        let mut told = told(root, league);
        let whole = |told: &[ObservedDocument]| {
            let last = told.iter().filter(|document| document.last_updated >= over);
            last.count() >= referees
        };
        while !whole(&told) && tokio::time::Instant::now() < until {
            tokio::time::sleep(LOOK).await;
            told = self::told(root, league);
        }
        Self::of(own, told, referees)
    }

    fn of(own: &Deviations, told: Vec<ObservedDocument>, referees: usize) -> Self {
        let deviations = Deviations::default();
        for (agent, counts) in own.counts() {
            deviations.restore(&agent, counts);
        }
        let mut observers = vec![MANAGER.to_owned()];
        let silent = referees.saturating_sub(told.len());
        for document in told {
            for (agent, seen) in document.agents {
                deviations.restore(&agent, seen.deviations);
            }
            observers.push(document.observer);
        }
        Self {
            deviations,
            seen_by: Some(SeenBy { observers, silent }),
        }
    }

    /// Who saw it, if that is not everybody.
    pub(super) fn note(&self) -> String {
        match &self.seen_by {
            Some(SeenBy { observers, silent }) if *silent > 0 => match observers.len() - 1 {
                0 => " (seen by the manager only)".to_owned(),
                told => format!(
                    " (seen by the manager and {}, not by {silent} more)",
                    count(told as u64, "referee")
                ),
            },
            _ => String::new(),
        }
    }
}

/// What others told; the manager's own file lags behind what it knows.
fn told(root: &Root, league: &LeagueId) -> Vec<ObservedDocument> {
    let mut told = observed::all(root, league);
    told.retain(|document| document.observer != MANAGER);
    told
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use crate::wire::deviations::{Count, Kind};
    use crate::wire::observed::AgentObserved;

    use super::*;

    fn counted(count: u64) -> Vec<Count> {
        vec![Count {
            kind: Kind {
                code: "E003".to_owned(),
                path: "sender".to_owned(),
                clause: "000 §2.4.1".to_owned(),
            },
            count,
            detail: "add it".to_owned(),
        }]
    }

    fn document(observer: &str, count: u64) -> ObservedDocument {
        let seen = AgentObserved {
            deviations: counted(count),
            ..AgentObserved::default()
        };
        ObservedDocument {
            schema_version: "1.0.0".to_owned(),
            league_id: LeagueId::new("one").unwrap(),
            observer: observer.to_owned(),
            last_updated: Timestamp::default(),
            version: 1,
            agents: BTreeMap::from([("player:P01".to_owned(), seen)]),
        }
    }

    #[test]
    fn what_several_saw_is_added_up() {
        let own = Deviations::default();
        own.restore("player:P01", counted(2));
        let told = vec![document("REF01", 3), document("REF02", 5)];
        let all = Forgiven::of(&own, told, 2);
        assert_eq!(all.deviations.counts()["player:P01"][0].count, 10);
        assert_eq!(all.note(), "");
    }

    #[test]
    fn whoever_told_nothing_is_missed() {
        let own = Deviations::default();
        let alone = Forgiven::of(&own, Vec::new(), 2);
        assert_eq!(alone.note(), " (seen by the manager only)");
        let half = Forgiven::of(&own, vec![document("REF01", 1)], 2);
        assert_eq!(
            half.note(),
            " (seen by the manager and 1 referee, not by 1 more)"
        );
        assert_eq!(Forgiven::in_one(&own).note(), "");
    }
}
