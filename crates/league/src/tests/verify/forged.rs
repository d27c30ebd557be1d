//! Leagues that were forged against the rules of the draw: choices, nonces, proofs, keys, modes,
//! attempts and admissions, each chained anew.

use league_core::league::{Admission, Event, Reassignment};
use league_protocol::id::{MatchId, RefereeId};
use league_protocol::message::{MatchResult, SignedMove};
use league_protocol::secret::{DrawMode, Proof, ProofKey};
use league_testkit::LeagueWorld;
use league_testkit::league::rules;
use league_testkit::report::honest;
use serde_json::json;

use crate::storage::record::Record;
use crate::storage::verify::Wrong;
use crate::tests::verify::{
    Place, assert_line, first_result, line_of, records_of, result_of, signed_records, wrong_after,
};

type Records = Vec<Record<Event>>;

fn after(change: impl FnOnce(&mut Records)) -> Wrong {
    wrong_after(signed_records(), change)
}

/// The line of the first hand-over.
fn first_hand_over(records: &[Record<Event>]) -> usize {
    line_of(records, |event| {
        matches!(event, Event::MovesReceived { .. })
    })
}

/// The moves of the first hand-over.
fn handed(records: &mut Records) -> &mut Vec<SignedMove> {
    let line = first_hand_over(records);
    match &mut records[line - 1] {
        Record::Event(Event::MovesReceived { moves, .. }) => moves,
        other => panic!("{other:?}"),
    }
}

/// Changes the first match in its hand-over and in its result.
fn everywhere(records: &mut Records, change: fn(&mut SignedMove)) {
    change(&mut handed(records)[1]);
    let line = first_result(records);
    change(&mut result_of(records, line).evidence.moves[1]);
}

fn turn(made: &mut SignedMove) {
    let other = if made.choice == "even" { "odd" } else { "even" };
    made.choice = json!(other);
}

fn moved(match_id: &str, to: u32, attempt: u32) -> Record<Event> {
    Record::Event(Event::MatchesMoved {
        moves: vec![Reassignment {
            match_id: MatchId::new(match_id).unwrap(),
            to: Some(RefereeId::numbered(to)),
            attempt,
        }],
        next: None,
        at: league_protocol::time::Timestamp::default(),
    })
}

#[test]
fn league_of_players_that_sign_holds() {
    let verdict = Place::holding(&signed_records()).verdict();
    assert_eq!(verdict.wrong, None);
    assert_eq!(verdict.matches.proven, 6);
}

#[test]
fn result_that_tells_other_moves_than_were_handed_over_is_named() {
    let line = first_result(&signed_records());
    let changes: [fn(&mut SignedMove); 3] = [
        turn,
        |made| made.nonce = Some("another".to_owned()),
        |made| made.proof = Some(Proof([1; 32])),
    ];
    for change in changes {
        let wrong = after(|records| change(&mut handed(records)[1]));
        assert_line(
            &wrong,
            line,
            "must agree with the moves that were handed over",
        );
        let wrong = after(|records| change(&mut result_of(records, line).evidence.moves[1]));
        assert_line(
            &wrong,
            line,
            "must agree with the moves that were handed over",
        );
    }
}

#[test]
fn result_without_a_hand_over_is_named() {
    let hand_over = first_hand_over(&signed_records());
    let wrong = after(|records| drop(records.remove(hand_over - 1)));
    let line = first_result(&signed_records()) - 1;
    assert_line(&wrong, line, "the moves must be handed over first");
}

#[test]
fn proof_or_key_that_does_not_fit_is_named() {
    let line = first_result(&signed_records());
    let wrong = after(|records| everywhere(records, |made| made.proof = Some(Proof([1; 32]))));
    assert_line(&wrong, line, "the proof of `P02` is missing or wrong");
    let wrong = after(|records| everywhere(records, |made| made.proof = None));
    assert_line(&wrong, line, "the proof of `P02` is missing or wrong");
    let changes: [fn(&mut MatchResult); 3] = [
        |result| result.evidence.players[0].key = Some(ProofKey([1; 32])),
        |result| result.evidence.players[0].key = None,
        |result| result.evidence.players[0].join = Some(Proof([1; 32])),
    ];
    for change in changes {
        let wrong = after(|records| change(result_of(records, line)));
        assert_line(&wrong, line, "the proof of `P01` is missing or wrong");
    }
}

#[test]
fn choice_or_nonce_changed_everywhere_is_named() {
    let line = first_result(&signed_records());
    // The forger makes all follow again but the proof, for which it has no key in time.
    let wrong = after(|records| {
        everywhere(records, turn);
        let result = result_of(records, line);
        let [a, b] = result.players.clone();
        let choice = result.evidence.moves[1].choice.clone();
        assert_eq!(result.choices[&a], choice, "both chose alike: a draw");
        result.choices.insert(b, choice);
        result.status = league_protocol::message::MatchStatus::Draw;
        result.winner = None;
        result.points = [1, 1];
    });
    assert_line(&wrong, line, "the proof of `P02` is missing or wrong");
    let wrong = after(|records| {
        everywhere(records, |made| made.nonce = Some("another".to_owned()));
        let draw = result_of(records, line).draw.as_mut().unwrap();
        draw.nonces[1] = "another".to_owned();
    });
    assert!(wrong.line == Some(line as u64), "{}", wrong.what);
}

