//! The levers of the organiser: what each one changes, and when it cannot be pulled.

use std::time::Duration;

use league_core::league::{
    Command, Effect, Event, FixtureStage, Inconsistency, Lever, LeverPull, LeverRefusal, Phase,
    PlayedMatches, Refusal, Reply,
};
use league_core::machine::Machine;
use league_protocol::fault::Code;
use league_protocol::id::{MatchId, PlayerId};
use league_protocol::message::Message;
use league_protocol::sender::Agent;
use league_testkit::league::{LeagueWorld, rules};
use league_testkit::levers::{Chance, finish_any};
use league_testkit::report::ended;

fn player(number: u32) -> PlayerId {
    PlayerId::numbered(number)
}

fn match_id(text: &str) -> MatchId {
    MatchId::new(text).unwrap()
}

fn points(world: &LeagueWorld) -> Vec<(String, u32, u32)> {
    let rows = world.league.standings();
    let mut rows: Vec<_> = rows
        .iter()
        .map(|row| (row.player_id.to_string(), row.points, row.played))
        .collect();
    rows.sort();
    rows
}

fn row(world: &LeagueWorld, number: u32) -> (u32, u32) {
    let (_, points, played) = points(world)[number as usize - 1].clone();
    (points, played)
}

/// A league of four in its second round; seat A won each match of the first.
fn second_round() -> LeagueWorld {
    let mut world = LeagueWorld::begun(4, 1, 2);
    world.settle();
    finish_round(&mut world, 1);
    world
}

/// Ends the open matches of a round: the player with the lower number wins.
fn finish_round(world: &mut LeagueWorld, round: u32) {
    for number in 1..=2 {
        let id = match_id(&format!("R{round}M{number}"));
        let fixture = world.league.fixture(&id).unwrap().clone();
        if fixture.stage() == FixtureStage::Finished {
            continue;
        }
        let seats = world.league.seats_of(&fixture).unwrap();
        let lower = seats.iter().min().unwrap().as_str()[1..].parse().ok();
        world.finish(id.as_str(), lower);
    }
    world.settle();
}

#[test]
fn only_the_administrator_pulls_and_says_why() {
    let mut world = LeagueWorld::begun(2, 1, 1);
    let pull = |admin, reason: &str| {
        Command::Pull(Box::new(LeverPull {
            admin,
            lever: Lever::End,
            reason: reason.to_owned(),
            code: None,
        }))
    };
    for (command, refusal) in [
        (pull(false, "why"), Refusal::NotAdmin),
        (pull(true, " "), LeverRefusal::ReasonMissing.into()),
        (pull(true, &"x".repeat(501)), LeverRefusal::Text.into()),
        (pull(true, "a\u{1b}[2J"), LeverRefusal::Text.into()),
    ] {
        assert_eq!(world.when(&command), Err(refusal));
    }
    assert_eq!(world.league.phase(), Phase::Running);
}

/// Levers that cannot be pulled in the second round of four players.
fn refused_levers() -> [(Lever, LeverRefusal); 11] {
    let annul = |match_id| Lever::Annul { match_id };
    let capacity = Lever::SetCapacity {
        players: 9,
        waiting: 0,
    };
    let withdraw = |player_id| Lever::Withdraw { player_id };
    let reinstate = |player_id| Lever::Reinstate { player_id };
    let replay = |match_id| Lever::Replay { match_id };
    let (first, later) = (match_id("R1M1"), match_id("R3M1"));
    let clock = Lever::ExtendMatch {
        match_id: first.clone(),
        seconds: 5,
    };
    let no_time = Lever::ExtendPlayer {
        player_id: player(1),
        seconds: 0,
    };
    let rename = Lever::Rename {
        agent: Agent::Player(player(1)),
        name: "Player 2".to_owned(),
    };
    let announce = Lever::Announce {
        text: " ".to_owned(),
    };
    let rule = Lever::Rule {
        match_id: first.clone(),
        winner: Some(player(9)),
        both_lose: false,
    };
    let not_seated = LeverRefusal::NotSeated {
        match_id: first.clone(),
        player_id: player(9),
    };
    let (none, open) = (match_id("R9M1"), match_id("R2M1"));
    [
        (capacity, LeverRefusal::NoLateEntry),
        (withdraw(player(9)), LeverRefusal::NoAgent("P09".to_owned())),
        (reinstate(player(1)), LeverRefusal::NotOut(player(1))),
        (annul(none.clone()), LeverRefusal::NoMatch(none)),
        (annul(later.clone()), LeverRefusal::Later(later)),
        (replay(open.clone()), LeverRefusal::NoResult(open)),
        (clock, LeverRefusal::NoClock(first)),
        (no_time, LeverRefusal::Seconds(0)),
        (rename, LeverRefusal::NameTaken("Player 2".to_owned())),
        (announce, LeverRefusal::NoText),
        (rule, not_seated),
    ]
}

