//! The strategies at the tables of real games, with the memory of a real player.

mod even_odd;
mod fairness;
mod legality;
mod nim;
mod tic_tac_toe;

use std::sync::Arc;

use league_core::player::{MatchOutcome, MatchRecord, Memory, MemoryRule, Think};
use league_core::strategy::{Strategy, find};
use league_games::{Dice, Outcome, Seat, Table, Turn};
use league_protocol::id::{GameType, LeagueId, MatchId, PlayerId};
use league_protocol::message::WinLossDraw;
use league_protocol::time::Timestamp;
use serde_json::Value;

/// A player with its strategy, its dice and its memory.
struct Chair {
    strategy: &'static Strategy,
    memory: Memory,
    dice: Dice,
    matches: u32,
}

impl Chair {
    fn new(strategy: &str, seed: u64) -> Self {
        Self {
            strategy: find(strategy).expect("the strategy is known"),
            memory: Memory::new(MemoryRule::default()),
            dice: Dice::seeded(seed),
            matches: 0,
        }
    }

    fn think(&self, game: &str, view: Value, options: &[Value], opponent: &str) -> Think {
        let opponent_id = PlayerId::new(opponent).expect("it is an id");
        Think {
            attempt: 1,
            match_id: MatchId::new("R1M1").expect("it is an id"),
            turn: 1,
            game_type: GameType::new(game).expect("it is an id"),
            move_type: "move".into(),
            view: Arc::new(view),
            options: options.into(),
            until: Timestamp::from_millis(1),
            opponent: self.memory.opponent(&opponent_id).cloned(),
            opponent_id,
            record: WinLossDraw::default(),
            moves: [].into(),
        }
    }

    fn choose(&mut self, think: &Think) -> Value {
        let memory: Vec<_> = self.memory.history().cloned().collect();
        self.strategy.choose(think, &memory, &mut self.dice)
    }

    /// Moves at a table, as the referee would ask it to.
    fn choose_at(&mut self, table: &dyn Table, seat: Seat, opponent: &str) -> Value {
        let game = table.rules().game_type;
        let think = self.think(game, table.view(seat), &table.options(seat), opponent);
        self.choose(&think)
    }

    /// Takes a finished match of Even/Odd into memory.
    fn remember(&mut self, opponent: &str, result: MatchOutcome, choices: [Option<&str>; 2]) {
        self.matches += 1;
        let [my_choice, opponent_choice] = choices.map(|choice| choice.map(Value::from));
        let record = MatchRecord {
            league_id: LeagueId::new("league").expect("it is an id"),
            round_id: self.matches,
            match_id: MatchId::new(format!("R{}M1", self.matches)).expect("it is an id"),
            game_type: GameType::new("even_odd").expect("it is an id"),
            opponent_id: PlayerId::new(opponent).expect("it is an id"),
            result,
            points: 0,
            my_choice,
            opponent_choice,
            reason: None,
            failure: None,
            at: Timestamp::from_millis(0),
        };
        self.memory.add(&Arc::new(record));
    }
}

/// Plays one game to its end; A and B are also the ids by which the chairs know each other.
fn play(table: &mut dyn Table, chairs: &mut [Chair; 2], draw: &mut Dice) -> Outcome {
    loop {
        match table.turn() {
            Turn::Over(outcome) => return outcome,
            Turn::Dice => table.roll(draw),
            Turn::Seats(seats) => {
                for seat in seats {
                    let opponent = if seat == Seat::A { "B" } else { "A" };
                    let choice = chairs[seat.index()].choose_at(table, seat, opponent);
                    table.play(seat, &choice).expect("the choice is legal");
                }
            }
        }
    }
}

/// Lets one seat play by its strategy and the other in every possible way; counts the games, each of
/// which must end as it should.
fn walk(
    table: &dyn Table,
    chair: &mut Chair,
    own: Seat,
    passes: impl Fn(Outcome) -> bool + Copy,
) -> u32 {
    let mover = match table.turn() {
        Turn::Over(outcome) => {
            assert!(passes(outcome), "{}", table.position());
            return 1;
        }
        Turn::Seats(seats) => seats[0],
        Turn::Dice => panic!("there are no dice in this game"),
    };
    let moves = if mover == own {
        vec![chair.choose_at(table, own, "P02")]
    } else {
        table.options(mover)
    };
    let after = |mv: &Value| {
        let mut next = table.boxed_clone();
        next.play(mover, mv).expect("the move is legal");
        walk(&*next, chair, own, passes)
    };
    moves.iter().map(after).sum()
}
