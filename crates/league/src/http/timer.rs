//! One timer for all the heads of a connection.
//!
//! `hyper` asks for a deadline before every head and drops it when the head is there. A timer of
//! the runtime would be made, entered and struck out each time, at a place where all connections
//! meet. This one stays as it is, and is put off when it rings for a head that has come long since.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use hyper::rt::{Sleep, Timer};
use tokio::time::sleep_until;

/// The timer of one connection, which waits for one thing at a time.
#[derive(Debug, Clone, Default)]
pub(super) struct Alarm(Arc<Mutex<Option<Pin<Box<tokio::time::Sleep>>>>>);

impl Timer for Alarm {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until(self.now() + duration)
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        let (alarm, deadline) = (self.clone(), deadline.into());
        Box::pin(Wait { alarm, deadline })
    }

    fn now(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }
}

/// One wait; dropping it leaves the timer to the next.
struct Wait {
    alarm: Alarm,
    deadline: tokio::time::Instant,
}

impl Sleep for Wait {}

impl Future for Wait {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut alarm = self.alarm.0.lock().unwrap_or_else(PoisonError::into_inner);
        let timer = alarm.get_or_insert_with(|| Box::pin(sleep_until(self.deadline)));
        if timer.deadline() > self.deadline {
            timer.as_mut().reset(self.deadline);
        }
        ready!(timer.as_mut().poll(context));
        if timer.deadline() == self.deadline {
            return Poll::Ready(());
        }
        timer.as_mut().reset(self.deadline);
        timer.as_mut().poll(context)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use hyper::body::Incoming;
    use hyper::server::conn::http1;
    use hyper::service::service_fn;
    use hyper::{Request, Response};
    use hyper_util::rt::TokioIo;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
    use tokio::time::timeout;

    use super::*;

    const SOON: Duration = Duration::from_millis(20);
    const LATER: Duration = Duration::from_millis(80);
    const LATE: Duration = Duration::from_secs(60);
    const SLOWEST: Duration = Duration::from_millis(600);

    #[tokio::test(start_paused = true)]
    async fn a_wait_lasts_as_long_as_it_should_whatever_was_waited_for_before() {
        let alarm = Alarm::default();
        for dropped in [LATER, LATE] {
            let dropped = timeout(SOON, alarm.sleep(dropped)).await;
            assert!(dropped.is_err(), "it rings too early");
            for duration in [LATER, SOON, LATER] {
                let start = alarm.now();
                let rang = timeout(LATE / 2, alarm.sleep(duration)).await;
                assert!(rang.is_ok(), "it does not ring");
                assert!(alarm.now() - start >= duration);
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn every_head_of_a_connection_has_its_time() {
        let (near, mut far) = duplex(1_024);
        let answer =
            |_: Request<Incoming>| async { Ok::<_, Infallible>(Response::new(String::new())) };
        let served = http1::Builder::new()
            .timer(Alarm::default())
            .header_read_timeout(SLOWEST)
            .serve_connection(TokioIo::new(near), service_fn(answer));
        let served = tokio::spawn(served);
        for _ in 0..3 {
            // Longer in all than one head may take.
            tokio::time::sleep(SLOWEST * 2 / 5).await;
            assert_eq!(ask(&mut far).await, *b"HTTP/1.1 200");
        }
        let start = tokio::time::Instant::now();
        far.write_all(b"GET / HT").await.unwrap();
        let ended = timeout(LATE, served).await.unwrap().unwrap();
        assert!(ended.is_err_and(|error| error.is_timeout()));
        assert!(
            start.elapsed() >= SLOWEST / 2,
            "counted from the last answer"
        );
    }

    async fn ask(server: &mut DuplexStream) -> [u8; 12] {
        let head = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n";
        server.write_all(head).await.unwrap();
        let mut answer = [0; 1_024];
        let length = timeout(LATE, server.read(&mut answer))
            .await
            .unwrap()
            .unwrap();
        answer[..length].first_chunk().copied().unwrap()
    }
}