#[test]
fn lever_that_cannot_be_pulled_says_why() {
    let mut world = second_round();
    for (lever, refusal) in refused_levers() {
        let before = world.league.clone();
        assert_eq!(world.pull(lever.clone()), Err(refusal.into()), "{lever:?}");
        assert_eq!(world.league, before, "{lever:?}");
    }
}

#[test]
fn paused_league_begins_no_match_and_goes_on_where_it_was() {
    let mut world = LeagueWorld::begun(4, 1, 1);
    world.settle();
    world.pull(Lever::Pause).unwrap();
    let (again, _) = world.pull(Lever::Pause).unwrap();
    assert_eq!(again, Vec::new(), "a second pause changes nothing");
    // A match that is played is finished; the next one of its referee does not begin.
    world.finish("R1M1", None);
    assert_eq!(world.orders(), Vec::new());
    world.restart();
    world.settle();
    assert_eq!(world.orders(), Vec::new(), "a restart does not go on");
    world.pull(Lever::Resume).unwrap();
    world.settle();
    let orders = world.orders();
    assert_eq!(orders.len(), 1);
    assert_eq!(orders[0].1.match_id.as_str(), "R1M2");
    world.check_journal();
}

#[test]
fn paused_league_opens_no_round_and_does_not_end() {
    let mut world = LeagueWorld::begun(2, 1, 1);
    world.settle();
    world.pull(Lever::Pause).unwrap();
    world.finish("R1M1", None);
    world.settle();
    assert_eq!(world.league.phase(), Phase::Running);
    assert!(world.league.wakeup().is_none_or(|due| due > world.now));
    world.pull(Lever::Resume).unwrap();
    world.settle();
    assert_eq!(world.league.phase(), Phase::Completed);
    world.check_journal();
}

#[test]
fn annulled_match_does_not_count_and_stays_in_the_record() {
    let mut world = second_round();
    assert_eq!(row(&world, 1), (3, 1));
    let (events, _) = world
        .pull(Lever::Annul {
            match_id: match_id("R1M1"),
        })
        .unwrap();
    let Event::OrganiserActed { effect, .. } = &events[0] else {
        panic!("{events:?}");
    };
    assert_eq!(effect.matches, [match_id("R1M1")]);
    assert_eq!(row(&world, 1), (0, 0));
    assert!(
        world
            .league
            .fixture(&match_id("R1M1"))
            .unwrap()
            .result()
            .is_some()
    );
    let twice = world.pull(Lever::Annul {
        match_id: match_id("R1M1"),
    });
    assert_eq!(twice, Err(LeverRefusal::Annulled(match_id("R1M1")).into()));
    world.check_journal();
}

#[test]
fn open_match_that_is_annulled_is_dropped_by_its_referee() {
    let mut world = LeagueWorld::begun(4, 1, 1);
    world.settle();
    let (referee, order) = world.order("R1M1");
    world
        .pull(Lever::Annul {
            match_id: match_id("R1M1"),
        })
        .unwrap();
    world.settle();
    let next = world.orders();
    assert_eq!(next[0].1.match_id.as_str(), "R1M2", "the referee goes on");
    let report = ended(&order, None);
    let (_, refusal) = world.report_refused(&referee, report);
    assert_eq!(refusal, Refusal::Closed(match_id("R1M1")));
    world.check_journal();
}

