//! Rules about whom a player believes. Match tokens and the manager's token are additions of this
//! league (rulings 25 and 45); a player that does not look at them breaks no rule of the documents.

use serde_json::{Value, json};

use super::{MOVE, OfPlayer, PlayerStage};
use crate::reply::Reply;
use crate::rule::{Played, Topic, Trouble, hold, rules};
use crate::stage::Question;
use crate::wire::Exchange;

/// The rules.
pub(super) fn topic() -> Topic<PlayerStage> {
    Topic {
        name: "trust",
        rules: rules! {
            "TRUST-01" Should "ruling 25": "A referee with another token than the announced one is E012"
                => "compare `auth_token` with `match_token` of the ROUND_ANNOUNCEMENT", wrong_token;
            "TRUST-02" Should "ruling 25": "A referee without a token is E011, if one was announced"
                => "ask for the token that was announced", no_token;
            "TRUST-03" Should "ruling 25": "A choice is not told to a referee with another token"
                => "check the token before every choice", no_choice, 40;
            "TRUST-04" Should "ruling 25": "The token of one match does not open another"
                => "keep one token for each match", crossed;
            "TRUST-05" Should "ruling 45": "News from a manager with another token are E012"
                => "keep `manager_token` of the registration, and compare", false_manager;
            "TRUST-06" Should "ruling 45": "News from a manager without its token are E011"
                => "keep `manager_token` of the registration, and ask for it", nameless_manager;
            "TRUST-07" Should "ruling 42": "News of another league are refused"
                => "compare `league_id` with your own", other_league;
            "TRUST-08" Must "000 §2.4.5": "A refusal does not show the player's token to a stranger"
                => "leave `auth_token` out of refusals", discreet, 120;
            "TRUST-09" Should "ruling 25": "A match that was announced with another token is not announced anew"
                => "keep the first announcement of a match", announced_anew;
            "TRUST-10" Must "ruling 43": "A refused call leaves the match as it was"
                => "check a call before it changes anything", unharmed, 70;
        },
    }
}

/// A match that was announced, by a manager that proved itself.
async fn announced(act: &OfPlayer) -> Result<String, Trouble> {
    act.stage.admitted()?;
    let match_id = act.stage.next_match();
    let reply = act.call(&act.stage.announcement(&match_id)).await?;
    if reply.is_refusal() {
        return Err(unconcerned());
    }
    Ok(match_id)
}

fn unconcerned() -> Trouble {
    Trouble::skipped(
        "the player does not look at tokens of matches and managers, and need not",
        "",
    )
}

/// Sees that a call is refused with a code; a player that takes it does not know such tokens.
fn refused(reply: &Reply, code: &str) -> Played {
    if !reply.is_refusal() {
        return Err(unconcerned());
    }
    hold(reply.league_error() == Some(code), || {
        format!("the refusal is {} instead of {code}", reply.describe())
    })
}

async fn with_token(
    act: &OfPlayer,
    mut question: Question,
    token: Option<&str>,
) -> Result<Reply, Trouble> {
    match token {
        Some(token) => question.params["auth_token"] = token.into(),
        None => {
            if let Some(message) = question.params.as_object_mut() {
                message.remove("auth_token");
            }
        }
    }
    act.call(&question).await
}

const FALSE: &str = "tok-false-fedcba9876543210";

async fn wrong_token(act: &OfPlayer) -> Played {
    let match_id = announced(act).await?;
    let question = act.stage.invitation(&match_id);
    refused(&with_token(act, question, Some(FALSE)).await?, "E012")
}

async fn no_token(act: &OfPlayer) -> Played {
    let match_id = announced(act).await?;
    let question = act.stage.invitation(&match_id);
    refused(&with_token(act, question, None).await?, "E011")
}

async fn no_choice(act: &OfPlayer) -> Played {
    let match_id = announced(act).await?;
    act.call(&act.stage.invitation(&match_id)).await?;
    let question = act.stage.choice(&match_id);
    refused(&with_token(act, question, Some(FALSE)).await?, "E012")
}

async fn crossed(act: &OfPlayer) -> Played {
    let (one, other) = (announced(act).await?, announced(act).await?);
    let token = PlayerStage::match_token(&other);
    let question = act.stage.invitation(&one);
    refused(&with_token(act, question, Some(&token)).await?, "E012")
}

async fn false_manager(act: &OfPlayer) -> Played {
    act.stage.admitted()?;
    let question = act.stage.announcement(&act.stage.next_match());
    refused(&with_token(act, question, Some(FALSE)).await?, "E012")
}

