//! The checks on a game's play, its words and its settings; secrecy has a file of its own.
//!
//! A check returns its finding instead of panicking, so that the kit can be tested itself.

use league_games::{BadSettings, Dice, Illegal, Listing, Outcome, Seat, Table, Turn};
use serde_json::{Map, Value, json};

/// One property of a game; the error is a sentence.
pub(crate) type Check = fn(&Listing) -> Result<(), String>;

/// How many random games each check looks at.
pub(crate) const SEEDS: u64 = 150;
/// How many positions a check looks at that looks at each closely.
const MAX_POSITIONS: usize = 1_500;
/// How many moves and rolls a game may take.
const MAX_STEPS: usize = 1000;

/// Fails with a sentence unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($words:tt)+) => {
        if !$condition {
            return Err(format!($($words)+));
        }
    };
}
pub(crate) use ensure;

pub(crate) fn every_playout_ends(listing: &Listing) -> Result<(), String> {
    for seed in 0..SEEDS {
        let positions = playout(listing, seed)?;
        let last = positions.last().map(|table| table.turn());
        let over = matches!(last, Some(Turn::Over(_)));
        ensure!(over, "seed {seed} stops at {last:?}");
    }
    Ok(())
}

pub(crate) fn the_same_seed_gives_the_same_game(listing: &Listing) -> Result<(), String> {
    for seed in 0..SEEDS {
        let texts = |positions: Vec<Box<dyn Table>>| -> Vec<String> {
            positions.iter().map(|table| table.position()).collect()
        };
        let (first, second) = (
            texts(playout(listing, seed)?),
            texts(playout(listing, seed)?),
        );
        ensure!(
            first == second,
            "seed {seed} gave {first:?}, then {second:?}"
        );
    }
    Ok(())
}

pub(crate) fn options_are_open_to_those_who_owe_a_move(listing: &Listing) -> Result<(), String> {
    for_each_position(listing, |table| {
        let owing = owing(table);
        ensure!(table.turn() != Turn::Seats([].into()), "nobody's turn");
        for seat in seats_and_strangers(listing) {
            let options = table.options(seat);
            let expected = owing.contains(&seat);
            ensure!(
                options.is_empty() != expected,
                "seat {seat} is offered {options:?}"
            );
            for (index, option) in options.iter().enumerate() {
                ensure!(
                    !options[..index].contains(option),
                    "`{option}` is offered twice"
                );
                let mut next = table.boxed_clone();
                let played = next.play(seat, option);
                ensure!(
                    played.is_ok(),
                    "`{option}` was offered to {seat}, and refused"
                );
                ensure!(
                    next.position() != table.position(),
                    "`{option}` changed nothing"
                );
            }
        }
        Ok(())
    })
}

pub(crate) fn a_refusal_changes_nothing(listing: &Listing) -> Result<(), String> {
    for_each_position(listing, |table| {
        let mut same = table.boxed_clone();
        for seat in seats_and_strangers(listing) {
            let options = table.options(seat);
            for mv in moves_and_garbage(table) {
                if options.contains(&mv) {
                    continue;
                }
                let refusal = same.play(seat, &mv);
                ensure!(
                    refusal.is_err(),
                    "`{mv}` by seat {seat} was not offered, and accepted"
                );
                ensure!(
                    fits(&refusal, &table.turn(), seat),
                    "{refusal:?} for {seat} at {same:?}"
                );
                ensure!(
                    same.position() == table.position(),
                    "`{mv}` by seat {seat} was refused, and changed {} to {}",
                    table.position(),
                    same.position()
                );
            }
        }
        if table.turn() != Turn::Dice {
            same.roll(&mut Dice::highest());
            ensure!(
                same.position() == table.position(),
                "a roll out of turn changed something"
            );
        }
        Ok(())
    })
}

pub(crate) fn facts_come_at_the_end(listing: &Listing) -> Result<(), String> {
    for_each_position(listing, |table| {
        let details = table.details();
        let over = matches!(table.turn(), Turn::Over(_));
        ensure!(
            details.is_empty() != over,
            "at {} the facts are {details:?}",
            table.position()
        );
        let reason = table.reason(&["P01", "P02"]);
        let sentence = !reason.is_empty() && !reason.ends_with('.') && !reason.contains('\n');
        ensure!(sentence, "{reason:?} is not a sentence as ours are");
        if let Turn::Over(Outcome::Win(winner)) = table.turn() {
            ensure!(
                seats(listing).contains(&winner),
                "seat {winner} won and does not exist"
            );
            let name = winner.name(&["P01", "P02"]);
            ensure!(
                reason.contains(&*name),
                "{reason:?} does not name the winner"
            );
        }
        ensure!(!table.reason(&[]).is_empty(), "no reason without names");
        Ok(())
    })
}

