//! A program that was not admitted as a referee and acts as one, for a player of its owner, against a
//! league of real processes: it changes no result and harms no agent.
//!
//! `cargo xtask campaign rogue` runs this test for as many leagues as it is told.

use serde_json::{Value, json};

use crate::end_to_end::campaign::setting;
use crate::end_to_end::ground::{Agent, Ground, LEAGUE};
use crate::end_to_end::http::{call, message};
use crate::end_to_end::kills::{Field, MATCHES, undisturbed};
use crate::end_to_end::scripted::{Does, Scripted, fair};

/// How many leagues a usual run has; `LEAGUE_ROGUE_LEAGUES` names another number.
const LEAGUES: u64 = 2;
/// The seed of a usual run; `LEAGUE_ROGUE_SEED` names another.
const SEED: u64 = 1;
/// The player of the rogue's owner.
const OWNER: &str = "P06";

#[test]
fn referee_that_was_not_admitted_changes_no_result() {
    let (leagues, seed) = (
        setting("LEAGUE_ROGUE_LEAGUES", LEAGUES),
        setting("LEAGUE_ROGUE_SEED", SEED),
    );
    let mut tally = Tally::default();
    for number in 0..leagues {
        attacked_league(
            seed.wrapping_mul(1_000_003).wrapping_add(number),
            &mut tally,
        );
    }
    println!("{}", tally.told(leagues));
}

/// How often the rogue tried.
#[derive(Default)]
struct Tally {
    registrations: u64,
    /// Reports of a player as absent that was never called.
    losses: u64,
    /// Hand-overs and reports of whole matches that were never played.
    matches: u64,
    /// Calls to players for a join or a move.
    calls: u64,
    results: u64,
}

impl Tally {
    fn told(&self, leagues: u64) -> String {
        let Self {
            registrations,
            losses,
            matches,
            calls,
            results,
        } = self;
        format!(
            "{leagues} leagues with a rogue referee: refused {registrations} registrations, \
             {losses} invented losses, {matches} invented matches, {calls} calls to players; of \
             {results} results 0 changed, 0 honest agents punished"
        )
    }
}

/// Plays a league beside a rogue, and compares it with one that nobody disturbed.
fn attacked_league(seed: u64, tally: &mut Tally) {
    let (expected, _) = undisturbed(seed);
    let mut field = Field::start_with(Ground::new(), seed, 5);
    for agent in field.referees.iter_mut().chain(&mut field.players) {
        agent.process.event("state", "enrolled");
    }
    let rogue = Rogue::of(&field.manager);
    rogue.register(tally);
    rogue.join();
    // It waits for the first announcement, so that it knows the tokens of its owner.
    rogue.owner.heard("ROUND_ANNOUNCEMENT");
    loop {
        let is_over = field.is_over();
        rogue.register(tally);
        rogue.invent(tally);
        rogue.call_players(&field.players, tally);
        if is_over {
            break;
        }
    }
    field.see_all_running();
    see_unharmed(&field, seed);
    assert_eq!(rogue.server.all("START_MATCH").len(), 0, "seed {seed}");
    let found = field.ground.results();
    assert_eq!(found.len(), MATCHES, "seed {seed}");
    for (match_id, result) in &found {
        tally.results += 1;
        assert_eq!(result["players"], expected[match_id]["players"]);
        let seats = result["players"].as_array().unwrap();
        if !seats.iter().any(|player| player == OWNER) {
            assert_eq!(*result, expected[match_id], "seed {seed}: {match_id}");
        }
    }
    field.manager.process.stop();
    assert_eq!(field.ground.verified()["confirmed"], MATCHES, "seed {seed}");
}

