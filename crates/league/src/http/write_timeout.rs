//! A stream that waits for its peer, but not for ever.
//!
//! A peer that takes nothing any more leaves its answers in our memory and keeps its place among
//! the connections; the system alone would never let it go.

use std::io::{self, ErrorKind, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// A stream on which writing fails when the peer takes nothing for too long.
#[derive(Debug)]
pub(super) struct Patient<S> {
    stream: S,
    longest: Duration,
    /// Runs out while the peer takes nothing.
    patience: Option<Pin<Box<Sleep>>>,
}

impl<S> Patient<S> {
    /// Waits for so long, and no longer.
    pub(super) fn new(stream: S, longest: Duration) -> Self {
        Self {
            stream,
            longest,
            patience: None,
        }
    }

    /// Lets nothing wait for longer than the patience lasts.
    fn wait(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.patience = None;
            return written;
        }
        let longest = self.longest;
        let patience = self
            .patience
            .get_or_insert_with(|| Box::pin(sleep(longest)));
        ready!(patience.as_mut().poll(context));
        Poll::Ready(Err(ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.wait(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.wait(context, written)
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
    use std::future::poll_fn;

    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    #[tokio::test]
    async fn a_peer_that_takes_nothing_is_given_up() {
        let (near, _far) = duplex(64);
        let mut near = Patient::new(near, Duration::from_millis(20));
        let written = near.write_all(&[0; 65]).await;
        assert_eq!(written.unwrap_err().kind(), ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn patience_begins_anew_with_every_byte_that_is_taken() {
        let (near, mut far) = duplex(64);
        let mut near = Patient::new(near, Duration::from_secs(3_600));
        near.write_all(&[0; 64]).await.unwrap();
        assert!(near.patience.is_none());
        let full = poll_fn(|context| {
            let written = Pin::new(&mut near).poll_write(context, &[0]);
            Poll::Ready(written.is_pending())
        });
        assert!(full.await);
        assert!(near.patience.is_some());
        far.read_u8().await.unwrap();
        near.write_all(&[0]).await.unwrap();
        assert!(near.patience.is_none());
    }
}
