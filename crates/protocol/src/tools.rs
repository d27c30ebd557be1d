//! Tools: the messages or arguments that each takes, its result, and the schemas of both.

use crate::fault::Code;
use crate::finding::Reading;
use crate::message::{LeagueError, Message};
use crate::schema::message_schema;
use crate::sender::Dialect;
use crate::token::AuthToken;
use serde_json::{Map, Value, json};

/// The fields of an envelope, which an MCP caller may leave out.
const ENVELOPE: [&str; 5] = [
    "protocol",
    "message_type",
    "sender",
    "timestamp",
    "conversation_id",
];

/// One tool.
#[derive(Debug)]
pub struct ToolEntry {
    /// The name in calls.
    pub name: &'static str,
    /// The name in user interfaces.
    pub title: &'static str,
    /// What it does, and when to use it.
    pub description: &'static str,
    /// What it takes.
    pub takes: Takes,
    /// Further messages that it accepts, by their types in `league.v2`.
    pub also: &'static [&'static str],
    /// Its result, unless it fails.
    pub gives: Gives,
    /// Whether calling it changes nothing.
    pub read_only: bool,
    /// Whether calling it again with the same arguments changes nothing more.
    pub idempotent: bool,
}

/// The input of a tool.
#[derive(Debug)]
pub enum Takes {
    /// A message of one of these types; the first is assumed if a caller does not name one.
    Message(&'static [&'static str]),
    /// Plain arguments, all strings: name, description, whether it is required.
    Arguments(&'static [(&'static str, &'static str, bool)]),
}

/// The result of a tool.
#[derive(Debug)]
pub enum Gives {
    /// A message of this type.
    Message(&'static str),
    /// `{"status":"ok"}`.
    Nod,
    /// A plain object with these members, each of any kind: name, description.
    Members(&'static [(&'static str, &'static str)]),
}

/// The arguments of a tool that does not take a message.
#[derive(Debug, Clone, Default)]
pub struct ToolArguments {
    /// The token that came with them.
    pub token: Option<AuthToken>,
    pub members: Map<String, Value>,
}

impl ToolArguments {
    /// The text of an argument.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.members.get(name).and_then(Value::as_str)
    }
}

impl ToolEntry {
    /// Checks that the tool takes the message, in any dialect.
    pub(crate) fn admit(&self, message: &Message) -> Result<(), LeagueError> {
        let kind = message.v2_type().unwrap_or_default();
        let taken: Vec<&str> = [self.takes.types(), self.also].concat();
        if taken.contains(&kind) {
            return Ok(());
        }
        let taken = match taken.as_slice() {
            [] => "no message".to_owned(),
            taken => format!("`{}`", taken.join("` or `")),
        };
        let detail = format!("`{}` takes {taken}, and this is `{kind}`", self.name);
        let mut error = LeagueError::new(Code::InvalidMessage, detail);
        error.path = Some("message_type".to_owned());
        Err(error)
    }

    /// The schema of the arguments, as MCP lists it.
    pub fn input_schema(&self) -> Map<String, Value> {
        let mut schema = self.takes.schema();
        without_null(&mut schema);
        schema
    }

    /// The schema of the result, as MCP lists it.
    pub fn output_schema(&self) -> Map<String, Value> {
        let mut schema = self.gives.schema();
        with_single_types(&mut schema);
        schema
    }
}

impl Takes {
    /// The types of the messages that it takes; none if it takes plain arguments.
    pub const fn types(&self) -> &'static [&'static str] {
        match self {
            Self::Message(types) => types,
            Self::Arguments(_) => &[],
        }
    }

    fn schema(&self) -> Map<String, Value> {
        match self {
            Self::Message(kinds) => message_input(kinds),
            Self::Arguments(arguments) => {
                let mut properties = Map::new();
                for (name, description, _) in *arguments {
                    let property = json!({"type": "string", "description": description});
                    properties.insert((*name).to_owned(), property);
                }
                let needed = arguments.iter().filter(|(_, _, needed)| *needed);
                let required: Vec<&str> = needed.map(|(name, ..)| *name).collect();
                object(properties, &json!(required))
            }
        }
    }
}

