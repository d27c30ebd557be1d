//! What the viewers of a league share: how it stands, who is told of changes, who watches.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use league_protocol::id::{LeagueId, MatchId, PlayerId};
use league_web::model::{MatchPage, PlayerPage, RoundPage, Verification};
use tokio::sync::broadcast::{self, Receiver};

use super::feed::{Feed, GREETING, beat};
use super::hall::Hall;
use super::kept;
use super::piece::Piece;
use super::reader::ReadError;
use super::screening::Script;
use super::sheet::Sheet;
use crate::clock;
use crate::storage::root::Root;
use crate::storage::verify;

/// The least time between two looks at the journal.
const SHORTEST_GAP: Duration = Duration::from_millis(250);
/// What each player adds to it, so that a large table is not told to many viewers all the time.
const A_PLAYER: Duration = Duration::from_millis(2);
/// The most time between two looks.
const LONGEST_GAP: Duration = Duration::from_secs(4);
/// How often viewers are told that we are there.
const BEAT: Duration = Duration::from_secs(5);
/// In a league of more matches the verdict is left to `league verify`.
const MOST_VERIFIED: u64 = 100_000;

/// What the viewers of a league share.
///
/// All of it may read files or draw pages under a lock, so all of it is for threads that may
/// block.
pub(super) struct Rooms {
    root: Root,
    league_id: LeagueId,
    show: Mutex<Show>,
    told: broadcast::Sender<Piece>,
    viewers: AtomicUsize,
}

struct Show {
    hall: Hall,
    feed: Feed,
    /// Whether somebody looks at the journal again and again.
    watching: bool,
    judging: bool,
    /// Whether it is looked into at once, over or not.
    suspicious: bool,
}

/// A viewer's place at the feed.
pub(super) struct Seat(Arc<Rooms>);

