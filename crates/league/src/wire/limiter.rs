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

/// Hands out permits to send, to urgent letters first.
#[derive(Debug, Clone)]
pub(crate) struct Limiter(Arc<Mutex<Queue>>);

#[derive(Debug)]
struct Queue {
    free: usize,
    /// Waiting letters by priority, first in, first out.
    waiting: [VecDeque<oneshot::Sender<Permit>>; 2],
}

/// A permit to send; dropping it passes it to the next waiting letter.
#[derive(Debug)]
pub(crate) struct Permit(Option<Arc<Mutex<Queue>>>);

impl Limiter {
    /// A limiter with this many permits.
    pub(crate) fn new(most: usize) -> Self {
        Self(Arc::new(Mutex::new(Queue {
            free: most.max(1),
            waiting: Default::default(),
        })))
    }

    /// Waits for a permit to send; `None` if too many letters are waiting.
    pub(crate) async fn permit(&self, priority: Priority) -> Option<Permit> {
        let turn = {
            let mut queue = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if queue.free > 0 {
                queue.free -= 1;
                return Some(Permit(Some(Arc::clone(&self.0))));
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

impl Default for Limiter {
    fn default() -> Self {
        Self::new(MAX_IN_FLIGHT)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let Some(limiter) = self.0.take() else {
            return;
        };
        loop {
            let waiting = {
                let mut queue = limiter.lock().unwrap_or_else(PoisonError::into_inner);
                let first = queue.waiting.iter_mut().find_map(VecDeque::pop_front);
                if first.is_none() {
                    queue.free += 1;
                }
                first
            };
            let Some(waiting) = waiting else { return };
            match waiting.send(Self(Some(Arc::clone(&limiter)))) {
                Ok(()) => return,
                // The waiting task is gone; pass the permit to the next.
                Err(mut unused) => unused.0 = None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn urgent_letters_go_first() {
        let limiter = Limiter::new(1);
        let held = limiter.permit(Priority::News).await;
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
        let limiter = Limiter::new(1);
        let held = limiter.permit(Priority::News).await;
        let gone = tokio::spawn({
            let limiter = limiter.clone();
            async move { limiter.permit(Priority::Clocked).await.is_some() }
        });
        tokio::task::yield_now().await;
        gone.abort();
        let _ = gone.await;
        drop(held);
        drop(limiter.permit(Priority::News).await);
    }
}
