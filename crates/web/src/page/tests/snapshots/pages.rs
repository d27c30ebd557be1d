//! The pages of matches and players.

use insta::assert_snapshot;

use super::super::super::*;
use super::super::models;
use super::lines;
use crate::model::TileState;

#[test]
fn a_match() {
    let mut page = models::match_page();
    page.players[1].name = "Grace".to_owned();
    page.league.title = "Cup".to_owned();
    page.result = None;
    page.state = Some(TileState::Choosing);
    page.said.clear();
    assert_snapshot!(lines(match_main(&page, Links::Site)), @r#"
    <section class="duel"><p class="crumbs"><a href="/"><bdi>Cup</bdi></a>
    <a href="/round/1">Round 1</a>
    <span>R1M1</span></p>
    <h1 class="hush">R1M1: <bdi>Ada</bdi> – <bdi>Grace</bdi></h1>
    <div class="seats"><div class="seat"><p class="who"><a href="/player/P01"><bdi>Ada</bdi></a></p>
    <p class="id">seat A · P01</p></div>
    <p class="middle"><span class="state">choosing</span></p>
    <div class="seat"><p class="who"><a href="/player/P02"><bdi>Grace</bdi></a></p>
    <p class="id">seat B · P02</p></div></div>
    <p class="reason">What is chosen and said shows here when the match is over.</p>
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
    <section class="card said" aria-labelledby="said-title"><h2 id="said-title">What was said</h2>
    <p class="more">Nothing is told of a match before it is over.</p></section>
    "#);
}

#[test]
fn a_message() {
    let mut page = models::match_page();
    page.said.truncate(1);
    page.said[0].message = serde_json::json!({ "attempt": 1 });
    assert_snapshot!(lines(sequence::sequence(&page, Links::Site)), @r#"
    <section class="card said" aria-labelledby="said-title"><h2 id="said-title">What was said</h2>
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
    <span class="badge deviates">not read</span></span></summary>
    <pre tabindex="0"><code>{
      &quot;attempt&quot;: 1
    }</code></pre>
    <p class="more">It could not be read: &lt;script&gt;alert(1)&lt;/script&gt;&quot; onmouseover=&quot;x' &amp;amp;</p>
    <p class="more">This was said, cut short of its 9000 bytes:</p>
    <pre tabindex="0"><code>&lt;script&gt;alert(1)&lt;/script&gt;&quot; onmouseover=&quot;x' &amp;amp;</code></pre></details></li>
    <li class="state">The referee has taken the match</li>
    <li class="state">The result stands</li></ol></section>
    "#);
}

#[test]
fn a_position() {
    let mut page = models::matches().remove(1);
    page.players[1].name = "Grace".to_owned();
    page.positions.remove(0);
    page.positions[0].cells[1] = "O".to_owned();
    assert_snapshot!(lines(positions::positions(&page, Links::Site)), @r#"
    <section class="card positions" id="positions" aria-labelledby="positions-title"><h2 id="positions-title">Move by move</h2>
    <ol><li><table class="grid"><caption>0. <bdi>Grace</bdi></caption>
    <tbody><tr><td></td>
    <td>O</td></tr>
    <tr><td></td>
    <td class="last">X</td></tr></tbody></table></li></ol></section>
    "#);
}

#[test]
fn a_draw() {
    let mut page = models::match_page();
    let mut result = models::result();
    if let Some(draw) = &mut result.draw {
        draw.nonces[0] = "a1".to_owned();
    }
    page.promise = None;
    assert_snapshot!(lines(draw::draw(&page, &result, Links::File)), @r#"
    <section class="card draw" id="draw-R1M1" aria-labelledby="draw-title-R1M1" data-league="league_1" data-match="R1M1" data-attempt="1" data-nonce-a="a1" data-nonce-b="" data-seed="0202020202020202020202020202020202020202020202020202020202020202" data-commitment="0101010101010101010101010101010101010101010101010101010101010101" data-lowest="1" data-highest="10" data-number="8"><h2 id="draw-title-R1M1">The draw</h2>
    <p class="draw-verdict unchecked" id="draw-verdict-R1M1" role="status">Not checked yet: that needs a script, or <code>league verify</code>.</p>
    <details><summary>How it was drawn, and how to draw it again</summary>
    <dl class="values"><dt>League, match, attempt</dt>
    <dd><code>league_1</code> <code>R1M1</code> <code>1</code></dd>
    <dt>Commitment</dt>
    <dd><code>0101010101010101010101010101010101010101010101010101010101010101</code></dd>
    <dt>Seed</dt>
    <dd><code>0202020202020202020202020202020202020202020202020202020202020202</code></dd>
    <dt>Share of seat A</dt>
    <dd><code><bdi>a1</bdi></code></dd>
    <dt>Share of seat B</dt>
    <dd>none was sent</dd>
    <dt>Number</dt>
    <dd><code>8</code></dd></dl>
    <ol class="recipe"><li>The SHA-256 of the compact JSON <code>[&quot;league.draw&quot;,league,match,seed]</code>, with the seed in hex, is the commitment. It was promised before anyone chose.</li>
    <li>Block <i>k</i>, from 0, is the HMAC-SHA-256 with the 32 bytes of the seed as its key over the compact JSON <code>[league,match,attempt,share A,share B,k]</code>. Each block gives four words of 64 bits, the highest byte first.</li>
    <li>With <i>n</i> = 10 faces, the first word below the largest multiple of <i>n</i> that 64 bits hold gives the number: 1 + word mod <i>n</i>.</li></ol></details></section>
    "#);
}

#[test]
fn a_player_that_is_new() {
    let mut page = models::players().remove(1);
    page.league.title = "Cup".to_owned();
    page.standing.name = "Ada".to_owned();
    page.agent.version = "1.0".to_owned();
    assert_snapshot!(lines(player_main(&page, Links::Site)), @r#"
    <section class="summary"><p class="crumbs"><a href="/"><bdi>Cup</bdi></a>
    <span>P02</span></p>
    <h1><bdi>Ada</bdi></h1>
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
    "#);
}

#[test]
fn a_row_of_a_round() {
    let page = &models::rounds()[0];
    let html = round_main(page, Links::Site).into_string();
    let rows: Vec<&str> = html.split("<tr>").skip(2).collect();
    assert_snapshot!(lines(rows[0]), @r#"
    <th class="text" scope="row"><a href="/match/R1M1">R1M1</a></th>
    <td class="who"><a href="/player/P01"><bdi>Ada</bdi></a></td>
    <td><b class="w">W</b> 3</td>
    <td><b class="t">T</b> 0</td>
    <td class="who"><a href="/player/P02"><bdi>&lt;script&gt;alert(1)&lt;/script&gt;&quot; onmouseover=&quot;x' &amp;amp;</bdi></a></td>
    <td class="text words"><bdi>&lt;script&gt;alert(1)&lt;/script&gt;&quot; onmouseover=&quot;x' &amp;amp;</bdi></td>
    <td class="text">REF01</td>
    <td><time datetime="2027-01-15T08:00:00.000Z">08:00:00</time></td></tr>
    "#);
    assert!(rows[1].contains("choosing") && !rows[1].contains("<time"));
    assert!(!rows[2].contains("/match/"), "there is nothing left to see");
}
