//! Plays all rules one after another and grades them: a verdict for each, one grade for all.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::caller::Caller;
use crate::exchange::Exchange;
use crate::quote::quote;
use crate::reply::Reply;
use crate::rule::{Judgement, Level, Rule, Topic, Trouble};
use crate::stage::Stage;
use crate::trial::CanPlay;
use crate::wire::{HttpConnection, NoAnswer, RoundTrip};

/// After so many rules in silence, an agent that has not answered at all is not asked again.
const MAX_SILENT_RULES: u32 = 3;
/// How many characters of an exchange are shown.
const MAX_QUOTE: usize = 480;

/// The outcome of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// The agent keeps it.
    Pass,
    /// The agent breaks it in a way that a lenient league forgives.
    Deviation,
    /// The agent breaks it.
    Fail,
    /// It could not be played, or does not apply to this agent.
    Skipped,
}

impl Verdict {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Deviation => "deviation",
            Self::Fail => "fail",
            Self::Skipped => "skipped",
        }
    }
}

/// One line of the report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub topic: &'static str,
    /// The full id of the rule: `P-JOIN-03`.
    pub id: String,
    pub title: Cow<'static, str>,
    pub clause: &'static str,
    pub level: Level,
    pub verdict: Verdict,
    /// What was found, or why it was skipped; empty for a pass.
    pub found: String,
    /// How to fix it, or what to do so that it can be played; empty for a pass.
    pub fix: String,
    /// What was sent, cut and safe to print.
    pub sent: String,
    /// What came back, cut and safe to print.
    pub came: String,
    pub took: Duration,
}

impl Finding {
    /// A passed rule, before it is judged.
    pub(crate) fn passed(
        topic: &'static str,
        id: String,
        title: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            topic,
            id,
            title: title.into(),
            clause: "",
            level: Level::Must,
            verdict: Verdict::Pass,
            found: String::new(),
            fix: String::new(),
            sent: String::new(),
            came: String::new(),
            took: Duration::ZERO,
        }
    }

    /// Judges the outcome of a rule.
    #[must_use]
    pub fn judged(mut self, ending: RuleEnd, judgement: Judgement) -> Self {
        let (found, forgiven) = match judgement {
            Ok(()) if ending.crashed.is_none() => return self,
            Ok(()) => (String::new(), false),
            Err(Trouble::Skipped { reason, hint }) => {
                self.verdict = Verdict::Skipped;
                self.found = ending.quote(&reason);
                hint.clone_into(&mut self.fix);
                return self;
            }
            Err(Trouble::Broken(_)) if ending.is_not_owed() => {
                self.verdict = Verdict::Skipped;
                self.found = "refused, which a strict agent may do".into();
                return self;
            }
            Err(Trouble::Broken(found)) => (found, self.level == Level::Should),
            Err(Trouble::Forgiven(found)) => (found, true),
        };
        self.verdict = if forgiven && !ending.strict && ending.crashed.is_none() {
            Verdict::Deviation
        } else {
            Verdict::Fail
        };
        ending.fix.clone_into(&mut self.fix);
        self.tell(&found, &ending);
        self
    }

    fn tell(&mut self, found: &str, ending: &RuleEnd) {
        self.found = ending.quote(found);
        if let Some(crash) = &ending.crashed {
            let crash = ending.quote(crash);
            if !self.found.contains(&crash) {
                let joint = if self.found.is_empty() { "" } else { "; " };
                self.found = format!("{}{joint}{crash}", self.found);
            }
        }
        let Some(trip) = &ending.last else {
            return;
        };
        self.sent = ending.quote(&trip.sent);
        self.came = match &trip.came {
            Ok(answer) => {
                let body = ending.quote(&answer.text());
                match trip.overheard {
                    Some(whom) => format!("the agent itself called {whom} with {body}"),
                    None => format!("HTTP {} {body}", answer.status),
                }
            }
            Err(silence) => ending.quote(&silence.to_string()),
        };
    }
}

/// The circumstances of a rule's end, besides its judgement.
#[derive(Debug, Clone)]
pub struct RuleEnd {
    pub fix: &'static str,
    pub kindness: bool,
    /// The last exchange.
    pub last: Option<RoundTrip>,
    /// How the agent's process ended during the rule, if it did.
    pub crashed: Option<String>,
    /// Whether nothing is forgiven.
    pub strict: bool,
    /// What the report must not show.
    pub secrets: Vec<String>,
}

impl RuleEnd {
    /// The end of a rule that an agent of any manner owes; an agent that has ended is restarted.
    pub(crate) async fn of(caller: &Caller, fix: &'static str, strict: bool) -> Self {
        let last = caller.last();
        let came = last.as_ref().map(|last| &last.came);
        if matches!(
            came,
            Some(Err(NoAnswer::Closed(_) | NoAnswer::Unreachable(_)))
        ) {
            caller.stage.watch_for_end().await;
        }
        Self {
            fix,
            kindness: false,
            last,
            crashed: caller.stage.revive().await,
            strict,
            secrets: caller.stage.secrets(),
        }
    }

