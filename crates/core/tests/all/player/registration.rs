//! Getting into the league and staying in it.

use std::time::Duration;

use league_core::letter::{Credential, PeerAnswer};
use league_core::machine::Machine;
use league_core::player::{
    Command, CorrelationId, Event, MAX_REASON, PlayerNotice, PlayerPhase, PlayerRules, Reply,
};
use league_protocol::fault::Code;
use league_protocol::id::LeagueId;
use league_protocol::message::{
    GameError, LeagueError, MatchState, MatchStatus, Message, RegisterResponse,
};

use league_testkit::player::*;

fn refused(code: Code) -> Message {
    Message::from(LeagueError::new(code, "no"))
}

fn rejected(reason: &str) -> Message {
    Message::PlayerRegisterResponse(RegisterResponse::Rejected {
        reason: reason.to_owned(),
    })
}

#[test]
fn starting_player_registers() {
    let mut shell = PlayerWorld::new(rules());
    assert_eq!(shell.player.phase(), PlayerPhase::Idle);
    let reply = shell.does(begin());
    assert_eq!(reply, Reply::Acknowledged);
    let [letter] = shell.letters.as_slice() else {
        panic!("{:?}", shell.letters)
    };
    let Message::PlayerRegisterRequest(request) = &letter.message else {
        panic!("{letter:?}")
    };
    assert_eq!(request.meta.display_name, "Alpha");
    assert_eq!(request.meta.contact_endpoint, "http://127.0.0.1:8101/mcp");
    assert_eq!(request.meta.protocol_version.as_deref(), Some("2.1.0"));
    assert_eq!(request.wanted_id.as_deref(), Some("P01"));
    assert_eq!(letter.retry.attempts, 1);
    assert_eq!(letter.retry.timeout, Duration::from_secs(10));
    assert_eq!(letter.credential, Credential::Return);
    assert_eq!(shell.player.phase(), PlayerPhase::Registering);
    assert_eq!(shell.player.pending(), shell.letters);
}

#[test]
fn beginning_twice_sends_one_letter() {
    let mut shell = PlayerWorld::new(rules());
    shell.does(begin());
    shell.does(begin());
    assert_eq!(shell.letters.len(), 1);
}

#[test]
fn admitted_player_gives_its_token_to_the_shell_only() {
    let shell = PlayerWorld::enrolled(rules());
    assert_eq!(shell.player.player_id(), Some(&player("P01")));
    assert_eq!(shell.player.league_id(), Some(&league()));
    assert_eq!(shell.player.phase(), PlayerPhase::Enrolled);
    assert_eq!(shell.player.wakeup(), None);
    assert!(shell.player.pending().is_empty());
    assert!(!format!("{:?}{:?}", shell.player, shell.journal).contains(OWN_TOKEN));
}

#[test]
fn rejected_player_waits_until_it_is_started_again() {
    let mut shell = PlayerWorld::new(rules());
    shell.does(begin());
    let reply = shell.answers(rejected("Registration closed"));
    let reason = "Registration closed".to_owned();
    assert_eq!(reply, Reply::Rejected { reason });
    assert_eq!(shell.player.phase(), PlayerPhase::Rejected);
    assert_eq!(shell.player.rejection(), Some("Registration closed"));
    assert_eq!(shell.player.wakeup(), None);
    shell.restart();
    assert_eq!(shell.player.phase(), PlayerPhase::Rejected);
    shell.does(begin());
    shell.answers(accepted("P01"));
    assert_eq!(shell.player.phase(), PlayerPhase::Enrolled);
}

#[test]
fn long_reason_is_cut() {
    let mut shell = PlayerWorld::new(rules());
    shell.does(begin());
    shell.answers(rejected(&"é".repeat(100_000)));
    let kept = shell.player.rejection().unwrap().chars().count();
    assert_eq!(kept, MAX_REASON);
}

#[test]
fn permanent_error_is_a_rejection_with_its_code() {
    let mut shell = PlayerWorld::new(rules());
    shell.does(begin());
    shell.answers(refused(Code::VersionMismatch));
    assert_eq!(shell.player.rejection(), Some("E018 no"));
}

