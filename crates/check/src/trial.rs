//! Trial matches, which a referee of a league runs with the player under check, and the answer to
//! the question of its author: can it play here?

use std::fmt;

use league_protocol::finding::Reading;
use league_protocol::sender::Dialect;
use league_protocol::token::TokenHash;

use crate::fake_manager::MatchSecrets;
use crate::player::announcement;
use crate::prelude::*;
use crate::referee::fake_player::PlayerBehaviour;
use crate::referee::match_run::{is_report, order, seat, setup};
use crate::registration::form::{self, Registration};

/// How long a match may take: three attempts to join, three to move, and all that lies between.
const MATCH_TIMEOUT: Duration = Duration::from_secs(240);
/// How long the opponent waits for the end after the report.
const END_TIMEOUT: Duration = Duration::from_secs(30);
/// The opponent of the player.
const OPPONENT: &str = "P02";
/// How many deviations the answer names.
pub(crate) const MAX_NAMED: usize = 10;

/// Whether an agent can play in a league.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CanPlay {
    Yes,
    /// A lenient league forgives them.
    WithDeviations(Vec<String>),
    /// Why not.
    No(String),
}

impl CanPlay {
    /// The answer for an agent with these deviations.
    pub fn with(deviations: Vec<String>) -> Self {
        match deviations.is_empty() {
            true => Self::Yes,
            false => Self::WithDeviations(deviations),
        }
    }

    pub fn is_no(&self) -> bool {
        matches!(self, Self::No(_))
    }

    /// The answer without its reasons.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::WithDeviations(_) => "with deviations",
            Self::No(_) => "no",
        }
    }
}

impl fmt::Display for CanPlay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Yes => f.write_str("yes"),
            Self::WithDeviations(deviations) => {
                f.write_str("yes, with these deviations:")?;
                for (number, deviation) in (1..).zip(deviations.iter().take(MAX_NAMED)) {
                    write!(f, " ({number}) {deviation}")?;
                }
                match deviations.len().saturating_sub(MAX_NAMED) {
                    0 => Ok(()),
                    more => write!(f, " and {more} more"),
                }
            }
            Self::No(because) => write!(f, "no, because {because}"),
        }
    }
}

/// The player under check as a league knows it.
#[derive(Debug, Clone)]
pub struct Entry {
    pub id: String,
    pub endpoint: String,
    /// The registration as a lenient league reads it; `None` if none was seen.
    pub registration: Option<Registration>,
}

impl Entry {
    /// The entry of a player that has arrived.
    /// Returns why a league does not admit the player.
    pub fn of(stage: &Stage, reading: Reading) -> Result<Self, String> {
        let Some(call) = stage.latest_registration() else {
            return match stage.process {
                Some(_) => Err("it did not register with the manager".to_owned()),
                None => Ok(Self::unseen(stage)),
            };
        };
        let registration = form::read(&call, reading).map_err(|why| {
            let why = why.trim_end_matches('.');
            format!("a league does not take its registration: {why}")
        })?;
        Ok(Self {
            id: "P01".to_owned(),
            endpoint: registration.request.meta.contact_endpoint.clone(),
            registration: Some(registration),
        })
    }

    /// The entry of a player whose registration was not seen.
    fn unseen(stage: &Stage) -> Self {
        Self {
            id: stage.player_id(),
            endpoint: stage.agent.to_string(),
            registration: None,
        }
    }

    /// The row of the player in an order.
    fn row(&self, stage: &Stage, match_token: &str) -> Value {
        let token = stage.admission().map(|admission| admission.token);
        let known = self.registration.as_ref();
        let dialect = known.map_or(Dialect::V2, |known| known.dialect);
        let mut row = json!({
            "player_id": self.id, "contact_endpoint": self.endpoint, "dialect": dialect.as_str(),
            "token_hash": TokenHash::of(&token.unwrap_or_default()).to_string(),
            "match_token": match_token, "record": {"wins": 0, "losses": 0, "draws": 0},
        });
        if known.is_some_and(|known| known.request.meta.is_foreign()) {
            row["is_foreign"] = true.into();
        }
        if let Some(speech) = known.and_then(|known| known.request.meta.speech) {
            row["speech"] = speech.as_str().into();
        }
        row
    }
}

/// A trial match that is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlayedMatch {
    pub match_id: String,
    /// Why the player lost without playing, if it did.
    pub lost: Option<String>,
}

/// Plays a match between the player and a fair opponent, run by the referee of a league.
/// The match could not be played, for reasons that are not the player's.
pub async fn play(
    player: &Stage,
    entry: &Entry,
    referee: &Stage,
    strict: bool,
) -> Result<PlayedMatch, Trouble> {
    let match_id = player.next_match();
    let announced = announcement(player, &match_id);
    let match_token = announced.params["matches"][0]["match_token"].clone();
    if !player.is_v1() {
        // Only players that know match tokens need the announcement.
        let _ = player.ask(&announced).await;
    }
    let own = referee.played.token(OPPONENT);
    let tokens = [own.clone(), own];
    let behaviour = PlayerBehaviour::Fair;
    let opponent = setup(
        &referee.played,
        behaviour,
        "odd",
        OPPONENT.to_owned(),
        tokens,
    );
    let opponent = seat(opponent).await?;
    let seed = referee.played.seed();
    let rows = [entry.row(player, str_of(&match_token)), opponent.row()];
    let mut ordered = order(referee, &match_id, &rows, &seed);
    ordered["strict"] = strict.into();
    if let Some(manager) = &referee.manager {
        let players = json!([]);
        manager.keep(&match_id, MatchSecrets { seed, players });
    }
    let ack = referee.ask(&Question::new("start_match", ordered)).await?;
    let taken = ack.member("accepted") == Some(&true.into());
    need!(taken, else "the trial match was not begun: {}", ack.text())?;
    let is_due = |call: &crate::listener::IncomingCall| is_report(call, &match_id);
    let report = referee.manager_hears(0, MATCH_TIMEOUT, is_due).await;
    let report = report.ok_or_else(|| Trouble::skipped("the trial match did not end"))?;
    opponent.wait("GAME_OVER", END_TIMEOUT).await;
    let details = &report.message()["result"]["details"];
    let lost = details["failed"].get(&entry.id);
    let lost = lost.map(|_| str_of(&details["reason"]).to_owned());
    Ok(PlayedMatch { match_id, lost })
}
