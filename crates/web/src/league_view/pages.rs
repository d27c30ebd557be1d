//! Fills in the pages of a match, a player and a round.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use league_core::draw;
use league_core::judge::follow;
use league_core::league::schedule::Pairing;
use league_core::league::{CountedResult, Phase, PlayerEntry};
use league_core::referee::SpectatorView;
use league_games::{Picture, PictureCell, Table, Tone};
use league_protocol::fault::Code;
use league_protocol::id::{MatchId, PlayerId};
use league_protocol::message::MatchResult;
use serde_json::Value;

use super::{
    LeagueObservations, LeagueView, MAX_PLAYED, MAX_ROWS, MAX_UPCOMING, RefereeRecord,
    deviation_totals, outcome, round_of, tile_state,
};
use crate::model::{
    DrawnPosition, FailureCount, MatchPage, PlayedMatch, PlayerPage, PlayerRef, RoundMatch,
    RoundMatchState, RoundPage, TileState, UpcomingMatch,
};

/// Kinds of choices that are counted on the page of a player.
const MAX_CHOICES: usize = 20;
/// The length of a choice on a page, in characters.
const MAX_CHOICE_CHARS: usize = 60;
/// Positions of a game that are drawn.
const MAX_POSITIONS: usize = 1_000;

impl LeagueView {
    /// The page of a match; `None` if there is no such match yet.
    ///
    /// `record` is what the referee recorded, if that is in this folder.
    pub fn match_page(
        &self,
        id: &MatchId,
        record: Option<RefereeRecord>,
        observed: &LeagueObservations,
    ) -> Option<MatchPage> {
        let ended = self.ended_matches.get(id);
        let fixture = self.league.fixture(id);
        let players = match ended {
            Some(ended) => ended.players.clone(),
            None => self.league.seats_of(fixture?)?.map(Clone::clone),
        };
        let result = ended.and_then(|ended| ended.result.clone());
        let record = record.unwrap_or_default();
        let game = league_games::find(self.league.rules().game_type.as_str());
        Some(MatchPage {
            league: self.summary(observed),
            match_id: id.clone(),
            round: round_of(id),
            players: players.map(|player| self.player_ref(&player)),
            referee: match ended {
                Some(ended) => ended.referee.clone(),
                None => self.referee_of(fixture),
            },
            attempt: match (ended, fixture) {
                (Some(ended), _) => ended.attempt,
                (None, fixture) => fixture.map_or(1, |fixture| fixture.attempt()),
            },
            state: ended.is_none().then(|| self.match_state(id, observed)),
            counted: ended.map(|_| self.counted(id)),
            note: ended.and_then(|_| self.league.counted_result(id).note()),
            at: ended.map(|ended| ended.at),
            promise: self.promises.get(id).map(|promise| promise.to_hex()),
            range: self.range(),
            hidden_moves: game.is_some_and(|game| game.rules.hidden_moves),
            simultaneous: game.is_some_and(|game| game.rules.simultaneous),
            live: fixture.and_then(|fixture| self.live(fixture, observed)),
            contradicted: observed.contradicted.contains(id),
            positions: result
                .as_deref()
                .map(|result| self.positions(id, result))
                .unwrap_or_default(),
            times: Some(record.times).filter(|times| times.created.is_some()),
            // Messages stay private until the match is over, whatever the file holds.
            messages: if result.is_some() {
                record.messages
            } else {
                Vec::new()
            },
            result,
            model_notes: Vec::new(),
        })
    }

    fn match_state(&self, id: &MatchId, observed: &LeagueObservations) -> TileState {
        if self.league.is_over() {
            return TileState::Dropped;
        }
        let recorded = observed.states.get(id).map(|(state, _)| *state);
        tile_state(self.league.fixture(id), recorded)
    }

