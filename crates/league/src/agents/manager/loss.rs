//! A manager whose journal lost lines: whether it starts, and which results its referees' journals
//! on this machine give back.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use league_core::league::{Command, Event, League, Phase};
use league_core::machine::{Machine, Persistence};
use league_core::referee::{self, MatchOrder, ReportAnswer};
use league_protocol::id::{LeagueId, MatchId, RefereeId};
use league_protocol::message::{MatchResult, MatchResultReport};
use league_protocol::time::Timestamp;
use serde::Deserialize;

use crate::agents::assemble::{LostLines, RestoredMachine, Shared, StartError};
use crate::clock;
use crate::storage::documents::{RoundsRepository, load};
use crate::storage::files::names_in;
use crate::storage::record::Record;
use crate::storage::root::Root;
use crate::storage::store::{Entry, Journal, Store};

/// The field of a document that names the last line of the journal which it reflects.
#[derive(Deserialize)]
struct Version {
    version: u64,
}

/// The last line of a league's journal that its documents reflect; an unreadable document knows of
/// none.
pub(super) fn known_line(root: &Root, league: &LeagueId) -> u64 {
    let version = |file: &Path| {
        let found: Option<Version> = load(file).unwrap_or_default();
        found.map_or(0, |found| found.version)
    };
    version(&root.standings(league)).max(version(&root.rounds(league)))
}

/// Lets a league go on without lost lines only by the organiser's word, and only if its players are
/// known.
pub(super) fn judge(shared: &Shared, league: &League, lost: &LostLines) -> Result<(), StartError> {
    let (root, id) = (&shared.root, &league.rules().league_id);
    let journal = root.league_journal(id).display().to_string();
    let LostLines { last, known } = *lost;
    if !shared.accept_loss {
        return Err(StartError::Behind {
            journal,
            last,
            known,
        });
    }
    let rounds = RoundsRepository::new(root, id.clone());
    let has_begun = rounds
        .load()
        .is_ok_and(|document| !document.rounds.is_empty());
    if league.phase() == Phase::Registering && has_begun {
        return Err(StartError::Unusable {
            journal,
            last,
            made: rounds.path().display().to_string(),
        });
    }
    Ok(())
}

/// Notes an accepted loss in the journal, and takes back the results that referees on this machine
/// have, round by round. Other referees are asked once the league runs.
///
/// Nothing is sent: what is due then is sent when the manager starts.
pub(super) fn go_on(
    root: &Root,
    restored: &mut RestoredMachine<League>,
    see: impl FnMut(u64, Timestamp, &Record<Event>, &League),
) -> Result<(), StartError> {
    let Some(LostLines { known, .. }) = restored.lost else {
        return Ok(());
    };
    let mut recovery = Recovery {
        restored,
        at: clock::now(),
        records: Vec::new(),
        see,
    };
    recovery.run(&Command::AcceptLoss {
        known_version: known,
    });
    let held = HeldResults::gather(root, &recovery.restored.machine);
    while recovery.take_back(&held) {
        recovery.run(&Command::Tick);
    }
    recovery.write()
}

/// A league that takes back what it lost.
struct Recovery<'r, See> {
    restored: &'r mut RestoredMachine<League>,
    at: Timestamp,
    /// Records to be written.
    records: Vec<Record<Event>>,
    see: See,
}

impl<See: FnMut(u64, Timestamp, &Record<Event>, &League)> Recovery<'_, See> {
    fn run(&mut self, command: &Command) {
        let decision = self.restored.machine.decide(self.at, command);
        if let (Command::Restore { report, .. }, Err(refusal)) = (command, &decision.answer) {
            tracing::warn!(
                component = "league_manager",
                event_type = "RESULT_NOT_RESTORED",
                "the result of {} from before the loss does not count: {refusal}",
                report.match_id
            );
        }
        let before = Store::<Record<Event>>::last(&self.restored.journal);
        for event in decision.events {
            self.restored.machine.apply(&event);
            if League::keep(&event) == Persistence::Journal {
                let record = Record::Event(event);
                let sequence = before + self.records.len() as u64 + 1;
                (self.see)(sequence, self.at, &record, &self.restored.machine);
                self.records.push(record);
            }
        }
    }

    /// Takes back all results of the round that are held; returns whether the next round, or the end
    /// of the league, is due by them.
    fn take_back(&mut self, held: &HeldResults) -> bool {
        let rounds = self.restored.machine.round().into_iter();
        let fixtures = rounds.flat_map(|round| round.fixtures());
        let open = fixtures.filter(|fixture| fixture.result().is_none());
        let held: Vec<Command> = open
            .filter_map(|fixture| held.results.get(fixture.match_id()))
            .map(|held| held.command.clone())
            .collect();
        held.iter().for_each(|command| self.run(command));
        let league = &self.restored.machine;
        let is_due = league.round().is_none_or(|round| round.open() == 0);
        league.phase() == Phase::Running && is_due
    }

    fn write(self) -> Result<(), StartError> {
        self.restored.journal.append(self.at, &self.records)?;
        Ok(())
    }
}

