//! Replays the manager's journal entry by entry, and compares its documents and its table with the
//! recomputed league.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use league_core::draw::{LeagueSecret, LeagueSecrets};
use league_core::league::{
    Effect, Event, ExitCause, League, Lever, Phase, PlayedMatches, Tiebreaker,
};
use league_core::machine::Machine;
use league_protocol::id::{LeagueId, MatchId, PlayerId};
use league_protocol::message::{MatchResult, MatchStatus, Score, StandingRow};
use league_protocol::secret::DrawMode;
use league_protocol::time::Timestamp;

use super::difference::difference;
use super::evidence::{Evidence, RecordedResult};
use super::{Behind, Checked, Finding, RepeatedMatch, Wrong};
use crate::storage::documents::{
    Document, RepositoryError, RoundsDocument, RoundsProjection, RoundsRepository,
    StandingsDocument, StandingsRepository, standings,
};
use crate::storage::publishers::changes_table;
use crate::storage::record::{Opening, Record};
use crate::storage::root::Root;
use crate::storage::store::Entry;

/// The role of a manager in the opening of its journal.
const ROLE: &str = "league_manager";

/// Only the manager knows the secret. No check depends on it.
const NO_SECRET: LeagueSecrets = LeagueSecrets::one(LeagueSecret([0; 32]));

/// A league that is being recomputed.
pub(crate) struct ManagerReplay<'a> {
    league_id: &'a LeagueId,
    league: Option<League>,
    reproducible: bool,
    tally: Tally,
    results: u64,
    /// Why open matches may be begun again.
    repeated_for: BTreeMap<MatchId, &'static str>,
    pub(crate) documents: ManagerDocuments,
    pub(crate) evidence: Evidence,
}

impl<'a> ManagerReplay<'a> {
    pub(crate) fn new(
        league_id: &'a LeagueId,
        documents: ManagerDocuments,
        evidence: Evidence,
    ) -> Self {
        Self {
            league_id,
            league: None,
            reproducible: false,
            tally: Tally::default(),
            results: 0,
            repeated_for: BTreeMap::new(),
            documents,
            evidence,
        }
    }

    /// Applies the next entry, if it is a possible successor.
    pub(crate) fn apply(&mut self, entry: Entry<Record<Event>>) -> Result<(), Finding> {
        let opened = matches!(entry.fact, Record::Opened(_));
        check_opening(entry.sequence, opened).map_err(Finding::Line)?;
        match entry.fact {
            Record::Opened(opening) => self.open(*opening).map_err(Finding::Line),
            Record::Event(event) => self.go_on(entry.sequence, entry.at, &event),
            Record::Transcript(_) => Err(Finding::Line(
                "what was said in a match stands in its referee's journal, not here".to_owned(),
            )),
        }
    }

    /// Records what was checked so far.
    pub(crate) fn note_progress(&mut self) {
        let checked = &mut self.evidence.verdict.checked;
        checked.reproducible = self.reproducible;
        checked.results = self.results;
        let Some(league) = &self.league else { return };
        checked.phase = Some(league.phase().to_string());
        checked.ended_early = league.ended_early();
        checked.players = league.players().len();
        checked.referees = league.referees().len();
        checked.rounds = league.round().map_or(0, |round| round.number());
        checked.matches = league.total_matches();
    }

    /// Whether the league is over, or its journal has no opening.
    pub(crate) fn is_over(&self) -> bool {
        self.league.as_ref().is_none_or(League::is_over)
    }

    /// Checks the current table of the league.
    pub(crate) fn check_table(&mut self) -> Result<(), String> {
        let league = self.league.as_ref().ok_or_else(no_opening)?;
        compare(&mut self.tally, league)
    }