#[test]
fn ruling_supersedes_the_result() {
    let mut world = second_round();
    let fixture = world.league.fixture(&match_id("R1M1")).unwrap();
    let loser = world.league.seats_of(fixture).unwrap();
    let loser = loser.into_iter().max().unwrap().clone();
    let rule = |winner, both_lose| Lever::Rule {
        match_id: match_id("R1M1"),
        winner,
        both_lose,
    };
    let number = loser.as_str()[1..].parse().unwrap();
    world.pull(rule(Some(loser), false)).unwrap();
    assert_eq!((row(&world, 1), row(&world, number)), ((0, 1), (3, 1)));
    world.pull(rule(None, false)).unwrap();
    assert_eq!((row(&world, 1), row(&world, number)), ((1, 1), (1, 1)));
    world.pull(rule(None, true)).unwrap();
    assert_eq!((row(&world, 1), row(&world, number)), ((0, 1), (0, 1)));
    let failed = world
        .league
        .standings()
        .iter()
        .map(|row| row.technical_losses)
        .sum::<u32>();
    assert_eq!(failed, 0, "both have played");
    world.check_journal();
}

#[test]
fn match_is_played_again_after_the_last_round_and_counts_once() {
    let mut world = second_round();
    let (events, _) = world
        .pull(Lever::Replay {
            match_id: match_id("R1M1"),
        })
        .unwrap();
    let Event::OrganiserActed { effect, .. } = &events[0] else {
        panic!("{events:?}");
    };
    assert_eq!(effect.replay, Some(match_id("R4M1")));
    assert_eq!(row(&world, 1), (0, 0), "the first result does not count");
    let named = world.pull(Lever::Annul {
        match_id: match_id("R1M1"),
    });
    assert_eq!(
        named,
        Err(LeverRefusal::Replayed {
            match_id: match_id("R1M1"),
            replay: match_id("R4M1"),
        }
        .into())
    );
    // Both players of the second have a match in the additional round, or it is another one.
    world
        .pull(Lever::Replay {
            match_id: match_id("R1M2"),
        })
        .unwrap();
    finish_round(&mut world, 2);
    finish_round(&mut world, 3);
    assert_eq!(world.league.phase(), Phase::Running);
    world.restart();
    world.settle();
    world.finish("R4M1", None);
    world.finish("R4M2", None);
    world.settle();
    assert_eq!(world.league.phase(), Phase::Completed);
    assert_eq!(world.league.matches_played(), 8);
    assert!(points(&world).iter().all(|(_, _, played)| *played == 3));
    world.check_journal();
}

#[test]
fn player_that_is_put_out_loses_or_does_not_count() {
    let out = |lever: Lever| {
        let mut world = second_round();
        world.pull(lever).unwrap();
        world.settle();
        finish_round(&mut world, 2);
        finish_round(&mut world, 3);
        assert_eq!(world.league.phase(), Phase::Completed);
        world.check_journal();
        points(&world)
    };
    let player_id = player(1);
    let kept = out(Lever::Withdraw {
        player_id: player_id.clone(),
    });
    assert_eq!(
        kept[0],
        ("P01".to_owned(), 3, 3),
        "its win counts, the rest is lost"
    );
    let disqualified = |played| {
        let player_id = player_id.clone();
        out(Lever::Disqualify { player_id, played })
    };
    assert_eq!(disqualified(PlayedMatches::Kept), kept);
    let annulled = disqualified(PlayedMatches::Annulled);
    assert_eq!(annulled[0], ("P01".to_owned(), 0, 0));
    assert!(annulled[1..].iter().all(|(_, _, played)| *played == 2));
    assert_eq!(out(Lever::Remove { player_id }), annulled);
}

#[test]
fn disqualified_player_comes_last_while_others_have_lost() {
    let mut world = second_round();
    let (player_id, played) = (player(1), PlayedMatches::Annulled);
    world.pull(Lever::Disqualify { player_id, played }).unwrap();
    let rows = world.league.standings();
    assert_eq!(rows.last().unwrap().player_id, player(1), "{rows:?}");
    world
        .pull(Lever::Reinstate {
            player_id: player(1),
        })
        .unwrap();
    assert_eq!(world.league.standings()[0].player_id, player(1));
    world.check_journal();
}

