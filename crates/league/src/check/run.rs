//! Plays all rules, one after another; none stops the others, and each has its bound.

use std::sync::Arc;

use tokio::time::Instant;

use super::Kind;
use super::act::Act;
use super::rule::{Topic, Trouble};
use super::stage::Stage;
use super::verdict::{Finding, Outcome};

/// Plays the rules of all topics in their order, and tells each verdict as it is known.
pub async fn play<S: Stage>(
    kind: Kind,
    stage: &Arc<S>,
    topics: &[Topic<S>],
    strict: bool,
    mut told: impl FnMut(&Finding),
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for topic in topics {
        for rule in &topic.rules {
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
            let finding = Finding::of(Outcome {
                rule,
                topic: topic.name,
                letter: kind.letter(),
                played,
                last: act.last(),
                took,
                crashed: stage.revive().await,
                strict,
            });
            told(&finding);
            findings.push(finding);
        }
    }
    findings
}
