//! Seats before the start: a second registration, a change of name, a full league, a roster.

use league_core::league::{Applicant, Command, Event, Lever, Reply, Seat};
use league_protocol::message::RegisterResponse;
use league_protocol::time::Timestamp;
use league_protocol::token::AuthToken;
use league_testkit::league::{LeagueWorld, rules};

/// Why a player is turned away, or its id.
fn register(world: &mut LeagueWorld, applicant: Applicant) -> Result<String, String> {
    let (_, reply) = world.when(&Command::RegisterPlayer(applicant)).unwrap();
    match reply {
        Reply::Player(RegisterResponse::Accepted(enrolment)) => Ok(enrolment.id.to_string()),
        Reply::Player(RegisterResponse::Rejected { reason }) => Err(reason),
        other => panic!("{other:?}"),
    }
}

fn names(world: &LeagueWorld) -> Vec<String> {
    let players = world.league.players().iter();
    players
        .map(|player| player.member().display_name().to_string())
        .collect()
}

fn applicant(world: &mut LeagueWorld, name: &str, endpoint: &str) -> Applicant {
    let mut applicant = world.candidate(name);
    applicant.request.meta.contact_endpoint = endpoint.to_owned();
    applicant.is_at_address = true;
    applicant
}

const HERE: &str = "http://localhost:8101/mcp";

#[test]
fn second_registration_with_the_pledge_is_a_change_of_name() {
    let mut world = LeagueWorld::new(rules());
    let pledge = AuthToken::pledge(&[5; 32]);
    let mut first = applicant(&mut world, "Ann", HERE);
    first.request.token = Some(pledge.clone());
    assert_eq!(register(&mut world, first), Ok("P01".to_owned()));
    world.admit_player("Bob");
    // It moves too, and takes a name that another one has.
    for (name, endpoint, shown) in [
        ("Anna", HERE, "Anna"),
        ("Anna", "http://localhost:8109/mcp", "Anna"),
        ("Bob", HERE, "Bob (2)"),
    ] {
        let mut again = applicant(&mut world, name, endpoint);
        again.request.token = Some(pledge.clone());
        again.is_at_address = false;
        assert_eq!(register(&mut world, again), Ok("P01".to_owned()), "{name}");
        assert_eq!(names(&world), [shown, "Bob"], "{name}");
    }
    // The names that it gave up are free.
    let other = applicant(&mut world, "Ann", "http://localhost:8102/mcp");
    assert_eq!(register(&mut world, other), Ok("P03".to_owned()));
    world.audited().unwrap();
    assert_eq!(world.replayed(), world.league);
}

#[test]
fn without_proof_only_the_machine_of_the_address_changes_a_name() {
    let mut world = LeagueWorld::new(rules());
    let first = applicant(&mut world, "Ann", HERE);
    assert_eq!(register(&mut world, first), Ok("P01".to_owned()));
    let mut stranger = applicant(&mut world, "Eve", HERE);
    stranger.is_at_address = false;
    let told = register(&mut world, stranger).unwrap_err();
    assert!(told.contains("player:P01 answers there already"), "{told}");
    assert!(told.contains("league admin share-address"), "{told}");
    let mut namesake = applicant(&mut world, "Ann", HERE);
    namesake.is_at_address = false;
    assert!(register(&mut world, namesake).is_err());
    let again = applicant(&mut world, "Anna", HERE);
    assert_eq!(register(&mut world, again), Ok("P01".to_owned()));
    assert_eq!(names(&world), ["Anna"]);
    world.audited().unwrap();
}

#[test]
fn agent_with_a_pledge_is_not_renamed_without_it() {
    let mut world = LeagueWorld::new(rules());
    let mut first = applicant(&mut world, "Ann", HERE);
    first.request.token = Some(AuthToken::pledge(&[5; 32]));
    register(&mut world, first).unwrap();
    let other = applicant(&mut world, "Eve", HERE);
    assert!(register(&mut world, other).is_err());
    assert_eq!(names(&world), ["Ann"]);
}

#[test]
fn two_seats_at_one_address_need_the_organisers_word() {
    let mut world = LeagueWorld::new(rules());
    let mut first = applicant(&mut world, "Ann", HERE);
    first.request.token = Some(AuthToken::pledge(&[5; 32]));
    register(&mut world, first).unwrap();
    let mut second = applicant(&mut world, "Bob", HERE);
    second.request.token = Some(AuthToken::pledge(&[6; 32]));
    assert!(register(&mut world, second.clone()).is_err());
    let contact_endpoint = "http://127.0.0.1:8101".to_owned();
    world
        .pull(Lever::ShareAddress { contact_endpoint })
        .unwrap();
    assert_eq!(register(&mut world, second.clone()), Ok("P02".to_owned()));
    assert_eq!(
        register(&mut world, second),
        Ok("P02".to_owned()),
        "it returns"
    );
    assert_eq!(names(&world), ["Ann", "Bob"]);
    world.audited().unwrap();
    assert_eq!(world.replayed(), world.league);
}

