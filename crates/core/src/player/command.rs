//! What the world may bring to a player.

use std::sync::Arc;

use league_protocol::id::{MatchId, PlayerId};
use league_protocol::message::{
    GameError, GameInvitation, GameOver, GameStart, LeagueCompleted, LeagueStart, Message,
    MoveCall, PlayValidation, RegisterResponse, RoundAnnouncement, RoundCompleted, StandingsUpdate,
};
use league_protocol::token::TokenHash;
use serde_json::Value;

use super::Ticket;
use crate::letter::Outcome;

/// What the world may bring to a player.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// The process is up: get into the league, or come back to it.
    Begin,
    /// What became of a letter.
    Heard {
        /// Which letter.
        ticket: Ticket,
        /// The answer, or silence and its cause.
        outcome: Outcome,
    },
    /// The answer to a registration, brought as a call.
    Admitted {
        /// Whether the player is in.
        response: RegisterResponse<PlayerId>,
        /// Whether it came in the conversation of the player's own request, as the shell knows it.
        answers_us: bool,
    },
    /// A call that the shell made with the player's token was refused with E012.
    TokenRefused,
    /// A referee invites.
    Invited {
        /// To what.
        invitation: Box<GameInvitation>,
        /// The hash of the token that the referee showed.
        token: Option<TokenHash>,
    },
    /// A referee asks for a move.
    MoveWanted {
        /// Which move.
        call: Box<MoveCall>,
        /// The hash of the token that the referee showed.
        token: Option<TokenHash>,
    },
    /// The thinking that a [`Think`](super::Think) asked for is over, with or without a choice.
    Chosen {
        /// In which match.
        match_id: MatchId,
        /// Which move of this player it is, from 1.
        turn: u32,
        /// The choice; without one, or with an illegal one, the first legal option is played.
        choice: Option<Value>,
        /// The player's own share in the draw; one that is too long to take part is left out.
        nonce: Option<String>,
        /// Why, in a sentence for people; cut to a bound.
        reasoning: Option<String>,
    },
    /// Something happened that wants no answer but a nod.
    Told {
        /// What happened.
        news: News,
        /// The hash of the token that came with it.
        token: Option<TokenHash>,
    },
    /// Somebody asks how the player stands.
    StateWanted,
    /// The time that [`wakeup`](crate::machine::Machine::wakeup) named has come.
    Tick,
}

/// Something that happened and wants no answer but a nod.
#[derive(Debug, Clone, PartialEq)]
pub enum News {
    /// The league begins.
    LeagueStart(Box<LeagueStart>),
    /// A round begins.
    RoundAnnouncement(Arc<RoundAnnouncement>),
    /// The table, after a round.
    StandingsUpdate(Arc<StandingsUpdate>),
    /// A round is over.
    RoundCompleted(Arc<RoundCompleted>),
    /// The league is over.
    LeagueCompleted(Arc<LeagueCompleted>),
    /// Both players of a match are there.
    GameStart(Box<GameStart>),
    /// A move was looked at.
    PlayValidation(Box<PlayValidation>),
    /// Something went wrong in a match.
    GameError(Box<GameError>),
    /// A match is over.
    GameOver(Arc<GameOver>),
}

impl Command {
    /// Makes a command of a message that was sent to this player.
    ///
    /// `None` for a message that no player is sent, and for a ping, which the shell answers by
    /// itself. An answer to a registration is taken to be somebody else's until the shell, which
    /// knows conversations, says otherwise.
    pub fn from_message(message: Message, token: Option<TokenHash>) -> Option<Self> {
        let news = match message {
            Message::PlayerRegisterResponse(response) => {
                let answers_us = false;
                return Some(Self::Admitted {
                    response,
                    answers_us,
                });
            }
            Message::GameInvitation(invitation) => {
                return Some(Self::Invited { invitation, token });
            }
            Message::MoveCall(call) => return Some(Self::MoveWanted { call, token }),
            Message::LeagueStart(news) => News::LeagueStart(news),
            Message::RoundAnnouncement(news) => News::RoundAnnouncement(news),
            Message::StandingsUpdate(news) => News::StandingsUpdate(news),
            Message::RoundCompleted(news) => News::RoundCompleted(news),
            Message::LeagueCompleted(news) => News::LeagueCompleted(news),
            Message::GameStart(news) => News::GameStart(news),
            Message::PlayValidation(news) => News::PlayValidation(news),
            Message::GameError(news) => News::GameError(news),
            Message::GameOver(news) => News::GameOver(news),
            Message::RefereeRegisterRequest(_)
            | Message::RefereeRegisterResponse(_)
            | Message::PlayerRegisterRequest(_)
            | Message::StartMatch(_)
            | Message::StartMatchAck(_)
            | Message::GameJoinAck(_)
            | Message::MoveResponse(_)
            | Message::MatchResultReport(_)
            | Message::LeagueQuery(_)
            | Message::LeagueQueryResponse(_)
            | Message::LeagueError(_)
            | Message::Ping
            | Message::Acknowledged => return None,
        };
        Some(Self::Told { news, token })
    }
}
