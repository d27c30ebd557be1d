//! How peers are found out, spoken to and understood, by the bytes of real servers.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed, in a function beside it too"
)]

mod calls;
mod probes;
mod properties;
mod results;

use league_protocol::peer::HttpReply;

/// An answer in JSON.
fn json(status: u16, body: &str) -> HttpReply<'_> {
    HttpReply {
        status,
        session: None,
        body: body.as_bytes(),
    }
}

/// An answer that opens a session.
fn session<'a>(body: &'a str, session: Option<&'a str>) -> HttpReply<'a> {
    HttpReply {
        session,
        ..json(200, body)
    }
}
