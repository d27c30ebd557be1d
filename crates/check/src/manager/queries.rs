//! Rules about queries to the manager, and about who may send them.

use serde_json::{Value, json};

use super::season::{player, referee};
use super::{ANSWERED, admitted, query, standings_query, succeeded};
use crate::caller::Caller;
use crate::exchange::{Ask, Setting, remove};
use crate::record::Expect::{By, Kind, Refused, Taken, Text};
use crate::record::{PROTOCOL, Record, SAME_CONVERSATION, is, refused_with, utc};
use crate::reply::Reply;
use crate::rule::{Judgement, Topic, Trouble, hold, rules};
use crate::script::OTHER_OFFSET;
use crate::stage::{Question, Stage};

#[expect(clippy::too_many_lines, reason = "a table of rules")]
pub(super) fn topic() -> Topic {
    Topic {
        name: "queries and tokens",
        rules: rules! {
            "QRY-01" Must "000 §4.9.2": "A query is answered with LEAGUE_QUERY_RESPONSE"
                => "answer the tool `league_query` with LEAGUE_QUERY_RESPONSE", asked().due(ANSWERED);
            "QRY-02" Must "000 §2.4.1": "The answer has a whole envelope, from league_manager"
                => "set `protocol`, `sender`, `timestamp` and `conversation_id`",
                asked(), [PROTOCOL, utc("timestamp"), is("sender", "league_manager"), SAME_CONVERSATION];
            "QRY-03" Must "000 §4.9.2": "The answer repeats the kind of query and says whether it succeeded"
                => "set `query_type` and `success`",
                asked(), [is("query_type", "GET_STANDINGS"), By(says_whether_it_succeeded)];
            "QRY-04" Must "000 §4.9.1": "GET_STANDINGS tells the table with every player in it"
                => "set `data.standings` to a list with a row for each player",
                asked().due(ANSWERED), [By(succeeded), By(lists_the_player)];
            "QRY-05" Must "000 §4.9.1": "GET_PLAYER_STATS of a player succeeds"
                => "answer GET_PLAYER_STATS with `success` true",
                Ask::new(admitted, |stage, at| query(stage, "GET_PLAYER_STATS", Some(&at.subject)))
                    .due(ANSWERED),
                [By(succeeded)];
            "QRY-06" Must "ruling 11": "A query about an unknown player fails, and says so"
                => "answer `success` false and `error`",
                Ask::new(admitted, |stage, _| query(stage, "GET_PLAYER_STATS", Some("P98"))),
                [By(says_that_it_failed)];
            "QRY-07" Must "000 §4.10.1": "An unknown kind of query is refused"
                => "answer E002 to a `query_type` that there is not",
                Ask::new(admitted, |stage, _| query(stage, "GET_WEATHER", None)), [By(fails_or_refuses)];
            "QRY-08" Must "000 §4.10.1, ruling 33": "A query without a token is E011"
                => "answer LEAGUE_ERROR E011 if `auth_token` is missing",
                asked().with(without_token), [refused_with("E011")];
            "QRY-09" Must "000 §4.10.1, ruling 33": "A query with an invalid token is E012"
                => "answer LEAGUE_ERROR E012 to a token that you did not give",
                asked().with(|call, _| call["auth_token"] = "tok-p01-0123456789".into()),
                [refused_with("E012")];
            "QRY-10" Must "ruling 33": "A query with the token of another agent is E012"
                => "compare the token with that of the sender", with_borrowed_token(), [refused_with("E012")];
            "QRY-11" Should "ruling 33": "A query of an unknown player is E005"
                => "answer LEAGUE_ERROR E005 to an unknown `player:` in `sender`",
                asked().with(|call, _| call["sender"] = "player:P98".into()), [refused_with("E005")];
            "QRY-12" Should "ruling 33": "A query of an unknown referee is E013"
                => "answer LEAGUE_ERROR E013 to an unknown `referee:` in `sender`",
                asked().with(|call, _| call["sender"] = "referee:REF98".into()), [refused_with("E013")];
            "QRY-13" Must "000 §2.4.2": "A query whose time is not in UTC is E021"
                => "answer LEAGUE_ERROR E021 to a time with another offset",
                asked().with(|call, _| call["timestamp"] = OTHER_OFFSET.into()), [refused_with("E021")];
            "QRY-14" Must "ruling 11": "No refusal repeats a token in full"
                => "write `tok-p01-…` instead of the whole token",
                with_borrowed_token(), [By(hides_the_token)];
            "QRY-15" Must "000 §4.10.1": "A refusal names its code, its name and what it refuses"
                => "set `error_code`, `error_description` and `original_message_type`",
                asked().with(without_token),
                [
                    Kind(&["LEAGUE_ERROR"]), Text("error_code"), Text("error_description"),
                    Text("original_message_type"), is("sender", "league_manager"), utc("timestamp"),
                ];
            "QRY-16" Should "ruling 23": "get_standings is answered without a token"
                => "answer the tool `get_standings` to anyone",
                Ask::method(|_, _| Question::new("get_standings", json!({}))), [Taken];
            "QRY-17" Should "ruling 33": "Only an administrator starts the league"
                => "answer `start_league` without the administrator's token with E011 or E012",
                Ask::new(|caller| Box::pin(with_token(caller)), start)
                    .unless(starts_nothing),
                [Refused("`start_league` of a player")];
        },
    }
}

