//! What others wrote down of the league's matches, held against what the manager wrote.
//!
//! All of it is gathered before the manager's journal is read: nobody hears of a result that the
//! manager has not written, so that whatever others know must be found there. Of each word so much
//! is kept as tells whether it is the same; where it is not, its file is opened again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use league_protocol::id::{LeagueId, MatchId, RefereeId};
use league_protocol::secret::Commitment;

use super::claim::{CHANGED, Claim, Fingerprint, Reach, Recorded, fingerprint};
use super::difference::{Difference, first_difference};
use super::matches::{Shown, shown};
use super::memory::Memory;
use super::referees::decided;
use super::{Checked, Disagreement, MATCH_FILES, MOST_DISPUTED, NotCompared, Wrong};
use crate::storage::root::Root;

/// The most words of others that are kept at once; what is beyond is not compared.
const MOST_CLAIMS: usize = 4_000_000;

/// Why a file that was read once cannot be quoted.
const WRITTEN_ANEW: &str = "they were written anew meanwhile";

/// Where something was written.
#[derive(Debug, Clone, Copy)]
struct Place {
    source: usize,
    line: Option<u64>,
}

/// All that others wrote down, and what came of comparing it.
#[derive(Debug)]
pub(super) struct Testimony {
    root: Root,
    league: LeagueId,
    journal: PathBuf,
    sources: Vec<PathBuf>,
    claims: BTreeMap<MatchId, Vec<(Place, Claim)>>,
    kept: usize,
    referees: BTreeMap<RefereeId, Reach>,
    /// Results of which their referee's journal, which is here, has nothing.
    untold: Vec<(u64, u32, MatchId, RefereeId)>,
    ruled: u64,
    confirmed: u64,
    /// How many files of matches agree with their referees' journals.
    files: u64,
    agreed_files: BTreeSet<usize>,
    agreed_players: BTreeSet<usize>,
    disputed: Vec<Wrong>,
    disputed_more: u64,
    not_compared: BTreeMap<(String, &'static str), u64>,
}

impl Testimony {
    pub(super) fn new(root: &Root, league: &LeagueId) -> Self {
        Self {
            root: root.clone(),
            league: league.clone(),
            journal: root.league_journal(league),
            sources: Vec::new(),
            claims: BTreeMap::new(),
            kept: 0,
            referees: BTreeMap::new(),
            untold: Vec::new(),
            ruled: 0,
            confirmed: 0,
            files: 0,
            agreed_files: BTreeSet::new(),
            agreed_players: BTreeSet::new(),
            disputed: Vec::new(),
            disputed_more: 0,
            not_compared: BTreeMap::new(),
        }
    }

    /// Names a file that others are quoted from.
    pub(super) fn source(&mut self, file: &Path) -> usize {
        self.sources.push(file.to_owned());
        self.sources.len() - 1
    }

    /// Takes down what stands in a line of a file, or in the file as a whole.
    pub(super) fn add(&mut self, source: usize, line: Option<u64>, of: &MatchId, claim: Claim) {
        if self.kept >= MOST_CLAIMS {
            return self.leave_out("words of others".to_owned(), "there are too many of them");
        }
        self.kept += 1;
        let claims = self.claims.entry(of.clone()).or_default();
        claims.push((Place { source, line }, claim));
    }

    /// Takes down that the journal of a referee is here.
    pub(super) fn add_referee(&mut self, referee: RefereeId, reach: Reach) {
        self.referees.insert(referee, reach);
    }

    /// Whether the journal of a referee is here.
    pub(super) fn has_journal_of(&self, referee: &RefereeId) -> bool {
        self.referees.contains_key(referee)
    }

    /// Counts files of matches that agree with their referees' journals.
    pub(super) fn add_files(&mut self, agreed: usize) {
        self.files += agreed as u64;
    }

    /// Counts something that cannot be compared.
    pub(super) fn leave_out(&mut self, what: String, why: &'static str) {
        *self.not_compared.entry((what, why)).or_default() += 1;
    }