    /// The numbers that can be drawn, in a game that draws one.
    fn range(&self) -> Option<(u64, u64)> {
        let rules = self.league.rules();
        let listing = league_games::find(rules.game_type.as_str())?;
        let defaults = (listing.default_settings)();
        let setting = |name: &str| {
            let chosen = rules.game_settings.get(name);
            chosen.or_else(|| defaults.get(name))?.as_u64()
        };
        Some((setting("lowest")?, setting("highest")?))
    }

    /// Whether a position that the referee showed occurs in the match that it reported; `None` if
    /// there is no result of that attempt yet.
    pub fn shown_truly(&self, id: &MatchId, live: &SpectatorView) -> Option<bool> {
        let ended = self.ended_matches.get(id)?;
        let result = ended.result.as_ref()?;
        if ended.attempt != live.attempt || !result.failed.is_empty() {
            return None;
        }
        let positions = self.positions(id, result);
        // What players may not see before the end is hidden in a live position.
        let agrees = |drawn: &DrawnPosition| hides(&live.position, &drawn.picture);
        Some(live.position.rows.is_empty() || positions.iter().any(agrees))
    }

    /// The positions of a game that draws them, replayed from its moves and its opened draw.
    fn positions(&self, id: &MatchId, result: &MatchResult) -> Vec<DrawnPosition> {
        let rules = self.league.rules();
        let listing = league_games::find(rules.game_type.as_str());
        let table = listing.and_then(|listing| (listing.open)(&rules.game_settings).ok());
        let Some(mut table) = table else {
            return Vec::new();
        };
        let mut positions = Vec::new();
        add_position(&mut positions, table.picture(), Vec::new());
        let mut rolls = 0;
        let roll = |table: &mut dyn Table| {
            let opened = result.draw.as_ref();
            let dice = opened.and_then(|opened| draw::dice(&rules.league_id, id, opened, rolls));
            rolls += 1;
            dice.map(|mut dice| table.roll(&mut dice)).is_some()
        };
        // What can be followed is shown: without a seed there is no next position.
        let _ = follow(&mut *table, result, roll, |table, seats| {
            if (1..=MAX_POSITIONS).contains(&positions.len()) {
                add_position(&mut positions, table.picture(), seats.to_vec());
            }
        });
        positions
    }

    /// The page of a player; `None` if there is no such player.
    pub fn player_page(&self, id: &PlayerId, observed: &LeagueObservations) -> Option<PlayerPage> {
        let rows = self.league.standings();
        let standing = rows.iter().find(|row| row.player_id == *id)?;
        let row = self.table_row(standing, &deviation_totals(observed), observed);
        let matches = self.played_matches(id);
        let is_over = |(.., counted): &(_, _, CountedResult)| *counted != CountedResult::Open;
        let over = self.league.matches_of(id).filter(is_over).count();
        let (upcoming, later) = self.upcoming(id, observed);
        Some(PlayerPage {
            league: self.summary(observed),
            agent: self.player_agent(observed, &row),
            unlisted: over.saturating_sub(matches.len()),
            choices: self.choices_of(id),
            points: self.points_of(standing),
            deviations: {
                let key = format!("player:{id}");
                let mut all = observed.deviations.get(&key).cloned().unwrap_or_default();
                all.sort_by_key(|deviation| Reverse(deviation.count));
                all
            },
            failures: failures_of(id, observed),
            upcoming,
            later,
            matches,
            row,
        })
    }

    /// Newest first.
    fn played_matches(&self, id: &PlayerId) -> Vec<PlayedMatch> {
        let score = &self.league.rules().score;
        let played = |(pairing, seat, counted): (Pairing, usize, CountedResult)| {
            let match_id = pairing.match_id();
            let ended = self.ended_matches.get(&match_id)?;
            let opponent = &ended.players[1 - seat];
            let choice = |id| ended.result.as_ref()?.choices.get(id).map(choice_text);
            let ending = counted.ending();
            Some(PlayedMatch {
                opponent: self.player_ref(opponent),
                outcome: outcome(&counted, seat),
                points: ending.map_or(0, |ending| ending.points(seat, score)),
                choice: choice(id),
                opponent_choice: choice(opponent),
                reason: self.reason(&match_id, ended),
                at: ended.at,
                match_id,
            })
        };
        let newest = self.league.matches_of(id).rev();
        newest.filter_map(played).take(MAX_PLAYED).collect()
    }

