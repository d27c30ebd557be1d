//! Players that ask again at once, as those do that did not understand that they were admitted.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use league_protocol::message::RegisterRequest;
use league_protocol::sender::Dialect;

/// The most addresses that are remembered; of more it is not known how often they asked.
const MOST_ADDRESSES: usize = 4_096;

/// How often each address has asked, and how it is answered for that.
///
/// The documents have two words for an admission, and which of them a player waits for is not seen
/// in what it asks. One that asks again without its token has not found its word: it is answered in
/// the spelling of the API page then, and in the other the next time (ruling 50).
#[derive(Debug, Default)]
pub struct Wishes(Mutex<BTreeMap<String, u32>>);

impl Wishes {
    /// Counts a wish; gives the spelling for an answer that is not in the usual one.
    pub(super) fn spelling(&self, request: &RegisterRequest, dialect: Dialect) -> Option<Dialect> {
        if dialect != Dialect::V2 || request.token.is_some() {
            return None;
        }
        let mut asked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let address = request.meta.contact_endpoint.trim();
        if asked.len() >= MOST_ADDRESSES && !asked.contains_key(address) {
            return None;
        }
        let times = asked.entry(address.to_owned()).or_default();
        *times = times.wrapping_add(1);
        times.is_multiple_of(2).then_some(Dialect::V2Api)
    }
}
