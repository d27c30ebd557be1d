//! Rules about which senders a player trusts. Match tokens and the manager's token are additions of
//! this league (rulings 25 and 45); a player that ignores them does not break a rule of the
//! documents.

use serde_json::{Value, json};

use super::{
    CHOSEN, FALSE_TOKEN, JOINED, MOVE, announcement, choice, invitation, is_legal, join,
    match_token, unannounced,
};
use crate::caller::Caller;
use crate::exchange::{Ask, Setting, Situation, remove};
use crate::record::Expect::By;
use crate::record::refused_with;
use crate::reply::Reply;
use crate::rule::{Judgement, Topic, Trouble, rules, steps};
use crate::script::OTHER_OFFSET;
use crate::stage::{Question, Stage};
use crate::wire::RoundTrip;

const UNCONCERNED: &str =
    "the player does not look at tokens of matches and managers, and need not";

pub(super) fn topic() -> Topic {
    Topic {
        name: "trust",
        rules: rules! {
            "TRUST-01" Should "ruling 25": "A referee with another token than the announced one is E012"
                => "compare `auth_token` with `match_token` of the ROUND_ANNOUNCEMENT",
                invited(announced).with(with_false_token), [refused_with("E012")];
            "TRUST-02" Should "ruling 25": "A referee without a token is E011, if one was announced"
                => "ask for the token that was announced",
                invited(announced).with(without_token), [refused_with("E011")];
            "TRUST-03" Should[40] "ruling 25": "A choice is not told to a referee with another token"
                => "check the token before every choice",
                Ask::new(|caller| Box::pin(announced_and_joined(caller)), |stage, at| choice(stage, &at.subject))
                    .unless(takes_it)
                    .with(with_false_token),
                [refused_with("E012")];
            "TRUST-04" Should "ruling 25": "The token of one match does not open another"
                => "keep one token for each match",
                invited(|caller| Box::pin(two_announced(caller))), [refused_with("E012")];
            "TRUST-05" Should "ruling 45": "News from a manager with another token are E012"
                => "keep `manager_token` of the registration, and compare",
                news().unless(takes_it).with(with_false_token), [refused_with("E012")];
            "TRUST-06" Should "ruling 45": "News from a manager without its token are E011"
                => "keep `manager_token` of the registration, and ask for it",
                news().unless(takes_it).with(without_token), [refused_with("E011")];
            "TRUST-07" Should "ruling 42": "News of another league are refused"
                => "compare `league_id` with your own",
                news().unless(takes_another_league).with(|call, _| call["league_id"] = "another_league".into()),
                [refused_with("E012")];
            "TRUST-08" Must[120] "000 §2.4.5": "A refusal does not show the player's token to a stranger"
                => "leave `auth_token` out of refusals", steps!(refuses_discreetly);
            "TRUST-09" Should "ruling 25": "A match that was announced with another token is not announced anew"
                => "keep the first announcement of a match", steps!(keeps_the_first_announcement);
            "TRUST-10" Must[70] "ruling 43": "A refused call leaves the match as it was"
                => "check a call before it changes anything",
                Ask::new(|caller| Box::pin(disturbed(caller)), |stage, at| choice(stage, &at.subject))
                    .patience(MOVE)
                    .due(CHOSEN),
                [By(is_legal)];
        },
    }
}

/// An invitation in a situation that may provide another token for it.
fn invited(situation: Situation) -> Ask {
    let ask = Ask::new(situation, |stage, at| {
        let mut question = invitation(stage, &at.subject);
        if !at.value.is_null() {
            question.params["auth_token"] = at.value.clone();
        }
        question
    });
    ask.unless(takes_it)
}

fn news() -> Ask {
    Ask::new(unannounced, |stage, at| announcement(stage, &at.subject)).registered()
}

fn takes_it(reply: &Reply) -> Option<&'static str> {
    (!reply.is_refusal()).then_some(UNCONCERNED)
}

fn takes_another_league(reply: &Reply) -> Option<&'static str> {
    let reason = "the player does not look at `league_id`, and need not";
    (!reply.is_refusal()).then_some(reason)
}

fn with_false_token(call: &mut Value, _: &Stage) {
    call["auth_token"] = FALSE_TOKEN.into();
}

fn without_token(call: &mut Value, _: &Stage) {
    remove(call, &["auth_token"]);
}

/// Announces a match with the manager's token.
async fn announce(caller: &Caller) -> Result<String, Trouble> {
    caller.stage.admitted()?;
    let match_id = caller.stage.next_match();
    let reply = caller.call(&announcement(&caller.stage, &match_id)).await?;
    match reply.is_refusal() {
        true => Err(Trouble::skipped(UNCONCERNED, "")),
        false => Ok(match_id),
    }
}

