//! Bodies and stream chunks that are compressed once, for all clients that accept gzip.

use std::io::Write;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder};
use hyper::header::{ACCEPT_ENCODING, HeaderMap};

/// A shorter body fits into one packet and is sent as it is.
const MIN_GZIP_BYTES: usize = 1_400;

/// The header of a gzip stream: deflate, no name, no time, no system.
pub(crate) const GZIP_HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];

/// A response body.
#[derive(Debug, Clone)]
pub(crate) struct GzipBody {
    plain: Bytes,
    gzip: Arc<OnceLock<Option<Bytes>>>,
}

impl GzipBody {
    pub(crate) fn new(text: impl Into<Bytes>) -> Self {
        Self {
            plain: text.into(),
            gzip: Arc::default(),
        }
    }

    /// The bytes for a client with these headers, and whether they are compressed.
    pub(crate) fn bytes(&self, headers: &HeaderMap) -> (Bytes, bool) {
        if self.plain.len() >= MIN_GZIP_BYTES && accepts_gzip(headers) {
            let gzip = self.gzip.get_or_init(|| compress(&self.plain).ok());
            if let Some(gzip) = gzip {
                return (gzip.clone(), true);
            }
        }
        (self.plain.clone(), false)
    }
}

fn compress(plain: &[u8]) -> std::io::Result<Bytes> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(plain.len() / 8), Compression::fast());
    encoder.write_all(plain)?;
    Ok(encoder.finish()?.into())
}

/// A chunk of a stream. Each is compressed by itself and ends on a whole byte, so late clients get
/// the same bytes as all others: after [`GZIP_HEADER`], any sequence of chunks is a gzip stream.
#[derive(Debug, Clone)]
pub(crate) struct GzipChunk {
    plain: Bytes,
    gzip: Arc<OnceLock<Option<Bytes>>>,
}

impl GzipChunk {
    pub(crate) fn new(text: impl Into<Bytes>) -> Self {
        Self {
            plain: text.into(),
            gzip: Arc::default(),
        }
    }

    /// The uncompressed length.
    pub(crate) fn len(&self) -> usize {
        self.plain.len()
    }

    pub(crate) fn plain(&self) -> Bytes {
        self.plain.clone()
    }

    /// `None` if compression failed.
    pub(crate) fn gzip(&self) -> Option<Bytes> {
        let gzip = self.gzip.get_or_init(|| deflate(&self.plain).ok());
        gzip.clone()
    }
}

fn deflate(plain: &[u8]) -> std::io::Result<Bytes> {
    let mut encoder = DeflateEncoder::new(Vec::with_capacity(plain.len() / 4), Compression::fast());
    encoder.write_all(plain)?;
    // Not `finish`, which would end the stream.
    encoder.flush()?;
    Ok(std::mem::take(encoder.get_mut()).into())
}

pub(crate) fn accepts_gzip(headers: &HeaderMap) -> bool {
    let values = headers.get_all(ACCEPT_ENCODING).iter();
    let mut codings = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    codings.any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let refused = matches!(weight.trim(), "q=0" | "q=0.0" | "q=0.00" | "q=0.000");
        name.trim().eq_ignore_ascii_case("gzip") && !refused
    })
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use hyper::header::HeaderValue;

    use super::*;

    fn accepting(encoding: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static(encoding))])
    }

    #[test]
    fn long_body_is_compressed_for_clients_that_accept_gzip() {
        let body = GzipBody::new("<p>league</p>".repeat(1_000));
        let (gzip, is_gzip) = body.bytes(&accepting("br, gzip;q=0.8"));
        assert!(is_gzip && gzip.len() < 1_000);
        let mut text = String::new();
        flate2::read::GzDecoder::new(&gzip[..])
            .read_to_string(&mut text)
            .unwrap();
        assert_eq!(text.len(), 13_000);
        for other in ["identity", "gzip;q=0", "x-gzip-not"] {
            assert!(!body.bytes(&accepting(other)).1, "{other}");
        }
        assert!(!body.bytes(&HeaderMap::new()).1);
    }

    #[test]
    fn short_body_is_sent_as_it_is() {
        assert!(!GzipBody::new("short").bytes(&accepting("gzip")).1);
    }

    /// What a browser reads after each of these chunks.
    fn read(chunks: &[Bytes]) -> Vec<String> {
        let mut reader = flate2::write::GzDecoder::new(Vec::new());
        reader.write_all(&GZIP_HEADER).unwrap();
        let texts = chunks.iter().map(|chunk| {
            reader.write_all(chunk).unwrap();
            reader.flush().unwrap();
            let text = std::mem::take(reader.get_mut());
            String::from_utf8(text).unwrap()
        });
        texts.collect()
    }

    #[test]
    fn each_chunk_is_readable_at_once_whatever_came_before() {
        let texts = [
            "data: a board ".repeat(5_000),
            "x".to_owned(),
            String::new(),
        ];
        let chunks = texts.clone().map(GzipChunk::new);
        let gzip = chunks.map(|chunk| chunk.gzip().unwrap());
        assert!(gzip[0].len() < texts[0].len() / 8);
        assert_eq!(read(&gzip), texts);
        // A client that connects late gets only the last two.
        assert_eq!(read(&gzip[1..]), texts[1..]);
    }

    #[test]
    fn chunk_is_compressed_once() {
        let chunk = GzipChunk::new("data: a board");
        let other = chunk.clone();
        let (first, second) = (chunk.gzip().unwrap(), other.gzip().unwrap());
        assert_eq!(first.as_ptr(), second.as_ptr());
        assert_eq!(chunk.plain(), "data: a board");
    }
}
