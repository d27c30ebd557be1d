//! How each thing is drawn, to the letter.

use insta::assert_snapshot;
use league_core::league::Phase;
use league_protocol::message::Evidence;

use super::super::{
    Links, board, chart, format, match_page, player_page, round_page, rows, sequence,
};
use super::models;
use crate::model::{LeagueProgress, SeatOutcome, TileState, Verification};
use crate::parts::ListItem;

/// HTML with a line for each element that follows another.
fn lines(html: impl Into<String>) -> String {
    let html = html.into();
    let mut text = String::with_capacity(html.len());
    let mut closed = false;
    for piece in html.split_inclusive('>') {
        if closed && piece.starts_with('<') && !piece.starts_with("</") {
            text.push('\n');
        }
        closed = piece.contains("</");
        text.push_str(piece);
    }
    text
}

fn first(items: Vec<ListItem>) -> String {
    let item = items.into_iter().next();
    lines(item.map(|item| item.html).unwrap_or_default())
}

#[test]
fn table_row() {
    let row = models::table_row(2, &models::player(7, "Ada"), 3);
    assert_snapshot!(first(rows::standings(&[row], Links::Site)), @r##"
    <tr id="row-P07"><td>2</td>
    <td><span class="up">▲1</span></td>
    <th scope="row"><a href="player/P07"><svg class="face c7" viewBox="0 0 24 24" aria-hidden="true"><use href="#fh0"></use>
    <use href="#fe2"></use>
    <use href="#fm0"></use></svg>
    <bdi>Ada</bdi></a> <span class="badge" title="1 technical loss">T 1</span> <span class="badge deviates" title="protocol deviations">⚠ 1,200</span> <span class="badge gone">silent</span></th>
    <td>3</td>
    <td>2</td>
    <td>1</td>
    <td>0</td>
    <td>1</td>
    <td><b class="w">W</b>
    <b class="t">T</b></td></tr>
    "##);
}

#[test]
fn person_is_marked_in_the_table() {
    let mut row = models::table_row(1, &models::player(7, "Ada"), 3);
    row.human = true;
    let row = first(rows::standings(&[row], Links::Site));
    assert!(row.contains(r#"<span class="badge human" title="#), "{row}");
}

#[test]
fn tile() {
    let mut tile = models::tile();
    tile.players[1].name = "Grace".to_owned();
    assert_snapshot!(first(rows::tiles(&[tile], Links::Site)), @r##"
    <li id="tile-R2M1" class="tile choosing"><a href="match/R2M1"><span class="who"><svg class="face c1" viewBox="0 0 24 24" aria-hidden="true"><use href="#fh0"></use>
    <use href="#fe1"></use>
    <use href="#fm1"></use></svg>
    <bdi>Ada</bdi></span>
    <span class="versus">–</span>
    <span class="who"><svg class="face c2" viewBox="0 0 24 24" aria-hidden="true"><use href="#fh0"></use>
    <use href="#fe2"></use>
    <use href="#fm2"></use></svg>
    <bdi>Grace</bdi></span></a>
    <p><span class="state">choosing</span> <span class="id">R2M1</span> · REF01 · attempt 2</p></li>
    "##);
}

#[test]
fn latest_result() {
    let mut line = models::result_line();
    line.players[1].name = "Grace".to_owned();
    line.reason = "Grace did not answer.".to_owned();
    assert_snapshot!(first(rows::latest(&[line], Links::File)), @r##"
    <li id="latest-R1M1"><a href="#match-R1M1"><span class="who won"><svg class="face c1" viewBox="0 0 24 24" aria-hidden="true"><use href="#fh0"></use>
    <use href="#fe1"></use>
    <use href="#fm1"></use></svg>
    <bdi>Ada</bdi></span>
    <span class="versus">beat</span>
    <span class="who"><svg class="face c2" viewBox="0 0 24 24" aria-hidden="true"><use href="#fh0"></use>
    <use href="#fe2"></use>
    <use href="#fm2"></use></svg>
    <bdi>Grace</bdi> <b class="t">T</b></span></a>
    <p><span class="id">R1M1</span> · <time datetime="2027-01-15T08:00:00.000Z">08:00:00</time> · <bdi>Grace did not answer.</bdi></p>
    <p class="story">First win of <bdi>Ada</bdi> after six losses in a row.</p></li>
    "##);
}

#[test]
fn cross_table() {
    let mut table = models::cross();
    table.players[1].name = "Grace".to_owned();
    assert_snapshot!(lines(rows::cross_head(&table, Links::Site)), @r#"
    <tr id="cross-head"><th class="text" scope="col"><span class="more">9,500 players are left out</span></th>
    <th scope="col"><a href="player/P01" title="Ada">P01</a></th>
    <th scope="col"><a href="player/P02" title="Grace">P02</a></th></tr>
    "#);
    assert_snapshot!(first(rows::cross(&table, Links::Site)), @r##"
    <tr id="cross-P01"><th scope="row"><span class="id">P01</span>
    <a href="player/P01"><svg class="face c1" viewBox="0 0 24 24" aria-hidden="true"><use href="#fh0"></use>
    <use href="#fe1"></use>
    <use href="#fm1"></use></svg>
    <bdi>Ada</bdi></a></th>
    <td class="self"></td>
    <td><a class="w" href="match/R1M1">W</a></td></tr>
    "##);
}

#[test]
fn agent_row() {
    let mut agent = models::agent(false);
    (agent.name, agent.version) = ("Ada".to_owned(), "1.0".to_owned());
    assert_snapshot!(first(rows::agents(&[agent], false, Links::Site)), @r##"
    <tr id="agent-P02"><th scope="row"><a href="player/P02"><svg class="face c2" viewBox="0 0 24 24" aria-hidden="true"><use href="#fh0"></use>
    <use href="#fe2"></use>
    <use href="#fm2"></use></svg>
    <bdi>Ada</bdi></a>
    <span class="id">P02</span></th>
    <td>player</td>
    <td class="active">active</td>
    <td>v2</td>
    <td><bdi>1.0</bdi></td>
    <td>3.2 / 41 ms</td>
    <td>1</td>
    <td>1,200</td></tr>
    "##);
}

#[test]
fn points_chart() {
    let mut picture = models::chart();
    picture.lines[1].player.name = "Grace".to_owned();
    // The compiler takes no isolates in a literal.
    let html = chart::chart(&picture).into_string();
    let html = html.replace(['\u{2068}', '\u{2069}'], "");
    assert_snapshot!(lines(html), @r##"
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
    <path class="line l1 c2" d="M44 326.0L229 326.0L415 248.0"></path>
    <path class="line l0 c1" d="M44 326.0L229 92.0L415 14.0"></path>
    <g class="end l0 c1"><path class="lead" d="M415 14.0L612 14.0"></path>
    <circle cx="414.7" cy="14.0" r="4"></circle>
    <text x="618" y="18.5">Ada</text></g>
    <g class="end l1 c2"><path class="lead" d="M415 248.0L612 248.0"></path>
    <circle cx="414.7" cy="248.0" r="4"></circle>
    <text x="618" y="252.5">Grace</text></g></svg>
    <ol class="legend"><li><svg viewBox="0 0 36 6" aria-hidden="true"><path class="line l0 c1" d="M2 3h32"></path></svg>
    <svg class="face c1" viewBox="0 0 24 24" aria-hidden="true"><use href="#fh0"></use>
    <use href="#fe1"></use>
    <use href="#fm1"></use></svg>
    <bdi>Ada</bdi> <span class="of">4</span></li>
    <li><svg viewBox="0 0 36 6" aria-hidden="true"><path class="line l1 c2" d="M2 3h32"></path></svg>
    <svg class="face c2" viewBox="0 0 24 24" aria-hidden="true"><use href="#fh0"></use>
    <use href="#fe2"></use>
    <use href="#fm2"></use></svg>
    <bdi>Grace</bdi> <span class="of">1</span></li></ol></figure>
    "##);
}

#[test]
fn summary_of_a_finished_league_names_its_champion() {
    let mut board = models::board();
    board.league.title = "Cup".to_owned();
    board.winners[1].1.display_name = "Grace".into();
    assert_snapshot!(lines(board::summary(&board, Links::Site)), @r##"
    <section class="summary" id="summary"><h1><bdi>Cup</bdi></h1>
    <p class="lead"><span class="phase over">Finished</span>
    <span>Even/Odd</span>
    <span>2 players</span>
    <span>1 referee</span>
    <span>began <time datetime="2027-01-15T08:00:00.000Z">2027-01-15 08:00:00 UTC</time></span>
    <span class="note">drawn from a given seed: not for prizes</span></p>
    <div class="champion"><h2>Champion</h2>
    <p class="first"><a href="player/P01"><svg class="face c1" viewBox="0 0 24 24" aria-hidden="true"><use href="#fh0"></use>
    <use href="#fe1"></use>
    <use href="#fm1"></use></svg>
    <bdi>Ada</bdi></a></p>
    <p class="tally">6 points · 2 won, 0 drawn, 0 lost</p>
    <ol><li>Second <a href="player/P02"><svg class="face c2" viewBox="0 0 24 24" aria-hidden="true"><use href="#fh0"></use>
    <use href="#fe2"></use>
    <use href="#fm2"></use></svg>
    <bdi>Grace</bdi></a>, 0 points</li></ol></div></section>
    "##);
}

#[test]
fn progress() {
    let mut board = models::board();
    board.league.phase = Phase::Running;
    board.progress = LeagueProgress {
        time_left: Some(std::time::Duration::from_secs(61)),
        ..board.progress
    };
    assert_snapshot!(lines(board::progress(&board, Links::Site)), @r#"
    <section class="progress" id="progress" aria-label="Progress" data-played="1234" data-left-ms="61000" data-elapsed-ms="200000"><progress max="5000" value="1234" aria-label="Matches played">1234 of 5000</progress>
    <dl class="facts"><div><dt>Round</dt>
    <dd><a href="round/2">2<span class="of"> of 3</span></a></dd></div>
    <div><dt>Matches</dt>
    <dd>1,234<span class="of"> of 5,000</span></dd></div>
    <div><dt>Next round</dt>
    <dd><span class="countdown" data-until-ms="1000" data-after="when this round is over">at <time datetime="1970-01-01T00:00:01.000Z">00:00:01</time></span></dd></div>
    <div><dt>Time left</dt>
    <dd class="left">1 min 1 s</dd></div>
    <div><dt>Elapsed</dt>
    <dd class="elapsed">3 min 20 s</dd></div>
    <div><dt>Technical losses</dt>
    <dd>7</dd></div></dl></section>
    "#);
}

#[test]
fn verification() {
    let mut board = models::board();
    board.league.verification = Some(Verification {
        holds: true,
        detail: "All follows.".to_owned(),
    });
    assert_snapshot!(lines(board::verification(&board.league)), @r#"
    <p class="verdict holds" id="verdict"><strong>✓</strong> All follows.</p>
    "#);
    board.league.verification = None;
    assert_snapshot!(lines(board::verification(&board.league)), @r#"
    <div id="verdict"></div>
    "#);
}

#[test]
fn each_outcome_has_a_mark_of_its_own() {
    let all = [
        SeatOutcome::Won,
        SeatOutcome::Drew,
        SeatOutcome::Lost,
        SeatOutcome::Forfeited,
    ];
    let all: Vec<String> = all
        .into_iter()
        .map(|outcome| format::mark(outcome).into_string())
        .collect();
    assert_snapshot!(all.join("\n"), @r#"
    <b class="w">W</b>
    <b class="d">D</b>
    <b class="l">L</b>
    <b class="t">T</b>
    "#);
}

#[test]
fn running_match() {
    let mut page = models::match_page();
    page.players[1].name = "Grace".to_owned();
    page.league.title = "Cup".to_owned();
    (page.result, page.counted) = (None, None);
    page.state = Some(TileState::Choosing);
    page.messages.clear();
    assert_snapshot!(lines(match_page::main(&page, Links::Site)), @r##"
    <section class="duel"><p class="crumbs"><a href="./"><bdi>Cup</bdi></a>
    <a href="round/1">Round 1</a>
    <span>R1M1</span></p>
    <h1 class="hush">R1M1: <bdi>Ada</bdi> – <bdi>Grace</bdi></h1>
    <div class="seats"><div class="seat"><p class="who"><a href="player/P01"><svg class="face c1" viewBox="0 0 24 24" aria-hidden="true"><use href="#fh0"></use>
    <use href="#fe1"></use>
    <use href="#fm1"></use></svg>
    <bdi>Ada</bdi></a></p>
    <p class="id">seat A · P01</p></div>
    <div class="middle"><span class="state">choosing</span></div>
    <div class="seat"><p class="who"><a href="player/P02"><svg class="face c2" viewBox="0 0 24 24" aria-hidden="true"><use href="#fh0"></use>
    <use href="#fe2"></use>
    <use href="#fm2"></use></svg>
    <bdi>Grace</bdi></a></p>
    <p class="id">seat B · P02</p></div></div>
    <p class="reason">Choices and messages are shown here when the match is over.</p>
    <dl class="facts"><div><dt>Referee</dt>
    <dd>REF01</dd></div>
    <div><dt>Attempt</dt>
    <dd>2</dd></div>
    <div><dt>Called</dt>
    <dd><time datetime="2027-01-15T08:00:00.001Z">2027-01-15 08:00:00 UTC</time></dd></div>
    <div><dt>Result taken</dt>
    <dd><time datetime="2027-01-15T08:00:02.000Z">2027-01-15 08:00:02 UTC</time></dd></div>
    <div><dt>Took</dt>
    <dd>1 s</dd></div></dl></section>
    <section class="card said" aria-labelledby="said-title"><h2 id="said-title">Messages</h2>
    <p class="more">Messages are shown when the match is over.</p></section>
    "##);
}

#[test]
fn message() {
    let mut page = models::match_page();
    page.messages.truncate(1);
    page.messages[0].message = serde_json::json!({ "attempt": 1 });
    assert_snapshot!(lines(sequence::sequence(&page, Links::Site)), @r#"
    <section class="card said" aria-labelledby="said-title"><h2 id="said-title">Messages</h2>
    <p class="more">From <time datetime="2027-01-15T08:00:00.000Z">2027-01-15 08:00:00 UTC</time>. Open a line to read the message.</p>
    <div class="message lanes" aria-hidden="true"><span class="at"></span>
    <svg viewBox="0 0 168 28"><text x="42" y="18" text-anchor="middle">manager</text>
    <text x="126" y="18" text-anchor="middle">REF01</text></svg>
    <span class="kind"></span></div>
    <ol class="messages"><li><details><summary class="message wrong"><span class="at">+0.000 s</span>
    <svg viewBox="0 0 168 28" aria-hidden="true"><line class="lane" x1="42" x2="42" y1="0" y2="28"></line>
    <line class="lane" x1="126" x2="126" y1="0" y2="28"></line>
    <line class="shaft" x1="42" x2="122" y1="14" y2="14"></line>
    <circle class="tail" cx="42" cy="14" r="3.5"></circle>
    <path class="tip" d="M126 14l-8 -5v10z"></path></svg>
    <span class="kind"><code>RUN_MATCH</code>
    <span class="way">league_manager → referee:REF01</span>
    <span class="badge deviates">not decoded</span></span></summary>
    <pre tabindex="0"><code>{
      &quot;attempt&quot;: 1
    }</code></pre>
    <p class="more">It could not be decoded: &lt;script&gt;alert(1)&lt;/script&gt;&quot; onmouseover=&quot;x' &amp;amp;</p>
    <p class="more">Original text, the beginning of 9000 bytes:</p>
    <pre tabindex="0"><code>&lt;script&gt;alert(1)&lt;/script&gt;&quot; onmouseover=&quot;x' &amp;amp;</code></pre></details></li>
    <li class="state">The referee accepted the match</li>
    <li class="state">The result is final</li></ol></section>
    "#);
}

#[test]
fn position() {
    let mut page = models::matches().remove(1);
    page.players[1].name = "Grace".to_owned();
    page.positions.remove(0);
    assert_snapshot!(lines(match_page::positions(&page, Links::Site)), @r#"
    <section class="card positions" id="positions" aria-labelledby="positions-title"><h2 id="positions-title">Move by move</h2>
    <ol><li><figure><svg class="picture" viewBox="0 0 612 80" role="img" aria-label="&lt;script&gt;alert(1)&lt;/sc…: &lt;script&gt;alert(1)…; B: ? empty" width="918"><text class="label" x="4" y="20">&lt;script&gt;alert(1)&lt;/sc…</text>
    <g class="cell tone-a"><rect x="230" y="2" width="188" height="36" rx="4"></rect>
    <text x="324" y="20">&lt;script&gt;alert(1)…</text></g>
    <text class="label" x="4" y="60">B</text>
    <g class="cell tone-hidden new"><rect x="230" y="42" width="188" height="36" rx="4"></rect>
    <text x="324" y="60">?</text></g>
    <g class="cell tone-none"><rect x="422" y="42" width="188" height="36" rx="4"></rect>
    <text x="516" y="60"></text></g></svg>
    <figcaption>Before the first move</figcaption></figure></li>
    <li><figure><svg class="picture" viewBox="0 0 612 80" role="img" aria-label="&lt;script&gt;alert(1)&lt;/sc…: &lt;script&gt;alert(1)…; B: ? empty" width="918"><text class="label" x="4" y="20">&lt;script&gt;alert(1)&lt;/sc…</text>
    <g class="cell tone-a"><rect x="230" y="2" width="188" height="36" rx="4"></rect>
    <text x="324" y="20">&lt;script&gt;alert(1)…</text></g>
    <text class="label" x="4" y="60">B</text>
    <g class="cell tone-hidden"><rect x="230" y="42" width="188" height="36" rx="4"></rect>
    <text x="324" y="60">?</text></g>
    <g class="cell tone-none"><rect x="422" y="42" width="188" height="36" rx="4"></rect>
    <text x="516" y="60"></text></g></svg>
    <figcaption>1. Rolled</figcaption></figure></li></ol></section>
    "#);
}

#[test]
fn opened_draw() {
    let mut page = models::match_page();
    let mut result = models::result();
    if let Some(draw) = &mut result.draw {
        draw.nonces[0] = "a1".to_owned();
    }
    result.evidence = Evidence::default();
    page.promise = None;
    assert_snapshot!(lines(match_page::draw(&page, &result, Links::File)), @r#"
    <section class="card draw" id="draw-R1M1" aria-labelledby="draw-title-R1M1" data-league="league_1" data-match="R1M1" data-attempt="1" data-nonce-a="a1" data-nonce-b="" data-mode="chance" data-seed="0202020202020202020202020202020202020202020202020202020202020202" data-commitment="0101010101010101010101010101010101010101010101010101010101010101" data-lowest="1" data-highest="10" data-number="8"><h2 id="draw-title-R1M1">The draw</h2>
    <p class="draw-verdict unchecked" id="draw-verdict-R1M1" role="status">Not checked yet: checking needs a script, or <code>league verify</code>.</p>
    <details><summary>How it was drawn, and how to draw it again</summary>
    <dl class="values"><dt>League, match, attempt</dt>
    <dd><code>league_1</code> <code>R1M1</code> <code>1</code></dd>
    <dt>Commitment</dt>
    <dd><code>0101010101010101010101010101010101010101010101010101010101010101</code></dd>
    <dt>Mode</dt>
    <dd><code>chance</code></dd>
    <dt>Seed</dt>
    <dd><code>0202020202020202020202020202020202020202020202020202020202020202</code></dd>
    <dt>Share of seat A</dt>
    <dd><code><bdi>a1</bdi></code></dd>
    <dt>Share of seat B</dt>
    <dd>not sent</dd>
    <dt>Number</dt>
    <dd><code>8</code></dd></dl>
    <ol class="recipe"><li>The SHA-256 of the compact JSON <code>[&quot;league.draw&quot;,league,match,mode,seed]</code>, with the seed in hex, is the commitment. It was promised before anyone chose.</li>
    <li>The attempt's seed is the HMAC-SHA-256 with the 32 bytes of the seed as its key over <code>[&quot;attempt_seed&quot;,attempt]</code>. The referee got it when both choices were written down.</li>
    <li>Block <i>k</i>, from 0, is the HMAC-SHA-256 with the 32 bytes of the attempt's seed as its key over the compact JSON <code>[league,match,attempt,share A,share B,k]</code>. Each block gives four words of 64 bits, the highest byte first.</li>
    <li>With <i>n</i> = 10 faces, the first word below the largest multiple of <i>n</i> that 64 bits hold gives the number: 1 + word mod <i>n</i>.</li></ol></details></section>
    "#);
}

#[test]
fn new_player() {
    let mut page = models::players().remove(1);
    page.league.title = "Cup".to_owned();
    page.row.standing.display_name = "Ada".into();
    page.agent.version = "1.0".to_owned();
    assert_snapshot!(lines(player_page::main(&page, Links::Site)), @r##"
    <section class="summary"><p class="crumbs"><a href="./"><bdi>Cup</bdi></a>
    <span>P02</span></p>
    <h1><svg class="face c2" viewBox="0 0 24 24" aria-hidden="true"><use href="#fh0"></use>
    <use href="#fe2"></use>
    <use href="#fm2"></use></svg>
    <bdi>Ada</bdi></h1>
    <dl class="facts"><div><dt>Rank</dt>
    <dd>2<span class="of"> of 2</span></dd></div>
    <div><dt>Points</dt>
    <dd>0</dd></div>
    <div><dt>Won, drawn, lost</dt>
    <dd>0–0–2</dd></div>
    <div><dt>Technical losses</dt>
    <dd>1</dd></div>
    <div><dt>Latency</dt>
    <dd>3.2 / 41 ms</dd></div>
    <div><dt>Speaks</dt>
    <dd>v2</dd></div>
    <div><dt>Version</dt>
    <dd><bdi>1.0</bdi></dd></div>
    <div><dt>State</dt>
    <dd>silent</dd></div></dl>
    <p class="form"><span>Form</span>
    <b class="w">W</b>
    <b class="t">T</b></p></section>
    <section class="card"><h2>Matches</h2>
    <p class="more">No match is over yet.</p></section>
    "##);
}

#[test]
fn round_rows() {
    let page = &models::rounds()[0];
    let html = round_page::main(page, Links::Site).into_string();
    let rows: Vec<&str> = html.split("<tr>").skip(2).collect();
    assert_snapshot!(lines(rows[0]), @r##"
    <th class="text" scope="row"><a href="match/R1M1">R1M1</a></th>
    <td class="who"><a href="player/P01"><svg class="face c1" viewBox="0 0 24 24" aria-hidden="true"><use href="#fh0"></use>
    <use href="#fe1"></use>
    <use href="#fm1"></use></svg>
    <bdi>Ada</bdi></a></td>
    <td><b class="w">W</b> 3</td>
    <td><b class="t">T</b> 0</td>
    <td class="who"><a href="player/P02"><svg class="face c2" viewBox="0 0 24 24" aria-hidden="true"><use href="#fh0"></use>
    <use href="#fe2"></use>
    <use href="#fm2"></use></svg>
    <bdi>&lt;script&gt;alert(1)&lt;/script&gt;&quot; onmouseover=&quot;x' &amp;amp;</bdi></a></td>
    <td class="text words"><bdi>&lt;script&gt;alert(1)&lt;/script&gt;&quot; onmouseover=&quot;x' &amp;amp;</bdi></td>
    <td class="text">REF01</td>
    <td><time datetime="2027-01-15T08:00:00.000Z">08:00:00</time></td></tr>
    "##);
    assert!(rows[1].contains("choosing") && !rows[1].contains("<time"));
    assert!(!rows[2].contains("match/"), "there is nothing left to see");
}