    fn quote(&self, text: &str) -> String {
        quote(text, &self.secrets, MAX_QUOTE)
    }

    /// Whether the agent did not take the connection.
    fn is_unreachable(&self) -> bool {
        let came = self.last.as_ref().map(|last| &last.came);
        matches!(came, Some(Err(NoAnswer::Unreachable(_))))
    }

    /// What is missing if the rule failed; an answer of another type is one for most rules.
    fn lack(&self, rule: &Rule) -> Option<Lack> {
        if !matches!(rule.exchange, Exchange::Ask(_)) {
            return Some(Lack::Everything);
        }
        let reply = self.last.clone().map(Reply::read);
        if reply.is_none_or(|reply| reply.result().is_none()) {
            return Some(Lack::Everything);
        }
        (!rule.exchange.due().is_empty()).then_some(Lack::Type)
    }

    /// Whether a strict agent refused, by an error of JSON-RPC or of the league, a message that it
    /// need not understand.
    fn is_not_owed(&self) -> bool {
        let owed = !self.strict || !self.kindness || self.crashed.is_some();
        let reply = self.last.clone().filter(|_| !owed).map(Reply::read);
        reply.is_some_and(|reply| reply.rpc_error().is_some() || reply.league_error().is_some())
    }
}

/// The progress of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress<'p> {
    pub done: usize,
    pub all: usize,
    /// The topic of the next rule, and the rule without the letter of the kind; none at the end.
    pub next: Option<(&'static str, &'static str)>,
    /// The rule that was just played; none at the start.
    pub last: Option<&'p Finding>,
}

/// Plays the rules of all topics in order, and reports progress before each and at the end. A failed
/// rule does not stop the others, and each has a time limit; a rule is skipped if the answer that it
/// needs did not come to an earlier one.
pub async fn play(
    stage: &Arc<Stage>,
    topics: &[Topic],
    strict: bool,
    tell: &(dyn Fn(Progress<'_>) + Sync),
) -> Vec<Finding> {
    let all = topics.iter().map(|topic| topic.rules.len()).sum();
    let mut findings = Vec::new();
    let mut lacking = Lacking::default();
    for topic in topics {
        for rule in &topic.rules {
            tell(Progress {
                done: findings.len(),
                all,
                next: Some((topic.name, rule.id)),
                last: findings.last(),
            });
            let caller = Caller::new(Arc::clone(stage));
            let began = Instant::now();
            let played = match lacking.reason(stage, topic, rule).await {
                Some(reason) => Ok(Err(Trouble::skipped(reason))),
                None => tokio::time::timeout(rule.bound, rule.play(&caller)).await,
            };
            let id = format!("{}-{}", stage.kind.letter(), rule.id);
            let finding = Finding {
                clause: rule.clause,
                level: rule.level,
                took: began.elapsed(),
                ..Finding::passed(topic.name, id, rule.title)
            };
            let bound = rule.bound.as_secs();
            let late = Trouble::broken(format!("stopped after {bound} s"));
            let ending = RuleEnd {
                kindness: rule.kindness,
                ..RuleEnd::of(&caller, rule.fix, strict).await
            };
            lacking.listen(&ending, &finding.id);
            let (is_gone, lack) = (ending.is_unreachable(), ending.lack(rule));
            let finding = finding.judged(ending, played.unwrap_or(Err(late)));
            if finding.verdict == Verdict::Fail {
                lacking.note(rule.id, &finding.id, is_gone, lack);
            }
            if finding.verdict == Verdict::Fail && lack == Some(Lack::Everything) {
                stage.note_unanswered(rule.id, &finding.id);
            }
            findings.push(finding);
        }
    }
    tell(Progress {
        done: all,
        all,
        next: None,
        last: findings.last(),
    });
    findings
}

/// What an answer lacks that later rules need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lack {
    /// There is no message.
    Everything,
    /// The message has another type than the due one.
    Type,
}

/// What later rules need and did not get.
#[derive(Default)]
struct Lacking {
    /// The rules whose answer lacks something, each with the rule to which that is due.
    answers: BTreeMap<&'static str, (Lack, String)>,
    /// The rule that found no connection.
    gone: Option<String>,
    /// Whether the agent has answered any call.
    heard: bool,
    /// How many rules waited in vain before it did, and the first of them.
    silent: u32,
    first_silent: Option<String>,
}

impl Lacking {
    fn note(&mut self, rule: &'static str, id: &str, is_gone: bool, lack: Option<Lack>) {
        if let Some(lack) = lack {
            self.answers.insert(rule, (lack, id.to_owned()));
        }
        if is_gone {
            self.gone = Some(id.to_owned());
        }
    }

    /// Notes whether the agent answered the last call of a rule.
    fn listen(&mut self, ending: &RuleEnd, id: &str) {
        match ending.last.as_ref().map(|last| &last.came) {
            Some(Ok(_) | Err(NoAnswer::NoHttp(_))) => self.heard = true,
            Some(Err(NoAnswer::Late(_))) => {
                self.silent += 1;
                self.first_silent.get_or_insert_with(|| id.to_owned());
            }
            _ => {}
        }
    }

    /// Why a rule cannot be played.
    async fn reason(&mut self, stage: &Stage, topic: &Topic, rule: &Rule) -> Option<String> {
        if let Some(first) = &self.first_silent
            && !self.heard
            && self.silent >= MAX_SILENT_RULES
        {
            return Some(format!("needs {first}: the agent answers no call at all"));
        }
        if let Some(id) = &self.gone {
            if HttpConnection::open(&stage.agent).await.is_err() {
                return Some(format!("needs {id}: the agent takes no connections"));
            }
            self.gone = None;
        }
        let mut needs = topic.needs.iter().filter(|needed| **needed != rule.id);
        let missing = needs.find_map(|needed| {
            let (lack, id) = self.answers.get(needed)?;
            // Only the rules beside it judge the members of that message.
            let is_beside = || topic.rules.iter().any(|rule| rule.id == *needed);
            (*lack == Lack::Everything || is_beside()).then(|| id.clone())
        })?;
        if topic.needs.contains(&rule.id) {
            // What needs this rule needs the earlier one.
            stage.note_unanswered(rule.id, &missing);
            let missing = (Lack::Everything, missing.clone());
            self.answers.insert(rule.id, missing);
        }
        Some(format!("needs {missing}"))
    }
}

/// How many rules have each verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    pub passed: u32,
    pub deviations: u32,
    pub failed: u32,
    pub skipped: u32,
}

