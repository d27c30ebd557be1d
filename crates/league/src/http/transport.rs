//! Connections that are plain TCP or TLS, and the listener that accepts them.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsStream;

use super::endpoint::{Scheme, url};
use super::tls::ServerTls;
use crate::config::NetworkConfig;

/// A bound port, and the certificate that is shown there, if it speaks TLS.
#[derive(Debug)]
pub struct Listener {
    tcp: TcpListener,
    tls: Option<ServerTls>,
}

impl From<TcpListener> for Listener {
    fn from(tcp: TcpListener) -> Self {
        Self { tcp, tls: None }
    }
}

impl Listener {
    /// Binds a port before its address is published.
    ///
    /// # Errors
    ///
    /// The port is in use or not permitted.
    pub(crate) async fn bind(address: SocketAddr, tls: Option<ServerTls>) -> io::Result<Self> {
        let tcp = TcpListener::bind(address).await?;
        Ok(Self { tcp, tls })
    }

    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        self.tcp.local_addr()
    }

    /// The bound port, also if any was asked for.
    pub(crate) fn port(&self) -> u16 {
        self.local_addr().map_or(0, |address| address.port())
    }

    /// The URL that an agent gives to others: the configured one, else its own here.
    pub(crate) fn public_url(&self, network: &NetworkConfig) -> String {
        let own = || self.url(&network.base_host);
        network.public_url.clone().unwrap_or_else(own)
    }

    /// The URL by which others call an agent that is served here.
    pub(crate) fn url(&self, host: &str) -> String {
        url(Scheme::of(self.tls.as_ref()), host, self.port())
    }

    pub(crate) async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        self.tcp.accept().await
    }

    /// What it takes to speak TLS, if it does.
    pub(crate) fn tls(&self) -> Option<ServerTls> {
        self.tls.clone()
    }
}

/// One connection.
#[derive(Debug)]
pub(crate) enum Transport<S> {
    Plain(S),
    /// Boxed, because its state is large and most connections are plain.
    Tls(Box<TlsStream<S>>),
}

impl<S> Transport<S> {
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self, Self::Plain(_))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Transport<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, into),
            Self::Tls(stream) => Pin::new(stream).poll_read(context, into),
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Transport<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write_vectored(context, slices),
            Self::Tls(stream) => Pin::new(stream).poll_write_vectored(context, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(stream) => stream.is_write_vectored(),
            Self::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(context),
            Self::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
