//! Coming to matches and moving in them.

use std::sync::Arc;
use std::time::Duration;

use league_core::draw::MAX_NONCE_LENGTH;
use league_core::machine::Machine;
use league_core::player::{
    Command, Fallback, MAX_REASONING, OPEN_MATCHES, OPEN_MOVES, Refusal, Reply, Think,
};
use league_protocol::fault::Code;
use league_protocol::id::{GameType, LeagueId};
use league_protocol::message::{GameJoinAck, Message, MoveCall, MoveResponse};
use league_protocol::time::Timestamp;
use serde_json::json;

use league_testkit::player::*;

fn joined(reply: Reply) -> GameJoinAck {
    match reply {
        Reply::Joined(ack) => *ack,
        other => panic!("{other:?}"),
    }
}

fn think(reply: Reply) -> Think {
    match reply {
        Reply::Think(think) => *think,
        other => panic!("{other:?}"),
    }
}

fn moved(reply: Reply) -> (MoveResponse, Option<Fallback>) {
    match reply {
        Reply::Move { response, fallback } => (Arc::unwrap_or_clone(response), fallback),
        other => panic!("{other:?}"),
    }
}

fn code(refusal: Refusal) -> Code {
    refusal.to_league_error().code
}

#[test]
fn repeated_invitation_gets_the_same_answer() {
    let mut shell = PlayerWorld::enrolled(rules());
    shell.told(announcement("R1M1")).unwrap();
    let first = joined(shell.does(invited("R1M1", Some(MATCH_TOKEN))));
    assert!(first.accept);
    assert_eq!(first.player_id, Some(player("P01")));
    assert_eq!(first.arrival, Some(shell.now));
    shell.now = shell.now + Duration::from_secs(3);
    let again = joined(shell.does(invited("R1M1", Some(MATCH_TOKEN))));
    assert_eq!(again, first);
    assert!(shell.events.is_empty());
}

#[test]
fn unknown_game_is_declined_each_time() {
    let mut shell = PlayerWorld::enrolled(rules());
    let mut chess = invitation("R1M1");
    chess.game_type = GameType::new("chess").unwrap();
    for _ in 0..2 {
        let ack = joined(shell.does(Command::Invited {
            invitation: Box::new(chess.clone()),
            token: None,
        }));
        assert!(!ack.accept);
    }
}

#[test]
fn announced_match_requires_its_token() {
    for rules in [rules(), strict()] {
        let mut shell = PlayerWorld::enrolled(rules);
        shell.told(announcement("R1M1")).unwrap();
        let refusal = shell.tries(invited("R1M1", Some("another"))).unwrap_err();
        assert_eq!(code(refusal), Code::TokenInvalid);
        let refusal = shell.tries(invited("R1M1", None)).unwrap_err();
        assert_eq!(code(refusal), Code::TokenMissing);
        let mut stranger = call(&shell, "R1M1", 1);
        stranger.view = json!(null).into();
        let refusal = shell.tries(Command::MoveWanted {
            call: Box::new(stranger),
            token: None,
        });
        assert_eq!(code(refusal.unwrap_err()), Code::TokenMissing);
        assert!(joined(shell.does(invited("R1M1", Some(MATCH_TOKEN)))).accept);
    }
}

#[test]
fn unannounced_match_is_accepted_only_by_lenient_players() {
    let mut shell = PlayerWorld::enrolled(rules());
    for token in [None, Some("anything")] {
        assert!(joined(shell.does(invited("R1M1", token))).accept);
    }
    let mut shell = PlayerWorld::enrolled(strict());
    for token in [None, Some(MATCH_TOKEN)] {
        let refusal = shell.tries(invited("R1M1", token)).unwrap_err();
        assert_eq!(code(refusal), Code::TokenInvalid);
    }
    let asked = wants(call(&shell, "R1M1", 1));
    assert!(shell.tries(asked).is_err());
    shell.told(announcement("R1M1")).unwrap();
    assert!(joined(shell.does(invited("R1M1", Some(MATCH_TOKEN)))).accept);
}

#[test]
fn strict_player_keeps_to_its_league() {
    let mut other = invitation("R1M1");
    other.league_id = LeagueId::new("elsewhere").unwrap();
    let command = Command::Invited {
        invitation: Box::new(other),
        token: None,
    };
    let refusal = PlayerWorld::enrolled(strict())
        .tries(command.clone())
        .unwrap_err();
    assert!(matches!(refusal, Refusal::OtherLeague { .. }));
    assert!(joined(PlayerWorld::enrolled(rules()).does(command)).accept);
}

#[test]
fn player_without_its_admission_plays() {
    let mut shell = PlayerWorld::new(rules());
    assert_eq!(joined(shell.does(invited("R1M1", None))).player_id, None);
    let asked = wants(call(&shell, "R1M1", 1));
    think(shell.does(asked));
    let (response, _) = moved(shell.does(chooses("R1M1", 1, Some(json!("odd")))));
    assert_eq!((response.player_id, response.choice), (None, json!("odd")));
}