    /// Takes down what a player says otherwise; its word alone overturns nothing.
    pub(super) fn dispute(&mut self, found: Wrong) {
        if self.disputed.len() < MOST_DISPUTED {
            self.disputed.push(found);
        } else {
            self.disputed_more += 1;
        }
    }

    /// Compares a result of the manager with all that was said of its match.
    pub(super) fn compare(&mut self, recorded: Recorded<'_>) -> Result<(), Disagreement> {
        let claims = self.claims.remove(recorded.match_id).unwrap_or_default();
        self.kept -= claims.len();
        let mut told = false;
        for (place, claim) in &claims {
            match claim {
                Claim::Ran {
                    referee,
                    attempt,
                    result,
                    taken,
                } if recorded.is_by(referee, *attempt) => {
                    told = true;
                    self.hear_referee(*place, recorded, result, *taken)?;
                }
                Claim::Ran {
                    attempt,
                    taken: true,
                    ..
                } => return Err(self.taken_otherwise(*place, recorded, *attempt)),
                Claim::Ran { .. } => {}
                Claim::Shown {
                    referee,
                    attempt,
                    shown,
                } => {
                    if recorded.is_by(referee, *attempt) {
                        self.see_file(*place, recorded, shown)?;
                    }
                }
                Claim::Remembered(memory) => self.hear_player(*place, recorded, memory),
                Claim::Promised(promise) => self.hear_promise(*place, recorded, promise),
            }
        }
        match recorded.referee {
            Some(referee) if !told => self.miss(recorded, referee),
            Some(_) => {}
            None => self.ruled += 1,
        }
        Ok(())
    }

    /// Looks at what is left when the manager's journal has been read to its end.
    pub(super) fn finish(&mut self) -> Result<(), Disagreement> {
        for (line, round, match_id, referee) in std::mem::take(&mut self.untold) {
            let Some(reach) = self.referees.get(&referee) else {
                continue;
            };
            if reach.over || round < reach.round || line <= reach.line {
                let manager = self.manager(line);
                return Err(self.disagreement(
                    Place {
                        source: reach.source,
                        line: None,
                    },
                    format!(
                        "match `{match_id}`: {manager} has a result by `{referee}`, whose journal \
                         goes on and knows nothing of it: {CHANGED}"
                    ),
                ));
            }
            self.leave_out(
                format!("results of `{referee}`"),
                "its journal ends before them",
            );
        }
        for (match_id, claims) in std::mem::take(&mut self.claims) {
            for (place, claim) in claims {
                if let Claim::Ran { taken: true, .. } | Claim::Shown { .. } = claim {
                    let journal = self.below(&self.journal);
                    let what = format!(
                        "match `{match_id}`: the manager took this result, and `{journal}` has \
                         none of it: one of the two was changed after the match, or the journal \
                         was cut or copied earlier"
                    );
                    return Err(self.disagreement(place, what));
                }
            }
        }
        Ok(())
    }

    /// Tells what came of it.
    pub(super) fn tell(&self, checked: &mut Checked) {
        checked.ruled = self.ruled;
        checked.confirmed = self.confirmed;
        checked.match_files = self.files + self.agreed_files.len() as u64;
        checked.player_files = self.agreed_players.len() as u64;
        checked.disputed.clone_from(&self.disputed);
        checked.disputed_more = self.disputed_more;
        let left_out = self.not_compared.iter();
        checked.not_compared = left_out
            .map(|((what, why), count)| NotCompared {
                count: *count,
                what: what.clone(),
                why: (*why).to_owned(),
            })
            .collect();
    }

    fn hear_referee(
        &mut self,
        place: Place,
        recorded: Recorded<'_>,
        told: &Fingerprint,
        taken: bool,
    ) -> Result<(), Disagreement> {
        if *told != fingerprint(recorded.result) {
            let Some(found) = decided(&self.sources[place.source], place.line) else {
                self.leave_out("results of referees".to_owned(), WRITTEN_ANEW);
                return Ok(());
            };
            if let Some(differs) = first_difference(&found, recorded.result) {
                return Err(self.differs(place, recorded, &differs));
            }
        }
        self.confirmed += 1;
        let reach = recorded.referee.and_then(|id| self.referees.get_mut(id));
        if let Some(reach) = reach.filter(|_| taken) {
            reach.line = reach.line.max(recorded.line);
        }
        Ok(())
    }

