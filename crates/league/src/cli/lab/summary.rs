//! What the results of a lab show, as text, JSON, CSV and a page: the table, the cross table, and
//! whether it is more than luck.

use std::io::{self, Write};

use league_core::lab::LabScores;
use league_core::rating::{Interval, LuckTest, PairScore, Ratings, luck_test, share, sign_test};
use league_core::strategy::Strategy;
use league_protocol::id::GameType;
use league_web::report::{PlainTable, write_tables};
use serde_json::{Value, json};

use crate::cli::text::{count, paragraph};

/// The results of a lab, and what follows from them.
pub(super) struct LabSummary {
    game: GameType,
    matches: u64,
    seed: u64,
    names: Vec<&'static str>,
    pairs: Vec<PairScore>,
    /// The matches that seat A won, drew and lost.
    first_seat: [u64; 3],
    ratings: Ratings,
    luck: LuckTest,
}

impl LabSummary {
    pub(super) fn new(
        game: &GameType,
        strategies: &[&'static Strategy],
        scores: LabScores,
        (matches, seed): (u64, u64),
    ) -> Self {
        let names: Vec<_> = strategies.iter().map(|strategy| strategy.name).collect();
        Self {
            game: game.clone(),
            matches,
            seed,
            ratings: Ratings::estimate(names.len(), &scores.seated, true),
            luck: luck_test(names.len(), &scores.seated),
            names,
            pairs: scores.pairs(),
            first_seat: scores
                .seated
                .iter()
                .fold([0; 3], |[wins, draws, losses], score| {
                    [
                        wins + score.wins,
                        draws + score.draws,
                        losses + score.losses,
                    ]
                }),
        }
    }

    pub(super) fn print(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "{}", self.title())?;
        for table in self.tables() {
            writeln!(out, "\n{}", table.title)?;
            print_table(out, &table)?;
        }
        writeln!(out)?;
        for note in self.notes() {
            writeln!(out, "{}", paragraph("", 0, &note))?;
        }
        Ok(())
    }

    pub(super) fn html(&self) -> String {
        write_tables(&self.title(), &self.notes(), &self.tables())
    }

    /// A line for each pair.
    pub(super) fn csv(&self) -> String {
        let mut text = "strategy_A,strategy_B,wins_A,draws,wins_B,p\r\n".to_owned();
        for pair in &self.pairs {
            let PairScore {
                wins,
                draws,
                losses,
                ..
            } = pair;
            let [a, b] = [pair.first, pair.second].map(|at| self.names[at]);
            let p = sign_test(*wins, *losses);
            text += &format!("{a},{b},{wins},{draws},{losses},{p:.6}\r\n");
        }
        text
    }

    pub(super) fn json(&self) -> Value {
        let row = |&player: &usize| {
            let [wins, draws, losses] = self.sums(player);
            let rating = self.ratings.rating(player);
            let ranks = self.ratings.rank_group(player);
            let Interval { low, high } = self.share(player);
            json!({
                "strategy": self.names[player], "rank_best": ranks.best, "rank_worst": ranks.worst,
                "rating": rating.map(|it| rounded(it.elo)), "error": rating.map(|it| rounded(it.error())),
                "wins": wins, "draws": draws, "losses": losses,
                "share_low": rounded(low), "share_high": rounded(high),
            })
        };
        let pair = |pair: &PairScore| {
            json!({
                "strategies": [self.names[pair.first], self.names[pair.second]],
                "wins": pair.wins, "draws": pair.draws, "losses": pair.losses,
                "p": rounded(sign_test(pair.wins, pair.losses)),
            })
        };
        let [first, draws, second] = self.first_seat;
        let seat_a = self.ratings.seat_advantage().map(|seat| {
            let Interval { low, high } = seat.interval;
            json!({"share": rounded(seat.share), "low": rounded(low), "high": rounded(high)})
        });
        json!({
            "event": "lab", "game_type": self.game, "seed": self.seed,
            "matches_per_pair": self.matches,
            "strategies": self.ratings.order().iter().map(row).collect::<Vec<_>>(),
            "pairs": self.pairs.iter().map(pair).collect::<Vec<_>>(),
            "first_seat": {"wins": first, "draws": draws, "losses": second},
            "seat_a_among_equals": seat_a,
            "luck": {
                "chi_square": rounded(self.luck.chi_square), "degrees": self.luck.degrees,
                "p": rounded(self.luck.p), "is_luck": self.luck.is_luck(),
            },
            "certainty_of_first": rounded(self.ratings.certainty_of_first()),
        })
    }

    fn title(&self) -> String {
        format!(
            "{}: {} strategies, {} matches a pair, seed {}",
            self.game,
            self.names.len(),
            self.matches,
            self.seed
        )
    }

    /// Wins, draws and losses of a strategy against all others.
    fn sums(&self, player: usize) -> [u64; 3] {
        let mut sums = [0; 3];
        for pair in &self.pairs {
            let counts = match player {
                at if at == pair.first => [pair.wins, pair.draws, pair.losses],
                at if at == pair.second => [pair.losses, pair.draws, pair.wins],
                _ => continue,
            };
            for (sum, count) in sums.iter_mut().zip(counts) {
                *sum += count;
            }
        }
        sums
    }

    fn share(&self, player: usize) -> Interval {
        let [wins, draws, losses] = self.sums(player);
        share(points(wins, draws), wins + draws + losses)
    }

    fn tables(&self) -> Vec<PlainTable> {
        vec![self.ranking(), self.cross_table()]
    }

