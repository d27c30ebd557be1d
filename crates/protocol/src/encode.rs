//! Encodes a message as bytes.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::decode::granted;
use crate::dialect::{Hints, names};
use crate::id::{ConversationId, LeagueId, MatchId};
use crate::message::{self, Message, spoken_type};
use crate::sender::{Agent, Dialect};
use crate::time::Timestamp;
use crate::token::AuthToken;

/// The envelope data of an outgoing message.
#[derive(Debug, Clone, Copy)]
pub struct Stamp<'s> {
    /// The sender.
    pub sender: Sender<'s>,
    /// The time.
    pub at: Timestamp,
    /// The conversation.
    pub conversation: &'s ConversationId,
    /// The sender's token.
    pub token: Option<&'s AuthToken>,
}

/// The sender of a message.
#[derive(Debug, Clone, Copy)]
pub enum Sender<'s> {
    /// An agent with an id.
    Agent(&'s Agent),
    /// A referee that does not have an id yet, by its name.
    NewReferee(&'s str),
    /// A player that does not have an id yet, by its name.
    NewPlayer(&'s str),
}

/// A message ready to be written, as `params` of a call or `result` of an answer.
#[derive(Debug)]
pub struct Outgoing<'m> {
    message: &'m Message,
    dialect: Dialect,
    stamp: Stamp<'m>,
    /// The type on the wire; `None` for content without a type.
    message_type: Option<&'static str>,
    /// The league, for messages that must name it but do not hold it.
    league: LeagueId,
    synonyms: Vec<(&'static str, Value)>,
}

/// Encodes a message; `None` if the dialect does not have it.
pub fn encode<'m>(
    message: &'m Message,
    dialect: Dialect,
    stamp: Stamp<'m>,
    hints: &Hints<'_>,
) -> Option<Outgoing<'m>> {
    let message_type = match message {
        Message::MoveResponse(_) if hints.generic_moves && dialect != Dialect::V1 => {
            Some(message::GENERIC_MOVE)
        }
        _ => spoken_type(message, dialect),
    };
    if message_type.is_none() && !matches!(message, Message::Ping | Message::Acknowledged) {
        return None;
    }
    Some(Outgoing {
        message,
        dialect,
        stamp: Stamp {
            sender: candidate(message, dialect).unwrap_or(stamp.sender),
            ..stamp
        },
        message_type,
        league: hints.league(None),
        synonyms: synonyms(message, dialect, hints),
    })
}

/// The sender of a registration where it has no name: 001 and 003 show no other sender, and
/// `v2-api` is recognised by it (ruling 5), so an agent that comes back uses it as well.
fn candidate(message: &Message, dialect: Dialect) -> Option<Sender<'static>> {
    match message {
        _ if dialect == Dialect::V2 => None,
        Message::PlayerRegisterRequest(_) => Some(Sender::NewPlayer("")),
        Message::RefereeRegisterRequest(_) => Some(Sender::NewReferee("")),
        _ => None,
    }
}

impl Serialize for Outgoing<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(message_type) = self.message_type {
            self.write_envelope(message_type, &mut map)?;
            message::write(
                self.message,
                message_type,
                self.dialect,
                &self.league,
                &mut map,
            )?;
            for (name, value) in &self.synonyms {
                map.serialize_entry(name, value)?;
            }
        } else if *self.message == Message::Acknowledged {
            map.serialize_entry("status", "ok")?;
        }
        map.end()
    }
}

