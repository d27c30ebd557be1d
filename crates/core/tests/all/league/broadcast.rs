//! Messages of large leagues: the receiver's own match, the top of the standings and its own row.

use league_core::league::LeagueRules;
use league_protocol::id::PlayerId;
use league_protocol::message::{Message, Rows, StandingRow};
use league_protocol::sender::Agent;

use league_testkit::league::{LeagueWorld, rules};
use league_testkit::report::honest;

#[test]
fn large_league_tells_each_player_only_its_own_matches() {
    let large = LeagueRules {
        broadcast_limit: 8,
        top_rows: 3,
        ..rules()
    };
    let mut world = LeagueWorld::begun_by(large, 10, 1, 5);
    for number in 1..=10 {
        let told = world.letters_to(&Agent::Player(PlayerId::numbered(number)));
        let [Message::RoundAnnouncement(announcement)] = &told[..] else {
            panic!("{told:?}");
        };
        let matches: Vec<_> = announcement.matches.iter().collect();
        let [own] = matches[..] else {
            panic!("{announcement:?}");
        };
        assert_eq!(announcement.own.as_ref().unwrap().match_id, own.match_id);
        let id = PlayerId::numbered(number);
        assert!(own.player_a == id || own.player_b == id);
    }
    for (referee, order) in world.orders() {
        world.report(&referee, honest(&order)).unwrap();
    }
    let table = world.league.standings();
    world.settle();
    let mut shared: Option<Rows<StandingRow>> = None;
    for row in table.iter() {
        let told = world.letters_to(&Agent::Player(row.player_id.clone()));
        let Message::StandingsUpdate(update) = &told[0] else {
            panic!("{told:?}");
        };
        let first = shared.get_or_insert_with(|| update.standings.clone());
        assert!(
            first.is_shared_with(&update.standings),
            "the top is written once"
        );
        let ranks: Vec<u32> = update.standings.iter().map(|row| row.rank).collect();
        if row.rank <= 3 {
            assert_eq!(ranks, [1, 2, 3]);
        } else {
            assert_eq!(ranks, [1, 2, 3, row.rank]);
            assert_eq!(update.standings.iter().last(), Some(row));
        }
    }
}

#[test]
fn up_to_the_limit_everyone_is_told_everything() {
    let mut world = LeagueWorld::begun_by(
        LeagueRules {
            broadcast_limit: 10,
            top_rows: 3,
            ..rules()
        },
        10,
        1,
        5,
    );
    for (referee, order) in world.orders() {
        world.report(&referee, honest(&order)).unwrap();
    }
    world.letters.clear();
    world.settle();
    let mut shared = None;
    for number in 1..=10 {
        let told = world.letters_to(&Agent::Player(PlayerId::numbered(number)));
        let Message::StandingsUpdate(update) = &told[0] else {
            panic!("{told:?}");
        };
        assert_eq!(update.standings.len(), 10);
        let Message::RoundAnnouncement(announcement) = &told[2] else {
            panic!("{told:?}");
        };
        assert_eq!(announcement.matches.len(), 5);
        let (rows, matches) =
            shared.get_or_insert((update.standings.clone(), announcement.matches.clone()));
        assert!(
            rows.is_shared_with(&update.standings),
            "the table is written once"
        );
        assert!(
            matches.is_shared_with(&announcement.matches),
            "the round is written once"
        );
    }
}
