//! Draws that anyone can check: a secret per match, a promise before the round, a number after; and
//! proofs of the players that a referee cannot invent.
//!
//! Everything is derived so that a page or a script can derive it again with HMAC-SHA-256,
//! SHA-256 and JSON alone. The exact recipe is in each function's words.

use std::fmt::{self, Write as _};

use hmac::{Hmac, KeyInit, Mac};
use league_games::Dice;
use league_protocol::id::{GameType, LeagueId, MatchId, PlayerId, RefereeId};
use league_protocol::message::{MatchResult, OpenedDraw};
use league_protocol::secret::{Commitment, DrawMode, Proof, ProofKey, Seed};
use league_protocol::sender::Agent;
use league_protocol::token::{AuthToken, hex, hex_digits};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::judge::{Course, laid};

/// The longest nonce that takes part in a draw, in bytes; a longer one is refused.
pub const MAX_NONCE_LENGTH: usize = 128;
/// The length of the nonces of our own players, in characters.
pub const NONCE_LENGTH: usize = 32;

/// How many words of 64 bits one HMAC gives.
const WORDS_A_BLOCK: usize = 4;

/// A secret of a league, from which seeds or tokens are derived.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct LeagueSecret(pub [u8; 32]);

impl std::fmt::Debug for LeagueSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LeagueSecret(…)")
    }
}

/// The two secrets of a league: with `--seed` its draws come from a number that a person chose, its
/// tokens never do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeagueSecrets {
    /// The seeds of all matches are derived from it.
    pub draws: LeagueSecret,
    /// All tokens are derived from it.
    pub tokens: LeagueSecret,
}

impl LeagueSecrets {
    /// One secret for both.
    pub const fn one(secret: LeagueSecret) -> Self {
        Self {
            draws: secret,
            tokens: secret,
        }
    }
}

impl LeagueSecret {
    /// The secret made ready for many matches.
    pub fn keyed(&self) -> KeyedSecret {
        KeyedSecret(keyed(&self.0))
    }

    /// The seed of a match; [`KeyedSecret::seed`] says how it is made.
    pub fn seed(&self, league: &LeagueId, match_id: &MatchId) -> Seed {
        self.keyed().seed(league, match_id)
    }

    /// The token by which the manager proves itself to one agent: HMAC of the secret over
    /// `["manager_token",league,agent]`, the agent written as a sender.
    pub fn manager_token(&self, league: &LeagueId, agent: &Agent) -> AuthToken {
        self.token(
            "manager",
            ["manager_token", league.as_str(), &agent.to_string()],
        )
    }

    /// The token by which people step one match: HMAC of the secret over
    /// `["step_token",league,match]`.
    pub fn step_token(&self, league: &LeagueId, match_id: &MatchId) -> AuthToken {
        self.token("step", ["step_token", league.as_str(), match_id.as_str()])
    }

    /// The token by which an agent that comes back proves itself: HMAC of the secret over
    /// `["return_token",league,agent]`, the agent written as a sender.
    pub fn return_token(&self, league: &LeagueId, agent: &Agent) -> AuthToken {
        self.renewed_token(league, agent, 0)
    }

    /// The return token after the organiser replaced it so many times; that number then follows the
    /// agent.
    pub fn renewed_token(&self, league: &LeagueId, agent: &Agent, renewals: u32) -> AuthToken {
        let agent = agent.to_string();
        let (parts, numbers) = (["return_token", league.as_str(), &agent], [renewals]);
        let numbers = if renewals == 0 { &[][..] } else { &numbers };
        AuthToken::mint("return", &mac(&keyed(&self.0), &parts, numbers))
    }

    /// The pledge of a referee that the manager's host runs: HMAC of the secret over
    /// `["host_referee",league,referee]`. So the next host that takes the league proves itself as the
    /// same referee.
    pub fn referee_pledge(&self, league: &LeagueId, referee: &RefereeId) -> AuthToken {
        let parts = ["host_referee", league.as_str(), referee.as_str()];
        AuthToken::pledge(&mac(&keyed(&self.0), &parts, &[]))
    }