    fn open(&mut self, opening: Opening) -> Result<(), String> {
        if opening.role != ROLE {
            let found = opening.role.escape_debug();
            return Err(format!(
                "the journal is that of a `{found}`, expected `{ROLE}`"
            ));
        }
        let rules = opening
            .rules
            .ok_or("the rules of the league are missing from its opening")?;
        let ids = [Some(&rules.league_id), opening.league_id.as_ref()];
        if ids != [Some(self.league_id); 2] {
            let expected = self.league_id;
            return Err(format!("this is not the journal of `{expected}`"));
        }
        let says_so = rules.draws == DrawMode::Reproducible;
        if says_so != opening.reproducible {
            let (reproducible, mode) = (opening.reproducible, rules.draws.as_str());
            return Err(format!(
                "`reproducible` is `{reproducible}`, and the rules draw by `{mode}`"
            ));
        }
        let verdict = &mut self.evidence.verdict;
        (verdict.mode, verdict.open_referees) = (Some(rules.draws), rules.open_referees);
        let league = League::new(rules, NO_SECRET);
        self.league = Some(league.map_err(|error| error.to_string())?);
        self.reproducible = opening.reproducible;
        Ok(())
    }

    fn go_on(&mut self, sequence: u64, at: Timestamp, event: &Event) -> Result<(), Finding> {
        let Some(league) = &mut self.league else {
            return Err(Finding::Line(no_opening()));
        };
        let checked = league.audit(event);
        checked.map_err(|problem| Finding::Line(problem.to_string()))?;
        league.apply(event);
        match event {
            Event::PlayerRegistered { player_id, .. } => self.tally.add_player(player_id),
            Event::ResultRecorded { .. } => self.compare_result(sequence, event)?,
            Event::RoundOpened { round, byes, .. } => self.tally.add_byes(*round, byes),
            Event::RefereeByDocuments { referee, .. } => {
                let exposed = &mut self.evidence.verdict.exposed_referees;
                exposed.push(referee.clone());
            }
            Event::ReportRefused { match_id, .. }
            | Event::ResultTold { match_id, .. }
            | Event::LossDoubted { match_id, .. }
            | Event::DeclinedAfterCall { match_id, .. } => {
                self.repeated_for.insert(match_id.clone(), reason(event));
            }
            Event::OrganiserActed { act, effect, .. } => {
                self.tally.act(act, effect, league);
                self.evidence.verdict.levers += 1;
                compare(&mut self.tally, league).map_err(Finding::Line)?;
            }
            Event::RoundClosed { .. } => {
                compare(&mut self.tally, league).map_err(Finding::Line)?;
            }
            _ => {}
        }
        let Some(league) = &self.league else {
            return Ok(());
        };
        self.documents
            .compare(sequence, at, event, league)
            .map_err(Finding::Elsewhere)
    }

    /// Compares a result, which the league has just applied, with the records of others.
    fn compare_result(&mut self, sequence: u64, event: &Event) -> Result<(), Finding> {
        let (
            Some(league),
            Event::ResultRecorded {
                match_id,
                referee,
                attempt,
                result,
                ..
            },
        ) = (&self.league, event)
        else {
            return Ok(());
        };
        self.tally.add(match_id, result, &league.rules().score);
        self.results += 1;
        let recorded = RecordedResult {
            line: sequence,
            round: league.round().map_or(0, |round| round.number()),
            match_id,
            referee: referee.as_ref(),
            attempt: *attempt,
            game: &league.rules().game_type,
            result,
        };
        let compared = self.evidence.compare(recorded);
        let confirmed = compared.map_err(Finding::Elsewhere)?;
        let verdict = &mut self.evidence.verdict;
        verdict.draws_not_proven += u64::from(result.draw.is_none());
        let counts = &mut verdict.matches;
        counts.add(league, match_id, referee.as_ref(), result, confirmed);
        let why = self.repeated_for.remove(match_id);
        if *attempt > 1 {
            verdict.attempts_above_1.push(RepeatedMatch {
                match_id: match_id.clone(),
                attempts: *attempt,
                why: why.unwrap_or("referee failed"),
            });
        }
        Ok(())
    }
}

/// Why a match may be begun again after this event.
fn reason(event: &Event) -> &'static str {
    match event {
        Event::ReportRefused { .. } => "report refused",
        Event::LossDoubted { .. } => "loss doubted",
        // Only a report that differs begins a match again whose result was told.
        Event::ResultTold { .. } => "reports differ",
        _ => "declined after call",
    }
}

