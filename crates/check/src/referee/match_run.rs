//! Matches that the referee under check is ordered to run, each with its course. All messages are
//! recorded, and the rules judge the records afterwards.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use league_protocol::secret::Seed;
use league_protocol::token::{AuthToken, hex};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::fake_player::{FakePlayer, PlayerBehaviour, PlayerSetup};
use super::look_at;
use crate::RandomBytes;
use crate::caller::Caller;
use crate::fake_manager::{MatchSecrets, REPORT, REQUEST};
use crate::listener::{IncomingCall, ScriptedAnswer};
use crate::lock;
use crate::reply::Reply;
use crate::rule::{Judgement, Trouble, hold, need};
use crate::script::{MODE, attempt_seed, message, promise};
use crate::stage::{Question, Stage, round_of};

/// How long the players wait for the end after the manager has received the report.
const TOLD_SOON: Duration = Duration::from_secs(3);
/// How long they wait if the manager did not take the first report.
const TOLD_LATER: Duration = Duration::from_secs(15);
/// How long a report that is lost stays unanswered before.
const BREAKS_OFF: Duration = Duration::from_secs(1);
/// How often the state of a running match is requested.
const LOOK: Duration = Duration::from_millis(150);

/// The course of a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchCourse {
    /// One player chooses even, the other odd.
    Decided,
    /// Both choose alike; this match is never ordered twice.
    Drawn,
    /// One player delays its choice, and the state of the match is requested meanwhile.
    Watched,
    /// One choice is illegal, the next is legal.
    SlipOnce,
    /// One player never makes a legal choice.
    SlipAlways,
    /// One player declines.
    Declined,
    /// Both players decline.
    BothDeclined,
    /// The address of one player does not accept connections.
    Dead,
    /// One player never answers its invitation.
    Silent,
    /// One player chooses too late, and then in time.
    Late,
    /// The answers of one player carry the token of the other.
    Impostor,
    /// The answers of one player are for another match.
    Astray,
    /// The first report is lost.
    LostReport,
    /// The token of the first report is refused.
    RefusedReport,
    /// The request for the draw is refused for good.
    RefusedDraw,
}

impl MatchCourse {
    const COUNT: usize = 15;

    /// How the first player behaves, and how many seconds the report of the result may take.
    fn plan(self) -> (PlayerBehaviour, u64) {
        match self {
            Self::Decided | Self::Drawn | Self::RefusedDraw => (PlayerBehaviour::Fair, 12),
            Self::LostReport | Self::RefusedReport => (PlayerBehaviour::Fair, 30),
            Self::Watched => (PlayerBehaviour::Slow(Duration::from_millis(1500)), 12),
            Self::SlipOnce => (PlayerBehaviour::Illegal(1), 12),
            Self::SlipAlways => (PlayerBehaviour::Illegal(u32::MAX), 20),
            Self::Declined | Self::BothDeclined => (PlayerBehaviour::Declines, 12),
            Self::Dead => (PlayerBehaviour::Absent, 35),
            Self::Silent => (PlayerBehaviour::Deaf, 35),
            Self::Late => (PlayerBehaviour::Tardy, 45),
            Self::Impostor => (PlayerBehaviour::Impostor, 20),
            Self::Astray => (PlayerBehaviour::Astray, 20),
        }
    }

    /// Which message of the referee the manager does not answer as usual, and how.
    fn spoils(self) -> Option<(&'static str, ScriptedAnswer)> {
        let (kind, code, name) = match self {
            Self::LostReport => {
                let lost = Box::new(ScriptedAnswer::Nothing);
                return Some((REPORT, ScriptedAnswer::Late(BREAKS_OFF, lost)));
            }
            Self::RefusedReport => (REPORT, "E012", "AUTH_TOKEN_INVALID"),
            Self::RefusedDraw => (REQUEST, "E007", "OUT_OF_TURN"),
            _ => return None,
        };
        let says = json!({
            "error_code": code, "error_name": name, "error_description": name,
            "retryable": false, "original_message_type": kind,
        });
        let error = message("LEAGUE_ERROR", "league_manager", "check-match", says);
        Some((kind, ScriptedAnswer::Result(error)))
    }
}

/// A match as it was played.
#[derive(Debug, Clone)]
pub struct MatchRecord {
    pub match_id: String,
    /// The order, as it was sent, and its answer.
    pub order: Value,
    pub ack: Reply,
    pub seats: [SeatRecord; 2],
    /// The requests for the draw that the manager received, and the reports.
    pub requests: Vec<Arc<IncomingCall>>,
    pub reports: Vec<Arc<IncomingCall>>,
    /// The seed of the match.
    pub seed: Seed,
    /// The states of the match while it was played.
    pub looks: Vec<Reply>,
}