impl Gives {
    fn schema(&self) -> Map<String, Value> {
        let given = match self {
            Self::Message(kind) => vec![reply(Dialect::V2, kind), reply(Dialect::V2Api, kind)],
            Self::Nod => vec![nod()],
            Self::Members(members) => {
                let mut properties = Map::new();
                for (name, description) in *members {
                    let property = json!({"description": description});
                    properties.insert((*name).to_owned(), property);
                }
                let required: Vec<&str> = members.iter().map(|(name, _)| *name).collect();
                vec![Some(object(properties, &json!(required)).into())]
            }
        };
        let mut any: Vec<Value> = Vec::new();
        let in_v1 = json!({
            "description": "The same in the words of `league.v1`, for a caller that speaks it.",
            "type": "object",
            "properties": {"protocol": {"const": Dialect::V1.protocol()}},
            "required": ["protocol"],
        });
        let error = reply(Dialect::V2, "LEAGUE_ERROR");
        for schema in given.into_iter().chain([error, Some(in_v1)]).flatten() {
            if !any.contains(&schema) {
                any.push(schema);
            }
        }
        let mut schema = Map::new();
        schema.insert("type".into(), "object".into());
        schema.insert("anyOf".into(), any.into());
        schema
    }
}

fn nod() -> Option<Value> {
    let mut properties = Map::new();
    properties.insert("status".into(), json!({"const": "ok"}));
    Some(object(properties, &json!(["status"])).into())
}

/// A message as we send it, without the keywords of a standalone schema.
fn reply(dialect: Dialect, kind: &str) -> Option<Value> {
    let mut schema = message_schema(dialect, kind, Reading::Lenient)?;
    let members = schema.as_object_mut()?;
    members.remove("$schema");
    members.remove("$id");
    Some(schema)
}

/// The input for a message, without the fields that the tool implies.
fn message_input(kinds: &[&str]) -> Map<String, Value> {
    let schemas = kinds.iter().filter_map(|kind| {
        let schema = message_schema(Dialect::V2, kind, Reading::Lenient)?;
        schema.as_object().cloned()
    });
    let mut properties = Map::new();
    let mut required: Option<Vec<Value>> = None;
    for schema in schemas {
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            properties
                .entry(name.clone())
                .or_insert_with(|| property.clone());
        }
        let here = schema["required"].as_array().cloned().unwrap_or_default();
        let is_envelope = |name: &Value| ENVELOPE.iter().any(|field| name == field);
        let here = here.into_iter().filter(|name| !is_envelope(name));
        required = Some(match required {
            // With several types, only the fields that all of them need are required.
            Some(all) => all
                .into_iter()
                .filter(|name| here.clone().any(|own| own == *name))
                .collect(),
            None => here.collect(),
        });
    }
    let named = json!({"enum": kinds, "description": "May be left out."});
    properties.insert("message_type".into(), named);
    object(properties, &required.unwrap_or_default().into())
}

/// Removes `null` as an alternative: a field that may be `null` may also be left out.
fn without_null(schema: &mut Map<String, Value>) {
    if let Some(Value::Array(kinds)) = schema.get_mut("type") {
        kinds.retain(|kind| kind != "null");
    }
    if let Some(Value::Array(branches)) = schema.get_mut("anyOf") {
        branches.retain(|branch| branch.get("type").is_none_or(|kind| kind != "null"));
        if let [Value::Object(only)] = branches.as_mut_slice() {
            let only = std::mem::take(only);
            schema.remove("anyOf");
            schema.extend(only);
        }
    }
    with_single_type(schema);
    below(schema, without_null);
}

/// Writes a list of types as one branch for each, because not all schema readers support lists.
fn with_single_types(schema: &mut Map<String, Value>) {
    with_single_type(schema);
    below(schema, with_single_types);
}

fn with_single_type(schema: &mut Map<String, Value>) {
    let Some(Value::Array(kinds)) = schema.get("type") else {
        return;
    };
    if let [kind] = kinds.as_slice() {
        let kind = kind.clone();
        schema.insert("type".into(), kind);
    } else if !schema.contains_key("anyOf") {
        let branches = kinds.iter().map(|kind| json!({"type": kind})).collect();
        schema.remove("type");
        schema.insert("anyOf".into(), branches);
    }
}

/// Applies the same change to every nested schema.
fn below(schema: &mut Map<String, Value>, act: fn(&mut Map<String, Value>)) {
    fn visit(value: &mut Value, act: fn(&mut Map<String, Value>)) {
        match value {
            Value::Object(schema) => act(schema),
            Value::Array(values) => values.iter_mut().for_each(|value| visit(value, act)),
            _ => {}
        }
    }
    schema.values_mut().for_each(|value| visit(value, act));
}

fn object(properties: Map<String, Value>, required: &Value) -> Map<String, Value> {
    let mut schema = Map::new();
    schema.insert("type".into(), "object".into());
    schema.insert("properties".into(), properties.into());
    schema.insert("required".into(), required.clone());
    schema
}
