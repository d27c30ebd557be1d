//! Matches that the referee under check is ordered to run, each with its plot. All messages are
//! recorded, and the rules judge the records afterwards.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use league_protocol::token::{AuthToken, TokenHash, hex};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::fake_player::{FakePlayer, Part, Temper};
use super::look_at;
use crate::RandomBytes;
use crate::listener::IncomingCall;
use crate::reply::Reply;
use crate::rule::Trouble;
use crate::script::message;
use crate::stage::{Question, Stage, round_of};

/// How long the players wait for the end after the manager has received the report.
const TOLD_SOON: Duration = Duration::from_secs(3);
/// How long they wait if the manager did not take the first report.
const TOLD_LATER: Duration = Duration::from_secs(15);
/// How often the state of a running match is requested.
const LOOK: Duration = Duration::from_millis(150);

/// The course of a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plot {
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
}

impl Plot {
    const COUNT: usize = 14;

    /// How the two players behave.
    fn tempers(self) -> [Temper; 2] {
        let first = match self {
            Self::Decided | Self::Drawn | Self::LostReport | Self::RefusedReport => Temper::Fair,
            Self::Watched => Temper::Slow(Duration::from_millis(1500)),
            Self::SlipOnce => Temper::Illegal(1),
            Self::SlipAlways => Temper::Illegal(u32::MAX),
            Self::Declined | Self::BothDeclined => Temper::Declines,
            Self::Dead => Temper::Absent,
            Self::Silent => Temper::Deaf,
            Self::Late => Temper::Tardy,
            Self::Impostor => Temper::Impostor,
            Self::Astray => Temper::Astray,
        };
        let second = match self {
            Self::BothDeclined => Temper::Declines,
            _ => Temper::Fair,
        };
        [first, second]
    }

    /// How long the report of the result may take.
    const fn patience(self) -> Duration {
        match self {
            Self::Late => Duration::from_secs(45),
            Self::Silent | Self::Dead => Duration::from_secs(35),
            Self::SlipAlways | Self::Impostor | Self::Astray => Duration::from_secs(20),
            Self::LostReport | Self::RefusedReport => Duration::from_secs(30),
            _ => Duration::from_secs(12),
        }
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
    /// The reports that the manager received.
    pub reports: Vec<Arc<IncomingCall>>,
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
    pub choice: &'static str,
    pub calls: Vec<Arc<IncomingCall>>,
}

impl SeatRecord {
    /// The messages of a type that it received.
    pub fn told(&self, kind: &str) -> impl Iterator<Item = &Arc<IncomingCall>> {
        self.calls.iter().filter(move |call| call.kind() == kind)
    }
}

impl MatchRecord {
    /// The seed of the draw.
    pub fn seed(&self) -> &str {
        self.order["draw_seed"].as_str().unwrap_or_default()
    }

    /// # Errors
    ///
    /// Breaks the rule if the result was never reported.
    pub fn report(&self) -> Result<&Value, Trouble> {
        let report = self.reports.first().map(|report| report.message());
        report.ok_or_else(|| Trouble::broken(format!("no report of match {} came", self.match_id)))
    }

    /// The first message of a type that a seat received.
    ///
    /// # Errors
    ///
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
    players: AtomicU32,
    takes_orders: AtomicBool,
    played: [OnceCell<Bout>; Plot::COUNT],
}

impl Matches {
    pub fn new(random: RandomBytes) -> Self {
        Self {
            random,
            players: AtomicU32::new(0),
            takes_orders: AtomicBool::new(false),
            played: Default::default(),
        }
    }

    fn token(&self, owner: &str) -> String {
        let token = AuthToken::mint(owner, &(self.random)());
        token.reveal().to_owned()
    }

    fn next_player(&self) -> String {
        format!("P{:02}", 1 + self.players.fetch_add(1, Ordering::Relaxed))
    }