pub(crate) fn a_copy_is_a_table_of_its_own(listing: &Listing) -> Result<(), String> {
    for_each_position(listing, |table| {
        let before = table.position();
        let mut copy = table.boxed_clone();
        ensure!(
            copy.position() == before,
            "the copy of {before} is {}",
            copy.position()
        );
        step(&mut *copy, &mut Dice::lowest())?;
        ensure!(
            table.position() == before,
            "playing on a copy changed {before}"
        );
        Ok(())
    })
}

pub(crate) fn settings_are_read_with_care(listing: &Listing) -> Result<(), String> {
    let defaults = (listing.default_settings)();
    let first = open(listing, &Value::Null)?.position();
    for same in [&json!({}), &defaults] {
        ensure!(
            open(listing, same)?.position() == first,
            "`{same}` is not the default game"
        );
    }
    for other in [json!(true), json!(1), json!("x"), json!([])] {
        let refused = matches!((listing.open)(&other), Err(BadSettings::NotAnObject { .. }));
        ensure!(refused, "`{other}` was taken for settings");
    }
    let unknown = (listing.open)(&json!({"no_such_key": 1}));
    let named =
        matches!(&unknown, Err(BadSettings::UnknownKey { key, .. }) if key == "no_such_key");
    ensure!(named, "an unknown key led to {unknown:?}");
    let Value::Object(defaults) = defaults else {
        return Err(format!("`{defaults}` is not an object"));
    };
    for key in defaults.keys() {
        let refusal = (listing.open)(&json!({ key: {"no": ["such", "value"]} }));
        let named = matches!(&refusal, Err(BadSettings::WrongValue { key: at, .. }) if at == key);
        ensure!(named, "a senseless `{key}` led to {refusal:?}");
    }
    Ok(())
}

pub(crate) fn the_rules_agree_with_the_play(listing: &Listing) -> Result<(), String> {
    let rules = listing.rules;
    for name in [rules.game_type, rules.move_type] {
        let snake = name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        ensure!(
            snake && !name.is_empty(),
            "{name:?} is not a name for the wire"
        );
    }
    ensure!(
        (1..=rules.max_players).contains(&rules.min_players),
        "no number of players fits"
    );
    ensure!(rules.max_round_time_sec > 0, "no time to play");
    let module = rules.rules_module.strip_prefix("league_games::");
    ensure!(
        module == Some(rules.game_type),
        "{} is not the module",
        rules.rules_module
    );
    for seed in 0..SEEDS {
        let mut moves = 0;
        for table in playout(listing, seed)? {
            let owing = owing(&*table).len();
            // The first of a simultaneous turn moves while all owe a move, the last one alone.
            let due = if rules.simultaneous { 2 - moves % 2 } else { 1 };
            ensure!(
                owing == 0 || owing == due,
                "`simultaneous` is {}, and {owing} seats owe a move after {moves} moves",
                rules.simultaneous
            );
            moves += usize::from(owing > 0);
        }
        let most = open(listing, &Value::Null)?.max_moves();
        ensure!(
            moves <= most as usize && most <= rules.max_moves,
            "seed {seed} took {moves} moves, more than `max_moves`"
        );
    }
    for_each_position(listing, |table| {
        ensure!(
            table.rules() == rules,
            "the table has other rules than the listing"
        );
        for seat in seats(listing) {
            ensure!(
                table.view(seat).is_object(),
                "seat {seat} sees `{}`",
                table.view(seat)
            );
            for option in table.options(seat) {
                let named = rules
                    .valid_choices
                    .iter()
                    .any(|choice| names(choice, &option));
                ensure!(named, "`{option}` is not among {:?}", rules.valid_choices);
            }
        }
        Ok(())
    })
}

/// The rules text alone must do: it names each choice, each member of a view and each way to end.
pub(crate) fn the_rules_text_is_complete(listing: &Listing) -> Result<(), String> {
    let text = listing.rules.rules_text;
    let names = |word: &str| text.contains(&format!("`{word}`"));
    for word in ["ends", "wins", "draw", "The view:", "A move is"] {
        ensure!(text.contains(word), "the rules text does not say {word:?}");
    }
    let opening = open(listing, &Value::Null)?.view(Seat::A).to_string();
    for choice in listing.rules.valid_choices {
        let ends = choice
            .split_once('-')
            .filter(|(low, _)| low.parse::<u64>().is_ok());
        let is_named = match ends {
            Some((low, high)) => names(low) && names(high),
            // A long list of words may stand in the view instead.
            None => names(choice) || opening.contains(&format!("\"{choice}\"")),
        };
        ensure!(
            is_named,
            "the rules text does not name the choice `{choice}`"
        );
    }
    for_each_position(listing, |table| {
        for seat in seats(listing) {
            let Value::Object(view) = table.view(seat) else {
                return Err("the view is not an object".to_owned());
            };
            for (member, value) in &view {
                ensure!(names(member), "the rules text does not explain `{member}`");
                let first = value.as_array().and_then(|list| list.first());
                for inner in first
                    .and_then(Value::as_object)
                    .into_iter()
                    .flat_map(Map::keys)
                {
                    ensure!(names(inner), "the rules text does not explain `{inner}`");
                }
            }
        }
        Ok(())
    })
}

