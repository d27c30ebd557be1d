//! Rules about which senders a player trusts, and what it proves. Match tokens, the manager's token,
//! attempts and proofs are additions of this league (rulings 25, 27 and 45); a player that ignores
//! them does not break a rule of the documents.

use super::{
    CHOSEN, FALSE_TOKEN, JOINED, MOVE, announcement, choice, choose, invitation, is_legal, join,
    match_token, unannounced,
};
use crate::prelude::*;
use crate::wire::RoundTrip;

/// A higher attempt at a match, and its token.
const SECOND: u32 = 2;
const SECOND_TOKEN: &str = "tok-match-second-fedcba9876543210";
const CALLED: &[&str] = &["CALL_QUERY_RESPONSE"];

const UNCONCERNED: &str =
    "the player does not look at tokens of matches and managers, and need not";

#[expect(clippy::too_many_lines, reason = "a table of rules")]
pub(super) fn topic() -> Topic {
    topic! { "trust" needs "HTTP-01":
        "TRUST-01" Should "ruling 25": "A referee with another token than the announced one is E012"
            => "compare `auth_token` with `match_token` of the ROUND_ANNOUNCEMENT",
            invited(after!(announced)).with("auth_token", FALSE_TOKEN), [LeagueError("E012")];
        "TRUST-02" Should "ruling 25": "A referee without a token is E011, if one was announced"
            => "ask for the token that was announced",
            invited(after!(announced)).without(&["auth_token"]), [LeagueError("E011")];
        "TRUST-03" Should[40] "ruling 25": "A choice is not told to a referee with another token"
            => "check the token before every choice",
            Ask::about(after!(announced_and_joined), choice).unless(Reply::is_taken, UNCONCERNED)
                .with("auth_token", FALSE_TOKEN), [LeagueError("E012")];
        "TRUST-04" Should "ruling 25": "The token of one match does not open another"
            => "keep one token for each match",
            invited(after!(two_announced)), [LeagueError("E012")];
        "TRUST-05" Should "ruling 45": "News from a manager with another token are E012"
            => "keep `manager_token` of the registration, and compare",
            news().unless(Reply::is_taken, UNCONCERNED).with("auth_token", FALSE_TOKEN),
            [LeagueError("E012")];
        "TRUST-06" Should "ruling 45": "News from a manager without its token are E011"
            => "keep `manager_token` of the registration, and ask for it",
            news().unless(Reply::is_taken, UNCONCERNED).without(&["auth_token"]),
            [LeagueError("E011")];
        "TRUST-07" Should "ruling 42": "News of another league are refused"
            => "compare `league_id` with your own",
            news().unless(Reply::is_taken, "the player does not look at `league_id`, and need not")
                .with("league_id", "another_league"), [LeagueError("E012")];
        "TRUST-08" Must[120] "000 §2.4.5": "A refusal does not show the player's token to a stranger"
            => "leave `auth_token` out of refusals", steps!(refuses_discreetly);
        "TRUST-09" Should "ruling 25": "A match that was announced with another token is not announced anew"
            => "keep the first announcement of a match", steps!(keeps_the_first_announcement);
        "TRUST-10" Must[70] "ruling 43": "A refused call leaves the match as it was"
            => "check a call before it changes anything",
            Ask::about(after!(disturbed), choice).patience(MOVE).due(CHOSEN), [By(is_legal)];
        "TRUST-11" Should[70] "ruling 25": "A higher attempt brings a new token, and is joined anew"
            => "take over `match_token` of an announcement with a higher `attempt`",
            anew(after!(renewed), invitation).due(JOINED), [equals("accept", true)];
        "TRUST-12" Should[70] "ruling 25": "The token of an earlier attempt is E012"
            => "forget the token of the earlier attempt",
            Ask::about(after!(renewed), invitation), [LeagueError("E012")];
        "TRUST-13" Should[70] "ruling 27": "A higher attempt gets a fresh nonce"
            => "forget the answers of the earlier attempt, and choose anew",
            anew(after!(renewed_and_joined), choice).patience(MOVE).due(CHOSEN),
            [By(is_legal),
             By(|it| hold!(*it.member("nonce") != it.fact("given")?["nonce"],
                 else "the nonce of the earlier attempt came again"))];
        "TRUST-14" Should[70] "ruling 34": "A player that was not called in an attempt says so"
            => "answer `was_called` with `called` false if no referee called since the announcement",
            Ask::about(after!(renewed), was_called).due(CALLED),
            [Repeats("match_id"), Repeats("attempt"), equals("called", false)];
        "TRUST-15" Should[70] "ruling 34": "A player that was called admits it"
            => "answer `was_called` with `called` true once an invitation came",
            Ask::about(after!(renewed_and_joined), was_called).due(CALLED),
            [Repeats("match_id"), Repeats("attempt"), equals("called", true)];
        "TRUST-16" Should[70] "ruling 27": "The proof of joining is that of this attempt"
            => "set `proof` of GAME_JOIN_ACK as docs/protocol.md says",
            anew(after!(renewed), invitation).due(JOINED), [By(|it| is_proved(it, None))];
        "TRUST-17" Should[70] "ruling 27": "The proof of a choice covers choice and nonce"
            => "set `proof` beside `parity_choice` as docs/protocol.md says",
            anew(after!(renewed_and_joined), choice).patience(MOVE).due(CHOSEN),
            [By(|it| is_proved(it, Some((it.text("parity_choice")?, str_of(it.member("nonce"))))))];
    }
}

