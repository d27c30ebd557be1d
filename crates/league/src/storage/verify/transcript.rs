//! Checks that the messages of a match can have led to its result.
//!
//! A transcript may lack messages from before a crash of its referee, and an unreadable message may
//! have meant anything. All readable messages must fit, and so must the hashes that stood for them
//! while they were hidden.

use std::collections::BTreeMap;
use std::sync::Arc;

use league_core::draw::have_shares;
use league_protocol::decode::decode;
use league_protocol::dialect::Hints;
use league_protocol::encode::{Sender, Stamp, encode};
use league_protocol::fault::Code;
use league_protocol::finding::Reading;
use league_protocol::id::{ConversationId, PlayerId};
use league_protocol::message::{
    ByPlayer, GameOver, MatchResult, MatchResultReport, MatchStatus, Message, OpenedDraw,
};
use league_protocol::sender::{Agent, Dialect};
use league_protocol::time::Timestamp;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use super::difference::{Difference, first_difference};
use crate::storage::documents::{MatchDocument, TranscriptMessage};
use crate::wire::transcript::MAX_TRANSCRIPT;

/// The conclusion if they do not fit.
const CHANGED: &str = "the result or the transcript was changed after the match";

/// Describes what in the transcript of a match contradicts its result.
pub(crate) fn problem(document: &MatchDocument) -> Option<String> {
    let over = ended(document)?;
    let mut players = over.result.players.iter();
    let choice = players.find_map(|player| choice_problem(document, &over.result, player));
    let said = document.transcript.iter();
    let end = || {
        said.clone()
            .find_map(|said| end_problem(document, &over, said))
    };
    choice
        .or_else(end)
        .or_else(|| said.clone().find_map(seal_problem))
}

/// Whether a message is another than the one whose hash was written.
fn seal_problem(said: &TranscriptMessage) -> Option<String> {
    let is_same = said
        .seal
        .as_ref()?
        .is_of(&said.message, said.verbatim.as_ref())?;
    (!is_same).then(|| {
        format!(
            "{} from `{}` is not the message whose hash was written during the match: {CHANGED}",
            said.message_type.escape_debug(),
            said.from.escape_debug(),
        )
    })
}

/// The result in the document; `None` while there is none.
fn ended(document: &MatchDocument) -> Option<GameOver> {
    let mut result = document.result.clone()?;
    let draw = serde_json::to_value(&document.draw).ok()?;
    result.as_object_mut()?.insert("draw".to_owned(), draw);
    let message = json!({
        "protocol": Dialect::V2.protocol(),
        "message_type": "GAME_OVER",
        "sender": "referee:REF01",
        "timestamp": document.last_updated,
        "conversation_id": "conv",
        "league_id": document.league_id,
        "round_id": document.round_id,
        "match_id": document.match_id,
        "game_type": document.game_type,
        "game_result": result,
    });
    match read(
        &to_raw_value(&message).ok()?,
        Some(Dialect::V2),
        &hints(document),
    ) {
        Some((Message::GameOver(over), _)) => Some(Arc::unwrap_or_clone(over)),
        _ => None,
    }
}

fn hints(document: &MatchDocument) -> Hints<'_> {
    Hints {
        league_id: Some(&document.league_id),
        game_type: Some(&document.game_type),
        match_id: Some(&document.match_id),
        ..Hints::default()
    }
}

fn read(
    message: &RawValue,
    dialect: Option<Dialect>,
    hints: &Hints<'_>,
) -> Option<(Message, Dialect)> {
    let mut decoded = decode(message, Reading::Lenient, dialect).ok()?;
    let message = decoded.message(hints).ok()?;
    Some((message, decoded.dialect))
}

/// A move that a player sent, and its nonce.
type Move = (Value, Option<String>);

