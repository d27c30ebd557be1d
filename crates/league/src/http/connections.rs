//! The open connections of this process: how many there may be, and which of them make room for a
//! new one.
//!
//! All listeners of a process share one table, as they share its descriptors. A full table closes
//! connections that wait for their peer, the longest wait first, and never one whose request is
//! being answered. An address that holds more than its share loses its own connections first. The
//! share only says who makes room: agents that all live at one address are never refused for it.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::Instant;

use super::local::address_prefix;

/// An address holds more than its share if it holds more than this part of all connections.
const SHARE: usize = 4;
/// The least share, in connections.
const MIN_SHARE: usize = 8;
/// A full table closes this part of its connections at once, so that a flood of new ones does not
/// search the table for each.
const CLOSED_AT_ONCE: usize = 64;
/// How long a new connection waits for room while all requests are being answered.
const ROOM_TIMEOUT: Duration = Duration::from_secs(1);
/// How often it looks whether an answer has ended meanwhile, so that its connection can be closed.
const ROOM_INTERVAL: Duration = Duration::from_millis(20);

/// The connections of one process; clones share the table.
#[derive(Debug, Clone)]
pub struct Connections(Arc<ConnectionTable>);

#[derive(Debug)]
struct ConnectionTable {
    most: usize,
    /// One permit for each connection that may still be opened.
    room: Arc<Semaphore>,
    /// Held while a connection waits for room: the listeners of a process close connections for one
    /// newcomer at a time.
    waiting: tokio::sync::Mutex<()>,
    open: Mutex<OpenConnections>,
    /// The zero of [`Phase`].
    start: Instant,
}

#[derive(Debug, Default)]
struct OpenConnections {
    last: u64,
    by_number: BTreeMap<u64, OpenConnection>,
    by_address: BTreeMap<IpAddr, usize>,
}

#[derive(Debug)]
struct OpenConnection {
    from: IpAddr,
    phase: Arc<Phase>,
    /// Closes it, once.
    close: Option<oneshot::Sender<()>>,
}

/// The place of an open connection in the table; dropping it frees the place.
#[derive(Debug)]
pub(crate) struct ConnectionPlace {
    table: Arc<ConnectionTable>,
    number: u64,
    from: IpAddr,
    phase: Arc<Phase>,
    close: oneshot::Receiver<()>,
    _room: OwnedSemaphorePermit,
}

impl Connections {
    /// A table for so many connections, at least one.
    pub fn new(most: usize) -> Self {
        let most = most.clamp(1, Semaphore::MAX_PERMITS);
        Self(Arc::new(ConnectionTable {
            most,
            room: Arc::new(Semaphore::new(most)),
            waiting: tokio::sync::Mutex::default(),
            open: Mutex::default(),
            start: Instant::now(),
        }))
    }

    /// The most connections at once.
    pub(crate) fn most(&self) -> usize {
        self.0.most
    }

    /// How many are open now.
    pub(crate) fn open_now(&self) -> usize {
        self.0.open().by_number.len()
    }

