//! Maps misspelled names to the types, methods and fields that were meant.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::lenient::spelling::wrong;
use crate::message::types;
use crate::sender::Dialect;

/// Names under which agents send the message type; only the first is correct.
const TYPE_NAMES: [&str; 8] = [
    "message_type",
    "messagetype",
    "msg_type",
    "msgtype",
    "type",
    "kind",
    "event",
    "action",
];

/// The likeliest of the given types that a word can mean.
///
/// An exact type name, in any spelling, means that type; a misspelled one means the nearest type.
/// Otherwise stems such as `regist`, or `round` with `end`, decide; a word without a known stem has
/// no meaning.
pub fn meant(word: &str, types: &[&'static str]) -> Option<&'static str> {
    meanings(word, types).first().copied()
}

/// All of the given types that a word can mean, the likeliest first.
pub(super) fn meanings(word: &str, types: &[&'static str]) -> Vec<&'static str> {
    let senses = |kind: &&'static str| types.contains(kind);
    let spelled = spelled(word);
    if !spelled.is_empty() {
        return spelled.into_iter().filter(senses).collect();
    }
    let folded = fold(word);
    let rules = STEMS.split(';').map(|rule| by_stems(rule, &folded));
    let mut kinds = rules.map(|kinds| kinds.filter(senses).collect::<Vec<_>>());
    kinds.find(|kinds| !kinds.is_empty()).unwrap_or_default()
}

/// The types nearest to a word by spelling; empty if every type differs in too many letters.
pub(super) fn spelled(word: &str) -> Vec<&'static str> {
    let folded = fold(word);
    let near = all_types().filter_map(|kind| Some((wrong(&folded, &fold(kind))?, kind)));
    let near: BTreeSet<(usize, &'static str)> = near.collect();
    let least = near.first().map(|(wrong, _)| *wrong);
    let best = near.into_iter().filter(|(wrong, _)| Some(*wrong) == least);
    best.map(|(_, kind)| kind).collect()
}

/// Removes the type from a message and returns it with its member name.
pub(super) fn take_type(message: &mut Map<String, Value>) -> Option<(String, String)> {
    let mut names = TYPE_NAMES.iter();
    let name = names.find_map(|wanted| {
        let mut members = message.iter();
        let (name, _) = members.find(|(name, value)| {
            let same = name.to_ascii_lowercase() == **wanted;
            let proper = *wanted == "message_type" || *wanted == "messagetype";
            let names_type = |said: &str| proper || is_type(said);
            same && value.as_str().is_some_and(names_type)
        })?;
        Some(name.clone())
    })?;
    match message.remove(&name) {
        Some(Value::String(said)) => Some((name, said)),
        _ => None,
    }
}

/// Whether a word is a type of any dialect, in any spelling.
pub(super) fn is_type(word: &str) -> bool {
    let folded = fold(word);
    all_types().any(|kind| fold(kind) == folded)
}

/// Whether a message has a member that names its type.
pub(super) fn names_a_type(message: &Map<String, Value>) -> bool {
    take_type(&mut message.clone()).is_some()
}

fn all_types() -> impl Iterator<Item = &'static str> {
    Dialect::ALL
        .into_iter()
        .flat_map(|dialect| types(dialect).iter().copied())
}

/// A name without case and punctuation: `playerId`, `player-id` and `PLAYER_ID` fold to the same.
pub(crate) fn fold(name: &str) -> String {
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    letters.map(|letter| letter.to_ascii_lowercase()).collect()
}

/// Each rule lists stems that must all occur, stems of which one must occur, and the resulting
/// types, the likeliest first. Specific rules come before general ones.
const STEMS: &str = "
regist ref | response reply ack | REFEREE_REGISTER_RESPONSE;
regist | response reply ack | LEAGUE_REGISTER_RESPONSE REFEREE_REGISTER_RESPONSE;
regist referee | - | REFEREE_REGISTER_REQUEST;
- | regist signup enrol joinleague leaguejoin |
    LEAGUE_REGISTER_REQUEST LEAGUE_REGISTER_RESPONSE REFEREE_REGISTER_RESPONSE;
round | complet end over finish done result final | ROUND_COMPLETED ROUND_COMPLETE;
league | complet end over finish done result final | LEAGUE_COMPLETED LEAGUE_COMPLETE;
round | start begin announc new notify | ROUND_ANNOUNCEMENT;
league | start begin announc new notify | LEAGUE_START_ANNOUNCEMENT;
- | standing ranking leaderboard |
    LEAGUE_STANDINGS_UPDATE QUERY_STANDINGS_RESPONSE QUERY_STANDINGS_REQUEST;
- | query | LEAGUE_QUERY LEAGUE_QUERY_RESPONSE;
- | error fail | GAME_ERROR LEAGUE_ERROR;
result | report submit match game | MATCH_RESULT_REPORT GAME_OVER GAME_RESULT;
- | gameover gameend matchover matchend gamefinish matchfinish gamecomplet matchcomplet |
    GAME_OVER GAME_RESULT;
- | validat | PLAY_VALIDATION;
start | match game | START_MATCH GAME_START START_MATCH_ACK;
- | invit joinack joingame gamejoin joinmatch matchjoin accept |
    GAME_INVITATION GAME_JOIN_ACK GAME_INVITATION_RESPONSE;
- | parity choose choice evenodd pick guess |
    CHOOSE_PARITY_CALL CHOOSE_PARITY_RESPONSE GAME_MOVE_CALL GAME_MOVE_RESPONSE PLAY_REQUEST
    PLAY_RESPONSE;
- | move turn playre makeplay |
    GAME_MOVE_CALL GAME_MOVE_RESPONSE PLAY_REQUEST PLAY_RESPONSE CHOOSE_PARITY_CALL
    CHOOSE_PARITY_RESPONSE;
play | - | PLAY_REQUEST PLAY_RESPONSE CHOOSE_PARITY_CALL CHOOSE_PARITY_RESPONSE;
";

/// Whether a word is in a list of words.
pub(super) fn listed(words: &str, word: &str) -> bool {
    words.split(' ').any(|listed| listed == word)
}

/// The types that a rule of [`STEMS`] gives for a word; empty if the rule does not apply.
fn by_stems(rule: &'static str, folded: &str) -> impl Iterator<Item = &'static str> {
    let mut columns = rule.split('|').map(|column| column.split_whitespace());
    let mut column = || {
        columns
            .next()
            .into_iter()
            .flatten()
            .filter(|word| *word != "-")
    };
    let has = |stem: &str| folded.contains(stem);
    let (mut all, any, kinds) = (column(), column(), column());
    let mut any = any.peekable();
    let applies = all.all(has) && (any.peek().is_none() || any.any(has));
    kinds.filter(move |_| applies)
}
