//! Refused registrations and their reasons.

use league_core::league::{Command, LeagueRules, MemberKind, Refusal};
use league_protocol::fault::Code;
use league_protocol::id::GameType;
use league_protocol::sender::Dialect;

use crate::league::registration::{changed, enrolled, reason};
use league_testkit::league::{LeagueWorld, rules};

#[test]
fn each_reason_for_turning_an_agent_away_is_told_in_the_documents_words() {
    let small = LeagueRules {
        max_players: 2,
        strict: true,
        ..rules()
    };
    let mut world = LeagueWorld::new(small);
    world.admit_player("Alpha");
    let beta = world.candidate("Beta");
    let other_game = changed(beta.clone(), |candidate| {
        candidate.request.meta.game_types = vec![GameType::new("chess").unwrap()];
    });
    assert_eq!(
        reason(&mut world, other_game),
        "Unsupported game type: `even_odd` is played here; name it in `game_types`"
    );
    let no_address = changed(beta.clone(), |candidate| {
        candidate.endpoint = Err("`ftp` is not spoken".to_owned());
    });
    assert_eq!(
        reason(&mut world, no_address),
        "Invalid endpoint: `ftp` is not spoken"
    );
    let nowhere = changed(beta.clone(), |candidate| {
        candidate.request.meta.contact_endpoint = " ".to_owned();
    });
    assert_eq!(
        reason(&mut world, nowhere),
        "Invalid endpoint: `contact_endpoint` is missing; send the address at which you answer"
    );
    let namesake = changed(beta.clone(), |candidate| {
        candidate.request.meta.display_name = " aLPHA ".to_owned();
    });
    assert_eq!(
        reason(&mut world, namesake),
        "Duplicate display name: `Alpha` is taken by P01; choose another, or show the token that \
         registration gave you if it is yours"
    );
    enrolled(&mut world, beta);
    let gamma = world.candidate("Gamma");
    assert_eq!(
        reason(&mut world, gamma),
        "Registration closed: all 2 seats are taken"
    );
}

#[test]
fn old_version_and_a_name_that_deceives_are_errors() {
    let mut world = LeagueWorld::new(rules());
    let old = changed(world.candidate("Alpha"), |candidate| {
        candidate.request.meta.protocol_version = Some("1.9.0".to_owned());
    });
    let refusal = world
        .when(&Command::RegisterPlayer(old.clone()))
        .unwrap_err();
    assert_eq!(refusal.to_league_error().code, Code::VersionMismatch);
    let first_protocol = changed(old, |candidate| candidate.dialect = Dialect::V1);
    enrolled(&mut world, first_protocol);
    let bad = changed(world.candidate("a\u{202e}b"), |_| {});
    assert_eq!(
        world.when(&Command::RegisterPlayer(bad)).unwrap_err(),
        Refusal::Name(MemberKind::Player)
    );
}

#[test]
fn error_names_the_place_of_a_wrong_detail() {
    let mut world = LeagueWorld::new(rules());
    let old = changed(world.candidate("Alpha"), |candidate| {
        candidate.request.meta.protocol_version = Some("1.9.0".to_owned());
    });
    let nameless = world.candidate("\u{202e}");
    for (command, place) in [
        (
            Command::RegisterPlayer(old.clone()),
            "player_meta.protocol_version",
        ),
        (
            Command::RegisterReferee(old),
            "referee_meta.protocol_version",
        ),
        (
            Command::RegisterPlayer(nameless.clone()),
            "player_meta.display_name",
        ),
        (
            Command::RegisterReferee(nameless),
            "referee_meta.display_name",
        ),
    ] {
        let refusal = world.when(&command).unwrap_err();
        assert_eq!(refusal.to_league_error().path.as_deref(), Some(place));
    }
}

#[test]
fn referee_without_tokens_is_not_let_in() {
    let mut world = LeagueWorld::new(rules());
    let candidate = changed(world.candidate("Old"), |candidate| {
        candidate.dialect = Dialect::V1;
    });
    let refusal = world
        .when(&Command::RegisterReferee(candidate))
        .unwrap_err();
    assert_eq!(refusal, Refusal::RefereeWithoutToken);
    assert_eq!(refusal.code(), Code::VersionMismatch);
}
