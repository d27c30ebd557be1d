//! Rules about how a manager admits agents, and which it rejects.

use super::season::{has_a_key, player};
use super::{newcomer, query};
use crate::prelude::*;

/// The minimum length of a token that cannot be guessed.
const MIN_TOKEN: usize = 16;

const PLAYER_ANSWER: &[&str] = &["LEAGUE_REGISTER_RESPONSE"];
const REFEREE_ANSWER: &[&str] = &["REFEREE_REGISTER_RESPONSE"];

/// Whose registrations are checked: how many players, and how many referees.
type Registrants = (usize, usize);
const FIRST_PLAYER: Registrants = (1, 0);
const FIRST_REFEREE: Registrants = (0, 1);
const BOTH: Registrants = (1, 1);
const ALL: Registrants = (usize::MAX, usize::MAX);

#[expect(clippy::too_many_lines, reason = "a table of rules")]
pub(super) fn topic() -> Topic {
    topic! { "registration":
        "REG-01" Must "000 §4.2.2": "A player is answered with LEAGUE_REGISTER_RESPONSE and let in"
            => "answer `register_player` with `status` ACCEPTED",
            seen!(registrations(FIRST_PLAYER)), [Kind(PLAYER_ANSWER), By(is_admitted)];
        "REG-02" Must "000 §4.1.2": "A referee is answered with REFEREE_REGISTER_RESPONSE and let in"
            => "answer `register_referee` with `status` ACCEPTED",
            seen!(registrations(FIRST_REFEREE)), [Kind(REFEREE_ANSWER), By(is_admitted)];
        "REG-03" Must "000 §4.2.2, §4.1.2": "Every admitted agent is given an id"
            => "set `player_id` or `referee_id`",
            seen!(registrations(ALL)), [By(|it| is_of_its_own(it, "id", "other_ids"))];
        "REG-04" Should "000 §4.2.2": "Ids look like P01 and REF01"
            => "number players P01, P02, … and referees REF01, REF02, …",
            seen!(registrations(BOTH)), [By(has_a_usual_id)];
        "REG-05" Must "000 §2.4.5": "Every admitted agent is given a token of its own"
            => "set `auth_token`, another one for each agent",
            seen!(registrations(ALL)), [By(|it| is_of_its_own(it, "auth_token", "other_tokens"))];
        "REG-06" Should "000 §2.9": "A token is too long to be guessed"
            => "make tokens from at least 16 random characters",
            seen!(registrations(ALL)), [By(has_a_long_token)];
        "REG-07" Must "000 §4.2.2": "The answer names the league"
            => "set `league_id`", seen!(registrations(FIRST_PLAYER)), [Text("league_id")];
        "REG-08" Must "000 §2.4.1": "The answer has a whole envelope, from league_manager"
            => "set `protocol`, `sender`, `timestamp` and `conversation_id`",
            seen!(registrations(BOTH)),
            [PROTOCOL, Utc("timestamp"), is("sender", "league_manager")];
        "REG-09" Must "000 §2.4.1": "The answer is in the conversation of the request"
            => "copy `conversation_id` from the request",
            seen!(registrations(BOTH)), SAME_CONVERSATION;
        "REG-10" Must "000 §4.2.2": "A player that plays another game is rejected, with a reason"
            => "answer `status` REJECTED and `reason` to unsupported game types",
            newcomers()
                .changed(|call, _| call["player_meta"]["game_types"] = vec!["three_body_chess"].into()),
            [By(is_not_admitted), Kind(PLAYER_ANSWER), is("status", "REJECTED"),
             By(gives_a_reason)];
        "REG-11" Must "000 §4.2.2": "A player with an invalid address is rejected"
            => "look at `contact_endpoint` before letting anyone in",
            newcomers()
                .changed(|call, _| call["player_meta"]["contact_endpoint"] = "over there".into()),
            [By(is_not_admitted)];
        "REG-12" Should "ruling 7": "A name that is taken is rejected, with a token that is not its own"
            => "compare `display_name` with those of the others, and `auth_token` with theirs",
            Ask::new(after!(namesake), register),
            [By(is_not_admitted), Kind(PLAYER_ANSWER), is("status", "REJECTED"),
             By(gives_a_reason)];
        "REG-13" Must "000 §2.10.2": "An agent with an older protocol than 2.0.0 is E018"
            => "answer LEAGUE_ERROR E018 to `protocol_version` below 2.0.0",
            newcomers().changed(|call, _| call["player_meta"]["protocol_version"] = "1.0.0".into()),
            [By(is_not_admitted), LeagueError("E018")];
        "REG-14" Must "000 §4.2.1": "A player without a name is refused"
            => "answer E003 if `player_meta.display_name` is missing",
            newcomers().changed(|call, _| call["player_meta"]["display_name"] = Value::Null),
            [By(is_not_admitted)];
        "REG-15" Must "000 §4.2.1": "A registration without player_meta is refused"
            => "answer E003 if `player_meta` is missing",
            newcomers().changed(|call, _| call["player_meta"] = Value::Null), [By(is_not_admitted)];
        "REG-16" Must "000 §2.4.2": "A registration whose time is not in UTC is E021"
            => "answer LEAGUE_ERROR E021 to a time with another offset",
            newcomers().with("timestamp", OTHER_OFFSET), [By(is_not_admitted), LeagueError("E021")];
        "REG-17" Must "000 §2.4.1": "A registration in an unknown protocol is refused"
            => "answer E018 to a `protocol` that you do not speak",
            newcomers().with("protocol", "league.v9"), [By(is_not_admitted), Refused("league.v9")];
        "REG-18" Should "ruling 7": "A player that comes back keeps its id, and gets a new token"
            => "know an agent by its name and address", seen!(second_registration()),
            [Kind(PLAYER_ANSWER), By(is_admitted),
             By(|it| hold!(it.fact("id")? == it.member("player_id"),
                 else "it was {} and is {} now", it.fact("id")?, it.member("player_id"))),
             By(|it| hold!(it.fact("token")? != it.member("auth_token"),
                 else "it was given the same token again"))];
        "REG-19" Should "ruling 7": "The token from before is void then"
            => "forget the old token when a new one is given",
            Ask::new(after!(back_again), |_, at| Question::new("league_query", at.value.clone())),
            [LeagueError("E012")];
    }
}