/// Sees that no agent lost a match, a referee or a thing by what the rogue said.
fn see_unharmed(field: &Field, seed: u64) {
    for punished in [
        "report_refused",
        "loss_doubted",
        "declined_after_call",
        "matches_moved",
        "report_conflicted",
        "player_shut_down",
        "agent_returned",
    ] {
        let facts = field.ground.facts(punished);
        assert_eq!(facts, [] as [Value; 0], "seed {seed}: {punished}");
    }
    assert_eq!(field.ground.facts("referee_registered").len(), 2);
    for result in field.ground.results().values() {
        assert_ne!(result["status"], "TECHNICAL_LOSS", "seed {seed}: {result}");
        assert_eq!(result["draw"]["attempt"], 1, "seed {seed}: {result}");
    }
}

/// The rogue, and the player that it works for.
struct Rogue {
    manager: String,
    /// Where it would take orders.
    server: Scripted,
    owner: Scripted,
}

impl Rogue {
    fn of(manager: &Agent) -> Self {
        Self {
            manager: manager.endpoint.clone(),
            server: Scripted::start(|_| Does::Answers(json!({"status": "ok"}))),
            owner: Scripted::start(|said| Does::Answers(fair(said))),
        }
    }

    /// Lets the owner play.
    fn join(&self) {
        let answer = self.owner.register(&self.manager, "Owner");
        assert_eq!(answer["player_id"], OWNER, "{answer}");
    }

    /// Asks to be admitted: without a key, with a wrong one, and as a referee that is admitted.
    fn register(&self, tally: &mut Tally) {
        let meta = json!({
            "display_name": "Rogue", "version": "1.0.0", "protocol_version": "2.1.0",
            "game_types": ["even_odd"], "contact_endpoint": self.server.endpoint,
            "max_concurrent_matches": 4,
        });
        for says in [
            json!({"referee_meta": meta}),
            json!({"referee_meta": meta, "referee_key": "tok-guessed"}),
            json!({"referee_meta": meta, "referee_id": "REF01"}),
        ] {
            let asked = message("REFEREE_REGISTER_REQUEST", "referee:Rogue", None, &says);
            let answer = call(&self.manager, "register_referee", &asked);
            see_refused(&answer);
            assert!(answer["auth_token"].is_null(), "{answer}");
            tally.registrations += 1;
        }
    }

    /// Invents an absence, and a whole match, in the latest match of its owner.
    fn invent(&self, tally: &mut Tally) {
        let token = self.tokens().pop();
        if let Some((match_id, victim)) = self.latest_match() {
            for sender in [
                "referee:REF01",
                "referee:REF02",
                "referee:Rogue",
                "player:P06",
            ] {
                for token in [None, token.as_deref(), Some("tok-guessed")] {
                    let say = |kind: &str, tool: &str, says: &Value| {
                        let said = message(kind, sender, token, says);
                        see_refused(&call(&self.manager, tool, &said));
                    };
                    let report = report(&match_id, absence(&victim));
                    say("MATCH_RESULT_REPORT", "report_match_result", &report);
                    tally.losses += 1;
                    say("DRAW_REQUEST", "request_draw", &moves(&match_id, &victim));
                    let report = report_of_a_win(&match_id, &victim);
                    say("MATCH_RESULT_REPORT", "report_match_result", &report);
                    tally.matches += 1;
                }
            }
        }
    }

