//! Rules about result reports, who may send them and how often; and about a manager that is killed
//! in the middle of its league and started again.

use league_protocol::secret::Seed;

use super::fixture::Fixture;
use super::season::{self, drawn, first_match, player, referee, snapshot};
use super::{ANSWERED, query, standings_query};
use crate::player::FALSE_TOKEN;
use crate::prelude::*;

#[expect(clippy::too_many_lines, reason = "a table of rules")]
pub(super) fn topic() -> Topic {
    topic! { "reports":
        "REP-01" Must[30] "000 §4.10.1, ruling 33": "A report without a token is E011"
            => "answer LEAGUE_ERROR E011 if `auth_token` is missing",
            report(after!(first)).without(&["auth_token"]),
            [Refused("a report without a token"), LeagueErrorOrAnother("E011")];
        "REP-02" Must[30] "000 §4.10.1, ruling 33": "A report with an invalid token is E012"
            => "answer LEAGUE_ERROR E012 to a token that you did not give",
            report(after!(first)).with("auth_token", "tok-ref01-0123456789"),
            [Refused("a report with a wrong token"), LeagueErrorOrAnother("E012")];
        "REP-03" Must[30] "ruling 34": "A report of a player is E012"
            => "believe results from referees alone", report(after!(first)).changed(by_a_player),
            [Refused("a report of a player"), LeagueErrorOrAnother("E012")];
        "REP-04" Must[30] "ruling 34": "A report of a referee that does not run the match is refused"
            => "believe a result only from the referee that has the match",
            report(after!(by_another)),
            [Refused("a report of another referee"), LeagueErrorOrAnother("E006")];
        "REP-05" Must[30] "ruling 34": "A report of a match that does not exist is E006"
            => "answer LEAGUE_ERROR E006 to an unknown match",
            report(after!(first)).with("match_id", "R77M7"),
            [Refused("a report of no match"), LeagueErrorOrAnother("E006")];
        "REP-06" Must[30] "ruling 34": "A report of a match of a later round is refused"
            => "take results of matches that were begun, and of no others",
            report(after!(of_the_next_round)), [Refused("a report of the next round")];
        "REP-07" Must[30] "000 §4.12.1": "A report without a match is refused"
            => "answer E003 if `match_id` is missing", report(after!(first)).without(&["match_id"]),
            [Refused("a report without a match"), LeagueErrorOrAnother("E003")];
        "REP-08" Must[30] "000 §4.12.1": "A report without a result is refused"
            => "answer E003 if `result` is missing", report(after!(first)).without(&["result"]),
            [Refused("a report without a result"), LeagueErrorOrAnother("E003")];
        "REP-09" Must[30] "000 §2.4.2": "A report whose time is not in UTC is E021"
            => "answer LEAGUE_ERROR E021 to a time with another offset",
            report(after!(first)).with("timestamp", OTHER_OFFSET),
            [Refused("a time with another offset"), LeagueErrorOrAnother("E021")];
        "REP-14" Must[30] "ruling 53": "A report without the token of its order is E011, with another one E012"
            => "compare `order_token` with the one that you put into the order",
            report(after!(first_drawn))
                .bodies([Body::Without(&["order_token"]), Body::With("order_token", FALSE_TOKEN)]),
            [Refused("a report with a wrong order token"), By(has_a_token_code)];
        "REP-15" Must[30] "ruling 27": "The same moves again get the same seed"
            => "write the moves down before you give the seed, and answer a repeated request as before",
            seen!(second_request()),
            [Kind(&["DRAW_RESPONSE"]), Repeats("match_id"), Repeats("attempt"),
             equals("draw_seed", Want::Fact("seed"))];
        "REP-10" Must[30] "000 §4.6.2": "The report of the right referee is acknowledged"
            => "answer the tool `report_match_result` with any result",
            seen!(first_report()), [Taken];
        "REP-11" Must[30] "ruling 26": "The same report again is acknowledged"
            => "answer a repeated report as before, and count it once",
            report(after!(after_the_report)), [Taken];
        "REP-12" Must[30] "ruling 26": "A report that contradicts the first is refused"
            => "keep the first result, and answer E007 to another one",
            report(after!(contradicting)),
            [Refused("another result of the same match"), LeagueErrorOrAnother("E007")];
        "REP-13" Must[30] "ruling 26": "None of this counts twice"
            => "count each match once",
            Ask::new(after!(reported_twice), standings_query), [By(counts_it_once)];
        "REP-16" Must[30] "ruling 27": "Other choices than those that were handed over get no seed"
            => "compare `moves` with what was handed over, and answer E007",
            Ask::new(after!(other_choices), |_, at| Question::new("request_draw", at.value.clone())),
            [Refused("other choices after the draw"), LeagueErrorOrAnother("E007")];
        "REP-17" Must[30] "ruling 27": "The acknowledgement opens the seed that was promised and drawn with"
            => "answer with MATCH_RESULT_ACK, and set `draw_seed` to the seed of the match",
            seen!(first_ack()), [Kind(&["MATCH_RESULT_ACK"]), Repeats("match_id"), By(opens_the_seed)];
    }
}

