//! Lies: a referee that was admitted and does not play fair, a referee that was not admitted, or a
//! player that denies what it knows.
//!
//! A league with a liar has no other fault, so that each unjust loss is known as one. The machines
//! stay honest; a lie changes what they have decided, or what they send.

use std::sync::Arc;

use league_core::draw;
use league_core::letter::Letter;
use league_core::referee::{Event, MatchOrder, Refusal, Reply};
use league_games::{Dice, Listing, Outcome, Seat, Turn};
use league_protocol::fault::Code;
use league_protocol::id::PlayerId;
use league_protocol::message::{
    ByPlayer, DrawRequest, Evidence, MatchResult, MatchResultReport, MatchStatus, Message,
    OpenedDraw, SignedMove,
};
use league_protocol::sender::{Agent, Dialect};
use league_protocol::time::Timestamp;
use serde_json::{Map, Value};

use crate::NodeId;
use crate::chance::Rng;
use crate::scenario::Scenario;

/// One way of lying.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lie {
    /// A referee that was not admitted serves nobody; hostile calls are made beside it.
    Stranger,
    /// The referee reports that a player failed which it never called.
    InventedLoss,
    /// The referee reports a match that it never ran.
    InventedMatch,
    /// The referee ran the match, and names as winner who did not win it by the rules.
    OtherWinner,
    /// The referee calls the players of a match that it turns down.
    CalledAndDeclined,
    /// The referee is silent where the draw is against the player at seat A.
    SilentAfterDraw,
    /// The referee hands over another move than a player made.
    ChangedMove,
    /// The referee requests the draw again with a move that its favourite signs afterwards.
    SecondRequest,
    /// The referee offers a player that signs an illegal move alone, and shows it nothing.
    FalseQuestion,
    /// The referee has lost the token of its order, and says nothing of it.
    NoOrderToken,
    /// A player does not come, or does not move, and denies that it was called.
    DeniedCall,
    /// A player puts another proof beside its moves than it should.
    WrongProof,
}

const LIES: [Lie; 12] = [
    Lie::Stranger,
    Lie::InventedLoss,
    Lie::InventedMatch,
    Lie::OtherWinner,
    Lie::CalledAndDeclined,
    Lie::SilentAfterDraw,
    Lie::ChangedMove,
    Lie::SecondRequest,
    Lie::FalseQuestion,
    Lie::NoOrderToken,
    Lie::DeniedCall,
    Lie::WrongProof,
];

/// The one agent of a league that lies.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Liar {
    pub(crate) who: NodeId,
    pub(crate) lie: Lie,
    /// The player that a lying referee plays together with.
    pub(crate) favourite: NodeId,
}

impl Liar {
    /// A liar in a league of so many referees.
    ///
    /// A false question is seen through only where the rules alone say what may be asked: no rolls
    /// and no settings change it.
    pub(crate) fn draw(chance: &mut Rng, referees: u32, listing: &Listing) -> Option<Self> {
        let lie = *chance.pick(&LIES)?;
        if lie == Lie::FalseQuestion && !is_read_by_rules(listing) {
            return None;
        }
        let favourite = referees + 1;
        let who = match lie {
            Lie::Stranger => referees,
            Lie::DeniedCall | Lie::WrongProof => favourite,
            _ => 1,
        };
        Some(Self {
            who,
            lie,
            favourite,
        })
    }

    /// Whether the liar is a referee that serves the league.
    pub(crate) fn is_admitted_referee(self) -> bool {
        !matches!(self.lie, Lie::Stranger) && !self.is_player()
    }

    /// Whether the liar is a player.
    pub(crate) fn is_player(self) -> bool {
        matches!(self.lie, Lie::DeniedCall | Lie::WrongProof)
    }
}

fn is_read_by_rules(listing: &Listing) -> bool {
    let has_settings = (listing.default_settings)() != serde_json::json!({});
    let opening = (listing.open)(&Value::Null).ok();
    let options = opening.map_or(0, |table| table.options(Seat::A).len());
    options > 0 && (!has_settings || options == listing.rules.valid_choices.len())
}

type Answer = Result<Reply, Refusal>;

