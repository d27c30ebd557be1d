//! Fault injection: matches in which calls come late, twice, malformed, out of order or with wrong
//! identities, and in which the player is killed. The plan follows from a seed.

use std::fmt;

use league_games::Dice;
use league_protocol::token::hex;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use crate::player::{
    CHOSEN, FALSE_TOKEN, JOINED, MOVE, choice, game_over, invitation, legal, restarted_and_back,
};
use crate::prelude::*;
use crate::report::Rehearsal;
use crate::verdict::{Finding, RuleEnd};
use crate::wire::{HttpConnection, Request};

/// How many matches are rehearsed.
const MATCHES: usize = 20;
/// How long one match may take.
const BOUND: Duration = Duration::from_secs(90);
/// How long a slow call pauses in its middle.
const PAUSE: Duration = Duration::from_millis(200);
/// The most faults before one call.
const MAX_FAULTS: u64 = 2;
/// How many digits of the digest are shown.
const DIGITS: usize = 16;

/// A fault that is injected before a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The call comes in two pieces, with a pause between.
    Late,
    /// The call comes twice.
    Doubled,
    /// A later call comes first.
    Reordered,
    /// The body is not JSON.
    Malformed,
    /// A call comes with another token.
    WrongToken,
    /// The call breaks off in its middle.
    CutOff,
    /// A call is meant for another player.
    Stranger,
    /// The player is killed and started again.
    Restart,
}

/// All faults, with their names in the plan.
const FAULTS: [(Fault, &str); 8] = [
    (Fault::Late, "late"),
    (Fault::Doubled, "doubled"),
    (Fault::Reordered, "reordered"),
    (Fault::Malformed, "malformed"),
    (Fault::WrongToken, "wrong token"),
    (Fault::CutOff, "cut off"),
    (Fault::Stranger, "for another player"),
    (Fault::Restart, "restart"),
];

/// The faults of one match, before each of its calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultyMatch {
    pub invitation: Faults,
    pub choice: Faults,
    pub end: Faults,
}

type Faults = Vec<(Fault, &'static str)>;

impl fmt::Display for FaultyMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = [&self.invitation, &self.choice, &self.end];
        let calls = ["invitation", "choice", "end"].into_iter().zip(all);
        let faulty = calls.filter(|(_, faults)| !faults.is_empty());
        let told = faulty.map(|(call, faults)| {
            let names: Vec<&str> = faults.iter().map(|(_, name)| *name).collect();
            format!("{call}: {}", names.join(", "))
        });
        let told = told.collect::<Vec<String>>().join("; ");
        f.write_str(if told.is_empty() { "no fault" } else { &told })
    }
}

/// The plan that follows from a seed.
pub fn plan(seed: u64) -> Vec<FaultyMatch> {
    let mut dice = Dice::seeded(seed);
    let mut faults = || {
        let count = dice.roll(0..=MAX_FAULTS);
        let picked = (0..count).filter_map(|_| dice.pick(&FAULTS).copied());
        picked.collect()
    };
    let matches = (0..MATCHES).map(|_| FaultyMatch {
        invitation: faults(),
        choice: faults(),
        end: faults(),
    });
    matches.collect()
}

/// Plays the plan of a seed; returns the findings of all matches, and what was rehearsed.
///
/// If the player does not take part, the report says so and nothing is rehearsed.
pub async fn rehearse(stage: &Arc<Stage>, seed: u64, strict: bool) -> (Vec<Finding>, Rehearsal) {
    let plan = plan(seed);
    let told: Vec<String> = plan.iter().map(ToString::to_string).collect();
    let digest = hex(&Sha256::digest(told.join("\n")).into());
    let mut rehearsal = Rehearsal {
        seed,
        digest: digest[..DIGITS].to_owned(),
        absent: None,
    };
    let caller = Caller::new(Arc::clone(stage));
    if let Err((why, trouble)) = takes_part(&caller).await {
        rehearsal.absent = Some(why);
        let title = "The player takes part".to_owned();
        let judged = judged(&caller, 0, title, Err(trouble), Duration::ZERO, strict).await;
        return (vec![judged], rehearsal);
    }
    let mut findings = Vec::new();
    for (number, planned) in (1..).zip(&plan) {
        let caller = Caller::new(Arc::clone(stage));
        let began = Instant::now();
        let played = tokio::time::timeout(BOUND, played(&caller, planned)).await;
        let played = played.unwrap_or_else(|_| Err(Trouble::broken("no end, so it was cut")));
        let (title, took) = (planned.to_string(), began.elapsed());
        findings.push(judged(&caller, number, title, played, took, strict).await);
    }
    (findings, rehearsal)
}

