//! The league under check: its beginning, its rounds, the faults in them, its end.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use league_protocol::secret::Seed;
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use tokio::time::Instant;

use super::fake_member::FakeMember;
use super::fixture::{Fixture, Outcome};
use super::query;
use crate::launch::AgentProcess;
use crate::listener::IncomingCall;
use crate::lock;
use crate::reply::Reply;
use crate::rule::{Judgement, Trouble, need};
use crate::script::{now, proof};
use crate::stage::{Question, Stage};

/// How often the state of the league is checked.
const LOOK: Duration = Duration::from_millis(20);
/// How long the league may take to begin, and a round to be announced.
const SOON: Duration = Duration::from_secs(10);
/// How long a manager has to give its orders before it counts as giving none.
const ORDERS: Duration = Duration::from_secs(4);
/// How long the rest of the league may take.
const SEASON_TIMEOUT: Duration = Duration::from_secs(100);
/// How long the last messages may take.
const LAST_MESSAGES: Duration = Duration::from_secs(3);
/// Which player signs its moves.
const SIGNER: u32 = 2;

/// How many agents a manager waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sizes {
    pub players: u32,
    pub referees: u32,
}

/// The league that the manager under check runs.
#[derive(Default)]
pub struct League {
    sizes: Sizes,
    admin_token: Option<String>,
    referee_key: Option<String>,
    members: OnceCell<FakeMembers>,
    began: OnceCell<bool>,
    season: Mutex<Season>,
    played: OnceCell<()>,
}

#[derive(Default)]
struct FakeMembers {
    players: Vec<FakeMember>,
    referees: Vec<FakeMember>,
}

/// The reports so far, and their outcomes.
#[derive(Debug, Clone, Default)]
pub struct Season {
    /// The outcome of each match whose report the manager accepted.
    pub outcomes: BTreeMap<String, Outcome>,
    /// The matches whose report was refused, with the answer.
    pub refused: BTreeMap<String, String>,
    /// The last answer to a report of each match.
    pub replies: BTreeMap<String, Reply>,
    /// The answer to the hand-over of each match and attempt.
    pub draws: BTreeMap<(String, u64), Reply>,
    /// A report that cannot be true, and a request for a draw before both choices are in.
    pub false_report: Option<FalseCall>,
    pub early_request: Option<FalseCall>,
}

/// A call that a referee must not make, with its answer.
#[derive(Debug, Clone)]
pub struct FalseCall {
    pub match_id: String,
    /// The attempt at the match that it is about: a later attempt belongs to another referee.
    attempt: u64,
    pub reply: Reply,
}

impl FalseCall {
    fn new(fixture: &Fixture, reply: Reply) -> Self {
        Self {
            match_id: fixture.match_id.clone(),
            attempt: fixture.attempt(),
            reply,
        }
    }

    /// Whether it spoilt this attempt at a match.
    fn has_spoilt(&self, fixture: &Fixture) -> bool {
        self.match_id == fixture.match_id
            && fixture.attempt() <= self.attempt
            && self.reply.is_refusal()
    }
}

/// A member of the league, and all calls that it received.
#[derive(Debug, Clone)]
pub struct MemberRecord {
    pub is_referee: bool,
    pub endpoint: String,
    pub id: String,
    pub token: String,
    pub is_silent: bool,
    /// The token that a player signs with; `None` if it does not.
    signing_token: Option<String>,
    /// The answer to its registration.
    pub answer: Option<Reply>,
    /// The orders that it has turned down: match and attempt.
    pub turned_down: Vec<(Value, Value)>,
    pub calls: Vec<Arc<IncomingCall>>,
}

impl MemberRecord {
    fn of(member: &FakeMember) -> Self {
        Self {
            is_referee: member.is_referee,
            endpoint: member.endpoint.clone(),
            id: member.id(),
            token: member.token(),
            is_silent: member.is_silent(),
            signing_token: member.signing_token(),
            answer: member.answer(),
            turned_down: member.turned_down(),
            calls: member.calls(),
        }
    }

