//! The first page: the league at a glance.

use std::collections::BTreeMap;
use std::time::Duration;

use league_core::league::{AgentState, FixtureStage, Phase};
use league_protocol::id::PlayerId;
use league_protocol::message::{MatchState, StandingRow};
use league_protocol::time::Timestamp;

use super::{Gallery, MOST_LATEST, MOST_ROWS, MOST_TILES, Observed};
use crate::model::{Board, Deviation, LeagueCard, Progress, ResultLine, Standing, Tile, TileState};

impl Gallery {
    /// The first page as it is now.
    pub fn board(&self, observed: &Observed, now: Timestamp) -> Board {
        let standings = self.standings(observed);
        let players = self.league.players().len();
        let (tiles, untiled) = self.tiles(observed);
        Board {
            league: self.card(observed),
            progress: self.progress(observed, now),
            unlisted: players.saturating_sub(standings.len()),
            tiles,
            untiled,
            latest: self.latest(),
            cross: self.cross(),
            chart: self.chart(&standings),
            agents: self.agents(observed, &standings),
            standings,
            verdict: observed.verdict.clone(),
        }
    }

    /// Which league it is, and whether anybody plays it.
    pub fn card(&self, observed: &Observed) -> LeagueCard {
        let rules = self.league.rules();
        let over = self.league.is_over();
        let listing = league_games::find(rules.game_type.as_str());
        let game = listing.map_or("", |listing| listing.rules.display_name);
        LeagueCard {
            league_id: rules.league_id.to_string(),
            title: self.title.clone(),
            game_type: rules.game_type.to_string(),
            game: game.to_owned(),
            phase: self.league.phase(),
            players: self.league.players().len(),
            referees: self.league.referees().len(),
            reproducible: self.reproducible,
            strict: rules.strict,
            started: self.started,
            ended: self.ended,
            round: self.league.round().map_or(0, |round| round.number()),
            played: self.league.matches_played(),
            matches: self.matches(),
            standstill: observed.standstill.clone().filter(|_| !over),
        }
    }

    /// How many matches there are in all; 0 before the league began.
    fn matches(&self) -> u64 {
        match self.league.phase() {
            Phase::Registering => 0,
            Phase::Running | Phase::Completed => self.league.schedule().total_matches(),
        }
    }

    /// How far it is; the time of a league that nobody plays on stands still.
    pub fn progress(&self, observed: &Observed, now: Timestamp) -> Progress {
        let schedule = self.league.schedule();
        let begun = self.league.phase() != Phase::Registering;
        let round = self.league.round();
        let summary = round.map(|round| round.summary()).unwrap_or_default();
        let open = round.map_or(0, |round| round.open());
        let played = self.league.matches_played();
        let matches = self.matches();
        let halted = observed.standstill.as_ref().map(|halt| halt.since);
        let until = self.ended.or(halted).unwrap_or(now);
        let elapsed = self.started.map(|started| until.since(started));
        Progress {
            round: round.map_or(0, |round| round.number()),
            rounds: if begun { schedule.rounds() } else { 0 },
            played,
            matches,
            round_played: summary.total_matches.saturating_sub(open),
            round_matches: summary.total_matches,
            technical_losses: self.technical_losses,
            time_left: self.time_left(played, matches).filter(|_| halted.is_none()),
            elapsed,
        }
    }

    /// The time up to the latest result, for each of those that are to come.
    fn time_left(&self, played: u64, matches: u64) -> Option<Duration> {
        let spent = self.latest?.since(self.started?);
        if played == 0 || self.ended.is_some() {
            return None;
        }
        let left = matches.saturating_sub(played) as f64 / played as f64;
        Duration::try_from_secs_f64(spent.as_secs_f64() * left).ok()
    }

    pub(super) fn standings(&self, observed: &Observed) -> Vec<Standing> {
        let deviations = totals(observed);
        let rows = self.league.standings();
        let rows = rows.iter().take(MOST_ROWS);
        rows.map(|row| self.standing_of(row, &deviations)).collect()
    }

    /// The row of one player.
    pub(super) fn standing(&self, id: &PlayerId, observed: &Observed) -> Option<Standing> {
        let rows = self.league.standings();
        let row = rows.iter().find(|row| row.player_id == *id)?;
        Some(self.standing_of(row, &totals(observed)))
    }

