//! TLS at both ends: the certificate that our listeners show, and the authorities that our client
//! trusts. The cryptography is `rustls` with `ring` (decision 0015).

use std::fmt;
use std::fs;
use std::io;
use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use league_protocol::finding::harmless;
use league_protocol::time::Timestamp;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::rustls::client::danger::ServerCertVerifier;
use tokio_rustls::rustls::client::{WebPkiServerVerifier, verify_server_name};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::server::ParsedCertificate;
use tokio_rustls::rustls::{self, CertificateError, ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::local;
use super::transport::Transport;
use crate::clock;
use crate::config::SystemConfig;
use crate::storage::files::read_bounded;

/// The largest file of certificates or keys, in bytes.
const MAX_PEM: u64 = 1 << 20;
/// The longest name in a peer's certificate that is reported, in characters.
const MAX_NAME: usize = 100;
/// The most such names.
const MAX_NAMES: usize = 8;
/// Our listeners and our client speak HTTP/1.1 alone.
const ALPN: &[u8] = b"http/1.1";

/// The TLS of one process.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tls {
    /// What its listeners show; `None` if they speak plain HTTP.
    pub(crate) server: Option<ServerTls>,
    pub(crate) trust: Trust,
}

/// Why a process must not listen, or cannot use its certificates.
#[derive(Debug, Error)]
pub(crate) enum TlsError {
    #[error("`{0}` is a public address, and without TLS anyone on the way reads tokens and moves")]
    Public(IpAddr),
    #[error("a certificate and its key belong together, but only `{0}` is given")]
    Half(&'static str),
    #[error("could not read `{}`: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("`{}` does not hold a certificate in PEM", .0.display())]
    NoCertificate(PathBuf),
    #[error("`{}` does not hold a private key in PEM without a passphrase", .0.display())]
    NoKey(PathBuf),
    #[error("the key `{}` does not fit the certificate `{}`", key.display(), cert.display())]
    Misfit { cert: PathBuf, key: PathBuf },
    #[error("`{}` cannot be used: {cause}", path.display())]
    Unusable { path: PathBuf, cause: rustls::Error },
}

/// Why TLS with a server did not begin.
#[derive(Debug, Error)]
pub(crate) enum HandshakeError {
    /// Its certificate is not trusted, or it speaks otherwise.
    #[error("{0}")]
    Refused(String),
    #[error("{0}")]
    Broken(String),
}

impl TlsError {
    /// What to do about it.
    pub(crate) fn hint(&self) -> &'static str {
        match self {
            Self::Public(_) => {
                "serve TLS with `security.tls_cert` and `security.tls_key` in config/system.json; \
                 or bind another address; or accept it with `--insecure`"
            }
            Self::Half(_) => "give both `security.tls_cert` and `security.tls_key`",
            Self::File { .. } | Self::NoCertificate(_) | Self::NoKey(_) | Self::Unusable { .. } => {
                "give files in PEM, for each host its own certificate"
            }
            Self::Misfit { .. } => "give the key that was made together with this certificate",
        }
    }
}

impl Tls {
    /// Checks that we would call ourselves at a host.
    ///
    /// # Errors
    ///
    /// Says what is wrong with our certificate, and what to do.
    pub(crate) fn check_own(&self, host: &str) -> Result<(), String> {
        let server = self.server.as_ref();
        server.map_or(Ok(()), |server| self.trust.check(&server.chain, host))
    }

