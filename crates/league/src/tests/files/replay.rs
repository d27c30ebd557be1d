//! The files under `data/` can be made again from the journals alone.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::site::live_view::{LiveView, PageChange};
use crate::storage::document_writer::DocumentFiles;
use crate::storage::files::leagues_below;
use crate::storage::publishers::RefereePublisher;
use crate::storage::record::Record;
use crate::storage::replay::{Rebuilt, ReplayError, rebuild};
use crate::storage::root::Root;
use league_core::{league as manager, player};
use league_protocol::id::{LeagueId, MatchId, PlayerId, RefereeId};
use league_protocol::time::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use tempfile::TempDir;

use crate::tests::journals::{Entry, Journals, league_id, opening, write_documents, write_journal};

fn write<'entries, Event: Serialize + DeserializeOwned + Send + 'entries>(
    file: &Path,
    opening: Record<Event>,
    entries: impl IntoIterator<Item = &'entries Entry<Event>>,
) {
    let entries = entries.into_iter().map(|(_, at, record)| (*at, record));
    let opening = [(Timestamp::default(), &opening)];
    write_journal(file, opening.into_iter().chain(entries));
}

/// A finished league on disk: journals, and the files as the agents write them.
fn finished() -> (TempDir, Root) {
    let folder = tempfile::tempdir().unwrap();
    let root = Root::new(folder.path());
    let journals = Journals::played(4, 2);
    write(
        &root.league_journal(&league_id()),
        opening("league_manager", Some(journals.rules().clone())),
        journals.manager(),
    );
    write_documents(&root, journals.rules(), journals.manager());
    let mut files = DocumentFiles::new(root.clone());
    for number in [1, 2] {
        let file = root.referee_journal(&league_id(), &RefereeId::numbered(number));
        write(&file, opening("referee", None), journals.referee(number));
        let mut publisher = RefereePublisher::default();
        for (sequence, at, record) in journals.referee(number) {
            publisher.take_in(*sequence, *at, record);
            for due in publisher.due(*at) {
                files.write(&due).unwrap();
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
    write(&file, opening("player", None), &entries);
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
fn rebuild_restores_deleted_and_changed_files() {
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
fn leagues_below_a_root_are_found() {
    let (_folder, root) = finished();
    assert_eq!(leagues_below(&root).unwrap(), [league_id()]);
    assert!(
        leagues_below(&Root::new(root.as_path().join("nowhere")))
            .unwrap()
            .is_empty()
    );
}

#[test]
fn rebuild_refuses_a_missing_or_broken_journal() {
    let (_folder, root) = finished();
    let cup = LeagueId::new("cup").unwrap();
    let refused = rebuild(&root, &cup);
    assert!(
        matches!(refused, Err(ReplayError::NoJournal(_))),
        "{refused:?}"
    );
    let opening = opening::<manager::Event>("league_manager", None);
    write(&root.league_journal(&cup), opening, &[]);
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

#[test]
fn page_of_a_match_changes_when_its_record_comes_after_the_end() {
    let (_folder, root) = finished();
    let (records, aside) = (
        root.matches_folder(&league_id()),
        root.as_path().join("aside"),
    );
    fs::rename(&records, &aside).unwrap();
    let mut live = LiveView::new(root, league_id());
    let start = Timestamp::default() + Duration::from_secs(1);
    let touched = |change: Option<PageChange>| change.map(|change| change.touched);
    let first = touched(live.refresh(start).unwrap());
    assert_eq!(
        first,
        Some(vec!["*".to_owned()]),
        "the league is over at once"
    );
    fs::rename(&aside, &records).unwrap();
    let later = touched(live.refresh(start + Duration::from_secs(1)).unwrap());
    assert!(later.unwrap().contains(&"R3M2".to_owned()));
}

#[test]
fn documents_that_know_lost_lines_are_not_replaced() {
    let (_folder, root) = finished();
    let journal = root.league_journal(&league_id());
    let text = fs::read_to_string(&journal).unwrap();
    let kept: Vec<&str> = text.lines().collect();
    let before = fs::read(root.standings(&league_id())).unwrap();
    fs::write(&journal, kept[..kept.len() - 2].join("\n") + "\n").unwrap();
    let lost = rebuild(&root, &league_id());
    assert!(matches!(lost, Err(ReplayError::Behind { .. })), "{lost:?}");
    assert_eq!(fs::read(root.standings(&league_id())).unwrap(), before);
}