impl Outgoing<'_> {
    fn write_envelope<M: SerializeMap>(
        &self,
        message_type: &str,
        map: &mut M,
    ) -> Result<(), M::Error> {
        map.serialize_entry("protocol", self.dialect.protocol())?;
        map.serialize_entry("message_type", message_type)?;
        map.serialize_entry("sender", &self.sender())?;
        let conversation = self.stamp.conversation.as_str();
        match self.dialect {
            Dialect::V2 | Dialect::V2Api => {
                map.serialize_entry("timestamp", &self.stamp.at.to_seconds_text())?;
                map.serialize_entry("conversation_id", conversation)?;
            }
            Dialect::V1 => {
                map.serialize_entry("timestamp", &self.stamp.at.to_millis_text())?;
                map.serialize_entry("conversation_id", &names::conversation(conversation))?;
            }
        }
        match self.stamp.token {
            Some(token) if granted(self.message).is_none() && self.dialect != Dialect::V1 => {
                map.serialize_entry("auth_token", token.reveal())
            }
            _ => Ok(()),
        }
    }

    fn sender(&self) -> String {
        match (self.dialect, self.stamp.sender) {
            (Dialect::V1, Sender::Agent(agent)) => names::sender(agent).into_owned(),
            (Dialect::V1, Sender::NewReferee(_)) => "referee".to_owned(),
            (Dialect::V1, Sender::NewPlayer(_)) => names::CANDIDATE.to_owned(),
            (Dialect::V2Api, Sender::NewPlayer(_)) => "player:UNREGISTERED".to_owned(),
            (Dialect::V2Api, Sender::NewReferee(_)) => "referee:UNREGISTERED".to_owned(),
            (_, Sender::Agent(agent)) => agent.to_string(),
            (_, Sender::NewPlayer(name)) => format!("player:{name}"),
            (_, Sender::NewReferee(name)) => format!("referee:{name}"),
        }
    }
}

/// Members that the documents do not have, by the types that strangers are sent; a dot leads into an
/// object or into each of a list.
const ADDITIONS: [(&str, &str); 6] = [
    (
        "ROUND_ANNOUNCEMENT",
        "matches.attempt matches.draw_commitment matches.match_token",
    ),
    (
        "GAME_INVITATION",
        "draw_commitment game_info.draw_commitment",
    ),
    (
        "GAME_OVER",
        "details draw evidence reason role winner_player_id game_result.details game_result.draw \
         game_result.evidence game_result.failed game_result.score",
    ),
    (
        "GAME_RESULT",
        "result.game_summary.attempt result.game_summary.details result.game_summary.draw \
         result.game_summary.failed result.game_summary.game_type result.game_summary.points",
    ),
    (
        "ROUND_COMPLETE",
        "round_summary.standings.draws round_summary.standings.points",
    ),
    (
        "LEAGUE_COMPLETE",
        "final_standings.champion.draws final_standings.champion.points \
         final_standings.rankings.draws final_standings.rankings.points",
    ),
];

/// A message of ours without the members that the documents do not have.
pub fn documented(mut message: Map<String, Value>) -> Map<String, Value> {
    let kind = message.get("message_type").and_then(Value::as_str);
    let added = ADDITIONS.iter().filter(|(of, _)| kind == Some(of));
    let added: Vec<&str> = added.flat_map(|(_, names)| names.split(' ')).collect();
    for way in added {
        remove(&mut message, way);
    }
    message
}

fn remove(object: &mut Map<String, Value>, way: &str) {
    let Some((name, rest)) = way.split_once('.') else {
        object.remove(way);
        return;
    };
    match object.get_mut(name) {
        Some(Value::Object(inner)) => remove(inner, rest),
        Some(Value::Array(elements)) => {
            let inner = elements.iter_mut().filter_map(Value::as_object_mut);
            inner.for_each(|inner| remove(inner, rest));
        }
        _ => {}
    }
}

