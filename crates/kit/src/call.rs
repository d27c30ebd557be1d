//! The call to the manager: its address, one POST over HTTP or TLS, and the reading of the answer.

use std::io::{self, BufReader, Error, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;

use crate::http::{HttpHead, ReadStop, TimedStream};

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

impl std::fmt::Display for ManagerUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
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

    /// Posts a body; returns the status and the body of the answer.
    pub(crate) fn post(&self, body: &[u8], timeout: Duration) -> io::Result<(u16, Vec<u8>)> {
        self.send(&self.request("POST", &self.path, body), timeout)
    }

    /// Gets how the league stands; returns the body of the answer.
    pub(crate) fn health(&self, timeout: Duration) -> io::Result<Vec<u8>> {
        let site = self.path.strip_suffix("/mcp").unwrap_or(&self.path);
        let request = self.request("GET", &format!("{site}/health"), b"");
        Ok(self.send(&request, timeout)?.1)
    }

    fn send(&self, request: &[u8], timeout: Duration) -> io::Result<(u16, Vec<u8>)> {
        let stream = TimedStream::new(self.connect(timeout)?.into(), timeout)?;
        if self.is_tls {
            self.exchange_tls(stream, request)
        } else {
            exchange(stream, request)
        }
    }

    fn connect(&self, timeout: Duration) -> io::Result<TcpStream> {
        let host = self.host.trim_start_matches('[').trim_end_matches(']');
        let mut last = Error::new(ErrorKind::NotFound, "the name has no address");
        for address in (host, self.port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, timeout) {
                Ok(stream) => return Ok(stream),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn request(&self, method: &str, path: &str, body: &[u8]) -> Vec<u8> {
        let mut request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}:{}\r\nContent-Type: application/json\r\n\
             Accept: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            self.host,
            self.port,
            body.len()
        )
        .into_bytes();
        request.extend_from_slice(body);
        request
    }

    #[cfg(not(feature = "tls"))]
    fn exchange_tls(&self, _stream: TimedStream, _request: &[u8]) -> io::Result<(u16, Vec<u8>)> {
        Err(ErrorKind::Unsupported.into())
    }

    #[cfg(feature = "tls")]
    fn exchange_tls(&self, stream: TimedStream, request: &[u8]) -> io::Result<(u16, Vec<u8>)> {
        use rustls::pki_types::{CertificateDer, ServerName, pem::PemObject};
        use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

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
        let provider = rustls::crypto::ring::default_provider().into();
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(Error::other)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let host = self.host.trim_start_matches('[').trim_end_matches(']');
        let name = ServerName::try_from(host.to_owned()).map_err(Error::other)?;
        let connection = ClientConnection::new(config.into(), name).map_err(Error::other)?;
        exchange(StreamOwned::new(connection, stream), request)
    }
}

fn exchange(mut stream: impl Read + Write, request: &[u8]) -> io::Result<(u16, Vec<u8>)> {
    stream.write_all(request)?;
    stream.flush()?;
    let mut reader = BufReader::new(stream);
    let unreadable = |stop| match stop {
        ReadStop::Gone(error) => error,
        ReadStop::Refused(refusal) => refusal.into(),
    };
    let head = HttpHead::read(&mut reader).map_err(unreadable)?;
    let head = head.ok_or(ErrorKind::UnexpectedEof)?;
    let status = head.start.split(' ').nth(1).and_then(|it| it.parse().ok());
    let broken = || Error::new(ErrorKind::InvalidData, "not an HTTP response");
    let status = status.ok_or_else(broken)?;
    Ok((status, head.body(&mut reader, true).map_err(unreadable)?))
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
