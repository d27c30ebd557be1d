//! Documents are written in time, not too often, and found again after a restart.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use crate::storage::document_writer::{DocumentFiles, Publication};
use crate::storage::documents::{MatchDocument, MatchRepository};
use crate::storage::publishers::{
    LeaguePublisher, MAX_MATCH_FILES, MIN_GAP, PlayerPublisher, RefereePublisher,
};
use crate::storage::record::Record;
use crate::storage::root::Root;
use league_core::league::{self as manager, League};
use league_core::letter::Peer;
use league_core::machine::Machine;
use league_core::player::{Event, MatchOutcome, MatchRecord, MemoryRule, Player, PlayerRules};
use league_core::referee;
use league_core::timeouts::Timeouts;
use league_protocol::id::{GameType, MatchId, PlayerId, RefereeId};
use league_protocol::sender::{Agent, CallStyle, Dialect};
use league_protocol::time::Timestamp;
use serde_json::json;

use crate::tests::files::world::{SECRET, World, league_id};

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(1_765_661_400_000 + millis)
}

#[test]
fn a_burst_of_results_is_written_once_and_the_end_of_a_round_at_once() {
    let world = World::played(8, 2, &mut ());
    let mut league = League::new(world.league.rules().clone(), SECRET).unwrap();
    let mut publisher = LeaguePublisher::new(league_id());
    let (mut in_burst, mut at_the_end) = (0, 0);
    for (sequence, moment, record) in &world.journal {
        let Record::Event(event) = record else {
            continue;
        };
        league.apply(event);
        publisher.take_in(*sequence, *moment, record, &league);
        // All in one instant.
        let due = publisher.due(at(0), &league).len();
        match event {
            manager::Event::ResultRecorded { .. } => in_burst += due,
            manager::Event::RoundClosed { .. } => {
                at_the_end += due;
                assert_eq!(due, 2, "table and rounds");
            }
            _ => {}
        }
    }
    assert_eq!((in_burst, at_the_end), (0, 14));
}

#[test]
fn a_change_that_waited_is_due_half_a_second_later() {
    let world = World::played(2, 1, &mut ());
    let mut league = League::new(world.league.rules().clone(), SECRET).unwrap();
    let mut publisher = LeaguePublisher::new(league_id());
    let mut registered = world.journal.iter().filter(|(_, _, record)| {
        matches!(
            record,
            Record::Event(manager::Event::PlayerRegistered { .. })
        )
    });
    for written in [1, 0] {
        let (sequence, moment, record) = registered.next().unwrap();
        if let Record::Event(event) = record {
            league.apply(event);
        }
        publisher.take_in(*sequence, *moment, record, &league);
        assert_eq!(publisher.due(at(0), &league).len(), written);
    }
    assert_eq!(publisher.wakeup(), Some(at(0) + MIN_GAP));
    assert!(publisher.due(at(499), &league).is_empty());
    let due = publisher.due(at(500), &league);
    assert!(
        matches!(&due[..], [Publication::Standings(table)] if table.standings.len() == 2),
        "{due:?}"
    );
    assert_eq!(publisher.wakeup(), None);
}

/// All that a referee's journal makes due when it is asked at the times of the entries.
fn due_in_time(publisher: &mut RefereePublisher, world: &World) -> Vec<Publication> {
    let mut due = Vec::new();
    for (sequence, at, record) in &world.referees[&RefereeId::numbered(1)].journal {
        publisher.take_in(*sequence, *at, record);
        due.extend(publisher.due(*at));
    }
    due
}

#[test]
fn a_match_that_is_played_in_a_moment_is_written_once() {
    let world = World::played(4, 1, &mut ());
    let due = due_in_time(&mut RefereePublisher::default(), &world);
    assert_eq!(due.len(), 6);
    for publication in &due {
        assert!(
            matches!(publication, Publication::Match(document) if document.result.is_some()),
            "{publication:?}"
        );
    }
}

#[test]
fn a_match_that_goes_on_is_shown_after_a_while() {
    let world = World::played(2, 1, &mut ());
    let journal = &world.referees[&RefereeId::numbered(1)].journal;
    let opened = journal
        .iter()
        .find(|(_, _, record)| matches!(record, Record::Event(referee::Event::MatchOpened { .. })));
    let mut publisher = RefereePublisher::default();
    let (sequence, moment, record) = opened.unwrap();
    publisher.take_in(*sequence, *moment, record);
    assert!(publisher.due(*moment).is_empty());
    let later = publisher.wakeup().unwrap();
    assert_eq!(later, *moment + MIN_GAP);
    let due = publisher.due(later);
    let [Publication::Match(document)] = &due[..] else {
        panic!("{due:?}");
    };
    assert_eq!(document.lifecycle.state.as_str(), "WAITING_FOR_PLAYERS");
    assert!(
        publisher.due(later + Duration::from_secs(9)).is_empty(),
        "once"
    );
}

#[test]
fn what_stands_in_its_file_already_is_not_written_again() {
    let world = World::played(4, 1, &mut ());
    let folder = tempfile::tempdir().unwrap();
    let root = Root::new(folder.path());
    let matches = MatchRepository::new(&root, league_id());
    let due = due_in_time(&mut RefereePublisher::default(), &world);
    let mut archive = DocumentFiles::new(root.clone());
    due.iter().for_each(|one| archive.write(one).unwrap());
    let whole = matches.path(&MatchId::numbered(1, 1));
    let broken = matches.path(&MatchId::numbered(1, 2));
    let absent = matches.path(&MatchId::numbered(2, 1));
    let before = fs::metadata(&whole).unwrap().modified().unwrap();
    fs::write(&broken, "{").unwrap();
    fs::remove_file(&absent).unwrap();
    let mut restarted = DocumentFiles::new(root);
    due.iter().for_each(|one| restarted.write(one).unwrap());
    assert_eq!(fs::metadata(&whole).unwrap().modified().unwrap(), before);
    for file in [broken, absent] {
        let text = fs::read(&file).unwrap();
        serde_json::from_slice::<MatchDocument>(&text).unwrap();
    }
}

