//! A manager whose journal lost lines: whether it starts, and which results its referees' journals
//! on this machine give back.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use league_core::league::{Command, Event, League, Phase};
use league_core::machine::{Machine, Persistence};
use league_core::referee::{self, MatchOrder, OpenedSecrets, ReportAnswer};
use league_protocol::id::{MatchId, RefereeId};
use league_protocol::message::{MatchResult, MatchResultReport};
use league_protocol::time::Timestamp;

use crate::agents::assemble::{LostLines, RestoredMachine, Shared, StartError};
use crate::clock;
use crate::storage::documents::{RoundsDocument, load};
use crate::storage::files::names_in;
use crate::storage::record::Record;
use crate::storage::root::Root;
use crate::storage::store::{Entry, Journal, Store, was_locked};

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
    let rounds = root.rounds(id);
    let known: Result<Option<RoundsDocument>, _> = load(&rounds);
    let had_not_begun = matches!(known, Ok(Some(document)) if document.rounds.is_empty());
    if league.phase() == Phase::Registering && !had_not_begun {
        return Err(StartError::Unusable {
            journal,
            last,
            made: rounds.display().to_string(),
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
            .flat_map(|fixture| held.of(fixture.match_id()))
            .collect();
        // The first that counts is taken; those after it change nothing.
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

/// Results in the journals of referees that the manager has no more.
#[derive(Default)]
struct HeldResults {
    results: BTreeMap<MatchId, Vec<HeldResult>>,
    /// The latest attempt at each match, by the journals of this machine.
    attempts: BTreeMap<MatchId, u32>,
}

/// A result in a referee's journal.
struct HeldResult {
    /// Whether the manager had taken it.
    is_acknowledged: bool,
    referee: RefereeId,
    report: MatchResultReport,
    /// Whether the journal was written on this machine. A copy that a referee handed in counts only
    /// as far as the manager's own receipts go.
    is_local: bool,
}

impl HeldResults {
    fn gather(root: &Root, league: &League) -> Self {
        let id = &league.rules().league_id;
        let names = names_in(&root.referees_folder(id)).unwrap_or_default();
        let mut held = Self::default();
        for slot in names.iter().filter_map(|name| RefereeId::new(name).ok()) {
            held.read(&root.referee_journal(id, &slot), slot, league);
        }
        held
    }

    /// The commands that take a match's result back, the best first.
    ///
    /// An acknowledged result counts before one that was only decided. The latter was on its way: it
    /// counts unless another referee took its match up later.
    fn of(&self, match_id: &MatchId) -> Vec<Command> {
        let latest = self.attempts.get(match_id);
        let known = self.results.get(match_id).into_iter().flatten();
        let mut held: Vec<&HeldResult> = known
            .filter(|held| held.is_acknowledged || latest == Some(&held.report.attempt))
            .collect();
        let rank = |held: &&HeldResult| (held.is_acknowledged, held.report.attempt);
        held.sort_by_key(|held| Reverse(rank(held)));
        let command = |held: &HeldResult| Command::Restore {
            referee: held.referee.clone(),
            report: Arc::new(held.report.clone()),
            is_local: held.is_local,
        };
        held.into_iter().map(command).collect()
    }

    fn read(&mut self, journal: &Path, mut referee: RefereeId, league: &League) {
        let is_local = was_locked(journal);
        let mut open: BTreeMap<MatchId, Arc<MatchOrder>> = BTreeMap::new();
        let mut ended: BTreeMap<(MatchId, u32), HeldResult> = BTreeMap::new();
        let read = Journal::read(journal, |entry: Entry<Record<referee::Event>>| {
            match entry.fact {
                Record::Event(referee::Event::Enrolled { referee_id, .. }) => referee = referee_id,
                Record::Event(referee::Event::MatchOpened { fixture, .. }) => {
                    if is_local {
                        let latest = self.attempts.entry(fixture.match_id.clone()).or_default();
                        *latest = fixture.attempt.max(*latest);
                    }
                    open.insert(fixture.match_id.clone(), fixture);
                }
                Record::Event(referee::Event::Decided {
                    match_id, result, ..
                }) => {
                    if let Some(fixture) = open.get(&match_id) {
                        let held = HeldResult {
                            is_acknowledged: false,
                            referee: referee.clone(),
                            report: report_of(fixture, result),
                            is_local,
                        };
                        ended.insert((match_id, fixture.attempt), held);
                    }
                }
                Record::Event(referee::Event::Closed {
                    match_id,
                    report,
                    opened,
                    ..
                }) => {
                    if let Some(fixture) = open.remove(&match_id) {
                        settle(&mut ended, (match_id, fixture.attempt), report, opened);
                    }
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
        for ((match_id, _), held) in ended {
            if is_missing(league, &held.report) {
                self.results.entry(match_id).or_default().push(held);
            }
        }
    }
}

/// Notes what the manager said to a result.
fn settle(
    ended: &mut BTreeMap<(MatchId, u32), HeldResult>,
    place: (MatchId, u32),
    answer: ReportAnswer,
    opened: Option<Arc<OpenedSecrets>>,
) {
    match answer {
        ReportAnswer::Acknowledged => {
            if let Some(held) = ended.get_mut(&place) {
                held.is_acknowledged = true;
                if let Some(opened) = opened {
                    held.report.receipt = opened.receipt;
                    held.report.result = Arc::new(opened.open(&held.report.result));
                }
            }
        }
        ReportAnswer::Refused(_) => {
            ended.remove(&place);
        }
        ReportAnswer::Unanswered => {}
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
        receipt: None,
        game_over_told: None,
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
    use crate::storage::replay::known_line;
    use crate::storage::store::{Durability, lock_of};
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
            let place = Self {
                whole: fs::read(&journal).unwrap(),
                _folder: folder,
                root,
                played,
            };
            for number in 1..=2 {
                place.write_referee(number, place.records(number));
            }
            place
        }

        /// What a referee wrote.
        fn records(&self, number: u32) -> Vec<Record<referee::Event>> {
            let written = self.played.referee(number);
            written.map(|(_, _, record)| record.clone()).collect()
        }

        fn referee_journal(&self, number: u32) -> std::path::PathBuf {
            let slot = RefereeId::numbered(number);
            self.root.referee_journal(&league_id(), &slot)
        }

        /// Puts a journal into the folder of this number.
        fn write_referee(&self, number: u32, records: Vec<Record<referee::Event>>) {
            let journal = self.referee_journal(number);
            let _ = fs::remove_dir_all(journal.parent().unwrap());
            let records = [opening("referee", None)].into_iter().chain(records);
            let records: Vec<_> = records.collect();
            let at = Timestamp::default();
            write_journal(&journal, records.iter().map(|record| (at, record)));
        }

        /// The league after the start, without all lines after the first round was opened.
        fn after_loss(&self) -> League {
            let opened = self.played.manager().find_map(|(line, _, record)| {
                let is_opened = matches!(record, Record::Event(Event::RoundOpened { .. }));
                is_opened.then_some(*line)
            });
            let end = self.ends()[opened.unwrap() as usize - 1];
            self.start(end, true).unwrap()
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
                stored: None,
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

    #[test]
    fn handed_in_copy_of_a_journal_gives_back_only_results_with_receipts() {
        let place = Place::new();
        for number in 1..=2 {
            let journal = place.referee_journal(number);
            fs::remove_file(lock_of(&journal)).unwrap();
        }
        assert_eq!(place.after_loss().phase(), Phase::Completed);
        for number in 1..=2 {
            let mut records = place.records(number);
            for record in &mut records {
                if let Record::Event(referee::Event::Closed {
                    opened: Some(opened),
                    ..
                }) = record
                {
                    Arc::make_mut(opened).receipt = None;
                }
            }
            place.write_referee(number, records);
        }
        assert_eq!(
            place.after_loss().phase(),
            Phase::Completed,
            "they are of this machine"
        );
        for number in 1..=2 {
            let journal = place.referee_journal(number);
            fs::remove_file(lock_of(&journal)).unwrap();
        }
        let league = place.after_loss();
        assert_eq!(
            (league.phase(), league.matches_played()),
            (Phase::Running, 0)
        );
    }

    #[test]
    fn acknowledged_result_counts_before_a_later_one_in_whichever_folder() {
        let place = Place::new();
        let whole = place.played.replay(|_, _| {});
        let is_of_first = |record: &Record<referee::Event>| {
            let Record::Event(event) = record else {
                return false;
            };
            event.match_id().is_some_and(|id| id.as_str() == "R1M1")
        };
        let (of_first, other) = match place.records(1).iter().any(is_of_first) {
            true => (1, 2),
            false => (2, 1),
        };
        let again = place.records(of_first).into_iter().filter(is_of_first);
        let again = again.filter_map(|record| match record {
            Record::Event(referee::Event::MatchOpened { mut fixture, at }) => {
                Arc::make_mut(&mut fixture).attempt = 2;
                Some(Record::Event(referee::Event::MatchOpened { fixture, at }))
            }
            decided @ Record::Event(referee::Event::Decided { .. }) => Some(decided),
            _ => None,
        });
        let later: Vec<_> = place.records(other).into_iter().chain(again).collect();
        for [first, second] in [[1, 2], [2, 1]] {
            place.write_referee(first, place.records(of_first));
            place.write_referee(second, later.clone());
            let league = place.after_loss();
            assert_eq!(league.standings(), whole.standings());
            let text = fs::read_to_string(place.journal()).unwrap();
            let restored = text.lines().find_map(|line| {
                let line: serde_json::Value = serde_json::from_str(line).unwrap();
                let fact = line["fact"]["event"]["result_recorded"].clone();
                (fact["match_id"] == "R1M1").then_some(fact)
            });
            assert_eq!(restored.unwrap()["attempt"], 1);
        }
    }

    #[test]
    fn journal_without_a_line_does_not_begin_another_league() {
        let place = Place::new();
        for name in [
            place.root.standings(&league_id()),
            place.root.rounds(&league_id()),
        ] {
            fs::remove_file(name).unwrap();
        }
        let noted = format!("{:<10}\n{:020}\n", 1, 12);
        fs::write(lock_of(&place.journal()), noted).unwrap();
        for accept_loss in [false, true] {
            let refused = place.start(0, accept_loss).err().unwrap();
            assert!(matches!(refused, StartError::Lost { .. }), "{refused}");
            assert!(refused.to_string().contains(".lock"), "{refused}");
        }
    }

    #[test]
    fn league_without_its_documents_may_have_begun() {
        let place = Place::new();
        let end = place.ends()[1];
        for text in [None, Some("{"), Some("[]")] {
            let rounds = place.root.rounds(&league_id());
            let _ = fs::remove_file(&rounds);
            if let Some(text) = text {
                fs::write(&rounds, text).unwrap();
            }
            let refused = place.start(end, true).err().unwrap();
            assert!(matches!(refused, StartError::Unusable { .. }), "{refused}");
        }
    }
}