#[test]
fn disqualified_player_is_not_told_as_the_champion() {
    let mut world = second_round();
    finish_round(&mut world, 2);
    world.pull(Lever::Pause).unwrap();
    finish_round(&mut world, 3);
    let first = world.league.standings()[0].player_id.clone();
    let (player_id, played) = (first.clone(), PlayedMatches::Kept);
    let disqualify = Lever::Disqualify { player_id, played };
    world.pull(disqualify).unwrap();
    world.letters.clear();
    world.pull(Lever::Resume).unwrap();
    world.settle();
    let rows = world.league.standings();
    let last = rows.last().unwrap();
    assert_eq!(last.player_id, first, "a penalty puts it last");
    assert!(last.points > rows[0].points, "its results count");
    let told = world
        .letters
        .iter()
        .find_map(|letter| match &letter.message {
            Message::LeagueCompleted(end) => end.champion.clone(),
            _ => None,
        });
    assert_eq!(told.unwrap().player_id, rows[0].player_id);
    world.check_journal();
}

#[test]
fn league_without_a_match_has_no_champion() {
    let mut world = LeagueWorld::begun(3, 1, 4);
    world.letters.clear();
    world.pull(Lever::End).unwrap();
    world.settle();
    let told = world
        .letters
        .iter()
        .find_map(|letter| match &letter.message {
            Message::LeagueCompleted(end) => Some(end.champion.clone()),
            _ => None,
        });
    assert_eq!(told.unwrap(), None);
}

#[test]
fn sentence_counts_what_it_cannot_name() {
    let effect = |count| Effect {
        matches: (1..=count)
            .map(|number| MatchId::numbered(1, number))
            .collect(),
        seated: (1..=count).map(PlayerId::numbered).collect(),
        ..Effect::default()
    };
    let sentence = |count| effect(count).sentence();
    assert_eq!(sentence(1), "P01 gets a seat");
    assert_eq!(sentence(2), "P01, P02 get a seat; changes R1M1, R1M2");
    assert!(sentence(20).ends_with(", R1M20"));
    assert_eq!(sentence(21), "21 players get a seat; changes 21 matches");
}

#[test]
fn effect_names_the_matches_that_do_not_count_and_those_that_do_again() {
    let mut world = second_round();
    let mut changed = |lever| {
        let (events, _) = world.pull(lever).unwrap();
        match &events[0] {
            Event::OrganiserActed { effect, .. } => effect.matches.clone(),
            other => panic!("{other:?}"),
        }
    };
    let player_id = player(1);
    let removed = changed(Lever::Remove {
        player_id: player_id.clone(),
    });
    let reinstated = changed(Lever::Reinstate { player_id });
    assert_eq!(removed, reinstated);
    let [own] = &removed[..] else {
        panic!("{removed:?}");
    };
    let fixture = world.league.fixture(own).unwrap();
    assert!(
        world
            .league
            .seats_of(fixture)
            .unwrap()
            .contains(&&player(1))
    );
}

#[test]
fn reinstated_player_has_its_results_again_and_plays_on() {
    let mut world = second_round();
    let player_id = player(1);
    world
        .pull(Lever::Disqualify {
            player_id: player_id.clone(),
            played: PlayedMatches::Annulled,
        })
        .unwrap();
    assert_eq!(row(&world, 1), (0, 0));
    // Its match of this round is not ruled yet: it is played after all.
    world.pull(Lever::Reinstate { player_id }).unwrap();
    assert_eq!(row(&world, 1), (3, 1));
    world.settle();
    // The first order of its match is not answered.
    world.restart();
    world.settle();
    finish_round(&mut world, 2);
    finish_round(&mut world, 3);
    assert_eq!(row(&world, 1), (9, 3));
    world.check_journal();
}

#[test]
fn league_ends_early_and_takes_no_result_afterwards() {
    let mut world = LeagueWorld::begun(4, 1, 2);
    world.settle();
    let (referee, order) = world.order("R1M1");
    world.finish("R1M2", None);
    world.letters.clear();
    world.pull(Lever::End).unwrap();
    assert_eq!(world.league.phase(), Phase::Completed);
    assert!(world.league.ended_early());
    let ends = world.letters.iter();
    let ends = ends.filter(|letter| matches!(letter.message, Message::LeagueCompleted(_)));
    assert_eq!(ends.count(), 5, "every agent is told");
    let report = ended(&order, None);
    let (_, refusal) = world.report_refused(&referee, report);
    assert_eq!(refusal, Refusal::Closed(match_id("R1M1")));
    assert_eq!(world.pull(Lever::Pause), Err(LeverRefusal::Over.into()));
    world.check_journal();
}