/// Changes what a lying referee has decided; says whether it lied.
pub(crate) fn tamper_decision(
    lie: Lie,
    (chance, scenario): (&mut Rng, &Scenario),
    at: Timestamp,
    events: &mut Vec<Event>,
    answer: &mut Answer,
) -> bool {
    if let (Lie::CalledAndDeclined, Ok(Reply::StartMatchAck(ack))) = (lie, answer) {
        let lies = ack.accepted && chance.below(2) == 0;
        if lies {
            ack.accepted = false;
            ack.reason = Some("this referee is full".to_owned());
        }
        return lies;
    }
    if lie == Lie::OtherWinner {
        return events.iter_mut().any(|event| match event {
            Event::Decided { result, .. } => name_other_winner(Arc::make_mut(result)),
            _ => false,
        });
    }
    let opened = events.iter().find_map(|event| match event {
        Event::MatchOpened { fixture, .. } => Some(Arc::clone(fixture)),
        _ => None,
    });
    let Some(fixture) = opened.filter(|_| chance.below(2) == 0) else {
        return false;
    };
    let result = match lie {
        Lie::InventedLoss => invented_loss(chance, &fixture),
        Lie::InventedMatch => invented_match(chance, scenario, &fixture),
        _ => return false,
    };
    // It is opened and knows its secrets; nobody is asked.
    events.truncate(2);
    events.push(Event::Decided {
        match_id: fixture.match_id.clone(),
        result: Arc::new(result),
        at,
    });
    true
}

fn bare_result(fixture: &MatchOrder) -> MatchResult {
    MatchResult {
        players: fixture
            .players
            .each_ref()
            .map(|seated| seated.player_id.clone()),
        status: MatchStatus::TechnicalLoss,
        winner: None,
        points: [0; 2],
        failed: ByPlayer::new(),
        choices: ByPlayer::new(),
        details: Map::new(),
        reason: "as the liar says".to_owned(),
        draw: Some(OpenedDraw {
            commitment: fixture.commitment,
            seed: None,
            mode: fixture.draw_mode,
            attempt: fixture.attempt,
            nonces: <[String; 2]>::default(),
        }),
        evidence: Evidence::default(),
    }
}

/// Gives a win to the loser, with the points of the winner.
fn name_other_winner(result: &mut MatchResult) -> bool {
    let is_win = result.status == MatchStatus::Win;
    if is_win {
        let mut players = result.players.iter();
        let loser = players.find(|player| result.winner.as_ref() != Some(*player));
        result.winner = loser.cloned();
        result.points.reverse();
    }
    is_win
}

fn invented_loss(chance: &mut Rng, fixture: &MatchOrder) -> MatchResult {
    let result = bare_result(fixture);
    let loser = usize::from(chance.below(2) == 0);
    let codes = [Code::Timeout, Code::Connection, Code::OutOfTurn];
    let code = chance.pick(&codes).copied().unwrap_or(Code::Timeout);
    let score = &fixture.score;
    let mut points = [score.win; 2];
    points[loser] = score.technical_loss;
    MatchResult {
        winner: Some(result.players[1 - loser].clone()),
        points,
        failed: [(result.players[loser].clone(), code)]
            .into_iter()
            .collect(),
        ..result
    }
}

/// A match in which both players take the first or last of their options.
fn invented_match(chance: &mut Rng, scenario: &Scenario, fixture: &MatchOrder) -> MatchResult {
    let mut result = bare_result(fixture);
    let Ok(mut table) = (scenario.listing.open)(&scenario.rules.game_settings) else {
        return result;
    };
    let mut moves: Vec<(usize, Value)> = Vec::new();
    let mut dice = Dice::from_words(Box::new(|| 7));
    let outcome = loop {
        match table.turn() {
            Turn::Dice => table.roll(&mut dice),
            Turn::Over(outcome) => break outcome,
            Turn::Seats(seats) => {
                for seat in seats {
                    let Some(choice) = chance.pick(&table.options(seat)).cloned() else {
                        return result;
                    };
                    let _ = table.play(seat, &choice);
                    moves.push((usize::from(seat == Seat::B), choice));
                }
            }
        }
    };
    let score = &fixture.score;
    (result.status, result.winner, result.points) = match outcome {
        Outcome::Draw => (MatchStatus::Draw, None, [score.draw; 2]),
        Outcome::Win(seat) => {
            let seat = usize::from(seat == Seat::B);
            let mut points = [score.loss; 2];
            points[seat] = score.win;
            (MatchStatus::Win, Some(result.players[seat].clone()), points)
        }
    };
    result.details = table.details();
    for (seat, player) in result.players.iter().enumerate() {
        let mine = moves.iter().filter(|(by, _)| *by == seat);
        let mut mine: Vec<Value> = mine.map(|(_, choice)| choice.clone()).collect();
        let choice = match mine.len() {
            1 if scenario.listing.rules.hidden_moves => mine.remove(0),
            _ => mine.into(),
        };
        result.choices.insert(player.clone(), choice);
    }
    let players = &result.players;
    let told = moves.into_iter().map(|(seat, choice)| SignedMove {
        player_id: players[seat].clone(),
        choice,
        nonce: None,
        proof: None,
        model: None,
    });
    result.evidence.moves = told.collect();
    result
}

