//! Identity after a lever of the organiser: who is let in, with what proof, and whose moves are
//! signed.

use std::time::Duration;

use league_core::draw;
use league_core::league::{
    Applicant, Command, Event, FixtureStage, Lever, PlayedMatches, READMISSION, Refusal, Reply,
};
use league_protocol::id::{MatchId, PlayerId};
use league_protocol::message::{Enrolment, RegisterResponse};
use league_protocol::sender::Agent;
use league_protocol::token::AuthToken;
use league_testkit::league::{LeagueWorld, SECRET, rules};
use league_testkit::report::{ended, proof_key, signed_by};

fn first() -> Agent {
    Agent::Player(PlayerId::numbered(1))
}

fn try_register(
    world: &mut LeagueWorld,
    token: Option<&AuthToken>,
    change: impl FnOnce(&mut Applicant),
) -> Result<Enrolment<PlayerId>, String> {
    let mut again = world.candidate("Player 1");
    again.request.meta.proofs = true;
    again.request.token = token.cloned();
    again.is_at_address = false;
    change(&mut again);
    let (_, reply) = world.when(&Command::RegisterPlayer(again)).unwrap();
    match reply {
        Reply::Player(RegisterResponse::Accepted(enrolment)) => Ok(*enrolment),
        Reply::Player(RegisterResponse::Rejected { reason }) => Err(reason),
        other => panic!("{other:?}"),
    }
}

fn register(
    world: &mut LeagueWorld,
    token: Option<&AuthToken>,
) -> Result<Enrolment<PlayerId>, String> {
    try_register(world, token, |_| ())
}

fn readmit(world: &mut LeagueWorld) {
    world.pull(Lever::Readmit { agent: first() }).unwrap();
}

#[test]
fn readmission_does_not_void_a_valid_proof() {
    let mut world = LeagueWorld::begun_signing(2, 1, 1);
    let own = SECRET.return_token(&rules().league_id, &first());
    readmit(&mut world);
    let back = register(&mut world, Some(&own)).unwrap();
    assert_eq!(back.return_token.as_ref(), Some(&own));
    // The return ended the readmission.
    let told = register(&mut world, None).unwrap_err();
    assert!(told.starts_with("Duplicate display name"), "{told}");
    assert!(register(&mut world, Some(&own)).is_ok(), "it is still good");
    world.check_journal();
}

#[test]
fn readmission_is_used_once_and_voids_what_was_lost() {
    let mut world = LeagueWorld::begun_signing(2, 1, 1);
    let (agent, league) = (first(), rules().league_id);
    let lost = SECRET.return_token(&league, &agent);
    let auth = world.tokens[&agent].clone();
    readmit(&mut world);
    let moved = |applicant: &mut Applicant| {
        applicant.request.meta.contact_endpoint = "http://localhost/elsewhere".to_owned();
    };
    let back = try_register(&mut world, None, moved).unwrap();
    let given = back.return_token.unwrap();
    assert_ne!(given, lost);
    for void in [None, Some(&lost), Some(&auth)] {
        assert!(try_register(&mut world, void, moved).is_err(), "{void:?}");
    }
    let again = try_register(&mut world, Some(&given), moved).unwrap();
    assert_eq!(again.return_token, Some(given));
    world.check_journal();
}

#[test]
fn readmission_ends_after_its_time() {
    let mut world = LeagueWorld::begun_signing(2, 1, 1);
    readmit(&mut world);
    world.now = world.now + READMISSION;
    assert!(register(&mut world, None).is_err());
    readmit(&mut world);
    world.now = world.now + (READMISSION - Duration::from_secs(1));
    assert!(register(&mut world, None).is_ok());
    world.check_journal();
}

#[test]
fn agent_that_proves_to_be_another_does_not_use_the_readmission() {
    let mut world = LeagueWorld::new(rules());
    let pledges = [5, 6].map(|byte| AuthToken::pledge(&[byte; 32]));
    for (name, pledge) in ["Player 1", "Player 2"].into_iter().zip(&pledges) {
        let named =
            |applicant: &mut Applicant| name.clone_into(&mut applicant.request.meta.display_name);
        let elsewhere = |applicant: &mut Applicant| {
            named(applicant);
            applicant.request.meta.contact_endpoint = format!("http://localhost/{name}");
        };
        try_register(&mut world, Some(pledge), elsewhere).unwrap();
    }
    readmit(&mut world);
    let second = try_register(&mut world, Some(&pledges[1]), |applicant| {
        applicant.request.meta.contact_endpoint = "http://localhost/Player 2".to_owned();
    });
    assert_eq!(second.unwrap().id, PlayerId::numbered(2));
    world.check_journal();
}