    fn choices_of(&self, id: &PlayerId) -> Vec<(String, u64)> {
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        let ended = self.ended_matches.values();
        let results = ended.filter_map(|ended| ended.result.as_ref());
        for made in results.filter_map(|result| result.choices.get(id)) {
            let moves = made
                .as_array()
                .map_or(std::slice::from_ref(made), |all| all);
            for made in moves {
                *counts.entry(choice_text(made)).or_default() += 1;
            }
        }
        let mut sorted: Vec<_> = counts.into_iter().collect();
        sorted.sort_by_key(|(_, count)| Reverse(*count));
        sorted.truncate(MAX_CHOICES);
        sorted
    }

    /// The next matches of a player, and how many come after them.
    fn upcoming(
        &self,
        id: &PlayerId,
        observed: &LeagueObservations,
    ) -> (Vec<UpcomingMatch>, usize) {
        let place = self.number_of(id);
        let is_out = |player: &PlayerEntry| player.expulsion().is_some_and(|it| !it.is_absence);
        let is_out = self.league.player(id).is_some_and(is_out);
        let (Some(place), Phase::Running, false) = (place, self.league.phase(), is_out) else {
            return (Vec::new(), 0);
        };
        let current = self.league.round().map_or(1, |round| round.number());
        let rounds = current..=self.league.rounds();
        let pairings = rounds.filter_map(|round| self.league.pairing_of(place, round));
        let mut open = pairings.filter_map(|pairing| self.upcoming_match(place, pairing, observed));
        let next = open.by_ref().take(MAX_UPCOMING).collect();
        (next, open.count())
    }

    fn upcoming_match(
        &self,
        place: u32,
        pairing: Pairing,
        observed: &LeagueObservations,
    ) -> Option<UpcomingMatch> {
        let match_id = pairing.match_id();
        let state = match self.fixture_state(&match_id, pairing.round, observed) {
            RoundMatchState::Planned => None,
            RoundMatchState::Open(state) => Some(state),
            RoundMatchState::Over { .. } | RoundMatchState::Forgotten => return None,
        };
        let opponent = pairing.seats.into_iter().find(|seat| *seat != place)?;
        Some(UpcomingMatch {
            match_id,
            round: pairing.round,
            opponent: self.player_at(opponent)?,
            state,
        })
    }

    /// The page of a round; `None` if the league has not started or has no such round.
    pub fn round_page(&self, round: u32, observed: &LeagueObservations) -> Option<RoundPage> {
        if self.league.phase() == Phase::Registering {
            return None;
        }
        let league = &self.league;
        league.pairing(round, 0)?;
        let all = league.matches_in(round);
        let pairings = (0..all).filter_map(|index| league.pairing(round, index));
        let matches: Vec<RoundMatch> = pairings
            .take(MAX_ROWS)
            .filter_map(|pairing| self.round_match(pairing, observed))
            .collect();
        let schedule = league.schedule();
        let rests = |player: &u32| league.pairing_of(*player, round).is_none();
        let is_regular = round <= schedule.rounds();
        let resting = match schedule.is_computed() {
            true => (0..schedule.players()).find(rests).filter(|_| is_regular),
            false => schedule.byes(round).first().copied(),
        };
        Some(RoundPage {
            league: self.summary(observed),
            round,
            rounds: league.rounds(),
            unlisted: (all as usize).saturating_sub(matches.len()),
            matches,
            resting: resting.and_then(|player| self.player_at(player)),
        })
    }

