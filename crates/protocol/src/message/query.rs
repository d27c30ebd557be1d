//! Questions to the manager and their answers.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::dialect::Hints;
use crate::fault::Code;
use crate::finding::{Notes, Path, Reading, harmless};
use crate::id::{GameType, LeagueId, MatchId, PlayerId};
use crate::sender::Dialect;
use crate::shape::{Closed, Cx, Round, RowStates, drafts, objects, read_parts};

use super::round::{ApiTableRow, StandingRow, StandingsUpdate, TABLE_ROW};
use super::{Message, needed};

/// A question to the manager.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeagueQuery {
    /// Which league, if it was said.
    pub league_id: Option<LeagueId>,
    /// What is asked.
    pub query: Query,
    /// Whether it came as the API page's `QUERY_STANDINGS_REQUEST`.
    pub by_api_page: bool,
}

/// What can be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Query {
    /// The table.
    Standings,
    /// Every round and its matches.
    Schedule,
    /// A player's next match.
    NextMatch(PlayerId),
    /// A player's own figures.
    PlayerStats(PlayerId),
    /// The games that the league manager knows.
    Games,
}

impl Query {
    /// The type as the documents write it.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Standings => "GET_STANDINGS",
            Self::Schedule => "GET_SCHEDULE",
            Self::NextMatch(_) => "GET_NEXT_MATCH",
            Self::PlayerStats(_) => "GET_PLAYER_STATS",
            Self::Games => "GET_SUPPORTED_GAMES",
        }
    }
}

/// The manager's answer.
#[derive(Debug, Clone, PartialEq)]
pub struct LeagueQueryResponse {
    /// Which league.
    pub league_id: LeagueId,
    /// The question's type, as the documents write it.
    pub query_type: &'static str,
    /// The answer, or why there is none.
    pub answer: Result<QueryAnswer, String>,
    /// Whether it is told as the API page's `QUERY_STANDINGS_RESPONSE`.
    pub by_api_page: bool,
}

/// An answer to a question.
#[derive(Debug, Clone, PartialEq)]
pub enum QueryAnswer {
    /// The table.
    Standings {
        /// The last round that is over.
        round_id: u32,
        /// The rows.
        rows: Arc<[StandingRow]>,
    },
    /// The rounds; large leagues give those that fit.
    Schedule {
        /// Rounds in all.
        total_rounds: u32,
        /// The rounds told.
        rounds: Arc<[RoundListing]>,
    },
    /// A player's next match.
    NextMatch(NextMatch),
    /// A player's own figures.
    PlayerStats(PlayerStats),
    /// The registry of games, as 000 §3.8.3 prints it.
    Games(Value),
}

/// One round and its matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundListing {
    /// Which round.
    pub round_id: u32,
    /// Its matches.
    pub matches: Vec<MatchListing>,
}

impl RoundListing {
    /// The round in the words of an answer.
    pub fn told(&self) -> Value {
        let matches: Vec<Value> = self.matches.iter().map(listed).collect();
        json!({"round_id": self.round_id, "matches": matches})
    }
}

/// One match of the schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MatchListing {
    /// Which match.
    pub match_id: MatchId,
    /// What is played.
    pub game_type: GameType,
    /// Who sits at seat A.
    pub player_a: PlayerId,
    /// Who sits at seat B.
    pub player_b: PlayerId,
}

/// A player's next match.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct NextMatch {
    /// Which match.
    pub match_id: MatchId,
    /// Which round.
    pub round_id: u32,
    /// Who sits opposite.
    pub opponent_id: PlayerId,
    /// Where its referee answers, once one is assigned.
    pub referee_endpoint: Option<Arc<str>>,
}

/// A player's own figures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlayerStats {
    /// The player's row in the table.
    pub row: StandingRow,
    /// The player's state in the league: `ACTIVE`, `SUSPENDED`, ….
    pub state: &'static str,
}