/// Results in the journals of referees that the manager has no more, each as the command that takes
/// it back.
///
/// An acknowledged result counts before one that was only decided. The latter was on its way: it
/// counts unless another referee took its match up later.
#[derive(Default)]
struct HeldResults {
    results: BTreeMap<MatchId, HeldResult>,
    /// The latest attempt at each match.
    attempts: BTreeMap<MatchId, u32>,
}

struct HeldResult {
    is_acknowledged: bool,
    attempt: u32,
    command: Command,
}

impl HeldResults {
    fn gather(root: &Root, league: &League) -> Self {
        let id = &league.rules().league_id;
        let names = names_in(&root.referees_folder(id)).unwrap_or_default();
        let mut held = Self::default();
        for slot in names.iter().filter_map(|name| RefereeId::new(name).ok()) {
            held.read(&root.referee_journal(id, &slot), slot, league);
        }
        let Self { results, attempts } = &mut held;
        results.retain(|match_id, held| {
            held.is_acknowledged || attempts.get(match_id) == Some(&held.attempt)
        });
        held
    }

    fn read(&mut self, journal: &Path, mut referee: RefereeId, league: &League) {
        let mut open: BTreeMap<MatchId, Arc<MatchOrder>> = BTreeMap::new();
        let read = Journal::read(journal, |entry: Entry<Record<referee::Event>>| {
            match entry.fact {
                Record::Event(referee::Event::Enrolled { referee_id, .. }) => referee = referee_id,
                Record::Event(referee::Event::MatchOpened { fixture, .. }) => {
                    let latest = self.attempts.entry(fixture.match_id.clone()).or_default();
                    *latest = fixture.attempt.max(*latest);
                    open.insert(fixture.match_id.clone(), fixture);
                }
                Record::Event(referee::Event::Decided {
                    match_id, result, ..
                }) => {
                    let fixture = open.get(&match_id);
                    if let Some(report) = fixture.map(|fixture| report_of(fixture, result)) {
                        self.add(&referee, report, league);
                    }
                }
                Record::Event(referee::Event::Closed {
                    match_id, report, ..
                }) => {
                    let attempt = open.remove(&match_id).map(|fixture| fixture.attempt);
                    self.settle(&match_id, attempt, report);
                }
                _ => {}
            }
            ControlFlow::Continue(())
        });
        if let Err(error) = read
            && journal.exists()
        {
            tracing::warn!(event_type = "JOURNAL_NOT_READ", "{error}");
        }
    }

    fn add(&mut self, referee: &RefereeId, report: MatchResultReport, league: &League) {
        let (match_id, attempt) = (report.match_id.clone(), report.attempt);
        let known = self.results.get(&match_id);
        let is_better = known.is_none_or(|known| !known.is_acknowledged && known.attempt < attempt);
        if is_better && is_missing(league, &report) {
            let (referee, report) = (referee.clone(), Arc::new(report));
            let held = HeldResult {
                is_acknowledged: false,
                attempt,
                command: Command::Restore { referee, report },
            };
            self.results.insert(match_id, held);
        }
    }

    fn settle(&mut self, match_id: &MatchId, attempt: Option<u32>, answer: ReportAnswer) {
        let Some(held) = self.results.get_mut(match_id) else {
            return;
        };
        if attempt != Some(held.attempt) || held.is_acknowledged {
            return;
        }
        match answer {
            ReportAnswer::Acknowledged => held.is_acknowledged = true,
            ReportAnswer::Refused(_) => {
                self.results.remove(match_id);
            }
            ReportAnswer::Unanswered => {}
        }
    }
}

/// Whether a league has no result of a match, and may need one.
fn is_missing(league: &League, report: &MatchResultReport) -> bool {
    let round = league.round().map_or(1, |round| round.number());
    let fixture = league.fixture(&report.match_id);
    report.league_id == league.rules().league_id
        && report.round_id >= round
        && fixture.is_none_or(|fixture| fixture.result().is_none())
}