#[test]
fn move_request_leads_to_a_thought_and_a_move() {
    let mut shell = PlayerWorld::enrolled(rules());
    let asked = call(&shell, "R1M1", 1);
    let think = think(shell.does(wants(asked.clone())));
    assert_eq!((&think.match_id, think.turn), (&asked.match_id, 1));
    assert_eq!(think.view, asked.view);
    assert_eq!(think.options, asked.options);
    assert_eq!(think.opponent_id, player("P02"));
    assert_eq!(think.opponent, None);
    let reply = shell.does(chooses("R1M1", 1, Some(json!("odd"))));
    let expected = MoveResponse {
        match_id: match_id("R1M1"),
        player_id: Some(player("P01")),
        game_type: GameType::new("even_odd").unwrap(),
        move_type: Some(Arc::clone(&think.move_type)),
        choice: json!("odd"),
        nonce: Some(NONCE.to_owned()),
        reasoning: None,
        proof: None,
        model: None,
    };
    assert_eq!(
        reply.clone().into_message(),
        Some(Message::MoveResponse(Arc::new(expected.clone())))
    );
    assert_eq!(moved(reply), (expected, None));
}

#[test]
fn repeated_request_gets_the_same_move() {
    let mut shell = PlayerWorld::enrolled(rules());
    let asked = call(&shell, "R1M1", 1);
    shell.does(wants(asked.clone()));
    let first = shell.does(chooses("R1M1", 1, Some(json!("odd"))));
    shell.now = shell.now + Duration::from_secs(5);
    let later = MoveCall {
        deadline: asked.deadline + Duration::from_secs(32),
        ..asked
    };
    assert_eq!(shell.does(wants(later)), first);
    assert!(shell.events.is_empty());
    let second_thought = shell.does(chooses("R1M1", 1, Some(json!("even"))));
    assert_eq!(second_thought, first);
}

#[test]
fn request_repeated_during_thought_keeps_the_first_choice() {
    let mut shell = PlayerWorld::enrolled(rules());
    for _ in 0..2 {
        let asked = wants(call(&shell, "R1M1", 1));
        think(shell.does(asked));
    }
    assert!(shell.events.is_empty());
    let first = shell.does(chooses("R1M1", 1, Some(json!("odd"))));
    assert_eq!(shell.does(chooses("R1M1", 1, Some(json!("even")))), first);
}

#[test]
fn same_turn_in_another_position_is_a_new_question() {
    let mut shell = PlayerWorld::enrolled(rules());
    let asked = call(&shell, "R1M1", 1);
    shell.does(wants(asked.clone()));
    shell.does(chooses("R1M1", 1, Some(json!("odd"))));
    let seen_otherwise = MoveCall {
        view: Arc::new(json!({ "lowest": 0, "highest": 99 })),
        ..asked.clone()
    };
    think(shell.does(wants(seen_otherwise)));
    let fewer_options = MoveCall {
        options: Arc::new([json!("even")]),
        ..asked
    };
    think(shell.does(wants(fewer_options)));
    let (response, _) = moved(shell.does(chooses("R1M1", 1, Some(json!("odd")))));
    assert_eq!(response.choice, json!("even"));
}

#[test]
fn late_repeat_of_an_earlier_turn_changes_nothing() {
    let mut shell = PlayerWorld::enrolled(rules());
    let first_turn = wants(call(&shell, "R1M1", 1));
    let second_turn = wants(call(&shell, "R1M1", 2));
    shell.does(first_turn.clone());
    let first = shell.does(chooses("R1M1", 1, Some(json!("odd"))));
    shell.does(second_turn);
    assert_eq!(shell.does(first_turn), first);
    let (second, _) = moved(shell.does(chooses("R1M1", 2, Some(json!("even")))));
    assert_eq!(second.choice, json!("even"));
}

#[test]
fn missing_or_illegal_choice_becomes_the_first_legal_one() {
    for (choice, why) in [
        (None, Fallback::Missing),
        (Some(json!("EVEN")), Fallback::Illegal),
        (Some(json!(null)), Fallback::Illegal),
        (Some(json!({ "even": [1, 2] })), Fallback::Illegal),
    ] {
        let mut shell = PlayerWorld::enrolled(rules());
        let asked = wants(call(&shell, "R1M1", 1));
        shell.does(asked.clone());
        let reply = shell.does(chooses("R1M1", 1, choice));
        let (response, fallback) = moved(reply.clone());
        assert_eq!(response.choice, json!("even"));
        assert_eq!(fallback, Some(why));
        assert_eq!(shell.does(asked), reply);
    }
}

