//! The matches of a league as they end, a line each, and how it all came out.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};

use league_core::league::Event;
use league_protocol::fault::Code;
use league_protocol::id::{LeagueId, MatchId, PlayerId};
use league_protocol::message::{MatchResult, MatchStatus, StandingRow};
use league_protocol::time::Timestamp;
use serde_json::{Value, json};

use crate::paragraph::{WIDTH, paragraph};

use super::forgiven::{Forgiven, SeenBy};
use super::table;

/// How many rows of the table are shown to people; all stand in `standings.json`.
const MOST_ROWS: usize = 50;

/// The longest name of a player in a line on a terminal, in characters.
const LONGEST_NAME: usize = 20;

/// How many characters a line may have, and a name in it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    line: usize,
    name: usize,
}

impl Room {
    /// As much as the terminal has; without end where nobody looks at it as it comes.
    pub(super) fn here() -> Self {
        if !io::stdout().is_terminal() {
            return Self {
                line: usize::MAX,
                name: usize::MAX,
            };
        }
        let size = ratatui::crossterm::terminal::size();
        Self {
            line: size.map_or(WIDTH, |(columns, _)| usize::from(columns)),
            name: LONGEST_NAME,
        }
    }
}

/// What is known of the matches of one league.
#[derive(Debug, Default)]
pub(super) struct Scores {
    /// How many matches there will be.
    pub(super) total: u64,
    /// How many are over.
    pub(super) done: u64,
    names: BTreeMap<PlayerId, String>,
    began: BTreeMap<MatchId, Timestamp>,
    technical: BTreeMap<Code, u64>,
}

/// How one match ended.
pub(super) struct Ended<'e> {
    match_id: &'e MatchId,
    result: &'e MatchResult,
    millis: Option<u64>,
}

impl Scores {
    /// The scores of a league with so many matches, or one that will have as many as its players
    /// make up when it begins.
    pub(super) fn of(total: u64) -> Self {
        Self {
            total,
            ..Self::default()
        }
    }

    /// Takes in what happened; gives the match that is over by it.
    pub(super) fn take_in<'e>(&mut self, at: Timestamp, event: &'e Event) -> Option<Ended<'e>> {
        match event {
            Event::PlayerRegistered {
                player_id, meta, ..
            } => {
                let name = meta.display_name.clone();
                self.names.insert(player_id.clone(), name);
            }
            Event::LeagueStarted { .. } if self.total == 0 => {
                let players = self.names.len() as u64;
                self.total = players * players.saturating_sub(1) / 2;
            }
            Event::MatchAccepted { match_id, .. } => {
                self.began.insert(match_id.clone(), at);
            }
            Event::ResultRecorded {
                match_id, result, ..
            } => return Some(self.ended(at, match_id, result)),
            _ => {}
        }
        None
    }

    fn ended<'e>(
        &mut self,
        at: Timestamp,
        match_id: &'e MatchId,
        result: &'e MatchResult,
    ) -> Ended<'e> {
        self.done += 1;
        for code in result.failed.values() {
            *self.technical.entry(*code).or_default() += 1;
        }
        let began = self.began.remove(match_id);
        Ended {
            match_id,
            result,
            millis: began.map(|began| at.since(began).as_millis() as u64),
        }
    }

    /// A match for people, in one line; where that has no room: what, and below it why.
    pub(super) fn lines(&self, ended: &Ended<'_>, room: Room) -> String {
        let [counter, what, why] = self.told(ended, room.name);
        let indent = counter.chars().count();
        let whole = format!("{counter}{what} · {why}");
        if whole.chars().count() <= room.line {
            return whole;
        }
        let what = paragraph(&counter, indent, &what);
        let why = paragraph(&" ".repeat(indent), indent, &why);
        format!("{what}\n{why}")
    }

    /// A match in one sentence.
    pub(super) fn sentence(&self, ended: &Ended<'_>) -> String {
        let [counter, what, why] = self.told(ended, usize::MAX);
        format!("{counter}{what} · {why}")
    }

    /// How many are over, how the match ended, and why.
    fn told(&self, ended: &Ended<'_>, longest_name: usize) -> [String; 3] {
        let Ended {
            match_id,
            result,
            millis,
        } = ended;
        let width = self.total.to_string().len();
        let name = |id| self.name(id, longest_name);
        let [a, b] = result.players.each_ref().map(name);
        let outcome = match (&result.winner, result.status) {
            (Some(winner), _) => format!("{winner} wins"),
            (None, MatchStatus::TechnicalLoss) => "both lose".to_owned(),
            (None, _) => "draw".to_owned(),
        };
        let time = millis.map(|millis| format!(" · {millis} ms"));
        [
            format!("{:>width$}/{}  {match_id} ", self.done, self.total),
            format!("{a} – {b}: {outcome}"),
            format!("{}{}", result.reason, time.unwrap_or_default()),
        ]
    }

    /// A match for machines.
    pub(super) fn object(&self, ended: &Ended<'_>) -> Value {
        let Ended {
            match_id,
            result,
            millis,
        } = ended;
        json!({
            "event": "match", "number": self.done, "of": self.total, "match_id": match_id,
            "players": result.players, "status": result.status, "winner": result.winner,
            "reason": result.reason, "failed": result.failed, "milliseconds": millis,
        })
    }

    /// Prints the table, technical losses and deviations.
    ///
    /// # Errors
    ///
    /// The output may be closed.
    pub(super) fn close(
        &self,
        out: &mut impl Write,
        rows: &[StandingRow],
        forgiven: &Forgiven,
    ) -> io::Result<()> {
        table::standings(out, rows, MOST_ROWS)?;
        writeln!(out)?;
        writeln!(out, "technical losses: {}", causes(&self.technical))?;
        let (counts, note) = (forgiven.deviations.counts(), forgiven.note());
        if counts.is_empty() {
            writeln!(out, "deviations: none{note}")?;
        } else {
            writeln!(out, "deviations{note}:")?;
        }
        for (agent, kinds) in counts {
            for kind in kinds {
                let path = &kind.kind.path;
                let text = format!("{agent}  {}× `{path}`: {}", kind.count, kind.detail);
                writeln!(out, "{}", paragraph("  ", 4, &text))?;
            }
        }
        Ok(())
    }

    /// The table, technical losses and deviations for machines.
    pub(super) fn closing(
        &self,
        league: &LeagueId,
        rows: &[StandingRow],
        forgiven: &Forgiven,
    ) -> Value {
        let mut closing = json!({
            "event": "standings", "league_id": league, "standings": rows,
            "technical_losses": self.technical, "deviations": forgiven.deviations.counts(),
        });
        if let Some(SeenBy { observers, silent }) = &forgiven.seen_by {
            closing["deviations_seen_by"] = json!(observers);
            closing["referees_not_heard"] = json!(silent);
        }
        closing
    }

    fn name(&self, id: &PlayerId, longest: usize) -> String {
        match self.names.get(id) {
            Some(name) => match name.char_indices().nth(longest) {
                Some((end, _)) => format!("{id} {}…", name[..end].trim_end()),
                None => format!("{id} {name}"),
            },
            None => id.to_string(),
        }
    }
}

fn causes(technical: &BTreeMap<Code, u64>) -> String {
    if technical.is_empty() {
        return "none".to_owned();
    }
    let causes = technical
        .iter()
        .map(|(code, count)| format!("{count} by {} {}", code.as_str(), code.name()));
    causes.collect::<Vec<_>>().join(", ")
}
