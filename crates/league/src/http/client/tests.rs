//! The client against servers that send scripted bytes.

use league_protocol::peer::{PeerRequest, Verb};
use league_protocol::rpc::{self, Era, RpcError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;
use crate::config::{AllowedEndpoint, SecurityConfig};
use crate::http::endpoint::AllowList;
use crate::http::names::Resolver;

/// A timeout that is not meant to expire.
const BOUND: Duration = Duration::from_secs(10);
/// A timeout that is meant to expire.
const SHORT: Duration = Duration::from_millis(50);

/// A server that sends these bytes to every caller and keeps the connection open.
async fn server(bytes: &'static str) -> Endpoint {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut heard = [0; 4_096];
        let _ = stream.read(&mut heard).await.unwrap();
        stream.write_all(bytes.as_bytes()).await.unwrap();
        std::future::pending::<()>().await;
    });
    Endpoint::parse(&format!("http://127.0.0.1:{port}/mcp")).unwrap()
}

fn request() -> PeerRequest {
    PeerRequest {
        verb: Verb::Post,
        headers: vec![("mcp-method", "tools/call".to_owned())],
        body: b"{}".to_vec(),
        id: Some(3),
    }
}

/// A server that answers every call so; gives its address, and how many calls came.
async fn answering_so(head: String) -> (String, Arc<std::sync::atomic::AtomicUsize>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let calls = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let mut heard = [0; 4_096];
            let _ = stream.read(&mut heard).await.unwrap();
            let answer = format!("HTTP/1.1 {head}\r\ncontent-length: 2\r\n\r\n{{}}");
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    (format!("http://127.0.0.1:{port}/mcp"), calls)
}

#[tokio::test]
async fn redirect_is_followed_inside_the_list_and_refused_outside_it() {
    let (manager, called) = answering_so("200 OK".to_owned()).await;
    let called = || called.load(std::sync::atomic::Ordering::Relaxed);
    let (other, _) = answering_so(format!("307 Temporary Redirect\r\nlocation: {manager}")).await;
    let client = Client::default();
    let post = async |managers: &str| {
        let managers = Endpoint::of_managers(managers).unwrap();
        let answer = client
            .post(&managers, Bytes::from_static(b"{}"), BOUND)
            .await;
        answer.map(|answer| answer.status)
    };
    assert_eq!(post(&format!("{other},{manager}")).await, Ok(200));
    assert_eq!(called(), 1);
    let refused = post(&other).await;
    assert_eq!(refused, Err(CallError::Redirect(manager.clone())));
    assert_eq!(called(), 1, "no token leaves the list");
}

#[tokio::test]
async fn manager_that_is_away_or_stands_by_is_passed_over() {
    let (manager, _) = answering_so("200 OK".to_owned()).await;
    let (standby, asked) = answering_so("503 Service Unavailable".to_owned()).await;
    let gone = {
        let closed = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        closed.local_addr().unwrap().to_string()
    };
    let hanging = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let silent = hanging.local_addr().unwrap().to_string();
    let client = Client::default();
    let all = Endpoint::of_managers(&format!("{gone},{standby},{manager}")).unwrap();
    for _ in 0..2 {
        let answer = client.post(&all, Bytes::new(), BOUND).await;
        assert_eq!(answer.map(|answer| answer.status), Ok(200));
    }
    let asked = asked.load(std::sync::atomic::Ordering::Relaxed);
    assert_eq!(asked, 1, "the one that answered is asked first");
    let none = Endpoint::of_managers(&format!("{gone},{standby}")).unwrap();
    let lost = client.post(&none, Bytes::new(), BOUND).await;
    assert_eq!(lost, Err(CallError::Unavailable(503)));
    let one = Endpoint::of_managers(&format!("{silent},{manager}")).unwrap();
    let lost = client.post(&one, Bytes::new(), SHORT).await;
    assert_eq!(lost, Err(CallError::Timeout(SHORT)));
    let answer = client.post(&one, Bytes::new(), BOUND).await;
    assert_eq!(answer.map(|answer| answer.status), Ok(200));
}

#[tokio::test]
async fn a_stream_is_read_until_the_answer_has_come_and_no_longer() {
    let endpoint = server(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nmcp-session-id: s1\r\n\r\n\
         : hello\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}\n\n",
    )
    .await;
    let client = Client::default();
    let answer = client.send(&endpoint, &request(), BOUND).await.unwrap();
    assert_eq!(answer.session.as_deref(), Some("s1"));
    assert_eq!(&*answer.body, br#"{"jsonrpc":"2.0","id":3,"result":{}}"#);
    assert!(
        client.take(&endpoint).is_none(),
        "the line is not used again"
    );
}

