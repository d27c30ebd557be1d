//! Rules about how a manager lets agents in, and whom it turns away.

use serde_json::Value;

use super::member::Member;
use super::{ManagerStage, OfManager};
use crate::envelope;
use crate::reply::Reply;
use crate::rule::{Played, Topic, Trouble, hold, rules};
use crate::stage::Question;

/// The fewest characters of a token that nobody guesses.
const LONG_ENOUGH: usize = 16;

/// The rules.
pub(super) fn topic() -> Topic<ManagerStage> {
    Topic {
        name: "registration",
        rules: rules! {
            "REG-01" Must "000 §4.2.2": "A player is answered with LEAGUE_REGISTER_RESPONSE and let in"
                => "answer `register_player` with `status` ACCEPTED", player;
            "REG-02" Must "000 §4.1.2": "A referee is answered with REFEREE_REGISTER_RESPONSE and let in"
                => "answer `register_referee` with `status` ACCEPTED", referee;
            "REG-03" Must "000 §4.2.2, §4.1.2": "Whoever is let in is given an id"
                => "set `player_id` or `referee_id`", ids;
            "REG-04" Should "000 §4.2.2": "Ids look like P01 and REF01"
                => "number players P01, P02, … and referees REF01, REF02, …", id_form;
            "REG-05" Must "000 §2.4.5": "Whoever is let in is given a token of its own"
                => "set `auth_token`, another one for each agent", tokens;
            "REG-06" Should "000 §2.9": "A token is too long to be guessed"
                => "make tokens from at least 16 random characters", unguessable;
            "REG-07" Must "000 §4.2.2": "The answer names the league"
                => "set `league_id`", league;
            "REG-08" Must "000 §2.4.1": "The answer has a whole envelope, from league_manager"
                => "set `protocol`, `sender`, `timestamp` and `conversation_id`", enveloped;
            "REG-09" Must "000 §2.4.1": "The answer is in the conversation of the request"
                => "copy `conversation_id` from the request", conversation;
            "REG-10" Must "000 §4.2.2": "A player that plays another game is rejected, with a reason"
                => "answer `status` REJECTED and `reason` to unsupported game types", other_game;
            "REG-11" Must "000 §4.2.2": "A player whose address is none is rejected"
                => "look at `contact_endpoint` before letting anyone in", bad_endpoint;
            "REG-12" Should "ruling 7": "A name that somebody else has is rejected"
                => "compare `display_name` with those of the others", same_name;
            "REG-13" Must "000 §2.10.2": "An agent with an older protocol than 2.0.0 is E018"
                => "answer LEAGUE_ERROR E018 to `protocol_version` below 2.0.0", old_version;
            "REG-14" Must "000 §4.2.1": "A player without a name is refused"
                => "answer E003 if `player_meta.display_name` is missing", nameless;
            "REG-15" Must "000 §4.2.1": "A registration without player_meta is refused"
                => "answer E003 if `player_meta` is missing", no_meta;
            "REG-16" Must "000 §2.4.2": "A registration whose time is not in UTC is E021"
                => "answer LEAGUE_ERROR E021 to a time with another offset", offset;
            "REG-17" Must "000 §2.4.1": "A registration in a protocol that nobody knows is refused"
                => "answer E018 to a `protocol` that you do not speak", other_protocol;
            "REG-18" Should "ruling 7": "A player that comes back keeps its id, and gets a new token"
                => "know an agent by its name and address", comes_back;
            "REG-19" Should "ruling 7": "The token from before is void then"
                => "forget the old token when a new one is given", old_token;
        },
    }
}

async fn reply_of(act: &OfManager, member: &Member) -> Result<Reply, Trouble> {
    let reply = member.answer();
    let reply = reply.ok_or_else(|| Trouble::broken("the registration was not answered"))?;
    act.note(reply.exchange.clone());
    Ok(reply)
}

fn is_accepted(reply: &Reply) -> bool {
    let status = reply.member("status").and_then(Value::as_str);
    matches!(status, Some("ACCEPTED" | "REGISTERED"))
}

