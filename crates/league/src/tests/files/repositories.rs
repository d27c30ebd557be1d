//! The repositories of 000 §10.5, as a program of one's own uses them.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::storage::documents::{
    MatchRepository, PlayerHistoryRepository, RepositoryError, RoundsRepository,
    StandingsRepository,
};
use crate::storage::root::Root;
use league_core::player::{MatchOutcome, MatchRecord};
use league_protocol::id::{GameType, MatchId, PlayerId};
use league_protocol::time::Timestamp;
use serde_json::json;

use crate::tests::journals::league_id;

#[test]
fn unwritten_document_is_empty() {
    let folder = tempfile::tempdir().unwrap();
    let root = Root::new(folder.path().join("SHARED"));
    let table = StandingsRepository::new(&root, league_id()).load().unwrap();
    assert_eq!((table.version, table.standings.len()), (0, 0));
    let rounds = RoundsRepository::new(&root, league_id()).load().unwrap();
    assert!(rounds.rounds.is_empty());
    let matches = MatchRepository::new(&root, league_id());
    assert_eq!(matches.load(&MatchId::numbered(1, 1)).unwrap(), None);
    let history = PlayerHistoryRepository::new(&root, PlayerId::numbered(1));
    assert_eq!(history.load().unwrap().stats.total_matches, 0);
    assert!(!root.as_path().exists(), "reading writes nothing");
}

#[test]
fn row_of_a_player_accumulates_and_rows_are_ordered() {
    let folder = tempfile::tempdir().unwrap();
    let root = Root::new(folder.path());
    let table = StandingsRepository::new(&root, league_id());
    for (player, result, points) in [
        (1, MatchOutcome::Loss, 0),
        (2, MatchOutcome::Win, 3),
        (3, MatchOutcome::TechnicalLoss, 0),
        (1, MatchOutcome::Draw, 1),
    ] {
        table
            .update_player(&PlayerId::numbered(player), result, points)
            .unwrap();
    }
    let found = table.load().unwrap();
    let rows: Vec<_> = found
        .standings
        .iter()
        .map(|row| (row.rank, row.player_id.as_str(), row.points, row.played))
        .collect();
    assert_eq!(rows, [(1, "P02", 3, 1), (2, "P01", 1, 2), (3, "P03", 0, 1)]);
    assert_eq!(found.version, 4);
    assert_eq!(found.standings[2].technical_losses, 1);
    assert!(found.last_updated > Timestamp::default());
}

fn record(round: u32, result: MatchOutcome) -> MatchRecord {
    MatchRecord {
        league_id: league_id(),
        round_id: round,
        match_id: MatchId::numbered(round, 1),
        game_type: GameType::new("even_odd").unwrap(),
        opponent_id: PlayerId::numbered(2),
        result,
        points: 1,
        my_choice: Some(json!("even")),
        opponent_choice: None,
        reason: None,
        failure: None,
        at: Timestamp::from_millis(1_765_661_400_000),
    }
}

#[test]
fn match_is_remembered_once() {
    let folder = tempfile::tempdir().unwrap();
    let history = PlayerHistoryRepository::new(&Root::new(folder.path()), PlayerId::numbered(1));
    for (round, result) in [
        (1, MatchOutcome::Win),
        (2, MatchOutcome::TechnicalLoss),
        (1, MatchOutcome::Win),
        (3, MatchOutcome::Draw),
    ] {
        history.add_match(record(round, result)).unwrap();
    }
    let found = history.load().unwrap();
    assert_eq!(found.matches.len(), 3);
    let stats = found.stats;
    assert_eq!(
        (stats.total_matches, stats.wins, stats.losses, stats.draws),
        (3, 1, 1, 1)
    );
    assert_eq!(
        (stats.technical_losses, stats.points, found.version),
        (1, 3, 3)
    );
}

#[test]
fn reader_never_sees_half_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let root = Root::new(folder.path());
    let table = StandingsRepository::new(&root, league_id());
    for player in 1..=200 {
        table
            .update_player(&PlayerId::numbered(player), MatchOutcome::Draw, 1)
            .unwrap();
    }
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let document = table.load().unwrap();
            for version in 0..300 {
                let mut document = document.clone();
                document.version = version;
                document
                    .standings
                    .truncate(usize::try_from(version).unwrap() % 200 + 1);
                table.save(&document).unwrap();
            }
            done.store(true, Ordering::Relaxed);
        });
        let mut reads = 0;
        while !done.load(Ordering::Relaxed) || reads == 0 {
            assert!(!table.load().unwrap().standings.is_empty());
            reads += 1;
        }
    });
    let names = fs::read_dir(table.path().parent().unwrap()).unwrap();
    assert_eq!(names.count(), 1, "nothing temporary is left");
}

#[test]
fn broken_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let table = StandingsRepository::new(&Root::new(folder.path()), league_id());
    fs::create_dir_all(table.path().parent().unwrap()).unwrap();
    fs::write(table.path(), "{\"schema_version\": \"1.0.0\"}").unwrap();
    let error = table.load().unwrap_err();
    assert!(matches!(error, RepositoryError::WrongForm { .. }));
    assert!(error.to_string().contains("standings.json"));
}

#[test]
fn later_attempt_is_not_replaced_by_an_earlier_one() {
    let folder = tempfile::tempdir().unwrap();
    let matches = MatchRepository::new(&Root::new(folder.path()), league_id());
    let document = |attempt: u32| {
        serde_json::from_value(json!({
            "schema_version": "1.0.0", "league_id": "league_2025_even_odd", "round_id": 1,
            "match_id": "R1M1", "game_type": "even_odd", "referee_id": "REF01",
            "player_A_id": "P01", "player_B_id": "P02",
            "last_updated": "2025-01-15T10:30:00Z", "version": 9,
            "lifecycle": {"state": "FINISHED", "attempt": attempt,
                          "created_at": "2025-01-15T10:30:00Z", "started_at": null, "finished_at": null},
            "transcript": [], "result": null, "draw": null
        }))
        .unwrap()
    };
    let attempt = || {
        let found = matches.load(&MatchId::numbered(1, 1)).unwrap().unwrap();
        found.lifecycle.attempt
    };
    for (written, stands) in [(1, 1), (2, 2), (1, 2), (2, 2), (3, 3)] {
        matches.save(&document(written)).unwrap();
        assert_eq!(attempt(), stands);
    }
}