objects! {
    /// A question to the manager.
    pub(crate) LEAGUE_QUERY: Question = "000 §4.9.1" {
        /// Which league.
        "league_id" [league_id ?] Expected;
        /// What is asked.
        "query_type" [topic ?] Needed;
        /// What the question needs to know.
        "query_params" [inside QUERY_PARAMS if |question| question.player_id.is_some()] Optional;
    }
    /// What a question needs to know.
    QUERY_PARAMS: Question = "000 §4.9.1" {
        /// Whom it is about.
        "player_id" [player_id ?] Optional;
    }
    /// The manager's answer.
    pub(crate) LEAGUE_QUERY_RESPONSE: Answer = "000 §4.9.2" {
        /// Which league.
        "league_id" [league_id] Optional;
        /// What was asked.
        "query_type" [topic ?] Expected;
        /// Whether there is an answer.
        "success" [is_success] Needed;
        /// The answer; its form follows from the question.
        "data" [data ?] Optional;
        /// Why there is none.
        "error" [error ?] Optional;
    }
    /// A player asks for the table.
    pub(crate) QUERY_STANDINGS_REQUEST: LeagueQuery = "001 §QUERY_STANDINGS_REQUEST" {
        /// Which league.
        "league_id" [league_id ?] Optional;
    }
    /// The manager tells the table.
    pub(crate) QUERY_STANDINGS_RESPONSE: StandingsUpdate = "001 §QUERY_STANDINGS_RESPONSE" {
        /// Which league.
        "league_id" [league_id] Optional;
        /// After which round.
        "round_id" [round_id as Round] Optional;
        /// The rows.
        "standings" [standings as ApiTableRow] Needed;
    }
}

drafts! {
    Question { league_id, topic, player_id }
    Answer { league_id, topic, is_success, data, error }
    LeagueQuery { league_id, query = |_| Query::Standings, by_api_page = |_| true }
}

pub(crate) fn table_told(
    table: StandingsUpdate,
    _: &RowStates<StandingsUpdate>,
    _: &mut Cx<'_>,
) -> Option<Message> {
    Some(Message::from(LeagueQueryResponse {
        league_id: table.league_id,
        query_type: Query::Standings.as_str(),
        answer: Ok(QueryAnswer::Standings {
            round_id: table.round_id,
            rows: table.standings.iter().cloned().collect(),
        }),
        by_api_page: true,
    }))
}

/// The longest reason of a refusal that is passed on, in characters.
const MAX_REASON: usize = 500;

/// What a question is about.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Topic {
    Standings,
    Schedule,
    NextMatch,
    PlayerStats,
    Games,
}

impl Closed for Topic {
    fn words(_: Dialect) -> &'static [(Self, &'static str)] {
        &[
            (Self::Standings, "GET_STANDINGS"),
            (Self::Schedule, "GET_SCHEDULE"),
            (Self::NextMatch, "GET_NEXT_MATCH"),
            (Self::PlayerStats, "GET_PLAYER_STATS"),
            (Self::Games, "GET_SUPPORTED_GAMES"),
        ]
    }
}

impl Topic {
    /// The topic of a query type; standings where it is none.
    fn of(query_type: &str) -> Self {
        let mut words = Self::words(Dialect::V2).iter();
        let found = words.find(|(_, word)| *word == query_type);
        found.map_or(Self::Standings, |(topic, _)| *topic)
    }

    /// What was asked, by what only the answer to it holds.
    fn of_answer(data: &Value) -> Option<Self> {
        let answers = [
            ("standings", Self::Standings),
            ("rounds", Self::Schedule),
            ("next_match", Self::NextMatch),
            ("player_stats", Self::PlayerStats),
            ("game_registry", Self::Games),
        ];
        let mut told = answers.into_iter();
        let (_, topic) = told.find(|(name, _)| data.get(name).is_some())?;
        Some(topic)
    }
}

/// A [`LeagueQuery`] as it is on the wire.
pub(crate) struct Question {
    league_id: Option<LeagueId>,
    topic: Option<Topic>,
    player_id: Option<PlayerId>,
}

