//! The promise that a shell gives for letters: in order per address, so many tries, one outcome.
//!
//! Carrying is left to the network; here stand the lines, and what is tried how often.

use std::collections::VecDeque;

use league_core::letter::Letter;

use crate::Who;
use crate::slab::{Place, Shelf};

/// The letters of one agent, a line for each address.
pub(crate) struct Post<CorrelationId> {
    letters: Shelf<Letter<CorrelationId>>,
    lines: Vec<Line<CorrelationId>>,
    posted: u64,
}

struct Line<CorrelationId> {
    /// Where its letters lie.
    queue: VecDeque<Place>,
    /// Names the letter at the front and counts its tries.
    trying: Trying,
    /// The last letter that was given up, or heard of once already.
    late: Option<(Trying, CorrelationId)>,
}

/// One try at one letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Trying {
    pub(crate) number: u64,
    pub(crate) attempt: u32,
}

/// What an answer finds when it comes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Arrived<CorrelationId> {
    /// Its letter, still waiting.
    InTime(Option<CorrelationId>),
    /// Its letter, given up before.
    Late(CorrelationId),
    /// Nobody who remembers.
    Stale,
}

/// What follows when a try fails.
pub(crate) enum Failed<CorrelationId> {
    /// This letter is no longer tried, or not by this try.
    Stale,
    /// It is tried once more.
    Again,
    /// It was the last try.
    Over(Option<CorrelationId>),
}

impl<CorrelationId: Clone> Post<CorrelationId> {
    pub(crate) fn new() -> Self {
        Self {
            letters: Shelf::new(),
            lines: Vec::new(),
            posted: 0,
        }
    }

    /// Puts a letter in line; says whether it is the first there and has to be sent.
    pub(crate) fn put(&mut self, to: Who, letter: Letter<CorrelationId>) -> bool {
        let place = self.letters.put(letter);
        let line = self.line(to);
        line.queue.push_back(place);
        line.queue.len() == 1
    }

    /// Begins the first try of the letter at the front.
    pub(crate) fn begin(&mut self, to: Who) -> Option<(Trying, &mut Letter<CorrelationId>)> {
        self.posted += 1;
        let number = self.posted;
        let line = self.lines.get_mut(to as usize)?;
        let letter = self.letters.get_mut(*line.queue.front()?)?;
        line.trying = Trying { number, attempt: 1 };
        Some((line.trying, letter))
    }

    /// Begins the next try of a letter, if it still stands at the front.
    pub(crate) fn again(
        &mut self,
        to: Who,
        last: Trying,
    ) -> Option<(Trying, &mut Letter<CorrelationId>)> {
        let line = self.lines.get_mut(to as usize)?;
        if line.trying != last {
            return None;
        }
        let letter = self.letters.get_mut(*line.queue.front()?)?;
        line.trying.attempt += 1;
        Some((line.trying, letter))
    }

    /// The letter is answered: it leaves the line.
    pub(crate) fn answered(&mut self, to: Who, trying: Trying) -> Arrived<CorrelationId> {
        let Some(line) = self.lines.get_mut(to as usize) else {
            return Arrived::Stale;
        };
        if line.trying != trying {
            let late = line.late.take_if(|(late, _)| *late == trying);
            return late.map_or(Arrived::Stale, |(_, correlation)| {
                Arrived::Late(correlation)
            });
        }
        line.trying = Trying::default();
        let place = line.queue.pop_front();
        let letter = place.and_then(|place| self.letters.take(place));
        Arrived::InTime(letter.and_then(|letter| letter.correlation))
    }

    /// Remembers a correlation, so that an answer to this try is heard once more.
    pub(crate) fn keep(&mut self, to: Who, trying: Trying, correlation: &CorrelationId) {
        self.line(to).late = Some((trying, correlation.clone()));
    }

    pub(crate) fn failed(&mut self, to: Who, trying: Trying) -> Failed<CorrelationId> {
        let Some(line) = self.lines.get_mut(to as usize) else {
            return Failed::Stale;
        };
        let front = line.queue.front().filter(|_| line.trying == trying);
        let Some(letter) = front.and_then(|&place| self.letters.get(place)) else {
            return Failed::Stale;
        };
        if trying.attempt < letter.retry.attempts {
            return Failed::Again;
        }
        line.trying = Trying::default();
        let place = line.queue.pop_front();
        let letter = place.and_then(|place| self.letters.take(place));
        let correlation = letter.and_then(|letter| letter.correlation);
        line.late = correlation.clone().map(|correlation| (trying, correlation));
        Failed::Over(correlation)
    }

    /// The letter at the front of a line.
    pub(crate) fn front(&self, to: Who) -> Option<&Letter<CorrelationId>> {
        let place = self.lines.get(to as usize)?.queue.front()?;
        self.letters.get(*place)
    }

    /// The process has died, and all letters with it.
    pub(crate) fn burn(&mut self) {
        self.letters = Shelf::new();
        self.lines.clear();
    }

    fn line(&mut self, to: Who) -> &mut Line<CorrelationId> {
        let place = to as usize;
        while self.lines.len() <= place {
            self.lines.push(Line {
                queue: VecDeque::new(),
                trying: Trying::default(),
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
            }),
            message: Message::Ping,
            credential: Credential::None,
            retry: timeouts.retrying(Duration::from_secs(1)),
            proof: None,
            correlation: Some(correlation),
        }
    }

    #[test]
    fn a_letter_waits_for_the_one_before_it() {
        let mut post = Post::new();
        assert!(post.put(3, letter(1)));
        assert!(!post.put(3, letter(2)));
        let (first, _) = post.begin(3).unwrap();
        assert_eq!(post.answered(3, first), Arrived::InTime(Some(1)));
        assert_eq!(post.answered(3, first), Arrived::Stale);
        let (second, _) = post.begin(3).unwrap();
        assert_eq!(post.answered(3, first), Arrived::Stale);
        assert_eq!(post.answered(3, second), Arrived::InTime(Some(2)));
        assert!(post.begin(3).is_none());
    }

    #[test]
    fn the_last_failed_try_is_the_one_outcome() {
        let mut post = Post::new();
        post.put(0, letter(1));
        let (mut trying, _) = post.begin(0).unwrap();
        for _ in 0..2 {
            assert!(matches!(post.failed(0, trying), Failed::Again));
            let stale = trying;
            trying = post.again(0, trying).unwrap().0;
            assert!(matches!(post.failed(0, stale), Failed::Stale));
        }
        assert!(matches!(post.failed(0, trying), Failed::Over(Some(1))));
        assert!(matches!(post.failed(0, trying), Failed::Stale));
        assert_eq!(post.answered(0, trying), Arrived::Late(1));
        assert_eq!(post.answered(0, trying), Arrived::Stale);
    }
}
