//! A match of the league under check: its players, and the report of its outcome.

use league_core::draw;
use league_protocol::id::{LeagueId, MatchId};
use league_protocol::message::OpenedDraw;
use league_protocol::secret::{Commitment, Seed};
use serde_json::{Value, json};

use super::fake_member::FakeMember;
use super::season::MemberRecord;
use crate::fake_manager::port;
use crate::script::{message, parity_of};
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

    fn opened(&self) -> Option<(OpenedDraw, LeagueId, MatchId)> {
        let order = self.order.as_ref()?;
        let league = LeagueId::new(order["league_id"].as_str()?).ok()?;
        let match_id = MatchId::new(&self.match_id).ok()?;
        let seed = Seed::from_hex(order["draw_seed"].as_str()?)?;
        let commitment: Commitment = draw::commitment(&league, &match_id, &seed);
        let opened = OpenedDraw {
            commitment,
            seed,
            attempt: u32::try_from(self.attempt()).ok()?,
            nonces: [String::new(), String::new()],
        };
        Some((opened, league, match_id))
    }

    /// The commitment that follows from the seed of the order.
    pub(crate) fn promise(&self) -> Option<String> {
        self.opened().map(|(opened, ..)| opened.commitment.to_hex())
    }

    fn number(&self) -> u64 {
        match self.opened() {
            Some((opened, league, match_id)) => {
                draw::dice(&league, &match_id, &opened).roll(1..=10)
            }
            None => 1 + (self.round * 7 + self.match_id.len() as u64) % 10,
        }
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
        if let Some((opened, ..)) = self.opened() {
            details["game"] = json!({"number_parity": parity_of(number)});
            details["draw"] = json!({
                "commitment": opened.commitment.to_hex(), "seed": opened.seed.to_hex(),
                "attempt": opened.attempt, "nonces": opened.nonces, "guarantee": "commitment",
            });
        }
        json!({
            "winner": winner.map(|seat| players[seat].clone()),
            "score": {&*players[0]: points[0], &*players[1]: points[1]},
            "details": details,
        })
    }

    /// A report of the match by a referee.
    pub(crate) fn report(&self, league: &str, by: &FakeMember, result: Value) -> Question {
        let mut says = json!({
            "auth_token": by.token(), "league_id": league, "round_id": self.round,
            "match_id": self.match_id, "game_type": "even_odd", "result": result,
        });
        if self.order.is_some() {
            says["attempt"] = self.attempt().into();
        }
        let conversation = format!("check-{}-report", self.match_id.to_ascii_lowercase());
        let says = message("MATCH_RESULT_REPORT", &by.sender(), &conversation, says);
        Question::new("report_match_result", says)
    }
}