#[test]
fn thinking_ends_a_little_before_the_deadline() {
    let mut shell = PlayerWorld::enrolled(rules());
    let second = Duration::from_secs(1);
    let now = shell.now;
    let mut until = |deadline: Timestamp, move_seconds: u32| {
        let asked = MoveCall {
            deadline,
            move_seconds,
            ..call(&shell, "R1M1", 1)
        };
        think(shell.does(wants(asked))).until
    };
    assert_eq!(until(now + 30 * second, 30), now + 29 * second);
    assert_eq!(until(now + second, 30), now + second - second / 10);
    let far = Timestamp::from_millis(i64::MAX);
    assert_eq!(until(far, 30), now + 29 * second);
    assert_eq!(until(far, 0), now + 29 * second);
    assert_eq!(until(far, u32::MAX), now + 599 * second);
}

#[test]
fn unrequested_choice_is_refused() {
    let mut shell = PlayerWorld::enrolled(rules());
    let unknown = chooses("R1M1", 1, Some(json!("odd")));
    assert_eq!(code(shell.tries(unknown).unwrap_err()), Code::OutOfTurn);
    let asked = wants(call(&shell, "R1M1", 1));
    shell.does(asked);
    assert!(shell.tries(chooses("R1M1", 2, None)).is_err());
    assert!(shell.tries(chooses("R1M2", 1, None)).is_err());
}

#[test]
fn request_for_another_players_move_is_refused() {
    let mut shell = PlayerWorld::enrolled(rules());
    let mut asked = call(&shell, "R1M1", 1);
    asked.player_id = player("P02");
    let refusal = shell.tries(wants(asked)).unwrap_err();
    assert_eq!(code(refusal), Code::TokenInvalid);
}

#[test]
fn request_without_options_is_refused() {
    let mut shell = PlayerWorld::enrolled(rules());
    let mut asked = call(&shell, "R1M1", 1);
    asked.options = Arc::new([]);
    let refusal = shell.tries(wants(asked)).unwrap_err();
    let error = refusal.to_league_error();
    assert_eq!(error.code, Code::InvalidMessage);
    assert_eq!(error.path.as_deref(), Some("options"));
}

#[test]
fn nonce_too_long_for_the_draw_is_left_out_and_reasoning_is_cut() {
    let mut shell = PlayerWorld::enrolled(rules());
    for (turn, length, kept) in [
        (1, MAX_NONCE_LENGTH, true),
        (2, MAX_NONCE_LENGTH + 1, false),
    ] {
        let asked = wants(call(&shell, "R1M1", turn));
        shell.does(asked);
        let (response, _) = moved(shell.does(Command::Chosen {
            match_id: match_id("R1M1"),
            turn,
            choice: Some(json!("odd")),
            nonce: Some("n".repeat(length)),
            reasoning: Some("ü".repeat(MAX_REASONING + 1)),
            model: None,
        }));
        assert_eq!(response.nonce.is_some(), kept);
        let reasoning = response.reasoning.unwrap();
        assert_eq!(reasoning.chars().count(), MAX_REASONING);
    }
}

#[test]
fn several_matches_at_once_do_not_mix() {
    let mut shell = PlayerWorld::enrolled(rules());
    for id in ["R1M1", "R1M2", "R1M3"] {
        assert!(joined(shell.does(invited(id, None))).accept);
        let asked = wants(call(&shell, id, 1));
        think(shell.does(asked));
    }
    for (id, choice) in [("R1M3", "odd"), ("R1M1", "even"), ("R1M2", "odd")] {
        let (response, _) = moved(shell.does(chooses(id, 1, Some(json!(choice)))));
        assert_eq!(
            (response.match_id, response.choice),
            (match_id(id), json!(choice))
        );
    }
    for (id, choice) in [("R1M1", "even"), ("R1M2", "odd"), ("R1M3", "odd")] {
        let asked = wants(call(&shell, id, 1));
        assert_eq!(moved(shell.does(asked)).0.choice, json!(choice));
    }
    assert_eq!(shell.player.view().open_matches.len(), 3);
}

#[test]
fn excess_match_drops_the_oldest() {
    let mut shell = PlayerWorld::enrolled(rules());
    let id = |number: usize| format!("M{:03}", 900 - number);
    for number in 0..=OPEN_MATCHES {
        shell.does(invited(&id(number), None));
    }
    let open = shell.player.view().open_matches;
    assert_eq!(open.len(), OPEN_MATCHES);
    assert!(!open.contains(&match_id(&id(0))));
    assert!(open.contains(&match_id(&id(1))));
    assert_eq!(shell.player.wakeup(), None);
}

#[test]
fn excess_move_drops_the_oldest() {
    let mut shell = PlayerWorld::enrolled(rules());
    let last = u32::try_from(OPEN_MOVES).unwrap() + 1;
    for turn in 1..=last {
        let asked = wants(call(&shell, "R1M1", turn));
        shell.does(asked);
    }
    assert!(shell.tries(chooses("R1M1", 1, None)).is_err());
    assert!(shell.tries(chooses("R1M1", 2, None)).is_ok());
    assert!(shell.tries(chooses("R1M1", last, None)).is_ok());
}
