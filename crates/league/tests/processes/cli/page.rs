//! The page on checks shows what its reader will see.

use crate::cli::league;

const PAGE: &str = include_str!("../../../../../docs/check.md");

/// The first block of a kind that begins with a text, without its fences.
fn block(fence: &str, beginning: &str) -> &'static str {
    let opening = format!("```{fence}\n{beginning}");
    let start = PAGE.find(&opening).expect("there is such a block") + fence.len() + 4;
    let rest = &PAGE[start..];
    &rest[..rest.find("```").expect("the block ends")]
}

#[test]
fn session_on_the_page_is_real() {
    let message = block("json", "{\"protocol\": \"league.v2\"");
    let session = block("console", "$ league explain move.json\n");
    let shown = session.split_once('\n').expect("there is output").1;
    let seen = league(&["explain", "-"], message);
    assert_eq!(seen, format!("exit code 1\n--- out\n{shown}--- errors\n"));
}
