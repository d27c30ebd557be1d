//! A small league that was played to its end, and the files that it left.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::storage::documents::{RoundsProjection, standings};
use crate::storage::documents::{RoundsRepository, StandingsRepository};
use crate::storage::record::{Opening, Record};
use crate::storage::root::Root;
use crate::storage::store::{Durability, Entry, Journal, Store};
use league_core::draw::{self, LeagueSecret};
use league_core::league::{Applicant, Command, Event, League, LeagueRules, Reply};
use league_core::machine::{Machine, Persistence};
use league_core::referee;
use league_games::{Outcome, Seat, Turn};
use league_protocol::id::{GameType, LeagueId, RefereeId};
use league_protocol::message::{
    AgentMeta, ByPlayer, MatchResult, MatchResultReport, MatchStatus, Message, OpenedDraw,
    RegisterRequest, RegisterResponse, StartMatch,
};
use league_protocol::sender::{Agent, CallStyle, Dialect};
use league_protocol::time::Timestamp;
use league_protocol::token::AuthToken;
use serde_json::json;

const MOST_STEPS: usize = 1_000;

pub(crate) fn league_id() -> LeagueId {
    LeagueId::new("league_2025_even_odd").unwrap()
}

/// The manager's journal of a league of four that was played to its end.
pub(crate) fn records() -> Vec<Record<Event>> {
    let rules = LeagueRules::new(league_id(), GameType::new("even_odd").unwrap());
    let mut records = vec![Record::Opened(Box::new(opening(
        "league_manager",
        Some(&rules),
    )))];
    let league = League::new(rules, LeagueSecret([7; 32])).unwrap();
    records.extend(play(league).into_iter().map(Record::Event));
    records
}

fn opening(role: &str, rules: Option<&LeagueRules>) -> Opening {
    Opening {
        role: role.to_owned(),
        league_id: Some(league_id()),
        rules: rules.cloned(),
        secret: None,
        reproducible: true,
        version: "0.1.0".to_owned(),
    }
}

/// Writes a root with the manager's journal, its documents and the journal of a referee.
pub(crate) fn write(root: &Path, records: &[Record<Event>]) {
    let root = Root::new(root);
    write_journal(&root.league_journal(&league_id()), records);
    write_documents(&root, records);
    let referee: Record<referee::Event> = Record::Opened(Box::new(opening("referee", None)));
    let journal = root.referee_journal(&league_id(), &RefereeId::numbered(1));
    write_journal(&journal, &[referee]);
}

/// Writes a journal with one batch for every entry.
pub(crate) fn write_journal<Event: serde::Serialize + serde::de::DeserializeOwned>(
    path: &Path,
    records: &[Record<Event>],
) {
    let opened = Journal::open(path, Durability::Written, |_: Entry<Record<Event>>| {});
    let mut journal = opened.unwrap().journal;
    for (number, record) in (0..).zip(records) {
        let at = Timestamp::from_millis(1_765_661_400_000 + number);
        journal.append(at, std::slice::from_ref(record)).unwrap();
    }
}

fn write_documents(root: &Root, records: &[Record<Event>]) {
    let Some(Record::Opened(opening)) = records.first() else {
        return;
    };
    let secret = LeagueSecret([0; 32]);
    let mut league = League::new(opening.rules.clone().unwrap(), secret).unwrap();
    let mut rounds = RoundsProjection::new(league_id());
    let (mut version, mut at) = (0, Timestamp::default());
    for (number, record) in (0..).zip(records) {
        let Record::Event(event) = record else {
            continue;
        };
        league.apply(event);
        at = Timestamp::from_millis(1_765_661_400_000 + number);
        version = number.unsigned_abs() + 1;
        rounds.take_in(version, at, event, &league);
    }
    let table = standings(&league, version, at);
    StandingsRepository::new(root, league_id())
        .save(&table)
        .unwrap();
    RoundsRepository::new(root, league_id())
        .save(rounds.document())
        .unwrap();
}

