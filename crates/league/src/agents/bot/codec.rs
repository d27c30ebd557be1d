//! Encodes messages for a bot and decodes its answers.

use std::sync::Arc;

use league_protocol::dialect::Hints;
use league_protocol::encode::{Sender, Stamp, conversation, encode};
use league_protocol::fault::Code;
use league_protocol::finding::excerpt;
use league_protocol::message::{EVEN_ODD, LeagueError, Message};
use league_protocol::peer::{self, PeerProfile, PeerRequest};
use league_protocol::sender::{Agent, Dialect};
use league_protocol::wire::{Context, SentCall, read_reply};
use serde_json::Value;

use crate::clock;
use crate::http::client::Answer;

/// How many legal moves an error names.
const MAX_LEGAL: usize = 10;

/// The message without the referee's token.
pub(crate) fn without_token(mut message: Message) -> Message {
    if let Message::RoundAnnouncement(announcement) = &mut message {
        Arc::make_mut(announcement).own = None;
    }
    message
}

/// The request for a message; `None` if the bot has no tool for it.
pub(crate) fn written(
    message: &Message,
    from: &Agent,
    found: &PeerProfile,
    id: u64,
) -> Option<PeerRequest> {
    let own = message.tool();
    let (name, inputs) = match &found.tools {
        Some(tools) => tools
            .offered(own)
            .map(|(name, inputs)| (name, Some(inputs)))?,
        None => (own, None),
    };
    let conversation = conversation(message, &from.to_string());
    let stamp = Stamp {
        sender: Sender::Agent(from),
        at: clock::now(),
        conversation: &conversation,
        token: None,
    };
    let outgoing = encode(message, Dialect::V2, stamp, &hints(message))?;
    peer::call(found, id, name, &outgoing, inputs)
}

/// The values in a message that its answer may omit.
fn hints(message: &Message) -> Hints<'_> {
    let (game_type, reader) = match message {
        Message::MoveCall(call) => (Some(&call.game_type), Some(&call.player_id)),
        Message::GameInvitation(invitation) => (Some(&invitation.game_type), None),
        _ => (None, None),
    };
    Hints {
        game_type,
        reader,
        match_id: message.match_id(),
        ..Hints::default()
    }
}

/// Decodes the bot's answer to a message: exactly if possible, otherwise leniently.
///
/// The player encodes the answer in the league's dialect, so this is not a deviation in a strict
/// league.
pub(crate) fn understood(
    message: &Message,
    answer: &Answer,
    id: u64,
    profile: &PeerProfile,
) -> Result<Message, LeagueError> {
    let call = SentCall {
        id,
        message,
        dialect: Dialect::V2,
        style: profile.style,
        player: None,
        is_kept: false,
    };
    let context = Context {
        hints: hints(message),
        ..Context::default()
    };
    let read = read_reply(&call, &answer.reply(), &context).read;
    let read = read.map(|received| received.message).map_err(|unread| {
        LeagueError::new(
            unread.error.code,
            format!("the bot: {}", unread.error.detail),
        )
    });
    match &read {
        Ok(Message::MoveResponse(_) | Message::LeagueError(_)) => return read,
        Err(error) if !matches!(error.code, Code::MissingField | Code::InvalidMove) => return read,
        _ => {}
    }
    let chosen = named_move(&answer.body);
    chosen
        .and_then(|chosen| illegal(message, &chosen))
        .map_or(read, Err)
}

/// What an answer calls its move, though it cannot be read as one.
fn named_move(body: &[u8]) -> Option<Value> {
    let answer: Value = serde_json::from_slice(body).ok()?;
    let result = &answer["result"];
    let text = result["content"][0]["text"].as_str();
    let text: Option<Value> = text.and_then(|text| serde_json::from_str(text).ok());
    let places = [Some(result), result.get("structuredContent"), text.as_ref()];
    places.into_iter().flatten().find_map(|place| {
        let names = ["parity_choice", "choice", "move"];
        let named = |place: &Value| {
            let mut named = names.iter().filter_map(|name| place.get(name));
            named.find(|value| !value.is_null()).cloned()
        };
        named(place).or_else(|| named(place.get("move_data")?))
    })
}

/// The error for a move that is not legal, with the legal ones.
fn illegal(message: &Message, chosen: &Value) -> Option<LeagueError> {
    let Message::MoveCall(call) = message else {
        return None;
    };
    let parities = ["even".into(), "odd".into()];
    let options: &[Value] = match call.game_type.as_str() {
        EVEN_ODD => &parities,
        _ => &call.options,
    };
    let (shown, legal) = (excerpt(&chosen.to_string()), legal_moves(options));
    let detail = format!("the bot: `{shown}` is not a legal move; legal are {legal}");
    let error = LeagueError::new(Code::InvalidMove, detail);
    (!options.contains(chosen)).then_some(error)
}

/// The legal moves in a sentence, a few of them.
pub(crate) fn legal_moves(options: &[Value]) -> String {
    let shown = options.iter().take(MAX_LEGAL);
    let shown = shown.map(|option| format!("`{}`", excerpt(&option.to_string())));
    let more = if options.len() > MAX_LEGAL {
        ", …"
    } else {
        ""
    };
    format!("{}{more}", shown.collect::<Vec<_>>().join(", "))
}

