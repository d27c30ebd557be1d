//! What there is to see of a league, and looking again.

use crate::storage::root::Root;
use crate::wire::ask::{AskError, Health, ManagerClient, State};
use league_protocol::message::StandingRow;

use super::super::finished::last_state;

/// What was last seen of a league.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Scene {
    /// Where the manager should answer.
    pub(super) endpoint: String,
    /// The league when the manager last answered.
    pub(super) seen: Option<Seen>,
    /// Why the manager does not answer now.
    pub(super) away: Option<String>,
}

/// A league as its manager tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) health: Health,
    pub(super) rows: Vec<StandingRow>,
}

impl Scene {
    /// Whether nothing more will happen.
    pub(super) fn is_over(&self) -> bool {
        let seen = self.seen.as_ref();
        seen.is_some_and(|seen| seen.health.state == State::Completed)
    }
}

/// Looks at a league again and again.
#[derive(Debug)]
pub(super) struct Watcher {
    inquirer: ManagerClient,
    /// Where the league keeps its files, if it is here.
    root: Root,
    pub(super) scene: Scene,
}

impl Watcher {
    pub(super) fn new(inquirer: ManagerClient, root: Root) -> Self {
        let scene = Scene {
            endpoint: inquirer.endpoint().to_string(),
            seen: None,
            away: None,
        };
        Self {
            inquirer,
            root,
            scene,
        }
    }

    /// Looks once; a manager that is away leaves what was seen before, unless the files of its
    /// league tell how it ended: `league run` is gone with its last match.
    pub(super) async fn look(&mut self) {
        match self.ask().await {
            Ok(Some(seen)) => {
                self.scene.seen = Some(seen);
                self.scene.away = None;
            }
            Ok(None) => {}
            // The first cause says more than those that follow from it.
            Err(error) => match self.ended() {
                Some(seen) => {
                    self.scene.seen = Some(seen);
                    self.scene.away = None;
                }
                None => {
                    self.scene.away.get_or_insert_with(|| error.to_string());
                }
            },
        }
    }

    fn ended(&self) -> Option<Seen> {
        let seen = self.scene.seen.as_ref()?;
        let (health, rows) = last_state(&self.root, &seen.health)?;
        Some(Seen { health, rows })
    }

    /// The table of a large league is large: it is asked for only when something has happened.
    async fn ask(&self) -> Result<Option<Seen>, AskError> {
        let health = self.inquirer.health().await?;
        let same = |seen: &Seen| seen.health == health && self.scene.away.is_none();
        if self.scene.seen.as_ref().is_some_and(same) {
            return Ok(None);
        }
        let rows = self.inquirer.standings().await?;
        Ok(Some(Seen { health, rows }))
    }
}
