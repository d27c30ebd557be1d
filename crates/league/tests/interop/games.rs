//! Kits in another game than Even/Odd.

use crate::end_to_end::ground::{Ground, LEAGUE};
use crate::end_to_end::process::free_port;
use crate::kits::{Kit, LANGUAGES};

#[test]
fn kits_play_tic_tac_toe_and_report_the_end() {
    let ground = Ground::new();
    let port = free_port();
    let seats = ["--players", "4", "--referees", "1"];
    let game = ["--game", "tic_tac_toe", "--league-id", LEAGUE];
    let mut manager = ground.manager_at(port, &[seats.as_slice(), &game].concat());
    let _referee = ground.referee(1, &manager.endpoint, &[]);
    // `http://` and `/mcp` may be left out.
    let short = format!("localhost:{port}");
    let start = |lang| Kit::start_at(&ground, lang, &short, free_port());
    let mut kits = LANGUAGES.map(start);
    manager.process.event("state", "completed");
    for kit in &mut kits {
        kit.program.says("the league is over");
    }
    let results = ground.results();
    assert_eq!(results.len(), 6);
    for (id, result) in &results {
        assert_ne!(result["status"], "TECHNICAL_LOSS", "{id}: {result}");
    }
    ground.verified();
}
