//! The open connections of a player's server. A full table closes the connection that waits longest
//! for a request, of the address that holds most: connections that ask nothing keep no caller out.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::Notify;

pub(crate) struct ConnectionTable {
    most: usize,
    rows: Mutex<Vec<Row>>,
}

struct Row {
    /// Notified when the connection has to close.
    closed: Arc<Notify>,
    from: IpAddr,
    /// Since when it waits for its caller; `None` while a request is being answered.
    waits_since: Option<Instant>,
}

impl ConnectionTable {
    pub(crate) const fn new(most: usize) -> Self {
        let rows = Mutex::new(Vec::new());
        Self { most, rows }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Row>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters a connection; `None` if the table is full of requests that are being answered.
    pub(crate) fn enter(self: &Arc<Self>, from: IpAddr) -> Option<TableEntry> {
        let mut rows = self.lock();
        if rows.len() >= self.most {
            let waiting: Vec<_> = rows.iter().map(|row| (row.from, row.waits_since)).collect();
            rows.swap_remove(to_close(&waiting)?).closed.notify_one();
        }
        let closed = Arc::new(Notify::new());
        rows.push(Row {
            closed: Arc::clone(&closed),
            from,
            waits_since: Some(Instant::now()),
        });
        let table = Arc::clone(self);
        Some(TableEntry { table, closed })
    }
}

/// Which connection makes room: of the address that holds most, the one that waits longest.
fn to_close(rows: &[(IpAddr, Option<Instant>)]) -> Option<usize> {
    let held = |from: IpAddr| rows.iter().filter(|row| row.0 == from).count();
    let waiting = rows.iter().enumerate();
    let waiting = waiting.filter_map(|(at, (from, since))| Some((at, *from, (*since)?)));
    let first = waiting.min_by_key(|(_, from, since)| (std::cmp::Reverse(held(*from)), *since));
    first.map(|(at, ..)| at)
}

/// A connection in the table, which leaves it when it ends.
pub(crate) struct TableEntry {
    table: Arc<ConnectionTable>,
    closed: Arc<Notify>,
}

impl TableEntry {
    /// Completes when the connection has to make room.
    pub(crate) async fn closed(&self) {
        self.closed.notified().await;
    }

    /// Notes that a whole request has come, or that the connection waits for its caller again.
    pub(crate) fn set_waiting(&self, is_waiting: bool) {
        let mut rows = self.table.lock();
        let mut rows = rows.iter_mut();
        if let Some(row) = rows.find(|row| Arc::ptr_eq(&row.closed, &self.closed)) {
            row.waits_since = is_waiting.then(Instant::now);
        }
    }
}

impl Drop for TableEntry {
    fn drop(&mut self) {
        let mut rows = self.table.lock();
        rows.retain(|row| !Arc::ptr_eq(&row.closed, &self.closed));
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::time::Duration;

    use super::*;

    #[test]
    fn largest_holder_makes_room_with_its_longest_wait() {
        let start = Instant::now();
        let from = |last: u8| IpAddr::V4(Ipv4Addr::new(10, 0, 0, last));
        let waits = |last: u8, second| (from(last), Some(start + Duration::from_secs(second)));
        let busy = |last: u8| (from(last), None);
        for (rows, closed) in [
            (vec![waits(1, 5), waits(2, 3), waits(3, 4)], Some(1)),
            (vec![waits(1, 0), waits(2, 9), waits(2, 8)], Some(2)),
            (vec![waits(1, 7), busy(2), busy(2)], Some(0)),
            (vec![waits(1, 0), waits(2, 9), busy(2)], Some(1)),
            (vec![busy(1), busy(2)], None),
        ] {
            assert_eq!(to_close(&rows), closed, "{rows:?}");
        }
    }
}
