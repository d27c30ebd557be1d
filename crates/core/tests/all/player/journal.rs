//! Restarts of a player, and secrets that must not reach a file.

use std::sync::Arc;

use league_core::machine::{Machine, Persistence};
use league_core::player::{
    Command, DrawProblem, Event, MatchOutcome, MatchRecord, MoveQuestion, Player, PlayerNotice,
    Reply,
};
use league_protocol::fault::Code;
use league_protocol::id::GameType;
use league_protocol::message::{MatchStatus, MoveResponse, Rows};
use league_protocol::secret::Commitment;
use league_protocol::time::Timestamp;
use league_protocol::token::TokenHash;
use serde_json::json;

use league_testkit::player::*;

fn even_odd() -> GameType {
    GameType::new("even_odd").unwrap()
}

fn journal_events() -> Vec<Event> {
    let at = Timestamp::from_millis(1_234);
    vec![
        Event::Enrolled {
            player_id: player("P01"),
            league_id: league(),
            manager: None,
            endpoint: "http://127.0.0.1:8101/mcp".to_owned(),
            at,
        },
        Event::Rejected {
            reason: "Registration closed".to_owned(),
            at,
        },
        Event::Announced {
            round_id: 1,
            match_id: match_id("R1M1"),
            attempt: 1,
            token: TokenHash::of(MATCH_TOKEN),
            referee_token: None,
            commitment: Some(Commitment([7; 32])),
        },
        Event::DrawDisputed {
            match_id: match_id("R1M1"),
            problem: DrawProblem::NonceChanged,
            at,
        },
        Event::Remembered {
            record: Arc::new(MatchRecord {
                league_id: league(),
                round_id: u32::MAX,
                match_id: match_id("R1M1"),
                game_type: even_odd(),
                opponent_id: player("P02"),
                result: MatchOutcome::TechnicalLoss,
                points: 0,
                my_choice: None,
                opponent_choice: Some(json!({ "event": [1.5, null, u64::MAX, i64::MIN] })),
                reason: Some("P01 did not answer in time (E001)".into()),
                failure: Some(Code::Timeout),
                at,
            }),
        },
        Event::LeagueCompleted {
            league_id: league(),
            champion: None,
            at,
        },
    ]
}

fn memory_events() -> Vec<Event> {
    let at = Timestamp::from_millis(1_234);
    let match_id = match_id("R1M1");
    vec![
        Event::ManagerAsked {
            show_token: true,
            number: 1,
            at,
        },
        Event::ManagerSilent {
            code: Code::Timeout,
            retry_at: at,
        },
        Event::TokenDoubted {
            match_id: match_id.clone(),
        },
        Event::Joined {
            match_id: match_id.clone(),
            game_type: even_odd(),
            opponent_id: player("P02"),
            accept: true,
            at,
        },
        Event::Asked {
            match_id: match_id.clone(),
            question: MoveQuestion {
                turn: 1,
                game_type: even_odd(),
                move_type: "choose_parity".into(),
                view: Arc::new(json!(null)),
                options: Arc::new([json!("even")]),
                moves: Arc::new([]),
                signed: false,
                by_rules: false,
            },
        },
        Event::Answered {
            match_id: match_id.clone(),
            turn: 1,
            response: MoveResponse {
                match_id: match_id.clone(),
                player_id: None,
                game_type: even_odd(),
                move_type: None,
                choice: json!("even"),
                nonce: None,
                reasoning: None,
                proof: None,
                model: None,
            }
            .into(),
            fallback: None,
        },
        Event::MoveRefused {
            match_id: match_id.clone(),
        },
        Event::Left { match_id },
        Event::Ranked {
            standings: Rows::from([]),
        },
    ]
}

#[test]
fn every_journal_event_reads_back() {
    for event in journal_events() {
        assert_eq!(Player::keep(&event), Persistence::Journal);
        let line = serde_json::to_string(&event).unwrap();
        assert_eq!(
            serde_json::from_str::<Event>(&line).unwrap(),
            event,
            "{line}"
        );
    }
}

#[test]
fn memory_event_cannot_be_serialised() {
    for event in memory_events() {
        assert_eq!(Player::keep(&event), Persistence::Memory);
        assert!(serde_json::to_string(&event).is_err(), "{event:?}");
    }
}