#[test]
fn silent_manager_is_asked_again_with_bounded_backoff() {
    let mut shell = PlayerWorld::new(rules());
    shell.does(begin());
    let mut waits = Vec::new();
    for tries in 1..=12 {
        assert_eq!(shell.letters.len(), tries);
        shell.hears(silence(Code::Connection));
        assert_eq!(shell.player.phase(), PlayerPhase::Registering);
        waits.push(shell.sleeps());
    }
    for (tries, full) in [2, 4, 8, 16, 32, 60, 60].into_iter().enumerate() {
        let full = Duration::from_secs(full);
        assert!((full / 2..=full).contains(&waits[tries]), "{waits:?}");
    }
    assert!(waits.iter().all(|wait| *wait <= Duration::from_secs(60)));
    shell.answers(accepted("P01"));
    assert_eq!(shell.player.phase(), PlayerPhase::Enrolled);
}

#[test]
fn retries_of_different_players_are_spread() {
    let wait = |name: &str| {
        let mut shell = PlayerWorld::new(PlayerRules {
            display_name: name.to_owned(),
            ..rules()
        });
        shell.does(begin());
        shell.hears(silence(Code::Connection));
        shell.player.wakeup()
    };
    assert_ne!(wait("Alpha"), wait("Beta"));
    assert_eq!(wait("Alpha"), wait("Alpha"));
}

#[test]
fn busy_or_nonsensical_manager_is_asked_again() {
    for answer in [refused(Code::RateLimited), Message::Acknowledged] {
        let mut shell = PlayerWorld::new(rules());
        shell.does(begin());
        shell.answers(answer);
        assert!(shell.journal.is_empty());
        shell.sleeps();
        assert_eq!(shell.letters.len(), 2);
    }
}

#[test]
fn manager_that_names_a_wait_is_asked_after_it() {
    for (named, waited) in [(30, 30), (86_400, 600)] {
        let mut shell = PlayerWorld::new(rules());
        shell.does(begin());
        let error = LeagueError::new(Code::RateLimited, "too many");
        shell.answers(Message::from(error.until(Duration::from_secs(named))));
        assert_eq!(shell.sleeps(), Duration::from_secs(waited));
        assert_eq!(shell.letters.len(), 2);
    }
}

#[test]
fn lost_outcome_counts_as_silence() {
    let mut shell = PlayerWorld::new(rules());
    shell.does(begin());
    shell.now = shell.now + Duration::from_secs(14);
    shell.does(Command::Tick);
    assert!(shell.events.is_empty());
    assert_eq!(shell.sleeps(), Duration::from_secs(1));
    assert!(matches!(
        shell.events.as_slice(),
        [Event::ManagerSilent {
            code: Code::Timeout,
            ..
        }]
    ));
    shell.sleeps();
    assert_eq!(shell.letters.len(), 2);
}

#[test]
fn answer_to_an_older_letter_changes_nothing() {
    let mut shell = PlayerWorld::new(rules());
    shell.does(begin());
    shell.hears(silence(Code::Timeout));
    shell.sleeps();
    let outcome = Ok(PeerAnswer {
        message: accepted("P09"),
        token: None,
    });
    for correlation in [
        CorrelationId::Registration(1),
        CorrelationId::Registration(3),
    ] {
        let outcome = outcome.clone();
        let reply = shell.does(Command::Outcome {
            correlation,
            outcome,
        });
        assert_eq!(reply, Reply::Acknowledged);
        assert!(shell.events.is_empty());
    }
    shell.answers(accepted("P01"));
    let correlation = CorrelationId::Registration(2);
    shell.does(Command::Outcome {
        correlation,
        outcome,
    });
    assert_eq!(shell.player.player_id(), Some(&player("P01")));
}

#[test]
fn registration_refused_for_its_token_is_tried_at_once_without_one() {
    let mut shell = PlayerWorld::new(rules());
    shell.does(begin());
    shell.answers(refused(Code::TokenInvalid));
    assert_eq!(shell.letters[1].credential, Credential::None);
    shell.answers(refused(Code::TokenInvalid));
    assert_eq!(shell.letters.len(), 2);
    assert_eq!(shell.player.phase(), PlayerPhase::Rejected);
}

