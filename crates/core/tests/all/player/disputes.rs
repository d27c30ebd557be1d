//! Draws that the player disputes, and results that it ignores.

use league_core::draw::{LeagueSecret, commitment};
use league_core::player::{
    Command, DrawProblem, Event, PlayerNotice, Refusal, Reply, SHOWN_DISPUTES,
};
use league_protocol::id::MatchId;
use league_protocol::message::{
    AnnouncedMatch, Enrolment, GameOver, MatchStatus, Message, OpenedDraw, OwnMatch,
    RegisterResponse, RoundAnnouncement, Rows,
};
use league_protocol::secret::{Commitment, DrawMode, Seed};
use league_protocol::token::{AuthToken, TokenHash};
use serde_json::json;

use league_testkit::player::*;

const SECRET: LeagueSecret = LeagueSecret([7; 32]);
const MODE: DrawMode = DrawMode::Chance;
/// A seed that nobody promised.
const OTHER: Option<Seed> = Some(Seed([9; 32]));

fn promise(id: &str) -> Commitment {
    let id = match_id(id);
    let seed = SECRET.seed(&league(), &id);
    commitment(&league(), &id, MODE, &seed)
}

/// An announcement with a promise on the draw.
fn promised(id: &str) -> PlayerNotice {
    PlayerNotice::RoundAnnouncement(
        RoundAnnouncement {
            league_id: league(),
            round_id: 1,
            matches: Rows::from([AnnouncedMatch {
                match_id: match_id(id),
                game_type: invitation(id).game_type,
                player_a: player("P01"),
                player_b: player("P02"),
                referee_endpoint: "http://127.0.0.1:8001/mcp".into(),
                endpoint_a: None,
                endpoint_b: None,
                commitment: Some(promise(id)),
            }]),
            own: Some(OwnMatch {
                match_id: match_id(id),
                token: AuthToken::new(MATCH_TOKEN),
                referee_token: None,
                attempt: 1,
            }),
        }
        .into(),
    )
}

/// The end of a match with this share of the player in its draw.
fn drawn(id: &str, nonce: &str, change: impl FnOnce(&mut OpenedDraw)) -> GameOver {
    let mut draw = OpenedDraw {
        commitment: promise(id),
        seed: Some(SECRET.seed(&league(), &match_id(id))),
        mode: MODE,
        attempt: 1,
        nonces: [nonce.to_owned(), "theirs".to_owned()],
    };
    change(&mut draw);
    let won = over(id, 1, MatchStatus::Win, Some("P01"));
    changed(won, |result| result.draw = Some(draw))
}

/// A player that was promised a draw, came and moved.
fn moved() -> PlayerWorld {
    let mut shell = PlayerWorld::enrolled(rules());
    shell.told(promised("R1M1")).unwrap();
    shell.does(invited("R1M1", Some(MATCH_TOKEN)));
    let asked = wants(call(&shell, "R1M1", 1));
    shell.does(asked);
    shell.does(chooses("R1M1", 1, Some(json!("even"))));
    shell
}

fn disputed(shell: &mut PlayerWorld, over: GameOver) -> Vec<(MatchId, DrawProblem)> {
    assert_eq!(
        shell.told(PlayerNotice::GameOver(over.into())),
        Ok(Reply::Acknowledged)
    );
    assert!(matches!(
        shell.events.last(),
        Some(Event::Remembered { .. })
    ));
    shell.player.view().disputed
}

#[test]
fn honest_draw_is_not_disputed() {
    let mut shell = moved();
    assert_eq!(disputed(&mut shell, drawn("R1M1", NONCE, |_| {})), []);
}

#[test]
fn result_without_a_token_counts_if_it_opens_the_commitment() {
    let mut shell = moved();
    let untold = |over: GameOver| Command::Told {
        news: PlayerNotice::GameOver(over.into()),
        token: None,
    };
    let guessed = drawn("R1M1", NONCE, |draw| draw.seed = OTHER);
    let unopened = over("R1M1", 1, MatchStatus::Win, Some("P01"));
    for forged in [guessed, unopened] {
        let refused = shell.tries(untold(forged));
        assert!(
            matches!(refused, Err(Refusal::NoToken { .. })),
            "{refused:?}"
        );
    }
    let opened = shell.tries(untold(drawn("R1M1", NONCE, |_| {})));
    assert_eq!(opened, Ok(Reply::Acknowledged));
    let remembered = shell.events.last();
    assert!(matches!(remembered, Some(Event::Remembered { .. })));
}

