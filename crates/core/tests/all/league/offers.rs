//! Which levers are offered: those that can do something now, and no others.

use league_core::league::{Lever, Phase};
use league_protocol::id::PlayerId;
use league_protocol::tools::LEVERS;
use league_testkit::league::{LeagueWorld, rules};
use league_testkit::levers::{Chance, finish_any};

/// The names of the levers that can do something now.
fn offered(world: &LeagueWorld) -> Vec<&'static str> {
    let names = LEVERS.iter().map(|entry| entry.name);
    names
        .filter(|name| world.league.why_idle(world.now, name).is_none())
        .collect()
}

fn why(world: &LeagueWorld, lever: &str) -> String {
    world.league.why_idle(world.now, lever).unwrap_or_default()
}

#[test]
fn empty_league_offers_what_can_be_set_before_the_start() {
    let world = LeagueWorld::new(rules());
    let before = [
        "pause",
        "open_registration",
        "close_registration",
        "set_capacity",
        "set_join_code",
        "set_roster",
        "admit_referee",
        "share_address",
        "announce",
    ];
    assert_eq!(offered(&world), before);
    assert!(why(&world, "start").contains("`0` players"));
    assert_eq!(why(&world, "resume"), "the league is not paused");
    assert_eq!(why(&world, "rename"), "there is no such agent");
    assert_eq!(why(&world, "annul"), "the league has not begun");
    assert_eq!(why(&world, "end"), "the league has not begun");
}

#[test]
fn running_league_offers_what_can_be_done_with_matches_and_players() {
    let mut world = LeagueWorld::begun(4, 1, 2);
    world.settle();
    let began = offered(&world);
    for (lever, is_offered) in [
        ("start", false),
        ("set_roster", false),
        ("pause", true),
        ("withdraw", true),
        ("reinstate", false),
        ("annul", true),
        ("rule", true),
        ("extend_match", true),
        ("end", true),
    ] {
        assert_eq!(began.contains(&lever), is_offered, "{lever}");
    }
    assert_eq!(why(&world, "reinstate"), "no player is out of the league");
    assert_eq!(why(&world, "replay"), "no match can be played again");
    world.finish("R1M1", Some(1));
    let player_id = PlayerId::numbered(1);
    world.pull(Lever::Withdraw { player_id }).unwrap();
    world.pull(Lever::Pause).unwrap();
    let paused = offered(&world);
    assert!(paused.contains(&"reinstate") && paused.contains(&"resume"));
    assert!(!paused.contains(&"pause"));
}

#[test]
fn league_that_is_over_offers_what_still_changes_the_table() {
    let mut world = LeagueWorld::begun(4, 1, 2);
    world.settle();
    world.finish("R1M1", Some(1));
    world.pull(Lever::End).unwrap();
    let over = offered(&world);
    assert_eq!(world.league.phase(), Phase::Completed);
    for lever in ["annul", "rule", "disqualify", "rename", "announce"] {
        assert!(over.contains(&lever), "{lever}");
    }
    for lever in [
        "pause",
        "resume",
        "withdraw",
        "replay",
        "extend_match",
        "end",
    ] {
        assert!(!over.contains(&lever), "{lever}");
    }
    assert!(why(&world, "withdraw").contains("`disqualify` is the only way"));
}

#[test]
fn lever_that_is_not_offered_changes_nothing() {
    for seed in 1..=40 {
        let mut world = LeagueWorld::begun(6, 2, 4);
        world.settle();
        let mut chance = Chance(seed);
        for _ in 0..60 {
            if chance.below(2) == 0 {
                finish_any(&mut world, &mut chance);
                world.settle();
            }
            let lever = chance.lever(&world);
            let (name, offered) = (lever.name(), offered(&world));
            let pulled = world.pull(lever.clone());
            let has_effect = pulled.is_ok_and(|(events, _)| !events.is_empty());
            assert!(!has_effect || offered.contains(&name), "{lever:?}");
            world.settle();
        }
    }
}
