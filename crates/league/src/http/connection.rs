//! Timers and signals of each server connection: a timer for request heads, the shutdown signal and
//! a write timeout.
//!
//! [`HeadTimer`] and [`ShutdownSignal`] are micro-optimisations of `hyper_util::rt::TokioTimer` and
//! `watch::Receiver::wait_for`: both save every request from taking a lock that all connections
//! share.

use std::io::{self, ErrorKind, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use std::time::{Duration, Instant};

use hyper::rt::{Sleep, Timer};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::watch;
use tokio::time::{sleep, sleep_until};

/// One timer for all request heads of a connection.
///
/// `hyper` requests a deadline before every head and drops it when the head has arrived. A timer of
/// the runtime would be created, registered and removed each time. This timer stays registered, and
/// is postponed when it fires for a head that has already arrived.
#[derive(Debug, Clone, Default)]
pub(crate) struct HeadTimer(Arc<Mutex<Option<Pin<Box<tokio::time::Sleep>>>>>);

impl Timer for HeadTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until(self.now() + duration)
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        let (timer, deadline) = (self.clone(), deadline.into());
        Box::pin(HeadDeadline { timer, deadline })
    }

    fn now(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }
}

/// One deadline; dropping it leaves the timer registered for the next.
struct HeadDeadline {
    timer: HeadTimer,
    deadline: tokio::time::Instant,
}

impl Sleep for HeadDeadline {}

impl Future for HeadDeadline {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut shared = self.timer.0.lock().unwrap_or_else(PoisonError::into_inner);
        let timer = shared.get_or_insert_with(|| Box::pin(sleep_until(self.deadline)));
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

/// The shutdown signal of a server, for one of its connections.
///
/// All connections wait in one queue behind a lock. A connection that is already queued does not
/// take the lock again when it is polled for another reason.
pub(crate) struct ShutdownSignal {
    ended: watch::Receiver<bool>,
    wait: Pin<Box<dyn Future<Output = ()> + Send>>,
    /// The waker of the queued task.
    queued: Option<Waker>,
}

impl ShutdownSignal {
    /// Completes when the server stops, or when the sender is dropped.
    pub(crate) fn new(ended: watch::Receiver<bool>) -> Self {
        let mut waiting = ended.clone();
        Self {
            ended,
            wait: Box::pin(async move {
                let _ = waiting.wait_for(|ended| *ended).await;
            }),
            queued: None,
        }
    }

    /// Whether the task will be woken without being queued again.
    fn is_queued(&self, task: &Waker) -> bool {
        let queued = self.queued.as_ref();
        queued.is_some_and(|queued| queued.will_wake(task))
            && matches!(self.ended.has_changed(), Ok(false))
    }
}

impl Future for ShutdownSignal {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.is_queued(context.waker()) {
            return Poll::Pending;
        }
        self.queued = Some(context.waker().clone());
        self.wait.as_mut().poll(context)
    }
}

/// A stream whose writes fail if the peer reads nothing for too long.
///
/// Such a peer keeps its answers in our memory and occupies a connection; the operating system
/// alone would never drop it.
#[derive(Debug)]
pub(crate) struct WriteTimeout<S> {
    stream: S,
    timeout: Duration,
    /// Runs while the peer reads nothing.
    timer: Option<Pin<Box<tokio::time::Sleep>>>,
}

impl<S> WriteTimeout<S> {
    pub(crate) fn new(stream: S, timeout: Duration) -> Self {
        Self {
            stream,
            timeout,
            timer: None,
        }
    }

    fn or_timeout(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.timer = None;
            return written;
        }
        let timeout = self.timeout;
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(timeout)));
        ready!(timer.as_mut().poll(context));
        Poll::Ready(Err(ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.or_timeout(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.or_timeout(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::body::Incoming;
    use hyper::server::conn::http1;
    use hyper::service::service_fn;
    use hyper::{Request, Response};
    use hyper_util::rt::TokioIo;
    use std::convert::Infallible;
    use std::future::poll_fn;
    use std::time::Duration;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
    use tokio::time::timeout;

    const SOON: Duration = Duration::from_millis(20);
    const LATER: Duration = Duration::from_millis(80);
    const LATE: Duration = Duration::from_secs(60);
    const SLOWEST: Duration = Duration::from_millis(600);

    #[tokio::test(start_paused = true)]
    async fn a_wait_lasts_its_duration_after_longer_and_shorter_ones() {
        let timer = HeadTimer::default();
        for dropped in [LATER, LATE] {
            let dropped = timeout(SOON, timer.sleep(dropped)).await;
            assert!(dropped.is_err(), "it rings too early");
            for duration in [LATER, SOON, LATER] {
                let start = timer.now();
                let rang = timeout(LATE / 2, timer.sleep(duration)).await;
                assert!(rang.is_ok(), "it does not ring");
                assert!(timer.now() - start >= duration);
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn each_head_of_a_connection_has_the_full_timeout() {
        let (near, mut far) = duplex(1_024);
        let answer =
            |_: Request<Incoming>| async { Ok::<_, Infallible>(Response::new(String::new())) };
        let served = http1::Builder::new()
            .timer(HeadTimer::default())
            .header_read_timeout(SLOWEST)
            .serve_connection(TokioIo::new(near), service_fn(answer));
        let served = tokio::spawn(served);
        for _ in 0..3 {
            // The pauses together exceed the timeout of one head.
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

    #[tokio::test(start_paused = true)]
    async fn a_queued_connection_sees_the_shutdown() {
        let end = watch::Sender::new(false);
        let mut signal = ShutdownSignal::new(end.subscribe());
        for _ in 0..2 {
            assert!(timeout(SOON, &mut signal).await.is_err());
        }
        let elsewhere = tokio::spawn(async move { timeout(LATE, signal).await });
        tokio::time::sleep(SOON).await;
        end.send_replace(true);
        assert_eq!(elsewhere.await.unwrap(), Ok(()), "from another task, too");
    }

    #[tokio::test(start_paused = true)]
    async fn an_earlier_shutdown_is_not_missed() {
        let end = watch::Sender::new(true);
        assert_eq!(
            timeout(LATE, ShutdownSignal::new(end.subscribe())).await,
            Ok(())
        );
        let end = watch::Sender::new(false);
        let signal = ShutdownSignal::new(end.subscribe());
        drop(end);
        assert_eq!(
            timeout(LATE, signal).await,
            Ok(()),
            "nobody is left to tell"
        );
    }

    #[tokio::test]
    async fn writing_to_a_peer_that_takes_nothing_times_out() {
        let (near, _far) = duplex(64);
        let mut near = WriteTimeout::new(near, Duration::from_millis(20));
        let written = near.write_all(&[0; 65]).await;
        assert_eq!(written.unwrap_err().kind(), ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn the_write_timer_restarts_with_every_byte_taken() {
        let (near, mut far) = duplex(64);
        let mut near = WriteTimeout::new(near, Duration::from_secs(3_600));
        near.write_all(&[0; 64]).await.unwrap();
        assert!(near.timer.is_none());
        let full = poll_fn(|context| {
            let written = Pin::new(&mut near).poll_write(context, &[0]);
            Poll::Ready(written.is_pending())
        });
        assert!(full.await);
        assert!(near.timer.is_some());
        far.read_u8().await.unwrap();
        near.write_all(&[0]).await.unwrap();
        assert!(near.timer.is_none());
    }
}
