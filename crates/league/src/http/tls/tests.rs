//! Our client against our listeners over TLS, and what both say when it fails.

use std::net::{Ipv4Addr, SocketAddr};

use hyper::Uri;
use hyper::header::{HOST, HeaderMap};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::*;
use crate::config::{AllowedEndpoint, SecurityConfig};
use crate::http::client::{CallError, Client};
use crate::http::endpoint::{AllowList, Endpoint};
use crate::http::names::Resolver;
use crate::http::server::{Gate, Limits, Routes, serve};
use crate::http::transport::Listener;

/// A timeout that is not meant to expire.
const BOUND: Duration = Duration::from_secs(60);

/// An authority, and the files of its certificates.
struct Class {
    folder: TempDir,
    issuer: Issuer<'static, KeyPair>,
}

impl Class {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let own = params.self_signed(&key).unwrap();
        fs::write(folder.path().join("ca.pem"), own.pem()).unwrap();
        fs::write(folder.path().join("ca.key"), key.serialize_pem()).unwrap();
        let issuer = Issuer::new(params, key);
        Self { folder, issuer }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn trust(&self) -> Trust {
        Trust::load(Some(&self.file("ca.pem"))).unwrap()
    }

    /// The certificate of a server by these names, until a year.
    fn server(&self, names: &[&str], until: i32) -> ServerTls {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.not_after = date_time_ymd(until, 1, 1);
        let key = KeyPair::generate().unwrap();
        let made = params.signed_by(&key, &self.issuer).unwrap();
        fs::write(self.file("server.pem"), made.pem()).unwrap();
        fs::write(self.file("server.key"), key.serialize_pem()).unwrap();
        ServerTls::load(&self.file("server.pem"), &self.file("server.key")).unwrap()
    }
}

/// A server without agents: it answers 404 to everything.
async fn serving(tls: Option<ServerTls>) -> (SocketAddr, watch::Sender<bool>) {
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let listener = Listener::bind(any, tls).await.unwrap();
    let address = listener.local_addr().unwrap();
    let end = watch::Sender::new(false);
    tokio::spawn(serve(
        listener,
        Routes::default(),
        Limits::default(),
        end.subscribe(),
    ));
    (address, end)
}

/// Calls a server; gives its status, or why there is none.
async fn status(client: &Client, host: &str, at: SocketAddr) -> Result<u16, String> {
    let endpoint = Endpoint::parse(&format!("{host}:{}/mcp", at.port())).unwrap();
    let answer = client.get(&endpoint, BOUND).await;
    answer
        .map(|answer| answer.status)
        .map_err(|error| error.to_string())
}

#[tokio::test]
async fn connections_over_tls_are_used_again_for_the_same_host_alone() {
    let class = Class::new();
    let (at, _end) = serving(Some(class.server(&["localhost"], 2100))).await;
    let client = Client::trusting(class.trust());
    for _ in 0..2 {
        assert_eq!(status(&client, "https://localhost", at).await, Ok(404));
        assert_eq!(client.idle_connections(), 1);
    }
    let other = status(&client, "https://127.0.0.1", at).await.unwrap_err();
    assert!(
        other.contains("is for `localhost`, not for `127.0.0.1`"),
        "{other}"
    );
    let plain = status(&client, "http://localhost", at).await.unwrap_err();
    assert!(plain.contains("speaks TLS"), "{plain}");
}

#[tokio::test]
async fn certificate_is_refused_with_its_cause_and_what_to_do() {
    let class = Class::new();
    let trusting = Client::trusting(class.trust());
    let own = ServerTls::load(&class.file("ca.pem"), &class.file("ca.key")).unwrap();
    let names = ["localhost"];
    for (client, server, said) in [
        (
            &Client::default(),
            class.server(&names, 2100),
            "is signed by an authority that is not trusted here; trust it with `--ca FILE`",
        ),
        (
            &Client::trusting(Class::new().trust()),
            class.server(&names, 2100),
            "is signed by an authority of the same name as one that is trusted here",
        ),
        (
            &trusting,
            class.server(&["lab-pc.local", "10.0.0.7"], 2100),
            "is for `lab-pc.local`, `10.0.0.7`, not for `localhost`; call it by such a name",
        ),
        (
            &trusting,
            class.server(&names, 2020),
            "expired on 2020-01-01; its owner has to renew it",
        ),
        (&trusting, own, "is that of an authority"),
    ] {
        let (at, _end) = serving(Some(server)).await;
        let refused = status(client, "https://localhost", at).await.unwrap_err();
        let whole = format!("no connection: the certificate of `localhost` {said}");
        assert!(refused.starts_with(&whole), "{refused}");
    }
}

