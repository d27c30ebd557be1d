//! What viewers are told as it happens: server-sent events that can be taken up again.

use std::collections::VecDeque;

use league_protocol::time::Timestamp;
use league_web::parts::Patch;
use serde::Serialize;
use tokio::sync::broadcast;

use super::piece::Piece;

/// How many events are kept for viewers that come back.
const MOST_KEPT: usize = 512;
/// How many bytes these may have.
const MOST_KEPT_BYTES: usize = 8 * 1024 * 1024;
/// How many events a viewer may be behind before it is told everything anew.
const MOST_BEHIND: usize = 64;

/// The first words to each viewer: come back after a second if the line is cut.
pub(super) const GREETING: &str = "retry: 1000\n\n";

/// The events of one site.
#[derive(Debug)]
pub(super) struct Feed {
    /// Tells the events of this process from those of an earlier one.
    epoch: i64,
    last: u64,
    kept: VecDeque<Piece>,
    kept_bytes: usize,
    /// The whole page as it is since the last event.
    whole: Option<Piece>,
    sender: broadcast::Sender<Piece>,
}

/// A patch as it is told.
#[derive(Serialize)]
struct Told<'p> {
    set: &'p std::collections::BTreeMap<String, String>,
    lists: &'p std::collections::BTreeMap<&'static str, Vec<String>>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    touched: &'p [String],
}

impl Feed {
    /// A feed that begins now.
    pub(super) fn new(now: Timestamp) -> Self {
        Self {
            epoch: now.as_millis(),
            last: 0,
            kept: VecDeque::new(),
            kept_bytes: 0,
            whole: None,
            sender: broadcast::Sender::new(MOST_BEHIND),
        }
    }

    /// Tells all viewers of a change, and keeps it for those that come back.
    pub(super) fn tell(&mut self, patch: &Patch, touched: &[String]) {
        self.last += 1;
        self.whole = None;
        let event = self.event(patch, touched);
        self.kept_bytes += event.len();
        self.kept.push_back(event.clone());
        while self.kept.len() > MOST_KEPT || self.kept_bytes > MOST_KEPT_BYTES {
            let oldest = self.kept.pop_front();
            self.kept_bytes -= oldest.map_or(0, |oldest| oldest.len());
        }
        // Packed here, where it may take a while; nobody may be there.
        event.packed();
        let _ = self.sender.send(event);
    }

    /// The way to all viewers.
    pub(super) fn sender(&self) -> broadcast::Sender<Piece> {
        self.sender.clone()
    }
}

/// Tells all viewers that we are there.
pub(super) fn beat(viewers: &broadcast::Sender<Piece>, now: Timestamp) {
    let beat = format!(
        "event: beat\ndata: {{\"at\":\"{}\"}}\n\n",
        now.to_millis_text()
    );
    // Nobody may be there.
    let _ = viewers.send(Piece::new(beat));
}

impl Feed {
    /// What is to come.
    pub(super) fn listen(&self) -> broadcast::Receiver<Piece> {
        self.sender.subscribe()
    }

    /// What a viewer missed since the event with this id; `None` if that is not known any more.
    pub(super) fn since(&self, id: &str) -> Option<Vec<Piece>> {
        let (epoch, number) = id.split_once('-')?;
        let number: u64 = number.parse().ok()?;
        if epoch.parse() != Ok(self.epoch) || number > self.last {
            return None;
        }
        let missed = usize::try_from(self.last - number).ok()?;
        let first = self.kept.len().checked_sub(missed)?;
        Some(self.kept.range(first..).cloned().collect())
    }

    /// The whole page as an event, for one who knows nothing; drawn once for all who come before
    /// the next event.
    pub(super) fn whole(&mut self, patch: impl FnOnce() -> Patch) -> Piece {
        let event = self.whole.take();
        let event = event.unwrap_or_else(|| self.event(&patch(), &["*".to_owned()]));
        self.whole = Some(event.clone());
        event
    }

    fn event(&self, patch: &Patch, touched: &[String]) -> Piece {
        let told = Told {
            set: &patch.set,
            lists: &patch.lists,
            touched,
        };
        // JSON has no newline of its own, so it is one line of data.
        let data = serde_json::to_string(&told).unwrap_or_default();
        let (epoch, last) = (self.epoch, self.last);
        Piece::new(format!(
            "event: patch\nid: {epoch}-{last}\ndata: {data}\n\n"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patch(row: usize) -> Patch {
        let mut patch = Patch::default();
        patch.set.insert("row".to_owned(), format!("<p>{row}</p>"));
        patch
    }

    fn told(events: &[Piece]) -> String {
        let texts = events.iter().map(|event| event.plain().to_vec());
        String::from_utf8(texts.collect::<Vec<_>>().concat()).unwrap()
    }

    #[test]
    fn one_who_comes_back_hears_what_it_missed_and_nothing_else() {
        let mut feed = Feed::new(Timestamp::from_millis(7));
        for row in 1..=3 {
            feed.tell(&patch(row), &["R1M1".to_owned()]);
        }
        insta::assert_snapshot!(told(&feed.since("7-1").unwrap()), @r#"
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
    fn one_who_names_another_life_or_was_away_too_long_begins_anew() {
        let mut feed = Feed::new(Timestamp::from_millis(7));
        for row in 0..=MOST_KEPT {
            feed.tell(&patch(row), &[]);
        }
        for id in ["8-1", "7-0", "7-9999", "", "7", "7-x", "-1-2"] {
            assert!(feed.since(id).is_none(), "{id}");
        }
        assert!(feed.since("7-1").is_some());
    }

    #[test]
    fn the_whole_page_is_drawn_once_until_something_changes() {
        let mut feed = Feed::new(Timestamp::from_millis(7));
        feed.tell(&patch(1), &[]);
        let first = feed.whole(|| patch(1));
        let again = feed.whole(|| unreachable!("it is there already"));
        assert_eq!(first.plain(), again.plain());
        feed.tell(&patch(2), &[]);
        insta::assert_snapshot!(told(&[feed.whole(|| patch(2))]), @r#"
        event: patch
        id: 7-2
        data: {"set":{"row":"<p>2</p>"},"lists":{},"touched":["*"]}
        "#);
    }

    #[test]
    fn what_is_kept_has_a_bound_in_bytes() {
        let mut feed = Feed::new(Timestamp::from_millis(7));
        let mut large = Patch::default();
        large
            .set
            .insert("row".to_owned(), "x".repeat(MOST_KEPT_BYTES / 4));
        for _ in 0..8 {
            feed.tell(&large, &[]);
        }
        assert!(feed.kept_bytes <= MOST_KEPT_BYTES);
        assert!(feed.since("7-7").is_some());
        assert!(feed.since("7-1").is_none());
    }
}
