//! How often each agent left the protocol, and how.
//!
//! The first of a kind is told, the rest is counted.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use league_protocol::finding::{Finding, Severity};
use league_protocol::id::MatchId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agents::identity::{Identity, LogNames};

/// How many kinds are kept for one agent; more are only counted.
pub(crate) const KINDS_PER_AGENT: usize = 64;
/// How many agents are kept apart; more are counted as one.
pub(crate) const MOST_AGENTS: usize = 20_000;

/// How many agents are shown to whoever asks how an agent is.
pub(crate) const MOST_SHOWN: usize = 256;

/// A way to leave the protocol.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Kind {
    /// The error code that a strict league would answer.
    pub(crate) code: String,
    /// Where in the message, with places in lists left out.
    pub(crate) path: String,
    /// Which clause.
    pub(crate) clause: String,
}

/// One kind, and how often it was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Count {
    /// Which kind.
    pub(crate) kind: Kind,
    /// How often.
    pub(crate) count: u64,
    /// What was found the first time, and what to do.
    pub(crate) detail: String,
}

/// The deviations of all agents that an agent has talked with.
#[derive(Debug, Clone, Default)]
pub(crate) struct Deviations(Arc<Mutex<BTreeMap<String, Kinds>>>);

/// How often each kind was seen, and what was found the first time.
type Kinds = BTreeMap<Kind, (u64, String)>;

/// Who left the protocol, where, and who saw it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen<'s> {
    /// Who saw it, and has it in its log.
    pub(crate) by: &'s Identity,
    /// Who left the protocol.
    pub(crate) agent: &'s str,
    /// In which match.
    pub(crate) match_id: Option<&'s MatchId>,
}

impl Deviations {
    /// Notes what was forgiven an agent.
    pub(crate) fn note(&self, seen: &Seen<'_>, findings: &[Finding]) {
        let forgiven = findings
            .iter()
            .filter(|finding| finding.severity == Severity::Deviation);
        for finding in forgiven {
            let kind = Kind {
                code: finding.code.as_str().to_owned(),
                path: without_places(&finding.path),
                clause: finding.clause.to_owned(),
            };
            let code = finding.code.as_str();
            if self.add(seen.agent, kind, &finding.detail) {
                let LogNames { log, label } = seen.by.names();
                tracing::warn!(
                    agent_id = &*log,
                    component = &*label,
                    event_type = "DEVIATION",
                    peer = seen.agent,
                    match_id = seen.match_id.map(MatchId::as_str),
                    code,
                    path = finding.path,
                    clause = finding.clause,
                    "{}",
                    finding.detail
                );
            }
        }
    }

    /// What each agent was forgiven, by agent.
    pub(crate) fn counts(&self) -> BTreeMap<String, Vec<Count>> {
        let agents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of_one = |kinds: &Kinds| {
            let counts = kinds.iter().map(|(kind, (count, detail))| Count {
                kind: kind.clone(),
                count: *count,
                detail: detail.clone(),
            });
            counts.collect()
        };
        agents
            .iter()
            .map(|(agent, kinds)| (agent.clone(), of_one(kinds)))
            .collect()
    }

    /// How often all agents together left the protocol.
    pub(crate) fn total(&self) -> u64 {
        let agents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = agents.values().flat_map(Kinds::values);
        counts.fold(0, |all, (count, _)| all.saturating_add(*count))
    }

    /// Takes up what was noted before, such as by an earlier process.
    pub(crate) fn restore(&self, agent: &str, counts: Vec<Count>) {
        for Count {
            kind,
            count,
            detail,
        } in counts
        {
            self.add(agent, kind.clone(), &detail);
            let mut agents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let known = agents.get_mut(agent).and_then(|kinds| kinds.get_mut(&kind));
            if let Some((known, _)) = known {
                *known = known.saturating_add(count.saturating_sub(1));
            }
        }
    }

    /// What each agent was forgiven, for all to see; of many agents only some.
    pub(crate) fn shown(&self) -> Value {
        let counts = self.counts().into_iter().take(MOST_SHOWN);
        serde_json::to_value(counts.collect::<BTreeMap<_, _>>()).unwrap_or_default()
    }

    /// Counts one; says whether it is the first of its kind.
    fn add(&self, agent: &str, kind: Kind, detail: &str) -> bool {
        let mut agents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let agent = if agents.len() < MOST_AGENTS || agents.contains_key(agent) {
            agent
        } else {
            "others"
        };
        let kinds = agents.entry(agent.to_owned()).or_default();
        if let Some((count, _)) = kinds.get_mut(&kind) {
            *count = count.saturating_add(1);
            return false;
        }
        let room = kinds.len() < KINDS_PER_AGENT;
        if room {
            kinds.insert(kind, (1, detail.to_owned()));
        }
        room
    }
}

/// A path without the places in its lists, so that each element counts as the same kind.
fn without_places(path: &str) -> String {
    let mut inside = false;
    let keep = |&letter: &char| {
        match letter {
            '[' => inside = true,
            ']' => inside = false,
            _ => return !inside,
        }
        true
    };
    path.chars().filter(keep).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_lists_are_left_out() {
        assert_eq!(without_places("matches[12].id"), "matches[].id");
        assert_eq!(without_places("sender"), "sender");
    }

    #[test]
    fn the_second_of_a_kind_is_only_counted() {
        let deviations = Deviations::default();
        let kind = || Kind {
            code: "E003".into(),
            path: "sender".into(),
            clause: "000 §2.4.1".into(),
        };
        assert!(deviations.add("player:P01", kind(), "add it"));
        assert!(!deviations.add("player:P01", kind(), "add it"));
        let counts = deviations.counts();
        assert_eq!(counts["player:P01"][0].count, 2);
    }
}
