//! A page ready to be sent, packed if its reader can unpack it.

use std::io::Write;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::header::{ACCEPT_ENCODING, HeaderMap};

/// A page of fewer bytes is not worth packing: it fits into one packet.
const SHORTEST_PACKED: usize = 1_400;

/// A page; packed once, however many read it.
#[derive(Debug, Clone)]
pub(super) struct Sheet {
    plain: Bytes,
    packed: Arc<OnceLock<Option<Bytes>>>,
}

impl Sheet {
    pub(super) fn new(text: impl Into<Bytes>) -> Self {
        Self {
            plain: text.into(),
            packed: Arc::default(),
        }
    }

    /// The bytes for a reader with these headers, and whether they are packed.
    pub(super) fn bytes(&self, headers: &HeaderMap) -> (Bytes, bool) {
        if self.plain.len() >= SHORTEST_PACKED && unpacks(headers) {
            let packed = self.packed.get_or_init(|| pack(&self.plain).ok());
            if let Some(packed) = packed {
                return (packed.clone(), true);
            }
        }
        (self.plain.clone(), false)
    }
}

fn pack(plain: &[u8]) -> std::io::Result<Bytes> {
    let mut packer = GzEncoder::new(Vec::with_capacity(plain.len() / 8), Compression::fast());
    packer.write_all(plain)?;
    Ok(packer.finish()?.into())
}

/// Whether a reader says that it takes gzip.
pub(super) fn unpacks(headers: &HeaderMap) -> bool {
    let named = headers.get_all(ACCEPT_ENCODING).iter();
    let mut named = named
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    named.any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let refused = matches!(weight.trim(), "q=0" | "q=0.0" | "q=0.00" | "q=0.000");
        name.trim().eq_ignore_ascii_case("gzip") && !refused
    })
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;
    use hyper::header::HeaderValue;

    use super::*;

    fn asking(encoding: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static(encoding))])
    }

    #[test]
    fn a_long_page_is_packed_for_those_who_can_unpack_it() {
        let sheet = Sheet::new("<p>league</p>".repeat(1_000));
        let (packed, is_packed) = sheet.bytes(&asking("br, gzip;q=0.8"));
        assert!(is_packed && packed.len() < 1_000);
        let mut text = String::new();
        GzDecoder::new(&packed[..])
            .read_to_string(&mut text)
            .unwrap();
        assert_eq!(text.len(), 13_000);
        for other in ["identity", "gzip;q=0", "x-gzip-not"] {
            assert!(!sheet.bytes(&asking(other)).1, "{other}");
        }
        assert!(!sheet.bytes(&HeaderMap::new()).1);
    }

    #[test]
    fn a_short_page_is_sent_as_it_is() {
        assert!(!Sheet::new("short").bytes(&asking("gzip")).1);
    }
}