#[test]
fn removed_player_frees_its_seat_its_name_and_its_address() {
    let mut world = LeagueWorld::new(rules());
    let ghost = applicant(&mut world, "Ann", HERE);
    register(&mut world, ghost).unwrap();
    let player_id = world.admit_player("Bob");
    let ghost = world.league.players()[0].id().clone();
    world
        .pull(Lever::Remove {
            player_id: ghost.clone(),
        })
        .unwrap();
    assert_eq!(names(&world), ["Bob"]);
    let again = applicant(&mut world, "Ann", HERE);
    assert_eq!(
        register(&mut world, again),
        Ok("P03".to_owned()),
        "ids are not given twice"
    );
    let taken = world.pull(Lever::Reinstate { player_id: ghost });
    assert!(taken.is_err(), "another one has the name");
    world.admit_referee("Whistle", 2);
    world.pull(Lever::Start).unwrap();
    world.settle();
    assert_eq!(world.league.schedule().players(), 2);
    assert_eq!(world.league.standings().len(), 2);
    let _ = player_id;
    world.audited().unwrap();
    assert_eq!(
        world.replayed().after_restart(),
        world.league.after_restart()
    );
}

#[test]
fn reinstated_player_does_not_take_the_address_of_another() {
    let mut world = LeagueWorld::new(rules());
    let ann = applicant(&mut world, "Ann", HERE);
    register(&mut world, ann).unwrap();
    let player_id = world.league.players()[0].id().clone();
    let withdraw = Lever::Withdraw {
        player_id: player_id.clone(),
    };
    world.pull(withdraw).unwrap();
    let bob = applicant(&mut world, "Bob", HERE);
    register(&mut world, bob).unwrap();
    let reinstate = || Lever::Reinstate {
        player_id: player_id.clone(),
    };
    let refused = world.pull(reinstate()).unwrap_err().to_string();
    assert!(refused.contains("`P02` answers at"), "{refused}");
    let contact_endpoint = HERE.to_owned();
    world
        .pull(Lever::ShareAddress { contact_endpoint })
        .unwrap();
    world.pull(reinstate()).unwrap();
    assert_eq!(names(&world).len(), 2);
    world.audited().unwrap();
}

#[test]
fn capacity_below_the_seats_that_are_taken_says_how_many() {
    let mut world = LeagueWorld::new(rules());
    for name in ["Ann", "Bob", "Cat"] {
        world.admit_player(name);
    }
    let (players, waiting) = (2, 0);
    let refused = world.pull(Lever::SetCapacity { players, waiting });
    let told = refused.unwrap_err().to_string();
    assert!(told.starts_with("3 players have a seat: remove"), "{told}");
}

#[test]
fn full_league_keeps_a_waiting_list() {
    let mut world = LeagueWorld::new(rules());
    let (players, waiting) = (2, 1);
    world.pull(Lever::SetCapacity { players, waiting }).unwrap();
    for name in ["Ann", "Bob", "Cat"] {
        world.admit_player(name);
    }
    assert_eq!(names(&world), ["Ann", "Bob"]);
    let late = world.candidate("Dan");
    let told = register(&mut world, late).unwrap_err();
    assert_eq!(told, "Registration closed: all 2 seats are taken");
    let player_id = world.league.players()[0].id().clone();
    let (events, _) = world.pull(Lever::Withdraw { player_id }).unwrap();
    let Event::OrganiserActed { effect, .. } = &events[0] else {
        panic!("{events:?}");
    };
    assert_eq!(effect.seated.len(), 1);
    assert_eq!(names(&world), ["Bob", "Cat"]);
    let players = world.league.players().iter();
    assert!(
        players
            .into_iter()
            .all(|player| player.seat() == Seat::Taken)
    );
    world.admit_player("Dan");
    world.admit_referee("Whistle", 2);
    world.pull(Lever::Start).unwrap();
    world.settle();
    assert_eq!(
        world.league.schedule().players(),
        2,
        "the waiting player has no match"
    );
    world.finish("R1M1", None);
    world.settle();
    assert!(world.league.is_over());
    world.audited().unwrap();
    assert_eq!(
        world.replayed().after_restart(),
        world.league.after_restart()
    );
}

#[test]
fn registration_closes_by_hand_and_at_its_time() {
    let mut world = LeagueWorld::new(rules());
    let until = world.now + std::time::Duration::from_secs(60);
    world
        .pull(Lever::OpenRegistration { until: Some(until) })
        .unwrap();
    world.admit_player("Ann");
    world.pass(60);
    let late = world.candidate("Bob");
    assert_eq!(
        register(&mut world, late),
        Err("Registration closed".to_owned())
    );
    assert!(
        world
            .pull(Lever::OpenRegistration {
                until: Some(Timestamp::default())
            })
            .is_err()
    );
    world.pull(Lever::OpenRegistration { until: None }).unwrap();
    world.admit_player("Bob");
    world.pull(Lever::CloseRegistration).unwrap();
    let late = world.candidate("Cat");
    assert_eq!(
        register(&mut world, late),
        Err("Registration closed".to_owned())
    );
    // A player that is in may still come back.
    let mut back = world.candidate("Ann");
    back.request.meta.contact_endpoint = world.league.players()[0]
        .member()
        .peer()
        .endpoint
        .to_string();
    back.is_at_address = true;
    assert_eq!(register(&mut world, back), Ok("P01".to_owned()));
    world.audited().unwrap();
}

