//! Documents made from journals: what they tell, and what they keep to themselves.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::storage::document_writer::{DocumentFiles, Publication};
use crate::storage::documents::{MatchChange, MatchesProjection, RoundsProjection, standings};
use crate::storage::documents::{
    MatchDocument, MatchRepository, RoundEntry, RoundStatus, RoundsRepository, StandingsRepository,
};
use crate::storage::publishers::{LeaguePublisher, RefereePublisher};
use crate::storage::record::Record;
use crate::storage::root::Root;
use league_core::draw::{self, LeagueSecrets, commitment};
use league_core::league::League;
use league_core::machine::Machine;
use league_protocol::id::{MatchId, PlayerId, RefereeId};
use league_protocol::message::{MatchState, OpenedDraw};
use league_testkit::LeagueWorld;
use league_testkit::league::{SECRET, rules};
use tempfile::TempDir;

use crate::tests::journals::{JournalEntry, Journals, league_id};

/// Writes every document after every entry, and looks at all files each time.
struct Files {
    folder: TempDir,
    archive: DocumentFiles,
    manager: LeaguePublisher,
    referees: BTreeMap<RefereeId, RefereePublisher>,
    looks: usize,
}

impl Files {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self {
            archive: DocumentFiles::new(Root::new(folder.path())),
            manager: LeaguePublisher::new(league_id()),
            referees: BTreeMap::new(),
            looks: 0,
            folder,
        }
    }

    fn of(journals: &Journals) -> Self {
        let mut files = Self::new();
        let mut league = League::new(journals.rules().clone(), LeagueSecrets::one(SECRET)).unwrap();
        for entry in &journals.entries {
            let due = match entry {
                JournalEntry::Manager((sequence, at, record)) => {
                    if let Record::Event(event) = record {
                        league.apply(event);
                    }
                    files.manager.take_in(*sequence, *at, record, &league);
                    files.manager.rest(*at, &league)
                }
                JournalEntry::Referee(referee, (sequence, at, record)) => {
                    let publisher = files.referees.entry(referee.clone()).or_default();
                    publisher.take_in(*sequence, *at, record);
                    publisher.rest(*at)
                }
            };
            files.write(&due);
        }
        files
    }

    fn root(&self) -> Root {
        Root::new(self.folder.path())
    }

    fn write(&mut self, due: &[Publication]) {
        for publication in due {
            self.archive.write(publication).unwrap();
        }
        self.looks += 1;
        let matches = MatchRepository::new(&self.root(), league_id());
        for file in all_files(self.folder.path()) {
            let text = fs::read_to_string(&file).unwrap();
            serde_json::from_str::<serde_json::Value>(&text).unwrap();
        }
        for round in 1..=3 {
            for number in 1..=2 {
                let match_id = MatchId::numbered(round, number);
                if let Some(document) = matches.load(&match_id).unwrap() {
                    check_secrecy(&document, &matches.path(&match_id));
                }
            }
        }
    }
}

/// Before a match is over its file tells no choice, no share, no seed and no word of anybody.
fn check_secrecy(document: &MatchDocument, file: &Path) {
    let text = fs::read_to_string(file).unwrap();
    let seed = SECRET.seed(&document.league_id, &document.match_id);
    let shown = document.lifecycle.state == MatchState::Finished;
    for hidden in ["\"even\"", "\"odd\"", "nonce of ", &seed.to_hex()] {
        assert!(shown || !text.contains(hidden), "{file:?} tells {hidden}");
    }
    assert_eq!(document.result.is_some(), shown);
    assert_eq!(document.draw.is_some(), shown);
    assert_eq!(!document.transcript.is_empty(), shown);
    assert_eq!(document.lifecycle.finished_at.is_some(), shown);
}

fn all_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(all_files(&path));
        } else {
            files.push(path);
        }
    }
    files
}

#[test]
fn files_hide_choices_until_the_end_and_tokens_always() {
    let journals = Journals::played(4, 2);
    let files = Files::of(&journals);
    assert!(files.looks > 40, "{}", files.looks);
    let tokens = journals.season.tokens();
    assert_eq!(tokens.len(), 6 + 3 * 12);
    let written = all_files(files.folder.path());
    assert_eq!(written.len(), 2 + 6, "{written:?}");
    for file in written {
        let text = fs::read_to_string(&file).unwrap();
        for token in &tokens {
            assert!(!text.contains(token.as_str()), "{file:?} holds a token");
            let secret = token.rsplit('-').next().unwrap();
            assert!(!text.contains(secret), "{file:?} holds part of a token");
        }
    }
}

