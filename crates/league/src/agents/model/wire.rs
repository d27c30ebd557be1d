//! What is sent to a server of models, and how its stream is read, in both wires. Calls and times
//! are left to `model`.

use serde_json::{Value, json};

use super::prompt::Prompt;
use crate::config::ModelWire;

/// The version of the messages of Anthropic.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// The path of a wire, below the base URL.
pub(crate) const fn path(wire: ModelWire) -> &'static str {
    match wire {
        ModelWire::Openai => "/chat/completions",
        ModelWire::Anthropic => "/messages",
    }
}

/// The headers that show the key, if there is one.
pub(crate) fn headers(wire: ModelWire, key: Option<&str>) -> Vec<(&'static str, String)> {
    let key = key.map(|key| match wire {
        ModelWire::Openai => ("authorization", format!("Bearer {key}")),
        ModelWire::Anthropic => ("x-api-key", key.to_owned()),
    });
    let version = ("anthropic-version", ANTHROPIC_VERSION.to_owned());
    let version = (wire == ModelWire::Anthropic).then_some(version);
    key.into_iter().chain(version).collect()
}

/// The body of a question.
pub(crate) fn body(wire: ModelWire, model: &str, limit: (&str, u32), prompt: &Prompt) -> Value {
    let user = json!({"role": "user", "content": prompt.user});
    let mut body = match wire {
        ModelWire::Openai => json!({
            "model": model,
            "messages": [{"role": "system", "content": prompt.system}, user],
            "stream": true,
            "stream_options": {"include_usage": true},
        }),
        ModelWire::Anthropic => json!({
            "model": model,
            "system": prompt.system,
            "messages": [user],
            "stream": true,
        }),
    };
    body[limit.0] = limit.1.into();
    body
}

/// What a model has said so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Speech {
    /// Its answer.
    pub(crate) text: String,
    /// What it thought before, if its server shows it.
    pub(crate) thoughts: String,
    /// The tokens of the prompt and of the answer, as its server counts them.
    pub(crate) tokens_in: Option<u64>,
    pub(crate) tokens_out: Option<u64>,
    /// Whether the answer is whole.
    pub(crate) is_whole: bool,
    /// The error that its server sent instead of the rest.
    pub(crate) error: Option<String>,
}

impl Speech {
    /// Whether anything was said.
    pub(crate) fn has_begun(&self) -> bool {
        !self.text.is_empty() || !self.thoughts.is_empty()
    }
}

/// Reads the stream of a server, piece by piece.
#[derive(Debug)]
pub(crate) struct SpeechReader {
    wire: ModelWire,
    /// The line that has not ended.
    line: Vec<u8>,
    pub(crate) speech: Speech,
}

impl SpeechReader {
    pub(crate) fn new(wire: ModelWire) -> Self {
        Self {
            wire,
            line: Vec::new(),
            speech: Speech::default(),
        }
    }

    /// Takes in a piece of the stream.
    pub(crate) fn hear(&mut self, piece: &[u8]) {
        let mut lines = piece.split(|&byte| byte == b'\n');
        // The first piece ends the open line; the last one is not ended.
        self.line.extend(lines.next().unwrap_or_default());
        for line in lines {
            let ended = std::mem::replace(&mut self.line, line.to_vec());
            self.hear_line(&ended);
        }
    }

    /// The stream is over: the last line need not have ended, and a server that does not stream
    /// sends one object.
    pub(crate) fn end(&mut self) {
        let last = std::mem::take(&mut self.line);
        self.hear_line(&last);
    }

    fn hear_line(&mut self, line: &[u8]) {
        let Ok(line) = std::str::from_utf8(line) else {
            return;
        };
        let line = line.trim();
        let data = line.strip_prefix("data:").map_or(line, str::trim_start);
        if data == "[DONE]" {
            self.speech.is_whole = true;
        } else if let Ok(Value::Object(event)) = serde_json::from_str(data) {
            let event = Value::Object(event);
            if let Some(error) = event.get("error").filter(|error| !error.is_null()) {
                let message = error["message"].as_str().unwrap_or("an error");
                self.speech.error = Some(message.to_owned());
            }
            match self.wire {
                ModelWire::Openai => self.hear_openai(&event),
                ModelWire::Anthropic => self.hear_anthropic(&event),
            }
        }
    }

    fn hear_openai(&mut self, event: &Value) {
        let choice = &event["choices"][0];
        let part = choice.get("delta").or_else(|| choice.get("message"));
        if let Some(part) = part {
            add(&mut self.speech.text, &part["content"]);
            add(&mut self.speech.thoughts, &part["reasoning_content"]);
            add(&mut self.speech.thoughts, &part["reasoning"]);
        }
        self.speech.is_whole |= choice["finish_reason"].is_string();
        let usage = &event["usage"];
        note(&mut self.speech.tokens_in, &usage["prompt_tokens"]);
        note(&mut self.speech.tokens_out, &usage["completion_tokens"]);
    }

