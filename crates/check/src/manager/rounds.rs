//! Rules about the schedule and its announcements, about orders to referees, and about matches that
//! are reassigned.

use league_protocol::token::TokenHash;

use super::season::{self, FalseCall, LeagueRecord, MemberRecord, Season, snapshot};
use super::{ANSWERED, admitted, begun_league, call_record, newcomer, query, record_of, succeeded};
use crate::fake_manager::port;
use crate::listener::IncomingCall;
use crate::prelude::*;

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

const MANAGER: Want = Want::Text("league_manager");

pub(super) fn topic() -> Topic {
    topic! { "rounds":
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
            => "set `league_id`, and `round_id` to 1 for the first round", seen!(announcements()),
            [is("league_id", Want::Fact("league")), By(|it| is_round_one(it, "round_id"))];
        "RND-05" Must[30] "000 §4.3.1": "Each row names match, game, both players and the referee's address"
            => "set `match_id`, `game_type`, `player_A_id`, `player_B_id`, `referee_endpoint`",
            seen!(announcements()), [By(has_full_rows)];
        "RND-06" Should[30] "000 §4.3.1": "Match k of round r is called RrMk"
            => "name matches R1M1, R1M2, …", seen!(announcements()), [By(names_matches)];
        "RND-07" Must[30] "000 §4.3.1": "The address of the referee is that of a referee of the league"
            => "set `referee_endpoint` to the `contact_endpoint` of the referee",
            seen!(announcements()), [By(names_known_referees)];
        "RND-08" Must[150] "000 §3.5.1": "No player plays twice in a round"
            => "pair the players by the circle method",
            seen!(begun_league()), [By(plays_once_a_round)];
        "RND-09" Should[30] "000 §2.4.5, ruling 25": "A player sees the token of its own match, and of no other"
            => "put `match_token` into the receiver's own row alone",
            seen!(all_announcements()), [By(shows_own_tokens_only)];
        "RND-10" Should[30] "ruling 45": "The manager shows its own token, and no other"
            => "set `auth_token` to the `manager_token` that you gave this agent",
            seen!(announcements()), [By(shows_its_own_token)];
        "RND-11" Must[30] "000 §4.2.2": "No agent is admitted after the league has begun"
            => "answer `status` REJECTED once the league has begun",
            Ask::new(after!(latecomer), |_, at| Question::new("register_player", at.value.clone())),
            [By(|it| hold!(it.reply().is_refusal() || it.member("status") == "REJECTED",
                 else "`status` is {}", it.member("status")))];
        "RND-12" Must[30] "000 §4.9.1": "GET_SCHEDULE tells the matches"
            => "answer GET_SCHEDULE with `success` true once there is a schedule",
            Ask::new(after!(begun), |stage, _| query(stage, "GET_SCHEDULE", None)).due(ANSWERED),
            [By(succeeded),
             By(|it| hold!(it.member("data").to_string().contains("R1M1"),
                 else "the first match is not in it"))];
        "RND-13" Must[30] "000 §4.9.1": "GET_NEXT_MATCH tells the match that was announced"
            => "answer GET_NEXT_MATCH with the next match of `query_params.player_id`",
            Ask::new(after!(begun), |stage, at| query(stage, "GET_NEXT_MATCH", Some(&at.subject)))
                .due(ANSWERED),
            [By(succeeded), Text("data.next_match.match_id"), Text("data.next_match.opponent_id"),
             By(|it| is_round_one(it, "data.next_match.round_id"))];
    }
}

pub(super) fn order_rules() -> Topic {
    topic! { "orders":
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
        "ORD-06" Should[30] "ruling 27": "The promise that was announced is that of the order"
            => "set `draw_commitment` to the hash of the match's seed, and keep the seed",
            seen!(orders()), [By(keeps_the_promise)];
        "ORD-07" Must[30] "000 §4.1.1": "No referee has more matches than it runs at once"
            => "keep within `max_concurrent_matches`",
            seen!(ordered_league()), [By(keeps_to_capacities)];
        "ORD-08" Should[30] "ruling 25": "Both players hear of a match before its referee is told to run it"
            => "send START_MATCH when both players have answered ROUND_ANNOUNCEMENT",
            seen!(orders()), [By(comes_after_the_announcement)];
    }
}

