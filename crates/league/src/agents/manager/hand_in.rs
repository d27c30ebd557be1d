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
use crate::storage::database::Stream;
use crate::storage::hand_in::{CopyError, HAND_IN_TIMEOUT, JournalCopy, RefereeJournals};
use crate::storage::league_store::{LeagueStore, fill};
use crate::storage::root::Root;
use crate::wire::ask::{AskError, ManagerClient};

/// How many referees hand in their journals at once.
const MAX_AT_ONCE: usize = 16;
/// How often a referee is asked without getting further, and the wait between two tries. A referee
/// that is there and has not heard of the end may take longer: [`HAND_IN_TIMEOUT`] bounds that.
const MAX_TRIES: u32 = 10;
const WAIT: Duration = Duration::from_millis(500);
/// How often the journals are given to a store that does not take them: for 30 seconds.
const MAX_STORE_TRIES: u32 = 60;

/// Fetches the missing journals of a finished league, within a bound.
pub(crate) async fn collect_journals(shared: &Shared, actor: &Handle<League>, league: &LeagueId) {
    let asked = actor.query(|league| (league.referee_access(), league.total_matches()));
    let Ok((referees, matches)) = asked.await else {
        return;
    };
    let (root, id, store) = (shared.root.clone(), league.clone(), shared.store.clone());
    let kept = tokio::task::spawn_blocking(move || {
        // Referees of the store have their journals there.
        if let Some(store) = store
            && let Err(error) = fill(&store.database, &root, Some(&id))
        {
            tracing::warn!(event_type = "JOURNAL_NOT_HANDED_IN", "{error}");
        }
        RefereeJournals::below(&root, &id)
    });
    let kept = kept.await;
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
            matches,
            wait: WAIT,
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
    if let Some(store) = shared.store.clone() {
        conclude(&store, &shared.root, league).await;
    }
}

/// Stores what was handed in, and notes that the league is over: from then on no manager takes it to
/// collect the rest. The server may be away, and a manager that was killed in the middle of this still
/// has its lease on a journal for a while.
async fn conclude(store: &LeagueStore, root: &Root, league: &LeagueId) {
    for tried in 1.. {
        let (store, root, id) = (store.clone(), root.clone(), league.clone());
        let stored = tokio::task::spawn_blocking(move || {
            let added = store.add_handed_in(&root, &id);
            if added.is_ok() || tried == MAX_STORE_TRIES {
                store.database.note_over(&Stream::of_manager(&id))?;
            }
            added
        });
        let Ok(Err(error)) = stored.await else { return };
        if tried == MAX_STORE_TRIES {
            tracing::warn!(event_type = "JOURNAL_NOT_STORED", "{error}");
            return;
        }
        tokio::time::sleep(WAIT).await;
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
    /// How many matches the league has.
    matches: u64,
    /// Between two tries.
    wait: Duration,
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
                "{referee} did not hand in its journal, so its results, if it has any, are only told: {error}"
            ),
        }
    }

    /// Copies the journal piece by piece; returns the number of its lines.
    async fn fetch(&self, referee: &RefereeId) -> Result<u64, HandInError> {
        let endpoint = self.allowed.check(&self.access.endpoint)?;
        let client = ManagerClient::of(endpoint, self.client.clone());
        let (target, matches) = (self.target.clone(), self.matches);
        let mut copy = on_disk(move || JournalCopy::begin(&target, matches)).await?;
        let mut tries = 0;
        while tries < MAX_TRIES {
            let asked = client.journal_piece(copy.length(), &self.access.token);
            match asked.await {
                Ok(piece) if !piece.journal.is_empty() => {
                    copy = on_disk(move || copy.add(&piece.journal).map(|()| copy)).await?;
                    tries = 0;
                    continue;
                }
                // Asked for what follows the end, the referee knows that it may leave.
                Ok(piece) if piece.complete => break,
                Ok(_) => {}
                Err(AskError::Refused {
                    code: Some(Code::OutOfTurn),
                    ..
                }) => {
                    tokio::time::sleep(self.wait).await;
                    continue;
                }
                Err(error) if may_pass(&error) => {
                    // What came is worth keeping, if its lines are whole.
                    if tries + 1 == MAX_TRIES && copy.length() == 0 {
                        return Err(error.into());
                    }
                }
                Err(error) => return Err(error.into()),
            }
            tries += 1;
            tokio::time::sleep(self.wait).await;
        }
        let (league, referee) = (self.league.clone(), referee.clone());
        Ok(on_disk(move || copy.finish(&league, &referee)).await?)
    }
}