/// The grade for all rules together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grade {
    /// From 0 to 100.
    pub score: u32,
    pub letter: char,
}

/// How the grade is computed, for the report.
pub const FORMULA: &str = "a MUST weighs 2, a SHOULD 1; a deviation keeps half of its weight; \
    A from 95 without a failure, B from 85, C from 70; an agent that can play gets D and 50 at \
    least, one that cannot gets F";

/// The least score of an agent that can play; all others stay below.
const PLAYS: u32 = 50;

pub fn count(findings: &[Finding]) -> Counts {
    let mut counts = Counts::default();
    for finding in findings {
        match finding.verdict {
            Verdict::Pass => counts.passed += 1,
            Verdict::Deviation => counts.deviations += 1,
            Verdict::Fail => counts.failed += 1,
            Verdict::Skipped => counts.skipped += 1,
        }
    }
    counts
}

/// Grades verdicts by [`FORMULA`]; skipped rules do not count.
pub fn grade(findings: &[Finding], can_play: &CanPlay) -> Grade {
    let (mut whole, mut kept) = (0, 0);
    for finding in findings {
        let weight = 2 * finding.level.weight();
        match finding.verdict {
            Verdict::Pass => (whole, kept) = (whole + weight, kept + weight),
            Verdict::Deviation => (whole, kept) = (whole + weight, kept + weight / 2),
            Verdict::Fail => whole += weight,
            Verdict::Skipped => {}
        }
    }
    let score = (100 * kept).checked_div(whole).unwrap_or(0);
    if can_play.is_no() {
        let score = score.min(PLAYS - 1);
        return Grade { score, letter: 'F' };
    }
    let clean = findings
        .iter()
        .all(|finding| finding.verdict != Verdict::Fail);
    let letter = match score {
        95.. if clean => 'A',
        85.. => 'B',
        70.. => 'C',
        _ => 'D',
    };
    let score = score.max(PLAYS);
    Grade { score, letter }
}

/// The steps without which a league cannot use a referee or a manager, and what each lacks; whether
/// a player can play is found by playing.
fn essential_step(id: &str) -> Option<&'static str> {
    Some(match id {
        "R-REG-01" => "it did not register with the manager",
        "R-ORD-01" => "it did not take an order to run a match",
        "R-INV-01" => "it did not invite both players of a match",
        "R-CHO-01" => "it did not ask both players for their choice",
        "R-REP-01" => "it did not report a result to the manager",
        "M-REG-01" => "it did not let players in",
        "M-REG-02" => "it did not let referees in",
        "M-RND-01" => "it did not begin its league",
        "M-END-01" => "it did not bring its league to an end",
        _ => return None,
    })
}

/// Whether the rules show that a referee or a manager can play its part.
pub fn can_play(findings: &[Finding]) -> CanPlay {
    let missing = findings.iter().find_map(|finding| {
        let because = essential_step(&finding.id)?;
        match finding.verdict {
            Verdict::Pass | Verdict::Deviation => None,
            // A referee that was started before the check has registered elsewhere.
            Verdict::Skipped if finding.id == "R-REG-01" => None,
            Verdict::Fail | Verdict::Skipped => Some(because),
        }
    });
    if let Some(because) = missing {
        return CanPlay::No(because.to_owned());
    }
    let wrong = findings
        .iter()
        .filter(|finding| matches!(finding.verdict, Verdict::Fail | Verdict::Deviation));
    let told = wrong.map(|finding| format!("{} ({})", finding.found, finding.id));
    CanPlay::with(told.collect())
}