/// The rules about reassigned matches, which are played with the rest of the league.
pub(super) fn change_rules() -> Topic {
    topic! { "matches that change hands":
        "HAND-01" Should[150] "ruling 35": "A match that a referee turns down goes to another"
            => "order it from another referee, with `attempt` one higher or not",
            seen!(refused_order()), [By(is_finished)];
        "HAND-02" Must[150] "ruling 34": "A report that cannot be true is refused"
            => "work out the result again from number and choices before you believe it",
            seen!(fault(|season| season.false_report.as_ref())), [Refused("a drawn number of 11"), LeagueError("E002")];
        "HAND-03" Should[150] "ruling 35": "The match is then given to another referee"
            => "order it from another referee, with `attempt` one higher",
            seen!(fault(|season| season.false_report.as_ref())), [By(is_finished)];
        "HAND-04" Should[150] "ruling 35": "The matches of a referee that falls silent go to another"
            => "give up on a referee that does not answer, and order its matches elsewhere",
            seen!(matches_of_the_silent()), [By(is_finished)];
        "HAND-05" Must[150] "ruling 27": "There is no seed before both choices are in"
            => "answer `request_draw` with E002 unless `moves` lead to a draw",
            seen!(fault(|season| season.early_request.as_ref())),
            [Refused("a request with one of two choices"), LeagueErrorOrAnother("E002")];
    }
}

