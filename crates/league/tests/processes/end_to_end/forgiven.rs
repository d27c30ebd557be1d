//! What a manager tells at the end of what agents were forgiven, by itself and by its referees.

use serde_json::Value;

use crate::end_to_end::ground::Ground;
use crate::end_to_end::quirky::{Quirk, Quirky, proper, register};
use crate::end_to_end::stepped::referee_key;

/// A player whose answers have no frame, which referees forgive and no manager sees.
static BARE: Quirk = Quirk {
    name: "No frame",
    registers: register,
    answers: |called| (200, proper(called)),
};

/// Plays a match with such a player before a referee of this root; what the manager tells at the end.
fn told(ground: &Ground, referees: &Ground) -> Value {
    let wait = ["--players", "2", "--referees", "1", "--exit-when-done"];
    let mut manager = ground.manager(&wait);
    let key = referee_key(ground);
    let _referee = referees.referee(1, &manager.endpoint, &["--referee-key", &key]);
    let _bare = Quirky::join(&BARE, &manager.endpoint);
    let _other = ground.player(2, &manager.endpoint, &[]);
    manager.process.event("event", "standings")
}

#[test]
fn manager_lists_deviations_of_its_referees() {
    let ground = Ground::new();
    let told = told(&ground, &ground);
    let kinds = told["deviations"]["player:P01"].as_array();
    let frames = kinds.into_iter().flatten();
    let counts: Vec<u64> = frames
        .filter_map(|kind| kind["count"].as_u64())
        .filter(|count| *count >= 2)
        .collect();
    assert!(!counts.is_empty(), "{told:#}");
    assert_eq!(told["referees_not_heard"], 0, "{told:#}");
    assert_eq!(told["deviations_seen_by"][1], "REF01", "{told:#}");
}

#[test]
fn manager_reports_unknown_deviations_of_a_remote_referee() {
    let told = told(&Ground::new(), &Ground::new());
    assert_eq!(told["referees_not_heard"], 1, "{told:#}");
    assert_eq!(told["deviations_seen_by"].as_array().unwrap().len(), 1);
}