#[test]
fn end_and_start_survive_a_torn_batch() {
    let mut world = LeagueWorld::begun(2, 1, 1);
    world.settle();
    world.pull(Lever::End).unwrap();
    let torn = world.events.pop();
    assert!(matches!(torn, Some(Event::LeagueCompleted { .. })));
    world.restart();
    world.settle();
    assert_eq!(world.league.phase(), Phase::Completed);
    world.check_journal();
}

#[test]
fn rounds_begin_at_their_pace_and_matches_within_their_number() {
    let mut rules = rules();
    rules.round_every = Duration::from_secs(60);
    rules.matches_at_once = Some(1);
    let mut world = LeagueWorld::begun_by(rules, 4, 2, 2);
    world.settle();
    assert_eq!(world.orders().len(), 1, "one match at once");
    world.letters.clear();
    world.restart();
    world.settle();
    world.finish("R1M1", None);
    world.settle();
    world.finish("R1M2", None);
    world.settle();
    assert_eq!(world.league.round().unwrap().number(), 1);
    world.pass(59);
    assert_eq!(world.league.round().unwrap().number(), 1);
    world.pass(2);
    assert_eq!(world.league.round().unwrap().number(), 2);
    world.check_journal();
}

#[test]
fn order_tells_how_long_the_clocks_of_a_match_and_a_player_are_extended() {
    let mut world = LeagueWorld::begun(2, 1, 1);
    world.settle();
    let extended = Lever::ExtendPlayer {
        player_id: player(1),
        seconds: 5,
    };
    world.pull(extended).unwrap();
    let extended = Lever::ExtendMatch {
        match_id: match_id("R1M1"),
        seconds: 7,
    };
    world.pull(extended).unwrap();
    // The referee learns it with an order, the next one after a restart at the latest.
    world.letters.clear();
    world.restart();
    world.settle();
    let (_, order) = world.order("R1M1");
    for seated in &order.players {
        let due = if seated.player_id == player(1) { 12 } else { 7 };
        assert_eq!(seated.extra_seconds, Some(due), "{}", seated.player_id);
    }
}

#[test]
fn match_that_waits_for_its_turn_is_ordered_if_another_comes_to_its_referee() {
    let mut rules = rules();
    rules.matches_at_once = Some(1);
    let mut world = LeagueWorld::begun_by(rules, 4, 2, 2);
    world.settle();
    let (referee, first) = world.orders().remove(0);
    world.letters.clear();
    world.answer_order(&referee, &first, false);
    world.settle();
    // Both matches are at the other referee now, and the one that waited there begins.
    world.play_on();
    assert_eq!(world.league.phase(), Phase::Completed);
    world.check_journal();
}

#[test]
fn new_token_is_the_only_proof_and_readmission_needs_none() {
    let mut world = LeagueWorld::begun(2, 1, 1);
    let agent = Agent::Player(player(1));
    let old = world.tokens[&agent].clone();
    let (_, reply) = world
        .pull(Lever::NewToken {
            agent: agent.clone(),
        })
        .unwrap();
    let Reply::NewToken(token) = reply else {
        panic!("{reply:?}");
    };
    let kept = world.league.kept_seats();
    let own = kept.iter().find(|seat| seat.agent == agent).unwrap();
    assert_eq!(own.proofs, [token.hash()], "in the next league, too");
    let mut again = world.candidate("Player 1");
    let endpoint = world.league.players()[0]
        .member()
        .peer()
        .endpoint
        .to_string();
    again.request.meta.contact_endpoint = endpoint;
    again.request.token = Some(old);
    again.is_at_address = false;
    let rejected = world.when(&Command::RegisterPlayer(again.clone())).unwrap();
    assert!(
        matches!(&rejected.1, Reply::Player(response) if format!("{response:?}").contains("Rejected"))
    );
    again.request.token = Some(token);
    world.register_player(again.clone());
    // It is lost once more, and the organiser lets the agent in.
    again.request.token = None;
    let rejected = world.when(&Command::RegisterPlayer(again.clone())).unwrap();
    assert!(format!("{rejected:?}").contains("Rejected"));
    world.pull(Lever::Readmit { agent }).unwrap();
    world.register_player(again.clone());
    world.check_journal();
}