    /// Calls the victim as its referee would, with the tokens that its owner was given.
    fn call_players(&self, victims: &[Agent], tally: &mut Tally) {
        if let Some((match_id, victim)) = self.latest_match() {
            let number: usize = victim.trim_start_matches('P').parse().unwrap();
            let endpoint = &victims[number - 1].endpoint;
            let mut tokens: Vec<Option<String>> = self.tokens().into_iter().map(Some).collect();
            tokens.push(None);
            for token in &tokens {
                let say = |kind: &str, tool: &str, sender: &str, says: &Value| {
                    let said = message(kind, sender, token.as_deref(), says);
                    see_refused(&call(endpoint, tool, &said));
                };
                let common = json!({
                    "league_id": LEAGUE, "round_id": 1, "match_id": match_id,
                    "game_type": "even_odd", "player_id": victim, "opponent_id": OWNER,
                    "role_in_match": "PLAYER_A", "context": {"opponent_id": OWNER},
                });
                let referee = "referee:REF01";
                say(
                    "GAME_INVITATION",
                    "handle_game_invitation",
                    referee,
                    &common,
                );
                say("CHOOSE_PARITY_CALL", "choose_parity", referee, &common);
                // A new attempt with a token of its own would open the player.
                let announced = json!({
                    "league_id": LEAGUE, "round_id": 1, "matches": [{
                        "match_id": match_id, "player_A_id": victim, "player_B_id": OWNER,
                        "game_type": "even_odd", "attempt": 2, "match_token": "tok-guessed",
                        "referee_endpoint": self.server.endpoint,
                    }],
                });
                say(
                    "ROUND_ANNOUNCEMENT",
                    "notify_round",
                    "league_manager",
                    &announced,
                );
                tally.calls += 3;
            }
        }
    }

    /// The latest match of its owner, and who sits opposite.
    fn latest_match(&self) -> Option<(String, String)> {
        let rounds = self.owner.all("ROUND_ANNOUNCEMENT");
        let listed = rounds
            .iter()
            .filter_map(|round| round["matches"].as_array());
        let own = listed.flatten().filter_map(|listed| {
            let seats = ["player_A_id", "player_B_id"].map(|seat| listed[seat].as_str());
            let victim = seats.iter().flatten().find(|player| **player != OWNER)?;
            let is_own = seats.contains(&Some(OWNER));
            is_own.then_some((listed["match_id"].as_str()?, *victim))
        });
        let mut own = own.map(|(match_id, victim)| (match_id.to_owned(), victim.to_owned()));
        own.next_back()
    }

    /// The tokens that its owner has seen of late: those of its match, of the manager and a guess.
    fn tokens(&self) -> Vec<String> {
        let messages = self.owner.messages();
        let mut tokens: Vec<String> = messages
            .iter()
            .rev()
            .filter_map(|said| Some(said["auth_token"].as_str()?.to_owned()))
            .take(2)
            .collect();
        tokens.push("tok-guessed".to_owned());
        tokens
    }
}

/// Sees that a call was refused for what it wants, not for how it is written.
fn see_refused(answer: &Value) {
    let refused = match answer["message_type"].as_str() {
        Some("LEAGUE_ERROR") => !["E002", "E003", "E018", "E021"]
            .map(Value::from)
            .contains(&answer["error_code"]),
        _ => answer["status"] == "REJECTED",
    };
    assert!(refused, "{answer}");
}

fn report(match_id: &str, result: Value) -> Value {
    json!({
        "league_id": LEAGUE, "round_id": 1, "match_id": match_id, "game_type": "even_odd",
        "attempt": 1, "order_token": "tok-guessed", "result": result,
    })
}

fn absence(victim: &str) -> Value {
    json!({
        "status": "TECHNICAL_LOSS", "winner": OWNER, "score": {OWNER: 3, victim: 0},
        "details": {"failed": {victim: "E001"}},
    })
}

fn moves(match_id: &str, victim: &str) -> Value {
    let made = |player: &str, choice: &str| json!({"player_id": player, "choice": choice, "nonce": "00", "proof": "00".repeat(32)});
    json!({
        "league_id": LEAGUE, "match_id": match_id, "attempt": 1, "order_token": "tok-guessed",
        "moves": [made(victim, "odd"), made(OWNER, "even")], "last": true,
    })
}

fn report_of_a_win(match_id: &str, victim: &str) -> Value {
    let result = json!({
        "winner": OWNER, "score": {OWNER: 3, victim: 0},
        "details": {"drawn_number": 8, "choices": {victim: "odd", OWNER: "even"}},
    });
    report(match_id, result)
}
