//! Proofs of joins and moves, attempts at a match, and the question whether a referee has called.

use std::sync::Arc;

use league_core::draw;
use league_core::player::{Command, DrawProblem, Event, PlayerNotice, Refusal, Reply};
use league_protocol::fault::Code;
use league_protocol::id::GameType;
use league_protocol::message::{
    CallQuery, Enrolment, Evidence, GameError, GameJoinAck, GameOver, MatchState, MatchStatus,
    Message, ModelUse, MoveCall, MoveResponse, PlayerEvidence, RegisterResponse, SignedMove,
};
use league_protocol::secret::ProofKey;
use league_protocol::sender::Dialect;
use league_protocol::token::{AuthToken, TokenHash};
use serde_json::{Value, json};

use league_testkit::player::*;

const RETURN: &str = "tok-return-secret";
const MANAGER: &str = "tok-manager-secret";
const LATER: &str = "tok-r1m1-later-secret";

fn admitted(league_id: &str, return_token: Option<&str>) -> Message {
    Message::PlayerRegisterResponse(RegisterResponse::from(Enrolment {
        id: player("P01"),
        token: AuthToken::new(OWN_TOKEN),
        league_id: league_protocol::id::LeagueId::new(league_id).unwrap(),
        manager_token: Some(AuthToken::new(MANAGER)),
        return_token: return_token.map(AuthToken::new),
        note: None,
    }))
}

/// A player that holds a return token and was told of a match.
fn signing() -> PlayerWorld {
    let mut shell = PlayerWorld::new(rules());
    shell.does(begin());
    shell.answers(admitted(league().as_str(), Some(RETURN)));
    announce(&mut shell, announcement("R1M1")).unwrap();
    shell
}

#[test]
fn player_that_starts_after_the_end_signs_if_a_manager_has_lost_the_end() {
    let mut shell = PlayerWorld::new(rules());
    shell.does(begin());
    shell.answers(admitted(league().as_str(), None));
    announce(&mut shell, announcement("R1M1")).unwrap();
    let return_token = Some(AuthToken::new(RETURN));
    shell.does(Command::Rest { return_token });
    let joined = joins(&mut shell, MATCH_TOKEN);
    assert!(joined.proof.is_some(), "{joined:?}");
}

fn announce(shell: &mut PlayerWorld, news: PlayerNotice) -> Result<Reply, Refusal> {
    let token = Some(TokenHash::of(MANAGER));
    shell.tries(Command::Told { news, token })
}

fn key(attempt: u32) -> ProofKey {
    draw::proof_key(
        &AuthToken::new(RETURN),
        &league(),
        &match_id("R1M1"),
        attempt,
    )
}

fn joins(shell: &mut PlayerWorld, token: &str) -> GameJoinAck {
    match shell.does(invited("R1M1", Some(token))) {
        Reply::Joined(ack) => *ack,
        other => panic!("{other:?}"),
    }
}

fn wanted(call: MoveCall, token: &str) -> Command {
    Command::MoveWanted {
        call: Box::new(call),
        token: Some(TokenHash::of(token)),
    }
}

