//! How peers are found out, spoken to and understood, by the bytes of real servers.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed, in a function beside it too"
)]

mod calls;
mod probes;
mod properties;
mod results;

use league_protocol::peer::Reply;

/// An answer in JSON.
fn json(status: u16, body: &str) -> Reply<'_> {
    Reply {
        status,
        session: None,
        body: body.as_bytes(),
    }
}

/// An answer that opens a session.
fn session<'a>(body: &'a str, session: Option<&'a str>) -> Reply<'a> {
    Reply {
        session,
        ..json(200, body)
    }
}