    /// Takes a new connection in, and makes room for it if there is none; `None` if all others are
    /// being answered for too long.
    pub(crate) async fn admit(&self, from: IpAddr) -> Option<ConnectionPlace> {
        let table = &self.0;
        let permit = match Arc::clone(&table.room).try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => {
                let room = tokio::time::timeout(ROOM_TIMEOUT, self.wait_for_room());
                room.await.ok()??
            }
        };
        let from = address_prefix(from);
        let phase = Arc::new(Phase::waiting(table.start));
        let (close, closed) = oneshot::channel();
        let mut open = table.open();
        open.last += 1;
        let number = open.last;
        *open.by_address.entry(from).or_default() += 1;
        let connection = OpenConnection {
            from,
            phase: Arc::clone(&phase),
            close: Some(close),
        };
        open.by_number.insert(number, connection);
        drop(open);
        Some(ConnectionPlace {
            table: Arc::clone(table),
            number,
            from,
            phase,
            close: closed,
            _room: permit,
        })
    }

    /// Waits for the place of another connection.
    async fn wait_for_room(&self) -> Option<OwnedSemaphorePermit> {
        let table = &self.0;
        let _turn = table.waiting.lock().await;
        loop {
            if table.room.available_permits() == 0 {
                self.make_room();
            }
            let room = Arc::clone(&table.room).acquire_owned();
            if let Ok(permit) = tokio::time::timeout(ROOM_INTERVAL, room).await {
                return permit.ok();
            }
        }
    }

    /// Closes some connections: those that wait for their peer, or else the oldest streams. Gives
    /// how many; none while others are still closing.
    pub(crate) fn make_room(&self) -> usize {
        let table = &self.0;
        let mut open = table.open();
        let mut connections = open.by_number.values();
        if connections.any(|connection| connection.close.is_none()) {
            return 0;
        }
        let share = (table.most / SHARE).max(MIN_SHARE);
        let largest_holder = open
            .by_address
            .iter()
            .filter(|(_, held)| **held > share)
            .max_by_key(|(_, held)| **held)
            .map(|(from, _)| *from);
        let wanted = table.most.div_ceil(CLOSED_AT_ONCE);
        let choices = [
            (largest_holder, PhaseKind::Waiting),
            (None, PhaseKind::Waiting),
            (largest_holder, PhaseKind::Streaming),
            (None, PhaseKind::Streaming),
        ];
        for (from, kind) in choices {
            let closed = open.close_oldest(wanted, kind, from);
            if closed > 0 {
                return closed;
            }
        }
        0
    }
}

impl ConnectionTable {
    fn open(&self) -> MutexGuard<'_, OpenConnections> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenConnections {
    /// Closes the connections that have been in this kind of phase for longest, of one address or
    /// of all; gives how many.
    fn close_oldest(&mut self, wanted: usize, kind: PhaseKind, from: Option<IpAddr>) -> usize {
        let mut oldest: Vec<(u64, u64)> = self
            .by_number
            .iter()
            .filter(|(_, connection)| from.is_none_or(|from| connection.from == from))
            .filter_map(|(number, connection)| Some((connection.phase.since(kind)?, *number)))
            .collect();
        if oldest.len() > wanted {
            oldest.select_nth_unstable(wanted);
            oldest.truncate(wanted);
        }
        let mut closed = 0;
        for (since, number) in oldest {
            if let Some(connection) = self.by_number.get_mut(&number)
                && connection.phase.close(kind, since)
                && let Some(close) = connection.close.take()
            {
                // The connection may just have ended by itself.
                let _ = close.send(());
                closed += 1;
            }
        }
        closed
    }
}

impl ConnectionPlace {
    pub(crate) fn phase(&self) -> Arc<Phase> {
        Arc::clone(&self.phase)
    }

    /// Waits until the connection has to make room.
    pub(crate) async fn closed(&mut self) {
        // The table keeps the sender as long as the connection is open.
        let _ = (&mut self.close).await;
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        let mut open = self.table.open();
        open.by_number.remove(&self.number);
        if let Some(held) = open.by_address.get_mut(&self.from) {
            *held -= 1;
            if *held == 0 {
                open.by_address.remove(&self.from);
            }
        }
    }
}

/// What a connection is doing. A request changes it without a lock, as connections share none.
#[derive(Debug)]
pub(crate) struct Phase {
    start: Instant,
    /// A [`PhaseKind`] in the lowest bits, and above them since when, in microseconds.
    state: AtomicU64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PhaseKind {
    /// No complete request has arrived since the last answer.
    Waiting,
    Answering,
    /// The answer is a stream of events.
    Streaming,
    /// It makes room.
    Closed,
}

impl PhaseKind {
    const BITS: u32 = 2;
    const MASK: u64 = (1 << Self::BITS) - 1;

    const fn at(self, since: u64) -> u64 {
        since << Self::BITS | self as u64
    }
}

impl Phase {
    fn waiting(start: Instant) -> Self {
        let phase = Self {
            start,
            state: AtomicU64::new(PhaseKind::Answering.at(0)),
        };
        phase.enter(PhaseKind::Waiting);
        phase
    }

