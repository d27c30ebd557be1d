//! Strict JSON-RPC 2.0 framing: bytes in, values out, no transport.
//!
//! [`read`] turns one body into calls, notifications and posted responses, or into the exact error
//! to answer with; [`read_reply`] does the same for a peer's answer. The meaning of methods is left
//! to other modules, and so is forgiving a peer's framing faults: nothing here forgives.
//!
//! ```
//! use league_protocol::rpc::{self, Era, Frame, Incoming, RpcError};
//!
//! let body = br#"{"jsonrpc":"2.0","method":"ping","id":"\u0031"}"#;
//! let Incoming::Single(Frame::Call(call)) = rpc::read(body, Era::Simple) else { panic!() };
//! assert_eq!(call.method, "ping");
//! assert_eq!(
//!     rpc::respond(&call.id, "pong"),
//!     br#"{"jsonrpc":"2.0","result":"pong","id":"\u0031"}"#,
//! );
//!
//! // The same call on the other side of the wire.
//! let sent = rpc::request(7, "ping", None::<&()>).unwrap();
//! assert_eq!(sent, br#"{"jsonrpc":"2.0","method":"ping","id":7}"#);
//! let reply = rpc::read_reply(br#"{"jsonrpc":"2.0","result":"pong","id":7}"#, 7, Era::Simple);
//! assert_eq!(reply.unwrap().unwrap().get(), r#""pong""#);
//!
//! // What cannot be read is answered, too.
//! let Incoming::Refused(refusal) = rpc::read(b"[]", Era::Simple) else { panic!() };
//! assert_eq!(refusal.status.code(), 400);
//! assert_eq!(refusal.error.code, RpcError::INVALID_REQUEST);
//! ```
//!
//! # Decisions
//!
//! - A byte order mark is refused as a parse error: JSON on the wire must not carry one, and a
//!   lenient caller can cut it off first.
//! - Nesting beyond [`MAX_DEPTH`] and lone surrogates are parse errors, found before parsing.
//! - Members are compared after unescaping, so `"\u0069d"` beside `"id"` is a repeated member.
//!   Repeats inside `params` are left to the reader of `params`, which has [`members::members`].
//! - A posted response is answered without its id, since that id is one of ours.

mod frame;
pub mod members;
mod outgoing;
mod reply;

pub use frame::{
    Call, Element, Era, Frame, Id, InFlight, Incoming, MAX_BATCH, MAX_ID, MAX_IN_FLIGHT,
    MAX_METHOD, Malformed, Notification, Opened, Params, check_content_type, open, read,
};
pub(crate) use members::Array;
pub use members::{Broken, MAX_BODY, MAX_DEPTH};
pub use outgoing::{
    MAX_OWN_ID, Refusal, RpcError, Status, Unwritable, batch, fail, notify, request, respond,
    respond_both,
};
pub use reply::{PeerError, ReplyFault, Response, read_error, read_reply, read_response};
