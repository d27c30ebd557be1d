//! Arranges the end of a match that a host tells in its own shape: flat, as a word for the
//! receiver's side, or as the winner alone.

use serde_json::{Map, Value, json};

use super::forgive;
use super::names::{fold, listed};
use crate::finding::Notes;

/// The type of the message.
pub(super) const GAME_OVER: &str = "GAME_OVER";

/// Where hosts put the facts of a result, outermost first.
const HOLDERS: [&str; 3] = ["game_result", "result", "outcome"];
/// Names of the winner, folded.
const WINNER: &str = "winner winnerid winnerplayerid winnerplayer";
/// Names of the word that says how the match ended, folded.
const WORD: &str = "status result outcome gameresult matchresult yourresult";
/// Words for the receiver's side, folded. `WIN` is not among them: it also means that somebody won.
const WON: &str = "won victory winner youwin youwon";
const LOST: &str = "loss lose lost loser defeat defeated youlose youlost";
const DRAWN: &str = "draw drawn tie tied";

/// Puts the facts where the documents have them, if they are certain: `game_result` if the winner is
/// named or nobody won, else the form that is seen from the receiver.
pub(super) fn arrange(message: &mut Map<String, Value>, notes: &mut Notes) {
    let facts = Facts::of(message);
    let arranged = match facts.end() {
        Some(End::Winner(winner)) => result(
            message,
            &json!({"status": "WIN", "winner_player_id": winner}),
        ),
        Some(End::Draw) => result(
            message,
            &json!({"status": "DRAW", "winner_player_id": null}),
        ),
        Some(End::Side(side)) => for_receiver(message, side, facts.winner),
        None => return,
    };
    if arranged != *message {
        let detail = "the result is told in another shape; send `game_result` with `status` and \
                      `winner_player_id`";
        forgive(
            notes,
            "game_result",
            "the result of the match",
            detail.to_owned(),
        );
        *message = arranged;
    }
}

/// What a message says of the end, wherever it stands.
struct Facts {
    /// The winner: `None` if not told, null if nobody.
    winner: Option<Value>,
    /// How it ended, folded.
    word: Option<String>,
    /// Whether the word stands where the main document has the status, so that `WIN` is not the
    /// receiver's.
    is_status: bool,
    has_number: bool,
}

enum End {
    Winner(Value),
    Draw,
    Side(&'static str),
}

impl Facts {
    fn of(message: &Map<String, Value>) -> Self {
        let inner = HOLDERS
            .iter()
            .filter_map(|holder| message.get(*holder)?.as_object());
        let places: Vec<&Map<String, Value>> = inner.chain([message]).collect();
        let named = |names: &str| {
            let mut members = places.iter().flat_map(|place| place.iter());
            members
                .find(|(name, value)| listed(names, &fold(name)) && !value.is_object())
                .map(|(name, value)| (fold(name), value.clone()))
        };
        let word = named(WORD).filter(|(_, value)| value.is_string());
        Self {
            winner: named(WINNER).map(|(_, value)| value),
            is_status: word.as_ref().is_some_and(|(name, _)| name == "status"),
            word: word.and_then(|(_, value)| Some(fold(value.as_str()?))),
            has_number: places
                .iter()
                .any(|place| place.contains_key("drawn_number")),
        }
    }

    /// How the match ended, if that is certain.
    fn end(&self) -> Option<End> {
        let word = self.word.as_deref().unwrap_or_default();
        let winner = self.winner.as_ref();
        let nobody = |winner: &Value| {
            winner.is_null()
                || winner
                    .as_str()
                    .is_some_and(|text| listed(DRAWN, &fold(text)))
        };
        let named = winner.filter(|winner| !nobody(winner) && winner.is_string());
        match word {
            "technicalloss" => None,
            _ if listed(LOST, word) => Some(End::Side("LOSS")),
            _ if listed(WON, word) => Some(End::Side("WIN")),
            _ if listed(DRAWN, word) && named.is_none() => Some(End::Draw),
            "win" if named.is_none() && !self.is_status => Some(End::Side("WIN")),
            "win" | "" => match (named, winner) {
                (Some(named), _) => Some(End::Winner(named.clone())),
                (None, Some(_)) if word.is_empty() && self.has_number => Some(End::Draw),
                _ => None,
            },
            _ => None,
        }
    }
}

/// The message with its facts in `game_result`, where the document has them.
fn result(message: &Map<String, Value>, told: &Value) -> Map<String, Value> {
    let (mut outer, mut facts) = apart(message);
    for (name, value) in told.as_object().into_iter().flatten() {
        facts.insert(name.clone(), value.clone());
    }
    for name in [
        "drawn_number",
        "number_parity",
        "choices",
        "reason",
        "score",
    ] {
        if let Some(value) = outer.remove(name) {
            facts.entry(name).or_insert(value);
        }
    }
    outer.insert("game_result".to_owned(), facts.into());
    outer
}

/// The message as the receiver sees it, flat.
fn for_receiver(
    message: &Map<String, Value>,
    side: &str,
    winner: Option<Value>,
) -> Map<String, Value> {
    let (mut outer, facts) = apart(message);
    for (name, value) in facts {
        outer.entry(name).or_insert(value);
    }
    outer.insert("result".to_owned(), side.into());
    if let Some(winner) = winner.filter(Value::is_string) {
        outer.insert("winner_player_id".to_owned(), winner);
    }
    outer
}

/// The members of a message without those of its result, and the members of its result without the
/// winner and the word.
fn apart(message: &Map<String, Value>) -> (Map<String, Value>, Map<String, Value>) {
    let is_told = |name: &str| listed(WINNER, &fold(name)) || listed(WORD, &fold(name));
    let mut outer = message.clone();
    let mut facts = Map::new();
    for holder in HOLDERS {
        if let Some(Value::Object(inner)) = outer.remove(holder) {
            facts.extend(inner);
        }
    }
    outer.retain(|name, _| !is_told(name));
    facts.retain(|name, _| !is_told(name));
    (outer, facts)
}