#[test]
fn kept_seat_of_the_last_league_is_readmitted_with_its_id() {
    let mut last = LeagueWorld::new(rules());
    let named = |name: &'static str| {
        move |applicant: &mut Applicant| {
            name.clone_into(&mut applicant.request.meta.display_name);
            applicant.request.meta.contact_endpoint = format!("http://localhost/{name}");
        }
    };
    for name in ["Zoe", "Ann"] {
        try_register(&mut last, None, named(name)).unwrap();
    }
    let seats = last.league.kept_seats();
    assert_eq!(seats.len(), 2);
    let mut world = LeagueWorld::new(rules());
    let from = rules().league_id;
    world.pull(Lever::TakeOver { from, seats }).unwrap();
    // A kept name is not for a stranger, nor for an agent that changes its name.
    let told = try_register(&mut world, None, named("ann")).unwrap_err();
    assert!(told.contains("kept for P02"), "{told}");
    let eve = try_register(&mut world, None, named("Eve")).unwrap();
    try_register(&mut world, eve.return_token.as_ref(), |applicant| {
        named("Eve")(applicant);
        "Ann".clone_into(&mut applicant.request.meta.display_name);
    })
    .unwrap();
    assert_eq!(
        &**world.league.players()[0].member().display_name(),
        "Ann (2)"
    );
    let agent = world.league.agent_named("p02").unwrap();
    let name = Lever::Rename {
        agent: Agent::Player(eve.id),
        name: "ANN".to_owned(),
    };
    assert!(world.pull(name).is_err(), "the organiser keeps it too");
    world.pull(Lever::Readmit { agent }).unwrap();
    let ann = try_register(&mut world, None, named("Ann")).unwrap();
    assert_eq!(ann.id, PlayerId::numbered(2));
    assert!(
        try_register(&mut world, None, named("Ann")).is_err(),
        "once"
    );
    world.check_journal();
}

#[test]
fn namesakes_of_the_last_league_keep_their_names() {
    let at = |port: u32| {
        move |applicant: &mut Applicant| {
            "Heron".clone_into(&mut applicant.request.meta.display_name);
            applicant.request.meta.contact_endpoint = format!("http://localhost:{port}/mcp");
        }
    };
    let mut last = LeagueWorld::new(rules());
    let tokens = [1, 2].map(|port| {
        try_register(&mut last, None, at(port))
            .unwrap()
            .return_token
    });
    let (from, seats) = (rules().league_id, last.league.kept_seats());
    let mut world = LeagueWorld::new(rules());
    world.pull(Lever::TakeOver { from, seats }).unwrap();
    let told = try_register(&mut world, None, at(3)).unwrap_err();
    assert!(told.contains("kept for P01"), "{told}");
    try_register(&mut world, tokens[0].as_ref(), at(1)).unwrap();
    try_register(&mut world, None, at(3)).unwrap();
    try_register(&mut world, tokens[1].as_ref(), at(2)).unwrap();
    let players = world.league.players().iter();
    let players: Vec<String> = players
        .map(|player| format!("{} {}", player.id(), player.member().display_name()))
        .collect();
    assert_eq!(players, ["P01 Heron", "P03 Heron (3)", "P02 Heron (2)"]);
    world.check_journal();
}

/// What a player does with its identity, and the return token that it holds then.
type IdentityChange = fn(&mut LeagueWorld) -> AuthToken;

fn return_with(world: &mut LeagueWorld, token: &AuthToken) -> AuthToken {
    register(world, Some(token)).unwrap().return_token.unwrap()
}

fn out_and_in(world: &mut LeagueWorld, out: Lever) -> AuthToken {
    let player_id = PlayerId::numbered(1);
    world.pull(out).unwrap();
    world.pull(Lever::Reinstate { player_id }).unwrap();
    SECRET.return_token(&rules().league_id, &first())
}

