//! The levers of the organiser: what each one is called, what it says to people, and why it may be
//! refused. `pull.rs` decides on them, `effect.rs` changes the state.

use std::fmt;
use std::time::Duration;

use league_protocol::fault::Code;
use league_protocol::id::{LeagueId, MatchId, PlayerId};
use league_protocol::sender::Agent;
use league_protocol::time::Timestamp;
use league_protocol::token::{AuthToken, TokenHash};
use league_protocol::tools::find_lever;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::format::Format;
use super::roster::ExitCause;
use super::standings::MatchEnding;

/// The longest reason and the longest message, in characters.
pub const MAX_LEVER_TEXT: usize = 500;
/// The most names of a roster.
pub const MAX_ROSTER: usize = 10_000;
/// The most seconds that one lever adds to a clock.
pub const MAX_EXTENSION: u32 = 24 * 60 * 60;
/// The longest address, in bytes.
pub(crate) const MAX_ENDPOINT: usize = 2_048;
/// How long an agent may register without proof after the organiser said so.
pub const READMISSION: Duration = Duration::from_secs(30 * 60);
/// The most matches that are played again.
pub(crate) const MAX_REPLAYS: usize = 10_000;

/// So many ids are named in a sentence; more are only counted.
const MAX_NAMED: usize = 20;

/// What the organiser may do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "lever")]
pub enum Lever {
    /// The league begins.
    Start,
    /// No match begins until the organiser goes on; matches that are played are finished.
    Pause,
    Resume,
    /// New players are admitted, until a time if one is given.
    OpenRegistration {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>,
    },
    CloseRegistration,
    /// So many players have a seat, and so many more wait for one.
    SetCapacity {
        players: u32,
        #[serde(default)]
        waiting: u32,
    },
    /// New players must show a code; with no code, they need none.
    SetJoinCode,
    /// Only players of these names are admitted; an empty list admits all.
    SetRoster {
        names: Vec<String>,
    },
    /// The referee at this address may register, also after the start.
    AdmitReferee {
        contact_endpoint: String,
    },
    /// Several players may answer at this address.
    ShareAddress {
        contact_endpoint: String,
    },
    /// An agent goes by another name.
    Rename {
        agent: Agent,
        name: String,
    },
    /// A player leaves: its results count, and it loses the matches that it does not play.
    Withdraw {
        player_id: PlayerId,
    },
    /// A player leaves as if it had never played: none of its matches counts.
    Remove {
        player_id: PlayerId,
    },
    /// A player is put out by a rule.
    Disqualify {
        player_id: PlayerId,
        played: PlayedMatches,
    },
    /// A player that is out takes part again.
    Reinstate {
        player_id: PlayerId,
    },
    /// A match does not count.
    Annul {
        match_id: MatchId,
    },
    /// A match is played again after the last round; its result does not count.
    Replay {
        match_id: MatchId,
    },
    /// A match counts as the organiser says; without a winner it is drawn, or lost by both.
    Rule {
        match_id: MatchId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        winner: Option<PlayerId>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        both_lose: bool,
    },
    /// The players of a match have more time for each answer.
    ExtendMatch {
        match_id: MatchId,
        seconds: u32,
    },
    /// A player has more time for each answer, in all its matches.
    ExtendPlayer {
        player_id: PlayerId,
        seconds: u32,
    },
    /// An agent gets a new return token; what it had proves nothing from now on.
    NewToken {
        agent: Agent,
    },
    /// An agent that lost its tokens may register once without them, within [`READMISSION`].
    Readmit {
        agent: Agent,
    },
    /// The page shows a message to all.
    Announce {
        text: String,
    },
    /// Names and ids are kept for the agents of an earlier league; a new league begins with it.
    TakeOver {
        from: LeagueId,
        seats: Vec<KeptSeat>,
    },
    /// The league ends now.
    End,
}

/// What is kept for an agent of an earlier league.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptSeat {
    pub agent: Agent,
    pub name: String,
    /// Whether the organiser gave the name, which the agent keeps whatever it calls itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_given_name: bool,
    /// The hashes of what proves the agent: its return token of that league, and its pledge.
    pub proofs: Vec<TokenHash>,
}

/// What happens to the results of a player that is put out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlayedMatches {
    /// They count, and the player loses the matches that it does not play.
    Kept,
    /// No match of the player counts.
    Annulled,
}

/// What follows from a lever, besides the lever itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Effect {
    /// The matches with a result that count in another way from now on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub matches: Vec<MatchId>,
    /// The match in which another one is played again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<MatchId>,
    /// The waiting players that get a seat.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seated: Vec<PlayerId>,
    /// The hash of the new token, or of the join code with the secret of the league.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<TokenHash>,
}

