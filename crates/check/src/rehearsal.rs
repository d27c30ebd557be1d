//! Fault injection: matches in which calls come late, twice, malformed, out of order or with wrong
//! identities, and in which the player is killed. The plan follows from a seed.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use league_games::Dice;
use league_protocol::token::hex;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use crate::caller::{Caller, fresh_id};
use crate::player::{
    CHOSEN, FALSE_TOKEN, JOINED, MOVE, choice, game_over, invitation, join, legal,
    restarted_and_back,
};
use crate::report::Rehearsed;
use crate::rule::{Judgement, Level, Trouble, hold};
use crate::stage::{Question, Stage};
use crate::verdict::{Ending, Finding, Verdict};
use crate::wire::{Line, Request};

/// How many matches are rehearsed.
const MATCHES: usize = 20;
/// How long one match may take.
const BOUND: Duration = Duration::from_secs(90);
/// How long a slow call pauses in its middle.
const PAUSE: Duration = Duration::from_millis(200);
/// The most faults before one call.
const MOST_FAULTS: u64 = 2;
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

const FAULTS: [Fault; 8] = [
    Fault::Late,
    Fault::Doubled,
    Fault::Reordered,
    Fault::Malformed,
    Fault::WrongToken,
    Fault::CutOff,
    Fault::Stranger,
    Fault::Restart,
];

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Late => "late",
            Self::Doubled => "doubled",
            Self::Reordered => "reordered",
            Self::Malformed => "malformed",
            Self::WrongToken => "wrong token",
            Self::CutOff => "cut off",
            Self::Stranger => "for another player",
            Self::Restart => "restart",
        })
    }
}

/// The faults of one match, before each of its three calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    /// Before the invitation.
    pub invitation: Vec<Fault>,
    /// Before the call for a choice.
    pub choice: Vec<Fault>,
    /// Before the end of the match is announced.
    pub end: Vec<Fault>,
}

impl fmt::Display for Match {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let calls = [
            ("invitation", &self.invitation),
            ("choice", &self.choice),
            ("end", &self.end),
        ];
        let told = calls.iter().filter(|(_, faults)| !faults.is_empty());
        let told: Vec<String> = told
            .map(|(call, faults)| {
                let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
                format!("{call}: {}", faults.join(", "))
            })
            .collect();
        if told.is_empty() {
            return f.write_str("no fault");
        }
        f.write_str(&told.join("; "))
    }
}

/// The plan that follows from a seed.
pub fn plan(seed: u64) -> Vec<Match> {
    let mut dice = Dice::seeded(seed);
    let mut faults = || {
        let count = dice.roll(0..=MOST_FAULTS);
        let picked = (0..count).filter_map(|_| dice.pick(&FAULTS).copied());
        picked.collect::<Vec<Fault>>()
    };
    let matches = (0..MATCHES).map(|_| Match {
        invitation: faults(),
        choice: faults(),
        end: faults(),
    });
    matches.collect()
}

