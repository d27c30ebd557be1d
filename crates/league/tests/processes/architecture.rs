//! The shape of the repository, held by tests instead of by memory.
//!
//! A rule that fails lists every place that breaks it and says how to mend it.
//! Why the borders are where they are: `docs/decisions/0001-crates-and-borders.md`.

mod borders;
mod code;
mod form;
mod purity;
mod settings;
mod workspace;

/// Fails with every offender, the rule they break, and how to mend it.
#[track_caller]
fn hold(rule: &str, offenders: &[String], remedy: &str) {
    assert!(
        offenders.is_empty(),
        "\n\nThe rule: {rule}.\nBroken at:\n  {}\nTo mend it: {remedy}.\n",
        offenders.join("\n  "),
    );
}