fn compare(tally: &mut Tally, league: &League) -> Result<(), String> {
    tally.difference(league).map_or(Ok(()), Err)
}

/// The first entry, and no other, must be the opening.
pub(crate) fn check_opening(sequence: u64, opened: bool) -> Result<(), String> {
    match (sequence, opened) {
        (1, false) => Err(no_opening()),
        (2.., true) => Err("a journal begins once, expected a fact".to_owned()),
        _ => Ok(()),
    }
}

fn no_opening() -> String {
    "the first entry must tell how the journal began".to_owned()
}

/// The existing documents, and the rounds according to the journal.
#[derive(Debug)]
pub(crate) struct ManagerDocuments {
    table: Option<(PathBuf, StandingsDocument)>,
    list: Option<(PathBuf, RoundsDocument)>,
    rounds: RoundsProjection,
    agreed_table: Option<Agreed>,
    agreed_list: Option<Agreed>,
}

/// A document that agrees with the journal.
#[derive(Debug)]
struct Agreed {
    file: PathBuf,
    version: u64,
    /// Whether the journal has later changes.
    behind: bool,
}

impl ManagerDocuments {
    pub(crate) fn load(root: &Root, league: &LeagueId) -> Result<Self, RepositoryError> {
        let table = StandingsRepository::new(root, league.clone());
        let list = RoundsRepository::new(root, league.clone());
        let found_table = table.path().exists().then(|| table.load()).transpose()?;
        let found_list = list.path().exists().then(|| list.load()).transpose()?;
        // An empty document reflects no entry.
        let found_table =
            found_table.filter(|found| *found != StandingsDocument::empty(league.clone()));
        let found_list = found_list.filter(|found| *found != RoundsDocument::empty(league.clone()));
        Ok(Self {
            table: found_table.map(|found| (table.path().to_owned(), found)),
            list: found_list.map(|found| (list.path().to_owned(), found)),
            rounds: RoundsProjection::new(league.clone()),
            agreed_table: None,
            agreed_list: None,
        })
    }

    /// Compares the documents that reflect this entry, which `league` has just applied.
    pub(crate) fn compare(
        &mut self,
        sequence: u64,
        at: Timestamp,
        event: &Event,
        league: &League,
    ) -> Result<(), Wrong> {
        let changed = self.rounds.take_in(sequence, at, event, league);
        if let Some(agreed) = self.agreed_list.as_mut().filter(|_| changed) {
            agreed.behind = true;
        }
        if let Some(agreed) = self.agreed_table.as_mut().filter(|_| changes_table(event)) {
            agreed.behind = true;
        }
        if let Some((file, found)) = self.table.take_if(|(_, found)| found.version == sequence) {
            if let Some(what) = difference(&found, &standings(league, sequence, at)) {
                return Err(wrong(file, what));
            }
            self.agreed_table = Some(Agreed::new(file, sequence));
        }
        if let Some((file, found)) = self.list.take_if(|(_, found)| found.version == sequence) {
            if let Some(what) = difference(&found, self.rounds.document()) {
                return Err(wrong(file, what));
            }
            self.agreed_list = Some(Agreed::new(file, sequence));
        }
        Ok(())
    }

    /// Lists the files that agree; a file that does not reflect any entry of the journal is wrong.
    pub(crate) fn finish(&mut self, last: u64, checked: &mut Checked) -> Result<(), Wrong> {
        let table = self.table.take().map(|(file, found)| (file, found.version));
        let list = self.list.take().map(|(file, found)| (file, found.version));
        match table.or(list) {
            None => {
                let agreed = [self.agreed_list.take(), self.agreed_table.take()];
                for agreed in agreed.into_iter().flatten() {
                    agreed.tell(checked);
                }
                Ok(())
            }
            Some((file, version)) => Err(wrong(
                file,
                format!(
                    "`version` is `{version}`, expected a line from 2 to {last} of the journal"
                ),
            )),
        }
    }
}

