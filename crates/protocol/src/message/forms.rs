//! The messages of each dialect: which rows each type has, and what is made of them.

use std::fmt;
use std::sync::LazyLock;

use serde::ser::SerializeMap;
use serde_json::{Map, Value as Json};

use crate::finding::Reading;
use crate::id::LeagueId;
use crate::rpc::members::Members;
use crate::sender::Dialect;
use crate::shape::{Cx, Draft, Object, RowStates};

use super::play::V1Response;
use super::query::{Answer, Question};
use super::refusal::Refusal;
use super::registration::V1Request;
use super::result::Ending;
use super::{GameError, LeagueStart, Message, MoveCall, MoveResponse, RegisterRequest};
use super::{evidence, order, play, query, refusal, registration, result, round};

/// How a message of some type is read: as rows of a model, of which the message is then made. The
/// function notes why there is none.
struct Form<M: 'static>(&'static Object<M>, Finish<M>);

type Finish<M> = fn(M, &RowStates<M>, &mut Cx<'_>) -> Option<Message>;

/// A [`Form`] of whichever model.
pub(crate) trait AnyForm: Sync {
    /// Reads the members; `None` if something is missing that the message cannot do without.
    fn read(&self, members: &Members<'_>, cx: &mut Cx<'_>) -> Option<Message>;

    /// What it is about, where it is written, and its members as JSON Schema.
    fn schema(&self, dialect: Dialect, reading: Reading) -> FormSchema;

    /// The names of its members, in order.
    fn names(&self, dialect: Dialect) -> Vec<&'static str>;
}

impl fmt::Debug for dyn AnyForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Form")
    }
}

/// What a message is about, where it is written, and its members as JSON Schema.
pub(crate) type FormSchema = (&'static str, &'static str, Map<String, Json>);

impl<M: Draft> AnyForm for Form<M> {
    fn read(&self, members: &Members<'_>, cx: &mut Cx<'_>) -> Option<Message> {
        let Self(object, finish) = self;
        let mut model = M::draft(cx.hints);
        let (seen, is_whole) = object.read_message(&mut model, members, cx);
        let message = finish(model, &seen, cx);
        message.filter(|_| is_whole)
    }

    fn schema(&self, dialect: Dialect, reading: Reading) -> FormSchema {
        let Self(object, _) = self;
        let schema = object.schema(dialect, reading);
        (object.about, object.clause(dialect), schema)
    }

    fn names(&self, dialect: Dialect) -> Vec<&'static str> {
        self.0.names(dialect).collect()
    }
}

/// Both spellings of `league.v2`.
const BOTH: &[Dialect] = &[Dialect::V2, Dialect::V2Api];
const V2: &[Dialect] = &[Dialect::V2];
const API: &[Dialect] = &[Dialect::V2Api];
const V1: &[Dialect] = &[Dialect::V1];

/// A message type, as some dialects have it.
struct MessageType {
    name: &'static str,
    dialects: &'static [Dialect],
    form: &'static dyn AnyForm,
    /// The tools that take it, beginning with the tool that it is sent to; none for an answer.
    tools: &'static [&'static str],
    /// The type of its answer; none if an acknowledgement is enough.
    replies: &'static [&'static str],
}

macro_rules! message_types {
    ($($name:literal $dialects:ident $object:expr, $finish:expr
        $(, [$($tool:literal),+] $(=> $reply:literal)?)?;)*) => {
        /// Every message type: its dialects, its rows and what is made of them, the tools that take
        /// it, and the type of its answer.
        static MESSAGE_TYPES: &[MessageType] = &[$(MessageType {
            name: $name,
            dialects: $dialects,
            form: &Form(&$object, $finish),
            tools: &[$($($tool),+)?],
            replies: &[$($($reply)?)?],
        },)*];
    };
}

