//! What the board is made of.

use insta::assert_snapshot;
use league_core::league::Phase;

use super::super::super::*;
use super::super::models;
use super::{first, lines};
use crate::model::{Ended, Progress, Verdict};

#[test]
fn a_row_of_the_table() {
    let row = models::standing(2, &models::named(7, "Ada"), 3);
    assert_snapshot!(first(standings::rows(&[row], Links::Site)), @r#"
    <tr id="row-P07"><td>2</td>
    <td><span class="up">▲1</span></td>
    <th scope="row"><a href="/player/P07"><bdi>Ada</bdi></a> <span class="badge" title="1 technical loss">T 1</span> <span class="badge deviates" title="times that it left the protocol">⚠ 1,200</span> <span class="badge gone">silent</span></th>
    <td>3</td>
    <td>2</td>
    <td>1</td>
    <td>0</td>
    <td>1</td>
    <td><b class="w">W</b>
    <b class="t">T</b></td></tr>
    "#);
}

#[test]
fn a_tile() {
    let mut tile = models::tile();
    tile.players[1].name = "Grace".to_owned();
    assert_snapshot!(first(latest::tiles(&[tile], Links::Site)), @r#"
    <li id="tile-R2M1" class="tile choosing"><a href="/match/R2M1"><span class="who"><bdi>Ada</bdi></span>
    <span class="versus">–</span>
    <span class="who"><bdi>Grace</bdi></span></a>
    <p><span class="state">choosing</span> <span class="id">R2M1</span> · REF01 · attempt 2</p></li>
    "#);
}

#[test]
fn a_result() {
    let mut line = models::result_line();
    line.players[1].name = "Grace".to_owned();
    line.reason = "Grace did not answer.".to_owned();
    assert_snapshot!(first(latest::rows(&[line], Links::File)), @r##"
    <li class="technical" id="latest-R1M1"><a href="#match-R1M1"><span class="who won"><bdi>Ada</bdi></span>
    <span class="versus">beat</span>
    <span class="who"><bdi>Grace</bdi></span></a>
    <p><span class="id">R1M1</span> · <time datetime="2027-01-15T08:00:00.000Z">08:00:00</time> · <bdi>Grace did not answer.</bdi></p></li>
    "##);
}

#[test]
fn the_cross_table() {
    let mut table = models::cross();
    table.players[1].name = "Grace".to_owned();
    assert_snapshot!(lines(cross::head(&table, Links::Site)), @r#"
    <tr id="cross-head"><th class="text" scope="col"><span class="more">9,500 players are left out</span></th>
    <th scope="col"><a href="/player/P01" title="Ada">P01</a></th>
    <th scope="col"><a href="/player/P02" title="Grace">P02</a></th></tr>
    "#);
    assert_snapshot!(first(cross::rows(&table, Links::Site)), @r#"
    <tr id="cross-P01"><th scope="row"><span class="id">P01</span>
    <a href="/player/P01"><bdi>Ada</bdi></a></th>
    <td class="self"></td>
    <td><a class="w" href="/match/R1M1">W</a></td></tr>
    "#);
}

#[test]
fn an_agent() {
    let mut agent = models::agent(false);
    (agent.name, agent.version) = ("Ada".to_owned(), "1.0".to_owned());
    assert_snapshot!(first(agents::rows(&[agent], false, Links::Site)), @r#"
    <tr id="agent-P02"><th scope="row"><a href="/player/P02"><bdi>Ada</bdi></a>
    <span class="id">P02</span></th>
    <td>player</td>
    <td class="active">active</td>
    <td>v2</td>
    <td><bdi>1.0</bdi></td>
    <td>3.2 / 41 ms</td>
    <td>1</td>
    <td>1,200</td></tr>
    "#);
}

#[test]
fn the_chart() {
    let mut picture = models::chart();
    picture.lines[1].player.name = "Grace".to_owned();
    assert_snapshot!(lines(chart::chart(&picture)), @r#"
    <figure class="chart" id="chart"><svg viewBox="0 0 620 360" role="img" aria-labelledby="chart-name chart-words"><title id="chart-name">Points over the rounds</title>
    <desc id="chart-words">After round 2 of 3: Ada 4, Grace 1</desc>
    <g class="grid"><line x1="44" x2="600" y1="326.0" y2="326.0"></line>
    <text x="36" y="330.5" text-anchor="end">0</text>
    <line x1="44" x2="600" y1="248.0" y2="248.0"></line>
    <text x="36" y="252.5" text-anchor="end">1</text>
    <line x1="44" x2="600" y1="170.0" y2="170.0"></line>
    <text x="36" y="174.5" text-anchor="end">2</text>
    <line x1="44" x2="600" y1="92.0" y2="92.0"></line>
    <text x="36" y="96.5" text-anchor="end">3</text>
    <line x1="44" x2="600" y1="14.0" y2="14.0"></line>
    <text x="36" y="18.5" text-anchor="end">4</text>
    <text x="44.0" y="350" text-anchor="middle">0</text>
    <text x="229.3" y="350" text-anchor="middle">1</text>
    <text x="414.7" y="350" text-anchor="middle">2</text>
    <text x="600.0" y="350" text-anchor="middle">3</text></g>
    <path class="line l1" d="M44 326.0L229 326.0L415 248.0"></path>
    <path class="line l0" d="M44 326.0L229 92.0L415 14.0"></path>
    <g class="end l0"><path class="lead" d="M415 14.0L612 14.0"></path>
    <circle cx="414.7" cy="14.0" r="4"></circle>
    <text x="618" y="18.5">Ada</text></g>
    <g class="end l1"><path class="lead" d="M415 248.0L612 248.0"></path>
    <circle cx="414.7" cy="248.0" r="4"></circle>
    <text x="618" y="252.5">Grace</text></g></svg>
    <ol class="legend"><li class="l0"><svg viewBox="0 0 36 6" aria-hidden="true"><path class="line l0" d="M2 3h32"></path></svg>
    <bdi>Ada</bdi> <span class="of">4</span></li>
    <li class="l1"><svg viewBox="0 0 36 6" aria-hidden="true"><path class="line l1" d="M2 3h32"></path></svg>
    <bdi>Grace</bdi> <span class="of">1</span></li></ol></figure>
    "#);
}

#[test]
fn the_summary_of_a_finished_league_names_its_champion() {
    let mut board = models::board();
    board.league.title = "Cup".to_owned();
    board.standings[1].name = "Grace".to_owned();
    assert_snapshot!(lines(summary::summary(&board, Links::Site)), @r#"
    <section class="summary" id="summary"><h1><bdi>Cup</bdi></h1>
    <p class="lead"><span class="phase over">Finished</span>
    <span>Even/Odd</span>
    <span>2 players</span>
    <span>1 referee</span>
    <span>began <time datetime="2027-01-15T08:00:00.000Z">2027-01-15 08:00:00 UTC</time></span>
    <span class="note">drawn from a given seed: not for prizes</span></p>
    <div class="champion"><h2>Champion</h2>
    <p class="first"><a href="/player/P01"><bdi>Ada</bdi></a></p>
    <p class="tally">6 points · 2 won, 0 drawn, 0 lost</p>
    <ol><li>Second <a href="/player/P02"><bdi>Grace</bdi></a>, 0 points</li></ol></div></section>
    "#);
}

#[test]
fn progress() {
    let mut board = models::board();
    board.league.phase = Phase::Running;
    board.progress = Progress {
        time_left: Some(std::time::Duration::from_secs(61)),
        ..board.progress
    };
    assert_snapshot!(lines(summary::progress(&board, Links::Site)), @r#"
    <section class="progress" id="progress" aria-label="Progress" data-played="1234" data-left-ms="61000" data-elapsed-ms="200000"><progress max="5000" value="1234" aria-label="Matches played">1234 of 5000</progress>
    <dl class="facts"><div><dt>Round</dt>
    <dd><a href="/round/2">2<span class="of"> of 3</span></a></dd></div>
    <div><dt>Matches</dt>
    <dd>1,234<span class="of"> of 5,000</span></dd></div>
    <div><dt>Time left</dt>
    <dd class="left">1 min 1 s</dd></div>
    <div><dt>Elapsed</dt>
    <dd class="elapsed">3 min 20 s</dd></div>
    <div><dt>Technical losses</dt>
    <dd>7</dd></div></dl></section>
    "#);
}

#[test]
fn a_verdict() {
    let mut board = models::board();
    board.verdict = Some(Verdict {
        holds: true,
        words: "All follows.".to_owned(),
    });
    assert_snapshot!(lines(summary::verdict(&board)), @r#"
    <p class="verdict holds" id="verdict"><strong>✓ Everything holds.</strong> All follows.</p>
    "#);
    board.verdict = None;
    assert_snapshot!(lines(summary::verdict(&board)), @r#"
    <div id="verdict"></div>
    "#);
}

#[test]
fn a_mark_is_a_letter_with_a_shape_of_its_own() {
    let all = [Ended::Won, Ended::Drew, Ended::Lost, Ended::Forfeited];
    let all: Vec<String> = all
        .into_iter()
        .map(|ended| marks::mark(ended).into_string())
        .collect();
    assert_snapshot!(all.join("\n"), @r#"
    <b class="w">W</b>
    <b class="d">D</b>
    <b class="l">L</b>
    <b class="t">T</b>
    "#);
}