impl Agreed {
    fn new(file: PathBuf, version: u64) -> Self {
        Self {
            file,
            version,
            behind: false,
        }
    }

    fn tell(self, checked: &mut Checked) {
        if self.behind {
            checked.behind.push(Behind {
                file: self.file,
                line: self.version,
            });
        } else {
            checked.documents.push(self.file);
        }
    }
}

fn wrong(file: PathBuf, what: String) -> Wrong {
    Wrong {
        file,
        line: None,
        what,
    }
}

/// What counts of each match, worked out from the results and from what the organiser said.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    numbers: BTreeMap<PlayerId, usize>,
    /// By the first match of each place in the schedule.
    matches: BTreeMap<MatchId, MatchLine>,
    /// The first match of each match that is played again.
    replays: BTreeMap<MatchId, MatchId>,
    /// The rounds in which each player rested and was paid for it.
    byes: BTreeMap<PlayerId, Vec<u32>>,
    /// Players none of whose matches counts.
    annulled: BTreeSet<PlayerId>,
    /// Players that were removed or disqualified: they come last.
    penalised: BTreeSet<PlayerId>,
    /// What the matches add up to; `None` once the organiser changed one, until they are added up
    /// again.
    sums: Option<Sums>,
}

/// What matches add up to.
#[derive(Debug, Default)]
struct Sums {
    /// By the number of the player.
    totals: Vec<Totals>,
    /// Every match that counts.
    met: Vec<MetPair>,
}

impl Sums {
    fn add(&mut self, round: u32, players: [usize; 2], marks: [Mark; 2], score: &Score) {
        for (number, mark) in players.into_iter().zip(marks) {
            if self.totals.len() <= number {
                self.totals.resize(number + 1, Totals::default());
            }
            self.totals[number].add(mark, score);
        }
        self.met.push(MetPair {
            round,
            players,
            marks,
        });
    }

    /// What a tiebreaker says of each player, in matches with opponents; more is better.
    fn by_opponents(
        &self,
        by: Tiebreaker,
        rounds: u32,
        score: &Score,
        byes: &[Vec<u32>],
    ) -> Vec<i64> {
        let mut figures = vec![0_i64; self.totals.len()];
        let mut opponents: Vec<Vec<i64>> = vec![Vec::new(); self.totals.len()];
        for met in &self.met {
            for (seat, &player) in met.players.iter().enumerate() {
                let other = i64::from(self.totals[met.players[1 - seat]].points);
                opponents[player].push(other);
                figures[player] += match (by, met.marks[seat]) {
                    (Tiebreaker::SonnebornBerger, Mark::Win) => 2 * other,
                    (Tiebreaker::SonnebornBerger, Mark::Draw) => other,
                    (Tiebreaker::Progressive, mark) => {
                        i64::from((rounds + 1).saturating_sub(met.round))
                            * i64::from(mark.points(score))
                    }
                    (Tiebreaker::WinsAtB, Mark::Win) => {
                        i64::from(seat == 1 && met.marks[0] == Mark::Loss)
                    }
                    _ => 0,
                };
            }
        }
        for (player, rested) in byes.iter().enumerate() {
            let own = i64::from(self.totals[player].points);
            opponents[player].extend(rested.iter().map(|_| own));
            if by == Tiebreaker::Progressive {
                let paid = rested
                    .iter()
                    .map(|round| i64::from((rounds + 1).saturating_sub(*round)));
                figures[player] += paid.sum::<i64>() * i64::from(score.win);
            }
        }
        let cuts = match by {
            Tiebreaker::Buchholz => (0, 0),
            Tiebreaker::BuchholzCut1 => (1, 0),
            Tiebreaker::BuchholzMedian => (1, 1),
            _ => return figures,
        };
        let sum = |mut points: Vec<i64>| {
            points.sort_unstable();
            points.truncate(points.len().saturating_sub(cuts.1));
            points.iter().skip(cuts.0).sum()
        };
        opponents.into_iter().map(sum).collect()
    }
}

