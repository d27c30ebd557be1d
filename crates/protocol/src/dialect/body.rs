//! The body of a message in whichever dialect.

use serde::ser::SerializeMap;
use serde_json::{Map, Value};

use crate::finding::{Notes, Reading};
use crate::message::Message;
use crate::rpc::members::Members;
use crate::sender::Dialect;
use crate::shape::Extra;

use super::{Hints, v1, v2, v2_api};

macro_rules! each {
    ($self:expr, $body:ident => $then:expr) => {
        match $self {
            Body::V2($body) => $then,
            Body::V2Api($body) => $then,
            Body::V1($body) => $then,
        }
    };
}

/// The body of a message.
#[derive(Debug, Clone)]
pub enum Body<'a> {
    /// In `v2`.
    V2(v2::Body<'a>),
    /// In `v2-api`.
    V2Api(v2_api::Body<'a>),
    /// In `v1`.
    V1(v1::Body<'a>),
}

impl<'a> Body<'a> {
    /// Reads a body; gives the members back if the dialect has no such type.
    pub fn read(
        dialect: Dialect,
        message_type: &str,
        members: Members<'a>,
        notes: &mut Notes,
    ) -> Result<Self, Members<'a>> {
        match dialect {
            Dialect::V2 => v2::Body::read(message_type, members, notes).map(Self::V2),
            Dialect::V2Api => v2_api::Body::read(message_type, members, notes).map(Self::V2Api),
            Dialect::V1 => v1::Body::read(message_type, members, notes).map(Self::V1),
        }
    }

    /// Says a message in a dialect; `None` if the dialect has no words for it.
    pub fn say<'m>(dialect: Dialect, message: &'m Message, hints: &Hints<'_>) -> Option<Body<'m>> {
        match dialect {
            Dialect::V2 => v2::say(message, hints).map(Body::V2),
            Dialect::V2Api => v2_api::say(message, hints).map(Body::V2Api),
            Dialect::V1 => v1::say(message, hints).map(Body::V1),
        }
    }

    /// Understands the body; `None` if something is missing that it cannot do without.
    pub fn understand(&self, hints: &Hints<'_>, notes: &mut Notes) -> Option<Message> {
        match self {
            Self::V2(body) => v2::understand(body, hints, notes),
            Self::V2Api(body) => v2_api::understand(body, hints, notes),
            Self::V1(body) => v1::understand(body, hints, notes),
        }
    }

    /// The message type as it is written.
    pub fn message_type(&self) -> &'static str {
        each!(self, body => body.message_type())
    }

    /// What is not known in the body.
    pub fn extra(&self) -> &Extra<'a> {
        each!(self, body => body.extra())
    }

    /// Where the message is written.
    pub fn clause(&self) -> &'static str {
        each!(self, body => body.clause())
    }

    /// Writes the members into an object that is being written.
    pub fn write_members<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        each!(self, body => body.write_members(map))
    }
}

/// The message types of a dialect.
pub fn types(dialect: Dialect) -> &'static [&'static str] {
    match dialect {
        Dialect::V2 => v2::Body::TYPES,
        Dialect::V2Api => v2_api::Body::TYPES,
        Dialect::V1 => v1::Body::TYPES,
    }
}

/// What a message is about, where it is written, and its body as JSON Schema.
pub(crate) fn schema(
    dialect: Dialect,
    message_type: &str,
    reading: Reading,
) -> Option<(&'static str, &'static str, Map<String, Value>)> {
    match dialect {
        Dialect::V2 => v2::Body::schema(message_type, reading),
        Dialect::V2Api => v2_api::Body::schema(message_type, reading),
        Dialect::V1 => v1::Body::schema(message_type, reading),
    }
}
