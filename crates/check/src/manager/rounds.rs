//! Rules about the schedule and its announcements, about orders to referees, and about matches that
//! are reassigned.

use std::sync::Arc;

use league_protocol::token::TokenHash;
use serde_json::Value;

use super::fake_member::FakeMember;
use super::fixture::Fixture;
use super::season::{self, LeagueRecord, MemberRecord, snapshot};
use super::{ANSWERED, admitted, begun_league, call_record, query, record_of, succeeded};
use crate::caller::Caller;
use crate::exchange::{Ask, Setting};
use crate::fake_manager::port;
use crate::record::Expect::{By, Framed, Posted, Refused, Text};
use crate::record::{Record, Statement, Want, envelope, is, refused_with};
use crate::rule::{Judgement, Topic, Trouble, hold, rules, seen};
use crate::stage::Question;

/// How many matches the fake referees declare that they run at once.
const CAPACITY: usize = 2;

/// Table 16 of 000: the pairings of four players.
const FOUR: [(u64, [&str; 2]); 6] = [
    (1, ["P01", "P02"]),
    (1, ["P03", "P04"]),
    (2, ["P03", "P01"]),
    (2, ["P04", "P02"]),
    (3, ["P04", "P01"]),
    (3, ["P03", "P02"]),
];

const NO_ORDERS: &str = "the manager sends no START_MATCH, which is an addition of this league";
const MANAGER: Want = Want::Text("league_manager");

pub(super) fn topic() -> Topic {
    Topic {
        name: "rounds",
        rules: rules! {
            "RND-01" Must[30] "000 §4.3.1": "When all are there the league begins: every player is told the first round"
                => "send ROUND_ANNOUNCEMENT to every player",
                seen!(begun_league()), [By(announces_the_first_round)];
            "RND-02" Must[30] "000 §1.4, §4.3.1": "The announcement is a JSON-RPC call of notify_round"
                => "POST a call of `notify_round` to the address of the player",
                seen!(announcements()), [Posted, Framed("notify_round")];
            "RND-03" Must[30] "000 §2.4.1": "The envelope of the announcement is whole, from league_manager"
                => "set `protocol`, `sender`, `timestamp` and `conversation_id`",
                seen!(announcements()), envelope(MANAGER);
            "RND-04" Must[30] "000 §4.3.1": "The announcement names league and round"
                => "set `league_id`, and `round_id` to 1 for the first round",
                seen!(announcements()),
                [is("league_id", Want::Fact("league")), By(|record| is_round_one(record, "round_id"))];
            "RND-05" Must[30] "000 §4.3.1": "Each row names match, game, both players and the referee's address"
                => "set `match_id`, `game_type`, `player_A_id`, `player_B_id`, `referee_endpoint`",
                seen!(announcements()), [By(has_full_rows)];
            "RND-06" Should[30] "000 §4.3.1": "Match k of round r is called RrMk"
                => "name matches R1M1, R1M2, …", seen!(announcements()), [By(names_matches)];
            "RND-07" Must[30] "000 §4.3.1": "The address of the referee is that of a referee of the league"
                => "set `referee_endpoint` to the `contact_endpoint` of the referee",
                seen!(announcements()), [By(names_known_referees)];
            "RND-08" Must[150] "000 §3.5.1": "No player plays twice in a round"
                => "pair the players by the circle method", seen!(begun_league()), [By(plays_once_a_round)];
            "RND-09" Should[30] "000 §2.4.5, ruling 25": "A player sees the token of its own match, and of no other"
                => "put `match_token` into the receiver's own row alone",
                seen!(all_announcements()), [By(shows_own_tokens_only)];
            "RND-10" Should[30] "ruling 45": "The manager shows its own token, and no other"
                => "set `auth_token` to the `manager_token` that you gave this agent",
                seen!(announcements()), [By(shows_its_own_token)];
            "RND-11" Must[30] "000 §4.2.2": "No agent is admitted after the league has begun"
                => "answer `status` REJECTED once the league has begun",
                Ask::new(|caller| Box::pin(latecomer(caller)), |_, at| Question::new("register_player", at.value.clone())),
                [By(is_rejected)];
            "RND-12" Must[30] "000 §4.9.1": "GET_SCHEDULE tells the matches"
                => "answer GET_SCHEDULE with `success` true once there is a schedule",
                Ask::new(|caller| Box::pin(begun(caller)), |stage, _| query(stage, "GET_SCHEDULE", None))
                    .due(ANSWERED),
                [By(succeeded), By(lists_the_first_match)];
            "RND-13" Must[30] "000 §4.9.1": "GET_NEXT_MATCH tells the match that was announced"
                => "answer GET_NEXT_MATCH with the next match of `query_params.player_id`",
                Ask::new(|caller| Box::pin(begun(caller)), |stage, at| query(stage, "GET_NEXT_MATCH", Some(&at.subject)))
                    .due(ANSWERED),
                [
                    By(succeeded), Text("data.next_match.match_id"), Text("data.next_match.opponent_id"),
                    By(|record| is_round_one(record, "data.next_match.round_id")),
                ];
        },
    }
}

