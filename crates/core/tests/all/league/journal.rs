//! The journal replays to the same league, reads back, and holds no secret.

use league_core::draw::{LeagueSecrets, keeps_promise};
use league_core::league::{CorrelationId, Event, League, LeagueRules};
use league_core::machine::{Machine, Persistence};
use league_protocol::fault::Code;
use league_protocol::id::{MatchId, PlayerId};
use league_protocol::message::Message;
use league_protocol::sender::Agent;

use league_testkit::league::{LeagueWorld, SECRET, rules};
use league_testkit::report::{forfeited, honest};

/// A league in which every kind of fact occurs.
fn eventful() -> LeagueWorld {
    let quick = LeagueRules {
        max_fail: 2,
        ..rules()
    };
    let mut world = LeagueWorld::begun_by(quick, 6, 2, 1);
    let token = world.tokens[&Agent::Player(PlayerId::numbered(2))].clone();
    let mut back = world.candidate("Player 2");
    back.request.token = Some(token);
    back.request.meta.version = "1.0.1".to_owned();
    world
        .when(&league_core::league::Command::RegisterPlayer(back))
        .unwrap();
    let (mut lied, mut contradicted) = (false, false);
    for _ in 0..200 {
        for (referee, order) in world.orders() {
            // The order was repeated when a player came back, and the match may have moved since.
            let held = world.referee_of(order.match_id.as_str());
            if held.as_deref() != Some(referee.as_str()) {
                continue;
            }
            let first = order
                .players
                .iter()
                .position(|p| p.player_id.as_str() == "P01");
            if order.attempt == 1 && order.match_id.as_str() == "R2M2" {
                world.fail_order(&referee, &order);
                continue;
            }
            world.answer_order(&referee, &order, true);
            let good = match first {
                Some(seat) => forfeited(&order, &[(seat, Code::Timeout)]),
                None => honest(&order),
            };
            if !lied {
                let mut bad = good.clone();
                bad.round_id += 1;
                world.report_refused(&referee, bad);
                lied = true;
                continue;
            }
            world.report(&referee, good.clone()).unwrap();
            if !contradicted {
                let mut bad = good;
                bad.round_id += 1;
                world.report_refused(&referee, bad);
                contradicted = true;
            }
        }
        world.settle();
    }
    assert_eq!(world.league.matches_played(), 15);
    world
}

fn kind(event: &Event) -> String {
    let text = format!("{event:?}");
    text.split([' ', '{']).next().unwrap_or_default().to_owned()
}

#[test]
fn every_journal_event_occurs_and_reads_back() {
    let world = eventful();
    let mut kinds = std::collections::BTreeSet::new();
    let journal = world
        .events
        .iter()
        .filter(|event| League::keep(event) == Persistence::Journal);
    for event in journal {
        let line = serde_json::to_string(event).unwrap();
        assert_eq!(serde_json::from_str::<Event>(&line).unwrap(), *event);
        kinds.insert(kind(event));
    }
    assert_eq!(
        kinds.iter().map(String::as_str).collect::<Vec<_>>(),
        [
            "AgentReturned",
            "LeagueCompleted",
            "LeagueStarted",
            "MatchesMoved",
            "MovesReceived",
            "OrganiserActed",
            "PlayerRegistered",
            "PlayerShutDown",
            "RefereeRegistered",
            "ReportConflicted",
            "ReportRefused",
            "ResultRecorded",
            "RoundClosed",
            "RoundOpened"
        ]
    );
}

#[test]
fn memory_events_cannot_be_serialised() {
    let world = eventful();
    let mut seen = 0;
    for event in world
        .events
        .iter()
        .filter(|event| League::keep(event) == Persistence::Memory)
    {
        assert!(serde_json::to_string(event).is_err(), "{event:?}");
        seen += 1;
    }
    assert!(seen > 0);
    assert!(serde_json::to_string(&Event::Stopped).is_err());
}

#[test]
fn journal_holds_no_token_and_no_seed_before_its_result() {
    let world = eventful();
    let secret = league_testkit::league::SECRET;
    let league = &world.league.rules().league_id;
    let mut unfinished: Vec<(String, String)> = Vec::new();
    for pairing in world.league.schedule().pairings() {
        let id = league_protocol::id::MatchId::numbered(pairing.round, pairing.index + 1);
        unfinished.push((id.to_string(), secret.seed(league, &id).to_hex()));
    }
    let mut hidden: Vec<String> = world
        .tokens
        .values()
        .map(|token| token.reveal().to_owned())
        .collect();
    for player in world.league.players() {
        for (id, _) in &unfinished {
            let id = league_protocol::id::MatchId::new(id).unwrap();
            let token = secret.keyed().match_token(league, &id, player.id(), None);
            hidden.push(token.reveal().to_owned());
        }
    }
    for event in world
        .events
        .iter()
        .filter(|event| League::keep(event) == Persistence::Journal)
    {
        if let Event::ResultRecorded { match_id, .. } = event {
            unfinished.retain(|(id, _)| id != match_id.as_str());
        }
        let line = serde_json::to_string(event).unwrap();
        for text in hidden.iter().chain(unfinished.iter().map(|(_, seed)| seed)) {
            assert!(!line.contains(text), "{line}");
        }
        if !matches!(
            event,
            Event::ResultRecorded { .. } | Event::MovesReceived { .. }
        ) {
            assert!(
                !line.contains("\"even\"") && !line.contains("\"odd\""),
                "{line}"
            );
        }
    }
}

#[test]
fn replaying_the_journal_gives_the_league() {
    let world = eventful();
    assert_eq!(
        world.replayed().after_restart(),
        world.league.after_restart()
    );
    assert_eq!(world.replayed(), world.replayed());
}

