//! The server-sent events of a site. A viewer that reconnects gets what it missed.
//!
//! The id of an event names the process, the event, and the state of the page after it. Another
//! process that has shown the same state goes on from there; it knows nothing else of the viewer.

use std::collections::VecDeque;

use league_protocol::time::Timestamp;
use league_web::parts::Patch;
use serde::Serialize;
use tokio::sync::broadcast;

use super::gzip::GzipChunk;
use super::live_view::ALL;

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
    /// The state of the page after the last event.
    state: u64,
    /// The last events, each with the state after it.
    kept: VecDeque<(u64, GzipChunk)>,
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
            state: 0,
            kept: VecDeque::new(),
            kept_bytes: 0,
            whole: None,
            sender: broadcast::Sender::new(MAX_LAG),
        }
    }

    /// Sends a change to all viewers, and keeps it for those that reconnect.
    pub(crate) fn publish(&mut self, patch: &Patch, touched: &[String], state: u64) {
        self.last += 1;
        self.state = state;
        self.whole = None;
        let event = self.event(patch, touched);
        self.kept_bytes += event.len();
        self.kept.push_back((state, event.clone()));
        while self.kept.len() > MAX_KEPT || self.kept_bytes > MAX_KEPT_BYTES {
            let oldest = self.kept.pop_front();
            self.kept_bytes -= oldest.map_or(0, |(_, oldest)| oldest.len());
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
        let (epoch, rest) = id.split_once('-')?;
        let (number, state) = rest.split_once('-')?;
        if epoch.parse() != Ok(self.epoch) {
            return self.since_state(u64::from_str_radix(state, 16).ok()?);
        }
        let number: u64 = number.parse().ok()?;
        let missed = usize::try_from(self.last.checked_sub(number)?).ok()?;
        let first = self.kept.len().checked_sub(missed)?;
        Some(self.after(first).collect())
    }

    /// The events since the page had this state, for a viewer of another process; it is not known of
    /// which other pages that process has told it.
    fn since_state(&self, state: u64) -> Option<Vec<GzipChunk>> {
        let first = if state == self.state {
            self.kept.len()
        } else {
            1 + self.kept.iter().position(|(kept, _)| *kept == state)?
        };
        let others = self.event(&Patch::default(), &[ALL.to_owned()]);
        Some(self.after(first).chain([others]).collect())
    }

    fn after(&self, first: usize) -> impl Iterator<Item = GzipChunk> {
        self.kept.range(first..).map(|(_, event)| event.clone())
    }

    /// The whole page as an event, made once for all viewers that connect before the next event.
    pub(crate) fn whole(&mut self, patch: impl FnOnce() -> Patch) -> GzipChunk {
        if let Some(event) = &self.whole {
            return event.clone();
        }
        let event = self.event(&patch(), &[ALL.to_owned()]);
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
        let (epoch, last, state) = (self.epoch, self.last, self.state);
        GzipChunk::new(format!(
            "event: patch\nid: {epoch}-{last}-{state:016x}\ndata: {json}\n\n"
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
            feed.publish(&patch(row), &["R1M1".to_owned()], row as u64);
        }
        insta::assert_snapshot!(text(&feed.since("7-1-1").unwrap()), @r#"
        event: patch
        id: 7-2-0000000000000002
        data: {"set":{"row":"<p>2</p>"},"lists":{},"touched":["R1M1"]}

        event: patch
        id: 7-3-0000000000000003
        data: {"set":{"row":"<p>3</p>"},"lists":{},"touched":["R1M1"]}
        "#);
        assert!(feed.since("7-3-3").is_some_and(|missed| missed.is_empty()));
    }

    #[test]
    fn viewer_of_another_process_goes_on_from_the_same_state_of_the_page() {
        let mut feed = Feed::new(Timestamp::from_millis(7));
        for row in [1, 2, 1, 3] {
            feed.publish(&patch(row), &[], row as u64);
        }
        insta::assert_snapshot!(text(&feed.since("8-90-3").unwrap()), @r#"
        event: patch
        id: 7-4-0000000000000003
        data: {"set":{},"lists":{},"touched":["*"]}
        "#);
        let since = feed.since("8-90-1").unwrap();
        assert_eq!(since.len(), 4, "the page had this state twice");
        assert!(feed.since("8-90-4").is_none(), "it never had this one");
    }

    #[test]
    fn unknown_or_old_event_id_gets_no_events() {
        let mut feed = Feed::new(Timestamp::from_millis(7));
        for row in 0..=MAX_KEPT {
            feed.publish(&patch(row), &[], 1_000 + row as u64);
        }
        for id in [
            "8-1-1", "7-0-0", "7-9999-1", "", "7", "7-x-1", "-1-2", "8-1-x", "7-1",
        ] {
            assert!(feed.since(id).is_none(), "{id}");
        }
        assert!(feed.since("7-1-1").is_some());
    }

    #[test]
    fn whole_page_is_made_once_per_event() {
        let mut feed = Feed::new(Timestamp::from_millis(7));
        feed.publish(&patch(1), &[], 1);
        let first = feed.whole(|| patch(1));
        let again = feed.whole(|| unreachable!("it is there already"));
        assert_eq!(first.plain(), again.plain());
        feed.publish(&patch(2), &[], 2);
        insta::assert_snapshot!(text(&[feed.whole(|| patch(2))]), @r#"
        event: patch
        id: 7-2-0000000000000002
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
            feed.publish(&large, &[], 1);
        }
        assert!(feed.kept_bytes <= MAX_KEPT_BYTES);
        assert!(feed.since("7-7-1").is_some());
        assert!(feed.since("7-1-1").is_none());
    }
}