#[tokio::test]
async fn certificate_must_be_for_the_name_of_the_agent() {
    let class = Class::new();
    let address = Ipv4Addr::LOCALHOST.into();
    let list = AllowList::new(SecurityConfig {
        allowed_endpoints: vec![AllowedEndpoint::address(address)],
        ..SecurityConfig::default()
    });
    let list = list.resolving(Resolver::asking(move |_| Ok(vec![address])));
    let names = ["heron.example"];
    for (trust, server, refused) in [
        (class.trust(), class.server(&names, 2100), None),
        (
            class.trust(),
            class.server(&["localhost", "127.0.0.1"], 2100),
            Some("is for `localhost`, `127.0.0.1`, not for `heron.example`"),
        ),
        (
            class.trust(),
            class.server(&names, 2020),
            Some("expired on 2020-01-01"),
        ),
        (
            Trust::default(),
            class.server(&names, 2100),
            Some("is signed by an authority that is not trusted here; trust it with `--ca FILE`"),
        ),
    ] {
        let (at, _end) = serving(Some(server)).await;
        let endpoint = list.check(&format!("https://Heron.example:{}/mcp", at.port()));
        let probed = Client::trusting(trust)
            .probe(&endpoint.unwrap(), BOUND)
            .await;
        match (probed, refused) {
            (Ok(()), None) => {}
            (Err(CallError::Tls(told)), Some(said)) => {
                let whole = format!("the certificate of `heron.example` {said}");
                assert!(told.starts_with(&whole), "{told}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn speaking_plain_http_to_tls_and_the_reverse_is_told() {
    let class = Class::new();
    let client = Client::trusting(class.trust());
    let (secured, _end) = serving(Some(class.server(&["localhost"], 2100))).await;
    let (plain, _other) = serving(None).await;
    assert_eq!(
        status(&client, "http://localhost", secured).await,
        Err(format!(
            "no connection: `localhost:{}` speaks TLS, not plain HTTP; its address begins with \
             `https://`",
            secured.port()
        ))
    );
    assert_eq!(
        status(&client, "https://localhost", plain).await,
        Err(
            "no connection: `localhost` speaks plain HTTP here, not TLS; its address begins with \
             `http://`"
                .to_owned()
        )
    );
    let mut raw = TcpStream::connect(secured).await.unwrap();
    raw.write_all(b"GET / HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n")
        .await
        .unwrap();
    let mut answer = String::new();
    raw.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    assert!(
        answer.contains("this port speaks TLS; call it at `https://`"),
        "{answer}"
    );
}

#[tokio::test]
async fn server_that_leaves_during_the_handshake_is_not_refused() {
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let listener = tokio::net::TcpListener::bind(any).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let _ = stream.read(&mut [0; 64]).await;
    });
    let endpoint = Endpoint::parse(&format!("https://localhost:{port}/mcp")).unwrap();
    let lost = Client::default().probe(&endpoint, BOUND).await;
    let Err(CallError::Connection(told)) = lost else {
        panic!("{lost:?}");
    };
    assert!(
        told.starts_with("the TLS handshake with `localhost` failed"),
        "{told}"
    );
}

#[tokio::test]
async fn open_handshakes_do_not_delay_others() {
    let class = Class::new();
    let client = Client::trusting(class.trust());
    let (at, _end) = serving(Some(class.server(&["localhost"], 2100))).await;
    let mut silent = Vec::new();
    for _ in 0..20 {
        let mut stream = TcpStream::connect(at).await.unwrap();
        // The first bytes of a handshake, and no more.
        stream.write_all(&[22, 3, 1]).await.unwrap();
        silent.push(stream);
    }
    assert_eq!(status(&client, "https://localhost", at).await, Ok(404));
}

#[tokio::test(start_paused = true)]
async fn open_handshake_ends_in_time() {
    let class = Class::new();
    let (at, _end) = serving(Some(class.server(&["localhost"], 2100))).await;
    let mut stream = TcpStream::connect(at).await.unwrap();
    let began = tokio::time::Instant::now();
    stream.write_all(&[22, 3, 1]).await.unwrap();
    // Time is virtual: it passes while all tasks wait.
    assert_eq!(stream.read(&mut [0; 64]).await.unwrap_or(0), 0);
    let bounds = Duration::from_secs(10)..Duration::from_secs(60);
    assert!(bounds.contains(&began.elapsed()));
}

#[tokio::test]
async fn answer_that_is_not_http_may_be_tls() {
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let listener = tokio::net::TcpListener::bind(any).await.unwrap();
    let at = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        // An alert, as other servers answer plain HTTP.
        stream.write_all(&[21, 3, 1, 0, 2, 2, 70]).await.unwrap();
        let _ = stream.read_to_end(&mut Vec::new()).await;
    });
    let lost = status(&Client::default(), "http://localhost", at)
        .await
        .unwrap_err();
    assert!(
        lost.contains("if it is TLS, the address begins with `https://`"),
        "{lost}"
    );
}