/// The first announcement that each player received.
async fn announcements(caller: &Caller) -> Records {
    let stage = &caller.stage;
    let league = season::begun(stage).await?;
    let mut records = Vec::new();
    for player in &league.players {
        let first = player.first_told("ROUND_ANNOUNCEMENT")?;
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

/// All announcements that the players received so far.
async fn all_announcements(caller: &Caller) -> Records {
    let stage = &caller.stage;
    let league = season::begun(stage).await?;
    let mut rows = league.announced_rows().into_iter();
    need!(rows.any(|(_, row)| !row["match_token"].is_null()),
        else "the manager gives no tokens for matches")?;
    let records = league.players.iter().flat_map(|player| {
        let told = player.told("ROUND_ANNOUNCEMENT");
        told.map(|call| call_record(stage, &league, player, call))
    });
    Ok(records.collect())
}

/// A situation: the league has begun, and the first player asks.
async fn begun(caller: &Caller) -> Result<Setting, Trouble> {
    season::begun(&caller.stage).await?;
    admitted(caller).await
}

/// A situation: a player that registers after the league has begun.
async fn latecomer(caller: &Caller) -> Result<Setting, Trouble> {
    season::begun(&caller.stage).await?;
    newcomer("Check Latecomer").await
}

/// The league with the orders of its first round.
async fn ordered(caller: &Caller) -> Result<Arc<LeagueRecord>, Trouble> {
    season::first_match(&caller.stage).await?;
    let league = snapshot(&caller.stage);
    need!(league.gives_orders(),
        else "the manager sends no START_MATCH, which is an addition of this league")?;
    Ok(league)
}

async fn ordered_league(caller: &Caller) -> Records {
    let league = ordered(caller).await?;
    Ok(vec![record_of(&caller.stage, &league, Statement::Nothing)])
}

/// The calls to referees that satisfy a condition.
async fn calls(caller: &Caller, passes: fn(&LeagueRecord, usize, &Value) -> bool) -> Records {
    let league = &ordered(caller).await?;
    let referees = league.referees.iter().enumerate();
    let records = referees.flat_map(|(place, referee)| {
        let calls = referee.calls.iter();
        let passing = calls.filter(move |call| passes(league, place, call.message()));
        passing.map(|call| call_record(&caller.stage, league, referee, call))
    });
    Ok(records.collect())
}

/// The latest order of each match.
async fn orders(caller: &Caller) -> Records {
    let is_latest = |league: &LeagueRecord, place, message: &Value| {
        let mut all = league.fixtures().into_iter();
        all.any(|fixture| fixture.referee == place && fixture.order.as_ref() == Some(message))
    };
    calls(caller, is_latest).await
}

async fn calls_to_referees(caller: &Caller) -> Records {
    calls(caller, |_, _, _| true).await
}

/// A league that was played with orders and more than one referee.
async fn with_others(caller: &Caller) -> Result<Arc<LeagueRecord>, Trouble> {
    let league = season::played(&caller.stage).await?;
    need!(league.gives_orders(), else "the manager sends no START_MATCH")?;
    let long = league.referees.len() >= 2 && league.rounds() >= 3;
    need!(long, else "there is one referee, or the league is too short")
        .map_err(|short| short.hint("let the manager wait for 2 referees and 4 players"))?;
    Ok(league)
}

/// The order that a referee has turned down.
async fn refused_order(caller: &Caller) -> Records {
    let league = with_others(caller).await?;
    let tired = &league.referees[0];
    let mut orders = tired.told("START_MATCH");
    let call = orders.find(|call| tired.has_turned_down(call.message()));
    let call = call.ok_or_else(|| Trouble::skipped("no order came that could be turned down"))?;
    let match_id = call.message()["match_id"].clone();
    let record = call_record(&caller.stage, &league, tired, call);
    Ok(vec![record.with("match", match_id)])
}

/// The answer to a call that a referee must not make.
async fn fault(caller: &Caller, fault: fn(&Season) -> Option<&FalseCall>) -> Records {
    let league = with_others(caller).await?;
    let found = fault(&league.season);
    let found = found.ok_or_else(|| Trouble::skipped("there was no match for it"))?;
    let said = Statement::Reply(found.reply.clone());
    let record = record_of(&caller.stage, &league, said);
    Ok(vec![record.with("match", &*found.match_id)])
}

/// The matches of the last round, in which a referee was silent.
async fn matches_of_the_silent(caller: &Caller) -> Records {
    let league = with_others(caller).await?;
    need!(league.referees[0].is_silent, else "the league did not come so far")?;
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
    let mut players = record.league()?.players.iter();
    players.try_for_each(|player| player.first_told("ROUND_ANNOUNCEMENT").map(drop))
}

fn is_round_one(record: &Record, path: &str) -> Judgement {
    let round = record.member(path);
    hold!(*round == 1, else "`{path}` is {round}")
}

/// The rows of an announcement.
fn rows(record: &Record) -> Result<&Vec<Value>, Trouble> {
    let rows = record.member("matches").as_array();
    let rows = rows.filter(|rows| !rows.is_empty());
    rows.ok_or_else(|| Trouble::broken("`matches` holds no row"))
}

fn has_full_rows(record: &Record) -> Judgement {
    rows(record)?.iter().try_for_each(|row| {
        let mut names = "match_id game_type player_A_id player_B_id referee_endpoint".split(' ');
        names.try_for_each(|name| text(&row[name], name).map(drop))
    })
}

fn names_matches(record: &Record) -> Judgement {
    rows(record)?.iter().try_for_each(|row| {
        let match_id = text(&row["match_id"], "match_id")?;
        let place = match_id.strip_prefix("R1M").map(str::parse::<u32>);
        hold!(matches!(place, Some(Ok(1..))), else "a match of round 1 is called `{match_id}`")
    })
}

fn names_known_referees(record: &Record) -> Judgement {
    let referees = &record.league()?.referees;
    rows(record)?.iter().try_for_each(|row| {
        let endpoint = text(&row["referee_endpoint"], "referee_endpoint")?;
        let known = |member: &MemberRecord| port(&member.endpoint) == port(endpoint);
        hold!(referees.iter().any(known), else "no referee of the check answers at `{endpoint}`")
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
            hold!(!seen.contains(&busy), else "{} plays twice in round {}", busy.1, busy.0)?;
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
            hold!(count == 1, else "{first} and {second} meet {count} times")?;
        }
    }
    let rounds = all.iter().map(|(round, _)| *round).max();
    let rounds = rounds.unwrap_or_default();
    hold!(rounds == league.rounds() as u64,
        else "there are {rounds} rounds instead of {}", league.rounds())
}

/// Checks that four players meet as table 16 of 000 says.
pub(super) fn follows_table_16(record: &Record) -> Judgement {
    let league = record.league()?;
    let mut ids: Vec<_> = league.players.iter().map(|player| &player.id).collect();
    ids.sort_unstable();
    need!(ids == ["P01", "P02", "P03", "P04"], else "not four players from P01 to P04")?;
    for (round, [first, second]) in schedule(league) {
        let pair = [first.as_str(), second.as_str()];
        hold!(FOUR.contains(&(round, pair)), else "{first} meets {second} in round {round}")?;
    }
    Ok(())
}

fn shows_own_tokens_only(record: &Record) -> Judgement {
    let id = record.fact("receiver")?;
    let rows = record.member("matches").as_array();
    rows.into_iter().flatten().try_for_each(|row| {
        let own = row["player_A_id"] == *id || row["player_B_id"] == *id;
        hold!(own || row["match_token"].is_null(), else "{id} sees the token of a match of others")
    })
}

fn shows_its_own_token(record: &Record) -> Judgement {
    let (shown, given) = (record.member("auth_token"), record.fact("manager_token")?);
    hold!(shown != record.fact("own_token")?, else "`auth_token` is the player's own token")?;
    // A returning agent does not receive the token again.
    hold!(given.is_null() || given == shown,
        else "`auth_token` is not the token that the manager gave at first")
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
    hold!(same, else "it was announced at {named} and ordered from {receiver}")
}

/// Checks each player of an order together with its row.
fn each_player(record: &Record, look: impl Fn(&Value, &MemberRecord) -> Judgement) -> Judgement {
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
        let told = text(&row["contact_endpoint"], "contact_endpoint")?;
        hold!(port(told) == port(&player.endpoint),
            else "{} is said to answer at {told}", player.id)
    })
}