#[test]
fn files_of_a_finished_league_are_complete() {
    let journals = Journals::played(4, 2);
    let files = Files::of(&journals);
    let table = StandingsRepository::new(&files.root(), league_id())
        .load()
        .unwrap();
    assert_eq!(table.rounds_completed, 3);
    assert_eq!(table.schema_version, "1.0.0");
    let rows = journals.season.manager.league.standings();
    let points: Vec<_> = rows
        .iter()
        .map(|row| (row.player_id.clone(), row.points))
        .collect();
    let written: Vec<_> = table
        .standings
        .iter()
        .map(|row| (row.player_id.clone(), row.points))
        .collect();
    assert_eq!(written, points);
    let rounds = RoundsRepository::new(&files.root(), league_id())
        .load()
        .unwrap();
    assert_eq!(rounds.rounds.len(), 3);
    for round in &rounds.rounds {
        assert_eq!(round.status, RoundStatus::Completed);
        assert!(round.completed_at.unwrap() > round.started_at);
        assert_eq!(round.summary.total_matches, 2);
        assert_eq!(round.matches.len(), 2);
        for entry in &round.matches {
            let result = entry.result.as_ref().unwrap();
            assert!(entry.referee_id.is_some());
            let mut players = result.score.iter().map(|(player, _)| player);
            assert!(players.any(|player| *player == entry.player_a_id));
        }
    }
    assert_eq!(
        rounds.round(1).unwrap().matches[0].match_id.as_str(),
        "R1M1"
    );
    assert!(rounds.round(4).is_none());
}

#[test]
fn match_file_suffices_to_repeat_the_draw() {
    let files = Files::of(&Journals::played(4, 2));
    let match_id = MatchId::numbered(2, 1);
    let matches = MatchRepository::new(&files.root(), league_id());
    let document = matches.load(&match_id).unwrap().unwrap();
    let life = &document.lifecycle;
    assert_eq!((life.state, life.attempt), (MatchState::Finished, 1));
    assert!(life.created_at <= life.started_at.unwrap());
    assert!(life.started_at <= life.finished_at);
    let said = &document.transcript;
    assert_eq!(said.len(), 4, "two came and two chose");
    assert_eq!(said[2].message_type, "CHOOSE_PARITY_RESPONSE");
    let told = document.draw.unwrap();
    let seed = SECRET.seed(&league_id(), &match_id);
    assert_eq!(told.seed, Some(seed));
    let promise = commitment(&league_id(), &match_id, told.mode, &seed);
    assert_eq!(told.commitment, promise);
    assert_eq!(told.guarantee, "both nonces");
    let [a, b] = [PlayerId::numbered(3), PlayerId::numbered(1)];
    assert_eq!(
        told.nonces,
        [a, b].map(|player| format!("nonce of {player}"))
    );
    let opened = OpenedDraw {
        commitment: told.commitment,
        seed: told.seed,
        mode: told.mode,
        attempt: told.attempt,
        nonces: told.nonces,
    };
    let number = draw::dice(&league_id(), &match_id, &opened, 0)
        .unwrap()
        .roll(1..=10);
    let result = document.result.unwrap();
    assert_eq!(result["drawn_number"], number);
    assert_eq!(result["choices"]["P03"], "odd");
    assert!(result.get("draw").is_none() && result["reason"].is_string());
}

#[test]
fn same_journals_give_the_same_documents() {
    let journals = Journals::played(5, 2);
    let files = Files::of(&journals);
    let mut again = LeaguePublisher::new(league_id());
    let league = journals.replay(|(sequence, at, record), league| {
        again.take_in(*sequence, *at, record, league);
    });
    let root = files.root();
    let table = StandingsRepository::new(&root, league_id()).load().unwrap();
    let rounds = RoundsRepository::new(&root, league_id()).load().unwrap();
    assert_eq!(
        again.rest(journals.season.manager.now, &league),
        [Publication::Standings(table), Publication::Rounds(rounds)]
    );
    let matches = MatchRepository::new(&root, league_id());
    let mut found = 0;
    for number in [1, 2] {
        let mut projection = MatchesProjection::default();
        for (sequence, at, record) in journals.referee(number) {
            let change = projection.take_in(*sequence, *at, record);
            if let MatchChange::Over(document, _) = change {
                let written = matches.load(&document.match_id).unwrap().unwrap();
                assert_eq!(written, *document);
                found += 1;
            }
        }
    }
    assert_eq!(found, 10, "each match once, with what was said in it");
}

#[test]
fn league_without_players_has_a_table() {
    let league = LeagueWorld::new(rules()).league;
    let document = standings(&league, 1, league_protocol::time::Timestamp::default());
    assert_eq!((document.version, document.rounds_completed), (1, 0));
    assert!(document.standings.is_empty());
}

#[test]
fn only_the_latest_rounds_list_very_many_matches() {
    let mut rounds = RoundsProjection::with_limit(league_id(), 7);
    Journals::played(6, 2).replay(|(sequence, at, record), league| {
        if let Record::Event(event) = record {
            rounds.take_in(*sequence, *at, event, league);
        }
    });
    let listed: Vec<usize> = rounds
        .document()
        .rounds
        .iter()
        .map(|round| round.matches.len())
        .collect();
    assert_eq!(listed, [0, 0, 0, 3, 3]);
    assert_eq!(rounds.listed(), 6);
    let first = rounds.document().round(1).unwrap();
    assert_eq!(first.summary.total_matches, 3, "the summary stays");
    let closed = |round: &Arc<RoundEntry>| round.matches.iter().all(|entry| entry.result.is_some());
    assert!(rounds.document().rounds.iter().all(closed));
}
