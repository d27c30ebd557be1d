//! A rehearsal of faults: matches in which calls come late, twice, broken, out of order or from
//! strangers, and in which the player is killed. The plan follows from a number.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use league_games::Dice;
use league_protocol::token::hex;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use super::choice::{is_legal, seated};
use super::recovery::returned;
use super::{MOVE, OfPlayer, PlayerStage};
use crate::Kind;
use crate::act::{Act, fresh_id};
use crate::report::Rehearsed;
use crate::rule::{Level, Played, Trouble, hold};
use crate::stage::{Question, Stage};
use crate::verdict::{Finding, Judged, Verdict};
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

/// What goes wrong before a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The call comes in two pieces, with a pause between.
    Late,
    /// The call comes twice.
    Doubled,
    /// What should come later comes first.
    Reordered,
    /// The body is no JSON.
    Malformed,
    /// Somebody calls with another token.
    WrongToken,
    /// The call breaks off in its middle.
    CutOff,
    /// Somebody asks for another player.
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

/// What goes wrong in one match, before each of its three calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    /// Before the invitation.
    pub invitation: Vec<Fault>,
    /// Before the call for a choice.
    pub choice: Vec<Fault>,
    /// Before the end is told.
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

/// The plan that follows from a number.
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

/// Rehearses the plan of a number; gives what came of each match, and what was rehearsed.
///
/// A player that takes no part is told so, and nothing is rehearsed with it.
pub async fn rehearse(
    stage: &Arc<PlayerStage>,
    seed: u64,
    strict: bool,
) -> (Vec<Finding>, Rehearsed) {
    let plan = plan(seed);
    let told: Vec<String> = plan.iter().map(ToString::to_string).collect();
    let digest = hex(&Sha256::digest(told.join("\n")).into());
    let mut rehearsed = Rehearsed {
        seed,
        digest: digest[..DIGITS].to_owned(),
        absent: None,
    };
    let act = Act::new(Arc::clone(stage));
    if let Err((why, trouble)) = takes_part(&act).await {
        rehearsed.absent = Some(why);
        let title = "The player takes part".to_owned();
        let judged = judged(&act, 0, title, Err(trouble), Duration::ZERO, strict).await;
        return (vec![judged], rehearsed);
    }
    let mut findings = Vec::new();
    for (number, planned) in (1..).zip(&plan) {
        let act = Act::new(Arc::clone(stage));
        let began = Instant::now();
        let played = tokio::time::timeout(BOUND, played(&act, planned)).await;
        let played = played.unwrap_or_else(|_| Err(Trouble::broken("no end, so it was cut")));
        let (title, took) = (planned.to_string(), began.elapsed());
        findings.push(judged(&act, number, title, played, took, strict).await);
    }
    (findings, rehearsed)
}

/// Sees that there is somebody to rehearse with: a player of `league.v2` that registered and comes
/// to a match.
async fn takes_part(act: &OfPlayer) -> Result<(), (&'static str, Trouble)> {
    if act.stage.is_old() {
        let why = "faults are rehearsed in `league.v2` alone";
        return Err((why, Trouble::skipped(why, "")));
    }
    if act.stage.office.admission().is_none() {
        let why = "the player never registered with this manager";
        return Err((why, Trouble::broken(why)));
    }
    let why = "the player never joined a match that it was invited to";
    seated(act)
        .await
        .map(drop)
        .map_err(|trouble| (why, trouble))
}

/// What came of a match.
async fn judged(
    act: &OfPlayer,
    number: u32,
    title: String,
    played: Played,
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
    let judged = Judged {
        finding: Finding {
            topic: "rehearsal",
            id: format!("{}-ACT-{number:02}", Kind::Player.letter()),
            title: title.into(),
            clause: "000 §5.9, ruling 43",
            level: Level::Must,
            verdict: Verdict::Pass,
            found: String::new(),
            fix: String::new(),
            sent: String::new(),
            came: String::new(),
            took,
        },
        fix,
        kindness: false,
        played,
        last: act.last(),
        crashed: act.stage.revive().await,
        strict,
    };
    judged.verdict()
}

/// Plays one match with its faults; each call of the match itself must be answered rightly.
async fn played(act: &OfPlayer, planned: &Match) -> Played {
    let stage = &act.stage;
    let match_id = stage.open_match().await;
    let (invitation, choice) = (stage.invitation(&match_id), stage.choice(&match_id));
    for fault in &planned.invitation {
        commit(act, *fault, &invitation, &choice).await?;
    }
    let reply = act.call(&stage.invitation(&match_id)).await?;
    let message = reply.of_kind(&["GAME_JOIN_ACK"])?;
    hold(message["match_id"] == match_id.as_str(), || {
        format!(
            "the invitation to {match_id} is answered for {}",
            message["match_id"]
        )
    })?;
    let over = stage.game_over(&stage.next_match());
    for fault in &planned.choice {
        commit(act, *fault, &choice, &over).await?;
    }
    let reply = act.call_within(&stage.choice(&match_id), MOVE).await?;
    let message = reply.of_kind(&["CHOOSE_PARITY_RESPONSE"])?;
    hold(message["match_id"] == match_id.as_str(), || {
        format!(
            "the choice in {match_id} is answered for {}",
            message["match_id"]
        )
    })?;
    is_legal(&message["parity_choice"])?;
    for fault in &planned.end {
        commit(act, *fault, &choice, &invitation).await?;
    }
    let reply = act.call(&stage.game_over(&match_id)).await?;
    hold(!reply.is_refusal(), || {
        format!(
            "the end of {match_id} is answered with {}",
            reply.describe()
        )
    })
}

/// Lets something go wrong with a call; `later` is what should come after it.
async fn commit(act: &OfPlayer, fault: Fault, call: &Question, later: &Question) -> Played {
    // What is answered here does not matter: only what is answered afterwards does.
    match fault {
        Fault::Late => in_pieces(act, call, true).await,
        Fault::CutOff => in_pieces(act, call, false).await,
        Fault::Doubled => {
            let (one, other) = (act.call_within(call, MOVE), act.call_within(call, MOVE));
            let _ = tokio::join!(one, other);
        }
        Fault::Reordered => {
            let _ = act.call_within(later, MOVE).await;
        }
        Fault::Malformed => {
            let _ = act.post(b"{\"jsonrpc\": \"2.0\", \"method\": [").await;
        }
        Fault::WrongToken => {
            let mut call = call.clone();
            call.params["auth_token"] = "tok-false-fedcba9876543210".into();
            let _ = act.call_within(&call, MOVE).await;
        }
        Fault::Stranger => {
            let mut call = call.clone();
            call.params["player_id"] = "P77".into();
            let _ = act.call_within(&call, MOVE).await;
        }
        Fault::Restart => match returned(act).await {
            // Without `--launch` the match goes on without it.
            Ok(_) | Err(Trouble::Skipped { .. }) => {}
            Err(trouble) => return Err(trouble),
        },
    }
    Ok(())
}

/// Sends a call in two pieces, or only the first of them.
async fn in_pieces(act: &OfPlayer, call: &Question, whole: bool) {
    let body = act.frame(call, fresh_id()).to_string();
    let to = act.stage.agent();
    let request = Request {
        method: "POST",
        path: &to.path,
        headers: &act.headers(),
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
