//! Results, figures and opponents.

use std::collections::BTreeMap;

use league_core::player::{
    Command, DISTINCT_CHOICES, KNOWN_ENDS, MAX_CHOICE, MatchOutcome, MemoryRule, PlayerNotice,
    PlayerRules, RECENT_CHOICES, Refusal, Reply, Statistics,
};
use league_protocol::fault::Code;
use league_protocol::message::{ByPlayer, GameOver, MatchStatus};
use serde_json::{Value, json};

use league_testkit::player::*;

/// The player comes to a match, and the match ends.
fn ends(shell: &mut PlayerWorld, over: GameOver) {
    shell.does(invited(over.match_id.as_str(), Some(MATCH_TOKEN)));
    assert_eq!(
        shell.told(PlayerNotice::GameOver(over.into())),
        Ok(Reply::Acknowledged)
    );
}

fn statistics(shell: &PlayerWorld) -> Statistics {
    *shell.player.memory().statistics()
}

#[test]
fn match_result_is_remembered_once() {
    let mut shell = PlayerWorld::enrolled(rules());
    shell.does(invited("R1M1", None));
    let over = over("R1M1", 1, MatchStatus::Win, Some("P01"));
    ends(&mut shell, over.clone());
    let view = shell.player.view();
    assert!(view.open_matches.is_empty());
    let [record] = view.history.as_slice() else {
        panic!("{view:?}")
    };
    assert_eq!(record.match_id, match_id("R1M1"));
    assert_eq!(record.opponent_id, player("P02"));
    assert_eq!(record.result, MatchOutcome::Win);
    assert_eq!(record.points, 3);
    assert_eq!(record.my_choice, Some(json!("even")));
    assert_eq!(record.opponent_choice, Some(json!("odd")));
    assert_eq!(record.at, shell.now);
    let lines = shell.journal.len();
    ends(&mut shell, over);
    assert_eq!(shell.journal.len(), lines);
    assert_eq!(statistics(&shell).total_matches, 1);
}

#[test]
fn match_replayed_by_another_referee_counts_once() {
    let mut shell = PlayerWorld::enrolled(rules());
    ends(&mut shell, over("R1M1", 1, MatchStatus::Win, Some("P01")));
    shell.does(invited("R1M1", None));
    let asked = wants(call(&shell, "R1M1", 1));
    assert!(matches!(shell.does(asked), Reply::Think(_)));
    ends(&mut shell, over("R1M1", 1, MatchStatus::Draw, None));
    assert!(shell.player.view().open_matches.is_empty());
    assert_eq!(statistics(&shell).total_matches, 1);
}

#[test]
fn every_kind_of_result_is_counted() {
    let mut shell = PlayerWorld::enrolled(rules());
    use MatchStatus::{Draw, TechnicalLoss, Win};
    for (round, status, winner) in [
        (1, Win, Some("P01")),
        (2, Win, Some("P02")),
        (3, Draw, None),
        (4, TechnicalLoss, Some("P01")),
        (5, TechnicalLoss, Some("P02")),
        (6, TechnicalLoss, None),
    ] {
        ends(
            &mut shell,
            over(&format!("R{round}M1"), round, status, winner),
        );
    }
    let expected = Statistics {
        total_matches: 6,
        wins: 2,
        losses: 3,
        draws: 1,
        technical_losses: 2,
        points: 7,
    };
    assert_eq!(statistics(&shell), expected);
    let verdicts: Vec<_> = shell.player.memory().history().map(|r| r.result).collect();
    use MatchOutcome::Loss;
    assert_eq!(
        verdicts,
        [
            MatchOutcome::Win,
            Loss,
            MatchOutcome::Draw,
            MatchOutcome::Win,
            MatchOutcome::TechnicalLoss,
            MatchOutcome::TechnicalLoss
        ]
    );
}

#[test]
fn second_seat_sees_the_match_from_its_own_side() {
    let mut shell = PlayerWorld::enrolled(rules());
    let seat_b = changed(over("R1M1", 1, MatchStatus::Win, Some("P01")), |result| {
        result.players = [player("P02"), player("P01")];
        result.points = [0, 3];
    });
    ends(&mut shell, seat_b);
    assert_eq!(statistics(&shell).points, 3);
    assert!(shell.player.memory().opponent(&player("P02")).is_some());
}

#[test]
fn impossible_result_is_refused() {
    let mut shell = PlayerWorld::enrolled(rules());
    shell.told(announcement("R1M1")).unwrap();
    let won = || over("R1M1", 1, MatchStatus::Win, Some("P01"));
    let stranger = GameOver {
        receiver: player("P02"),
        ..won()
    };
    let elsewhere = changed(won(), |result| {
        result.players = [player("P02"), player("P03")];
    });
    let nobody = over("R1M1", 1, MatchStatus::Win, None);
    for (over, code) in [
        (stranger, Code::TokenInvalid),
        (elsewhere, Code::MatchNotFound),
        (nobody, Code::InvalidMessage),
    ] {
        let refusal = shell.told(PlayerNotice::GameOver(over.into())).unwrap_err();
        assert_eq!(refusal.to_league_error().code, code);
    }
    let unproven = shell.tries(Command::Told {
        news: PlayerNotice::GameOver(won().into()),
        token: None,
    });
    assert!(matches!(unproven, Err(Refusal::NoToken { .. })));
    assert_eq!(statistics(&shell), Statistics::default());
}

