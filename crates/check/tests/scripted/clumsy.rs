//! Servers that do not get along with connections, and the rule that catches each.

use std::net::Ipv4Addr;
use std::time::Duration;

use league_check::verdict::Verdict;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::player::{Played, staged};

/// What a server cannot do.
#[derive(Debug, Clone, Copy, Default)]
struct Clumsy {
    /// It closes each connection after the first answer, and does not say so.
    closes: bool,
    /// It takes what it reads first for the whole request.
    reads_once: bool,
    /// It serves one connection after another.
    serial: bool,
    /// It ends over a request that it cannot read.
    fragile: bool,
    /// It ends over a caller that has closed its half of the connection.
    wants_both_halves: bool,
}

/// How long the other half is waited for.
const HALF: Duration = Duration::from_secs(1);

impl Clumsy {
    async fn stage(self) -> Played {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(self.serve(listener));
        staged(port, |_| {}).await
    }

    async fn serve(self, listener: TcpListener) {
        while let Ok((stream, _)) = listener.accept().await {
            let served = tokio::spawn(self.converse(stream));
            let dies = self.fragile || self.wants_both_halves;
            let waits = self.serial || dies;
            let fine = !waits || served.await.unwrap();
            if dies && !fine {
                return;
            }
        }
    }

    /// Serves a connection; says whether everything on it could be read.
    async fn converse(self, mut stream: TcpStream) -> bool {
        let mut unread = Vec::new();
        loop {
            let Some(body) = self.body(&mut stream, &mut unread).await else {
                return unread.is_empty();
            };
            if self.wants_both_halves {
                let more = tokio::time::timeout(HALF, stream.read(&mut [0])).await;
                if matches!(more, Ok(Ok(0))) {
                    return false;
                }
            }
            let call: Value = serde_json::from_slice(&body).unwrap_or_default();
            let status = if call.is_null() { 400 } else { 200 };
            let result = json!({
                "protocol": "league.v2", "message_type": "GAME_JOIN_ACK", "accept": true,
                "match_id": call["params"]["match_id"],
            });
            let answer = json!({"jsonrpc": "2.0", "id": call["id"], "result": result}).to_string();
            let head = format!(
                "HTTP/1.1 {status} OK\r\nContent-Length: {}\r\n\r\n",
                answer.len()
            );
            let sent = stream.write_all((head + &answer).as_bytes()).await;
            if sent.is_err() || self.closes {
                return true;
            }
        }
    }

    /// The body of the next request; none if there is no whole one.
    async fn body(self, stream: &mut TcpStream, unread: &mut Vec<u8>) -> Option<Vec<u8>> {
        loop {
            let text = String::from_utf8_lossy(unread).into_owned();
            if let Some((head, _)) = text.split_once("\r\n\r\n") {
                let begin = head.len() + 4;
                let lower = head.to_ascii_lowercase();
                let length = lower.split("content-length: ").nth(1);
                let length = length.and_then(|rest| rest.split("\r\n").next()?.parse().ok());
                let length: usize = length.unwrap_or(0);
                if self.reads_once || unread.len() >= begin + length {
                    let end = unread.len().min(begin + length);
                    let body = unread[begin..end].to_vec();
                    unread.drain(..end);
                    return Some(body);
                }
            }
            let mut chunk = [0; 4096];
            match stream.read(&mut chunk).await {
                Ok(length @ 1..) => unread.extend_from_slice(&chunk[..length]),
                _ => return None,
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn clumsy_server_is_caught_by_the_rule_for_it() {
    let can = Clumsy::default();
    let closes = Clumsy {
        closes: true,
        ..can
    };
    let reads_once = Clumsy {
        reads_once: true,
        ..can
    };
    let serial = Clumsy {
        serial: true,
        ..can
    };
    let fragile = Clumsy {
        fragile: true,
        closes: true,
        ..can
    };
    let halves = Clumsy {
        wants_both_halves: true,
        closes: true,
        ..can
    };
    let cases = [
        ("P-CONN-01", closes),
        ("P-CONN-02", closes),
        ("P-CONN-03", reads_once),
        // It reads no body where no length is given.
        ("P-CONN-04", can),
        ("P-CONN-05", serial),
        ("P-CONN-06", serial),
        ("P-CONN-07", fragile),
        ("P-CONN-08", fragile),
        ("P-CONN-09", halves),
    ];
    for (id, server) in cases {
        let finding = server.stage().await.rule(id).await;
        let caught = matches!(finding.verdict, Verdict::Fail | Verdict::Deviation);
        assert!(caught, "{id}: {finding:?}");
    }
    for id in [
        "P-CONN-01",
        "P-CONN-03",
        "P-CONN-05",
        "P-CONN-06",
        "P-CONN-07",
        "P-CONN-09",
    ] {
        let finding = can.stage().await.rule(id).await;
        assert_eq!(finding.verdict, Verdict::Pass, "{finding:?}");
    }
}