/// A lever as the organiser pulls it.
#[derive(Debug, Clone, PartialEq)]
pub struct LeverPull {
    /// Whether the caller is the league's administrator.
    pub admin: bool,
    pub lever: Lever,
    pub reason: String,
    /// The join code, for the lever that sets it.
    pub code: Option<AuthToken>,
}

/// How a match counts after the organiser amended it, by its place in the schedule.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Amendment {
    /// The result that was recorded.
    pub(crate) recorded: Option<MatchEnding>,
    pub(crate) ruled: Option<MatchEnding>,
    pub(crate) annulled: bool,
    /// The match in which it is played again.
    pub(crate) replay: Option<MatchId>,
}

/// Why a lever cannot be pulled.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LeverRefusal {
    #[error("there is no agent `{0}` in this league")]
    NoAgent(String),
    #[error("match `{0}` does not exist")]
    NoMatch(MatchId),
    #[error("match `{0}` is of a later round: wait until its round begins")]
    Later(MatchId),
    #[error("match `{match_id}` is played again as `{replay}`: name that match")]
    Replayed { match_id: MatchId, replay: MatchId },
    #[error("match `{0}` has no result: wait for it, or annul the match first")]
    NoResult(MatchId),
    #[error("match `{0}` does not count already")]
    Annulled(MatchId),
    #[error("match `{0}` is over: its clock does not run")]
    NoClock(MatchId),
    #[error("`{player_id}` does not play in match `{match_id}`")]
    NotSeated {
        match_id: MatchId,
        player_id: PlayerId,
    },
    #[error("give either a winner or a loss of both")]
    TwoEnds,
    #[error("the league has begun: this can be changed only before")]
    Begun,
    #[error(
        "the league has begun: this can be changed only before, because only {} takes players after its start",
        Format::late_ones()
    )]
    NoLateEntry,
    #[error("the last round has begun: no player that comes now would play")]
    LastRound,
    #[error("the league has not begun")]
    NotBegun,
    #[error("the league is over")]
    Over,
    #[error("the league is over: `disqualify` is the only way to put a player out now")]
    OnlyDisqualify,
    #[error("the league is paused: resume it first")]
    Paused,
    #[error("`{0}` is out of the league already")]
    Out(PlayerId),
    #[error("`{0}` is not out of the league")]
    NotOut(PlayerId),
    #[error("no seat is free: raise the capacity first")]
    Full,
    #[error("the name `{0}` is taken: choose another")]
    NameTaken(String),
    #[error(
        "`{holder}` answers at `{endpoint}` now: remove that player, or allow both with `share-address`"
    )]
    AddressTaken { holder: String, endpoint: String },
    #[error("`{0}` is not a name: give 1 to 64 visible characters")]
    Name(String),
    #[error("say why: this lever needs a reason")]
    ReasonMissing,
    #[error(
        "a reason and a message have at most {MAX_LEVER_TEXT} characters, none of which controls the terminal"
    )]
    Text,
    #[error("the message is empty")]
    NoText,
    #[error("a roster has at most {MAX_ROSTER} names")]
    LongRoster,
    #[error("a league has {min} to {max} seats, not {found}")]
    Capacity { min: u32, max: u32, found: u32 },
    #[error("{seated} players have a seat: remove players first, or give at least {seated} seats")]
    Seated { seated: u32 },
    #[error("a clock is extended by 1 to {MAX_EXTENSION} seconds, not {0}")]
    Seconds(u32),
    #[error("the address has more than {MAX_ENDPOINT} characters: give a shorter one")]
    LongEndpoint,
    #[error("registration would end at a time that is past")]
    Past,
    #[error("the most matches are played again already: set the result with a ruling")]
    ManyReplays,
    #[error("no match of a {0} is played again: set its result with a ruling, or annul it")]
    NoReplays(&'static str),
}

impl LeverRefusal {
    pub(crate) const fn code(&self) -> Code {
        match self {
            Self::NoAgent(_) => Code::PlayerNotRegistered,
            Self::NoMatch(_) => Code::MatchNotFound,
            Self::Later(_)
            | Self::Replayed { .. }
            | Self::NoResult(_)
            | Self::Annulled(_)
            | Self::NoClock(_)
            | Self::Begun
            | Self::NoLateEntry
            | Self::LastRound
            | Self::NotBegun
            | Self::Over
            | Self::OnlyDisqualify
            | Self::Paused
            | Self::Out(_)
            | Self::NotOut(_)
            | Self::AddressTaken { .. }
            | Self::Full
            | Self::Seated { .. }
            | Self::ManyReplays
            | Self::NoReplays(_) => Code::OutOfTurn,
            Self::NotSeated { .. }
            | Self::TwoEnds
            | Self::NameTaken(_)
            | Self::Name(_)
            | Self::ReasonMissing
            | Self::Text
            | Self::NoText
            | Self::LongRoster
            | Self::Capacity { .. }
            | Self::Seconds(_)
            | Self::LongEndpoint
            | Self::Past => Code::InvalidMessage,
        }
    }

