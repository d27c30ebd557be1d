//! Reads a journal from its first line to its last, with one batch and some lines in memory at a
//! time. A thread of its own decodes the lines of a long journal.

use std::io::{self, BufRead, BufReader, Read};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::thread;

use serde::de::DeserializeOwned;

use super::Entry;
use super::error::{Damage, StoreError};
use super::line::{self, Head, MAX_LINE};

/// The maximum number of facts in a batch.
pub(crate) const MAX_BATCH: u32 = 262_144;

/// How many bytes of lines are decoded at once.
const CHUNK: usize = 1 << 18;
/// How many decoded chunks may wait.
const MAX_AHEAD: usize = 2;

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
pub(super) fn scan<Fact: DeserializeOwned + Send>(
    path: &Path,
    source: impl Read + Send,
    visit: impl FnMut(Entry<Fact>) -> ControlFlow<()>,
) -> Result<Scan, StoreError> {
    scan_on(path, source, Scan::default(), visit)
}

/// Continues an earlier scan; `source` begins after its last whole batch.
pub(super) fn scan_on<Fact: DeserializeOwned + Send>(
    path: &Path,
    source: impl Read + Send,
    before: Scan,
    visit: impl FnMut(Entry<Fact>) -> ControlFlow<()>,
) -> Result<Scan, StoreError> {
    let mut lines = Lines::new(source);
    let mut reader = Reader {
        path,
        batch: Batch::new(before.head),
        scan: Scan {
            total: before.whole,
            broken: None,
            ..before
        },
        visit,
    };
    let first = lines.decode().map_err(read_failed(path))?;
    if reader.take(first)?.is_break() || lines.ended {
        return Ok(reader.scan);
    }
    thread::scope(|threads| {
        let (decoded, chunks) = sync_channel(MAX_AHEAD);
        let decoder = thread::Builder::new().spawn_scoped(threads, move || {
            while !lines.ended {
                let chunk = lines.decode();
                lines.ended |= chunk.is_err();
                // The reader may have seen enough.
                lines.ended |= decoded.send(chunk).is_err();
            }
        });
        decoder.map_err(read_failed(path))?;
        for chunk in chunks {
            if reader.take(chunk.map_err(read_failed(path))?)?.is_break() {
                break;
            }
        }
        Ok(reader.scan)
    })
}

/// A line of a journal.
struct Found<Fact> {
    /// With its newline.
    length: u64,
    what: What<Fact>,
}

enum What<Fact> {
    Line(line::Line<Fact>),
    Damaged {
        damage: Damage,
        /// Whether nothing follows.
        at_end: bool,
    },
    /// A line without a newline at the end of the file.
    Rest,
}

/// The lines of a journal, decoded one by one, whether or not they follow each other.
struct Lines<Source> {
    source: BufReader<Source>,
    line: Vec<u8>,
    /// Whether there is nothing more to read, or nothing after damage.
    ended: bool,
}

impl<Source: Read> Lines<Source> {
    fn new(source: Source) -> Self {
        Self {
            source: BufReader::with_capacity(1 << 16, source),
            line: Vec::new(),
            ended: false,
        }
    }

    /// Decodes the next lines, up to the first that is damaged.
    fn decode<Fact: DeserializeOwned>(&mut self) -> io::Result<Vec<Found<Fact>>> {
        let mut found = Vec::new();
        let mut bytes = 0;
        while !self.ended && bytes < CHUNK {
            let ending = next_line(&mut self.source, &mut self.line)?;
            bytes += self.line.len();
            let read = match ending {
                Ending::Newline => line::read(&self.line),
                Ending::File => {
                    self.ended = true;
                    let (length, what) = (self.line.len() as u64, What::Rest);
                    found.push(Found { length, what });
                    break;
                }
                Ending::Nowhere => Err(Damage::TooLong),
            };
            let what = match read {
                Ok(line) => What::Line(line),
                Err(damage) => {
                    self.ended = true;
                    let at_end = self.source.fill_buf()?.is_empty();
                    What::Damaged { damage, at_end }
                }
            };
            let length = self.line.len() as u64 + u64::from(ending == Ending::Newline);
            found.push(Found { length, what });
        }
        Ok(found)
    }
}

/// Puts decoded lines together into batches.
struct Reader<'path, Fact, Visit> {
    path: &'path Path,
    scan: Scan,
    batch: Batch<Fact>,
    visit: Visit,
}

impl<Fact, Visit: FnMut(Entry<Fact>) -> ControlFlow<()>> Reader<'_, Fact, Visit> {
    fn take(&mut self, lines: Vec<Found<Fact>>) -> Result<ControlFlow<()>, StoreError> {
        for Found { length, what } in lines {
            let offset = self.scan.total;
            self.scan.total += length;
            let (damage, is_tear) = match what {
                What::Rest => return Ok(ControlFlow::Break(())),
                What::Damaged { damage, at_end } => {
                    let is_tear = damage.is_tear() && at_end;
                    (damage, is_tear)
                }
                What::Line(line) => match self.batch.take(line) {
                    Ok(()) if self.batch.to_follow > 0 => continue,
                    Ok(()) => {
                        self.scan.head = self.batch.head;
                        self.scan.whole = self.scan.total;
                        let mut entries = self.batch.entries.drain(..);
                        if entries.any(|entry| (self.visit)(entry).is_break()) {
                            return Ok(ControlFlow::Break(()));
                        }
                        continue;
                    }
                    Err(damage) => (damage, false),
                },
            };
            let line = self.batch.head.sequence + 1;
            let damaged = damaged(self.path, line, offset, damage);
            if !is_tear {
                return Err(damaged);
            }
            self.scan.broken = Some(damaged);
            return Ok(ControlFlow::Break(()));
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// The lines of a batch that were read so far.
struct Batch<Fact> {
    head: Head,
    entries: Vec<Entry<Fact>>,
    to_follow: u32,
}

impl<Fact> Batch<Fact> {
    fn new(head: Head) -> Self {
        Self {
            head,
            entries: Vec::new(),
            to_follow: 0,
        }
    }

    fn take(&mut self, read: line::Line<Fact>) -> Result<(), Damage> {
        read.check(&self.head)?;
        let expected = match self.to_follow {
            0 => read.more.min(MAX_BATCH - 1),
            before => before - 1,
        };
        if read.more != expected {
            let found = read.more;
            return Err(Damage::Batch { expected, found });
        }
        self.to_follow = read.more;
        self.head.follow(read.hash);
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
