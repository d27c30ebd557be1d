//! The matches of a league as they end, a line each, and the summary after the last one.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use league_core::league::format::FormatPlan;
use league_core::league::{Event, Lever};
use league_protocol::fault::Code;
use league_protocol::id::{LeagueId, MatchId, PlayerId};
use league_protocol::message::{MatchResult, MatchStatus, StandingRow};
use league_protocol::sender::Agent;
use league_protocol::time::Timestamp;
use league_web::model::ModelSum;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use crate::cli::text::{WIDTH, count, cut, one_line, paragraph, print_standings};
use crate::storage::root::Root;
use crate::wire::observed::{self, Count, Deviations, MANAGER, ObservedDocument};

/// How many rows of the standings are printed; `standings.json` holds all.
const MAX_ROWS: usize = 50;

/// How many kinds of deviations are printed of an agent, and how many players of a cause; the JSON of
/// the summary holds all.
const MAX_KINDS_SHOWN: usize = 5;
const MAX_LOSERS_SHOWN: usize = 8;

/// The widest name of a player in a line on a terminal, in columns.
const MAX_NAME: usize = 20;

/// How wide a line may be, and a name in it, in columns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LineWidth {
    line: usize,
    name: usize,
}

impl LineWidth {
    /// The width of the terminal; unbounded where the output is not a terminal.
    pub(crate) fn here() -> Self {
        if !io::stdout().is_terminal() {
            return Self {
                line: usize::MAX,
                name: usize::MAX,
            };
        }
        let size = rustix::termios::tcgetwinsize(io::stdout());
        let columns = size.map_or(0, |size| usize::from(size.ws_col));
        Self {
            // Some terminals do not know their size.
            line: if columns > 0 { columns } else { WIDTH },
            name: MAX_NAME,
        }
    }
}

/// The matches of one league so far.
#[derive(Debug, Default)]
pub(crate) struct Scores {
    /// How many matches the league has.
    pub(crate) total: u64,
    plan: FormatPlan,
    /// How many matches were opened.
    opened: u64,
    /// How many rounds were opened; `None` before the start.
    rounds: Option<u32>,
    /// How many are over.
    pub(crate) done: u64,
    names: BTreeMap<PlayerId, String>,
    /// The players that gave up their seat before the start.
    out: BTreeSet<PlayerId>,
    /// The players that say that a person chooses their moves.
    people: BTreeSet<PlayerId>,
    /// The players that the organiser put out after the start, and how, in a word.
    expelled: BTreeMap<PlayerId, &'static str>,
    /// When the last round was opened.
    round_began: Option<Timestamp>,
    /// When its later matches were given to a referee.
    began: BTreeMap<MatchId, Timestamp>,
    /// Technical losses by cause and player.
    technical: BTreeMap<Code, BTreeMap<PlayerId, u64>>,
    /// Results whose draw is not proven.
    told_draws: u64,
    /// What players told of their language models.
    models: BTreeMap<PlayerId, ModelSum>,
}

/// A finished match.
pub(crate) struct MatchEnd<'e> {
    match_id: &'e MatchId,
    result: &'e MatchResult,
    millis: Option<u64>,
}

impl Scores {
    /// The scores of a league with so many matches; 0 if that is known only when it starts.
    pub(crate) fn new(total: u64, plan: FormatPlan) -> Self {
        Self {
            total,
            plan,
            ..Self::default()
        }
    }