#[test]
fn changed_mode_breaks_the_promise() {
    let line = first_result(&signed_records());
    let wrong = after(|records| {
        result_of(records, line).draw.as_mut().unwrap().mode = DrawMode::Reproducible;
    });
    assert_line(&wrong, line, "not the one that was promised");
}

#[test]
fn attempt_after_the_deciding_hand_over_is_named() {
    let hand_over = first_hand_over(&signed_records());
    let wrong = after(|records| records.insert(hand_over, moved("R1M1", 2, 2)));
    assert_line(&wrong, hand_over + 1, "goes to no other referee");
    // A hand-over that is said not to decide the match does not fit its result.
    let wrong = after(|records| match &mut records[hand_over - 1] {
        Record::Event(Event::MovesReceived { last, .. }) => *last = false,
        other => panic!("{other:?}"),
    });
    let line = first_result(&signed_records());
    assert_line(
        &wrong,
        line,
        "must agree with the moves that were handed over",
    );
    let wrong = after(|records| {
        let again = records[hand_over - 1].clone();
        records.insert(hand_over, again);
    });
    assert_line(
        &wrong,
        hand_over + 1,
        "must agree with the moves that were handed over",
    );
}

#[test]
fn attempts_are_numbered_without_a_gap() {
    let hand_over = first_hand_over(&signed_records());
    let wrong = after(|records| records.insert(hand_over - 1, moved("R1M1", 2, 3)));
    assert_line(&wrong, hand_over, "is at attempt `2`, not `3`");
    let wrong = after(|records| match &mut records[hand_over - 1] {
        Record::Event(Event::MovesReceived { attempt, .. }) => *attempt = 2,
        other => panic!("{other:?}"),
    });
    assert_line(&wrong, hand_over, "is at attempt `1`, not `2`");
}

/// The journal of a league whose chance came from a number.
fn reproducible_records() -> Records {
    let mut rules = rules();
    rules.draws = DrawMode::Reproducible;
    let mut world = LeagueWorld::begun_by(rules, 4, 2, 1);
    world.play_by(honest);
    let mut records = records_of(&world);
    if let Record::Opened(opening) = &mut records[0] {
        opening.reproducible = true;
    }
    records
}

#[test]
fn reproducible_league_cannot_pass_as_one_of_chance() {
    let verdict = Place::holding(&reproducible_records()).verdict();
    assert_eq!(verdict.wrong, None);
    assert_eq!(verdict.mode, Some(DrawMode::Reproducible));
    let claim = |records: &mut Records, in_rules: bool, in_results: bool| {
        for record in records {
            match record {
                Record::Opened(opening) => {
                    opening.reproducible = false;
                    if in_rules {
                        opening.rules.as_mut().unwrap().draws = DrawMode::Chance;
                    }
                }
                Record::Event(Event::ResultRecorded { result, .. }) if in_results => {
                    let result = std::sync::Arc::make_mut(result);
                    result.draw.as_mut().unwrap().mode = DrawMode::Chance;
                }
                _ => {}
            }
        }
    };
    let wrong = wrong_after(reproducible_records(), |records| {
        claim(records, false, false);
    });
    assert_line(&wrong, 1, "`reproducible` is `false`");
    let line = first_result(&reproducible_records());
    for in_results in [false, true] {
        let wrong = wrong_after(reproducible_records(), |records| {
            claim(records, true, in_results);
        });
        assert_line(&wrong, line, "not the one that was promised");
    }
}

#[test]
fn referee_without_an_admission_is_named() {
    let line = line_of(&signed_records(), |event| {
        matches!(event, Event::RefereeRegistered { .. })
    });
    for claimed in [Admission::Open, Admission::Organiser] {
        let wrong = after(|records| match &mut records[line - 1] {
            Record::Event(Event::RefereeRegistered { admitted, .. }) => *admitted = claimed,
            other => panic!("{other:?}"),
        });
        assert_line(
            &wrong,
            line,
            "was admitted without key, listing or invitation",
        );
    }
    // After the start the organiser alone admits a referee.
    let started = line_of(&signed_records(), |event| {
        matches!(event, Event::LeagueStarted { .. })
    });
    let wrong = after(|records| {
        let mut late = records[line - 1].clone();
        if let Record::Event(Event::RefereeRegistered { referee_id, .. }) = &mut late {
            *referee_id = RefereeId::numbered(9);
        }
        records.insert(started, late);
    });
    assert_line(
        &wrong,
        started + 1,
        "was admitted without key, listing or invitation",
    );
}