#[test]
fn broken_commitment_is_noted_and_survives_a_restart() {
    let with = |problem| vec![(match_id("R1M1"), problem)];
    let other_seed = drawn("R1M1", NONCE, |draw| draw.seed = OTHER);
    let other_promise = drawn("R1M1", NONCE, |draw| {
        draw.seed = OTHER;
        draw.commitment = commitment(&league(), &match_id("R1M1"), MODE, &OTHER.unwrap());
    });
    let unopened = over("R1M1", 1, MatchStatus::Win, Some("P01"));
    let other_nonce = drawn("R1M1", "invented", |_| {});
    let no_nonce = drawn("R1M1", "", |_| {});
    for (over, problem) in [
        (other_seed, DrawProblem::PromiseBroken),
        (other_promise, DrawProblem::PromiseBroken),
        (unopened, DrawProblem::NotOpened),
        (other_nonce, DrawProblem::NonceChanged),
        (no_nonce, DrawProblem::NonceChanged),
    ] {
        let mut shell = moved();
        assert_eq!(disputed(&mut shell, over), with(problem));
        shell.restart();
        assert_eq!(shell.player.view().disputed, with(problem));
    }
}

#[test]
fn invented_nonce_is_disputed() {
    let mut silent = PlayerWorld::enrolled(rules());
    silent.told(promised("R1M1")).unwrap();
    let asked = wants(call(&silent, "R1M1", 1));
    silent.does(asked);
    silent.does(Command::Chosen {
        match_id: match_id("R1M1"),
        turn: 1,
        choice: Some(json!("odd")),
        nonce: None,
        reasoning: None,
        model: None,
    });
    let mut other = silent.player.clone();
    std::mem::swap(&mut silent.player, &mut other);
    assert_eq!(disputed(&mut silent, drawn("R1M1", "", |_| {})), []);
    silent.player = other;
    let invented = disputed(&mut silent, drawn("R1M1", "invented", |_| {}));
    assert_eq!(invented, [(match_id("R1M1"), DrawProblem::NonceChanged)]);
}

#[test]
fn nonce_sent_before_a_restart_is_not_disputed() {
    let mut shell = moved();
    shell.restart();
    assert_eq!(disputed(&mut shell, drawn("R1M1", "whatever", |_| {})), []);
    let mut shell = moved();
    shell.restart();
    let broken = drawn("R1M1", "whatever", |draw| draw.seed = OTHER);
    assert_eq!(
        disputed(&mut shell, broken),
        [(match_id("R1M1"), DrawProblem::PromiseBroken)]
    );
}

#[test]
fn list_of_disputes_is_bounded() {
    let mut shell = PlayerWorld::enrolled(rules());
    for number in 1..=SHOWN_DISPUTES + 1 {
        let id = format!("R1M{number}");
        shell.told(promised(&id)).unwrap();
        disputed(&mut shell, over(&id, 1, MatchStatus::Win, Some("P01")));
    }
    let shown = shell.player.view().disputed;
    assert_eq!(shown.len(), SHOWN_DISPUTES);
    assert_eq!(shown[0].0, match_id("R1M2"));
}

#[test]
fn result_of_an_unknown_match_is_not_remembered() {
    let mut shell = PlayerWorld::enrolled(rules());
    let over = over("R1M1", 1, MatchStatus::Win, Some("P01"));
    let told = shell.told(PlayerNotice::GameOver(over.clone().into()));
    assert_eq!(told, Ok(Reply::Acknowledged));
    assert_eq!(shell.player.view().statistics.total_matches, 0);
    shell.told(announcement("R1M1")).unwrap();
    shell.told(PlayerNotice::GameOver(over.into())).unwrap();
    assert_eq!(shell.player.view().statistics.total_matches, 1);
}

#[test]
fn guarded_player_joins_only_announced_matches() {
    let mut shell = PlayerWorld::new(rules());
    shell.does(begin());
    shell.answers(Message::PlayerRegisterResponse(RegisterResponse::from(
        Enrolment {
            id: player("P01"),
            token: AuthToken::new(OWN_TOKEN),
            league_id: league(),
            manager_token: Some(AuthToken::new("tok-manager-secret")),
            return_token: None,
            note: None,
        },
    )));
    let refusal = shell.tries(invited("R1M1", Some(MATCH_TOKEN))).unwrap_err();
    assert!(matches!(refusal, Refusal::NotAnnounced { .. }));
    let asked = wants(call(&shell, "R1M1", 1));
    assert!(shell.tries(asked).is_err());
    shell
        .tries(Command::Told {
            news: promised("R1M1"),
            token: Some(TokenHash::of("tok-manager-secret")),
        })
        .unwrap();
    assert!(shell.tries(invited("R1M1", Some(MATCH_TOKEN))).is_ok());
}
