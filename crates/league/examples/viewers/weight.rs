//! What the first page weighs, with everything it loads, plain and packed.

use std::io;
use std::path::Path;
use std::time::Duration;

use league_web::assets;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::league::League;

/// Sizes of leagues; where there are too many matches to wait for, how many are waited for.
const LEAGUES: [(u32, Option<u64>); 3] = [(4, None), (40, None), (400, Some(400))];
/// How long a page may take.
const PAGE_TIMEOUT: Duration = Duration::from_secs(60);

/// What the first page of a league weighs, in bytes.
#[derive(Debug)]
pub(crate) struct Weight {
    players: u32,
    matches: u64,
    plain: Bytes,
    packed: Bytes,
}

#[derive(Debug)]
struct Bytes {
    page: usize,
    assets: usize,
}

/// Plays leagues and fetches their pages.
///
/// # Errors
///
/// A league may not start, or answer otherwise than it should.
pub(crate) async fn weigh(program: &Path) -> io::Result<Vec<Weight>> {
    let mut weights = Vec::new();
    for (players, wait) in LEAGUES {
        println!("weighing the page of {players} players…");
        let count = players.to_string();
        let root = tempfile::tempdir()?;
        let arguments = ["--players", &count, "--seed", "1"];
        let mut league = League::start(program, root.path(), &arguments).await?;
        let ripe = |event: &serde_json::Value| {
            let number = event["number"].as_u64().unwrap_or_default();
            event["event"] == "page" || wait.is_some_and(|wait| number >= wait)
        };
        league.hear(ripe).await?;
        weights.push(Weight {
            players,
            matches: wait.unwrap_or(league.matches),
            plain: bytes(&league.authority, "identity").await?,
            packed: bytes(&league.authority, "gzip").await?,
        });
        league.end().await?;
    }
    Ok(weights)
}

/// Prints the weights as a table.
pub(crate) fn tell(weights: &[Weight]) {
    println!(
        "\n{:<10}{:<10}{:<26}{:<26}",
        "players", "matches", "KB: page + assets = all", "packed"
    );
    let shown = |Bytes { page, assets }: &Bytes| {
        let kilo = |bytes: usize| bytes as f64 / 1e3;
        let (page, assets, all) = (kilo(*page), kilo(*assets), kilo(page + assets));
        format!("{page:.1} + {assets:.1} = {all:.1}")
    };
    for weight in weights {
        println!(
            "{:<10}{:<10}{:<26}{:<26}",
            weight.players,
            weight.matches,
            shown(&weight.plain),
            shown(&weight.packed)
        );
    }
}

async fn bytes(authority: &str, encoding: &str) -> io::Result<Bytes> {
    let page = fetch(authority, "/", encoding).await?;
    let mut all = 0;
    for name in assets::names() {
        all += fetch(authority, &format!("/assets/{name}"), encoding).await?;
    }
    Ok(Bytes { page, assets: all })
}

/// How many bytes the body of an answer has.
async fn fetch(authority: &str, path: &str, encoding: &str) -> io::Result<usize> {
    let fetching = async {
        let mut stream = TcpStream::connect(authority).await?;
        let request = format!(
            "GET {path} HTTP/1.1\r\nhost: {authority}\r\naccept-encoding: {encoding}\r\n\
             connection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await?;
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
        match end.filter(|_| answer.starts_with(b"HTTP/1.1 200 ")) {
            Some(end) => Ok(answer.len() - end - 4),
            None => Err(io::Error::other(format!("no page at {path}"))),
        }
    };
    let late = |_| io::Error::other(format!("{path} took too long"));
    tokio::time::timeout(PAGE_TIMEOUT, fetching)
        .await
        .map_err(late)?
}