/// A query of the first player for the standings.
fn asked() -> Ask {
    Ask::new(admitted, standings_query)
}

fn with_borrowed_token() -> Ask {
    Ask::new(
        |caller| Box::pin(borrowing(caller)),
        |stage, at| {
            let mut question = standings_query(stage, at);
            question.params["auth_token"] = at.value.clone();
            question
        },
    )
}

/// A situation: the first player uses the token of the first referee.
async fn borrowing(caller: &Caller) -> Result<Setting, Trouble> {
    let token = referee(&caller.stage, 0).await?.token();
    let mut at = admitted(caller).await?;
    at.value = token.into();
    Ok(at)
}

/// A situation: the token of the first player.
async fn with_token(caller: &Caller) -> Result<Setting, Trouble> {
    let token = player(&caller.stage, 0).await?.token();
    Ok(Setting {
        value: token.into(),
        ..Setting::default()
    })
}

fn start(_: &Stage, at: &Setting) -> Question {
    Question::new("start_league", json!({"auth_token": at.value}))
}

fn starts_nothing(reply: &Reply) -> Option<&'static str> {
    (reply.rpc_error() == Some(-32_601)).then_some("the manager has no `start_league`")
}

fn without_token(call: &mut Value, _: &Stage) {
    remove(call, &["auth_token"]);
}

fn says_whether_it_succeeded(record: &Record) -> Judgement {
    let success = record.member("success");
    hold(success.is_boolean(), || format!("`success` is {success}"))
}

fn lists_the_player(record: &Record) -> Judgement {
    let known = record.fact("subject")?;
    let rows = record.member("data.standings").as_array();
    let found = rows.is_some_and(|rows| rows.iter().any(|row| row["player_id"] == *known));
    hold(found, || format!("there is no row for {known}"))
}

fn says_that_it_failed(record: &Record) -> Judgement {
    let reply = record.reply()?;
    reply.needed()?;
    if reply.league_error().is_some() {
        return Err(Trouble::forgiven("a LEAGUE_ERROR came instead"));
    }
    let success = record.member("success");
    hold(
        *success == false && !record.member("error").is_null(),
        || format!("`success` is {success}"),
    )
}

fn fails_or_refuses(record: &Record) -> Judgement {
    let reply = record.reply()?;
    let failed = *record.member("success") == false;
    hold(failed || reply.is_refusal(), || {
        format!("the answer is {}", reply.describe())
    })
}

fn hides_the_token(record: &Record) -> Judgement {
    let token = record.asked["auth_token"].as_str().unwrap_or_default();
    hold(!record.reply()?.text().contains(token), || {
        "the token that was shown is in the answer".to_owned()
    })
}
