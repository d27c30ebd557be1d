//! What is put into words in a dialect is recognised as that dialect and understood again.

use league_protocol::decode::decode;
use league_protocol::dialect::Hints;
use league_protocol::encode::{Sender, Stamp, conversation, encode};
use league_protocol::finding::Reading;
use league_protocol::id::{GameType, LeagueId, MatchId, PlayerId};
use league_protocol::message::{GameInvitation, Message, Role};
use league_protocol::sender::{Agent, Dialect};
use league_protocol::time::Timestamp;
use league_protocol::token::AuthToken;
use league_protocol::tools::takes_message;
use serde_json::Value;

use super::raw;

fn invitation() -> Message {
    Message::GameInvitation(Box::new(GameInvitation {
        league_id: LeagueId::new("550e8400-e29b-41d4-a716-446655440000").expect("an id"),
        round_id: 2,
        match_id: MatchId::new("R2M1").expect("an id"),
        game_type: GameType::new("even_odd").expect("an id"),
        role: Role::B,
        opponent_id: PlayerId::numbered(2),
        commitment: None,
        move_seconds: 30,
    }))
}

#[test]
fn invitation_goes_out_and_comes_in_the_same_in_every_dialect() {
    let message = invitation();
    let (player, token) = (
        Agent::Player(PlayerId::numbered(7)),
        AuthToken::new("tok-p07-x"),
    );
    let conversation = conversation(&message, "REF01");
    assert_eq!(conversation.as_str(), "conv-r2m1-001");
    let stamp = Stamp {
        sender: Sender::Agent(&player),
        at: Timestamp::from_millis(1_736_937_000_000),
        conversation: &conversation,
        token: Some(&token),
    };
    let league = LeagueId::new("550e8400-e29b-41d4-a716-446655440000").unwrap();
    let hints = Hints {
        league_id: Some(&league),
        ..Hints::default()
    };
    for (dialect, sender, time, has_token) in [
        (Dialect::V2, "player:P07", "2025-01-15T10:30:00Z", true),
        (Dialect::V2Api, "player:P07", "2025-01-15T10:30:00Z", true),
        (Dialect::V1, "player_007", "2025-01-15T10:30:00.000Z", false),
    ] {
        let written = encode(&message, dialect, stamp, &hints).expect("every dialect invites");
        let written: Value = serde_json::to_value(&written).unwrap();
        assert_eq!(written["protocol"], dialect.protocol());
        assert_eq!(written["sender"], sender);
        assert_eq!(written["timestamp"], time);
        assert_eq!(written.get("auth_token").is_some(), has_token);
        let raw = raw(&written);
        let mut decoded = decode(&raw, Reading::Strict, None).unwrap();
        assert_eq!(decoded.dialect, dialect);
        assert_eq!(decoded.token().is_some(), has_token);
        assert_eq!(decoded.message(&hints).unwrap(), message);
    }
}

#[test]
fn call_to_a_tool_needs_a_message_tool() {
    assert!(takes_message(invitation().tool()));
    assert!(!takes_message(Message::Ping.tool()));
}