    /// The messages of a type that it received.
    pub fn told(&self, kind: &str) -> impl Iterator<Item = &Arc<IncomingCall>> {
        self.calls.iter().filter(move |call| call.kind() == kind)
    }

    /// The first message of a type that it received.
    /// Breaks the rule if there is none.
    pub(crate) fn first_told(&self, kind: &str) -> Result<&Arc<IncomingCall>, Trouble> {
        let first = self.told(kind).next();
        first.ok_or_else(|| Trouble::broken(format!("{} received no {kind}", self.id)))
    }

    /// What proves that it made a choice in the match of an order, if it signs.
    pub(crate) fn prove(&self, order: &Value, choice: &str) -> Option<String> {
        let token = self.signing_token.as_ref()?;
        Some(proof(order, token, Some((choice, ""))))
    }

    pub(crate) fn has_turned_down(&self, order: &Value) -> bool {
        let order = (order["match_id"].clone(), order["attempt"].clone());
        self.turned_down.contains(&order)
    }
}

/// The league so far.
#[derive(Debug, Clone)]
pub struct LeagueRecord {
    pub sizes: Sizes,
    pub players: Vec<MemberRecord>,
    pub referees: Vec<MemberRecord>,
    pub season: Season,
}

impl LeagueRecord {
    pub fn members(&self) -> impl Iterator<Item = &MemberRecord> {
        self.players.iter().chain(&self.referees)
    }

    /// The players that never fell silent.
    pub fn lasting(&self) -> impl Iterator<Item = &MemberRecord> {
        self.players.iter().filter(|player| !player.is_silent)
    }

    pub fn matches_a_round(&self) -> usize {
        self.sizes.players as usize / 2
    }

    pub fn rounds(&self) -> usize {
        let players = self.sizes.players as usize;
        players - usize::from(players.is_multiple_of(2))
    }

    /// Whether the manager gives orders to referees, as ours does.
    pub fn gives_orders(&self) -> bool {
        let mut referees = self.referees.iter();
        referees.any(|referee| referee.told("START_MATCH").next().is_some())
    }

    /// The known matches: the latest order of each, or the announcements if the manager does not
    /// give orders.
    pub(crate) fn fixtures(&self) -> Vec<Fixture> {
        let mut all: BTreeMap<String, Fixture> = BTreeMap::new();
        if !self.gives_orders() {
            for (round, row) in self.announced_rows() {
                if let Some(fixture) = Fixture::announced(&row, round, &self.referees) {
                    all.insert(fixture.match_id.clone(), fixture);
                }
            }
        }
        for (place, referee) in self.referees.iter().enumerate() {
            for call in referee.told("START_MATCH") {
                let Some(fixture) = Fixture::ordered(call.message(), place) else {
                    continue;
                };
                let known = all.get(&fixture.match_id);
                if known.is_none_or(|known| known.attempt() <= fixture.attempt()) {
                    all.insert(fixture.match_id.clone(), fixture);
                }
            }
        }
        let mut all: Vec<Fixture> = all.into_values().collect();
        for fixture in &mut all {
            fixture.play(&self.players);
            let draw = (fixture.match_id.clone(), fixture.attempt());
            fixture.seed = self.season.draws.get(&draw).and_then(seed_in);
        }
        all
    }

    /// The rows of all announcements that the players received, each with its round.
    pub fn announced_rows(&self) -> Vec<(u64, Value)> {
        let mut all: BTreeMap<String, (u64, Value)> = BTreeMap::new();
        for player in &self.players {
            for call in player.told("ROUND_ANNOUNCEMENT") {
                let message = call.message();
                let round = message["round_id"].as_u64().unwrap_or_default();
                for row in message["matches"].as_array().into_iter().flatten() {
                    let match_id = row["match_id"].as_str().unwrap_or_default().to_owned();
                    all.insert(match_id, (round, row.clone()));
                }
            }
        }
        all.into_values().collect()
    }