/// Asks for a move and answers with this choice and nonce.
fn moves(shell: &mut PlayerWorld, call: MoveCall, token: &str, choice: Value) -> MoveResponse {
    let turn = call.turn_number;
    let asked = shell.does(wanted(call, token));
    assert!(matches!(asked, Reply::Think(_)), "{asked:?}");
    match shell.does(chooses("R1M1", turn, Some(choice))) {
        Reply::Move { response, .. } => (*response).clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn registration_says_that_the_player_signs_where_the_dialect_can() {
    for (dialect, signs) in [
        (Dialect::V2, true),
        (Dialect::V2Api, true),
        (Dialect::V1, false),
    ] {
        let mut rules = rules();
        Arc::make_mut(&mut rules.manager).dialect = dialect;
        let mut shell = PlayerWorld::new(rules);
        shell.does(begin());
        let Message::PlayerRegisterRequest(request) = &shell.letters[0].message else {
            panic!("it registers")
        };
        assert_eq!(request.meta.proofs, signs, "{dialect}");
    }
}

#[test]
fn join_and_move_are_signed() {
    let mut shell = signing();
    let ack = joins(&mut shell, MATCH_TOKEN);
    assert_eq!(ack.proof, Some(draw::join_proof(&key(1))));
    assert_eq!(joins(&mut shell, MATCH_TOKEN), ack, "it repeats itself");
    let asked = call(&shell, "R1M1", 1);
    let response = moves(&mut shell, asked, MATCH_TOKEN, json!("odd"));
    let proof = draw::proof(&key(1), 1, [], &json!("odd"), Some(NONCE));
    assert_eq!(response.proof, Some(proof));
}

#[test]
fn only_a_player_that_signs_tells_of_its_model() {
    let told = ModelUse {
        model: "stub".to_owned(),
        ..ModelUse::default()
    };
    let chosen = |mut shell: PlayerWorld, token: &str| {
        let asked = call(&shell, "R1M1", 1);
        shell.does(wanted(asked, token));
        let Command::Chosen {
            match_id,
            turn,
            choice,
            nonce,
            reasoning,
            ..
        } = chooses("R1M1", 1, Some(json!("odd")))
        else {
            panic!("it chooses")
        };
        let model = Some(Box::new(told.clone()));
        let reply = shell.does(Command::Chosen {
            match_id,
            turn,
            choice,
            nonce,
            reasoning,
            model,
        });
        match reply {
            Reply::Move { response, .. } => (*response).clone(),
            other => panic!("{other:?}"),
        }
    };
    let mut shell = signing();
    joins(&mut shell, MATCH_TOKEN);
    assert_eq!(chosen(shell, MATCH_TOKEN).model.as_deref(), Some(&told));
    let mut unsigned = PlayerWorld::new(rules());
    unsigned.does(begin());
    unsigned.answers(admitted(league().as_str(), None));
    announce(&mut unsigned, announcement("R1M1")).unwrap();
    let response = chosen(unsigned, MATCH_TOKEN);
    assert_eq!((response.proof, response.model), (None, None));
}

#[test]
fn proof_of_a_move_covers_the_moves_before_it() {
    let mut rules = rules();
    rules.games = vec![GameType::new("tic_tac_toe").unwrap()];
    let mut shell = PlayerWorld::new(rules);
    shell.does(begin());
    shell.answers(admitted(league().as_str(), Some(RETURN)));
    announce(&mut shell, announcement("R1M1")).unwrap();
    let made = |by: &str, choice: Value| SignedMove {
        player_id: player(by),
        choice,
        nonce: None,
        proof: None,
        model: None,
    };
    let asked = MoveCall {
        game_type: GameType::new("tic_tac_toe").unwrap(),
        options: Arc::new([json!(2)]),
        moves: Arc::new([made("P01", json!(0)), made("P02", json!(4))]),
        ..call(&shell, "R1M1", 2)
    };
    let response = moves(&mut shell, asked.clone(), MATCH_TOKEN, json!(2));
    let (one, two) = (player("P01"), player("P02"));
    let (first, second) = (json!(0), json!(4));
    let history = [(&one, &first), (&two, &second)];
    let proof = draw::proof(&key(1), 2, history, &json!(2), Some(NONCE));
    assert_eq!(response.proof, Some(proof));
    let other = MoveCall {
        moves: Arc::new([made("P01", json!(1)), made("P02", json!(4))]),
        ..asked
    };
    let reply = shell.does(wanted(other, MATCH_TOKEN));
    assert!(matches!(reply, Reply::Think(_)), "it is another question");
}

/// A signing player of tic-tac-toe that is asked for its second move, after 0 and 4.
fn second_move() -> (PlayerWorld, MoveCall) {
    let game_type = GameType::new("tic_tac_toe").unwrap();
    let mut rules = rules();
    rules.games = vec![game_type.clone()];
    let mut shell = PlayerWorld::new(rules);
    shell.does(begin());
    shell.answers(admitted(league().as_str(), Some(RETURN)));
    announce(&mut shell, announcement("R1M1")).unwrap();
    let made = |by: &str, choice: Value| SignedMove {
        player_id: player(by),
        choice,
        nonce: None,
        proof: None,
        model: None,
    };
    let board = json!(["X", null, null, null, "O", null, null, null, null]);
    let asked = MoveCall {
        game_type,
        options: [1, 2, 3, 5, 6, 7, 8].map(Value::from).to_vec().into(),
        view: Arc::new(json!({ "board": board, "your_mark": "X", "next_mark": "X" })),
        moves: Arc::new([made("P01", json!(0)), made("P02", json!(4))]),
        ..call(&shell, "R1M1", 2)
    };
    (shell, asked)
}

fn false_questions(shell: &PlayerWorld) -> usize {
    let disputed = shell.player.view().disputed;
    let is_false = |problem: &DrawProblem| *problem == DrawProblem::FalseQuestion;
    disputed.iter().filter(|(_, found)| is_false(found)).count()
}

#[test]
fn signing_player_chooses_by_the_rules_and_not_by_what_it_is_shown() {
    let (_, honest) = second_move();
    let fewer = MoveCall {
        options: Arc::new([json!(1)]),
        ..honest.clone()
    };
    let other_board = MoveCall {
        view: Arc::new(json!({ "board": [null], "your_mark": "O", "next_mark": "O" })),
        ..honest.clone()
    };
    for (asked, lies) in [(honest.clone(), 0), (fewer, 1), (other_board, 1)] {
        let (mut shell, _) = second_move();
        let Reply::Think(think) = shell.does(wanted(asked.clone(), MATCH_TOKEN)) else {
            panic!("it thinks")
        };
        assert_eq!(
            (&think.options, &think.view),
            (&honest.options, &honest.view)
        );
        assert_eq!(false_questions(&shell), lies);
        let Reply::Move { response, .. } = shell.does(chooses("R1M1", 2, Some(json!(8)))) else {
            panic!("it moves")
        };
        assert_eq!(response.choice, json!(8));
    }
}

#[test]
fn signing_player_repeats_its_move_whatever_the_referee_changes() {
    let (mut shell, asked) = second_move();
    let first = moves(&mut shell, asked.clone(), MATCH_TOKEN, json!(8));
    let refused = PlayerNotice::GameError(Box::new(GameError {
        league_id: league(),
        round_id: 1,
        match_id: match_id("R1M1"),
        player_id: player("P01"),
        code: Code::InvalidMove,
        detail: "no".to_owned(),
        action_required: "GAME_MOVE_RESPONSE",
        state: MatchState::CollectingChoices,
        retry_count: 1,
        max_retries: 3,
        next_retry_at: None,
    }));
    let token = Some(TokenHash::of(MATCH_TOKEN));
    shell.does(Command::Told {
        news: refused,
        token,
    });
    let changed = MoveCall {
        options: Arc::new([json!(1)]),
        view: Arc::new(json!(null)),
        ..asked.clone()
    };
    for again in [asked, changed] {
        let reply = shell.does(wanted(again, MATCH_TOKEN));
        let Reply::Move { response, .. } = reply else {
            panic!("{reply:?}")
        };
        assert_eq!(*response, first);
    }
}

#[test]
fn signing_player_refuses_moves_that_no_game_has() {
    let (_, honest) = second_move();
    let twice = [honest.moves[0].clone(), honest.moves[0].clone()];
    let none: [SignedMove; 0] = [];
    for moves in [twice.to_vec(), none.to_vec(), honest.moves[..1].to_vec()] {
        let (mut shell, _) = second_move();
        let asked = MoveCall {
            moves: moves.into(),
            ..honest.clone()
        };
        let answer = shell.tries(wanted(asked, MATCH_TOKEN));
        let Err(refusal) = answer else {
            panic!("{answer:?}")
        };
        assert!(matches!(refusal, Refusal::ImpossibleMoves { .. }));
        assert_eq!(false_questions(&shell), 1);
    }
}

#[test]
fn options_that_the_registry_lists_are_not_narrowed() {
    let mut shell = signing();
    let asked = MoveCall {
        options: Arc::new([json!("even")]),
        view: Arc::new(json!({ "lowest": 0, "highest": 99 })),
        ..call(&shell, "R1M1", 1)
    };
    let view = Arc::clone(&asked.view);
    let Reply::Think(think) = shell.does(wanted(asked, MATCH_TOKEN)) else {
        panic!("it thinks")
    };
    assert_eq!(*think.options, [json!("even"), json!("odd")]);
    assert_eq!(think.view, view, "the range is the league's");
    assert_eq!(false_questions(&shell), 1);
}

#[test]
fn declined_invitation_is_not_signed() {
    let mut rules = rules();
    rules.games.clear();
    let mut shell = PlayerWorld::new(rules);
    shell.does(begin());
    shell.answers(admitted(league().as_str(), Some(RETURN)));
    announce(&mut shell, announcement("R1M1")).unwrap();
    let ack = joins(&mut shell, MATCH_TOKEN);
    assert_eq!((ack.accept, ack.proof), (false, None));
}

#[test]
fn player_without_a_return_token_does_not_sign() {
    let mut shell = PlayerWorld::enrolled(rules());
    shell.told(announcement("R1M1")).unwrap();
    assert_eq!(joins(&mut shell, MATCH_TOKEN).proof, None);
    let asked = call(&shell, "R1M1", 1);
    let response = moves(&mut shell, asked, MATCH_TOKEN, json!("odd"));
    assert_eq!(response.proof, None);
}

#[test]
fn return_token_is_in_no_journal_and_no_debug_output() {
    let mut shell = signing();
    joins(&mut shell, MATCH_TOKEN);
    let kept = Event::ReturnTokenKept {
        token: AuthToken::new(RETURN),
    };
    assert!(serde_json::to_string(&kept).is_err());
    let printed = format!("{:?} {:?} {kept:?}", shell.player, shell.events);
    assert!(!printed.contains(RETURN), "{printed}");
    assert!(!shell.journal.concat().contains(RETURN));
}

#[test]
fn return_token_of_earlier_days_signs_after_a_restart() {
    let mut shell = signing();
    let before = joins(&mut shell, MATCH_TOKEN).proof;
    shell.restart();
    assert_eq!(joins(&mut shell, MATCH_TOKEN).proof, None);
    shell.restart();
    shell.does(Command::Begin {
        return_token: Some(AuthToken::new(RETURN)),
    });
    assert_eq!(joins(&mut shell, MATCH_TOKEN).proof, before);
}

#[test]
fn another_league_does_not_get_the_old_token() {
    let mut shell = signing();
    shell.does(Command::TokenRefused);
    shell.answers(admitted("league_2026", None));
    let mut again = announcement("R1M1");
    if let PlayerNotice::RoundAnnouncement(round) = &mut again {
        Arc::make_mut(round).league_id = shell.player.league_id().unwrap().clone();
    }
    announce(&mut shell, again).unwrap();
    assert_eq!(joins(&mut shell, MATCH_TOKEN).proof, None);
}

#[test]
fn higher_attempt_replaces_all_of_a_lower_one() {
    let mut shell = signing();
    joins(&mut shell, MATCH_TOKEN);
    let asked = call(&shell, "R1M1", 1);
    let first = moves(&mut shell, asked.clone(), MATCH_TOKEN, json!("odd"));
    announce(&mut shell, announced("R1M1", 2, LATER)).unwrap();
    let stale = shell.tries(invited("R1M1", Some(MATCH_TOKEN)));
    assert!(matches!(stale, Err(Refusal::WrongToken { .. })));
    let ack = joins(&mut shell, LATER);
    assert_eq!(ack.proof, Some(draw::join_proof(&key(2))));
    let second = moves(&mut shell, asked, LATER, json!("even"));
    assert_eq!(second.choice, json!("even"), "it chooses afresh");
    let proof = draw::proof(&key(2), 1, [], &json!("even"), Some(NONCE));
    assert_eq!(second.proof, Some(proof));
    assert_ne!(first.proof, second.proof);
    shell.restart();
    let stale = shell.tries(invited("R1M1", Some(MATCH_TOKEN)));
    assert!(stale.is_err(), "the journal knows the attempt");
}

#[test]
fn higher_attempt_with_the_same_token_is_one_of_its_own() {
    let mut shell = signing();
    let asked = call(&shell, "R1M1", 1);
    moves(&mut shell, asked.clone(), MATCH_TOKEN, json!("odd"));
    announce(&mut shell, announced("R1M1", 2, MATCH_TOKEN)).unwrap();
    let again = moves(&mut shell, asked, MATCH_TOKEN, json!("even"));
    assert_eq!(again.choice, json!("even"));
}

#[test]
fn lower_attempt_is_acknowledged_and_ignored() {
    let mut shell = signing();
    announce(&mut shell, announced("R1M1", 3, LATER)).unwrap();
    let lines = shell.journal.len();
    let told = announce(&mut shell, announced("R1M1", 2, MATCH_TOKEN));
    assert_eq!(told, Ok(Reply::Acknowledged));
    assert!(shell.events.is_empty() && shell.journal.len() == lines);
    assert!(shell.tries(invited("R1M1", Some(LATER))).is_ok());
}

#[test]
fn same_attempt_keeps_its_token() {
    let mut shell = signing();
    announce(&mut shell, announced("R1M1", 2, LATER)).unwrap();
    let forged = announce(&mut shell, announced("R1M1", 2, MATCH_TOKEN));
    assert!(matches!(forged, Err(Refusal::AnnouncedOtherwise { .. })));
}

fn asked_by(shell: &mut PlayerWorld, attempt: u32, token: Option<&str>) -> Result<Reply, Refusal> {
    shell.tries(Command::CallQueried {
        query: Box::new(CallQuery {
            league_id: league(),
            match_id: match_id("R1M1"),
            attempt,
        }),
        token: token.map(TokenHash::of),
    })
}

fn called(shell: &mut PlayerWorld, attempt: u32) -> bool {
    let reply = asked_by(shell, attempt, Some(MANAGER)).unwrap();
    match reply.into_message() {
        Some(Message::CallQueryResponse(response)) => {
            assert_eq!(response.match_id, match_id("R1M1"));
            assert_eq!(response.attempt, attempt);
            response.called
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn uncalled_player_denies_the_call() {
    let mut shell = signing();
    assert!(!called(&mut shell, 1));
    assert!(shell.tries(invited("R1M1", Some("forged"))).is_err());
    assert!(!called(&mut shell, 1), "a forged call is not a call");
}

#[test]
fn invitation_or_request_for_a_move_is_a_call() {
    let mut shell = signing();
    joins(&mut shell, MATCH_TOKEN);
    assert!(called(&mut shell, 1));
    let mut shell = signing();
    let asked = wants(call(&shell, "R1M1", 1));
    shell.does(asked);
    assert!(called(&mut shell, 1));
}

#[test]
fn each_attempt_has_its_own_calls() {
    let mut shell = signing();
    joins(&mut shell, MATCH_TOKEN);
    announce(&mut shell, announced("R1M1", 2, LATER)).unwrap();
    assert!(!called(&mut shell, 2));
    assert!(called(&mut shell, 1), "of the old one it knows nothing");
    assert!(called(&mut shell, 3), "nor of one that was not announced");
}

#[test]
fn restarted_player_denies_no_call() {
    let mut shell = signing();
    shell.restart();
    assert!(called(&mut shell, 1));
    announce(&mut shell, announcement("R1M1")).unwrap();
    assert!(called(&mut shell, 1), "a call may have come before");
    announce(&mut shell, announced("R1M1", 2, LATER)).unwrap();
    assert!(!called(&mut shell, 2));
}

#[test]
fn only_the_manager_learns_of_calls() {
    let mut shell = signing();
    let refused = asked_by(&mut shell, 1, Some(MATCH_TOKEN));
    assert_eq!(refused, Err(Refusal::WrongManagerToken));
    let refused = asked_by(&mut shell, 1, None);
    assert_eq!(refused, Err(Refusal::NoManagerToken));
}

#[test]
fn end_told_by_the_manager_with_the_match_token_counts() {
    let mut shell = signing();
    joins(&mut shell, MATCH_TOKEN);
    let over = over("R1M1", 1, MatchStatus::Win, Some("P01"));
    shell.told(PlayerNotice::GameOver(over.into())).unwrap();
    assert_eq!(shell.player.view().statistics.wins, 1);
}

/// A player that moved, and the end of its match with this evidence.
fn ended(change: impl FnOnce(&mut Evidence)) -> Vec<DrawProblem> {
    ended_at(1, change)
}

/// The same for a match at this attempt.
fn ended_at(attempt: u32, change: impl FnOnce(&mut Evidence)) -> Vec<DrawProblem> {
    let mut shell = signing();
    let news = announced("R1M1", attempt, MATCH_TOKEN);
    announce(&mut shell, news).unwrap();
    joins(&mut shell, MATCH_TOKEN);
    let asked = call(&shell, "R1M1", 1);
    let response = moves(&mut shell, asked, MATCH_TOKEN, json!("even"));
    let mut evidence = Evidence {
        players: vec![PlayerEvidence {
            player_id: player("P01"),
            join: None,
            key: Some(key(attempt)),
        }],
        moves: vec![
            SignedMove {
                player_id: player("P02"),
                choice: json!("odd"),
                nonce: None,
                proof: None,
                model: None,
            },
            SignedMove {
                player_id: player("P01"),
                choice: response.choice.clone(),
                nonce: response.nonce.clone(),
                proof: response.proof,
                model: None,
            },
        ],
    };
    change(&mut evidence);
    let over: GameOver = changed(over("R1M1", 1, MatchStatus::Win, Some("P01")), |result| {
        result.evidence = evidence;
    });
    shell.told(PlayerNotice::GameOver(over.into())).unwrap();
    let disputed = shell.player.view().disputed;
    disputed.into_iter().map(|(_, problem)| problem).collect()
}

#[test]
fn honest_evidence_is_not_disputed() {
    assert_eq!(ended(|_| {}), []);
    assert_eq!(ended(|evidence| *evidence = Evidence::default()), []);
}

#[test]
fn key_of_an_earlier_attempt_is_not_disputed() {
    for key_of in [1, 2, 3] {
        let shown = |evidence: &mut Evidence| evidence.players[0].key = Some(key(key_of));
        assert_eq!(ended_at(3, shown), [], "{key_of}");
    }
    let later = |evidence: &mut Evidence| evidence.players[0].key = Some(key(4));
    assert_eq!(ended_at(3, later), [DrawProblem::KeyChanged]);
}

#[test]
fn changed_or_missing_move_is_disputed() {
    let changed = [DrawProblem::MoveChanged];
    assert_eq!(
        ended(|evidence| evidence.moves[1].choice = json!("odd")),
        changed
    );
    assert_eq!(
        ended(|evidence| evidence.moves[1].nonce = Some("invented".to_owned())),
        changed
    );
    assert_eq!(ended(|evidence| evidence.moves.truncate(1)), changed);
}

#[test]
fn key_of_another_is_disputed() {
    assert_eq!(
        ended(|evidence| evidence.players[0].key = Some(key(2))),
        [DrawProblem::KeyChanged]
    );
}

#[test]
fn referee_may_show_its_own_token_if_the_manager_announced_its_hash() {
    let own = "tok-ref01-secret";
    let mut shell = signing();
    let told = |attempt, own: Option<&str>| {
        let news = announced("R1M1", attempt, LATER);
        let PlayerNotice::RoundAnnouncement(mut round) = news else {
            panic!("{news:?}")
        };
        let announced = Arc::make_mut(&mut round).own.as_mut().unwrap();
        announced.referee_token = own.map(TokenHash::of);
        PlayerNotice::RoundAnnouncement(round)
    };
    let refused = shell.tries(invited("R1M1", Some(own)));
    assert!(matches!(refused, Err(Refusal::WrongToken { .. })));
    announce(&mut shell, told(2, Some(own))).unwrap();
    assert!(joins(&mut shell, own).accept);
    let asked = call(&shell, "R1M1", 1);
    let choice = moves(&mut shell, asked, own, json!("odd"));
    assert_eq!(choice.choice, "odd");
    // A referee that came back has another one, and so has the next attempt.
    announce(&mut shell, told(2, Some("tok-ref01-fresh"))).unwrap();
    assert!(shell.tries(invited("R1M1", Some(own))).is_err());
    assert!(joins(&mut shell, "tok-ref01-fresh").accept);
    shell.restart();
    assert!(joins(&mut shell, "tok-ref01-fresh").accept);
    announce(&mut shell, told(3, None)).unwrap();
    assert!(
        shell
            .tries(invited("R1M1", Some("tok-ref01-fresh")))
            .is_err()
    );
}