/// Checks that the agent can take part: a registered player of `league.v2` that joins a match.
async fn takes_part(caller: &Caller) -> Result<(), (&'static str, Trouble)> {
    if caller.stage.is_v1() {
        let why = "faults are rehearsed in `league.v2` alone";
        return Err((why, Trouble::skipped(why)));
    }
    if caller.stage.admission().is_none() {
        let why = "the player never registered with this manager";
        return Err((why, Trouble::broken(why)));
    }
    let why = "the player never joined a match that it was invited to";
    let match_id = caller.stage.open_match().await;
    let reply = caller.call(&invitation(&caller.stage, &match_id)).await;
    let joined = reply.and_then(|reply| reply.of_kind(JOINED).map(drop));
    joined.map_err(|trouble| (why, trouble))
}

/// The finding for a match.
async fn judged(
    caller: &Caller,
    number: u32,
    title: String,
    played: Judgement,
    took: Duration,
    strict: bool,
) -> Finding {
    let fix = match number {
        0 => {
            "register when the player starts, after the check has begun, and answer invitations; \
             `--launch \"COMMAND\"` lets the check start the player"
        }
        _ => "check each call on its own, and change nothing over a call that is refused",
    };
    let id = format!("{}-ACT-{number:02}", caller.stage.kind.letter());
    let finding = Finding {
        clause: "000 §5.9, ruling 43",
        took,
        ..Finding::passed("rehearsal", id, title)
    };
    let ending = RuleEnd::of(caller, fix, strict).await;
    finding.judged(ending, played)
}

/// Plays one match with its faults; each regular call must be answered correctly.
async fn played(caller: &Caller, planned: &FaultyMatch) -> Judgement {
    let stage = &caller.stage;
    let match_id = stage.open_match().await;
    let (invite, ask) = (invitation(stage, &match_id), choice(stage, &match_id));
    commit(caller, &planned.invitation, &invite, &ask).await?;
    let reply = caller.call(&invitation(stage, &match_id)).await?;
    let named = &reply.of_kind(JOINED)?["match_id"];
    hold!(*named == *match_id, else "the invitation to {match_id} is answered for {named}")?;
    let over = game_over(stage, &stage.next_match());
    commit(caller, &planned.choice, &ask, &over).await?;
    let reply = caller.call_within(&choice(stage, &match_id), MOVE).await?;
    let message = reply.of_kind(CHOSEN)?;
    let named = &message["match_id"];
    hold!(*named == *match_id, else "the choice in {match_id} is answered for {named}")?;
    legal(&message["parity_choice"])?;
    commit(caller, &planned.end, &ask, &invite).await?;
    let reply = caller.call(&game_over(stage, &match_id)).await?;
    hold!(!reply.is_refusal(),
        else "the end of {match_id} is answered with {}", reply.describe())
}

/// Injects faults into a call; `later` is the call that should come after it.
async fn commit(
    caller: &Caller,
    faults: &[(Fault, &str)],
    call: &Question,
    later: &Question,
) -> Judgement {
    for (fault, _) in faults {
        inject(caller, *fault, call, later).await?;
    }
    Ok(())
}

/// Injects a fault into a call; `later` is the call that should come after it.
async fn inject(caller: &Caller, fault: Fault, call: &Question, later: &Question) -> Judgement {
    // The answers here do not matter: only the later answers do.
    match fault {
        Fault::Late => in_pieces(caller, call, true).await,
        Fault::CutOff => in_pieces(caller, call, false).await,
        Fault::Doubled => {
            let twice = || caller.call_within(call, MOVE);
            let _ = tokio::join!(twice(), twice());
        }
        Fault::Reordered => {
            let _ = caller.call_within(later, MOVE).await;
        }
        Fault::Malformed => {
            let _ = caller.post(b"{\"jsonrpc\": \"2.0\", \"method\": [").await;
        }
        Fault::WrongToken => {
            let wrong = call.clone().with("auth_token", FALSE_TOKEN);
            let _ = caller.call_within(&wrong, MOVE).await;
        }
        Fault::Stranger => {
            let wrong = call.clone().with("player_id", "P77");
            let _ = caller.call_within(&wrong, MOVE).await;
        }
        Fault::Restart => match restarted_and_back(caller).await {
            // Without `--launch` the match goes on without the restart.
            Ok(_) | Err(Trouble::Skipped { .. }) => {}
            Err(trouble) => return Err(trouble),
        },
    }
    Ok(())
}

/// Sends a call in two pieces, or only the first of them.
async fn in_pieces(caller: &Caller, call: &Question, whole: bool) {
    let (stage, to) = (&caller.stage, &caller.stage.agent);
    let body = stage.frame(call, fresh_id()).to_string();
    let headers = stage.headers(Some(call));
    let bytes = Request::post(to, &borrowed(&headers), body.as_bytes()).bytes(&to.authority);
    let (first, rest) = bytes.split_at(bytes.len() - body.len() / 2);
    let Ok(mut line) = HttpConnection::open(to).await else {
        return;
    };
    if line.send(first).await.is_ok() && whole {
        tokio::time::sleep(PAUSE).await;
        if line.send(rest).await.is_ok() {
            let _ = tokio::time::timeout(MOVE, line.answer(false)).await;
        }
    }
}
