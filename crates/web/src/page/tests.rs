//! Pages of small leagues, with names that mean harm.

mod draws;
mod models;
mod snapshots;

use std::collections::BTreeSet;

use league_core::league::Phase;

use super::*;
use crate::model::{LeagueCard, Life, Standstill};
use crate::report::{self, Report};
use models::HOSTILE;

/// Packs nothing.
fn unpacked(text: &str) -> Vec<u8> {
    text.as_bytes().to_vec()
}

/// Every kind of page there is.
fn documents() -> Vec<String> {
    let board = models::board();
    let (matches, players) = (models::matches(), models::players());
    let rounds = models::rounds();
    let film = format!(r#"{{"label":{}}}"#, serde_json::json!(HOSTILE));
    let report = Report {
        board: &board,
        matches: &matches,
        players: &players,
        rounds: &rounds,
        film: Some(&film),
        pack: unpacked,
    };
    let site = &Links::Site;
    let mut all = vec![
        super::board(&board, &board_parts(&board, site), site),
        not_found(HOSTILE),
        report::write(&report),
    ];
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
fn whatever_an_agent_calls_itself_stays_text() {
    for document in documents() {
        assert!(document.contains("&lt;script&gt;"), "the name is shown");
        assert!(!document.contains("<script>alert"));
        assert!(!document.contains("\" onmouseover="));
    }
}

#[test]
fn no_page_needs_an_inline_style_or_handler() {
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
fn an_id_names_one_element() {
    for document in documents() {
        let ids = attributes(&document, "id");
        let different: BTreeSet<_> = ids.iter().collect();
        assert_eq!(different.len(), ids.len(), "{ids:?}");
    }
}

#[test]
fn what_is_labelled_by_something_finds_it() {
    for document in documents() {
        let ids = attributes(&document, "id");
        for label in attributes(&document, "aria-labelledby") {
            assert!(label.split(' ').all(|id| ids.contains(&id)), "{label}");
        }
    }
}

#[test]
fn every_page_of_the_site_has_one_first_heading_and_a_main_part() {
    for document in documents().iter().filter(|page| page.contains("data-feed")) {
        assert_eq!(document.matches("<h1").count(), 1);
        assert_eq!(document.matches("<main").count(), 1);
    }
}

#[test]
fn every_part_of_the_board_has_its_place() {
    let board = models::board();
    let parts = board_parts(&board, &Links::Site);
    let document = super::board(&board, &parts, &Links::Site);
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
fn what_a_page_loads_is_there() {
    let document = not_found("match");
    let loaded = attributes(&document, "href")
        .into_iter()
        .chain(attributes(&document, "src"));
    let assets: Vec<_> = loaded
        .filter_map(|path| path.strip_prefix("/assets/"))
        .collect();
    assert_eq!(assets.len(), 4);
    for name in assets {
        assert!(crate::assets::find(name).is_some(), "{name}");
    }
}

#[test]
fn links_of_a_report_stay_in_it() {
    let board = models::board();
    let (matches, players) = (models::matches(), models::players());
    let rounds = models::rounds();
    let report = report::write(&Report {
        board: &board,
        matches: &matches,
        players: &players,
        rounds: &rounds,
        film: None,
        pack: unpacked,
    });
    let ids = attributes(&report, "id");
    for link in attributes(&report, "href") {
        assert!(link == "data:," || link.starts_with('#'), "{link}");
    }
    assert!(ids.contains(&"match-R1M1") && ids.contains(&"player-P01") && ids.contains(&"round-2"));
}

#[test]
fn a_board_without_anyone_can_be_drawn() {
    let board = models::empty_board();
    let parts = board_parts(&board, &Links::Site);
    let document = super::board(&board, &parts, &Links::Site);
    assert!(document.contains("Nobody has registered yet."));
    assert!(document.contains("Registration is open"));
}

#[test]
fn every_page_of_a_league_that_stands_still_says_where_and_how_to_go_on() {
    let halt = |league: &mut LeagueCard| {
        league.phase = Phase::Running;
        league.standstill = Some(Standstill {
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
    let site = &Links::Site;
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
fn a_page_without_a_script_is_loaded_anew_until_the_league_is_over() {
    let renewed = |phase| {
        let mut board = models::board();
        board.league.phase = phase;
        let parts = board_parts(&board, &Links::Site);
        super::board(&board, &parts, &Links::Site)
            .contains("<noscript><meta http-equiv=\"refresh\"")
    };
    assert!(renewed(Phase::Registering) && renewed(Phase::Running));
    assert!(!renewed(Phase::Completed));
}

#[test]
fn whoever_took_part_to_the_end_has_finished() {
    let mut board = models::board();
    board.league.phase = Phase::Completed;
    let rows = board_parts(&board, &Links::Site).of_list("agent-rows");
    assert!(
        rows.contains("<td class=\"finished\">finished</td>"),
        "{rows}"
    );
    board.league.phase = Phase::Running;
    let rows = board_parts(&board, &Links::Site).of_list("agent-rows");
    assert!(rows.contains("<td class=\"active\">active</td>"), "{rows}");
}

#[test]
fn what_became_of_a_match_stands_in_its_order_though_all_was_said_at_once() {
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
        life: Some(Life {
            created: Some(models::at(5)),
            started: Some(models::at(5)),
            finished: Some(models::at(5)),
        }),
        said: said
            .map(|(from, to, kind)| models::said(5, from, to, kind))
            .into(),
        ..models::match_page()
    };
    let told = match_main(&page, Links::Site).into_string();
    let place = |words: &str| told.find(words).unwrap();
    let last = |words: &str| told.rfind(words).unwrap();
    assert!(place("The referee has taken") < place("GAME_INVITATION"));
    assert!(last("GAME_JOIN_ACK") < place("Both players have come"));
    assert!(place("Both players have come") < place("CHOOSE_PARITY_CALL"));
    assert!(last("CHOOSE_PARITY_RESPONSE") < place("The result stands"));
    assert!(place("The result stands") < place("MATCH_RESULT_REPORT"));
}

#[test]
fn a_match_in_which_nothing_was_said_tells_why() {
    let silent = MatchPage {
        said: Vec::new(),
        ..models::match_page()
    };
    let told = |page: MatchPage| match_main(&page, Links::Site).into_string();
    let ruled = MatchPage {
        referee: None,
        life: None,
        ..silent.clone()
    };
    assert!(told(ruled).contains("so the manager decided the match, and no referee ran it."));
    assert!(told(silent.clone()).contains("No message is in the record that REF01 kept"));
    let elsewhere = MatchPage {
        life: None,
        ..silent
    };
    assert!(told(elsewhere).contains("that record does not lie here."));
}
