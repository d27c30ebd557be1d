//! What an answer says a second time, in words that other people's referees look for.
//!
//! Public referees of this league read `choice` where `parity_choice` is missing, `accepted` or a
//! `status` for `accept`, and some want league and round in every message. Ours read none of it,
//! so it is said only where the hints ask for it (ruling 48).

use serde_json::Value;

use crate::dialect::Hints;
use crate::id::MatchId;
use crate::message::Message;
use crate::sender::Dialect;

/// The members that are added to an answer.
pub(super) fn synonyms(
    message: &Message,
    dialect: Dialect,
    hints: &Hints<'_>,
) -> Vec<(&'static str, Value)> {
    if !hints.synonyms || dialect == Dialect::V1 {
        return Vec::new();
    }
    match message {
        Message::GameJoinAck(ack) => {
            let status = if ack.accept { "ACCEPTED" } else { "REJECTED" };
            let said = [("accepted", ack.accept.into()), ("status", status.into())];
            context(&ack.match_id, hints).chain(said).collect()
        }
        Message::MoveResponse(response) => {
            let said = [("choice", response.choice.clone())];
            context(&response.match_id, hints).chain(said).collect()
        }
        _ => Vec::new(),
    }
}

/// The league and the round, as far as they are known (000 table 4).
fn context(match_id: &MatchId, hints: &Hints<'_>) -> impl Iterator<Item = (&'static str, Value)> {
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
    use crate::encode::{Sender, Stamp, encode};
    use crate::id::{ConversationId, LeagueId, PlayerId};
    use crate::message::{GameJoinAck, MoveResponse};
    use crate::sender::Agent;
    use crate::time::Timestamp;

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
