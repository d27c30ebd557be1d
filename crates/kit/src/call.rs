//! The call to the manager: its address, and one request over HTTP or TLS.

use std::fmt::{self, Display, Formatter};
use std::io::{self, Error, ErrorKind};
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST};
use hyper::http::request::Builder;
use hyper_util::rt::TokioIo;
use league_protocol::rpc::MAX_BODY;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::runtime::Handle;

/// The address of a manager.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ManagerUrl {
    is_tls: bool,
    host: String,
    port: u16,
    path: String,
    /// The certificates to trust instead of those of the platform.
    pub(crate) ca: Option<PathBuf>,
}

impl Display for ManagerUrl {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_tls { "https" } else { "http" };
        write!(f, "{scheme}://{}:{}{}", self.host, self.port, self.path)
    }
}

impl ManagerUrl {
    /// Reads an address; `http://` and `/mcp` may be left out.
    pub(crate) fn parse(text: &str, ca: Option<PathBuf>) -> Result<Self, String> {
        let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
        let is_tls = match scheme {
            "http" => false,
            "https" if cfg!(feature = "tls") => true,
            "https" => {
                return Err(format!(
                    "`{text}` needs TLS: write `league-kit = {{ …, features = [\"tls\"] }}`"
                ));
            }
            _ => {
                return Err(format!(
                    "`{text}` does not begin with `http://` or `https://`"
                ));
            }
        };
        let at = rest.find('/').unwrap_or(rest.len());
        let (authority, path) = rest.split_at(at);
        let usual = if is_tls { 443 } else { 80 };
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()),
            _ => (authority, Some(usual)),
        };
        let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"@?#".contains(&byte);
        match port {
            Some(port) if !host.is_empty() && rest.bytes().all(is_plain) => Ok(Self {
                is_tls,
                host: host.to_owned(),
                port,
                path: if path.len() > 1 { path } else { "/mcp" }.to_owned(),
                ca,
            }),
            _ => Err(format!(
                "`{text}` is not an address such as `http://localhost:8000/mcp`"
            )),
        }
    }

    fn host(&self) -> &str {
        self.host.trim_start_matches('[').trim_end_matches(']')
    }
}

/// The manager of a player: its address, and the runtime in which it is called.
pub(crate) struct Manager {
    url: ManagerUrl,
    runtime: Handle,
}

impl Display for Manager {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.url.fmt(f)
    }
}

impl Manager {
    pub(crate) const fn new(url: ManagerUrl, runtime: Handle) -> Self {
        Self { url, runtime }
    }

    /// Posts a body; returns the status and the body of the answer.
    pub(crate) fn post(&self, body: Vec<u8>, timeout: Duration) -> io::Result<(u16, Bytes)> {
        self.send(Request::post(&self.url.path), body, timeout)
    }

    /// Gets how the league stands; returns the body of the answer.
    pub(crate) fn health(&self, timeout: Duration) -> io::Result<Bytes> {
        let path = &self.url.path;
        let site = path.strip_suffix("/mcp").unwrap_or(path);
        let get = Request::get(format!("{site}/health"));
        Ok(self.send(get, Vec::new(), timeout)?.1)
    }

    /// Sends a request and waits for the answer.
    fn send(&self, request: Builder, body: Vec<u8>, timeout: Duration) -> io::Result<(u16, Bytes)> {
        let host = format!("{}:{}", self.url.host, self.url.port);
        let request = request
            .header(HOST, host)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json")
            .body(Full::from(body))
            .map_err(Error::other)?;
        let (url, (answer, came)) = (self.url.clone(), channel());
        self.runtime.spawn(async move {
            let exchanged = tokio::time::timeout(timeout, url.exchange(request)).await;
            // The thread that called waits for it.
            let _ = answer.send(exchanged.unwrap_or_else(|_| Err(ErrorKind::TimedOut.into())));
        });
        came.recv().map_err(Error::other)?
    }
}

impl ManagerUrl {
    async fn exchange(&self, request: Request<Full<Bytes>>) -> io::Result<(u16, Bytes)> {
        let stream = TcpStream::connect((self.host(), self.port)).await?;
        stream.set_nodelay(true)?;
        if self.is_tls {
            self.exchange_tls(stream, request).await
        } else {
            exchange(stream, request).await
        }
    }

    #[cfg(not(feature = "tls"))]
    async fn exchange_tls(
        &self,
        _stream: TcpStream,
        _request: Request<Full<Bytes>>,
    ) -> io::Result<(u16, Bytes)> {
        Err(ErrorKind::Unsupported.into())
    }

    #[cfg(feature = "tls")]
    async fn exchange_tls(
        &self,
        stream: TcpStream,
        request: Request<Full<Bytes>>,
    ) -> io::Result<(u16, Bytes)> {
        use std::sync::Arc;

        use tokio_rustls::TlsConnector;
        use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, pem::PemObject};
        use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto};

        let mut roots = RootCertStore::empty();
        match &self.ca {
            None => {
                let native = rustls_native_certs::load_native_certs();
                roots.add_parsable_certificates(native.certs);
            }
            Some(file) => {
                let certificates = CertificateDer::pem_file_iter(file).map_err(Error::other)?;
                for certificate in certificates {
                    let certificate = certificate.map_err(Error::other)?;
                    roots.add(certificate).map_err(Error::other)?;
                }
            }
        }
        let provider = crypto::ring::default_provider().into();
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(Error::other)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::try_from(self.host().to_owned()).map_err(Error::other)?;
        let connector = TlsConnector::from(Arc::new(config));
        exchange(connector.connect(name, stream).await?, request).await
    }
}

async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    request: Request<Full<Bytes>>,
) -> io::Result<(u16, Bytes)> {
    let begun = http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = begun.map_err(Error::other)?;
    // What breaks the connection ends the request too.
    tokio::spawn(connection);
    let response = sender.send_request(request).await.map_err(Error::other)?;
    let status = response.status().as_u16();
    let body = Limited::new(response, MAX_BODY).collect().await;
    Ok((status, body.map_err(Error::other)?.to_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manager_is_named_in_full_or_in_short() {
        let whole = |text: &str| ManagerUrl::parse(text, None).map(|url| url.to_string());
        for (text, url) in [
            ("localhost:8000", "http://localhost:8000/mcp"),
            ("http://10.0.0.1:8000/", "http://10.0.0.1:8000/mcp"),
            ("http://[::1]:8000/mcp", "http://[::1]:8000/mcp"),
            ("[::1]", "http://[::1]:80/mcp"),
            ("example.com/a/mcp", "http://example.com:80/a/mcp"),
        ] {
            assert_eq!(whole(text).as_deref(), Ok(url));
        }
        for text in [
            "",
            "http://",
            ":8000",
            "localhost:port",
            "a b",
            "u@h",
            "ftp://h",
            "h:99999",
        ] {
            assert!(whole(text).is_err(), "{text}");
        }
        assert_eq!(whole("https://h").is_ok(), cfg!(feature = "tls"));
    }
}
