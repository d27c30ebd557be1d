//! The server-sent events of a site. A viewer that reconnects gets what it missed.

use std::collections::VecDeque;

use league_protocol::time::Timestamp;
use league_web::parts::Patch;
use serde::Serialize;
use tokio::sync::broadcast;

use super::gzip::GzipChunk;

/// Events that are kept for viewers that reconnect.
const MAX_KEPT: usize = 512;
/// Their size.
const MAX_KEPT_BYTES: usize = 8 * 1024 * 1024;
/// Events that a viewer may lag behind before it gets the whole page.
const MAX_LAG: usize = 64;

/// The start of each stream: reconnect after a second.
pub(crate) const GREETING: &str = "retry: 1000\n\n";

#[derive(Debug)]
pub(crate) struct Feed {
    /// Distinguishes the events of this process from those of an earlier one.
    epoch: i64,
    last: u64,
    kept: VecDeque<GzipChunk>,
    kept_bytes: usize,
    /// The whole page since the last event, once a viewer needed it.
    whole: Option<GzipChunk>,
    sender: broadcast::Sender<GzipChunk>,
}

/// The data of a patch event.
#[derive(Serialize)]
struct PatchEvent<'p> {
    set: &'p std::collections::BTreeMap<String, String>,
    lists: &'p std::collections::BTreeMap<&'static str, Vec<String>>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    touched: &'p [String],
}

impl Feed {
    pub(crate) fn new(now: Timestamp) -> Self {
        Self {
            epoch: now.as_millis(),
            last: 0,
            kept: VecDeque::new(),
            kept_bytes: 0,
            whole: None,
            sender: broadcast::Sender::new(MAX_LAG),
        }
    }

    /// Sends a change to all viewers, and keeps it for those that reconnect.
    pub(crate) fn publish(&mut self, patch: &Patch, touched: &[String]) {
        self.last += 1;
        self.whole = None;
        let event = self.event(patch, touched);
        self.kept_bytes += event.len();
        self.kept.push_back(event.clone());
        while self.kept.len() > MAX_KEPT || self.kept_bytes > MAX_KEPT_BYTES {
            let oldest = self.kept.pop_front();
            self.kept_bytes -= oldest.map_or(0, |oldest| oldest.len());
        }
        // Compressed here, on a blocking thread.
        event.gzip();
        // There may be no viewer.
        let _ = self.sender.send(event);
    }

    pub(crate) fn sender(&self) -> broadcast::Sender<GzipChunk> {
        self.sender.clone()
    }

    pub(crate) fn subscribe(&self) -> broadcast::Receiver<GzipChunk> {
        self.sender.subscribe()
    }

    /// The events since the one with this id; `None` if they are not kept any more.
    pub(crate) fn since(&self, id: &str) -> Option<Vec<GzipChunk>> {
        let (epoch, number) = id.split_once('-')?;
        let number: u64 = number.parse().ok()?;
        if epoch.parse() != Ok(self.epoch) || number > self.last {
            return None;
        }
        let missed = usize::try_from(self.last - number).ok()?;
        let first = self.kept.len().checked_sub(missed)?;
        Some(self.kept.range(first..).cloned().collect())
    }

    /// The whole page as an event, made once for all viewers that connect before the next event.
    pub(crate) fn whole(&mut self, patch: impl FnOnce() -> Patch) -> GzipChunk {
        if let Some(event) = &self.whole {
            return event.clone();
        }
        let event = self.event(&patch(), &["*".to_owned()]);
        self.whole = Some(event.clone());
        event
    }

    fn event(&self, patch: &Patch, touched: &[String]) -> GzipChunk {
        let data = PatchEvent {
            set: &patch.set,
            lists: &patch.lists,
            touched,
        };
        // Compact JSON has no newlines, so it is one line of data.
        let json = serde_json::to_string(&data).unwrap_or_default();
        let (epoch, last) = (self.epoch, self.last);
        GzipChunk::new(format!(
            "event: patch\nid: {epoch}-{last}\ndata: {json}\n\n"
        ))
    }
}

/// Tells viewers that the connection is alive.
pub(crate) fn heartbeat(now: Timestamp) -> GzipChunk {
    let at = now.to_millis_text();
    GzipChunk::new(format!("event: beat\ndata: {{\"at\":\"{at}\"}}\n\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patch(row: usize) -> Patch {
        let mut patch = Patch::default();
        patch.set.insert("row".to_owned(), format!("<p>{row}</p>"));
        patch
    }

    fn text(events: &[GzipChunk]) -> String {
        let texts = events.iter().map(|event| event.plain().to_vec());
        String::from_utf8(texts.collect::<Vec<_>>().concat()).unwrap()
    }

    #[test]
    fn reconnecting_viewer_gets_exactly_what_it_missed() {
        let mut feed = Feed::new(Timestamp::from_millis(7));
        for row in 1..=3 {
            feed.publish(&patch(row), &["R1M1".to_owned()]);
        }
        insta::assert_snapshot!(text(&feed.since("7-1").unwrap()), @r#"
        event: patch
        id: 7-2
        data: {"set":{"row":"<p>2</p>"},"lists":{},"touched":["R1M1"]}

        event: patch
        id: 7-3
        data: {"set":{"row":"<p>3</p>"},"lists":{},"touched":["R1M1"]}
        "#);
        assert!(feed.since("7-3").is_some_and(|missed| missed.is_empty()));
    }

    #[test]
    fn unknown_or_old_event_id_gets_no_events() {
        let mut feed = Feed::new(Timestamp::from_millis(7));
        for row in 0..=MAX_KEPT {
            feed.publish(&patch(row), &[]);
        }
        for id in ["8-1", "7-0", "7-9999", "", "7", "7-x", "-1-2"] {
            assert!(feed.since(id).is_none(), "{id}");
        }
        assert!(feed.since("7-1").is_some());
    }

    #[test]
    fn whole_page_is_made_once_per_event() {
        let mut feed = Feed::new(Timestamp::from_millis(7));
        feed.publish(&patch(1), &[]);
        let first = feed.whole(|| patch(1));
        let again = feed.whole(|| unreachable!("it is there already"));
        assert_eq!(first.plain(), again.plain());
        feed.publish(&patch(2), &[]);
        insta::assert_snapshot!(text(&[feed.whole(|| patch(2))]), @r#"
        event: patch
        id: 7-2
        data: {"set":{"row":"<p>2</p>"},"lists":{},"touched":["*"]}
        "#);
    }

    #[test]
    fn kept_events_are_bounded_in_bytes() {
        let mut feed = Feed::new(Timestamp::from_millis(7));
        let mut large = Patch::default();
        large
            .set
            .insert("row".to_owned(), "x".repeat(MAX_KEPT_BYTES / 4));
        for _ in 0..8 {
            feed.publish(&large, &[]);
        }
        assert!(feed.kept_bytes <= MAX_KEPT_BYTES);
        assert!(feed.since("7-7").is_some());
        assert!(feed.since("7-1").is_none());
    }
}
