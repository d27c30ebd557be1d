//! Brackets: ties whose players are seeds, or winners and losers of earlier ties.
//!
//! A format lists its ties stage by stage; the results so far are played into them. All ties of a
//! stage are over before the next stage begins, and each stage takes as many rounds as its longest
//! tie has games. A tie with one player is won by it without a game.
//!
//! A tie has as many games as the league has legs, sides alternate, and it ends early once one
//! player cannot be caught. A level tie has further games, one at a time. A player that leaves stays
//! in the bracket and loses the games that it does not play. What the organiser says of a game
//! counts for its tie until the next round has begun; a game that is annulled by then is played
//! again, unless a player was put out.

use std::ops::RangeInclusive;

use super::view::{BracketPart, BracketPlace, BracketTie, FormatView};
use super::{FormatError, FormatPlan, FormatRule, NextRound, SoFar};
use crate::league::schedule::Pairing;
use crate::league::standings::MatchEnding;

/// How many further games a level tie has at most. After them the player with fewer technical losses
/// in the tie goes on, or else the higher seed.
const MAX_FURTHER_GAMES: u32 = 6;

/// How many stages there are until one player is left.
pub(crate) fn stages(players: u32) -> u32 {
    players.max(1).next_power_of_two().trailing_zeros()
}

/// How large a bracket is.
pub(crate) struct BracketSize {
    /// Stages that are played in any case.
    pub(crate) stages: u32,
    /// Stages that are played after an upset.
    pub(crate) more_stages: u32,
    /// Ties that are played in any case.
    pub(crate) ties: u32,
}

impl BracketSize {
    /// The size of a knockout with a tie for the third place.
    pub(crate) fn of_knockout(players: u32) -> Self {
        Self {
            stages: stages(players),
            more_stages: 0,
            ties: players.saturating_sub(1) + u32::from(players >= 4),
        }
    }

    /// How many rounds there are if no tie is ever level.
    pub(crate) fn rounds(&self, plan: &FormatPlan) -> u32 {
        self.stages.saturating_mul(least_games(plan.legs))
    }

    pub(crate) fn max_rounds(&self, plan: &FormatPlan) -> u32 {
        (self.stages + self.more_stages).saturating_mul(most_games(plan.legs))
    }

    /// How many matches there are if no tie is ever level.
    pub(crate) fn matches(&self, plan: &FormatPlan) -> u64 {
        u64::from(self.ties) * u64::from(least_games(plan.legs))
    }
}

/// How many games decide a tie that is never level.
fn least_games(legs: u32) -> u32 {
    legs / 2 + 1
}

const fn most_games(legs: u32) -> u32 {
    legs.saturating_add(MAX_FURTHER_GAMES)
}

/// A format that is one bracket.
pub(crate) struct Elimination {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) min_players: u32,
    /// The size of the bracket of so many players.
    pub(crate) size: fn(u32) -> BracketSize,
    pub(crate) ties: fn(u32) -> Vec<PlannedTie>,
}

impl Elimination {
    fn read(&self, so_far: &SoFar<'_>) -> Bracket {
        let ties = (self.ties)(so_far.players());
        Bracket::read(&ties, so_far, 1..=so_far.rounds())
    }
}

impl FormatRule for Elimination {
    fn name(&self) -> &'static str {
        self.name
    }

    fn title(&self) -> &'static str {
        self.title
    }

    fn min_players(&self) -> u32 {
        self.min_players
    }

    fn check(&self, plan: &FormatPlan) -> Result<(), FormatError> {
        plan.must_have_no_rounds()
    }

    fn rounds(&self, plan: &FormatPlan) -> u32 {
        (self.size)(plan.players).rounds(plan)
    }

    fn max_rounds(&self, plan: &FormatPlan) -> u32 {
        (self.size)(plan.players).max_rounds(plan)
    }

    fn total_matches(&self, plan: &FormatPlan) -> u64 {
        (self.size)(plan.players).matches(plan)
    }

    fn next_round(&self, so_far: &SoFar<'_>) -> Option<NextRound> {
        self.read(so_far).next_round()
    }

    fn progress(&self, so_far: &SoFar<'_>) -> Option<Vec<u32>> {
        Some(self.read(so_far).progress)
    }

    fn views(&self, so_far: &SoFar<'_>) -> Vec<FormatView> {
        vec![self.read(so_far).view(&(self.ties)(so_far.players()))]
    }
}

