//! Calls that come before their time wait, but only so many; what cannot be written is not answered.

use std::sync::Arc;
use std::thread;

use league_core::letter::PeerAnswer;
use league_games::Dice;
use league_protocol::message::{Enrolment, RegisterResponse};

use super::*;
use crate::call::ManagerUrl;
use crate::{Kit, strategy};

fn seat(folder: &tempfile::TempDir) -> KitPlayer {
    let manager = ManagerUrl::parse("localhost", None).unwrap();
    let player = Player::new(Kit::new("Grey Heron").rules(8101, &manager));
    let mind = Mind::start(strategy::find("random").unwrap(), Dice::seeded(1)).unwrap();
    KitPlayer::new(player, &folder.path().join("memory.jsonl"), mind).unwrap()
}

/// Waits for an admission that never comes; `true` after the time.
fn misses(seat: &KitPlayer, wait: Duration) -> bool {
    seat.is_missing(Instant::now() + wait, |state| state.is_admitted)
}

#[test]
fn call_above_the_most_early_ones_does_not_wait() {
    let folder = tempfile::tempdir().unwrap();
    let seat = Arc::new(seat(&folder));
    for _ in 0..MAX_EARLY_CALLS {
        let seat = Arc::clone(&seat);
        thread::spawn(move || misses(&seat, Duration::from_secs(3_600)));
    }
    while seat.lock().early_calls < MAX_EARLY_CALLS {
        thread::yield_now();
    }
    let long = Duration::from_secs(60);
    let start = Instant::now();
    assert!(misses(&seat, long));
    assert!(start.elapsed() < long, "it waited");
    // The places are free again once the others have what they waited for.
    seat.lock().is_admitted = true;
    seat.changed.notify_all();
    while seat.lock().early_calls > 0 {
        thread::yield_now();
    }
}

#[test]
fn what_cannot_be_written_is_not_answered() {
    let folder = tempfile::tempdir().unwrap();
    let seat = seat(&folder);
    let _ = seat.ask(&Command::Begin { return_token: None }).unwrap();
    let letter = seat.lock().letters.pop_front().unwrap();
    let admission = Enrolment {
        id: PlayerId::new("P07").unwrap(),
        token: AuthToken::new("tok-p07-own"),
        league_id: LeagueId::new("league_of_tests").unwrap(),
        manager_token: Some(AuthToken::new("tok-manager")),
        return_token: None,
        note: None,
    };
    let answer = PeerAnswer {
        message: Message::PlayerRegisterResponse(RegisterResponse::from(admission)),
        token: None,
    };
    let admitted = Player::outcome(letter.correlation.unwrap(), Ok(answer));
    let announce = || {
        let round = json!({
            "message_type": "ROUND_ANNOUNCEMENT", "league_id": "league_of_tests", "round_id": 1,
            "auth_token": "tok-manager", "matches": [{
                "match_id": "R1M1", "game_type": "even_odd", "player_A_id": "P07",
                "player_B_id": "P08", "referee_endpoint": "http://localhost:8001/mcp",
                "match_token": "tok-match", "attempt": 1,
            }],
        });
        let round = json!({
            "jsonrpc": "2.0", "id": 1, "method": "notify_round", "params": round,
        });
        let (_, answer) = seat.post(Some("application/json"), None, round.to_string().as_bytes());
        String::from_utf8(answer).unwrap()
    };
    let is_announced = || {
        let match_id = MatchId::new("R1M1").unwrap();
        seat.lock().player.is_announced(&match_id)
    };
    let undo = seat.lock().memory.spoil();
    assert!(seat.ask(&admitted).is_err());
    assert!(seat.lock().is_outside());
    seat.lock().memory.mend(undo);
    let _ = seat.ask(&admitted).unwrap();
    let undo = seat.lock().memory.spoil();
    let answer = announce();
    assert!(answer.contains("E009"), "{answer}");
    assert!(!is_announced(), "{answer}");
    seat.lock().memory.mend(undo);
    let answer = announce();
    assert!(!answer.contains("LEAGUE_ERROR"), "{answer}");
    assert!(is_announced(), "{answer}");
}

#[test]
fn address_of_ipv6_is_registered_in_brackets() {
    let manager = ManagerUrl::parse("localhost", None).unwrap();
    for (host, url) in [
        ("::1", "http://[::1]:8101/mcp"),
        ("[::1]", "http://[::1]:8101/mcp"),
        ("heron.example", "http://heron.example:8101/mcp"),
    ] {
        let kit = Kit {
            host: host.to_owned(),
            ..Kit::new("Heron")
        };
        assert_eq!(kit.rules(8101, &manager).endpoint, url);
    }
}
