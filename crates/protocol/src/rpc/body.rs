//! Bytes to text that is safe to parse: size, encoding, depth and escapes, each in one flat pass.
//!
//! Whether the text is JSON at all is left to the parser.

use thiserror::Error;

/// The largest body that is read, in bytes.
pub const MAX_BODY: usize = 256 * 1024;

/// How many objects and arrays may be open at once, the outermost included.
pub const MAX_DEPTH: usize = 32;

/// Why a body could not be read as JSON text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Broken {
    /// The body holds more than [`MAX_BODY`] bytes.
    #[error("the body is larger than {MAX_BODY} bytes")]
    TooLarge,
    /// The bytes are not UTF-8.
    #[error("the body is not UTF-8")]
    NotUtf8,
    /// The text starts with U+FEFF.
    #[error("the body starts with a byte order mark")]
    ByteOrderMark,
    /// There is nothing but white space.
    #[error("the body is empty")]
    Empty,
    /// More than [`MAX_DEPTH`] objects and arrays are open at once.
    #[error("the body nests deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// A string escapes half of a surrogate pair, which is no character.
    #[error("a string holds a `\\u` escape that is half of a surrogate pair")]
    LoneSurrogate,
    /// The text is not JSON.
    #[error("the body is not JSON at line `{line}`, column `{column}`")]
    NotJson {
        /// The line, counted from 1.
        line: usize,
        /// The column in bytes, counted from 1.
        column: usize,
    },
}

/// Reads a body as trimmed text that is bounded in size and depth and has whole characters only.
pub(super) fn text(body: &[u8]) -> Result<&str, Broken> {
    if body.len() > MAX_BODY {
        return Err(Broken::TooLarge);
    }
    let text = std::str::from_utf8(body).map_err(|_| Broken::NotUtf8)?;
    if text.starts_with('\u{feff}') {
        return Err(Broken::ByteOrderMark);
    }
    if text.chars().all(is_space) {
        return Err(Broken::Empty);
    }
    if may_be_unsafe(text.as_bytes()) {
        scan(text.as_bytes())?;
    }
    Ok(text)
}

/// Tells whether a walk could find anything: where nothing is escaped and few things are opened at
/// all, no string is half a character and nothing is too deep. Most bodies need no walk.
fn may_be_unsafe(bytes: &[u8]) -> bool {
    // Counted in single bytes over chunks that cannot overflow one, so that many are counted at
    // once; no branch in the loop.
    let mut opened = 0;
    let mut escaped = false;
    for chunk in bytes.chunks(usize::from(u8::MAX)) {
        let mut opens = 0_u8;
        for &byte in chunk {
            opens += u8::from(byte == b'{') | u8::from(byte == b'[');
            escaped |= byte == b'\\';
        }
        opened += usize::from(opens);
    }
    escaped || opened > MAX_DEPTH
}

/// Tells whether JSON treats a character as white space; Unicode knows more kinds than JSON does.
pub(super) fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\r')
}

/// Walks the text once, keeping no more than a counter, so that depth costs no stack.
fn scan(bytes: &[u8]) -> Result<(), Broken> {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'"' => at = skip_string(bytes, at)?,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            return Err(Broken::TooDeep);
        }
    }
    Ok(())
}

/// Returns the place after the string whose text starts at `at`.
fn skip_string(bytes: &[u8], mut at: usize) -> Result<usize, Broken> {
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return Ok(at + 1),
            b'\\' => at = skip_escape(bytes, at)?,
            _ => at += 1,
        }
    }
    Ok(at)
}

/// Returns the place after the escape, or after the pair of escapes, that starts at `at`.
fn skip_escape(bytes: &[u8], at: usize) -> Result<usize, Broken> {
    match code_unit(bytes, at) {
        Some(0xD800..=0xDBFF) => match code_unit(bytes, at + 6) {
            Some(0xDC00..=0xDFFF) => Ok(at + 12),
            _ => Err(Broken::LoneSurrogate),
        },
        Some(0xDC00..=0xDFFF) => Err(Broken::LoneSurrogate),
        Some(_) => Ok(at + 6),
        None => Ok(at + 2),
    }
}

/// Reads a `\uXXXX` escape; a malformed one is left for the parser to refuse.
fn code_unit(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    digits.iter().try_fold(0, |unit: u16, digit| {
        let value = char::from(*digit).to_digit(16)?;
        Some((unit << 4) | u16::try_from(value).ok()?)
    })
}
