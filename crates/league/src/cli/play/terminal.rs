//! A seat in the terminal: prints turns and results, and reads moves line by line.
//!
//! On a terminal a line counts for the turn that is shown. From a pipe a line is read only when a
//! turn is open, so that a script may write all its moves at once.

use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::sync::Arc;
use std::thread;

use league_core::player::{MatchOutcome, MatchRecord, PlayerPhase};
use league_games::{PictureRow, SeatPicture, Tone};
use league_protocol::fault::Code;
use league_protocol::id::{MatchId, PlayerId};
use league_web::page::label;
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};

use crate::agents::seat::last_move::{last_picture, opens};
use crate::agents::seat::{ExternalSeat, SeatNews, ShownTurn};
use crate::cli::Output;
use crate::cli::screen::{self, Screen};
use crate::cli::text::{one_line, paragraph, print_object, print_standings};

/// The longest line that is read as a move, in bytes; the rest of it is dropped.
const MAX_LINE: usize = 4_096;

/// Matches whose latest turn is kept, so that their last position can be drawn.
const OPEN_MATCHES: usize = 64;

/// The terminal of a person.
pub(super) struct Terminal {
    seat: Arc<ExternalSeat>,
    output: Output,
    /// The names of players that are known from the start.
    names: Vec<(PlayerId, String)>,
    out: Screen<io::Stdout>,
    /// The turn on the screen.
    shown: Option<ShownTurn>,
    /// The latest turn of each match that is being played, the oldest first.
    latest: Vec<ShownTurn>,
    /// The matches whose results were printed.
    printed: Vec<MatchId>,
    /// The last missed move that was told.
    missed: Option<(MatchId, u32)>,
    is_in: bool,
}

impl Terminal {
    pub(super) fn new(
        seat: Arc<ExternalSeat>,
        output: Output,
        names: Vec<(PlayerId, String)>,
    ) -> Self {
        Self {
            seat,
            output,
            names,
            out: screen::output(),
            shown: None,
            latest: Vec::new(),
            printed: Vec::new(),
            missed: None,
            is_in: false,
        }
    }