/// The places of the first stage, so that seeds meet as late as they can; `None` for a rest.
pub(crate) fn first_places(players: u32) -> Vec<Option<u32>> {
    let mut seeds = vec![0_u32];
    for _ in 0..stages(players) {
        let last = 2 * seeds.len() as u32 - 1;
        seeds = seeds.iter().flat_map(|&seed| [seed, last - seed]).collect();
    }
    let places = seeds.into_iter();
    places
        .map(|seed| (seed < players).then_some(seed))
        .collect()
}

/// Where a player of a tie comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Source {
    /// `None` for a place that stays empty.
    Player(Option<u32>),
    /// The winner of the tie with this number.
    Winner(usize),
    Loser(usize),
    /// The player at this place of the tie once more, if the first has lost it; else an empty place.
    AfterUpset(usize, usize),
}

/// A tie of a bracket before its players are known.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlannedTie {
    /// Ties are listed in the order of their stages.
    pub(crate) stage: u32,
    pub(crate) part: BracketPart,
    pub(crate) from: [Source; 2],
    /// How far the loser has come if it goes on nowhere; both have come one further as they enter.
    pub(crate) rank: u32,
}

/// Adds the ties of a stage, two sources each; returns their numbers.
pub(crate) fn add_ties(
    ties: &mut Vec<PlannedTie>,
    (part, stage, rank): (BracketPart, u32, u32),
    sources: &[Source],
) -> Vec<usize> {
    let first = ties.len();
    let pairs = sources.chunks_exact(2).map(|pair| PlannedTie {
        stage,
        part,
        from: [pair[0], pair[1]],
        rank,
    });
    ties.extend(pairs);
    (first..ties.len()).collect()
}

/// Knockout: the loser of a tie is out. Players are seeded by their ids, so that the first two can
/// meet only in the final; if they are not a power of two, the first seeds rest in the first stage.
/// The losers of the semi-finals play for the third place.
pub(crate) static KNOCKOUT: Elimination = Elimination {
    name: "knockout",
    title: "knockout",
    min_players: 2,
    size: BracketSize::of_knockout,
    ties: |players| knockout(&first_places(players)),
};

/// The ties of a knockout among these places, a power of two; with a tie for the third place.
pub(crate) fn knockout(places: &[Option<u32>]) -> Vec<PlannedTie> {
    let mut ties: Vec<PlannedTie> = Vec::new();
    let mut sources: Vec<Source> = places.iter().map(|place| Source::Player(*place)).collect();
    let mut stage = 0;
    while sources.len() > 1 {
        let added = add_ties(&mut ties, (BracketPart::Main, stage, 4 * stage), &sources);
        if let ([_], Some(before)) = (&added[..], added[0].checked_sub(2)) {
            // The losers of the semi-finals, below both finalists.
            let losers = [Source::Loser(before), Source::Loser(before + 1)];
            let place = (BracketPart::ThirdPlace, stage, 4 * stage - 2);
            add_ties(&mut ties, place, &losers);
        }
        sources = added.into_iter().map(Source::Winner).collect();
        stage += 1;
    }
    ties
}

/// The bracket as far as it is played.
pub(crate) struct Bracket {
    /// The ties that have begun.
    ties: Vec<Tie>,
    /// The tie that each player plays, or played last.
    tie_of: Vec<usize>,
    /// How far each player has come; 0 for a player outside the bracket.
    pub(crate) progress: Vec<u32>,
}