    /// Loads what the configuration names, files relative to `folder`, and refuses to listen on a
    /// public address without TLS. Returns warnings for the user, too.
    ///
    /// # Errors
    ///
    /// Names the file or address.
    pub(crate) fn load(
        folder: &Path,
        system: &SystemConfig,
    ) -> Result<(Self, Vec<String>), TlsError> {
        let security = &system.security;
        let mut warnings = Vec::new();
        let files = match (&security.tls_cert, &security.tls_key) {
            (Some(cert), Some(key)) => Some((folder.join(cert), folder.join(key))),
            (Some(_), None) => return Err(TlsError::Half("security.tls_cert")),
            (None, Some(_)) => return Err(TlsError::Half("security.tls_key")),
            (None, None) => None,
        };
        let trust = Trust::load(security.ca.as_ref().map(|ca| folder.join(ca)).as_deref())?;
        let Some((cert, key)) = files else {
            if let Some(public) = local::public_address(security.bind) {
                if !security.insecure {
                    return Err(TlsError::Public(public));
                }
                warnings.push(format!(
                    "listens on the public address `{public}` without TLS, as `--insecure` allows: \
                     anyone on the way reads tokens and moves"
                ));
            }
            return Ok((
                Self {
                    server: None,
                    trust,
                },
                warnings,
            ));
        };
        let server = ServerTls::load(&cert, &key)?;
        warnings.extend(open_key(&key));
        warnings.extend(trust.doubt(&server, &system.network.base_host));
        let server = Some(server);
        Ok((Self { server, trust }, warnings))
    }
}

/// A warning if other users of this machine can read a key.
pub(crate) fn open_key(key: &Path) -> Option<String> {
    let mode = fs::metadata(key).map_or(0, |found| found.permissions().mode());
    (mode & 0o077 != 0).then(|| {
        let key = key.display();
        format!(
            "other users of this machine can read the key `{key}`; close it with `chmod 600 {key}`"
        )
    })
}

/// The certificate that a listener shows.
#[derive(Clone)]
pub(crate) struct ServerTls {
    acceptor: TlsAcceptor,
    /// Its certificate, then those that lead to an authority.
    chain: Arc<[CertificateDer<'static>]>,
}

impl fmt::Debug for ServerTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerTls").finish_non_exhaustive()
    }
}

impl ServerTls {
    /// Loads a certificate and its key.
    ///
    /// # Errors
    ///
    /// A file cannot be read or used, or the key belongs to another certificate.
    fn load(cert: &Path, key: &Path) -> Result<Self, TlsError> {
        let chain = certificates(cert)?;
        let private = PrivateKeyDer::from_pem_slice(&read(key)?)
            .map_err(|_| TlsError::NoKey(key.to_owned()))?;
        let config = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .and_then(|builder| {
                let builder = builder.with_no_client_auth();
                builder.with_single_cert(chain.clone(), private)
            });
        let mut config = config.map_err(|cause| match cause {
            rustls::Error::InconsistentKeys(_) => TlsError::Misfit {
                cert: cert.to_owned(),
                key: key.to_owned(),
            },
            rustls::Error::InvalidCertificate(_) => unusable(cert, cause),
            _ => unusable(key, cause),
        })?;
        config.alpn_protocols = vec![ALPN.to_vec()];
        Ok(Self {
            acceptor: TlsAcceptor::from(Arc::new(config)),
            chain: chain.into(),
        })
    }

    /// Whether the certificate is for a host.
    pub(crate) fn is_for(&self, host: &str) -> bool {
        let parsed = self.chain.first().map(ParsedCertificate::try_from);
        match (parsed, name(host)) {
            (Some(Ok(certificate)), Ok(name)) => verify_server_name(&certificate, &name).is_ok(),
            _ => false,
        }
    }

    /// Begins TLS on an accepted connection.
    ///
    /// # Errors
    ///
    /// The peer left, or does not speak TLS.
    pub(crate) async fn accept<S>(&self, stream: S) -> io::Result<Transport<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let stream = self.acceptor.accept(stream).await?;
        Ok(Transport::Tls(Box::new(stream.into())))
    }
}

/// The authorities that a process trusts: those of the platform, and the user's own.
#[derive(Clone, Default)]
pub(crate) struct Trust(Arc<Authorities>);

#[derive(Default)]
struct Authorities {
    /// The user's own.
    own: Vec<CertificateDer<'static>>,
    /// Made when they are needed first: most leagues are plain, and the platform has many.
    roots: OnceLock<Arc<RootCertStore>>,
    connector: OnceLock<Result<TlsConnector, rustls::Error>>,
}

impl fmt::Debug for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trust").finish_non_exhaustive()
    }
}

