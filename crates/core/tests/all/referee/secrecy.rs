//! Secrets until the end: choices, seeds, tokens.

use league_core::machine::{Machine, Persistence};
use league_core::referee::{Command, Referee, Reply};
use league_protocol::message::{MatchState, Message, StartMatch};
use serde_json::json;

use league_testkit::referee::*;

/// The journal, and how many of its lines were written before the result stood.
fn journal(house: &RefereeWorld) -> (Vec<String>, usize) {
    let decided = house
        .journal
        .iter()
        .position(|line| line.contains("\"decided\""));
    (
        house.journal.clone(),
        decided.unwrap_or(house.journal.len()),
    )
}

#[test]
fn journal_holds_no_choice_or_seed_before_the_result() {
    let seed = seed(&id("R1M1")).to_hex();
    let mut house = RefereeWorld::started(order("R1M1"));
    house.both_join();
    house.choose(1, json!("EVEN"));
    house.wait(2);
    house.choose(1, even());
    house.wait(30);
    house.wait(2);
    house.take();
    house.wait(30);
    house.wait(2);
    house.choose(2, odd());
    let (lines, decided) = journal(&house);
    assert!(decided < lines.len() && decided > 3);
    for line in &lines[..decided] {
        let line = line.to_lowercase();
        for secret in ["\"even\"", "\"odd\"", "`even`", "`odd`", "nonce of", &seed] {
            assert!(!line.contains(secret), "{secret} in {line}");
        }
    }
    assert!(lines[decided].contains("\"even\"") && !lines[decided].contains(&seed));
    house.manager_acknowledges();
    house.play(&mut plain);
    let closed = house.journal.last().unwrap();
    assert!(
        closed.contains(&seed),
        "the manager has opened it: {closed}"
    );
}

#[test]
fn journal_holds_no_token() {
    let mut house = RefereeWorld::started(StartMatch {
        strict: true,
        ..order("R1M1")
    });
    house.play(&mut plain);
    let match_token = match_token(&id("R1M1"), 1);
    for line in &house.journal {
        for secret in [
            token(1).reveal(),
            token(2).reveal(),
            match_token.reveal(),
            "tok-",
        ] {
            assert!(!line.contains(secret), "{line}");
        }
    }
    assert!(house.journal[0].contains(&token(1).hash().to_string()));
}

#[test]
fn debug_output_hides_secrets() {
    let mut house = RefereeWorld::started(order("R1M1"));
    house.both_join();
    house.choose(1, odd());
    let seed = seed(&id("R1M1")).to_hex();
    let printed = format!("{:?} {:?}", house.referee, house.events);
    for secret in ["\"odd\"", "nonce of", "tok-", &seed] {
        assert!(!printed.contains(secret), "{secret}");
    }
}

#[test]
fn memory_events_cannot_be_serialised() {
    let mut house = RefereeWorld::started(order("R1M1"));
    house.play(&mut plain);
    let memory: Vec<_> = house
        .events
        .iter()
        .filter(|event| Referee::keep(event) == Persistence::Memory)
        .collect();
    assert!(memory.len() > 8);
    assert!(
        memory
            .iter()
            .all(|event| serde_json::to_value(event).is_err())
    );
}

#[test]
fn match_state_shows_choices_only_at_the_end() {
    let mut house = RefereeWorld::started(order("R1M1"));
    house.both_join();
    let shown = |house: &mut RefereeWorld| {
        let Ok(Reply::MatchState(view)) = house.tell(Command::MatchState {
            match_id: id("R1M1"),
        }) else {
            panic!()
        };
        *view
    };
    let before = shown(&mut house);
    house.choose(1, even());
    let after = shown(&mut house);
    assert_eq!(before, after, "not even that somebody has chosen");
    assert!(after.moves.is_empty() && after.result.is_none());
    house.choose(2, odd());
    let decided = shown(&mut house);
    assert!(decided.moves.is_empty() && decided.result.is_none());
    house.manager_acknowledges();
    let finished = shown(&mut house);
    assert_eq!(finished.state, MatchState::Finished);
    assert_eq!(finished.result.unwrap().choices[&player(2)], odd());
}

#[test]
fn manual_match_hides_number_and_choices_until_the_last_step() {
    let mut house = RefereeWorld::started(StartMatch {
        mode: league_protocol::message::Mode::Manual,
        ..order("R1M1")
    });
    house.both_join();
    house
        .tell(Command::CollectChoices {
            match_id: id("R1M1"),
            token: None,
        })
        .unwrap();
    house.choose(1, even());
    house.choose(2, odd());
    house
        .tell(Command::DrawNumber {
            match_id: id("R1M1"),
            token: None,
        })
        .unwrap();
    house.manager_draws();
    let view = house.referee.view(&id("R1M1")).unwrap();
    assert_eq!(view.state, MatchState::DrawingNumber);
    assert!(view.moves.is_empty() && view.result.is_none());
    assert!(house.out.is_empty());
}

#[test]
fn open_moves_are_shown_at_once() {
    let mut house = RefereeWorld::started(tic_tac_toe("R1M1"));
    house.both_join();
    let letter = house.only(1, "GAME_MOVE_CALL");
    house.hear(&letter, chosen(&letter, json!(4))).unwrap();
    let view = house.referee.view(&id("R1M1")).unwrap();
    assert_eq!(view.moves, [(player(1), json!(4))]);
}

#[test]
fn no_letter_reveals_the_opponents_choice_early() {
    let mut house = RefereeWorld::started(order("R1M1"));
    house.both_join();
    house.choose(1, even());
    house.wait(30);
    for letter in house.take() {
        if let Message::MoveCall(call) = &letter.message {
            assert_eq!(call.view["opponent_choice"], json!(null));
        }
        assert!(!matches!(letter.message, Message::GameOver(_)));
    }
}

#[test]
fn refused_answer_is_quoted_to_its_player_only() {
    let mut house = RefereeWorld::started(order("R1M1"));
    house.both_join();
    house.choose(1, json!("perhaps"));
    let Message::GameError(error) = house.only(1, "GAME_ERROR").message else {
        panic!()
    };
    assert!(error.detail.contains("perhaps"), "{}", error.detail);
    assert!(house.journal.iter().all(|line| !line.contains("perhaps")));
}
