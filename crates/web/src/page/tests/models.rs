//! Sample models to draw.

use std::sync::Arc;
use std::time::Duration;

use league_core::league::format::BracketPart;
use league_core::league::{AgentState, Phase};
use league_core::referee::SpectatorView;
use league_games::{Picture, PictureCell, PictureRow, Seat};
use league_protocol::fault::Code;
use league_protocol::id::{MatchId, PlayerId, RefereeId};
use league_protocol::message::{
    ByPlayer, Evidence, MatchResult, MatchStatus, OpenedDraw, PlayerEvidence, SignedMove,
    StandingRow,
};
use league_protocol::secret::{Commitment, DrawMode, Proof, ProofKey, Seed};
use league_protocol::time::Timestamp;
use serde_json::{Map, json};

use crate::model::*;

/// A name that would take over a page which does not escape it.
pub(crate) const HOSTILE: &str = "<script>alert(1)</script>\" onmouseover=\"x' &amp;";

pub(crate) fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(1_800_000_000_000 + millis)
}

pub(crate) fn player(number: u32, name: &str) -> PlayerRef {
    PlayerRef {
        id: PlayerId::numbered(number),
        name: name.to_owned(),
    }
}

pub(crate) fn pair() -> [PlayerRef; 2] {
    [player(1, "Ada"), player(2, HOSTILE)]
}

pub(crate) fn summary(phase: Phase) -> LeagueSummary {
    LeagueSummary {
        league_id: "league_1".to_owned(),
        title: HOSTILE.to_owned(),
        game_type: "even_odd".to_owned(),
        game: "Even/Odd".to_owned(),
        phase,
        players: 2,
        referees: 1,
        reproducible: true,
        draws_not_proven: 0,
        exposed_referees: Vec::new(),
        acts: Vec::new(),
        unlisted_acts: 0,
        paused: false,
        registration_until: None,
        waiting: 0,
        strict: false,
        started: Some(at(0)),
        ended: None,
        round: 2,
        played: 3,
        uncounted: 0,
        matches: 6,
        stall: None,
        verification: None,
    }
}

pub(crate) fn table_row(rank: u32, player: &PlayerRef, points: u32) -> TableRow {
    TableRow {
        standing: StandingRow {
            rank,
            shared_rank: rank,
            byes: 0,
            tie: None,
            player_id: player.id.clone(),
            display_name: player.name.as_str().into(),
            played: 2,
            wins: points / 3,
            draws: 0,
            losses: 2 - points / 3,
            technical_losses: rank - 1,
            points,
        },
        decided_by: None,
        climbed: i64::from(rank) - 1,
        form: vec![SeatOutcome::Won, SeatOutcome::Forfeited],
        deviations: u64::from(rank - 1) * 1_200,
        expulsion: None,
        away: None,
        model: None,
        human: false,
        state: if rank == 1 {
            AgentState::Active
        } else {
            AgentState::Suspended
        },
    }
}

pub(crate) fn tile() -> Tile {
    Tile {
        match_id: MatchId::numbered(2, 1),
        players: pair(),
        referee: Some(RefereeId::numbered(1)),
        state: TileState::Choosing,
        attempt: 2,
        since: None,
        live: None,
    }
}

pub(crate) fn result_line() -> ResultLine {
    ResultLine {
        match_id: MatchId::numbered(1, 1),
        players: pair(),
        outcomes: [SeatOutcome::Won, SeatOutcome::Forfeited],
        reason: HOSTILE.to_owned(),
        at: at(0),
        stories: vec![Story::FirstWin {
            winner: 0,
            losses: 6,
        }],
    }
}

pub(crate) fn cross() -> Cross {
    let cell = |outcome| {
        Some(CrossCell {
            match_id: MatchId::numbered(1, 1),
            outcome,
        })
    };
    Cross {
        players: pair().to_vec(),
        cells: vec![
            vec![None, cell(Some(SeatOutcome::Won))],
            vec![cell(None), None],
        ],
        unlisted: 9_500,
    }
}