fn holds_token_hashes(record: &Record) -> Judgement {
    each_player(record, |row, player| {
        let due = TokenHash::of(&player.token).to_string();
        let told = text(&row["token_hash"], "token_hash")?;
        hold!(told == due, else "`token_hash` is `{told}` instead of `{due}`")
    })
}

fn hides_tokens_of_players(record: &Record) -> Judgement {
    let sent = record.call()?.text();
    let mut players = record.league()?.players.iter();
    players.try_for_each(
        |player| hold!(!sent.contains(&player.token), else "the token of {} is in it", player.id),
    )
}

fn keeps_the_promise(record: &Record) -> Judgement {
    let row = row_of(record)?;
    need!(!row["draw_commitment"].is_null(), else "the manager promises nothing")?;
    let (told, due) = (&row["draw_commitment"], record.member("draw_commitment"));
    hold!(told == due, else "`draw_commitment` is {told} in the announcement, {due} in the order")
}

/// Checks that both players were told of this attempt at a match before the referee was.
fn comes_after_the_announcement(record: &Record) -> Judgement {
    let (order, ordered_at) = (record.message(), record.call()?.at);
    let is_announced = |call: &&Arc<IncomingCall>| {
        let rows = call.message()["matches"].as_array().into_iter().flatten();
        let mut own = rows.filter(|row| row["match_id"] == order["match_id"]);
        // A manager that does not count attempts announces the first.
        own.any(|row| row["attempt"] == order["attempt"] || row["attempt"].is_null())
    };
    each_player(record, |_, player| {
        let mut told = player.told("ROUND_ANNOUNCEMENT");
        let told = told.find(is_announced);
        hold!(told.is_some_and(|told| told.at <= ordered_at),
            else "{} was not told before", player.id)
    })
}

fn keeps_to_capacities(record: &Record) -> Judgement {
    let league = record.league()?;
    let fixtures = league.fixtures();
    for (place, referee) in league.referees.iter().enumerate() {
        let own = fixtures.iter().filter(|fixture| fixture.referee == place);
        let running = own.count();
        hold!(running <= CAPACITY,
            else "{} runs {CAPACITY} at once and was given {running}", referee.id)?;
    }
    Ok(())
}

/// Checks that a match was finished.
fn is_finished(record: &Record) -> Judgement {
    let season = &record.league()?.season;
    let match_id = record.fact("match")?.as_str().unwrap_or_default();
    if season.outcomes.contains_key(match_id) {
        return Ok(());
    }
    Err(Trouble::broken(match season.refused.get(match_id) {
        Some(told) => format!("the report of {match_id} by the next referee got {told}"),
        None => format!("no other referee was told to run {match_id}"),
    }))
}
