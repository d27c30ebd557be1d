//! Rules about many matches at once, and about messages that ask too much of a reader.

use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::choice::{is_legal, seated};
use super::{JOIN, MOVE, OfPlayer, PlayerStage};
use crate::act::Act;
use crate::reply::Reply;
use crate::rule::{Played, Topic, Trouble, hold, rules};
use crate::stage::Question;

/// How many matches are played at once.
const AT_ONCE: usize = 5;
/// How many invitations come at once.
const CROWD: usize = 20;
/// How many matches are played in a row.
const IN_A_ROW: usize = 30;
/// How many characters a text has that nobody expects.
const HUGE: usize = 100_000;

/// The rules.
pub(super) fn topic() -> Topic<PlayerStage> {
    Topic {
        name: "crowds and oddities",
        rules: rules! {
            "CROWD-01" Must "000 §4.1.1": "Five matches at once are played to their end"
                => "keep the state of each match by its `match_id`", five, 70;
            "CROWD-02" Must "000 §4.12.1": "Answers of matches at once are not mixed up"
                => "answer each call from what it says itself", apart, 70;
            "CROWD-03" Should "000 §2.7": "Twenty invitations at once are answered within 5 seconds"
                => "serve calls side by side", invitations;
            "CROWD-04" Should "ruling 43": "The same call twice at once gets one choice"
                => "decide once for each match, under a lock", same_call, 70;
            "CROWD-05" Must "000 §2.7": "Thirty matches in a row are played without getting slower"
                => "do not let what you remember slow you down", in_a_row, 70;
            "CROWD-06" Must "000 §3.2": "Matches may overlap in any order"
                => "keep the state of each match by its `match_id`", overlapping, 70;
            "ODD-01" Must "ruling 13": "A text of 100,000 characters in an unknown member does no harm"
                => "ignore members that you do not know", huge_text;
            "ODD-02" Must "RFC 8259 §8.1": "Letters of all alphabets do no harm"
                => "read and write UTF-8 throughout", alphabets, 40;
            "ODD-03" Should "ruling 13": "Ids that are no ids are refused, and do no harm"
                => "check ids before you use them, most of all in file names", strange_ids;
            "ODD-04" Should "ruling 13": "Members of the wrong kind are refused, and do no harm"
                => "answer E002 to a member of the wrong kind", wrong_kinds;
            "ODD-05" Must "ruling 13": "An empty message does no harm"
                => "answer E003 or -32602 to a message without members", empty;
            "ODD-06" Should "RFC 8259 §6": "Numbers beyond all bounds do no harm"
                => "expect numbers that do not fit", numbers;
            "ODD-07" Should "RFC 8259 §7": "Half of a surrogate pair does no harm"
                => "expect texts that are not whole", surrogate;
        },
    }
}

/// Asks many things at once, each in an act of its own; the answers come in the order of questions.
async fn at_once(act: &OfPlayer, questions: Vec<Question>) -> Result<Vec<Reply>, Trouble> {
    let mut asked = JoinSet::new();
    for (number, question) in questions.into_iter().enumerate() {
        let own = Act::new(act.stage.clone());
        asked.spawn(async move { (number, own.call_within(&question, MOVE).await) });
    }
    let mut replies = asked.join_all().await;
    replies.sort_by_key(|(number, _)| *number);
    let replies: Result<Vec<Reply>, Trouble> =
        replies.into_iter().map(|(_, reply)| reply).collect();
    if let Some(last) = replies.as_ref().ok().and_then(|replies| replies.last()) {
        act.note(last.exchange.clone());
    }
    replies
}

async fn open_matches(act: &OfPlayer, count: usize) -> Vec<String> {
    let mut matches = Vec::new();
    for _ in 0..count {
        matches.push(act.stage.open_match().await);
    }
    matches
}

/// Plays matches side by side, and gives what was answered to the calls for a choice.
async fn side_by_side(act: &OfPlayer) -> Result<Vec<(String, Reply)>, Trouble> {
    let matches = open_matches(act, AT_ONCE).await;
    let stage = &act.stage;
    let invited = matches.iter().map(|id| stage.invitation(id)).collect();
    for reply in at_once(act, invited).await? {
        reply.of_kind(&["GAME_JOIN_ACK"])?;
    }
    let asked = matches.iter().map(|id| stage.choice(id)).collect();
    let replies = at_once(act, asked).await?;
    Ok(matches.into_iter().zip(replies).collect())
}

async fn five(act: &OfPlayer) -> Played {
    let chosen = side_by_side(act).await?;
    let stage = &act.stage;
    for (_, reply) in &chosen {
        is_legal(&reply.of_kind(&["CHOOSE_PARITY_RESPONSE"])?["parity_choice"])?;
    }
    let over = chosen.iter().map(|(id, _)| stage.game_over(id)).collect();
    for reply in at_once(act, over).await? {
        hold(!reply.is_refusal(), || {
            format!("an end is answered with {}", reply.describe())
        })?;
    }
    Ok(())
}

async fn apart(act: &OfPlayer) -> Played {
    for (match_id, reply) in side_by_side(act).await? {
        let message = reply.of_kind(&["CHOOSE_PARITY_RESPONSE"])?;
        let named = &message["match_id"];
        hold(*named == match_id.as_str(), || {
            format!("the answer for {match_id} is about {named}")
        })
        .map_err(|trouble| trouble.about(&reply.exchange))?;
        let conversation = message["conversation_id"].as_str();
        let own = format!("conv-{}-choose_parity", match_id.to_ascii_lowercase());
        let mixed = conversation.is_some_and(|named| named != own && named.starts_with("conv-r"));
        hold(!mixed, || {
            format!("the answer for {match_id} is in another conversation")
        })?;
    }
    Ok(())
}

