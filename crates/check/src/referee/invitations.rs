//! Rules about invitations: GAME_INVITATION, as both players get it.

use std::sync::Arc;

use league_core::draw::commitment;
use league_protocol::id::{LeagueId, MatchId};
use league_protocol::secret::Seed;
use serde_json::Value;

use super::bout::{Bout, Plot};
use super::{OfReferee, RefereeStage, overheard, round};
use crate::envelope;
use crate::listener::Heard;
use crate::rule::{Played, Topic, Trouble, hold, rules};

/// The rules.
pub(super) fn topic() -> Topic<RefereeStage> {
    Topic {
        name: "invitations",
        rules: rules! {
            "INV-01" Must "000 §4.4.1": "Both players are invited"
                => "send GAME_INVITATION to both players of the order", both, 30;
            "INV-02" Must "000 §1.4, §5.3.1": "An invitation is a JSON-RPC call of handle_game_invitation"
                => "POST a call of `handle_game_invitation` to the address of the player", framed;
            "INV-03" Must "000 §2.4.1": "The envelope of an invitation is whole"
                => "set `protocol`, `timestamp`, `conversation_id`, and `sender` to referee:ID", enveloped;
            "INV-04" Must "000 §4.4.1": "An invitation names league, round, match and game of the order"
                => "copy them from the order", names_match;
            "INV-05" Must "000 §4.4.1": "The first player is PLAYER_A, the second PLAYER_B"
                => "set `role_in_match` by the order of the players", roles;
            "INV-06" Must "000 §4.4.1": "An invitation names the opponent"
                => "set `opponent_id` to the id of the other player", opponents;
            "INV-07" Should "ruling 25": "The referee shows the player the token of the match"
                => "set `auth_token` to the player's `match_token` from the order", match_token;
            "INV-08" Must "ruling 25": "The referee never shows its own token to a player"
                => "keep the token of your registration between you and the manager", own_token;
            "INV-09" Must "ruling 27": "No player sees the seed before the end"
                => "leave `draw_seed` out of everything until GAME_OVER", hidden_seed;
            "INV-10" Must "ruling 25": "No player sees a token of the other one"
                => "never copy the rows of `players` into a message", others_tokens;
            "INV-11" Should "ruling 27": "The promise on the draw is the one of the seed"
                => "set `draw_commitment` to the SHA-256 of [\"league.draw\",league,match,seed]", promise;
            "INV-12" Must "000 §3.4.1": "Both players are invited without waiting for one of them"
                => "send both invitations at once", at_once, 50;
        },
    }
}

/// The match that all this is about.
async fn match_of(act: &OfReferee) -> Result<Arc<Bout>, Trouble> {
    act.stage.bout(Plot::Decided).await
}

/// The two invitations, noted one by one as they are looked at.
async fn each(act: &OfReferee, look: impl Fn(&Bout, usize, &Heard) -> Played) -> Played {
    let bout = match_of(act).await?;
    for seat in 0..2 {
        let heard = bout.told(seat, "GAME_INVITATION")?;
        overheard::note(act, &heard, "a player");
        look(&bout, seat, &heard)?;
    }
    Ok(())
}

async fn both(act: &OfReferee) -> Played {
    each(act, |_, _, _| Ok(())).await
}

async fn framed(act: &OfReferee) -> Played {
    each(act, |_, _, heard| {
        overheard::framed(heard, "handle_game_invitation")
    })
    .await
}

async fn enveloped(act: &OfReferee) -> Played {
    each(act, |_, _, heard| overheard::enveloped(act, heard)).await
}

async fn names_match(act: &OfReferee) -> Played {
    each(act, |bout, _, heard| {
        for name in ["match_id", "game_type", "league_id"] {
            envelope::repeated(&bout.order, heard.message(), name)?;
        }
        let named = &heard.message()["round_id"];
        hold(*named == round(&bout.match_id), || {
            format!("`round_id` is {named}")
        })
    })
    .await
}

async fn roles(act: &OfReferee) -> Played {
    each(act, |_, seat, heard| {
        let role = ["PLAYER_A", "PLAYER_B"][seat];
        envelope::is(heard.message(), "role_in_match", role)
    })
    .await
}

async fn opponents(act: &OfReferee) -> Played {
    each(act, |bout, seat, heard| {
        envelope::is(
            heard.message(),
            "opponent_id",
            &bout.seats[1 - seat].part.id,
        )
    })
    .await
}

async fn match_token(act: &OfReferee) -> Played {
    each(act, |bout, seat, heard| {
        let token = &heard.message()["auth_token"];
        hold(*token == *bout.seats[seat].part.match_token, || {
            "`auth_token` is not the token of the match".to_owned()
        })
    })
    .await
}

/// Sees that a text is in nothing that the players of a match were told, up to the end or at all.
async fn nowhere(act: &OfReferee, what: &str, also_after: bool, text: &str) -> Played {
    let bout = match_of(act).await?;
    for seat in &bout.seats {
        for heard in seat.all() {
            let over = heard.kind() == "GAME_OVER";
            if (over && !also_after) || !heard.text().contains(text) {
                continue;
            }
            overheard::note(act, &heard, "a player");
            let kind = heard.kind();
            return Err(Trouble::broken(format!("{what} is in a {kind}")));
        }
    }
    Ok(())
}

async fn own_token(act: &OfReferee) -> Played {
    let token = act.stage.admitted()?.token;
    nowhere(act, "the referee's own token", true, &token).await
}

async fn hidden_seed(act: &OfReferee) -> Played {
    let seed = match_of(act).await?.seed().to_owned();
    nowhere(act, "the seed", false, &seed).await
}

async fn others_tokens(act: &OfReferee) -> Played {
    let bout = match_of(act).await?;
    for seat in 0..2 {
        let other = &bout.seats[1 - seat].part;
        for heard in bout.seats[seat].all() {
            let text = heard.text();
            if text.contains(&other.match_token) || text.contains(&other.token) {
                overheard::note(act, &heard, "a player");
                return Err(Trouble::broken("a token of the opponent is in it"));
            }
        }
    }
    Ok(())
}

async fn promise(act: &OfReferee) -> Played {
    each(act, |bout, _, heard| {
        let named = &heard.message()["draw_commitment"];
        if named.is_null() {
            return Err(Trouble::skipped("the referee promises nothing", ""));
        }
        let wanted = promised(&act.stage.office.league, bout);
        hold(Some(named) == wanted.map(Value::from).as_ref(), || {
            "`draw_commitment` does not follow from the seed".to_owned()
        })
    })
    .await
}

/// The promise that follows from the seed of a match.
pub(super) fn promised(league: &str, bout: &Bout) -> Option<String> {
    let league = LeagueId::new(league).ok()?;
    let match_id = MatchId::new(&bout.match_id).ok()?;
    let seed = Seed::from_hex(bout.seed())?;
    Some(commitment(&league, &match_id, &seed).to_hex())
}

async fn at_once(act: &OfReferee) -> Played {
    let bout = act.stage.bout(Plot::Silent).await?;
    let silent = bout.told(0, "GAME_INVITATION")?.at;
    let other = bout.told(1, "GAME_INVITATION")?;
    overheard::note(act, &other, "a player");
    let later = other.at.saturating_duration_since(silent);
    hold(later.as_secs() < 2, || {
        format!(
            "the second player was invited {} s after the first",
            later.as_secs()
        )
    })
}