fn let_in(reply: &Reply, kind: &str) -> Played {
    reply.of_kind(&[kind])?;
    hold(is_accepted(reply), || {
        let told = reply.result().cloned().unwrap_or_default();
        format!("`status` is {}, because {}", told["status"], told["reason"])
    })
}

async fn player(act: &OfManager) -> Played {
    let company = act.stage.company().await?;
    let reply = reply_of(act, &company.players[0]).await?;
    let_in(&reply, "LEAGUE_REGISTER_RESPONSE")
}

async fn referee(act: &OfManager) -> Played {
    let company = act.stage.company().await?;
    let reply = reply_of(act, &company.referees[0]).await?;
    let_in(&reply, "REFEREE_REGISTER_RESPONSE")
}

/// All that have registered so far.
async fn registered(act: &OfManager) -> Result<Vec<&Member>, Trouble> {
    let company = act.stage.company().await?;
    let all = company.players.iter().chain(&company.referees);
    let all: Vec<_> = all.filter(|member| member.answer().is_some()).collect();
    if all.is_empty() {
        return Err(Trouble::broken("no registration was answered"));
    }
    Ok(all)
}

/// Sees that something is there for each, and another for each.
async fn distinct(act: &OfManager, what: &str, of: impl Fn(&Member) -> String) -> Played {
    let mut seen = Vec::new();
    for member in registered(act).await? {
        reply_of(act, member).await?;
        let given = of(member);
        hold(!given.is_empty(), || {
            format!("{} was given no {what}", member.name)
        })?;
        hold(!seen.contains(&given), || {
            format!("{} was given the {what} of somebody else", member.name)
        })?;
        seen.push(given);
    }
    Ok(())
}

async fn ids(act: &OfManager) -> Played {
    distinct(act, "id", Member::id).await
}

async fn tokens(act: &OfManager) -> Played {
    distinct(act, "token", Member::token).await
}

async fn id_form(act: &OfManager) -> Played {
    let company = act.stage.company().await?;
    for (member, prefix) in [(&company.players[0], "P"), (&company.referees[0], "REF")] {
        reply_of(act, member).await?;
        let id = member.id();
        let digits = id.strip_prefix(prefix).unwrap_or_default();
        let good = digits.len() >= 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
        hold(good, || format!("the id is `{id}`"))?;
    }
    Ok(())
}

async fn unguessable(act: &OfManager) -> Played {
    for member in registered(act).await? {
        reply_of(act, member).await?;
        let length = member.token().len();
        hold(length >= LONG_ENOUGH, || {
            format!("the token has {length} characters")
        })?;
    }
    Ok(())
}

async fn league(act: &OfManager) -> Played {
    let company = act.stage.company().await?;
    let reply = reply_of(act, &company.players[0]).await?;
    envelope::text(reply.needed()?, "league_id").map(drop)
}

async fn enveloped(act: &OfManager) -> Played {
    let company = act.stage.company().await?;
    for member in [&company.players[0], &company.referees[0]] {
        let reply = reply_of(act, member).await?;
        let message = reply.needed()?;
        envelope::protocol(message)?;
        envelope::time(message, "timestamp", false)?;
        envelope::is(message, "sender", "league_manager")?;
    }
    Ok(())
}

async fn conversation(act: &OfManager) -> Played {
    let company = act.stage.company().await?;
    for member in [&company.players[0], &company.referees[0]] {
        let reply = reply_of(act, member).await?;
        envelope::conversation(&member.request().params, reply.needed()?)?;
    }
    Ok(())
}

/// The wish of a newcomer, changed.
async fn newcomer(act: &OfManager, change: impl FnOnce(&mut Value)) -> Result<Reply, Trouble> {
    let name = "Check Newcomer".to_owned();
    let newcomer = Member::open(name, false).await;
    let newcomer = newcomer.map_err(|error| Trouble::skipped(error.to_string(), ""))?;
    let mut question = newcomer.request();
    change(&mut question.params);
    act.call(&question).await
}