#[test]
fn journal_replays_to_the_same_league_after_every_event() {
    let world = eventful();
    let mut live = LeagueWorld::new(world.league.rules().clone());
    let mut replayed = LeagueWorld::new(world.league.rules().clone());
    for event in &world.events {
        live.league.apply(event);
        if League::keep(event) == Persistence::Journal {
            replayed.league.apply(event);
        }
        assert_eq!(
            live.league.after_restart(),
            replayed.league.after_restart(),
            "{event:?}"
        );
    }
}

#[test]
fn smooth_league_writes_two_lines_a_match_and_two_a_round() {
    let mut world = LeagueWorld::begun(6, 2, 2);
    let before = world.events.len();
    world.play_on();
    let journal = world.events[before..].iter();
    let journal = journal.filter(|event| League::keep(event) == Persistence::Journal);
    // 15 hand-overs and results; round 1 was opened before; 5 rounds are closed, 4 more opened, one
    // end.
    assert_eq!(journal.count(), 2 * 15 + 5 + 4 + 1);
}

#[test]
fn pending_letters_are_resent_after_a_restart() {
    let mut world = LeagueWorld::begun(4, 1, 1);
    let (referee, order) = world.orders().remove(0);
    world.answer_order(&referee, &order, true);
    let mut again = LeagueWorld::new(rules());
    again.players_answer = false;
    again.events.clone_from(&world.events);
    again.restart();
    let to = |world: &LeagueWorld, agent: &Agent| {
        let letters = world.letters.iter();
        letters
            .filter(|letter| letter.to.agent == *agent)
            .filter_map(|letter| letter.message.v2_type())
            .collect::<Vec<_>>()
    };
    let player = Agent::Player(PlayerId::numbered(3));
    assert_eq!(to(&again, &player), ["ROUND_ANNOUNCEMENT"]);
    let running = Agent::Referee(referee.clone());
    assert!(to(&again, &running).is_empty(), "players are told first");
    again.answer_players(0);
    assert_eq!(to(&again, &running), ["START_MATCH"]);

    world.report(&referee, honest(&order)).unwrap();
    let (referee, order) = world.orders().remove(0);
    world.report(&referee, honest(&order)).unwrap();
    world.settle();
    let closed = world.league.standings();
    let (referee, order) = world.orders().remove(0);
    world.report(&referee, honest(&order)).unwrap();
    let owed = world.replayed().pending();
    let told: Vec<_> = owed
        .iter()
        .filter(|letter| letter.to.agent == player)
        .collect();
    let kinds: Vec<_> = told
        .iter()
        .filter_map(|letter| letter.message.v2_type())
        .collect();
    assert_eq!(
        kinds,
        [
            "LEAGUE_STANDINGS_UPDATE",
            "ROUND_COMPLETED",
            "ROUND_ANNOUNCEMENT"
        ]
    );
    let Message::StandingsUpdate(update) = &told[0].message else {
        panic!("{told:?}");
    };
    assert_eq!(
        update.standings,
        closed.into(),
        "the table as it was when the round ended"
    );
}

#[test]
fn league_continues_from_any_prefix_of_its_journal() {
    let world = eventful();
    let journal: Vec<&Event> = world
        .events
        .iter()
        .filter(|event| League::keep(event) == Persistence::Journal)
        .collect();
    let last_agent = journal
        .iter()
        .position(|event| matches!(event, Event::LeagueStarted { .. }))
        .unwrap();
    for cut in last_agent..journal.len() {
        let mut again = LeagueWorld::new(world.league.rules().clone());
        again.tokens.clone_from(&world.tokens);
        for event in &journal[..=cut] {
            again.league.apply(event);
        }
        again.now = world.now;
        again.letters = again.league.pending();
        again.answer_players(0);
        again.settle();
        again
            .letters
            .retain(|letter| !matches!(letter.correlation, Some(CorrelationId::Probe(_))));
        again.play_on();
        assert_eq!(
            again.league.matches_played(),
            15,
            "cut after {}",
            journal[cut].keep() as u8
        );
    }
}

#[test]
fn journal_alone_shows_the_commitments() {
    let mut world = LeagueWorld::begun(4, 1, 2);
    world.play_on();
    let league = world.league.rules().league_id.clone();
    let mut promises = std::collections::BTreeMap::new();
    let mut results = 0;
    for event in &world.events {
        match event {
            Event::RoundOpened {
                round, commitments, ..
            } => {
                assert_eq!(commitments.len(), 2);
                for (number, promise) in (1..).zip(commitments) {
                    promises.insert(MatchId::numbered(*round, number), *promise);
                }
            }
            Event::ResultRecorded {
                match_id, result, ..
            } => {
                let draw = result.draw.as_ref().unwrap();
                assert_eq!(promises[match_id], draw.commitment);
                assert!(keeps_promise(&league, match_id, draw));
                results += 1;
            }
            _ => {}
        }
    }
    assert_eq!(results, 6);
}

#[test]
fn journal_without_commitments_replays_to_the_same_league() {
    let world = LeagueWorld::begun(4, 1, 2);
    let mut league = League::new(world.league.rules().clone(), LeagueSecrets::one(SECRET)).unwrap();
    for event in world.journal() {
        let mut text = serde_json::to_value(event).unwrap();
        if let Some(opened) = text.get_mut("round_opened") {
            assert!(
                opened
                    .as_object_mut()
                    .unwrap()
                    .remove("commitments")
                    .is_some()
            );
        }
        league.apply(&serde_json::from_value(text).unwrap());
    }
    assert_eq!(league.after_restart(), world.league.after_restart());
}
