//! Kits that sign: what they send proves itself, and they tell the manager whether they were called.

use league_core::draw;
use league_protocol::id::{LeagueId, MatchId, PlayerId};
use league_protocol::secret::ProofKey;
use league_protocol::token::AuthToken;
use serde_json::{Value, json};

use crate::end_to_end::ground::{Ground, LEAGUE};
use crate::end_to_end::process::free_port;
use crate::kits::{Kit, memory};

/// A kit in a league, and what it and the manager alone know.
pub(crate) struct Member {
    pub(crate) kit: Kit,
    pub(crate) player_id: Value,
    pub(crate) manager_token: String,
    return_token: AuthToken,
}

impl Member {
    pub(crate) fn start(ground: &Ground, lang: &str, manager: &str) -> Self {
        let port = free_port();
        let mut kit = Kit::start_at(ground, lang, manager, port);
        kit.program.says("in the league");
        let kept = memory(ground, port);
        let own = if kept.is_array() { &kept[0] } else { &kept };
        let tokens = own.get("tokens").unwrap_or(own);
        let token = |name: &str| tokens[name].as_str().unwrap().to_owned();
        Self {
            kit,
            player_id: own["player_id"].clone(),
            manager_token: token("manager_token"),
            return_token: AuthToken::new(token("return_token")),
        }
    }

    /// Announces an attempt at two matches, whose referees will show this token.
    pub(crate) fn announce(&self, attempt: u32, token: &str) {
        let row = |id| json!({"match_id": id, "match_token": token, "attempt": attempt});
        let rows = [row("R1M1"), row("R2M1")];
        let call = json!({"auth_token": self.manager_token, "matches": rows});
        assert_eq!(self.kit.call("notify_round", &call)["status"], "ok");
    }

    fn was_called(&self, attempt: u32) -> Value {
        let call = json!({
            "auth_token": self.manager_token, "message_type": "CALL_QUERY", "league_id": LEAGUE,
            "match_id": "R1M1", "attempt": attempt,
        });
        let said = self.kit.call("was_called", &call);
        assert_eq!(said["message_type"], "CALL_QUERY_RESPONSE", "{said}");
        assert_eq!(said["attempt"], attempt, "{said}");
        said["called"].clone()
    }

    fn join(&self, token: &str) -> Value {
        let call = json!({"match_id": "R1M1", "auth_token": token, "opponent_id": "P09"});
        self.kit.call("handle_game_invitation", &call)
    }

    fn choose(&self, token: &str) -> Value {
        let call = json!({"match_id": "R1M1", "auth_token": token});
        self.kit.call("choose_parity", &call)
    }

    fn key(&self, attempt: u32) -> ProofKey {
        let league = LeagueId::new(LEAGUE).unwrap();
        let match_id = MatchId::new("R1M1").unwrap();
        draw::proof_key(&self.return_token, &league, &match_id, attempt)
    }
}

/// Sees that a choice proves itself in an attempt.
fn is_signed(key: &ProofKey, chosen: &Value) {
    let nonce = chosen["nonce"].as_str();
    let proof = draw::proof(key, 1, [], &chosen["parity_choice"], nonce);
    assert_eq!(chosen["proof"], proof.to_hex(), "{chosen}");
}

/// The kits whose memory a test can read.
pub(crate) const SIGNING: [&str; 3] = ["python", "python-fastmcp", "javascript"];

#[test]
fn kit_signs_and_starts_afresh_in_another_attempt() {
    let ground = Ground::new();
    let manager = ground.manager(&["--players", "9"]);
    for lang in SIGNING {
        let member = Member::start(&ground, lang, &manager.endpoint);
        member.announce(1, "tok-first");
        let joined = member.join("tok-first");
        let proof = draw::join_proof(&member.key(1));
        assert_eq!(joined["proof"], proof.to_hex(), "{lang}: {joined}");
        let first = member.choose("tok-first");
        is_signed(&member.key(1), &first);
        let answer =
            |said: &Value| ["parity_choice", "nonce", "proof"].map(|name| said[name].clone());
        assert_eq!(
            answer(&member.choose("tok-first")),
            answer(&first),
            "{lang}"
        );

        member.announce(2, "tok-second");
        let refused = member.choose("tok-first");
        assert_eq!(refused["error_code"], "E012", "{lang}: {refused}");
        let second = member.choose("tok-second");
        is_signed(&member.key(2), &second);
        assert_ne!(second["nonce"], first["nonce"], "{lang}");
    }
}