pub(crate) fn scores() -> ScoreTable {
    let [a, b] = pair();
    let row = |rank: u32, player: &PlayerRef, seat: usize, outcome| ScoreRow {
        place: rank.to_string(),
        player: player.clone(),
        points: 3 * u32::from(outcome == SeatOutcome::Won),
        group: 1,
        cells: vec![
            ScoreCell::Played {
                match_id: MatchId::numbered(1, 1),
                opponent: if rank == 1 { b.clone() } else { a.clone() },
                seat,
                outcome: Some(outcome),
                points: 3 * u32::from(outcome == SeatOutcome::Won),
            },
            ScoreCell::Bye { points: 6 },
        ],
        figures: vec![4.5],
        decided_by: None,
    };
    ScoreTable {
        rounds: 3,
        before: 0,
        last: 3,
        tiebreakers: vec!["Buchholz"],
        rows: vec![
            row(1, &a, 0, SeatOutcome::Won),
            row(2, &b, 1, SeatOutcome::Forfeited),
        ],
        unlisted: 9_500,
    }
}

/// One of each kind.
pub(crate) fn views() -> LeagueViews {
    let [a, b] = pair();
    let place = |player: &PlayerRef, is_winner| TiePlace {
        player: TiePlayer::Known(player.clone()),
        wins: u32::from(is_winner),
        is_winner,
    };
    let member = |player: &PlayerRef, goes_on| GroupPlayer {
        player: player.clone(),
        played: 3,
        wins: 2,
        draws: 0,
        losses: 1,
        points: 6,
        goes_on,
    };
    let rung = |player: &PlayerRef, climbed| LadderRow {
        player: player.clone(),
        climbed,
    };
    LeagueViews {
        bracket: vec![Tie {
            part: BracketPart::Main,
            stage: 0,
            number: Some(1),
            places: [place(&a, true), place(&b, false)],
            games: vec![TieGame {
                match_id: MatchId::numbered(1, 1),
                outcomes: Some([SeatOutcome::Won, SeatOutcome::Forfeited]),
            }],
        }],
        scores: scores(),
        groups: vec![Group {
            name: "A".to_owned(),
            rows: vec![member(&a, Some(true)), member(&b, None)],
        }],
        ladder: vec![rung(&b, 1), rung(&a, -1)],
        unlisted: 0,
    }
}

pub(crate) fn chart() -> Chart {
    let [a, b] = pair();
    Chart {
        lines: vec![
            ChartLine {
                player: a,
                points: vec![0, 3, 4],
            },
            ChartLine {
                player: b,
                points: vec![0, 0, 1],
            },
        ],
        rounds: 3,
    }
}

pub(crate) fn agent(is_referee: bool) -> AgentRow {
    AgentRow {
        id: if is_referee { "REF01" } else { "P02" }.to_owned(),
        name: HOSTILE.to_owned(),
        is_referee,
        state: AgentState::Active,
        dialect: "v2",
        version: HOSTILE.to_owned(),
        latency: (!is_referee).then_some(LatencySummary {
            calls: 20,
            median: 3.25,
            p95: 41.0,
        }),
        technical_losses: 1,
        deviations: 1_200,
    }
}

pub(crate) fn board() -> Board {
    let [a, b] = pair();
    let standings = vec![table_row(1, &a, 6), table_row(2, &b, 0)];
    let winners = (1..).zip(standings.iter().map(|row| row.standing.clone()));
    Board {
        winners: winners.collect(),
        league: LeagueSummary {
            played: 1_234,
            matches: 5_000,
            verification: Some(Verification {
                holds: false,
                detail: HOSTILE.to_owned(),
            }),
            ..summary(Phase::Completed)
        },
        progress: LeagueProgress {
            rounds: 3,
            technical_losses: 7,
            elapsed: Some(Duration::from_secs(200)),
            ..LeagueProgress::default()
        },
        standings,
        unlisted: 9_500,
        tiles: vec![tile()],
        untiled: 3,
        latest: vec![result_line()],
        lobby: None,
        next: Some(NextRound {
            round: 3,
            pairings: vec![pair()],
            opens: Some(Timestamp::from_millis(1_000)),
        }),
        cross: cross(),
        views: views(),
        chart: chart(),
        ratings: None,
        agents: vec![agent(true), agent(false)],
    }
}