    fn token(&self, hint: &str, parts: [&str; 3]) -> AuthToken {
        AuthToken::mint(hint, &mac(&keyed(&self.0), &parts, &[]))
    }
}

/// A league's secret that has done the half of an HMAC which is the same for all matches.
#[derive(Clone)]
pub struct KeyedSecret(Hmac<Sha256>);

impl std::fmt::Debug for KeyedSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KeyedSecret(…)")
    }
}

impl KeyedSecret {
    /// The seed of a match: HMAC of the draws' secret over `["seed",league,match]`.
    pub fn seed(&self, league: &LeagueId, match_id: &MatchId) -> Seed {
        let parts = ["seed", league.as_str(), match_id.as_str()];
        Seed(mac(&self.0, &parts, &[]))
    }

    /// The token that a referee shows to one player in one attempt at a match: HMAC of the tokens'
    /// secret over `["match_token",league,match,player,attempt]`. For a player that does not sign
    /// the attempt is left out, because such a player may keep the first token that it hears.
    pub fn match_token(
        &self,
        league: &LeagueId,
        match_id: &MatchId,
        player: &PlayerId,
        attempt: Option<u32>,
    ) -> AuthToken {
        let (league, player) = (league.as_str(), player.as_str());
        let parts = ["match_token", league, match_id.as_str(), player];
        let bytes = mac(&self.0, &parts, attempt.as_slice());
        AuthToken::mint(match_id.as_str(), &bytes)
    }

    /// The token of one order to run a match: HMAC of the tokens' secret over
    /// `["order_token",league,match,referee,attempt]`.
    pub fn order_token(
        &self,
        league: &LeagueId,
        match_id: &MatchId,
        referee: &RefereeId,
        attempt: u32,
    ) -> AuthToken {
        let (league, referee) = (league.as_str(), referee.as_str());
        let parts = ["order_token", league, match_id.as_str(), referee];
        AuthToken::mint("order", &mac(&self.0, &parts, &[attempt]))
    }
}

/// The promise on a match's draw: SHA-256 of `["league.draw",league,match,mode,seed in hex]`.
pub fn commitment(
    league: &LeagueId,
    match_id: &MatchId,
    mode: DrawMode,
    seed: &Seed,
) -> Commitment {
    let mut hash = Sha256::new();
    let (league, match_id) = (league.as_str(), match_id.as_str());
    let names = ["league.draw", league, match_id, mode.as_str()];
    list(&names, |text| hash.update(text));
    hash.update(b",\"");
    hash.update(hex_digits(&seed.0));
    hash.update(b"\"]");
    Commitment(hash.finalize().into())
}

/// Whether an opened draw keeps the promise that it names.
pub fn keeps_promise(league: &LeagueId, match_id: &MatchId, draw: &OpenedDraw) -> bool {
    let promise = |seed| commitment(league, match_id, draw.mode, &seed);
    draw.seed.map(promise) == Some(draw.commitment)
}

/// The seed of one roll of the dice, which the manager gives when the roll is due: HMAC of the
/// match's seed over `["attempt_seed",attempt]`, and over `["attempt_seed",attempt,roll]` for the
/// rolls after the first, counted from 0.
pub fn roll_seed(seed: &Seed, attempt: u32, roll: u32) -> Seed {
    let numbers = [attempt, roll];
    let numbers = if roll == 0 { &numbers[..1] } else { &numbers };
    Seed(mac(&keyed(&seed.0), &["attempt_seed"], numbers))
}

/// The key of a player's proofs in one attempt at a match: HMAC of its return token, as it stands on
/// the wire, over `["proof_key",league,match,attempt]`.
pub fn proof_key(
    return_token: &AuthToken,
    league: &LeagueId,
    match_id: &MatchId,
    attempt: u32,
) -> ProofKey {
    let parts = ["proof_key", league.as_str(), match_id.as_str()];
    let keyed = Hmac::new_from_slice(return_token.reveal().as_bytes());
    // HMAC takes a key of any length.
    ProofKey(keyed.map_or([0; 32], |keyed| mac(&keyed, &parts, &[attempt])))
}