impl From<&LeagueQuery> for Question {
    fn from(query: &LeagueQuery) -> Self {
        let (topic, player_id) = match &query.query {
            Query::Standings => (Topic::Standings, None),
            Query::Schedule => (Topic::Schedule, None),
            Query::NextMatch(player) => (Topic::NextMatch, Some(player.clone())),
            Query::PlayerStats(player) => (Topic::PlayerStats, Some(player.clone())),
            Query::Games => (Topic::Games, None),
        };
        Self {
            league_id: query.league_id.clone(),
            topic: Some(topic),
            player_id,
        }
    }
}

impl Question {
    pub(crate) fn finish(self, seen: &RowStates<Self>, cx: &mut Cx<'_>) -> Option<Message> {
        let at = &seen.at();
        let params = at.member("query_params", true);
        let asker = self.player_id.or_else(|| cx.hints.reader.cloned());
        let player = || {
            let expected = "the player the question is about";
            needed(asker, "player_id", expected, &params, cx)
        };
        let query = match self.topic? {
            Topic::Standings => Query::Standings,
            Topic::Schedule => Query::Schedule,
            Topic::NextMatch => Query::NextMatch(player()?),
            Topic::PlayerStats => Query::PlayerStats(player()?),
            Topic::Games => Query::Games,
        };
        Some(Message::from(LeagueQuery {
            league_id: self.league_id,
            query,
            by_api_page: false,
        }))
    }
}

impl LeagueQuery {
    pub(crate) fn is_by_api_page(&self) -> bool {
        self.by_api_page && self.query == Query::Standings
    }
}

impl LeagueQueryResponse {
    pub(crate) fn is_by_api_page(&self) -> bool {
        self.by_api_page && matches!(self.answer, Ok(QueryAnswer::Standings { .. }))
    }
}

/// Writes an answer; the table is told as it was asked for.
pub(crate) fn write_response<S: SerializeMap>(
    response: &LeagueQueryResponse,
    dialect: Dialect,
    map: &mut S,
) -> Result<(), S::Error> {
    match &response.answer {
        Ok(QueryAnswer::Standings { round_id, rows })
            if response.by_api_page && dialect == Dialect::V2Api =>
        {
            let table = StandingsUpdate {
                league_id: response.league_id.clone(),
                round_id: *round_id,
                standings: Arc::clone(rows).into(),
            };
            QUERY_STANDINGS_RESPONSE.write(&table, dialect, map)
        }
        answer => {
            let answer = Answer {
                league_id: response.league_id.clone(),
                topic: Some(Topic::of(response.query_type)),
                is_success: answer.is_ok(),
                data: answer
                    .as_ref()
                    .ok()
                    .map(|told| data(response, told, dialect)),
                error: answer.as_ref().err().map(|why| json!(why)),
            };
            LEAGUE_QUERY_RESPONSE.write(&answer, dialect, map)
        }
    }
}

/// A [`LeagueQueryResponse`] as it is on the wire.
pub(crate) struct Answer {
    league_id: LeagueId,
    topic: Option<Topic>,
    is_success: bool,
    data: Option<Value>,
    error: Option<Value>,
}

impl Answer {
    pub(crate) fn finish(mut self, seen: &RowStates<Self>, cx: &mut Cx<'_>) -> Option<Message> {
        let at = &seen.at();
        if !seen.has("success") {
            return None;
        }
        if let (Dialect::V2Api, Some(data)) = (cx.dialect, &mut self.data) {
            number_rounds(data);
        }
        let by_data = || Topic::of_answer(self.data.as_ref()?);
        let topic = self.topic.or_else(by_data);
        let answer = if self.is_success {
            let topic = needed(topic, "query_type", "what was asked", at, cx)?;
            let data = needed(self.data, "data", "the answer", at, cx)?;
            Ok(read_data(topic, data)
                .map_err(|problem| {
                    let detail = harmless(&problem, MAX_REASON);
                    let at = at.member("data", true);
                    let expected = "an answer to the question";
                    cx.refuse(Code::InvalidMessage, &at, expected, detail);
                })
                .ok()?)
        } else {
            Err(reason(self.error))
        };
        Some(Message::from(LeagueQueryResponse {
            league_id: self.league_id,
            query_type: topic.map_or("", |topic| topic.word(cx.dialect)),
            answer,
            by_api_page: false,
        }))
    }
}

