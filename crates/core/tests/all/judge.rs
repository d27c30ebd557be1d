//! The result follows from the moves, the draw and the failures, and from nothing else: random games
//! of every kind end as their tables say, and a change leads elsewhere or cannot matter.

use league_core::draw::{dice_of, roll_seed};
use league_core::judge::{Draw, Judged, judge};
use league_core::league::{League, ReportProblem};
use league_games::{Dice, Listing, Outcome, Seat, Table, Turn};
use league_protocol::fault::Code;
use league_protocol::id::{GameType, LeagueId, MatchId, PlayerId};
use league_protocol::message::{ByPlayer, MatchStatus, Score, SignedMove};
use league_protocol::secret::{Commitment, DrawMode, Seed};
use serde_json::Value;

const GAMES: u64 = 24;
const SCORE: Score = Score {
    win: 5,
    draw: 2,
    loss: 1,
    technical_loss: 0,
};

fn players() -> [PlayerId; 2] {
    [PlayerId::numbered(7), PlayerId::numbered(3)]
}

/// A game that was played at a table.
struct PlayedGame {
    opening: Box<dyn Table>,
    seed: Seed,
    attempt: u32,
    moves: Vec<SignedMove>,
    /// How many rolls there were, and how many moves before the first.
    rolls: u32,
    before_rolls: usize,
    /// Whose turn it was before each move, with the rolls so far; the end last.
    turns: Vec<(Turn, u32)>,
    table: Box<dyn Table>,
}

fn made(seat: usize, choice: Value, nonce: String) -> SignedMove {
    SignedMove {
        player_id: players()[seat].clone(),
        choice,
        nonce: Some(nonce),
        proof: None,
        model: None,
    }
}

/// The nonces that count: those of the first moves, if they came before the first roll.
fn shares(moves: &[SignedMove]) -> [String; 2] {
    players().map(|player| {
        let mut moves = moves.iter();
        let first = moves.find(|made| made.player_id == player);
        first
            .and_then(|made| made.nonce.clone())
            .unwrap_or_default()
    })
}

impl PlayedGame {
    /// Plays random legal moves at the game's own table.
    fn random(listing: &Listing, number: u64) -> Self {
        let mut chance = Dice::seeded(number);
        let opening = (listing.open)(&Value::Null).unwrap();
        let mut game = Self {
            table: opening.boxed_clone(),
            opening,
            seed: Seed([number as u8; 32]),
            attempt: 1 + (number % 3) as u32,
            moves: Vec::new(),
            rolls: 0,
            before_rolls: 0,
            turns: Vec::new(),
        };
        let (league, match_id) = ids();
        loop {
            let turn = game.table.turn();
            game.turns.push((turn.clone(), game.rolls));
            match turn {
                Turn::Over(_) => return game,
                Turn::Dice => {
                    if game.rolls == 0 {
                        game.before_rolls = game.moves.len();
                    }
                    let seed = game.draw().rolls[game.rolls as usize];
                    let [a, b] = shares(&game.moves[..game.before_rolls]);
                    let mut dice = dice_of(&league, &match_id, &seed, game.attempt, [&a, &b]);
                    game.table.roll(&mut dice);
                    game.rolls += 1;
                    game.turns.pop();
                }
                Turn::Seats(seats) => {
                    let seat = *chance.pick(&seats).unwrap();
                    let options = game.table.options(seat);
                    let choice = chance.pick(&options).unwrap().clone();
                    game.table.play(seat, &choice).unwrap();
                    let nonce = format!("nonce-{number}-{}", game.moves.len());
                    game.moves.push(made(seat.index(), choice, nonce));
                }
            }
        }
    }

    fn draw(&self) -> DrawParts {
        let roll = |roll| roll_seed(&self.seed, self.attempt, roll);
        DrawParts {
            attempt: self.attempt,
            seed: self.seed,
            rolls: (0..200).map(roll).collect(),
        }
    }

