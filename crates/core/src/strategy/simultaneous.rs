//! Strategies for games in which both sides choose at once: what the opponent chose before, what it
//! will probably choose next, and the best reply to that.
//!
//! A prediction knows nothing of the game; the table of games says which reply is best.

use std::sync::Arc;

use league_games::Dice;
use serde_json::Value;

use crate::player::{MatchOutcome, MatchRecord, Think};

/// The most turns that a strategy considers.
const LOOK_BACK: usize = 64;
/// The least choices that make a pattern.
const MIN_PATTERN: usize = 2;
/// The latest turns by which `adaptive` judges its experts.
const JUDGED: usize = 24;

type Matches = [Arc<MatchRecord>];

/// A game in which both sides choose at once.
struct SimultaneousGame {
    game_type: &'static str,
    choices: &'static [&'static str],
    /// What a turn is worth, by the own choice and then by the opponent's.
    payoffs: &'static [&'static [f64]],
    /// Where a view lists the own and the opponent's choices of this match so far.
    listed: Option<[&'static str; 2]>,
}

pub(crate) const EVEN_ODD: &str = "even_odd";
pub(crate) const ROCK_PAPER_SCISSORS: &str = "rock_paper_scissors";
pub(crate) const DILEMMA: &str = "iterated_prisoners_dilemma";

static GAMES: [SimultaneousGame; 3] = [
    SimultaneousGame {
        game_type: EVEN_ODD,
        choices: &["even", "odd"],
        // League points: a draw is one for each, a decided match three for one of them.
        payoffs: &[&[1.0, 1.5], &[1.5, 1.0]],
        listed: None,
    },
    SimultaneousGame {
        game_type: ROCK_PAPER_SCISSORS,
        choices: &["rock", "paper", "scissors"],
        payoffs: &[&[0.0, -1.0, 1.0], &[1.0, 0.0, -1.0], &[-1.0, 1.0, 0.0]],
        listed: Some(["your_throws", "opponent_throws"]),
    },
    SimultaneousGame {
        game_type: DILEMMA,
        choices: &["cooperate", "defect"],
        payoffs: &[&[3.0, 0.0], &[5.0, 1.0]],
        listed: Some(["your_choices", "opponent_choices"]),
    },
];

/// The choices of both sides in one turn: the own one, if it is not forgotten, and the opponent's.
type TurnChoices = [Option<usize>; 2];

/// The sides of an exchange.
const OWN: usize = 0;
const OTHER: usize = 1;

/// What a player knows of its opponent: their turns, oldest first.
struct Experience {
    game: &'static SimultaneousGame,
    turns: Vec<TurnChoices>,
}

/// Predicts the next choice of a side from the turns so far.
type Predictor = fn(&[TurnChoices], usize) -> Option<usize>;

/// The next of its choices in turn: even, odd, even, …
pub(crate) fn alternating(think: &Think, memory: &Matches, _: &mut Dice) -> Option<Value> {
    let Experience { game, turns } = Experience::of_opponent(think, memory)?;
    game.choice((turns.last()?[OWN]? + 1) % game.choices.len())
}

/// What the opponent chose last (003, mirror agent).
pub(crate) fn mirror(think: &Think, memory: &Matches, _: &mut Dice) -> Option<Value> {
    let Experience { game, turns } = Experience::of_opponent(think, memory)?;
    game.choice(turns.last()?[OTHER]?)
}

/// The reply to what the opponent chooses most (003, frequency counter).
pub(crate) fn frequency(think: &Think, memory: &Matches, _: &mut Dice) -> Option<Value> {
    Experience::read(think, memory)?.reply_to(most_frequent)
}

/// The reply to what followed the latest run that equals the opponent's recent choices (003, pattern
/// matching).
pub(crate) fn pattern(think: &Think, memory: &Matches, _: &mut Dice) -> Option<Value> {
    Experience::read(think, memory)?.reply_to(continuation)
}