/// Sees that a newcomer is not let in.
async fn turned_away(
    act: &OfManager,
    what: &str,
    change: impl FnOnce(&mut Value),
) -> Result<Reply, Trouble> {
    let reply = newcomer(act, change).await?;
    hold(!is_accepted(&reply), || format!("{what} is let in"))?;
    Ok(reply)
}

fn code(reply: &Reply, codes: &[&str]) -> Played {
    let found = reply.league_error();
    hold(found.is_some_and(|found| codes.contains(&found)), || {
        format!("the answer is {} instead of {}", reply.describe(), codes[0])
    })
}

async fn rejected(act: &OfManager, what: &str, change: impl FnOnce(&mut Value)) -> Played {
    let reply = turned_away(act, what, change).await?;
    let message = reply.of_kind(&["LEAGUE_REGISTER_RESPONSE"])?;
    envelope::is(message, "status", "REJECTED")?;
    let reason = message["reason"].as_str().unwrap_or_default();
    hold(!reason.is_empty(), || "no `reason` is given".to_owned())
}

async fn other_game(act: &OfManager) -> Played {
    let change = |wish: &mut Value| {
        wish["player_meta"]["game_types"] = vec!["three_body_chess"].into();
    };
    rejected(act, "a player of another game", change).await
}

async fn bad_endpoint(act: &OfManager) -> Played {
    let change = |wish: &mut Value| {
        wish["player_meta"]["contact_endpoint"] = "over there".into();
    };
    turned_away(act, "a player without an address", change)
        .await
        .map(drop)
}

async fn same_name(act: &OfManager) -> Played {
    let name = act.stage.player(0).await?.name.clone();
    let change = |wish: &mut Value| wish["player_meta"]["display_name"] = name.into();
    rejected(act, "a second player of the same name", change).await
}

async fn old_version(act: &OfManager) -> Played {
    let change = |wish: &mut Value| {
        wish["player_meta"]["protocol_version"] = "1.0.0".into();
    };
    let reply = turned_away(act, "an agent of protocol 1.0.0", change).await?;
    code(&reply, &["E018"])
}

async fn nameless(act: &OfManager) -> Played {
    let change = |wish: &mut Value| wish["player_meta"]["display_name"] = Value::Null;
    turned_away(act, "a player without a name", change)
        .await
        .map(drop)
}

async fn no_meta(act: &OfManager) -> Played {
    let change = |wish: &mut Value| wish["player_meta"] = Value::Null;
    turned_away(act, "a registration without player_meta", change)
        .await
        .map(drop)
}

async fn offset(act: &OfManager) -> Played {
    let change = |wish: &mut Value| wish["timestamp"] = "2025-01-15T10:30:00+02:00".into();
    let reply = turned_away(act, "a time with another offset", change).await?;
    code(&reply, &["E021"])
}

async fn other_protocol(act: &OfManager) -> Played {
    let change = |wish: &mut Value| wish["protocol"] = "league.v9".into();
    let reply = turned_away(act, "league.v9", change).await?;
    reply.refused("league.v9")
}

async fn comes_back(act: &OfManager) -> Played {
    let member = act.stage.player(0).await?;
    let (id, token) = (member.id(), member.token());
    let reply = act.call(&member.request()).await?;
    let_in(&reply, "LEAGUE_REGISTER_RESPONSE")?;
    member.note(reply);
    hold(member.id() == id, || {
        format!("it was {id} and is {} now", member.id())
    })?;
    hold(member.token() != token, || {
        "it was given the same token again".to_owned()
    })
}

async fn old_token(act: &OfManager) -> Played {
    let member = act.stage.player(0).await?;
    let league = act.stage.league().await?;
    let mut before: Question = act.stage.query(member, &league, "GET_STANDINGS", None);
    let reply = act.call(&member.request()).await?;
    let_in(&reply, "LEAGUE_REGISTER_RESPONSE")?;
    member.note(reply);
    before.params["timestamp"] = crate::script::in_time(std::time::Duration::ZERO).into();
    let reply = act.call(&before).await?;
    code(&reply, &["E012"])
}