fn report_of(fixture: &MatchOrder, result: Arc<MatchResult>) -> MatchResultReport {
    MatchResultReport {
        league_id: fixture.league_id.clone(),
        round_id: fixture.round_id,
        match_id: fixture.match_id.clone(),
        attempt: fixture.attempt,
        order_token: None,
        game_type: fixture.game_type.clone(),
        result,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use league_core::draw::LeagueSecrets;
    use league_testkit::league::SECRET;
    use tempfile::TempDir;

    use super::*;
    use crate::agents::assemble::{JournalSource, JournalStart, KnownLines, restore};
    use crate::chance::Chance;
    use crate::config::SystemConfig;
    use crate::http::descriptors::Descriptors;
    use crate::http::tls::Tls;
    use crate::storage::record::Opening;
    use crate::storage::store::Durability;
    use crate::tests::journals::{Journals, league_id, opening, write_documents, write_journal};

    /// A finished league with the documents of its manager and the journals of its referees.
    struct Place {
        _folder: TempDir,
        root: Root,
        played: Journals,
        /// The manager's journal.
        whole: Vec<u8>,
    }

    impl Place {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let root = Root::new(folder.path());
            let played = Journals::played(4, 2);
            let first = opening("league_manager", Some(played.rules().clone()));
            let began = Timestamp::default();
            let rest = played.manager().map(|(_, at, record)| (*at, record));
            let journal = root.league_journal(&league_id());
            write_journal(&journal, [(began, &first)].into_iter().chain(rest));
            write_documents(&root, played.rules(), played.manager());
            for number in 1..=2 {
                let first = opening("referee", None);
                let rest = played.referee(number).map(|(_, at, record)| (*at, record));
                let journal = root.referee_journal(&league_id(), &RefereeId::numbered(number));
                write_journal(&journal, [(began, &first)].into_iter().chain(rest));
            }
            Self {
                whole: fs::read(&journal).unwrap(),
                _folder: folder,
                root,
                played,
            }
        }

        fn journal(&self) -> std::path::PathBuf {
            self.root.league_journal(&league_id())
        }

        /// Starts a manager with the first bytes of the journal.
        fn start(&self, bytes: usize, accept_loss: bool) -> Result<League, StartError> {
            fs::write(self.journal(), &self.whole[..bytes]).unwrap();
            let chance = Chance::new(Some(1)).unwrap();
            let shared = Shared {
                accept_loss,
                ..Shared::new(
                    self.root.clone(),
                    &SystemConfig::default(),
                    &Tls::default(),
                    chance,
                    Descriptors::of(1, 1).unwrap(),
                )
            };
            let source = JournalSource {
                path: &self.journal(),
                durability: Durability::Written,
                opening: Opening::of("league_manager", true),
                known: Some(KnownLines {
                    last: known_line(&self.root, &league_id()),
                    judge: &|league, lost| judge(&shared, league, lost),
                }),
            };
            let make = |start: JournalStart<'_>| match start {
                JournalStart::Known(opening) => Ok(League::new(
                    opening.rules.clone().unwrap(),
                    LeagueSecrets::one(SECRET),
                )?),
                JournalStart::New(_) => panic!("the journal is empty"),
            };
            let mut restored = restore(source, make, |_, _, _, _| {})?;
            go_on(&self.root, &mut restored, |_, _, _, _| {})?;
            Ok(restored.machine)
        }

        /// The ends of the lines, in bytes.
        fn ends(&self) -> Vec<usize> {
            let bytes = self.whole.iter().enumerate();
            let newlines = bytes.filter(|(_, byte)| **byte == b'\n');
            newlines.map(|(place, _)| place + 1).collect()
        }
    }

    #[test]
    fn journal_cut_before_what_the_documents_know_is_refused_and_left_as_it_is() {
        let place = Place::new();
        let (ends, known) = (place.ends(), known_line(&place.root, &league_id()));
        assert!(known > 10, "{known}");
        for (last, end) in (1_u64..).zip(&ends) {
            let until = ends
                .get(last as usize)
                .copied()
                .unwrap_or(place.whole.len());
            for bytes in (*end..until).step_by(37) {
                match place.start(bytes, false) {
                    Ok(_) => assert!(last >= known, "{bytes} bytes"),
                    Err(refused @ StartError::Behind { .. }) => {
                        let text = refused.to_string();
                        let ends = format!("ends at line {last}, and");
                        assert!(text.contains(&ends) && text.contains(&format!("line {known}:")));
                        assert!(last < known, "{text}");
                        assert_eq!(fs::read(place.journal()).unwrap().len(), bytes);
                    }
                    Err(other) => panic!("{other}"),
                }
            }
        }
    }

    #[test]
    fn referees_journals_give_back_every_result_after_an_accepted_loss() {
        let place = Place::new();
        let whole = place.played.replay(|_, _| {});
        let known = known_line(&place.root, &league_id());
        let began = place.played.manager().find_map(|(line, _, record)| {
            let is_start = matches!(record, Record::Event(Event::LeagueStarted { .. }));
            is_start.then_some(*line)
        });
        for (last, end) in (1_u64..known).zip(place.ends()) {
            match place.start(end, true) {
                Ok(league) => {
                    assert_eq!(league.standings(), whole.standings(), "after line {last}");
                    assert_eq!((league.phase(), league.epoch()), (Phase::Completed, 1));
                    let text = fs::read_to_string(place.journal()).unwrap();
                    assert!(text.contains("loss_accepted"), "after line {last}");
                }
                Err(refused) => {
                    assert!(Some(last) < began, "{refused}");
                    assert!(matches!(refused, StartError::Unusable { .. }), "{refused}");
                }
            }
        }
    }
}
