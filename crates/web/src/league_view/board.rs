//! Fills in the first page: the league at a glance.

use std::collections::BTreeMap;
use std::time::Duration;

use league_core::league::{CountedResult, FixtureStage, LeagueFixture, Phase, RefereeEntry};
use league_core::referee::SpectatorView;
use league_protocol::id::MatchId;
use league_protocol::message::StandingRow;
use league_protocol::time::Timestamp;

use super::{
    EndedMatch, LeagueObservations, LeagueView, MAX_ARRIVALS, MAX_CHART_LINES, MAX_CROSS_PLAYERS,
    MAX_LATEST, MAX_NEXT, MAX_ROWS, MAX_TILES, deviation_totals, outcome, shown_state, tile_state,
};
use crate::model::{
    AgentRow, Board, Chart, ChartLine, Cross, CrossCell, LeagueProgress, LeagueSummary,
    LeagueViews, Lobby, NextRound, PlayerRef, ResultLine, Stage, TableRow, Tile, TileState,
};

impl LeagueView {
    pub fn board(&self, observed: &LeagueObservations, now: Timestamp) -> Board {
        let deviations = deviation_totals(observed);
        let rows = self.league.standings();
        let standings: Vec<TableRow> = rows
            .iter()
            .take(MAX_ROWS)
            .map(|row| self.table_row(row, &deviations, observed))
            .collect();
        let (tiles, untiled) = self.tiles(observed);
        let league = self.summary(observed);
        let winners = self.league.winners(&rows).filter(|_| league.is_over());
        let winners = winners.take_while(|(place, _)| *place <= 3).take(MAX_ROWS);
        let (mut views, has_cross) = self.views(&rows);
        shorten(&mut views);
        Board {
            winners: winners.map(|(place, row)| (place, row.clone())).collect(),
            progress: self.progress(&league, &rows, now),
            unlisted: league.players.saturating_sub(standings.len()),
            tiles,
            untiled,
            latest: self.latest(),
            lobby: self.lobby(observed, now),
            next: self.next_round(observed),
            cross: match has_cross || league.phase == Phase::Registering {
                true => self.cross(),
                false => Cross::default(),
            },
            views,
            chart: self.chart(&standings),
            ratings: self.ratings().cloned(),
            agents: self.agents(observed, &deviations, &standings),
            standings,
            league,
        }
    }

    /// The clocks of a stalled league stand still.
    fn progress(
        &self,
        league: &LeagueSummary,
        rows: &[StandingRow],
        now: Timestamp,
    ) -> LeagueProgress {
        let round = self.league.round();
        let summary = round.map(|round| round.summary()).unwrap_or_default();
        let open = round.map_or(0, |round| round.open());
        let stalled = league.stall.as_ref().map(|stall| stall.since);
        let until = self.ended.or(stalled).unwrap_or(now);
        LeagueProgress {
            rounds: match league.phase {
                Phase::Registering => 0,
                Phase::Running | Phase::Completed => self.league.rounds(),
            },
            round_played: summary.total_matches.saturating_sub(open),
            round_matches: summary.total_matches,
            technical_losses: rows.iter().map(|row| u64::from(row.technical_losses)).sum(),
            time_left: self
                .time_left(league)
                .filter(|_| stalled.is_none() && !league.paused),
            elapsed: self.started.map(|started| until.since(started)),
        }
    }

    /// Extrapolates the time up to the latest result to the matches to come.
    fn time_left(&self, league: &LeagueSummary) -> Option<Duration> {
        let spent = self.latest?.since(self.started?);
        if league.played == 0 || self.ended.is_some() {
            return None;
        }
        let left = league.matches.saturating_sub(league.played) as f64 / league.played as f64;
        Duration::try_from_secs_f64(spent.as_secs_f64() * left).ok()
    }