#[test]
fn kit_signs_a_move_with_the_moves_before_it() {
    let ground = Ground::new();
    let manager = ground.manager(&["--players", "9"]);
    for lang in SIGNING {
        let member = Member::start(&ground, lang, &manager.endpoint);
        member.announce(1, "tok-match");
        let players = [PlayerId::numbered(9), PlayerId::numbered(1)];
        let moves = players.iter().zip([json!(4), json!(0)]);
        let told: Vec<Value> = moves
            .clone()
            .map(|(player, choice)| json!({"player_id": player, "choice": choice, "nonce": "n"}))
            .collect();
        let call = json!({
            "match_id": "R1M1", "auth_token": "tok-match", "game_type": "tic_tac_toe",
            "move_request": {
                "move_type": "place_mark", "valid_options": [1, 2],
                "context": {"turn_number": 2, "moves": told, "view": {}},
            },
        });
        let said = member.kit.call("choose_move", &call);
        let before: Vec<(&PlayerId, Value)> = moves.collect();
        let before = before.iter().map(|(player, choice)| (*player, choice));
        let choice = &said["move_data"]["choice"];
        let proof = draw::proof(&member.key(1), 2, before, choice, said["nonce"].as_str());
        assert_eq!(said["proof"], proof.to_hex(), "{lang}: {said}");
    }
}

#[test]
fn kit_denies_a_call_only_if_it_knows_that_none_came() {
    let ground = Ground::new();
    let manager = ground.manager(&["--players", "9"]);
    for lang in SIGNING {
        let member = Member::start(&ground, lang, &manager.endpoint);
        assert_eq!(member.was_called(1), true, "{lang}: it knows nothing");
        member.announce(1, "tok-first");
        assert_eq!(member.was_called(1), false, "{lang}");
        assert_eq!(member.was_called(2), true, "{lang}: it knows nothing");
        let unproven = json!({"match_id": "R1M1", "attempt": 1});
        let refused = member.kit.call("was_called", &unproven);
        assert_eq!(refused["error_code"], "E011", "{lang}: {refused}");
        let stranger = member.join("tok-stranger");
        assert_eq!(stranger["error_code"], "E012", "{lang}: {stranger}");
        assert_eq!(member.was_called(1), false, "{lang}: not by its referee");
        member.join("tok-first");
        assert_eq!(member.was_called(1), true, "{lang}");
        member.announce(2, "tok-second");
        assert_eq!(member.was_called(2), false, "{lang}");
    }
}

#[test]
fn kit_warns_of_a_result_without_its_move() {
    let ground = Ground::new();
    let manager = ground.manager(&["--players", "9"]);
    for lang in SIGNING {
        let mut member = Member::start(&ground, lang, &manager.endpoint);
        member.announce(1, "tok-match");
        for (match_id, is_true) in [("R1M1", true), ("R2M1", false)] {
            let question = json!({"match_id": match_id, "auth_token": "tok-match"});
            let chosen = member.kit.call("choose_parity", &question);
            let (choice, nonce) = (&chosen["parity_choice"], &chosen["nonce"]);
            let nonce = if is_true { nonce.clone() } else { json!("n") };
            let told = json!({"player_id": member.player_id, "choice": choice, "nonce": nonce});
            let mut over = question;
            over["game_result"] = json!({
                "status": "WIN", "winner_player_id": "P99", "reason": "P99 won",
                "evidence": {"moves": [told]},
            });
            member.kit.call("notify_match_result", &over);
        }
        let warning = member.kit.program.says("not in the evidence");
        assert!(warning.starts_with("R2M1"), "{lang}: {warning}");
    }
}
