//! Leagues in this process: any game, players with state, the same league for the same seed.

use std::sync::Arc;

use league_core::entrant::{ChoiceError, Entrant};
use league_core::league::League;
use league_core::player::{MatchOutcome, MatchRecord, Think};
use league_core::strategy;
use league_games::Dice;
use league_protocol::message::{MatchStatus, Score};
use serde_json::{Value, json};

/// Counts its moves, and takes the options in turn.
#[derive(Default)]
struct Counter {
    moves: usize,
    results: Vec<MatchOutcome>,
}

impl Entrant for Counter {
    fn choose(
        &mut self,
        think: &Think,
        history: &[Arc<MatchRecord>],
        _dice: &mut Dice,
    ) -> Result<Value, ChoiceError> {
        assert_eq!(history.len(), self.results.len());
        self.moves += 1;
        Ok(think.options[self.moves % think.options.len()].clone())
    }

    fn hear(&mut self, record: &MatchRecord) {
        self.results.push(record.result);
    }
}

/// Always answers the same, whatever is asked.
struct Always(Value);

impl Entrant for Always {
    fn choose(
        &mut self,
        _think: &Think,
        _history: &[Arc<MatchRecord>],
        _dice: &mut Dice,
    ) -> Result<Value, ChoiceError> {
        match &self.0 {
            Value::Null => Err("no idea".into()),
            choice => Ok(choice.clone()),
        }
    }
}

/// Plays what beats the opponent's last throw in an earlier match.
#[derive(Default)]
struct Learner {
    last: Option<Value>,
}

impl Entrant for Learner {
    fn choose(
        &mut self,
        think: &Think,
        _history: &[Arc<MatchRecord>],
        dice: &mut Dice,
    ) -> Result<Value, ChoiceError> {
        let beats = match self.last.as_ref().and_then(Value::as_str) {
            Some("rock") => "paper",
            Some("paper") => "scissors",
            Some("scissors") => "rock",
            _ => return Ok(dice.pick(&think.options).ok_or("no option")?.clone()),
        };
        Ok(beats.into())
    }

    fn hear(&mut self, record: &MatchRecord) {
        let throws = record.opponent_choice.as_ref().and_then(Value::as_array);
        self.last = throws.and_then(|throws| throws.last()).cloned();
    }
}

#[test]
fn player_with_state_plays_every_game() {
    for game in league_games::all() {
        let game = game.rules.game_type;
        let mut counter = Counter::default();
        let builder = League::builder().game(game).legs(4).seed(5);
        let league = builder.player("Counter", &mut counter).strategy("random");
        let played = league.run().unwrap();
        assert_eq!(played.matches.len(), 4, "{game}");
        for one in &played.matches {
            assert_ne!(one.status, MatchStatus::TechnicalLoss, "{game}: {one:?}");
            assert!(!one.moves.is_empty() && !one.reason.is_empty(), "{game}");
        }
        assert_eq!(counter.results.len(), 4, "{game}");
        assert!(counter.moves >= 4, "{game}");
        let row = played.standing("Counter").unwrap();
        let wins = counter.results.iter();
        let wins = wins.filter(|result| **result == MatchOutcome::Win).count();
        assert_eq!((row.played, row.wins as usize), (4, wins), "{game}");
    }
}

#[test]
fn learning_player_wins_once_it_has_met_its_opponent() {
    let mut learner = Learner::default();
    let league = League::builder().game("rock_paper_scissors").legs(10);
    let league = league.player("Learner", &mut learner);
    let played = league.player("Rock", Always(json!("rock"))).run().unwrap();
    for one in &played.matches[1..] {
        let winner = one.winner.map(|seat| &*one.players[seat]);
        assert_eq!(winner, Some("Learner"), "{one:?}");
    }
    assert_eq!(learner.last, Some(json!("rock")));
    let first = played.ratings().rating(0).unwrap();
    assert_eq!(&*played.standings[0].display_name, "Learner");
    assert!(first.elo > 0.0, "{first:?}");
}

#[test]
fn same_seed_gives_the_same_league() {
    let play = |game: &str, seed| {
        let names: Vec<&str> = (strategy::all().iter().take(3))
            .map(|strategy| strategy.name)
            .collect();
        let league = League::builder().game(game).legs(3).seed(seed);
        let league = names.into_iter().fold(league, |it, name| it.strategy(name));
        league.run().unwrap()
    };
    for game in league_games::all() {
        let game = game.rules.game_type;
        assert_eq!(play(game, 1), play(game, 1), "{game}");
    }
    assert_ne!(play("even_odd", 1).matches, play("even_odd", 2).matches);
}

#[test]
fn player_without_a_legal_move_loses_with_a_reason() {
    let score = Score {
        win: 2,
        technical_loss: 1,
        ..Score::default()
    };
    let league = League::builder().game("connect_four").scoring(score);
    let league = league.player("Wild", Always(json!("left")));
    let league = league.player("Lost", Always(Value::Null));
    let played = league.strategy("random").run().unwrap();
    let told = played.matches.iter();
    let told: Vec<String> = told
        .map(|one| format!("{:?} {:?} {}", one.winner, one.points, one.reason))
        .collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    Some(0) [2, 1] Lost: no idea
    Some(1) [1, 2] Wild: `"left"` is not a move of this game, which takes `0-6`
    Some(1) [1, 2] Lost: no idea
    "#);
    assert!(played.matches.iter().all(|one| one.details.is_empty()));
    let row = played.standing("Wild").unwrap();
    assert_eq!((row.technical_losses, row.losses), (1, 1));
}

#[test]
fn both_players_of_a_turn_can_fail() {
    let league = League::builder().player("A", Always(json!("two")));
    let played = league.player("B", Always(Value::Null)).run().unwrap();
    let one = &played.matches[0];
    assert_eq!((one.winner, one.points), (None, [0, 0]));
    assert_eq!(one.status, MatchStatus::TechnicalLoss);
    insta::assert_snapshot!(one.reason, @r#"A: `"two"` is not a move of this game, which takes `even`, `odd`; B: no idea"#);
}

#[test]
fn league_that_cannot_be_played_says_why() {
    let two = || League::builder().strategy("random").strategy("markov");
    let many = (0..1_001).fold(League::builder(), |league, number| {
        league.player(&number.to_string(), Counter::default())
    });
    let refused = [
        two().game("chess"),
        two().settings(json!({"lowest": 99})),
        two().strategy("randon"),
        two().strategy("random"),
        two().legs(0),
        two().legs(1_001),
        League::builder().strategy("random"),
        many,
    ];
    let said: Vec<String> = refused
        .into_iter()
        .map(|league| league.run().unwrap_err().to_string())
        // The lists of games and strategies grow.
        .map(|error| match error.find("there are") {
            Some(list) => error[..list].trim_end().to_owned(),
            None => error,
        })
        .collect();
    insta::assert_snapshot!(said.join("\n"), @"
    there is no game `chess`;
    setting `lowest` is `99` and must be below `highest`, `10`
    there is no strategy `randon`; did you mean `random`?
    two players are called `random`; give each player a name of its own
    a pair meets 1 to 1000 times, not 0
    a pair meets 1 to 1000 times, not 1001
    a league needs 2 to 1000 players, not 1
    a league needs 2 to 1000 players, not 1001
    ");
}