#[test]
fn roster_and_code_keep_others_out() {
    let mut world = LeagueWorld::new(rules());
    let names = vec!["Ann".to_owned(), "  bob ".to_owned()];
    world.pull(Lever::SetRoster { names }).unwrap();
    world.admit_player("ann");
    let second = applicant(&mut world, "Ann", "http://localhost:8199/mcp");
    let told = register(&mut world, second).unwrap_err();
    assert!(told.contains("`Ann (2)` is not on the roster"), "{told}");
    world.admit_player("Bob");
    world.pull(Lever::SetRoster { names: Vec::new() }).unwrap();
    let Command::Pull(mut pull) = Command::pull(Lever::SetJoinCode) else {
        panic!("it is a lever");
    };
    pull.code = Some(AuthToken::new("4711"));
    let (events, _) = world.when(&Command::Pull(pull)).unwrap();
    let written = serde_json::to_string(&events).unwrap();
    let plain = league_protocol::token::TokenHash::of("4711").to_hex();
    assert!(
        !written.contains("4711") && !written.contains(&plain),
        "{written}"
    );
    let mut third = world.candidate("Cat");
    assert!(
        register(&mut world, third.clone())
            .unwrap_err()
            .starts_with("Join code")
    );
    third.request.join_code = Some(AuthToken::new("4711"));
    assert_eq!(register(&mut world, third), Ok("P03".to_owned()));
    world.audited().unwrap();
}

#[test]
fn name_that_the_organiser_gave_stays_when_the_agent_returns() {
    let mut world = LeagueWorld::new(rules());
    let first = applicant(&mut world, "Rude", HERE);
    register(&mut world, first.clone()).unwrap();
    let agent = league_protocol::sender::Agent::Player(world.league.players()[0].id().clone());
    let name = "Polite".to_owned();
    world.pull(Lever::Rename { agent, name }).unwrap();
    assert_eq!(names(&world), ["Polite"]);
    assert_eq!(register(&mut world, first), Ok("P01".to_owned()));
    assert_eq!(names(&world), ["Polite"]);
    assert_eq!(&*world.league.standings()[0].display_name, "Polite");
    world.audited().unwrap();
    assert_eq!(world.replayed(), world.league);
}

#[test]
fn next_league_keeps_names_and_ids_for_the_agents_of_the_last() {
    let mut last = LeagueWorld::new(rules());
    let pledge = AuthToken::pledge(&[5; 32]);
    last.admit_player("Zoe");
    let mut ann = applicant(&mut last, "Ann", HERE);
    ann.request.token = Some(pledge.clone());
    assert_eq!(register(&mut last, ann.clone()), Ok("P02".to_owned()));
    let seats = last.league.kept_seats();
    assert_eq!(
        seats.len(),
        1,
        "only agents that can prove themselves: {seats:?}"
    );
    let mut world = LeagueWorld::new(rules());
    let from = rules().league_id;
    world.pull(Lever::TakeOver { from, seats }).unwrap();
    let mut thief = applicant(&mut world, "ann", "http://localhost:8107/mcp");
    let told = register(&mut world, thief.clone()).unwrap_err();
    assert!(told.contains("kept for P02 of the league before"), "{told}");
    for name in ["Bob", "Cat"] {
        world.admit_player(name);
    }
    assert_eq!(register(&mut world, ann), Ok("P02".to_owned()));
    let ids: Vec<_> = world
        .league
        .players()
        .iter()
        .map(|player| player.id().to_string())
        .collect();
    assert_eq!(ids, ["P01", "P03", "P02"]);
    thief.request.meta.display_name = "Eve".to_owned();
    assert!(register(&mut world, thief).is_ok());
    world.audited().unwrap();
    assert_eq!(world.replayed(), world.league);
}

#[test]
fn next_league_keeps_the_name_that_the_organiser_gave() {
    let mut last = LeagueWorld::new(rules());
    let mut rude = applicant(&mut last, "Rude", HERE);
    rude.request.token = Some(AuthToken::pledge(&[5; 32]));
    assert_eq!(register(&mut last, rude.clone()), Ok("P01".to_owned()));
    let agent = league_protocol::sender::Agent::Player(last.league.players()[0].id().clone());
    let name = "Polite".to_owned();
    last.pull(Lever::Rename { agent, name }).unwrap();
    // Also in the league after the next one.
    for _ in 0..2 {
        let (from, seats) = (rules().league_id, last.league.kept_seats());
        let mut world = LeagueWorld::new(rules());
        world.pull(Lever::TakeOver { from, seats }).unwrap();
        let roster = vec!["polite".to_owned()];
        world.pull(Lever::SetRoster { names: roster }).unwrap();
        for _ in 0..2 {
            assert_eq!(register(&mut world, rude.clone()), Ok("P01".to_owned()));
            assert_eq!(names(&world), ["Polite"]);
        }
        world.audited().unwrap();
        assert_eq!(world.replayed(), world.league);
        last = world;
    }
}