    fn taken_otherwise(&self, place: Place, recorded: Recorded<'_>, attempt: u32) -> Disagreement {
        let (match_id, manager) = (recorded.match_id, self.manager(recorded.line));
        let whose = match recorded.referee {
            Some(referee) => format!("that of `{referee}`, attempt {}", recorded.attempt),
            None => "a ruling of the manager".to_owned(),
        };
        let what = format!(
            "match `{match_id}`: the manager took this result of attempt {attempt}, and {manager} \
             has {whose}: {CHANGED}"
        );
        self.disagreement(place, what)
    }

    fn see_file(
        &mut self,
        place: Place,
        recorded: Recorded<'_>,
        found: &Fingerprint,
    ) -> Result<(), Disagreement> {
        let expected = Shown::of(&self.league, recorded.game, recorded.result);
        if *found != fingerprint(&expected) {
            let Some(found) = self.shown(place, recorded.match_id) else {
                self.leave_out(MATCH_FILES.to_owned(), WRITTEN_ANEW);
                return Ok(());
            };
            if let Some(differs) = first_difference(&found, &expected) {
                return Err(self.differs(place, recorded, &differs));
            }
        }
        self.agreed_files.insert(place.source);
        Ok(())
    }

    fn shown(&self, place: Place, match_id: &MatchId) -> Option<Shown> {
        shown(
            &self.root,
            &self.league,
            &self.sources[place.source],
            match_id,
        )
    }

    /// Of a match that changed hands a player may have heard another end first.
    fn hear_player(&mut self, place: Place, recorded: Recorded<'_>, memory: &Memory) {
        match memory.difference(recorded.result) {
            _ if memory.game != *recorded.game => {}
            None => {
                self.agreed_players.insert(place.source);
            }
            Some(_) if recorded.referee.is_none() || recorded.attempt > 1 => self.leave_out(
                "memories of players".to_owned(),
                "the match changed hands, and they may have heard an earlier end",
            ),
            Some(differs) => self.dispute(self.differs(place, recorded, &differs).into()),
        }
    }

    fn hear_promise(&mut self, place: Place, recorded: Recorded<'_>, promise: &Commitment) {
        let opened = recorded.result.draw.as_ref();
        if opened.is_none_or(|opened| opened.commitment == *promise) {
            return;
        }
        let (match_id, manager) = (recorded.match_id, self.manager(recorded.line));
        let what = format!(
            "match `{match_id}`: the player was told another promise on the draw than the one in \
             {manager}: {CHANGED}"
        );
        self.dispute(self.disagreement(place, what).into());
    }

    /// A result of which its referee has said nothing.
    fn miss(&mut self, recorded: Recorded<'_>, referee: &RefereeId) {
        if self.has_journal_of(referee) {
            let match_id = recorded.match_id.clone();
            let missed = (recorded.line, recorded.round, match_id, referee.clone());
            self.untold.push(missed);
        } else {
            self.leave_out(format!("results of `{referee}`"), "its journal is not here");
        }
    }

    fn differs(&self, place: Place, recorded: Recorded<'_>, differs: &Difference) -> Disagreement {
        let (match_id, manager) = (recorded.match_id, self.manager(recorded.line));
        let Difference {
            path,
            found,
            expected,
        } = differs;
        let what = format!(
            "match `{match_id}`: `{path}` is {found}, and {manager} has {expected}: {CHANGED}"
        );
        self.disagreement(place, what)
    }

    fn disagreement(&self, place: Place, what: String) -> Disagreement {
        Disagreement {
            file: self.sources[place.source].clone(),
            line: place.line,
            what,
        }
    }

    fn manager(&self, line: u64) -> String {
        format!("line {line} of `{}`", self.below(&self.journal))
    }

    fn below(&self, file: &Path) -> String {
        let below = file.strip_prefix(self.root.as_path()).unwrap_or(file);
        below.display().to_string()
    }
}
