//! Rules about how a match ends, as the players are told: GAME_OVER.

use std::sync::Arc;

use league_core::draw;
use league_protocol::id::{LeagueId, MatchId};
use league_protocol::message::OpenedDraw;
use league_protocol::secret::{Commitment, Seed};
use serde_json::Value;

use super::bout::{Bout, Plot};
use super::invitations::promised;
use super::{OfReferee, RefereeStage, overheard};
use crate::envelope;
use crate::listener::Heard;
use crate::rule::{Played, Topic, Trouble, hold, rules};

/// The rules.
pub(super) fn topic() -> Topic<RefereeStage> {
    Topic {
        name: "end of a match",
        rules: rules! {
            "OVER-01" Must "000 §4.6.1": "Both players are told how the match ended"
                => "send GAME_OVER to both players", both;
            "OVER-02" Must "000 §1.4, §5.3.3": "The end is told by a JSON-RPC call of notify_match_result"
                => "POST a call of `notify_match_result` to the address of the player", framed;
            "OVER-03" Must "000 §2.4.1": "The envelope of GAME_OVER is whole"
                => "set `protocol`, `timestamp`, `conversation_id`, and `sender` to referee:ID", enveloped;
            "OVER-04" Must "000 §4.6.1": "GAME_OVER names the match and the game"
                => "set `match_id` and `game_type`", names;
            "OVER-05" Must "000 §3.2": "The number drawn is a whole number from 1 to 10"
                => "draw from 1 to 10, and set `game_result.drawn_number`", number;
            "OVER-06" Must "000 §3.3.2": "The parity named is that of the number"
                => "set `game_result.number_parity` to even or odd by the number", parity;
            "OVER-07" Must "000 §4.6.1": "Both choices are told as they were made"
                => "set `game_result.choices` by player id", choices;
            "OVER-08" Must "000 §3.3.2": "Whoever guessed right has won"
                => "compare each choice with the parity of the number", winner;
            "OVER-09" Must "000 §3.3.2": "Two equal choices are a draw without a winner"
                => "set `status` to DRAW and `winner_player_id` to null", drawn;
            "OVER-10" Must "000 §4.6.1": "Both players are told the same"
                => "send the same `game_result` to both", same;
            "OVER-11" Must "000 §4.6.1": "A reason is given in words"
                => "set `game_result.reason`", reason;
            "OVER-12" Must "ruling 16": "A technical loss is told as TECHNICAL_LOSS, with its winner"
                => "set `status` to TECHNICAL_LOSS and name the opponent as the winner", technical, 40;
            "OVER-13" Should "ruling 27": "The draw is opened and follows from the seed and both nonces"
                => "derive the number as docs/protocol.md says, and open it in `game_result.draw`", opened;
            "OVER-14" Should "ruling 25": "GAME_OVER shows the token of the match"
                => "set `auth_token` to the player's `match_token` from the order", token;
            "OVER-15" Must "000 §4.6.1": "Each player is told the end once"
                => "do not repeat GAME_OVER once it was answered", once;
            "OVER-16" Should "ruling 19": "get_match_state says FINISHED and shows the result"
                => "keep the result of a match for those who ask", state;
            "OVER-17" Should "ruling 11": "get_match_state of an unknown match is E006"
                => "answer LEAGUE_ERROR E006 to a match that you do not have", unknown;
        },
    }
}

async fn each(
    act: &OfReferee,
    plot: Plot,
    look: impl Fn(&Bout, usize, &Heard, &Value) -> Played,
) -> Played {
    let bout = act.stage.bout(plot).await?;
    for seat in 0..2 {
        let heard = bout.told(seat, "GAME_OVER")?;
        overheard::note(act, &heard, "a player");
        let message = heard.message();
        look(&bout, seat, &heard, &message["game_result"])?;
    }
    Ok(())
}

async fn both(act: &OfReferee) -> Played {
    each(act, Plot::Decided, |_, _, _, _| Ok(())).await
}

async fn framed(act: &OfReferee) -> Played {
    each(act, Plot::Decided, |_, _, heard, _| {
        overheard::framed(heard, "notify_match_result")
    })
    .await
}

async fn enveloped(act: &OfReferee) -> Played {
    each(act, Plot::Decided, |_, _, heard, _| {
        overheard::enveloped(act, heard)
    })
    .await
}

async fn names(act: &OfReferee) -> Played {
    each(act, Plot::Decided, |bout, _, heard, _| {
        envelope::repeated(&bout.order, heard.message(), "match_id")?;
        envelope::repeated(&bout.order, heard.message(), "game_type")
    })
    .await
}

/// The number that was drawn.
pub(super) fn drawn_number(told: &Value) -> Result<u64, Trouble> {
    let number = &told["drawn_number"];
    let known = number.as_u64().filter(|number| (1..=10).contains(number));
    known.ok_or_else(|| Trouble::broken(format!("`drawn_number` is {number}")))
}

/// The word for a number.
pub(super) fn parity_of(number: u64) -> &'static str {
    if number.is_multiple_of(2) {
        "even"
    } else {
        "odd"
    }
}

async fn number(act: &OfReferee) -> Played {
    each(act, Plot::Decided, |_, _, _, result| {
        drawn_number(result).map(drop)
    })
    .await
}

async fn parity(act: &OfReferee) -> Played {
    each(act, Plot::Decided, |_, _, _, result| {
        let parity = parity_of(drawn_number(result)?);
        envelope::is(result, "number_parity", parity)
    })
    .await
}

