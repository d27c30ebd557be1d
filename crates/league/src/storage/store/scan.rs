//! Reads a journal from its first line to its last, with one batch in memory at a time.

use std::io::{self, BufRead, BufReader, Read};
use std::ops::ControlFlow;
use std::path::Path;

use serde::de::DeserializeOwned;

use super::Entry;
use super::error::{Damage, StoreError};
use super::line::{self, Head, MAX_LINE};

/// The maximum number of facts in a batch.
pub(crate) const MAX_BATCH: u32 = 262_144;

/// How far a journal was read.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// The last line of the last whole batch.
    pub(super) head: Head,
    /// The offset of the end of that batch, in bytes.
    pub(super) whole: u64,
    /// The length of the file, in bytes; only if it was read to its end.
    pub(super) total: u64,
    /// The damage of the last line, if it is damaged although it has a newline.
    pub(super) broken: Option<StoreError>,
}

/// Reads lines until the file ends or `visit` has seen enough.
///
/// Entries are visited once their batch is complete. An incomplete last batch is skipped, and so is
/// a damaged last line; neither is an error, because a crash can leave both.
pub(super) fn scan<Fact: DeserializeOwned>(
    path: &Path,
    source: impl Read,
    visit: impl FnMut(Entry<Fact>) -> ControlFlow<()>,
) -> Result<Scan, StoreError> {
    scan_on(path, source, Scan::default(), visit)
}

/// Continues an earlier scan; `source` begins after its last whole batch.
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

/// The lines of a batch that were read so far.
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
            0 => read.more.min(MAX_BATCH - 1),
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

/// How a line ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// With a newline, which is removed.
    Newline,
    /// With the end of the file, perhaps before the first byte.
    File,
    /// Not within the maximum length.
    Nowhere,
}

fn next_line(source: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<Ending> {
    line.clear();
    let bound = MAX_LINE as u64;
    let read = source.by_ref().take(bound).read_until(b'\n', line)?;
    if line.last() == Some(&b'\n') {
        line.pop();
        return Ok(Ending::Newline);
    }
    Ok(if read == MAX_LINE {
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