#[test]
fn lever_that_changes_nothing_says_so_and_writes_nothing() {
    let mut world = LeagueWorld::new(rules());
    let agent = Agent::Player(world.admit_player("Ann"));
    let until = Some(world.now + Duration::from_secs(60));
    let names = vec!["Ann".to_owned()];
    let contact_endpoint = "http://localhost:8103/mcp".to_owned();
    for lever in [
        Lever::Pause,
        Lever::CloseRegistration,
        Lever::OpenRegistration { until },
        Lever::SetCapacity {
            players: 9,
            waiting: 1,
        },
        Lever::SetRoster { names },
        Lever::AdmitReferee {
            contact_endpoint: contact_endpoint.clone(),
        },
        Lever::ShareAddress { contact_endpoint },
        Lever::Rename {
            agent,
            name: "Anna".to_owned(),
        },
        Lever::Resume,
    ] {
        let (events, _) = world.pull(lever.clone()).unwrap();
        assert_eq!(events.len(), 1, "{lever:?}");
        let (events, reply) = world.pull(lever.clone()).unwrap();
        assert!(events.is_empty(), "{lever:?}");
        assert!(
            matches!(reply, Reply::Unchanged(..)),
            "{lever:?}: {reply:?}"
        );
    }
    // A code may be configured.
    world.pull(Lever::SetJoinCode).unwrap();
    let (events, reply) = world.pull(Lever::SetJoinCode).unwrap();
    assert!(events.is_empty() && matches!(reply, Reply::Unchanged(..)));
    world.check_journal();
}

#[test]
fn player_that_is_out_can_be_put_out_in_another_way() {
    let mut world = second_round();
    let player_id = player(1);
    let disqualify = |played| Lever::Disqualify {
        player_id: player_id.clone(),
        played,
    };
    let withdraw = || Lever::Withdraw {
        player_id: player_id.clone(),
    };
    let out = || Err(LeverRefusal::Out(player_id.clone()).into());
    let changes_nothing = |world: &mut LeagueWorld, lever| {
        let (events, reply) = world.pull(lever).unwrap();
        events.is_empty() && matches!(reply, Reply::Unchanged(..))
    };
    world.pull(withdraw()).unwrap();
    assert!(changes_nothing(&mut world, withdraw()));
    assert_eq!(row(&world, 1), (3, 1));
    world.pull(disqualify(PlayedMatches::Annulled)).unwrap();
    assert_eq!(row(&world, 1), (0, 0));
    assert!(changes_nothing(
        &mut world,
        disqualify(PlayedMatches::Annulled)
    ));
    assert_eq!(world.pull(withdraw()), out());
    let (events, _) = world.pull(disqualify(PlayedMatches::Kept)).unwrap();
    let Event::OrganiserActed { effect, .. } = &events[0] else {
        panic!("{events:?}");
    };
    assert_eq!(effect.matches.len(), 1);
    assert_eq!(row(&world, 1), (3, 1));
    world.check_journal();
    world.settle();
    finish_round(&mut world, 2);
    finish_round(&mut world, 3);
    let reasons: Vec<&str> = world
        .events
        .iter()
        .filter_map(|event| match event {
            Event::ResultRecorded { result, .. } if !result.failed.is_empty() => {
                assert_eq!(
                    result.failed.get(&player_id),
                    Some(&Code::PlayerNotRegistered)
                );
                Some(result.reason.as_str())
            }
            _ => None,
        })
        .collect();
    assert_eq!(reasons, ["P01 was disqualified"; 2]);
    assert_eq!(world.league.phase(), Phase::Completed);
    let over = Err(LeverRefusal::OnlyDisqualify.into());
    let player_id = player(2);
    assert_eq!(world.pull(Lever::Withdraw { player_id }), over);
    world.check_journal();
}