fn choice_problem(
    document: &MatchDocument,
    result: &MatchResult,
    player: &PlayerId,
) -> Option<String> {
    let chosen = match result.choices.get(player)? {
        Value::Null => return None,
        Value::Array(moves) => moves.as_slice(),
        mv => std::slice::from_ref(mv),
    };
    let sent = sent(document, player)?;
    let mut missing = chosen;
    for (choice, _) in sent.iter().rev() {
        if let Some((last, before)) = missing.split_last()
            && is_same(last, choice)
        {
            missing = before;
        }
    }
    let whole = is_whole(document, player);
    let none_fits = !sent.is_empty() && missing.len() == chosen.len();
    if let Some(choice) = missing.last()
        && (whole || none_fits)
    {
        return Some(format!(
            "`{player}` is said to have chosen `{choice}`, and no message of it says so: {CHANGED}"
        ));
    }
    let seat = usize::from(result.players[1] == *player);
    let counts = have_shares(&document.game_type, result)[seat];
    let first = chosen.first().filter(|_| whole && counts)?;
    let nonces = &result.draw.as_ref()?.nonces;
    let shared = sent.iter().any(|(choice, nonce)| {
        let nonce = nonce.as_deref().unwrap_or_default();
        is_same(first, choice) && nonces.iter().any(|share| share == nonce)
    });
    (!shared).then(|| {
        format!("no message of `{player}` has its share in the draw as the draw has it: {CHANGED}")
    })
}

/// The moves that a player sent, oldest first; `None` if one of its messages is unreadable.
fn sent(document: &MatchDocument, player: &PlayerId) -> Option<Vec<Move>> {
    let from = Agent::Player(player.clone()).to_string();
    let mut moves = Vec::new();
    for said in document.transcript.iter().filter(|said| said.from == from) {
        if was_not_read(said) || said.is_lost() {
            continue;
        }
        match read(said.message.raw(), None, &hints(document))?.0 {
            Message::MoveResponse(response) => {
                moves.push((response.choice.clone(), response.nonce.clone()));
            }
            _ => continue,
        }
    }
    Some(moves)
}

/// Whether the referee reported that it could not read a message, so that it cannot count.
fn was_not_read(said: &TranscriptMessage) -> bool {
    let verbatim = said.verbatim.as_ref();
    verbatim.is_some_and(|verbatim| verbatim.problem.is_some())
}

/// Whether the transcript begins with the match, and no message of it is missing.
fn is_whole(document: &MatchDocument, player: &PlayerId) -> bool {
    let to = Agent::Player(player.clone()).to_string();
    let invited =
        |said: &TranscriptMessage| said.to == to && said.message_type == "GAME_INVITATION";
    let is_resumed = document.transcript.iter().any(|said| said.resumed);
    document.transcript.len() < MAX_TRANSCRIPT
        && !is_resumed
        && document.transcript.iter().any(invited)
}

/// A lenient league ignores case and surrounding blanks.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::String(one), Value::String(other)) => one.trim().eq_ignore_ascii_case(other.trim()),
        _ => one == other,
    }
}

/// The part of a result that every dialect contains, in any order of the seats.
#[derive(Serialize)]
struct End<'a> {
    status: MatchStatus,
    winner: Option<&'a PlayerId>,
    points: BTreeMap<&'a PlayerId, u32>,
    failed: &'a ByPlayer<Code>,
    choices: &'a ByPlayer<Value>,
    draw: Option<&'a OpenedDraw>,
}

impl<'a> End<'a> {
    fn of(result: &'a MatchResult) -> Self {
        Self {
            status: result.status,
            winner: result.winner.as_ref(),
            points: result.players.iter().zip(result.points).collect(),
            failed: &result.failed,
            choices: &result.choices,
            draw: result.draw.as_ref(),
        }
    }
}