impl Seat {
    /// How things stand, and what is to come from there.
    pub(super) async fn anew(&self) -> Option<(Piece, Receiver<Piece>)> {
        let rooms = Arc::clone(&self.0);
        let told = tokio::task::spawn_blocking(move || {
            let mut show = rooms.show();
            (show.whole(), show.feed.listen())
        });
        told.await.ok()
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.viewers.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Rooms {
    /// What is `suspicious` may have been changed by anybody before it came here.
    pub(super) fn new(root: Root, league_id: LeagueId, suspicious: bool) -> Self {
        let feed = Feed::new(clock::now());
        Self {
            told: feed.sender(),
            show: Mutex::new(Show {
                hall: Hall::new(root.clone(), league_id.clone()),
                feed,
                watching: false,
                judging: false,
                suspicious,
            }),
            root,
            league_id,
            viewers: AtomicUsize::new(0),
        }
    }

    /// How many are at the feed.
    pub(super) fn viewers(&self) -> usize {
        self.viewers.load(Ordering::Relaxed)
    }

    fn show(&self) -> MutexGuard<'_, Show> {
        self.show.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The hall as it is now.
    fn glance(self: &Arc<Self>) -> Result<MutexGuard<'_, Show>, ReadError> {
        let mut show = self.show();
        show.glance()?;
        self.see_verdict(&mut show);
        Ok(show)
    }

    /// The first page.
    pub(super) fn board(self: &Arc<Self>) -> Result<Option<Sheet>, ReadError> {
        Ok(self.glance()?.hall.first_page())
    }

    /// The page of a match.
    pub(super) fn match_page(
        self: &Arc<Self>,
        id: &MatchId,
    ) -> Result<Option<MatchPage>, ReadError> {
        let record = kept::record(&self.root, &self.league_id, id);
        Ok(self.glance()?.hall.match_page(id, record))
    }

    /// The page of a player.
    pub(super) fn player_page(
        self: &Arc<Self>,
        id: &PlayerId,
    ) -> Result<Option<PlayerPage>, ReadError> {
        Ok(self.glance()?.hall.player_page(id))
    }

    /// The page of a round.
    pub(super) fn round_page(self: &Arc<Self>, round: u32) -> Result<Option<RoundPage>, ReadError> {
        Ok(self.glance()?.hall.round_page(round))
    }

    /// What a film is made of, if there is a league.
    pub(super) fn script(self: &Arc<Self>) -> Option<Script> {
        let show = self.glance().ok()?;
        show.hall.view().map(|_| show.hall.script())
    }

    /// Seats a viewer; the first one starts the watch.
    pub(super) fn seat(
        self: &Arc<Self>,
        last: Option<&str>,
    ) -> (Vec<Piece>, Receiver<Piece>, Seat) {
        let mut show = self.show();
        // A journal that cannot be read now may be there at the next look.
        let _ = show.glance();
        let mut missed = vec![Piece::new(GREETING)];
        match last.and_then(|last| show.feed.since(last)) {
            Some(since) => missed.extend(since),
            None => missed.push(show.whole()),
        }
        let receiver = show.feed.listen();
        self.viewers.fetch_add(1, Ordering::Relaxed);
        if !std::mem::replace(&mut show.watching, true) {
            tokio::spawn(Arc::clone(self).watch());
        }
        (missed, receiver, Seat(Arc::clone(self)))
    }

    /// Looks at the journal again and again while anybody is there.
    async fn watch(self: Arc<Self>) {
        let mut beats = tokio::time::interval(BEAT);
        let mut gap = SHORTEST_GAP;
        loop {
            let next = tokio::time::sleep(gap);
            let mut next = std::pin::pin!(next);
            loop {
                tokio::select! {
                    () = next.as_mut() => break,
                    _ = beats.tick() => beat(&self.told, clock::now()),
                }
            }
            let rooms = Arc::clone(&self);
            let looked = tokio::task::spawn_blocking(move || rooms.look_again()).await;
            match looked {
                Ok(Some(rows)) => {
                    let rows = u32::try_from(rows).unwrap_or(u32::MAX);
                    gap = (SHORTEST_GAP + A_PLAYER.saturating_mul(rows)).min(LONGEST_GAP);
                }
                Ok(None) => return,
                Err(_) => gap = LONGEST_GAP,
            }
        }
    }

    /// Looks at the journal, and tells how many rows there are; `None` if nobody is there any
    /// more.
    fn look_again(self: &Arc<Self>) -> Option<usize> {
        let mut show = self.show();
        // Whoever comes takes the same lock, so that one of the two sees the other.
        show.watching = self.viewers() > 0;
        if !show.watching {
            return None;
        }
        // Whoever asks for a page is told why it cannot be read.
        let _ = show.look();
        self.see_verdict(&mut show);
        Some(show.hall.rows())
    }

    /// Has a league verified when it is over, and a suspicious one before.
    fn see_verdict(self: &Arc<Self>, show: &mut Show) {
        let view = show.hall.view();
        let matches = view.map_or(0, |view| view.league().matches_played());
        let wanted = show.hall.wants_verdict() || view.is_some() && show.suspicious;
        if show.judging || !wanted || matches > MOST_VERIFIED {
            return;
        }
        (show.judging, show.suspicious) = (true, false);
        let rooms = Arc::clone(self);
        tokio::task::spawn_blocking(move || {
            let verdict = match verify::verify(&rooms.root, &rooms.league_id) {
                Ok(verdict) => told(&verdict),
                Err(error) => Verification {
                    holds: false,
                    detail: format!("It could not be checked: {error}"),
                },
            };
            let mut show = rooms.show();
            if verdict.holds && !show.hall.wants_verdict() {
                // It goes on, so that this will be out of date at once.
                show.judging = false;
                return;
            }
            show.hall.judge(verdict);
            // Whoever comes next looks as well.
            let _ = show.look();
        });
    }
}

impl Show {
    /// Looks at the journal, unless somebody watches it, who has looked a moment ago.
    ///
    /// So it does not matter how many come at once: each change is drawn and told once.
    fn glance(&mut self) -> Result<(), ReadError> {
        if self.watching && self.hall.view().is_some() {
            return Ok(());
        }
        self.look()
    }

    /// Looks at the journal, and tells viewers what is new.
    fn look(&mut self) -> Result<(), ReadError> {
        if let Some(change) = self.hall.look(clock::now())? {
            self.feed.tell(&change.patch, &change.touched);
        }
        Ok(())
    }

    /// How things stand, for one who knows nothing.
    fn whole(&mut self) -> Piece {
        let Self { hall, feed, .. } = self;
        feed.whole(|| hall.whole())
    }
}

/// A verdict in words.
pub(super) fn told(verdict: &verify::Verdict) -> Verification {
    let checked = &verdict.checked;
    let words = match &verdict.wrong {
        None => format!(
            "Verified: {} lines of the journal are chained, {} draws and games were worked out again, {} results stand so in their referees' journals.{}",
            checked.lines,
            checked.results,
            checked.confirmed,
            match checked.disputed.first() {
                None => String::new(),
                Some(first) => format!(
                    " Players remember otherwise, as in {}: {}",
                    first.file.display(),
                    first.what
                ),
            }
        ),
        Some(wrong) => {
            let line = wrong.line.map(|line| format!(", line {line}"));
            let (file, line) = (wrong.file.display(), line.unwrap_or_default());
            format!("{file}{line}: {}", wrong.what)
        }
    };
    Verification {
        holds: verdict.wrong.is_none(),
        detail: words,
    }
}
