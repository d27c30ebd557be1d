//! The live standings as drawn.

use crate::wire::ask::{Health, State};
use league_protocol::id::{GameType, LeagueId, PlayerId};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::*;

fn seen(players: u32) -> WatchState {
    let row = |rank: u32| StandingRow {
        rank,
        shared_rank: rank,
        byes: 0,
        tie: None,
        player_id: PlayerId::numbered(rank),
        display_name: format!("Agent {rank}").into(),
        played: 2,
        wins: 1,
        draws: 0,
        losses: 1,
        technical_losses: 0,
        points: 3,
    };
    let health = Health {
        league_id: LeagueId::new("league_2025_even_odd").unwrap(),
        game_type: GameType::new("even_odd").unwrap(),
        state: State::Running,
        players,
        referees: 2,
        rounds: 3,
        round_id: Some(2),
        matches_played: 4,
        matches_not_counted: 0,
        paused: false,
        out: std::collections::BTreeMap::new(),
        matches: 6,
        knows_human: true,
    };
    WatchState {
        endpoint: "http://localhost:8000/mcp".to_owned(),
        seen: Some(LeagueSnapshot {
            health,
            rows: (1..=players).map(row).collect(),
        }),
        away: None,
    }
}

fn shown(state: &WatchState, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, state)).unwrap();
    terminal.backend().to_string()
}

#[test]
fn running_league_shows_its_standings() {
    insta::assert_snapshot!(shown(&seen(4), 80, 10), @r#"
    "league_2025_even_odd · even_odd · round 2 of 3 · 4 of 6 matches played          "
    " 66% █████████████████████████████████████████████████░░░░░░░░░░░░░░░░░░░░░░░░░░"
    "                                                                                "
    "   #  id      player                        played    won  drawn   lost  points "
    "   1  P01     Agent 1                            2      1      0      1       3 "
    "   2  P02     Agent 2                            2      1      0      1       3 "
    "   3  P03     Agent 3                            2      1      0      1       3 "
    "   4  P04     Agent 4                            2      1      0      1       3 "
    "                                                                                "
    "q quits · http://localhost:8000/mcp                                             "
    "#);
}

#[test]
fn rows_that_do_not_fit_are_counted() {
    insta::assert_snapshot!(shown(&seen(1_000), 80, 8), @r#"
    "league_2025_even_odd · even_odd · round 2 of 3 · 4 of 6 matches played          "
    " 66% █████████████████████████████████████████████████░░░░░░░░░░░░░░░░░░░░░░░░░░"
    "                                                                                "
    "   #  id      player                        played    won  drawn   lost  points "
    "   1  P01     Agent 1                            2      1      0      1       3 "
    "   2  P02     Agent 2                            2      1      0      1       3 "
    "              and 998 more                                                      "
    "q quits · http://localhost:8000/mcp                                             "
    "#);
}

#[test]
fn absent_manager_leaves_the_last_state() {
    let mut state = seen(2);
    state.away = Some("no connection: Connection refused (os error 111)".to_owned());
    insta::assert_snapshot!(shown(&state, 110, 7), @r#"
    "league_2025_even_odd · even_odd · round 2 of 3 · 4 of 6 matches played                                        "
    " 66% █████████████████████████████████████████████████████████████████████░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░"
    "                                                                                                              "
    "   #  id      player                        played    won  drawn   lost  points                               "
    "   1  P01     Agent 1                            2      1      0      1       3                               "
    "   2  P02     Agent 2                            2      1      0      1       3                               "
    "q quits · no answer from http://localhost:8000/mcp: no connection: Connection refused (os error 111); still tr"
    "#);
    state.seen = None;
    insta::assert_snapshot!(shown(&state, 110, 4), @r#"
    "waiting for the league manager                                                                                "
    "                                                                                                              "
    "                                                                                                              "
    "q quits · no answer from http://localhost:8000/mcp: no connection: Connection refused (os error 111); still tr"
    "#);
}

#[test]
fn any_size_and_any_figures_can_be_drawn() {
    let mut state = seen(3);
    for (width, height) in [(1, 1), (3, 2), (10, 4), (500, 1)] {
        shown(&state, width, height);
    }
    if let Some(seen) = &mut state.seen {
        seen.health.matches_played = u64::MAX;
        seen.health.round_id = None;
    }
    assert!(shown(&state, 80, 10).contains("100%"));
}

#[test]
fn pause_early_end_and_players_that_are_out_are_shown() {
    let mut state = seen(2);
    let health = &mut state.seen.as_mut().unwrap().health;
    health.paused = true;
    health
        .out
        .insert(PlayerId::numbered(2), "disqualified".to_owned());
    let paused = shown(&state, 100, 8);
    assert!(paused.contains("round 2 of 3 · paused · 4 of 6 matches played"));
    assert!(paused.contains("Agent 2 (disqualified)"), "{paused}");
    state.seen.as_mut().unwrap().health.state = State::Completed;
    let ended = shown(&state, 100, 8);
    let early = "ended early in round 2 of 3, 4 of 6 matches played";
    assert!(ended.contains(early), "{ended}");
}

#[test]
fn only_quit_keys_quit() {
    let key = |code, modifiers| quits(KeyEvent::new(code, modifiers));
    assert!(key(KeyCode::Char('q'), KeyModifiers::NONE));
    assert!(key(KeyCode::Char('c'), KeyModifiers::CONTROL));
    assert!(!key(KeyCode::Char('c'), KeyModifiers::NONE));
    assert!(!key(KeyCode::Enter, KeyModifiers::NONE));
}
