//! The page of one match.

use league_protocol::id::MatchId;

use super::board::{stage, state_of};
use super::players::round_of;
use super::{Gallery, Observed, Record};
use crate::model::{MatchPage, TileState};

impl Gallery {
    /// The page of a match; `None` if there is no such match yet.
    ///
    /// `record` is what its referee wrote of it, if that lies here.
    pub fn match_page(
        &self,
        id: &MatchId,
        record: Option<Record>,
        observed: &Observed,
    ) -> Option<MatchPage> {
        let finished = self.results.get(id);
        let fixture = self.league.fixture(id);
        let players = match (finished, fixture) {
            (Some(finished), _) => finished.result.players.clone(),
            (None, Some(fixture)) => self.league.seats_of(fixture)?.map(Clone::clone),
            (None, None) => return None,
        };
        let result = finished.map(|finished| finished.result.clone());
        let referee = match finished {
            Some(finished) => finished.referee.clone(),
            None => fixture
                .and_then(|fixture| self.league.referee_of(fixture))
                .map(|referee| referee.id().clone()),
        };
        let attempt = finished.map(|finished| finished.attempt);
        let mut record = record.unwrap_or_default();
        if result.is_none() {
            // Whatever the file says, nothing is told of a match before it is over.
            record.said.clear();
        }
        Some(MatchPage {
            league: self.card(observed),
            verdict: observed.verdict.clone(),
            match_id: id.clone(),
            round: round_of(id.as_str()),
            players: players.map(|player| self.named(&player)),
            referee,
            attempt: attempt
                .or(fixture.map(|fixture| fixture.attempt()))
                .unwrap_or(1),
            state: result.is_none().then(|| self.state_of_match(id, observed)),
            at: finished.map(|finished| finished.at),
            promise: self.promises.get(id).map(|promise| promise.to_hex()),
            range: self.range(),
            positions: result
                .as_deref()
                .map(|result| self.positions(result))
                .unwrap_or_default(),
            result,
            life: Some(record.life).filter(|life| life.created.is_some()),
            said: record.said,
        })
    }

    pub(super) fn state_of_match(&self, id: &MatchId, observed: &Observed) -> TileState {
        let known = self
            .league
            .fixture(id)
            .map_or(TileState::Waiting, |fixture| stage(fixture.stage()));
        match observed.states.get(id) {
            Some((state, _)) if known == TileState::Ordered => state_of(*state),
            _ => known,
        }
    }

    /// The numbers that can be drawn, in a game that draws one.
    fn range(&self) -> Option<(u64, u64)> {
        let rules = self.league.rules();
        let listing = league_games::find(rules.game_type.as_str())?;
        let usual = (listing.default_settings)();
        let setting = |name: &str| {
            let chosen = rules.game_settings.get(name);
            chosen.or_else(|| usual.get(name))?.as_u64()
        };
        Some((setting("lowest")?, setting("highest")?))
    }
}
