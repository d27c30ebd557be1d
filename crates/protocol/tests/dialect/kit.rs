//! Reads and writes whole messages in one dialect, envelope and all.

use league_protocol::finding::Finding;
use league_protocol::message::Message;
use serde_json::Value;

/// What became of a message that was read.
pub(crate) struct Outcome {
    /// What was found, in reading and in understanding.
    pub(crate) findings: Vec<Finding>,
    /// The message, written again.
    pub(crate) written: Value,
    /// What it means.
    pub(crate) message: Option<Message>,
}

impl Outcome {
    /// Code, place and severity of each finding.
    pub(crate) fn table(&self) -> Vec<String> {
        let line = |f: &Finding| format!("{} {} {:?}", f.code, f.path, f.severity);
        self.findings.iter().map(line).collect()
    }
}

macro_rules! kit {
    ($dialect:ident, $protocol:literal, $sender:literal, $time:literal, $conversation:literal) => {
        use league_protocol::dialect::{Envelope, Hints, $dialect};
        use league_protocol::finding::{Notes, Path, Reading};
        use league_protocol::message::Message;
        use league_protocol::rpc::members::{Members, members};
        use league_protocol::shape::Shape;
        use serde::Serialize;
        use serde::ser::{SerializeMap, Serializer};
        use serde_json::{Value, json};

        /// The members of a body alone, in the order in which they are written.
        struct Bare<'b>(&'b $dialect::Body<'b>);

        impl Serialize for Bare<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut map = serializer.serialize_map(None)?;
                self.0.write_members(&mut map)?;
                map.end()
            }
        }

        /// Reads a whole message, writes it again and understands it.
        fn read(json: &str, reading: Reading, hints: &Hints<'_>) -> kit::Outcome {
            let mut notes = Notes::new(reading);
            let split = members(json).expect("test data is an object");
            let message_type: String =
                serde_json::from_str(split.get("message_type").expect("it has a type").get())
                    .expect("the type is a text");
            let granted = message_type.ends_with("REGISTER_RESPONSE");
            let (envelope, rest): (Vec<_>, Vec<_>) = split.into_iter().partition(|(name, _)| {
                let known = Envelope::FIELDS.iter().any(|rule| rule.name == name);
                known && !(granted && name == "auth_token")
            });
            let root = Path::root(Envelope::CLAUSE);
            let envelope = Envelope::take(Members::from(envelope), &root, &mut notes);
            let body = $dialect::Body::read(&message_type, Members::from(rest), &mut notes)
                .expect("the dialect knows the type");
            assert_eq!(body.message_type(), message_type);
            let mut written = json!(envelope);
            let members = json!(Bare(&body)).as_object().expect("an object").clone();
            written.as_object_mut().expect("an object").extend(members);
            let message = $dialect::understand(&body, hints, &mut notes);
            kit::Outcome {
                findings: notes.findings,
                written,
                message,
            }
        }

        /// Says a message: its type and the members of its body, in order.
        fn said(message: &Message, hints: &Hints<'_>) -> Option<(&'static str, String)> {
            let body = $dialect::say(message, hints)?;
            let members = serde_json::to_string(&Bare(&body)).expect("it can be written");
            Some((body.message_type(), members))
        }

        /// Says a message with the envelope around it.
        fn whole(message: &Message, hints: &Hints<'_>) -> Option<String> {
            let (message_type, members) = said(message, hints)?;
            let mut whole = json!({
                "protocol": $protocol,
                "message_type": message_type,
                "sender": $sender,
                "timestamp": $time,
                "conversation_id": $conversation,
            });
            let members: Value = serde_json::from_str(&members).expect("it was just written");
            let members = members.as_object().expect("an object").clone();
            whole.as_object_mut().expect("an object").extend(members);
            Some(whole.to_string())
        }
    };
}
