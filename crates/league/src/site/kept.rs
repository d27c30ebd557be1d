//! What lies beside the journal and pages show too: transcripts, what was observed of agents.

use std::collections::BTreeMap;

use league_protocol::id::{LeagueId, MatchId};
use league_protocol::message::MatchState;
use league_protocol::time::Timestamp;
use league_web::league_view::{Observations, RefereeRecord};
use league_web::model::{
    Deviation, FailureCount, LatencySummary, MatchTimes, OriginalText, TranscriptMessage,
};

use crate::storage::documents::{MatchDocument, MatchRepository};
use crate::storage::record;
use crate::storage::root::Root;
use crate::wire::deviations::Count;
use crate::wire::observed::{self, Failed, ObservedDocument};

/// The most messages of a match that are shown.
const MOST_SAID: usize = 1_000;
/// The largest file of a match that is shown, in bytes.
const LARGEST_FILE: u64 = 16 * 1024 * 1024;

/// What the processes of a league found out about its agents.
///
/// Where two of them called the same agent, the one that called it more often is believed.
pub(super) fn observed(root: &Root, league: &LeagueId) -> Observations {
    let mut seen = Observations::default();
    for ObservedDocument { agents, .. } in observed::all(root, league) {
        for (agent, found) in agents {
            if let Some(latency) = found.latency {
                let known = seen.latencies.get(&agent).map_or(0, |known| known.calls);
                if latency.calls > known {
                    seen.latencies.insert(agent.clone(), shown(latency));
                }
            }
            if !found.failures.is_empty() {
                let all = seen.failures.entry(agent.clone()).or_default();
                all.extend(found.failures.into_iter().map(failure));
            }
            if !found.deviations.is_empty() {
                let all = seen.deviations.entry(agent).or_default();
                all.extend(found.deviations.into_iter().map(deviation));
            }
        }
    }
    seen
}

fn shown(latency: observed::Latency) -> LatencySummary {
    LatencySummary {
        calls: latency.calls,
        median: latency.median_ms,
        p95: latency.p95_ms,
    }
}

fn failure(failed: Failed) -> FailureCount {
    FailureCount {
        code: failed.code,
        count: failed.count,
        detail: failed.detail,
        match_id: failed.match_id,
    }
}

fn deviation(count: Count) -> Deviation {
    Deviation {
        clause: count.kind.clause,
        path: count.kind.path,
        detail: count.detail,
        count: count.count,
    }
}

/// What the referee of a match wrote of it; none if that does not lie here.
pub(super) fn record(root: &Root, league: &LeagueId, match_id: &MatchId) -> Option<RefereeRecord> {
    let document = document(root, league, match_id)?;
    let lifecycle = document.lifecycle;
    let said = document
        .transcript
        .into_iter()
        .map(|said| TranscriptMessage {
            at: said.timestamp,
            from: said.from,
            to: said.to,
            kind: said.message_type,
            message: said.message,
            original: said.verbatim.map(shown_verbatim),
        });
    let said = said.take(MOST_SAID);
    Some(RefereeRecord {
        times: MatchTimes {
            created: Some(lifecycle.created_at),
            started: lifecycle.started_at,
            finished: lifecycle.finished_at,
        },
        messages: said.collect(),
    })
}

fn shown_verbatim(said: record::Verbatim) -> OriginalText {
    OriginalText {
        text: said.text,
        bytes: said.bytes,
        cut: said.cut,
        problem: said.problem,
    }
}

/// How far matches are that are being played, as far as their referees wrote of them.
pub(super) fn states(
    root: &Root,
    league: &LeagueId,
    matches: &[MatchId],
) -> BTreeMap<MatchId, (MatchState, Timestamp)> {
    let state = |id: &MatchId| {
        let document = document(root, league, id)?;
        Some((
            id.clone(),
            (document.lifecycle.state, document.last_updated),
        ))
    };
    matches.iter().filter_map(state).collect()
}

/// The file of a match; one that cannot be read, or is far larger than ours are, is as good as
/// none, since pages can do without.
fn document(root: &Root, league: &LeagueId, match_id: &MatchId) -> Option<MatchDocument> {
    let file = root.matches_folder(league).join(format!("{match_id}.json"));
    if std::fs::metadata(file).is_ok_and(|file| file.len() > LARGEST_FILE) {
        return None;
    }
    let matches = MatchRepository::new(root, league.clone());
    matches.load(match_id).ok().flatten()
}
