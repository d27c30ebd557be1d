//! Waiting for the end of a server, beside something that is woken all the time.
//!
//! All connections wait at one place. Whoever asks there at every step meets all others at its
//! lock; whoever stands in the queue already is told anyway.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use tokio::sync::watch;

/// The end of a server, as one of its connections waits for it.
pub(super) struct Ending {
    told: watch::Receiver<bool>,
    wait: Pin<Box<dyn Future<Output = ()> + Send>>,
    /// Who is in the queue.
    waits: Option<Waker>,
}

impl Ending {
    /// Waits until told, or until nobody is left to tell.
    pub(super) fn new(end: watch::Receiver<bool>) -> Self {
        let mut waiting = end.clone();
        Self {
            told: end,
            wait: Box::pin(async move {
                let _ = waiting.wait_for(|ended| *ended).await;
            }),
            waits: None,
        }
    }

    /// Whether the task would be woken by what it has asked for before.
    fn is_queued(&self, task: &Waker) -> bool {
        let queued = self
            .waits
            .as_ref()
            .is_some_and(|waits| waits.will_wake(task));
        queued && matches!(self.told.has_changed(), Ok(false))
    }
}

impl Future for Ending {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.is_queued(context.waker()) {
            return Poll::Pending;
        }
        self.waits = Some(context.waker().clone());
        self.wait.as_mut().poll(context)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    const SOON: Duration = Duration::from_millis(20);
    const LATE: Duration = Duration::from_secs(60);

    #[tokio::test(start_paused = true)]
    async fn whoever_waits_already_is_told_of_the_end() {
        let end = watch::Sender::new(false);
        let mut ending = Ending::new(end.subscribe());
        for _ in 0..2 {
            assert!(timeout(SOON, &mut ending).await.is_err());
        }
        let elsewhere = tokio::spawn(async move { timeout(LATE, ending).await });
        tokio::time::sleep(SOON).await;
        end.send_replace(true);
        assert_eq!(elsewhere.await.unwrap(), Ok(()), "from another task, too");
    }

    #[tokio::test(start_paused = true)]
    async fn an_end_that_came_before_is_not_missed() {
        let end = watch::Sender::new(true);
        assert_eq!(timeout(LATE, Ending::new(end.subscribe())).await, Ok(()));
        let end = watch::Sender::new(false);
        let ending = Ending::new(end.subscribe());
        drop(end);
        assert_eq!(
            timeout(LATE, ending).await,
            Ok(()),
            "nobody is left to tell"
        );
    }
}