const CHANGES: [(&str, IdentityChange); 6] = [
    ("new token", |world| {
        let (_, reply) = world.pull(Lever::NewToken { agent: first() }).unwrap();
        let Reply::NewToken(token) = reply else {
            panic!("{reply:?}");
        };
        return_with(world, &token)
    }),
    ("two new tokens", |world| {
        let lever = || Lever::NewToken { agent: first() };
        let (_, Reply::NewToken(void)) = world.pull(lever()).unwrap() else {
            panic!("no token");
        };
        let (_, Reply::NewToken(token)) = world.pull(lever()).unwrap() else {
            panic!("no token");
        };
        assert!(register(world, Some(&void)).is_err());
        return_with(world, &token)
    }),
    ("readmission", |world| {
        readmit(world);
        register(world, None).unwrap().return_token.unwrap()
    }),
    ("rename", |world| {
        let (agent, name) = (first(), "Heron".to_owned());
        world.pull(Lever::Rename { agent, name }).unwrap();
        let own = SECRET.return_token(&rules().league_id, &first());
        return_with(world, &own)
    }),
    ("withdrawal and reinstatement", |world| {
        let player_id = PlayerId::numbered(1);
        out_and_in(world, Lever::Withdraw { player_id })
    }),
    ("disqualification and reinstatement", |world| {
        let (player_id, played) = (PlayerId::numbered(1), PlayedMatches::Annulled);
        out_and_in(world, Lever::Disqualify { player_id, played })
    }),
];

/// Ends the open matches of a round; the first player signs with this token.
fn finish_round(world: &mut LeagueWorld, round: u32, token: &AuthToken) {
    world.restart();
    world.settle();
    for number in 1..=2 {
        let id = MatchId::numbered(round, number);
        if world.fixture(id.as_str()).stage() == FixtureStage::Finished {
            continue;
        }
        let (referee, order) = world.order(id.as_str());
        let key = |player: &PlayerId| match player.as_str() {
            "P01" => draw::proof_key(token, &order.league_id, &order.match_id, order.attempt),
            _ => proof_key(&order, player),
        };
        let report = signed_by(ended(&order, None), &[0, 1], key);
        world.report(&referee, report).unwrap();
    }
    world.settle();
}

/// How many keys of the first player a round opened.
fn opened_keys(world: &LeagueWorld, round: u32) -> usize {
    let results = world.events.iter().filter_map(|event| match event {
        Event::ResultRecorded {
            match_id, result, ..
        } if match_id.as_str().starts_with(&format!("R{round}M")) => Some(result),
        _ => None,
    });
    let players = results.flat_map(|result| result.evidence.players.clone());
    let own = players.filter(|known| Agent::Player(known.player_id.clone()) == first());
    own.filter(|known| known.key.is_some()).count()
}

#[test]
fn player_signs_its_next_match_after_every_lever_on_its_identity() {
    for (name, change) in CHANGES {
        let mut world = LeagueWorld::begun_signing(4, 1, 2);
        world.settle();
        let token = change(&mut world);
        finish_round(&mut world, 1, &token);
        let is_same = token == SECRET.return_token(&rules().league_id, &first());
        // A match that is played while the token changes cannot be signed.
        assert_eq!(opened_keys(&world, 1), usize::from(is_same), "{name}");
        finish_round(&mut world, 2, &token);
        assert_eq!(opened_keys(&world, 2), 1, "{name}");
        world.check_journal();
    }
}

#[test]
fn void_token_signs_nothing() {
    let mut world = LeagueWorld::begun_signing(4, 1, 2);
    world.settle();
    let void = SECRET.return_token(&rules().league_id, &first());
    let token = CHANGES[0].1(&mut world);
    finish_round(&mut world, 1, &token);
    let index = (1..=2).find(|number| {
        let fixture = world.fixture(&format!("R2M{number}")).clone();
        world
            .league
            .seats_of(&fixture)
            .unwrap()
            .contains(&&PlayerId::numbered(1))
    });
    let (referee, order) = world.order(&format!("R2M{}", index.unwrap()));
    let key = |player: &PlayerId| match player.as_str() {
        "P01" => draw::proof_key(&void, &order.league_id, &order.match_id, order.attempt),
        _ => proof_key(&order, player),
    };
    let report = signed_by(ended(&order, None), &[0, 1], key);
    let request = league_testkit::league::request_of(&report);
    let refused = world.when(&world.draw_command(&referee, &request));
    assert!(
        matches!(refused, Err(Refusal::BadMoves { .. })),
        "{refused:?}"
    );
}
