//! Rules about how a manager admits agents, and which it rejects.

use serde_json::Value;

use super::fake_member::FakeMember;
use super::query;
use super::season::player;
use crate::caller::Caller;
use crate::exchange::{Ask, Change, Setting};
use crate::record::Expect::{By, Kind, Refused, Text};
use crate::record::{PROTOCOL, Record, SAME_CONVERSATION, Statement, is, refused_with, utc};
use crate::rule::{Judgement, Pending, Topic, Trouble, hold, rules, seen};
use crate::script::{OTHER_OFFSET, in_time};
use crate::stage::Question;

/// The minimum length of a token that cannot be guessed.
const MIN_TOKEN: usize = 16;

const PLAYER_ANSWER: &[&str] = &["LEAGUE_REGISTER_RESPONSE"];
const REFEREE_ANSWER: &[&str] = &["REFEREE_REGISTER_RESPONSE"];

/// Whose registrations are checked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whose {
    FirstPlayer,
    FirstReferee,
    /// The first player and the first referee.
    Both,
    All,
}

#[expect(clippy::too_many_lines, reason = "a table of rules")]
pub(super) fn topic() -> Topic {
    Topic {
        name: "registration",
        rules: rules! {
            "REG-01" Must "000 §4.2.2": "A player is answered with LEAGUE_REGISTER_RESPONSE and let in"
                => "answer `register_player` with `status` ACCEPTED",
                seen!(registrations(Whose::FirstPlayer)), [Kind(PLAYER_ANSWER), By(is_admitted)];
            "REG-02" Must "000 §4.1.2": "A referee is answered with REFEREE_REGISTER_RESPONSE and let in"
                => "answer `register_referee` with `status` ACCEPTED",
                seen!(registrations(Whose::FirstReferee)), [Kind(REFEREE_ANSWER), By(is_admitted)];
            "REG-03" Must "000 §4.2.2, §4.1.2": "Every admitted agent is given an id"
                => "set `player_id` or `referee_id`",
                seen!(registrations(Whose::All)), [By(|record| is_of_its_own(record, "id", "other_ids"))];
            "REG-04" Should "000 §4.2.2": "Ids look like P01 and REF01"
                => "number players P01, P02, … and referees REF01, REF02, …",
                seen!(registrations(Whose::Both)), [By(has_a_usual_id)];
            "REG-05" Must "000 §2.4.5": "Every admitted agent is given a token of its own"
                => "set `auth_token`, another one for each agent",
                seen!(registrations(Whose::All)),
                [By(|record| is_of_its_own(record, "auth_token", "other_tokens"))];
            "REG-06" Should "000 §2.9": "A token is too long to be guessed"
                => "make tokens from at least 16 random characters",
                seen!(registrations(Whose::All)), [By(has_a_long_token)];
            "REG-07" Must "000 §4.2.2": "The answer names the league"
                => "set `league_id`", seen!(registrations(Whose::FirstPlayer)), [Text("league_id")];
            "REG-08" Must "000 §2.4.1": "The answer has a whole envelope, from league_manager"
                => "set `protocol`, `sender`, `timestamp` and `conversation_id`",
                seen!(registrations(Whose::Both)),
                [PROTOCOL, utc("timestamp"), is("sender", "league_manager")];
            "REG-09" Must "000 §2.4.1": "The answer is in the conversation of the request"
                => "copy `conversation_id` from the request",
                seen!(registrations(Whose::Both)), [SAME_CONVERSATION];
            "REG-10" Must "000 §4.2.2": "A player that plays another game is rejected, with a reason"
                => "answer `status` REJECTED and `reason` to unsupported game types",
                newcomer(|call, _| call["player_meta"]["game_types"] = vec!["three_body_chess"].into()),
                [By(is_not_admitted), Kind(PLAYER_ANSWER), is("status", "REJECTED"), By(gives_a_reason)];
            "REG-11" Must "000 §4.2.2": "A player with an invalid address is rejected"
                => "look at `contact_endpoint` before letting anyone in",
                newcomer(|call, _| call["player_meta"]["contact_endpoint"] = "over there".into()),
                [By(is_not_admitted)];
            "REG-12" Should "ruling 7": "A name that is taken is rejected"
                => "compare `display_name` with those of the others",
                Ask::new(|caller| Box::pin(namesake(caller)), register),
                [By(is_not_admitted), Kind(PLAYER_ANSWER), is("status", "REJECTED"), By(gives_a_reason)];
            "REG-13" Must "000 §2.10.2": "An agent with an older protocol than 2.0.0 is E018"
                => "answer LEAGUE_ERROR E018 to `protocol_version` below 2.0.0",
                newcomer(|call, _| call["player_meta"]["protocol_version"] = "1.0.0".into()),
                [By(is_not_admitted), refused_with("E018")];
            "REG-14" Must "000 §4.2.1": "A player without a name is refused"
                => "answer E003 if `player_meta.display_name` is missing",
                newcomer(|call, _| call["player_meta"]["display_name"] = Value::Null), [By(is_not_admitted)];
            "REG-15" Must "000 §4.2.1": "A registration without player_meta is refused"
                => "answer E003 if `player_meta` is missing",
                newcomer(|call, _| call["player_meta"] = Value::Null), [By(is_not_admitted)];
            "REG-16" Must "000 §2.4.2": "A registration whose time is not in UTC is E021"
                => "answer LEAGUE_ERROR E021 to a time with another offset",
                newcomer(|call, _| call["timestamp"] = OTHER_OFFSET.into()),
                [By(is_not_admitted), refused_with("E021")];
            "REG-17" Must "000 §2.4.1": "A registration in an unknown protocol is refused"
                => "answer E018 to a `protocol` that you do not speak",
                newcomer(|call, _| call["protocol"] = "league.v9".into()),
                [By(is_not_admitted), Refused("league.v9")];
            "REG-18" Should "ruling 7": "A player that comes back keeps its id, and gets a new token"
                => "know an agent by its name and address",
                seen!(second_registration()),
                [Kind(PLAYER_ANSWER), By(is_admitted), By(keeps_its_id), By(gets_a_new_token)];
            "REG-19" Should "ruling 7": "The token from before is void then"
                => "forget the old token when a new one is given",
                Ask::new(|caller| Box::pin(back_again(caller)), |_, at| Question::new("league_query", at.value.clone())),
                [refused_with("E012")];
        },
    }
}

