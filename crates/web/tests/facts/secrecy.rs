//! What a viewer could know of a match whose moves are hidden, on every page, in the feed, in tables
//! and by questions to the manager: the manager's journal has the moves before the result.

use league_core::league::Event;
use league_protocol::id::MatchId;
use league_protocol::message::{LeagueQuery, Query};
use league_testkit::league::LeagueWorld;
use league_testkit::report::played;
use league_web::league_view::{LeagueObservations, LeagueView, RefereeRecord};
use league_web::model::TranscriptMessage;
use league_web::page::{self, Links};
use league_web::replay::Recorder;
use league_web::tables::{self, TableKind};
use serde_json::{Value, json};

use crate::season::{after, at, begun, empty_view};

/// What a referee's file has of the match: moves and all.
fn record(choice: &Value) -> RefereeRecord {
    RefereeRecord {
        messages: vec![TranscriptMessage {
            at: at(1),
            from: "player:P01".to_owned(),
            to: "referee:REF01".to_owned(),
            kind: "CHOOSE_PARITY_RESPONSE".to_owned(),
            message: json!({ "parity_choice": choice }),
            original: None,
            lost: false,
            resumed: false,
        }],
        ..RefereeRecord::default()
    }
}

fn answers(world: &LeagueWorld) -> String {
    let player = world.league.players()[0].id().clone();
    let queries = [
        Query::Standings,
        Query::Schedule,
        Query::NextMatch(player.clone()),
        Query::PlayerStats(player),
        Query::Games,
    ];
    let answers = queries.map(|query| {
        let query = LeagueQuery {
            league_id: None,
            query,
            by_api_page: false,
        };
        format!("{:?}", world.league.inform(&query))
    });
    answers.concat()
}

/// All that viewers can read of a league.
fn known(world: &LeagueWorld, choice: &Value) -> String {
    let (view, seen) = (after(world), LeagueObservations::default());
    let board = view.board(&seen, at(100));
    let parts = page::board_parts(&board, Links::Site);
    let match_page = |id: &str| {
        let id = MatchId::new(id).unwrap();
        let shown = view.match_page(&id, Some(record(choice)), &seen).unwrap();
        page::match_page(&shown, Links::Site)
    };
    let player_page = |id| {
        let shown = view.player_page(id, &seen).unwrap();
        page::player_page(&shown, Links::Site)
    };
    let players = view.league().players().iter();
    let round = view.round_page(1, &seen).unwrap();
    [
        page::board(&board, &parts, Links::Site),
        serde_json::to_string(&parts.whole()).unwrap(),
        page::stage(&view.stage(&seen, at(100))),
        match_page("R1M1"),
        match_page("R1M2"),
        players.map(|player| player_page(player.id())).collect(),
        page::round_page(&round, Links::Site),
        exports(&view),
        format!("{:?}", recording(world).finish()),
        answers(world),
    ]
    .concat()
}

fn exports(view: &LeagueView) -> String {
    [
        tables::csv(view, TableKind::Standings),
        tables::csv(view, TableKind::Matches),
        tables::json(view).to_string(),
        tables::markdown(view),
    ]
    .concat()
}

fn recording(world: &LeagueWorld) -> Recorder<'static> {
    static SEEN: std::sync::LazyLock<LeagueObservations> =
        std::sync::LazyLock::new(Default::default);
    let mut recorder = Recorder::new(empty_view("even_odd"), &SEEN, Links::Site);
    world.journal().for_each(|event| recorder.apply(event));
    recorder
}

/// All that is known when the moves of a match are handed over, and when it has its result.
fn known_by(choices: [&str; 2]) -> [String; 2] {
    let mut world = begun(4);
    let (referee, order) = world.order("R1M1");
    world.answer_order(&referee, &order, true);
    let choices = choices.map(Value::from);
    let report = played(&order, choices.clone());
    world.hand_over(&referee, &report);
    let is_handed = |event: &Event| matches!(event, Event::MovesReceived { .. });
    assert!(world.journal().any(is_handed), "the manager has the moves");
    let before = known(&world, &choices[0]);
    world.report(&referee, report).unwrap();
    [before, known(&world, &choices[0])]
}

#[test]
fn viewers_know_the_same_whatever_was_chosen_until_the_result_is_taken() {
    let all = [
        ["even", "even"],
        ["even", "odd"],
        ["odd", "even"],
        ["odd", "odd"],
    ];
    let known = all.map(known_by);
    for [before, after] in &known {
        // Not a comparison that prints both: they are whole pages.
        assert!(*before == known[0][0], "a choice is seen before the result");
        assert!(before != after, "the result is seen");
    }
    let [_, first] = &known[0];
    let differs = |after: &String| after != first;
    assert!(known[1..].iter().all(|[_, after]| differs(after)));
}
