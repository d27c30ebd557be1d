//! What the log of a league says of its facts.

use league_core::league::Event;
use league_protocol::finding::harmless;
use league_protocol::id::LeagueId;
use league_protocol::message::{AgentMeta, Message, RegisterResponse};

use crate::wire::router::ServiceReply;

/// How many characters of what an agent says of itself are logged.
pub(super) const LONGEST: usize = 100;

/// Logs who was not let in, and why; nothing if it was.
pub(super) fn turned_away(league: &LeagueId, kind: &str, meta: &AgentMeta, answer: &ServiceReply) {
    let reason = match answer.message() {
        Some(
            Message::PlayerRegisterResponse(RegisterResponse::Rejected { reason })
            | Message::RefereeRegisterResponse(RegisterResponse::Rejected { reason }),
        ) => reason.clone(),
        Some(Message::LeagueError(error)) => format!("{} {}", error.code, error.detail),
        _ => return,
    };
    let name = harmless(&meta.display_name, LONGEST);
    let endpoint = harmless(&meta.contact_endpoint, LONGEST);
    tracing::warn!(
        component = "league_manager", league_id = %league, event_type = "REGISTRATION_REFUSED",
        "{kind} `{name}` at `{endpoint}` is not let in: {reason}"
    );
}

/// Logs a fact of the league.
pub(super) fn log(league: &LeagueId, event: &Event) {
    let told = |event_type: &str, sentence: String| {
        tracing::info!(component = "league_manager", league_id = %league, event_type, "{sentence}");
    };
    match event {
        Event::PlayerRegistered { player_id, .. } => {
            told("PLAYER_REGISTERED", format!("player {player_id} is in"));
        }
        Event::RefereeRegistered { referee_id, .. } => {
            told("REFEREE_REGISTERED", format!("referee {referee_id} is in"));
        }
        Event::AgentReturned { agent, .. } => told("AGENT_RETURNED", format!("{agent} came back")),
        Event::LeagueStarted { .. } => told("LEAGUE_STARTED", "the league begins".to_owned()),
        Event::RoundOpened { round, .. } => told("ROUND_OPENED", format!("round {round} begins")),
        Event::MatchesMoved { moves, .. } => {
            told(
                "MATCHES_MOVED",
                format!("{} matches change hands", moves.len()),
            );
        }
        Event::ResultRecorded {
            match_id, result, ..
        } => told("RESULT_RECORDED", format!("{match_id}: {}", result.reason)),
        Event::ReportConflicted {
            match_id, referee, ..
        } => tracing::warn!(
            component = "league_manager", league_id = %league, event_type = "REPORT_CONFLICTED",
            "{referee} told another end of {match_id}; the first one stands"
        ),
        Event::ReportRefused {
            match_id,
            referee,
            problem,
            ..
        } => tracing::warn!(
            component = "league_manager", league_id = %league, event_type = "REPORT_REFUSED",
            "the report of {match_id} by {referee} is not believed: {problem}"
        ),
        Event::PlayerShutDown { player_id, .. } => tracing::warn!(
            component = "league_manager", league_id = %league, event_type = "PLAYER_SHUT_DOWN",
            "{player_id} is out of the league after too many technical losses in a row"
        ),
        Event::RoundClosed { round, .. } => told("ROUND_CLOSED", format!("round {round} is over")),
        Event::LeagueCompleted { .. } => told("LEAGUE_COMPLETED", "the league is over".to_owned()),
        Event::MatchAccepted { .. }
        | Event::AgentFailed { .. }
        | Event::AgentAnswered { .. }
        | Event::RefereeSuspended { .. }
        | Event::ProbesSent { .. }
        | Event::Stopped => {}
    }
}