/// Two players that met, the one at seat A first.
#[derive(Debug)]
struct MetPair {
    round: u32,
    players: [usize; 2],
    marks: [Mark; 2],
}

fn round_of(match_id: &MatchId) -> u32 {
    match_id.numbers().map_or(1, |(round, _)| round)
}

/// How a match ended for its players, and what the organiser said of it.
#[derive(Debug)]
struct MatchLine {
    players: [PlayerId; 2],
    recorded: Option<[Mark; 2]>,
    ruled: Option<[Mark; 2]>,
    annulled: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Win,
    Draw,
    Loss,
    TechnicalLoss,
}

impl Mark {
    fn of(result: &MatchResult) -> [Self; 2] {
        result.players.each_ref().map(|player| {
            if result.status == MatchStatus::Draw {
                Self::Draw
            } else if result.failed.contains_key(player) {
                Self::TechnicalLoss
            } else if result.winner.as_ref() == Some(player) {
                Self::Win
            } else {
                Self::Loss
            }
        })
    }

    const fn points(self, score: &Score) -> u32 {
        match self {
            Self::Win => score.win,
            Self::Draw => score.draw,
            Self::Loss => score.loss,
            Self::TechnicalLoss => score.technical_loss,
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Totals {
    wins: u32,
    draws: u32,
    losses: u32,
    technical_losses: u32,
    byes: u32,
    points: u32,
}

impl Totals {
    fn add(&mut self, mark: Mark, score: &Score) {
        match mark {
            Mark::Win => self.wins += 1,
            Mark::Draw => self.draws += 1,
            Mark::Loss | Mark::TechnicalLoss => self.losses += 1,
        }
        self.technical_losses += u32::from(mark == Mark::TechnicalLoss);
        self.points = self.points.saturating_add(mark.points(score));
    }

    /// The number by which a table has more of this player, for tiebreakers of one player alone.
    fn figure(&self, by: Tiebreaker) -> i64 {
        match by {
            Tiebreaker::Points => i64::from(self.points),
            Tiebreaker::Wins => i64::from(self.wins),
            Tiebreaker::DrawDifference => i64::from(self.draws) - i64::from(self.losses),
            Tiebreaker::TechnicalLosses => -i64::from(self.technical_losses),
            _ => 0,
        }
    }
}

impl Tally {
    pub(crate) fn add_player(&mut self, player: &PlayerId) {
        let next = self.numbers.len();
        self.numbers.entry(player.clone()).or_insert(next);
    }

    pub(crate) fn add_byes(&mut self, round: u32, players: &[PlayerId]) {
        for player in players {
            self.byes.entry(player.clone()).or_default().push(round);
            self.sums = None;
        }
    }

    /// Adds a result.
    pub(crate) fn add(&mut self, match_id: &MatchId, result: &MatchResult, score: &Score) {
        let is_new = !self.matches.contains_key(match_id) && !self.replays.contains_key(match_id);
        let line = self.line(match_id, || result.players.clone());
        line.recorded = Some(Mark::of(result));
        let is_counted = !result.players.iter().any(|id| self.annulled.contains(id));
        let numbers = result.players.each_ref().map(|id| self.numbers.get(id));
        match (&mut self.sums, numbers) {
            (Some(sums), [Some(&a), Some(&b)]) if is_new && is_counted => {
                sums.add(round_of(match_id), [a, b], Mark::of(result), score);
            }
            // Of a match that the organiser has spoken of, the result alone does not tell.
            _ => self.sums = None,
        }
    }

    fn line(
        &mut self,
        match_id: &MatchId,
        players: impl FnOnce() -> [PlayerId; 2],
    ) -> &mut MatchLine {
        let first = self.replays.get(match_id).unwrap_or(match_id).clone();
        self.matches.entry(first).or_insert_with(|| MatchLine {
            players: players(),
            recorded: None,
            ruled: None,
            annulled: false,
        })
    }

    /// Takes in what the organiser did; `league` has applied it.
    fn act(&mut self, lever: &Lever, effect: &Effect, league: &League) {
        if let Some((player, cause, played)) = lever.put_out() {
            self.sums = None;
            self.annulled.remove(player);
            self.penalised.remove(player);
            if league.phase() == Phase::Registering {
                return;
            }
            if played == PlayedMatches::Annulled {
                self.annulled.insert(player.clone());
            }
            if cause != ExitCause::Withdrawn {
                self.penalised.insert(player.clone());
            }
            return;
        }
        let (match_id, ruled) = match lever {
            Lever::Reinstate { player_id } => {
                self.annulled.remove(player_id);
                self.penalised.remove(player_id);
                self.sums = None;
                return;
            }
            Lever::Annul { match_id } | Lever::Replay { match_id } => (match_id, None),
            Lever::Rule {
                match_id,
                winner,
                both_lose,
            } => (match_id, Some((winner, *both_lose))),
            _ => return,
        };
        self.sums = None;
        let fixture = league.fixture(match_id);
        let seats = fixture.and_then(|fixture| league.seats_of(fixture));
        let seats = seats.map(|[a, b]| [a.clone(), b.clone()]);
        let Some(players) = self.players_of(match_id).or(seats) else {
            return;
        };
        let line = self.line(match_id, || players.clone());
        line.annulled = ruled.is_none();
        line.ruled = ruled.map(|(winner, both_lose)| match winner {
            Some(winner) => players.each_ref().map(|player| match player == winner {
                true => Mark::Win,
                false => Mark::Loss,
            }),
            None if both_lose => [Mark::Loss; 2],
            None => [Mark::Draw; 2],
        });
        if let (Lever::Replay { .. }, Some(replay)) = (lever, &effect.replay) {
            (line.recorded, line.annulled) = (None, false);
            let first = self.replays.get(match_id).unwrap_or(match_id).clone();
            self.replays.insert(replay.clone(), first);
        }
    }

    fn players_of(&self, match_id: &MatchId) -> Option<[PlayerId; 2]> {
        let first = self.replays.get(match_id).unwrap_or(match_id);
        self.matches.get(first).map(|line| line.players.clone())
    }

    /// Adds up all matches that count.
    fn sum_up(&self, score: &Score) -> Sums {
        let mut sums = Sums::default();
        let lines = self.matches.iter();
        let is_counted = |(_, line): &(&MatchId, &MatchLine)| {
            let out = |player: &PlayerId| self.annulled.contains(player);
            !line.annulled && !line.players.iter().any(out)
        };
        for (match_id, line) in lines.filter(is_counted) {
            let numbers = line.players.each_ref().map(|id| self.numbers.get(id));
            let (Some(marks), [Some(&a), Some(&b)]) = (line.ruled.or(line.recorded), numbers)
            else {
                continue;
            };
            sums.add(round_of(match_id), [a, b], marks, score);
        }
        sums.totals.resize(self.numbers.len(), Totals::default());
        let byes = self.byes.iter();
        for (player, byes) in byes.filter(|(player, _)| !self.annulled.contains(player)) {
            if let Some(&number) = self.numbers.get(player) {
                let totals = &mut sums.totals[number];
                totals.byes = byes.len() as u32;
                totals.points = totals.points.saturating_add(totals.byes * score.win);
            }
        }
        sums
    }

    /// Describes where a table differs from this one.
    fn difference(&mut self, league: &League) -> Option<String> {
        let (rows, rules) = (league.standings(), league.rules());
        let sums = self.sums.take();
        let mut sums = sums.unwrap_or_else(|| self.sum_up(&rules.score));
        sums.totals.resize(self.numbers.len(), Totals::default());
        let difference = self.difference_of(&sums, league, &rows);
        self.sums = Some(sums);
        difference
    }

    fn difference_of(&self, sums: &Sums, league: &League, rows: &[StandingRow]) -> Option<String> {
        let order = self.order(league, sums);
        if order.len() != rows.len() {
            let (found, expected) = (rows.len(), order.len());
            return Some(format!("the table has {found} rows, expected {expected}"));
        }
        let mut pairs = (1_u32..).zip(rows.iter().zip(order));
        pairs.find_map(|(rank, (row, (player, record)))| {
            let found = Totals {
                wins: row.wins,
                draws: row.draws,
                losses: row.losses,
                technical_losses: row.technical_losses,
                byes: row.byes,
                points: row.points,
            };
            let same = row.rank == rank && row.player_id == *player && found == *record;
            (!same).then(|| {
                let id = &row.player_id;
                format!("rank {rank} is `{id}` with {found:?}, expected `{player}` with {record:?}")
            })
        })
    }

    /// For each tiebreaker that looks at opponents what it says of each player; nothing for others.
    fn figures_of_opponents(
        &self,
        league: &League,
        sums: &Sums,
        deciding: &[Tiebreaker],
    ) -> Vec<Vec<i64>> {
        let mut byes = vec![Vec::new(); sums.totals.len()];
        let counted = self
            .byes
            .iter()
            .filter(|(player, _)| !self.annulled.contains(player));
        for (player, rounds) in counted {
            if let Some(&number) = self.numbers.get(player) {
                byes[number].clone_from(rounds);
            }
        }
        let (rounds, score) = (league.schedule().rounds(), &league.rules().score);
        let figures = |by: &Tiebreaker| match by {
            Tiebreaker::Buchholz
            | Tiebreaker::BuchholzCut1
            | Tiebreaker::BuchholzMedian
            | Tiebreaker::SonnebornBerger
            | Tiebreaker::Progressive
            | Tiebreaker::WinsAtB => sums.by_opponents(*by, rounds, score, &byes),
            _ => Vec::new(),
        };
        deciding.iter().map(figures).collect()
    }

    /// The players with a seat, as the table has them.
    fn order<'t>(&'t self, league: &League, sums: &'t Sums) -> Vec<(&'t PlayerId, &'t Totals)> {
        let totals = &sums.totals;
        let by = &league.rules().tiebreakers;
        // After the id nothing is left to decide.
        let mut deciding = by.split(|by| *by == Tiebreaker::PlayerId);
        let deciding = deciding.next().unwrap_or_default();
        let mut before = deciding.split(|by| *by == Tiebreaker::HeadToHead);
        let before = before.next().unwrap_or_default();
        let of_opponents = self.figures_of_opponents(league, sums, deciding);
        let figures = |by: &[Tiebreaker], number: usize| -> Vec<i64> {
            let record = &totals[number];
            let by = by.iter().zip(&of_opponents);
            by.map(|(by, others)| {
                others
                    .get(number)
                    .copied()
                    .unwrap_or_else(|| record.figure(*by))
            })
            .collect()
        };
        let mut between = vec![0_i64; totals.len()];
        if deciding.len() > before.len() {
            let equals: Vec<Vec<i64>> = (0..totals.len()).map(|own| figures(before, own)).collect();
            let score = &league.rules().score;
            for met in &sums.met {
                let [a, b] = met.players;
                if equals[a] == equals[b] {
                    between[a] += i64::from(met.marks[0].points(score));
                    between[b] += i64::from(met.marks[1].points(score));
                }
            }
        }
        let progress = league.progress();
        let seated: BTreeMap<&PlayerId, u32> = league
            .players()
            .iter()
            .zip(progress.into_iter().chain(std::iter::repeat(0)))
            .map(|(player, progress)| (player.id(), progress))
            .collect();
        let players = self.numbers.iter();
        let mut order: Vec<_> = players.filter(|(id, _)| seated.contains_key(id)).collect();
        order.sort_by_cached_key(|&(player, &number)| {
            let mut key = figures(deciding, number);
            if let Some(place) = key.get_mut(before.len()) {
                *place = between[number];
            }
            let id = player.as_str();
            let is_last = self.penalised.contains(player);
            let progress = seated.get(player).copied();
            (is_last, Reverse((progress, key)), id.len(), id)
        });
        order
            .into_iter()
            .map(|(player, &number)| (player, &totals[number]))
            .collect()
    }
}
