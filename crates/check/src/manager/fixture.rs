//! A match of the league under check: its players, and the report of its outcome.

use league_protocol::secret::Seed;
use serde_json::{Value, json};

use super::fake_member::FakeMember;
use super::season::MemberRecord;
use crate::fake_manager::port;
use crate::script::{extend, message, number, parity_of};
use crate::stage::Question;

/// A match, as the manager announced it or ordered it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fixture {
    pub(crate) match_id: String,
    pub(crate) round: u64,
    pub(crate) players: [String; 2],
    /// The fake referee that runs it.
    pub(crate) referee: usize,
    /// The order, if the manager gives orders.
    pub(crate) order: Option<Value>,
    /// The moves of the players, with the proofs of those that sign.
    pub(crate) moves: Vec<Value>,
    /// The seed of this attempt, once the manager has given it.
    pub(crate) seed: Option<Seed>,
}

/// How a match ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    pub players: [String; 2],
    /// The winning seat, if there is one.
    pub winner: Option<usize>,
}

impl Fixture {
    /// Reads a match from an order.
    pub(crate) fn ordered(order: &Value, referee: usize) -> Option<Self> {
        let player = |seat: usize| {
            let id = order["players"][seat]["player_id"].as_str();
            id.map(str::to_owned)
        };
        Some(Self {
            match_id: order["match_id"].as_str()?.to_owned(),
            round: order["round_id"].as_u64()?,
            players: [player(0)?, player(1)?],
            referee,
            order: Some(order.clone()),
            moves: Vec::new(),
            seed: None,
        })
    }

    /// Reads a match from the row of an announcement.
    pub(crate) fn announced(row: &Value, round: u64, referees: &[MemberRecord]) -> Option<Self> {
        let endpoint = port(row["referee_endpoint"].as_str()?);
        let runs = |member: &MemberRecord| port(&member.endpoint) == endpoint;
        let referee = referees.iter().position(runs)?;
        let player = |name: &str| row[name].as_str().map(str::to_owned);
        Some(Self {
            match_id: row["match_id"].as_str()?.to_owned(),
            round,
            players: [player("player_A_id")?, player("player_B_id")?],
            referee,
            order: None,
            moves: Vec::new(),
            seed: None,
        })
    }

    /// The number of the attempt: how many referees were ordered to run it.
    pub(crate) fn attempt(&self) -> u64 {
        let attempt = self.order.as_ref().map(|order| &order["attempt"]);
        attempt.and_then(Value::as_u64).unwrap_or(1)
    }

    /// The choices of the players, which mostly differ.
    fn choices(&self) -> [&'static str; 2] {
        let place = self.match_id.bytes().next_back().unwrap_or_default();
        if (self.round + u64::from(place)).is_multiple_of(3) {
            ["even", "even"]
        } else {
            ["even", "odd"]
        }
    }

    /// Whether the manager gives orders with a token and keeps the seed, as ours does.
    pub(crate) fn is_drawn_by_manager(&self) -> bool {
        let order = self.order.as_ref();
        order.is_some_and(|order| order["order_token"].is_string())
    }

    /// Has the players make their moves, with the proofs of those that sign.
    pub(crate) fn play(&mut self, members: &[MemberRecord]) {
        let Some(order) = &self.order else {
            return;
        };
        let chosen = self.players.iter().zip(self.choices());
        let made = chosen.map(|(player, choice)| {
            let mut made = json!({"player_id": player, "choice": choice});
            let member = members.iter().find(|member| member.id == *player);
            if let Some(proof) = member.and_then(|member| member.prove(order, choice)) {
                made["proof"] = proof.into();
            }
            made
        });
        self.moves = made.collect();
    }

    fn number(&self) -> u64 {
        let order = self.order.as_ref().zip(self.seed.as_ref());
        let drawn = order.and_then(|(order, seed)| number(order, seed, [""; 2]));
        drawn.unwrap_or_else(|| 1 + (self.round * 7 + self.match_id.len() as u64) % 10)
    }

    /// How it ends.
    pub(crate) fn outcome(&self) -> Outcome {
        let parity = parity_of(self.number());
        let right = self.choices().map(|choice| choice == parity);
        let winner = match right {
            [true, false] => Some(0),
            [false, true] => Some(1),
            _ => None,
        };
        Outcome {
            players: self.players.clone(),
            winner,
        }
    }

    /// The result in a true report.
    pub(crate) fn result(&self) -> Value {
        let Outcome { players, winner } = self.outcome();
        let points = [0, 1].map(|seat| match winner {
            Some(won) => 3 * u32::from(won == seat),
            None => 1,
        });
        let (number, [first, second]) = (self.number(), self.choices());
        let status = if winner.is_some() { "WIN" } else { "DRAW" };
        let mut details = json!({
            "drawn_number": number, "status": status, "reason": "as the check decided",
            "choices": {&*players[0]: first, &*players[1]: second},
        });
        if let Some(order) = self.order.as_ref() {
            details["game"] = json!({"number_parity": parity_of(number)});
            details["draw"] = json!({
                "commitment": order["draw_commitment"], "mode": order["draw_mode"],
                "attempt": self.attempt(), "nonces": ["", ""], "guarantee": "commitment",
            });
            details["evidence"] = json!({"moves": self.moves});
        }
        json!({
            "winner": winner.map(|seat| players[seat].clone()),
            "score": {&*players[0]: points[0], &*players[1]: points[1]},
            "details": details,
        })
    }

    /// A report of the match by a referee.
    pub(crate) fn report(&self, league: &str, by: &FakeMember, result: Value) -> Question {
        let mut says = json!({"game_type": "even_odd", "result": result});
        if self.order.is_some() {
            says["attempt"] = self.attempt().into();
        }
        let (tool, kind) = ("report_match_result", "MATCH_RESULT_REPORT");
        Question::new(tool, self.says(kind, league, by, says))
    }

    /// The hand-over of these moves by a referee, for the draw.
    pub(crate) fn request(&self, league: &str, by: &FakeMember, moves: &[Value]) -> Question {
        let says = json!({"attempt": self.attempt(), "moves": moves});
        Question::new("request_draw", self.says("DRAW_REQUEST", league, by, says))
    }

    fn says(&self, kind: &str, league: &str, by: &FakeMember, says: Value) -> Value {
        let mut full = json!({
            "auth_token": by.token(), "league_id": league, "round_id": self.round,
            "match_id": self.match_id,
        });
        if let Some(order) = self.order.as_ref().filter(|_| self.is_drawn_by_manager()) {
            full["order_token"] = order["order_token"].clone();
        }
        extend(&mut full, says);
        let conversation = format!("check-{}-{kind}", self.match_id).to_ascii_lowercase();
        message(kind, &by.sender(), &conversation, full)
    }
}
