//! The files under `data/` can be made again from the journals alone.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::storage::document_writer::DocumentFiles;
use crate::storage::files::leagues_below;
use crate::storage::publishers::{LeaguePublisher, RefereePublisher};
use crate::storage::record::{Opening, Record};
use crate::storage::replay::{Rebuilt, ReplayError, rebuild};
use crate::storage::root::Root;
use crate::storage::store::{Durability, Journal, Store};
use league_core::league::{self as manager, League};
use league_core::machine::Machine;
use league_core::player;
use league_core::referee;
use league_protocol::id::{LeagueId, MatchId, PlayerId};
use league_protocol::time::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use tempfile::TempDir;

use crate::tests::files::world::{Entry, SECRET, World, league_id};

fn write_journal<Event: Serialize + DeserializeOwned + Clone>(
    file: &Path,
    opening: Opening,
    entries: &[Entry<Event>],
) {
    let opened = Journal::open(
        file,
        Durability::Written,
        |_: crate::storage::store::Entry<Record<Event>>| {},
    );
    let mut journal = opened.unwrap().journal;
    let opening: Record<Event> = Record::Opened(Box::new(opening));
    journal.append(Timestamp::default(), &[opening]).unwrap();
    for (sequence, at, record) in entries {
        let last = journal.append(*at, std::slice::from_ref(record)).unwrap();
        assert_eq!(last, *sequence);
    }
}

fn opening(role: &str, rules: Option<manager::LeagueRules>) -> Opening {
    Opening {
        role: role.to_owned(),
        league_id: Some(league_id()),
        rules,
        secret: None,
        reproducible: true,
        version: "0.1.0".to_owned(),
    }
}

/// A finished league on disk: journals, and the files as the agents write them.
fn finished() -> (TempDir, Root) {
    let folder = tempfile::tempdir().unwrap();
    let root = Root::new(folder.path());
    let world = World::played(4, 2, &mut ());
    let rules = world.league.rules().clone();
    write_journal(
        &root.league_journal(&league_id()),
        opening("league_manager", Some(rules.clone())),
        &world.journal,
    );
    let mut archive = DocumentFiles::new(root.clone());
    let mut league = League::new(rules, SECRET).unwrap();
    let mut publisher = LeaguePublisher::new(league_id());
    for (sequence, at, record) in &world.journal {
        if let Record::Event(event) = record {
            league.apply(event);
        }
        publisher.take_in(*sequence, *at, record, &league);
        for due in publisher.due(*at, &league) {
            archive.write(&due).unwrap();
        }
    }
    for due in publisher.rest(world.now, &league) {
        archive.write(&due).unwrap();
    }
    for (id, whistle) in &world.referees {
        let file = root.referee_journal(&league_id(), id);
        write_journal::<referee::Event>(&file, opening("referee", None), &whistle.journal);
        let mut publisher = RefereePublisher::default();
        for (sequence, at, record) in &whistle.journal {
            publisher.take_in(*sequence, *at, record);
            for due in publisher.due(*at) {
                archive.write(&due).unwrap();
            }
        }
    }
    write_player(&root);
    (folder, root)
}

fn write_player(root: &Root) {
    let enrolled: player::Event = serde_json::from_value(json!({
        "event": "enrolled", "player_id": "P01", "league_id": league_id(),
        "endpoint": "http://localhost:8101/mcp", "at": "2025-01-15T10:30:00Z"
    }))
    .unwrap();
    let remembered: player::Event = serde_json::from_value(json!({
        "event": "remembered", "record": {
            "league_id": league_id(), "round_id": 1, "match_id": "R1M1", "game_type": "even_odd",
            "opponent_id": "P02", "result": "WIN", "points": 3, "my_choice": "even",
            "opponent_choice": "odd", "at": "2025-01-15T10:30:01Z"
        }
    }))
    .unwrap();
    let entries = [
        (2, Timestamp::default(), Record::Event(enrolled)),
        (3, Timestamp::default(), Record::Event(remembered)),
    ];
    let file = root.player_journal(&PlayerId::numbered(1));
    write_journal(&file, opening("player", None), &entries);
}

/// Every file that is no journal, and what it holds.
fn documents(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(documents(&path));
        } else if path
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            let text = fs::read_to_string(&path).unwrap();
            found.insert(path, text);
        }
    }
    found
}

#[test]
fn files_that_were_deleted_or_changed_come_back_as_they_were() {
    let (folder, root) = finished();
    let mut before = documents(folder.path());
    assert_eq!(before.len(), 2 + 6);
    fs::remove_file(root.standings(&league_id())).unwrap();
    fs::remove_file(root.match_file(&league_id(), &MatchId::numbered(1, 1))).unwrap();
    fs::write(root.rounds(&league_id()), "{}").unwrap();
    let changed = root.match_file(&league_id(), &MatchId::numbered(1, 2));
    let text = fs::read_to_string(&changed).unwrap();
    fs::write(&changed, text.replace("\"attempt\": 1", "\"attempt\": 7")).unwrap();
    let Rebuilt {
        entries,
        matches,
        players,
    } = rebuild(&root, &league_id()).unwrap();
    assert!(entries > 40, "{entries}");
    assert_eq!((matches, players), (6, 1));
    let after = documents(folder.path());
    let history = root.history(&PlayerId::numbered(1));
    assert!(after[&history].contains("\"opponent_choice\": \"odd\""));
    before.insert(history.clone(), after[&history].clone());
    assert_eq!(after, before);
    assert!(
        !root.player_defaults().exists(),
        "no configuration is written"
    );
}

#[test]
fn the_leagues_below_a_root_are_found() {
    let (_folder, root) = finished();
    assert_eq!(leagues_below(&root).unwrap(), [league_id()]);
    assert!(
        leagues_below(&Root::new(root.as_path().join("nowhere")))
            .unwrap()
            .is_empty()
    );
}

#[test]
fn a_league_without_a_journal_or_with_a_broken_one_is_refused() {
    let (_folder, root) = finished();
    let cup = LeagueId::new("cup").unwrap();
    let refused = rebuild(&root, &cup);
    assert!(
        matches!(refused, Err(ReplayError::NoJournal(_))),
        "{refused:?}"
    );
    write_journal::<manager::Event>(
        &root.league_journal(&cup),
        opening("league_manager", None),
        &[],
    );
    let refused = rebuild(&root, &cup);
    assert!(
        matches!(refused, Err(ReplayError::NoRules(_))),
        "{refused:?}"
    );
    let file = root.league_journal(&league_id());
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replacen("Player 2", "Player 3", 1)).unwrap();
    let refused = rebuild(&root, &league_id());
    assert!(
        matches!(refused, Err(ReplayError::Journal(_))),
        "{refused:?}"
    );
}