/// An invitation in a situation that may provide another token for it.
fn invited(situation: Situation) -> Ask {
    let ask = Ask::new(situation, |stage, at| {
        let question = invitation(stage, &at.subject);
        match at.value.is_null() {
            true => question,
            false => question.with("auth_token", at.value.clone()),
        }
    });
    ask.unless(Reply::is_taken, UNCONCERNED)
}

fn news() -> Ask {
    Ask::about(after!(unannounced), announcement).registered()
}

/// Announces a match with the manager's token.
async fn announce(caller: &Caller) -> Result<String, Trouble> {
    caller.stage.admitted()?;
    let match_id = caller.stage.next_match();
    let reply = caller.call(&announcement(&caller.stage, &match_id)).await?;
    need!(!reply.is_refusal(), else "{UNCONCERNED}")?;
    Ok(match_id)
}

/// A situation: a match that was announced.
async fn announced(caller: &Caller) -> Result<Setting, Trouble> {
    announce(caller).await.map(Setting::about)
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

/// A call with the token of the second attempt.
fn anew(situation: Situation, question: fn(&Stage, &str) -> Question) -> Ask {
    Ask::about(situation, question).with("auth_token", SECOND_TOKEN)
}

/// A situation: a match that was played in a first attempt, and announced for a second one.
async fn renewed(caller: &Caller) -> Result<Setting, Trouble> {
    let stage = &caller.stage;
    let registered = stage.admitted()?.call;
    let meta = &registered.message()["player_meta"];
    need!(meta["proofs"] == true, else "the player signs nothing, which is an addition of this league")?;
    let Setting { subject, .. } = announced_and_joined(caller).await?;
    let value = choose(caller, &subject).await?;
    let mut again = announcement(stage, &subject);
    let row = &mut again.params["matches"][0];
    row["attempt"] = SECOND.into();
    row["match_token"] = SECOND_TOKEN.into();
    caller.call(&again).await?.taken()?;
    Ok(Setting {
        subject,
        value,
        keep: None,
    })
}

async fn renewed_and_joined(caller: &Caller) -> Result<Setting, Trouble> {
    let at = renewed(caller).await?;
    let invite = invitation(&caller.stage, &at.subject).with("auth_token", SECOND_TOKEN);
    caller.call(&invite).await?.of_kind(JOINED)?;
    Ok(at)
}

/// Asks whether a referee called the player in the second attempt at a match.
fn was_called(stage: &Stage, match_id: &str) -> Question {
    let body = json!({"match_id": match_id, "attempt": SECOND});
    super::news(stage, "was_called", "CALL_QUERY", body)
}

fn is_proved(record: &Record, choice: Option<(&str, &str)>) -> Judgement {
    let mut place = record.asked.clone();
    place["attempt"] = SECOND.into();
    let due = proof(&place, str_of(record.fact("return_token")?), choice);
    let told = record.text("proof")?;
    hold!(told == due, else "`proof` is `{told}` instead of `{due}`")
}

/// A situation: a match in which two calls were refused.
async fn disturbed(caller: &Caller) -> Result<Setting, Trouble> {
    let match_id = join(caller).await?;
    let broken = json!({"match_id": match_id, "deadline": 7});
    caller.call(&Question::new("choose_parity", broken)).await?;
    let wrong = choice(&caller.stage, &match_id).with("auth_token", FALSE_TOKEN);
    caller.call(&wrong).await?;
    Ok(Setting::about(match_id))
}

/// Calls that a player should refuse, each for another reason; some players accept some of them.
async fn unwelcome(stage: &Stage) -> Vec<Question> {
    let (known, unknown) = (stage.open_match().await, stage.next_match());
    let invite = || invitation(stage, &known);
    let elsewhere = announcement(stage, &known).with("league_id", "another_league");
    vec![
        invite().with("auth_token", FALSE_TOKEN),
        invite().with("match_id", Value::Null),
        invite().with("game_type", json!({"name": []})),
        choice(stage, &unknown),
        choice(stage, &known).with("player_id", "P77"),
        elsewhere.with("auth_token", FALSE_TOKEN),
        invite().with("timestamp", OTHER_OFFSET),
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
        0 => Err(Trouble::skipped("the player refuses nothing")),
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
    let by_second = invitation(stage, &match_id).with("auth_token", FALSE_TOKEN);
    let second = caller.call(&by_second).await?;
    let first = caller.call(&invitation(stage, &match_id)).await?;
    match (second.is_refusal(), first.is_refusal()) {
        (false, false) => Err(Trouble::skipped(UNCONCERNED)),
        (false, true) => Err(Trouble::broken(
            "the player goes by the second announcement of the match",
        )),
        (true, _) => first.of_kind(JOINED).map(drop),
    }
}
