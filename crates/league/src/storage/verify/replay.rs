//! The manager's journal, taken in by a league of its own, entry by entry.

use league_core::draw::LeagueSecret;
use league_core::league::{Event, League};
use league_core::machine::Machine;
use league_protocol::id::LeagueId;
use league_protocol::time::Timestamp;

use super::claim::Recorded;
use super::documents::Documents;
use super::table::Tally;
use super::testimony::Testimony;
use super::{Checked, Disagreement, Finding};
use crate::storage::record::{Opening, Record};
use crate::storage::store::Entry;

/// What a manager calls itself at the beginning of its journal.
const ROLE: &str = "league_manager";

/// The secret is the manager's alone. Nothing that is checked follows from it.
const NO_SECRET: LeagueSecret = LeagueSecret([0; 32]);

/// A league that is made again.
pub(super) struct Replay<'a> {
    league_id: &'a LeagueId,
    league: Option<League>,
    reproducible: bool,
    tally: Tally,
    results: u64,
    documents: Documents,
    testimony: Testimony,
}

impl<'a> Replay<'a> {
    pub(super) fn new(league_id: &'a LeagueId, documents: Documents, testimony: Testimony) -> Self {
        Self {
            league_id,
            league: None,
            reproducible: false,
            tally: Tally::default(),
            results: 0,
            documents,
            testimony,
        }
    }

    /// Takes in the next entry, if it can follow.
    pub(super) fn take_in(&mut self, entry: Entry<Record<Event>>) -> Result<(), Finding> {
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

    /// Tells what was looked at so far.
    pub(super) fn tell(&self, checked: &mut Checked) {
        checked.reproducible = self.reproducible;
        checked.results = self.results;
        self.testimony.tell(checked);
        let Some(league) = &self.league else { return };
        checked.phase = Some(league.phase().to_string());
        checked.players = league.players().len();
        checked.referees = league.referees().len();
        checked.rounds = league.round().map_or(0, |round| round.number());
        checked.matches = league.schedule().total_matches();
    }

    /// Whether the league is over, or nothing is known of it.
    pub(super) fn is_over(&self) -> bool {
        self.league.as_ref().is_none_or(League::is_over)
    }

    /// Compares the table of the league as it is now.
    pub(super) fn check_table(&self) -> Result<(), String> {
        let league = self.league.as_ref().ok_or_else(no_opening)?;
        compare(&self.tally, league)
    }

    /// Tells the documents that agree with the journal, which ends with line `last`; gives what
    /// others said of the league.
    pub(super) fn finish(
        self,
        last: u64,
        checked: &mut Checked,
    ) -> Result<Testimony, Disagreement> {
        self.documents.finish(last, checked)?;
        Ok(self.testimony)
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
            Event::ResultRecorded {
                match_id,
                referee,
                attempt,
                result,
                ..
            } => {
                self.tally.add(result, &league.rules().score);
                self.results += 1;
                let recorded = Recorded {
                    line: sequence,
                    round: league.round().map_or(0, |round| round.number()),
                    match_id,
                    referee: referee.as_ref(),
                    attempt: *attempt,
                    game: &league.rules().game_type,
                    result,
                };
                let compared = self.testimony.compare(recorded);
                compared.map_err(Finding::Elsewhere)?;
            }
            Event::RoundClosed { .. } => {
                compare(&self.tally, league).map_err(Finding::Line)?;
            }
            _ => {}
        }
        self.documents
            .compare(sequence, at, event, league)
            .map_err(Finding::Elsewhere)
    }
}

fn compare(tally: &Tally, league: &League) -> Result<(), String> {
    tally.difference(&league.standings()).map_or(Ok(()), Err)
}

/// The first entry tells how the journal began, and no other does.
pub(super) fn check_opening(sequence: u64, opened: bool) -> Result<(), String> {
    match (sequence, opened) {
        (1, false) => Err(no_opening()),
        (2.., true) => Err("a journal begins once, expected a fact".to_owned()),
        _ => Ok(()),
    }
}

fn no_opening() -> String {
    "the first entry must tell how the journal began".to_owned()
}
