//! Tables written after any line of a journal agree with it, in every format.

use std::time::Duration;

use league_core::draw::LeagueSecrets;
use league_core::league::format::Format;
use league_core::league::{Event, League, Lever};
use league_core::machine::Machine;
use league_protocol::id::PlayerId;
use league_protocol::sender::Agent;
use league_protocol::time::Timestamp;
use league_testkit::LeagueWorld;
use league_testkit::league::{SECRET, rules};
use league_testkit::report::honest;
use tempfile::TempDir;

use crate::storage::document_writer::{DocumentFiles, Publication};
use crate::storage::documents::{StandingsDocument, standings};
use crate::storage::publishers::{LeaguePublisher, changes_table};
use crate::storage::record::Record;
use crate::storage::root::Root;

use crate::storage::verify::{Checked, ManagerDocuments, Wrong};
use crate::tests::journals::league_id;
use crate::tests::verify::{records_of, times};

/// A league of seven that was played to its end; a player changes its name, and another leaves.
fn played(format: Format) -> LeagueWorld {
    let mut rules = rules();
    rules.use_format(format);
    match format.name() {
        "ladder" => rules.rounds = Some(4),
        "arena" => rules.duration = Some(Duration::from_secs(40)),
        _ => {}
    }
    let mut world = LeagueWorld::begun_by(rules, 7, 2, 4);
    for step in 0..300 {
        if world.league.is_over() {
            return world;
        }
        match step {
            1 => drop(world.pull(Lever::Rename {
                agent: Agent::Player(PlayerId::numbered(2)),
                name: "Renamed".to_owned(),
            })),
            2 => drop(world.pull(Lever::Withdraw {
                player_id: PlayerId::numbered(3),
            })),
            _ => {}
        }
        for (referee, order) in world.orders() {
            world.answer_order(&referee, &order, true);
            // The manager may have ended the match of a player that left.
            drop(world.report(&referee, honest(&order)));
            world.settle();
        }
        world.pass(2);
    }
    panic!("a league as a {} never ends", format.name());
}

/// Shows each line of a journal with the league after it.
fn replay(world: &LeagueWorld, mut each: impl FnMut(u64, Timestamp, &Event, &League)) {
    let rules = world.league.rules().clone();
    let mut league = League::new(rules, LeagueSecrets::one(SECRET)).unwrap();
    for (sequence, (at, record)) in (1..).zip(times().zip(records_of(world))) {
        if let Record::Event(event) = record {
            league.apply(&event);
            each(sequence, at, &event, &league);
        }
    }
}

/// A table, alone in a folder, as `league verify` reads it.
fn shown(table: StandingsDocument) -> (TempDir, ManagerDocuments) {
    let folder = tempfile::tempdir().unwrap();
    let root = Root::new(folder.path());
    let mut files = DocumentFiles::new(root.clone());
    files.write(&Publication::Standings(table)).unwrap();
    let documents = ManagerDocuments::load(&root, &league_id()).unwrap();
    (folder, documents)
}

fn compare_all(
    world: &LeagueWorld,
    tables: Vec<(TempDir, ManagerDocuments)>,
) -> Vec<Result<(), Wrong>> {
    let mut tables: Vec<_> = tables.into_iter().map(|table| (table, Ok(()))).collect();
    let mut last = 0;
    replay(world, |sequence, at, event, league| {
        last = sequence;
        for ((_, documents), compared) in &mut tables {
            if compared.is_ok() {
                *compared = documents.compare(sequence, at, event, league);
            }
        }
    });
    let finish = |((_folder, mut documents), compared): ((TempDir, ManagerDocuments), _)| {
        let compared: Result<(), Wrong> = compared;
        compared.and_then(|()| documents.finish(last, &mut Checked::default()))
    };
    tables.into_iter().map(finish).collect()
}

#[test]
fn only_known_lines_change_the_table() {
    for format in Format::all() {
        let mut before = None;
        replay(&played(format), |sequence, _, event, league| {
            let table = standings(league, 0, Timestamp::default());
            let changed = before.replace(table.clone()).is_some_and(|it| it != table);
            assert!(
                changes_table(event) || !changed,
                "{format:?}: {sequence} {event:?}"
            );
        });
    }
}

#[test]
fn table_agrees_with_the_journal_after_whatever_line_it_was_written() {
    for format in Format::all() {
        let world = played(format);
        let mut publisher = LeaguePublisher::new(league_id());
        let mut tables = Vec::new();
        replay(&world, |sequence, at, event, league| {
            publisher.take_in(sequence, at, &Record::Event(event.clone()), league);
            for due in publisher.clone().rest(at, league) {
                if let Publication::Standings(table) = due {
                    tables.push(shown(table));
                }
            }
        });
        assert!(tables.len() > 20, "{}", tables.len());
        for compared in compare_all(&world, tables) {
            assert!(compared.is_ok(), "{format:?}: {compared:?}");
        }
    }
}

#[test]
fn table_of_a_later_result_is_refused() {
    let world = played(Format::find("swiss").unwrap());
    let mut tables = Vec::new();
    let mut results = Vec::new();
    replay(&world, |sequence, at, event, league| {
        if let Event::ResultRecorded { .. } = event {
            if let Some((version, at)) = results.last() {
                tables.push(shown(standings(league, *version, *at)));
            }
            results.push((sequence, at));
        }
    });
    assert!(tables.len() > 8, "{}", tables.len());
    for compared in compare_all(&world, tables) {
        assert!(compared.is_err(), "{compared:?}");
    }
}