    /// A complete request has arrived; waits for the end if the connection makes room.
    pub(crate) async fn begin_answer(&self) {
        if !self.enter(PhaseKind::Answering) {
            std::future::pending::<()>().await;
        }
    }

    /// The answer is on its way, and the next request may come.
    pub(crate) fn end_answer(&self) {
        self.enter(PhaseKind::Waiting);
    }

    /// The answer is a stream, which has begun.
    pub(crate) fn begin_stream(&self) {
        self.enter(PhaseKind::Streaming);
    }

    /// Enters another phase, unless the connection makes room.
    fn enter(&self, kind: PhaseKind) -> bool {
        let now = u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX);
        let next = |state: u64| {
            (state & PhaseKind::MASK != PhaseKind::Closed as u64).then_some(kind.at(now))
        };
        let entered = self
            .state
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, next);
        entered.is_ok()
    }

    /// Since when the connection is in this kind of phase; `None` in another.
    fn since(&self, kind: PhaseKind) -> Option<u64> {
        let state = self.state.load(Ordering::Acquire);
        (state & PhaseKind::MASK == kind as u64).then_some(state >> PhaseKind::BITS)
    }

    /// Makes room, unless the phase has changed meanwhile.
    fn close(&self, kind: PhaseKind, since: u64) -> bool {
        let closed = PhaseKind::Closed.at(since);
        self.state
            .compare_exchange(kind.at(since), closed, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use tokio::net::{TcpListener, TcpStream};
    use tokio::sync::watch;

    use super::*;
    use crate::http::server::{Limits, Routes, serve};

    const TICK: Duration = Duration::from_millis(1);

    fn address(last: u8) -> IpAddr {
        Ipv4Addr::new(192, 0, 2, last).into()
    }

    /// Admits a connection that is younger than all others.
    async fn admit(table: &Connections, last: u8) -> ConnectionPlace {
        tokio::time::advance(TICK).await;
        table.admit(address(last)).await.unwrap()
    }

    fn is_closed(place: &ConnectionPlace) -> bool {
        place.phase.since(PhaseKind::Closed).is_some()
    }

    #[tokio::test(start_paused = true)]
    async fn longest_wait_makes_room_and_an_open_request_does_not() {
        let table = Connections::new(16);
        let mut places = Vec::new();
        for last in 0..16 {
            places.push(admit(&table, last).await);
        }
        places[0].phase().begin_answer().await;
        places[1].phase().begin_answer().await;
        places[1].phase().end_answer();
        assert_eq!(table.make_room(), 1);
        let closed: Vec<usize> = (0..16).filter(|&place| is_closed(&places[place])).collect();
        assert_eq!(closed, [2]);
        tokio::time::timeout(TICK, places[2].closed())
            .await
            .unwrap();
        let early = tokio::time::timeout(TICK, places[3].closed()).await;
        assert!(early.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn new_connection_gets_the_place_of_a_waiting_one() {
        let table = Connections::new(2);
        let mut first = admit(&table, 1).await;
        let second = admit(&table, 2).await;
        let holder = tokio::spawn(async move {
            first.closed().await;
            drop(first);
        });
        let third = admit(&table, 3).await;
        holder.await.unwrap();
        assert!(!is_closed(&second) && !is_closed(&third));
        assert_eq!(table.0.open().by_number.len(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn address_above_its_share_makes_room_first() {
        let table = Connections::new(40);
        let mut places = Vec::new();
        for last in 0..20 {
            places.push(admit(&table, last).await);
        }
        for _ in 0..20 {
            places.push(admit(&table, 99).await);
        }
        assert_eq!(table.make_room(), 1);
        assert!(is_closed(&places[20]), "the oldest of the largest holder");
        assert!(!is_closed(&places[0]), "older, and of a modest address");
    }

    #[tokio::test(start_paused = true)]
    async fn stream_makes_room_only_if_nothing_waits() {
        let table = Connections::new(2);
        let [stream, waiting] = [admit(&table, 1).await, admit(&table, 2).await];
        stream.phase().begin_answer().await;
        stream.phase().begin_stream();
        assert_eq!(table.make_room(), 1);
        assert!(is_closed(&waiting) && !is_closed(&stream));
        drop(waiting);
        assert_eq!(table.make_room(), 1);
        assert!(is_closed(&stream));
    }

    #[tokio::test(start_paused = true)]
    async fn new_connection_is_refused_only_while_all_are_being_answered() {
        let table = Connections::new(1);
        let busy = admit(&table, 1).await;
        busy.phase().begin_answer().await;
        assert!(table.admit(address(2)).await.is_none());
        let waiting = tokio::spawn({
            let table = table.clone();
            async move { table.admit(address(2)).await.is_some() }
        });
        tokio::task::yield_now().await;
        drop(busy);
        assert!(waiting.await.unwrap(), "it waits for a moment");
    }

    /// Holds a place until it has to make room.
    fn hold(mut place: ConnectionPlace) {
        tokio::spawn(async move { place.closed().await });
    }

    #[tokio::test(start_paused = true)]
    async fn new_connection_gets_the_place_of_one_whose_answer_ends_meanwhile() {
        let table = Connections::new(1);
        let busy = admit(&table, 1).await;
        let phase = busy.phase();
        phase.begin_answer().await;
        hold(busy);
        let waiting = tokio::spawn({
            let table = table.clone();
            async move { table.admit(address(2)).await.is_some() }
        });
        tokio::time::sleep(ROOM_TIMEOUT / 2).await;
        assert!(!waiting.is_finished());
        phase.end_answer();
        assert!(waiting.await.unwrap());
    }

    #[tokio::test(start_paused = true)]
    async fn many_listeners_close_only_as_many_connections_as_they_need() {
        const LISTENERS: usize = 50;
        let table = Connections::new(640);
        let mut phases = Vec::new();
        for _ in 0..640 {
            let place = admit(&table, 1).await;
            phases.push(place.phase());
            hold(place);
        }
        let listeners = (0..LISTENERS).map(|_| {
            let table = table.clone();
            tokio::spawn(async move { table.admit(address(2)).await.unwrap() })
        });
        let listeners: Vec<_> = listeners.collect();
        let mut places = Vec::new();
        for listener in listeners {
            places.push(listener.await.unwrap());
        }
        let is_closed = |phase: &&Arc<Phase>| phase.since(PhaseKind::Closed).is_some();
        let closed = phases.iter().filter(is_closed).count();
        assert_eq!(closed, LISTENERS, "in batches of ten");
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_closed_while_others_are_still_closing() {
        let table = Connections::new(3);
        let places = [admit(&table, 1).await, admit(&table, 2).await];
        assert_eq!(table.make_room(), 1);
        assert_eq!(table.make_room(), 0);
        let [first, second] = places;
        drop(first);
        assert_eq!(table.make_room(), 1);
        assert!(is_closed(&second));
    }

    #[tokio::test]
    async fn listener_that_waits_for_room_sees_the_end() {
        let limits = Limits {
            connections: Connections::new(1),
            ..Limits::default()
        };
        let table = limits.connections.clone();
        let busy = table.admit(address(1)).await.unwrap();
        busy.phase().begin_answer().await;
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let at = listener.local_addr().unwrap();
        let (end, ended) = watch::channel(false);
        let serving = tokio::spawn(serve(listener, Routes::default(), limits, ended));
        let _caller = TcpStream::connect(at).await.unwrap();
        while table.0.waiting.try_lock().is_ok() {
            tokio::task::yield_now().await;
        }
        let began = std::time::Instant::now();
        end.send_replace(true);
        serving.await.unwrap();
        assert!(began.elapsed() < ROOM_TIMEOUT / 2);
    }

    #[tokio::test(start_paused = true)]
    async fn closed_connection_begins_no_answer() {
        let table = Connections::new(1);
        let place = admit(&table, 1).await;
        assert_eq!(table.make_room(), 1);
        let phase = place.phase();
        let begun = tokio::time::timeout(TICK, phase.begin_answer()).await;
        assert!(begun.is_err());
        phase.end_answer();
        assert!(is_closed(&place));
        drop(place);
        assert!(table.0.open().by_address.is_empty());
    }
}
