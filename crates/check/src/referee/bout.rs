//! Matches that the referee under check is told to run, each with its plot; all that is said in
//! them is kept, and the rules look at it afterwards.

use std::time::Duration;

use league_protocol::token::TokenHash;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::RefereeStage;
use super::seat::{Part, Seat, Temper};
use crate::listener::Heard;
use crate::reply::Reply;
use crate::rule::Trouble;
use crate::script::message;
use crate::stage::Question;

/// How long the players wait for the end after the manager has heard it.
const TOLD_SOON: Duration = Duration::from_secs(3);
/// How long they wait if the manager did not take the first report.
const TOLD_LATER: Duration = Duration::from_secs(15);
/// How often a match is looked at while it is played.
const LOOK: Duration = Duration::from_millis(150);

/// What happens in a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Plot {
    /// One chooses even, the other odd.
    Decided,
    /// Both choose alike; this match is never ordered twice.
    Drawn,
    /// One takes its time, and the match is looked at meanwhile.
    Watched,
    /// One choice is illegal, the next is good.
    SlipOnce,
    /// One never chooses anything legal.
    SlipAlways,
    /// One does not come.
    Declined,
    /// Nobody comes.
    BothDeclined,
    /// Nobody listens at the address of one.
    Dead,
    /// One never answers its invitation.
    Silent,
    /// One chooses too late, and then in time.
    Late,
    /// The answers of one show the token of somebody else.
    Impostor,
    /// The answers of one are for another match.
    Astray,
    /// The first report is lost on its way.
    LostReport,
    /// The token of the first report is refused.
    RefusedReport,
}

impl Plot {
    /// How many there are.
    pub(super) const COUNT: usize = 14;

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
        let second = if self == Self::BothDeclined {
            Temper::Declines
        } else {
            Temper::Fair
        };
        [first, second]
    }

    /// How long until its result must have been reported.
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

/// A match that was played.
pub(super) struct Bout {
    pub(super) match_id: String,
    /// The order, as it was sent.
    pub(super) order: Value,
    /// What the order was answered.
    pub(super) ack: Reply,
    pub(super) seats: [Seat; 2],
    /// What the match looked like while it was played.
    pub(super) looks: Vec<Reply>,
    /// When its result was first reported.
    pub(super) reported: Option<Instant>,
}

impl Bout {
    /// The seed of its draw.
    pub(super) fn seed(&self) -> &str {
        self.order["draw_seed"].as_str().unwrap_or_default()
    }

    /// The first message of a kind that a seat was told.
    ///
    /// # Errors
    ///
    /// Breaks the rule if none came.
    pub(super) fn told(&self, seat: usize, kind: &str) -> Result<Heard, Trouble> {
        let seat = &self.seats[seat];
        let told = seat.told(kind).into_iter().next();
        told.ok_or_else(|| {
            Trouble::broken(format!(
                "{} was sent no {kind} in match {}",
                seat.part.id, self.match_id
            ))
            .about(&self.ack.exchange)
        })
    }
}

impl RefereeStage {
    /// Plays a match to its end, or as far as it goes.
    pub(super) async fn play(&self, plot: Plot) -> Result<Bout, Trouble> {
        let match_id = self.next_match();
        let seats = self.seats(plot).await?;
        let order = self.order(&match_id, &seats);
        match plot {
            Plot::LostReport => self.office.lose_report(&match_id),
            Plot::RefusedReport => self.office.refuse_report(&match_id),
            _ => {}
        }
        let ack = self
            .ask(&Question::new("start_match", order.clone()))
            .await?;
        let mut bout = Bout {
            match_id,
            order,
            ack,
            seats,
            looks: Vec::new(),
            reported: None,
        };
        if plot == Plot::Watched {
            self.watch(&mut bout).await;
        }
        let told = match plot {
            Plot::LostReport | Plot::RefusedReport => TOLD_LATER,
            _ => TOLD_SOON,
        };
        self.see_end(&mut bout, plot.patience(), told).await;
        Ok(bout)
    }