/// Changes or keeps back what a lying referee sends; says how often it lied.
pub(crate) fn tamper_letters<T>(
    lie: Lie,
    scenario: &Scenario,
    favourite: Option<&PlayerId>,
    letters: &mut Vec<Letter<T>>,
) -> u32 {
    let before = letters.len();
    if lie == Lie::SilentAfterDraw {
        letters.retain(|letter| match &letter.message {
            Message::MatchResultReport(report) => !is_against_seat_a(&report.result),
            _ => true,
        });
    }
    let mut lies = u32::try_from(before - letters.len()).unwrap_or(0);
    for letter in letters {
        let lied = match (lie, &mut letter.message) {
            (Lie::ChangedMove, Message::DrawRequest(request)) => {
                change_move(scenario, Arc::make_mut(request))
            }
            (Lie::FalseQuestion, Message::MoveCall(call)) if letter.to.dialect != Dialect::V1 => {
                call.options = Arc::new([Value::from("as the liar says")]);
                call.view = Arc::new(Value::Null);
                true
            }
            (Lie::NoOrderToken, Message::DrawRequest(request)) => {
                Arc::make_mut(request).order_token = None;
                true
            }
            (Lie::NoOrderToken, Message::MatchResultReport(report)) => {
                Arc::make_mut(report).order_token = None;
                true
            }
            (Lie::SecondRequest, Message::MatchResultReport(report)) => {
                let again = favourite.and_then(|favourite| try_again(scenario, favourite, report));
                let lied = again.is_some();
                if let Some(again) = again {
                    letter.message = Message::from(again);
                }
                lied
            }
            _ => false,
        };
        lies += u32::from(lied);
    }
    lies
}

/// Whether dice were rolled and seat A has not won.
fn is_against_seat_a(result: &MatchResult) -> bool {
    let drawn = result.details.contains_key("drawn_number");
    drawn && result.winner.as_ref() != Some(&result.players[0])
}

/// Another choice of the first player, with the proof of the true one.
fn change_move(scenario: &Scenario, request: &mut DrawRequest) -> bool {
    let Some(first) = request.moves.first_mut() else {
        return false;
    };
    let other = other_choice(scenario, &first.choice);
    let lies = other.is_some();
    first.choice = other.unwrap_or_else(|| first.choice.take());
    lies
}

fn other_choice(scenario: &Scenario, choice: &Value) -> Option<Value> {
    let table = (scenario.listing.open)(&scenario.rules.game_settings).ok()?;
    let mut options = table.options(Seat::A).into_iter();
    options.find(|option| option != choice)
}

/// A request for the draw of a match that its favourite has lost, with another move that the
/// favourite signs.
fn try_again(
    scenario: &Scenario,
    favourite: &PlayerId,
    report: &MatchResultReport,
) -> Option<DrawRequest> {
    let result = &report.result;
    let drawn = result.details.contains_key("drawn_number");
    let plays = result.players.contains(favourite);
    if !drawn || !plays || result.winner.as_ref() == Some(favourite) {
        return None;
    }
    let mut moves = result.evidence.moves.clone();
    let own = moves.iter_mut().find(|made| made.player_id == *favourite)?;
    own.choice = other_choice(scenario, &own.choice)?;
    own.nonce = Some("nonce-ground".to_owned());
    let league = &scenario.rules.league_id;
    let agent = Agent::Player(favourite.clone());
    let token = scenario.secrets.tokens.return_token(league, &agent);
    let key = draw::proof_key(&token, league, &report.match_id, report.attempt);
    own.proof = Some(draw::proof(&key, 1, [], &own.choice, own.nonce.as_deref()));
    Some(DrawRequest {
        league_id: report.league_id.clone(),
        round_id: report.round_id,
        match_id: report.match_id.clone(),
        attempt: report.attempt,
        order_token: report.order_token.clone(),
        moves,
    })
}