/// A situation: a match that was announced.
fn announced(caller: &Caller) -> crate::rule::Pending<'_, Result<Setting, Trouble>> {
    Box::pin(async { announce(caller).await.map(Setting::about) })
}

async fn announced_and_joined(caller: &Caller) -> Result<Setting, Trouble> {
    let match_id = announce(caller).await?;
    caller.call(&invitation(&caller.stage, &match_id)).await?;
    Ok(Setting::about(match_id))
}

/// A situation: two matches were announced, and the token of the second is used for the first.
async fn two_announced(caller: &Caller) -> Result<Setting, Trouble> {
    let (subject, other) = (announce(caller).await?, announce(caller).await?);
    Ok(Setting {
        subject,
        value: match_token(&other).into(),
        keep: None,
    })
}

/// A situation: a match in which two calls were refused.
async fn disturbed(caller: &Caller) -> Result<Setting, Trouble> {
    let match_id = join(caller).await?;
    let broken = json!({"match_id": match_id, "deadline": 7});
    caller.call(&Question::new("choose_parity", broken)).await?;
    let mut question = choice(&caller.stage, &match_id);
    question.params["auth_token"] = FALSE_TOKEN.into();
    caller.call(&question).await?;
    Ok(Setting::about(match_id))
}

/// Calls that a player should refuse, each for another reason; some players accept some of them.
async fn unwelcome(stage: &Stage) -> Vec<Question> {
    let (known, unknown) = (stage.open_match().await, stage.next_match());
    let with = |mut question: Question, name: &str, value: Value| {
        question.params[name] = value;
        question
    };
    let invite = || invitation(stage, &known);
    let elsewhere = with(
        announcement(stage, &known),
        "league_id",
        "another_league".into(),
    );
    vec![
        with(invite(), "auth_token", FALSE_TOKEN.into()),
        with(invite(), "match_id", Value::Null),
        with(invite(), "game_type", json!({"name": []})),
        choice(stage, &unknown),
        with(choice(stage, &known), "player_id", "P77".into()),
        with(elsewhere, "auth_token", FALSE_TOKEN.into()),
        with(invite(), "timestamp", OTHER_OFFSET.into()),
        Question::new("choose_parity", json!({"match_id": known, "deadline": 7})),
        Question::new("choose_parity", json!([])),
        Question::new("no_such_tool", json!({"match_id": known})),
    ]
}

async fn refuses_discreetly(caller: &Caller) -> Judgement {
    let token = caller.stage.admitted()?.token;
    let mut refusals = 0;
    for question in unwelcome(&caller.stage).await {
        // A player that does not answer does not reveal anything.
        let reply = caller.call(&question).await.ok();
        if let Some(reply) = reply.filter(Reply::is_refusal) {
            refusals += 1;
            discreet(&reply.trip, &token)?;
        }
    }
    // Every player that reads a body refuses one that is not JSON.
    let broken = caller.post(b"{\"jsonrpc\": \"2.0\", \"method\": [").await;
    if broken.is_ok() {
        refusals += 1;
        caller
            .last()
            .map_or(Ok(()), |last| discreet(&last, &token))?;
    }
    match refusals {
        0 => Err(Trouble::skipped("the player refuses nothing", "")),
        _ => Ok(()),
    }
}

/// Checks that a refusal does not contain a token, in its body or in its headers.
fn discreet(trip: &RoundTrip, token: &str) -> Judgement {
    let Ok(answer) = &trip.came else {
        return Ok(());
    };
    let mut headers = answer.headers.iter().map(|(_, value)| value.as_str());
    if headers.any(|value| value.contains(token)) || answer.text().contains(token) {
        return Err(Trouble::broken("the refusal holds the player's own token"));
    }
    Ok(())
}

async fn keeps_the_first_announcement(caller: &Caller) -> Judgement {
    let match_id = announce(caller).await?;
    let stage = &caller.stage;
    let mut again = announcement(stage, &match_id);
    again.params["matches"][0]["match_token"] = FALSE_TOKEN.into();
    // It may refuse this, or acknowledge it and keep the first announcement.
    caller.call(&again).await?;
    let mut by_second = invitation(stage, &match_id);
    by_second.params["auth_token"] = FALSE_TOKEN.into();
    let second = caller.call(&by_second).await?;
    let first = caller.call(&invitation(stage, &match_id)).await?;
    match (second.is_refusal(), first.is_refusal()) {
        (false, false) => Err(Trouble::skipped(UNCONCERNED, "")),
        (false, true) => Err(Trouble::broken(
            "the player goes by the second announcement of the match",
        )),
        (true, _) => first.of_kind(JOINED).map(drop),
    }
}
