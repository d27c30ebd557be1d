//! One line of a journal: how it is written, read, and chained to the previous line.
//!
//! `{"crc32":"…","sequence":1,"previous":"…","at":"…","fact":…}`: the checksum covers everything
//! after its comma, `previous` is the SHA-256 of the previous line without its newline. A line that
//! is not the last of its batch has `more`, the number of lines that follow in the batch.

use std::borrow::Cow;

use league_protocol::time::Timestamp;
use league_protocol::token::{hex, unhex};
use serde::de::DeserializeOwned;
use serde::ser::Error as _;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::error::{Damage, StoreError};
use super::{Entry, scan::MAX_BATCH};

/// The maximum length of a line, in bytes.
pub(crate) const MAX_LINE: usize = 16 * 1024 * 1024;

const OPENING: &[u8] = br#"{"crc32":""#;
const CLOSING: &[u8] = br#"","#;
const DIGITS: usize = 8;
/// The offset of the part that the checksum covers.
const CONTENT: usize = OPENING.len() + DIGITS + CLOSING.len();

/// The end of a journal, which the next line must follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Head {
    /// The sequence of the last line; 0 if there is none.
    pub(crate) sequence: u64,
    /// The hash of the last line; zeros if there is none.
    pub(crate) hash: [u8; 32],
}

impl Head {
    /// Advances to the next line, which has this hash.
    pub(crate) fn follow(&mut self, hash: [u8; 32]) {
        self.sequence += 1;
        self.hash = hash;
    }
}

/// A decoded line with a correct checksum.
#[derive(Debug)]
pub(super) struct Line<Fact> {
    pub(super) entry: Entry<Fact>,
    /// How many lines of its batch follow.
    pub(super) more: u32,
    /// The hash of the line before, as it tells.
    previous: [u8; 32],
    /// Its own hash.
    pub(super) hash: [u8; 32],
}

impl<Fact> Line<Fact> {
    /// Checks that it follows `head`.
    pub(super) fn check(&self, head: &Head) -> Result<(), Damage> {
        let (expected, found) = (head.sequence + 1, self.entry.sequence);
        if found != expected {
            return Err(Damage::Sequence { expected, found });
        }
        let found = self.previous;
        if found != head.hash {
            let expected = head.hash;
            return Err(Damage::Chain { expected, found });
        }
        Ok(())
    }
}

#[derive(Serialize)]
struct Written<'a, Fact> {
    sequence: u64,
    #[serde(skip_serializing_if = "is_zero")]
    more: u32,
    previous: String,
    at: Timestamp,
    fact: &'a Fact,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "Fact: DeserializeOwned"))]
struct Content<'line, Fact> {
    sequence: u64,
    #[serde(default)]
    more: u32,
    #[serde(borrow)]
    previous: Cow<'line, str>,
    at: Timestamp,
    fact: Fact,
}

/// Writes facts as the lines of one batch after `head`, and advances `head` to the last of them.
pub(super) fn write_batch<Fact: Serialize>(
    out: &mut Vec<u8>,
    head: &mut Head,
    at: Timestamp,
    facts: &[Fact],
) -> Result<(), StoreError> {
    let too_many = || StoreError::TooMany(facts.len());
    let mut more = u32::try_from(facts.len()).map_err(|_| too_many())?;
    if more > MAX_BATCH {
        return Err(too_many());
    }
    for fact in facts {
        more -= 1;
        let start = out.len();
        let written = Written {
            sequence: head.sequence + 1,
            more,
            previous: hex(&head.hash),
            at,
            fact,
        };
        write(out, &written).map_err(StoreError::Fact)?;
        let line = &out[start..];
        if line.contains(&b'\n') {
            return Err(StoreError::Fact(serde_json::Error::custom(
                "it would take more than one line",
            )));
        }
        if line.len() >= MAX_LINE {
            return Err(StoreError::TooLong(line.len()));
        }
        head.follow(Sha256::digest(line).into());
        out.push(b'\n');
    }
    Ok(())
}

fn write<Fact: Serialize>(out: &mut Vec<u8>, line: &Written<'_, Fact>) -> serde_json::Result<()> {
    let start = out.len();
    out.extend_from_slice(OPENING);
    out.extend_from_slice(&[b'0'; DIGITS]);
    out.extend_from_slice(&CLOSING[..1]);
    let brace = out.len();
    serde_json::to_writer(&mut *out, line)?;
    out[brace] = CLOSING[1];
    let checksum = format!("{:08x}", crc32fast::hash(&out[start + CONTENT..]));
    let digits = start + OPENING.len();
    out[digits..digits + DIGITS].copy_from_slice(checksum.as_bytes());
    Ok(())
}

/// Decodes a line without its newline.
pub(super) fn read<Fact: DeserializeOwned>(line: &[u8]) -> Result<Line<Fact>, Damage> {
    check_sum(line)?;
    let content: Content<'_, Fact> =
        serde_json::from_slice(line).map_err(|error| Damage::Content(error.to_string()))?;
    let (sequence, at, fact) = (content.sequence, content.at, content.fact);
    Ok(Line {
        entry: Entry { sequence, at, fact },
        more: content.more,
        previous: unhex(&content.previous).ok_or(Damage::Form)?,
        hash: Sha256::digest(line).into(),
    })
}

fn check_sum(line: &[u8]) -> Result<(), Damage> {
    let (digits, content) = line
        .strip_prefix(OPENING)
        .and_then(|rest| rest.split_at_checked(DIGITS))
        .ok_or(Damage::Form)?;
    let content = content.strip_prefix(CLOSING).ok_or(Damage::Form)?;
    let plain = digits
        .iter()
        .all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    let found = std::str::from_utf8(digits)
        .ok()
        .filter(|_| plain)
        .and_then(|digits| u32::from_str_radix(digits, 16).ok())
        .ok_or(Damage::Form)?;
    let expected = crc32fast::hash(content);
    if found == expected {
        Ok(())
    } else {
        Err(Damage::Checksum { expected, found })
    }
}
