//! Rules about the messages to players after each round, with the standings and the end of the
//! round; and about the end of the league.

use std::collections::BTreeMap;

use super::rounds::{follows_table_16, is_a_round_robin};
use super::season::{self, LeagueRecord, MemberRecord, Season};
use super::{ANSWERED, call_record, played_league, standings_query};
use crate::listener::IncomingCall;
use crate::prelude::*;

const UPDATE: &str = "LEAGUE_STANDINGS_UPDATE";
const ROUND_OVER: &str = "ROUND_COMPLETED";
const LEAGUE_OVER: &str = "LEAGUE_COMPLETED";

pub(super) fn topic() -> Topic {
    topic! { "standings":
        "TAB-01" Must[150] "000 §4.7.1": "After each round every player is told the table"
            => "send LEAGUE_STANDINGS_UPDATE to every player when a round is over",
            seen!(played_league()), [By(tells_the_table)];
        "TAB-02" Must[150] "000 §1.4, §5.3.4": "The table comes as a JSON-RPC call of update_standings, with a whole envelope"
            => "POST a call of `update_standings`, from league_manager",
            seen!(after_rounds(UPDATE)), framed("update_standings");
        "TAB-03" Must[150] "000 §4.7.1": "Each row holds rank, player, name, played, wins, draws, losses, points"
            => "fill all of them for each player", seen!(after_rounds(UPDATE)), [By(has_full_rows)];
        "TAB-04" Must[150] "000 §3.3.3": "Points follow from the results: 3, 1 and 0"
            => "count 3 for a win, 1 for a draw, 0 for a loss",
            seen!(after_rounds(UPDATE)), [By(counts_points)];
        "TAB-05" Must[150] "000 §4.7.1": "Wins, draws and losses follow from the results"
            => "count each result for both players",
            seen!(after_rounds(UPDATE)), [By(counts_results)];
        "TAB-06" Must[150] "000 §2.5.6, ruling 20": "The table is ordered by points, then wins"
            => "sort by points, wins, draws minus losses",
            seen!(after_rounds(UPDATE)), [By(is_ordered)];
        "TAB-07" Must[150] "ruling 20": "Ranks count from 1"
            => "set `rank` to 1, 2, 3, … from the top",
            seen!(after_rounds(UPDATE)), [By(counts_ranks)];
        "TAB-08" Must[150] "000 §4.8.1": "After each round every player is told that it is over"
            => "send ROUND_COMPLETED to every player",
            seen!(after_rounds(ROUND_OVER)), framed("notify_round_completed");
        "TAB-09" Must[150] "000 §4.8.1": "ROUND_COMPLETED counts the matches of the round"
            => "set `matches_completed`, or `matches_played`",
            seen!(after_rounds(ROUND_OVER)), [By(counts_matches)];
        "TAB-10" Must[150] "000 §4.8.1": "ROUND_COMPLETED names the next round, and null after the last"
            => "set `next_round_id`", seen!(after_rounds(ROUND_OVER)), [By(names_the_next_round)];
        "TAB-11" Should[150] "000 §4.8.1": "The summary adds up"
            => "set `summary` with `total_matches`, `wins`, `draws`, `technical_losses`",
            seen!(after_rounds(ROUND_OVER)), [By(adds_up)];
        "TAB-12" Must[150] "000 §2.5.5": "A round is announced when the one before is over, and not earlier"
            => "wait for all results of a round before the next announcement",
            seen!(played_league()), [By(announces_in_order)];
        "TAB-13" Must[150] "000 §3.5.1": "Each pair meets exactly once, in as few rounds as there can be"
            => "make a round robin by the circle method",
            seen!(played_league()), [By(is_a_round_robin)];
        "TAB-14" Should[150] "000 §3.5.2": "Four players meet as in table 16"
            => "follow table 16 for P01 to P04", seen!(played_league()), [By(follows_table_16)];
    }
}