message_types! {
    "REFEREE_REGISTER_REQUEST" BOTH registration::REFEREE_REGISTER_REQUEST, RegisterRequest::of_referee,
        ["register_referee"] => "REFEREE_REGISTER_RESPONSE";
    "REFEREE_REGISTER_RESPONSE" BOTH registration::REFEREE_REGISTER_RESPONSE, registration::referee_admitted;
    "LEAGUE_REGISTER_REQUEST" BOTH registration::LEAGUE_REGISTER_REQUEST, RegisterRequest::of_player,
        ["register_player"] => "LEAGUE_REGISTER_RESPONSE";
    "LEAGUE_REGISTER_RESPONSE" BOTH registration::LEAGUE_REGISTER_RESPONSE, registration::player_admitted;
    "ROUND_ANNOUNCEMENT" BOTH round::ROUND_ANNOUNCEMENT, as_it_is,
        ["notify_round"];
    "ROUND_COMPLETED" BOTH round::ROUND_COMPLETED, as_it_is,
        ["notify_round_completed"];
    "LEAGUE_COMPLETED" BOTH round::LEAGUE_COMPLETED, as_it_is,
        ["notify_league_completed"];
    "GAME_INVITATION" BOTH play::GAME_INVITATION, as_it_is,
        ["handle_game_invitation"] => "GAME_JOIN_ACK";
    "GAME_JOIN_ACK" BOTH play::GAME_JOIN_ACK, play::answer_to_invitation;
    "CHOOSE_PARITY_CALL" BOTH play::CHOOSE_PARITY_CALL, MoveCall::finish_parity,
        ["choose_parity", "choose_move"] => "CHOOSE_PARITY_RESPONSE";
    "CHOOSE_PARITY_RESPONSE" BOTH play::CHOOSE_PARITY_RESPONSE, MoveResponse::finish_parity;
    "GAME_MOVE_CALL" BOTH play::GAME_MOVE_CALL, MoveCall::finish,
        ["choose_move", "choose_parity"] => "GAME_MOVE_RESPONSE";
    "GAME_MOVE_RESPONSE" BOTH play::GAME_MOVE_RESPONSE, MoveResponse::finish;
    "GAME_OVER" V2 result::GAME_OVER, Ending::finish_over,
        ["notify_match_result"];
    "GAME_OVER" API result::API_GAME_OVER, Ending::finish_for_receiver,
        ["notify_match_result"];
    "MATCH_RESULT_REPORT" BOTH result::MATCH_RESULT_REPORT, Ending::finish_report,
        ["report_match_result"];
    "MATCH_RESULT_ACK" BOTH evidence::MATCH_RESULT_ACK, as_it_is;
    "DRAW_REQUEST" BOTH evidence::DRAW_REQUEST, as_it_is,
        ["request_draw"] => "DRAW_RESPONSE";
    "DRAW_RESPONSE" BOTH evidence::DRAW_RESPONSE, as_it_is;
    "GAME_OVER_TOLD" BOTH evidence::GAME_OVER_TOLD, as_it_is,
        ["notify_game_over_told"];
    "CALL_QUERY" BOTH evidence::CALL_QUERY, as_it_is,
        ["was_called"] => "CALL_QUERY_RESPONSE";
    "CALL_QUERY_RESPONSE" BOTH evidence::CALL_QUERY_RESPONSE, as_it_is;
    "LEAGUE_STANDINGS_UPDATE" BOTH round::LEAGUE_STANDINGS_UPDATE, as_it_is,
        ["update_standings"];
    "LEAGUE_ERROR" BOTH refusal::LEAGUE_ERROR, Refusal::finish;
    "GAME_ERROR" BOTH refusal::GAME_ERROR, GameError::finish,
        ["notify_game_error"];
    "LEAGUE_QUERY" BOTH query::LEAGUE_QUERY, Question::finish,
        ["league_query", "get_standings"] => "LEAGUE_QUERY_RESPONSE";
    "LEAGUE_QUERY_RESPONSE" BOTH query::LEAGUE_QUERY_RESPONSE, Answer::finish;
    "START_MATCH" BOTH order::START_MATCH, as_it_is,
        ["start_match"] => "START_MATCH_ACK";
    "START_MATCH_ACK" BOTH order::START_MATCH_ACK, order::answer_to_order;
    "QUERY_STANDINGS_REQUEST" API query::QUERY_STANDINGS_REQUEST, as_it_is,
        ["league_query", "get_standings"] => "QUERY_STANDINGS_RESPONSE";
    "QUERY_STANDINGS_RESPONSE" API query::QUERY_STANDINGS_RESPONSE, query::table_told;
    "LEAGUE_REGISTER_REQUEST" V1 registration::V1_LEAGUE_REGISTER_REQUEST, V1Request::finish,
        ["register_player"] => "LEAGUE_REGISTER_RESPONSE";
    "LEAGUE_REGISTER_RESPONSE" V1 registration::V1_LEAGUE_REGISTER_RESPONSE, registration::v1_admitted;
    "LEAGUE_START_ANNOUNCEMENT" V1 round::LEAGUE_START_ANNOUNCEMENT, LeagueStart::finish,
        ["notify_round"];
    "GAME_INVITATION" V1 play::V1_GAME_INVITATION, as_it_is,
        ["handle_game_invitation"] => "GAME_INVITATION_RESPONSE";
    "GAME_INVITATION_RESPONSE" V1 play::GAME_INVITATION_RESPONSE, as_it_is;
    "GAME_START" V1 play::GAME_START, as_it_is;
    "PLAY_REQUEST" V1 play::PLAY_REQUEST, MoveCall::finish_v1,
        ["choose_parity", "choose_move"] => "PLAY_RESPONSE";
    "PLAY_RESPONSE" V1 play::PLAY_RESPONSE, V1Response::finish;
    "PLAY_VALIDATION" V1 play::PLAY_VALIDATION, as_it_is;
    "GAME_RESULT" V1 result::V1_GAME_RESULT, Ending::finish_v1,
        ["notify_match_result"];
    "ROUND_COMPLETE" V1 round::ROUND_COMPLETE, as_it_is,
        ["notify_round_completed"];
    "LEAGUE_COMPLETE" V1 round::LEAGUE_COMPLETE, as_it_is,
        ["notify_league_completed"];
}