    /// The matches that can be reported now.
    fn due(&self) -> Vec<Fixture> {
        let season = &self.season;
        let mut all = self.fixtures();
        all.retain(|fixture| {
            let referee = &self.referees[fixture.referee];
            let order = fixture.order.as_ref().unwrap_or(&Value::Null);
            let mut faults = season.false_report.iter().chain(&season.early_request);
            !season.outcomes.contains_key(&fixture.match_id)
                && !season.refused.contains_key(&fixture.match_id)
                && !referee.is_silent
                && !referee.has_turned_down(order)
                && !faults.any(|fault| fault.has_spoilt(fixture))
        });
        all
    }
}

impl League {
    pub fn new(sizes: Sizes, admin_token: Option<String>, referee_key: Option<String>) -> Self {
        Self {
            sizes,
            admin_token,
            referee_key,
            ..Self::default()
        }
    }

    /// The keys that the check was given, and the tokens of its members.
    pub(crate) fn secrets(&self) -> Vec<String> {
        let keys = [&self.admin_token, &self.referee_key].into_iter();
        let members = self.players().iter().chain(self.referees());
        let tokens = members.flat_map(FakeMember::secrets);
        keys.flatten().cloned().chain(tokens).collect()
    }

    pub(crate) fn players(&self) -> &[FakeMember] {
        let members = self.members.get();
        members.map_or(&[], |members| &members.players)
    }

    pub(crate) fn referees(&self) -> &[FakeMember] {
        let members = self.members.get();
        members.map_or(&[], |members| &members.referees)
    }

    /// The league's id, as the first player received it.
    pub(crate) fn id(&self) -> String {
        let reply = self.players().first().and_then(FakeMember::answer);
        let league = reply.as_ref().and_then(|reply| reply.member("league_id"));
        let league = league.and_then(Value::as_str);
        league.unwrap_or_default().to_owned()
    }
}

/// Opens all members and registers all but the last player; returns whether the manager is there.
pub(crate) async fn begin(stage: &Stage) -> bool {
    let Ok(members) = members(stage).await else {
        return false;
    };
    let all_but_last = members.players.iter().rev().skip(1).rev();
    for member in all_but_last.chain(&members.referees) {
        register(stage, member).await;
    }
    // Another process may hold the port.
    !stage.process.as_ref().is_some_and(AgentProcess::has_ended)
}

/// A query for the standings, by a player or by an unregistered agent.
pub(crate) async fn question(stage: &Stage) -> Question {
    match player(stage, 0).await {
        Ok(_) => query(stage, "GET_STANDINGS", None),
        Err(_) => Question::new("get_standings", json!({})),
    }
}

async fn register(stage: &Stage, member: &FakeMember) {
    if let Ok(reply) = stage.ask(&member.request()).await {
        member.note(reply);
    }
}

/// The members, each at its address.
async fn members(stage: &Stage) -> Result<&FakeMembers, Trouble> {
    let Sizes { players, referees } = stage.league.sizes;
    let opened = stage.league.members.get_or_try_init(|| async {
        let salt = now().as_millis() % 1_000_000;
        let mut members = FakeMembers::default();
        for number in 1..=players {
            let name = format!("Check {salt} Player {number}");
            let mut player = FakeMember::open(name, false).await?;
            // The others are players of the documents.
            player.signs = number == SIGNER;
            members.players.push(player);
        }
        for number in 1..=referees {
            let name = format!("Check {salt} Referee {number}");
            let mut referee = FakeMember::open(name, true).await?;
            referee.key.clone_from(&stage.league.referee_key);
            members.referees.push(referee);
        }
        Ok(members)
    });
    opened.await.map_err(|error: std::io::Error| {
        Trouble::skipped(format!("no port for a member: {error}")).hint("free some ports")
    })
}

/// A player, if the manager admitted it.
/// Skips the rule if it did not.
pub(crate) async fn player(stage: &Stage, place: usize) -> Result<&FakeMember, Trouble> {
    admitted(members(stage).await?.players.get(place))
}

/// A referee, if the manager admitted it.
/// Skips the rule if it did not.
pub(crate) async fn referee(stage: &Stage, place: usize) -> Result<&FakeMember, Trouble> {
    has_a_key(stage)?;
    admitted(members(stage).await?.referees.get(place))
}