    fn hear_anthropic(&mut self, event: &Value) {
        let delta = &event["delta"];
        add(&mut self.speech.text, &delta["text"]);
        add(&mut self.speech.thoughts, &delta["thinking"]);
        self.speech.is_whole |= event["type"] == "message_stop";
        let begun = &event["message"]["usage"];
        let read = [
            "input_tokens",
            "cache_creation_input_tokens",
            "cache_read_input_tokens",
        ];
        if begun["input_tokens"].is_u64() {
            let read = read.iter().filter_map(|name| begun[*name].as_u64());
            self.speech.tokens_in = Some(read.fold(0, u64::saturating_add));
        }
        note(&mut self.speech.tokens_out, &begun["output_tokens"]);
        note(
            &mut self.speech.tokens_out,
            &event["usage"]["output_tokens"],
        );
    }
}

fn add(text: &mut String, more: &Value) {
    text.push_str(more.as_str().unwrap_or_default());
}

fn note(count: &mut Option<u64>, told: &Value) {
    *count = told.as_u64().or(*count);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a stream whole, and in pieces of every length.
    fn read(wire: ModelWire, stream: &str) -> Speech {
        let heard = |length: usize| {
            let mut reader = SpeechReader::new(wire);
            for piece in stream.as_bytes().chunks(length) {
                reader.hear(piece);
            }
            reader.end();
            reader.speech
        };
        let whole = heard(stream.len());
        for length in 1..stream.len() {
            assert_eq!(heard(length), whole, "{length}");
        }
        whole
    }

    #[test]
    fn chat_completions_are_read_with_thoughts_and_tokens() {
        let stream = concat!(
            "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"hm\"}}]}\r\n\r\n",
            ": keep-alive\n\n",
            "data: {\"choices\":[{\"delta\":{\"content\":\"é\"}}],\"usage\":null}\n\n",
            "data: {\"choices\":[{\"delta\":{\"content\":\"ven\"},\"finish_reason\":\"stop\"}]}\n\n",
            "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":3}}\n\n",
            "data: [DONE]\n\n",
        );
        let speech = read(ModelWire::Openai, stream);
        assert_eq!((&*speech.text, &*speech.thoughts), ("éven", "hm"));
        assert_eq!((speech.tokens_in, speech.tokens_out), (Some(7), Some(3)));
        assert!(speech.is_whole && speech.error.is_none());
    }

    #[test]
    fn answer_without_a_stream_is_read() {
        let body = r#"{"choices":[{"message":{"content":"odd"},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":3}}"#;
        let speech = read(ModelWire::Openai, body);
        assert!(speech.is_whole);
        assert_eq!((&*speech.text, speech.tokens_out), ("odd", Some(3)));
    }

    #[test]
    fn messages_of_anthropic_are_read_with_thoughts_and_tokens() {
        let stream = concat!(
            "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":",
            "{\"input_tokens\":7,\"cache_read_input_tokens\":5,\"output_tokens\":1}}}\n\n",
            "data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"hm\"}}\n\n",
            "data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"odd\"}}\n\n",
            "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":9}}\n\n",
            "data: {\"type\":\"message_stop\"}\n\n",
        );
        let speech = read(ModelWire::Anthropic, stream);
        assert_eq!((&*speech.text, &*speech.thoughts), ("odd", "hm"));
        assert_eq!((speech.tokens_in, speech.tokens_out), (Some(12), Some(9)));
        assert!(speech.is_whole);
    }

    #[test]
    fn half_a_stream_is_not_whole_and_an_error_is_told() {
        let half = "data: {\"choices\":[{\"delta\":{\"content\":\"{\"}}]}\n\ndata: {\"choi";
        assert!(!read(ModelWire::Openai, half).is_whole);
        let error = "data: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}\n\n";
        let speech = read(ModelWire::Anthropic, error);
        assert_eq!(speech.error.as_deref(), Some("busy"));
    }

    #[test]
    fn key_is_in_the_header_of_its_wire_and_in_no_body() {
        let openai = headers(ModelWire::Openai, Some("k"));
        assert_eq!(openai, [("authorization", "Bearer k".to_owned())]);
        let anthropic = headers(ModelWire::Anthropic, Some("k"));
        assert_eq!(anthropic[0], ("x-api-key", "k".to_owned()));
        assert!(headers(ModelWire::Openai, None).is_empty());
    }
}