/// The answers to registrations; each record holds what earlier agents were given.
async fn registrations(caller: &Caller, whose: Whose) -> Result<Vec<Record>, Trouble> {
    let league = &caller.stage.league;
    let (players, referees) = (league.players(), league.referees());
    let members: Vec<&FakeMember> = match whose {
        Whose::FirstPlayer => players.iter().take(1).collect(),
        Whose::FirstReferee => referees.iter().take(1).collect(),
        Whose::Both => players
            .iter()
            .take(1)
            .chain(referees.iter().take(1))
            .collect(),
        Whose::All => players.iter().chain(referees).collect(),
    };
    let (mut ids, mut tokens) = (Vec::new(), Vec::new());
    let mut records = Vec::new();
    for member in members {
        let Some(reply) = member.answer() else {
            if whose == Whose::All {
                continue;
            }
            return Err(Trouble::broken("the registration was not answered"));
        };
        let request = member.request().params;
        let record = Record::new(caller.stage.kind, request, Statement::Reply(reply));
        let record = record
            .with("role", member.role())
            .with("other_ids", ids.clone())
            .with("other_tokens", tokens.clone());
        records.push(record);
        ids.push(member.id());
        tokens.push(member.token());
    }
    if records.is_empty() {
        return Err(Trouble::broken("no registration was answered"));
    }
    Ok(records)
}

/// The registration of a new player, changed.
fn newcomer(change: Change) -> Ask {
    Ask::new(arrival, register).with(change)
}

fn register(_: &crate::stage::Stage, at: &Setting) -> Question {
    Question::new("register_player", at.value.clone())
}

/// A situation: a player that has not registered yet.
fn arrival(_: &Caller) -> Pending<'_, Result<Setting, Trouble>> {
    Box::pin(async {
        let opened = FakeMember::open("Check Newcomer".to_owned(), false).await;
        let newcomer = opened.map_err(|error| Trouble::skipped(error.to_string(), ""))?;
        Ok(Setting {
            subject: newcomer.endpoint.clone(),
            value: newcomer.request().params,
            keep: Some(Box::new(newcomer)),
        })
    })
}