    fn ranking(&self) -> PlainTable {
        let head = [
            "rank", "strategy", "rating", "±", "won", "drawn", "lost", "points %",
        ];
        let row = |&player: &usize| {
            let [wins, draws, losses] = self.sums(player);
            let games = wins + draws + losses;
            let found = 100.0 * points(wins, draws) / games.max(1) as f64;
            let Interval { low, high } = self.share(player);
            let (rating, error) = match self.ratings.rating(player) {
                Some(it) => (format!("{:+.0}", it.elo), format!("{:.0}", it.error())),
                None => ("–".to_owned(), "–".to_owned()),
            };
            vec![
                self.ratings.rank_group(player).to_string(),
                self.names[player].to_owned(),
                rating,
                error,
                wins.to_string(),
                draws.to_string(),
                losses.to_string(),
                format!("{found:.1} ({:.1}–{:.1})", 100.0 * low, 100.0 * high),
            ]
        };
        PlainTable {
            title:
                "ratings on the Elo scale, with 95 % intervals; ranks that may be equal are a group"
                    .to_owned(),
            head: head.map(str::to_owned).to_vec(),
            rows: self.ratings.order().iter().map(row).collect(),
        }
    }

    /// The share of points of each row against each column, in the order of the ranking.
    fn cross_table(&self) -> PlainTable {
        let order = self.ratings.order();
        let mut head = vec!["#".to_owned(), "strategy".to_owned()];
        head.extend((1..=order.len()).map(|place| place.to_string()));
        let row = |(place, &player): (usize, &usize)| {
            let mut cells = vec![(place + 1).to_string(), self.names[player].to_owned()];
            cells.extend(order.iter().map(|&other| self.against(player, other)));
            cells
        };
        PlainTable {
            title: "share of points against each other, in % (a draw is half a point)".to_owned(),
            head,
            rows: order.iter().enumerate().map(row).collect(),
        }
    }

    fn against(&self, player: usize, other: usize) -> String {
        let (a, b) = (player.min(other), player.max(other));
        let mut pairs = self.pairs.iter();
        let found = pairs.find(|pair| (pair.first, pair.second) == (a, b));
        let Some(pair) = found else {
            return "–".to_owned();
        };
        let wins = if pair.first == player {
            pair.wins
        } else {
            pair.losses
        };
        let share = 100.0 * points(wins, pair.draws) / pair.games().max(1) as f64;
        format!("{share:.0}")
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = vec![self.luck_note()];
        if let [pair] = &self.pairs[..] {
            notes.push(self.pair_note(pair));
        }
        if !self.luck.is_luck()
            && let Some(&first) = self.ratings.order().first()
        {
            let percent = 100.0 * self.ratings.certainty_of_first();
            let percent = if percent > 99.0 {
                "more than 99".to_owned()
            } else {
                format!("{percent:.0}")
            };
            let name = self.names[first];
            notes.push(format!(
                "`{name}` has the highest rating; it is truly the strongest of them with a \
                 probability of {percent} %."
            ));
        }
        notes.push(self.seat_note());
        notes
    }

    fn luck_note(&self) -> String {
        let LuckTest {
            chi_square,
            degrees,
            p,
        } = self.luck;
        let degrees_text = count(degrees, "degree");
        let figures = format!(
            "chi-square {chi_square:.1} with {degrees_text} of freedom, {}",
            p_text(p)
        );
        if degrees == 0 {
            "No match was decided, so nothing shows who is stronger.".to_owned()
        } else if self.luck.is_luck() {
            format!("This is luck: equal strategies give such results ({figures}).")
        } else {
            format!("This is more than luck ({figures}).")
        }
    }

    fn pair_note(&self, pair: &PairScore) -> String {
        let sides = [(pair.wins, pair.first), (pair.losses, pair.second)];
        let [(losses, other), (wins, one)] = if pair.wins < pair.losses {
            sides
        } else {
            [sides[1], sides[0]]
        };
        let (one, other) = (self.names[one], self.names[other]);
        let p = sign_test(wins, losses);
        let verdict = if p < 0.05 {
            "not by luck"
        } else {
            "perhaps by luck"
        };
        format!(
            "`{one}` won {wins} and `{other}` {losses} of the decided matches, {verdict} (sign test, {}).",
            p_text(p)
        )
    }

    fn seat_note(&self) -> String {
        match self.ratings.seat_advantage() {
            Some(seat) => seat.sentence(),
            None => "No match was decided by the seat.".to_owned(),
        }
    }
}

fn points(wins: u64, draws: u64) -> f64 {
    wins as f64 + draws as f64 / 2.0
}

fn p_text(p: f64) -> String {
    if p < 0.001 {
        "p < 0.001".to_owned()
    } else {
        format!("p = {p:.3}")
    }
}

/// A figure with as many digits as it deserves.
pub(super) fn rounded(figure: f64) -> f64 {
    const DIGITS: f64 = 1e6;
    (figure * DIGITS).round() / DIGITS
}

/// Prints a table; the names are aligned at the left, all else at the right.
fn print_table(out: &mut impl Write, table: &PlainTable) -> io::Result<()> {
    let lines: Vec<&Vec<String>> = std::iter::once(&table.head).chain(&table.rows).collect();
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|line| line.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..table.head.len()).map(width).collect();
    for line in lines {
        for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
            if column == 1 {
                write!(out, "  {cell:<width$}")?;
            } else {
                write!(out, "  {cell:>width$}")?;
            }
        }
        writeln!(out)?;
    }
    Ok(())
}
