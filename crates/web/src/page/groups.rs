//! Groups with tables of their own, and ladders.

use maud::{Markup, html};

use super::Links;
use super::format::{counted, name};
use super::rows::{climbed, items};
use crate::model::{Group, GroupPlayer, LadderRow, LeagueViews};
use crate::parts::ListItem;

/// The card; empty without groups.
pub(crate) fn groups(views: &LeagueViews, links: Links) -> Markup {
    let groups = &views.groups;
    html! {
        div #groups {
            @if !groups.is_empty() {
                section.card aria-labelledby="groups-title" {
                    h2 #groups-title { "Groups" }
                    div.groups { @for group in groups { (table(group, links)) } }
                    @if views.unlisted > 0 { p.more { (left_out(views)) } }
                }
            }
        }
    }
}

fn table(group: &Group, links: Links) -> Markup {
    let title = format!("group-{}", group.name);
    html! {
        div {
            h3 id=(title) { "Group " (group.name) }
            table aria-labelledby=(title) {
                thead { tr {
                    th scope="col" { abbr title="Rank" { "#" } }
                    th.text scope="col" { "Player" }
                    th scope="col" { abbr title="Played" { "P" } }
                    th scope="col" { abbr title="Won" { "W" } }
                    th scope="col" { abbr title="Drawn" { "D" } }
                    th scope="col" { abbr title="Lost" { "L" } }
                    th scope="col" { abbr title="Points" { "Pts" } }
                } }
                tbody { @for (rank, row) in (1..).zip(&group.rows) { (member(rank, row, links)) } }
            }
        }
    }
}

fn member(rank: usize, row: &GroupPlayer, links: Links) -> Markup {
    html! {
        tr.on[row.goes_on == Some(true)].out[row.goes_on == Some(false)] {
            td { (rank) }
            th scope="row" {
                a href=(links.of_player(&row.player.id)) { (name(&row.player)) }
                @match row.goes_on {
                    Some(true) => { " " span.badge { "goes on" } },
                    Some(false) => span.hush { " is out" },
                    None => {},
                }
            }
            td { (row.played) }
            td { (row.wins) }
            td { (row.draws) }
            td { (row.losses) }
            td.sum { (row.points) }
        }
    }
}

/// A rung for each player.
pub(crate) fn ladder(rows: &[LadderRow], links: Links) -> Vec<ListItem> {
    let ranked: Vec<(usize, &LadderRow)> = (1..).zip(rows).collect();
    items(&ranked, |(rank, row)| {
        let key = format!("ladder-{}", row.player.id);
        let html = html! {
            li id=(key) {
                span.rank { (rank) }
                a href=(links.of_player(&row.player.id)) { (name(&row.player)) }
                @if row.climbed != 0 { (climbed(row.climbed)) } @else { span.stays { "–" } }
            }
        };
        (key, html)
    })
}

/// How many players are left out.
pub(crate) fn ladder_note(views: &LeagueViews) -> Markup {
    html! {
        p #ladder-note .more { @if views.unlisted > 0 && !views.ladder.is_empty() { (left_out(views)) } }
    }
}

fn left_out(views: &LeagueViews) -> String {
    let more = counted(views.unlisted as u64, "more player", "more players");
    format!("and {more}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::tests::models;

    fn lines(html: &str) -> String {
        html.replace("><tr", ">\n<tr")
    }

    #[test]
    fn group_says_who_goes_on() {
        let mut views = models::views();
        views.groups[0].rows[1].player = models::player(2, "Grace");
        views.groups[0].rows[1].goes_on = Some(false);
        insta::assert_snapshot!(lines(&groups(&views, Links::Site).into_string()), @r##"
        <div id="groups"><section class="card" aria-labelledby="groups-title"><h2 id="groups-title">Groups</h2><div class="groups"><div><h3 id="group-A">Group A</h3><table aria-labelledby="group-A"><thead>
        <tr><th scope="col"><abbr title="Rank">#</abbr></th><th class="text" scope="col">Player</th><th scope="col"><abbr title="Played">P</abbr></th><th scope="col"><abbr title="Won">W</abbr></th><th scope="col"><abbr title="Drawn">D</abbr></th><th scope="col"><abbr title="Lost">L</abbr></th><th scope="col"><abbr title="Points">Pts</abbr></th></tr></thead><tbody>
        <tr class="on"><td>1</td><th scope="row"><a href="player/P01"><svg class="face c1" viewBox="0 0 24 24" aria-hidden="true"><use href="#fh0"></use><use href="#fe1"></use><use href="#fm1"></use></svg><bdi>Ada</bdi></a> <span class="badge">goes on</span></th><td>3</td><td>2</td><td>0</td><td>1</td><td class="sum">6</td></tr>
        <tr class=" out"><td>2</td><th scope="row"><a href="player/P02"><svg class="face c2" viewBox="0 0 24 24" aria-hidden="true"><use href="#fh0"></use><use href="#fe2"></use><use href="#fm2"></use></svg><bdi>Grace</bdi></a><span class="hush"> is out</span></th><td>3</td><td>2</td><td>0</td><td>1</td><td class="sum">6</td></tr></tbody></table></div></div></section></div>
        "##);
        let none = groups(&LeagueViews::default(), Links::Site);
        assert!(!none.into_string().contains("section"));
    }

    #[test]
    fn players_that_are_left_out_are_counted_below_groups_and_ladders() {
        let mut views = models::views();
        let told = |views: &LeagueViews| {
            let drawn = [groups(views, Links::Site), ladder_note(views)];
            drawn.map(|it| it.into_string().contains("and 9,500 more players"))
        };
        assert_eq!(told(&views), [false, false]);
        views.unlisted = 9_500;
        assert_eq!(told(&views), [true, true]);
        views.ladder.clear();
        assert_eq!(told(&views), [true, false]);
    }

    #[test]
    fn rung_tells_its_movement() {
        let mut rows = models::views().ladder;
        rows[0].player = models::player(2, "Grace");
        rows.push(LadderRow {
            player: models::player(3, "Zoë"),
            climbed: 0,
        });
        let html: Vec<String> = ladder(&rows, Links::File)
            .into_iter()
            .map(|it| it.html)
            .collect();
        insta::assert_snapshot!(lines(&html.join("\n")), @r##"
        <li id="ladder-P02"><span class="rank">1</span><a href="#player-P02"><svg class="face c2" viewBox="0 0 24 24" aria-hidden="true"><use href="#fh0"></use><use href="#fe2"></use><use href="#fm2"></use></svg><bdi>Grace</bdi></a><span class="up">▲1</span></li>
        <li id="ladder-P01"><span class="rank">2</span><a href="#player-P01"><svg class="face c1" viewBox="0 0 24 24" aria-hidden="true"><use href="#fh0"></use><use href="#fe1"></use><use href="#fm1"></use></svg><bdi>Ada</bdi></a><span class="down">▼1</span></li>
        <li id="ladder-P03"><span class="rank">3</span><a href="#player-P03"><svg class="face c3" viewBox="0 0 24 24" aria-hidden="true"><use href="#fh0"></use><use href="#fe3"></use><use href="#fm3"></use></svg><bdi>Zoë</bdi></a><span class="stays">–</span></li>
        "##);
    }
}