    /// Records an event; gives the match that it ends.
    pub(crate) fn record<'e>(&mut self, at: Timestamp, event: &'e Event) -> Option<MatchEnd<'e>> {
        match event {
            Event::PlayerRegistered {
                player_id, meta, ..
            } => {
                let name = meta.display_name.clone();
                self.names.insert(player_id.clone(), name);
                if meta.human {
                    self.people.insert(player_id.clone());
                }
                if let Some(rounds) = self.rounds {
                    self.total += self.plan.admit(rounds);
                }
            }
            Event::LeagueStarted { .. } => {
                self.rounds = Some(0);
                if self.total == 0 {
                    self.plan.players = self.names.len().saturating_sub(self.out.len()) as u32;
                    self.total = self.plan.total_matches();
                }
            }
            Event::OrganiserActed { act, effect, .. } => {
                self.total += u64::from(effect.replay.is_some());
                self.act(act);
            }
            Event::AgentReturned {
                agent: Agent::Player(id),
                meta,
                ..
            } => {
                self.names.insert(id.clone(), meta.display_name.clone());
            }
            Event::RoundOpened {
                round, pairings, ..
            } => {
                self.rounds = Some(*round);
                self.count_opened(pairings.len());
                self.round_began = Some(at);
                self.began.clear();
            }
            Event::MatchesAdded { pairings, .. } => self.count_opened(pairings.len()),
            Event::MatchesMoved { moves, next, .. } => {
                let moved = moves.iter().map(|moved| &moved.match_id);
                self.begin(at, moved.chain(next));
            }
            Event::ResultRecorded {
                match_id,
                result,
                next,
                ..
            } => {
                self.begin(at, next);
                return Some(self.ended(at, match_id, result));
            }
            _ => {}
        }
        None
    }

    /// Level ties of a knockout have more games than were planned, and a ladder or an arena has as
    /// many as there is time for.
    fn count_opened(&mut self, matches: usize) {
        self.opened += matches as u64;
        self.total = self.total.max(self.opened);
    }

    fn act(&mut self, lever: &Lever) {
        match lever {
            Lever::Rename {
                agent: Agent::Player(id),
                name,
            } => drop(self.names.insert(id.clone(), name.clone())),
            Lever::Reinstate { player_id } => {
                self.out.remove(player_id);
                self.expelled.remove(player_id);
            }
            // Before the start it has no matches.
            lever if self.total == 0 => {
                self.out
                    .extend(lever.put_out().map(|(player, ..)| player.clone()));
            }
            lever => {
                let put_out = lever.put_out();
                self.expelled
                    .extend(put_out.map(|(player, cause, _)| (player.clone(), cause.word())));
            }
        }
    }

    fn begin<'e>(&mut self, at: Timestamp, matches: impl IntoIterator<Item = &'e MatchId>) {
        let matches = matches.into_iter().cloned();
        self.began.extend(matches.map(|match_id| (match_id, at)));
    }

    fn ended<'e>(
        &mut self,
        at: Timestamp,
        match_id: &'e MatchId,
        result: &'e MatchResult,
    ) -> MatchEnd<'e> {
        self.done += 1;
        self.told_draws += u64::from(result.draw.is_none());
        for (player, code) in result.failed.iter() {
            let losers = self.technical.entry(*code).or_default();
            *losers.entry(player.clone()).or_default() += 1;
        }
        for made in &result.evidence.moves {
            if let Some(told) = &made.model {
                self.models
                    .entry(made.player_id.clone())
                    .or_default()
                    .add(told);
            }
        }
        let began = self.began.remove(match_id).or(self.round_began);
        MatchEnd {
            match_id,
            result,
            millis: began.map(|began| at.since(began).as_millis() as u64),
        }
    }

    /// A match as text: one line, or two if the terminal is too narrow.
    pub(crate) fn lines(&self, ended: &MatchEnd<'_>, width: LineWidth) -> String {
        let [counter, what, why] = self.parts(ended, width.name);
        let indent = counter.width();
        let whole = format!("{counter}{what} · {why}");
        if whole.width() <= width.line {
            return whole;
        }
        let what = paragraph(&counter, indent, &what);
        let why = paragraph(&" ".repeat(indent), indent, &why);
        format!("{what}\n{why}")
    }

    /// A match in one sentence.
    pub(crate) fn sentence(&self, ended: &MatchEnd<'_>) -> String {
        let [counter, what, why] = self.parts(ended, usize::MAX);
        format!("{counter}{what} · {why}")
    }

    /// The counter, the outcome and the reason.
    fn parts(&self, ended: &MatchEnd<'_>, longest_name: usize) -> [String; 3] {
        let MatchEnd {
            match_id,
            result,
            millis,
        } = ended;
        let width = self.total.to_string().len();
        let name = |id| self.name(id, longest_name);
        let [a, b] = result.players.each_ref().map(name);
        let outcome = match (&result.winner, result.status) {
            (Some(winner), _) => format!("{} wins", self.bare_name(winner, longest_name)),
            (None, MatchStatus::TechnicalLoss) => "both lose".to_owned(),
            (None, _) => "draw".to_owned(),
        };
        let told = if result.draw.is_none() {
            " · draw not proven"
        } else {
            ""
        };
        let time = millis.map(|millis| format!(" · {millis} ms"));
        [
            format!("{:>width$}/{}  {match_id} ", self.done, self.total),
            format!("{a} – {b}: {outcome}"),
            format!(
                "{}{told}{}",
                one_line(&self.with_names(result, longest_name)),
                time.unwrap_or_default()
            ),
        ]
    }

    /// A match as JSON.
    pub(crate) fn object(&self, ended: &MatchEnd<'_>) -> Value {
        let MatchEnd {
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

    /// Prints the standings, technical losses and deviations.
    pub(crate) fn print_summary(
        &self,
        out: &mut impl Write,
        rows: &[StandingRow],
        deviations: &DeviationSummary,
    ) -> io::Result<()> {
        let people = self.people.iter().map(|player| (player, "human"));
        let expelled = self.expelled.iter().map(|(player, word)| (player, *word));
        let marks = people.chain(expelled);
        let marks = marks.map(|(player, mark)| (player.clone(), mark.to_owned()));
        print_standings(out, rows, MAX_ROWS, &marks.collect())?;
        writeln!(out)?;
        let losses = paragraph("technical losses: ", 4, &self.losses(rows));
        writeln!(out, "{losses}")?;
        if self.told_draws > 0 {
            let (told, done) = (self.told_draws, self.done);
            writeln!(out, "draw not proven: {told} of {done} matches")?;
        }
        if !self.models.is_empty() {
            writeln!(out, "language models, as the players tell:")?;
        }
        for (id, sum) in &self.models {
            let (name, model) = (self.name(id, MAX_NAME), one_line(&sum.model));
            let text = format!("{name}  {model}{}", sum.figures());
            writeln!(out, "{}", paragraph("  ", 4, &text))?;
        }
        let (counts, note) = (deviations.counts.counts(), deviations.note());
        if counts.is_empty() {
            writeln!(out, "deviations: none{note}")?;
        } else {
            writeln!(out, "deviations{note}:")?;
        }
        for (agent, kinds) in counts {
            print_deviations(out, &agent, &kinds)?;
        }
        Ok(())
    }

    /// The standings, technical losses and deviations as JSON.
    pub(crate) fn summary(
        &self,
        league: &LeagueId,
        rows: &[StandingRow],
        deviations: &DeviationSummary,
    ) -> Value {
        let mut summary = json!({
            "event": "standings", "league_id": league, "standings": rows,
            "technical_losses": self.technical_counts(),
            "technical_losses_by_player": self.technical,
            "deviations": deviations.counts.counts(),
        });
        if !self.people.is_empty() {
            summary["people"] = json!(self.people);
        }
        if self.told_draws > 0 {
            summary["draws_not_proven"] = json!(self.told_draws);
        }
        if !self.models.is_empty() {
            summary["language_models"] = json!(self.models);
        }
        if let Some(Observers { names, missing }) = &deviations.observers {
            summary["deviations_seen_by"] = json!(names);
            summary["referees_not_heard"] = json!(missing);
        }
        summary
    }

    /// The technical losses, and how many the table has if the organiser changed that.
    fn losses(&self, rows: &[StandingRow]) -> String {
        let counted: u64 = rows.iter().map(|row| u64::from(row.technical_losses)).sum();
        if counted == self.technical_counts().values().sum::<u64>() {
            return self.causes();
        }
        format!("{counted} in the table; in all results: {}", self.causes())
    }

    fn technical_counts(&self) -> BTreeMap<Code, u64> {
        let causes = self.technical.iter();
        causes
            .map(|(code, losers)| (*code, losers.values().sum()))
            .collect()
    }

    /// How often each cause lost a match, and to whom; the most frequent losers first.
    fn causes(&self) -> String {
        let cause = |(code, losers): (&Code, &BTreeMap<PlayerId, u64>)| {
            let mut losers: Vec<_> = losers.iter().collect();
            losers.sort_by_key(|(_, lost)| std::cmp::Reverse(**lost));
            let total: u64 = losers.iter().map(|(_, lost)| **lost).sum();
            let shown = losers.iter().take(MAX_LOSERS_SHOWN);
            let mut names: Vec<String> = shown
                .map(|(player, lost)| format!("{lost} of {player}"))
                .collect();
            let more = losers.len().saturating_sub(MAX_LOSERS_SHOWN) as u64;
            names.extend((more > 0).then(|| format!("{} more", count(more, "player"))));
            let names = names.join(", ");
            match code {
                // The organiser put these players out, or let them withdraw.
                Code::PlayerNotRegistered => format!("{total} withdrawn or put out ({names})"),
                code => format!("{total} by {code} {} ({names})", code.name()),
            }
        };
        let causes: Vec<String> = self.technical.iter().map(cause).collect();
        if causes.is_empty() {
            return "none".to_owned();
        }
        causes.join(", ")
    }

    fn name(&self, id: &PlayerId, longest: usize) -> String {
        match self.names.get(id) {
            Some(_) => format!("{id} {}", self.bare_name(id, longest)),
            None => id.to_string(),
        }
    }

    fn bare_name(&self, id: &PlayerId, longest: usize) -> String {
        let name = self.names.get(id).map_or(id.as_str(), String::as_str);
        match cut(name, longest) {
            whole if whole.len() == name.len() => name.to_owned(),
            start => format!("{}…", start.trim_end()),
        }
    }

    /// The reason of a result, with the names of its players in place of their ids.
    fn with_names(&self, result: &MatchResult, longest: usize) -> String {
        let is_id = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
        let mut rest = result.reason.as_str();
        let mut text = String::new();
        while let Some(first) = rest.chars().next() {
            let inside = is_id(first);
            let end = rest.find(|letter| is_id(letter) != inside);
            let (piece, after) = rest.split_at(end.unwrap_or(rest.len()));
            match result.players.iter().find(|id| id.as_str() == piece) {
                Some(id) => text.push_str(&self.bare_name(id, longest)),
                None => text.push_str(piece),
            }
            rest = after;
        }
        text
    }
}

/// Prints the deviations of an agent, the most frequent kinds first. A kind is counted over messages
/// of all types, so its detail is that of one of them.
fn print_deviations(out: &mut impl Write, agent: &str, kinds: &[Count]) -> io::Result<()> {
    let mut counts: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for Count {
        kind,
        count,
        detail,
    } in kinds
    {
        let all = counts.entry((&kind.path, detail)).or_default();
        *all = all.saturating_add(*count);
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    for ((path, detail), count) in counts.iter().take(MAX_KINDS_SHOWN) {
        let such_as = if *count > 1 { ", such as" } else { "" };
        let detail = one_line(detail);
        let text = format!("{agent}  {count}× `{path}`{such_as}: {detail}");
        writeln!(out, "{}", paragraph("  ", 4, &text))?;
    }
    match counts.len().saturating_sub(MAX_KINDS_SHOWN) as u64 {
        0 => Ok(()),
        more => writeln!(
            out,
            "  {agent}  and {}, on its page",
            count(more, "more kind")
        ),
    }
}

/// How long the manager waits for the last files of the referees.
const MAX_WAIT: Duration = Duration::from_secs(3);
/// How often it looks for them.
const POLL: Duration = Duration::from_millis(20);

/// Deviations of the agents of a league, and who counted them: in `league run` one process sees all,
/// a manager has the files of the referees beside its own counts.
pub(crate) struct DeviationSummary {
    /// The counts of all observers.
    pub(crate) counts: Deviations,
    /// None if one process saw the whole league.
    pub(crate) observers: Option<Observers>,
}

/// The observers whose counts a manager has.
pub(crate) struct Observers {
    pub(crate) names: Vec<String>,
    /// How many referees left no counts.
    pub(crate) missing: usize,
}

impl DeviationSummary {
    /// The counts of the one process that holds the whole league.
    pub(crate) fn of_one_process(deviations: &Deviations) -> Self {
        Self {
            counts: deviations.clone(),
            observers: None,
        }
    }

    /// The counts of a manager and its referees, in a league that ended at `over`.
    pub(crate) async fn of_all(
        own: &Deviations,
        root: &Root,
        league: &LeagueId,
        referees: usize,
        over: Timestamp,
    ) -> Self {
        let until = tokio::time::Instant::now() + MAX_WAIT;
        let mut documents = of_referees(root, league);
        let complete = |documents: &[ObservedDocument]| {
            let last = documents
                .iter()
                .filter(|document| document.last_updated >= over);
            last.count() >= referees
        };
        while !complete(&documents) && tokio::time::Instant::now() < until {
            tokio::time::sleep(POLL).await;
            documents = of_referees(root, league);
        }
        Self::sum(own, documents, referees)
    }

    /// The same for a league that ended long ago: nothing is waited for.
    pub(crate) fn of_files(
        own: &Deviations,
        root: &Root,
        league: &LeagueId,
        referees: usize,
    ) -> Self {
        Self::sum(own, of_referees(root, league), referees)
    }

    fn sum(own: &Deviations, documents: Vec<ObservedDocument>, referees: usize) -> Self {
        let deviations = Deviations::default();
        for (agent, counts) in own.counts() {
            deviations.restore(&agent, counts);
        }
        let mut names = vec![MANAGER.to_owned()];
        let missing = referees.saturating_sub(documents.len());
        for document in documents {
            for (agent, seen) in document.agents {
                deviations.restore(&agent, seen.deviations);
            }
            names.push(document.observer);
        }
        Self {
            counts: deviations,
            observers: Some(Observers { names, missing }),
        }
    }

    /// Who counted, if counts are missing.
    pub(crate) fn note(&self) -> String {
        match &self.observers {
            Some(Observers { names, missing }) if *missing > 0 => match names.len() - 1 {
                0 => " (counted by the manager only)".to_owned(),
                referees => format!(
                    " (counted by the manager and {}; {missing} more missing)",
                    count(referees as u64, "referee")
                ),
            },
            _ => String::new(),
        }
    }
}

/// The files of the referees; the manager's own file lags behind its memory.
fn of_referees(root: &Root, league: &LeagueId) -> Vec<ObservedDocument> {
    let mut documents = observed::all(root, league);
    documents.retain(|document| document.observer != MANAGER);
    documents
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use league_core::league::Effect;

    use crate::wire::observed::{AgentObserved, Kind};

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
    fn damaged_journal_may_put_out_a_player_that_never_came() {
        let mut scores = Scores::new(0, FormatPlan::default());
        let at = Timestamp::default();
        let player_id = PlayerId::numbered(7);
        let withdrawn = Event::OrganiserActed {
            act: Box::new(Lever::Withdraw { player_id }),
            reason: String::new(),
            effect: Effect::default(),
            at,
        };
        scores.record(at, &withdrawn);
        scores.record(at, &Event::LeagueStarted { at });
        assert_eq!(scores.total, 0);
    }

    #[test]
    fn counts_of_several_observers_are_added() {
        let own = Deviations::default();
        own.restore("player:P01", counted(2));
        let told = vec![document("REF01", 3), document("REF02", 5)];
        let all = DeviationSummary::sum(&own, told, 2);
        assert_eq!(all.counts.counts()["player:P01"][0].count, 10);
        assert_eq!(all.note(), "");
    }

    #[test]
    fn referees_without_counts_are_noted() {
        let own = Deviations::default();
        let alone = DeviationSummary::sum(&own, Vec::new(), 2);
        assert_eq!(alone.note(), " (counted by the manager only)");
        let half = DeviationSummary::sum(&own, vec![document("REF01", 1)], 2);
        assert_eq!(
            half.note(),
            " (counted by the manager and 1 referee; 1 more missing)"
        );
        assert_eq!(DeviationSummary::of_one_process(&own).note(), "");
    }

    #[test]
    fn technical_losses_that_do_not_count_are_told_apart() {
        let mut scores = Scores::new(1, FormatPlan::default());
        let (match_id, at) = (MatchId::numbered(1, 1), Timestamp::default());
        scores.ended(at, &match_id, &result(&[(1, Code::PlayerNotRegistered)]));
        // No row has a technical loss: the organiser annulled the match.
        let told = scores.losses(&[]);
        assert!(
            told.starts_with("0 in the table; in all results: 1 "),
            "{told}"
        );
    }

    fn result(failed: &[(u32, Code)]) -> MatchResult {
        let failed = failed.iter();
        MatchResult {
            players: [PlayerId::numbered(1), PlayerId::numbered(2)],
            status: MatchStatus::Draw,
            winner: None,
            points: [1, 1],
            failed: failed
                .map(|(player, code)| (PlayerId::numbered(*player), *code))
                .collect(),
            choices: Default::default(),
            details: Default::default(),
            reason: "drawn\nstandings: P02 has won".to_owned(),
            draw: None,
            evidence: Default::default(),
        }
    }

    #[test]
    fn technical_losses_name_the_players_that_had_most_of_them() {
        let (mut scores, match_id) = (
            Scores::new(1, FormatPlan::default()),
            MatchId::numbered(1, 1),
        );
        assert_eq!(scores.causes(), "none");
        for failed in [&[(2, Code::Timeout)][..], &[(2, Code::Timeout)]] {
            scores.ended(Timestamp::default(), &match_id, &result(failed));
        }
        let both = [(1, Code::Timeout), (2, Code::InvalidMove)];
        scores.ended(Timestamp::default(), &match_id, &result(&both));
        assert_eq!(
            scores.causes(),
            "3 by E001 TIMEOUT_ERROR (2 of P02, 1 of P01), 1 by E004 INVALID_PARITY_CHOICE (1 of P02)"
        );
        assert_eq!(scores.technical_counts()[&Code::Timeout], 3);
        let ten: Vec<_> = (1..=10).map(|player| (player, Code::Timeout)).collect();
        let mut scores = Scores::new(1, FormatPlan::default());
        scores.ended(Timestamp::default(), &match_id, &result(&ten));
        assert!(
            scores.causes().ends_with("1 of P08, 2 players more)"),
            "{}",
            scores.causes()
        );
    }

    #[test]
    fn summary_shows_the_most_frequent_deviations_of_an_agent() {
        let mut kinds: Vec<Count> = (1..=8).flat_map(counted).collect();
        for (number, count) in (1..).zip(&mut kinds) {
            count.kind.path = format!("member_{number}");
        }
        // By another clause, and the same to people.
        kinds.extend(kinds.last().cloned());
        let mut text = Vec::new();
        print_deviations(&mut text, "player:P01", &kinds).unwrap();
        assert_eq!(
            String::from_utf8(text).unwrap(),
            "  player:P01  16× `member_8`, such as: add it\n  \
             player:P01  7× `member_7`, such as: add it\n  \
             player:P01  6× `member_6`, such as: add it\n  \
             player:P01  5× `member_5`, such as: add it\n  \
             player:P01  4× `member_4`, such as: add it\n  \
             player:P01  and 3 more kinds, on its page\n"
        );
    }

    #[test]
    fn reason_of_a_referee_stays_on_its_line() {
        let result = result(&[]);
        let ended = MatchEnd {
            match_id: &MatchId::new("R1M1").unwrap(),
            result: &result,
            millis: None,
        };
        let shown = Scores::new(1, FormatPlan::default()).sentence(&ended);
        assert_eq!(shown.lines().count(), 1, "{shown}");
        assert!(shown.ends_with("draw not proven"), "{shown}");
    }
}