    /// Checks that the referee takes orders.
    ///
    /// # Errors
    ///
    /// Skips the rule if it does not.
    pub fn takes_orders(&self) -> Result<(), Trouble> {
        if self.takes_orders.load(Ordering::Relaxed) {
            return Ok(());
        }
        Err(Trouble::skipped(
            "the referee does not take START_MATCH, which is an addition of this league",
            "serve the tool `start_match` (ruling 4), so that matches can be watched",
        ))
    }
}

impl Default for Matches {
    /// For agents that do not run matches.
    fn default() -> Self {
        Self::new(Arc::new(|| [0; 32]))
    }
}

/// A match, and its listening players.
pub(crate) struct Bout {
    pub(crate) match_id: String,
    pub(crate) order: Value,
    pub(crate) ack: Reply,
    pub(crate) seats: [FakePlayer; 2],
    looks: Vec<Reply>,
}

/// Finds out with a first match whether the referee takes orders.
pub(crate) async fn begin(stage: &Arc<Stage>) {
    let takes_orders = &stage.played.takes_orders;
    takes_orders.store(true, Ordering::Relaxed);
    let first = played(stage, Plot::Decided).await;
    let takes = first.is_ok_and(|bout| bout.ack.message_type() == Some("START_MATCH_ACK"));
    takes_orders.store(takes, Ordering::Relaxed);
    if takes && capacity(stage) > 1 {
        // It takes longer than all the others, which can be played beside it.
        let stage = Arc::clone(stage);
        tokio::spawn(async move { played(&stage, Plot::Late).await.map(drop) });
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

/// A match of this plot, which is played on first use.
///
/// # Errors
///
/// Skips the rule if the referee takes no orders, and breaks it if it does not answer.
pub(crate) async fn played(stage: &Stage, plot: Plot) -> Result<&Bout, Trouble> {
    stage.played.takes_orders()?;
    let cell = &stage.played.played[plot as usize];
    cell.get_or_try_init(|| play(stage, plot)).await
}

/// The current record of a match.
///
/// # Errors
///
/// Skips the rule if the referee takes no orders, and breaks it if it does not answer.
pub(crate) async fn recorded(stage: &Stage, plot: Plot) -> Result<MatchRecord, Trouble> {
    let bout = played(stage, plot).await?;
    let seat = |player: &FakePlayer| SeatRecord {
        id: player.part.id.clone(),
        token: player.part.token.clone(),
        match_token: player.part.match_token.clone(),
        nonce: player.part.nonce.clone(),
        choice: player.part.choice,
        calls: player.calls(),
    };
    Ok(MatchRecord {
        match_id: bout.match_id.clone(),
        order: bout.order.clone(),
        ack: bout.ack.clone(),
        seats: bout.seats.each_ref().map(seat),
        reports: reports(stage, &bout.match_id),
        looks: bout.looks.clone(),
    })
}

/// The reports of a match that the manager received.
pub(crate) fn reports(stage: &Stage, match_id: &str) -> Vec<Arc<IncomingCall>> {
    let mut all = stage.calls_since(0);
    all.retain(|call| is_report(call, match_id));
    all
}

pub(crate) fn is_report(call: &IncomingCall, match_id: &str) -> bool {
    call.kind() == "MATCH_RESULT_REPORT" && call.message()["match_id"] == match_id
}

/// Plays a match to its end, or as far as possible.
async fn play(stage: &Stage, plot: Plot) -> Result<Bout, Trouble> {
    let match_id = stage.next_match();
    let seats = seats(stage, plot).await?;
    let order = order(stage, &match_id, &seats);
    if let Some(manager) = &stage.manager {
        match plot {
            Plot::LostReport => manager.lose_report(&match_id),
            Plot::RefusedReport => manager.refuse_report(&match_id),
            _ => {}
        }
    }
    let ack = stage
        .ask(&Question::new("start_match", order.clone()))
        .await?;
    let mut bout = Bout {
        match_id,
        order,
        ack,
        seats,
        looks: Vec::new(),
    };
    if plot == Plot::Watched {
        watch(stage, &mut bout).await;
    }
    let reported = stage.manager_hears(0, plot.patience(), |call| is_report(call, &bout.match_id));
    if reported.await.is_some() {
        let patience = match plot {
            Plot::LostReport | Plot::RefusedReport => TOLD_LATER,
            _ => TOLD_SOON,
        };
        for seat in &bout.seats {
            seat.wait("GAME_OVER", patience).await;
        }
    }
    Ok(bout)
}

/// Requests the state of a match until one of its players has chosen and the other has not.
async fn watch(stage: &Stage, bout: &mut Bout) {
    for seat in &bout.seats {
        seat.wait("CHOOSE_PARITY_CALL", TOLD_SOON).await;
    }
    for _ in 0..3 {
        tokio::time::sleep(LOOK).await;
        bout.looks.extend(stage.ask(&look_at(&bout.match_id)).await);
    }
}

/// Two new players.
pub(crate) async fn seats(stage: &Stage, plot: Plot) -> Result<[FakePlayer; 2], Trouble> {
    let matches = &stage.played;
    let other = match plot {
        Plot::Drawn => "even",
        _ => "odd",
    };
    let ids = [matches.next_player(), matches.next_player()];
    let [one, two] = ids.each_ref().map(|id| matches.token(id));
    let [first_id, second_id] = ids;
    let [first, second] = plot.tempers();
    let tokens = [one.clone(), two.clone()];
    let first = seat(matches, first, "even", first_id, tokens).await?;
    let second = seat(matches, second, other, second_id, [two, one]).await?;
    Ok([first, second])
}

/// A player with its own token and that of its opponent.
async fn seat(
    matches: &Matches,
    temper: Temper,
    choice: &'static str,
    id: String,
    [token, opponents_token]: [String; 2],
) -> Result<FakePlayer, Trouble> {
    let part = Part {
        token,
        opponents_token,
        match_token: matches.token(&format!("match-{id}")),
        nonce: matches.token("nonce").chars().rev().take(16).collect(),
        id,
        choice,
        temper,
    };
    let opened = FakePlayer::open(part).await;
    opened.map_err(|error| {
        Trouble::skipped(format!("no port for a player: {error}"), "free some ports")
    })
}

/// The order to run a match between two players.
pub(crate) fn order(stage: &Stage, match_id: &str, seats: &[FakePlayer; 2]) -> Value {
    let rows = seats
        .each_ref()
        .map(|seat| seat.row(&TokenHash::of(&seat.part.token).to_string()));
    let mut order = json!({
        "league_id": stage.league_id(), "round_id": round_of(match_id),
        "match_id": match_id, "attempt": 1, "game_type": "even_odd", "strict": false,
        "scoring": {
            "win_points": 3, "draw_points": 1, "loss_points": 0, "technical_loss_points": 0,
        },
        "draw_seed": hex(&(stage.played.random)()), "players": rows,
    });
    if let Some(admission) = stage.admission() {
        order["auth_token"] = admission.manager_token.into();
    }
    let conversation = format!("check-{}-start", match_id.to_ascii_lowercase());
    message("START_MATCH", "league_manager", &conversation, order)
}