impl Bracket {
    /// Plays these rounds into the ties.
    pub(crate) fn read(
        planned: &[PlannedTie],
        so_far: &SoFar<'_>,
        mut rounds: RangeInclusive<u32>,
    ) -> Self {
        let mut bracket = Self {
            ties: Vec::with_capacity(planned.len()),
            tie_of: vec![usize::MAX; so_far.players() as usize],
            progress: vec![0; so_far.players() as usize],
        };
        for stage in planned.chunk_by(|one, other| one.stage == other.stage) {
            let first = bracket.begin(stage, so_far.plan().legs);
            while bracket.ties[first..].iter().any(Tie::is_open) {
                let Some(round) = rounds.next() else {
                    return bracket;
                };
                for pairing in so_far.pairings(round) {
                    let ending = so_far.settled(pairing);
                    // A match of the present round may not be over.
                    if ending.is_some() || round < so_far.rounds() {
                        bracket.play(pairing, ending);
                    }
                }
            }
            for (tie, planned) in bracket.ties[first..].iter().zip(stage) {
                if let Some(loser) = tie.loser() {
                    bracket.progress[loser as usize] = planned.rank;
                }
            }
        }
        bracket
    }

    /// The games of the next round; `None` if the bracket is over.
    pub(crate) fn next_round(&self) -> Option<NextRound> {
        let open = self.ties.iter().filter(|tie| tie.is_open());
        NextRound::of(open.filter_map(Tie::next_seats).collect())
    }

    /// All ties, with the players and sources that are known.
    pub(crate) fn view(&self, planned: &[PlannedTie]) -> FormatView {
        let mut ties: Vec<BracketTie> = Vec::with_capacity(planned.len());
        for (number, plan) in planned.iter().enumerate() {
            let begun = self.ties.get(number);
            let places = [0, 1].map(|side| match begun {
                Some(tie) => tie.places[side].map_or(BracketPlace::Empty, BracketPlace::Player),
                None => self.place(plan.from[side], &ties),
            });
            let wins = |place| match place {
                BracketPlace::Player(player) => begun.map_or(0, |tie| tie.wins_of(player)),
                _ => 0,
            };
            ties.push(BracketTie {
                part: plan.part,
                stage: plan.stage,
                places,
                wins: places.map(wins),
                winner: begun.and_then(Tie::winner),
                games: begun.map_or_else(Vec::new, |tie| tie.games.clone()),
            });
        }
        FormatView::Bracket(ties)
    }

    /// The place of a tie that has not begun; `before` are the ties that are listed before it.
    fn place(&self, source: Source, before: &[BracketTie]) -> BracketPlace {
        if let Some(player) = self.resolve(source) {
            return BracketPlace::Player(player);
        }
        match source {
            Source::Player(_) => BracketPlace::Empty,
            Source::Winner(tie) => match before[tie].places {
                [BracketPlace::Empty, place] | [place, BracketPlace::Empty] => place,
                _ => BracketPlace::WinnerOf(tie),
            },
            Source::Loser(tie) if before[tie].places.contains(&BracketPlace::Empty) => {
                BracketPlace::Empty
            }
            Source::Loser(tie) => BracketPlace::LoserOf(tie),
            // The player of the first place won, so no tie follows.
            Source::AfterUpset(tie, _) if before[tie].winner.is_some() => BracketPlace::Empty,
            // The first place has lost by then.
            Source::AfterUpset(tie, 0) => BracketPlace::LoserOf(tie),
            Source::AfterUpset(tie, _) => BracketPlace::WinnerOf(tie),
        }
    }

    /// Adds the ties of a stage; returns the number of the first.
    fn begin(&mut self, stage: &[PlannedTie], legs: u32) -> usize {
        let first = self.ties.len();
        for planned in stage {
            let places = planned.from.map(|source| self.resolve(source));
            for player in places.iter().flatten() {
                self.progress[*player as usize] = planned.rank + 1;
                self.tie_of[*player as usize] = self.ties.len();
            }
            self.ties.push(Tie::new(places, planned.stage, legs));
        }
        first
    }