pub(super) fn recovery_rules() -> Topic {
    topic! { "recovery":
        "BACK-01" Must[120] "ruling 30": "A manager that was killed and started again knows the table"
            => "write results to disk before you acknowledge them", steps!(remembers_the_table);
        "BACK-02" Must[120] "ruling 30": "The tokens that it gave are still good"
            => "keep the tokens, or their hashes, on disk", steps!(remembers_tokens);
        "BACK-03" Must[120] "ruling 26": "A report from before is acknowledged once more"
            => "keep results where they survive a restart", steps!(remembers_reports);
    }
}

/// A report in a situation that prepared it.
fn report(situation: Situation) -> Ask {
    Ask::new(situation, |_, at| {
        Question::new("report_match_result", at.value.clone())
    })
}

/// A situation: the first match may be reported.
async fn first(caller: &Caller) -> Result<Setting, Trouble> {
    right(caller).await.map(|(_, at)| at)
}

/// The first match, and a correct report of it.
async fn right(caller: &Caller) -> Result<(Fixture, Setting), Trouble> {
    let stage = &caller.stage;
    let fixture = drawn(stage, &first_match(stage).await?).await?;
    let by = referee(stage, fixture.referee).await?;
    player(stage, 0).await?;
    let report = fixture.report(&stage.league.id(), by, fixture.result());
    let at = Setting {
        subject: fixture.match_id.clone(),
        value: report.params,
        keep: None,
    };
    Ok((fixture, at))
}

/// As [`right`], if the manager keeps the seed of the match.
async fn right_drawn(caller: &Caller) -> Result<(Fixture, Setting), Trouble> {
    let (fixture, at) = right(caller).await?;
    need!(fixture.is_drawn_by_manager(),
        else "the manager sends no `order_token`, which is an addition of this league")?;
    Ok((fixture, at))
}

async fn first_drawn(caller: &Caller) -> Result<Setting, Trouble> {
    right_drawn(caller).await.map(|(_, at)| at)
}

/// The answer to the moves of the first match, which were handed over before.
async fn second_request(caller: &Caller) -> Records {
    let (fixture, question) = request(caller).await?;
    let reply = caller.call(&question).await?;
    let record = Record::new(caller.stage.kind, question.params, reply);
    Ok(vec![
        record.with("seed", fixture.seed.map(|seed| seed.to_hex())),
    ])
}

/// The first match, and the request for its draw.
async fn request(caller: &Caller) -> Result<(Fixture, Question), Trouble> {
    let (stage, (fixture, _)) = (&caller.stage, right_drawn(caller).await?);
    let by = referee(stage, fixture.referee).await?;
    let question = fixture.request(&stage.league.id(), by, &fixture.moves);
    Ok((fixture, question))
}

/// A situation: the first match was reported, and its referee hands over other choices.
async fn other_choices(caller: &Caller) -> Result<Setting, Trouble> {
    let (_, mut question) = request(caller).await?;
    after_the_report(caller).await?;
    question.params["moves"][0]["choice"] = "odd".into();
    Ok(Setting::of(question.params))
}

/// The acknowledgement of the first report.
async fn first_ack(caller: &Caller) -> Records {
    let (fixture, _) = right_drawn(caller).await?;
    let seed = fixture.seed.map(|seed| seed.to_hex());
    let records = first_report(caller).await?.into_iter();
    let told = |record: Record| {
        record
            .with("order", fixture.order.clone())
            .with("seed", seed.clone())
    };
    Ok(records.map(told).collect())
}

fn opens_the_seed(record: &Record) -> Judgement {
    let (order, drawn) = (record.fact("order")?, record.fact("seed")?);
    let seed = Seed::from_hex(record.text("draw_seed")?);
    let promised = seed.and_then(|seed| promise(order, &seed));
    hold!(promised.as_deref() == order["draw_commitment"].as_str(),
        else "`draw_seed` is not the seed that was promised")?;
    let own = seed.and_then(|seed| attempt_seed(order, &seed));
    hold!(own.map(|own| own.to_hex()).as_deref() == drawn.as_str(),
        else "the seed of the attempt does not follow from `draw_seed`")
}

