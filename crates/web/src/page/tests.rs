//! Pages of small leagues with hostile names.

pub(crate) mod models;
mod snapshots;

use std::collections::BTreeSet;
use std::sync::Arc;

use league_core::league::Phase;
use league_protocol::message::{Evidence, MatchResult, MatchStatus, ModelUse};

use super::*;
use crate::model::{LeagueSummary, MatchTimes, ModelSum, Stall};
use crate::report::{self, ReportContent};
use models::HOSTILE;

fn unpacked(text: &str) -> Vec<u8> {
    text.as_bytes().to_vec()
}

/// Every kind of page there is.
fn documents() -> Vec<String> {
    let board = models::board();
    let (matches, players) = (models::matches(), models::players());
    let rounds = models::rounds();
    let recording = format!(r#"{{"label":{}}}"#, serde_json::json!(HOSTILE));
    let report = ReportContent {
        board: &board,
        matches: &matches,
        players: &players,
        rounds: &rounds,
        recording: Some(&recording),
        pack: unpacked,
    };
    let site = Links::Site;
    let mut all = vec![
        super::board(&board, &board_parts(&board, site), site),
        not_found(HOSTILE, Links::Site),
        report::write(&report),
    ];
    all.extend(models::stages().iter().map(stage));
    all.extend(matches.iter().map(|page| match_page(page, site)));
    all.extend(players.iter().map(|page| player_page(page, site)));
    all.extend(rounds.iter().map(|page| round_page(page, site)));
    all
}

fn attributes<'a>(document: &'a str, name: &str) -> Vec<&'a str> {
    let start = format!(" {name}=\"");
    let values = document.split(&start).skip(1);
    values.filter_map(|rest| rest.split('"').next()).collect()
}

#[test]
fn hostile_names_are_escaped() {
    for document in documents() {
        assert!(document.contains("&lt;script&gt;"), "the name is shown");
        assert!(!document.contains("<script>alert"));
        assert!(!document.contains("\" onmouseover="));
    }
}

#[test]
fn pages_have_no_inline_styles_or_handlers() {
    for document in documents() {
        let (markup, _) = document
            .split_once("<script type=\"module\">")
            .unwrap_or((&document, ""));
        for forbidden in [" style=\"", " onclick=\"", "javascript:"] {
            assert!(!markup.contains(forbidden), "{forbidden}");
        }
    }
}

#[test]
fn ids_are_unique() {
    for document in documents() {
        let ids = attributes(&document, "id");
        let different: BTreeSet<_> = ids.iter().collect();
        assert_eq!(different.len(), ids.len(), "{ids:?}");
    }
}

#[test]
fn aria_labels_refer_to_existing_ids() {
    for document in documents() {
        let ids = attributes(&document, "id");
        for label in attributes(&document, "aria-labelledby") {
            assert!(label.split(' ').all(|id| ids.contains(&id)), "{label}");
        }
    }
}

#[test]
fn every_site_page_has_one_h1_and_one_main() {
    for document in documents().iter().filter(|page| page.contains("data-feed")) {
        assert_eq!(document.matches("<h1").count(), 1);
        assert_eq!(document.matches("<main").count(), 1);
    }
}

#[test]
fn every_part_of_the_board_is_in_the_document() {
    let board = models::board();
    let parts = board_parts(&board, Links::Site);
    let document = super::board(&board, &parts, Links::Site);
    let ids = attributes(&document, "id");
    let patch = parts.whole();
    for id in patch
        .set
        .keys()
        .map(String::as_str)
        .chain(patch.lists.keys().copied())
    {
        assert!(ids.contains(&id), "{id}");
    }
}

#[test]
fn assets_of_a_page_exist() {
    let document = not_found("match", Links::Below);
    let loaded = attributes(&document, "href")
        .into_iter()
        .chain(attributes(&document, "src"));
    let assets: Vec<_> = loaded
        .filter_map(|path| path.strip_prefix("../assets/"))
        .collect();
    assert_eq!(assets.len(), 5);
    for name in assets {
        assert!(crate::assets::find(name).is_some(), "{name}");
    }
}