#[tokio::test]
async fn comments_do_not_extend_the_time_of_a_call() {
    let endpoint =
        server("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n: still there\n\n").await;
    let lost = Client::default().send(&endpoint, &request(), SHORT).await;
    assert_eq!(lost, Err(CallError::Timeout(SHORT)));
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_is_not_followed() {
    let endpoint =
        server("HTTP/1.1 307 X\r\nlocation: http://127.0.0.1:1/mcp\r\ncontent-length: 0\r\n\r\n")
            .await;
    let answer = Client::default()
        .send(&endpoint, &request(), BOUND)
        .await
        .unwrap();
    assert_eq!(answer.status, 307);
}

#[tokio::test]
async fn a_stream_of_comments_is_too_large_at_some_time() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
        stream.write_all(head.as_bytes()).await.unwrap();
        // Write until the client closes the connection.
        while stream.write_all(&b":\n\n".repeat(4_096)).await.is_ok() {}
    });
    let endpoint = Endpoint::parse(&format!("http://127.0.0.1:{port}/mcp")).unwrap();
    let lost = Client::default().send(&endpoint, &request(), BOUND).await;
    assert_eq!(lost, Err(CallError::TooLarge));
}

/// A server that answers each request on each connection, and counts connections.
async fn answering() -> (Endpoint, Arc<std::sync::atomic::AtomicUsize>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let count = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counting = Arc::clone(&count);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            counting.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            tokio::spawn(async move {
                let mut heard = [0; 4_096];
                while stream.read(&mut heard).await.is_ok_and(|read| read > 0) {
                    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
                    stream.write_all(answer).await.unwrap();
                }
            });
        }
    });
    let endpoint = Endpoint::parse(&format!("http://127.0.0.1:{port}/mcp")).unwrap();
    (endpoint, count)
}

#[tokio::test]
async fn idle_connection_makes_room_for_another_peer() {
    let client = Client::new(Trust::default(), 1);
    let [(one, _), (other, connections)] = [answering().await, answering().await];
    for _ in 0..2 {
        client.get(&one, BOUND).await.unwrap();
        client.get(&other, BOUND).await.unwrap();
    }
    let connections = connections.load(std::sync::atomic::Ordering::Relaxed);
    assert_eq!(connections, 2, "the first was closed in between");
    assert_eq!(client.idle().len(), 1, "the other address is forgotten");
}

#[tokio::test]
async fn call_without_a_free_connection_is_no_failure_of_the_peer() {
    let client = Client::new(Trust::default(), 1);
    let (endpoint, _) = answering().await;
    let busy = client.make_room().unwrap();
    let refused = client.get(&endpoint, BOUND).await;
    assert!(matches!(refused, Err(CallError::Local(_))), "{refused:?}");
    drop(busy);
    client.get(&endpoint, BOUND).await.unwrap();
}

#[tokio::test]
async fn answer_over_a_pooled_connection_ends_a_shortage() {
    let client = Client::default();
    let (endpoint, connections) = answering().await;
    client.get(&endpoint, BOUND).await.unwrap();
    client.shortage.begin("too many open files");
    client.get(&endpoint, BOUND).await.unwrap();
    let connections = connections.load(std::sync::atomic::Ordering::Relaxed);
    assert_eq!(connections, 1, "the second call used the first connection");
    tokio::time::pause();
    let hour = Duration::from_secs(3_600);
    let persists = tokio::time::timeout(hour, client.shortage.persists()).await;
    assert!(persists.is_err(), "{persists:?}");
}

#[test]
fn only_a_server_that_says_so_speaks_tls() {
    let [plain, secured] = ["http", "https"]
        .map(|scheme| Endpoint::parse(&format!("{scheme}://127.0.0.1:1/mcp")).unwrap());
    let own = rpc::fail(
        None,
        &RpcError::invalid_request(NEEDS_TLS.to_owned()),
        Era::Modern,
    );
    let own = String::from_utf8(own).unwrap();
    for said in [
        own.as_str(),
        "Client sent an HTTP request to an HTTPS server.\n",
        "<center>The plain HTTP request was sent to HTTPS port</center>",
        "Reason: You're speaking plain HTTP to an SSL-enabled server port.<br />",
    ] {
        assert!(is_tls_wanted(&plain, 400, said.as_bytes()), "{said}");
        assert!(!is_tls_wanted(&plain, 200, said.as_bytes()), "{said}");
        assert!(!is_tls_wanted(&secured, 400, said.as_bytes()), "{said}");
    }
    for said in [
        r#"{"detail":[{"msg":"Field required","url":"https://errors.pydantic.dev/2.11/v/missing"}]}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"see https://errors.pydantic.dev"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"what is `Client sent an HTTP request to an HTTPS server`?"}}"#,
        "Bad Request: see https://example.org/help",
        "",
    ] {
        assert!(!is_tls_wanted(&plain, 400, said.as_bytes()), "{said}");
    }
}

#[tokio::test]
async fn a_probe_fails_at_a_closed_port() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let endpoint = Endpoint::parse(&format!("http://127.0.0.1:{port}/mcp")).unwrap();
    let client = Client::default();
    assert_eq!(client.probe(&endpoint, BOUND).await, Ok(()));
    drop(listener);
    assert!(client.probe(&endpoint, BOUND).await.is_err());
}