pub(super) fn order_rules() -> Topic {
    Topic {
        name: "orders",
        rules: rules! {
            "ORD-01" Should[30] "ruling 4": "The referee that was announced is told to run the match"
                => "send START_MATCH to the referee named in `referee_endpoint`",
                seen!(orders()), [By(goes_to_the_announced_referee)];
            "ORD-02" Must[30] "000 §2.4.1": "The envelope of an order is whole, from league_manager"
                => "set `protocol`, `sender`, `timestamp` and `conversation_id`",
                seen!(orders()), [&[Posted, Framed("start_match")][..], &envelope(MANAGER)].concat();
            "ORD-03" Should[30] "ruling 4": "An order holds both players and where they answer"
                => "set `players` with `player_id` and `contact_endpoint`, seat A first",
                seen!(orders()), [By(holds_the_players)];
            "ORD-04" Must[30] "ruling 25": "A referee never sees a player's token"
                => "put the SHA-256 of the token into the order, and not the token",
                seen!(calls_to_referees()), [By(hides_tokens_of_players)];
            "ORD-05" Should[30] "ruling 25": "An order holds the hash of each player's token"
                => "set `token_hash` to the SHA-256 of the player's token",
                seen!(orders()), [By(holds_token_hashes)];
            "ORD-06" Should[30] "ruling 27": "The promise that was announced is that of the seed in the order"
                => "set `draw_commitment` of the row to the hash of the match's seed",
                seen!(orders()), [By(keeps_the_promise)];
            "ORD-07" Must[30] "000 §4.1.1": "No referee has more matches than it runs at once"
                => "keep within `max_concurrent_matches`", seen!(ordered_league()), [By(keeps_to_capacities)];
        },
    }
}

/// The rules about reassigned matches, which are played with the rest of the league.
pub(super) fn change_rules() -> Topic {
    Topic {
        name: "matches that change hands",
        rules: rules! {
            "HAND-01" Should[150] "ruling 35": "A match that a referee turns down goes to another"
                => "order it from another referee, with `attempt` one higher or not",
                seen!(refused_order()), [By(is_finished)];
            "HAND-02" Must[150] "ruling 34": "A report that cannot be true is refused"
                => "work out the result again from number and choices before you believe it",
                seen!(lie()), [Refused("a drawn number of 11"), refused_with("E002")];
            "HAND-03" Should[150] "ruling 35": "The match is then given to another referee"
                => "order it from another referee, with `attempt` one higher",
                seen!(lie()), [By(is_finished)];
            "HAND-04" Should[150] "ruling 35": "The matches of a referee that falls silent go to another"
                => "give up on a referee that does not answer, and order its matches elsewhere",
                seen!(matches_of_the_silent()), [By(is_finished)];
        },
    }
}