#[test]
fn journal_line_has_the_documented_form() {
    let [enrolled, _, announced, ..] = &journal_events()[..] else {
        panic!()
    };
    assert_eq!(
        serde_json::to_value(enrolled).unwrap(),
        json!({
            "event": "enrolled",
            "player_id": "P01",
            "league_id": "league_2025_even_odd",
            "endpoint": "http://127.0.0.1:8101/mcp",
            "at": "1970-01-01T00:00:01.234Z",
        })
    );
    assert_eq!(
        serde_json::to_value(announced).unwrap()["event"],
        json!("announced")
    );
}

/// A whole match with every kind of fact; the choice stays unsaid until the end.
fn plays_a_match(shell: &mut PlayerWorld) {
    shell.told(announcement("R1M1")).unwrap();
    shell.does(invited("R1M1", Some(MATCH_TOKEN)));
    let asked = wants(call(shell, "R1M1", 1));
    shell.does(asked);
    shell.does(chooses("R1M1", 1, Some(json!("odd"))));
}

#[test]
fn journal_holds_no_secret() {
    let mut shell = PlayerWorld::enrolled(rules());
    plays_a_match(&mut shell);
    let before_the_end = shell.journal.concat();
    for hidden in ["\"odd\"", NONCE, OWN_TOKEN, MATCH_TOKEN] {
        assert!(
            !before_the_end.contains(hidden),
            "{hidden} in {before_the_end}"
        );
    }
    let end = over("R1M1", 1, MatchStatus::Win, Some("P01"));
    shell.told(PlayerNotice::GameOver(end.into())).unwrap();
    let after_the_end = shell.journal.concat();
    assert!(after_the_end.contains("opponent_choice"));
    for hidden in [NONCE, OWN_TOKEN, MATCH_TOKEN] {
        assert!(
            !after_the_end.contains(hidden),
            "{hidden} in {after_the_end}"
        );
    }
}

#[test]
fn view_holds_no_open_choice_and_no_token() {
    let mut shell = PlayerWorld::enrolled(rules());
    plays_a_match(&mut shell);
    let Reply::State(view) = shell.does(Command::StateWanted) else {
        panic!()
    };
    assert_eq!(view.open_matches, [match_id("R1M1")]);
    assert_eq!(view.player_id, Some(player("P01")));
    let shown = format!("{view:?}");
    for hidden in ["\"odd\"", NONCE, OWN_TOKEN, MATCH_TOKEN] {
        assert!(!shown.contains(hidden), "{hidden} in {shown}");
    }
}

#[test]
fn restart_keeps_history_and_forgets_open_choices() {
    let mut shell = PlayerWorld::enrolled(strict());
    plays_a_match(&mut shell);
    let end = over("R1M1", 1, MatchStatus::Win, Some("P01"));
    shell
        .told(PlayerNotice::GameOver(end.clone().into()))
        .unwrap();
    shell.told(announcement("R2M1")).unwrap();
    shell.does(invited("R2M1", Some(MATCH_TOKEN)));
    let asked = wants(call(&shell, "R2M1", 1));
    shell.does(asked.clone());
    shell.does(chooses("R2M1", 1, Some(json!("odd"))));
    let before = shell.player.view();

    shell.restart();
    let after = shell.player.view();
    assert_eq!(after.statistics, before.statistics);
    assert_eq!(after.history, before.history);
    assert_eq!(after.player_id, Some(player("P01")));
    assert!(after.open_matches.is_empty());
    assert!(shell.player.pending().is_empty());
    assert!(shell.player.memory().opponent(&player("P02")).is_some());

    assert!(shell.tries(chooses("R2M1", 1, None)).is_err());
    assert!(matches!(shell.does(asked), Reply::Think(_)));
    let lines = shell.journal.len();
    shell.told(PlayerNotice::GameOver(end.into())).unwrap();
    assert_eq!(shell.journal.len(), lines);
}

#[test]
fn replaying_a_journal_twice_gives_two_equal_players() {
    let mut shell = PlayerWorld::enrolled(rules());
    plays_a_match(&mut shell);
    let end = over("R1M1", 1, MatchStatus::Win, Some("P01"));
    shell.told(PlayerNotice::GameOver(end.into())).unwrap();
    shell.restart();
    let first = shell.player.clone();
    shell.restart();
    assert_eq!(shell.player, first);
}
