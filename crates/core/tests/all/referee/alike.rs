//! A replayed referee decides like the original, in every game.
//!
//! The unwritten part of an event, such as the table after a move, is ignored in comparisons. A
//! wrong one shows here, in the next decisions and letters.

use league_core::letter::{CallOutcome, Letter};
use league_core::machine::{Machine, Persistence};
use league_core::referee::{Command, CorrelationId, Event, Referee, RefereeRules};
use league_protocol::fault::Code;
use league_protocol::id::GameType;
use league_protocol::message::{Message, StartMatch};
use proptest::prelude::*;
use serde_json::json;

use league_testkit::referee::*;

/// A referee, and a second one that knows its events only as read back.
struct Twins {
    live: RefereeWorld,
    reader: Referee,
}

impl Twins {
    fn new(rules: RefereeRules) -> Self {
        Self {
            live: RefereeWorld::with(rules.clone()),
            reader: Referee::new(rules),
        }
    }

    /// Both get the same command, and must answer and write the same.
    fn tell(&mut self, command: Command) {
        let now = self.live.now;
        let (live, reader) = (&self.live.referee, &self.reader);
        assert_eq!(live.decide(now, &command), reader.decide(now, &command));
        let (facts, letters) = (self.live.events.len(), self.live.out.len());
        // Both refuse the same.
        let _ = self.live.tell(command);
        let mut said = Vec::new();
        for fact in &self.live.events[facts..] {
            self.reader.apply(&read_back(fact));
            // Letters go out with the original event, not with the one read back.
            self.reader.letters(fact, &mut said);
        }
        assert_eq!(self.live.out[letters..], said);
        assert_eq!(self.live.referee.wakeup(), self.reader.wakeup());
        let view = |referee: &Referee| format!("{:?}", referee.view(&id("R1M1")));
        assert_eq!(view(&self.live.referee), view(&self.reader));
    }

    /// Plays a match to its end with players who do as these numbers say.
    fn play(&mut self, order: StartMatch, mut whims: impl Iterator<Item = u8>) {
        self.tell(start(order, None));
        while !self.live.out.is_empty() || self.live.referee.wakeup().is_some() {
            for letter in self.live.take() {
                let outcome = behave(&letter, whims.next().unwrap_or(u8::MAX));
                if let (Some(correlation), Some(outcome)) = (letter.correlation, outcome) {
                    self.tell(Command::Outcome {
                        correlation,
                        outcome,
                    });
                }
            }
            let due = self.live.referee.wakeup();
            if let Some(due) = due.filter(|_| self.live.out.is_empty()) {
                self.live.now = self.live.now.max(due);
                self.tell(Command::Tick);
            }
        }
    }
}

/// An event as read back from a journal; a memory event stays as it is, and so does the account of a
/// failure, which is quoted in the reason of a loss if no restart comes between.
fn read_back(fact: &Event) -> Event {
    let mut back = written_and_read(fact);
    if let (Event::AttemptFailed { aside, .. }, Event::AttemptFailed { aside: kept, .. }) =
        (fact, &mut back)
    {
        kept.clone_from(aside);
    }
    back
}

fn written_and_read(fact: &Event) -> Event {
    match Referee::keep(fact) {
        Persistence::Journal => {
            let line = serde_json::to_string(fact).unwrap();
            serde_json::from_str(&line).unwrap()
        }
        Persistence::Memory => fact.clone(),
    }
}

/// Some say nothing, or nonsense; most make one of the moves that they may.
fn behave(letter: &Letter<CorrelationId>, whim: u8) -> Option<CallOutcome> {
    match (&letter.message, whim) {
        (Message::MoveCall(_), 0..10) => None,
        (Message::MoveCall(_), 10..20) => Some(chosen(letter, json!("heron"))),
        (Message::MoveCall(_), 20..30) => Some(failed(Code::Connection)),
        (Message::MoveCall(call), _) => {
            let option = &call.options[usize::from(whim) % call.options.len()];
            Some(chosen(letter, option.clone()))
        }
        _ => plain(letter),
    }
}

proptest! {
    #[test]
    fn replayed_referee_decides_like_the_original(
        whims in proptest::collection::vec(any::<u8>(), 0..60),
    ) {
        for listing in league_games::all() {
            let game_type = GameType::new(listing.rules.game_type).unwrap();
            let rules = RefereeRules {
                games: vec![game_type.clone()],
                ..rules()
            };
            let order = StartMatch {
                game_type,
                ..order("R1M1")
            };
            let mut twins = Twins::new(rules);
            twins.play(order, whims.iter().copied());
            prop_assert!(twins.live.kinds().ends_with(&["closed"]));
        }
    }
}