async fn nameless_manager(act: &OfPlayer) -> Played {
    act.stage.admitted()?;
    let question = act.stage.announcement(&act.stage.next_match());
    refused(&with_token(act, question, None).await?, "E011")
}

async fn other_league(act: &OfPlayer) -> Played {
    act.stage.admitted()?;
    let mut question = act.stage.announcement(&act.stage.next_match());
    question.params["league_id"] = "another_league".into();
    let reply = act.call(&question).await?;
    if !reply.is_refusal() {
        return Err(Trouble::skipped(
            "the player does not look at `league_id`, and need not",
            "",
        ));
    }
    refused(&reply, "E012")
}

/// Calls that are owed a refusal, each for another reason; some players take some of them.
async fn unwelcome(stage: &PlayerStage) -> Vec<Question> {
    let (known, unknown) = (stage.open_match().await, stage.next_match());
    let mut wrong_token = stage.invitation(&known);
    wrong_token.params["auth_token"] = FALSE.into();
    let mut no_match = stage.invitation(&known);
    no_match.params["match_id"] = Value::Null;
    let mut no_game = stage.invitation(&known);
    no_game.params["game_type"] = json!({"name": []});
    let mut other_player = stage.choice(&known);
    other_player.params["player_id"] = "P77".into();
    let mut other_league = stage.announcement(&known);
    other_league.params["league_id"] = "another_league".into();
    other_league.params["auth_token"] = FALSE.into();
    let mut offset = stage.invitation(&known);
    offset.params["timestamp"] = "2025-01-15T10:30:00+02:00".into();
    vec![
        wrong_token,
        no_match,
        no_game,
        stage.choice(&unknown),
        other_player,
        other_league,
        offset,
        Question::new("choose_parity", json!({"match_id": known, "deadline": 7})),
        Question::new("choose_parity", json!([])),
        Question::new("no_such_tool", json!({"match_id": known})),
    ]
}

async fn discreet(act: &OfPlayer) -> Played {
    let token = act.stage.admitted()?.token;
    let mut refusals = 0;
    for question in unwelcome(&act.stage).await {
        // Whoever says nothing tells nothing.
        let reply = act.call(&question).await.ok();
        if let Some(reply) = reply.filter(Reply::is_refusal) {
            refusals += 1;
            discreetly(&reply.exchange, &token)?;
        }
    }
    // A body that is no JSON is refused by whoever reads it at all.
    if act
        .post(b"{\"jsonrpc\": \"2.0\", \"method\": [")
        .await
        .is_ok()
    {
        refusals += 1;
        act.last()
            .map_or(Ok(()), |last| discreetly(&last, &token))?;
    }
    match refusals {
        0 => Err(Trouble::skipped("the player refuses nothing", "")),
        _ => Ok(()),
    }
}

/// Sees that a refusal does not hold a token, neither in its body nor in its head.
fn discreetly(exchange: &Exchange, token: &str) -> Played {
    let Ok(answer) = &exchange.came else {
        return Ok(());
    };
    let mut told = answer.headers.iter().map(|(_, value)| value.as_str());
    if told.any(|value| value.contains(token)) || answer.text().contains(token) {
        let found = "the refusal holds the player's own token";
        return Err(Trouble::broken(found).about(exchange));
    }
    Ok(())
}

async fn announced_anew(act: &OfPlayer) -> Played {
    let match_id = announced(act).await?;
    let mut question = act.stage.announcement(&match_id);
    question.params["matches"][0]["match_token"] = FALSE.into();
    // It may refuse that, or nod and keep to what it was told first.
    act.call(&question).await?;
    let second = with_token(act, act.stage.invitation(&match_id), Some(FALSE)).await?;
    let first = act.call(&act.stage.invitation(&match_id)).await?;
    match (second.is_refusal(), first.is_refusal()) {
        (false, false) => Err(unconcerned()),
        (false, true) => Err(Trouble::broken(
            "the player goes by the second announcement of the match",
        )),
        (true, _) => first.of_kind(&["GAME_JOIN_ACK"]).map(drop),
    }
}

async fn unharmed(act: &OfPlayer) -> Played {
    let match_id = super::choice::seated(act).await?;
    let broken = Question::new(
        "choose_parity",
        json!({"match_id": match_id, "deadline": 7}),
    );
    act.call(&broken).await?;
    with_token(act, act.stage.choice(&match_id), Some(FALSE)).await?;
    let reply = act.call_within(&act.stage.choice(&match_id), MOVE).await?;
    let message = reply.of_kind(&["CHOOSE_PARITY_RESPONSE"])?;
    super::choice::is_legal(&message["parity_choice"])
}
