//! A season: the leagues of one folder, and the all-time table of their players.
//!
//! A player is known over the leagues by the seat that was kept for it, and else by its name.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use league_core::league::Phase;
use league_core::rating::{MAX_RATED, PairScore, Ratings, by_seats};
use league_protocol::id::PlayerId;
use league_protocol::message::StandingRow;
use league_protocol::time::Timestamp;

use crate::league_view::{LeagueObservations, LeagueView};
use crate::model::{LeagueSummary, PlayerRef, RatingTable};

/// One league of a season.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeasonLeague {
    pub league_id: String,
    pub game: String,
    pub phase: Phase,
    /// Whether the organiser ended it before its last match.
    pub ended_early: bool,
    pub players: usize,
    pub played: u64,
    pub matches: u64,
    pub started: Option<Timestamp>,
    pub ended: Option<Timestamp>,
    /// Who won it, once it is over; several if they share the first place.
    pub champions: Vec<String>,
}

impl SeasonLeague {
    fn of(summary: LeagueSummary, ended_early: bool, champions: Vec<String>) -> Self {
        Self {
            league_id: summary.league_id,
            game: match summary.game.as_str() {
                "" => summary.game_type,
                _ => summary.game,
            },
            phase: summary.phase,
            ended_early,
            players: summary.players,
            played: summary.played,
            matches: summary.matches,
            started: summary.started,
            ended: summary.ended,
            champions,
        }
    }
}

/// One player of the all-time table.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SeasonRow {
    pub name: String,
    pub leagues: u32,
    /// Leagues won, alone or shared.
    pub titles: u32,
    pub played: u32,
    pub wins: u32,
    pub draws: u32,
    pub losses: u32,
    pub points: u64,
}

/// The leagues of a folder and their players.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Season {
    /// The oldest first.
    pub leagues: Vec<SeasonLeague>,
    /// The best first: by titles, then points, wins and name.
    pub rows: Vec<SeasonRow>,
    /// The results of the players of `rows`, and of how many leagues they are.
    scores: Vec<PairScore>,
    rated_leagues: u32,
    /// Whether the seat may be an advantage in a game that was played.
    sides_matter: bool,
}

/// What a season keeps of one league, which is little.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeasonEntry {
    league: SeasonLeague,
    players: BTreeMap<PlayerId, SeasonPlayer>,
    /// What rates its players, in the order of `players`; empty if they are too many.
    scores: Vec<PairScore>,
    sides_matter: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct SeasonPlayer {
    /// Its part of the all-time table.
    row: SeasonRow,
    /// The league in which it was before, if its seat was kept for it.
    before: Option<String>,
}

impl SeasonEntry {
    pub fn of(view: &LeagueView) -> Self {
        let summary = view.summary(&LeagueObservations::default());
        let standings = view.league().standings();
        let winners = view.league().winners(&standings);
        let winners = winners.take_while(|(place, _)| *place == 1 && summary.is_over());
        let champions: Vec<&StandingRow> = winners.map(|(_, row)| row).collect();
        let mut players: BTreeMap<PlayerId, SeasonPlayer> = BTreeMap::new();
        for player in view.league().players() {
            let entry = players.entry(player.id().clone()).or_default();
            entry.row.name = player.member().display_name().to_string();
            entry.before = view.league_before(player.id()).map(str::to_owned);
        }
        for standing in standings.iter() {
            let row = &mut players.entry(standing.player_id.clone()).or_default().row;
            *row = SeasonRow {
                name: standing.display_name.to_string(),
                leagues: 1,
                titles: 0,
                played: standing.played,
                wins: standing.wins,
                draws: standing.draws,
                losses: standing.losses,
                points: u64::from(standing.points),
            };
        }
        for champion in &champions {
            if let Some(player) = players.get_mut(&champion.player_id) {
                player.row.titles = 1;
            }
        }
        let names = champions.iter().map(|row| row.display_name.to_string());
        Self {
            league: SeasonLeague::of(summary, view.league().ended_early(), names.collect()),
            scores: scores_of(view, &players),
            sides_matter: view.league().rules().sides_matter,
            players,
        }
    }

    pub fn league_id(&self) -> &str {
        &self.league.league_id
    }

    /// How many players it has.
    pub fn players(&self) -> usize {
        self.players.len()
    }
}