/// The first announcement that each player received.
async fn announcements(caller: &Caller) -> Result<Vec<Record>, Trouble> {
    let stage = &caller.stage;
    season::begun(stage).await?;
    let league = Arc::new(snapshot(stage));
    let mut records = Vec::new();
    for player in &league.players {
        let Some(first) = player.told("ROUND_ANNOUNCEMENT").next() else {
            return Err(not_announced(player));
        };
        let given = player.answer.as_ref();
        let given = given.and_then(|reply| reply.member("manager_token"));
        let record = call_record(stage, &league, player, first)
            .with("league", stage.league.id())
            .with("manager_token", given.cloned())
            .with("own_token", &*player.token);
        records.push(record);
    }
    Ok(records)
}

fn not_announced(player: &MemberRecord) -> Trouble {
    Trouble::broken(format!("{} received no ROUND_ANNOUNCEMENT", player.id))
}

/// All announcements that the players received so far.
async fn all_announcements(caller: &Caller) -> Result<Vec<Record>, Trouble> {
    let stage = &caller.stage;
    season::begun(stage).await?;
    let league = Arc::new(snapshot(stage));
    let mut records = Vec::new();
    for player in &league.players {
        let told = player.told("ROUND_ANNOUNCEMENT");
        records.extend(told.map(|call| call_record(stage, &league, player, call)));
    }
    let rows = league.announced_rows();
    if rows.iter().all(|(_, row)| row["match_token"].is_null()) {
        let reason = "the manager gives no tokens for matches";
        return Err(Trouble::skipped(reason, ""));
    }
    Ok(records)
}

/// A situation: the league has begun, and the first player asks.
async fn begun(caller: &Caller) -> Result<Setting, Trouble> {
    season::begun(&caller.stage).await?;
    admitted(caller).await
}

/// A situation: a player that registers after the league has begun.
async fn latecomer(caller: &Caller) -> Result<Setting, Trouble> {
    season::begun(&caller.stage).await?;
    let opened = FakeMember::open("Check Latecomer".to_owned(), false).await;
    let late = opened.map_err(|error| Trouble::skipped(error.to_string(), ""))?;
    Ok(Setting {
        value: late.request().params,
        keep: Some(Box::new(late)),
        ..Setting::default()
    })
}

/// The league with the orders of its first round.
async fn ordered_league(caller: &Caller) -> Result<Vec<Record>, Trouble> {
    season::first_match(&caller.stage).await?;
    let league = Arc::new(snapshot(&caller.stage));
    if !league.gives_orders() {
        return Err(Trouble::skipped(NO_ORDERS, ""));
    }
    Ok(vec![record_of(&caller.stage, &league, Statement::Nothing)])
}

/// The calls to referees that satisfy a condition.
async fn calls(
    caller: &Caller,
    passes: fn(&LeagueRecord, usize, &Value) -> bool,
) -> Result<Vec<Record>, Trouble> {
    let mut records = Vec::new();
    for whole in ordered_league(caller).await? {
        let league = whole.league.into_iter();
        for league in league {
            for (place, referee) in league.referees.iter().enumerate() {
                let passing = referee
                    .calls
                    .iter()
                    .filter(|call| passes(&league, place, call.message()));
                records
                    .extend(passing.map(|call| call_record(&caller.stage, &league, referee, call)));
            }
        }
    }
    Ok(records)
}

/// The latest order of each match.
async fn orders(caller: &Caller) -> Result<Vec<Record>, Trouble> {
    calls(caller, |league, place, message| {
        league
            .fixtures()
            .iter()
            .any(|fixture| fixture.referee == place && fixture.order.as_ref() == Some(message))
    })
    .await
}

async fn calls_to_referees(caller: &Caller) -> Result<Vec<Record>, Trouble> {
    calls(caller, |_, _, _| true).await
}