    /// Two players that were never seen before.
    pub(super) async fn seats(&self, plot: Plot) -> Result<[Seat; 2], Trouble> {
        let [first, second] = plot.tempers();
        let other = if plot == Plot::Drawn { "even" } else { "odd" };
        let ids = [self.next_player(), self.next_player()];
        let [one, two] = ids.each_ref().map(|id| self.token(id));
        let [first_id, second_id] = ids;
        let tokens = [one.clone(), two.clone()];
        let first = self.seat(first, "even", first_id, tokens).await?;
        let second = self.seat(second, other, second_id, [two, one]).await?;
        Ok([first, second])
    }

    /// Has a player sit down, with its own token and that of its opponent.
    async fn seat(
        &self,
        temper: Temper,
        choice: &'static str,
        id: String,
        [token, opponents_token]: [String; 2],
    ) -> Result<Seat, Trouble> {
        let part = Part {
            token,
            opponents_token,
            match_token: self.token(&format!("match-{id}")),
            nonce: self.token("nonce").chars().rev().take(16).collect(),
            id,
            choice,
            temper,
        };
        let opened = Seat::open(part).await;
        opened.map_err(|error| {
            Trouble::skipped(format!("no port for a player: {error}"), "free some ports")
        })
    }

    /// The order to run a match between two players.
    pub(super) fn order(&self, match_id: &str, seats: &[Seat; 2]) -> Value {
        let rows = seats
            .each_ref()
            .map(|seat| seat.row(&TokenHash::of(&seat.part.token).to_string()));
        let mut order = json!({
            "league_id": self.office.league, "round_id": super::round(match_id),
            "match_id": match_id, "attempt": 1, "game_type": "even_odd", "strict": false,
            "scoring": {
                "win_points": 3, "draw_points": 1, "loss_points": 0, "technical_loss_points": 0,
            },
            "draw_seed": self.seed(), "players": rows,
        });
        if let Some(admission) = self.office.admission() {
            order["auth_token"] = admission.manager_token.into();
        }
        let conversation = format!("check-{}-start", match_id.to_ascii_lowercase());
        message("START_MATCH", "league_manager", &conversation, order)
    }

    /// The reports of a match that the manager heard.
    pub(super) fn reports(&self, match_id: &str) -> Vec<Heard> {
        let mut all = self.office.listener.since(0);
        all.retain(|heard| is_report(heard, match_id));
        all
    }

    /// Looks at a match until one of its players has chosen and the other has not.
    async fn watch(&self, bout: &mut Bout) {
        for seat in &bout.seats {
            seat.wait("CHOOSE_PARITY_CALL", TOLD_SOON).await;
        }
        for _ in 0..3 {
            tokio::time::sleep(LOOK).await;
            if let Ok(reply) = self.ask(&self.look_at(&bout.match_id)).await {
                bout.looks.push(reply);
            }
        }
    }

    /// Asks where a match stands.
    pub(super) fn look_at(&self, match_id: &str) -> Question {
        Question::new("get_match_state", json!({"match_id": match_id}))
    }

    /// Waits for the result of a match, and until its players were told.
    pub(super) async fn see_end(&self, bout: &mut Bout, patience: Duration, told: Duration) {
        let listener = &self.office.listener;
        let match_id = bout.match_id.clone();
        let ended = listener.wait(0, patience, |heard| is_report(heard, &match_id));
        bout.reported = ended.await.map(|heard| heard.at);
        if bout.reported.is_some() {
            for seat in &bout.seats {
                seat.wait("GAME_OVER", told).await;
            }
        }
    }
}

fn is_report(heard: &Heard, match_id: &str) -> bool {
    heard.kind() == "MATCH_RESULT_REPORT" && heard.message()["match_id"] == match_id
}
