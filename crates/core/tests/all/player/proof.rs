//! Messages that only the manager may send to a player.

use std::sync::Arc;

use league_core::player::{Command, PlayerNotice, Refusal, Reply};
use league_protocol::fault::Code;
use league_protocol::message::{
    Enrolment, LeagueCompleted, LeagueStart, Message, RegisterResponse, RoundCompleted,
    RoundSummary, Rows, StandingsUpdate,
};
use league_protocol::token::{AuthToken, TokenHash};

use league_testkit::player::*;

const MANAGER: &str = "tok-manager-secret";

/// An answer that lets `P01` in, with or without the manager's own token.
fn admitted(manager: Option<&str>) -> Message {
    Message::PlayerRegisterResponse(RegisterResponse::from(Enrolment {
        id: player("P01"),
        token: AuthToken::new(OWN_TOKEN),
        league_id: league(),
        manager_token: manager.map(AuthToken::new),
        return_token: None,
        note: None,
    }))
}

fn enrolled() -> PlayerWorld {
    let mut shell = PlayerWorld::new(rules());
    shell.does(begin());
    shell.answers(admitted(Some(MANAGER)));
    shell
}

fn tell(
    shell: &mut PlayerWorld,
    news: PlayerNotice,
    token: Option<&str>,
) -> Result<Reply, Refusal> {
    let token = token.map(TokenHash::of);
    shell.tries(Command::Told { news, token })
}

/// All that a manager tells.
fn all_news() -> [PlayerNotice; 5] {
    [
        announcement("R1M1"),
        PlayerNotice::LeagueStart(
            LeagueStart {
                league_id: league(),
                total_rounds: 1,
                total_players: 2,
                game_type: invitation("R1M1").game_type,
                schedule: Arc::new([]),
            }
            .into(),
        ),
        PlayerNotice::StandingsUpdate(
            StandingsUpdate {
                league_id: league(),
                round_id: 1,
                standings: Rows::from([]),
            }
            .into(),
        ),
        PlayerNotice::RoundCompleted(
            RoundCompleted {
                league_id: league(),
                round_id: 1,
                next_round_id: None,
                summary: RoundSummary::default(),
                standings: Rows::from([]),
            }
            .into(),
        ),
        PlayerNotice::LeagueCompleted(
            LeagueCompleted {
                league_id: league(),
                total_rounds: 1,
                total_matches: 1,
                champion: None,
                final_standings: Rows::from([]),
            }
            .into(),
        ),
    ]
}

#[test]
fn league_notices_are_taken_from_the_manager_only() {
    let mut shell = enrolled();
    let before = shell.player.clone();
    for news in all_news() {
        let refusal = tell(&mut shell, news.clone(), None).unwrap_err();
        assert_eq!(refusal, Refusal::NoManagerToken);
        assert_eq!(refusal.to_league_error().code, Code::TokenMissing);
        let refusal = tell(&mut shell, news, Some(MATCH_TOKEN)).unwrap_err();
        assert_eq!(refusal, Refusal::WrongManagerToken);
        assert_eq!(refusal.to_league_error().code, Code::TokenInvalid);
    }
    assert_eq!(shell.player, before);
    for news in all_news() {
        assert_eq!(
            tell(&mut shell, news, Some(MANAGER)),
            Ok(Reply::Acknowledged)
        );
    }
}

#[test]
fn manager_token_survives_a_restart() {
    let mut shell = enrolled();
    shell.restart();
    assert!(shell.player.knows_manager());
    assert!(tell(&mut shell, announcement("R1M1"), None).is_err());
    assert!(tell(&mut shell, announcement("R1M1"), Some(MANAGER)).is_ok());
    assert!(!shell.journal.concat().contains(MANAGER));
}

#[test]
fn answer_without_a_manager_token_keeps_the_old_one() {
    let mut shell = enrolled();
    shell.does(Command::TokenRefused);
    shell.answers(admitted(None));
    assert!(tell(&mut shell, announcement("R1M1"), None).is_err());
    assert!(tell(&mut shell, announcement("R1M1"), Some(MANAGER)).is_ok());
}

#[test]
fn manager_without_a_token_needs_no_proof() {
    let mut shell = PlayerWorld::enrolled(rules());
    assert!(!shell.player.knows_manager());
    assert!(tell(&mut shell, announcement("R1M1"), None).is_ok());
}