/// Whether a choice of the registry, a word or a range such as `0-8`, names this move.
fn names(choice: &str, mv: &Value) -> bool {
    match (mv, choice.split_once('-')) {
        (Value::String(word), _) => word == choice,
        (Value::Number(number), Some((low, high))) => {
            let ends = low.parse::<u64>().ok().zip(high.parse::<u64>().ok());
            ends.zip(number.as_u64())
                .is_some_and(|((low, high), n)| (low..=high).contains(&n))
        }
        _ => false,
    }
}

/// Whether a refusal fits this turn.
fn fits(refusal: &Result<(), Illegal>, turn: &Turn, seat: Seat) -> bool {
    match (refusal, turn) {
        (Err(Illegal::Over), Turn::Over(_)) => true,
        (Err(Illegal::NotYourTurn { seat: told }), Turn::Dice) => *told == seat,
        (Err(Illegal::NotYourTurn { seat: told }), Turn::Seats(owing)) => {
            *told == seat && !owing.contains(&seat)
        }
        (Err(Illegal::NotAMove { .. } | Illegal::NotLegalHere { .. }), Turn::Seats(owing)) => {
            owing.contains(&seat)
        }
        _ => false,
    }
}

/// Opens a table with these settings, or says why not.
pub(crate) fn open(listing: &Listing, settings: &Value) -> Result<Box<dyn Table>, String> {
    (listing.open)(settings).map_err(|refusal| refusal.to_string())
}

/// Plays a game by chance and keeps every position of it, the first and the last included.
pub(crate) fn playout(listing: &Listing, seed: u64) -> Result<Vec<Box<dyn Table>>, String> {
    let mut dice = Dice::seeded(seed);
    let mut table = open(listing, &Value::Null)?;
    let mut positions = vec![table.boxed_clone()];
    for _ in 0..MAX_STEPS {
        if !step(&mut *table, &mut dice)? {
            return Ok(positions);
        }
        positions.push(table.boxed_clone());
    }
    Err(format!("seed {seed} has not ended after {MAX_STEPS} steps"))
}

/// Plays one offered move or rolls once, all by chance; false once the game is over.
fn step(table: &mut dyn Table, dice: &mut Dice) -> Result<bool, String> {
    match table.turn() {
        Turn::Over(_) => return Ok(false),
        Turn::Dice => table.roll(dice),
        Turn::Seats(seats) => {
            let seat = *dice.pick(&seats).ok_or("nobody's turn")?;
            let options = table.options(seat);
            let mv = dice
                .pick(&options)
                .ok_or("a seat owes a move and has none")?;
            table
                .play(seat, mv)
                .map_err(|refusal| refusal.to_string())?;
        }
    }
    Ok(true)
}

/// Looks at every position of many random games.
pub(crate) fn for_each_position(
    listing: &Listing,
    look: impl Fn(&dyn Table) -> Result<(), String>,
) -> Result<(), String> {
    let mut looked = 0;
    for seed in 0..SEEDS {
        if looked >= MAX_POSITIONS {
            break;
        }
        let positions = playout(listing, seed)?;
        for table in &positions {
            look(&**table).map_err(|complaint| format!("seed {seed}: {complaint}"))?;
        }
        looked += positions.len();
    }
    Ok(())
}

/// The seats that owe a move.
pub(crate) fn owing(table: &dyn Table) -> Vec<Seat> {
    match table.turn() {
        Turn::Seats(seats) => seats.to_vec(),
        Turn::Dice | Turn::Over(_) => Vec::new(),
    }
}

/// The seats that the game can have.
pub(crate) fn seats(listing: &Listing) -> Vec<Seat> {
    (0..listing.rules.max_players).map(Seat::new).collect()
}

fn seats_and_strangers(listing: &Listing) -> Vec<Seat> {
    let mut seats = seats(listing);
    seats.extend([Seat::new(listing.rules.max_players), Seat::new(255)]);
    seats
}

/// Every move that any seat has now, some it had or will have, misspellings, and plain garbage.
pub(crate) fn moves_and_garbage(table: &dyn Table) -> Vec<Value> {
    let mut values = vec![
        json!(null),
        json!(true),
        json!(false),
        json!(-1),
        json!(0.5),
        json!(1e300),
        json!(u64::MAX),
        json!(""),
        json!("no such move"),
        json!([]),
        json!({}),
        json!([[[null]]]),
        json!({"move": {"choice": 1}}),
    ];
    values.extend((0..=10).map(|number| json!(number)));
    for choice in table.rules().valid_choices {
        let word = json!(choice);
        values.extend([
            json!([word]),
            json!({ *choice: null }),
            json!(choice.to_uppercase()),
        ]);
        values.extend([json!(format!(" {choice}")), word]);
    }
    values
}
