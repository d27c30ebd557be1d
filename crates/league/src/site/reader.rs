//! From the journal of a league to its view, on and on.

use league_core::league::{Event, RulesError};
use league_protocol::id::{GameType, LeagueId};
use league_protocol::time::Timestamp;
use league_web::league_view::LeagueView;
use league_web::model::Verification;
use serde_json::Value;
use thiserror::Error;

use crate::storage::record::{Opening, Record};
use crate::storage::root::Root;
use crate::storage::store::{Entry, Follower, StoreError};

/// Why the pages of a league cannot be shown.
#[derive(Debug, Error)]
pub(crate) enum ReadError {
    /// The journal cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The journal does not begin with the rules of a league.
    #[error("the journal does not begin with the rules of a league")]
    NoRules,
    /// No league can be held by the rules in the journal.
    #[error("no league can be held by the rules in the journal")]
    Rules(#[from] RulesError),
}

/// Reads the journal of a league into a view.
#[derive(Debug)]
pub(super) struct Reader {
    root: Root,
    league_id: LeagueId,
    follower: Follower,
    view: Option<LeagueView>,
    /// What is wrong with the journal; from then on it is read no further.
    damage: Option<Verification>,
    touched: Touched,
    /// The number of the last entry, and when it was written.
    last: Option<(u64, Timestamp)>,
}

/// The matches and players that changed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Touched(Vec<String>);

/// More than so many that changed are told as "all".
const MOST_TOUCHED: usize = 200;

impl Reader {
    /// A reader of the journal of this league, which may not be there yet.
    pub(super) fn new(root: Root, league_id: LeagueId) -> Self {
        Self {
            follower: Follower::new(root.league_journal(&league_id)),
            root,
            league_id,
            view: None,
            damage: None,
            touched: Touched::default(),
            last: None,
        }
    }

    /// The league as far as it was read.
    pub(super) fn view(&self) -> Option<&LeagueView> {
        self.view.as_ref()
    }

    /// The league, when no more is to be read.
    pub(super) fn into_view(self) -> Option<LeagueView> {
        self.view
    }

    /// The number of the last entry, and when it was written.
    pub(super) fn last(&self) -> Option<(u64, Timestamp)> {
        self.last
    }

    /// What is wrong with the journal, if it was tampered with.
    pub(super) fn damage(&self) -> Option<&Verification> {
        self.damage.as_ref()
    }

    /// Reads what is new.
    ///
    /// A journal that was tampered with is shown as it is, and said to be so.
    ///
    /// # Errors
    ///
    /// The journal may not be there, or not be one of a league.
    pub(super) fn read_on(&mut self) -> Result<(), ReadError> {
        if self.damage.is_some() {
            return Ok(());
        }
        let mut taking = Taking {
            root: &self.root,
            league_id: &self.league_id,
            view: self.view.take(),
            touched: std::mem::take(&mut self.touched),
            last: self.last,
            problem: None,
        };
        let read = self.follower.read_on(|entry| taking.take_in(&entry));
        match read {
            Ok(()) => {}
            Err(StoreError::Damaged { line, damage, .. }) => {
                taking.view = None;
                let path = self.follower.path();
                Follower::read_loosely(path, |entry| taking.take_in(&entry))?;
                let file = path.strip_prefix(self.root.as_path()).unwrap_or(path);
                self.damage = Some(Verification {
                    holds: false,
                    detail: format!("{}, line {line}: {damage}", file.display()),
                });
            }
            Err(other) => {
                // What was read may be half a batch: the next look begins anew.
                self.follower = Follower::new(self.follower.path().to_owned());
                return Err(other.into());
            }
        }
        self.view = taking.view;
        self.touched = taking.touched;
        self.last = taking.last;
        taking.problem.map_or(Ok(()), Err)
    }

    /// What changed since the last time this was asked.
    pub(super) fn take_touched(&mut self) -> Touched {
        std::mem::take(&mut self.touched)
    }
}

/// Entries on their way into a view.
struct Taking<'r> {
    root: &'r Root,
    league_id: &'r LeagueId,
    view: Option<LeagueView>,
    touched: Touched,
    last: Option<(u64, Timestamp)>,
    problem: Option<ReadError>,
}

impl Taking<'_> {
    fn take_in(&mut self, entry: &Entry<Record<Event>>) {
        self.last = Some((entry.sequence, entry.at));
        match (&entry.fact, &mut self.view) {
            (Record::Opened(opening), None) => match open(self.root, self.league_id, opening) {
                Ok(view) => self.view = Some(view),
                Err(problem) => self.problem = Some(problem),
            },
            (Record::Event(event), Some(view)) => {
                view.apply(event);
                self.touched.note(event);
            }
            _ => {}
        }
    }
}

/// An empty view for a league that began like this.
///
/// # Errors
///
/// No league may be able to be held by its rules.
pub(super) fn open(
    root: &Root,
    league: &LeagueId,
    opening: &Opening,
) -> Result<LeagueView, ReadError> {
    let rules = opening.rules.clone().ok_or(ReadError::NoRules)?;
    let title = title(root, league, &rules.game_type);
    Ok(LeagueView::new(rules, title, opening.reproducible)?)
}

/// The name of a league for people: from its file, if that is about the same game; else the name
/// of the game.
///
/// The file is only looked at: a league that is shown is not changed, not even by defaults.
fn title(root: &Root, league: &LeagueId, game: &GameType) -> String {
    let file = std::fs::read(root.league(league)).unwrap_or_default();
    let config: Value = serde_json::from_slice(&file).unwrap_or_default();
    let named = config["display_name"].as_str();
    if let Some(named) = named.filter(|_| config["game_type"] == game.as_str()) {
        return named.to_owned();
    }
    let listing = league_games::find(game.as_str());
    let game = listing.map_or(game.as_str(), |listing| listing.rules.display_name);
    format!("{game} League")
}

impl Touched {
    fn note(&mut self, event: &Event) {
        match event {
            Event::ResultRecorded {
                match_id, result, ..
            } => {
                self.add(match_id);
                result.players.iter().for_each(|player| self.add(player));
            }
            Event::MatchesMoved { moves, .. } => {
                moves.iter().for_each(|moved| self.add(&moved.match_id));
            }
            Event::RoundOpened { .. } | Event::LeagueCompleted { .. } => {
                self.0.push("*".to_owned());
            }
            _ => {}
        }
    }

    fn add(&mut self, id: &impl ToString) {
        if self.0.len() <= MOST_TOUCHED {
            self.0.push(id.to_string());
        }
    }

    /// The ids, each once; `*` if there are too many to tell.
    pub(super) fn ids(mut self) -> Vec<String> {
        self.0.sort();
        self.0.dedup();
        if self.0.len() > MOST_TOUCHED || self.0.iter().any(|id| id == "*") {
            return vec!["*".to_owned()];
        }
        self.0
    }
}
