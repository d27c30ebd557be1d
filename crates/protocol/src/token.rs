//! Proof of identity: a token, which never prints itself, and its hash, which may be stored.

use std::fmt;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};

/// The longest token that is processed, in bytes.
pub const MAX_TOKEN_LENGTH: usize = 512;

/// Replaces the owner's name in a pledge.
const PLEDGE: &str = "pledge";

/// A secret that proves who is calling.
///
/// Its owner receives it once, and it travels in messages. The league never stores or prints it:
/// `Debug` shows `AuthToken(…)`, and there is no `Display`.
#[derive(Clone)]
pub struct AuthToken(Arc<Token>);

/// The text of a token, and its hash once computed: a repeatedly shown token is hashed once.
struct Token {
    text: String,
    hash: OnceLock<TokenHash>,
}

impl PartialEq for AuthToken {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.text == other.0.text
    }
}

impl Eq for AuthToken {}

impl AuthToken {
    /// Takes a token as it came.
    pub fn new(text: impl AsRef<str>) -> Self {
        Self::of(text.as_ref().to_owned())
    }

    /// Makes the token of an agent in the documents' form: `tok-p01-<64 hex digits>`.
    pub fn mint(owner: &str, chance: &[u8; 32]) -> Self {
        let mut text = String::with_capacity(owner.len() + 69);
        text.push_str("tok-");
        text.push_str(owner);
        text.make_ascii_lowercase();
        text.push('-');
        push_hex(&mut text, chance);
        Self::of(text)
    }

    fn of(text: String) -> Self {
        let hash = OnceLock::new();
        Self(Arc::new(Token { text, hash }))
    }

    /// Makes a pledge: a token that an agent makes for itself before it registers, so that it is
    /// recognised even if the answer to its registration gets lost.
    pub fn pledge(chance: &[u8; 32]) -> Self {
        Self::mint(PLEDGE, chance)
    }

    /// Whether it has the form of a pledge.
    pub fn is_pledge(&self) -> bool {
        let rest = self.0.text.strip_prefix("tok-");
        let digits = rest.and_then(|rest| rest.strip_prefix(PLEDGE)?.strip_prefix('-'));
        digits.is_some_and(|digits| unhex(digits).is_some())
    }

    /// The secret itself, for sending it or for its owner's own file.
    pub fn reveal(&self) -> &str {
        &self.0.text
    }

    /// The printable part: at most `tok-p01-…`, nothing of the secret part.
    pub fn masked(&self) -> String {
        mask(&self.0.text)
    }

    /// The hash that the league stores instead of the token.
    pub fn hash(&self) -> TokenHash {
        *self.0.hash.get_or_init(|| TokenHash::of(&self.0.text))
    }
}

/// Cuts a token to the part that names its owner.
pub fn mask(token: &str) -> String {
    let mut parts = token.splitn(3, ['-', '_']);
    match (parts.next(), parts.next(), parts.next()) {
        (Some("tok"), Some(owner), Some(_)) if owner.len() <= 16 && is_plain(owner) => {
            format!("tok-{owner}-…")
        }
        _ => "…".to_owned(),
    }
}

fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

impl fmt::Debug for AuthToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AuthToken(…)")
    }
}

/// The SHA-256 of a token.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TokenHash([u8; 32]);

impl TokenHash {
    /// Hashes a token as it stands on the wire.
    pub fn of(token: &str) -> Self {
        Self(Sha256::digest(token.as_bytes()).into())
    }

    /// The hash as 64 hex digits.
    pub fn to_hex(&self) -> String {
        hex(&self.0)
    }

    /// Reads 64 hex digits.
    pub fn from_hex(text: &str) -> Option<Self> {
        unhex(text).map(Self)
    }
}

impl fmt::Display for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TokenHash({})", &hex(&self.0)[..8])
    }
}

impl Serialize for TokenHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hex(&self.0))
    }
}

impl<'de> Deserialize<'de> for TokenHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        unhex(&text)
            .map(Self)
            .ok_or_else(|| serde::de::Error::custom("a hash has 64 hex digits"))
    }
}

/// Writes 32 bytes as 64 lower-case hex digits.
pub fn hex(bytes: &[u8; 32]) -> String {
    let mut text = String::with_capacity(64);
    push_hex(&mut text, bytes);
    text
}

fn push_hex(text: &mut String, bytes: &[u8; 32]) {
    text.push_str(std::str::from_utf8(&hex_digits(bytes)).unwrap_or_default());
}

/// The 64 lower-case hex digits of 32 bytes, as ASCII.
pub fn hex_digits(bytes: &[u8; 32]) -> [u8; 64] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut digits = [0; 64];
    for (pair, byte) in digits.chunks_exact_mut(2).zip(bytes) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
    }
    digits
}

/// Reads 64 hex digits as 32 bytes.
pub fn unhex(text: &str) -> Option<[u8; 32]> {
    let digits = text.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let high = char::from(pair[0]).to_digit(16)?;
        let low = char::from(pair[1]).to_digit(16)?;
        *byte = u8::try_from(high * 16 + low).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_never_prints_itself() {
        let token = AuthToken::mint("P01", &[0xab; 32]);
        assert_eq!(format!("{token:?}"), "AuthToken(…)");
        assert_eq!(token.masked(), "tok-p01-…");
        assert!(token.reveal().starts_with("tok-p01-abab"));
    }

    #[test]
    fn a_pledge_is_told_from_other_tokens() {
        assert!(AuthToken::pledge(&[0xab; 32]).is_pledge());
        assert!(!AuthToken::mint("P01", &[0xab; 32]).is_pledge());
        for text in ["", "tok-pledge-", "tok-pledge-abc", "pledge"] {
            assert!(!AuthToken::new(text).is_pledge(), "{text}");
        }
    }

    #[test]
    fn masks_show_no_secret() {
        for (token, shown) in [
            ("tok-invalid-xxx", "tok-invalid-…"),
            ("tok_p01_abc123", "tok-p01-…"),
            ("tok-secret", "…"),
            ("hunter2", "…"),
            ("tok-<b>-x", "…"),
            ("", "…"),
        ] {
            assert_eq!(mask(token), shown, "{token}");
        }
    }

    #[test]
    fn hashes_read_back() {
        let hash = TokenHash::of("tok-p01-xyz789");
        let text = serde_json::to_string(&hash).unwrap();
        assert_eq!(serde_json::from_str::<TokenHash>(&text).unwrap(), hash);
        assert!(serde_json::from_str::<TokenHash>("\"zz\"").is_err());
    }
}
