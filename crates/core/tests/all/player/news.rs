//! Notices that only need an acknowledgement.

use std::sync::Arc;

use league_core::player::{ANNOUNCED_MATCHES, Command, PlayerNotice, PlayerPhase, Refusal, Reply};
use league_protocol::fault::Code;
use league_protocol::id::{GameType, LeagueId};
use league_protocol::message::{
    Champion, GameError, GameStart, LeagueCompleted, LeagueStart, MatchState, Message,
    PlayValidation, RoundAnnouncement, RoundCompleted, RoundSummary, Rows, StandingRow,
    StandingsUpdate,
};
use league_protocol::token::TokenHash;
use serde_json::json;

use league_testkit::player::*;

fn row(id: &str, rank: u32) -> StandingRow {
    StandingRow {
        rank,
        shared_rank: rank,
        byes: 0,
        tie: None,
        player_id: player(id),
        display_name: "Alpha".into(),
        played: 1,
        wins: 1,
        draws: 0,
        losses: 0,
        technical_losses: 0,
        points: 3,
    }
}

fn completed(league_id: LeagueId) -> PlayerNotice {
    PlayerNotice::LeagueCompleted(
        LeagueCompleted {
            league_id,
            total_rounds: 3,
            total_matches: 6,
            champion: Some(Champion {
                player_id: player("P02"),
                display_name: "Beta".into(),
                points: 9,
                wins: 3,
                losses: 0,
                played: 3,
            }),
            final_standings: Rows::from([row("P02", 1), row("P01", 2)]),
        }
        .into(),
    )
}

fn standings(rank: u32) -> PlayerNotice {
    PlayerNotice::StandingsUpdate(
        StandingsUpdate {
            league_id: league(),
            round_id: 1,
            standings: Rows::from([row("P02", 9), row("P01", rank)]),
        }
        .into(),
    )
}

fn round_completed(rows: Vec<StandingRow>) -> PlayerNotice {
    PlayerNotice::RoundCompleted(
        RoundCompleted {
            league_id: league(),
            round_id: 1,
            next_round_id: Some(2),
            summary: RoundSummary::default(),
            standings: rows.into(),
        }
        .into(),
    )
}

#[test]
fn own_standing_is_kept_from_each_update() {
    let mut shell = PlayerWorld::enrolled(rules());
    let rank = |shell: &PlayerWorld| shell.player.standing().map(|row| row.rank);
    assert_eq!(rank(&shell), None);
    assert_eq!(shell.told(standings(3)), Ok(Reply::Acknowledged));
    assert_eq!(rank(&shell), Some(3));
    shell.told(round_completed(Vec::new())).unwrap();
    assert_eq!(rank(&shell), Some(3));
    shell.told(round_completed(vec![row("P01", 2)])).unwrap();
    assert_eq!(rank(&shell), Some(2));
    assert!(shell.journal.len() == 1, "{:?}", shell.journal);
}

#[test]
fn end_of_the_league_is_noted_once() {
    let mut shell = PlayerWorld::enrolled(rules());
    shell.told(completed(league())).unwrap();
    assert_eq!(shell.player.phase(), PlayerPhase::Completed);
    assert_eq!(shell.player.standing().unwrap().rank, 2);
    let lines = shell.journal.len();
    assert_eq!(shell.told(completed(league())), Ok(Reply::Acknowledged));
    assert_eq!(shell.journal.len(), lines);
    shell.restart();
    assert_eq!(shell.player.phase(), PlayerPhase::Completed);
}

#[test]
fn player_whose_league_is_over_registers_for_the_next() {
    let mut shell = PlayerWorld::enrolled(rules());
    shell.told(completed(league())).unwrap();
    shell.restart();
    shell.does(begin());
    let next = LeagueId::new("league_2026").unwrap();
    shell.answers(accepted_in("P01", next));
    assert_eq!(shell.player.phase(), PlayerPhase::Enrolled);
}

#[test]
fn news_of_another_league_is_refused() {
    let mut shell = PlayerWorld::enrolled(strict());
    let other = LeagueId::new("elsewhere").unwrap();
    let refusal = shell.told(completed(other)).unwrap_err();
    assert!(matches!(refusal, Refusal::OtherLeague { .. }));
    assert_eq!(refusal.to_league_error().code, Code::TokenInvalid);
    assert_eq!(shell.player.phase(), PlayerPhase::Enrolled);
}