/// A league that was played with orders and more than one referee.
async fn with_others(caller: &Caller) -> Result<Arc<LeagueRecord>, Trouble> {
    let league = Arc::new(season::played(&caller.stage).await?);
    if !league.gives_orders() {
        return Err(Trouble::skipped("the manager sends no START_MATCH", ""));
    }
    if league.referees.len() < 2 || league.rounds() < 3 {
        return Err(Trouble::skipped(
            "there is one referee, or the league is too short",
            "let the manager wait for 2 referees and 4 players",
        ));
    }
    Ok(league)
}

/// The order that a referee has turned down.
async fn refused_order(caller: &Caller) -> Result<Vec<Record>, Trouble> {
    let league = with_others(caller).await?;
    let tired = &league.referees[0];
    let mut orders = tired.told("START_MATCH");
    let Some(call) = orders.find(|call| tired.has_turned_down(call.message())) else {
        let reason = "no order came that could be turned down";
        return Err(Trouble::skipped(reason, ""));
    };
    let match_id = call.message()["match_id"].clone();
    let record = call_record(&caller.stage, &league, tired, call);
    Ok(vec![record.with("match", match_id)])
}

/// The answer to a report that cannot be true.
async fn lie(caller: &Caller) -> Result<Vec<Record>, Trouble> {
    let league = with_others(caller).await?;
    let Some(lie) = &league.season.lie else {
        let reason = "there was no match to report wrongly";
        return Err(Trouble::skipped(reason, ""));
    };
    let said = Statement::Reply(lie.reply.clone());
    let record = record_of(&caller.stage, &league, said);
    Ok(vec![record.with("match", &*lie.match_id)])
}

/// The matches of the last round, in which a referee was silent.
async fn matches_of_the_silent(caller: &Caller) -> Result<Vec<Record>, Trouble> {
    let league = with_others(caller).await?;
    if !league.referees[0].is_silent {
        return Err(Trouble::skipped("the league did not come so far", ""));
    }
    let last = league.rounds() as u64;
    let rows = league.announced_rows().into_iter();
    let rows = rows.filter(|(round, _)| *round == last);
    let records = rows.map(|(_, row)| {
        let record = record_of(&caller.stage, &league, Statement::Nothing);
        record.with("match", row["match_id"].clone())
    });
    Ok(records.collect())
}

fn announces_the_first_round(record: &Record) -> Judgement {
    let players = &record.league()?.players;
    let missing = players
        .iter()
        .find(|player| player.told("ROUND_ANNOUNCEMENT").next().is_none());
    missing.map_or(Ok(()), |player| Err(not_announced(player)))
}

fn is_round_one(record: &Record, path: &str) -> Judgement {
    let round = record.member(path);
    hold(*round == 1, || format!("`{path}` is {round}"))
}

/// The rows of an announcement.
fn rows(record: &Record) -> Result<&Vec<Value>, Trouble> {
    let rows = record.member("matches").as_array();
    let rows = rows.filter(|rows| !rows.is_empty());
    rows.ok_or_else(|| Trouble::broken("`matches` holds no row"))
}

/// A text in a row; a missing one is forgiven.
fn text<'r>(row: &'r Value, name: &str) -> Result<&'r str, Trouble> {
    match &row[name] {
        Value::Null => Err(Trouble::forgiven(format!("`{name}` is missing"))),
        Value::String(text) => Ok(text),
        other => Err(Trouble::broken(format!("`{name}` is {other}, not a text"))),
    }
}

fn has_full_rows(record: &Record) -> Judgement {
    const NAMES: [&str; 5] = [
        "match_id",
        "game_type",
        "player_A_id",
        "player_B_id",
        "referee_endpoint",
    ];
    rows(record)?
        .iter()
        .try_for_each(|row| NAMES.iter().try_for_each(|name| text(row, name).map(drop)))
}

fn names_matches(record: &Record) -> Judgement {
    rows(record)?.iter().try_for_each(|row| {
        let match_id = text(row, "match_id")?;
        let place = match_id.strip_prefix("R1M").map(str::parse::<u32>);
        hold(matches!(place, Some(Ok(1..))), || {
            format!("a match of round 1 is called `{match_id}`")
        })
    })
}

