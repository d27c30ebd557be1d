//! Rules about asking for choices: CHOOSE_PARITY_CALL, and that nobody sees the other's choice.

use std::sync::Arc;

use serde_json::Value;

use super::bout::{Bout, Plot};
use super::{MOVE, OfReferee, RefereeStage, overheard};
use crate::envelope;
use crate::listener::Heard;
use crate::rule::{Played, Topic, Trouble, hold, rules};
use crate::script::utc;

/// How far a deadline may be off, in milliseconds.
const DEADLINE_MAY_BE_OFF: i64 = 5_000;

/// The rules.
pub(super) fn topic() -> Topic<RefereeStage> {
    Topic {
        name: "choices",
        rules: rules! {
            "CHO-01" Must "000 §4.5.1": "Both players are asked for their choice"
                => "send CHOOSE_PARITY_CALL to both players once both have joined", both;
            "CHO-02" Must "000 §1.4, §5.3.2": "The question is a JSON-RPC call of choose_parity"
                => "POST a call of `choose_parity` to the address of the player", framed;
            "CHO-03" Must "000 §2.4.1": "The envelope of the question is whole"
                => "set `protocol`, `timestamp`, `conversation_id`, and `sender` to referee:ID", enveloped;
            "CHO-04" Must "000 §4.5.1": "The question names match, game and player"
                => "set `match_id`, `game_type`, and `player_id` to the one who is asked", names;
            "CHO-05" Must "000 §4.5.1, §2.4.2": "The question names a deadline in UTC"
                => "set `deadline` to a time such as 2025-01-15T10:30:30Z", deadline;
            "CHO-06" Should "000 §2.7": "The deadline is 30 seconds away"
                => "give a player 30 seconds for its choice", half_a_minute;
            "CHO-07" Must "000 §4.5.1": "The context names the opponent and the round"
                => "set `context.opponent_id` and `context.round_id`", context;
            "CHO-08" Should "000 §4.5.1": "The context holds the player's own record"
                => "copy `record` of the order into `context.your_standings`", record;
            "CHO-09" Must "000 §3.4.2": "Nobody is asked before both have joined"
                => "wait for both GAME_JOIN_ACK before the first CHOOSE_PARITY_CALL", after_joining;
            "CHO-10" Must "000 §3.3.1": "Both are asked at the same time"
                => "send both questions before waiting for an answer", at_once, 30;
            "CHO-11" Must "000 §3.3.1, ruling 18": "A player that is asked learns nothing of the other's choice"
                => "keep choices to yourself until both are in", blind, 30;
            "CHO-12" Should "ruling 18": "get_match_state shows no choice before the end"
                => "leave choices out of `get_match_state` while the match is played", unseen, 30;
            "CHO-13" Should "ruling 19": "get_match_state says COLLECTING_CHOICES meanwhile"
                => "set `state` to where the match stands", state, 30;
            "CHO-14" Should "ruling 25": "The question shows the token of the match"
                => "set `auth_token` to the player's `match_token` from the order", token;
            "CHO-15" Must "000 §5.3.2": "A player that has chosen is not asked again"
                => "keep the first legal choice of each player", once;
        },
    }
}

async fn each(act: &OfReferee, look: impl Fn(&Bout, usize, &Heard) -> Played) -> Played {
    let bout = act.stage.bout(Plot::Decided).await?;
    for seat in 0..2 {
        let heard = bout.told(seat, "CHOOSE_PARITY_CALL")?;
        overheard::note(act, &heard, "a player");
        look(&bout, seat, &heard)?;
    }
    Ok(())
}

async fn both(act: &OfReferee) -> Played {
    each(act, |_, _, _| Ok(())).await
}

async fn framed(act: &OfReferee) -> Played {
    each(act, |_, _, heard| overheard::framed(heard, "choose_parity")).await
}

async fn enveloped(act: &OfReferee) -> Played {
    each(act, |_, _, heard| overheard::enveloped(act, heard)).await
}

async fn names(act: &OfReferee) -> Played {
    each(act, |bout, seat, heard| {
        let message = heard.message();
        envelope::repeated(&bout.order, message, "match_id")?;
        envelope::repeated(&bout.order, message, "game_type")?;
        envelope::is(message, "player_id", &bout.seats[seat].part.id)
    })
    .await
}

async fn deadline(act: &OfReferee) -> Played {
    each(act, |_, _, heard| {
        envelope::time(heard.message(), "deadline", true)
    })
    .await
}

