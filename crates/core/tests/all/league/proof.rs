//! How the manager proves itself to its agents.

use league_core::league::{Applicant, Command, Lever, Reply};
use league_core::letter::Credential;
use league_protocol::id::PlayerId;
use league_protocol::message::{Enrolment, RegisterResponse};
use league_protocol::sender::{Agent, Dialect};
use league_protocol::token::AuthToken;

use league_testkit::league::{LeagueWorld, SECRET, rules};

fn register(world: &mut LeagueWorld, change: impl FnOnce(&mut Applicant)) -> Enrolment<PlayerId> {
    let mut candidate = world.candidate("Player 1");
    change(&mut candidate);
    let (_, reply) = world.when(&Command::RegisterPlayer(candidate)).unwrap();
    let Reply::Player(RegisterResponse::Accepted(enrolment)) = reply else {
        panic!("{reply:?}")
    };
    *enrolment
}

#[test]
fn every_letter_shows_the_receivers_manager_token() {
    let mut world = LeagueWorld::begun(4, 2, 1);
    world.play_on();
    assert!(!world.letters.is_empty());
    let league = world.league.rules().league_id.clone();
    for letter in &world.letters {
        let token = SECRET.manager_token(&league, &letter.to.agent);
        assert_eq!(letter.credential, Credential::Manager(token));
    }
}

#[test]
fn lasting_tokens_go_only_to_a_proven_agent() {
    let mut world = LeagueWorld::new(rules());
    let league = world.league.rules().league_id.clone();
    let foreign = register(&mut world, |foreign| {
        foreign.request.meta.display_name = "Foreign".to_owned();
        foreign.request.meta.contact_endpoint = "http://localhost/foreign".to_owned();
    });
    assert!(foreign.manager_token.is_some());
    assert_eq!(
        foreign.return_token, None,
        "it could not show it after a restart"
    );
    let pledge = Some(AuthToken::pledge(&[9; 32]));
    let first = register(&mut world, |candidate| candidate.request.token = pledge);
    let agent = Agent::Player(first.id.clone());
    let manager = SECRET.manager_token(&league, &agent);
    assert_eq!(first.manager_token.as_ref(), Some(&manager));
    let back = first.return_token.clone();
    assert_eq!(back, Some(SECRET.return_token(&league, &agent)));
    let nothing_more = |enrolment: &Enrolment<PlayerId>| {
        assert_eq!(enrolment.id, first.id);
        assert_eq!(
            (&enrolment.manager_token, &enrolment.return_token),
            (&None, &None)
        );
    };
    let token = Some(first.token.clone());
    let again = register(&mut world, |candidate| candidate.request.token = token);
    nothing_more(&again);
    let token = back.clone();
    let again = register(&mut world, |candidate| candidate.request.token = token);
    assert_eq!(again.manager_token, Some(manager));
    assert_eq!(again.return_token, back);
}

fn moved(candidate: &mut Applicant, token: Option<AuthToken>) {
    candidate.request.meta.contact_endpoint = "http://localhost/elsewhere".to_owned();
    candidate.request.token = token;
}

#[test]
fn only_the_return_token_moves_an_agent() {
    let mut world = LeagueWorld::begun(2, 1, 1);
    let league = world.league.rules().league_id.clone();
    let agent = Agent::Player(PlayerId::numbered(1));
    let auth = world.tokens[&agent].clone();
    let mut candidate = world.candidate("Player 1");
    moved(&mut candidate, Some(auth));
    let before = world.league.clone();
    let (events, reply) = world.when(&Command::RegisterPlayer(candidate)).unwrap();
    assert!(events.is_empty());
    let Reply::Player(RegisterResponse::Rejected { reason }) = reply else {
        panic!("{reply:?}")
    };
    assert!(reason.starts_with("Invalid endpoint: "), "{reason}");
    assert_eq!(world.league, before);
    let back = SECRET.return_token(&league, &agent);
    let enrolment = register(&mut world, |candidate| moved(candidate, Some(back)));
    let player = world.league.player(&enrolment.id).unwrap();
    assert_eq!(
        &*player.member().peer().endpoint,
        "http://localhost/elsewhere"
    );
}

#[test]
fn return_token_displaces_an_unproven_agent() {
    let mut world = LeagueWorld::new(rules());
    let first = register(&mut world, |_| {});
    let stranger = register(&mut world, |_| {});
    let agent = Agent::Player(first.id);
    let back = SECRET.return_token(&world.league.rules().league_id, &agent);
    register(&mut world, |candidate| candidate.request.token = Some(back));
    let mut candidate = world.candidate("Player 1");
    moved(&mut candidate, Some(stranger.token));
    let (_, reply) = world.when(&Command::RegisterPlayer(candidate)).unwrap();
    let Reply::Player(RegisterResponse::Rejected { reason }) = reply else {
        panic!("{reply:?}")
    };
    assert!(reason.starts_with("Duplicate display name: "), "{reason}");
}

#[test]
fn return_token_is_good_for_registration_only() {
    let world = LeagueWorld::begun(2, 1, 1);
    let league = world.league.rules().league_id.clone();
    let agent = Agent::Player(PlayerId::numbered(1));
    let back = SECRET.return_token(&league, &agent);
    let refusal = world
        .league
        .authenticate(world.now, Some(back.hash()), Some(&agent));
    assert!(refusal.is_err());
}

#[test]
fn v1_agents_get_no_lasting_tokens() {
    let mut world = LeagueWorld::new(rules());
    world.admit_referee("Referee 1", 1);
    let first = register(&mut world, |candidate| candidate.dialect = Dialect::V1);
    assert_eq!(first.manager_token, None);
    world.admit_player("Player 2");
    world.when(&Command::pull(Lever::Start)).unwrap();
    world.settle();
    let agent = Agent::Player(first.id);
    let mut letters = world.letters.iter();
    let letter = letters.find(|letter| letter.to.agent == agent).unwrap();
    assert_eq!(letter.credential, Credential::None);
}