/// The reply to what most often follows the opponent's last choice: a first-order Markov chain (003).
pub(crate) fn markov(think: &Think, memory: &Matches, _: &mut Dice) -> Option<Value> {
    Experience::read(think, memory)?.reply_to(likeliest_step)
}

/// The choice with the highest expected payoff, by the posterior of what follows the last turn.
pub(crate) fn bayesian(think: &Think, memory: &Matches, _: &mut Dice) -> Option<Value> {
    let experience = Experience::read(think, memory)?;
    let last = experience.turns.last()?;
    let choices = experience.game.choices.len();
    // The prior weighs one turn: the opponent's frequencies, and each choice once.
    let overall = counts(experience.turns.iter().filter_map(|turn| turn[OTHER]));
    let sum = experience.turns.len() as f64 + choices as f64;
    let mut belief = overall.map(|count| (count + 1.0) / sum);
    for step in experience.turns.windows(2) {
        if let [before, [_, Some(after)]] = step
            && before == last
        {
            belief[*after] += 1.0;
        }
    }
    let payoffs = experience.game.payoffs.iter();
    let expected = payoffs.map(|row| row.iter().zip(&belief).map(|(pay, b)| pay * b).sum());
    let best = only_highest(&expected.collect::<Vec<f64>>())?;
    experience.game.choice(best)
}

/// The choice that paid most so far, with a bonus for those tried less often (a bandit: UCB1).
pub(crate) fn bandit(think: &Think, memory: &Matches, dice: &mut Dice) -> Option<Value> {
    let Experience { game, turns } = Experience::read(think, memory)?;
    let arms = game.choices.len();
    let paid = turns
        .iter()
        .filter_map(|turn| Some((turn[OWN]?, turn[OTHER]?)));
    let paid: Vec<(usize, usize)> = paid.collect();
    let tried = counts(paid.iter().map(|(own, _)| *own));
    let untried: Vec<usize> = (0..arms).filter(|&arm| tried[arm] == 0.0).collect();
    if let Some(&arm) = dice.pick(&untried) {
        return game.choice(arm);
    }
    let all = game.payoffs.iter().flat_map(|row| row.iter());
    let (least, most) = all.fold((f64::MAX, f64::MIN), |(least, most), pay| {
        (least.min(*pay), most.max(*pay))
    });
    let mut sums = vec![0.0; arms];
    for (own, other) in &paid {
        sums[*own] += (game.payoffs[*own][*other] - least) / (most - least);
    }
    let logarithm = (paid.len() as f64).ln();
    let bound = |arm: usize| sums[arm] / tried[arm] + (2.0 * logarithm / tried[arm]).sqrt();
    let bounds: Vec<f64> = (0..arms).map(bound).collect();
    let best = bounds.iter().copied().fold(f64::MIN, f64::max);
    let best: Vec<usize> = (0..arms).filter(|&arm| bounds[arm] >= best).collect();
    game.choice(*dice.pick(&best)?)
}

/// The reply to the prediction of the expert that was right most often; by chance while no expert is
/// better than chance.
pub(crate) fn adaptive(think: &Think, memory: &Matches, _: &mut Dice) -> Option<Value> {
    let experience = Experience::read(think, memory)?;
    let Experience { game, turns } = &experience;
    let judged = turns.len().saturating_sub(JUDGED)..turns.len();
    let mut best = (0, None);
    for expert in EXPERTS {
        let is_right = |at: &usize| expert.predict(game, &turns[..*at]) == turns[*at][OTHER];
        let hits = judged.clone().filter(is_right).count();
        if hits > best.0
            && let Some(predicted) = expert.predict(game, turns)
        {
            best = (hits, Some(predicted));
        }
    }
    let (hits, predicted) = best;
    let is_better_than_chance = hits * game.choices.len() > judged.len();
    predicted
        .filter(|_| is_better_than_chance)
        .and_then(|it| game.reply(it))
}

/// A model of the opponent.
#[derive(Clone, Copy)]
enum Expert {
    /// It follows a habit.
    Habit(Predictor),
    /// It predicts this player, and replies to that.
    Counter(Predictor),
}

