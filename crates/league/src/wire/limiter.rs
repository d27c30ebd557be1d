//! Bounds the letters in flight in one process, and sends urgent letters first when the bound is
//! reached.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use league_protocol::message::Message;
use tokio::sync::oneshot;

/// The most letters of one process in flight at once.
pub(crate) const MAX_IN_FLIGHT: usize = 8_192;

/// The most letters of one priority that may wait; further letters are refused.
pub(crate) const MAX_QUEUED: usize = 65_536;

/// The priority of a letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Priority {
    /// A deadline is running: invitations, moves, orders, results.
    Clocked,
    /// For information: announcements, standings, endings.
    News,
}

impl Priority {
    /// The priority of a message.
    pub(crate) const fn of(message: &Message) -> Self {
        match message {
            Message::RoundAnnouncement(_)
            | Message::RoundCompleted(_)
            | Message::LeagueStart(_)
            | Message::LeagueCompleted(_)
            | Message::StandingsUpdate(_)
            | Message::GameStart(_)
            | Message::GameOver(_)
            | Message::PlayValidation(_)
            | Message::Ping => Self::News,
            _ => Self::Clocked,
        }
    }
}

/// How many letters are on their way, and how many wait, by priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LetterLoad {
    pub(crate) in_flight: usize,
    pub(crate) waiting: [usize; 2],
}

/// Hands out permits to send, to urgent letters first.
///
/// No priority gets all permits: a player answers an invitation only after the announcement of its
/// round, so urgent letters must not stop the news for which they wait.
#[derive(Debug, Clone)]
pub(crate) struct Limiter(Arc<Mutex<Queue>>);

#[derive(Debug)]
struct Queue {
    most: usize,
    free: usize,
    /// The letters that may still be sent, by priority.
    left: [usize; 2],
    /// Waiting letters by priority, first in, first out.
    waiting: [VecDeque<oneshot::Sender<Permit>>; 2],
}

impl Queue {
    /// Takes a permit, if one is free for this priority.
    fn take(&mut self, priority: Priority) -> bool {
        let left = &mut self.left[priority as usize];
        let may = self.free > 0 && *left > 0;
        self.free -= usize::from(may);
        *left -= usize::from(may);
        may
    }

    fn put_back(&mut self, priority: Priority) {
        self.free += 1;
        self.left[priority as usize] += 1;
    }

    /// The next waiting letter that gets a permit, which is taken for it.
    fn next(&mut self) -> Option<(Priority, oneshot::Sender<Permit>)> {
        for priority in [Priority::Clocked, Priority::News] {
            if !self.waiting[priority as usize].is_empty() && self.take(priority) {
                let waiting = self.waiting[priority as usize].pop_front();
                return waiting.map(|waiting| (priority, waiting));
            }
        }
        None
    }
}

/// A permit to send; dropping it passes it to the next waiting letter.
#[derive(Debug)]
pub(crate) struct Permit(Option<(Arc<Mutex<Queue>>, Priority)>);

impl Limiter {
    /// A limiter with so many permits, at least two: three quarters of them for urgent letters at
    /// most, and half of them for news.
    pub(crate) fn new(most: usize) -> Self {
        let most = most.max(2);
        Self(Arc::new(Mutex::new(Queue {
            most,
            free: most,
            left: [most - most.div_ceil(4), most / 2],
            waiting: Default::default(),
        })))
    }

    pub(crate) fn load(&self) -> LetterLoad {
        let queue = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        LetterLoad {
            in_flight: queue.most - queue.free,
            waiting: queue.waiting.each_ref().map(VecDeque::len),
        }
    }

    /// Waits for a permit to send; `None` if too many letters are waiting.
    pub(crate) async fn permit(&self, priority: Priority) -> Option<Permit> {
        let turn = {
            let mut queue = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if queue.take(priority) {
                return Some(Permit(Some((Arc::clone(&self.0), priority))));
            }
            if queue.waiting[priority as usize].len() >= MAX_QUEUED {
                return None;
            }
            let (sender, turn) = oneshot::channel();
            queue.waiting[priority as usize].push_back(sender);
            turn
        };
        // The sender is not dropped while the queue exists, and `self` keeps the queue alive.
        Some(turn.await.unwrap_or(Permit(None)))
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let Some((limiter, mut priority)) = self.0.take() else {
            return;
        };
        loop {
            let next = {
                let mut queue = limiter.lock().unwrap_or_else(PoisonError::into_inner);
                queue.put_back(priority);
                queue.next()
            };
            let Some((taken, waiting)) = next else { return };
            match waiting.send(Self(Some((Arc::clone(&limiter), taken)))) {
                Ok(()) => return,
                // The waiting task is gone; pass the permit to the next.
                Err(mut unused) => (unused.0, priority) = (None, taken),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn urgent_letters_go_first() {
        let limiter = Limiter::new(4);
        let held = limiter.permit(Priority::Clocked).await;
        let mut others = vec![limiter.permit(Priority::News).await];
        for _ in 0..2 {
            others.push(limiter.permit(Priority::Clocked).await);
        }
        let (done, mut order) = tokio::sync::mpsc::unbounded_channel();
        for priority in [Priority::News, Priority::Clocked, Priority::News] {
            let (limiter, done) = (limiter.clone(), done.clone());
            tokio::spawn(async move {
                let _pass = limiter.permit(priority).await;
                done.send(priority)
            });
            tokio::task::yield_now().await;
        }
        drop(held);
        let mut went = Vec::new();
        for _ in 0..3 {
            went.extend(order.recv().await);
        }
        assert_eq!(went, [Priority::Clocked, Priority::News, Priority::News]);
    }

    #[tokio::test]
    async fn a_place_of_one_who_has_gone_is_not_lost() {
        let limiter = Limiter::new(2);
        let held = limiter.permit(Priority::Clocked).await;
        let gone = tokio::spawn({
            let limiter = limiter.clone();
            async move { limiter.permit(Priority::Clocked).await.is_some() }
        });
        tokio::task::yield_now().await;
        gone.abort();
        let _ = gone.await;
        drop(held);
        drop(limiter.permit(Priority::Clocked).await);
    }

    #[tokio::test]
    async fn neither_priority_takes_all_permits() {
        for (first, other) in [
            (Priority::Clocked, Priority::News),
            (Priority::News, Priority::Clocked),
        ] {
            let limiter = Limiter::new(8);
            let mut held = Vec::new();
            while limiter.0.lock().unwrap().left[first as usize] > 0 {
                held.push(limiter.permit(first).await);
            }
            assert!(held.len() >= 4 && held.len() < 8, "{first:?}");
            assert!(limiter.permit(other).await.is_some(), "{other:?}");
        }
    }
}