#[test]
fn missing_choice_is_none() {
    let mut shell = PlayerWorld::enrolled(rules());
    let absent = over("R1M1", 1, MatchStatus::TechnicalLoss, Some("P01"));
    let absent = changed(absent, |result| {
        result.choices = ByPlayer::from([(player("P02"), Value::Null)]);
    });
    ends(&mut shell, absent);
    let memory = shell.player.memory();
    let record = memory.history().next().unwrap();
    assert_eq!((&record.my_choice, &record.opponent_choice), (&None, &None));
    let opponent = memory.opponent(&player("P02")).unwrap();
    assert!(opponent.counts.is_empty() && opponent.recent.is_empty());
}

#[test]
fn opponents_choices_are_counted_and_passed_to_the_strategy() {
    let mut shell = PlayerWorld::enrolled(rules());
    for (round, choice) in [(1, "odd"), (2, "even"), (3, "odd")] {
        let id = format!("R{round}M1");
        let over = changed(over(&id, round, MatchStatus::Draw, None), |result| {
            result.choices.insert(player("P02"), json!(choice));
        });
        ends(&mut shell, over);
    }
    let asked = wants(call(&shell, "R4M1", 1));
    let Reply::Think(think) = shell.does(asked) else {
        panic!()
    };
    let opponent = think.opponent.unwrap();
    let counts = BTreeMap::from([("even".to_owned(), 1), ("odd".to_owned(), 2)]);
    assert_eq!(opponent.counts, counts);
    assert_eq!(opponent.recent, [json!("odd"), json!("even"), json!("odd")]);
    assert_eq!(opponent.against.draws, 3);
    assert_eq!(shell.player.memory().opponent(&player("P03")), None);
}

#[test]
fn moves_are_counted_and_kept_within_bounds() {
    let mut shell = PlayerWorld::enrolled(rules());
    let mut plays = |round: u32, choice: Value| {
        let over = changed(
            over(&format!("R{round}M1"), round, MatchStatus::Draw, None),
            |result| {
                result.choices.insert(player("P02"), choice);
            },
        );
        ends(&mut shell, over);
        let memory = shell.player.memory();
        (**memory.opponent(&player("P02")).unwrap()).clone()
    };
    let after = plays(1, json!([4, 0, 4]));
    assert_eq!(after.counts.get("4"), Some(&2));
    assert_eq!(after.recent.len(), 3);
    let after = plays(2, json!("x".repeat(MAX_CHOICE + 1)));
    assert_eq!(after.recent.len(), 3);
    let after = plays(3, (0..100_000).collect());
    assert_eq!(after.recent.len(), RECENT_CHOICES);
    assert_eq!(after.recent.back(), Some(&json!(99_999)));
    assert_eq!(after.counts.len(), DISTINCT_CHOICES);
}

#[test]
fn history_and_opponents_are_bounded_and_sums_are_not() {
    let mut shell = PlayerWorld::enrolled(PlayerRules {
        memory: MemoryRule {
            matches: 3,
            opponents: 2,
        },
        ..rules()
    });
    for (round, opponent) in [(1, "P02"), (2, "P03"), (3, "P02"), (4, "P04"), (5, "P02")] {
        let id = format!("R{round}M1");
        let over = changed(over(&id, round, MatchStatus::Win, Some("P01")), |result| {
            result.players[1] = player(opponent);
        });
        ends(&mut shell, over);
    }
    let memory = shell.player.memory();
    let rounds: Vec<_> = memory.history().map(|record| record.round_id).collect();
    assert_eq!(rounds, [3, 4, 5]);
    assert_eq!(memory.statistics().wins, 5);
    assert_eq!(memory.opponent(&player("P03")), None);
    assert_eq!(memory.opponent(&player("P02")).unwrap().against.wins, 3);
    assert_eq!(shell.journal.len(), 1 + 5);
}

#[test]
fn memory_can_be_limited_to_sums() {
    let mut shell = PlayerWorld::enrolled(PlayerRules {
        memory: MemoryRule {
            matches: 0,
            opponents: 0,
        },
        ..rules()
    });
    ends(&mut shell, over("R1M1", 1, MatchStatus::Draw, None));
    assert_eq!(shell.player.memory().history().len(), 0);
    assert_eq!(shell.player.memory().opponent(&player("P02")), None);
    assert_eq!(statistics(&shell).draws, 1);
}

#[test]
fn very_late_repeat_is_recognised() {
    let mut shell = PlayerWorld::enrolled(rules());
    let rounds = u32::try_from(KNOWN_ENDS).unwrap() + 10;
    let won = |round: u32| over(&format!("R{round}M1"), round, MatchStatus::Win, Some("P01"));
    for round in 1..=rounds {
        ends(&mut shell, won(round));
    }
    for round in 1..=rounds {
        ends(&mut shell, won(round));
    }
    assert_eq!(statistics(&shell).wins, rounds);
}

#[test]
fn points_add_up_without_overflow() {
    let mut shell = PlayerWorld::enrolled(rules());
    for round in 1..=2 {
        let id = format!("R{round}M1");
        let over = changed(over(&id, round, MatchStatus::Win, Some("P01")), |result| {
            result.points = [u32::MAX, 0];
        });
        ends(&mut shell, over);
    }
    assert_eq!(statistics(&shell).points, 2 * u64::from(u32::MAX));
}
