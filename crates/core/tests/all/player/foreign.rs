//! Leagues of other people: managers without tokens, referees with habits of their own, and the
//! first protocol, which has neither tokens nor announcements of matches.

use std::sync::Arc;
use std::time::Duration;

use league_core::letter::Peer;
use league_core::player::{
    Command, LATE_THOUGHT, MatchOutcome, PlayerNotice, PlayerPhase, PlayerRules, Refusal, Reply,
    Think,
};
use league_protocol::fault::Code;
use league_protocol::id::{GameType, LeagueId, PlayerId};
use league_protocol::message::{LeagueCompleted, MatchStatus, Message, RegisterResponse, Rows};
use league_protocol::sender::Dialect;
use league_protocol::time::Timestamp;
use league_protocol::token::TokenHash;
use serde_json::json;

use league_testkit::player::*;

fn first_protocol(rules: PlayerRules) -> PlayerRules {
    let manager = Peer {
        dialect: Dialect::V1,
        ..(*rules.manager).clone()
    };
    PlayerRules {
        manager: Arc::new(manager),
        ..rules
    }
}

/// Sits down in a match, by an invitation without a token.
fn joins(shell: &mut PlayerWorld, id: &str) {
    let reply = shell.does(invited(id, None));
    assert!(matches!(reply, Reply::Joined(ack) if ack.accept));
}

fn thinks(reply: Reply) -> Think {
    match reply {
        Reply::Think(think) => *think,
        other => panic!("{other:?}"),
    }
}

#[test]
fn strict_player_of_the_first_protocol_plays_without_announcements() {
    let mut shell = PlayerWorld::enrolled(first_protocol(strict()));
    joins(&mut shell, "R1M1");
    let mut second = PlayerWorld::enrolled(strict());
    let refusal = second.tries(invited("R1M1", None)).unwrap_err();
    assert!(matches!(refusal, Refusal::NotAnnounced { .. }));
}

#[test]
fn opponent_named_only_in_the_invitation_is_remembered() {
    let mut shell = PlayerWorld::enrolled(first_protocol(rules()));
    joins(&mut shell, "R1M1");
    let mut question = call(&shell, "R1M1", 1);
    question.opponent_id = PlayerId::unknown();
    let think = thinks(shell.does(wants(question)));
    assert_eq!(think.opponent_id, player("P02"));
    shell.does(chooses("R1M1", 1, Some(json!("odd"))));
    let end = over("R1M1", 1, MatchStatus::Win, Some("P01"));
    let end = changed(end, |result| {
        result.players[1] = PlayerId::unknown();
        let chosen = result.choices.iter().map(|(who, choice)| {
            let named = (*who != player("P02")).then(|| who.clone());
            (named.unwrap_or(PlayerId::unknown()), choice.clone())
        });
        result.choices = chosen.collect();
    });
    shell.told(PlayerNotice::GameOver(end.into())).unwrap();
    let view = shell.player.view();
    let record = &view.history[0];
    assert_eq!(record.opponent_id, player("P02"));
    assert_eq!(record.opponent_choice, Some(json!("odd")));
    assert_eq!(record.result, MatchOutcome::Win);
}

#[test]
fn unnamed_opponent_is_played() {
    let mut shell = PlayerWorld::enrolled(rules());
    let mut question = call(&shell, "R1M1", 1);
    question.opponent_id = PlayerId::unknown();
    let think = thinks(shell.does(wants(question)));
    assert!(think.opponent_id.is_unknown());
    assert_eq!(think.opponent, None);
}

#[test]
fn past_deadline_leaves_time_to_choose() {
    let mut shell = PlayerWorld::enrolled(rules());
    let mut question = call(&shell, "R1M1", 1);
    question.deadline = Timestamp::from_millis(0);
    let now = shell.now;
    let think = thinks(shell.does(wants(question)));
    assert!(think.until > now, "{:?}", think.until);
    assert!(think.until <= now + LATE_THOUGHT);
    let reply = shell.does(chooses("R1M1", 1, Some(json!("odd"))));
    let Reply::Move { response, fallback } = reply else {
        panic!("{reply:?}");
    };
    assert_eq!((&response.choice, fallback), (&json!("odd"), None));
}

#[test]
fn near_deadline_is_kept() {
    let mut shell = PlayerWorld::enrolled(rules());
    let mut question = call(&shell, "R1M1", 1);
    let near = shell.now + Duration::from_millis(500);
    question.deadline = near;
    assert!(thinks(shell.does(wants(question))).until < near);
}

#[test]
fn unguarded_player_accepts_other_spellings_of_a_game() {
    let mut shell = PlayerWorld::enrolled(rules());
    let spelled = |name: &str| {
        let mut invitation = invitation("R1M1");
        invitation.game_type = GameType::new(name).unwrap();
        Command::Invited {
            invitation: Box::new(invitation),
            token: Some(TokenHash::of(MATCH_TOKEN)),
        }
    };
    for name in ["EVEN_ODD", "even-odd", "EvenOdd"] {
        let reply = shell.does(spelled(name));
        assert!(matches!(reply, Reply::Joined(ack) if ack.accept), "{name}");
        let mut question = call(&shell, "R1M1", 1);
        question.game_type = GameType::new(name).unwrap();
        match shell.does(wants(question)) {
            Reply::Think(think) => assert_eq!(think.game_type.as_str(), "even_odd"),
            other => panic!("{other:?}"),
        }
    }
    let reply = shell.does(spelled("chess"));
    assert!(matches!(reply, Reply::Joined(ack) if !ack.accept));
    let mut guarded = PlayerWorld::enrolled(strict());
    guarded.told(announcement("R1M1")).unwrap();
    let reply = guarded.does(spelled("EVEN_ODD"));
    assert!(matches!(reply, Reply::Joined(ack) if !ack.accept));
}