async fn choices(act: &OfReferee) -> Played {
    each(act, Plot::Decided, |bout, _, _, result| {
        for seat in &bout.seats {
            envelope::is(&result["choices"], &seat.part.id, seat.part.choice)?;
        }
        Ok(())
    })
    .await
}

async fn winner(act: &OfReferee) -> Played {
    each(act, Plot::Decided, |bout, _, _, result| {
        let parity = parity_of(drawn_number(result)?);
        let right = bout.seats.iter().find(|seat| seat.part.choice == parity);
        let right = right.map(|seat| seat.part.id.as_str()).unwrap_or_default();
        envelope::is(result, "status", "WIN")?;
        envelope::is(result, "winner_player_id", right)
    })
    .await
}

async fn drawn(act: &OfReferee) -> Played {
    each(act, Plot::Drawn, |_, _, _, result| {
        envelope::is(result, "status", "DRAW")?;
        let winner = &result["winner_player_id"];
        if *winner == "DRAW" {
            return Err(Trouble::forgiven("the winner is the word DRAW, not null"));
        }
        hold(winner.is_null(), || format!("the winner is {winner}"))
    })
    .await
}

async fn same(act: &OfReferee) -> Played {
    for plot in [Plot::Decided, Plot::Drawn] {
        let bout = act.stage.bout(plot).await?;
        let first = bout.told(0, "GAME_OVER")?;
        let second = bout.told(1, "GAME_OVER")?;
        overheard::note(act, &second, "the second player");
        let [first, second] = [first, second].map(|heard| heard.message()["game_result"].clone());
        hold(first == second, || {
            format!("the first player was told {first}")
        })?;
    }
    Ok(())
}

async fn reason(act: &OfReferee) -> Played {
    each(act, Plot::Decided, |_, _, _, result| {
        let reason = envelope::text(result, "reason")?;
        hold(!reason.trim().is_empty(), || "`reason` is empty".to_owned())
    })
    .await
}

async fn technical(act: &OfReferee) -> Played {
    let bout = act.stage.bout(Plot::SlipAlways).await?;
    let heard = bout.told(1, "GAME_OVER")?;
    overheard::note(act, &heard, "the other player");
    let result = &heard.message()["game_result"];
    envelope::is(result, "status", "TECHNICAL_LOSS")?;
    envelope::is(result, "winner_player_id", &bout.seats[1].part.id)
}

async fn opened(act: &OfReferee) -> Played {
    each(act, Plot::Decided, |bout, _, _, result| {
        if result["draw"].is_null() {
            return Err(Trouble::skipped("the referee opens no draw", ""));
        }
        let nonces = bout.seats.each_ref().map(|seat| seat.part.nonce.clone());
        let told = &result["draw"]["nonces"];
        hold(*told == Value::from(nonces.to_vec()), || {
            format!("`draw.nonces` is {told} instead of what the players sent")
        })?;
        let league = &act.stage.office.league;
        envelope::is(
            &result["draw"],
            "commitment",
            &promised(league, bout).unwrap_or_default(),
        )?;
        envelope::is(&result["draw"], "seed", bout.seed())?;
        let due = due_number(league, bout, nonces);
        let number = drawn_number(result)?;
        hold(due == Some(number), || {
            format!("the number is {number}, but {due:?} follows from seed and nonces")
        })
    })
    .await
}

/// The number that follows from the seed and the nonces.
fn due_number(league: &str, bout: &Bout, nonces: [String; 2]) -> Option<u64> {
    let league = LeagueId::new(league).ok()?;
    let match_id = MatchId::new(&bout.match_id).ok()?;
    let draw = OpenedDraw {
        commitment: Commitment([0; 32]),
        seed: Seed::from_hex(bout.seed())?,
        attempt: 1,
        nonces,
    };
    Some(draw::dice(&league, &match_id, &draw).roll(1..=10))
}

async fn token(act: &OfReferee) -> Played {
    each(act, Plot::Decided, |bout, seat, heard, _| {
        let token = &heard.message()["auth_token"];
        hold(*token == *bout.seats[seat].part.match_token, || {
            "`auth_token` is not the token of the match".to_owned()
        })
    })
    .await
}

async fn once(act: &OfReferee) -> Played {
    let bout = act.stage.bout(Plot::Drawn).await?;
    for seat in &bout.seats {
        let count = seat.told("GAME_OVER").len();
        hold(count == 1, || {
            format!("{} was told {count} times", seat.part.id)
        })?;
    }
    Ok(())
}

async fn looked(act: &OfReferee, match_id: &str) -> Result<crate::reply::Reply, Trouble> {
    act.stage.takes_orders()?;
    let reply = act.call(&act.stage.look_at(match_id)).await?;
    if reply.rpc_error() == Some(-32_601) {
        return Err(Trouble::skipped("the referee has no `get_match_state`", ""));
    }
    Ok(reply)
}

async fn state(act: &OfReferee) -> Played {
    let bout: Arc<Bout> = act.stage.bout(Plot::Decided).await?;
    let reply = looked(act, &bout.match_id).await?;
    let seen = reply.needed()?;
    envelope::is(seen, "state", "FINISHED")?;
    hold(seen["result"].is_object(), || {
        format!("`result` is {}", seen["result"])
    })
}

async fn unknown(act: &OfReferee) -> Played {
    let reply = looked(act, "R99M99").await?;
    hold(reply.league_error() == Some("E006"), || {
        format!("the answer is {}", reply.describe())
    })
}
