//! What the referee said to the players and to the manager.

use super::OfReferee;
use crate::listener::Heard;
use crate::overheard;
pub(super) use crate::overheard::{framed, note};
use crate::rule::Played;

/// Sees that the envelope of a message of the referee is whole.
pub(super) fn enveloped(act: &OfReferee, heard: &Heard) -> Played {
    let id = act.stage.admitted()?.id;
    overheard::enveloped(heard, &format!("referee:{id}"))
}
