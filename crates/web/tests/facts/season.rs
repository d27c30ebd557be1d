//! A league by hand: its facts, one after the other.

use std::sync::Arc;

use league_core::league::{Event, LeagueRules};
use league_protocol::fault::Code;
use league_protocol::id::{GameType, LeagueId, MatchId, PlayerId, RefereeId};
use league_protocol::message::{AgentMeta, MatchResult, MatchStatus};
use league_protocol::sender::{CallStyle, Dialect};
use league_protocol::time::Timestamp;
use league_protocol::token::TokenHash;
use league_web::league_view::{LeagueObservations, LeagueView};
use league_web::model::Board;
use serde_json::{Value, json};

pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(1_700_000_000_000 + seconds * 1_000)
}

pub(crate) fn empty_view(game: &str) -> LeagueView {
    let league = LeagueId::new("spring").unwrap();
    let rules = LeagueRules::new(league, GameType::new(game).unwrap());
    LeagueView::new(rules, "Spring League".to_owned(), false).unwrap()
}

fn meta(name: &str) -> AgentMeta {
    AgentMeta {
        display_name: name.to_owned(),
        version: "1.0.0".to_owned(),
        protocol_version: Some("2.1.0".to_owned()),
        game_types: Vec::new(),
        contact_endpoint: "http://localhost:8101/mcp".to_owned(),
        max_concurrent_matches: None,
        speech: Some(CallStyle::Simple),
    }
}

pub(crate) fn player(number: u32, name: &str) -> Event {
    Event::PlayerRegistered {
        player_id: PlayerId::numbered(number),
        meta: Box::new(meta(name)),
        dialect: Dialect::V2,
        token: TokenHash::of(name),
        pledge: None,
        at: at(0),
    }
}

/// A referee and so many players are in, and the league has begun.
pub(crate) fn beginning(players: u32) -> Vec<Event> {
    let mut facts = vec![Event::RefereeRegistered {
        referee_id: RefereeId::numbered(1),
        meta: Box::new(AgentMeta {
            max_concurrent_matches: Some(64),
            ..meta("Whistle")
        }),
        dialect: Dialect::V2,
        token: TokenHash::of("referee"),
        pledge: None,
        at: at(0),
    }];
    facts.extend((1..=players).map(|number| player(number, &format!("Player {number}"))));
    facts.push(Event::LeagueStarted { at: at(0) });
    facts
}

pub(crate) fn round(number: u32, matches: usize) -> Event {
    Event::RoundOpened {
        round: number,
        referees: vec![RefereeId::numbered(1); matches],
        commitments: Vec::new(),
        at: at(i64::from(number) * 10),
    }
}

/// How a match ended: who won, or `None` for a draw.
pub(crate) fn result(match_id: &str, players: [u32; 2], winner: Option<u32>) -> Event {
    let players = players.map(PlayerId::numbered);
    let winner = winner.map(PlayerId::numbered);
    let points = players.each_ref().map(|player| match &winner {
        Some(winner) => 3 * u32::from(winner == player),
        None => 1,
    });
    let choices = players.iter().cloned().zip([json!("even"), json!("odd")]);
    Event::ResultRecorded {
        match_id: MatchId::new(match_id).unwrap(),
        referee: Some(RefereeId::numbered(1)),
        attempt: 1,
        result: Arc::new(MatchResult {
            status: match winner {
                Some(_) => MatchStatus::Win,
                None => MatchStatus::Draw,
            },
            points,
            failed: Default::default(),
            choices: choices.collect(),
            details: json!({"drawn_number": 4}).as_object().cloned().unwrap(),
            reason: "as it was decided".to_owned(),
            draw: None,
            winner,
            players,
        }),
        next: None,
        at: at(60),
    }
}

/// The same with moves of a game of turns.
pub(crate) fn with_moves(mut event: Event, moves: [Value; 2]) -> Event {
    if let Event::ResultRecorded { result, .. } = &mut event {
        let told = Arc::make_mut(result);
        let players = told.players.clone();
        told.choices = players.into_iter().zip(moves).collect();
    }
    event
}

/// The same with a player that did not play.
pub(crate) fn forfeited(mut event: Event, number: u32) -> Event {
    if let Event::ResultRecorded { result, .. } = &mut event {
        let told = Arc::make_mut(result);
        let player = PlayerId::numbered(number);
        told.status = MatchStatus::TechnicalLoss;
        told.failed.insert(player, Code::Timeout);
    }
    event
}

pub(crate) fn closed(number: u32) -> Event {
    Event::RoundClosed {
        round: number,
        at: at(i64::from(number) * 10 + 5),
    }
}

/// The facts of a whole league, in which the player with the lower number wins, and every third
/// match is drawn.
pub(crate) fn whole(players: u32) -> Vec<Event> {
    let mut facts = beginning(players);
    let mut shown = empty_view("even_odd");
    facts.iter().for_each(|fact| shown.apply(fact));
    let schedule = shown.league().schedule();
    for number in 1..=schedule.rounds() {
        facts.push(round(number, schedule.matches_a_round() as usize));
        for index in 0..schedule.matches_a_round() {
            let pairing = schedule.pairing(number, index).unwrap();
            let seats = pairing.seats.map(|seat| seat + 1);
            let lower = seats[0].min(seats[1]);
            let winner = (!(number + index).is_multiple_of(3)).then_some(lower);
            facts.push(result(&format!("R{number}M{}", index + 1), seats, winner));
        }
        facts.push(closed(number));
    }
    facts.push(Event::LeagueCompleted { at: at(600) });
    facts
}

pub(crate) fn after(facts: &[Event]) -> LeagueView {
    let mut shown = empty_view("even_odd");
    facts.iter().for_each(|fact| shown.apply(fact));
    shown
}

pub(crate) fn board(facts: &[Event]) -> Board {
    after(facts).board(&LeagueObservations::default(), at(100))
}
