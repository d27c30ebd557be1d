//! The page of one round, and what a player has still to play.

use league_core::league::Phase;
use league_core::league::schedule::Pairing;
use league_protocol::id::{MatchId, PlayerId};

use super::{Gallery, MOST_COMING, MOST_ROWS, Observed, ended};
use crate::model::{Coming, Course, Encounter, Named, RoundPage};

impl Gallery {
    /// The page of a round; `None` if the league has not begun or has no such round.
    pub fn round_page(&self, round: u32, observed: &Observed) -> Option<RoundPage> {
        if self.league.phase() == Phase::Registering {
            return None;
        }
        let schedule = self.league.schedule();
        schedule.pairing(round, 0)?;
        let all = schedule.matches_a_round();
        let pairings = (0..all).filter_map(|index| schedule.pairing(round, index));
        let encounters: Vec<Encounter> = pairings
            .take(MOST_ROWS)
            .filter_map(|pairing| self.encounter(pairing, observed))
            .collect();
        let rests = |player: &u32| schedule.pairing_of(*player, round).is_none();
        let resting = (0..schedule.players()).find(rests);
        Some(RoundPage {
            league: self.card(observed),
            verdict: observed.verdict.clone(),
            round,
            rounds: schedule.rounds(),
            unlisted: (all as usize).saturating_sub(encounters.len()),
            encounters,
            resting: resting.and_then(|player| self.seated(player)),
        })
    }

    fn encounter(&self, pairing: Pairing, observed: &Observed) -> Option<Encounter> {
        let match_id = MatchId::numbered(pairing.round, pairing.index + 1);
        let [a, b] = pairing.seats;
        let fixture = self.league.fixture(&match_id);
        let referee = fixture.and_then(|fixture| self.league.referee_of(fixture));
        let referee = match self.results.get(&match_id) {
            Some(finished) => finished.referee.clone(),
            None => referee.map(|referee| referee.id().clone()),
        };
        Some(Encounter {
            players: [self.seated(a)?, self.seated(b)?],
            referee,
            course: self.course(&match_id, pairing.round, observed),
            match_id,
        })
    }

    fn course(&self, match_id: &MatchId, round: u32, observed: &Observed) -> Course {
        if let Some(finished) = self.results.get(match_id) {
            let result = &finished.result;
            return Course::Over {
                ends: [ended(result, 0), ended(result, 1)],
                points: result.points,
                reason: result.reason.clone(),
                at: finished.at,
            };
        }
        let present = self.league.round().map_or(0, |round| round.number());
        match self.league.fixture(match_id) {
            Some(_) => Course::Open(self.state_of_match(match_id, observed)),
            None if round > present => Course::Planned,
            None => Course::Forgotten,
        }
    }

    /// The next matches of a player, and how many come after them.
    pub(super) fn coming(&self, id: &PlayerId, observed: &Observed) -> (Vec<Coming>, usize) {
        let mut players = self.league.players().iter();
        let place = players.position(|player| player.id() == id);
        let place = place.and_then(|place| u32::try_from(place).ok());
        let (Some(place), Phase::Running) = (place, self.league.phase()) else {
            return (Vec::new(), 0);
        };
        let schedule = self.league.schedule();
        let present = self.league.round().map_or(1, |round| round.number());
        let rounds = present..=schedule.rounds();
        let pairings = rounds.filter_map(|round| schedule.pairing_of(place, round));
        let mut open = pairings.filter_map(|pairing| self.next(place, pairing, observed));
        let next = open.by_ref().take(MOST_COMING).collect();
        (next, open.count())
    }

    fn next(&self, place: u32, pairing: Pairing, observed: &Observed) -> Option<Coming> {
        let match_id = MatchId::numbered(pairing.round, pairing.index + 1);
        let state = match self.course(&match_id, pairing.round, observed) {
            Course::Planned => None,
            Course::Open(state) => Some(state),
            Course::Over { .. } | Course::Forgotten => return None,
        };
        let opponent = pairing.seats.into_iter().find(|seat| *seat != place)?;
        Some(Coming {
            match_id,
            round: pairing.round,
            opponent: self.seated(opponent)?,
            state,
        })
    }

    /// The player at a place of the roster.
    fn seated(&self, place: u32) -> Option<Named> {
        let player = self.league.players().get(place as usize)?;
        Some(self.named(player.id()))
    }
}