    fn standing_of(&self, row: &StandingRow, deviations: &BTreeMap<&str, u64>) -> Standing {
        let id = &row.player_id;
        let player = self.league.player(id);
        let before = self.ranks.get(id).copied().unwrap_or(row.rank);
        let key = format!("player:{id}");
        Standing {
            rank: row.rank,
            climbed: i64::from(before) - i64::from(row.rank),
            player_id: id.clone(),
            name: row.display_name.to_string(),
            played: row.played,
            wins: row.wins,
            draws: row.draws,
            losses: row.losses,
            technical_losses: row.technical_losses,
            points: row.points,
            form: self.form.get(id).into_iter().flatten().cloned().collect(),
            deviations: deviations.get(key.as_str()).copied().unwrap_or(0),
            state: player.map_or(AgentState::Registered, |player| {
                self.state(self.league.player_state(player), self.out.contains(id))
            }),
        }
    }

    /// The state of an agent. When a league is over all have left it; then whoever took part to
    /// the end is shown as it was.
    pub(super) fn state(&self, now: AgentState, out: bool) -> AgentState {
        match now {
            AgentState::Shutdown if !out => AgentState::Active,
            now => now,
        }
    }

    /// The matches of the round that are not over, those that are furthest first.
    fn tiles(&self, observed: &Observed) -> (Vec<Tile>, usize) {
        let fixtures = self
            .league
            .round()
            .map_or(&[][..], |round| round.fixtures());
        let open = fixtures
            .iter()
            .filter(|fixture| fixture.stage() != FixtureStage::Finished);
        let mut tiles: Vec<Tile> = open
            .filter_map(|fixture| {
                let [a, b] = self.league.seats_of(fixture)?;
                let stage = stage(fixture.stage());
                let written = observed.states.get(fixture.match_id());
                let written = written.filter(|_| stage == TileState::Ordered);
                Some(Tile {
                    match_id: fixture.match_id().clone(),
                    players: [self.named(a), self.named(b)],
                    referee: self
                        .league
                        .referee_of(fixture)
                        .map(|referee| referee.id().clone()),
                    state: written.map_or(stage, |(state, _)| state_of(*state)),
                    attempt: fixture.attempt(),
                    since: written.map(|(_, since)| *since),
                })
            })
            .collect();
        tiles.sort_by_key(|tile| tile.state >= TileState::Queued);
        let untiled = tiles.len().saturating_sub(MOST_TILES);
        tiles.truncate(MOST_TILES);
        (tiles, untiled)
    }

    fn latest(&self) -> Vec<ResultLine> {
        let latest = self.order.iter().rev().take(MOST_LATEST);
        let line = |match_id| {
            let finished = self.results.get(match_id)?;
            let result = &finished.result;
            let won = |winner| result.players.iter().position(|player| player == winner);
            Some(ResultLine {
                match_id: match_id.clone(),
                players: [
                    self.named(&result.players[0]),
                    self.named(&result.players[1]),
                ],
                winner: result.winner.as_ref().and_then(won),
                technical: !result.failed.is_empty(),
                reason: result.reason.clone(),
                at: finished.at,
            })
        };
        latest.filter_map(line).collect()
    }
}

/// How often each agent left the protocol.
pub(super) fn totals(observed: &Observed) -> BTreeMap<&str, u64> {
    let total = |kinds: &[Deviation]| {
        let counts = kinds.iter().map(|kind| kind.count);
        // What was observed comes from files, in which any number may stand.
        counts.fold(0, u64::saturating_add)
    };
    let all = observed.deviations.iter();
    all.map(|(agent, kinds)| (agent.as_str(), total(kinds)))
        .collect()
}

pub(super) fn stage(stage: FixtureStage) -> TileState {
    match stage {
        FixtureStage::Waiting => TileState::Waiting,
        FixtureStage::Queued => TileState::Queued,
        FixtureStage::Ordered | FixtureStage::Running => TileState::Ordered,
        FixtureStage::Unplayable | FixtureStage::Finished => TileState::Drawing,
    }
}

pub(super) fn state_of(state: MatchState) -> TileState {
    match state {
        MatchState::WaitingForPlayers => TileState::Inviting,
        MatchState::CollectingChoices => TileState::Choosing,
        MatchState::DrawingNumber | MatchState::Finished => TileState::Drawing,
    }
}
