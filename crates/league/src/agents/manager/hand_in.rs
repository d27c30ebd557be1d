//! Collects the journals of referees that keep them elsewhere when a league is over, so that the
//! league can be verified below the manager's root alone. A foreign referee has no tool for it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use league_core::league::{League, RefereeAccess};
use league_protocol::fault::Code;
use league_protocol::id::{LeagueId, RefereeId};
use thiserror::Error;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::agents::actor::Handle;
use crate::agents::assemble::Shared;
use crate::http::client::Client;
use crate::http::endpoint::{AllowList, BadEndpoint};
use crate::storage::hand_in::{CopyError, HAND_IN_TIMEOUT, JournalCopy, RefereeJournals};
use crate::wire::ask::{AskError, ManagerClient};

/// How many referees hand in their journals at once.
const MAX_AT_ONCE: usize = 16;
/// How often a referee is asked without getting further, and the wait between two tries.
const MAX_TRIES: u32 = 10;
const WAIT: Duration = Duration::from_millis(500);

/// Fetches the missing journals of a finished league, within a bound.
pub(crate) async fn collect_journals(shared: &Shared, actor: &Handle<League>, league: &LeagueId) {
    let Ok(referees) = actor.query(League::referee_access).await else {
        return;
    };
    let (root, id) = (shared.root.clone(), league.clone());
    let kept = tokio::task::spawn_blocking(move || RefereeJournals::below(&root, &id)).await;
    let kept = match kept {
        Ok(Ok(kept)) => kept,
        Ok(Err(error)) => {
            tracing::warn!(event_type = "JOURNAL_NOT_HANDED_IN", "{error}");
            return;
        }
        Err(_) => return,
    };
    let turns = Arc::new(Semaphore::new(MAX_AT_ONCE));
    let mut missing = JoinSet::new();
    for access in referees {
        let Some(target) = kept.place_for(&access.referee_id) else {
            continue;
        };
        let hand_in = HandIn {
            league: league.clone(),
            allowed: shared.outbox.allowed.clone(),
            client: shared.outbox.client.clone(),
            access,
            target,
        };
        let turns = Arc::clone(&turns);
        missing.spawn(async move {
            let _turn = turns.acquire().await;
            hand_in.run().await;
        });
    }
    let all = async { while missing.join_next().await.is_some() {} };
    if tokio::time::timeout(HAND_IN_TIMEOUT, all).await.is_err() {
        tracing::warn!(
            component = "league_manager", league_id = %league, event_type = "JOURNAL_NOT_HANDED_IN",
            "not all referees handed in their journals in time: a restart of the manager asks again"
        );
    }
}

/// Why a referee did not hand in its journal.
#[derive(Debug, Error)]
enum HandInError {
    #[error(transparent)]
    Endpoint(#[from] BadEndpoint),
    #[error(transparent)]
    Ask(#[from] AskError),
    #[error(transparent)]
    Copy(#[from] CopyError),
}

/// The hand-in of one journal.
struct HandIn {
    league: LeagueId,
    allowed: AllowList,
    client: Client,
    access: RefereeAccess,
    target: PathBuf,
}

impl HandIn {
    async fn run(&self) {
        let (league, referee) = (&self.league, &self.access.referee_id);
        match self.fetch(referee).await {
            Ok(lines) => tracing::info!(
                component = "league_manager", league_id = %league, event_type = "JOURNAL_HANDED_IN",
                "{referee} handed in its journal of {lines} lines"
            ),
            Err(error) => tracing::warn!(
                component = "league_manager", league_id = %league,
                event_type = "JOURNAL_NOT_HANDED_IN",
                "{referee} did not hand in its journal, so its results are only told: {error}"
            ),
        }
    }

    /// Copies the journal piece by piece; returns the number of its lines.
    async fn fetch(&self, referee: &RefereeId) -> Result<u64, HandInError> {
        self.allowed.check(&self.access.endpoint)?;
        let client = ManagerClient::new(&self.access.endpoint, self.client.clone())?;
        let mut copy = JournalCopy::begin(&self.target)?;
        let mut tries = 0;
        loop {
            let asked = client.journal_piece(copy.length(), &self.access.token);
            let failed = match asked.await {
                Ok(piece) => {
                    copy.add(&piece.journal)?;
                    if piece.more && !piece.journal.is_empty() {
                        continue;
                    }
                    if piece.complete {
                        break;
                    }
                    None
                }
                Err(error) if may_pass(&error) => Some(error),
                Err(error) => return Err(error.into()),
            };
            tries += 1;
            if tries >= MAX_TRIES {
                match failed {
                    Some(error) if copy.length() == 0 => return Err(error.into()),
                    // What came is worth keeping, if its lines are whole.
                    _ => break,
                }
            }
            tokio::time::sleep(WAIT).await;
        }
        Ok(copy.finish(&self.league, referee)?)
    }
}

/// Whether asking again may help: the referee is away, busy, or has not heard of the end.
fn may_pass(error: &AskError) -> bool {
    match error {
        AskError::Away(_) => true,
        AskError::Refused { code, .. } => {
            code.is_some_and(|code| code.retryable() || code == Code::OutOfTurn)
        }
        AskError::Unclear(_) => false,
    }
}