pub(super) fn end_rules() -> Topic {
    topic! { "end of the league":
        "END-01" Must[150] "000 §4.8.2": "Every player is told that the league is over"
            => "send LEAGUE_COMPLETED to every player after the last round",
            seen!(played_league()), [By(tells_the_end)];
        "END-02" Should[150] "000 §4.8.2": "The referees are told as well"
            => "send LEAGUE_COMPLETED to the referees, too",
            seen!(played_league()), [By(tells_referees_the_end)];
        "END-03" Must[150] "000 §1.4, §2.4.1": "The end is a JSON-RPC call of notify_league_completed, with a whole envelope"
            => "POST a call of `notify_league_completed`, from league_manager",
            seen!(ends()), framed("notify_league_completed");
        "END-04" Must[150] "000 §4.8.2": "The numbers of rounds and matches are right"
            => "set `total_rounds` and `total_matches`", seen!(ends()),
            [equals("total_rounds", Want::Fact("rounds")),
             equals("total_matches", Want::Fact("matches"))];
        "END-05" Must[150] "000 §4.8.2": "The champion is the first of the table"
            => "set `champion` to the first row of the final table",
            seen!(ends()), [By(names_the_champion)];
        "END-06" Must[150] "000 §4.8.2": "The final table holds every player, by points"
            => "set `final_standings` with rank, player and points",
            seen!(ends()), [By(lists_every_player)];
        "END-07" Must[150] "ruling 17": "A player that fell silent does not keep the others from the end"
            => "give up on a message that is not taken",
            seen!(played_league()), [By(gets_past_a_silent_player)];
        "END-08" Must[150] "000 §4.8.2": "The end is told once"
            => "do not repeat LEAGUE_COMPLETED once it was answered",
            seen!(played_league()), [By(tells_the_end_once)];
        "END-09" Should[150] "000 §4.9.1": "Queries are answered after the end"
            => "stay up and answer queries when the league is over",
            Ask::new(after!(after_the_end), standings_query).due(ANSWERED),
            [is("query_type", "GET_STANDINGS"), equals("success", true)];
        "END-10" Must[150] "ruling 26": "No message holds a token of another agent"
            => "send to each agent its own tokens alone",
            seen!(all_calls()), [By(hides_tokens_of_others)];
        "END-11" Must[150] "000 §4.6.2": "Every true report was taken, in whatever order its members stood"
            => "read the members of `score` by name, and not by their place",
            seen!(played_league()),
            [By(|it| hold!(it.league()?.season.refused.is_empty(),
                 else "reports were refused: {:?}", it.league()?.season.refused))];
    }
}

fn framed(tool: &'static str) -> Vec<Expect> {
    let mut expects = vec![Posted, Framed(tool)];
    expects.extend(envelope(Want::Text("league_manager")));
    expects
}

/// The messages of a type that each lasting player received after each round.
async fn after_rounds(caller: &Caller, kind: &str) -> Records {
    let league = season::played(&caller.stage).await?;
    let mut records = Vec::new();
    for player in league.lasting() {
        for round in 1..=league.rounds() {
            let call = after_round(player, kind, round)?;
            let record = call_record(&caller.stage, &league, player, call);
            records.push(record.with("round", round));
        }
    }
    Ok(records)
}

/// The message of a type that a player received after a round.
fn after_round<'m>(
    player: &'m MemberRecord,
    kind: &str,
    round: usize,
) -> Result<&'m Arc<IncomingCall>, Trouble> {
    let call = player
        .told(kind)
        .find(|call| call.message()["round_id"] == round);
    let missing = || Trouble::broken(format!("{} received no {kind} of round {round}", player.id));
    call.ok_or_else(missing)
}

/// The end of the league as each lasting player received it.
async fn ends(caller: &Caller) -> Records {
    let league = season::played(&caller.stage).await?;
    let matches = league.rounds() * league.matches_a_round();
    let mut records = Vec::new();
    for player in league.lasting() {
        let call = end_of(&league, player)?;
        let record = call_record(&caller.stage, &league, player, call);
        let record = record.with("rounds", league.rounds());
        records.push(record.with("matches", matches));
    }
    Ok(records)
}

