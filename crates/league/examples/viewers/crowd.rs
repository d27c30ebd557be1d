//! Viewers of a league, each on a connection of its own, each checking that it misses nothing.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::events::Events;

/// How long a league may be watched.
const WATCH_TIMEOUT: Duration = Duration::from_secs(300);
/// How much is read at once.
const READ: usize = 64 * 1024;
/// What stands in the summary of a league that is over.
const OVER: &str = "Finished";
/// The lists of the board; a patch that has them all tells the whole board.
const LISTS: [&str; 3] = ["standings-rows", "cross-rows", "agent-rows"];

/// Viewers on their way to the end of a league.
pub(crate) struct Crowd(JoinSet<io::Result<(ViewerLog, TcpStream)>>);

/// What one viewer was told, up to the end of the league.
#[derive(Debug, Default)]
pub(crate) struct ViewerLog {
    /// Patches, the first and whole one counted.
    pub(crate) patches: u64,
    /// Whole boards after the first, told to one who was too far behind.
    pub(crate) anew: u64,
    /// Bytes over the wire.
    pub(crate) bytes: u64,
    /// The last patch: the life of the site, and its number in it.
    last: Option<(u64, u64)>,
    over: bool,
}

impl Crowd {
    /// Sends so many viewers to a page.
    pub(crate) fn gather(viewers: usize, authority: &str) -> Self {
        let watching = (0..viewers).map(|_| watch(authority.to_owned()));
        Self(watching.collect())
    }

    /// Waits until all have seen the end; they stay connected as long as what this gives lives.
    ///
    /// # Errors
    ///
    /// Says that one of them missed something, or has not seen the end in time.
    pub(crate) async fn see_the_end(mut self) -> io::Result<Vec<(ViewerLog, TcpStream)>> {
        let all = async {
            let mut heard = Vec::new();
            while let Some(viewer) = self.0.join_next().await {
                heard.push(viewer.map_err(io::Error::other)??);
            }
            Ok(heard)
        };
        let late = |_| io::Error::other("not every viewer has seen the end of the league");
        let seen = tokio::time::timeout(WATCH_TIMEOUT, all).await;
        seen.map_err(late)?
    }
}

/// Watches a league until it is over.
async fn watch(authority: String) -> io::Result<(ViewerLog, TcpStream)> {
    let mut stream = TcpStream::connect(&authority).await?;
    // What browsers say of themselves here.
    let request = format!(
        "GET /feed HTTP/1.1\r\nhost: {authority}\r\naccept: text/event-stream\r\n\
         accept-encoding: gzip, deflate, br\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await?;
    let mut heard = ViewerLog::default();
    let mut events = Events::new();
    let mut bytes = vec![0; READ];
    while !heard.over {
        let read = stream.read(&mut bytes).await?;
        if read == 0 {
            return Err(io::Error::other("the feed broke off"));
        }
        heard.bytes += read as u64;
        let mut missed = Ok(());
        events.take(&bytes[..read], |event| {
            if let Err(error) = heard.hear(event) {
                missed = Err(error);
            }
        })?;
        missed?;
    }
    Ok((heard, stream))
}

impl ViewerLog {
    fn hear(&mut self, event: &str) -> io::Result<()> {
        let line = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
        let (Some(id), Some(patch)) = (line("id: "), line("data: ")) else {
            // A beat, or when to come back.
            return Ok(());
        };
        let number = |text: &str| text.parse::<u64>().ok();
        let numbers = id.split_once('-');
        let numbers = numbers.and_then(|(life, n)| Some((number(life)?, number(n)?)));
        let Some((life, n)) = numbers else {
            return Err(io::Error::other(format!("an id that is none: {id}")));
        };
        match self.last {
            Some(last) if last == (life, n.saturating_sub(1)) => {}
            Some(last) if !is_whole(patch) => {
                let told = format!("patch {id} came after {}-{}", last.0, last.1);
                return Err(io::Error::other(told));
            }
            Some(_) => self.anew += 1,
            None if is_whole(patch) => {}
            None => return Err(io::Error::other("the first patch is not the whole board")),
        }
        self.last = Some((life, n));
        self.patches += 1;
        self.over |= summary(patch).contains(OVER);
        Ok(())
    }
}

/// Whether a patch tells the whole board.
///
/// Quotes within what is set are escaped, so a name between bare ones is one of JSON.
fn is_whole(patch: &str) -> bool {
    let named = |list: &str| patch.contains(&format!("\"{list}\":["));
    LISTS.iter().all(|list| named(list))
}

/// The summary in a patch; empty if it has not changed.
fn summary(patch: &str) -> &str {
    let after = patch.split_once("\"summary\":\"");
    let value = after.map_or("", |(_, value)| value);
    // The next element begins after a quote that is not escaped.
    value.split_once("\",\"").map_or(value, |(value, _)| value)
}