/// Skips the rule if the manager admits referees by a key that the check does not have.
pub(crate) fn has_a_key(stage: &Stage) -> Judgement {
    let mut referees = stage.league.referees().iter();
    need!(!referees.any(FakeMember::needs_a_key), else "the manager rejected a referee without a key")
        .map_err(|skipped| skipped.hint("give the key of its referees with `--referee-key KEY`"))
}

fn admitted(member: Option<&FakeMember>) -> Result<&FakeMember, Trouble> {
    let admitted = member.filter(|member| !member.id().is_empty() && !member.token().is_empty());
    admitted.ok_or_else(|| {
        Trouble::skipped("the manager did not let the check's own agents in")
            .hint("start the manager freshly; `--players` and `--referees` say what it waits for")
    })
}

/// The league so far.
pub(crate) fn snapshot(stage: &Stage) -> Arc<LeagueRecord> {
    let league = &stage.league;
    Arc::new(LeagueRecord {
        sizes: league.sizes,
        players: league.players().iter().map(MemberRecord::of).collect(),
        referees: league.referees().iter().map(MemberRecord::of).collect(),
        season: lock(&league.season).clone(),
    })
}

/// Waits until the league has begun: the last player is in, and the first round was announced.
/// Skips the rule if it does not begin.
pub(crate) async fn begun(stage: &Stage) -> Result<Arc<LeagueRecord>, Trouble> {
    members(stage).await?;
    has_a_key(stage)?;
    let league = &stage.league;
    if *league.began.get_or_init(|| kick_off(stage)).await {
        return Ok(snapshot(stage));
    }
    let Sizes { players, referees } = league.sizes;
    Err(Trouble::skipped(format!(
        "the league did not begin with {players} players and {referees} referees"
    ))
    .hint("say with `--players` and `--referees` what it waits for, or give `--admin-token`"))
}

async fn kick_off(stage: &Stage) -> bool {
    let players = stage.league.players();
    let Some(last) = players.last() else {
        return false;
    };
    register(stage, last).await;
    if let Some(token) = &stage.league.admin_token {
        let start = Question::new("start_league", json!({"auth_token": token}));
        // The announcement shows whether the league has begun.
        let _ = stage.ask(&start).await;
    }
    let until = Instant::now() + SOON;
    for player in players {
        if player
            .wait(left(until), "ROUND_ANNOUNCEMENT")
            .await
            .is_none()
        {
            return false;
        }
    }
    true
}

fn left(until: Instant) -> Duration {
    until.saturating_duration_since(Instant::now())
}

/// The first match of the league, once it may be reported.
/// Skips the rule if there is none.
pub(crate) async fn first_match(stage: &Stage) -> Result<Fixture, Trouble> {
    begun(stage).await?;
    let until = Instant::now() + ORDERS;
    while !snapshot(stage).gives_orders() && left(until) > Duration::ZERO {
        tokio::time::sleep(LOOK).await;
    }
    // The other orders of the round may follow shortly.
    tokio::time::sleep(10 * LOOK).await;
    let first = snapshot(stage).fixtures().into_iter().next();
    first.ok_or_else(|| Trouble::skipped("no match was ordered or announced"))
}

/// Reports the outcome of a match.
/// No answer breaks the rule.
pub(crate) async fn report(stage: &Stage, fixture: &Fixture) -> Result<Reply, Trouble> {
    let fixture = drawn(stage, fixture).await?;
    let reply = send_report(stage, &fixture, fixture.result()).await?;
    let (mut season, match_id) = (lock(&stage.league.season), fixture.match_id.clone());
    season.replies.insert(match_id.clone(), reply.clone());
    if reply.is_refusal() {
        season.refused.insert(match_id, reply.describe());
    } else {
        season.outcomes.insert(match_id, fixture.outcome());
    }
    Ok(reply)
}

/// A match with the seed of its attempt, for which its moves are handed over once.
/// No answer breaks the rule.
pub(crate) async fn drawn(stage: &Stage, fixture: &Fixture) -> Result<Fixture, Trouble> {
    let mut fixture = fixture.clone();
    if fixture.seed.is_none() && fixture.is_drawn_by_manager() {
        let reply = hand_over(stage, &fixture, &fixture.moves).await?;
        fixture.seed = seed_in(&reply);
        let draw = (fixture.match_id.clone(), fixture.attempt());
        lock(&stage.league.season).draws.insert(draw, reply);
    }
    Ok(fixture)
}