/// A player of a match, and all calls that it received.
#[derive(Debug, Clone)]
pub struct SeatRecord {
    pub id: String,
    pub token: String,
    pub match_token: String,
    pub nonce: String,
    pub proofs: Option<Proofs>,
    pub choice: &'static str,
    pub calls: Vec<Arc<IncomingCall>>,
}

/// What a player that signs sends beside its answers: that it joined, that it chose; and the key,
/// which the manager opens. Only a manager can tell whether they are true.
#[derive(Debug, Clone)]
pub struct Proofs {
    pub join: String,
    pub choice: String,
    pub key: String,
}

impl SeatRecord {
    /// What the player sent as its choice.
    pub fn made(&self) -> Value {
        let proof = self.proofs.as_ref().map(|proofs| &proofs.choice);
        json!({
            "player_id": self.id, "choice": self.choice, "nonce": self.nonce, "proof": proof,
        })
    }

    /// The messages of a type that it received.
    pub fn told(&self, kind: &str) -> impl Iterator<Item = &Arc<IncomingCall>> {
        self.calls.iter().filter(move |call| call.kind() == kind)
    }
}

impl MatchRecord {
    /// The seed of the match, and that of the attempt: no player knows them before the end.
    pub fn seeds(&self) -> [String; 2] {
        let own = attempt_seed(&self.order, &self.seed).unwrap_or(self.seed);
        [self.seed, own].map(|seed| seed.to_hex())
    }

    /// Checks that the referee lets the manager draw.
    /// Skips the rule if it does not.
    pub fn requests_draws(&self) -> Judgement {
        need!(!self.requests.is_empty(),
            else "the referee sends no DRAW_REQUEST, which is an addition of this league")
    }

    /// Breaks the rule if the result was never reported.
    pub fn report(&self) -> Result<&Value, Trouble> {
        let report = self.reports.first().map(|report| report.message());
        report.ok_or_else(|| Trouble::broken(format!("no report of match {} came", self.match_id)))
    }

    /// The first message of a type that a seat received.
    /// Breaks the rule if there is none.
    pub fn first_told(&self, seat: usize, kind: &str) -> Result<&IncomingCall, Trouble> {
        let told = self.seats[seat].told(kind).next();
        told.map(AsRef::as_ref)
            .ok_or_else(|| super::not_told(self, seat, kind))
    }
}

/// The matches that the referee under check runs.
pub struct Matches {
    random: RandomBytes,
    issued: Mutex<Vec<String>>,
    players: AtomicU32,
    takes_orders: AtomicBool,
    played: [OnceCell<MatchRun>; MatchCourse::COUNT],
    /// The longest wait for the report of a match, whatever its course allows.
    pub(crate) longest: Duration,
}

impl Matches {
    pub fn new(random: RandomBytes) -> Self {
        Self {
            random,
            issued: Mutex::default(),
            players: AtomicU32::new(0),
            takes_orders: AtomicBool::new(false),
            played: Default::default(),
            longest: Duration::MAX,
        }
    }

    pub(crate) fn token(&self, owner: &str) -> String {
        let token = AuthToken::mint(owner, &(self.random)());
        let token = token.reveal().to_owned();
        lock(&self.issued).push(token.clone());
        token
    }

    /// The tokens of all orders and players so far.
    pub(crate) fn secrets(&self) -> Vec<String> {
        lock(&self.issued).clone()
    }

    /// The seed of a new match.
    pub(crate) fn seed(&self) -> Seed {
        Seed((self.random)())
    }

    fn next_player(&self) -> String {
        format!("P{:02}", 1 + self.players.fetch_add(1, Ordering::Relaxed))
    }

    /// Checks that the referee takes orders.
    /// Skips the rule if it does not.
    pub fn takes_orders(&self) -> Result<(), Trouble> {
        if self.takes_orders.load(Ordering::Relaxed) {
            return Ok(());
        }
        Err(Trouble::skipped(
            "the referee does not take START_MATCH, which is an addition of this league",
        )
        .hint("serve the tool `start_match` (ruling 4), so that matches can be watched"))
    }
}

impl Default for Matches {
    /// For agents that do not run matches.
    fn default() -> Self {
        Self::new(Arc::new(|| [0; 32]))
    }
}

/// A match, and its listening players.
pub(crate) struct MatchRun {
    pub(crate) match_id: String,
    pub(crate) order: Value,
    pub(crate) ack: Reply,
    pub(crate) seats: [FakePlayer; 2],
    seed: Seed,
    looks: Vec<Reply>,
}

impl MatchRun {
    /// Whether the referee took the order.
    pub(crate) fn is_accepted(&self) -> bool {
        self.ack.member("accepted") == Some(&true.into())
    }

