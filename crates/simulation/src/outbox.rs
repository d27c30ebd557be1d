//! The shell's guarantee for letters: in order per address, a bounded number of tries, one outcome.
//!
//! The network delivers; this file keeps the queues and counts the tries.

use std::collections::VecDeque;

use league_core::letter::Letter;
use slab::Slab;

use crate::NodeId;

/// The letters of one agent, a line for each address.
pub(crate) struct LetterQueues<CorrelationId> {
    letters: Slab<Letter<CorrelationId>>,
    lines: Vec<AddressQueue<CorrelationId>>,
    posted: u64,
}

struct AddressQueue<CorrelationId> {
    queue: VecDeque<usize>,
    /// Names the letter at the front and counts its tries.
    trying: Try,
    /// The last letter that was given up or already has an outcome.
    late: Option<(Try, CorrelationId)>,
}

/// One try at one letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Try {
    pub(crate) number: u64,
    pub(crate) attempt: u32,
}

/// What an answer finds when it comes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum AnswerMatch<CorrelationId> {
    InTime(Option<CorrelationId>),
    /// Its letter, given up before.
    Late(CorrelationId),
    Stale,
}

/// What follows when a try fails.
pub(crate) enum TryFailure<CorrelationId> {
    /// The letter is settled, or another try is under way.
    Stale,
    /// It is tried once more.
    Again,
    /// It was the last try.
    Over(Option<CorrelationId>),
}

impl<CorrelationId: Clone> LetterQueues<CorrelationId> {
    pub(crate) fn new() -> Self {
        Self {
            letters: Slab::new(),
            lines: Vec::new(),
            posted: 0,
        }
    }

    /// Puts a letter in line; says whether it is the first there and has to be sent.
    pub(crate) fn put(&mut self, to: NodeId, letter: Letter<CorrelationId>) -> bool {
        let place = self.letters.insert(letter);
        let line = self.line(to);
        line.queue.push_back(place);
        line.queue.len() == 1
    }

    /// Begins the first try of the letter at the front.
    pub(crate) fn begin(&mut self, to: NodeId) -> Option<(Try, &mut Letter<CorrelationId>)> {
        self.posted += 1;
        let number = self.posted;
        let line = self.lines.get_mut(to as usize)?;
        let letter = self.letters.get_mut(*line.queue.front()?)?;
        line.trying = Try { number, attempt: 1 };
        Some((line.trying, letter))
    }

    /// Begins the next try of a letter, if it still stands at the front.
    pub(crate) fn again(
        &mut self,
        to: NodeId,
        last: Try,
    ) -> Option<(Try, &mut Letter<CorrelationId>)> {
        let line = self.lines.get_mut(to as usize)?;
        if line.trying != last {
            return None;
        }
        let letter = self.letters.get_mut(*line.queue.front()?)?;
        line.trying.attempt += 1;
        Some((line.trying, letter))
    }

    /// The letter is answered: it leaves the line.
    pub(crate) fn answered(&mut self, to: NodeId, trying: Try) -> AnswerMatch<CorrelationId> {
        let Some(line) = self.lines.get_mut(to as usize) else {
            return AnswerMatch::Stale;
        };
        if line.trying != trying {
            let late = line.late.take_if(|(late, _)| *late == trying);
            return late.map_or(AnswerMatch::Stale, |(_, correlation)| {
                AnswerMatch::Late(correlation)
            });
        }
        line.trying = Try::default();
        let place = line.queue.pop_front();
        let letter = place.and_then(|place| self.letters.try_remove(place));
        AnswerMatch::InTime(letter.and_then(|letter| letter.correlation))
    }

    /// Remembers a correlation, so that its answer is delivered once more.
    pub(crate) fn keep(&mut self, to: NodeId, trying: Try, correlation: &CorrelationId) {
        self.line(to).late = Some((trying, correlation.clone()));
    }

    pub(crate) fn failed(&mut self, to: NodeId, trying: Try) -> TryFailure<CorrelationId> {
        let Some(line) = self.lines.get_mut(to as usize) else {
            return TryFailure::Stale;
        };
        let front = line.queue.front().filter(|_| line.trying == trying);
        let Some(letter) = front.and_then(|&place| self.letters.get(place)) else {
            return TryFailure::Stale;
        };
        if trying.attempt < letter.retry.attempts {
            return TryFailure::Again;
        }
        line.trying = Try::default();
        let place = line.queue.pop_front();
        let letter = place.and_then(|place| self.letters.try_remove(place));
        let correlation = letter.and_then(|letter| letter.correlation);
        line.late = correlation.clone().map(|correlation| (trying, correlation));
        TryFailure::Over(correlation)
    }

    /// The letter at the front of a line.
    pub(crate) fn front(&self, to: NodeId) -> Option<&Letter<CorrelationId>> {
        let place = self.lines.get(to as usize)?.queue.front()?;
        self.letters.get(*place)
    }

    /// The process has died, and all letters with it.
    pub(crate) fn burn(&mut self) {
        self.letters = Slab::new();
        self.lines.clear();
    }

    fn line(&mut self, to: NodeId) -> &mut AddressQueue<CorrelationId> {
        let place = to as usize;
        while self.lines.len() <= place {
            self.lines.push(AddressQueue {
                queue: VecDeque::new(),
                trying: Try::default(),
                late: None,
            });
        }
        &mut self.lines[place]
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use league_core::letter::{Credential, Peer};
    use league_core::timeouts::Timeouts;
    use league_protocol::message::Message;
    use league_protocol::sender::{Agent, CallStyle, Dialect};

    use super::*;

    fn letter(correlation: u8) -> Letter<u8> {
        let timeouts = Timeouts::default();
        Letter {
            to: Arc::new(Peer {
                agent: Agent::Manager,
                endpoint: "".into(),
                dialect: Dialect::V2,
                speech: Some(CallStyle::Simple),
                is_foreign: false,
            }),
            message: Message::Ping,
            credential: Credential::None,
            retry: timeouts.retrying(Duration::from_secs(1)),
            proof: None,
            correlation: Some(correlation),
        }
    }

    #[test]
    fn letter_waits_for_the_one_before_it() {
        let mut post = LetterQueues::new();
        assert!(post.put(3, letter(1)));
        assert!(!post.put(3, letter(2)));
        let (first, _) = post.begin(3).unwrap();
        assert_eq!(post.answered(3, first), AnswerMatch::InTime(Some(1)));
        assert_eq!(post.answered(3, first), AnswerMatch::Stale);
        let (second, _) = post.begin(3).unwrap();
        assert_eq!(post.answered(3, first), AnswerMatch::Stale);
        assert_eq!(post.answered(3, second), AnswerMatch::InTime(Some(2)));
        assert!(post.begin(3).is_none());
    }

    #[test]
    fn last_failed_try_is_the_one_outcome() {
        let mut post = LetterQueues::new();
        post.put(0, letter(1));
        let (mut trying, _) = post.begin(0).unwrap();
        for _ in 0..2 {
            assert!(matches!(post.failed(0, trying), TryFailure::Again));
            let stale = trying;
            trying = post.again(0, trying).unwrap().0;
            assert!(matches!(post.failed(0, stale), TryFailure::Stale));
        }
        assert!(matches!(post.failed(0, trying), TryFailure::Over(Some(1))));
        assert!(matches!(post.failed(0, trying), TryFailure::Stale));
        assert_eq!(post.answered(0, trying), AnswerMatch::Late(1));
        assert_eq!(post.answered(0, trying), AnswerMatch::Stale);
    }
}
