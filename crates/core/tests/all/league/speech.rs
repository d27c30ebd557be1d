//! Call styles: declared or detected at registration, and passed on to referees.

use league_core::league::{Command, Lever};
use league_protocol::message::AgentMeta;
use league_protocol::sender::{Agent, CallStyle};
use serde_json::json;

use league_testkit::league::{LeagueWorld, rules};

#[test]
fn order_names_the_call_style_of_each_player() {
    let mut world = LeagueWorld::new(rules());
    let mut speaker = world.candidate("Speaker");
    speaker.speech = Some(CallStyle::Mcp);
    world.when(&Command::RegisterPlayer(speaker)).unwrap();
    let mut stranger = world.candidate("Stranger");
    stranger.speech = None;
    world.when(&Command::RegisterPlayer(stranger)).unwrap();
    world.admit_referee("Whistle", 1);
    world.when(&Command::pull(Lever::Start)).unwrap();
    world.settle();
    let orders = world.orders();
    let told = orders[0].1.players.each_ref().map(|player| player.speech);
    assert_eq!(told, [Some(CallStyle::Mcp), None]);
    let again = world.replayed();
    let member = again.players().iter().next().unwrap();
    assert!(matches!(member.member().peer().agent, Agent::Player(_)));
    assert_eq!(member.member().peer().speech, Some(CallStyle::Mcp));
}

#[test]
fn order_says_which_players_have_not_shown_that_they_know_our_fields() {
    let mut world = LeagueWorld::new(rules());
    let mut stranger = world.candidate("Stranger");
    stranger.speech = None;
    world.when(&Command::RegisterPlayer(stranger)).unwrap();
    let mut signing = world.candidate("Signing");
    signing.speech = None;
    signing.request.meta.proofs = true;
    world.when(&Command::RegisterPlayer(signing)).unwrap();
    world.admit_referee("Whistle", 1);
    world.when(&Command::pull(Lever::Start)).unwrap();
    world.settle();
    let orders = world.orders();
    let told = orders[0].1.players.each_ref();
    assert_eq!(told.map(|player| player.is_foreign), [true, false]);
}

#[test]
fn older_journal_has_no_call_style() {
    let old = json!({"display_name": "Old", "version": "1", "protocol_version": null,
        "game_types": ["even_odd"], "contact_endpoint": "http://localhost/old",
        "max_concurrent_matches": null});
    let meta: AgentMeta = serde_json::from_value(old.clone()).unwrap();
    assert_eq!(meta.speech, None);
    assert_eq!(serde_json::to_value(&meta).unwrap(), old);
}