/// The form of a message type in a dialect.
pub(crate) fn form(dialect: Dialect, message_type: &str) -> Option<&'static dyn AnyForm> {
    find(dialect, message_type).map(|found| found.form)
}

fn find(dialect: Dialect, message_type: &str) -> Option<&'static MessageType> {
    let mut all = MESSAGE_TYPES.iter();
    all.find(|row| row.name == message_type && row.dialects.contains(&dialect))
}

/// The types of the messages that a tool takes, in all dialects; the types that are sent to this
/// tool first.
pub fn types_taken(tool: &str) -> Vec<&'static str> {
    let mut taken: Vec<_> = MESSAGE_TYPES.iter().collect();
    taken.retain(|row| row.tools.contains(&tool));
    taken.sort_by_key(|row| row.tools.first() != Some(&tool));
    let mut names: Vec<&str> = taken.into_iter().map(|row| row.name).collect();
    names.dedup();
    names
}

/// Whether a tool takes messages of a type.
pub(crate) fn is_taken(message_type: &str, tool: &str) -> bool {
    let mut all = MESSAGE_TYPES.iter();
    all.any(|row| row.name == message_type && row.tools.contains(&tool))
}

/// The tool that messages of a type are sent to; `None` for an answer.
pub(crate) fn tool_taking(message_type: &str) -> Option<&'static str> {
    let row = MESSAGE_TYPES.iter().find(|row| row.name == message_type)?;
    row.tools.first().copied()
}

/// The type of the answer to a message type; `None` if an acknowledgement is enough.
pub(crate) fn reply_type(dialect: Dialect, message_type: &str) -> Option<&'static str> {
    find(dialect, message_type)?.replies.first().copied()
}

/// Whether a message of this type needs more than an acknowledgement.
pub fn expects_answer(message_type: &str) -> bool {
    let mut all = MESSAGE_TYPES.iter();
    all.any(|row| row.name == message_type && !row.replies.is_empty())
}

/// The message types of a dialect.
pub fn types(dialect: Dialect) -> &'static [&'static str] {
    static TYPES: LazyLock<[Vec<&str>; 3]> = LazyLock::new(|| {
        Dialect::ALL.map(|dialect| {
            let all = MESSAGE_TYPES.iter();
            let spoken = all.filter(|row| row.dialects.contains(&dialect));
            spoken.map(|row| row.name).collect()
        })
    });
    &TYPES[dialect as usize]
}

/// The type by which a dialect says a message; `None` if it has no words for it.
pub(crate) fn spoken_type(message: &Message, dialect: Dialect) -> Option<&'static str> {
    let spoken = match (message, dialect) {
        (Message::MoveResponse(response), Dialect::V2 | Dialect::V2Api) => {
            let own = response.is_parity().then_some("CHOOSE_PARITY_RESPONSE");
            own.or(Some(GENERIC_MOVE))
        }
        (_, Dialect::V2) => message.v2_type(),
        (Message::LeagueQuery(query), Dialect::V2Api) if query.is_by_api_page() => {
            Some("QUERY_STANDINGS_REQUEST")
        }
        (Message::LeagueQueryResponse(response), Dialect::V2Api) if response.is_by_api_page() => {
            Some("QUERY_STANDINGS_RESPONSE")
        }
        (_, Dialect::V2Api) => message.v2_type(),
        (Message::GameJoinAck(_), Dialect::V1) => Some("GAME_INVITATION_RESPONSE"),
        (Message::MoveCall(_), Dialect::V1) => Some("PLAY_REQUEST"),
        (Message::MoveResponse(_), Dialect::V1) => Some("PLAY_RESPONSE"),
        (Message::GameError(error), Dialect::V1) => {
            error.is_about_a_play().then_some("PLAY_VALIDATION")
        }
        (Message::GameOver(_) | Message::MatchResultReport(_), Dialect::V1) => Some("GAME_RESULT"),
        (Message::RoundCompleted(_), Dialect::V1) => Some("ROUND_COMPLETE"),
        (Message::LeagueCompleted(_), Dialect::V1) => Some("LEAGUE_COMPLETE"),
        (_, Dialect::V1) => message.v2_type(),
    };
    spoken.filter(|name| form(dialect, name).is_some())
}

