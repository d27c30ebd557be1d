//! A bound on the letters that are under way in one process, and who goes first when it is reached.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use league_protocol::message::Message;
use tokio::sync::oneshot;

/// How many letters of one process may be under way at once.
pub(crate) const MAX_IN_FLIGHT: usize = 8_192;

/// How many more of one priority may wait; whatever comes then is turned away.
pub(crate) const MAX_QUEUED: usize = 65_536;

/// What a letter is to those who wait for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Priority {
    /// Somebody's clock runs: invitations, moves, orders, results.
    Clocked,
    /// Told so that it is known: announcements, tables, ends.
    News,
}

impl Priority {
    /// How urgent a message is.
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

/// Lets letters out, the urgent ones first.
#[derive(Debug, Clone)]
pub(crate) struct Limiter(Arc<Mutex<Queue>>);

#[derive(Debug)]
struct Queue {
    free: usize,
    /// Those who wait, by how urgent they are, first come first served.
    waiting: [VecDeque<oneshot::Sender<Permit>>; 2],
}

/// The right to be under way; another gets it when it is dropped.
#[derive(Debug)]
pub(crate) struct Permit(Option<Arc<Mutex<Queue>>>);

impl Limiter {
    /// A limiter that lets so many out at once.
    pub(crate) fn new(most: usize) -> Self {
        Self(Arc::new(Mutex::new(Queue {
            free: most.max(1),
            waiting: Default::default(),
        })))
    }

    /// Waits until a letter may go out; `None` if too many wait already.
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
        // A pass is handed on for as long as the limiter stands, and this holds it.
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
                // Whoever waited has gone; the next one gets it.
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