#[test]
fn hosts_of_the_certificate_are_let_in() {
    let server = Class::new().server(&["lab-pc.local", "10.0.0.7"], 2100);
    let gate = Gate::new(&SystemConfig::default(), Some(server));
    for (host, is_own) in [
        ("lab-pc.local", true),
        ("LAB-PC.local:8000", true),
        ("10.0.0.7:8000", true),
        ("10.0.0.8", false),
        ("evil.example", false),
        ("lab-pc.local.evil.example", false),
    ] {
        let headers = HeaderMap::from_iter([(HOST, host.parse().unwrap())]);
        let checked = gate.check(&Uri::from_static("/mcp"), &headers, None);
        assert_eq!(checked.is_ok(), is_own, "{host}");
    }
}

/// A configuration with these files, relative to the folder.
fn configured(cert: Option<&str>, key: Option<&str>, ca: Option<&str>) -> SystemConfig {
    let mut system = SystemConfig::default();
    system.security.tls_cert = cert.map(PathBuf::from);
    system.security.tls_key = key.map(PathBuf::from);
    system.security.ca = ca.map(PathBuf::from);
    system
}

#[test]
fn wrong_files_are_refused_by_name() {
    let class = Class::new();
    class.server(&["localhost"], 2100);
    fs::write(class.file("garbage"), "-----BEGIN CERTIFICATE-----\n!\n").unwrap();
    let bad = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    fs::write(class.file("bad.pem"), bad).unwrap();
    let (cert, key) = (Some("server.pem"), Some("server.key"));
    for (cert, key, ca, said) in [
        (cert, None, None, "only `security.tls_cert` is given"),
        (None, key, None, "only `security.tls_key` is given"),
        (Some("none.pem"), key, None, "could not read `"),
        (cert, Some("none.key"), None, "none.key`: No such file"),
        (
            Some("garbage"),
            key,
            None,
            "garbage` does not hold a certificate in PEM",
        ),
        (key, key, None, "server.key` does not hold a certificate"),
        (cert, cert, None, "server.pem` does not hold a private key"),
        (Some("bad.pem"), key, None, "bad.pem` cannot be used"),
        (cert, Some("ca.key"), None, "does not fit the certificate"),
        (None, None, Some("none.pem"), "none.pem`: No such file"),
        (
            None,
            None,
            Some("garbage"),
            "garbage` does not hold a certificate",
        ),
        (None, None, Some("bad.pem"), "bad.pem` cannot be used"),
    ] {
        let refused = Tls::load(class.folder.path(), &configured(cert, key, ca));
        let told = refused.unwrap_err().to_string();
        assert!(told.contains(said), "{said}: {told}");
    }
}

#[test]
fn doubtful_certificate_and_open_key_are_warned_of() {
    let class = Class::new();
    let warnings = |until: i32, names: &[&str], mode: u32| {
        class.server(names, until);
        let permissions = fs::Permissions::from_mode(mode);
        fs::set_permissions(class.file("server.key"), permissions).unwrap();
        let system = configured(Some("server.pem"), Some("server.key"), Some("ca.pem"));
        Tls::load(class.folder.path(), &system)
            .unwrap()
            .1
            .join("\n")
    };
    assert_eq!(warnings(2100, &["localhost"], 0o600), "");
    let open = warnings(2100, &["localhost"], 0o640);
    assert!(
        open.starts_with("other users of this machine can read"),
        "{open}"
    );
    let named = warnings(2100, &["lab-pc.local"], 0o600);
    assert!(
        named.contains("is for `lab-pc.local`, not for `localhost`"),
        "{named}"
    );
    let old = warnings(2020, &["localhost"], 0o600);
    assert!(old.contains("expired on 2020-01-01"), "{old}");
}

#[test]
fn public_address_needs_tls_or_a_word() {
    let class = Class::new();
    let load = |system: &SystemConfig| Tls::load(class.folder.path(), system);
    let mut system = SystemConfig::default();
    system.security.bind = "9.9.9.9".parse().unwrap();
    let refused = load(&system).unwrap_err();
    assert!(matches!(refused, TlsError::Public(_)), "{refused}");
    assert!(refused.hint().contains("`--insecure`"));
    system.security.insecure = true;
    let (_, warnings) = load(&system).unwrap();
    assert!(
        warnings[0].contains("`9.9.9.9` without TLS"),
        "{warnings:?}"
    );
    class.server(&["localhost"], 2100);
    let mut secured = configured(Some("server.pem"), Some("server.key"), None);
    secured.security.bind = system.security.bind;
    assert!(load(&secured).is_ok());
}
