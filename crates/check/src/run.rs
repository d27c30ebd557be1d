//! Plays all rules, one after another; none stops the others, and each has its bound.

use std::sync::Arc;

use tokio::time::Instant;

use super::Kind;
use super::act::Act;
use super::rule::{Topic, Trouble};
use super::stage::Stage;
use super::verdict::{Finding, Judged};

/// How far a check is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress<'p> {
    /// The rules that were played.
    pub done: usize,
    /// All rules.
    pub all: usize,
    /// The rule that is about to be played, without the letter of the kind.
    pub next: &'p str,
}

/// Plays the rules of all topics in their order.
pub async fn play<S: Stage>(
    kind: Kind,
    stage: &Arc<S>,
    topics: &[Topic<S>],
    strict: bool,
) -> Vec<Finding> {
    play_telling(kind, stage, topics, strict, &|_| {}).await
}

/// Plays the rules of all topics in their order, and tells before each how far it is.
pub async fn play_telling<S: Stage>(
    kind: Kind,
    stage: &Arc<S>,
    topics: &[Topic<S>],
    strict: bool,
    tell: &(dyn Fn(Progress<'_>) + Sync),
) -> Vec<Finding> {
    let all = topics.iter().map(|topic| topic.rules.len()).sum();
    let mut findings = Vec::new();
    for topic in topics {
        for rule in &topic.rules {
            let (done, next) = (findings.len(), rule.id);
            tell(Progress { done, all, next });
            let act = Act::new(Arc::clone(stage));
            let began = Instant::now();
            let played = tokio::time::timeout(rule.bound, (rule.play)(&act)).await;
            let took = began.elapsed();
            let played = played.unwrap_or_else(|_| {
                let bound = rule.bound.as_secs();
                Err(Trouble::broken(format!(
                    "no end within {bound} s, so it was cut"
                )))
            });
            let judged = Judged {
                finding: Finding::of(rule, topic.name, kind.letter(), took),
                fix: rule.fix,
                kindness: rule.kindness,
                played,
                last: act.last(),
                crashed: stage.revive().await,
                strict,
            };
            let finding = judged.verdict();
            findings.push(finding);
        }
    }
    findings
}
