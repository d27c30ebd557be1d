//! The messages of each dialect: which rows each type has, and what is made of them.

use std::fmt;
use std::sync::LazyLock;

use serde::ser::SerializeMap;
use serde_json::{Map, Value as Json};

use crate::dialect::Hints;
use crate::finding::{Path, Reading};
use crate::id::LeagueId;
use crate::rpc::members::Members;
use crate::sender::Dialect;
use crate::shape::{DecodeContext, Object, Seen};

use super::{Message, play, query, refusal, registration, result, round};

/// How a message of some type is read: as rows of a model, which becomes a message.
pub(crate) struct Form<M: 'static> {
    pub(crate) object: &'static Object<M>,
    /// What stands in the model where the message does not say.
    pub(crate) draft: fn(&Hints<'_>) -> M,
    /// Makes the message, or notes why there is none.
    pub(crate) finish: fn(M, &Seen<M>, &Path<'_>, &mut DecodeContext<'_>) -> Option<Message>,
}

/// A [`Form`] of whichever model.
pub(crate) trait AnyForm: Sync {
    /// Reads the members; `None` if something is missing that the message cannot do without.
    fn read(&self, members: &Members<'_>, cx: &mut DecodeContext<'_>) -> Option<Message>;

    /// What it is about, where it is written, and its members as JSON Schema.
    fn schema(&self, dialect: Dialect, reading: Reading) -> Described;

    /// The names of its members, in order.
    fn names(&self, dialect: Dialect) -> Vec<&'static str>;
}

impl fmt::Debug for dyn AnyForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Form")
    }
}

/// What a message is about, where it is written, and its members as JSON Schema.
pub(crate) type Described = (&'static str, &'static str, Map<String, Json>);

impl<M> AnyForm for Form<M> {
    fn read(&self, members: &Members<'_>, cx: &mut DecodeContext<'_>) -> Option<Message> {
        let mut model = (self.draft)(cx.hints);
        let (seen, is_whole) = self.object.read_message(&mut model, members, cx);
        let at = Path::root(self.object.clause);
        let message = (self.finish)(model, &seen, &at, cx);
        message.filter(|_| is_whole)
    }

    fn schema(&self, dialect: Dialect, reading: Reading) -> Described {
        let object = self.object;
        let schema = object.schema(dialect, reading);
        (object.about, object.clause(dialect), schema)
    }

    fn names(&self, dialect: Dialect) -> Vec<&'static str> {
        self.object.names(dialect).collect()
    }
}

/// Both spellings of `league.v2`.
const BOTH: &[Dialect] = &[Dialect::V2, Dialect::V2Api];
const V2: &[Dialect] = &[Dialect::V2];
const API: &[Dialect] = &[Dialect::V2Api];
const V1: &[Dialect] = &[Dialect::V1];

/// Every message type, the dialects that have it, and its form.
static FORMS: &[(&str, &[Dialect], &dyn AnyForm)] = &[
    (
        "REFEREE_REGISTER_REQUEST",
        BOTH,
        &registration::REFEREE_REQUEST,
    ),
    (
        "REFEREE_REGISTER_RESPONSE",
        BOTH,
        &registration::REFEREE_RESPONSE,
    ),
    (
        "LEAGUE_REGISTER_REQUEST",
        BOTH,
        &registration::PLAYER_REQUEST,
    ),
    (
        "LEAGUE_REGISTER_RESPONSE",
        BOTH,
        &registration::PLAYER_RESPONSE,
    ),
    ("ROUND_ANNOUNCEMENT", BOTH, &round::ANNOUNCEMENT),
    ("ROUND_COMPLETED", BOTH, &round::COMPLETED),
    ("LEAGUE_COMPLETED", BOTH, &round::LEAGUE),
    ("GAME_INVITATION", BOTH, &play::INVITATION),
    ("GAME_JOIN_ACK", BOTH, &play::JOIN_ACK),
    ("CHOOSE_PARITY_CALL", BOTH, &play::PARITY_CALL),
    ("CHOOSE_PARITY_RESPONSE", BOTH, &play::PARITY_RESPONSE),
    ("GAME_MOVE_CALL", BOTH, &play::MOVE_CALL),
    ("GAME_MOVE_RESPONSE", BOTH, &play::MOVE_RESPONSE),
    ("GAME_OVER", V2, &result::OVER),
    ("GAME_OVER", API, &result::OVER_FOR_RECEIVER),
    ("MATCH_RESULT_REPORT", BOTH, &result::REPORT),
    ("LEAGUE_STANDINGS_UPDATE", BOTH, &round::STANDINGS),
    ("LEAGUE_ERROR", BOTH, &refusal::LEAGUE),
    ("GAME_ERROR", BOTH, &refusal::GAME),
    ("LEAGUE_QUERY", BOTH, &query::QUERY),
    ("LEAGUE_QUERY_RESPONSE", BOTH, &query::RESPONSE),
    ("START_MATCH", BOTH, &play::START),
    ("START_MATCH_ACK", BOTH, &play::START_ACK),
    ("QUERY_STANDINGS_REQUEST", API, &query::STANDINGS_REQUEST),
    ("QUERY_STANDINGS_RESPONSE", API, &query::STANDINGS_RESPONSE),
    ("LEAGUE_REGISTER_REQUEST", V1, &registration::V1_REQUEST),
    ("LEAGUE_REGISTER_RESPONSE", V1, &registration::V1_RESPONSE),
    ("LEAGUE_START_ANNOUNCEMENT", V1, &round::V1_START),
    ("GAME_INVITATION", V1, &play::V1_INVITATION),
    ("GAME_INVITATION_RESPONSE", V1, &play::V1_JOIN_ACK),
    ("GAME_START", V1, &play::V1_GAME_START),
    ("PLAY_REQUEST", V1, &play::V1_REQUEST),
    ("PLAY_RESPONSE", V1, &play::V1_RESPONSE),
    ("PLAY_VALIDATION", V1, &play::V1_VALIDATION),
    ("GAME_RESULT", V1, &result::V1_RESULT),
    ("ROUND_COMPLETE", V1, &round::V1_COMPLETE),
    ("LEAGUE_COMPLETE", V1, &round::V1_LEAGUE),
];

