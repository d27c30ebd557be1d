//! Rules about many matches at once, and about messages that are hard to read.

use super::{
    CHOSEN, JOIN, JOINED, MOVE, choice, choose, game_over, invitation, join, joined, legal, open,
};
use crate::prelude::*;

/// How many matches are played at once.
const AT_ONCE: usize = 5;
/// How many invitations come at once.
const CROWD: usize = 20;
/// How many matches are played in a row.
const IN_A_ROW: usize = 30;
/// How many characters a very long text has.
const LONG_TEXT: usize = 50_000;

pub(super) fn topic() -> Topic {
    topic! { "crowds and oddities" needs "HTTP-01":
        "CROWD-01" Must[70] "000 §4.1.1": "Five matches at once are played to their end"
            => "keep the state of each match by its `match_id`", steps!(plays_five);
        "CROWD-02" Must[70] "000 §4.12.1": "Answers of matches at once are not mixed up"
            => "answer each call from what it says itself", steps!(keeps_them_apart);
        "CROWD-03" Should "000 §2.7": "Twenty invitations at once are answered within 5 seconds"
            => "serve calls side by side", steps!(joins_twenty);
        "CROWD-04" Should[70] "ruling 43": "The same call twice at once gets one choice"
            => "decide once for each match, under a lock", steps!(decides_once);
        "CROWD-05" Must[70] "000 §2.7": "Thirty matches in a row are played without getting slower"
            => "do not let what you remember slow you down", steps!(plays_in_a_row);
        "CROWD-06" Must[70] "000 §3.2": "Matches may overlap in any order"
            => "keep the state of each match by its `match_id`", steps!(overlaps);
        "ODD-01" Must "ruling 13": "A text of 100,000 characters in an unknown member does no harm"
            => "ignore members that you do not know",
            Ask::about(after!(open), invitation)
                .changed(|call, _| call["x_story"] = "ÿ".repeat(LONG_TEXT).into())
                .survives("a very long text");
        "ODD-02" Must[40] "RFC 8259 §8.1": "Letters of all alphabets do no harm"
            => "read and write UTF-8 throughout",
            Ask::about(after!(joined), choice).patience(MOVE).due(CHOSEN)
                .with("conversation_id", "conv-שלום-😀-\u{202e}x"), [By(keeps_the_conversation)];
        "ODD-03" Should "ruling 13": "Invalid ids are refused, and do no harm"
            => "check ids before you use them, most of all in file names",
            steps!(survives_strange_ids);
        "ODD-04" Should "ruling 13": "Members of the wrong kind are refused, and do no harm"
            => "answer E002 to a member of the wrong kind", steps!(survives_wrong_types);
        "ODD-05" Must "ruling 13": "An empty message does no harm"
            => "answer E003 or -32602 to a message without members",
            steps!(survives_empty_messages);
        "ODD-06" Should "RFC 8259 §6": "Numbers beyond all bounds do no harm"
            => "expect numbers that do not fit", steps!(survives_numbers);
        "ODD-07" Should "RFC 8259 §7": "Half of a surrogate pair does no harm"
            => "expect texts that are not whole",
            Ask::ordinary()
                .bodies([Body::Raw(br#"{"jsonrpc":"2.0","id":1,"method":"choose_parity","params":{"match_id":"\ud800"}}"#)])
                .survives("half of a surrogate pair").may_be_silent();
    }
}

async fn open_matches(caller: &Caller, count: usize) -> Vec<String> {
    let mut matches = Vec::new();
    for _ in 0..count {
        matches.push(caller.stage.open_match().await);
    }
    matches
}

/// Plays matches side by side, and returns the answers to the calls for a choice.
async fn side_by_side(caller: &Caller) -> Result<Vec<(String, Reply)>, Trouble> {
    caller.stage.needs("JOIN-01")?;
    caller.stage.needs("PICK-01")?;
    let (matches, stage) = (open_matches(caller, AT_ONCE).await, &caller.stage);
    let invited = matches.iter().map(|id| invitation(stage, id)).collect();
    for reply in caller.call_at_once(invited, MOVE).await? {
        reply.of_kind(JOINED)?;
    }
    let asked = matches.iter().map(|id| choice(stage, id)).collect();
    let replies = caller.call_at_once(asked, MOVE).await?;
    Ok(matches.into_iter().zip(replies).collect())
}

async fn plays_five(caller: &Caller) -> Judgement {
    let (chosen, stage) = (side_by_side(caller).await?, &caller.stage);
    for (_, reply) in &chosen {
        legal(&reply.of_kind(CHOSEN)?["parity_choice"])?;
    }
    let over = chosen.iter().map(|(id, _)| game_over(stage, id)).collect();
    for reply in caller.call_at_once(over, MOVE).await? {
        hold!(!reply.is_refusal(), else "an end is answered with {}", reply.describe())?;
    }
    Ok(())
}

async fn keeps_them_apart(caller: &Caller) -> Judgement {
    for (match_id, reply) in side_by_side(caller).await? {
        caller.note(reply.trip.clone());
        let message = reply.of_kind(CHOSEN)?;
        is_about(message, &match_id)?;
        let conversation = message["conversation_id"].as_str();
        let own = format!("conv-{}-choose_parity", match_id.to_ascii_lowercase());
        let mixed = conversation.is_some_and(|named| named != own && named.starts_with("conv-r"));
        hold!(!mixed, else "the answer for {match_id} is in another conversation")?;
    }
    Ok(())
}

fn is_about(message: &Value, match_id: &str) -> Judgement {
    let named = &message["match_id"];
    hold!(named == match_id, else "the answer for {match_id} is about {named}")
}

async fn joins_twenty(caller: &Caller) -> Judgement {
    caller.stage.needs("JOIN-01")?;
    let matches = open_matches(caller, CROWD).await;
    let invited = matches.iter().map(|id| invitation(&caller.stage, id));
    for reply in caller.call_at_once(invited.collect(), MOVE).await? {
        reply.of_kind(JOINED)?;
        is_prompt(&reply)?;
    }
    Ok(())
}

fn is_prompt(reply: &Reply) -> Judgement {
    let took = reply.trip.took;
    hold!(took <= JOIN, else "an answer took {:.1} s", took.as_secs_f64())
}

async fn decides_once(caller: &Caller) -> Judgement {
    caller.stage.needs("PICK-01")?;
    let match_id = join(caller).await?;
    let question = choice(&caller.stage, &match_id);
    let replies = caller.call_at_once(vec![question; 6], MOVE).await?;
    let mut choices = Vec::new();
    for reply in &replies {
        choices.push(reply.of_kind(CHOSEN)?["parity_choice"].clone());
    }
    let same = choices.windows(2).all(|pair| pair[0] == pair[1]);
    hold!(same, else "the choices are {}", Value::Array(choices))
}

async fn plays_in_a_row(caller: &Caller) -> Judgement {
    let stage = &caller.stage;
    for _ in 0..IN_A_ROW {
        let match_id = join(caller).await?;
        choose(caller, &match_id).await?;
        caller.call(&game_over(stage, &match_id)).await?;
    }
    let last = invitation(stage, &stage.open_match().await);
    is_prompt(&caller.call(&last).await?)
}

async fn overlaps(caller: &Caller) -> Judgement {
    let (first, second, stage) = (join(caller).await?, join(caller).await?, &caller.stage);
    for match_id in [&second, &first] {
        is_about(&choose(caller, match_id).await?, match_id)?;
    }
    caller.call(&game_over(stage, &first)).await?;
    choose(caller, &second).await.map(drop)
}

fn keeps_the_conversation(record: &Record) -> Judgement {
    let named = record.member("conversation_id");
    let kept = named.is_null() || *named == record.asked["conversation_id"];
    hold!(kept, else "the conversation came back as {named}")
}

/// Sends an invitation with a changed member, and checks that the player survives.
async fn survives(caller: &Caller, name: &str, value: Value) -> Judgement {
    let match_id = caller.stage.open_match().await;
    let odd = invitation(&caller.stage, &match_id).with(name, value);
    caller.call(&odd).await?;
    caller.still_answers(&format!("an odd `{name}`")).await
}

async fn survives_strange_ids(caller: &Caller) -> Judgement {
    for id in ["../../etc/passwd", "", "R1M1\0", "a b", &"M".repeat(300)] {
        survives(caller, "match_id", id.into()).await?;
    }
    Ok(())
}

async fn survives_wrong_types(caller: &Caller) -> Judgement {
    for value in [
        json!(7),
        json!([1]),
        json!({"id": 1}),
        json!(true),
        json!(null),
    ] {
        for name in ["match_id", "opponent_id", "timestamp"] {
            survives(caller, name, value.clone()).await?;
        }
    }
    Ok(())
}

async fn survives_empty_messages(caller: &Caller) -> Judgement {
    for tool in "handle_game_invitation choose_parity notify_match_result".split(' ') {
        caller.call(&Question::new(tool, json!({}))).await?;
    }
    caller.still_answers("an empty message").await
}

async fn survives_numbers(caller: &Caller) -> Judgement {
    for number in [json!(-1), json!(u64::MAX), json!(1e300), json!(0.5)] {
        survives(caller, "round_id", number).await?;
    }
    Ok(())
}
