//! Rules about the beginning of the league and its schedule: ROUND_ANNOUNCEMENT.

use std::time::Duration;

use serde_json::Value;

use super::member::Member;
use super::season::announced_rows;
use super::{ManagerStage, OfManager};
use crate::envelope;
use crate::listener::Heard;
use crate::office::port;
use crate::overheard;
use crate::rule::{Played, Topic, Trouble, hold, rules};

/// Table 16 of 000: who meets whom when four play.
const FOUR: [(u64, [&str; 2]); 6] = [
    (1, ["P01", "P02"]),
    (1, ["P03", "P04"]),
    (2, ["P03", "P01"]),
    (2, ["P04", "P02"]),
    (3, ["P04", "P01"]),
    (3, ["P03", "P02"]),
];

/// The rules.
pub(super) fn topic() -> Topic<ManagerStage> {
    Topic {
        name: "rounds",
        rules: rules! {
            "RND-01" Must "000 §4.3.1": "When all are there the league begins: every player is told the first round"
                => "send ROUND_ANNOUNCEMENT to every player", begins, 30;
            "RND-02" Must "000 §1.4, §4.3.1": "The announcement is a JSON-RPC call of notify_round"
                => "POST a call of `notify_round` to the address of the player", framed, 30;
            "RND-03" Must "000 §2.4.1": "The envelope of the announcement is whole, from league_manager"
                => "set `protocol`, `sender`, `timestamp` and `conversation_id`", enveloped, 30;
            "RND-04" Must "000 §4.3.1": "The announcement names league and round"
                => "set `league_id`, and `round_id` to 1 for the first round", names, 30;
            "RND-05" Must "000 §4.3.1": "Each row names match, game, both players and the referee's address"
                => "set `match_id`, `game_type`, `player_A_id`, `player_B_id`, `referee_endpoint`", rows, 30;
            "RND-06" Should "000 §4.3.1": "Match k of round r is called RrMk"
                => "name matches R1M1, R1M2, …", match_ids, 30;
            "RND-07" Must "000 §4.3.1": "The address of the referee is that of a referee of the league"
                => "set `referee_endpoint` to the `contact_endpoint` of the referee", referees, 30;
            "RND-08" Must "000 §3.5.1": "Nobody plays twice in a round"
                => "pair the players by the circle method", once_a_round, 150;
            "RND-09" Should "000 §2.4.5, ruling 25": "A player sees the token of its own match, and of no other"
                => "put `match_token` into the receiver's own row alone", own_tokens, 30;
            "RND-10" Should "ruling 45": "The manager shows its own token, and nobody else's"
                => "set `auth_token` to the `manager_token` that you gave this agent", proof, 30;
            "RND-11" Must "000 §4.2.2": "Nobody is let in after the league has begun"
                => "answer `status` REJECTED once the league has begun", closed, 30;
            "RND-12" Must "000 §4.9.1": "GET_SCHEDULE tells the matches"
                => "answer GET_SCHEDULE with `success` true once there is a schedule", schedule, 30;
            "RND-13" Must "000 §4.9.1": "GET_NEXT_MATCH tells the match that was announced"
                => "answer GET_NEXT_MATCH with the next match of `query_params.player_id`", next_match, 30;
        },
    }
}

/// The first announcement of each player, noted as it is looked at.
async fn each(act: &OfManager, look: impl Fn(&Member, &Heard) -> Played) -> Played {
    let company = act.stage.begun().await?;
    for player in &company.players {
        let told = player.told("ROUND_ANNOUNCEMENT");
        let Some(first) = told.first() else {
            return Err(Trouble::broken(format!("{} was told nothing", player.id())));
        };
        overheard::note(act, first, "a player");
        look(player, first)?;
    }
    Ok(())
}

async fn begins(act: &OfManager) -> Played {
    each(act, |_, _| Ok(())).await
}

async fn framed(act: &OfManager) -> Played {
    each(act, |_, heard| overheard::framed(heard, "notify_round")).await
}

async fn enveloped(act: &OfManager) -> Played {
    each(act, |_, heard| {
        overheard::enveloped(heard, "league_manager")
    })
    .await
}

async fn names(act: &OfManager) -> Played {
    let league = act.stage.league().await?;
    each(act, |_, heard| {
        envelope::is(heard.message(), "league_id", &league)?;
        let round = &heard.message()["round_id"];
        hold(*round == 1, || format!("`round_id` is {round}"))
    })
    .await
}

/// Looks at each row of each first announcement.
async fn each_row(act: &OfManager, look: impl Fn(&Member, &Value) -> Played) -> Played {
    each(act, |player, heard| {
        let rows = heard.message()["matches"].as_array();
        let rows = rows.filter(|rows| !rows.is_empty());
        let rows = rows.ok_or_else(|| Trouble::broken("`matches` holds no row"))?;
        rows.iter().try_for_each(|row| look(player, row))
    })
    .await
}

async fn rows(act: &OfManager) -> Played {
    each_row(act, |_, row| {
        for name in [
            "match_id",
            "game_type",
            "player_A_id",
            "player_B_id",
            "referee_endpoint",
        ] {
            envelope::text(row, name)?;
        }
        Ok(())
    })
    .await
}

async fn match_ids(act: &OfManager) -> Played {
    each_row(act, |_, row| {
        let match_id = envelope::text(row, "match_id")?;
        let place = match_id.strip_prefix("R1M").map(str::parse::<u32>);
        hold(matches!(place, Some(Ok(1..))), || {
            format!("a match of round 1 is called `{match_id}`")
        })
    })
    .await
}