/// A league that nobody has entered.
pub(crate) fn empty_board() -> Board {
    Board {
        league: LeagueSummary {
            players: 0,
            round: 0,
            played: 0,
            matches: 0,
            ..summary(Phase::Registering)
        },
        progress: LeagueProgress::default(),
        standings: Vec::new(),
        winners: Vec::new(),
        unlisted: 0,
        tiles: Vec::new(),
        untiled: 0,
        latest: Vec::new(),
        lobby: Some(lobby()),
        next: None,
        cross: Cross::default(),
        views: LeagueViews::default(),
        chart: Chart::default(),
        ratings: None,
        agents: Vec::new(),
    }
}

pub(crate) fn lobby() -> Lobby {
    Lobby {
        awaited: Some((30, 2)),
        arrivals: pair().to_vec(),
        away: vec![(player(2, HOSTILE), HOSTILE.to_owned())],
        joining: Some(Joining {
            page: "http://192.0.2.7:8000/".to_owned(),
            command: Some(format!(
                "league player --manager http://192.0.2.7:8000/mcp --name {HOSTILE}"
            )),
            people: None,
        }),
        closes: Some(at(60_000)),
    }
}

pub(crate) fn live() -> SpectatorView {
    SpectatorView {
        match_id: MatchId::numbered(2, 1),
        attempt: 2,
        awaited: [false, true],
        deadline: Some(at(30_000)),
        position: Picture::grid([[
            PictureCell::of_seat(Seat::A, HOSTILE),
            PictureCell::hidden(),
        ]]),
    }
}

/// The stage before, during and after a league.
pub(crate) fn stages() -> Vec<Stage> {
    let mut running = board();
    running.league.phase = Phase::Running;
    running.tiles[0].live = Some(live());
    let stage = |board| Stage {
        board,
        surprise: Some(result_line()),
    };
    [empty_board(), running, board()].map(stage).into()
}

pub(crate) fn opened_draw() -> OpenedDraw {
    OpenedDraw {
        commitment: Commitment([1; 32]),
        seed: Some(Seed([2; 32])),
        mode: DrawMode::Chance,
        attempt: 1,
        nonces: [HOSTILE.to_owned(), String::new()],
    }
}

/// What a player signed, with a move that would break out of an attribute.
pub(crate) fn evidence() -> Evidence {
    let [a, _] = pair();
    Evidence {
        players: vec![PlayerEvidence {
            player_id: a.id.clone(),
            join: Some(Proof([3; 32])),
            key: Some(ProofKey([4; 32])),
        }],
        moves: vec![SignedMove {
            player_id: a.id,
            choice: json!(HOSTILE),
            nonce: Some(HOSTILE.to_owned()),
            proof: Some(Proof([5; 32])),
            model: None,
        }],
    }
}

pub(crate) fn result() -> MatchResult {
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
        evidence: evidence(),
    }
}

pub(crate) fn message(millis: i64, from: &str, to: &str, kind: &str) -> TranscriptMessage {
    TranscriptMessage {
        at: at(millis),
        from: from.to_owned(),
        to: to.to_owned(),
        kind: kind.to_owned(),
        message: json!({ "deadline": HOSTILE, "error_code": HOSTILE }),
        lost: false,
        resumed: false,
        original: Some(OriginalText {
            text: Some(HOSTILE.to_owned()),
            bytes: 9_000,
            cut: true,
            problem: Some(HOSTILE.to_owned()),
        }),
    }
}

/// A match that is over.
pub(crate) fn match_page() -> MatchPage {
    MatchPage {
        league: summary(Phase::Running),
        match_id: MatchId::numbered(1, 1),
        round: 1,
        players: pair(),
        referee: Some(RefereeId::numbered(1)),
        attempt: 2,
        state: None,
        result: Some(Arc::new(result())),
        counted: Some([(SeatOutcome::Won, 3), (SeatOutcome::Forfeited, 0)]),
        note: None,
        at: Some(at(2_000)),
        promise: Some(Commitment([1; 32]).to_hex()),
        range: Some((1, 10)),
        hidden_moves: true,
        simultaneous: true,
        live: None,
        contradicted: false,
        times: Some(MatchTimes {
            created: Some(at(1)),
            started: None,
            finished: Some(at(1_500)),
        }),
        messages: vec![
            message(0, "league_manager", "referee:REF01", "RUN_MATCH"),
            message(4, "referee:REF01", "player:P02", HOSTILE),
            message(9, HOSTILE, "player:P01", "GAME_ERROR"),
        ],
        positions: Vec::new(),
        model_notes: vec![ModelNote {
            player_id: pair()[0].id.clone(),
            turn: 7,
            texts: vec![("Answer", "<i>so</i> ".repeat(2_000))],
        }],
    }
}