const EXPERTS: [Expert; 7] = [
    Expert::Habit(continuation),
    Expert::Habit(likeliest_step),
    Expert::Habit(most_frequent),
    Expert::Habit(repeated),
    Expert::Counter(continuation),
    Expert::Counter(likeliest_step),
    Expert::Counter(most_frequent),
];

impl Expert {
    fn predict(self, game: &SimultaneousGame, turns: &[TurnChoices]) -> Option<usize> {
        match self {
            Self::Habit(predictor) => predictor(turns, OTHER),
            Self::Counter(predictor) => game.best_reply(predictor(turns, OWN)?),
        }
    }
}

/// Cooperates first, then does what the opponent did last.
pub(crate) fn tit_for_tat(think: &Think, _: &Matches, _: &mut Dice) -> Option<Value> {
    let game = SimultaneousGame::find(think)?;
    let last = game.turns_of_match(&think.view).last().copied();
    game.choice(last.map_or(Some(COOPERATE), |turn| turn[OTHER])?)
}

/// Cooperates until the opponent defects, and never again.
pub(crate) fn grim(think: &Think, _: &Matches, _: &mut Dice) -> Option<Value> {
    let game = SimultaneousGame::find(think)?;
    let turns = game.turns_of_match(&think.view);
    let betrayed = turns.iter().any(|turn| turn[OTHER] == Some(DEFECT));
    game.choice(if betrayed { DEFECT } else { COOPERATE })
}

/// The places of the choices of the dilemma.
const COOPERATE: usize = 0;
const DEFECT: usize = 1;

/// The parity that was drawn more often, as far as the player's own results show (000 §3.6.2).
pub(crate) fn history(think: &Think, memory: &Matches, _: &mut Dice) -> Option<Value> {
    let game = SimultaneousGame::find(think)?;
    let drawn = game.matches(memory).filter_map(|record| game.drawn(record));
    game.choice(majority(drawn)?)
}

impl SimultaneousGame {
    fn find(think: &Think) -> Option<&'static Self> {
        let game_type = think.game_type.as_str();
        GAMES.iter().find(|game| game.game_type == game_type)
    }

    fn matches<'m>(&self, memory: &'m Matches) -> impl DoubleEndedIterator<Item = &'m MatchRecord> {
        let records = memory.iter().map(Arc::as_ref);
        records.filter(|record| record.game_type.as_str() == self.game_type)
    }

    /// Reads a choice; `None` for a move of another game.
    fn read(&self, choice: &Value) -> Option<usize> {
        let text = choice.as_str()?;
        self.choices.iter().position(|choice| *choice == text)
    }

    fn choice(&self, place: usize) -> Option<Value> {
        self.choices.get(place).copied().map(Value::from)
    }

    /// The best reply to a choice of the opponent.
    fn best_reply(&self, other: usize) -> Option<usize> {
        let pays: Option<Vec<f64>> = self
            .payoffs
            .iter()
            .map(|row| row.get(other).copied())
            .collect();
        only_highest(&pays?)
    }

    fn reply(&self, other: usize) -> Option<Value> {
        self.choice(self.best_reply(other)?)
    }

    /// The turns that two lists of choices tell, or two single choices.
    fn turns(&self, own: Option<&Value>, other: &Value) -> Vec<TurnChoices> {
        let own = own.map(choices_in).unwrap_or_default();
        let turn = |(at, other): (usize, &Value)| {
            let own = own.get(at).and_then(|own| self.read(own));
            Some([own, Some(self.read(other)?)])
        };
        choices_in(other)
            .iter()
            .enumerate()
            .filter_map(turn)
            .collect()
    }

    fn turns_of_record(&self, record: &MatchRecord) -> Vec<TurnChoices> {
        let other = record.opponent_choice.as_ref();
        other.map_or_else(Vec::new, |other| {
            self.turns(record.my_choice.as_ref(), other)
        })
    }

    fn turns_of_match(&self, view: &Value) -> Vec<TurnChoices> {
        let listed = self.listed.and_then(|[own, other]| {
            let other = view.get(other)?;
            Some(self.turns(view.get(own), other))
        });
        listed.unwrap_or_default()
    }

    /// The parity drawn in a match of Even/Odd: the guess of its winner.
    ///
    /// If both guesses are the same, the result does not show the parity; in a match that was not
    /// played to the end, nothing was drawn.
    fn drawn(&self, record: &MatchRecord) -> Option<usize> {
        let own = self.read(record.my_choice.as_ref()?)?;
        let other = self.read(record.opponent_choice.as_ref()?)?;
        match record.result {
            _ if own == other => None,
            MatchOutcome::Win => Some(own),
            MatchOutcome::Loss => Some(other),
            MatchOutcome::Draw | MatchOutcome::TechnicalLoss => None,
        }
    }
}