    fn judged(&self, draw: &DrawParts, moves: &[SignedMove]) -> Result<Judged, ReportProblem> {
        self.judged_without(draw, moves, &ByPlayer::new())
    }

    fn judged_without(
        &self,
        draw: &DrawParts,
        moves: &[SignedMove],
        failed: &ByPlayer<Code>,
    ) -> Result<Judged, ReportProblem> {
        let (league, match_id) = ids();
        let draw = Draw {
            league: &league,
            match_id: &match_id,
            commitment: Commitment([1; 32]),
            mode: DrawMode::Chance,
            attempt: draw.attempt,
            seed: Some(draw.seed),
            rolls: draw.rolls.clone(),
        };
        judge(&*self.opening, &draw, &players(), moves, failed, &SCORE)
    }

    /// The end as the table itself tells it.
    fn end(&self) -> End {
        let Turn::Over(outcome) = self.table.turn() else {
            panic!("it goes on");
        };
        let winner = match outcome {
            Outcome::Win(seat) => Some(players()[seat.index()].clone()),
            Outcome::Draw => None,
        };
        let [a, b] = players();
        let facts = Value::from(self.table.details()).to_string();
        Ok(Some((
            winner,
            facts,
            self.table.reason(&[a.as_str(), b.as_str()]),
        )))
    }
}

/// What can be changed of a draw.
#[derive(Clone)]
struct DrawParts {
    attempt: u32,
    seed: Seed,
    rolls: Vec<Seed>,
}

fn ids() -> (LeagueId, MatchId) {
    (LeagueId::new("league").unwrap(), MatchId::numbered(2, 1))
}

/// Who won by which facts; `None` while the game goes on.
type End = Result<Option<(Option<PlayerId>, String, String)>, ReportProblem>;

fn end(judged: Result<Judged, ReportProblem>) -> End {
    judged.map(|judged| match judged {
        Judged::Going(_) => None,
        Judged::Over(result) => {
            let facts = Value::from(result.details.clone()).to_string();
            Some((result.winner.clone(), facts, result.reason.clone()))
        }
    })
}

fn games() -> impl Iterator<Item = (&'static Listing, Vec<PlayedGame>)> {
    let games = league_games::all().iter();
    games.map(|listing| {
        let played = (0..GAMES).map(|number| PlayedGame::random(listing, number));
        (listing, played.collect())
    })
}

#[test]
fn random_game_ends_as_its_table_says() {
    for (listing, games) in games() {
        for game in games {
            let draw = game.draw();
            let judged = game.judged(&draw, &game.moves);
            assert_eq!(
                end(judged.clone()),
                game.end(),
                "{}",
                listing.rules.game_type
            );
            let Ok(Judged::Over(result)) = judged else {
                panic!("{judged:?}");
            };
            let points = match result.winner.as_ref() {
                None => (MatchStatus::Draw, [2, 2]),
                Some(winner) if *winner == players()[0] => (MatchStatus::Win, [5, 1]),
                Some(_) => (MatchStatus::Win, [1, 5]),
            };
            assert_eq!((result.status, result.points), points);
            assert_eq!(result.players, players());
            assert_eq!(result.evidence.moves, game.moves);
            let opened = result.draw.unwrap();
            let before = if game.rolls == 0 {
                game.moves.len()
            } else {
                game.before_rolls
            };
            assert_eq!(opened.nonces, shares(&game.moves[..before]));
            assert_eq!(
                (opened.attempt, opened.seed),
                (game.attempt, Some(game.seed))
            );
        }
    }
}

