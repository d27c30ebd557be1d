//! What a verdict says: what is proven, what is only told, what is missing.

use std::fs;

use league_core::league::Event;
use league_protocol::id::MatchId;
use league_protocol::secret::DrawMode;
use league_testkit::LeagueWorld;
use league_testkit::league::rules;
use league_testkit::report::{ended, honest};
use serde_json::{Value, json};

use crate::storage::record::Record;
use crate::storage::verify::Conclusion;
use crate::tests::verify::real::RealLeague;
use crate::tests::verify::witnesses::decided;
use crate::tests::verify::{Place, records, records_of};

/// The exit code of `league verify`, and what it prints.
fn verify(root: &str, more: &[&str]) -> (u8, String) {
    let (mut out, mut errors) = (Vec::new(), Vec::new());
    let arguments = [&["league", "verify", root], more].concat();
    let code = crate::cli::run(arguments, &mut out, &mut errors);
    (code, String::from_utf8(out).unwrap())
}

fn verify_played(played: &RealLeague, more: &[&str]) -> (u8, String) {
    verify(played.path("").to_str().unwrap(), more)
}

#[test]
fn ordinary_league_is_verified_with_all_its_proofs() {
    let played = RealLeague::league();
    let (code, out) = verify_played(&played, &["--complete", "--quiet"]);
    assert_eq!(code, 0, "{out}");
    assert_eq!(
        out,
        "league_2025_even_odd: verified: 6 matches, 6 with both players' proofs, 6 with the \
         referee's journal; reproducible from a seed, not for prizes\n"
    );
    let (_, out) = verify_played(&played, &["--output", "json"]);
    let verdict: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(verdict["verdict"], "verified");
    assert_eq!(verdict["verified"], true);
    assert_eq!(verdict["finished"], true);
    assert_eq!(verdict["mode"], "reproducible");
    assert_eq!(verdict["open_referees"], false);
    assert_eq!(verdict["not_compared"], json!([]));
    assert_eq!(verdict["attempts_above_1"], json!([]));
    assert_eq!(
        verdict["matches"],
        json!({"proven": 6, "one_proof": 0, "referee_record": 0, "told": 0})
    );
}

#[test]
fn missing_journal_of_a_referee_makes_a_league_incomplete() {
    let played = RealLeague::league();
    let (_, referee) = decided(&played);
    fs::remove_dir_all(played.path_of_referee(&referee).parent().unwrap()).unwrap();
    let (code, out) = verify_played(&played, &["--quiet"]);
    assert_eq!(code, 4, "{out}");
    let missing = format!("; missing: journal of {referee}\n");
    assert!(
        out.contains(": consistent, not complete: 6 matches, 6 with both"),
        "{out}"
    );
    assert!(out.ends_with(&missing), "{out}");
    let (code, _) = verify_played(&played, &["--quiet", "--complete"]);
    assert_eq!(code, 1);
    let verdict = played.verdict();
    assert_eq!(verdict.verdict, Conclusion::Incomplete);
    assert!(!verdict.verified);
    assert_eq!(
        verdict.not_compared[0].kind.what(),
        format!("results of `{referee}`")
    );
}

#[test]
fn memories_and_documents_are_further_evidence_only() {
    let played = RealLeague::league();
    for extra in ["data/players", "data/matches"] {
        fs::remove_dir_all(played.path(extra)).unwrap();
    }
    fs::remove_file(played.league_file("standings.json")).unwrap();
    let verdict = played.verdict();
    assert_eq!(verdict.verdict, Conclusion::Verified);
    assert_eq!(verdict.not_compared, []);
    assert_eq!(verdict.checked.not_compared.len(), 3);
}

#[test]
fn results_of_players_without_proofs_rest_on_their_referees() {
    let played = RealLeague::without_proofs();
    let verdict = played.verdict();
    assert_eq!(verdict.verdict, Conclusion::Verified);
    assert_eq!(
        (verdict.matches.referee_record, verdict.matches.told),
        (6, 0)
    );
    played.remove_referees();
    let verdict = played.verdict();
    assert_eq!(verdict.verdict, Conclusion::Incomplete);
    assert_eq!(
        (verdict.matches.referee_record, verdict.matches.told),
        (0, 6)
    );
    assert!(
        verdict
            .sentence()
            .contains("0 with the referee's journal, 6 only told"),
        "{}",
        verdict.sentence()
    );
}

#[test]
fn second_attempt_is_listed_with_its_reason() {
    let mut world = LeagueWorld::begun(4, 2, 1);
    let (referee, order) = world.order("R1M1");
    world.answer_order(&referee, &order, true);
    let mut report = ended(&order, Some(&order.players[0].player_id));
    std::sync::Arc::make_mut(&mut report.result).points = [7, 0];
    world.report_refused(&referee, report);
    world.settle();
    world.play_by(honest);
    let verdict = Place::holding(&records_of(&world)).verdict();
    assert_eq!(verdict.wrong, None);
    let [repeated] = &verdict.attempts_above_1[..] else {
        panic!("{verdict:?}");
    };
    assert_eq!(repeated.match_id, MatchId::numbered(1, 1));
    assert_eq!((repeated.attempts, repeated.why), (2, "report refused"));
    assert!(
        verdict
            .sentence()
            .contains("; 1 match begun more than once"),
        "{}",
        verdict.sentence()
    );
}

#[test]
fn league_open_to_any_referee_says_so() {
    let mut rules = rules();
    rules.open_referees = true;
    let mut world = LeagueWorld::begun_by(rules, 4, 2, 1);
    world.play_by(honest);
    let verdict = Place::holding(&records_of(&world)).verdict();
    assert!(verdict.open_referees);
    assert_eq!(verdict.mode, Some(DrawMode::Chance));
    assert!(verdict.sentence().contains("; open to any referee"));
}

#[test]
fn unfinished_league_says_how_far_it_is() {
    let records = records();
    let result =
        |record: &Record<Event>| matches!(record, Record::Event(Event::ResultRecorded { .. }));
    let first = records.iter().position(result).unwrap();
    let verdict = Place::holding(&records[..=first]).verdict();
    assert_eq!(verdict.wrong, None);
    assert!(
        verdict.sentence().starts_with("unfinished, ") && !verdict.finished,
        "{}",
        verdict.sentence()
    );
    assert!(
        verdict.sentence().contains(": 1 of 6 matches, "),
        "{}",
        verdict.sentence()
    );
}