/// The answers to registrations; each record holds what earlier agents were given.
async fn registrations(caller: &Caller, whose: Registrants) -> Records {
    let league = &caller.stage.league;
    let players = league.players().iter().take(whose.0);
    let members = players.chain(league.referees().iter().take(whose.1));
    let (mut ids, mut tokens) = (Vec::new(), Vec::new());
    let mut records = Vec::new();
    for member in members.filter(|member| !member.needs_a_key()) {
        let Some(reply) = member.answer() else {
            hold!(whose == ALL, else "the registration was not answered")?;
            continue;
        };
        let request = member.request().params;
        let record = Record::new(caller.stage.kind, request, reply);
        let record = record
            .with("role", member.role())
            .with("other_ids", ids.clone())
            .with("other_tokens", tokens.clone());
        records.push(record);
        ids.push(member.id());
        tokens.push(member.token());
    }
    if records.is_empty() {
        has_a_key(&caller.stage)?;
        return Err(Trouble::broken("no registration was answered"));
    }
    Ok(records)
}

/// The registration of a new player.
fn newcomers() -> Ask {
    Ask::new(after!(arrival), register)
}

fn register(_: &Stage, at: &Setting) -> Question {
    Question::new("register_player", at.value.clone())
}

/// A situation: a player that has not registered yet.
async fn arrival(_: &Caller) -> Result<Setting, Trouble> {
    newcomer("Check Newcomer").await
}

/// A situation: a new player with the name of the first one, and a token that nobody was given.
/// Without a token it might be another player of that name, which lenient leagues admit.
async fn namesake(caller: &Caller) -> Result<Setting, Trouble> {
    let name = player(&caller.stage, 0).await?.name.clone();
    let mut at = arrival(caller).await?;
    at.value["player_meta"]["display_name"] = name.into();
    at.value["auth_token"] = "tok-nobody-0123456789abcdef".into();
    Ok(at)
}

/// The first player registers once more.
async fn second_registration(caller: &Caller) -> Records {
    let member = player(&caller.stage, 0).await?;
    let (id, token) = (member.id(), member.token());
    let question = member.request();
    let reply = caller.call(&question).await?;
    let record = Record::new(caller.stage.kind, question.params, reply.clone());
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
        record.reply().of_kind(PLAYER_ANSWER)?;
        is_admitted(&record)?;
    }
    before.params["timestamp"] = in_time(Duration::ZERO).into();
    Ok(Setting::of(before.params))
}

fn is_accepted(record: &Record) -> bool {
    let status = record.member("status").as_str();
    matches!(status, Some("ACCEPTED" | "REGISTERED"))
}

fn is_admitted(record: &Record) -> Judgement {
    let (status, reason) = (record.member("status"), record.member("reason"));
    hold!(is_accepted(record), else "`status` is {status}, because {reason}")
}

fn is_not_admitted(record: &Record) -> Judgement {
    hold!(!is_accepted(record), else "it is let in")
}

fn gives_a_reason(record: &Record) -> Judgement {
    let reason = record.member("reason").as_str().unwrap_or_default();
    hold!(!reason.is_empty(), else "no `reason` is given")
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
    hold!(given.as_str().is_some_and(|given| !given.is_empty()), else "`{name}` is missing")?;
    let others = record.fact(others)?.as_array();
    hold!(others.is_none_or(|others| !others.contains(given)),
        else "another agent has the same `{name}`")
}

fn has_a_usual_id(record: &Record) -> Judgement {
    let name = id_name(record)?;
    let id = record.member(name).as_str().unwrap_or_default();
    let prefix = if name == "referee_id" { "REF" } else { "P" };
    let digits = id.strip_prefix(prefix).unwrap_or_default();
    let good = digits.len() >= 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
    hold!(good, else "the id is `{id}`")
}

fn has_a_long_token(record: &Record) -> Judgement {
    let length = record.member("auth_token").as_str().map_or(0, str::len);
    hold!(length >= MIN_TOKEN, else "the token has {length} characters")
}
