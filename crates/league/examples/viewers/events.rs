//! The events of a feed, taken out of the bytes of its answer.
//!
//! HTTP is read by hand: a thousand viewers share a small machine with the league they look at.

use std::io::{self, Write};

use flate2::write::GzDecoder;

/// The most bytes that one line of the answer may have.
const MAX_LINE: usize = 64 * 1024 * 1024;

/// Reads the answer of a feed as it comes.
pub(crate) struct Events {
    /// What came over the wire and is not taken yet.
    raw: Vec<u8>,
    part: Part,
    text: Text,
}

/// What the next bytes are.
enum Part {
    Head,
    Size,
    Chunk(usize),
}

/// The text of the answer, unpacked if it came packed.
enum Text {
    Plain(Vec<u8>),
    Packed(GzDecoder<Vec<u8>>),
}

impl Text {
    fn take(&mut self, bytes: &[u8]) -> io::Result<&mut Vec<u8>> {
        match self {
            Self::Plain(text) => {
                text.extend_from_slice(bytes);
                Ok(text)
            }
            Self::Packed(unpacking) => {
                unpacking.write_all(bytes)?;
                unpacking.flush()?;
                Ok(unpacking.get_mut())
            }
        }
    }
}

impl Events {
    pub(crate) fn new() -> Self {
        Self {
            raw: Vec::new(),
            part: Part::Head,
            text: Text::Plain(Vec::new()),
        }
    }

    /// Takes in what came, and hands over every event that is whole, without the empty line at its
    /// end.
    ///
    /// # Errors
    ///
    /// The answer may be none of a feed, or end.
    pub(crate) fn take(&mut self, bytes: &[u8], mut hear: impl FnMut(&str)) -> io::Result<()> {
        self.raw.extend_from_slice(bytes);
        let mut taken = 0;
        while let Some(step) = self.step(taken, &mut hear)? {
            taken += step;
        }
        self.raw.drain(..taken);
        if self.raw.len() > MAX_LINE {
            return Err(io::Error::other("the feed sends too much at once"));
        }
        Ok(())
    }

    /// Takes the next part; how many bytes that was, none if it is not whole yet.
    fn step(&mut self, from: usize, hear: &mut impl FnMut(&str)) -> io::Result<Option<usize>> {
        let rest = &self.raw[from..];
        match self.part {
            Part::Head => {
                let Some(length) = until(rest, b"\r\n\r\n") else {
                    return Ok(None);
                };
                let head = String::from_utf8_lossy(&rest[..length]).to_ascii_lowercase();
                if !head.starts_with("http/1.1 200 ") || !head.contains("text/event-stream") {
                    return Err(io::Error::other(format!("not a feed: {head}")));
                }
                if head.contains("content-encoding: gzip") {
                    self.text = Text::Packed(GzDecoder::new(Vec::new()));
                }
                self.part = Part::Size;
                Ok(Some(length))
            }
            Part::Size => {
                let Some(length) = until(rest, b"\r\n") else {
                    return Ok(None);
                };
                let size = String::from_utf8_lossy(&rest[..length - 2]);
                match usize::from_str_radix(&size, 16) {
                    Ok(0) | Err(_) => Err(io::Error::other("the feed ended")),
                    Ok(size) => {
                        self.part = Part::Chunk(size);
                        Ok(Some(length))
                    }
                }
            }
            Part::Chunk(size) => {
                if rest.len() < size + 2 {
                    return Ok(None);
                }
                let text = self.text.take(&rest[..size])?;
                // An event ends where what was sent at once ends.
                if text.ends_with(b"\n\n") {
                    let told = String::from_utf8_lossy(text);
                    told.split_terminator("\n\n").for_each(hear);
                    text.clear();
                }
                self.part = Part::Size;
                Ok(Some(size + 2))
            }
        }
    }
}

/// How many bytes there are until this end, with it.
fn until(bytes: &[u8], end: &[u8]) -> Option<usize> {
    let found = bytes.windows(end.len()).position(|some| some == end);
    found.map(|place| place + end.len())
}