#[test]
fn player_that_losses_put_out_can_be_disqualified() {
    let mut rules = rules();
    rules.max_fail = 1;
    let mut world = LeagueWorld::begun_by(rules, 4, 1, 2);
    world.settle();
    world.forfeit("R1M1", &[1]);
    world.settle();
    let mut players = world.league.players().iter();
    let out = players.find(|player| player.expulsion().is_some());
    let player_id = out.unwrap().id().clone();
    world
        .pull(Lever::Remove {
            player_id: player_id.clone(),
        })
        .unwrap();
    assert_eq!(points(&world).iter().filter(|row| row.2 == 0).count(), 4);
    world.check_journal();
}

#[test]
fn journal_with_a_lever_that_was_not_possible_fails_the_audit() {
    let mut world = second_round();
    world
        .pull(Lever::Annul {
            match_id: match_id("R1M1"),
        })
        .unwrap();
    world.audited().unwrap();
    let honest = world.events.clone();
    let Some(Event::OrganiserActed { effect, .. }) = world.events.last_mut() else {
        panic!("it is the last fact");
    };
    effect.matches.clear();
    assert_eq!(world.audited().unwrap_err(), Inconsistency::Effect("annul"));
    world.events = honest;
    let Some(Event::OrganiserActed { act, .. }) = world.events.last_mut() else {
        panic!("it is the last fact");
    };
    **act = Lever::Annul {
        match_id: match_id("R3M1"),
    };
    let later = LeverRefusal::Later(match_id("R3M1"));
    assert_eq!(world.audited().unwrap_err(), Inconsistency::Lever(later));
}

/// The table is what the matches that count add up to, each once.
fn see_sums_agree(world: &LeagueWorld) {
    let league = &world.league;
    let mut points = std::collections::BTreeMap::new();
    for place in league.schedule().pairings() {
        let regular = MatchId::numbered(place.round, place.index + 1);
        let replays = (league.schedule().rounds() + 1..=league.rounds()).flat_map(|round| {
            (1..=league.matches_in(round)).map(move |n| MatchId::numbered(round, n))
        });
        let ids = std::iter::once(regular).chain(replays.filter(|id| {
            let (round, number) = id.numbers().unwrap();
            league.pairing(round, number - 1).unwrap().seats == place.seats
        }));
        let endings: Vec<_> = ids
            .filter_map(|id| league.counted_result(&id).ending())
            .collect();
        assert!(endings.len() <= 1, "a match counts once");
        for ending in endings {
            for (seat, number) in place.seats.into_iter().enumerate() {
                let id = league.players()[number as usize].id().clone();
                let sum = points.entry(id).or_insert((0, 0));
                sum.0 += ending.points(seat, &league.rules().score);
                sum.1 += 1;
            }
        }
    }
    for row in league.standings().iter() {
        let due = points.remove(&row.player_id).unwrap_or_default();
        assert_eq!((row.points, row.played), due, "{}", row.player_id);
    }
}

#[test]
fn levers_at_any_moment_never_disturb_a_league() {
    let mut pulled = 0;
    for seed in 1..=40 {
        let mut chance = Chance(seed * 7_919);
        let mut world = LeagueWorld::begun(6, 2, 2);
        world.settle();
        for _ in 0..60 {
            match chance.below(5) {
                0 | 1 => {
                    let lever = chance.lever(&world);
                    pulled += u32::from(world.pull(lever).is_ok());
                }
                2 if chance.below(4) == 0 => world.restart(),
                _ => {
                    finish_any(&mut world, &mut chance);
                }
            }
            world.settle();
            see_sums_agree(&world);
        }
        if world.league.phase() == Phase::Running {
            world.pull(Lever::Resume).unwrap();
        }
        for _ in 0..200 {
            world.settle();
            if world.league.is_over() {
                break;
            }
            if !finish_any(&mut world, &mut chance) {
                world.pass(10);
            }
        }
        assert!(world.league.is_over(), "seed {seed}");
        see_sums_agree(&world);
        world.check_journal();
    }
    assert!(pulled > 200, "{pulled}");
}