/// The conversation of our call, so that a repeat is recognised.
pub fn conversation(message: &Message, sender: &str) -> ConversationId {
    let of_match = |id: &MatchId| format!("conv-{}-001", id.as_str().to_ascii_lowercase());
    ConversationId::new(match message {
        Message::StartMatch(order) => {
            format!("conv-{}-start-{}", order.match_id, order.attempt).to_ascii_lowercase()
        }
        Message::GameInvitation(invitation) => of_match(&invitation.match_id),
        Message::GameStart(start) => of_match(&start.match_id),
        Message::MoveCall(call) => of_match(&call.match_id),
        Message::PlayValidation(validation) => of_match(&validation.match_id),
        Message::GameOver(over) => of_match(&over.match_id),
        Message::GameError(error) => of_match(&error.match_id),
        Message::MatchResultReport(report) => {
            format!("conv-{}-report", report.match_id).to_ascii_lowercase()
        }
        Message::DrawRequest(request) => {
            format!("conv-{}-draw", request.match_id).to_ascii_lowercase()
        }
        Message::GameOverTold(told) => format!("conv-{}-told", told.match_id).to_ascii_lowercase(),
        Message::CallQuery(query) => {
            format!("conv-{}-called-{}", query.match_id, query.attempt).to_ascii_lowercase()
        }
        Message::RoundAnnouncement(round) => format!("conv-round-{}-announce", round.round_id),
        Message::RoundCompleted(round) => format!("conv-round-{}-complete", round.round_id),
        Message::StandingsUpdate(update) => format!("conv-round-{}-standings", update.round_id),
        Message::LeagueStart(_) => "conv-league-start".to_owned(),
        Message::LeagueCompleted(_) => "conv-league-complete".to_owned(),
        Message::RefereeRegisterRequest(_) | Message::PlayerRegisterRequest(_) => {
            format!("conv-{sender}-reg-001")
        }
        Message::LeagueQuery(query) => {
            format!("conv-{sender}-{}", query.query.as_str()).to_ascii_lowercase()
        }
        Message::RefereeRegisterResponse(_)
        | Message::PlayerRegisterResponse(_)
        | Message::StartMatchAck(_)
        | Message::GameJoinAck(_)
        | Message::MoveResponse(_)
        | Message::MatchResultAck(_)
        | Message::DrawResponse(_)
        | Message::CallQueryResponse(_)
        | Message::LeagueQueryResponse(_)
        | Message::LeagueError(_)
        | Message::Ping
        | Message::Acknowledged => format!("conv-{sender}"),
    })
}

/// Extra members of an answer, named as other referees expect them.
///
/// Public referees of this league read `choice` where `parity_choice` is missing, `accepted` or a
/// `status` for `accept`, and some want league and round in every message. Ours read none of these,
/// so they are sent only where the hints ask for it (ruling 48).
fn synonyms(message: &Message, dialect: Dialect, hints: &Hints<'_>) -> Vec<(&'static str, Value)> {
    if !hints.synonyms || dialect == Dialect::V1 {
        return Vec::new();
    }
    match message {
        Message::GameJoinAck(ack) => {
            let status = if ack.accept { "ACCEPTED" } else { "REJECTED" };
            let said = [("accepted", ack.accept.into()), ("status", status.into())];
            match_context(&ack.match_id, hints).chain(said).collect()
        }
        Message::MoveResponse(response) => {
            let said = [("choice", response.choice.clone())];
            match_context(&response.match_id, hints)
                .chain(said)
                .collect()
        }
        _ => Vec::new(),
    }
}