    /// Waits until both players received the end of the match.
    /// Breaks the rule if one of them did not.
    pub(crate) async fn ends(&self, patience: Duration) -> Judgement {
        for seat in &self.seats {
            let over = seat.wait("GAME_OVER", patience).await;
            hold!(over.is_some(),
                else "{} was not told the end of {}", seat.setup.id, self.match_id)?;
        }
        Ok(())
    }
}

/// Finds out with a first match whether the referee takes orders.
pub(crate) async fn begin(stage: &Arc<Stage>) {
    let takes_orders = &stage.played.takes_orders;
    takes_orders.store(true, Ordering::Relaxed);
    let first = played(stage, MatchCourse::Decided).await;
    let takes =
        first.is_ok_and(|match_run| match_run.ack.message_type() == Some("START_MATCH_ACK"));
    takes_orders.store(takes, Ordering::Relaxed);
    if takes && capacity(stage) > 1 {
        // It takes longer than all the others, which can be played beside it.
        let stage = Arc::clone(stage);
        tokio::spawn(async move { played(&stage, MatchCourse::Late).await.map(drop) });
    }
}

/// How many matches the referee runs at once, by its own statement.
pub(crate) fn capacity(stage: &Stage) -> usize {
    let told = stage.admission().and_then(|admission| {
        let meta = &admission.call.message()["referee_meta"];
        meta["max_concurrent_matches"].as_u64()
    });
    told.and_then(|told| usize::try_from(told).ok())
        .unwrap_or(1)
}

/// A match of this course, which is played on first use.
/// Skips the rule if the referee takes no orders, and breaks it if it does not answer.
pub(crate) async fn played(stage: &Stage, course: MatchCourse) -> Result<&MatchRun, Trouble> {
    stage.played.takes_orders()?;
    let cell = &stage.played.played[course as usize];
    cell.get_or_try_init(|| play(stage, course)).await
}

/// The current record of a match.
/// Skips the rule if the referee takes no orders, and breaks it if it does not answer.
pub(crate) async fn recorded(stage: &Stage, course: MatchCourse) -> Result<MatchRecord, Trouble> {
    let match_run = played(stage, course).await?;
    let seat = |player: &FakePlayer| SeatRecord {
        id: player.setup.id.clone(),
        token: player.setup.token.clone(),
        match_token: player.setup.match_token.clone(),
        nonce: player.setup.nonce.clone(),
        proofs: player.setup.proofs.clone(),
        choice: player.setup.choice,
        calls: player.calls(),
    };
    Ok(MatchRecord {
        match_id: match_run.match_id.clone(),
        order: match_run.order.clone(),
        ack: match_run.ack.clone(),
        seats: match_run.seats.each_ref().map(seat),
        requests: heard(stage, &match_run.match_id, REQUEST),
        reports: heard(stage, &match_run.match_id, REPORT),
        seed: match_run.seed,
        looks: match_run.looks.clone(),
    })
}

/// The messages of a type about a match that the manager received.
pub(crate) fn heard(stage: &Stage, match_id: &str, kind: &str) -> Vec<Arc<IncomingCall>> {
    let mut all = stage.calls_since(0);
    all.retain(|call| is_about(call, match_id, kind));
    all
}

fn is_about(call: &IncomingCall, match_id: &str, kind: &str) -> bool {
    call.kind() == kind && call.message()["match_id"] == match_id
}

pub(crate) fn is_report(call: &IncomingCall, match_id: &str) -> bool {
    is_about(call, match_id, REPORT)
}

/// Orders a new match, with a change to the order; the caller of a rule notes the exchange.
pub(crate) async fn start(
    stage: &Stage,
    caller: Option<&Caller>,
    course: MatchCourse,
    change: impl FnOnce(&mut Value),
) -> Result<MatchRun, Trouble> {
    stage.played.takes_orders()?;
    let match_id = stage.next_match();
    let seats = seats(stage, course).await?;
    let seed = stage.played.seed();
    let rows = seats.each_ref().map(FakePlayer::row);
    let mut order = order(stage, &match_id, &rows, &seed);
    change(&mut order);
    if let Some(manager) = &stage.manager {
        let players = seats.iter().filter_map(|seat| seat.setup.opened());
        let players = players.collect();
        manager.keep(&match_id, MatchSecrets { seed, players });
        if let Some((kind, said)) = course.spoils() {
            manager.spoil(kind, &match_id, said);
        }
    }
    let question = Question::new("start_match", order);
    let ack = match caller {
        Some(caller) => caller.call(&question).await?,
        None => stage.ask(&question).await?,
    };
    Ok(MatchRun {
        match_id,
        order: question.params,
        ack,
        seats,
        seed,
        looks: Vec::new(),
    })
}