    fn round_match(&self, pairing: Pairing, observed: &LeagueObservations) -> Option<RoundMatch> {
        let match_id = pairing.match_id();
        let [a, b] = pairing.seats;
        Some(RoundMatch {
            players: [self.player_at(a)?, self.player_at(b)?],
            referee: match self.ended_matches.get(&match_id) {
                Some(ended) => ended.referee.clone(),
                None => self.referee_of(self.league.fixture(&match_id)),
            },
            state: self.fixture_state(&match_id, pairing.round, observed),
            match_id,
        })
    }

    fn fixture_state(
        &self,
        match_id: &MatchId,
        round: u32,
        observed: &LeagueObservations,
    ) -> RoundMatchState {
        if let Some(ended) = self.ended_matches.get(match_id) {
            let counted = self.counted(match_id);
            return RoundMatchState::Over {
                outcomes: counted.map(|(outcome, _)| outcome),
                points: counted.map(|(_, points)| points),
                reason: self.reason(match_id, ended),
                at: ended.at,
            };
        }
        let current = self.league.round().map_or(0, |round| round.number());
        match self.league.fixture(match_id) {
            Some(_) => RoundMatchState::Open(self.match_state(match_id, observed)),
            None if round > current => RoundMatchState::Planned,
            None => RoundMatchState::Forgotten,
        }
    }

    /// The player at a place of the roster.
    pub(crate) fn player_at(&self, place: u32) -> Option<PlayerRef> {
        let player = self.league.players().get(place as usize)?;
        Some(self.player_ref(player.id()))
    }
}

/// A player's failed attempts, the most frequent code first; several referees may have recorded
/// the same code.
fn failures_of(id: &PlayerId, observed: &LeagueObservations) -> Vec<FailureCount> {
    let mut codes: BTreeMap<Code, FailureCount> = BTreeMap::new();
    let recorded = observed.failures.get(&format!("player:{id}"));
    for failure in recorded.into_iter().flatten() {
        codes
            .entry(failure.code)
            .and_modify(|known| known.count = known.count.saturating_add(failure.count))
            .or_insert_with(|| failure.clone());
    }
    let mut all: Vec<FailureCount> = codes.into_values().collect();
    all.sort_by_key(|failure| Reverse(failure.count));
    all
}

/// A string as it is, all else as JSON, cut if it is long.
fn choice_text(choice: &Value) -> String {
    let text = match choice {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match text.char_indices().nth(MAX_CHOICE_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Whether a picture is another one, with some cells hidden.
fn hides(shown: &Picture, whole: &Picture) -> bool {
    let cells = |picture: &Picture| -> Vec<PictureCell> {
        let rows = picture.rows.iter();
        rows.flat_map(|row| row.cells.clone()).collect()
    };
    let (shown, whole) = (cells(shown), cells(whole));
    let agrees =
        |(one, other): (&PictureCell, &PictureCell)| one.tone == Tone::Hidden || one == other;
    shown.len() == whole.len() && shown.iter().zip(&whole).all(agrees)
}

/// Adds a position that is drawn, with what has changed in it.
fn add_position(positions: &mut Vec<DrawnPosition>, picture: Picture, seats: Vec<usize>) {
    if picture.rows.is_empty() {
        return;
    }
    let before = positions.last().map(|position| &position.picture);
    let cell = |picture: &Picture, (row, column): (usize, usize)| {
        picture.rows.get(row)?.cells.get(column).cloned()
    };
    let rows = picture.rows.iter().enumerate();
    let places = rows.flat_map(|(row, it)| (0..it.cells.len()).map(move |column| (row, column)));
    let is_new = |place: &(usize, usize)| {
        before.is_some_and(|before| cell(before, *place) != cell(&picture, *place))
    };
    positions.push(DrawnPosition {
        changed: places.filter(is_new).collect(),
        picture,
        seats,
    });
}