/// The league and the round, if known (000 table 4).
fn match_context(
    match_id: &MatchId,
    hints: &Hints<'_>,
) -> impl Iterator<Item = (&'static str, Value)> {
    let league = hints
        .league_id
        .map(|league| ("league_id", league.as_str().into()));
    let round = match_id.round().map(|round| ("round_id", round.into()));
    league.into_iter().chain(round)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::id::PlayerId;
    use crate::message::{AgentMeta, GameJoinAck, MoveResponse, RegisterRequest};

    #[test]
    fn whoever_comes_back_registers_as_the_dialect_shows_it() {
        let request = Message::PlayerRegisterRequest(Box::new(RegisterRequest {
            meta: AgentMeta {
                display_name: "Alpha".to_owned(),
                version: "1.0.0".to_owned(),
                protocol_version: None,
                game_types: vec![Hints::default().game(None)],
                contact_endpoint: "http://localhost:8101/mcp".to_owned(),
                max_concurrent_matches: None,
                speech: None,
                proofs: false,
                human: false,
            },
            wanted_id: None,
            token: None,
            join_code: None,
            referee_key: None,
            is_plain: false,
        }));
        let agent = Agent::Player(PlayerId::numbered(1));
        let conversation = ConversationId::new("conv");
        for (dialect, sender) in [
            (Dialect::V2, "player:P01"),
            (Dialect::V2Api, "player:UNREGISTERED"),
            (Dialect::V1, "player_candidate"),
        ] {
            let stamp = Stamp {
                sender: Sender::Agent(&agent),
                at: Timestamp::from_millis(0),
                conversation: &conversation,
                token: None,
            };
            let said = encode(&request, dialect, stamp, &Hints::default()).unwrap();
            let said: Value = serde_json::to_value(said).unwrap();
            assert_eq!(said["sender"], sender);
        }
    }

    fn said(message: &Message, dialect: Dialect, synonyms: bool) -> Value {
        let (agent, league) = (
            Agent::Player(PlayerId::numbered(1)),
            LeagueId::new("theirs").unwrap(),
        );
        let conversation = ConversationId::new("conv");
        let stamp = Stamp {
            sender: Sender::Agent(&agent),
            at: Timestamp::from_millis(0),
            conversation: &conversation,
            token: None,
        };
        let hints = Hints {
            league_id: Some(&league),
            synonyms,
            ..Hints::default()
        };
        let outgoing = encode(message, dialect, stamp, &hints).unwrap();
        serde_json::to_value(outgoing).unwrap()
    }

    fn ack(match_id: &str) -> Message {
        Message::from(GameJoinAck {
            match_id: MatchId::new(match_id).unwrap(),
            player_id: Some(PlayerId::numbered(1)),
            arrival: Some(Timestamp::from_millis(0)),
            accept: true,
            proof: None,
        })
    }

    fn choice() -> Message {
        Message::MoveResponse(std::sync::Arc::new(MoveResponse {
            match_id: MatchId::new("R2M1").unwrap(),
            player_id: Some(PlayerId::numbered(1)),
            game_type: Hints::default().game(None),
            move_type: None,
            choice: "odd".into(),
            nonce: None,
            reasoning: None,
            proof: None,
            model: None,
        }))
    }

    #[test]
    fn a_foreign_referee_finds_an_answer_by_its_own_words() {
        let ack = said(&ack("R2M1"), Dialect::V2, true);
        assert_eq!(ack["accept"], true);
        assert_eq!(ack["accepted"], true);
        assert_eq!(ack["status"], "ACCEPTED");
        assert_eq!(
            (&ack["league_id"], &ack["round_id"]),
            (&json!("theirs"), &json!(2))
        );
        let choice = said(&choice(), Dialect::V2Api, true);
        assert_eq!(choice["parity_choice"], "odd");
        assert_eq!(choice["choice"], "odd");
        assert_eq!(choice["round_id"], 2);
    }

    #[test]
    fn a_round_that_the_match_does_not_tell_is_left_out() {
        let ack = said(&ack("match-1"), Dialect::V2, true);
        assert_eq!(ack.get("round_id"), None);
        assert_eq!(ack["accepted"], true);
    }

    #[test]
    fn nothing_is_said_twice_where_nobody_asks_for_it_or_in_v1() {
        for (dialect, synonyms) in [(Dialect::V2, false), (Dialect::V1, true)] {
            for message in [ack("R2M1"), choice()] {
                let plain = said(&message, dialect, false);
                assert_eq!(said(&message, dialect, synonyms), plain, "{dialect}");
                assert_eq!(plain.get("choice"), None);
                assert_eq!(plain.get("accepted"), None);
            }
        }
    }
}
