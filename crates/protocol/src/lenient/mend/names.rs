//! What a name was meant to be: of a type, of a method, of a field.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::dialect::types;
use crate::lenient::spelling::wrong;
use crate::sender::Dialect;

/// Names under which the type of a message is found; only the first is right.
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

/// The type that a word means, among those that make sense, the likeliest of several.
///
/// A word that is a type, however it is written, means that type, and one that is nearly a type
/// the nearest. Otherwise the stems in it tell, such as `regist`, or `round` with `end`; a word
/// without any tells nothing.
pub fn meant(word: &str, types: &[&'static str]) -> Option<&'static str> {
    meanings(word, types).first().copied()
}

/// All types that a word may mean, among those that make sense, the likeliest first.
pub(super) fn meanings(word: &str, types: &[&'static str]) -> Vec<&'static str> {
    let senses = |kind: &&'static str| types.contains(kind);
    let spelled = spelled(word);
    if !spelled.is_empty() {
        return spelled.into_iter().filter(senses).collect();
    }
    let folded = fold(word);
    let rules = STEMS.iter().filter(|rule| rule.applies(&folded));
    let kinds = rules.map(|rule| rule.kinds.iter().copied().filter(senses).collect());
    let mut kinds = kinds.filter(|kinds: &Vec<&str>| !kinds.is_empty());
    kinds.next().unwrap_or_default()
}

/// The types that a word spells best; none if it spells none, or only with too many wrong letters.
pub(super) fn spelled(word: &str) -> Vec<&'static str> {
    let folded = fold(word);
    let near = all_types().filter_map(|kind| Some((wrong(&folded, &fold(kind))?, kind)));
    let near: BTreeSet<(usize, &'static str)> = near.collect();
    let least = near.first().map(|(wrong, _)| *wrong);
    let best = near.into_iter().filter(|(wrong, _)| Some(*wrong) == least);
    best.map(|(_, kind)| kind).collect()
}

/// Takes the type out of a message, with the name that it had there.
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

/// Whether a word is a type of some dialect, however it is written.
pub(super) fn is_type(word: &str) -> bool {
    let folded = fold(word);
    all_types().any(|kind| fold(kind) == folded)
}

/// Whether a member names the type of its message.
pub(super) fn names_a_type(message: &Map<String, Value>) -> bool {
    take_type(&mut message.clone()).is_some()
}

fn all_types() -> impl Iterator<Item = &'static str> {
    Dialect::ALL
        .into_iter()
        .flat_map(|dialect| types(dialect).iter().copied())
}

/// A name without case and marks: `playerId`, `player-id` and `PLAYER_ID` are one.
pub(crate) fn fold(name: &str) -> String {
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    letters.map(|letter| letter.to_ascii_lowercase()).collect()
}

/// Stems that a word must have, and what it then means, the likeliest first.
struct Stems {
    all: &'static [&'static str],
    any: &'static [&'static str],
    kinds: &'static [&'static str],
}

impl Stems {
    fn applies(&self, folded: &str) -> bool {
        self.all.iter().all(|stem| folded.contains(stem))
            && (self.any.is_empty() || self.any.iter().any(|stem| folded.contains(stem)))
    }
}

const ENDS: &[&str] = &[
    "complet", "end", "over", "finish", "done", "result", "final",
];
const BEGINS: &[&str] = &["start", "begin", "announc", "new", "notify"];

/// The order matters: what says more comes first.
const STEMS: &[Stems] = &[
    Stems {
        all: &["regist", "ref"],
        any: &["response", "reply", "ack"],
        kinds: &["REFEREE_REGISTER_RESPONSE"],
    },
    Stems {
        all: &["regist"],
        any: &["response", "reply", "ack"],
        kinds: &["LEAGUE_REGISTER_RESPONSE", "REFEREE_REGISTER_RESPONSE"],
    },
    Stems {
        all: &["regist", "referee"],
        any: &[],
        kinds: &["REFEREE_REGISTER_REQUEST"],
    },
    Stems {
        all: &[],
        any: &["regist", "signup", "enrol", "joinleague", "leaguejoin"],
        kinds: &[
            "LEAGUE_REGISTER_REQUEST",
            "LEAGUE_REGISTER_RESPONSE",
            "REFEREE_REGISTER_RESPONSE",
        ],
    },
    Stems {
        all: &["round"],
        any: ENDS,
        kinds: &["ROUND_COMPLETED", "ROUND_COMPLETE"],
    },
    Stems {
        all: &["league"],
        any: ENDS,
        kinds: &["LEAGUE_COMPLETED", "LEAGUE_COMPLETE"],
    },
    Stems {
        all: &["round"],
        any: BEGINS,
        kinds: &["ROUND_ANNOUNCEMENT"],
    },
    Stems {
        all: &["league"],
        any: BEGINS,
        kinds: &["LEAGUE_START_ANNOUNCEMENT"],
    },
    Stems {
        all: &[],
        any: &["standing", "ranking", "leaderboard"],
        kinds: &[
            "LEAGUE_STANDINGS_UPDATE",
            "QUERY_STANDINGS_RESPONSE",
            "QUERY_STANDINGS_REQUEST",
        ],
    },
    Stems {
        all: &[],
        any: &["query"],
        kinds: &["LEAGUE_QUERY", "LEAGUE_QUERY_RESPONSE"],
    },
    Stems {
        all: &[],
        any: &["error", "fail"],
        kinds: &["GAME_ERROR", "LEAGUE_ERROR"],
    },
    Stems {
        all: &["result"],
        any: &["report", "submit", "match", "game"],
        kinds: &["MATCH_RESULT_REPORT", "GAME_OVER", "GAME_RESULT"],
    },
    Stems {
        all: &[],
        any: &[
            "gameover",
            "gameend",
            "matchover",
            "matchend",
            "gamefinish",
            "matchfinish",
            "gamecomplet",
            "matchcomplet",
        ],
        kinds: &["GAME_OVER", "GAME_RESULT"],
    },
    Stems {
        all: &[],
        any: &["validat"],
        kinds: &["PLAY_VALIDATION"],
    },
    Stems {
        all: &["start"],
        any: &["match", "game"],
        kinds: &["START_MATCH", "GAME_START", "START_MATCH_ACK"],
    },
    Stems {
        all: &[],
        any: &[
            "invit",
            "joinack",
            "joingame",
            "gamejoin",
            "joinmatch",
            "matchjoin",
            "accept",
        ],
        kinds: &[
            "GAME_INVITATION",
            "GAME_JOIN_ACK",
            "GAME_INVITATION_RESPONSE",
        ],
    },
    Stems {
        all: &[],
        any: &["parity", "choose", "choice", "evenodd", "pick", "guess"],
        kinds: &[
            "CHOOSE_PARITY_CALL",
            "CHOOSE_PARITY_RESPONSE",
            "GAME_MOVE_CALL",
            "GAME_MOVE_RESPONSE",
            "PLAY_REQUEST",
            "PLAY_RESPONSE",
        ],
    },
    Stems {
        all: &[],
        any: &["move", "turn", "playre", "makeplay"],
        kinds: &[
            "GAME_MOVE_CALL",
            "GAME_MOVE_RESPONSE",
            "PLAY_REQUEST",
            "PLAY_RESPONSE",
            "CHOOSE_PARITY_CALL",
            "CHOOSE_PARITY_RESPONSE",
        ],
    },
    Stems {
        all: &["play"],
        any: &[],
        kinds: &[
            "PLAY_REQUEST",
            "PLAY_RESPONSE",
            "CHOOSE_PARITY_CALL",
            "CHOOSE_PARITY_RESPONSE",
        ],
    },
];
