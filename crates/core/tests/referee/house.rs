//! A desk without a disk.

use std::sync::Arc;
use std::time::Duration;

use league_core::letter::{CallOutcome, Letter};
use league_core::machine::{Keep, Machine};
use league_core::referee::{Command, CorrelationId, Event, Referee, RefereeRules, Refusal, Reply};
use league_protocol::message::{MatchResult, Message, StartMatch};
use league_protocol::time::Timestamp;
use serde_json::Value;

use crate::kit::{acknowledged, chosen, id, join, kind, rules, second, start, told};

/// A referee at its desk, with all that it ever wrote and sent.
pub(crate) struct House {
    pub(crate) referee: Referee,
    pub(crate) now: Timestamp,
    /// What was written down, as the lines of a file.
    pub(crate) journal: Vec<String>,
    pub(crate) events: Vec<Event>,
    /// Letters that nobody has carried yet.
    pub(crate) out: Vec<Letter<CorrelationId>>,
    /// Every result that was ever reported.
    pub(crate) reports: Vec<Arc<MatchResult>>,
    /// After how many more facts the power fails.
    pub(crate) power: Option<usize>,
}

impl House {
    pub(crate) fn new() -> Self {
        Self::with(rules())
    }

    pub(crate) fn with(rules: RefereeRules) -> Self {
        Self {
            referee: Referee::new(rules),
            now: second(0),
            journal: Vec::new(),
            events: Vec::new(),
            out: Vec::new(),
            reports: Vec::new(),
            power: None,
        }
    }

    /// A referee that has just taken this order.
    pub(crate) fn started(order: StartMatch) -> Self {
        let mut house = Self::new();
        house.order(order);
        house
    }

    pub(crate) fn order(&mut self, order: StartMatch) {
        let reply = self.tell(start(order, None)).unwrap();
        let Reply::StartMatchAck(ack) = reply else {
            panic!("{reply:?}")
        };
        assert!(ack.accepted, "{:?}", ack.reason);
    }

    pub(crate) fn tell(&mut self, command: Command) -> Result<Reply, Refusal> {
        let decision = self.referee.decide(self.now, &command);
        assert_eq!(self.referee.decide(self.now, &command), decision);
        for event in decision.events {
            if self.power == Some(0) {
                break;
            }
            self.power = self.power.map(|left| left - 1);
            self.note(event);
        }
        decision.answer
    }

    fn note(&mut self, event: Event) {
        match Referee::keep(&event) {
            Keep::Journal => self.journal.push(serde_json::to_string(&event).unwrap()),
            Keep::Memory => assert!(serde_json::to_string(&event).is_err(), "{event:?}"),
        }
        self.referee.apply(&event);
        let mut letters = Vec::new();
        self.referee.letters(&event, &mut letters);
        self.post(letters);
        self.events.push(event);
    }

    fn post(&mut self, letters: Vec<Letter<CorrelationId>>) {
        for letter in letters {
            if let Message::MatchResultReport(report) = &letter.message {
                self.reports.push(report.result.clone());
            }
            self.out.push(letter);
        }
    }

    /// Dies and starts again from the journal, with what `pending` still owes.
    pub(crate) fn restart(&mut self) {
        self.power = None;
        self.out.clear();
        self.referee = Referee::new(self.referee.rules().clone());
        for line in &self.journal {
            self.referee.apply(&serde_json::from_str(line).unwrap());
        }
        let pending = self.referee.pending();
        self.post(pending);
    }

    /// Takes all letters out of the tray.
    pub(crate) fn take(&mut self) -> Vec<Letter<CorrelationId>> {
        std::mem::take(&mut self.out)
    }

    /// Takes all letters and tells each in a few words.
    pub(crate) fn said(&mut self) -> Vec<String> {
        self.take().iter().map(told).collect()
    }

    /// Takes the only letter with this type to this player.
    pub(crate) fn only(&mut self, to: u32, kind: &str) -> Letter<CorrelationId> {
        let wanted = format!("P{to:02} {kind}");
        let mut found: Vec<_> = self
            .out
            .extract_if(.., |letter| told(letter) == wanted)
            .collect();
        assert_eq!(
            found.len(),
            1,
            "{wanted}: {:?}",
            self.out.iter().map(told).collect::<Vec<_>>()
        );
        found.remove(0)
    }

    pub(crate) fn hear(
        &mut self,
        letter: &Letter<CorrelationId>,
        outcome: CallOutcome,
    ) -> Result<Reply, Refusal> {
        let correlation = letter.correlation.clone().unwrap();
        self.tell(Command::Outcome {
            correlation,
            outcome,
        })
    }

    /// Both players come.
    pub(crate) fn both_join(&mut self) {
        for number in [1, 2] {
            let letter = self.only(number, "GAME_INVITATION");
            self.hear(&letter, join(&letter, true)).unwrap();
        }
    }

    /// A player is asked for a move and makes it.
    pub(crate) fn choose(&mut self, number: u32, choice: Value) {
        let letter = self.only(number, "CHOOSE_PARITY_CALL");
        self.hear(&letter, chosen(&letter, choice)).unwrap();
    }

    /// Lets time pass; the referee is woken whenever it wants to be.
    pub(crate) fn wait(&mut self, seconds: u64) {
        self.wait_until(self.now + Duration::from_secs(seconds));
    }

    pub(crate) fn wait_until(&mut self, end: Timestamp) {
        while let Some(due) = self.referee.wakeup().filter(|&due| due <= end) {
            self.now = self.now.max(due);
            let before = self.events.len();
            self.tell(Command::Tick).unwrap();
            if self.power == Some(0) {
                return;
            }
            assert!(
                self.events.len() > before,
                "woken for nothing at {}",
                self.now
            );
        }
        self.now = end;
    }

    /// What the referee found at the latest attempt, whether the manager has taken it or not.
    pub(crate) fn result(&self, match_id: &str) -> Option<Arc<MatchResult>> {
        let mine = |event: &&Event| event.match_id() == Some(&id(match_id));
        let found = |event: &Event| match event {
            Event::Decided { result, .. } => Some(Some(Arc::clone(result))),
            Event::MatchOpened { .. } => Some(None),
            _ => None,
        };
        self.events.iter().rev().filter(mine).find_map(found)?
    }

    /// The manager takes the result that was reported last.
    pub(crate) fn manager_acknowledges(&mut self) {
        let place = self
            .out
            .iter()
            .rposition(|letter| matches!(letter.message, Message::MatchResultReport(_)));
        let report = self.out.remove(place.unwrap());
        self.hear(&report, acknowledged()).unwrap();
    }

    pub(crate) fn kinds(&self) -> Vec<&'static str> {
        self.events.iter().map(kind).collect()
    }

    /// Carries every letter to players that behave like this, until nobody has anything to say.
    pub(crate) fn play(
        &mut self,
        behave: &mut dyn FnMut(&Letter<CorrelationId>) -> Option<CallOutcome>,
    ) {
        for _ in 0..500 {
            if self.power == Some(0) {
                return;
            }
            if self.out.is_empty() {
                match self.referee.wakeup() {
                    Some(due) => self.wait_until(due.max(self.now)),
                    None => return,
                }
            }
            for letter in self.take() {
                let Some(outcome) = letter
                    .correlation
                    .is_some()
                    .then(|| behave(&letter))
                    .flatten()
                else {
                    continue;
                };
                let _ = self.hear(&letter, outcome);
                if self.power == Some(0) {
                    return;
                }
            }
        }
        panic!("the match does not end");
    }
}
