//! Documents are written in time, not too often, and found again after a restart.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use crate::storage::document_writer::{DocumentFiles, Publication};
use crate::storage::documents::{MatchDocument, MatchRepository};
use crate::storage::publishers::{
    LeaguePublisher, MAX_MATCH_FILES, MIN_GAP, PlayerPublisher, ROUND_GAP, RefereePublisher,
};
use crate::storage::record::Record;
use crate::storage::root::Root;
use league_core::draw::LeagueSecrets;
use league_core::league::{self as manager, League};
use league_core::machine::Machine;
use league_core::player::{Event, MatchOutcome, MatchRecord};
use league_core::referee;
use league_protocol::id::{GameType, MatchId, PlayerId, RefereeId};
use league_protocol::time::Timestamp;
use league_testkit::PlayerWorld;
use league_testkit::league::SECRET;
use serde_json::json;

use crate::tests::journals::{Entry, Journals, league_id};

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(1_765_661_400_000 + millis)
}

#[test]
fn burst_of_results_waits_and_the_end_of_a_round_does_not() {
    let journals = Journals::played(8, 2);
    let mut publisher = LeaguePublisher::new(league_id());
    let (mut in_burst, mut at_the_end) = (0, 0);
    let mut now = at(0);
    journals.replay(|(sequence, moment, record), league| {
        publisher.take_in(*sequence, *moment, record, league);
        // All results of a round in one instant; then only the gap between rounds counts.
        if matches!(record, Record::Event(manager::Event::RoundClosed { .. })) {
            now = now + ROUND_GAP;
        }
        let due = publisher.due(now, league).len();
        match record {
            Record::Event(manager::Event::ResultRecorded { .. }) => in_burst += due,
            Record::Event(manager::Event::RoundClosed { .. }) => {
                at_the_end += due;
                assert_eq!(due, 2, "table and rounds");
            }
            _ => {}
        }
    });
    assert_eq!((in_burst, at_the_end), (0, 14));
}

#[test]
fn delayed_change_is_due_half_a_second_later() {
    let journals = Journals::played(2, 1);
    let mut league = League::new(journals.rules().clone(), LeagueSecrets::one(SECRET)).unwrap();
    let mut publisher = LeaguePublisher::new(league_id());
    let mut registered = journals.manager().filter(|(_, _, record)| {
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
fn due_in_time(publisher: &mut RefereePublisher, journals: &Journals) -> Vec<Publication> {
    let mut due = Vec::new();
    for (sequence, at, record) in journals.referee(1) {
        publisher.take_in(*sequence, *at, record);
        due.extend(publisher.due(*at));
    }
    due
}

#[test]
fn quick_match_is_written_once() {
    let journals = Journals::played(4, 1);
    let due = due_in_time(&mut RefereePublisher::default(), &journals);
    assert_eq!(due.len(), 6);
    for publication in &due {
        assert!(
            matches!(publication, Publication::Match(document) if document.result.is_some()),
            "{publication:?}"
        );
    }
}

#[test]
fn running_match_is_written_after_the_gap() {
    let journals = Journals::played(2, 1);
    let opened = journals
        .referee(1)
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
fn unchanged_document_is_not_written_again() {
    let journals = Journals::played(4, 1);
    let folder = tempfile::tempdir().unwrap();
    let root = Root::new(folder.path());
    let matches = MatchRepository::new(&root, league_id());
    let due = due_in_time(&mut RefereePublisher::default(), &journals);
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
fn numbered(journals: &Journals, number: u32) -> Vec<Entry<referee::Event>> {
    let journal: Vec<_> = journals.referee(1).collect();
    let text = serde_json::to_string(&journal).unwrap();
    let text = text.replace("R1M1", &format!("R1M{number}"));
    serde_json::from_str(&text).unwrap()
}

#[test]
fn match_of_a_very_large_league_is_a_line() {
    let journals = Journals::played(2, 1);
    let folder = tempfile::tempdir().unwrap();
    let root = Root::new(folder.path());
    let mut archive = DocumentFiles::new(root.clone());
    let many = 224;
    assert!(many * (2 * many - 1) > MAX_MATCH_FILES);
    let journal = numbered(&journals, 224);
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
    // Its journal is not here.
    assert_eq!((found.first_line, &found.result), (Some(3), &None));
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
    matches
        .open_round(1, &referee)
        .unwrap()
        .add(&later)
        .unwrap();
    assert_eq!(
        matches.load(&later.match_id).unwrap().as_ref(),
        Some(&later)
    );
    assert_eq!(matches.load(&found.match_id).unwrap(), Some(found));
}

#[test]
fn restart_leaves_each_match_where_it_was_written() {
    let journals = Journals::played(2, 1);
    let folder = tempfile::tempdir().unwrap();
    let root = Root::new(folder.path());
    let mut journal = numbered(&journals, 1);
    // The third match shows that the league is large.
    for number in [3, 20, 21] {
        let before = journal.len() as u64;
        let entries = numbered(&journals, number).into_iter();
        journal.extend(entries.map(|(sequence, at, record)| (sequence + before, at, record)));
    }
    let written = |each_line: bool| {
        let mut publisher = RefereePublisher::default();
        let mut files = DocumentFiles::new(root.clone());
        for (sequence, at, record) in &journal {
            publisher.take_in(*sequence, *at, record);
            if each_line {
                let due = publisher.due(*at);
                due.iter().for_each(|due| files.write(due).unwrap());
            }
        }
        let rest = publisher.rest(at(0));
        rest.iter().for_each(|due| files.write(due).unwrap());
        let names = fs::read_dir(root.matches_folder(&league_id())).unwrap();
        let mut names: Vec<_> = names.map(|name| name.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = written(true);
    assert_eq!(before, ["R1M1.json", "R1M3.json", "round_1.REF01.jsonl"]);
    assert_eq!(written(false), before);
    let lines = fs::read_to_string(root.round_of_matches(&league_id(), 1, &RefereeId::numbered(1)));
    assert_eq!(lines.unwrap().lines().count(), 2);
}

#[test]
fn history_of_a_player_has_the_documented_form() {
    let mut player = PlayerWorld::new(league_testkit::player::rules()).player;
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
                reason: None,
                failure: None,
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
