//! A message made to fit what a tool declares as its inputs.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// What a tool takes, as far as it matters for a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inputs {
    declared: BTreeSet<String>,
    /// Whether it takes what it does not declare.
    open: bool,
    /// The one input that takes a whole message.
    whole: Option<Whole>,
}

/// An input that takes a whole message, and as what.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Whole {
    Object(String),
    Text(String),
}

impl Whole {
    fn name(&self) -> &str {
        let (Self::Object(name) | Self::Text(name)) = self;
        name
    }
}

impl Inputs {
    /// Reads an `inputSchema`; what is no schema declares nothing and takes everything.
    ///
    /// References are not followed. Some libraries refuse what is not declared without saying so,
    /// so only a schema that takes more in so many words, or that declares nothing, is sent more.
    pub fn of(schema: &Value) -> Self {
        let properties = schema["properties"].as_object();
        let declared: BTreeSet<String> = properties
            .into_iter()
            .flat_map(Map::keys)
            .cloned()
            .collect();
        let more = &schema["additionalProperties"];
        let says_more = more.as_bool().unwrap_or(more.is_object());
        let refuses = more.as_bool() == Some(false);
        Self {
            open: says_more || declared.is_empty() && !refuses,
            whole: properties.and_then(|properties| whole(properties, &schema["required"])),
            declared,
        }
    }

    /// The arguments that bring a message to the tool.
    pub fn shaped(&self, message: Map<String, Value>) -> Map<String, Value> {
        let own = |whole: &&Whole| !message.contains_key(whole.name());
        // An input of the name of a field takes that field alone.
        match self.whole.as_ref().filter(own) {
            Some(Whole::Object(name)) => one(name, Value::Object(message)),
            Some(Whole::Text(name)) => one(name, Value::Object(message).to_string().into()),
            None if self.open => message,
            None => {
                let declared = |(name, _): &(String, Value)| self.declared.contains(name);
                message.into_iter().filter(declared).collect()
            }
        }
    }
}

fn one(name: &str, value: Value) -> Map<String, Value> {
    Map::from_iter([(name.to_owned(), value)])
}

/// The only input that is needed, or the only one there is, if it can take a message.
fn whole(properties: &Map<String, Value>, required: &Value) -> Option<Whole> {
    let needed: Vec<&str> = required
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let name = match (&*needed, properties.len()) {
        ([name], _) => *name,
        ([], 1) => properties.keys().next()?.as_str(),
        _ => return None,
    };
    let schema = properties.get(name)?;
    match &schema["type"] {
        Value::String(kind) if kind == "object" => Some(Whole::Object(name.to_owned())),
        Value::String(kind) if kind == "string" && name_of_all(name) => {
            Some(Whole::Text(name.to_owned()))
        }
        Value::Null if takes_objects(schema) => Some(Whole::Object(name.to_owned())),
        _ => None,
    }
}

/// A text that takes a message as JSON is known by its name alone.
fn name_of_all(name: &str) -> bool {
    ["message", "params", "payload", "envelope", "request"].contains(&name)
}

/// A schema without a `type`: a reference, a choice with an object in it, or anything at all.
fn takes_objects(schema: &Value) -> bool {
    let choices = schema["anyOf"].as_array().or(schema["oneOf"].as_array());
    match choices {
        Some(choices) => choices
            .iter()
            .any(|choice| choice["type"] == "object" || choice["$ref"].is_string()),
        None => true,
    }
}