/// The type of a move in any game.
pub(crate) const GENERIC_MOVE: &str = "GAME_MOVE_RESPONSE";

/// Writes the members of a message of this type in a dialect that has words for it.
///
/// Every message names its league in `league.v1`; for one that does not know it, it is given.
pub(crate) fn write<S: SerializeMap>(
    message: &Message,
    message_type: &str,
    dialect: Dialect,
    league: &LeagueId,
    map: &mut S,
) -> Result<(), S::Error> {
    match dialect {
        Dialect::V2 | Dialect::V2Api => write_v2(message, message_type, dialect, map),
        Dialect::V1 => write_v1(message, league, map),
    }
}

fn write_v2<S: SerializeMap>(
    message: &Message,
    message_type: &str,
    dialect: Dialect,
    map: &mut S,
) -> Result<(), S::Error> {
    let is_api = dialect == Dialect::V2Api;
    macro_rules! say {
        ($object:expr, $model:expr) => {
            $object.write($model, dialect, map)
        };
    }
    match message {
        Message::RefereeRegisterRequest(request) => {
            say!(registration::REFEREE_REGISTER_REQUEST, request)
        }
        Message::RefereeRegisterResponse(response) => {
            say!(registration::REFEREE_REGISTER_RESPONSE, &response.into())
        }
        Message::PlayerRegisterRequest(request) => {
            say!(registration::LEAGUE_REGISTER_REQUEST, request)
        }
        Message::PlayerRegisterResponse(response) => {
            say!(registration::LEAGUE_REGISTER_RESPONSE, &response.into())
        }
        Message::RoundAnnouncement(round) => say!(round::ROUND_ANNOUNCEMENT, round),
        Message::RoundCompleted(round) => say!(round::ROUND_COMPLETED, round),
        Message::LeagueCompleted(league) => say!(round::LEAGUE_COMPLETED, league),
        Message::StandingsUpdate(update) => say!(round::LEAGUE_STANDINGS_UPDATE, update),
        Message::StartMatch(order) => say!(order::START_MATCH, order),
        Message::StartMatchAck(ack) => say!(order::START_MATCH_ACK, ack),
        Message::GameInvitation(invitation) => say!(play::GAME_INVITATION, invitation),
        Message::GameJoinAck(ack) => say!(play::GAME_JOIN_ACK, ack),
        Message::MoveCall(call) if call.is_even_odd() => say!(play::CHOOSE_PARITY_CALL, call),
        Message::MoveCall(call) => say!(play::GAME_MOVE_CALL, call),
        Message::MoveResponse(response) if message_type == GENERIC_MOVE => {
            say!(play::GAME_MOVE_RESPONSE, response)
        }
        Message::MoveResponse(response) => say!(play::CHOOSE_PARITY_RESPONSE, response),
        Message::GameError(error) => say!(refusal::GAME_ERROR, error),
        Message::MatchResultReport(report) => {
            say!(result::MATCH_RESULT_REPORT, &(&**report).into())
        }
        Message::MatchResultAck(ack) => say!(evidence::MATCH_RESULT_ACK, ack),
        Message::DrawRequest(request) => say!(evidence::DRAW_REQUEST, request),
        Message::DrawResponse(response) => say!(evidence::DRAW_RESPONSE, response),
        Message::GameOverTold(told) => say!(evidence::GAME_OVER_TOLD, told),
        Message::CallQuery(query) => say!(evidence::CALL_QUERY, query),
        Message::CallQueryResponse(response) => say!(evidence::CALL_QUERY_RESPONSE, response),
        Message::LeagueQuery(query) if query.is_by_api_page() && is_api => {
            say!(query::QUERY_STANDINGS_REQUEST, query)
        }
        Message::LeagueQuery(query) => say!(query::LEAGUE_QUERY, &(&**query).into()),
        Message::LeagueQueryResponse(response) => query::write_response(response, dialect, map),
        Message::LeagueError(error) => {
            say!(refusal::LEAGUE_ERROR, &Refusal::new(error, dialect))
        }
        Message::GameOver(over) if is_api => say!(result::API_GAME_OVER, &(&**over).into()),
        Message::GameOver(over) => say!(result::GAME_OVER, &(&**over).into()),
        _ => Ok(()),
    }
}