/// A finished match of a league as large as its number says.
fn numbered(world: &World, number: u32) -> Vec<(u64, Timestamp, Record<referee::Event>)> {
    let journal = &world.referees[&RefereeId::numbered(1)].journal;
    let text = serde_json::to_string(journal).unwrap();
    let text = text.replace("R1M1", &format!("R1M{number}"));
    serde_json::from_str(&text).unwrap()
}

#[test]
fn in_a_league_of_very_many_a_match_is_a_line() {
    let world = World::played(2, 1, &mut ());
    let folder = tempfile::tempdir().unwrap();
    let root = Root::new(folder.path());
    let mut archive = DocumentFiles::new(root.clone());
    let many = 224;
    assert!(many * (2 * many - 1) > MAX_MATCH_FILES);
    let journal = numbered(&world, 224);
    for _ in ["first start", "second start"] {
        let mut publisher = RefereePublisher::default();
        for (sequence, at, record) in &journal {
            publisher.take_in(*sequence, *at, record);
            for due in publisher.due(*at) {
                assert!(matches!(due, Publication::MatchLine { .. }), "{due:?}");
                archive.write(&due).unwrap();
            }
        }
        archive = DocumentFiles::new(root.clone());
    }
    let file = root.round_of_matches(&league_id(), 1, &RefereeId::numbered(1));
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text.lines().count(), 1, "a restart adds nothing");
    let matches = MatchRepository::new(&root, league_id());
    let found = matches.load(&MatchId::numbered(1, 224)).unwrap().unwrap();
    assert!(found.result.is_some());
    assert!(!matches.path(&found.match_id).exists());
    assert_eq!(matches.load(&MatchId::numbered(1, 1)).unwrap(), None);
    // A line that a crash cut short spoils neither what stands before it nor what comes after.
    fs::write(&file, format!("{text}{}", &text[..40])).unwrap();
    let referee = RefereeId::numbered(1);
    let later = MatchDocument {
        match_id: MatchId::numbered(1, 225),
        version: found.version + 1,
        ..found.clone()
    };
    matches.append(&referee, &later).unwrap();
    assert_eq!(
        matches.load(&later.match_id).unwrap().as_ref(),
        Some(&later)
    );
    assert_eq!(matches.load(&found.match_id).unwrap(), Some(found));
}

fn player() -> Player {
    Player::new(PlayerRules {
        display_name: "Agent Alpha".to_owned(),
        version: "1.0.0".to_owned(),
        endpoint: "http://localhost:8101/mcp".to_owned(),
        games: vec![GameType::new("even_odd").unwrap()],
        timeouts: Timeouts::default(),
        manager: Arc::new(Peer {
            agent: Agent::Manager,
            endpoint: "http://localhost:8000/mcp".into(),
            dialect: Dialect::V2,
            speech: Some(CallStyle::Simple),
        }),
        wanted_id: None,
        strict: false,
        memory: MemoryRule::default(),
    })
}

#[test]
fn a_player_s_memory_is_written_as_the_documents_show_it() {
    let mut player = player();
    let mut publisher = PlayerPublisher::default();
    let events = [
        serde_json::from_value::<Event>(json!({
            "event": "enrolled", "player_id": "P01", "league_id": "league_2025_even_odd",
            "endpoint": "http://localhost:8101/mcp", "at": "2025-01-15T10:30:00Z"
        }))
        .unwrap(),
        Event::Remembered {
            record: Arc::new(MatchRecord {
                league_id: league_id(),
                round_id: 1,
                match_id: MatchId::numbered(1, 1),
                game_type: GameType::new("even_odd").unwrap(),
                opponent_id: PlayerId::numbered(2),
                result: MatchOutcome::Win,
                points: 3,
                my_choice: Some(json!("even")),
                opponent_choice: Some(json!("odd")),
                at: at(0),
            }),
        },
    ];
    let mut documents = Vec::new();
    for (sequence, event) in (2..).zip(events) {
        player.apply(&event);
        publisher.take_in(sequence, at(0), &Record::Event(event));
        documents.extend(publisher.due(at(0), &player));
    }
    assert_eq!(documents.len(), 1, "the second waits");
    let due = publisher.rest(at(1), &player);
    let [Publication::History(history)] = &due[..] else {
        panic!("{due:?}");
    };
    let value = serde_json::to_value(history).unwrap();
    assert_eq!(value["player_id"], "P01");
    assert_eq!(value["version"], 3);
    let stats = &value["stats"];
    assert_eq!(
        (&stats["total_matches"], &stats["wins"]),
        (&json!(1), &json!(1))
    );
    let first = &value["matches"][0];
    assert_eq!(first["match_id"], "R1M1");
    assert_eq!(first["opponent_id"], "P02");
    assert_eq!(first["result"], "WIN");
    assert_eq!(
        (&first["my_choice"], &first["opponent_choice"]),
        (&json!("even"), &json!("odd"))
    );
}