#[test]
fn restarted_player_keeps_its_identity() {
    let mut shell = PlayerWorld::enrolled(rules());
    shell.told(announcement("R1M1")).unwrap();
    shell.restart();
    shell.does(begin());
    let [letter] = shell.letters.as_slice() else {
        panic!("{:?}", shell.letters)
    };
    assert!(matches!(letter.message, Message::PlayerRegisterRequest(_)));
    assert_eq!(letter.credential, Credential::Return);
    assert_eq!(shell.player.phase(), PlayerPhase::Registering);
    let joined = shell.does(invited("R1M1", Some(MATCH_TOKEN)));
    assert!(matches!(joined, Reply::Joined(ack) if ack.accept));
    assert_eq!(shell.answers(accepted("P01")), granted());
    assert_eq!(shell.player.phase(), PlayerPhase::Enrolled);
    assert_eq!(shell.player.wakeup(), None);
    assert_eq!(shell.letters.len(), 1);
}

#[test]
fn forgotten_player_registers_as_new() {
    let mut shell = PlayerWorld::enrolled(rules());
    shell.restart();
    shell.does(begin());
    shell.hears(silence(Code::Connection));
    shell.sleeps();
    shell.answers(refused(Code::TokenInvalid));
    let last = shell.letters.last().unwrap();
    assert!(matches!(last.message, Message::PlayerRegisterRequest(_)));
    assert_eq!(last.credential, Credential::None);
    assert_eq!(shell.answers(accepted("P07")), granted());
    assert_eq!(shell.player.player_id(), Some(&player("P07")));
}

#[test]
fn token_refused_elsewhere_leads_to_one_fresh_registration() {
    let mut shell = PlayerWorld::enrolled(rules());
    shell.does(Command::TokenRefused);
    shell.does(Command::TokenRefused);
    assert_eq!(shell.letters.len(), 2);
    assert_eq!(shell.player.player_id(), Some(&player("P01")));
}

fn token_error(id: &str) -> PlayerNotice {
    PlayerNotice::GameError(Box::new(GameError {
        league_id: league(),
        round_id: 1,
        match_id: match_id(id),
        player_id: player("P01"),
        code: Code::TokenInvalid,
        detail: "wrong token".to_owned(),
        action_required: "CHOOSE_PARITY_RESPONSE",
        state: MatchState::CollectingChoices,
        retry_count: 1,
        max_retries: 3,
        next_retry_at: None,
    }))
}

#[test]
fn proven_token_error_starts_one_registration_per_match() {
    let mut shell = PlayerWorld::enrolled(rules());
    shell.told(announcement("R1M1")).unwrap();
    shell.told(token_error("R1M1")).unwrap();
    assert_eq!(shell.letters.len(), 2);
    shell.told(token_error("R1M1")).unwrap();
    shell.answers(accepted("P01"));
    shell.told(token_error("R1M1")).unwrap();
    assert_eq!(shell.letters.len(), 2);
}

#[test]
fn stranger_cannot_make_a_player_register_again() {
    let mut shell = PlayerWorld::enrolled(rules());
    shell.told(token_error("R1M1")).unwrap();
    assert_eq!(shell.letters.len(), 1);
}

#[test]
fn new_league_resets_state_and_keeps_statistics() {
    let mut shell = PlayerWorld::enrolled(rules());
    let end = || PlayerNotice::GameOver(over("R1M1", 1, MatchStatus::Win, Some("P01")).into());
    shell.does(invited("R1M1", None));
    shell.told(end()).unwrap();
    shell.told(announcement("R1M2")).unwrap();
    shell.restart();
    shell.does(begin());
    let other = LeagueId::new("league_2026").unwrap();
    shell.answers(accepted_in("P01", other));
    let foreign = shell.does(invited("R1M2", Some("another token")));
    assert!(matches!(foreign, Reply::Joined(ack) if ack.accept));
    shell.does(invited("R1M1", None));
    shell.told(end()).unwrap();
    assert_eq!(shell.player.memory().statistics().wins, 2);
}
