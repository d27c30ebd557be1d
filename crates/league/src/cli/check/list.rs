//! The rules of `league check`, without playing them.

use std::io::{self, Write};

use crate::paragraph::paragraph;
use league_check::rule::Topic;
use league_check::{Kind, manager, player, referee};
use serde_json::{Value, json};

/// A rule as it is listed.
struct Listed {
    id: String,
    topic: &'static str,
    level: &'static str,
    title: &'static str,
    clause: &'static str,
}

/// Prints every rule for a kind of agent, in the order in which they are played.
///
/// # Errors
///
/// The output may be closed.
pub(super) fn print(kind: Kind, as_json: bool, out: &mut impl Write) -> io::Result<()> {
    let listed = match kind {
        Kind::Player => {
            let mut listed = list(kind, player::topics());
            let known: Vec<String> = listed.iter().map(|rule| rule.id.clone()).collect();
            let old = list(kind, player::old_topics()).into_iter();
            listed.extend(old.filter(|rule| !known.contains(&rule.id)));
            listed
        }
        Kind::Referee => list(kind, referee::topics()),
        Kind::Manager => list(kind, manager::topics()),
    };
    let mut topic = "";
    for rule in &listed {
        if as_json {
            writeln!(out, "{}", object(rule))?;
            continue;
        }
        if topic != rule.topic {
            let gap = if topic.is_empty() { "" } else { "\n" };
            writeln!(out, "{gap}{}", rule.topic)?;
            topic = rule.topic;
        }
        let Listed {
            id,
            level,
            title,
            clause,
            ..
        } = rule;
        let label = format!("  {id:<12} {level:<6}  ");
        let text = format!("{title} ({clause})");
        writeln!(out, "{}", paragraph(&label, label.chars().count(), &text))?;
    }
    Ok(())
}

fn list<S>(kind: Kind, topics: Vec<Topic<S>>) -> Vec<Listed> {
    let rules = topics.into_iter().flat_map(|topic| {
        let name = topic.name;
        topic.rules.into_iter().map(move |rule| Listed {
            id: format!("{}-{}", kind.letter(), rule.id),
            topic: name,
            level: rule.level.as_str(),
            title: rule.title,
            clause: rule.clause,
        })
    });
    rules.collect()
}

fn object(rule: &Listed) -> Value {
    json!({
        "id": rule.id, "topic": rule.topic, "level": rule.level, "title": rule.title,
        "clause": rule.clause,
    })
}
