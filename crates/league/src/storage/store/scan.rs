//! Reading a journal from its first line to its last, one batch in memory at a time.

use std::io::{self, BufRead, BufReader, Read};
use std::ops::ControlFlow;
use std::path::Path;

use serde::de::DeserializeOwned;

use super::Entry;
use super::error::{Damage, StoreError};
use super::line::{self, Head, LONGEST_LINE};

/// The most facts that are written at once.
pub(crate) const MOST_IN_A_BATCH: u32 = 262_144;

/// How far a journal could be read.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// The last line of the last whole batch.
    pub(super) head: Head,
    /// Where that batch ends, in bytes.
    pub(super) whole: u64,
    /// Where the file ends, in bytes; only if it was read to its end.
    pub(super) total: u64,
    /// The damage of the last line, if it has a newline and is broken nevertheless.
    pub(super) broken: Option<StoreError>,
}

/// Reads lines until the file ends or `visit` has seen enough.
///
/// Entries are shown when their batch is whole. A last batch that is not is left out and no error;
/// neither is a broken last line, as both are what a crash leaves behind.
pub(super) fn scan<Fact: DeserializeOwned>(
    path: &Path,
    source: impl Read,
    visit: impl FnMut(Entry<Fact>) -> ControlFlow<()>,
) -> Result<Scan, StoreError> {
    scan_on(path, source, Scan::default(), visit)
}

/// The same from where an earlier look came to; `source` begins behind its last whole batch.
pub(super) fn scan_on<Fact: DeserializeOwned>(
    path: &Path,
    source: impl Read,
    before: Scan,
    mut visit: impl FnMut(Entry<Fact>) -> ControlFlow<()>,
) -> Result<Scan, StoreError> {
    let mut source = BufReader::with_capacity(1 << 16, source);
    let mut scan = Scan {
        total: before.whole,
        broken: None,
        ..before
    };
    let mut line = Vec::new();
    let mut batch = Batch::new(scan.head);
    loop {
        let read = next_line(&mut source, &mut line).map_err(read_failed(path))?;
        let offset = scan.total;
        scan.total += line.len() as u64 + u64::from(read == Ending::Newline);
        let taken = match read {
            Ending::Newline => batch.take(&line),
            Ending::File => return Ok(scan),
            Ending::Nowhere => Err(Damage::TooLong),
        };
        if let Err(damage) = taken {
            let is_tear = damage.is_tear() && at_end(&mut source).map_err(read_failed(path))?;
            let damaged = damaged(path, batch.head.sequence + 1, offset, damage);
            if !is_tear {
                return Err(damaged);
            }
            scan.broken = Some(damaged);
            return Ok(scan);
        }
        if batch.to_follow == 0 {
            scan.head = batch.head;
            scan.whole = scan.total;
            if batch.entries.drain(..).any(|entry| visit(entry).is_break()) {
                return Ok(scan);
            }
        }
    }
}

/// The lines that were written at once, as far as they were read.
struct Batch<Fact> {
    head: Head,
    entries: Vec<Entry<Fact>>,
    to_follow: u32,
}

impl<Fact: DeserializeOwned> Batch<Fact> {
    fn new(head: Head) -> Self {
        Self {
            head,
            entries: Vec::new(),
            to_follow: 0,
        }
    }

    fn take(&mut self, line: &[u8]) -> Result<(), Damage> {
        let read = line::read(line, &self.head)?;
        let expected = match self.to_follow {
            0 => read.more.min(MOST_IN_A_BATCH - 1),
            before => before - 1,
        };
        if read.more != expected {
            let found = read.more;
            return Err(Damage::Batch { expected, found });
        }
        self.to_follow = read.more;
        self.head.follow(line);
        self.entries.push(read.entry);
        Ok(())
    }
}

/// Where a line that was read ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// As it should; the newline is taken off.
    Newline,
    /// With the file, perhaps before its first byte.
    File,
    /// Beyond the bound.
    Nowhere,
}

fn next_line(source: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<Ending> {
    line.clear();
    let bound = LONGEST_LINE as u64;
    let read = source.by_ref().take(bound).read_until(b'\n', line)?;
    if line.last() == Some(&b'\n') {
        line.pop();
        return Ok(Ending::Newline);
    }
    Ok(if read == LONGEST_LINE {
        Ending::Nowhere
    } else {
        Ending::File
    })
}

fn at_end(source: &mut impl BufRead) -> io::Result<bool> {
    source.fill_buf().map(<[u8]>::is_empty)
}

fn read_failed(path: &Path) -> impl Fn(io::Error) -> StoreError {
    |source| StoreError::io("read", path, source)
}

fn damaged(path: &Path, line: u64, offset: u64, damage: Damage) -> StoreError {
    StoreError::Damaged {
        path: path.to_owned(),
        line,
        offset,
        damage,
    }
}