impl Trust {
    /// Loads the authorities of a file, which may hold several.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or holds something else.
    pub(crate) fn load(ca: Option<&Path>) -> Result<Self, TlsError> {
        let Some(ca) = ca else {
            return Ok(Self::default());
        };
        let own = certificates(ca)?;
        let mut roots = RootCertStore::empty();
        for authority in &own {
            let added = roots.add(authority.clone());
            added.map_err(|cause| unusable(ca, cause))?;
        }
        Ok(Self(Arc::new(Authorities {
            own,
            ..Authorities::default()
        })))
    }

    /// Begins TLS with a server, whose certificate must be valid for this host.
    ///
    /// # Errors
    ///
    /// Says what is wrong, and what to do.
    pub(crate) async fn secure<S>(
        &self,
        stream: S,
        host: &str,
    ) -> Result<Transport<S>, HandshakeError>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let refused = |error: &rustls::Error| HandshakeError::Refused(explain(host, error));
        let name = name(host).map_err(|error| refused(&error))?;
        let connector = self.0.connector.get_or_init(|| connector(self.roots()));
        let connector = connector.as_ref().map_err(refused)?;
        let stream = connector.connect(name, stream).await.map_err(|error| {
            let source = error.get_ref().and_then(|source| source.downcast_ref());
            let broken = || format!("the TLS handshake with `{host}` failed: {error}");
            source.map_or_else(|| HandshakeError::Broken(broken()), refused)
        })?;
        Ok(Transport::Tls(Box::new(stream.into())))
    }

    /// How a client of another protocol begins TLS with the same trust.
    ///
    /// # Errors
    ///
    /// No provider of ours fits.
    pub(crate) fn client_config(&self) -> Result<ClientConfig, rustls::Error> {
        client_config(self.roots())
    }

    /// A warning if callers would refuse our own certificate for a host. An unknown authority is
    /// not in doubt: the callers may know it.
    fn doubt(&self, server: &ServerTls, host: &str) -> Option<String> {
        match self.verify(&server.chain, host) {
            Ok(()) | Err(rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer)) => {
                None
            }
            Err(error) => Some(format!("others will refuse us: {}", explain(host, &error))),
        }
    }

    /// Checks a certificate as our client does.
    ///
    /// # Errors
    ///
    /// Says what is wrong, and what to do.
    pub(crate) fn check(&self, chain: &[CertificateDer<'_>], host: &str) -> Result<(), String> {
        self.verify(chain, host)
            .map_err(|error| explain(host, &error))
    }

    fn verify(&self, chain: &[CertificateDer<'_>], host: &str) -> Result<(), rustls::Error> {
        let (first, rest) = chain
            .split_first()
            .ok_or(rustls::Error::NoCertificatesPresented)?;
        let verifier = WebPkiServerVerifier::builder_with_provider(self.roots(), provider())
            .build()
            .map_err(|error| rustls::Error::General(error.to_string()))?;
        let now = u64::try_from(clock::wall().as_millis()).unwrap_or_default();
        let now = UnixTime::since_unix_epoch(Duration::from_millis(now));
        verifier.verify_server_cert(first, rest, &name(host)?, &[], now)?;
        Ok(())
    }

    fn roots(&self) -> Arc<RootCertStore> {
        let roots = self.0.roots.get_or_init(|| {
            let mut roots = RootCertStore::empty();
            // A platform may have authorities that cannot be read; the others remain.
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            roots.add_parsable_certificates(self.0.own.iter().cloned());
            Arc::new(roots)
        });
        Arc::clone(roots)
    }
}

fn client_config(roots: Arc<RootCertStore>) -> Result<ClientConfig, rustls::Error> {
    let config = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots);
    Ok(config.with_no_client_auth())
}

