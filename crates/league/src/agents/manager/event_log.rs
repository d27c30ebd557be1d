//! Log lines about the events of a league.

use league_core::league::{Doubt, Event};
use league_protocol::finding::harmless;
use league_protocol::id::LeagueId;

use super::MAX_LOGGED_CHARS;

/// The type of a log line, and its sentence.
type Line = (&'static str, String);

/// Logs an event of the league, if people should hear of it.
pub(super) fn log(league: &LeagueId, event: &Event) {
    let details = Details::of(event);
    // The level of a line is fixed where it is written.
    macro_rules! line {
        ($level:ident, $event_type:ident, $sentence:ident) => {
            tracing::$level!(
                component = "league_manager",
                league_id = %league,
                event_type = $event_type,
                round_id = details.round_id,
                matches_count = details.matches_count,
                match_id = details.match_id,
                referee_id = details.referee_id,
                player_id = details.player_id,
                "{}",
                $sentence
            )
        };
    }
    if let Some((event_type, sentence)) = ordinary(event) {
        line!(info, event_type, sentence);
    } else if let Some((event_type, sentence)) = warning(event) {
        line!(warn, event_type, sentence);
    }
}

/// What an event is about.
#[derive(Default)]
struct Details<'e> {
    round_id: Option<u32>,
    matches_count: Option<u64>,
    match_id: Option<&'e str>,
    referee_id: Option<&'e str>,
    player_id: Option<&'e str>,
}

impl<'e> Details<'e> {
    #[expect(clippy::too_many_lines, reason = "one arm for each event")]
    fn of(event: &'e Event) -> Self {
        let mut details = Self::default();
        match event {
            Event::RoundOpened {
                round, commitments, ..
            } => {
                details.round_id = Some(*round);
                details.matches_count = Some(commitments.len() as u64);
            }
            Event::MatchesAdded {
                round, pairings, ..
            } => {
                details.round_id = Some(*round);
                details.matches_count = Some(pairings.len() as u64);
            }
            Event::RoundClosed { round, .. } => details.round_id = Some(*round),
            Event::MatchesMoved { moves, .. } => {
                details.matches_count = Some(moves.len() as u64);
            }
            Event::RefereeByDocuments { referee, .. } => {
                details.referee_id = Some(referee.as_str());
            }
            Event::ResultTold {
                match_id, referee, ..
            } => {
                details.match_id = Some(match_id.as_str());
                details.referee_id = Some(referee.as_str());
            }
            Event::ResultRecorded { match_id, .. } => details.match_id = Some(match_id.as_str()),
            Event::PlayerRegistered { player_id, .. }
            | Event::PlayerShutDown { player_id, .. }
            | Event::PlayerReinstated { player_id, .. } => {
                details.player_id = Some(player_id.as_str());
            }
            Event::RefereeRegistered { referee_id, .. } => {
                details.referee_id = Some(referee_id.as_str());
            }
            Event::ReportConflicted {
                match_id, referee, ..
            }
            | Event::ReportRefused {
                match_id, referee, ..
            } => {
                details.match_id = Some(match_id.as_str());
                details.referee_id = Some(referee.as_str());
            }
            Event::LossDoubted {
                match_id,
                referee,
                player_id,
                ..
            }
            | Event::DeclinedAfterCall {
                match_id,
                referee,
                player_id,
                ..
            } => {
                details.match_id = Some(match_id.as_str());
                details.referee_id = Some(referee.as_str());
                details.player_id = Some(player_id.as_str());
            }
            _ => {}
        }
        details
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
        Event::OrganiserActed {
            act,
            effect,
            reason,
            ..
        } => ("ORGANISER_ACTED", act.line(effect, reason)),
        Event::AgentReturned { agent, .. } => ("AGENT_RETURNED", format!("{agent} came back")),
        Event::LeagueStarted { .. } => ("LEAGUE_STARTED", "the league begins".to_owned()),
        // Letters go out before the event is logged.
        Event::RoundOpened { round, .. } => {
            let sentence = format!("round {round} was announced and begins");
            ("ROUND_ANNOUNCEMENT_SENT", sentence)
        }
        Event::MatchesAdded { pairings, .. } => {
            let sentence = format!("{} matches join the round", pairings.len());
            ("MATCHES_ADDED", sentence)
        }
        Event::MatchesMoved { moves, .. } => {
            let sentence = format!("{} matches were reassigned", moves.len());
            ("MATCHES_MOVED", sentence)
        }
        Event::ResultRecorded {
            match_id, result, ..
        } => ("RESULT_RECORDED", format!("{match_id}: {}", result.reason)),
        Event::ResultTold {
            match_id, referee, ..
        } => (
            "RESULT_TOLD",
            format!("{referee} told the result of {match_id}; its draw is not proven"),
        ),
        Event::RoundClosed { round, .. } => ("ROUND_CLOSED", format!("round {round} is over")),
        Event::LeagueCompleted { .. } => ("LEAGUE_COMPLETED", "the league is over".to_owned()),
        _ => return None,
    })
}

#[expect(clippy::too_many_lines, reason = "one arm for each event")]
fn warning(event: &Event) -> Option<Line> {
    Some(match event {
        Event::RefereeByDocuments { referee, .. } => (
            "REFEREE_BY_DOCUMENTS",
            format!(
                "{referee} does not know START_MATCH: it is ordered by ROUND_ANNOUNCEMENT, its \
                 draws are not proven, and its token is exposed to players"
            ),
        ),
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
        Event::PlayerShutDown {
            player_id, absence, ..
        } => (
            "PLAYER_SHUT_DOWN",
            format!(
                "{player_id} is out of the league after too many technical losses in a row{}",
                if *absence { ", until it returns" } else { "" }
            ),
        ),
        Event::PlayerReinstated { player_id, .. } => (
            "PLAYER_REINSTATED",
            format!("{player_id} was absent, has returned and plays again"),
        ),
        _ => return None,
    })
}