    /// Shows the seat until the league is over, or its player ends.
    pub(super) fn show(mut self, over: watch::Receiver<bool>) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()?;
        let shown = runtime.block_on(self.follow(over));
        self.refresh()?;
        self.table()?;
        shown
    }

    async fn follow(&mut self, mut over: watch::Receiver<bool>) -> io::Result<()> {
        let is_terminal = io::stdin().is_terminal();
        let mut lines = lines();
        let mut changes = self.seat.changes();
        let mut has_input = true;
        loop {
            changes.mark_unchanged();
            self.refresh()?;
            if self.seat.news().phase == Some(PlayerPhase::Completed) {
                return Ok(());
            }
            let reads = has_input && (is_terminal || self.shown.is_some());
            tokio::select! {
                biased;
                _ = over.wait_for(|over| *over) => return Ok(()),
                changed = changes.changed() => if changed.is_err() {
                    return Ok(());
                },
                line = lines.recv(), if reads => match line {
                    Some(line) => self.take(&line)?,
                    None => {
                        has_input = false;
                        if self.output == Output::Text {
                            writeln!(self.out)?;
                        }
                        self.leave()?;
                    }
                },
            }
        }
    }

    /// Prints what has changed.
    fn refresh(&mut self) -> io::Result<()> {
        let news = self.seat.news();
        if let (false, Some(PlayerPhase::Enrolled), Some(id)) =
            (self.is_in, news.phase, &news.player_id)
        {
            self.is_in = true;
            let sentence = format!("you are {id}; the league begins when all players are in");
            self.tell(&json!({"event": "seated", "player_id": id}), &sentence)?;
        }
        if news.missed != self.missed {
            self.missed.clone_from(&news.missed);
            self.tell_missed(&news)?;
        }
        let is_new = |record: &&Arc<MatchRecord>| !self.printed.contains(&record.match_id);
        let fresh: Vec<_> = news.results.iter().filter(is_new).cloned().collect();
        for record in fresh {
            self.result(&record, &news)?;
        }
        let shown = news.results.iter().map(|record| record.match_id.clone());
        self.printed = shown.collect();
        let open = self.seat.turn();
        let known = self.shown.as_ref().map(|known| Arc::clone(&known.think));
        let is_shown = |turn: &&ShownTurn| {
            known
                .as_ref()
                .is_some_and(|known| Arc::ptr_eq(known, &turn.think))
        };
        if let Some(turn) = open.as_ref().filter(|turn| !is_shown(turn)) {
            self.latest
                .retain(|latest| latest.think.match_id != turn.think.match_id);
            if self.latest.len() == OPEN_MATCHES {
                self.latest.remove(0);
            }
            self.latest.push(turn.clone());
            self.turn(turn, &news)?;
        }
        self.shown = open;
        Ok(())
    }

    fn tell_missed(&mut self, news: &SeatNews) -> io::Result<()> {
        let Some((match_id, number)) = news.missed.as_ref().filter(|_| !self.seat.is_left()) else {
            return Ok(());
        };
        let strategy = self.seat.fallback.name;
        let sentence = format!("your time is over: the strategy `{strategy}` moved for you");
        let object = json!({
            "event": "late", "match_id": match_id, "number": number, "moved_by": strategy,
        });
        self.tell(&object, &sentence)
    }

    fn result(&mut self, record: &MatchRecord, news: &SeatNews) -> io::Result<()> {
        let outcome = match record.result {
            MatchOutcome::Win => "you won",
            MatchOutcome::Draw => "a draw",
            MatchOutcome::Loss => "you lost",
            MatchOutcome::TechnicalLoss => "you lost by not playing",
        };
        let opponent = self.name(&record.opponent_id, news);
        self.last_position(record, news, &opponent)?;
        let mut sentence = format!("{} against {opponent}: {outcome}", record.match_id);
        // A hidden choice is told at the end; of games with many moves the position says more.
        if let (Some(own), Some(other)) = (&record.my_choice, &record.opponent_choice)
            && own.is_string()
        {
            let (own, other) = (label(own), label(other));
            sentence = format!("{sentence}; you chose {own}, {opponent} chose {other}");
        }
        let object = json!({
            "event": "match", "match_id": record.match_id, "opponent_id": record.opponent_id,
            "result": record.result, "points": record.points,
            "my_choice": record.my_choice, "opponent_choice": record.opponent_choice,
        });
        self.tell(&object, &sentence)
    }

    /// Draws the position in which a match ended, if its moves tell it.
    fn last_position(
        &mut self,
        record: &MatchRecord,
        news: &SeatNews,
        opponent: &str,
    ) -> io::Result<()> {
        let mut turns = self.latest.iter();
        let place = turns.position(|turn| turn.think.match_id == record.match_id);
        let turn = place.map(|place| self.latest.remove(place));
        let (Some(turn), Some(own), Output::Text) = (turn, &news.player_id, self.output) else {
            return Ok(());
        };
        let opened = opens(&turn.think, own);
        let Some(picture) = opened.and_then(|opened| last_picture(record, opened)) else {
            return Ok(());
        };
        let facts = Vec::new();
        let position = SeatPicture { picture, facts };
        writeln!(self.out)?;
        for line in drawn(&position)
            .into_iter()
            .chain(legend(&position, opponent))
        {
            writeln!(self.out, "{line}")?;
        }
        Ok(())
    }

    fn name(&self, player: &PlayerId, news: &SeatNews) -> String {
        let known = self.names.iter().find(|(id, _)| id == player);
        one_line(&known.map_or_else(|| news.name_of(player), |(_, name)| name.clone()))
    }

    fn turn(&mut self, turn: &ShownTurn, news: &SeatNews) -> io::Result<()> {
        let think = &turn.think;
        let answered = turn.answered(news.player_id.as_ref());
        let seconds = turn.time_left().as_secs();
        if self.output == Output::Json {
            let object = json!({
                "event": "turn", "match_id": think.match_id, "number": think.turn,
                "game_type": think.game_type, "opponent_id": think.opponent_id,
                "opponent_chose": answered, "view": think.view, "legal_moves": think.options,
                "seconds_left": seconds,
            });
            return print_object(&mut self.out, &object);
        }
        let opponent = self.name(&think.opponent_id, news);
        writeln!(self.out)?;
        writeln!(
            self.out,
            "{} against {opponent}, your move {}, {seconds} s left",
            think.match_id, think.turn
        )?;
        if !answered.is_empty() {
            let chose: Vec<String> = answered.iter().map(label).collect();
            writeln!(self.out, "{opponent} chose {}", one_line(&chose.join(", ")))?;
        }
        let position = SeatPicture::of(&think.view, &think.options);
        for line in drawn(&position)
            .into_iter()
            .chain(legend(&position, &opponent))
        {
            writeln!(self.out, "{line}")?;
        }
        let moves = moves(&think.options);
        writeln!(self.out, "{}", paragraph("moves: ", 7, &moves))?;
        self.ask()
    }

    fn ask(&mut self) -> io::Result<()> {
        if self.output == Output::Text {
            write!(self.out, "> ")?;
        }
        self.out.flush()
    }

    /// Takes a line of the person.
    fn take(&mut self, line: &str) -> io::Result<()> {
        let line = line.trim();
        if self.output == Output::Text && !io::stdin().is_terminal() {
            // A terminal shows what is typed.
            writeln!(self.out, "{line}")?;
        }
        let Some(turn) = self.shown.clone() else {
            let sentence = "no move is wanted now; wait for your turn";
            return self.tell(&json!({"event": "refused", "error": sentence}), sentence);
        };
        match line {
            "" => return self.ask(),
            "?" => return self.rules(&turn),
            _ => {}
        }
        let think = &turn.think;
        let choice = meant(line, &think.options);
        let match_id = Some(think.match_id.as_str());
        let made = self
            .seat
            .make_move(match_id, &think.turn.into(), &choice, None);
        match (made, self.output) {
            (Ok(choice), Output::Json) => {
                self.shown = None;
                let object = json!({
                    "event": "moved", "match_id": think.match_id, "number": think.turn,
                    "choice": choice,
                });
                print_object(&mut self.out, &object)
            }
            (Ok(_), Output::Text) => {
                self.shown = None;
                Ok(())
            }
            (Err(error), _) => {
                let sentence = match (error.code, self.output) {
                    (Code::InvalidMove, Output::Text) => {
                        let legal = moves(&think.options);
                        format!("not a legal move; choose one of {legal}")
                    }
                    _ => one_line(&error.detail),
                };
                let code = error.code.as_str();
                let object = json!({"event": "refused", "error": sentence, "code": code});
                self.tell(&object, &format!("`{line}`: {sentence}"))?;
                self.ask()
            }
        }
    }

    fn rules(&mut self, turn: &ShownTurn) -> io::Result<()> {
        let listing = league_games::find(turn.think.game_type.as_str());
        let text = listing.map_or("the rules of this game are not known here", |listing| {
            listing.rules.rules_text
        });
        if self.output == Output::Json {
            return print_object(&mut self.out, &json!({"event": "rules", "rules": text}));
        }
        for part in text.lines() {
            writeln!(self.out, "{}", paragraph("", 0, part))?;
        }
        self.ask()
    }

    /// Leaves the seat to the strategy.
    fn leave(&mut self) -> io::Result<()> {
        self.seat.set_left(true);
        self.shown = None;
        let strategy = self.seat.fallback.name;
        let sentence =
            format!("you left the seat: the strategy `{strategy}` makes your moves from now on");
        self.tell(&json!({"event": "left", "moved_by": strategy}), &sentence)
    }

    /// Prints the standings as far as they are known.
    fn table(&mut self) -> io::Result<()> {
        let news = self.seat.news();
        let Some(rows) = &news.standings else {
            return Ok(());
        };
        let rows: Vec<_> = rows.iter().cloned().collect();
        if self.output == Output::Json {
            let object = json!({"event": "standings", "standings": rows});
            return print_object(&mut self.out, &object);
        }
        writeln!(self.out)?;
        let own = news.player_id.iter();
        let own = own.map(|id| (id.clone(), "human".to_owned())).collect();
        print_standings(&mut self.out, &rows, usize::MAX, &own)
    }

    fn tell(&mut self, object: &Value, sentence: &str) -> io::Result<()> {
        match self.output {
            Output::Json => print_object(&mut self.out, object),
            Output::Text => {
                writeln!(self.out, "{sentence}")?;
                self.out.flush()
            }
        }
    }
}