impl Season {
    /// The rows with their places; players that only their names tell apart share one, such as `=2`.
    pub fn places(&self) -> impl Iterator<Item = (String, &SeasonRow)> {
        let groups = self
            .rows
            .chunk_by(|one, other| one.merits() == other.merits());
        let mut above = 0;
        groups.flat_map(move |group| {
            let place = above + 1;
            above += group.len();
            let told = match group.len() {
                1 => place.to_string(),
                _ => format!("={place}"),
            };
            group.iter().map(move |row| (told.clone(), row))
        })
    }

    /// Adds up leagues.
    pub fn of<'e>(entries: impl IntoIterator<Item = &'e SeasonEntry>) -> Self {
        let entries: Vec<&SeasonEntry> = entries.into_iter().collect();
        let by_id: BTreeMap<&str, &SeasonEntry> = entries
            .iter()
            .map(|entry| (entry.league.league_id.as_str(), *entry))
            .collect();
        let mut sorted = entries.clone();
        sorted.sort_by(|one, other| {
            let key = |entry: &SeasonEntry| (entry.league.started.is_none(), entry.league.started);
            key(one)
                .cmp(&key(other))
                .then_with(|| one.league_id().cmp(other.league_id()))
        });
        let mut rows: BTreeMap<String, SeasonRow> = BTreeMap::new();
        // The name of each player of each league, in the order of its players.
        let names = sorted.iter().map(|entry| {
            let players = entry.players.keys();
            players.map(|id| first_name(entry, &by_id, id)).collect()
        });
        let names: Vec<Vec<String>> = names.collect();
        for (entry, names) in sorted.iter().zip(&names) {
            let named = entry.players.values().zip(names);
            for (player, name) in named.filter(|it| it.0.row.leagues > 0) {
                rows.entry(name.clone()).or_default().add(&player.row);
            }
        }
        let mut rows: Vec<(String, SeasonRow)> = rows.into_iter().collect();
        rows.sort_by_cached_key(|(_, row)| (Reverse(row.merits()), row.name.clone()));
        let places = rows.iter().map(|(name, _)| name.as_str()).zip(0..);
        let places: BTreeMap<&str, usize> = places.collect();
        let seated = |entry: &SeasonEntry, names: &[String]| {
            let scores = entry.scores.iter().filter_map(|score| {
                let place = |at: usize| places.get(names.get(at)?.as_str()).copied();
                Some(PairScore {
                    first: place(score.first)?,
                    second: place(score.second)?,
                    ..*score
                })
            });
            scores.collect::<Vec<_>>()
        };
        let scores = sorted.iter().zip(&names);
        let scores = scores.map(|(entry, names)| seated(entry, names));
        let scores: Vec<_> = scores.filter(|scores| !scores.is_empty()).collect();
        Self {
            rated_leagues: u32::try_from(scores.len()).unwrap_or(u32::MAX),
            scores: by_seats(scores.into_iter().flatten()),
            sides_matter: entries.iter().any(|entry| entry.sides_matter),
            leagues: sorted.iter().map(|entry| entry.league.clone()).collect(),
            rows: rows.into_iter().map(|(_, row)| row).collect(),
        }
    }

    /// The ratings as pages show them; `None` for too many players, or if no match was played.
    pub(crate) fn ratings(&self) -> Option<RatingTable> {
        let ratings = self.rate().filter(|_| !self.scores.is_empty())?;
        let player = |number: usize| {
            Some(PlayerRef {
                // A player has other ids in other leagues.
                id: PlayerId::numbered(u32::try_from(number).ok()? + 1),
                name: self.rows.get(number)?.name.clone(),
            })
        };
        Some(RatingTable::of(
            &ratings,
            &self.scores,
            self.rated_leagues,
            player,
        ))
    }

    /// The ratings of the players of `rows` over all leagues; `None` for more than [`MAX_RATED`]
    /// players. Leagues of more players are left out.
    pub fn rate(&self) -> Option<Ratings> {
        let players = self.rows.len();
        let rate = || Ratings::estimate(players, &self.scores, self.sides_matter);
        (players <= MAX_RATED).then(rate)
    }
}

impl SeasonRow {
    fn merits(&self) -> (u32, u64, u32) {
        (self.titles, self.points, self.wins)
    }

    /// Adds another league; its name is the newer one.
    fn add(&mut self, other: &Self) {
        self.name.clone_from(&other.name);
        self.leagues += other.leagues;
        self.titles += other.titles;
        self.played += other.played;
        self.wins += other.wins;
        self.draws += other.draws;
        self.losses += other.losses;
        self.points += other.points;
    }
}

