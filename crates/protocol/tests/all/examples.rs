//! Every JSON example of the documents: recognised, written again with nothing lost, and valid by
//! its schema.

use std::collections::BTreeMap;

use league_protocol::explain::{Explanation, Lens, explain};
use league_protocol::finding::{Reading, Severity};
use league_protocol::message::types;
use league_protocol::schema::{example, message_names, message_schema};
use league_protocol::sender::Dialect;
use serde::Deserialize;
use serde_json::Value;

use crate::documents::DOCUMENTS;

/// One example and what it is.
#[derive(Deserialize)]
struct Example {
    #[serde(rename = "where")]
    place: String,
    line: u32,
    is: String,
    message_type: Option<String>,
    dialect: Option<String>,
    example: Value,
}

impl Example {
    fn name(&self) -> String {
        let message_type = self.message_type.as_deref().unwrap_or(&self.is);
        format!("{} line {} {message_type}", self.place, self.line)
    }

    fn explained(&self, reading: Reading) -> Explanation {
        let bytes = serde_json::to_vec(&self.example).expect("an example is JSON");
        let mut explanations = explain(&bytes, reading);
        assert_eq!(explanations.len(), 1);
        explanations.remove(0)
    }

    /// The message itself, without a frame.
    fn message(&self) -> &Value {
        match self.is.as_str() {
            "JSON-RPC request" if self.message_type.is_some() => &self.example["params"],
            "JSON-RPC response" if self.message_type.is_some() => &self.example["result"],
            _ => &self.example,
        }
    }

    fn dialect(&self) -> Option<Dialect> {
        Dialect::ALL
            .into_iter()
            .find(|known| Some(known.as_str()) == self.dialect.as_deref())
    }

    /// A pattern in the documents rather than a message: it names no type that exists.
    fn is_pattern(&self) -> bool {
        let known = |name: &str| types(self.dialect().expect("a dialect")).contains(&name);
        self.message_type
            .as_deref()
            .is_some_and(|name| !known(name))
    }
}

fn examples() -> Vec<Example> {
    let read = |text| serde_json::from_str::<Vec<Example>>(text).expect("examples are readable");
    DOCUMENTS.into_iter().flat_map(read).collect()
}

#[test]
fn there_are_106_examples() {
    assert_eq!(examples().len(), 106);
}

#[test]
fn every_example_is_recognised() {
    for example in examples() {
        let explained = example.explained(Reading::Lenient);
        assert_eq!(explained.kind, example.is, "{}", example.name());
        assert_eq!(
            explained.message_type,
            example.message_type,
            "{}",
            example.name()
        );
        let dialect = explained.dialect.map(Dialect::as_str);
        assert_eq!(dialect, example.dialect.as_deref(), "{}", example.name());
    }
}

#[test]
fn every_example_comes_out_again_with_nothing_lost() {
    for example in examples() {
        for reading in [Reading::Lenient, Reading::Strict] {
            let explained = example.explained(reading);
            let again: Value = serde_json::from_str(explained.again.text()).expect("it is JSON");
            assert_eq!(again, example.example, "{}", example.name());
        }
    }
}

#[test]
fn every_message_of_the_examples_is_valid_by_its_schema() {
    for example in examples() {
        let (Some(name), Some(dialect), false) = (
            &example.message_type,
            example.dialect(),
            example.is_pattern(),
        ) else {
            continue;
        };
        let schema = message_schema(dialect, name, Reading::Lenient);
        let schema = schema.unwrap_or_else(|| panic!("{} has no schema", example.name()));
        let validator = jsonschema::draft202012::new(&schema).expect("the schema is a schema");
        let problems: Vec<String> = validator
            .iter_errors(example.message())
            .map(|problem| format!("{}: {problem}", problem.instance_path()))
            .collect();
        assert!(problems.is_empty(), "{}: {problems:#?}", example.name());
    }
}

/// The examples of 000 chapter 8 and 004 are whole: nothing in them needs forgiveness.
#[test]
fn running_guide_is_strictly_right() {
    for example in examples() {
        let whole = ["000 §8", "004 §8"]
            .iter()
            .any(|guide| example.place.starts_with(guide));
        if whole {
            let findings = example.explained(Reading::Strict).findings;
            assert!(findings.is_empty(), "{}: {findings:#?}", example.name());
        }
    }
}

/// What is forgiven in the documents' own examples, and the few things that cannot be.
#[test]
fn findings_in_the_documents_are_known() {
    let mut counted: BTreeMap<(Severity, String), u32> = BTreeMap::new();
    for example in examples() {
        for finding in example.explained(Reading::Lenient).findings {
            let key = (
                finding.severity,
                format!("{} {}", finding.code, finding.path),
            );
            *counted.entry(key).or_default() += 1;
        }
    }
    let lines: Vec<String> = counted
        .into_iter()
        .map(|((severity, what), times)| format!("{severity:?} {what} x{times}"))
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @"
    Deviation E002 method x2
    Deviation E002 sender x1
    Deviation E003 auth_token x2
    Deviation E003 conversation_id x21
    Deviation E003 game_type x2
    Deviation E003 opponent_id x2
    Deviation E003 protocol x16
    Deviation E003 role_in_match x2
    Deviation E003 sender x16
    Deviation E003 timestamp x16
    Error E002 message_type x2
    Error E003 player_meta.contact_endpoint x2
    ");
}

#[test]
fn example_made_from_a_schema_is_strictly_right_by_schema_and_reader() {
    let mut made = 0;
    for (dialect, name) in message_names(&Dialect::ALL) {
        let message = example(dialect, name).expect("every message has an example");
        let schema = message_schema(dialect, name, Reading::Strict).expect("it has a schema");
        let validator = jsonschema::draft202012::new(&schema).expect("the schema is a schema");
        let problems: Vec<String> = validator
            .iter_errors(&message)
            .map(|problem| format!("{}: {problem}", problem.instance_path()))
            .collect();
        assert!(problems.is_empty(), "{dialect} {name}: {problems:#?}");
        let lens = Lens {
            reading: Reading::Strict,
            dialect: Some(dialect),
        };
        let bytes = serde_json::to_vec(&message).expect("an example is JSON");
        let explained = explain(&bytes, lens).remove(0);
        assert_eq!(explained.message_type.as_deref(), Some(name));
        assert_eq!(explained.dialect, Some(dialect), "{name}");
        let findings = explained.findings;
        assert!(findings.is_empty(), "{dialect} {name}: {findings:#?}");
        made += 1;
    }
    assert!(made > 60, "{made}");
}

#[test]
fn examples_of_one_match_agree() {
    let over = example(Dialect::V2, "GAME_OVER").expect("it has an example");
    let report = example(Dialect::V2, "MATCH_RESULT_REPORT").expect("it has an example");
    assert_eq!(over["match_id"], report["match_id"]);
    let (told, reported) = (&over["game_result"], &report["result"]);
    assert_eq!(told["winner_player_id"], reported["winner"]);
    assert_eq!(told["choices"], reported["details"]["choices"]);
    let order = example(Dialect::V2, "START_MATCH").expect("it has an example");
    assert_eq!(order["players"][0]["player_id"], "P01");
    assert_eq!(order["players"][1]["player_id"], "P02");
}