/// Works on a copy where waiting for the disk holds up no other task.
async fn on_disk<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, CopyError> + Send + 'static,
) -> Result<T, CopyError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|panicked| Err(CopyError::Interrupted(panicked.to_string())))
}

/// Whether asking again may help: the referee is away or busy.
fn may_pass(error: &AskError) -> bool {
    match error {
        AskError::Away(_) => true,
        AskError::Refused { code, .. } => code.is_some_and(Code::retryable),
        AskError::Unclear(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Mutex;

    use league_protocol::token::AuthToken;
    use serde_json::{Value, json};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;
    use crate::config::SecurityConfig;
    use crate::http::tls::Trust;

    /// What a referee answers to each question in turn: this many bytes of its journal, or nothing
    /// because a match is open.
    type Script = Arc<Mutex<Vec<Option<usize>>>>;

    /// Reads one question; returns its id and the offset that it asks for.
    async fn read_question(stream: &mut TcpStream) -> (Value, usize) {
        let mut text = Vec::new();
        loop {
            let mut bytes = [0; 4096];
            let count = stream.read(&mut bytes).await.unwrap();
            text.extend_from_slice(&bytes[..count]);
            let body = String::from_utf8_lossy(&text);
            let body = body.split_once("\r\n\r\n").map_or("", |(_, body)| body);
            if let Ok(question) = serde_json::from_str::<Value>(body) {
                let from = question["params"]["from"].as_str().unwrap();
                return (question["id"].clone(), from.parse().unwrap());
            }
            assert!(count > 0, "{body}");
        }
    }

    /// A referee that answers by a script; then it hands in the rest. Notes each offset.
    async fn answer(listener: TcpListener, journal: String, script: Script, asked: Asked) {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let (id, from) = read_question(&mut stream).await;
            asked.lock().unwrap().push(from);
            let next = script.lock().unwrap().pop();
            let rest = &journal[from.min(journal.len())..];
            let given = match next {
                None => rest,
                Some(None) => "",
                Some(Some(length)) => &rest[..length.min(rest.len())],
            };
            let more = from + given.len() < journal.len();
            let piece = json!({"journal": given, "more": more, "complete": next != Some(None)});
            let body = json!({"jsonrpc": "2.0", "id": id, "result": piece}).to_string();
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\
                 content-length: {}\r\n\r\n{body}",
                body.len()
            );
            stream.write_all(head.as_bytes()).await.unwrap();
        }
    }

    type Asked = Arc<Mutex<Vec<usize>>>;

    /// Fetches a journal that is no journal; returns the offsets that were asked for.
    async fn fetch(journal: &str, mut script: Vec<Option<usize>>) -> Vec<usize> {
        let folder = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}/mcp", listener.local_addr().unwrap());
        let asked = Asked::default();
        script.reverse();
        let script = Arc::new(Mutex::new(script));
        let referee = answer(listener, journal.to_owned(), script, Arc::clone(&asked));
        let referee = tokio::spawn(referee);
        let hand_in = HandIn {
            league: LeagueId::new("spring").unwrap(),
            allowed: AllowList::new(SecurityConfig::default()),
            client: Client::trusting(Trust::default()),
            access: RefereeAccess {
                referee_id: RefereeId::numbered(1),
                endpoint: endpoint.into(),
                token: AuthToken::new("tok-manager"),
            },
            target: folder.path().join("journal.jsonl"),
            matches: 6,
            wait: Duration::from_millis(1),
        };
        let found = hand_in.fetch(&RefereeId::numbered(1)).await;
        assert!(
            matches!(&found, Err(HandInError::Copy(error)) if !matches!(error, CopyError::Io { .. })),
            "{found:?}"
        );
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        referee.abort();
        std::mem::take(&mut *asked.lock().unwrap())
    }

    #[tokio::test]
    async fn manager_asks_for_what_follows_the_end() {
        assert_eq!(
            fetch("0123456789", vec![Some(4), Some(6)]).await,
            [0, 4, 10]
        );
    }

    #[tokio::test]
    async fn tries_without_progress_count_from_the_last_progress() {
        let waits = vec![None; MAX_TRIES as usize - 1];
        let script = [waits.clone(), vec![Some(4)], waits, vec![Some(6)]].concat();
        let asked = fetch("0123456789", script).await;
        assert_eq!(asked.last(), Some(&10));
        assert_eq!(asked.len(), 2 * MAX_TRIES as usize + 1);
        let never = vec![None; 2 * MAX_TRIES as usize];
        let asked = fetch("0123456789", never).await;
        assert_eq!(asked.len(), MAX_TRIES as usize);
    }
}
