//! The calls of one match without their content: how many of which kind, and how large.
//!
//! Taken from a league that was recorded; the floors play it.

use serde::{Deserialize, Serialize};

use crate::agents::traffic::{CallParty, Traffic};

/// A match as calls, in order.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct MatchScript {
    pub(crate) calls: Vec<ScriptedCall>,
}

/// The calls of one kind.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ScriptedCall {
    pub(crate) kind: String,
    pub(crate) caller: CallParty,
    pub(crate) callee: CallParty,
    /// Calls a match, with its share of the calls of a round.
    pub(crate) per_match: f64,
    /// Bytes of a body.
    pub(crate) request: usize,
    pub(crate) answer: usize,
    /// Bytes of both heads.
    pub(crate) heads: usize,
}

impl MatchScript {
    /// The calls of a league that plays so many matches in a round; none if it is not a script that
    /// can be played.
    pub(crate) fn of(traffic: &Traffic, matches_in_a_round: u32) -> Option<Self> {
        let matches = f64::from(traffic.rounds) * f64::from(matches_in_a_round);
        let counted = traffic.calls.iter().filter(|tally| tally.count > 0);
        let calls = counted.map(|tally| ScriptedCall {
            kind: tally.kind.clone(),
            caller: tally.caller,
            callee: tally.callee,
            per_match: tally.count as f64 / matches,
            request: (tally.requests / tally.count) as usize,
            answer: (tally.answers / tally.count) as usize,
            heads: (tally.heads / tally.count) as usize,
        });
        let script = Self {
            calls: calls.collect(),
        };
        (script.order().is_some() && script.report().is_some()).then_some(script)
    }

    /// The call that hands a match to a referee.
    pub(crate) fn order(&self) -> Option<usize> {
        self.last(CallParty::Manager, CallParty::Referee)
    }

    /// The last call of a referee to the manager that every match has: the match is over with it.
    pub(crate) fn report(&self) -> Option<usize> {
        self.last(CallParty::Referee, CallParty::Manager)
    }

    fn last(&self, caller: CallParty, callee: CallParty) -> Option<usize> {
        self.calls.iter().rposition(|call| {
            (call.caller, call.callee) == (caller, callee) && call.per_match.round() >= 1.0
        })
    }

    /// Calls a match.
    pub(crate) fn calls_per_match(&self) -> f64 {
        self.calls.iter().map(|call| call.per_match).sum()
    }

    /// Bytes on the wire a match: bodies alone, and with heads.
    pub(crate) fn bytes_per_match(&self) -> (f64, f64) {
        let bodies = |call: &ScriptedCall| call.per_match * (call.request + call.answer) as f64;
        let heads = |call: &ScriptedCall| call.per_match * call.heads as f64;
        let bodies: f64 = self.calls.iter().map(bodies).sum();
        (bodies, bodies + self.calls.iter().map(heads).sum::<f64>())
    }
}

impl ScriptedCall {
    /// How many of them the match with this number has, so that many matches have the true number.
    pub(crate) fn count(&self, number: u64) -> u64 {
        let until = |number: u64| (number as f64 * self.per_match + 0.5).floor() as u64;
        until(number + 1) - until(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::traffic::CallTally;

    fn tally(kind: &str, caller: CallParty, callee: CallParty, count: u64) -> CallTally {
        CallTally {
            kind: kind.to_owned(),
            caller,
            callee,
            count,
            requests: 300 * count,
            answers: 100 * count,
            heads: 200 * count,
        }
    }

    fn traffic() -> Traffic {
        use CallParty::{Manager, Player, Referee};
        Traffic {
            rounds: 5,
            calls: vec![
                tally("ROUND_ANNOUNCEMENT", Manager, Player, 40),
                tally("START_MATCH", Manager, Referee, 20),
                tally("GAME_INVITATION", Referee, Player, 40),
                tally("MATCH_RESULT_REPORT", Referee, Manager, 20),
                tally("RARE", Referee, Manager, 5),
                tally("NEVER", Manager, Player, 0),
            ],
        }
    }

    #[test]
    fn script_has_the_counts_and_sizes_of_the_traffic() {
        let script = MatchScript::of(&traffic(), 4).unwrap();
        assert_eq!(script.calls.len(), 5);
        assert!((script.calls_per_match() - 6.25).abs() < 1e-9);
        assert_eq!(script.bytes_per_match(), (2_500.0, 3_750.0));
        assert_eq!((script.order(), script.report()), (Some(1), Some(3)));
    }

    #[test]
    fn broken_traffic_makes_no_script() {
        assert!(MatchScript::of(&Traffic::default(), 4).is_none());
        let mut without_report = traffic();
        without_report.calls.truncate(3);
        assert!(MatchScript::of(&without_report, 4).is_none());
    }

    #[test]
    fn rare_calls_come_as_often_as_they_did() {
        let script = MatchScript::of(&traffic(), 4).unwrap();
        let made = |call: usize| {
            (0..1_000)
                .map(|number| script.calls[call].count(number))
                .sum()
        };
        let counts: [u64; 3] = [made(0), made(1), made(4)];
        assert_eq!(counts, [2_000, 1_000, 250]);
    }
}