async fn half_a_minute(act: &OfReferee) -> Played {
    each(act, |_, _, heard| {
        let message = heard.message();
        let times = utc(message.get("timestamp")).and_then(|asked| {
            utc(message.get("deadline")).map(|until| until.as_millis() - asked.as_millis())
        });
        let Ok(ahead) = times else {
            return Err(Trouble::skipped("there is no deadline, see CHO-05", ""));
        };
        let wanted = i64::try_from(MOVE.as_millis()).unwrap_or(i64::MAX);
        hold((ahead - wanted).abs() <= DEADLINE_MAY_BE_OFF, || {
            format!("the deadline is {} s away", ahead / 1000)
        })
    })
    .await
}

async fn context(act: &OfReferee) -> Played {
    each(act, |bout, seat, heard| {
        let context = &heard.message()["context"];
        envelope::is(context, "opponent_id", &bout.seats[1 - seat].part.id)?;
        let round = &context["round_id"];
        hold(*round == super::round(&bout.match_id), || {
            format!("`context.round_id` is {round}")
        })
    })
    .await
}

async fn record(act: &OfReferee) -> Played {
    each(act, |bout, seat, heard| {
        let told = &heard.message()["context"]["your_standings"];
        let known = &bout.order["players"][seat]["record"];
        hold(told == known, || {
            format!("`context.your_standings` is {told} instead of {known}")
        })
    })
    .await
}

async fn after_joining(act: &OfReferee) -> Played {
    for plot in [Plot::Declined, Plot::BothDeclined] {
        let bout = act.stage.bout(plot).await?;
        for seat in &bout.seats {
            if let Some(heard) = seat.told("CHOOSE_PARITY_CALL").first() {
                overheard::note(act, heard, "a player");
                return Err(Trouble::broken(format!(
                    "{} was asked, though not both had joined",
                    seat.part.id
                )));
            }
        }
    }
    Ok(())
}

/// The match in which the first player takes its time.
async fn watched(act: &OfReferee) -> Result<Arc<Bout>, Trouble> {
    act.stage.bout(Plot::Watched).await
}

async fn at_once(act: &OfReferee) -> Played {
    let bout = watched(act).await?;
    let slow = bout.told(0, "CHOOSE_PARITY_CALL")?.at;
    let other = bout.told(1, "CHOOSE_PARITY_CALL")?;
    overheard::note(act, &other, "a player");
    let later = other.at.saturating_duration_since(slow).as_millis();
    hold(later < 1_000, || {
        format!("the second player was asked {later} ms after the first, who was still thinking")
    })
}

async fn blind(act: &OfReferee) -> Played {
    let bout = watched(act).await?;
    let quick = &bout.seats[1].part;
    for heard in bout.seats[0].all() {
        let message = heard.message();
        let shows = heard.text().contains(&quick.nonce)
            || message.get("opponent_choice").is_some()
            || message["context"].get("opponent_choice").is_some();
        if shows && heard.kind() != "GAME_OVER" {
            overheard::note(act, &heard, "a player");
            return Err(Trouble::broken("what the opponent answered is in it"));
        }
    }
    Ok(())
}

/// The looks at a match that was being played; a referee without the tool is left in peace.
async fn looks(act: &OfReferee, look: impl Fn(&Bout, &Value) -> Played) -> Played {
    let bout = watched(act).await?;
    let first = bout.looks.first();
    if first.is_none_or(|reply| reply.rpc_error() == Some(-32_601)) {
        return Err(Trouble::skipped("the referee has no `get_match_state`", ""));
    }
    for reply in &bout.looks {
        act.note(reply.exchange.clone());
        look(&bout, reply.needed()?)?;
    }
    Ok(())
}

async fn unseen(act: &OfReferee) -> Played {
    looks(act, |bout, seen| {
        let text = seen.to_string();
        let quick = &bout.seats[1].part;
        let shown = ["\"even\"", "\"odd\"", &*quick.nonce, bout.seed()];
        let shown = shown.into_iter().find(|secret| text.contains(secret));
        hold(shown.is_none(), || {
            "a choice, a nonce or the seed is in it".to_owned()
        })
    })
    .await
}

async fn state(act: &OfReferee) -> Played {
    looks(act, |_, seen| {
        envelope::is(seen, "state", "COLLECTING_CHOICES")
    })
    .await
}

async fn token(act: &OfReferee) -> Played {
    each(act, |bout, seat, heard| {
        let token = &heard.message()["auth_token"];
        hold(*token == *bout.seats[seat].part.match_token, || {
            "`auth_token` is not the token of the match".to_owned()
        })
    })
    .await
}

async fn once(act: &OfReferee) -> Played {
    for plot in [Plot::Decided, Plot::SlipOnce] {
        let bout = act.stage.bout(plot).await?;
        let fair = &bout.seats[1];
        let count = fair.told("CHOOSE_PARITY_CALL").len();
        hold(count == 1, || {
            format!("{} chose at once and was asked {count} times", fair.part.id)
        })?;
    }
    Ok(())
}