fn reason(told: Option<Value>) -> String {
    match told {
        Some(Value::String(why)) => harmless(&why, MAX_REASON),
        Some(other) => harmless(&other.to_string(), MAX_REASON),
        None => "no reason given".to_owned(),
    }
}

/// An answer as it is on the wire.
fn data(response: &LeagueQueryResponse, answer: &QueryAnswer, dialect: Dialect) -> Value {
    let round = |round_id: u32| match dialect {
        Dialect::V2Api => Value::from(Round::name(round_id)),
        Dialect::V2 | Dialect::V1 => Value::from(round_id),
    };
    match answer {
        QueryAnswer::Standings { round_id, rows } => json!({
            "league_id": response.league_id,
            "round_id": round(*round_id),
            "standings": rows.iter().map(|row| told_row(row, dialect)).collect::<Vec<_>>(),
        }),
        QueryAnswer::Schedule {
            total_rounds,
            rounds,
        } => json!({
            "total_rounds": total_rounds,
            "rounds": rounds.iter().map(|listing| {
                let mut told = listing.told();
                told["round_id"] = round(listing.round_id);
                told
            }).collect::<Vec<_>>(),
        }),
        QueryAnswer::NextMatch(next) => json!({"next_match": {
            "match_id": next.match_id,
            "round_id": round(next.round_id),
            "opponent_id": next.opponent_id,
            "referee_endpoint": next.referee_endpoint,
        }}),
        QueryAnswer::PlayerStats(stats) => {
            let mut row = told_row(&stats.row, dialect);
            row["technical_losses"] = stats.row.technical_losses.into();
            row["state"] = stats.state.into();
            json!({"player_stats": row})
        }
        QueryAnswer::Games(registry) => json!({"game_registry": registry}),
    }
}

/// A row of the table; byes, and the rank that a tie shares which only ids broke, are additions of
/// ours.
fn told_row(row: &StandingRow, dialect: Dialect) -> Value {
    let mut told = json!(TABLE_ROW.spell(row, dialect));
    if let Some(first) = row.tie {
        told["tied_rank"] = first.into();
    }
    if row.byes > 0 {
        told["byes"] = row.byes.into();
    }
    told
}

fn listed(listing: &MatchListing) -> Value {
    json!({
        "match_id": listing.match_id,
        "game_type": listing.game_type,
        "player_A_id": listing.player_a,
        "player_B_id": listing.player_b,
    })
}

/// Writes the three kinds of rounds in an answer as numbers, which the API page writes by name.
fn number_rounds(data: &mut Value) {
    let number = |round: &mut Value| {
        let digits = round.as_str().and_then(|text| text.strip_prefix("ROUND_"));
        if let Some(number) = digits.and_then(|digits| digits.parse::<u32>().ok()) {
            *round = number.into();
        }
    };
    for path in ["/round_id", "/next_match/round_id"] {
        data.pointer_mut(path).map(number);
    }
    let rounds = data.get_mut("rounds").and_then(Value::as_array_mut);
    for round in rounds.into_iter().flatten() {
        round.get_mut("round_id").map(number);
    }
}