/// One score for each order of a pair of players of a league, numbered in their order; none for too
/// many players.
fn scores_of(view: &LeagueView, players: &BTreeMap<PlayerId, SeasonPlayer>) -> Vec<PairScore> {
    if players.len() > MAX_RATED {
        return Vec::new();
    }
    let registered = view.league().players();
    let numbers: BTreeMap<&PlayerId, usize> = players.keys().zip(0..).collect();
    let number = |player: usize| numbers.get(registered.get(player)?.id()).copied();
    let scores = view.seat_scores().into_iter().filter_map(|score| {
        Some(PairScore {
            first: number(score.first)?,
            second: number(score.second)?,
            ..score
        })
    });
    by_seats(scores)
}

/// The name of a player in the first league of its chain of kept seats, without case.
fn first_name(entry: &SeasonEntry, all: &BTreeMap<&str, &SeasonEntry>, id: &PlayerId) -> String {
    let mut first = entry;
    // A chain is no longer than the season.
    for _ in 0..all.len() {
        let player = first.players.get(id);
        let before = player.and_then(|player| all.get(player.before.as_deref()?));
        match before.filter(|before| before.players.contains_key(id)) {
            Some(before) => first = before,
            None => break,
        }
    }
    let name = first.players.get(id);
    name.map_or_else(String::new, |player| player.row.name.trim().to_lowercase())
}

#[cfg(test)]
mod tests {
    use league_core::league::LeagueRules;
    use league_protocol::id::{GameType, LeagueId};
    use league_testkit::LeagueWorld;

    use super::*;

    #[test]
    fn ratings_follow_a_player_through_its_leagues() {
        let entry = |id: &str, names: [&str; 2], wins| {
            let player = |name: &str| SeasonPlayer {
                row: SeasonRow {
                    name: name.to_owned(),
                    leagues: 1,
                    ..SeasonRow::default()
                },
                before: None,
            };
            let numbered = (1..).map(PlayerId::numbered).zip(names.map(player));
            SeasonEntry {
                league: SeasonLeague {
                    league_id: id.to_owned(),
                    game: "Nim".to_owned(),
                    phase: Phase::Completed,
                    ended_early: false,
                    players: 2,
                    played: 4,
                    matches: 4,
                    started: None,
                    ended: None,
                    champions: Vec::new(),
                },
                players: numbered.collect(),
                scores: vec![PairScore {
                    first: 0,
                    second: 1,
                    wins,
                    draws: 0,
                    losses: 4 - wins,
                }],
                sides_matter: false,
            }
        };
        // Ann beats Bob, and Bob beats Cid from the other seat: Cid never met Ann.
        let entries = [entry("a", ["Ann", "Bob"], 4), entry("b", ["Cid", "bob"], 0)];
        let season = Season::of(&entries);
        let names: Vec<&str> = season.rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["Ann", "Cid", "bob"]);
        assert_eq!(season.rate().unwrap().order(), [0, 2, 1]);
    }

    #[test]
    fn season_keeps_one_score_for_each_order_of_a_pair() {
        let rules = || LeagueRules {
            legs: 6,
            ..LeagueRules::new(
                LeagueId::new("spring").unwrap(),
                GameType::new("even_odd").unwrap(),
            )
        };
        let mut world = LeagueWorld::begun_by(rules(), 4, 1, 8);
        world.play_on();
        let mut view = LeagueView::new(rules(), "Spring".to_owned(), false).unwrap();
        world.journal().for_each(|event| view.apply(event));
        let entry = SeasonEntry::of(&view);
        assert_eq!(entry.scores.len(), 4 * 3);
        let games: u64 = entry.scores.iter().map(PairScore::games).sum();
        assert_eq!(games, view.league().matches_played());
    }

    #[test]
    fn players_that_only_names_tell_apart_share_a_place() {
        let row = |name: &str, points| SeasonRow {
            name: name.to_owned(),
            points,
            ..SeasonRow::default()
        };
        let season = Season {
            leagues: Vec::new(),
            rows: vec![row("a", 9), row("b", 7), row("c", 7), row("d", 1)],
            ..Season::default()
        };
        let places: Vec<String> = season.places().map(|(place, _)| place).collect();
        assert_eq!(places, ["1", "=2", "=2", "4"]);
    }
}