fn write_v1<S: SerializeMap>(
    message: &Message,
    league: &LeagueId,
    map: &mut S,
) -> Result<(), S::Error> {
    macro_rules! say {
        ($object:expr, $model:expr) => {
            $object.write($model, Dialect::V1, map)
        };
    }
    match message {
        Message::PlayerRegisterRequest(request) => {
            say!(
                registration::V1_LEAGUE_REGISTER_REQUEST,
                &V1Request::new(request, league)
            )
        }
        Message::PlayerRegisterResponse(response) => {
            say!(
                registration::V1_LEAGUE_REGISTER_RESPONSE,
                &registration::Admission::in_league(response, league)
            )
        }
        Message::RoundCompleted(round) => say!(round::ROUND_COMPLETE, round),
        Message::LeagueCompleted(league) => say!(round::LEAGUE_COMPLETE, league),
        Message::GameInvitation(invitation) => say!(play::V1_GAME_INVITATION, invitation),
        Message::GameJoinAck(ack) => {
            say!(
                play::GAME_INVITATION_RESPONSE,
                &play::V1JoinAck::new(ack, league)
            )
        }
        Message::MoveCall(call) => say!(play::PLAY_REQUEST, call),
        Message::MoveResponse(response) => {
            say!(play::PLAY_RESPONSE, &V1Response::new(response, league))
        }
        Message::GameError(error) => say!(play::PLAY_VALIDATION, &(&**error).into()),
        Message::MatchResultReport(report) => {
            say!(result::V1_GAME_RESULT, &(&**report).into())
        }
        Message::LeagueStart(start) => say!(round::LEAGUE_START_ANNOUNCEMENT, start),
        Message::GameStart(start) => say!(play::GAME_START, start),
        Message::PlayValidation(validation) => say!(play::PLAY_VALIDATION, &(&**validation).into()),
        Message::GameOver(over) => say!(result::V1_GAME_RESULT, &(&**over).into()),
        _ => Ok(()),
    }
}

/// A finish that adds nothing.
fn as_it_is<M: Into<Message>>(model: M, _: &RowStates<M>, _: &mut Cx<'_>) -> Option<Message> {
    Some(model.into())
}

/// Makes spellings of models that are objects on the wire, one by one and in lists; a model is
/// begun with its `draft`.
macro_rules! parts {
    ($($(#[$doc:meta])* $codec:ident: $model:ty = $object:ident;)*) => {$(
        $(#[$doc])*
        pub(crate) struct $codec;

        impl $crate::shape::Codec<$model> for $codec {
            fn read(
                raw: &serde_json::value::RawValue,
                at: &$crate::finding::Path<'_>,
                cx: &mut $crate::shape::Cx<'_>,
            ) -> Option<$model> {
                let mut part = <$model as $crate::shape::Draft>::draft(cx.hints);
                $object.read(&mut part, raw, at, cx)?.then_some(part)
            }

            fn spell(part: &$model, dialect: $crate::sender::Dialect) -> $crate::shape::Spelling<'_> {
                $object.spell(part, dialect)
            }

            fn schema(
                dialect: $crate::sender::Dialect,
                reading: $crate::finding::Reading,
            ) -> serde_json::Value {
                $object.schema(dialect, reading).into()
            }
        }

        impl<L: $crate::shape::PartList<$model>> $crate::shape::Codec<L> for $codec {
            fn read(
                raw: &serde_json::value::RawValue,
                at: &$crate::finding::Path<'_>,
                cx: &mut $crate::shape::Cx<'_>,
            ) -> Option<L> {
                $crate::shape::read_parts(&$object, raw, at, cx).map(L::from)
            }

            fn spell(list: &L, dialect: $crate::sender::Dialect) -> $crate::shape::Spelling<'_> {
                list.spell(&$object, dialect)
            }

            fn schema(
                dialect: $crate::sender::Dialect,
                reading: $crate::finding::Reading,
            ) -> serde_json::Value {
                serde_json::json!({"type": "array", "items": $object.schema(dialect, reading)})
            }
        }
    )*};
}
pub(crate) use parts;