fn wrong(detail: &str) -> LeagueError {
    LeagueError::new(Code::InvalidMessage, format!("the bot: {detail}"))
}

/// The error for an answer without a move, with an example of a correct answer.
pub(crate) fn without_move(message: &Message) -> LeagueError {
    let wanted = match message {
        Message::MoveCall(call) if call.game_type.as_str() != EVEN_ODD => {
            let such = call
                .options
                .first()
                .map_or("0".to_owned(), Value::to_string);
            format!(
                "`{{\"move\": {}}}`, or another of `valid_options`",
                excerpt(&such)
            )
        }
        _ => "`{\"parity_choice\": \"even\"}` or `\"odd\"`".to_owned(),
    };
    wrong(&format!(
        "there is no move in its answer; a move is {wanted}"
    ))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use league_protocol::decode::decode;
    use league_protocol::finding::Reading;
    use serde_json::json;

    use super::*;

    /// A call for a move, as the bot receives it.
    fn call(message: &Value) -> Message {
        let raw = serde_json::value::to_raw_value(message).unwrap();
        let mut decoded = decode(&raw, Reading::Lenient, None).unwrap();
        decoded.message(&Hints::default()).unwrap()
    }

    fn tic_tac_toe() -> Message {
        call(
            &json!({"protocol": "league.v2", "message_type": "GAME_MOVE_CALL",
            "sender": "referee:REF01", "match_id": "R1M1", "player_id": "P01",
            "game_type": "tic_tac_toe", "deadline": "2025-01-15T10:30:30Z",
            "move_request": {"move_type": "place_mark", "valid_options": [0, 4],
                "context": {"opponent_id": "P02", "round_id": 1}}}),
        )
    }

    fn even_odd() -> Message {
        call(
            &json!({"protocol": "league.v2", "message_type": "CHOOSE_PARITY_CALL",
            "sender": "referee:REF01", "match_id": "R1M1", "player_id": "P01",
            "game_type": "even_odd", "deadline": "2025-01-15T10:30:30Z",
            "context": {"opponent_id": "P02", "round_id": 1}}),
        )
    }

    fn hears(message: &Message, result: &Value) -> Result<Message, LeagueError> {
        let body = json!({"jsonrpc": "2.0", "id": 4, "result": result}).to_string();
        let answer = Answer {
            status: 200,
            session: None,
            location: None,
            body: Bytes::from(body),
        };
        understood(message, &answer, 4, &PeerProfile::PLAIN)
    }

    #[test]
    fn an_answer_that_can_mean_only_one_move_is_that_move() {
        let places = [
            json!({"move": 0}),
            json!({"choice": 0}),
            json!({"move_data": 0}),
            json!({"move_data": {"choice": 0}}),
            json!({"move_data": {"move": 0}}),
            json!({"move_data": {"move_type": "place_mark", "choice": 0}}),
            json!({"message_type": "GAME_MOVE_RESPONSE", "match_id": "R1M1", "player_id": "P01", "move": 0}),
        ];
        let words = [
            json!({"parity_choice": "even"}),
            json!({"parity_choice": "Even"}),
            json!({"choice": "even"}),
            json!({"move": "even"}),
            json!({"move_data": {"choice": "even"}}),
            json!({"message_type": "CHOOSE_PARITY_RESPONSE", "choice": "EVEN"}),
        ];
        let asked = [
            (tic_tac_toe(), json!(0), places.as_slice()),
            (even_odd(), json!("even"), words.as_slice()),
        ];
        for (message, meant, answers) in asked {
            for said in answers {
                match hears(&message, said) {
                    Ok(Message::MoveResponse(response)) => {
                        assert_eq!(response.choice, meant, "{said}");
                    }
                    other => panic!("{said}: {other:?}"),
                }
            }
        }
    }

    #[test]
    fn an_answer_without_a_move_is_not_a_move() {
        for said in [json!({}), json!({"status": "ok"}), json!({"move_data": {}})] {
            for message in [tic_tac_toe(), even_odd()] {
                let heard = hears(&message, &said);
                assert!(
                    !matches!(heard, Ok(Message::MoveResponse(_))),
                    "{said}: {heard:?}"
                );
            }
        }
        for said in [
            json!({"parity_choice": "maybe"}),
            json!({"move_data": {"choice": "maybe"}}),
            json!({"content": [{"type": "text", "text": "{\"choice\": \"maybe\"}"}]}),
        ] {
            let told = hears(&even_odd(), &said).unwrap_err();
            assert_eq!(told.code, Code::InvalidMove, "{said}");
            let wanted = r#"the bot: `"maybe"` is not a legal move; legal are `"even"`, `"odd"`"#;
            assert_eq!(told.detail, wanted, "{said}");
        }
        insta::assert_snapshot!(without_move(&tic_tac_toe()).detail, @r#"the bot: there is no move in its answer; a move is `{"move": 0}`, or another of `valid_options`"#);
        insta::assert_snapshot!(without_move(&even_odd()).detail, @r#"the bot: there is no move in its answer; a move is `{"parity_choice": "even"}` or `"odd"`"#);
    }
}
