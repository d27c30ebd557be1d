//! Players that ask again at once, as those do that did not understand that they were admitted.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use league_protocol::message::{Message, RegisterRequest, RegisterResponse};
use league_protocol::sender::Dialect;

use crate::wire::router::ServiceReply;

/// The most addresses that are remembered; of more it is not known how often they asked.
const MOST_ADDRESSES: usize = 4_096;

/// How often each address was admitted, and how it is answered for that.
///
/// The documents have two words for an admission, and which of them a player waits for is not seen
/// in what it asks. One that asks again without its token has not found its word: it is answered in
/// the spelling of the API page then, and in the other the next time (ruling 50). A strict league
/// has one word.
#[derive(Debug)]
pub(crate) struct Wishes {
    strict: bool,
    admitted: Mutex<BTreeMap<String, u32>>,
}

impl Wishes {
    /// Nobody was admitted yet.
    pub(super) fn new(strict: bool) -> Self {
        Self {
            strict,
            admitted: Mutex::default(),
        }
    }

    /// The address of a wish that may be answered in either spelling.
    pub(super) fn of(&self, request: &RegisterRequest, dialect: Dialect) -> Option<String> {
        let open = !self.strict && dialect == Dialect::V2 && request.token.is_none();
        open.then(|| request.meta.contact_endpoint.trim().to_owned())
    }

    /// Counts an admission; gives the spelling for an answer that is not in the usual one.
    pub(super) fn spelling(&self, address: String, answer: &ServiceReply) -> Option<Dialect> {
        let Some(Message::PlayerRegisterResponse(RegisterResponse::Accepted(_))) = answer.message()
        else {
            return None;
        };
        let mut admitted = self.admitted.lock().unwrap_or_else(PoisonError::into_inner);
        if admitted.len() >= MOST_ADDRESSES && !admitted.contains_key(&address) {
            return None;
        }
        let times = admitted.entry(address).or_default();
        *times = times.wrapping_add(1);
        times.is_multiple_of(2).then_some(Dialect::V2Api)
    }
}