    /// The argument that is wrong.
    pub(crate) const fn path(&self) -> Option<&'static str> {
        Some(match self {
            Self::NoAgent(_) => "agent",
            Self::NoMatch(_)
            | Self::Later(_)
            | Self::Replayed { .. }
            | Self::NoResult(_)
            | Self::Annulled(_)
            | Self::NoClock(_) => "match_id",
            Self::NotSeated { .. } | Self::TwoEnds => "winner",
            Self::Out(_) | Self::NotOut(_) | Self::AddressTaken { .. } => "player_id",
            Self::NameTaken(_) | Self::Name(_) => "name",
            Self::ReasonMissing => "reason",
            Self::NoText => "text",
            Self::LongRoster => "names",
            Self::Capacity { .. } | Self::Seated { .. } => "players",
            Self::Seconds(_) => "seconds",
            Self::LongEndpoint => "contact_endpoint",
            Self::Past => "until",
            Self::Begun
            | Self::NoLateEntry
            | Self::LastRound
            | Self::NotBegun
            | Self::Over
            | Self::OnlyDisqualify
            | Self::Paused
            | Self::Full
            | Self::Text
            | Self::ManyReplays
            | Self::NoReplays(_) => return None,
        })
    }
}

impl Lever {
    /// The name on the command line, in tools and in journals.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::OpenRegistration { .. } => "open_registration",
            Self::CloseRegistration => "close_registration",
            Self::SetCapacity { .. } => "set_capacity",
            Self::SetJoinCode => "set_join_code",
            Self::SetRoster { .. } => "set_roster",
            Self::AdmitReferee { .. } => "admit_referee",
            Self::ShareAddress { .. } => "share_address",
            Self::Rename { .. } => "rename",
            Self::Withdraw { .. } => "withdraw",
            Self::Remove { .. } => "remove",
            Self::Disqualify { .. } => "disqualify",
            Self::Reinstate { .. } => "reinstate",
            Self::Annul { .. } => "annul",
            Self::Replay { .. } => "replay",
            Self::Rule { .. } => "rule",
            Self::ExtendMatch { .. } => "extend_match",
            Self::ExtendPlayer { .. } => "extend_player",
            Self::NewToken { .. } => "new_token",
            Self::Readmit { .. } => "readmit",
            Self::Announce { .. } => "announce",
            Self::TakeOver { .. } => "take_over",
            Self::End => "end",
        }
    }

    /// Whether it takes something from a player, so that all should know why.
    pub(crate) fn needs_reason(&self) -> bool {
        find_lever(self.name()).is_some_and(|entry| entry.needs_reason)
    }

    /// The match that it names, if that counts in another way from now on.
    pub const fn changed_match(&self) -> Option<&MatchId> {
        match self {
            Self::Annul { match_id } | Self::Replay { match_id } | Self::Rule { match_id, .. } => {
                Some(match_id)
            }
            _ => None,
        }
    }

    /// The player that it puts out, by what cause, and whether its results count.
    pub const fn put_out(&self) -> Option<(&PlayerId, ExitCause, PlayedMatches)> {
        let (player_id, cause, played) = match self {
            Self::Withdraw { player_id } => (player_id, ExitCause::Withdrawn, PlayedMatches::Kept),
            Self::Remove { player_id } => (player_id, ExitCause::Removed, PlayedMatches::Annulled),
            Self::Disqualify { player_id, played } => (player_id, ExitCause::Disqualified, *played),
            _ => return None,
        };
        Some((player_id, cause, played))
    }

    /// What happened, what follows from it and why, as a line for people.
    pub fn line(&self, effect: &Effect, reason: &str) -> String {
        let sentence = self.sentence(effect);
        match reason {
            "" => sentence,
            reason => format!("{sentence}, because: {reason}"),
        }
    }

    /// What happened and what follows from it, in a sentence without its full stop.
    pub fn sentence(&self, effect: &Effect) -> String {
        match (self, effect.sentence()) {
            (Self::SetJoinCode, _) if effect.token.is_none() => {
                "new players need no join code".to_owned()
            }
            (_, follows) if follows.is_empty() => self.to_string(),
            (_, follows) => format!("{self} ({follows})"),
        }
    }
}