    fn resolve(&self, source: Source) -> Option<u32> {
        match source {
            Source::Player(player) => player,
            Source::Winner(tie) => self.ties.get(tie)?.winner(),
            Source::Loser(tie) => self.ties.get(tie)?.loser(),
            Source::AfterUpset(tie, place) => {
                let upset = self.ties.get(tie).filter(|it| it.is_upset());
                upset?.places[place]
            }
        }
    }

    fn play(&mut self, pairing: Pairing, ending: Option<MatchEnding>) {
        let tie = self.tie_of[pairing.seats[0] as usize];
        if let Some(tie) = self.ties.get_mut(tie) {
            tie.play(pairing, ending);
        }
    }
}

/// Two players, of whom one goes on.
struct Tie {
    /// As the bracket has them.
    places: [Option<u32>; 2],
    /// Whether the lower seed has seat A in the first game.
    is_turned: bool,
    legs: u32,
    /// Of the higher seed and the lower.
    wins: [u32; 2],
    technical_losses: [u32; 2],
    /// All games, also those that do not count.
    games: Vec<Pairing>,
    /// Games that count.
    counted: u32,
    /// Whether neither player appeared.
    is_deserted: bool,
}

impl Tie {
    fn new(places: [Option<u32>; 2], stage: u32, legs: u32) -> Self {
        Self {
            places,
            is_turned: !stage.is_multiple_of(2),
            legs,
            wins: [0; 2],
            technical_losses: [0; 2],
            games: Vec::new(),
            counted: 0,
            is_deserted: false,
        }
    }

    /// The higher seed first; `None` if a place is empty.
    fn players(&self) -> Option<[u32; 2]> {
        let [one, other] = self.places;
        let (one, other) = (one?, other?);
        Some([one.min(other), one.max(other)])
    }

    fn play(&mut self, pairing: Pairing, ending: Option<MatchEnding>) {
        self.games.push(pairing);
        let (Some(ending), Some(players)) = (ending, self.players()) else {
            return;
        };
        self.counted += 1;
        self.is_deserted |= ending == MatchEnding::BothForfeit;
        for (at, player) in players.iter().enumerate() {
            let seat = usize::from(pairing.seats[1] == *player);
            self.wins[at] += u32::from(ending.winner() == Some(seat));
            self.technical_losses[at] += u32::from(ending.forfeited(seat));
        }
    }

    fn next_seats(&self) -> Option<[u32; 2]> {
        let [one, other] = self.players()?;
        Some(match self.games.len().is_multiple_of(2) != self.is_turned {
            true => [one, other],
            false => [other, one],
        })
    }

    fn wins_of(&self, player: u32) -> u32 {
        let players = self.players().into_iter().flatten();
        let mut wins = players.zip(self.wins);
        wins.find(|(own, _)| *own == player)
            .map_or(0, |(_, wins)| wins)
    }

    fn is_open(&self) -> bool {
        self.players().is_some() && self.winner().is_none()
    }

    /// The player that goes on; `None` while the tie is open.
    fn winner(&self) -> Option<u32> {
        let Some(players) = self.players() else {
            return self.places[0].or(self.places[1]);
        };
        let [one, other] = self.wins;
        let left = self.legs.saturating_sub(self.counted);
        let is_last = self.games.len() >= most_games(self.legs) as usize;
        let is_over = one.abs_diff(other) > left || is_last || self.is_deserted;
        let [failed, other_failed] = self.technical_losses;
        let is_other = other.cmp(&one).then(failed.cmp(&other_failed)).is_gt();
        is_over.then(|| players[usize::from(is_other)])
    }

    fn loser(&self) -> Option<u32> {
        let (players, winner) = (self.players()?, self.winner()?);
        players.into_iter().find(|player| *player != winner)
    }

    /// Whether the player of the second place won against that of the first.
    fn is_upset(&self) -> bool {
        self.loser().is_some() && self.loser() == self.places[0]
    }
}
