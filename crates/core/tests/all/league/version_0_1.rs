//! A journal that version 0.1 wrote is read, verified and continued by the rules of its time.

use league_core::draw::{LeagueSecret, LeagueSecrets};
use league_core::league::{Event, League, LeagueRules, Phase};
use league_core::machine::Machine;
use league_protocol::id::{MatchId, RefereeId};
use league_protocol::sender::Agent;
use league_protocol::token::AuthToken;

use league_testkit::league::LeagueWorld;

/// The rules of the league, then its events, with all kinds of events of that version.
static JOURNAL: &str = include_str!("version_0_1.jsonl");

/// Its final table, as that version computed it.
const TABLE: [(&str, u32); 6] = [
    ("P06", 11),
    ("P03", 10),
    ("P02", 8),
    ("P05", 7),
    ("P04", 5),
    ("P01", 0),
];

fn journal() -> (LeagueRules, Vec<Event>) {
    let mut lines = JOURNAL.lines();
    let rules = serde_json::from_str(lines.next().unwrap()).unwrap();
    let events = lines.map(|line| serde_json::from_str(line).unwrap());
    (rules, events.collect())
}

#[test]
fn results_are_verified_by_the_rules_of_their_time() {
    let (rules, events) = journal();
    let secrets = LeagueSecrets::one(LeagueSecret([0; 32]));
    let mut league = League::new(rules, secrets).unwrap();
    for event in &events {
        league.audit(event).unwrap();
        league.apply(event);
    }
    assert_eq!(league.phase(), Phase::Completed);
    let table: Vec<(String, u32)> = league
        .standings()
        .iter()
        .map(|row| (row.player_id.to_string(), row.points))
        .collect();
    let expected = TABLE.map(|(player, points)| (player.to_owned(), points));
    assert_eq!(table, expected);
}

#[test]
fn forged_result_of_that_time_is_found() {
    let (rules, events) = journal();
    let secrets = LeagueSecrets::one(LeagueSecret([0; 32]));
    let mut league = League::new(rules, secrets).unwrap();
    let found = events.into_iter().any(|mut event| {
        if let Event::ResultRecorded { result, .. } = &mut event {
            let result = std::sync::Arc::make_mut(result);
            if let Some(seed) = result.draw.as_mut().and_then(|draw| draw.seed.as_mut()) {
                seed.0[0] ^= 1;
            }
        }
        let found = league.audit(&event).is_err();
        league.apply(&event);
        found
    });
    assert!(found);
}

#[test]
fn league_of_that_time_goes_on_from_any_line() {
    let (rules, events) = journal();
    let started = |event: &Event| matches!(event, Event::LeagueStarted { .. });
    let begun = events.iter().position(started).unwrap();
    for cut in begun..events.len() {
        let mut world = LeagueWorld::new(rules.clone());
        world.events = events[..=cut].to_vec();
        for number in [1_u8, 2] {
            let id = RefereeId::numbered(u32::from(number));
            // The test kit numbers the chance of its tokens.
            let token = AuthToken::mint(id.as_str(), &[number; 32]);
            world.tokens.insert(Agent::Referee(id), token);
        }
        world.restart();
        world.settle();
        world.play_on();
        assert_eq!(world.league.phase(), Phase::Completed, "cut after {cut}");
        let last = world.league.fixture(&MatchId::numbered(5, 1)).unwrap();
        assert!(last.result().is_some());
        world.audited().unwrap();
    }
}