/// What happened, in a sentence without its full stop.
impl fmt::Display for Lever {
    #[expect(clippy::too_many_lines, reason = "one arm for each lever")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start => f.write_str("the organiser starts the league"),
            Self::Pause => f.write_str("the league is paused: no match begins"),
            Self::Resume => f.write_str("the league goes on"),
            Self::OpenRegistration { until: None } => f.write_str("registration is open"),
            Self::OpenRegistration { until: Some(until) } => {
                write!(f, "registration is open until {}", until.to_seconds_text())
            }
            Self::CloseRegistration => f.write_str("registration is closed"),
            Self::SetCapacity { players, waiting } => {
                write!(
                    f,
                    "the league has {players} seats, and places to wait: {waiting}"
                )
            }
            Self::SetJoinCode => f.write_str("new players must show a new join code"),
            Self::SetRoster { names } if names.is_empty() => {
                f.write_str("players of any name are admitted")
            }
            Self::SetRoster { names } => {
                write!(
                    f,
                    "only the {} names of the roster are admitted",
                    names.len()
                )
            }
            Self::AdmitReferee { contact_endpoint } => {
                write!(f, "the referee at {contact_endpoint} may register")
            }
            Self::ShareAddress { contact_endpoint } => {
                write!(f, "several players may answer at {contact_endpoint}")
            }
            Self::Rename { agent, name } => write!(f, "{} is called {name} now", id_of(agent)),
            Self::Withdraw { player_id } => {
                write!(
                    f,
                    "{player_id} withdraws: its results count, the rest is lost"
                )
            }
            Self::Remove { player_id } => {
                write!(f, "{player_id} is removed: none of its matches counts")
            }
            Self::Disqualify { player_id, played } => match played {
                PlayedMatches::Kept => {
                    write!(
                        f,
                        "{player_id} is disqualified: its results count, the rest is lost"
                    )
                }
                PlayedMatches::Annulled => {
                    write!(f, "{player_id} is disqualified: none of its matches counts")
                }
            },
            Self::Reinstate { player_id } => write!(f, "{player_id} takes part again"),
            Self::Annul { match_id } => write!(f, "{match_id} does not count"),
            Self::Replay { match_id } => write!(f, "{match_id} is played again"),
            Self::Rule {
                match_id,
                winner: Some(winner),
                ..
            } => write!(f, "{match_id} counts as won by {winner}"),
            Self::Rule {
                match_id,
                both_lose: true,
                ..
            } => write!(f, "{match_id} counts as lost by both"),
            Self::Rule { match_id, .. } => write!(f, "{match_id} counts as drawn"),
            Self::ExtendMatch { match_id, seconds } => {
                write!(
                    f,
                    "the players of {match_id} have {seconds} s more for each answer"
                )
            }
            Self::ExtendPlayer { player_id, seconds } => {
                write!(f, "{player_id} has {seconds} s more for each answer")
            }
            Self::NewToken { agent } => write!(f, "{} gets a new token", id_of(agent)),
            Self::Readmit { agent } => {
                let minutes = READMISSION.as_secs() / 60;
                write!(
                    f,
                    "{} may register once without its token, within {minutes} minutes",
                    id_of(agent)
                )
            }
            Self::Announce { text } => f.write_str(text),
            Self::TakeOver { from, seats } => {
                write!(
                    f,
                    "{} names of league {from} are kept for their agents",
                    seats.len()
                )
            }
            Self::End => f.write_str("the organiser ends the league"),
        }
    }
}

pub(crate) fn id_of(agent: &Agent) -> String {
    match agent {
        Agent::Player(id) => id.to_string(),
        Agent::Referee(id) => id.to_string(),
        Agent::Manager => agent.to_string(),
    }
}

impl Effect {
    /// What follows, in a few words; empty if the lever says it all.
    pub fn sentence(&self) -> String {
        let list = |items: Vec<&str>, kind: &str| match items.len() {
            0..=MAX_NAMED => items.join(", "),
            count => format!("{count} {kind}"),
        };
        let replay = self.replay.iter().map(|id| format!("as {id}"));
        let seated: Vec<&str> = self.seated.iter().map(PlayerId::as_str).collect();
        let seated = match seated.len() {
            0 => None,
            1 => Some(format!("{} gets a seat", seated[0])),
            _ => Some(format!("{} get a seat", list(seated, "players"))),
        };
        // A lever on one match names it already.
        let matches: Vec<&str> = self.matches.iter().map(MatchId::as_str).collect();
        let matches = (matches.len() > 1).then(|| format!("changes {}", list(matches, "matches")));
        let all: Vec<String> = replay.chain(seated).chain(matches).collect();
        all.join("; ")
    }
}

impl Amendment {
    /// How the match counts, if its players take part.
    pub(crate) fn ending(&self) -> Option<MatchEnding> {
        self.ruled.or(self.recorded).filter(|_| !self.annulled)
    }
}