fn names_known_referees(record: &Record) -> Judgement {
    let referees = &record.league()?.referees;
    rows(record)?.iter().try_for_each(|row| {
        let endpoint = text(row, "referee_endpoint")?;
        let known = |member: &MemberRecord| port(&member.endpoint) == port(endpoint);
        hold(referees.iter().any(known), || {
            format!("no referee of the check answers at `{endpoint}`")
        })
    })
}

/// The whole schedule as it was announced: round and both players.
fn schedule(league: &LeagueRecord) -> Vec<(u64, [String; 2])> {
    let rows = league.announced_rows().into_iter();
    let player = |row: &Value, name: &str| row[name].as_str().unwrap_or_default().to_owned();
    let pair = |row: &Value| [player(row, "player_A_id"), player(row, "player_B_id")];
    rows.map(|(round, row)| (round, pair(&row))).collect()
}

fn plays_once_a_round(record: &Record) -> Judgement {
    let mut seen = Vec::new();
    for (round, players) in schedule(record.league()?) {
        for player in players {
            let busy = (round, player);
            hold(!seen.contains(&busy), || {
                format!("{} plays twice in round {}", busy.1, busy.0)
            })?;
            seen.push(busy);
        }
    }
    Ok(())
}

/// Checks that each pair meets once, in the fewest possible rounds.
pub(super) fn is_a_round_robin(record: &Record) -> Judgement {
    let league = record.league()?;
    let all = schedule(league);
    for (place, first) in league.players.iter().enumerate() {
        for second in &league.players[place + 1..] {
            let (first, second) = (&first.id, &second.id);
            let meet =
                |(_, pair): &&(u64, [String; 2])| pair.contains(first) && pair.contains(second);
            let count = all.iter().filter(meet).count();
            hold(count == 1, || {
                format!("{first} and {second} meet {count} times")
            })?;
        }
    }
    let rounds = all
        .iter()
        .map(|(round, _)| *round)
        .max()
        .unwrap_or_default();
    hold(rounds == league.rounds() as u64, || {
        format!("there are {rounds} rounds instead of {}", league.rounds())
    })
}

/// Checks that four players meet as table 16 of 000 says.
pub(super) fn follows_table_16(record: &Record) -> Judgement {
    let league = record.league()?;
    let mut ids: Vec<_> = league.players.iter().map(|player| &player.id).collect();
    ids.sort_unstable();
    if ids != ["P01", "P02", "P03", "P04"] {
        return Err(Trouble::skipped("not four players from P01 to P04", ""));
    }
    for (round, [first, second]) in schedule(league) {
        let pair = [first.as_str(), second.as_str()];
        hold(FOUR.contains(&(round, pair)), || {
            format!("{first} meets {second} in round {round}")
        })?;
    }
    Ok(())
}

fn shows_own_tokens_only(record: &Record) -> Judgement {
    let id = record.fact("receiver")?;
    let rows = record.member("matches").as_array();
    rows.into_iter().flatten().try_for_each(|row| {
        let own = row["player_A_id"] == *id || row["player_B_id"] == *id;
        hold(own || row["match_token"].is_null(), || {
            format!("{id} sees the token of a match of others")
        })
    })
}

fn shows_its_own_token(record: &Record) -> Judgement {
    let (shown, given) = (record.member("auth_token"), record.fact("manager_token")?);
    hold(shown != record.fact("own_token")?, || {
        "`auth_token` is the player's own token".to_owned()
    })?;
    // A returning agent does not receive the token again.
    hold(given.is_null() || given == shown, || {
        "`auth_token` is not the token that the manager gave at first".to_owned()
    })
}

fn is_rejected(record: &Record) -> Judgement {
    let status = record.member("status");
    let refused = record.reply()?.is_refusal() || status == "REJECTED";
    hold(refused, || format!("`status` is {status}"))
}