/// What proves a player's part in a match: HMAC of its key over `[turn,history,choice,nonce]`.
///
/// The turn counts the player's moves from 1, and is 0 for joining, with `true` as the choice. The
/// history is the SHA-256, in hex, of the list `[[player,choice],…]` of all moves so far that the
/// player may see.
pub fn proof<'a>(
    key: &ProofKey,
    turn: u32,
    history: impl IntoIterator<Item = (&'a PlayerId, &'a Value)>,
    choice: &Value,
    nonce: Option<&str>,
) -> Proof {
    let history: Vec<Value> = history
        .into_iter()
        .map(|(player, choice)| Value::from(vec![player.as_str().into(), choice.clone()]))
        .collect();
    let history = Sha256::digest(canonical(&history.into()));
    let signed = Value::from(vec![
        turn.into(),
        hex(&history.into()).into(),
        choice.clone(),
        nonce.unwrap_or_default().into(),
    ]);
    let mut mac = keyed(&key.0);
    mac.update(canonical(&signed).as_bytes());
    Proof(mac.finalize().into_bytes().into())
}

/// What proves that a player joined.
pub fn join_proof(key: &ProofKey) -> Proof {
    proof(key, 0, [], &Value::Bool(true), None)
}

/// Compact JSON with the members of objects in the order of their names.
fn canonical(value: &Value) -> String {
    match value {
        Value::Array(elements) => {
            let elements: Vec<String> = elements.iter().map(canonical).collect();
            format!("[{}]", elements.join(","))
        }
        Value::Object(members) => {
            let mut members: Vec<(&String, &Value)> = members.iter().collect();
            members.sort_unstable_by_key(|(name, _)| *name);
            let members: Vec<String> = members
                .into_iter()
                .map(|(name, value)| format!("{}:{}", Value::from(name.as_str()), canonical(value)))
                .collect();
            format!("{{{}}}", members.join(","))
        }
        _ => value.to_string(),
    }
}

/// Whether each player has a share in the draw of a played match: its first move came before the
/// first roll. In a game that is not known here both have one.
pub fn have_shares(game: &GameType, result: &MatchResult) -> [bool; 2] {
    let listing = league_games::find(game.as_str());
    let table = listing.and_then(|listing| (listing.open)(&Value::Null).ok());
    let moves = &result.evidence.moves;
    // Not every referee shows the moves.
    let Some(table) = table.filter(|_| !moves.is_empty()) else {
        return [true; 2];
    };
    let mut course = Course::new(table.into());
    // Legal by settings that are not known here: nothing is claimed of later moves.
    let _ = course.lay(laid(&result.players, moves), |_, _| None);
    course.have_shares()
}

/// The dice of one roll of a match whose draw is opened; [`dice_of`] says how they are made.
pub fn dice(league: &LeagueId, match_id: &MatchId, draw: &OpenedDraw, roll: u32) -> Option<Dice> {
    let seed = roll_seed(&draw.seed?, draw.attempt, roll);
    let nonces = draw.nonces.each_ref().map(String::as_str);
    Some(dice_of(league, match_id, &seed, draw.attempt, nonces))
}

/// The dice of a roll with this seed.
///
/// Words of 64 bits are read big-endian from blocks; block *k* is the HMAC of the seed over
/// `[league,match,attempt,nonce A,nonce B,k]`, *k* counting from 0. [`Dice::roll`] says how a
/// word becomes a face.
pub fn dice_of(
    league: &LeagueId,
    match_id: &MatchId,
    seed: &Seed,
    attempt: u32,
    nonces: [&str; 2],
) -> Dice {
    let mut seed = Words(keyed(&seed.0));
    let names = [league.as_str(), match_id.as_str()];
    list(&names, |text| seed.0.update(text));
    seed.number(attempt);
    nonces.into_iter().for_each(|nonce| seed.text(nonce));
    let mut block = 0_u32;
    let mut words = [0; WORDS_A_BLOCK];
    let mut used = WORDS_A_BLOCK;
    Dice::from_words(Box::new(move || {
        if used == WORDS_A_BLOCK {
            words = block_of(seed.clone(), block);
            block = block.wrapping_add(1);
            used = 0;
        }
        used += 1;
        words[used - 1]
    }))
}