    /// The matches of the round without a result, the most advanced first, and how many more there
    /// are.
    fn tiles(&self, observed: &LeagueObservations) -> (Vec<Tile>, usize) {
        let round = self.league.round().filter(|_| !self.league.is_over());
        let fixtures = round.map_or(&[][..], |round| round.fixtures());
        let open = fixtures
            .iter()
            .filter(|fixture| fixture.stage() != FixtureStage::Finished);
        let mut tiles: Vec<Tile> = open
            .filter_map(|fixture| {
                let [a, b] = self.league.seats_of(fixture)?;
                let running = matches!(
                    fixture.stage(),
                    FixtureStage::Ordered | FixtureStage::Running
                );
                let recorded = observed.states.get(fixture.match_id());
                Some(Tile {
                    match_id: fixture.match_id().clone(),
                    players: [self.player_ref(a), self.player_ref(b)],
                    referee: self.referee_of(Some(fixture)),
                    state: tile_state(Some(fixture), recorded.map(|(state, _)| *state)),
                    attempt: fixture.attempt(),
                    since: recorded.filter(|_| running).map(|(_, since)| *since),
                    live: self.live(fixture, observed),
                })
            })
            .collect();
        tiles.sort_by_key(|tile| tile.state >= TileState::Queued);
        let untiled = tiles.len().saturating_sub(MAX_TILES);
        tiles.truncate(MAX_TILES);
        (tiles, untiled)
    }

    fn latest(&self) -> Vec<ResultLine> {
        let latest = self.ended_matches().rev().take(MAX_LATEST);
        latest.map(|(id, found)| self.line(id, found)).collect()
    }

    fn line(&self, match_id: &MatchId, ended: &EndedMatch) -> ResultLine {
        ResultLine {
            match_id: match_id.clone(),
            players: ended.players.each_ref().map(|id| self.player_ref(id)),
            outcomes: self.counted(match_id).map(|(outcome, _)| outcome),
            reason: self.reason(match_id, ended),
            at: ended.at,
            stories: self.stories.of(match_id),
        }
    }

    /// What the referee of a match shows of it, if the match is still in its hands.
    pub(crate) fn live(
        &self,
        fixture: &LeagueFixture,
        observed: &LeagueObservations,
    ) -> Option<SpectatorView> {
        let live = observed.live.get(fixture.match_id())?;
        let is_running = matches!(
            fixture.stage(),
            FixtureStage::Ordered | FixtureStage::Running
        );
        (is_running && live.attempt == fixture.attempt()).then(|| live.clone())
    }

    fn lobby(&self, observed: &LeagueObservations, now: Timestamp) -> Option<Lobby> {
        if self.league.phase() != Phase::Registering {
            return None;
        }
        let players = self.league.players();
        let arrivals = players.iter().rev().take(MAX_ARRIVALS);
        let away = players.iter().filter_map(|player| {
            let reason = observed.away.get(&format!("player:{}", player.id()))?;
            Some((self.player_ref(player.id()), reason.clone()))
        });
        Some(Lobby {
            awaited: self.league.rules().start_when,
            arrivals: arrivals
                .map(|player| self.player_ref(player.id()))
                .collect(),
            away: away.take(MAX_ARRIVALS).collect(),
            joining: observed.joining.clone(),
            closes: self.league.registration(now).1,
        })
    }

    /// The view for projectors.
    pub fn stage(&self, observed: &LeagueObservations, now: Timestamp) -> Stage {
        let surprise = self.stories.surprise();
        let surprise = surprise.and_then(|id| Some(self.line(id, self.ended_matches.get(id)?)));
        Stage {
            board: self.board(observed, now),
            surprise,
        }
    }

    fn next_round(&self, observed: &LeagueObservations) -> Option<NextRound> {
        let next = match self.league.phase() {
            Phase::Running => self.league.round().map_or(0, |round| round.number()) + 1,
            Phase::Registering | Phase::Completed => return None,
        };
        let pairings = (0..self.league.matches_in(next))
            .filter_map(|index| self.league.pairing(next, index))
            .filter_map(|pairing| {
                let [a, b] = pairing.seats;
                Some([self.player_at(a)?, self.player_at(b)?])
            });
        let pairings: Vec<_> = pairings.take(MAX_NEXT).collect();
        let opens = self.league.next_round_at();
        (!pairings.is_empty()).then_some(NextRound {
            round: next,
            pairings,
            opens: opens.filter(|_| observed.stall.is_none()),
        })
    }

    fn cross(&self) -> Cross {
        let players = self.league.players();
        let shown = &players[..players.len().min(MAX_CROSS_PLAYERS)];
        let places = 0..u32::try_from(shown.len()).unwrap_or(u32::MAX);
        let row = |one: u32| {
            places
                .clone()
                .map(|other| self.cross_cell(one, other))
                .collect()
        };
        Cross {
            players: shown
                .iter()
                .map(|player| self.player_ref(player.id()))
                .collect(),
            cells: places.clone().map(row).collect(),
            unlisted: players.len() - shown.len(),
        }
    }