/// The moves of a whole match are a list, a single move is not.
fn choices_in(value: &Value) -> &[Value] {
    match value {
        Value::Array(choices) => choices,
        choice => std::slice::from_ref(choice),
    }
}

impl Experience {
    /// The turns with this opponent; if there are none, the turns with all others.
    fn read(think: &Think, memory: &Matches) -> Option<Self> {
        let mut found = Self::of_opponent(think, memory)?;
        if found.turns.is_empty() {
            let records = found.game.matches(memory);
            found.turns = latest(records.map(|record| found.game.turns_of_record(record)));
        }
        Some(found)
    }

    /// The turns with this opponent: those of earlier matches, then those of this one.
    fn of_opponent(think: &Think, memory: &Matches) -> Option<Self> {
        let game = SimultaneousGame::find(think)?;
        let mut present = game.turns_of_match(&think.view);
        if present.len() < LOOK_BACK {
            let records = game.matches(memory);
            let met = records.filter(|record| record.opponent_id == think.opponent_id);
            let mut turns = latest(met.map(|record| game.turns_of_record(record)));
            // A player knows more opponents than it remembers matches.
            let recent = think.opponent.iter().flat_map(|it| &it.recent);
            let recent: Vec<usize> = recent.filter_map(|choice| game.read(choice)).collect();
            if turns.len() < recent.len() {
                turns = recent
                    .into_iter()
                    .map(|other| [None, Some(other)])
                    .collect();
            }
            turns.append(&mut present);
            present = turns;
        }
        let turns = present.split_off(present.len().saturating_sub(LOOK_BACK));
        Some(Self { game, turns })
    }

    fn reply_to(&self, predictor: Predictor) -> Option<Value> {
        self.game.reply(predictor(&self.turns, OTHER)?)
    }
}

/// The latest turns of several matches, oldest first.
fn latest(matches: impl DoubleEndedIterator<Item = Vec<TurnChoices>>) -> Vec<TurnChoices> {
    let newest_first = matches.rev().flat_map(|turns| turns.into_iter().rev());
    let mut turns: Vec<TurnChoices> = newest_first.take(LOOK_BACK).collect();
    turns.reverse();
    turns
}

/// The most frequent choice; `None` if two are equally frequent.
fn most_frequent(turns: &[TurnChoices], side: usize) -> Option<usize> {
    majority(turns.iter().filter_map(|turn| turn[side]))
}

/// The choice after the longest run of latest choices that had occurred before; of several
/// occurrences the last counts.
fn continuation(turns: &[TurnChoices], side: usize) -> Option<usize> {
    let (_, place) = (1..turns.len())
        .map(|place| (common_end(&turns[..place], turns, side), place))
        .filter(|(length, _)| *length >= MIN_PATTERN)
        .max()?;
    turns[place][side]
}

/// The number of equal choices at the ends of two runs.
fn common_end(one: &[TurnChoices], other: &[TurnChoices], side: usize) -> usize {
    let pairs = one.iter().rev().zip(other.iter().rev());
    pairs.take_while(|(a, b)| a[side] == b[side]).count()
}