/// The seed that the manager gave.
fn seed_in(reply: &Reply) -> Option<Seed> {
    Seed::from_hex(reply.member("draw_seed")?.as_str()?)
}

async fn hand_over(stage: &Stage, fixture: &Fixture, moves: &[Value]) -> Result<Reply, Trouble> {
    let by = &stage.league.referees()[fixture.referee];
    let question = fixture.request(&stage.league.id(), by, moves);
    stage.ask(&question).await
}

async fn send_report(stage: &Stage, fixture: &Fixture, result: Value) -> Result<Reply, Trouble> {
    let by = &stage.league.referees()[fixture.referee];
    let question = fixture.report(&stage.league.id(), by, result);
    stage.ask(&question).await
}

/// Plays the league to its end, once.
/// Skips the rule if it never began.
pub(crate) async fn played(stage: &Stage) -> Result<Arc<LeagueRecord>, Trouble> {
    first_match(stage).await?;
    stage.league.played.get_or_init(|| play_on(stage)).await;
    Ok(snapshot(stage))
}

async fn play_on(stage: &Stage) {
    let until = Instant::now() + SEASON_TIMEOUT;
    while left(until) > Duration::ZERO {
        let league = snapshot(stage);
        if league.players[0].told("LEAGUE_COMPLETED").next().is_some() {
            break;
        }
        let Some(fixture) = league.due().into_iter().next() else {
            tokio::time::sleep(LOOK).await;
            continue;
        };
        happen(stage, &league, &fixture).await;
        if snapshot(stage).due().contains(&fixture) {
            // A refusal is recorded for the rules.
            let _ = report(stage, &fixture).await;
        }
    }
    let members = stage.league.players().iter().chain(stage.league.referees());
    for member in members.filter(|member| !member.is_silent()) {
        member.wait(LAST_MESSAGES, "LEAGUE_COMPLETED").await;
    }
}

/// Injects the faults before a match is reported: a referee requests a draw too early, another turns
/// down an order, another sends a false report, another falls silent, and in the end a player does.
async fn happen(stage: &Stage, league: &LeagueRecord, fixture: &Fixture) {
    let prefix = format!("R{}M", fixture.round);
    let done = league.season.outcomes.keys();
    let done = done.filter(|id| id.starts_with(&prefix)).count();
    let is_last = done + 1 >= league.matches_a_round();
    let referees = stage.league.referees();
    let has_others = referees.len() > 1 && fixture.order.is_some();
    if is_last && fixture.round as usize >= league.rounds() {
        if let Some(player) = stage.league.players().last() {
            player.fall_silent();
        }
    } else if is_last && has_others && fixture.round == 1 {
        if fixture.is_drawn_by_manager() && league.season.early_request.is_none() {
            request_early(stage, fixture).await;
        } else {
            referees[0].refuse_next();
        }
    } else if is_last && has_others && fixture.round == 2 {
        referees[0].fall_silent();
    } else if has_others && fixture.round == 2 && league.season.false_report.is_none() {
        report_falsely(stage, fixture).await;
    }
}

async fn request_early(stage: &Stage, fixture: &Fixture) {
    if let Ok(reply) = hand_over(stage, fixture, &fixture.moves[..1]).await {
        let fault = FalseCall::new(fixture, reply);
        lock(&stage.league.season).early_request = Some(fault);
    }
}

async fn report_falsely(stage: &Stage, fixture: &Fixture) {
    let mut result = fixture.result();
    result["details"]["drawn_number"] = 11.into();
    let Ok(reply) = send_report(stage, fixture, result).await else {
        return;
    };
    let mut season = lock(&stage.league.season);
    if !reply.is_refusal() {
        let match_id = fixture.match_id.clone();
        season.outcomes.insert(match_id, fixture.outcome());
    }
    season.false_report = Some(FalseCall::new(fixture, reply));
}