    /// The latest match of two players that has begun, from the view of the first; a match that is
    /// played again is shown in place of the one before.
    fn cross_cell(&self, one: u32, other: u32) -> Option<CrossCell> {
        if one == other || self.league.phase() == Phase::Registering {
            return None;
        }
        let schedule = self.league.schedule();
        let mut meetings = schedule.meetings(one, other).rev();
        meetings.find_map(|pairing| {
            let seat = pairing.seats.iter().position(|seat| *seat == one)?;
            let is_started = |id: &MatchId| {
                let fixture = self.league.fixture(id);
                fixture.is_some_and(|fixture| fixture.is_started())
            };
            let (match_id, counted) = match self.league.counted_at(pairing) {
                CountedResult::Replayed(replay) => match self.league.counted_result(&replay) {
                    CountedResult::Open if !is_started(&replay) => {
                        (pairing.match_id(), CountedResult::Annulled)
                    }
                    counted => (replay, counted),
                },
                counted => (pairing.match_id(), counted),
            };
            let outcome = match counted {
                CountedResult::Open if is_started(&match_id) && !self.league.is_over() => None,
                CountedResult::Open => return None,
                counted => Some(outcome(&counted, seat)),
            };
            Some(CrossCell { match_id, outcome })
        })
    }

    fn chart(&self, standings: &[TableRow]) -> Chart {
        let line = |row: &TableRow| ChartLine {
            player: PlayerRef {
                id: row.standing.player_id.clone(),
                name: row.standing.display_name.to_string(),
            },
            points: self.points_of(&row.standing),
        };
        Chart {
            lines: standings.iter().take(MAX_CHART_LINES).map(line).collect(),
            rounds: self.league.rounds(),
        }
    }

    /// The referees, then the players in the order of the roster.
    fn agents(
        &self,
        observed: &LeagueObservations,
        deviations: &BTreeMap<&str, u64>,
        standings: &[TableRow],
    ) -> Vec<AgentRow> {
        let referee = |referee: &RefereeEntry| {
            let key = format!("referee:{}", referee.id());
            let member = referee.member();
            let state = self.league.referee_state(referee);
            AgentRow {
                id: referee.id().to_string(),
                name: member.display_name().to_string(),
                is_referee: true,
                state: shown_state(state, None, observed.away.contains_key(&key)),
                dialect: member.peer().dialect.as_str(),
                version: member.version().to_owned(),
                latency: observed.latencies.get(&key).copied(),
                technical_losses: self.taken.get(referee.id()).copied().unwrap_or(0),
                deviations: deviations.get(key.as_str()).copied().unwrap_or(0),
            }
        };
        let referees = self.league.referees().iter().map(referee);
        let rows: BTreeMap<_, _> = standings
            .iter()
            .map(|row| (&row.standing.player_id, row))
            .collect();
        let roster = self.league.players().iter();
        let players = roster
            .filter_map(|player| rows.get(player.id()))
            .map(|row| self.player_agent(observed, row));
        referees.chain(players).collect()
    }
}

/// Leaves out players of groups, and of the ladder, beyond [`MAX_ROWS`].
fn shorten(views: &mut LeagueViews) {
    let listed = |views: &LeagueViews| {
        let members = views.groups.iter().map(|group| group.rows.len());
        members.sum::<usize>() + views.ladder.len()
    };
    let all = listed(views);
    let mut room = MAX_ROWS;
    views.groups.retain_mut(|group| {
        let is_shown = room > 0;
        group.rows.truncate(room);
        room -= group.rows.len();
        is_shown
    });
    views.ladder.truncate(MAX_ROWS);
    views.unlisted = all - listed(views);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::tests::models;

    #[test]
    fn groups_are_whole_while_there_is_room() {
        let mut views = models::views();
        views.ladder.clear();
        let mut group = views.groups.remove(0);
        group.rows = vec![group.rows[0].clone(); 200];
        views.groups = vec![group; 2_048];
        shorten(&mut views);
        let sizes: Vec<usize> = views.groups.iter().map(|it| it.rows.len()).collect();
        assert_eq!(sizes, [200, 200, 100]);
        assert_eq!(views.unlisted, 2_048 * 200 - 500);
    }

    #[test]
    fn ladder_tells_how_many_it_leaves_out() {
        let mut views = models::views();
        views.groups.clear();
        views.ladder = vec![views.ladder[0].clone(); 501];
        shorten(&mut views);
        assert_eq!((views.ladder.len(), views.unlisted), (500, 1));
        let mut few = models::views();
        shorten(&mut few);
        assert_eq!(few, models::views());
    }
}