/// Reads an answer, or says why it cannot be read.
fn read_data(topic: Topic, data: Value) -> Result<QueryAnswer, String> {
    let unreadable = |problem: serde_json::Error| format!("the answer cannot be read: {problem}");
    match topic {
        Topic::Standings => {
            let table = data
                .get("standings")
                .ok_or("the answer has no `standings`")?;
            let round = data["round_id"].as_u64();
            let round = round.and_then(|round| u32::try_from(round).ok());
            Ok(QueryAnswer::Standings {
                round_id: round.unwrap_or_default(),
                rows: rows(table).into(),
            })
        }
        Topic::Schedule => {
            let schedule: Schedule = serde_json::from_value(data).map_err(unreadable)?;
            Ok(QueryAnswer::Schedule {
                total_rounds: schedule.total_rounds,
                rounds: schedule
                    .rounds
                    .into_iter()
                    .map(RoundListing::from)
                    .collect(),
            })
        }
        Topic::NextMatch => {
            let answer: NextMatchAnswer = serde_json::from_value(data).map_err(unreadable)?;
            Ok(QueryAnswer::NextMatch(answer.next_match))
        }
        Topic::PlayerStats => read_stats(&data),
        Topic::Games => {
            let registry = data.get("game_registry").cloned();
            let registry = registry.ok_or("the answer has no `game_registry`")?;
            Ok(QueryAnswer::Games(registry))
        }
    }
}

/// The rows that name a player.
fn rows(standings: &Value) -> Vec<StandingRow> {
    let Ok(raw) = serde_json::value::to_raw_value(standings) else {
        return Vec::new();
    };
    let mut cx = Cx {
        dialect: Dialect::V2,
        hints: &Hints::default(),
        notes: &mut Notes::new(Reading::Lenient),
    };
    let at = Path::root("000 §4.9.2");
    let mut rows = read_parts(&TABLE_ROW, &raw, &at, &mut cx).unwrap_or_default();
    let told = standings.as_array().into_iter().flatten();
    let told: BTreeMap<&str, &Value> = told
        .filter_map(|row| Some((row["player_id"].as_str()?, row)))
        .collect();
    for row in &mut rows {
        let own = told.get(row.player_id.as_str());
        let number = |name: &str| {
            let number = own.and_then(|own| own[name].as_u64());
            number.and_then(|number| u32::try_from(number).ok())
        };
        (row.tie, row.byes) = (number("tied_rank"), number("byes").unwrap_or(0));
    }
    rows
}

fn read_stats(data: &Value) -> Result<QueryAnswer, String> {
    const STATES: [&str; 5] = ["INIT", "REGISTERED", "ACTIVE", "SUSPENDED", "SHUTDOWN"];
    let told = data
        .get("player_stats")
        .ok_or("the answer has no `player_stats`")?;
    let mut row = rows(&Value::Array(vec![told.clone()])).into_iter().next();
    if let (Some(row), Some(losses)) = (&mut row, told["technical_losses"].as_u64()) {
        row.technical_losses = u32::try_from(losses).unwrap_or(u32::MAX);
    }
    let state = STATES.into_iter().find(|state| told["state"] == *state);
    Ok(QueryAnswer::PlayerStats(PlayerStats {
        row: row.ok_or("the answer names no player")?,
        state: state.unwrap_or("INIT"),
    }))
}

#[derive(Deserialize)]
struct NextMatchAnswer {
    next_match: NextMatch,
}

#[derive(Deserialize)]
struct Schedule {
    total_rounds: u32,
    rounds: Vec<ScheduleRound>,
}

#[derive(Deserialize)]
struct ScheduleRound {
    round_id: u32,
    matches: Vec<ScheduleMatch>,
}

/// A match as an answer names its members; in our own files they have other names.
#[derive(Deserialize)]
struct ScheduleMatch {
    match_id: MatchId,
    game_type: GameType,
    #[serde(rename = "player_A_id")]
    player_a: PlayerId,
    #[serde(rename = "player_B_id")]
    player_b: PlayerId,
}

impl From<ScheduleRound> for RoundListing {
    fn from(round: ScheduleRound) -> Self {
        let matches = round.matches.into_iter().map(|listed| MatchListing {
            match_id: listed.match_id,
            game_type: listed.game_type,
            player_a: listed.player_a,
            player_b: listed.player_b,
        });
        Self {
            round_id: round.round_id,
            matches: matches.collect(),
        }
    }
}
