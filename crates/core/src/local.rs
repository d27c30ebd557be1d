//! A league in this process: entrants and strategies meet without sockets, messages or clock, and one
//! seed decides all chance. Schedule, score and standings are those of every league.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use league_games::{BadSettings, Dice};
use league_protocol::id::{GameType, LeagueId, MatchId, PlayerId};
use league_protocol::message::{MatchStatus, Score, StandingRow};
use serde_json::{Map, Value};
use thiserror::Error;

use crate::entrant::{Entrant, LocalCourse, LocalGame, LocalPlayer, mixed};
use crate::league::League;
use crate::league::schedule::{Pairing, RoundRobin, Sides};
use crate::league::standings::Standings;
use crate::rating::{PairScore, Ratings};
use crate::strategy::{self, UnknownStrategy};

/// The most players of a local league.
pub const MAX_LOCAL_PLAYERS: usize = 1_000;
/// The most matches of a local league: all of them stay in memory.
pub const MAX_LOCAL_MATCHES: u64 = 1_000_000;
const MAX_LEGS: u32 = RoundRobin::MAX_LEGS;

impl League {
    /// Sets up a league to be played in this process; no manager, referee or socket takes part.
    pub fn builder<'p>() -> LeagueBuilder<'p> {
        LeagueBuilder {
            game: "even_odd".to_owned(),
            settings: Value::Null,
            players: Vec::new(),
            legs: 1,
            seed: 0,
            score: Score::default(),
            unknown: None,
        }
    }
}

/// A league in this process, before it is played.
#[must_use = "a league is played by `run`"]
pub struct LeagueBuilder<'p> {
    game: String,
    settings: Value,
    players: Vec<(String, Box<dyn Entrant + 'p>)>,
    legs: u32,
    seed: u64,
    score: Score,
    unknown: Option<UnknownStrategy>,
}

impl fmt::Debug for LeagueBuilder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.players.iter().map(|(name, _)| name).collect();
        let mut shown = f.debug_struct("LeagueBuilder");
        shown.field("game", &self.game).field("players", &names);
        shown.finish_non_exhaustive()
    }
}

