//! The client against servers that send scripted bytes.

use league_protocol::peer::{PeerRequest, Verb};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;

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
        client.take(endpoint.address).is_none(),
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