#[test]
fn links_of_the_site_are_relative_to_the_place_of_its_board() {
    for (document, up) in [
        (organiser_login(None), ""),
        (organiser_login(Some("wrong")), "../"),
        (not_found("page", Links::Site), ""),
        (not_found("match", Links::Below), "../"),
    ] {
        for name in ["href", "src", "action", "data-feed"] {
            for path in attributes(&document, name) {
                let is_inside = path.starts_with('#');
                let place = path
                    .strip_prefix(up)
                    .filter(|place| !place.starts_with(['/']));
                let is_here = place.is_some_and(|place| !place.starts_with("../"));
                assert!(is_inside || is_here, "{name}={path}");
            }
        }
    }
}

#[test]
fn report_links_stay_inside_the_file() {
    let board = models::board();
    let (matches, players) = (models::matches(), models::players());
    let rounds = models::rounds();
    let report = report::write(&ReportContent {
        board: &board,
        matches: &matches,
        players: &players,
        rounds: &rounds,
        recording: None,
        pack: unpacked,
    });
    let ids = attributes(&report, "id");
    for link in attributes(&report, "href") {
        assert!(link == "data:," || link.starts_with('#'), "{link}");
    }
    assert!(ids.contains(&"match-R1M1") && ids.contains(&"player-P01") && ids.contains(&"round-2"));
}

#[test]
fn empty_board_can_be_drawn() {
    let board = models::empty_board();
    let parts = board_parts(&board, Links::Site);
    let document = super::board(&board, &parts, Links::Site);
    assert!(document.contains("No player has registered yet."));
    assert!(document.contains("Registration is open"));
}

#[test]
fn every_page_of_a_stalled_league_says_where_and_how_to_resume() {
    let halt = |league: &mut LeagueSummary| {
        league.phase = Phase::Running;
        (league.played, league.matches) = (3, 6);
        league.stall = Some(Stall {
            since: models::at(0),
            resume: "league run --resume --root it".to_owned(),
        });
    };
    let (mut board, mut page) = (models::board(), models::match_page());
    let (mut player, mut round) = (models::players().remove(0), models::rounds().remove(0));
    for league in [
        &mut board.league,
        &mut page.league,
        &mut player.league,
        &mut round.league,
    ] {
        halt(league);
    }
    let site = Links::Site;
    for document in [
        super::board(&board, &board_parts(&board, site), site),
        match_page(&page, site),
        player_page(&player, site),
        round_page(&round, site),
    ] {
        let words = "Interrupted in round 2, 3 of 6 matches played; last entry ";
        assert!(document.contains(words), "{document}");
        assert!(document.contains("<code>league run --resume --root it</code>"));
        assert!(!document.contains("Being played"));
        assert!(!document.contains("data-elapsed-ms"), "no clock runs on");
    }
}

#[test]
fn page_without_script_reloads_until_the_league_is_over() {
    let renewed = |phase| {
        let mut board = models::board();
        board.league.phase = phase;
        let parts = board_parts(&board, Links::Site);
        super::board(&board, &parts, Links::Site).contains("<noscript><meta http-equiv=\"refresh\"")
    };
    assert!(renewed(Phase::Registering) && renewed(Phase::Running));
    assert!(!renewed(Phase::Completed));
}

#[test]
fn active_agents_of_a_finished_league_are_shown_as_finished() {
    let mut board = models::board();
    board.league.phase = Phase::Completed;
    let rows = board_parts(&board, Links::Site).list_html("agent-rows");
    assert!(
        rows.contains("<td class=\"finished\">finished</td>"),
        "{rows}"
    );
    board.league.phase = Phase::Running;
    let rows = board_parts(&board, Links::Site).list_html("agent-rows");
    assert!(rows.contains("<td class=\"active\">active</td>"), "{rows}");
}

#[test]
fn match_states_are_in_order_when_all_messages_have_one_timestamp() {
    let (referee, first, second) = ("referee:REF01", "player:P01", "player:P02");
    let said = [
        (referee, first, "GAME_INVITATION"),
        (referee, second, "GAME_INVITATION"),
        (first, referee, "GAME_JOIN_ACK"),
        (second, referee, "GAME_JOIN_ACK"),
        (referee, first, "CHOOSE_PARITY_CALL"),
        (first, referee, "CHOOSE_PARITY_RESPONSE"),
        (referee, "league_manager", "MATCH_RESULT_REPORT"),
        (referee, first, "GAME_OVER"),
    ];
    let page = MatchPage {
        times: Some(MatchTimes {
            created: Some(models::at(5)),
            started: Some(models::at(5)),
            finished: Some(models::at(5)),
        }),
        messages: said
            .map(|(from, to, kind)| models::message(5, from, to, kind))
            .into(),
        ..models::match_page()
    };
    let told = match_page::main(&page, Links::Site).into_string();
    let place = |words: &str| told.find(words).unwrap();
    let last = |words: &str| told.rfind(words).unwrap();
    assert!(place("The referee accepted") < place("GAME_INVITATION"));
    assert!(last("GAME_JOIN_ACK") < place("Both players joined"));
    assert!(place("Both players joined") < place("CHOOSE_PARITY_CALL"));
    assert!(last("CHOOSE_PARITY_RESPONSE") < place("The result is final"));
    assert!(place("The result is final") < place("MATCH_RESULT_REPORT"));
}

