//! Small leagues to draw.

use std::sync::Arc;
use std::time::Duration;

use league_core::league::{AgentState, Phase};
use league_protocol::fault::Code;
use league_protocol::id::{MatchId, PlayerId, RefereeId};
use league_protocol::message::{ByPlayer, MatchResult, MatchStatus, OpenedDraw};
use league_protocol::secret::{Commitment, Seed};
use league_protocol::time::Timestamp;
use serde_json::{Map, json};

use crate::model::*;

/// A name that would take over a page which does not escape it.
pub(super) const HOSTILE: &str = "<script>alert(1)</script>\" onmouseover=\"x' &amp;";

pub(super) fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(1_800_000_000_000 + millis)
}

pub(super) fn named(number: u32, name: &str) -> Named {
    Named {
        id: PlayerId::numbered(number),
        name: name.to_owned(),
    }
}

pub(super) fn pair() -> [Named; 2] {
    [named(1, "Ada"), named(2, HOSTILE)]
}

pub(super) fn card(phase: Phase) -> LeagueCard {
    LeagueCard {
        league_id: "league_1".to_owned(),
        title: HOSTILE.to_owned(),
        game_type: "even_odd".to_owned(),
        game: "Even/Odd".to_owned(),
        phase,
        players: 2,
        referees: 1,
        reproducible: true,
        strict: false,
        started: Some(at(0)),
        ended: None,
        round: 2,
        played: 3,
        matches: 6,
        standstill: None,
    }
}

pub(super) fn standing(rank: u32, player: &Named, points: u32) -> Standing {
    let met = |ended| Met {
        match_id: MatchId::numbered(1, 1),
        opponent: PlayerId::numbered(2),
        ended,
        points: 0,
    };
    Standing {
        rank,
        climbed: i64::from(rank) - 1,
        player_id: player.id.clone(),
        name: player.name.clone(),
        played: 2,
        wins: points / 3,
        draws: 0,
        losses: 2 - points / 3,
        technical_losses: rank - 1,
        points,
        form: vec![met(Ended::Won), met(Ended::Forfeited)],
        deviations: u64::from(rank - 1) * 1_200,
        state: if rank == 1 {
            AgentState::Active
        } else {
            AgentState::Suspended
        },
    }
}

pub(super) fn tile() -> Tile {
    Tile {
        match_id: MatchId::numbered(2, 1),
        players: pair(),
        referee: Some(RefereeId::numbered(1)),
        state: TileState::Choosing,
        attempt: 2,
        since: None,
    }
}

pub(super) fn result_line() -> ResultLine {
    ResultLine {
        match_id: MatchId::numbered(1, 1),
        players: pair(),
        winner: Some(0),
        technical: true,
        reason: HOSTILE.to_owned(),
        at: at(0),
    }
}

pub(super) fn cross() -> Cross {
    let cell = |ended| {
        Some(Cell {
            match_id: MatchId::numbered(1, 1),
            ended,
        })
    };
    Cross {
        players: pair().to_vec(),
        cells: vec![vec![None, cell(Some(Ended::Won))], vec![cell(None), None]],
        unlisted: 9_500,
    }
}

pub(super) fn chart() -> Chart {
    let [a, b] = pair();
    Chart {
        lines: vec![
            Line {
                player: a,
                points: vec![0, 3, 4],
            },
            Line {
                player: b,
                points: vec![0, 0, 1],
            },
        ],
        rounds: 3,
    }
}

pub(super) fn agent(is_referee: bool) -> Agent {
    Agent {
        id: if is_referee { "REF01" } else { "P02" }.to_owned(),
        name: HOSTILE.to_owned(),
        is_referee,
        state: AgentState::Active,
        dialect: "v2",
        version: HOSTILE.to_owned(),
        latency: (!is_referee).then_some(Latency {
            calls: 20,
            median: 3.25,
            p95: 41.0,
        }),
        technical_losses: 1,
        deviations: 1_200,
    }
}

pub(super) fn board() -> Board {
    let [a, b] = pair();
    Board {
        league: card(Phase::Completed),
        progress: Progress {
            round: 2,
            rounds: 3,
            played: 1_234,
            matches: 5_000,
            technical_losses: 7,
            elapsed: Some(Duration::from_secs(200)),
            ..Progress::default()
        },
        standings: vec![standing(1, &a, 6), standing(2, &b, 0)],
        unlisted: 9_500,
        tiles: vec![tile()],
        untiled: 3,
        latest: vec![result_line()],
        cross: cross(),
        chart: chart(),
        agents: vec![agent(true), agent(false)],
        verdict: Some(Verdict {
            holds: false,
            words: HOSTILE.to_owned(),
        }),
    }
}

/// A league that nobody has entered.
pub(super) fn empty_board() -> Board {
    Board {
        league: LeagueCard {
            players: 0,
            ..card(Phase::Registering)
        },
        progress: Progress::default(),
        standings: Vec::new(),
        unlisted: 0,
        tiles: Vec::new(),
        untiled: 0,
        latest: Vec::new(),
        cross: Cross::default(),
        chart: Chart::default(),
        agents: Vec::new(),
        verdict: None,
    }
}

pub(super) fn opened_draw() -> OpenedDraw {
    OpenedDraw {
        commitment: Commitment([1; 32]),
        seed: Seed([2; 32]),
        attempt: 1,
        nonces: [HOSTILE.to_owned(), String::new()],
    }
}

