//! The matches of a league as they end, a line each, and how it all came out.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use league_core::league::Event;
use league_protocol::fault::Code;
use league_protocol::id::{LeagueId, MatchId, PlayerId};
use league_protocol::message::{MatchResult, MatchStatus, StandingRow};
use league_protocol::time::Timestamp;
use serde_json::{Value, json};

use crate::cli::text::{WIDTH, count, paragraph, standings};
use crate::storage::root::Root;
use crate::wire::deviations::Deviations;
use crate::wire::observed::{self, MANAGER, ObservedDocument};

/// How many rows of the table are shown to people; all stand in `standings.json`.
const MOST_ROWS: usize = 50;

/// The longest name of a player in a line on a terminal, in characters.
const LONGEST_NAME: usize = 20;

/// How many characters a line may have, and a name in it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    line: usize,
    name: usize,
}

impl Room {
    /// As much as the terminal has; without end where nobody looks at it as it comes.
    pub(crate) fn here() -> Self {
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
pub(crate) struct Scores {
    /// How many matches there will be.
    pub(crate) total: u64,
    /// How many are over.
    pub(crate) done: u64,
    names: BTreeMap<PlayerId, String>,
    began: BTreeMap<MatchId, Timestamp>,
    technical: BTreeMap<Code, u64>,
}

/// How one match ended.
pub(crate) struct Ended<'e> {
    match_id: &'e MatchId,
    result: &'e MatchResult,
    millis: Option<u64>,
}

impl Scores {
    /// The scores of a league with so many matches, or one that will have as many as its players
    /// make up when it begins.
    pub(crate) fn of(total: u64) -> Self {
        Self {
            total,
            ..Self::default()
        }
    }

    /// Takes in what happened; gives the match that is over by it.
    pub(crate) fn take_in<'e>(&mut self, at: Timestamp, event: &'e Event) -> Option<Ended<'e>> {
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
    pub(crate) fn lines(&self, ended: &Ended<'_>, room: Room) -> String {
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
    pub(crate) fn sentence(&self, ended: &Ended<'_>) -> String {
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
    pub(crate) fn object(&self, ended: &Ended<'_>) -> Value {
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
    pub(crate) fn close(
        &self,
        out: &mut impl Write,
        rows: &[StandingRow],
        forgiven: &Forgiven,
    ) -> io::Result<()> {
        standings(out, rows, MOST_ROWS)?;
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
    pub(crate) fn closing(
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

/// How long the last files of referees are waited for.
const LONGEST_WAIT: Duration = Duration::from_secs(3);
/// How often it is looked whether they are there.
const LOOK: Duration = Duration::from_millis(20);

/// What agents were forgiven.
pub(crate) struct Forgiven {
    /// By all who saw it.
    pub(crate) deviations: Deviations,
    /// Whose counts these are; none if one process saw all.
    pub(crate) seen_by: Option<SeenBy>,
}

/// Whose counts a manager has.
pub(crate) struct SeenBy {
    /// Those who told what they saw.
    pub(crate) observers: Vec<String>,
    /// How many referees told nothing.
    pub(crate) silent: usize,
}

impl Forgiven {
    /// What one process saw that holds the whole league.
    pub(crate) fn in_one(deviations: &Deviations) -> Self {
        Self {
            deviations: deviations.clone(),
            seen_by: None,
        }
    }

    /// What a manager saw, and so many referees of a league that is over since then.
    pub(crate) async fn by_all(
        own: &Deviations,
        root: &Root,
        league: &LeagueId,
        referees: usize,
        over: Timestamp,
    ) -> Self {
        let until = tokio::time::Instant::now() + LONGEST_WAIT;
        let mut told = told(root, league);
        let whole = |told: &[ObservedDocument]| {
            let last = told.iter().filter(|document| document.last_updated >= over);
            last.count() >= referees
        };
        while !whole(&told) && tokio::time::Instant::now() < until {
            tokio::time::sleep(LOOK).await;
            told = self::told(root, league);
        }
        Self::of(own, told, referees)
    }

    fn of(own: &Deviations, told: Vec<ObservedDocument>, referees: usize) -> Self {
        let deviations = Deviations::default();
        for (agent, counts) in own.counts() {
            deviations.restore(&agent, counts);
        }
        let mut observers = vec![MANAGER.to_owned()];
        let silent = referees.saturating_sub(told.len());
        for document in told {
            for (agent, seen) in document.agents {
                deviations.restore(&agent, seen.deviations);
            }
            observers.push(document.observer);
        }
        Self {
            deviations,
            seen_by: Some(SeenBy { observers, silent }),
        }
    }

    /// Who saw it, if that is not everybody.
    pub(crate) fn note(&self) -> String {
        match &self.seen_by {
            Some(SeenBy { observers, silent }) if *silent > 0 => match observers.len() - 1 {
                0 => " (seen by the manager only)".to_owned(),
                told => format!(
                    " (seen by the manager and {}, not by {silent} more)",
                    count(told as u64, "referee")
                ),
            },
            _ => String::new(),
        }
    }
}

/// What others told; the manager's own file lags behind what it knows.
fn told(root: &Root, league: &LeagueId) -> Vec<ObservedDocument> {
    let mut told = observed::all(root, league);
    told.retain(|document| document.observer != MANAGER);
    told
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use crate::wire::deviations::{Count, Kind};
    use crate::wire::observed::AgentObserved;

    use super::*;

    fn counted(count: u64) -> Vec<Count> {
        vec![Count {
            kind: Kind {
                code: "E003".to_owned(),
                path: "sender".to_owned(),
                clause: "000 §2.4.1".to_owned(),
            },
            count,
            detail: "add it".to_owned(),
        }]
    }

    fn document(observer: &str, count: u64) -> ObservedDocument {
        let seen = AgentObserved {
            deviations: counted(count),
            ..AgentObserved::default()
        };
        ObservedDocument {
            schema_version: "1.0.0".to_owned(),
            league_id: LeagueId::new("one").unwrap(),
            observer: observer.to_owned(),
            last_updated: Timestamp::default(),
            version: 1,
            agents: BTreeMap::from([("player:P01".to_owned(), seen)]),
        }
    }

    #[test]
    fn what_several_saw_is_added_up() {
        let own = Deviations::default();
        own.restore("player:P01", counted(2));
        let told = vec![document("REF01", 3), document("REF02", 5)];
        let all = Forgiven::of(&own, told, 2);
        assert_eq!(all.deviations.counts()["player:P01"][0].count, 10);
        assert_eq!(all.note(), "");
    }

    #[test]
    fn whoever_told_nothing_is_missed() {
        let own = Deviations::default();
        let alone = Forgiven::of(&own, Vec::new(), 2);
        assert_eq!(alone.note(), " (seen by the manager only)");
        let half = Forgiven::of(&own, vec![document("REF01", 1)], 2);
        assert_eq!(
            half.note(),
            " (seen by the manager and 1 referee, not by 1 more)"
        );
        assert_eq!(Forgiven::in_one(&own).note(), "");
    }
}