/// A match of a board game, and one that is being played.
pub(crate) fn matches() -> Vec<MatchPage> {
    let position = |changed: &[(usize, usize)], seats: &[usize]| DrawnPosition {
        picture: Picture::of(vec![
            PictureRow::labelled(HOSTILE, vec![PictureCell::of_seat(Seat::A, HOSTILE)]),
            PictureRow::labelled("B", vec![PictureCell::hidden(), PictureCell::empty()]),
        ]),
        changed: changed.to_vec(),
        seats: seats.to_vec(),
    };
    let board_game = MatchPage {
        match_id: MatchId::numbered(1, 2),
        positions: vec![
            position(&[], &[]),
            position(&[(1, 0)], &[1]),
            position(&[], &[]),
        ],
        ..match_page()
    };
    let running = MatchPage {
        match_id: MatchId::numbered(2, 1),
        state: Some(TileState::Inviting),
        result: None,
        counted: None,
        messages: Vec::new(),
        ..match_page()
    };
    vec![match_page(), board_game, running]
}

pub(crate) fn players() -> Vec<PlayerPage> {
    let played = PlayedMatch {
        match_id: MatchId::numbered(1, 1),
        opponent: player(2, HOSTILE),
        outcome: SeatOutcome::Lost,
        points: 0,
        choice: Some(HOSTILE.to_owned()),
        opponent_choice: None,
        reason: HOSTILE.to_owned(),
        at: at(0),
    };
    let upcoming = UpcomingMatch {
        match_id: MatchId::numbered(3, 1),
        round: 3,
        opponent: player(2, HOSTILE),
        state: Some(TileState::Choosing),
    };
    let deviation = Deviation {
        clause: HOSTILE.to_owned(),
        path: HOSTILE.to_owned(),
        detail: HOSTILE.to_owned(),
        count: 3,
    };
    let failure = FailureCount {
        code: Code::ALL[0],
        count: 2,
        detail: HOSTILE.to_owned(),
        match_id: MatchId::numbered(1, 1),
    };
    let page = PlayerPage {
        league: summary(Phase::Running),
        row: table_row(1, &player(1, HOSTILE), 3),
        agent: agent(false),
        upcoming: vec![upcoming],
        later: 4,
        matches: vec![played],
        unlisted: 1,
        choices: vec![(HOSTILE.to_owned(), 2), ("odd".to_owned(), 1)],
        points: vec![0, 3],
        deviations: vec![deviation],
        failures: vec![failure],
    };
    let newcomer = PlayerPage {
        row: table_row(2, &player(2, HOSTILE), 0),
        upcoming: Vec::new(),
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
pub(crate) fn rounds() -> Vec<RoundPage> {
    let fixture = |number, state| RoundMatch {
        match_id: MatchId::numbered(1, number),
        players: pair(),
        referee: Some(RefereeId::numbered(1)),
        state,
    };
    let over = RoundMatchState::Over {
        outcomes: [SeatOutcome::Won, SeatOutcome::Forfeited],
        points: [3, 0],
        reason: HOSTILE.to_owned(),
        at: at(0),
    };
    let page = RoundPage {
        league: summary(Phase::Running),
        round: 1,
        rounds: 2,
        matches: vec![
            fixture(1, over),
            fixture(2, RoundMatchState::Open(TileState::Choosing)),
            fixture(3, RoundMatchState::Forgotten),
        ],
        unlisted: 1,
        resting: Some(player(2, HOSTILE)),
    };
    let next = RoundPage {
        round: 2,
        matches: vec![fixture(1, RoundMatchState::Planned)],
        unlisted: 0,
        ..page.clone()
    };
    vec![page, next]
}
