//! Which referees are let in, and which agents may come back.

use league_core::league::{
    Admission, Applicant, Command, Event, Inconsistency, LeagueRules, Lever, LeverRefusal, Refusal,
    Reply,
};
use league_protocol::id::{PlayerId, RefereeId};
use league_protocol::message::RegisterResponse;
use league_protocol::sender::Agent;
use league_protocol::token::AuthToken;

use crate::league::registration::{changed, enrolled, reason};
use league_testkit::league::{LeagueWorld, SECRET, rules};

fn stranger(world: &mut LeagueWorld) -> Applicant {
    changed(world.candidate("Stranger"), |candidate| {
        candidate.has_key = false;
    })
}

/// Registers a referee that must be rejected.
fn turned_away(world: &mut LeagueWorld, candidate: Applicant) -> String {
    let (events, reply) = world.when(&Command::RegisterReferee(candidate)).unwrap();
    assert!(events.is_empty(), "{events:?}");
    match reply {
        Reply::Referee(RegisterResponse::Rejected { reason }) => reason,
        reply => panic!("{reply:?}"),
    }
}

/// How the last referee was let in.
fn admission(world: &LeagueWorld) -> Admission {
    let admitted = world.events.iter().rev().find_map(|event| match event {
        Event::RefereeRegistered { admitted, .. } => Some(*admitted),
        _ => None,
    });
    admitted.unwrap()
}

fn invite(world: &mut LeagueWorld, endpoint: &str) -> Result<(Vec<Event>, Reply), Refusal> {
    world.pull(Lever::AdmitReferee {
        contact_endpoint: endpoint.to_owned(),
    })
}

#[test]
fn referee_that_nothing_speaks_for_is_told_what_would() {
    let mut world = LeagueWorld::new(rules());
    let candidate = stranger(&mut world);
    let told = turned_away(&mut world, candidate.clone());
    for way in [
        "--referee-key",
        "configuration",
        "league admin admit-referee http://localhost/stranger",
        "security.open_referees",
    ] {
        assert!(told.contains(way), "{told}");
    }
    let guess = changed(candidate, |candidate| {
        candidate.request.referee_key = Some(AuthToken::new("guess"));
    });
    let told = turned_away(&mut world, guess);
    assert!(
        told.contains("does not show the key of the league"),
        "{told}"
    );
}

#[test]
fn each_word_lets_a_referee_in_before_the_start_and_is_noted() {
    for (has_key, is_listed, open_referees, admitted) in [
        (true, true, true, Admission::Key),
        (false, true, true, Admission::Listed),
        (false, false, true, Admission::Open),
    ] {
        let mut world = LeagueWorld::new(LeagueRules {
            open_referees,
            ..rules()
        });
        let candidate = changed(world.candidate("Whistle"), |candidate| {
            candidate.has_key = has_key;
            candidate.is_listed = is_listed;
        });
        world.register_referee(candidate);
        assert_eq!(admission(&world), admitted);
        world.audited().unwrap();
    }
}

#[test]
fn listing_and_invitation_are_for_the_machine_of_the_address() {
    let mut world = LeagueWorld::new(rules());
    let elsewhere = changed(stranger(&mut world), |candidate| {
        candidate.is_listed = true;
        candidate.is_at_address = false;
    });
    let told = turned_away(&mut world, elsewhere.clone());
    assert!(told.contains("from another machine"), "{told}");
    let unlisted = changed(elsewhere.clone(), |candidate| candidate.is_listed = false);
    invite(&mut world, &unlisted.request.meta.contact_endpoint).unwrap();
    turned_away(&mut world, unlisted);
    let by_key = changed(elsewhere, |candidate| candidate.has_key = true);
    world.register_referee(by_key);
    assert_eq!(
        admission(&world),
        Admission::Key,
        "a key is the caller's own"
    );
}

