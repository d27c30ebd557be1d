//! Rules about queries to the manager, and about who may send them.

use super::season::{player, referee};
use super::{ANSWERED, admitted, query, standings_query, succeeded};
use crate::prelude::*;

#[expect(clippy::too_many_lines, reason = "a table of rules")]
pub(super) fn topic() -> Topic {
    topic! { "queries and tokens":
        "QRY-01" Must "000 §4.9.2": "A query is answered with LEAGUE_QUERY_RESPONSE"
            => "answer the tool `league_query` with LEAGUE_QUERY_RESPONSE", asked().due(ANSWERED);
        "QRY-02" Must "000 §2.4.1": "The answer has a whole envelope, from league_manager"
            => "set `protocol`, `sender`, `timestamp` and `conversation_id`", asked(),
            [PROTOCOL, Utc("timestamp"), is("sender", "league_manager"), Present("conversation_id"),
             Repeats("conversation_id")];
        "QRY-03" Must "000 §4.9.2": "The answer repeats the kind of query and says whether it succeeded"
            => "set `query_type` and `success`", asked(),
            [is("query_type", "GET_STANDINGS"),
             By(|it| hold!(it.member("success").is_boolean(),
                 else "`success` is {}", it.member("success")))];
        "QRY-04" Must "000 §4.9.1": "GET_STANDINGS tells the table with every player in it"
            => "set `data.standings` to a list with a row for each player",
            asked().due(ANSWERED), [By(succeeded), By(lists_the_player)];
        "QRY-05" Must "000 §4.9.1": "GET_PLAYER_STATS of a player succeeds"
            => "answer GET_PLAYER_STATS with `success` true",
            Ask::new(after!(admitted), |stage, at| query(stage, "GET_PLAYER_STATS", Some(&at.subject)))
                .due(ANSWERED), [By(succeeded)];
        "QRY-06" Must "ruling 11": "A query about an unknown player fails, and says so"
            => "answer `success` false and `error`",
            Ask::new(after!(admitted), |stage, _| query(stage, "GET_PLAYER_STATS", Some("P98"))),
            [By(says_that_it_failed)];
        "QRY-07" Must "000 §4.10.1": "An unknown kind of query is refused"
            => "answer E002 to a `query_type` that there is not",
            Ask::new(after!(admitted), |stage, _| query(stage, "GET_WEATHER", None)),
            [By(|it| hold!(*it.member("success") == false || it.reply().is_refusal(),
                 else "the answer is {}", it.reply().describe()))];
        "QRY-08" Must "000 §4.10.1, ruling 33": "A query without a token is E011"
            => "answer LEAGUE_ERROR E011 if `auth_token` is missing",
            asked().without(&["auth_token"]), [LeagueError("E011")];
        "QRY-09" Must "000 §4.10.1, ruling 33": "A query with an invalid token is E012"
            => "answer LEAGUE_ERROR E012 to a token that you did not give",
            asked().with("auth_token", "tok-p01-0123456789"), [LeagueError("E012")];
        "QRY-10" Must "ruling 33": "A query with the token of another agent is E012"
            => "compare the token with that of the sender",
            with_borrowed_token(), [LeagueError("E012")];
        "QRY-11" Should "ruling 33": "A query of an unknown player is E005"
            => "answer LEAGUE_ERROR E005 to an unknown `player:` in `sender`",
            asked().with("sender", "player:P98"), [LeagueError("E005")];
        "QRY-12" Should "ruling 33": "A query of an unknown referee is E013"
            => "answer LEAGUE_ERROR E013 to an unknown `referee:` in `sender`",
            asked().with("sender", "referee:REF98"), [LeagueError("E013")];
        "QRY-13" Must "000 §2.4.2": "A query whose time is not in UTC is E021"
            => "answer LEAGUE_ERROR E021 to a time with another offset",
            asked().with("timestamp", OTHER_OFFSET), [LeagueError("E021")];
        "QRY-14" Must "ruling 11": "No refusal repeats a token in full"
            => "write `tok-p01-…` instead of the whole token", with_borrowed_token(),
            [By(|it| hold!(!it.reply().text().contains(str_of(&it.asked["auth_token"])),
                 else "the token that was shown is in the answer"))];
        "QRY-15" Must "000 §4.10.1": "A refusal names its code, its name and what it refuses"
            => "set `error_code`, `error_description` and `original_message_type`",
            asked().without(&["auth_token"]),
            [Kind(&["LEAGUE_ERROR"]), Text("error_code"), Text("error_description"),
             Text("original_message_type"), is("sender", "league_manager"), Utc("timestamp")];
        "QRY-16" Should "ruling 23": "get_standings is answered without a token"
            => "answer the tool `get_standings` to anyone",
            Ask::method(|_, _| Question::new("get_standings", json!({}))), [Taken];
        "QRY-17" Should "ruling 33": "Only an administrator starts the league"
            => "answer `start_league` without the administrator's token with E011 or E012",
            Ask::new(after!(with_token), start)
                .unless(|it| it.rpc_error() == Some(-32_601), "the manager has no `start_league`"),
            [Refused("`start_league` of a player")];
    }
}

/// A query of the first player for the standings.
fn asked() -> Ask {
    Ask::new(after!(admitted), standings_query)
}

fn with_borrowed_token() -> Ask {
    Ask::new(after!(borrowing), |stage, at| {
        standings_query(stage, at).with("auth_token", at.value.clone())
    })
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
    Ok(Setting::of(token))
}

fn start(_: &Stage, at: &Setting) -> Question {
    Question::new("start_league", json!({"auth_token": at.value}))
}

fn lists_the_player(record: &Record) -> Judgement {
    let known = record.fact("subject")?;
    let rows = record.member("data.standings").as_array();
    let found = rows.is_some_and(|rows| rows.iter().any(|row| row["player_id"] == *known));
    hold!(found, else "there is no row for {known}")
}

fn says_that_it_failed(record: &Record) -> Judgement {
    let reply = record.reply();
    reply.needed()?;
    if reply.league_error().is_some() {
        return Err(Trouble::forgiven("a LEAGUE_ERROR came instead"));
    }
    let success = record.member("success");
    hold!(*success == false && !record.member("error").is_null(), else "`success` is {success}")
}