/// Reads lines on a thread of its own; the channel closes at the end of the input.
fn lines() -> mpsc::Receiver<String> {
    let (tell, lines) = mpsc::channel(1);
    thread::spawn(move || {
        let mut input = io::stdin().lock();
        while let Ok(Some(line)) = next_line(&mut input) {
            // The receiver may be gone.
            if tell.blocking_send(line).is_err() {
                break;
            }
        }
    });
    lines
}

/// The next line, cut to its bound; `None` at the end of the input.
fn next_line(input: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    let read = input.take(MAX_LINE as u64).read_until(b'\n', &mut line)?;
    if read == MAX_LINE && !line.ends_with(b"\n") {
        input.skip_until(b'\n')?;
    }
    Ok((read > 0).then(|| String::from_utf8_lossy(&line).into_owned()))
}

/// The legal moves: numbers as they are, all else numbered from 1.
fn moves(options: &[Value]) -> String {
    let is_number = options.iter().all(Value::is_number);
    let named = |(place, option): (usize, &Value)| match is_number {
        true => label(option),
        false => format!("{}) {}", place + 1, label(option)),
    };
    let all: Vec<String> = options.iter().enumerate().map(named).collect();
    all.join(" ")
}

/// The move that a line means: by its words, or by its number in the list unless moves are numbers.
fn meant(line: &str, options: &[Value]) -> Value {
    let mut all = options.iter();
    let by_words = all.find(|option| label(option).eq_ignore_ascii_case(line));
    let place = line.parse::<usize>().ok();
    let place = place.filter(|_| !options.iter().all(Value::is_number));
    let by_place = place.and_then(|place| options.get(place.checked_sub(1)?));
    let meant = by_words.or(by_place).cloned();
    meant.unwrap_or_else(|| Value::String(line.to_owned()))
}