/// The words of one block, of a seed that has taken in all but its number.
fn block_of(mut seed: Words, block: u32) -> [u64; WORDS_A_BLOCK] {
    seed.number(block);
    seed.0.update(b"]");
    let bytes: [u8; 32] = seed.0.finalize().into_bytes().into();
    let mut words = [0; WORDS_A_BLOCK];
    for (place, chunk) in words.iter_mut().zip(bytes.chunks_exact(8)) {
        *place = word(chunk);
    }
    words
}

fn word(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0, |word, &byte| word << 8 | u64::from(byte))
}

fn keyed(key: &[u8; 32]) -> Hmac<Sha256> {
    // HMAC fills a key that is shorter than its block with zeros; done here, it cannot fail.
    let mut block = [0; 64];
    block[..32].copy_from_slice(key);
    Hmac::new(&block.into())
}

/// HMAC over a list of texts, then numbers.
fn mac(keyed: &Hmac<Sha256>, texts: &[&str], numbers: &[u32]) -> [u8; 32] {
    let mut words = Words(keyed.clone());
    list(texts, |text| words.0.update(text));
    numbers.iter().for_each(|number| words.number(*number));
    words.0.update(b"]");
    words.0.finalize().into_bytes().into()
}

/// Writes texts as compact JSON, as a list that is still open: an array of texts and numbers can be
/// written in one way only.
///
/// The parts are names, ids and hex digits, in which nothing has to be escaped.
fn list(parts: &[&str], mut write: impl FnMut(&[u8])) {
    for (place, part) in parts.iter().enumerate() {
        write(if place == 0 { b"[\"" } else { b",\"" });
        write(part.as_bytes());
        write(b"\"");
    }
}

/// A list that goes into an HMAC as it is written.
#[derive(Clone)]
struct Words(Hmac<Sha256>);

impl Words {
    fn number(&mut self, number: u32) {
        // An HMAC takes in any text.
        let _ = write!(self, ",{number}");
    }

    /// Adds any text as JSON.
    fn text(&mut self, text: &str) {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        if text.bytes().all(plain) {
            self.0.update(b",\"");
            self.0.update(text.as_bytes());
            self.0.update(b"\"");
        } else {
            let _ = write!(self, ",{}", serde_json::Value::from(text));
        }
    }
}