fn lists_the_first_match(record: &Record) -> Judgement {
    let listed = record.member("data").to_string().contains("R1M1");
    hold(listed, || "the first match is not in it".to_owned())
}

/// The row of an announcement for the match of an order.
fn row_of(record: &Record) -> Result<Value, Trouble> {
    let match_id = record.member("match_id");
    let mut rows = record.league()?.announced_rows().into_iter();
    let found = rows.find(|(_, row)| row["match_id"] == *match_id);
    let found = found.map(|(_, row)| row);
    found.ok_or_else(|| Trouble::broken(format!("{match_id} was ordered and never announced")))
}

fn goes_to_the_announced_referee(record: &Record) -> Judgement {
    let (row, league) = (row_of(record)?, record.league()?);
    let named = row["referee_endpoint"].as_str().unwrap_or_default();
    let receiver = record.fact("receiver")?;
    let mut referees = league.referees.iter();
    let runs = referees.find(|referee| *receiver == *referee.id);
    let same = runs.is_some_and(|runs| port(named) == port(&runs.endpoint));
    hold(same, || {
        format!("it was announced at {named} and ordered from {receiver}")
    })
}

/// Checks each player of an order together with its row.
fn each_player(record: &Record, look: fn(&Value, &MemberRecord) -> Judgement) -> Judgement {
    let players = &record.league()?.players;
    (0..2).try_for_each(|seat| {
        let row = &record.member("players")[seat];
        let player = players.iter().find(|player| row["player_id"] == *player.id);
        let player = player.ok_or_else(|| {
            Trouble::broken(format!("no player of the check is {}", row["player_id"]))
        })?;
        look(row, player)
    })
}

fn holds_the_players(record: &Record) -> Judgement {
    each_player(record, |row, player| {
        let told = text(row, "contact_endpoint")?;
        hold(port(told) == port(&player.endpoint), || {
            format!("{} is said to answer at {told}", player.id)
        })
    })
}

fn holds_token_hashes(record: &Record) -> Judgement {
    each_player(record, |row, player| {
        let due = TokenHash::of(&player.token).to_string();
        let told = text(row, "token_hash")?;
        hold(told == due, || {
            format!("`token_hash` is `{told}` instead of `{due}`")
        })
    })
}

fn hides_tokens_of_players(record: &Record) -> Judgement {
    let sent = record.call()?.text();
    let mut players = record.league()?.players.iter();
    match players.find(|player| sent.contains(&player.token)) {
        Some(player) => Err(Trouble::broken(format!(
            "the token of {} is in it",
            player.id
        ))),
        None => Ok(()),
    }
}

fn keeps_the_promise(record: &Record) -> Judgement {
    let row = row_of(record)?;
    if row["draw_commitment"].is_null() {
        return Err(Trouble::skipped("the manager promises nothing", ""));
    }
    let fixture = Fixture::ordered(record.message(), 0);
    let due = fixture.and_then(|fixture| fixture.promise());
    let told = text(&row, "draw_commitment")?;
    hold(Some(told) == due.as_deref(), || {
        format!("`draw_commitment` is `{told}` instead of {due:?}")
    })
}

fn keeps_to_capacities(record: &Record) -> Judgement {
    let league = record.league()?;
    let fixtures = league.fixtures();
    for (place, referee) in league.referees.iter().enumerate() {
        let running = fixtures
            .iter()
            .filter(|fixture| fixture.referee == place)
            .count();
        hold(running <= CAPACITY, || {
            format!(
                "{} runs {CAPACITY} at once and was given {running}",
                referee.id
            )
        })?;
    }
    Ok(())
}

/// Checks that a match was finished.
fn is_finished(record: &Record) -> Judgement {
    let season = &record.league()?.season;
    let match_id = record.fact("match")?.as_str().unwrap_or_default();
    hold(season.outcomes.contains_key(match_id), || {
        match season.refused.get(match_id) {
            Some(told) => format!("the report of {match_id} by the next referee got {told}"),
            None => format!("no other referee was told to run {match_id}"),
        }
    })
}