/// Whose the marks on a board are; nothing if there are none yet, or no board.
fn legend(position: &SeatPicture, opponent: &str) -> Option<String> {
    let rows = position.picture.rows.iter();
    let cells = rows
        .filter(|row| row.label.is_none())
        .flat_map(|row| &row.cells);
    let mark = |tone: Tone| {
        let cell = cells.clone().find(|cell| cell.tone == tone)?;
        Some(one_line(&cell.text))
    };
    let own = mark(Tone::A).map(|mark| format!("{mark} is yours"));
    let other = mark(Tone::B).map(|mark| format!("{mark} belongs to {opponent}"));
    let both: Vec<String> = own.into_iter().chain(other).collect();
    (!both.is_empty()).then(|| format!("  {}", both.join(", ")))
}

/// A position as lines of text.
fn drawn(position: &SeatPicture) -> Vec<String> {
    let rows = &position.picture.rows;
    let text = |text: &str| match text {
        "" => ".".to_owned(),
        text => one_line(text),
    };
    let cells = || rows.iter().flat_map(|row| &row.cells);
    let width = cells().map(|cell| text(&cell.text).chars().count()).max();
    let width = width.unwrap_or(0);
    let row = |row: &PictureRow| {
        let label = row.label.as_ref().map(|label| format!("{label}: "));
        let cells = row.cells.iter();
        let cells = cells.map(|cell| format!("{:>width$}", text(&cell.text)));
        let cells: Vec<String> = cells.collect();
        format!("  {}{}", label.unwrap_or_default(), cells.join(" "))
    };
    let fact = |(name, value): &(String, String)| {
        paragraph("  ", 4, &format!("{name}: {}", one_line(value)))
    };
    let facts = position.facts.iter().map(fact);
    rows.iter().map(row).chain(facts).collect()
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    /// A match of tic-tac-toe with these moves, ours first.
    fn record(own: Value, other: Value) -> MatchRecord {
        serde_json::from_value(json!({
            "league_id": "spring", "round_id": 1, "match_id": "R1M1", "game_type": "tic_tac_toe",
            "opponent_id": "P02", "result": "WIN", "points": 3, "my_choice": own,
            "opponent_choice": other, "at": "2025-01-15T10:30:00Z",
        }))
        .unwrap()
    }

    #[test]
    fn last_position_is_drawn_from_the_moves_of_both() {
        let won = record(json!([0, 1, 2]), json!([3, 4]));
        let picture = last_picture(&won, true).unwrap();
        let facts = Vec::new();
        let position = SeatPicture { picture, facts };
        let lines = drawn(&position).join("\n");
        let legend = legend(&position, "Ada").unwrap();
        assert_snapshot!(format!("{lines}\n{legend}"), @r"
          X X X
          O O .
          . . .
          X is yours, O belongs to Ada
        ");
        let lost = record(json!([3, 4]), json!([0, 1, 2]));
        let seen = last_picture(&lost, false).unwrap();
        assert_eq!(seen.rows[0].cells[0].tone, Tone::B, "the opponent opened");
        for (own, other) in [([0, 1], [3, 4]), ([0, 0], [3, 4])] {
            let unfinished = record(json!(own), json!(other));
            assert_eq!(last_picture(&unfinished, true), None);
        }
    }

    #[test]
    fn board_is_drawn_as_a_grid_with_the_moves_below() {
        let view = json!({
            "board": [[null, null, null], ["red", "yellow", null]], "your_disc": "red",
        });
        let options = [json!(0), json!(2)];
        let mut shown = drawn(&SeatPicture::of(&view, &options)).join("\n");
        shown.push_str(&format!("\n{}", moves(&options)));
        assert_snapshot!(shown, @r"
          0 1 2
          . . .
          ● ○ .
          your disc: red
        0 2
        ");
    }

    #[test]
    fn line_is_cut_to_its_bound() {
        let long = "x".repeat(MAX_LINE);
        for (rest, cut) in [("", &*long), ("yyy", &long)] {
            let text = format!("{long}{rest}\n3\n");
            let mut input = text.as_bytes();
            let mut next = || next_line(&mut input).unwrap();
            assert_eq!(next().as_deref(), Some(cut));
            assert_eq!(next().as_deref(), Some("3\n"));
            assert_eq!(next(), None);
        }
    }

    #[test]
    fn move_is_meant_by_its_word_or_its_number_in_the_list() {
        let words = [json!("rock"), json!("paper")];
        assert_eq!(moves(&words), "1) rock 2) paper");
        for (line, choice) in [
            ("rock", "rock"),
            ("PAPER", "paper"),
            ("2", "paper"),
            ("3", "3"),
        ] {
            assert_eq!(meant(line, &words), json!(choice), "{line}");
        }
        let numbers = [json!(0), json!(3)];
        assert_eq!(meant("3", &numbers), json!(3));
        assert_eq!(meant("1", &numbers), json!("1"));
    }
}