#[test]
fn announcement_cannot_be_replaced() {
    let mut shell = PlayerWorld::enrolled(rules());
    shell.told(announcement("R1M1")).unwrap();
    let lines = shell.journal.len();
    shell.told(announcement("R1M1")).unwrap();
    assert_eq!(shell.journal.len(), lines);
    let refusal = shell.told(announced("R1M1", 1, "forged")).unwrap_err();
    assert!(matches!(refusal, Refusal::AnnouncedOtherwise { .. }));
    assert!(shell.tries(invited("R1M1", Some(MATCH_TOKEN))).is_ok());
}

#[test]
fn excess_announcement_drops_the_oldest() {
    let mut shell = PlayerWorld::enrolled(strict());
    let id = |number: usize| format!("R{}M1", 900 - number);
    for number in 0..=ANNOUNCED_MATCHES {
        shell.told(announcement(&id(number))).unwrap();
    }
    let comes = |shell: &mut PlayerWorld, number: usize| {
        let token = Some(MATCH_TOKEN);
        shell.tries(invited(&id(number), token)).is_ok()
    };
    assert!(!comes(&mut shell, 0));
    assert!(comes(&mut shell, 1));
    assert!(comes(&mut shell, ANNOUNCED_MATCHES));
}

#[test]
fn round_without_an_own_match_changes_nothing() {
    let mut shell = PlayerWorld::enrolled(rules());
    let bye = PlayerNotice::RoundAnnouncement(
        RoundAnnouncement {
            league_id: league(),
            round_id: 1,
            matches: Rows::from([]),
            own: None,
        }
        .into(),
    );
    assert_eq!(shell.told(bye), Ok(Reply::Acknowledged));
    assert!(shell.events.is_empty());
}

fn error(code: Code) -> PlayerNotice {
    PlayerNotice::GameError(Box::new(GameError {
        league_id: league(),
        round_id: 1,
        match_id: match_id("R1M1"),
        player_id: player("P01"),
        code,
        detail: "no".to_owned(),
        action_required: "CHOOSE_PARITY_RESPONSE",
        state: MatchState::CollectingChoices,
        retry_count: 1,
        max_retries: 3,
        next_retry_at: None,
    }))
}

fn validation(of: &str, error: Option<&str>) -> PlayerNotice {
    PlayerNotice::PlayValidation(Box::new(PlayValidation {
        league_id: league(),
        round_id: 1,
        match_id: match_id("R1M1"),
        player_id: player(of),
        choice: None,
        error: error.map(str::to_owned),
    }))
}

#[test]
fn only_a_refused_move_is_asked_again() {
    let thinks_again = |news: PlayerNotice| {
        let mut shell = PlayerWorld::enrolled(rules());
        let asked = wants(call(&shell, "R1M1", 1));
        shell.does(asked.clone());
        shell.does(chooses("R1M1", 1, Some(json!("odd"))));
        shell.told(news).unwrap();
        matches!(shell.does(asked), Reply::Think(_))
    };
    assert!(thinks_again(error(Code::InvalidMove)));
    assert!(thinks_again(validation("P01", Some("no such move"))));
    assert!(!thinks_again(error(Code::Timeout)));
    assert!(!thinks_again(validation("P01", None)));
    assert!(!thinks_again(validation("P02", Some("no such move"))));
}

#[test]
fn error_for_another_player_is_refused() {
    let mut shell = PlayerWorld::enrolled(rules());
    let PlayerNotice::GameError(mut misplaced) = error(Code::Timeout) else {
        panic!()
    };
    misplaced.player_id = player("P02");
    assert!(shell.told(PlayerNotice::GameError(misplaced)).is_err());
}

#[test]
fn every_message_to_a_player_becomes_a_command_and_is_acknowledged() {
    let even_odd = || GameType::new("even_odd").unwrap();
    let messages = [
        Message::from(LeagueStart {
            league_id: league(),
            total_rounds: 3,
            total_players: 4,
            game_type: even_odd(),
            schedule: Arc::new([]),
        }),
        Message::from(GameStart {
            league_id: league(),
            round_id: 1,
            match_id: match_id("R1M1"),
            game_type: even_odd(),
            current_player: player("P01"),
            move_seconds: 30,
        }),
    ];
    let mut shell = PlayerWorld::enrolled(strict());
    shell.told(announcement("R1M1")).unwrap();
    for message in messages {
        let token = Some(TokenHash::of(MATCH_TOKEN));
        let command = Command::from_message(message, token).unwrap();
        let reply = shell.does(command);
        assert_eq!(reply.into_message(), Some(Message::Acknowledged));
    }
    assert_eq!(Command::from_message(Message::Ping, None), None);
    let invitation = Message::GameInvitation(Box::new(invitation("R1M1")));
    assert_eq!(
        Command::from_message(invitation, Some(TokenHash::of(MATCH_TOKEN))),
        Some(invited("R1M1", Some(MATCH_TOKEN)))
    );
}