/// An endpoint with a name, which leads to an address of this list each time, the last one ever
/// after.
fn named(url: &str, allowed: &str, found: &'static [&'static str]) -> Endpoint {
    let asked = std::sync::atomic::AtomicUsize::new(0);
    let list = AllowList::new(SecurityConfig {
        allowed_endpoints: vec![AllowedEndpoint::parse(allowed).unwrap()],
        ..SecurityConfig::default()
    });
    let resolver = Resolver::asking(move |_| {
        let next = asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let answer = found[next.min(found.len() - 1)];
        Ok(answer
            .split(' ')
            .map(|found| found.parse().unwrap())
            .collect())
    });
    list.resolving(resolver).check(url).unwrap()
}

#[tokio::test]
async fn name_that_leads_elsewhere_later_is_not_followed_to_a_forbidden_address() {
    let (endpoint, connections) = answering().await;
    let port = endpoint.address().unwrap().port();
    let url = format!("http://heron.example:{port}/mcp");
    // The same server listens at both addresses: loopback is one machine.
    let rebound = named(&url, "127.0.0.1", &["127.0.0.1", "127.0.0.2"]);
    let client = Client::default();
    client.get(&rebound, BOUND).await.unwrap();
    client.get(&rebound, BOUND).await.unwrap();
    let count = || connections.load(std::sync::atomic::Ordering::Relaxed);
    assert_eq!(count(), 1, "the connection to the checked address is kept");
    drop(client.take(&rebound));
    let refused = client.get(&rebound, BOUND).await;
    let Err(CallError::NotAllowed(told)) = refused else {
        panic!("{refused:?}");
    };
    assert!(told.contains("`127.0.0.2`"), "{told}");
    assert_eq!(count(), 1);
}

#[tokio::test]
async fn next_address_of_a_name_is_tried_and_forbidden_ones_are_not() {
    let (endpoint, connections) = answering().await;
    let port = endpoint.address().unwrap().port();
    let url = format!("http://heron.example:{port}/mcp");
    let mixed = named(&url, "127.0.0.0/8", &["192.0.2.1 ::1 127.0.0.1"]);
    Client::default().get(&mixed, BOUND).await.unwrap();
    assert_eq!(connections.load(std::sync::atomic::Ordering::Relaxed), 1);
    // Nobody listens at the first.
    let listener = TcpListener::bind(("127.0.0.2", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let url = format!("http://heron.example:{port}/mcp");
    let second = named(&url, "127.0.0.0/8", &["127.0.0.3 127.0.0.2"]);
    assert_eq!(Client::default().probe(&second, BOUND).await, Ok(()));
    drop(listener);
    let lost = Client::default().probe(&second, BOUND).await;
    let told = "it refuses connections".to_owned();
    assert_eq!(lost, Err(CallError::Connection(told)));
}

#[tokio::test]
async fn connections_of_two_names_at_one_address_are_not_mixed() {
    let (endpoint, connections) = answering().await;
    let port = endpoint.address().unwrap().port();
    let at = |host: &str| format!("http://{host}:{port}/mcp");
    let [one, other] =
        ["a.example", "b.example"].map(|host| named(&at(host), "127.0.0.1", &["127.0.0.1"]));
    let client = Client::default();
    for endpoint in [&one, &other, &endpoint, &one, &other, &endpoint] {
        client.get(endpoint, BOUND).await.unwrap();
    }
    assert_eq!(connections.load(std::sync::atomic::Ordering::Relaxed), 3);
    let secured = named(
        &at("a.example").replace("http", "https"),
        "127.0.0.1",
        &[""],
    );
    assert_ne!(key(&one), key(&secured));
}

#[tokio::test]
async fn failing_resolver_is_no_failure_of_the_peer_and_no_shortage() {
    let list = AllowList::default();
    let failing = Resolver::asking(|_| Err(io::Error::other("Try again")));
    let endpoint = list.resolving(failing).check("http://heron.example/mcp");
    let client = Client::default();
    let failed = client.get(&endpoint.unwrap(), BOUND).await;
    assert_eq!(
        failed,
        Err(CallError::Unresolved(
            "this machine cannot resolve `heron.example` for now: Try again".to_owned()
        ))
    );
    tokio::time::pause();
    let hour = Duration::from_secs(3_600);
    let persists = tokio::time::timeout(hour, client.shortage.persists()).await;
    assert!(persists.is_err(), "{persists:?}");
    let unknown = Resolver::asking(|_| Ok(Vec::new()));
    let endpoint = AllowList::default()
        .resolving(unknown)
        .check("http://heron.example/mcp");
    let lost = client.get(&endpoint.unwrap(), BOUND).await;
    let said = "no address was found for `heron.example`; give the address instead of the name";
    assert_eq!(lost, Err(CallError::Connection(said.to_owned())));
}