/// The form of a message type in a dialect.
pub(crate) fn form(dialect: Dialect, message_type: &str) -> Option<&'static dyn AnyForm> {
    let mut forms = FORMS.iter();
    let found =
        forms.find(|(name, dialects, _)| *name == message_type && dialects.contains(&dialect));
    found.map(|(_, _, form)| *form)
}

/// The message types of a dialect.
pub fn types(dialect: Dialect) -> &'static [&'static str] {
    static TYPES: LazyLock<[Vec<&str>; 3]> = LazyLock::new(|| {
        Dialect::ALL.map(|dialect| {
            let forms = FORMS.iter();
            let spoken = forms.filter(|(_, dialects, _)| dialects.contains(&dialect));
            spoken.map(|(name, _, _)| *name).collect()
        })
    });
    &TYPES[dialect as usize]
}

/// The type by which a dialect says a message; `None` if it has no words for it.
pub(crate) fn spoken_type(message: &Message, dialect: Dialect) -> Option<&'static str> {
    let spoken = match (message, dialect) {
        (Message::MoveResponse(response), Dialect::V2 | Dialect::V2Api) => {
            let own = response.is_parity().then_some("CHOOSE_PARITY_RESPONSE");
            own.or(Some("GAME_MOVE_RESPONSE"))
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

/// Writes the members of a message in a dialect that has words for it.
///
/// Every message names its league in `league.v1`; for one that does not know it, it is given.
pub(crate) fn write<S: SerializeMap>(
    message: &Message,
    dialect: Dialect,
    league: &LeagueId,
    map: &mut S,
) -> Result<(), S::Error> {
    let is_v1 = dialect == Dialect::V1;
    macro_rules! say {
        ($form:expr, $model:expr) => {
            $form.object.write($model, dialect, map)
        };
    }
    match message {
        Message::RefereeRegisterRequest(request) => say!(registration::REFEREE_REQUEST, request),
        Message::RefereeRegisterResponse(response) => {
            say!(registration::REFEREE_RESPONSE, &response.into())
        }
        Message::PlayerRegisterRequest(request) if is_v1 => {
            say!(
                registration::V1_REQUEST,
                &registration::V1Request::new(request, league)
            )
        }
        Message::PlayerRegisterRequest(request) => say!(registration::PLAYER_REQUEST, request),
        Message::PlayerRegisterResponse(response) if is_v1 => {
            say!(
                registration::V1_RESPONSE,
                &registration::Admission::in_league(response, league)
            )
        }
        Message::PlayerRegisterResponse(response) => {
            say!(registration::PLAYER_RESPONSE, &response.into())
        }
        Message::LeagueStart(start) => say!(round::V1_START, start),
        Message::RoundAnnouncement(round) => say!(round::ANNOUNCEMENT, &(&**round).into()),
        Message::RoundCompleted(round) if is_v1 => say!(round::V1_COMPLETE, round),
        Message::RoundCompleted(round) => say!(round::COMPLETED, round),
        Message::LeagueCompleted(league) if is_v1 => say!(round::V1_LEAGUE, league),
        Message::LeagueCompleted(league) => say!(round::LEAGUE, league),
        Message::StandingsUpdate(update) => say!(round::STANDINGS, update),
        Message::StartMatch(order) => say!(play::START, order),
        Message::StartMatchAck(ack) => say!(play::START_ACK, ack),
        Message::GameInvitation(invitation) if is_v1 => say!(play::V1_INVITATION, invitation),
        Message::GameInvitation(invitation) => say!(play::INVITATION, invitation),
        Message::GameJoinAck(ack) if is_v1 => {
            say!(play::V1_JOIN_ACK, &play::V1JoinAck::new(ack, league))
        }
        Message::GameJoinAck(ack) => say!(play::JOIN_ACK, ack),
        Message::GameStart(start) => say!(play::V1_GAME_START, start),
        Message::MoveCall(call) if is_v1 => say!(play::V1_REQUEST, call),
        Message::MoveCall(call) if call.is_even_odd() => say!(play::PARITY_CALL, call),
        Message::MoveCall(call) => say!(play::MOVE_CALL, call),
        Message::MoveResponse(response) if is_v1 => {
            say!(play::V1_RESPONSE, &play::V1Response::new(response, league))
        }
        Message::MoveResponse(response) if response.is_parity() => {
            say!(play::PARITY_RESPONSE, response)
        }
        Message::MoveResponse(response) => say!(play::MOVE_RESPONSE, response),
        Message::PlayValidation(validation) => say!(play::V1_VALIDATION, &(&**validation).into()),
        Message::GameError(error) if is_v1 => say!(play::V1_VALIDATION, &(&**error).into()),
        Message::GameError(error) => say!(refusal::GAME, error),
        Message::GameOver(over) => match dialect {
            Dialect::V2 => say!(result::OVER, &(&**over).into()),
            Dialect::V2Api => say!(result::OVER_FOR_RECEIVER, &(&**over).into()),
            Dialect::V1 => say!(result::V1_RESULT, &(&**over).into()),
        },
        Message::MatchResultReport(report) if is_v1 => {
            say!(result::V1_RESULT, &(&**report).into())
        }
        Message::MatchResultReport(report) => say!(result::REPORT, &(&**report).into()),
        Message::LeagueQuery(query) if query.is_by_api_page() && dialect == Dialect::V2Api => {
            say!(query::STANDINGS_REQUEST, query)
        }
        Message::LeagueQuery(query) => say!(query::QUERY, &(&**query).into()),
        Message::LeagueQueryResponse(response) => query::write_response(response, dialect, map),
        Message::LeagueError(error) => {
            say!(refusal::LEAGUE, &refusal::Refusal::new(error, dialect))
        }
        Message::Ping | Message::Acknowledged => Ok(()),
    }
}

/// A finish that adds nothing.
pub(crate) fn as_it_is<M: Into<Message>>(
    model: M,
    _: &Seen<M>,
    _: &Path<'_>,
    _: &mut DecodeContext<'_>,
) -> Option<Message> {
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
                cx: &mut $crate::shape::DecodeContext<'_>,
            ) -> Option<$model> {
                let mut part = <$model>::draft(cx.hints);
                $object.read(&mut part, raw, at, cx)?.then_some(part)
            }

            fn spell(part: &$model, dialect: $crate::sender::Dialect) -> $crate::shape::Spelled<'_> {
                $object.spell(part, dialect)
            }

            fn schema(
                dialect: $crate::sender::Dialect,
                reading: $crate::finding::Reading,
            ) -> serde_json::Value {
                $object.schema(dialect, reading).into()
            }
        }

        impl<L: AsRef<[$model]> + From<Vec<$model>>> $crate::shape::Codec<L> for $codec {
            fn read(
                raw: &serde_json::value::RawValue,
                at: &$crate::finding::Path<'_>,
                cx: &mut $crate::shape::DecodeContext<'_>,
            ) -> Option<L> {
                $crate::shape::read_parts(&$object, <$model>::draft, raw, at, cx).map(L::from)
            }

            fn spell(list: &L, dialect: $crate::sender::Dialect) -> $crate::shape::Spelled<'_> {
                let parts = list.as_ref().iter();
                $crate::shape::Spelled::List(
                    parts.map(|part| $object.spell(part, dialect)).collect(),
                )
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