/// A situation: a new player with the name of the first one.
async fn namesake(caller: &Caller) -> Result<Setting, Trouble> {
    let name = player(&caller.stage, 0).await?.name.clone();
    let mut at = arrival(caller).await?;
    at.value["player_meta"]["display_name"] = name.into();
    Ok(at)
}

/// The first player registers once more.
async fn second_registration(caller: &Caller) -> Result<Vec<Record>, Trouble> {
    let member = player(&caller.stage, 0).await?;
    let (id, token) = (member.id(), member.token());
    let question = member.request();
    let reply = caller.call(&question).await?;
    let said = Statement::Reply(reply.clone());
    let record = Record::new(caller.stage.kind, question.params, said);
    let record = record.with("role", member.role()).with("id", id);
    if is_admitted(&record).is_ok() {
        member.note(reply);
    }
    Ok(vec![record.with("token", token)])
}

/// A situation: the first player has a new token, and sends a query with the old one.
async fn back_again(caller: &Caller) -> Result<Setting, Trouble> {
    player(&caller.stage, 0).await?;
    let mut before = query(&caller.stage, "GET_STANDINGS", None);
    for record in second_registration(caller).await? {
        record.reply()?.of_kind(PLAYER_ANSWER)?;
        is_admitted(&record)?;
    }
    before.params["timestamp"] = in_time(std::time::Duration::ZERO).into();
    Ok(Setting {
        value: before.params,
        ..Setting::default()
    })
}

fn is_accepted(record: &Record) -> bool {
    let status = record.member("status").as_str();
    matches!(status, Some("ACCEPTED" | "REGISTERED"))
}

fn is_admitted(record: &Record) -> Judgement {
    let message = record.message();
    hold(is_accepted(record), || {
        let reason = &message["reason"];
        format!("`status` is {}, because {reason}", message["status"])
    })
}

fn is_not_admitted(record: &Record) -> Judgement {
    hold(!is_accepted(record), || "it is let in".to_owned())
}

fn gives_a_reason(record: &Record) -> Judgement {
    let reason = record.member("reason").as_str().unwrap_or_default();
    hold(!reason.is_empty(), || "no `reason` is given".to_owned())
}

/// The member of an answer that holds the id.
fn id_name(record: &Record) -> Result<&'static str, Trouble> {
    Ok(match record.fact("role")? == "referee" {
        true => "referee_id",
        false => "player_id",
    })
}

/// Checks that a value was given, and not to an earlier agent as well.
fn is_of_its_own(record: &Record, what: &str, others: &str) -> Judgement {
    let name = match what {
        "id" => id_name(record)?,
        other => other,
    };
    let given = record.member(name);
    hold(
        given.as_str().is_some_and(|given| !given.is_empty()),
        || format!("`{name}` is missing"),
    )?;
    let others = record.fact(others)?.as_array();
    hold(others.is_none_or(|others| !others.contains(given)), || {
        format!("another agent has the same `{name}`")
    })
}

fn has_a_usual_id(record: &Record) -> Judgement {
    let name = id_name(record)?;
    let id = record.member(name).as_str().unwrap_or_default();
    let prefix = if name == "referee_id" { "REF" } else { "P" };
    let digits = id.strip_prefix(prefix).unwrap_or_default();
    let good = digits.len() >= 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
    hold(good, || format!("the id is `{id}`"))
}

fn has_a_long_token(record: &Record) -> Judgement {
    let length = record.member("auth_token").as_str().map_or(0, str::len);
    hold(length >= MIN_TOKEN, || {
        format!("the token has {length} characters")
    })
}

fn keeps_its_id(record: &Record) -> Judgement {
    let (before, now) = (record.fact("id")?, record.member("player_id"));
    hold(before == now, || {
        format!("it was {before} and is {now} now")
    })
}

fn gets_a_new_token(record: &Record) -> Judgement {
    hold(record.fact("token")? != record.member("auth_token"), || {
        "it was given the same token again".to_owned()
    })
}