#[test]
fn match_without_messages_says_why() {
    let silent = MatchPage {
        messages: Vec::new(),
        ..models::match_page()
    };
    let told = |page: MatchPage| match_page::main(&page, Links::Site).into_string();
    let ruled = MatchPage {
        referee: None,
        times: None,
        ..silent.clone()
    };
    assert!(told(ruled).contains("so the manager decided the match, and no referee ran it."));
    assert!(told(silent.clone()).contains("The record of REF01 holds no messages"));
    let elsewhere = MatchPage {
        times: None,
        ..silent
    };
    assert!(told(elsewhere).contains("that record is not in this folder."));
}

fn page_with_share(share: &str) -> MatchPage {
    let mut result = models::result();
    if let Some(draw) = &mut result.draw {
        draw.nonces[0] = share.to_owned();
    }
    MatchPage {
        result: Some(Arc::new(result)),
        ..models::match_page()
    }
}

#[test]
fn plain_share_is_an_attribute() {
    let html = match_page::main(&page_with_share("a1b2"), Links::Site).into_string();
    assert!(html.contains(r#"data-nonce-a="a1b2""#));
    assert!(!html.contains("data-nonces"));
}

#[test]
fn share_that_html_would_change_is_json() {
    let html = match_page::main(&page_with_share("a\rb"), Links::Site).into_string();
    assert!(html.contains(r#"data-nonces="[&quot;a\rb&quot;,&quot;&quot;]""#));
}

#[test]
fn draw_without_a_number_has_only_its_commitment() {
    let mut result = models::result();
    result.details.clear();
    let page = MatchPage {
        result: Some(Arc::new(result)),
        ..models::match_page()
    };
    let html = match_page::main(&page, Links::Site).into_string();
    assert!(html.contains("data-commitment"));
    assert!(!html.contains("data-number") && !html.contains("data-lowest"));
}

/// The page of a match whose result was changed.
fn page_of(change: impl FnOnce(&mut MatchResult)) -> String {
    let mut result = models::result();
    change(&mut result);
    let page = MatchPage {
        result: Some(Arc::new(result)),
        ..models::match_page()
    };
    match_page::main(&page, Links::Site).into_string()
}

#[test]
fn draw_with_a_closed_seed_is_not_proven() {
    let html = page_of(|result| result.draw.as_mut().unwrap().seed = None);
    assert!(!html.contains("data-seed"));
    assert!(html.contains("Not proven: the seed of this draw was not opened."));
}

#[test]
fn moves_without_a_signature_are_as_the_referee_told_them() {
    let played = |result: &mut MatchResult| {
        result.status = MatchStatus::Win;
        result.evidence = Evidence::default();
    };
    let html = page_of(played);
    assert!(html.contains("No player signed: the moves are as the referee told them."));
    assert!(!html.contains("data-evidence"));
    let unplayed = page_of(|result| result.evidence = Evidence::default());
    assert!(!unplayed.contains("proof-verdict"));
}

#[test]
fn evidence_is_an_attribute_that_a_hostile_move_does_not_leave() {
    let html = page_of(|result| result.status = MatchStatus::Win);
    let (_, attribute) = html.split_once("data-evidence=\"").unwrap();
    let (attribute, _) = attribute.split_once('"').unwrap();
    for part in [
        "hidden&quot;:true",
        "key&quot;:",
        "choices&quot;:{",
        "&lt;script&gt;",
    ] {
        assert!(attribute.contains(part), "{part} in {attribute}");
    }
    let unplayed = page_of(|_| {});
    assert!(unplayed.contains("choices&quot;:null"));
}

#[test]
fn match_whose_draw_is_only_told_says_so() {
    let mut result = models::result();
    result.draw = None;
    let page = MatchPage {
        result: Some(Arc::new(result)),
        ..models::match_page()
    };
    let shown = match_page::main(&page, Links::Site).into_string();
    assert!(shown.contains("Draw not proven: the referee drew and told the number itself."));
    assert!(!shown.contains("data-commitment"), "{shown}");
    let mut board = models::board();
    board.league.draws_not_proven = 2;
    board.league.exposed_referees = vec!["REF01".to_owned()];
    let parts = board_parts(&board, Links::Site);
    let document = super::board(&board, &parts, Links::Site);
    assert!(document.contains("draw not proven in 2 matches"));
    assert!(document.contains("referee token exposed: REF01"));
}

#[test]
fn models_are_shown_as_told_and_summed_beside_the_name() {
    let told = ModelUse {
        model: "<b>stub</b>".to_owned(),
        tokens_in: 1_400,
        tokens_out: 30,
        first_token_ms: Some(310),
        latency_ms: 842,
        fallback: Some("no answer in time".to_owned()),
    };
    let html = page_of(|result| result.evidence.moves[0].model = Some(Box::new(told.clone())));
    for part in [
        "As the players tell it; nothing proves these figures.",
        "&lt;b&gt;stub&lt;/b&gt;",
        "1,400",
        "310 ms",
        "842 ms",
        "no answer in time",
        "Prompt and answer, move 7 of",
        "&lt;i&gt;so&lt;/i&gt;…",
    ] {
        assert!(html.contains(part), "{part} in {html}");
    }
    assert!(!page_of(|_| {}).contains("Language models"));
    let mut board = models::board();
    let mut sum = ModelSum::default();
    sum.add(&told);
    sum.add(&told);
    board.standings[0].model = Some(sum);
    let html = super::board(&board, &board_parts(&board, Links::Site), Links::Site);
    for part in ["2,860 tokens", "2 by fallback", "as the player tells"] {
        assert!(html.contains(part), "{part} in {html}");
    }
}

#[test]
fn two_absent_players_did_not_draw() {
    let mut board = models::board();
    board.latest[0].outcomes = [crate::model::SeatOutcome::Forfeited; 2];
    let html = board_parts(&board, Links::Site).list_html("latest-rows");
    assert!(html.contains("did not play"), "{html}");
    assert!(!html.contains("drew"), "{html}");
    assert_eq!(html.matches(r#"<b class="t">T</b>"#).count(), 2);
}

#[test]
fn technical_loss_quotes_what_the_player_answered() {
    let message = |from: &str, to: &str, kind: &str, message| crate::model::TranscriptMessage {
        message,
        original: None,
        ..models::message(5, from, to, kind)
    };
    let (referee, player) = ("referee:REF01", "player:P02");
    let error = serde_json::json!({"error_code": "E004", "error_description": "not a choice"});
    let page = MatchPage {
        messages: vec![
            message(referee, player, "CHOOSE_PARITY_CALL", serde_json::json!({})),
            message(
                player,
                referee,
                "CHOOSE_PARITY_RESPONSE",
                serde_json::json!({"parity_choice": "seven"}),
            ),
            message(referee, player, "GAME_ERROR", error.clone()),
            message(referee, player, "GAME_ERROR", error),
        ],
        ..models::match_page()
    };
    let html = match_page::main(&page, Links::Site).into_string();
    assert!(html.contains("Why a player lost without playing"), "{html}");
    assert!(html.contains("<strong>E004</strong>: <bdi>not a choice</bdi>. It had answered "));
    assert!(html.contains("{&quot;parity_choice&quot;:&quot;seven&quot;}"));
    assert!(html.contains("It had not answered."));
}

#[test]
fn contradicted_position_is_told_in_red() {
    let page = MatchPage {
        contradicted: true,
        ..models::match_page()
    };
    let html = match_page::main(&page, Links::Site).into_string();
    assert!(html.contains("its referee showed a position that does not occur in it"));
}

#[test]
fn moves_of_a_game_are_counted_and_not_a_headline() {
    let html = page_of(|result| {
        result.failed = league_protocol::message::ByPlayer::new();
        for player in result.players.clone() {
            result.choices.insert(player, serde_json::json!([4, 1, 7]));
        }
    });
    assert!(
        html.contains(r#"<span class="moves">3 moves: <bdi>4, 1, 7</bdi></span>"#),
        "{html}"
    );
}
