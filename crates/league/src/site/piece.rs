//! A piece of a stream, packed once for all who can unpack it.
//!
//! Each piece is packed for itself and ends on a whole byte, so one who comes late is sent the same
//! bytes as all others: after [`OPENING`], any pieces in a row are a stream of gzip.

use std::io::Write;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::DeflateEncoder;

/// What every packed stream begins with: gzip, deflated, no name, no time, no system.
pub(super) const OPENING: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];

/// A piece of a stream.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    plain: Bytes,
    packed: Arc<OnceLock<Option<Bytes>>>,
}

impl Piece {
    pub(super) fn new(text: impl Into<Bytes>) -> Self {
        Self {
            plain: text.into(),
            packed: Arc::default(),
        }
    }

    /// How many bytes it has, unpacked.
    pub(super) fn len(&self) -> usize {
        self.plain.len()
    }

    /// Its text.
    pub(super) fn plain(&self) -> Bytes {
        self.plain.clone()
    }

    /// Its bytes for a packed stream; `None` if it cannot be packed.
    pub(super) fn packed(&self) -> Option<Bytes> {
        let packed = self.packed.get_or_init(|| pack(&self.plain).ok());
        packed.clone()
    }
}

fn pack(plain: &[u8]) -> std::io::Result<Bytes> {
    let mut packer = DeflateEncoder::new(Vec::with_capacity(plain.len() / 4), Compression::fast());
    packer.write_all(plain)?;
    // Not `finish`, which would end the stream.
    packer.flush()?;
    Ok(std::mem::take(packer.get_mut()).into())
}

#[cfg(test)]
mod tests {
    use flate2::write::GzDecoder;

    use super::*;

    /// What a browser has read after each of these pieces.
    fn read(pieces: &[Bytes]) -> Vec<String> {
        let mut reader = GzDecoder::new(Vec::new());
        reader.write_all(&OPENING).unwrap();
        let read = pieces.iter().map(|piece| {
            reader.write_all(piece).unwrap();
            reader.flush().unwrap();
            let text = std::mem::take(reader.get_mut());
            String::from_utf8(text).unwrap()
        });
        read.collect()
    }

    #[test]
    fn each_piece_can_be_read_as_soon_as_it_is_there_whatever_came_before() {
        let texts = [
            "data: a board ".repeat(5_000),
            "x".to_owned(),
            String::new(),
        ];
        let pieces = texts.clone().map(Piece::new);
        let packed = pieces.map(|piece| piece.packed().unwrap());
        assert!(packed[0].len() < texts[0].len() / 8);
        assert_eq!(read(&packed), texts);
        // Another came when all had been told but the last two.
        assert_eq!(read(&packed[1..]), texts[1..]);
    }

    #[test]
    fn a_piece_is_packed_once() {
        let piece = Piece::new("data: a board");
        let other = piece.clone();
        let (first, second) = (piece.packed().unwrap(), other.packed().unwrap());
        assert_eq!(first.as_ptr(), second.as_ptr());
        assert_eq!(piece.plain(), "data: a board");
    }
}