async fn invitations(act: &OfPlayer) -> Played {
    let matches = open_matches(act, CROWD).await;
    let invited = matches.iter().map(|id| act.stage.invitation(id)).collect();
    for reply in at_once(act, invited).await? {
        reply.of_kind(&["GAME_JOIN_ACK"])?;
        let took = reply.exchange.took;
        hold(took <= JOIN, || {
            format!("an answer took {:.1} s", took.as_secs_f64())
        })?;
    }
    Ok(())
}

async fn same_call(act: &OfPlayer) -> Played {
    let match_id = seated(act).await?;
    let question = act.stage.choice(&match_id);
    let replies = at_once(act, vec![question; 6]).await?;
    let mut choices = Vec::new();
    for reply in &replies {
        choices.push(reply.of_kind(&["CHOOSE_PARITY_RESPONSE"])?["parity_choice"].clone());
    }
    let same = choices.windows(2).all(|pair| pair[0] == pair[1]);
    hold(same, || {
        format!("the choices are {}", Value::Array(choices))
    })
}

async fn in_a_row(act: &OfPlayer) -> Played {
    for _ in 0..IN_A_ROW {
        let match_id = seated(act).await?;
        let reply = act.call_within(&act.stage.choice(&match_id), MOVE).await?;
        reply.of_kind(&["CHOOSE_PARITY_RESPONSE"])?;
        act.call(&act.stage.game_over(&match_id)).await?;
    }
    let last = act
        .call(&act.stage.invitation(&act.stage.open_match().await))
        .await?;
    let took = last.exchange.took;
    hold(took <= JOIN, || {
        format!("then an answer took {:.1} s", took.as_secs_f64())
    })
}

async fn overlapping(act: &OfPlayer) -> Played {
    let (first, second) = (seated(act).await?, seated(act).await?);
    for match_id in [&second, &first] {
        let reply = act.call_within(&act.stage.choice(match_id), MOVE).await?;
        let message = reply.of_kind(&["CHOOSE_PARITY_RESPONSE"])?;
        hold(message["match_id"] == match_id.as_str(), || {
            format!("the answer for {match_id} is about {}", message["match_id"])
        })?;
    }
    act.call(&act.stage.game_over(&first)).await?;
    let reply = act.call_within(&act.stage.choice(&second), MOVE).await?;
    reply.of_kind(&["CHOOSE_PARITY_RESPONSE"]).map(drop)
}

async fn huge_text(act: &OfPlayer) -> Played {
    let match_id = act.stage.open_match().await;
    let mut question = act.stage.invitation(&match_id);
    question.params["x_story"] = "ÿ".repeat(HUGE / 2).into();
    let reply = act.call(&question).await;
    act.still_answers("a very long text").await?;
    reply.map(drop)
}

async fn alphabets(act: &OfPlayer) -> Played {
    let match_id = seated(act).await?;
    let mut question = act.stage.choice(&match_id);
    question.params["conversation_id"] = "conv-שלום-😀-\u{202e}x".into();
    let reply = act.call_within(&question, MOVE).await?;
    let message = reply.of_kind(&["CHOOSE_PARITY_RESPONSE"])?;
    match message.get("conversation_id") {
        Some(named) => hold(*named == question.params["conversation_id"], || {
            format!("the conversation came back as {named}")
        }),
        None => Ok(()),
    }
}

/// Sends an invitation with a member changed, and sees that no harm is done.
async fn survives(act: &OfPlayer, name: &str, value: Value) -> Played {
    let match_id = act.stage.open_match().await;
    let mut question = act.stage.invitation(&match_id);
    question.params[name] = value;
    act.call(&question).await?;
    act.still_answers(&format!("an odd `{name}`")).await
}

async fn strange_ids(act: &OfPlayer) -> Played {
    for id in ["../../etc/passwd", "", "R1M1\0", "a b", &"M".repeat(300)] {
        survives(act, "match_id", id.into()).await?;
    }
    Ok(())
}

async fn wrong_kinds(act: &OfPlayer) -> Played {
    for value in [
        json!(7),
        json!([1]),
        json!({"id": 1}),
        json!(true),
        Value::Null,
    ] {
        survives(act, "match_id", value.clone()).await?;
        survives(act, "opponent_id", value.clone()).await?;
        survives(act, "timestamp", value).await?;
    }
    Ok(())
}

async fn empty(act: &OfPlayer) -> Played {
    for tool in [
        "handle_game_invitation",
        "choose_parity",
        "notify_match_result",
    ] {
        act.call(&Question::new(tool, json!({}))).await?;
    }
    act.still_answers("an empty message").await
}

async fn numbers(act: &OfPlayer) -> Played {
    for number in [json!(-1), json!(u64::MAX), json!(1e300), json!(0.5)] {
        survives(act, "round_id", number).await?;
    }
    Ok(())
}

async fn surrogate(act: &OfPlayer) -> Played {
    let body =
        br#"{"jsonrpc":"2.0","id":1,"method":"choose_parity","params":{"match_id":"\ud800"}}"#;
    // Whatever it answers is as good as anything else, if only it lives.
    let _ = act.post(body).await;
    act.still_answers("half of a surrogate pair").await
}