#[test]
fn beginning_of_a_game_waits_for_whose_turn_it_is() {
    for (listing, games) in games() {
        for game in games.iter().take(4) {
            for (count, (turn, rolls)) in game.turns.iter().enumerate() {
                let mut draw = game.draw();
                draw.rolls.truncate(*rolls as usize);
                let judged = game.judged(&draw, &game.moves[..count]).unwrap();
                let name = listing.rules.game_type;
                match judged {
                    Judged::Going(found) => assert_eq!(found, *turn, "{name}, move {count}"),
                    Judged::Over(_) => assert!(matches!(turn, Turn::Over(_)), "{name}"),
                }
                // Without the last roll the dice are due, or no later move is legal.
                if let Some(fewer) = rolls.checked_sub(1) {
                    draw.rolls.truncate(fewer as usize);
                    let judged = game.judged(&draw, &game.moves[..count]);
                    let waits = matches!(
                        judged,
                        Ok(Judged::Going(Turn::Dice)) | Err(ReportProblem::Choices)
                    );
                    assert!(waits, "{name}: {judged:?}");
                }
            }
        }
    }
}

#[test]
fn changed_move_is_refused_or_leads_to_another_result() {
    for (listing, games) in games() {
        let name = listing.rules.game_type;
        for game in &games {
            let draw = game.draw();
            let told = game.judged(&draw, &game.moves).unwrap();
            let choices = |judged: Judged| match judged {
                Judged::Over(result) => Some((result.choices, result.winner, result.details)),
                Judged::Going(_) => None,
            };
            let told = choices(told);
            let others = [Seat::A, Seat::B].map(|seat| game.opening.options(seat));
            for place in 0..game.moves.len() {
                let own = &game.moves[place];
                let mut changed = Vec::new();
                for other in others.iter().flatten().chain([&Value::Null]) {
                    let mut moves = game.moves.clone();
                    moves[place].choice = other.clone();
                    if *other != own.choice {
                        changed.push(moves);
                    }
                }
                let mut without = game.moves.clone();
                without.remove(place);
                changed.push(without);
                let mut twice = game.moves.clone();
                twice.insert(place, own.clone());
                changed.push(twice);
                for moves in changed {
                    let found = game.judged(&draw, &moves).map(choices);
                    assert_ne!(found.as_ref().ok(), Some(&told), "{name}, move {place}");
                }
            }
            let mut foreign = game.moves.clone();
            foreign[0].player_id = PlayerId::numbered(1);
            assert_eq!(
                game.judged(&draw, &foreign),
                Err(ReportProblem::Choosers),
                "{name}"
            );
        }
    }
}

/// How many games end otherwise after a change.
fn ending_elsewhere(
    games: &[PlayedGame],
    change: impl Fn(&PlayedGame, &mut DrawParts, &mut Vec<SignedMove>),
) -> usize {
    let elsewhere = games.iter().filter(|game| {
        let (mut draw, mut moves) = (game.draw(), game.moves.clone());
        change(game, &mut draw, &mut moves);
        end(game.judged(&draw, &moves)) != game.end()
    });
    elsewhere.count()
}

#[test]
fn changed_draw_leads_elsewhere_where_dice_are_rolled_and_nowhere_else() {
    let seed = |_: &PlayedGame, draw: &mut DrawParts, _: &mut Vec<SignedMove>| {
        draw.rolls.iter_mut().for_each(|seed| seed.0[31] ^= 1);
    };
    let attempt = |_: &PlayedGame, draw: &mut DrawParts, _: &mut Vec<SignedMove>| {
        draw.attempt += 1;
    };
    for (listing, games) in games() {
        let name = listing.rules.game_type;
        let has_rolls = games.iter().any(|game| game.rolls > 0);
        for found in [
            ending_elsewhere(&games, seed),
            ending_elsewhere(&games, attempt),
        ] {
            // Another number may lead to the same end, in a few of the games.
            let expected = if has_rolls { GAMES as usize / 2 } else { 0 };
            assert_eq!(found > 0, has_rolls, "{name}");
            assert!(found >= expected, "{name}: {found} of {GAMES}");
        }
    }
}