#[test]
fn only_the_organisers_word_lets_a_referee_in_after_the_start() {
    let mut world = LeagueWorld::begun_by(
        LeagueRules {
            open_referees: true,
            ..rules()
        },
        2,
        1,
        1,
    );
    for has_key in [false, true] {
        let late = changed(world.candidate("Stranger"), |late| late.has_key = has_key);
        let told = turned_away(&mut world, late);
        assert!(told.contains("league admin admit-referee"), "{told}");
    }
    invite(&mut world, "http://127.0.0.1/stranger").unwrap();
    let candidate = stranger(&mut world);
    world.register_referee(candidate);
    assert_eq!(admission(&world), Admission::Organiser);
    let second = changed(stranger(&mut world), |second| {
        second.request.meta.display_name = "Second".to_owned();
        second.request.meta.contact_endpoint = "http://localhost/second".to_owned();
    });
    turned_away(&mut world, second);
    world.audited().unwrap();
}

#[test]
fn organisers_word_is_written_once_and_is_the_administrators() {
    let mut world = LeagueWorld::new(rules());
    let (events, _) = invite(&mut world, "http://localhost:8003/mcp").unwrap();
    assert!(matches!(events[..], [Event::OrganiserActed { .. }]));
    let (events, _) = invite(&mut world, "http://127.0.0.1:8003").unwrap();
    assert_eq!(events, Vec::new());
    let long = invite(&mut world, &"x".repeat(3_000)).unwrap_err();
    assert_eq!(long, Refusal::Lever(LeverRefusal::LongEndpoint));
    assert_eq!(world.replayed(), world.league);
}

#[test]
fn known_referee_returns_after_the_start_without_a_new_word() {
    let mut world = LeagueWorld::begun(2, 1, 1);
    let token = world.tokens[&Agent::Referee(RefereeId::numbered(1))].clone();
    let back = changed(world.candidate("Referee 1"), |back| {
        back.has_key = false;
        back.request.token = Some(token);
        back.request.meta.version = "1.0.1".to_owned();
    });
    assert_eq!(world.register_referee(back).id.as_str(), "REF01");
}

#[test]
fn journal_with_a_referee_from_nowhere_fails_the_audit() {
    let found = |rules: LeagueRules, admitted: Admission| {
        let mut world = LeagueWorld::begun_by(rules, 2, 1, 1);
        world.invite_referee("Late", 1);
        world
            .events
            .retain(|event| !matches!(event, Event::OrganiserActed { .. }));
        for event in &mut world.events {
            if let Event::RefereeRegistered {
                admitted: word,
                referee_id,
                ..
            } = event
                && referee_id.as_str() == "REF02"
            {
                *word = admitted;
            }
        }
        world.audited().map(|_| ())
    };
    let stranger = Err(Inconsistency::Stranger(RefereeId::numbered(2)));
    for admitted in [Admission::Open, Admission::Key, Admission::Organiser] {
        assert_eq!(found(rules(), admitted), stranger, "{admitted:?}");
    }
}

#[test]
fn player_that_signs_returns_with_its_return_token_alone() {
    let mut world = LeagueWorld::new(rules());
    let signing = changed(world.candidate("Alpha"), |candidate| {
        candidate.request.meta.proofs = true;
    });
    let given = enrolled(&mut world, signing.clone());
    assert!(given.return_token.is_some());
    let told = reason(&mut world, signing.clone());
    assert!(told.starts_with("Duplicate display name: "), "{told}");
    let back = changed(signing, |back| back.request.token = given.return_token);
    assert_eq!(enrolled(&mut world, back).id, given.id);
    let foreign = world.candidate("Foreign");
    let first = enrolled(&mut world, foreign.clone());
    assert_eq!(
        enrolled(&mut world, foreign).id,
        first.id,
        "it has nothing to show"
    );
}

#[test]
fn token_that_referees_see_does_not_stop_a_player_from_signing() {
    let mut world = LeagueWorld::begun_signing(2, 1, 1);
    let agent = Agent::Player(PlayerId::numbered(1));
    let return_as = |world: &mut LeagueWorld, token: AuthToken| {
        let back = changed(world.candidate("Player 1"), |back| {
            back.request.token = Some(token);
            back.request.meta.version = "1.0.1".to_owned();
        });
        world.register_player(back);
        let Some(Event::AgentReturned { meta, .. }) = world
            .events
            .iter()
            .rfind(|event| matches!(event, Event::AgentReturned { .. }))
        else {
            panic!("{:?}", world.events.last());
        };
        meta.proofs
    };
    let auth = world.tokens[&agent].clone();
    assert!(return_as(&mut world, auth));
    let own = SECRET.return_token(&rules().league_id, &agent);
    assert!(!return_as(&mut world, own));
}
