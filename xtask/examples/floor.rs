//! The floor of `cargo xtask bench`: bare hyper servers and clients that make the calls of a match.
//!
//! Every body has its size and goes its way, but nothing is read, decided or written.

use std::convert::Infallible;
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{CONTENT_TYPE, HOST, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};

/// The agents of a match, by their places.
const MANAGER: &[usize] = &[0];
const REFEREE: &[usize] = &[1];
const PLAYERS: &[usize] = &[2, 3];

/// The calls of a match: who is called, and the bytes of the request and of the answer, as a league of
/// 32 players has them on average.
const CALLS: [(&str, &[usize], usize, usize); 10] = [
    ("ROUND_ANNOUNCEMENT", PLAYERS, 3_954, 51),
    ("START_MATCH", REFEREE, 1_399, 332),
    ("GAME_INVITATION", PLAYERS, 535, 440),
    ("CHOOSE_PARITY_CALL", PLAYERS, 544, 458),
    ("DRAW_REQUEST", MANAGER, 788, 298),
    ("MATCH_RESULT_REPORT", MANAGER, 1_533, 752),
    ("GAME_OVER", PLAYERS, 1_603, 51),
    ("GAME_OVER_TOLD", MANAGER, 378, 51),
    ("LEAGUE_STANDINGS_UPDATE", PLAYERS, 3_930, 51),
    ("ROUND_COMPLETED", PLAYERS, 505, 51),
];
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Plays matches, so many at once, and prints how far it is and how long calls took.
#[tokio::main]
async fn main() -> io::Result<()> {
    let arguments = std::env::args().skip(1).filter_map(|it| it.parse().ok());
    let [at_once, matches] = arguments.collect::<Vec<u64>>()[..] else {
        return Err(io::Error::other("usage: floor AT_ONCE MATCHES"));
    };
    let (begun, done) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (manager, referee) = (listen().await?, listen().await?);
    let mut slots = Vec::new();
    for _ in 0..at_once {
        let agents = [manager, referee, listen().await?, listen().await?];
        let (begun, done) = (Arc::clone(&begun), Arc::clone(&done));
        slots.push(tokio::spawn(async move {
            let mut connections = Vec::new();
            for agent in agents {
                connections.push(connect(agent).await?);
            }
            let mut micros = Vec::new();
            while begun.fetch_add(1, Ordering::Relaxed) < matches {
                play(&mut connections, &mut micros).await?;
                let number = done.fetch_add(1, Ordering::Relaxed) + 1;
                if number.is_multiple_of(at_once) {
                    writeln!(io::stdout(), "{{\"number\":{number},\"of\":{matches}}}")?;
                }
            }
            io::Result::Ok(micros)
        }));
    }
    let mut micros = Vec::new();
    for slot in slots {
        micros.extend(slot.await??);
    }
    micros.sort_unstable();
    let [p50, p99] = [50, 99].map(|part| micros[(micros.len() - 1) * part / 100]);
    writeln!(io::stdout(), "{{\"p50\":{p50},\"p99\":{p99}}}")
}

/// Makes the calls of a match, those of one kind at once.
async fn play(
    connections: &mut [SendRequest<Full<Bytes>>],
    micros: &mut Vec<u128>,
) -> io::Result<()> {
    for (kind, callees, size, _) in CALLS {
        let since = Instant::now();
        let mut answers = Vec::new();
        for callee in callees {
            let connection = &mut connections[*callee];
            connection.ready().await.map_err(io::Error::other)?;
            let body = Full::new(Bytes::from(vec![b' '; size]));
            let request = Request::post(format!("/{kind}")).header(HOST, "localhost");
            let request = request.header(CONTENT_TYPE, JSON).body(body);
            answers.push(connection.send_request(request.map_err(io::Error::other)?));
        }
        for answer in answers {
            let answer = answer.await.map_err(io::Error::other)?;
            answer
                .into_body()
                .collect()
                .await
                .map_err(io::Error::other)?;
            micros.push(since.elapsed().as_micros());
        }
    }
    Ok(())
}

async fn connect(to: SocketAddr) -> io::Result<SendRequest<Full<Bytes>>> {
    let stream = TcpStream::connect(to).await?;
    stream.set_nodelay(true)?;
    let opened = handshake(TokioIo::new(stream)).await;
    let (requests, connection) = opened.map_err(io::Error::other)?;
    // A call reports a broken connection.
    tokio::spawn(connection);
    Ok(requests)
}

/// Starts an agent on a port of its own.
async fn listen() -> io::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            stream.set_nodelay(true)?;
            let (stream, service) = (TokioIo::new(stream), service_fn(answer));
            // The caller reports a broken connection.
            tokio::spawn(http1::Builder::new().serve_connection(stream, service));
        }
        io::Result::Ok(())
    });
    Ok(address)
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path().trim_start_matches('/').to_owned();
    let size = CALLS
        .iter()
        .find(|(kind, ..)| *kind == path)
        .map_or(0, |(.., size)| *size);
    // A caller that breaks the connection hears no answer.
    let _ = request.into_body().collect().await;
    let mut response = Response::new(Full::new(Bytes::from(vec![b' '; size])));
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    Ok(response)
}