#[test]
fn changed_nonce_leads_elsewhere_if_it_came_before_the_first_roll() {
    let mut counted = 0;
    for (listing, games) in games() {
        let name = listing.rules.game_type;
        for player in players() {
            let first = |game: &PlayedGame| {
                let mut moves = game.moves.iter();
                moves.position(|made| made.player_id == player)
            };
            let counts = |game: &PlayedGame| {
                let first = first(game);
                game.rolls > 0 && first.is_some_and(|first| first < game.before_rolls)
            };
            let found = ending_elsewhere(&games, |game, _, moves| {
                if let Some(place) = first(game) {
                    moves[place].nonce = Some("another".to_owned());
                }
            });
            let share = games.iter().filter(|game| counts(game)).count();
            assert!(
                found <= share && found >= share / 2,
                "{name}: {found} of {share}"
            );
            counted += found;
            let later = ending_elsewhere(&games, |game, _, moves| {
                let first = first(game);
                for (place, made) in moves.iter_mut().enumerate() {
                    if made.player_id == player && Some(place) != first {
                        made.nonce = None;
                    }
                }
            });
            assert_eq!(later, 0, "{name}: only the first nonce counts");
        }
    }
    assert!(counted > 0, "a game with a share of both players is listed");
}

#[test]
fn who_failed_loses_a_game_that_goes_on_and_no_other() {
    let [a, b] = players();
    let failures: [(&[&PlayerId], _, _); 3] = [
        (&[&a], Some(&b), [0, 5]),
        (&[&b], Some(&a), [5, 0]),
        (&[&a, &b], None, [0, 0]),
    ];
    for (listing, games) in games() {
        let (name, game) = (listing.rules.game_type, &games[0]);
        let draw = game.draw();
        for (failed, winner, points) in failures {
            let failed = failed
                .iter()
                .map(|player| ((*player).clone(), Code::Timeout));
            let failed = failed.collect();
            let last = game.moves.len() - 1;
            for moves in [&game.moves[..0], &game.moves[..last]] {
                let judged = game.judged_without(&draw, moves, &failed);
                let Ok(Judged::Over(result)) = judged else {
                    panic!("{name}: {judged:?}");
                };
                assert_eq!(result.status, MatchStatus::TechnicalLoss);
                assert_eq!((result.winner.as_ref(), result.points), (winner, points));
                assert!(result.details.is_empty() && result.reason.is_empty());
                assert_eq!(result.evidence.moves, moves);
            }
            assert_eq!(
                game.judged_without(&draw, &game.moves, &failed),
                Err(ReportProblem::Unplayed),
                "{name}"
            );
        }
        let stranger = [(PlayerId::numbered(1), Code::Timeout)].into();
        assert_eq!(
            game.judged_without(&draw, &[], &stranger),
            Err(ReportProblem::Failed),
            "{name}"
        );
    }
}

#[test]
fn local_league_without_chance_ends_as_its_moves_are_judged() {
    for (listing, games) in games() {
        let name = listing.rules.game_type;
        let strategies = league_core::strategy::all().iter();
        let game_type = GameType::new(name).unwrap();
        let able = strategies.filter(|strategy| strategy.knows(&game_type));
        if games.iter().any(|game| game.rolls > 0) {
            continue;
        }
        let mut league = League::builder().game(name).scoring(SCORE);
        for (strategy, number) in able.zip(1..=4) {
            league = league.player(&format!("{number}"), strategy);
        }
        for played in league.run().unwrap().matches {
            let moves = played.moves.iter();
            let moves: Vec<_> = moves
                .map(|(seat, choice)| made(*seat, choice.clone(), String::new()))
                .collect();
            let judged = games[0].judged(&games[0].draw(), &moves);
            let Ok(Judged::Over(result)) = judged else {
                panic!("{name}: {judged:?}");
            };
            assert_eq!(
                (played.status, played.points),
                (result.status, result.points)
            );
            let winner = played.winner.map(|seat| players()[seat].clone());
            assert_eq!((winner, played.details), (result.winner, result.details));
        }
    }
}
