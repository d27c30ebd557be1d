//! Tables for other programs: what stands in them, and that no name breaks out of its cell.

use league_core::league::{Command, Event, Lever};
use league_web::tables::{TableKind, csv, json, markdown};

use crate::season::{after, registering};

fn hostile() -> league_web::league_view::LeagueView {
    let mut world = registering(2);
    world.admit_player("Player 3");
    if let Some(Event::PlayerRegistered { meta, .. }) = world.events.last_mut() {
        meta.display_name = "=HYPERLINK(\"http://x\"),|a|\n<b>".to_owned();
    }
    world.when(&Command::pull(Lever::Start)).unwrap();
    world.settle();
    world.finish("R1M1", None);
    after(&world)
}

#[test]
fn standings_as_csv() {
    insta::assert_snapshot!(csv(&hostile(), TableKind::Standings).replace("\r\n", "\n"), @r#"
    rank,player_id,display_name,played,wins,draws,losses,technical_losses,points,out
    1,P02,Player 2,1,0,1,0,0,1,
    1,P03,"'=HYPERLINK(""http://x""),|a|
    <b>",1,0,1,0,0,1,
    3,P01,Player 1,0,0,0,0,0,0,
    "#);
}

#[test]
fn matches_as_csv() {
    insta::assert_snapshot!(csv(&hostile(), TableKind::Matches).replace("\r\n", "\n"), @r#"
    match_id,round_id,recorded_at,referee_id,player_A_id,player_A_name,player_B_id,player_B_name,status,winner,points_A,points_B,choice_A,choice_B,reason,note,recorded_status,recorded_winner
    R1M1,1,1970-01-01T00:16:40.000Z,REF01,P02,Player 2,P03,"'=HYPERLINK(""http://x""),|a|
    <b>",DRAW,,1,1,even,even,"P02 and P03 both chose even, number was 6 (even)",,DRAW,
    "#);
}

#[test]
fn tables_as_json() {
    let told = json(&hostile());
    assert_eq!(told["league_id"], "spring");
    assert_eq!(told["standings"][0]["points"], 1);
    assert_eq!(told["standings"][0]["display_name"], "Player 2");
    assert_eq!(told["matches"][0]["winner"], serde_json::Value::Null);
    assert_eq!(told["matches"][0]["points_A"], 1);
    assert_eq!(told["matches"][0]["round_id"], 1);
    assert_eq!(told["matches"][0]["referee_id"], "REF01");
}

#[test]
fn tables_as_markdown() {
    insta::assert_snapshot!(markdown(&hostile()), @r#"
    # Spring League

    spring · even\_odd · 3 players · 1 of 3 matches played

    ## Standings

    | rank | player_id | display_name | played | wins | draws | losses | technical_losses | points | out |
    |---|---|---|---|---|---|---|---|---|---|
    | 1 | P02 | Player 2 | 1 | 0 | 1 | 0 | 0 | 1 |  |
    | 1 | P03 | =HYPERLINK("http://x"),\|a\| \<b\> | 1 | 0 | 1 | 0 | 0 | 1 |  |
    | 3 | P01 | Player 1 | 0 | 0 | 0 | 0 | 0 | 0 |  |

    ## Matches

    | match_id | round_id | recorded_at | referee_id | player_A_id | player_A_name | player_B_id | player_B_name | status | winner | points_A | points_B | choice_A | choice_B | reason | note | recorded_status | recorded_winner |
    |---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
    | R1M1 | 1 | 1970-01-01T00:16:40.000Z | REF01 | P02 | Player 2 | P03 | =HYPERLINK("http://x"),\|a\| \<b\> | DRAW |  | 1 | 1 | even | even | P02 and P03 both chose even, number was 6 (even) |  | DRAW |  |

    ## Ratings

    | player_id | display_name | rating | low | high | rank_best | rank_worst |
    |---|---|---|---|---|---|---|
    | P02 | Player 2 | 0 | -642 | 642 | 1 | 2 |
    | P03 | =HYPERLINK("http://x"),\|a\| \<b\> | 0 | -642 | 642 | 1 | 2 |

    Bradley–Terry after round 1. The results show no more than luck: players of equal strength would differ as much in 100 of 100 leagues.
    "#);
}

#[test]
fn ratings_as_csv() {
    let csv = csv(&hostile(), TableKind::Ratings).replace("\r\n", "\n");
    insta::assert_snapshot!(csv, @r#"
    player_id,display_name,rating,low,high,rank_best,rank_worst
    P02,Player 2,0,-642,642,1,2
    P03,"'=HYPERLINK(""http://x""),|a|
    <b>",0,-642,642,1,2
    "#);
}
