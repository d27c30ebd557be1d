//! Matches that people step: who may, and where.

use league_protocol::id::{MatchId, RefereeId};
use league_protocol::message::Mode;
use league_protocol::token::AuthToken;

use super::League;
use super::refusal::Refusal;
use super::round::Stage;

/// What it takes to step a match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reins {
    /// Which match.
    pub match_id: MatchId,
    /// Who runs it.
    pub referee_id: RefereeId,
    /// Where that referee answers.
    pub endpoint: String,
    /// What it wants to see with each step; it is good for this match alone.
    pub token: AuthToken,
}

impl League {
    /// What it takes to step a match that is played.
    ///
    /// Whoever is given it must be the administrator; that is for the caller to see to.
    ///
    /// # Errors
    ///
    /// There is no such match, it is not played now, or it needs nobody.
    pub fn reins(&self, match_id: &MatchId) -> Result<Reins, Refusal> {
        let unknown = || Refusal::UnknownMatch(match_id.clone());
        let fixture = self.fixture(match_id).ok_or_else(unknown)?;
        let plays_by_itself = || Refusal::PlaysByItself(match_id.clone());
        let token = self.step_token(match_id).ok_or_else(plays_by_itself)?;
        let referee = match fixture.stage {
            Stage::Running => self.referee_of(fixture).ok_or_else(unknown)?,
            Stage::Finished => return Err(Refusal::Over(match_id.clone())),
            _ => return Err(Refusal::NotStarted(match_id.clone())),
        };
        Ok(Reins {
            match_id: match_id.clone(),
            referee_id: referee.id.clone(),
            endpoint: referee.member.peer.endpoint.to_string(),
            token,
        })
    }

    /// The token by which people step a match, in a league whose matches are stepped.
    pub(super) fn step_token(&self, match_id: &MatchId) -> Option<AuthToken> {
        let token = || self.secret.step_token(&self.rules.league_id, match_id);
        (self.rules.mode == Mode::Manual).then(token)
    }
}
