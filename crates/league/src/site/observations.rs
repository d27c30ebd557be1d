//! Reads what pages show beside the journal: observations of agents, and records of matches.

use std::collections::BTreeMap;

use league_protocol::id::{LeagueId, MatchId, PlayerId};
use league_protocol::message::MatchState;
use league_protocol::time::Timestamp;
use league_web::league_view::{LeagueObservations, RefereeRecord};
use league_web::model::{
    Deviation, FailureCount, LatencySummary, MatchPage, MatchTimes, ModelNote, OriginalText,
    TranscriptMessage,
};

use crate::storage::documents;
use crate::storage::documents::{MatchDocument, MatchRepository};
use crate::storage::model_notes::{self, QuestionNote};
use crate::storage::root::Root;
use crate::wire::observed::Count;
use crate::wire::observed::{self, Failed, ObservedDocument};

/// Messages of a match on its page.
const MAX_MESSAGES: usize = 1_000;
/// Questions to the model of one player on the page of a match.
const MAX_QUESTIONS: usize = 20;
/// The size of a match file, in bytes.
const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// What the processes of a league recorded about its agents.
///
/// Where two processes called the same agent, the latency with more calls counts.
pub(crate) fn observations(root: &Root, league: &LeagueId) -> LeagueObservations {
    let mut observed = LeagueObservations::default();
    for ObservedDocument { agents, .. } in observed::all(root, league) {
        for (agent, found) in agents {
            if let Some(latency) = found.latency {
                let known = observed
                    .latencies
                    .get(&agent)
                    .map_or(0, |known| known.calls);
                if latency.calls > known {
                    let summary = LatencySummary {
                        calls: latency.calls,
                        median: latency.median_ms,
                        p95: latency.p95_ms,
                    };
                    observed.latencies.insert(agent.clone(), summary);
                }
            }
            if !found.failures.is_empty() {
                let all = observed.failures.entry(agent.clone()).or_default();
                all.extend(found.failures.into_iter().map(failure));
            }
            if !found.deviations.is_empty() {
                let all = observed.deviations.entry(agent).or_default();
                all.extend(found.deviations.into_iter().map(deviation));
            }
        }
    }
    observed
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

/// What the referee of a match recorded; `None` if that is not in this folder.
pub(crate) fn referee_record(
    root: &Root,
    league: &LeagueId,
    match_id: &MatchId,
) -> Option<RefereeRecord> {
    let document = document(root, league, match_id)?;
    let lifecycle = document.lifecycle;
    let said = document
        .transcript
        .into_iter()
        .map(|said| TranscriptMessage {
            lost: said.is_lost(),
            resumed: said.resumed,
            at: said.timestamp,
            from: said.from,
            to: said.to,
            kind: said.message_type,
            message: said.message.value(),
            original: said.verbatim.map(shown_verbatim),
        });
    let said = said.take(MAX_MESSAGES);
    Some(RefereeRecord {
        times: MatchTimes {
            created: Some(lifecycle.created_at),
            started: lifecycle.started_at,
            finished: lifecycle.finished_at,
        },
        messages: said.collect(),
    })
}

/// Adds what the players of a finished match wrote down of their language models, as far as that is
/// in this folder.
pub(crate) fn add_model_notes(root: &Root, league: &LeagueId, page: &mut MatchPage) {
    let Some(result) = page.result.clone() else {
        return;
    };
    let told = |id: &PlayerId| {
        let mut moves = result.evidence.moves.iter();
        moves.any(|made| made.player_id == *id && made.model.is_some())
    };
    for id in result.players.iter().filter(|id| told(id)) {
        let moves = model_notes::moves_of(&root.model_notes(id), league, &page.match_id);
        let notes = moves.into_iter().flat_map(|made| {
            let note = move |asked: QuestionNote| ModelNote {
                player_id: id.clone(),
                turn: made.turn,
                texts: texts_of(asked),
            };
            made.questions.into_iter().map(note)
        });
        page.model_notes.extend(notes.take(MAX_QUESTIONS));
    }
}

fn texts_of(asked: QuestionNote) -> Vec<(&'static str, String)> {
    let texts = [
        ("Rules and form of the answer", asked.system),
        ("Position", asked.user),
        ("Thoughts", asked.thoughts),
        ("Answer", asked.answer),
        ("Problem", asked.problem.unwrap_or_default()),
    ];
    let texts = texts.into_iter().filter(|(_, text)| !text.is_empty());
    texts.collect()
}

fn shown_verbatim(said: documents::Verbatim) -> OriginalText {
    OriginalText {
        text: said.text,
        bytes: said.bytes,
        cut: said.cut,
        problem: said.problem,
    }
}

/// The states of matches, as far as their referees recorded them.
pub(crate) fn match_states(
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

/// The file of a match. Pages can do without a file that is unreadable or far too large.
fn document(root: &Root, league: &LeagueId, match_id: &MatchId) -> Option<MatchDocument> {
    let file = root.matches_folder(league).join(format!("{match_id}.json"));
    if std::fs::metadata(file).is_ok_and(|file| file.len() > MAX_FILE_BYTES) {
        return None;
    }
    let matches = MatchRepository::new(root, league.clone());
    matches.load(match_id).ok().flatten()
}