/// Why a local league cannot be played.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LocalLeagueError {
    #[error("there is no game `{}`; there are {}", .0.escape_debug(), games())]
    UnknownGame(String),
    #[error(transparent)]
    Settings(#[from] BadSettings),
    #[error(transparent)]
    UnknownStrategy(#[from] UnknownStrategy),
    #[error("a league needs 2 to {MAX_LOCAL_PLAYERS} players, not {0}")]
    Players(usize),
    #[error("two players are called `{0}`; give each player a name of its own")]
    SameName(String),
    #[error("a pair meets 1 to {MAX_LEGS} times, not {0}")]
    Legs(u32),
    #[error("{0} matches are too many: there can be {MAX_LOCAL_MATCHES}; play fewer legs")]
    Matches(u64),
}

fn games() -> String {
    let games = league_games::all().iter();
    let games: Vec<String> = games
        .map(|game| format!("`{}`", game.rules.game_type))
        .collect();
    games.join(", ")
}

impl<'p> LeagueBuilder<'p> {
    /// The game by its type, such as `connect_four`; Even/Odd unless named.
    pub fn game(mut self, game_type: &str) -> Self {
        game_type.clone_into(&mut self.game);
        self
    }

    /// The settings of the game, an object; those left out keep their defaults.
    pub fn settings(mut self, settings: Value) -> Self {
        self.settings = settings;
        self
    }

    /// Adds a player. In the order in which they are added, players have the ids P01, P02 and so on.
    pub fn player(mut self, name: &str, entrant: impl Entrant + 'p) -> Self {
        self.players.push((name.to_owned(), Box::new(entrant)));
        self
    }

    /// Adds a player that plays a strategy of ours and is called like it.
    pub fn strategy(mut self, name: &str) -> Self {
        match strategy::find(name) {
            Ok(found) => self.player(name, found),
            Err(unknown) => {
                self.unknown.get_or_insert(unknown);
                self
            }
        }
    }

    /// How many times each pair meets, with the seats swapped from leg to leg; once unless set.
    pub fn legs(mut self, legs: u32) -> Self {
        self.legs = legs;
        self
    }

    /// What all chance follows from; 0 unless set.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// What a win, a draw and a loss are worth; 3, 1 and 0 unless set.
    pub fn scoring(mut self, score: Score) -> Self {
        self.score = score;
        self
    }

    /// Plays the league to its end.
    ///
    /// A player that chooses an illegal move, or returns an error, loses the match by a technical
    /// loss. A player that panics ends the program, as any function does.
    ///
    /// # Errors
    ///
    /// The league cannot be played as it is set up.
    pub fn run(self) -> Result<PlayedLeague, LocalLeagueError> {
        let (game, schedule) = (self.listed()?, self.schedule()?);
        let sides_matter = self.sides_matter();
        let (mut names, mut players) = (Vec::new(), Vec::new());
        for ((name, entrant), number) in self.players.into_iter().zip(1..) {
            names.push((PlayerId::numbered(number), Arc::from(name)));
            players.push(LocalPlayer::new(entrant, number, [self.seed, 0]));
        }
        let mut standings = Standings::new(schedule, self.score);
        let mut draw = Dice::seeded(mixed([self.seed, 0, 0]));
        let mut matches = Vec::new();
        for pairing in schedule.pairings() {
            let seats = pairing.seats.map(|player| player as usize);
            let match_id = MatchId::numbered(pairing.round, pairing.index + 1);
            let named = (pairing.round, match_id.clone());
            let course = game.play(&mut players, seats, named, &mut draw);
            standings.note(pairing, course.ending);
            let seated = seats.map(|player| Arc::clone(&names[player].1));
            matches.push(LocalMatch::new(
                pairing,
                match_id,
                seated,
                course,
                &self.score,
            ));
        }
        Ok(PlayedLeague {
            standings: standings.table(|| names).rows.clone(),
            matches,
            sides_matter,
        })
    }

    fn listed(&self) -> Result<LocalGame, LocalLeagueError> {
        let unknown = || LocalLeagueError::UnknownGame(self.game.chars().take(64).collect());
        let listing = league_games::find(&self.game).ok_or_else(unknown)?;
        let game_type = GameType::new(&self.game).map_err(|_| unknown())?;
        let league_id = LeagueId::new("local").map_err(|_| unknown())?;
        let game = LocalGame::new(listing, game_type, league_id, &self.settings, self.score)?;
        Ok(game)
    }

    fn sides_matter(&self) -> bool {
        let listing = league_games::find(&self.game);
        listing.is_none_or(|listing| listing.rules.sides_matter)
    }

    fn schedule(&self) -> Result<RoundRobin, LocalLeagueError> {
        if let Some(unknown) = &self.unknown {
            return Err(unknown.clone().into());
        }
        let count = self.players.len();
        if !(2..=MAX_LOCAL_PLAYERS).contains(&count) {
            return Err(LocalLeagueError::Players(count));
        }
        let mut names = BTreeSet::new();
        if let Some((twice, _)) = self.players.iter().find(|(name, _)| !names.insert(name)) {
            return Err(LocalLeagueError::SameName(twice.clone()));
        }
        if !(1..=MAX_LEGS).contains(&self.legs) {
            return Err(LocalLeagueError::Legs(self.legs));
        }
        let sides = Sides::for_game(self.sides_matter());
        let schedule = RoundRobin::new(count as u32, sides).with_legs(self.legs);
        match schedule.total_matches() {
            total if total > MAX_LOCAL_MATCHES => Err(LocalLeagueError::Matches(total)),
            _ => Ok(schedule),
        }
    }
}

/// A local league that was played.
#[derive(Debug, Clone, PartialEq)]
pub struct PlayedLeague {
    /// The table, from first to last.
    pub standings: Arc<[StandingRow]>,
    /// All matches, in the order of play.
    pub matches: Vec<LocalMatch>,
    /// Whether the seat may be an advantage in the game.
    pub sides_matter: bool,
}

impl PlayedLeague {
    /// The row of a player.
    pub fn standing(&self, name: &str) -> Option<&StandingRow> {
        let mut rows = self.standings.iter();
        rows.find(|row| *row.display_name == *name)
    }

    /// The ratings of all players from their results, with errors; players are numbered from 0 in the
    /// order of the table.
    pub fn ratings(&self) -> Ratings {
        let place = |name: &Arc<str>| {
            let mut rows = self.standings.iter();
            rows.position(|row| row.display_name == *name).unwrap_or(0)
        };
        let scores = self.matches.iter().map(|played| PairScore {
            first: place(&played.players[0]),
            second: place(&played.players[1]),
            wins: u64::from(played.winner == Some(0)),
            draws: u64::from(played.status == MatchStatus::Draw),
            losses: u64::from(played.winner == Some(1)),
        });
        let scores: Vec<PairScore> = scores.collect();
        Ratings::estimate(self.standings.len(), &scores, self.sides_matter)
    }
}

/// A match of a local league.
#[derive(Debug, Clone, PartialEq)]
pub struct LocalMatch {
    pub match_id: MatchId,
    pub round_id: u32,
    /// The names at seat A and seat B.
    pub players: [Arc<str>; 2],
    pub status: MatchStatus,
    /// The seat that won, 0 or 1.
    pub winner: Option<usize>,
    pub points: [u32; 2],
    /// The seat and the choice of each move, in the order of play.
    pub moves: Vec<(usize, Value)>,
    /// Why it ended so, in a sentence.
    pub reason: String,
    /// Facts of the game, such as the drawn number; none after a technical loss.
    pub details: Map<String, Value>,
}

impl LocalMatch {
    fn new(
        pairing: Pairing,
        match_id: MatchId,
        players: [Arc<str>; 2],
        course: LocalCourse,
        score: &Score,
    ) -> Self {
        let names = players.each_ref().map(|name| &**name);
        let failures: Vec<String> = (course.failures.iter().zip(names))
            .filter_map(|(failure, name)| Some(format!("{name}: {}", failure.as_ref()?)))
            .collect();
        Self {
            match_id,
            round_id: pairing.round,
            status: course.ending.status(),
            winner: course.ending.winner(),
            points: [0, 1].map(|seat| course.ending.points(seat, score)),
            reason: if failures.is_empty() {
                course.table.reason(&names)
            } else {
                failures.join("; ")
            },
            details: course.table.details(),
            moves: course.moves,
            players,
        }
    }
}