impl fmt::Write for Words {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.update(text.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn ids() -> (LeagueId, MatchId) {
        (
            LeagueId::new("league_2025_even_odd").unwrap(),
            MatchId::new("R1M1").unwrap(),
        )
    }

    fn opened(mode: DrawMode, nonces: [&str; 2]) -> OpenedDraw {
        let (league, match_id) = ids();
        let seed = LeagueSecret([7; 32]).seed(&league, &match_id);
        OpenedDraw {
            commitment: commitment(&league, &match_id, mode, &seed),
            seed: Some(seed),
            mode,
            attempt: 1,
            nonces: nonces.map(str::to_owned),
        }
    }

    // The figures of these tests were computed with Python's hmac, hashlib and json modules.

    #[test]
    fn seeds_commitments_and_proofs_are_plain_hmac_over_plain_json() {
        let (league, match_id) = ids();
        let seed = LeagueSecret([7; 32]).seed(&league, &match_id);
        let promise = |mode| commitment(&league, &match_id, mode, &seed).to_hex();
        let roll = |roll| roll_seed(&seed, 1, roll).to_hex();
        let key = proof_key(&AuthToken::new("tok-return-abc"), &league, &match_id, 3);
        let (one, two) = (PlayerId::numbered(1), PlayerId::numbered(2));
        let (first, second) = (json!({"row": 0, "column": 2}), json!("é"));
        let history = [(&one, &first), (&two, &second)];
        let choice = json!({"row": 1, "column": 1});
        let made = [
            seed.to_hex(),
            promise(DrawMode::Chance),
            roll(0),
            roll(2),
            key.to_hex(),
            join_proof(&key).to_hex(),
            proof(&key, 2, history, &choice, Some("n-1")).to_hex(),
        ];
        assert_eq!(
            made,
            [
                "b03f86fad2edc03bc5e54c269ba7e96f45960982371ff157d46d8f7b31815a1f",
                "2526cd0942a1a96ea31cba12a4ba97f260b01cb56cee3600aaa30a609a50e8dd",
                "fc25e5c2b3768cf924059404b3e3e76e8a9508ea4bbd69095da8ca9111c77690",
                "acdf7b14ff808e480f8e1bd9b8c3bc544eeff2297a7517b0756432414c21c2b2",
                "ff2a153876e671d419e57bc398511db768abb44095cb87d5ce4e31da06f46338",
                "a36b95b1ba93ec87a0499f4a4a3aeb1fb31630947140e7ef8cd187faac568f32",
                "39b2826f42dc9cad3abdd2917c6209d522532a8ae5b0502e945f90b8730c5fb2",
            ]
        );
        assert_ne!(promise(DrawMode::Chance), promise(DrawMode::Reproducible));
    }

    #[test]
    fn promise_is_kept_by_its_own_match_seed_and_mode_alone() {
        let (league, match_id) = ids();
        let draw = opened(DrawMode::Reproducible, ["", ""]);
        assert!(keeps_promise(&league, &match_id, &draw));
        let other = MatchId::new("R1M2").unwrap();
        assert!(!keeps_promise(&league, &other, &draw));
        let by_chance = OpenedDraw {
            mode: DrawMode::Chance,
            ..draw.clone()
        };
        assert!(!keeps_promise(&league, &match_id, &by_chance));
        let closed = OpenedDraw { seed: None, ..draw };
        assert!(!keeps_promise(&league, &match_id, &closed));
    }

    #[test]
    fn each_part_changes_the_draw() {
        let (league, match_id) = ids();
        let draw = opened(DrawMode::Chance, ["a", "b"]);
        let number = |draw: &OpenedDraw, roll| {
            let mut dice = dice(&league, &match_id, draw, roll).unwrap();
            dice.roll(0..=u64::MAX - 1)
        };
        let plain = number(&draw, 0);
        assert_ne!(plain, number(&draw, 1));
        let later = OpenedDraw {
            attempt: 2,
            ..draw.clone()
        };
        assert_ne!(plain, number(&later, 0));
        let swapped = OpenedDraw {
            nonces: ["b".into(), "a".into()],
            ..draw.clone()
        };
        assert_ne!(plain, number(&swapped, 0));
        let other = LeagueSecret([7; 32]).seed(&league, &MatchId::new("R1M2").unwrap());
        let elsewhere = OpenedDraw {
            seed: Some(other),
            ..draw
        };
        assert_ne!(plain, number(&elsewhere, 0));
    }

    #[test]
    fn manager_token_is_for_one_agent_of_one_league() {
        let (league, _) = ids();
        let secret = LeagueSecret([7; 32]);
        let (one, two) = (PlayerId::numbered(1), PlayerId::numbered(2));
        let token = secret.manager_token(&league, &Agent::Player(one.clone()));
        assert_ne!(token, secret.manager_token(&league, &Agent::Player(two)));
        let other = LeagueId::new("league_2026").unwrap();
        assert_ne!(
            token,
            secret.manager_token(&other, &Agent::Player(one.clone()))
        );
        let back = secret.return_token(&league, &Agent::Player(one));
        assert_ne!(token.hash(), back.hash());
        assert_eq!(token.masked(), "tok-manager-…");
        assert_eq!(back.masked(), "tok-return-…");
    }

    #[test]
    fn match_token_is_for_one_player_and_one_attempt() {
        let (league, match_id) = ids();
        let secret = LeagueSecret([7; 32]).keyed();
        let token = |player, attempt| {
            secret.match_token(&league, &match_id, &PlayerId::numbered(player), attempt)
        };
        assert_ne!(token(1, Some(1)), token(2, Some(1)));
        assert_ne!(token(1, Some(1)), token(1, Some(2)));
        assert_ne!(token(1, Some(1)), token(1, None));
        assert_eq!(token(1, None).masked(), "tok-r1m1-…");
        let order =
            |attempt| secret.order_token(&league, &match_id, &RefereeId::numbered(1), attempt);
        assert_ne!(order(1), order(2));
    }
}