/// Plays the plan of a seed; returns the findings of all matches, and what was rehearsed.
///
/// If the player does not take part, the report says so and nothing is rehearsed.
pub async fn rehearse(stage: &Arc<Stage>, seed: u64, strict: bool) -> (Vec<Finding>, Rehearsed) {
    let plan = plan(seed);
    let told: Vec<String> = plan.iter().map(ToString::to_string).collect();
    let digest = hex(&Sha256::digest(told.join("\n")).into());
    let mut rehearsed = Rehearsed {
        seed,
        digest: digest[..DIGITS].to_owned(),
        absent: None,
    };
    let caller = Caller::new(Arc::clone(stage));
    if let Err((why, trouble)) = takes_part(&caller).await {
        rehearsed.absent = Some(why);
        let title = "The player takes part".to_owned();
        let judged = judged(&caller, 0, title, Err(trouble), Duration::ZERO, strict).await;
        return (vec![judged], rehearsed);
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
    (findings, rehearsed)
}

/// Checks that the agent can take part: a registered player of `league.v2` that joins a match.
async fn takes_part(caller: &Caller) -> Result<(), (&'static str, Trouble)> {
    if caller.stage.is_v1() {
        let why = "faults are rehearsed in `league.v2` alone";
        return Err((why, Trouble::skipped(why, "")));
    }
    if caller.stage.admission().is_none() {
        let why = "the player never registered with this manager";
        return Err((why, Trouble::broken(why)));
    }
    let why = "the player never joined a match that it was invited to";
    join(caller)
        .await
        .map(drop)
        .map_err(|trouble| (why, trouble))
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
    let finding = Finding {
        topic: "rehearsal",
        id: format!("{}-ACT-{number:02}", caller.stage.kind.letter()),
        title: title.into(),
        clause: "000 §5.9, ruling 43",
        level: Level::Must,
        verdict: Verdict::Pass,
        found: String::new(),
        fix: String::new(),
        sent: String::new(),
        came: String::new(),
        took,
    };
    let ending = Ending {
        fix,
        kindness: false,
        last: caller.last(),
        crashed: caller.stage.revive().await,
        strict,
    };
    finding.judged(ending, played)
}

/// Plays one match with its faults; each regular call must be answered correctly.
async fn played(caller: &Caller, planned: &Match) -> Judgement {
    let stage = &caller.stage;
    let match_id = stage.open_match().await;
    let (invite, ask) = (invitation(stage, &match_id), choice(stage, &match_id));
    for fault in &planned.invitation {
        commit(caller, *fault, &invite, &ask).await?;
    }
    let reply = caller.call(&invitation(stage, &match_id)).await?;
    let message = reply.of_kind(JOINED)?;
    hold(message["match_id"] == match_id.as_str(), || {
        format!(
            "the invitation to {match_id} is answered for {}",
            message["match_id"]
        )
    })?;
    let over = game_over(stage, &stage.next_match());
    for fault in &planned.choice {
        commit(caller, *fault, &ask, &over).await?;
    }
    let reply = caller.call_within(&choice(stage, &match_id), MOVE).await?;
    let message = reply.of_kind(CHOSEN)?;
    hold(message["match_id"] == match_id.as_str(), || {
        format!(
            "the choice in {match_id} is answered for {}",
            message["match_id"]
        )
    })?;
    legal(&message["parity_choice"])?;
    for fault in &planned.end {
        commit(caller, *fault, &ask, &invite).await?;
    }
    let reply = caller.call(&game_over(stage, &match_id)).await?;
    hold(!reply.is_refusal(), || {
        format!(
            "the end of {match_id} is answered with {}",
            reply.describe()
        )
    })
}

/// Injects a fault into a call; `later` is the call that should come after it.
async fn commit(caller: &Caller, fault: Fault, call: &Question, later: &Question) -> Judgement {
    // The answers here do not matter: only the later answers do.
    match fault {
        Fault::Late => in_pieces(caller, call, true).await,
        Fault::CutOff => in_pieces(caller, call, false).await,
        Fault::Doubled => {
            let (one, other) = (
                caller.call_within(call, MOVE),
                caller.call_within(call, MOVE),
            );
            let _ = tokio::join!(one, other);
        }
        Fault::Reordered => {
            let _ = caller.call_within(later, MOVE).await;
        }
        Fault::Malformed => {
            let _ = caller.post(b"{\"jsonrpc\": \"2.0\", \"method\": [").await;
        }
        Fault::WrongToken => {
            let mut call = call.clone();
            call.params["auth_token"] = FALSE_TOKEN.into();
            let _ = caller.call_within(&call, MOVE).await;
        }
        Fault::Stranger => {
            let mut call = call.clone();
            call.params["player_id"] = "P77".into();
            let _ = caller.call_within(&call, MOVE).await;
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
    let body = caller.frame(call, fresh_id()).to_string();
    let to = &caller.stage.agent;
    let request = Request {
        method: "POST",
        path: &to.path,
        headers: &caller.headers(),
        body: body.as_bytes(),
    };
    let bytes = request.bytes(&to.authority);
    let (first, rest) = bytes.split_at(bytes.len() - body.len() / 2);
    let Ok(mut line) = Line::open(to.address).await else {
        return;
    };
    if line.send(first).await.is_ok() && whole {
        tokio::time::sleep(PAUSE).await;
        if line.send(rest).await.is_ok() {
            let _ = tokio::time::timeout(MOVE, line.answer(false)).await;
        }
    }
}
