//! Log lines about the events of a league.

use league_core::league::{Doubt, Event};
use league_protocol::finding::harmless;
use league_protocol::id::LeagueId;

use super::MAX_LOGGED_CHARS;

/// The type of a log line, and its sentence.
type Line = (&'static str, String);

/// Logs an event of the league, if people should hear of it.
pub(super) fn log(league: &LeagueId, event: &Event) {
    if let Some((event_type, sentence)) = ordinary(event) {
        tracing::info!(component = "league_manager", league_id = %league, event_type, "{sentence}");
    } else if let Some((event_type, sentence)) = warning(event) {
        tracing::warn!(component = "league_manager", league_id = %league, event_type, "{sentence}");
    }
}

fn ordinary(event: &Event) -> Option<Line> {
    Some(match event {
        Event::PlayerRegistered { player_id, .. } => {
            let sentence = format!("player {player_id} was admitted");
            ("PLAYER_REGISTERED", sentence)
        }
        Event::RefereeRegistered { referee_id, .. } => {
            let sentence = format!("referee {referee_id} was admitted");
            ("REFEREE_REGISTERED", sentence)
        }
        Event::RefereeInvited { endpoint, .. } => {
            let endpoint = harmless(endpoint, MAX_LOGGED_CHARS);
            let sentence = format!("the organiser lets the referee at {endpoint} register");
            ("REFEREE_INVITED", sentence)
        }
        Event::AgentReturned { agent, .. } => ("AGENT_RETURNED", format!("{agent} came back")),
        Event::LeagueStarted { .. } => ("LEAGUE_STARTED", "the league begins".to_owned()),
        Event::RoundOpened { round, .. } => ("ROUND_OPENED", format!("round {round} begins")),
        Event::MatchesMoved { moves, .. } => {
            let sentence = format!("{} matches were reassigned", moves.len());
            ("MATCHES_MOVED", sentence)
        }
        Event::ResultRecorded {
            match_id, result, ..
        } => ("RESULT_RECORDED", format!("{match_id}: {}", result.reason)),
        Event::RoundClosed { round, .. } => ("ROUND_CLOSED", format!("round {round} is over")),
        Event::LeagueCompleted { .. } => ("LEAGUE_COMPLETED", "the league is over".to_owned()),
        _ => return None,
    })
}

fn warning(event: &Event) -> Option<Line> {
    Some(match event {
        Event::ReportConflicted {
            match_id, referee, ..
        } => (
            "REPORT_CONFLICTED",
            format!("{referee} reported another result of {match_id}; the first one stands"),
        ),
        Event::ReportRefused {
            match_id,
            referee,
            problem,
            ..
        } => (
            "REPORT_REFUSED",
            format!("the report of {match_id} by {referee} was refused: {problem}"),
        ),
        Event::LossDoubted {
            match_id,
            referee,
            player_id,
            doubt,
            ..
        } => {
            let why = match doubt {
                Doubt::Unreached => "the referee could not reach it, another one may",
                Doubt::Denied => "the player says that it was not called",
            };
            let loss = format!("the technical loss of {player_id} in {match_id} by {referee}");
            ("LOSS_DOUBTED", format!("{loss} does not count: {why}"))
        }
        Event::DeclinedAfterCall {
            match_id,
            referee,
            player_id,
            ..
        } => (
            "DECLINED_AFTER_CALL",
            format!("{referee} turned {match_id} down after it had called {player_id}"),
        ),
        Event::PlayerShutDown { player_id, .. } => (
            "PLAYER_SHUT_DOWN",
            format!("{player_id} is out of the league after too many technical losses in a row"),
        ),
        Event::LossAccepted { known_version, .. } => (
            "LOSS_ACCEPTED",
            format!(
                "lines up to {known_version} of the journal were known; the league goes on without \
                 those that are missing"
            ),
        ),
        _ => return None,
    })
}
