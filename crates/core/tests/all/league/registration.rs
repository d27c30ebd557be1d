//! Registration: admission, ids and returning agents.

use std::time::Duration;

use league_core::draw::LeagueSecrets;
use league_core::league::{
    AgentState, Applicant, Command, Event, League, LeagueRules, Lever, Refusal, Reply, RulesError,
};
use league_core::machine::Persistence;
use league_protocol::decode::decode;
use league_protocol::dialect::Hints;
use league_protocol::explain::explain;
use league_protocol::fault::Code;
use league_protocol::finding::Reading;
use league_protocol::id::{GameType, PlayerId, RefereeId};
use league_protocol::message::{Enrolment, Message, RegisterResponse};
use league_protocol::sender::{Agent, Dialect};
use league_protocol::token::AuthToken;
use serde_json::value::RawValue;

use league_testkit::league::{LeagueWorld, SECRET, rules};

fn ask(world: &mut LeagueWorld, candidate: Applicant) -> RegisterResponse<PlayerId> {
    let (_, reply) = world.when(&Command::RegisterPlayer(candidate)).unwrap();
    match reply {
        Reply::Player(response) => response,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn enrolled(world: &mut LeagueWorld, candidate: Applicant) -> Enrolment<PlayerId> {
    match ask(world, candidate) {
        RegisterResponse::Accepted(enrolment) => *enrolment,
        RegisterResponse::Rejected { reason } => panic!("{reason}"),
    }
}

pub(crate) fn reason(world: &mut LeagueWorld, candidate: Applicant) -> String {
    let noted = world.events.len();
    let RegisterResponse::Rejected { reason } = ask(world, candidate) else {
        panic!("was let in");
    };
    assert_eq!(world.events.len(), noted, "a rejection is no fact");
    reason
}

/// The documents' words come first, then whose name it is.
fn assert_duplicate(reason: &str) {
    let words = "Duplicate display name: `";
    assert!(reason.starts_with(words), "{reason}");
    assert!(reason.contains("` is taken by P01;"), "{reason}");
}

pub(crate) fn changed(mut candidate: Applicant, change: impl FnOnce(&mut Applicant)) -> Applicant {
    change(&mut candidate);
    candidate
}

const BEGUN: &str = "Registration closed: the league has begun; only a Swiss tournament";

#[test]
fn ids_are_numbered_in_order_of_registration() {
    let mut world = LeagueWorld::new(rules());
    assert_eq!(world.admit_player("Alpha").as_str(), "P01");
    assert_eq!(world.admit_player("Beta").as_str(), "P02");
    assert_eq!(world.admit_referee("Whistle", 2).as_str(), "REF01");
    let player = world.league.player(&PlayerId::numbered(2)).unwrap();
    assert_eq!(world.league.player_state(player), AgentState::Registered);
    assert_eq!(&**player.member().display_name(), "Beta");
}

#[test]
fn wanted_id_is_given_if_free_in_any_case() {
    let mut world = LeagueWorld::new(rules());
    let mut wanting = |name: &str, wanted: &str| {
        let candidate = world.candidate(name);
        let candidate = changed(candidate, |candidate| {
            candidate.request.wanted_id = Some(wanted.to_owned());
        });
        enrolled(&mut world, candidate).id.to_string()
    };
    assert_eq!(wanting("a", "P02"), "P02");
    assert_eq!(wanting("b", "p02"), "P01");
    assert_eq!(wanting("c", "../../etc"), "P03");
    assert_eq!(wanting("d", "dragon"), "dragon");
    assert_eq!(wanting("e", "DRAGON"), "P04");
}

#[test]
fn id_of_a_role_or_of_another_agent_is_not_given() {
    let mut world = LeagueWorld::new(rules());
    let wanting = |candidate: Applicant, wanted: &str| {
        changed(candidate, |candidate| {
            candidate.request.wanted_id = Some(wanted.to_owned());
        })
    };
    for (name, wanted, given) in [
        ("a", "REF01", "P01"),
        ("b", "league_manager", "P02"),
        ("c", "alice", "alice"),
    ] {
        let candidate = wanting(world.candidate(name), wanted);
        assert_eq!(enrolled(&mut world, candidate).id.as_str(), given);
    }
    for (name, wanted, given) in [("d", "P09", "REF01"), ("e", "Alice", "REF02")] {
        let candidate = wanting(world.candidate(name), wanted);
        let (_, reply) = world.when(&Command::RegisterReferee(candidate)).unwrap();
        let Reply::Referee(RegisterResponse::Accepted(enrolment)) = reply else {
            panic!("{reply:?}")
        };
        assert_eq!(enrolment.id.as_str(), given);
    }
}

#[test]
fn names_that_look_alike_are_taken_in_a_strict_league() {
    let mut world = LeagueWorld::new(strict());
    world.admit_player("Agent Alpha");
    for alike in ["AGENT alpha", "Ａｇｅｎｔ Alpha", "Agent\u{a0}Al\u{ad}pha"] {
        let candidate = changed(world.candidate(alike), |candidate| {
            candidate.request.meta.contact_endpoint = "http://localhost/other".to_owned();
        });
        assert_duplicate(&reason(&mut world, candidate));
    }
}

fn strict() -> LeagueRules {
    LeagueRules {
        strict: true,
        ..rules()
    }
}

#[test]
fn namesakes_are_numbered_in_a_lenient_league() {
    let mut world = LeagueWorld::new(rules());
    let at = |world: &mut LeagueWorld, name: &str, port: u16| {
        changed(world.candidate(name), |candidate| {
            candidate.request.meta.contact_endpoint = format!("http://localhost:{port}/mcp");
        })
    };
    let long = "x".repeat(64);
    let names = [
        ("Alpha", "Alpha"),
        ("ALPHA", "ALPHA (2)"),
        ("Alpha (2)", "Alpha (2) (2)"),
        ("Alpha", "Alpha (3)"),
        (&*long, &*long),
        (&*long, &format!("{} (2)", "x".repeat(60))),
    ];
    for (port, (name, given)) in (8101..).zip(names) {
        let candidate = at(&mut world, name, port);
        let enrolment = enrolled(&mut world, candidate);
        let player = world.league.player(&enrolment.id).unwrap();
        assert_eq!(&**player.member().display_name(), given);
        let renamed =
            format!("another agent is named `{name}`, so you are `{given}` in this league");
        assert_eq!(enrolment.note, (name != given).then_some(renamed));
    }
    // Each comes back as itself, and keeps its name.
    for (number, port, name) in [
        (1, 8101, "Alpha"),
        (2, 8102, "Alpha (2)"),
        (4, 8104, "Alpha (3)"),
    ] {
        let candidate = at(&mut world, "Alpha", port);
        let id = enrolled(&mut world, candidate).id;
        assert_eq!(id, PlayerId::numbered(number));
        let player = world.league.player(&id).unwrap();
        assert_eq!(&**player.member().display_name(), name);
    }
}

#[test]
fn namesake_that_comes_too_late_is_told_so() {
    let mut world = LeagueWorld::begun(2, 1, 1);
    let name = world.league.player(&PlayerId::numbered(1)).unwrap();
    let name = name.member().display_name().to_string();
    let late = changed(world.candidate(&name), |candidate| {
        candidate.request.meta.contact_endpoint = "http://localhost:9999/mcp".to_owned();
    });
    assert!(reason(&mut world, late).starts_with(BEGUN));
}

#[test]
fn namesake_moves_with_its_return_token() {
    let mut world = LeagueWorld::new(rules());
    world.admit_player("Alpha");
    let at = |world: &mut LeagueWorld, token: AuthToken, place: &str| {
        changed(world.candidate("Alpha"), |candidate| {
            candidate.request.token = Some(token);
            candidate.request.meta.contact_endpoint = place.to_owned();
        })
    };
    let second = at(
        &mut world,
        AuthToken::pledge(&[9; 32]),
        "http://localhost/second",
    );
    let second = enrolled(&mut world, second);
    assert_eq!(second.id.as_str(), "P02");
    let stranger = at(&mut world, second.token, "http://localhost/third");
    reason(&mut world, stranger);
    let moved = at(
        &mut world,
        second.return_token.unwrap(),
        "http://localhost/third",
    );
    assert_eq!(enrolled(&mut world, moved).id.as_str(), "P02");
}

#[test]
fn plain_registration_gets_a_return_token_and_need_not_show_it() {
    let mut world = LeagueWorld::new(rules());
    let plain = changed(world.candidate("Alpha"), |candidate| {
        candidate.request.is_plain = true;
    });
    assert!(enrolled(&mut world, plain.clone()).return_token.is_some());
    let again = enrolled(&mut world, plain);
    assert_eq!(again.id.as_str(), "P01");
    assert_eq!(again.return_token, None, "a stranger may have called");
}

#[test]
fn strict_league_answers_strangers_with_fields_of_the_documents_alone() {
    for (rules, is_told) in [(strict(), false), (rules(), true)] {
        let mut world = LeagueWorld::new(rules);
        let foreign = changed(world.candidate("Foreign"), |candidate| {
            candidate.request.meta.speech = None;
        });
        let foreign = enrolled(&mut world, foreign);
        assert_eq!(foreign.manager_token.is_some(), is_told);
        let signing = changed(world.candidate("Signing"), |candidate| {
            candidate.request.meta.speech = None;
            candidate.request.meta.proofs = true;
        });
        let signing = enrolled(&mut world, signing);
        assert!(signing.manager_token.is_some() && signing.return_token.is_some());
        let ours = world.candidate("Ours");
        assert!(enrolled(&mut world, ours).manager_token.is_some());
    }
}

#[test]
fn two_agents_do_not_share_an_endpoint() {
    let mut world = LeagueWorld::new(rules());
    let at = |candidate: Applicant, endpoint: &str| {
        changed(candidate, |candidate| {
            candidate.request.meta.contact_endpoint = endpoint.to_owned();
        })
    };
    let elsewhere =
        |candidate: Applicant| changed(candidate, |candidate| candidate.is_at_address = false);
    let first = at(world.candidate("Alpha"), "http://localhost:8101/mcp");
    enrolled(&mut world, first);
    for same in ["http://localhost:8101/mcp", "mcp://127.0.0.1:8101"] {
        let second = elsewhere(at(world.candidate("Beta"), same));
        let refused = reason(&mut world, second.clone());
        assert!(
            refused.contains("player:P01 answers there already"),
            "{refused}"
        );
        let (events, _) = world.when(&Command::RegisterReferee(second)).unwrap();
        assert!(events.is_empty());
    }
    let again = at(world.candidate("Alpha"), "http://localhost:8101/mcp");
    assert_eq!(enrolled(&mut world, again).id.as_str(), "P01");
    let other = at(world.candidate("Beta"), "http://localhost:8102/mcp");
    assert_eq!(enrolled(&mut world, other).id.as_str(), "P02");
}

#[test]
fn agent_that_moves_frees_its_endpoint() {
    let mut world = LeagueWorld::new(rules());
    let alpha = changed(world.candidate("Alpha"), |candidate| {
        candidate.request.token = Some(AuthToken::pledge(&[9; 32]));
    });
    let alpha = enrolled(&mut world, alpha);
    let moved = changed(world.candidate("Alpha"), |candidate| {
        candidate.request.token = alpha.return_token.clone();
        candidate.request.meta.contact_endpoint = "http://localhost/new".to_owned();
    });
    enrolled(&mut world, moved);
    let beta = changed(world.candidate("Beta"), |candidate| {
        candidate.request.meta.contact_endpoint = "http://localhost/alpha".to_owned();
    });
    assert_eq!(enrolled(&mut world, beta).id.as_str(), "P02");
}

#[test]
fn return_that_changes_nothing_is_not_written() {
    let mut world = LeagueWorld::new(rules());
    let alpha = world.candidate("Alpha");
    let given = enrolled(&mut world, alpha).token;
    let old = changed(world.candidate("Beta"), |candidate| {
        candidate.dialect = Dialect::V1
    });
    enrolled(&mut world, old.clone());
    let journal = |events: &[Event]| {
        let kept = events
            .iter()
            .filter(|event| event.keep() == Persistence::Journal);
        kept.count()
    };
    let again = changed(world.candidate("Alpha"), |candidate| {
        candidate.request.token = Some(given.clone());
    });
    for candidate in [again.clone(), again.clone(), old.clone()] {
        let before = world.events.len();
        let back = enrolled(&mut world, candidate);
        assert_eq!(journal(&world.events[before..]), 0);
        if back.id.as_str() == "P01" {
            assert_eq!(back.token, given);
        }
    }
    for other in [
        changed(again.clone(), |candidate| {
            candidate.request.meta.version = "1.0.1".to_owned()
        }),
        changed(world.candidate("Alpha"), |_| ()),
        changed(old, |candidate| {
            candidate.request.meta.version = "1.0.1".to_owned()
        }),
    ] {
        let before = world.events.len();
        enrolled(&mut world, other);
        assert_eq!(journal(&world.events[before..]), 1);
    }
}

#[test]
fn agent_with_a_pledge_does_not_return_without_proof() {
    let mut world = LeagueWorld::new(rules());
    let pledged = changed(world.candidate("Alpha"), |candidate| {
        candidate.request.token = Some(AuthToken::pledge(&[9; 32]));
    });
    let given = enrolled(&mut world, pledged);
    let stranger = world.candidate("Alpha");
    assert_duplicate(&reason(&mut world, stranger.clone()));
    let proven = changed(stranger, |candidate| {
        candidate.request.token = given.return_token.clone();
    });
    assert_eq!(enrolled(&mut world, proven).id, given.id);
}

#[test]
fn pledge_lets_an_agent_return_after_a_lost_answer() {
    let mut world = LeagueWorld::new(rules());
    let pledge = AuthToken::pledge(&[9; 32]);
    let candidate = changed(world.candidate("Alpha"), |candidate| {
        candidate.request.token = Some(pledge.clone());
    });
    let lost = enrolled(&mut world, candidate.clone());
    world.admit_player("Beta");
    world.admit_referee("Whistle", 1);
    world.when(&Command::pull(Lever::Start)).unwrap();
    world.settle();
    let stranger = changed(world.candidate("Alpha"), |candidate| {
        candidate.request.token = Some(AuthToken::pledge(&[8; 32]));
    });
    assert_duplicate(&reason(&mut world, stranger));
    for _ in 0..2 {
        let back = enrolled(&mut world, candidate.clone());
        assert_eq!(back.id, lost.id);
        assert_eq!(back.return_token, lost.return_token);
        assert_eq!(back.manager_token, lost.manager_token);
    }
}

#[test]
fn referee_cannot_take_a_players_name() {
    let mut world = LeagueWorld::new(rules());
    world.admit_player("Alpha");
    let candidate = world.candidate("Alpha");
    let (events, reply) = world.when(&Command::RegisterReferee(candidate)).unwrap();
    assert!(events.is_empty());
    let Reply::Referee(RegisterResponse::Rejected { reason }) = reply else {
        panic!("{reply:?}")
    };
    assert_duplicate(&reason);
}

#[test]
fn returning_agent_keeps_its_id_and_gets_a_fresh_token() {
    let mut world = LeagueWorld::new(rules());
    let first = world.candidate("Alpha");
    let first = enrolled(&mut world, first);
    let again = world.candidate("Alpha");
    let second = enrolled(&mut world, again);
    assert_eq!(first.id, second.id);
    assert_ne!(first.token, second.token);
    let sender = Agent::Player(first.id);
    let check = |token: &league_protocol::token::AuthToken| {
        let found = world
            .league
            .authenticate(world.now, Some(token.hash()), Some(&sender));
        found.map(|_| ())
    };
    assert_eq!(check(&first.token), Err(Refusal::TokenInvalid));
    assert_eq!(check(&second.token), Ok(()));
}

#[test]
fn returning_to_a_running_league_needs_the_old_token() {
    let mut world = LeagueWorld::begun(2, 1, 1);
    let token = world.tokens[&Agent::Player(PlayerId::numbered(1))].clone();
    let stranger = world.candidate("Player 1");
    assert_duplicate(&reason(&mut world, stranger.clone()));
    let back = changed(stranger, |candidate| candidate.request.token = Some(token));
    world.letters.clear();
    let enrolment = enrolled(&mut world, back);
    assert_eq!(enrolment.id.as_str(), "P01");
    let told = world.letters_to(&Agent::Player(enrolment.id.clone()));
    assert!(
        matches!(told[..], [Message::RoundAnnouncement(_)]),
        "{told:?}"
    );
    let late = world.candidate("Late");
    assert!(reason(&mut world, late).starts_with(BEGUN));
}

#[test]
fn previous_token_is_accepted_while_the_answer_may_be_lost() {
    let mut world = LeagueWorld::begun(2, 1, 1);
    let first = world.tokens[&Agent::Player(PlayerId::numbered(1))].clone();
    let again = changed(world.candidate("Player 1"), |candidate| {
        candidate.request.token = Some(first);
        candidate.request.meta.version = "1.0.1".to_owned();
    });
    let lost = enrolled(&mut world, again.clone());
    let once_more = changed(again.clone(), |candidate| candidate.chance = [0x77; 32]);
    let found = enrolled(&mut world, once_more);
    assert_eq!(lost.id, found.id);
    let held = |token: &AuthToken| {
        world
            .league
            .authenticate(world.now, Some(token.hash()), None)
    };
    assert!(
        held(&lost.token).is_err(),
        "a token that was replaced opens nothing"
    );
    assert!(held(&found.token).is_ok());
    world.now = world.now + Duration::from_secs(600);
    assert_duplicate(&reason(&mut world, again));
}

#[test]
fn agents_token_displaces_an_impostor() {
    let mut world = LeagueWorld::new(rules());
    world.admit_player("Alpha");
    let first = world.tokens[&Agent::Player(PlayerId::numbered(1))].clone();
    let stranger = changed(world.candidate("Alpha"), |candidate| {
        candidate.chance = [0x51; 32]
    });
    let stolen = enrolled(&mut world, stranger.clone()).token;
    world.now = world.now + Duration::from_secs(3_600);
    let owner = |token: &AuthToken, chance: u8| {
        changed(stranger.clone(), |candidate| {
            candidate.request.token = Some(token.clone());
            candidate.chance = [chance; 32];
        })
    };
    enrolled(&mut world, owner(&first, 0x52));
    world.admit_player("Beta");
    world.admit_referee("Whistle", 1);
    world.when(&Command::pull(Lever::Start)).unwrap();
    assert_duplicate(&reason(&mut world, owner(&stolen, 0x53)));
}

#[test]
fn agent_without_its_token_keeps_address_and_dialect() {
    let mut world = LeagueWorld::new(rules());
    world.admit_player("Alpha");
    let turned = changed(world.candidate("Alpha"), |candidate| {
        candidate.dialect = Dialect::V1;
    });
    assert_duplicate(&reason(&mut world, turned));
}

#[test]
fn agent_without_its_token_cannot_move() {
    let mut world = LeagueWorld::new(strict());
    world.admit_player("Alpha");
    let elsewhere = changed(world.candidate("Alpha"), |candidate| {
        candidate.request.meta.contact_endpoint = "http://localhost/thief".to_owned();
    });
    assert_duplicate(&reason(&mut world, elsewhere));
}

#[test]
fn suspended_and_v1_agents_return_without_a_token() {
    let mut world = LeagueWorld::begun(2, 1, 1);
    let agent = Agent::Player(PlayerId::numbered(1));
    for _ in 0..5 {
        let correlation = league_core::league::CorrelationId::Notice(agent.clone());
        world.hear(correlation, Err(Code::Connection));
    }
    let player = &world.league.players()[0];
    assert_eq!(world.league.player_state(player), AgentState::Suspended);
    let back = world.candidate("Player 1");
    assert_eq!(enrolled(&mut world, back).id.as_str(), "P01");
    let player = &world.league.players()[0];
    assert_eq!(world.league.player_state(player), AgentState::Active);

    let mut world = LeagueWorld::new(rules());
    let old = changed(world.candidate("Old"), |candidate| {
        candidate.dialect = Dialect::V1
    });
    enrolled(&mut world, old.clone());
    world.admit_player("New");
    world.admit_referee("Whistle", 1);
    world.when(&Command::pull(Lever::Start)).unwrap();
    world.settle();
    assert_eq!(enrolled(&mut world, old).id.as_str(), "P01");
}

#[test]
fn returning_referee_gets_its_running_matches_again() {
    let mut world = LeagueWorld::begun(4, 1, 2);
    let orders = world.orders();
    assert_eq!(orders.len(), 2);
    let (referee, _) = &orders[0];
    let token = world.tokens[&Agent::Referee(referee.clone())].clone();
    let back = changed(world.candidate("Referee 1"), |candidate| {
        candidate.request.token = Some(token);
        candidate.request.meta.max_concurrent_matches = Some(2);
    });
    let (events, _) = world.when(&Command::RegisterReferee(back)).unwrap();
    assert!(matches!(events[..], [Event::AgentAnswered { .. }]));
    assert_eq!(world.orders(), orders);
}

#[test]
fn agent_returning_after_the_end_learns_the_result() {
    let mut world = LeagueWorld::begun(2, 1, 1);
    world.play_on();
    let names = [("Player 1", false), ("Referee 1", true)];
    for (name, referee) in names {
        let agent = if referee {
            Agent::Referee(RefereeId::numbered(1))
        } else {
            Agent::Player(PlayerId::numbered(1))
        };
        let token = world.tokens[&agent].clone();
        let back = changed(world.candidate(name), |candidate| {
            candidate.request.token = Some(token);
        });
        world.letters_to(&agent);
        let command = match referee {
            true => Command::RegisterReferee(back),
            false => Command::RegisterPlayer(back),
        };
        let (events, _) = world.when(&command).unwrap();
        assert!(
            matches!(events[..], [Event::AgentAnswered { .. }]),
            "{name}"
        );
        let told = world.letters_to(&agent);
        assert!(
            matches!(told[..], [Message::LeagueCompleted(_)]),
            "{name}: {told:?}"
        );
    }
}

#[test]
fn completed_league_admits_no_new_agent() {
    let mut world = LeagueWorld::begun(2, 1, 1);
    world.play_on();
    let late = world.candidate("Late");
    assert_eq!(reason(&mut world, late), "Registration closed");
    let late = world.candidate("Late");
    let (_, reply) = world.when(&Command::RegisterReferee(late)).unwrap();
    let reason = "Registration closed".to_owned();
    assert_eq!(reply, Reply::Referee(RegisterResponse::Rejected { reason }));
}

#[test]
fn agent_details_are_bounded() {
    let mut world = LeagueWorld::new(rules());
    let far = changed(world.candidate("Far"), |candidate| {
        candidate.request.meta.contact_endpoint = "x".repeat(2_049);
    });
    assert!(reason(&mut world, far).starts_with("Invalid endpoint: "));
    let long = changed(world.candidate("Long"), |candidate| {
        candidate.dialect = Dialect::V1;
        candidate.request.meta.version = "9\n".repeat(1_000);
        candidate.request.meta.protocol_version = Some("1".repeat(1_000));
        candidate.request.meta.game_types = vec![rules().game_type; 1_000];
    });
    enrolled(&mut world, long);
    let Some(Event::PlayerRegistered { meta, .. }) = world.events.last() else {
        panic!("{:?}", world.events);
    };
    assert_eq!(meta.version, "9".repeat(64));
    assert_eq!(meta.protocol_version, Some("1".repeat(64)));
    assert_eq!(meta.game_types.len(), 64);
}

#[test]
fn invalid_rules_are_refused() {
    let refused = |rules: LeagueRules| League::new(rules, LeagueSecrets::one(SECRET)).unwrap_err();
    let game = GameType::new("chess").unwrap();
    let unknown = LeagueRules::new(rules().league_id, game.clone());
    assert_eq!(refused(unknown), RulesError::UnknownGame(game));
    let settings = LeagueRules {
        game_settings: serde_json::json!({"lowest": 5, "highest": 5}),
        ..rules()
    };
    assert!(matches!(refused(settings), RulesError::Settings(_)));
    for (min_players, max_players) in [(1, 10), (3, 2), (2, u32::MAX)] {
        let players = LeagueRules {
            min_players,
            max_players,
            ..rules()
        };
        assert!(matches!(refused(players), RulesError::Players { .. }));
    }
    let restless = LeagueRules {
        probe_every: std::time::Duration::ZERO,
        ..rules()
    };
    assert!(matches!(refused(restless), RulesError::ProbeEvery(_)));
}

/// Whether a strict manager reads a registration and does not answer with an error.
fn is_taken(message: String) -> bool {
    let raw = RawValue::from_string(message).unwrap();
    let decoded = decode(&raw, Reading::Strict, None).map(|mut decoded| {
        let read = decoded.message(&Hints::default());
        read.ok()
    });
    match decoded.ok().flatten() {
        Some(Message::PlayerRegisterRequest(request)) => {
            let mut world = LeagueWorld::new(rules());
            let applicant = Applicant {
                request,
                ..world.candidate("Agent Alpha")
            };
            world.when(&Command::RegisterPlayer(applicant)).is_ok()
        }
        _ => false,
    }
}

#[test]
fn explain_refuses_every_registration_that_a_manager_refuses() {
    let texts = [
        "2.0.0",
        "2.1.0",
        "2.10.3",
        "10.0.0",
        "league.v2",
        "1.9.9",
        "1.0.0",
        "0.0.0",
        "2.0",
        "2",
        "2.0.0.0",
        "v2.0.0",
        "",
        "2.x.0",
        "+2.0.0",
        "Agent Alpha",
        "אבג",
        "a\nb",
        "a\u{202E}b",
        "\u{200B}",
        " ",
        "a\u{7}",
    ];
    let long = "x".repeat(65);
    for field in ["protocol_version", "display_name"] {
        for text in texts.iter().copied().chain([&*long]) {
            let mut message = serde_json::json!({
                "protocol": "league.v2", "message_type": "LEAGUE_REGISTER_REQUEST",
                "sender": "player:alpha", "timestamp": "2025-01-15T10:05:00Z",
                "conversation_id": "conv-player-alpha-reg-001",
                "player_meta": {
                    "display_name": "Agent Alpha", "version": "1.0.0",
                    "protocol_version": "2.1.0", "game_types": ["even_odd"],
                    "contact_endpoint": "http://localhost:8101/mcp",
                },
            });
            message["player_meta"][field] = text.into();
            let bytes = message.to_string();
            let explained = explain(bytes.as_bytes(), Reading::Strict).remove(0);
            let taken = is_taken(bytes);
            assert_eq!(explained.valid, taken, "{field} {text:?}: {explained:?}");
            let code = explained.findings.first().map(|finding| finding.code);
            if !taken && field == "protocol_version" && !text.is_empty() {
                assert_eq!(code, Some(Code::VersionMismatch), "{text:?}");
            }
        }
    }
}