pub(super) fn result() -> MatchResult {
    let [a, b] = pair();
    let mut details = Map::new();
    details.insert("drawn_number".to_owned(), json!(8));
    MatchResult {
        players: [a.id.clone(), b.id.clone()],
        status: MatchStatus::TechnicalLoss,
        winner: Some(a.id.clone()),
        points: [3, 0],
        failed: ByPlayer::from([(b.id.clone(), Code::ALL[0])]),
        choices: ByPlayer::from([(a.id, json!(HOSTILE))]),
        details,
        reason: HOSTILE.to_owned(),
        draw: Some(opened_draw()),
    }
}

pub(super) fn said(millis: i64, from: &str, to: &str, kind: &str) -> Said {
    Said {
        at: at(millis),
        from: from.to_owned(),
        to: to.to_owned(),
        kind: kind.to_owned(),
        message: json!({ "deadline": HOSTILE, "error_code": HOSTILE }),
        verbatim: Some(Verbatim {
            text: Some(HOSTILE.to_owned()),
            bytes: 9_000,
            cut: true,
            problem: Some(HOSTILE.to_owned()),
        }),
    }
}

/// A match that is over.
pub(super) fn match_page() -> MatchPage {
    MatchPage {
        verdict: None,
        league: card(Phase::Running),
        match_id: MatchId::numbered(1, 1),
        round: 1,
        players: pair(),
        referee: Some(RefereeId::numbered(1)),
        attempt: 2,
        state: None,
        result: Some(Arc::new(result())),
        at: Some(at(2_000)),
        promise: Some(Commitment([1; 32]).to_hex()),
        range: Some((1, 10)),
        life: Some(Life {
            created: Some(at(1)),
            started: None,
            finished: Some(at(1_500)),
        }),
        said: vec![
            said(0, "league_manager", "referee:REF01", "RUN_MATCH"),
            said(4, "referee:REF01", "player:P02", HOSTILE),
            said(9, HOSTILE, "player:P01", "GAME_ERROR"),
        ],
        positions: Vec::new(),
    }
}

/// A match of a board game, and one that is being played.
pub(super) fn matches() -> Vec<MatchPage> {
    let position = |last, seat| Position {
        columns: 2,
        cells: vec![
            String::new(),
            HOSTILE.to_owned(),
            String::new(),
            "X".to_owned(),
        ],
        last,
        seat,
    };
    let board_game = MatchPage {
        match_id: MatchId::numbered(1, 2),
        positions: vec![position(None, None), position(Some(3), Some(1))],
        ..match_page()
    };
    let running = MatchPage {
        match_id: MatchId::numbered(2, 1),
        state: Some(TileState::Inviting),
        result: None,
        said: Vec::new(),
        ..match_page()
    };
    vec![match_page(), board_game, running]
}

pub(super) fn players() -> Vec<PlayerPage> {
    let meeting = Meeting {
        match_id: MatchId::numbered(1, 1),
        round: 1,
        opponent: named(2, HOSTILE),
        ended: Ended::Lost,
        points: 0,
        choice: Some(HOSTILE.to_owned()),
        opponent_choice: None,
        reason: HOSTILE.to_owned(),
        at: at(0),
    };
    let coming = Coming {
        match_id: MatchId::numbered(3, 1),
        round: 3,
        opponent: named(2, HOSTILE),
        state: Some(TileState::Choosing),
    };
    let deviation = Deviation {
        clause: HOSTILE.to_owned(),
        path: HOSTILE.to_owned(),
        detail: HOSTILE.to_owned(),
        count: 3,
    };
    let failure = Failure {
        code: Code::ALL[0],
        count: 2,
        detail: HOSTILE.to_owned(),
        match_id: MatchId::numbered(1, 1),
    };
    let page = PlayerPage {
        verdict: None,
        league: card(Phase::Running),
        standing: standing(1, &named(1, HOSTILE), 3),
        agent: agent(false),
        coming: vec![coming],
        later: 4,
        matches: vec![meeting],
        unlisted: 1,
        choices: vec![(HOSTILE.to_owned(), 2), ("odd".to_owned(), 1)],
        points: vec![0, 3],
        deviations: vec![deviation],
        failures: vec![failure],
    };
    let newcomer = PlayerPage {
        standing: standing(2, &named(2, HOSTILE), 0),
        coming: Vec::new(),
        later: 0,
        matches: Vec::new(),
        unlisted: 0,
        choices: Vec::new(),
        points: Vec::new(),
        deviations: Vec::new(),
        failures: Vec::new(),
        ..page.clone()
    };
    vec![page, newcomer]
}

/// A round that is being played, and one that is to come.
pub(super) fn rounds() -> Vec<RoundPage> {
    let encounter = |number, course| Encounter {
        match_id: MatchId::numbered(1, number),
        players: pair(),
        referee: Some(RefereeId::numbered(1)),
        course,
    };
    let over = Course::Over {
        ends: [Ended::Won, Ended::Forfeited],
        points: [3, 0],
        reason: HOSTILE.to_owned(),
        at: at(0),
    };
    let page = RoundPage {
        league: card(Phase::Running),
        verdict: None,
        round: 1,
        rounds: 2,
        encounters: vec![
            encounter(1, over),
            encounter(2, Course::Open(TileState::Choosing)),
            encounter(3, Course::Forgotten),
        ],
        unlisted: 1,
        resting: Some(named(2, HOSTILE)),
    };
    let next = RoundPage {
        round: 2,
        encounters: vec![encounter(1, Course::Planned)],
        unlisted: 0,
        ..page.clone()
    };
    vec![page, next]
}