fn has_a_token_code(record: &Record) -> Judgement {
    let reply = record.reply();
    let known = matches!(reply.league_error(), Some("E011" | "E012"));
    hold!(known, else "the answer is {} instead of E011 or E012", reply.describe())
}

fn by_a_player(call: &mut Value, stage: &Stage) {
    if let Some(player) = stage.league.players().first() {
        call["sender"] = player.sender().into();
        call["auth_token"] = player.token().into();
    }
}

async fn by_another(caller: &Caller) -> Result<Setting, Trouble> {
    let (fixture, mut at) = right(caller).await?;
    let mut referees = caller.stage.league.referees().iter().enumerate();
    let other = referees.find(|(place, _)| *place != fixture.referee);
    let Some((_, other)) = other else {
        return Err(Trouble::skipped("there is only one referee"));
    };
    at.value["sender"] = other.sender().into();
    at.value["auth_token"] = other.token().into();
    Ok(at)
}

async fn of_the_next_round(caller: &Caller) -> Result<Setting, Trouble> {
    need!(snapshot(&caller.stage).rounds() >= 2, else "the league has one round")?;
    let (_, mut at) = right(caller).await?;
    at.value["match_id"] = "R2M1".into();
    at.value["round_id"] = 2.into();
    Ok(at)
}

/// Reports the first match, once; returns the answer.
async fn first_report(caller: &Caller) -> Records {
    let stage = &caller.stage;
    let (fixture, at) = right(caller).await?;
    let league = snapshot(stage);
    let reply = match league.season.replies.get(&fixture.match_id) {
        Some(reply) => reply.clone(),
        None => season::report(stage, &fixture).await?,
    };
    Ok(vec![Record::new(stage.kind, at.value, reply)])
}

/// A situation: the first match was reported, and its report was taken.
async fn after_the_report(caller: &Caller) -> Result<Setting, Trouble> {
    for record in first_report(caller).await? {
        record.note(caller);
        Taken.judge(&record)?;
    }
    right(caller).await.map(|(_, at)| at)
}

/// A situation: the first match was reported, and a different result of it is sent.
async fn contradicting(caller: &Caller) -> Result<Setting, Trouble> {
    let mut at = after_the_report(caller).await?;
    let (fixture, _) = right(caller).await?;
    let [first, second] = &fixture.players;
    let other = match fixture.outcome().winner {
        Some(0) => second,
        _ => first,
    };
    let result = &mut at.value["result"];
    result["winner"] = other.as_str().into();
    for player in &fixture.players {
        result["score"][player] = if player == other { 3.into() } else { 0.into() };
    }
    result["details"]["status"] = "WIN".into();
    Ok(at)
}

/// A situation: the first match was reported twice; the subject is its players.
async fn reported_twice(caller: &Caller) -> Result<Setting, Trouble> {
    let at = after_the_report(caller).await?;
    let again = Question::new("report_match_result", at.value);
    caller.call(&again).await?;
    let (fixture, _) = right(caller).await?;
    Ok(Setting::about(fixture.players.join(" ")))
}

fn counts_it_once(record: &Record) -> Judgement {
    record.reply().needed()?;
    let rows = record.member("data.standings").as_array();
    let rows = rows.ok_or_else(|| Trouble::skipped("no table was told, see QRY-04"))?;
    let players = record.fact("subject")?.as_str().unwrap_or_default();
    rows.iter().try_for_each(|row| {
        let (played, id) = (&row["played"], row["player_id"].as_str());
        let took_part = players.split(' ').any(|player| id == Some(player));
        hold!(*played == u64::from(took_part),
            else "{} has played {played} matches", row["player_id"])
    })
}

async fn table(caller: &Caller) -> Result<Value, Trouble> {
    player(&caller.stage, 0).await?;
    let question = query(&caller.stage, "GET_STANDINGS", None);
    let reply = caller.call(&question).await?;
    Ok(reply.of_kind(ANSWERED)?["data"]["standings"].clone())
}

async fn remembers_the_table(caller: &Caller) -> Judgement {
    after_the_report(caller).await?;
    let before = table(caller).await?;
    caller.stage.restart_and_return().await?;
    hold!(table(caller).await? == before, else "the table is another one after the restart")
}

async fn remembers_tokens(caller: &Caller) -> Judgement {
    after_the_report(caller).await?;
    caller.stage.restart_and_return().await?;
    table(caller).await.map(drop)
}

async fn remembers_reports(caller: &Caller) -> Judgement {
    let at = after_the_report(caller).await?;
    caller.stage.restart_and_return().await?;
    let question = Question::new("report_match_result", at.value);
    caller.call(&question).await?.taken()
}
