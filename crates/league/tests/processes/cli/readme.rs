//! The README shows what a newcomer will see.

use crate::cli::league;

const README: &str = include_str!("../../../../../README.md");

/// The first block of a kind that begins with a text, without its fences.
fn block(fence: &str, beginning: &str) -> &'static str {
    let opening = format!("```{fence}\n{beginning}");
    let start = README.find(&opening).expect("there is such a block") + fence.len() + 4;
    let rest = &README[start..];
    &rest[..rest.find("```").expect("the block ends")]
}

#[test]
fn session_in_the_readme_is_real() {
    let message = block("json", "{\"protocol\": \"league.v2\"");
    let session = block("console", "$ league explain move.json\n");
    let shown = session.split_once('\n').expect("there is output").1;
    let seen = league(&["explain", "-"], message);
    assert_eq!(seen, format!("exit code 1\n--- out\n{shown}--- errors\n"));
}