/// The end of the league as a player received it.
fn end_of<'l>(
    league: &LeagueRecord,
    player: &'l MemberRecord,
) -> Result<&'l Arc<IncomingCall>, Trouble> {
    let Season {
        outcomes, refused, ..
    } = &league.season;
    let (id, reported) = (&player.id, outcomes.len());
    player.told(LEAGUE_OVER).next().ok_or_else(|| {
        Trouble::broken(format!(
            "{id} was not told the end; {reported} matches were reported, refused were {refused:?}"
        ))
    })
}

/// Every call to every member.
async fn all_calls(caller: &Caller) -> Records {
    let league = season::played(&caller.stage).await?;
    let members = league.members();
    let records = members.flat_map(|member| {
        let calls = member.calls.iter();
        calls.map(|call| call_record(&caller.stage, &league, member, call))
    });
    Ok(records.collect())
}

/// A situation: the league is over.
async fn after_the_end(caller: &Caller) -> Result<Setting, Trouble> {
    season::played(&caller.stage).await?;
    super::admitted(caller).await
}

fn tells_the_table(record: &Record) -> Judgement {
    let league = record.league()?;
    league.lasting().try_for_each(|player| {
        let mut rounds = 1..=league.rounds();
        rounds.try_for_each(|round| after_round(player, UPDATE, round).map(drop))
    })
}

fn rows<'r>(record: &'r Record, name: &str) -> &'r [Value] {
    let rows = record.member(name).as_array();
    rows.map_or(&[], |rows| rows)
}

fn has_full_rows(record: &Record) -> Judgement {
    let players = record.league()?.players.len();
    let rows = rows(record, "standings");
    hold!(rows.len() == players, else "there are {} rows for {players} players", rows.len())?;
    for row in rows {
        for name in ["player_id", "display_name"] {
            match &row[name] {
                Value::Null => return Err(Trouble::forgiven(format!("`{name}` is missing"))),
                found => hold!(found.is_string(), else "`{name}` is {found}")?,
            }
        }
        for name in ["rank", "played", "wins", "draws", "losses", "points"] {
            hold!(row[name].is_u64(), else "`{name}` is {}", row[name])?;
        }
    }
    Ok(())
}

/// Wins, draws and losses of each player after a round, computed from the reports.
fn results(record: &Record) -> Result<BTreeMap<&str, [u64; 3]>, Trouble> {
    let until = record.fact("round")?.as_u64().unwrap_or_default();
    let mut all: BTreeMap<&str, [u64; 3]> = BTreeMap::new();
    let outcomes = record.league()?.season.outcomes.iter();
    for (_, outcome) in outcomes.filter(|(id, _)| u64::from(round_of(id)) <= until) {
        for (seat, player) in outcome.players.iter().enumerate() {
            let place = match outcome.winner {
                Some(winner) => 2 * usize::from(winner != seat),
                None => 1,
            };
            all.entry(player).or_default()[place] += 1;
        }
    }
    Ok(all)
}

/// Compares each row with the computed results.
fn compared(record: &Record, look: fn(&Value, [u64; 3]) -> Judgement) -> Judgement {
    let results = results(record)?;
    rows(record, "standings").iter().try_for_each(|row| {
        let id = row["player_id"].as_str().unwrap_or_default();
        look(row, results.get(id).copied().unwrap_or_default())
    })
}

fn counts_points(record: &Record) -> Judgement {
    compared(record, |row, [wins, draws, _]| {
        let (told, due) = (&row["points"], 3 * wins + draws);
        hold!(*told == due, else "{} has {told} points instead of {due}", row["player_id"])
    })
}

fn counts_results(record: &Record) -> Judgement {
    compared(record, |row, due| {
        let told = ["wins", "draws", "losses"].map(|name| row[name].as_u64().unwrap_or_default());
        hold!(told == due, else "{} has {told:?} instead of {due:?}", row["player_id"])
    })
}

fn is_ordered(record: &Record) -> Judgement {
    let key = |row: &Value| ["points", "wins"].map(|name| row[name].as_u64().unwrap_or_default());
    let keys: Vec<_> = rows(record, "standings").iter().map(key).collect();
    hold!(keys.is_sorted_by(|first, second| first >= second), else "points and wins read {keys:?}")
}

