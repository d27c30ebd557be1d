//! How the manager proves itself to its agents.

use league_core::league::{Command, Reply};
use league_core::letter::Credential;
use league_protocol::id::PlayerId;
use league_protocol::message::{Enrolment, RegisterResponse};
use league_protocol::sender::{Agent, Dialect};

use crate::world::{SECRET, World, rules};

fn register(
    world: &mut World,
    change: impl FnOnce(&mut league_core::league::Candidate),
) -> Enrolment<PlayerId> {
    let mut candidate = world.candidate("Player 1");
    change(&mut candidate);
    let (_, reply) = world.when(&Command::RegisterPlayer(candidate)).unwrap();
    let Reply::Player(RegisterResponse::Accepted(enrolment)) = reply else {
        panic!("{reply:?}")
    };
    enrolment
}

#[test]
fn every_letter_shows_the_token_that_registration_told_its_receiver() {
    let mut world = World::begun(4, 2, 1);
    world.play_on();
    assert!(!world.letters.is_empty());
    let league = world.league.rules().league_id.clone();
    for letter in &world.letters {
        let token = SECRET.manager_token(&league, &letter.to.agent);
        assert_eq!(letter.credential, Credential::Manager(token));
    }
}

#[test]
fn the_token_is_told_once_and_not_to_one_who_merely_claims_a_name() {
    let mut world = World::new(rules());
    let league = world.league.rules().league_id.clone();
    let first = register(&mut world, |_| {});
    let agent = Agent::Player(first.id.clone());
    let expected = SECRET.manager_token(&league, &agent);
    assert_eq!(first.manager_token, Some(expected));
    let again = register(&mut world, |_| {});
    assert_eq!(again.id, first.id);
    assert_eq!(again.manager_token, None, "no token was shown");
    let token = Some(again.token);
    let again = register(&mut world, |candidate| candidate.request.token = token);
    assert_eq!(again.manager_token, None, "a referee may know the token");
}

#[test]
fn the_first_protocol_has_no_place_for_it() {
    let mut world = World::new(rules());
    world.admit_referee("Referee 1", 1);
    let first = register(&mut world, |candidate| candidate.dialect = Dialect::V1);
    assert_eq!(first.manager_token, None);
    world.admit_player("Player 2");
    world.when(&Command::Start { admin: true }).unwrap();
    world.settle();
    let agent = Agent::Player(first.id);
    let mut letters = world.letters.iter();
    let letter = letters.find(|letter| letter.to.agent == agent).unwrap();
    assert_eq!(letter.credential, Credential::None);
}