/// Plays a match to its end, or as far as possible.
async fn play(stage: &Stage, course: MatchCourse) -> Result<MatchRun, Trouble> {
    let mut match_run = start(stage, None, course, |_| {}).await?;
    if course == MatchCourse::Watched {
        watch(stage, &mut match_run).await;
    }
    let patience = Duration::from_secs(course.plan().1).min(stage.played.longest);
    let has_come = |call: &IncomingCall| {
        let is_refused =
            course == MatchCourse::RefusedDraw && is_about(call, &match_run.match_id, REQUEST);
        is_refused || is_report(call, &match_run.match_id)
    };
    if stage.manager_hears(0, patience, has_come).await.is_some() {
        let patience = match course {
            MatchCourse::LostReport | MatchCourse::RefusedReport => TOLD_LATER,
            _ => TOLD_SOON,
        };
        if course == MatchCourse::LostReport {
            look_early(stage, &mut match_run).await;
        }
        for seat in &match_run.seats {
            seat.wait("GAME_OVER", patience).await;
        }
    }
    Ok(match_run)
}

/// Requests the state of a match whose result the manager has not taken yet.
async fn look_early(stage: &Stage, match_run: &mut MatchRun) {
    let look = stage.ask(&look_at(&match_run.match_id)).await;
    if heard(stage, &match_run.match_id, REPORT).len() == 1 {
        match_run.looks.extend(look);
    }
}

/// Requests the state of a match until one of its players has chosen and the other has not.
async fn watch(stage: &Stage, match_run: &mut MatchRun) {
    for seat in &match_run.seats {
        seat.wait("CHOOSE_PARITY_CALL", TOLD_SOON).await;
    }
    for _ in 0..3 {
        tokio::time::sleep(LOOK).await;
        match_run
            .looks
            .extend(stage.ask(&look_at(&match_run.match_id)).await);
    }
}

/// Two new players, of which the second signs.
async fn seats(stage: &Stage, course: MatchCourse) -> Result<[FakePlayer; 2], Trouble> {
    let matches = &stage.played;
    let ids = [matches.next_player(), matches.next_player()];
    let [one, two] = ids.each_ref().map(|id| matches.token(id));
    let [first_id, second_id] = ids;
    let (behaviour, _) = course.plan();
    let (other, choice) = match course {
        MatchCourse::BothDeclined => (PlayerBehaviour::Declines, "odd"),
        MatchCourse::Drawn => (PlayerBehaviour::Fair, "even"),
        _ => (PlayerBehaviour::Fair, "odd"),
    };
    let tokens = [one.clone(), two.clone()];
    let first = setup(matches, behaviour, "even", first_id, tokens);
    let digits = || hex(&(matches.random)());
    let second = PlayerSetup {
        proofs: Some(Proofs {
            join: digits(),
            choice: digits(),
            key: digits(),
        }),
        ..setup(matches, other, choice, second_id, [two, one])
    };
    Ok([seat(first).await?, seat(second).await?])
}

/// A player with its own token and that of its opponent.
pub(crate) fn setup(
    matches: &Matches,
    behaviour: PlayerBehaviour,
    choice: &'static str,
    id: String,
    [token, opponents_token]: [String; 2],
) -> PlayerSetup {
    PlayerSetup {
        token,
        opponents_token,
        match_token: matches.token(&format!("match-{id}")),
        nonce: matches.token("nonce").chars().rev().take(16).collect(),
        proofs: None,
        id,
        choice,
        behaviour,
    }
}

pub(crate) async fn seat(setup: PlayerSetup) -> Result<FakePlayer, Trouble> {
    let opened = FakePlayer::open(setup).await;
    opened.map_err(|error| {
        Trouble::skipped(format!("no port for a player: {error}")).hint("free some ports")
    })
}

/// The order to run a match between the players of these rows.
pub(crate) fn order(stage: &Stage, match_id: &str, rows: &[Value; 2], seed: &Seed) -> Value {
    let mut order = json!({
        "league_id": stage.league_id(), "round_id": round_of(match_id),
        "match_id": match_id, "attempt": 1, "game_type": "even_odd", "strict": false,
        "scoring": {
            "win_points": 3, "draw_points": 1, "loss_points": 0, "technical_loss_points": 0,
        },
        "draw_mode": MODE.as_str(), "order_token": stage.played.token("order"), "players": rows,
    });
    order["draw_commitment"] = promise(&order, seed).into();
    if let Some(admission) = stage.admission() {
        order["auth_token"] = admission.manager_token.into();
    }
    let conversation = format!("check-{}-start", match_id.to_ascii_lowercase());
    message("START_MATCH", "league_manager", &conversation, order)
}