fn counts_ranks(record: &Record) -> Judgement {
    let rows = rows(record, "standings").iter();
    let ranks: Vec<_> = rows.map(|row| row["rank"].as_u64()).collect();
    let due: Vec<_> = (1..=ranks.len() as u64).map(Some).collect();
    hold!(ranks == due, else "the ranks are {ranks:?}")
}

fn counts_matches(record: &Record) -> Judgement {
    let (message, due) = (record.message(), record.league()?.matches_a_round());
    let told = message.get("matches_completed");
    let told = told.or(message.get("matches_played"));
    let count = told.and_then(Value::as_u64);
    hold!(count == Some(due as u64), else "{count:?} matches are told instead of {due}")
}

fn names_the_next_round(record: &Record) -> Judgement {
    let round = record.fact("round")?.as_u64().unwrap_or_default();
    let next = record.member("next_round_id");
    let due = match round < record.league()?.rounds() as u64 {
        true => Value::from(round + 1),
        false => Value::Null,
    };
    hold!(*next == due, else "`next_round_id` is {next} instead of {due}")
}

fn adds_up(record: &Record) -> Judgement {
    let summary = record.member("summary");
    let count = |name: &str| summary[name].as_u64().unwrap_or_default();
    hold!(summary.is_object(), else "`summary` is missing")?;
    let sum = count("wins") + count("draws") + count("technical_losses");
    hold!(sum == count("total_matches"), else "`summary` is {summary}")
}

fn announces_in_order(record: &Record) -> Judgement {
    for player in record.league()?.lasting() {
        let mut over = 0;
        for call in &player.calls {
            let round = call.message()["round_id"].as_u64().unwrap_or_default();
            match call.kind() {
                ROUND_OVER => over = round,
                "ROUND_ANNOUNCEMENT" => hold!(round <= over + 1,
                    else "{} hears of round {round} after round {over}", player.id)?,
                _ => {}
            }
        }
    }
    Ok(())
}

fn tells_the_end(record: &Record) -> Judgement {
    let league = record.league()?;
    league
        .lasting()
        .try_for_each(|player| end_of(league, player).map(drop))
}

fn tells_referees_the_end(record: &Record) -> Judgement {
    let referees = record.league()?.referees.iter();
    let mut lasting = referees.filter(|referee| !referee.is_silent);
    lasting.try_for_each(|referee| {
        let told = referee.told(LEAGUE_OVER).next().is_some();
        hold!(told, else "{} was not told", referee.id)
    })
}

fn names_the_champion(record: &Record) -> Judgement {
    let first = &record.member("final_standings")[0]["player_id"];
    let champion = record.member("champion.player_id");
    hold!(champion.is_string() && champion == first,
        else "the champion is {champion}, and {first} is first")
}

fn lists_every_player(record: &Record) -> Judgement {
    let rows = rows(record, "final_standings");
    for player in &record.league()?.players {
        let id = &player.id;
        hold!(rows.iter().any(|row| row["player_id"] == **id), else "there is no row for {id}")?;
    }
    let points: Vec<_> = rows.iter().map(|row| row["points"].as_u64()).collect();
    hold!(points.is_sorted_by(|first, second| first >= second), else "the points read {points:?}")
}

fn gets_past_a_silent_player(record: &Record) -> Judgement {
    let mut players = record.league()?.players.iter();
    need!(players.any(|player| player.is_silent), else "the league did not come so far")?;
    tells_the_end(record)
}

fn tells_the_end_once(record: &Record) -> Judgement {
    record.league()?.lasting().try_for_each(|player| {
        let count = player.told(LEAGUE_OVER).count();
        hold!(count <= 1, else "{} was told {count} times", player.id)
    })
}

fn hides_tokens_of_others(record: &Record) -> Judgement {
    let (sent, receiver) = (record.call()?.text(), record.fact("receiver")?);
    let members = record.league()?.members();
    let mut others = members.filter(|other| *receiver != *other.id);
    let shown = others.find(|other| !other.token.is_empty() && sent.contains(&other.token));
    let id = shown.map(|other| &other.id);
    hold!(id.is_none(), else "the token of {id:?} was sent to {receiver}")
}