async fn referees(act: &OfManager) -> Played {
    let company = act.stage.begun().await?;
    each_row(act, |_, row| {
        let endpoint = envelope::text(row, "referee_endpoint")?;
        let known = |member: &Member| port(&member.endpoint) == port(endpoint);
        hold(company.referees.iter().any(known), || {
            format!("nobody of ours answers at `{endpoint}`")
        })
    })
    .await
}

/// The whole schedule as it was announced: round and both players.
fn announced(company: &super::Company) -> Vec<(u64, [String; 2])> {
    let rows = announced_rows(company).into_iter();
    let player = |row: &Value, name: &str| row[name].as_str().unwrap_or_default().to_owned();
    let pairs = rows.map(|(round, row)| {
        (
            round,
            [player(&row, "player_A_id"), player(&row, "player_B_id")],
        )
    });
    pairs.collect()
}

async fn once_a_round(act: &OfManager) -> Played {
    let company = act.stage.begun().await?;
    let mut seen = Vec::new();
    for (round, players) in announced(company) {
        for player in players {
            let busy = (round, player);
            hold(!seen.contains(&busy), || {
                format!("{} plays twice in round {}", busy.1, busy.0)
            })?;
            seen.push(busy);
        }
    }
    Ok(())
}

/// Sees that each pair meets once, in as few rounds as there can be; for the end of the league.
pub(super) async fn complete(act: &OfManager) -> Played {
    let company = act.stage.played().await?;
    let all = announced(company);
    let ids: Vec<_> = company.players.iter().map(Member::id).collect();
    for (place, first) in ids.iter().enumerate() {
        for second in &ids[place + 1..] {
            let meet =
                |pair: &&(u64, [String; 2])| pair.1.contains(first) && pair.1.contains(second);
            let count = all.iter().filter(meet).count();
            hold(count == 1, || {
                format!("{first} and {second} meet {count} times")
            })?;
        }
    }
    let rounds = all
        .iter()
        .map(|(round, _)| *round)
        .max()
        .unwrap_or_default();
    hold(rounds == act.stage.rounds() as u64, || {
        format!(
            "there are {rounds} rounds instead of {}",
            act.stage.rounds()
        )
    })
}

/// Sees that four players meet as table 16 of 000 says; for the end of the league.
pub(super) async fn table_16(act: &OfManager) -> Played {
    let company = act.stage.played().await?;
    let mut ids: Vec<_> = company.players.iter().map(Member::id).collect();
    ids.sort_unstable();
    if ids != ["P01", "P02", "P03", "P04"] {
        return Err(Trouble::skipped("not four players from P01 to P04", ""));
    }
    for (round, [first, second]) in announced(company) {
        let pair = [first.as_str(), second.as_str()];
        hold(FOUR.contains(&(round, pair)), || {
            format!("{first} meets {second} in round {round}")
        })?;
    }
    Ok(())
}

async fn own_tokens(act: &OfManager) -> Played {
    let mut any = false;
    let company = act.stage.begun().await?;
    for player in &company.players {
        for heard in player.told("ROUND_ANNOUNCEMENT") {
            for row in heard.message()["matches"].as_array().into_iter().flatten() {
                let id = player.id();
                let own = row["player_A_id"] == *id || row["player_B_id"] == *id;
                let shown = !row["match_token"].is_null();
                any |= shown;
                if shown && !own {
                    overheard::note(act, &heard, "a player");
                    return Err(Trouble::broken(format!(
                        "{id} sees the token of a match of others"
                    )));
                }
            }
        }
    }
    if any {
        return Ok(());
    }
    Err(Trouble::skipped(
        "the manager gives no tokens for matches",
        "",
    ))
}

async fn proof(act: &OfManager) -> Played {
    each(act, |player, heard| {
        let reply = player.answer();
        let given = reply
            .as_ref()
            .and_then(|reply| reply.member("manager_token"));
        let shown = &heard.message()["auth_token"];
        hold(*shown != *player.token(), || {
            "`auth_token` is the player's own token".to_owned()
        })?;
        // An agent that came back is not told the token again.
        hold(
            given.is_none_or(|given| given.is_null() || given == shown),
            || "`auth_token` is not the token that the manager gave at first".to_owned(),
        )
    })
    .await
}

async fn closed(act: &OfManager) -> Played {
    act.stage.begun().await?;
    let late = Member::open("Check Latecomer".to_owned(), false).await;
    let late = late.map_err(|error| Trouble::skipped(error.to_string(), ""))?;
    let reply = act.call(&late.request()).await?;
    let status = reply.member("status").cloned().unwrap_or_default();
    hold(reply.is_refusal() || status == "REJECTED", || {
        format!("`status` is {status}")
    })
}

async fn queried(act: &OfManager, kind: &str, about: Option<&str>) -> Result<Value, Trouble> {
    act.stage.begun().await?;
    let player = act.stage.player(0).await?;
    let league = act.stage.league().await?;
    let question = act.stage.query(player, &league, kind, about);
    let reply = act.call_within(&question, Duration::from_secs(10)).await?;
    let message = reply.of_kind(&["LEAGUE_QUERY_RESPONSE"])?;
    hold(message["success"] == true, || {
        format!("`success` is {}: {}", message["success"], message["error"])
    })?;
    Ok(message["data"].clone())
}

async fn schedule(act: &OfManager) -> Played {
    let told = queried(act, "GET_SCHEDULE", None).await?;
    hold(told.to_string().contains("R1M1"), || {
        "the first match is not in it".to_owned()
    })
}

async fn next_match(act: &OfManager) -> Played {
    let player = act.stage.player(0).await?.id();
    let told = queried(act, "GET_NEXT_MATCH", Some(&player)).await?;
    let next = &told["next_match"];
    envelope::text(next, "match_id")?;
    envelope::text(next, "opponent_id")?;
    let round = &next["round_id"];
    hold(*round == 1, || format!("`next_match.round_id` is {round}"))
}