fn connector(roots: Arc<RootCertStore>) -> Result<TlsConnector, rustls::Error> {
    let mut config = client_config(roots)?;
    config.alpn_protocols = vec![ALPN.to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}

fn name(host: &str) -> Result<ServerName<'static>, rustls::Error> {
    ServerName::try_from(host.to_owned()).map_err(|_| rustls::Error::UnsupportedNameType)
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// Says why TLS with a host failed, and what to do.
fn explain(host: &str, error: &rustls::Error) -> String {
    use rustls::Error::{InvalidCertificate, InvalidMessage, UnsupportedNameType};
    match error {
        InvalidCertificate(wrong) => {
            format!(
                "the certificate of `{host}` {}",
                explain_certificate(host, wrong)
            )
        }
        InvalidMessage(rustls::InvalidMessage::InvalidContentType) => {
            format!("`{host}` speaks plain HTTP here, not TLS; its address begins with `http://`")
        }
        UnsupportedNameType => format!("a certificate cannot be for `{host}`"),
        _ => format!("TLS with `{host}` failed: {error}"),
    }
}

fn explain_certificate(host: &str, wrong: &CertificateError) -> String {
    use CertificateError::{
        BadSignature, Expired, ExpiredContext, NotValidForName, NotValidForNameContext,
        NotValidYet, NotValidYetContext, UnknownIssuer,
    };
    let renew = "its owner has to renew it";
    match wrong {
        UnknownIssuer => {
            "is signed by an authority that is not trusted here; trust it with `--ca FILE`, its \
             certificate in PEM"
                .to_owned()
        }
        BadSignature => {
            "is signed by an authority of the same name as one that is trusted here, but with \
             another key; get the present file for `--ca`"
                .to_owned()
        }
        NotValidForNameContext { presented, .. } => {
            let names = presented
                .iter()
                .take(MAX_NAMES)
                .map(|name| presented_name(name));
            let names = names.collect::<Vec<_>>().join(", ");
            format!(
                "is for {names}, not for `{host}`; call it by such a name, or serve one for \
                 `{host}`"
            )
        }
        NotValidForName => format!("is not for `{host}`; serve one for this name"),
        ExpiredContext { not_after, .. } => format!("expired on {}; {renew}", day(*not_after)),
        Expired => format!("expired; {renew}"),
        NotValidYetContext { not_before, .. } => {
            let day = day(*not_before);
            format!("is valid only from {day} on; correct the clock of this machine, or of that")
        }
        NotValidYet => "is not valid yet; correct the clock of this machine, or of that".to_owned(),
        // The type of this error is not public.
        other if format!("{other:?}").contains("CaUsedAsEndEntity") => {
            "is that of an authority; an agent needs one of its own".to_owned()
        }
        other => format!("is refused: {}", harmless(&other.to_string(), 2 * MAX_NAME)),
    }
}

/// A name in a certificate, which `rustls` gives as `DnsName("host")` or `IpAddress(127.0.0.1)`.
fn presented_name(given: &str) -> String {
    let inner = given
        .split_once('(')
        .and_then(|(_, rest)| rest.strip_suffix(')'));
    let inner = inner.unwrap_or(given).trim_matches('"');
    match inner.parse::<IpAddr>() {
        Ok(address) => format!("`{address}`"),
        Err(_) => format!("`{}`", harmless(inner, MAX_NAME)),
    }
}

fn day(time: UnixTime) -> String {
    let millis = i64::try_from(time.as_secs())
        .unwrap_or(i64::MAX)
        .saturating_mul(1_000);
    let text = Timestamp::from_millis(millis).to_seconds_text();
    text.split('T').next().unwrap_or_default().to_owned()
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    read_bounded(path, MAX_PEM).map_err(|source| TlsError::File {
        path: path.to_owned(),
        source,
    })
}

/// The certificates in a file; at least one.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let pem = read(path)?;
    let found = CertificateDer::pem_slice_iter(&pem).collect::<Result<Vec<_>, _>>();
    let found = found.ok().filter(|found| !found.is_empty());
    found.ok_or_else(|| TlsError::NoCertificate(path.to_owned()))
}

fn unusable(path: &Path, cause: rustls::Error) -> TlsError {
    TlsError::Unusable {
        path: path.to_owned(),
        cause,
    }
}

#[cfg(test)]
mod tests;
