//! Why a player turns a command down.

use league_protocol::fault::Code;
use league_protocol::id::{LeagueId, MatchId, PlayerId};
use league_protocol::message::LeagueError;
use thiserror::Error;

/// Why a player turns a command down.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refusal {
    /// A call of the manager that does not prove the manager.
    #[error("only the league manager may tell that; show the manager's token")]
    NoManagerToken,
    /// A call that shows another token than the manager's.
    #[error("the token is not the one by which the league manager proves itself here")]
    WrongManagerToken,
    /// An answer to a registration that nobody waits for.
    #[error("no registration of this player waits for an answer that comes as a call")]
    NoRegistration,
    /// A match was announced with a token, and the caller shows none.
    #[error("match `{match_id}` wants its token; show the one that came with START_MATCH")]
    NoToken {
        /// Which match.
        match_id: MatchId,
    },
    /// The caller shows another token than the one that was announced.
    #[error("the token is not the one announced for match `{match_id}`")]
    WrongToken {
        /// Which match.
        match_id: MatchId,
    },
    /// A player that is strict, or knows its manager, was never told of this match.
    #[error("match `{match_id}` was not announced; try again after the round announcement")]
    NotAnnounced {
        /// Which match.
        match_id: MatchId,
    },
    /// A match is announced again with another token.
    #[error("match `{match_id}` was announced before with another token")]
    AnnouncedOtherwise {
        /// Which match.
        match_id: MatchId,
    },
    /// The message is meant for another player.
    #[error("this is player `{own}`, not `{named}`")]
    OtherPlayer {
        /// Who is here.
        own: PlayerId,
        /// Who was named.
        named: PlayerId,
    },
    /// The message belongs to another league.
    #[error("this player is in league `{own}`, not `{named}`")]
    OtherLeague {
        /// The player's league.
        own: LeagueId,
        /// The league that was named.
        named: LeagueId,
    },
    /// A move is wanted and no option offered.
    #[error("a move in match `{match_id}` is wanted but no option is offered; name at least one")]
    NothingToChoose {
        /// Which match.
        match_id: MatchId,
    },
    /// A choice that nobody waits for.
    #[error("no choice is wanted for move `{turn}` of match `{match_id}`")]
    NotAsked {
        /// Which match.
        match_id: MatchId,
        /// Which move.
        turn: u32,
    },
    /// The end of a match in which this player had no seat.
    #[error("player `{own}` had no seat in match `{match_id}`")]
    NotSeated {
        /// Who is here.
        own: PlayerId,
        /// Which match.
        match_id: MatchId,
    },
    /// The end of a match that was neither announced nor joined.
    #[error("match `{match_id}` was neither announced to this player nor joined by it")]
    NotPlayed {
        /// Which match.
        match_id: MatchId,
    },
    /// A win without a winner.
    #[error("match `{match_id}` is told as won, but by nobody; name the winner")]
    NoWinner {
        /// Which match.
        match_id: MatchId,
    },
}

impl Refusal {
    /// The refusal as it is told to the caller.
    pub fn to_league_error(&self) -> LeagueError {
        let (code, path) = match self {
            Self::NoToken { .. } | Self::NoManagerToken => (Code::TokenMissing, Some("auth_token")),
            Self::WrongManagerToken
            | Self::WrongToken { .. }
            | Self::NotAnnounced { .. }
            | Self::AnnouncedOtherwise { .. } => (Code::TokenInvalid, Some("auth_token")),
            Self::OtherPlayer { .. } => (Code::TokenInvalid, Some("player_id")),
            Self::OtherLeague { .. } => (Code::TokenInvalid, Some("league_id")),
            Self::NothingToChoose { .. } => (Code::InvalidMessage, Some("options")),
            Self::NotAsked { .. } | Self::NoRegistration => (Code::OutOfTurn, None),
            Self::NotSeated { .. } | Self::NotPlayed { .. } => {
                (Code::MatchNotFound, Some("match_id"))
            }
            Self::NoWinner { .. } => (Code::InvalidMessage, Some("game_result.winner_player_id")),
        };
        let mut error = LeagueError::new(code, self.to_string());
        error.path = path.map(str::to_owned);
        error
    }
}