/// Whether the referee sent a different result to a player or to the manager.
fn end_problem(
    document: &MatchDocument,
    over: &GameOver,
    said: &TranscriptMessage,
) -> Option<String> {
    let players = &over.result.players;
    let label = |player: &&PlayerId| Agent::Player((*player).clone()).to_string() == said.to;
    let reader = players.iter().find(label);
    let hints = Hints {
        reader,
        opponent: reader.and_then(|reader| players.iter().find(|player| *player != reader)),
        ..hints(document)
    };
    let (found, dialect) = read(said.message.raw(), None, &hints)?;
    let found = end_of(&found)?;
    // Encoded and decoded in the same dialect, it lacks what that dialect cannot express.
    let expected = said_in(over, &found, dialect, reader, &hints)?;
    let expected = end_of(&expected)?;
    let Difference {
        path,
        found,
        expected,
    } = first_difference(&End::of(found.result()), &End::of(expected.result()))?;
    Some(format!(
        "in {} to `{}`, `{path}` is {found}, and the result has {expected}: {CHANGED}",
        said.message_type.escape_debug(),
        said.to.escape_debug(),
    ))
}

/// The two messages that contain a result.
enum EndMessage<'a> {
    Over(&'a GameOver),
    Report(&'a MatchResultReport),
}

impl EndMessage<'_> {
    fn result(&self) -> &MatchResult {
        match self {
            Self::Over(over) => &over.result,
            Self::Report(report) => &report.result,
        }
    }
}

fn end_of(message: &Message) -> Option<EndMessage<'_>> {
    match message {
        Message::GameOver(over) => Some(EndMessage::Over(over)),
        Message::MatchResultReport(report) => Some(EndMessage::Report(report)),
        _ => None,
    }
}

/// The result in the document, as a message of the same kind and dialect.
fn said_in(
    over: &GameOver,
    like: &EndMessage<'_>,
    dialect: Dialect,
    reader: Option<&PlayerId>,
    hints: &Hints<'_>,
) -> Option<Message> {
    let mut result = over.result.clone();
    let told = like.result().draw.as_ref().map(|told| told.seed);
    if let (Some(draw), Some(told)) = (&mut Arc::make_mut(&mut result).draw, told) {
        draw.seed = match like {
            // The journal has the seed from the end of the match on, which a crash may delay.
            EndMessage::Over(_) => draw.seed.or(told),
            // The manager opens the seed with its answer.
            EndMessage::Report(_) => draw.seed.filter(|_| told.is_some()),
        };
    }
    let message = match like {
        EndMessage::Over(_) => Message::from(GameOver {
            receiver: reader.unwrap_or(&over.receiver).clone(),
            result,
            ..over.clone()
        }),
        EndMessage::Report(report) => Message::from(MatchResultReport {
            result,
            ..(*report).clone()
        }),
    };
    let stamp = Stamp {
        sender: Sender::Agent(&Agent::Manager),
        at: Timestamp::default(),
        conversation: &ConversationId::new(""),
        token: None,
    };
    let said = encode(&message, dialect, stamp, hints)?;
    Some(read(&to_raw_value(&said).ok()?, Some(dialect), hints)?.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::documents::{MessageText, Seal};

    #[test]
    fn message_that_does_not_open_its_hash_is_named() {
        let message = MessageText::from(&json!({"choice": "even"}));
        let salt = [7; 32];
        let said = TranscriptMessage {
            timestamp: Timestamp::default(),
            from: "player:P01".to_owned(),
            to: "referee:REF01".to_owned(),
            message_type: "CHOOSE_PARITY_RESPONSE".to_owned(),
            seal: Some(Seal {
                hash: Seal::hash_of(&salt, &message, None),
                salt: Some("07".repeat(32)),
            }),
            message,
            verbatim: None,
            resumed: false,
        };
        assert_eq!(seal_problem(&said), None);
        let changed = TranscriptMessage {
            message: (&json!({"choice": "odd"})).into(),
            ..said.clone()
        };
        let problem = seal_problem(&changed).unwrap();
        assert!(problem.contains("not the message whose hash"), "{problem}");
        let lost = TranscriptMessage {
            seal: said.seal.map(|seal| Seal { salt: None, ..seal }),
            ..changed
        };
        assert_eq!(seal_problem(&lost), None, "it was never opened");
    }
}