#[test]
fn unguarded_player_accepts_another_league_name() {
    let mut shell = PlayerWorld::enrolled(rules());
    let end = PlayerNotice::LeagueCompleted(
        LeagueCompleted {
            league_id: LeagueId::new("their_name_for_it").unwrap(),
            total_rounds: 1,
            total_matches: 1,
            champion: None,
            final_standings: Rows::from([]),
        }
        .into(),
    );
    let told = shell.tries(Command::Told {
        news: end.clone(),
        token: None,
    });
    assert_eq!(told, Ok(Reply::Acknowledged));
    assert_eq!(shell.player.phase(), PlayerPhase::Completed);
    let lines = shell.journal.len();
    shell.told(end).unwrap();
    assert_eq!(shell.journal.len(), lines, "the end is noted once");
}

#[test]
fn nonsensical_result_is_acknowledged_and_ignored() {
    let senseless = [
        changed(over("R1M1", 1, MatchStatus::Win, Some("P02")), |result| {
            result.players = [player("P07"), player("P08")];
        }),
        over("R1M1", 1, MatchStatus::Win, None),
        over("R9M9", 9, MatchStatus::Draw, None),
    ];
    for end in senseless {
        let mut shell = PlayerWorld::enrolled(rules());
        joins(&mut shell, "R1M1");
        let told = shell.told(PlayerNotice::GameOver(end.clone().into()));
        assert_eq!(told, Ok(Reply::Acknowledged));
        assert_eq!(shell.player.view().statistics.total_matches, 0);
        // A match that was announced with a token is another matter.
        let mut shell = PlayerWorld::enrolled(rules());
        shell.told(announcement("R1M1")).unwrap();
        if end.match_id == match_id("R1M1") {
            assert!(shell.told(PlayerNotice::GameOver(end.into())).is_err());
        }
    }
}

#[test]
fn acknowledging_manager_may_answer_by_a_call() {
    let mut shell = PlayerWorld::new(rules());
    let response = match accepted("P01") {
        Message::PlayerRegisterResponse(response) => response,
        other => panic!("{other:?}"),
    };
    let by = |answers_us| Command::Admitted {
        response: response.clone(),
        answers_us,
    };
    let brought = || by(true);
    shell.does(begin());
    let refusal = shell.tries(brought()).unwrap_err();
    assert_eq!(refusal.to_league_error().code, Code::OutOfTurn);
    let nod = shell.answers(Message::Acknowledged);
    assert_eq!(nod, Reply::Acknowledged);
    assert_eq!(shell.player.phase(), PlayerPhase::Registering);
    let refusal = shell.tries(by(false)).unwrap_err();
    assert_eq!(refusal.to_league_error().code, Code::OutOfTurn);
    assert_eq!(
        shell.player.phase(),
        PlayerPhase::Registering,
        "somebody else's"
    );
    assert_eq!(shell.does(brought()), granted());
    assert_eq!(shell.player.phase(), PlayerPhase::Enrolled);
    let lines = shell.journal.len();
    assert_eq!(shell.does(brought()), Reply::Acknowledged);
    assert_eq!(shell.journal.len(), lines, "only once");
}

#[test]
fn acknowledgement_alone_does_not_admit() {
    let mut shell = PlayerWorld::new(rules());
    shell.does(begin());
    shell.answers(Message::Acknowledged);
    let letters = shell.letters.len();
    shell.sleeps();
    assert_eq!(shell.letters.len(), letters + 1);
}

#[test]
fn call_cannot_reject_a_player() {
    let mut shell = PlayerWorld::new(rules());
    shell.does(begin());
    shell.answers(Message::Acknowledged);
    let rejected = Command::Admitted {
        response: RegisterResponse::Rejected {
            reason: "full".to_owned(),
        },
        answers_us: true,
    };
    assert!(shell.tries(rejected).is_err());
    assert_eq!(shell.player.phase(), PlayerPhase::Registering);
}

#[test]
fn only_a_strict_player_compares_ids_by_case() {
    for (rules, taken) in [(rules(), true), (strict(), false)] {
        let mut shell = PlayerWorld::enrolled(rules);
        shell.told(announcement("R1M1")).unwrap();
        shell.does(invited("R1M1", Some(MATCH_TOKEN)));
        let mut call = call(&shell, "R1M1", 1);
        call.player_id = player("p01");
        assert_eq!(shell.tries(wants(call)).is_ok(), taken);
    }
}

#[test]
fn strict_player_refuses_an_answer_by_a_call() {
    let mut shell = PlayerWorld::new(strict());
    shell.does(begin());
    shell.answers(Message::Acknowledged);
    let Message::PlayerRegisterResponse(response) = accepted("P01") else {
        panic!("an answer to a registration");
    };
    let admitted = Command::Admitted {
        response,
        answers_us: true,
    };
    assert!(shell.tries(admitted).is_err());
}