fn play(mut league: League) -> Vec<Event> {
    let mut events = Vec::new();
    let mut tokens = BTreeMap::new();
    for number in 1..=2 {
        let command = Command::RegisterReferee(candidate("Referee", number));
        let reply = decide(&mut league, &command, &mut events).1;
        if let Reply::Referee(RegisterResponse::Accepted(enrolment)) = reply {
            tokens.insert(enrolment.id, enrolment.token);
        }
    }
    for number in 1..=4 {
        let command = Command::RegisterPlayer(candidate("Player", 10 + number));
        decide(&mut league, &command, &mut events);
    }
    let start = Command::Start { admin: true };
    let mut orders = decide(&mut league, &start, &mut events).0;
    for _ in 0..MOST_STEPS {
        let Some((referee, order)) = orders.pop() else {
            if league.wakeup().is_none() {
                return events;
            }
            orders = decide(&mut league, &Command::Tick, &mut events).0;
            continue;
        };
        let command = Command::Report {
            token: tokens.get(&referee).map(AuthToken::hash),
            sender: Some(Agent::Referee(referee)),
            report: Arc::new(order),
        };
        orders.extend(decide(&mut league, &command, &mut events).0);
    }
    panic!("the league never ends");
}

/// What a referee would report on an order.
type Report = (RefereeId, MatchResultReport);

fn decide(league: &mut League, command: &Command, events: &mut Vec<Event>) -> (Vec<Report>, Reply) {
    let at = Timestamp::from_millis(1_765_661_400_000);
    let decision = league.decide(at, command);
    let reply = decision.answer.unwrap();
    let mut letters = Vec::new();
    for event in decision.events {
        league.apply(&event);
        league.letters(&event, &mut letters);
        if League::keep(&event) == Persistence::Journal {
            events.push(event);
        }
    }
    let orders = letters
        .iter()
        .filter_map(|letter| match (&letter.message, &letter.to.agent) {
            (Message::StartMatch(order), Agent::Referee(referee)) => {
                Some((referee.clone(), honest(order)))
            }
            _ => None,
        });
    (orders.collect(), reply)
}

fn honest(order: &StartMatch) -> MatchResultReport {
    let draw = OpenedDraw {
        commitment: draw::commitment(&order.league_id, &order.match_id, &order.seed),
        seed: order.seed,
        attempt: order.attempt,
        nonces: ["mine".to_owned(), String::new()],
    };
    let game = league_games::find(order.game_type.as_str()).unwrap();
    let mut table = (game.open)(&order.settings).unwrap();
    let choices = [json!("even"), json!("odd")];
    for (seat, choice) in [Seat::A, Seat::B].into_iter().zip(&choices) {
        table.play(seat, choice).unwrap();
    }
    table.roll(&mut draw::dice(&order.league_id, &order.match_id, &draw));
    let players = order
        .players
        .each_ref()
        .map(|player| player.player_id.clone());
    let (winner, points) = match table.turn() {
        Turn::Over(Outcome::Win(Seat::A)) => (&players[0], [3, 0]),
        _ => (&players[1], [0, 3]),
    };
    let result = MatchResult {
        status: MatchStatus::Win,
        winner: Some(winner.clone()),
        points,
        failed: ByPlayer::new(),
        choices: players.iter().cloned().zip(choices).collect(),
        details: table.details(),
        reason: "the number decided".to_owned(),
        draw: Some(draw),
        players,
    };
    MatchResultReport {
        league_id: order.league_id.clone(),
        round_id: order.round_id,
        match_id: order.match_id.clone(),
        attempt: order.attempt,
        game_type: order.game_type.clone(),
        result: Arc::new(result),
    }
}

fn candidate(kind: &str, number: u8) -> Applicant {
    Applicant {
        request: Box::new(RegisterRequest {
            meta: AgentMeta {
                display_name: format!("{kind} {number}"),
                version: "1.0.0".to_owned(),
                protocol_version: Some("2.1.0".to_owned()),
                game_types: vec![GameType::new("even_odd").unwrap()],
                contact_endpoint: format!("http://localhost/{number}"),
                max_concurrent_matches: Some(1),
                speech: Some(CallStyle::Simple),
            },
            wanted_id: None,
            token: None,
        }),
        dialect: Dialect::V2,
        endpoint: Ok(()),
        speech: Some(CallStyle::Simple),
        chance: [number; 32],
    }
}