/// What most often followed the last choice.
fn likeliest_step(turns: &[TurnChoices], side: usize) -> Option<usize> {
    let last = turns.last()?[side]?;
    let steps = turns.windows(2).filter_map(|step| match step {
        [from, to] if from[side] == Some(last) => to[side],
        _ => None,
    });
    majority(steps)
}

/// The last choice of the other side: this side is a mirror.
fn repeated(turns: &[TurnChoices], side: usize) -> Option<usize> {
    turns.last()?[1 - side]
}

/// The most choices that a game here has.
const MAX_CHOICES: usize = 3;

fn majority(chosen: impl Iterator<Item = usize>) -> Option<usize> {
    let counts = counts(chosen);
    only_highest(&counts).filter(|&most| counts[most] > 0.0)
}

/// How often each choice occurs.
fn counts(chosen: impl Iterator<Item = usize>) -> [f64; MAX_CHOICES] {
    let mut counts = [0.0; MAX_CHOICES];
    for choice in chosen {
        counts[choice] += 1.0;
    }
    counts
}

/// The place of the highest value; `None` if two share it.
fn only_highest(values: &[f64]) -> Option<usize> {
    let highest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut places = (0..values.len()).filter(|&place| values[place] >= highest);
    places.next().filter(|_| places.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Turns in which the opponent chose the letters; the own choice is the first.
    fn turns(letters: &str) -> Vec<TurnChoices> {
        let place = |letter| "eor".find(letter).expect("a known letter");
        letters
            .chars()
            .map(|letter| [Some(0), Some(place(letter))])
            .collect()
    }

    #[track_caller]
    fn predicts(predictor: Predictor, cases: &[(&str, &str)]) {
        for (before, expected) in cases {
            let expected = turns(expected).first().and_then(|turn| turn[OTHER]);
            assert_eq!(predictor(&turns(before), OTHER), expected, "{before}");
        }
    }

    #[test]
    fn the_most_frequent_choice_is_expected_unless_two_are() {
        let cases = [("", ""), ("e", "e"), ("eo", ""), ("eor", ""), ("eorr", "r")];
        predicts(most_frequent, &cases);
    }

    #[test]
    fn the_most_frequent_step_from_the_last_choice_is_expected() {
        predicts(
            likeliest_step,
            &[
                ("", ""),
                ("e", ""),
                ("eo", ""),
                ("ee", "e"),
                ("eoe", "o"),
                ("eeoe", ""),
                ("eeoeoe", "o"),
                ("oooeo", "o"),
                ("eorereor", "e"),
            ],
        );
    }

    #[test]
    fn a_pattern_continues_as_it_did_before() {
        predicts(
            continuation,
            &[
                ("", ""),
                ("e", ""),
                ("ee", ""),
                ("eo", ""),
                ("eoe", ""),
                ("eee", "e"),
                ("eoeo", "e"),
                ("eoeoe", "o"),
                ("eeoeeo", "e"),
                ("eeoee", "o"),
                ("eooeooe", "o"),
                ("eoreoreo", "r"),
                // The longer run decides, not the later one.
                ("eoeeooeeeoee", "o"),
                // Among equally long runs, the later decides.
                ("eoeeooeo", "o"),
            ],
        );
    }

    #[test]
    fn every_game_has_one_best_reply_to_every_choice() {
        let best = |game: &SimultaneousGame| -> Vec<&str> {
            let replies = (0..game.choices.len()).filter_map(|other| game.best_reply(other));
            replies.map(|reply| game.choices[reply]).collect()
        };
        let [even_odd, throws, dilemma] = GAMES.each_ref().map(best);
        assert_eq!(even_odd, ["odd", "even"]);
        assert_eq!(throws, ["paper", "scissors", "rock"]);
        assert_eq!(dilemma, ["defect", "defect"]);
        for game in &GAMES {
            let listing = league_games::find(game.game_type).expect("the game is listed");
            assert_eq!(listing.rules.valid_choices, game.choices);
            assert!(game.choices.len() <= MAX_CHOICES);
        }
    }
}
