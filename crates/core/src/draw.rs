//! Draws that anyone can check: a secret per match, a promise before the round, a number after.
//!
//! Everything is derived so that a page or a script can derive it again with HMAC-SHA-256,
//! SHA-256 and JSON alone. The exact recipe is in each function's words.

use std::fmt::{self, Write as _};

use hmac::{Hmac, KeyInit, Mac};
use league_games::Dice;
use league_protocol::id::{LeagueId, MatchId, PlayerId};
use league_protocol::message::OpenedDraw;
use league_protocol::secret::{Commitment, Seed};
use league_protocol::sender::Agent;
use league_protocol::token::{AuthToken, hex_digits};
use sha2::{Digest, Sha256};

/// The longest nonce that takes part in a draw, in bytes; a longer one is refused.
pub const MAX_NONCE_LENGTH: usize = 128;

/// How many words of 64 bits one HMAC gives.
const WORDS_A_BLOCK: usize = 4;

/// The secret of a league, from which the secrets of its matches are derived.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct LeagueSecret(pub [u8; 32]);

impl std::fmt::Debug for LeagueSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LeagueSecret(…)")
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

    /// The token of one player of one match; [`KeyedSecret::match_token`] says how it is made.
    pub fn match_token(
        &self,
        league: &LeagueId,
        match_id: &MatchId,
        player: &PlayerId,
    ) -> AuthToken {
        self.keyed().match_token(league, match_id, player)
    }

    /// The token by which the manager proves itself to one agent: HMAC of the league's secret
    /// over `["manager_token",league,agent]`, the agent written as a sender.
    pub fn manager_token(&self, league: &LeagueId, agent: &Agent) -> AuthToken {
        self.token(
            "manager",
            ["manager_token", league.as_str(), &agent.to_string()],
        )
    }

    /// The token by which people step one match: HMAC of the league's secret over
    /// `["step_token",league,match]`.
    pub fn step_token(&self, league: &LeagueId, match_id: &MatchId) -> AuthToken {
        self.token("step", ["step_token", league.as_str(), match_id.as_str()])
    }

    /// The token by which an agent that comes back proves itself: HMAC of the league's secret
    /// over `["return_token",league,agent]`, the agent written as a sender.
    pub fn return_token(&self, league: &LeagueId, agent: &Agent) -> AuthToken {
        self.token(
            "return",
            ["return_token", league.as_str(), &agent.to_string()],
        )
    }

    fn token(&self, hint: &str, parts: [&str; 3]) -> AuthToken {
        AuthToken::mint(hint, &mac(&keyed(&self.0), &parts))
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
    /// The seed of a match: HMAC of the league's secret over `["seed",league,match]`.
    pub fn seed(&self, league: &LeagueId, match_id: &MatchId) -> Seed {
        let parts = ["seed", league.as_str(), match_id.as_str()];
        Seed(mac(&self.0, &parts))
    }

    /// The token a referee shows to one player of one match: HMAC of the league's secret over
    /// `["match_token",league,match,player]`.
    pub fn match_token(
        &self,
        league: &LeagueId,
        match_id: &MatchId,
        player: &PlayerId,
    ) -> AuthToken {
        let (league, player) = (league.as_str(), player.as_str());
        let parts = ["match_token", league, match_id.as_str(), player];
        let bytes = mac(&self.0, &parts);
        AuthToken::mint(match_id.as_str(), &bytes)
    }
}

/// The promise on a match's draw: SHA-256 of `["league.draw",league,match,seed in hex]`.
pub fn commitment(league: &LeagueId, match_id: &MatchId, seed: &Seed) -> Commitment {
    let parts = ["league.draw", league.as_str(), match_id.as_str()];
    let mut hash = Sha256::new();
    list(&parts, |text| hash.update(text));
    hash.update(b",\"");
    hash.update(hex_digits(&seed.0));
    hash.update(b"\"]");
    Commitment(hash.finalize().into())
}

/// Whether an opened draw keeps the promise that it names.
pub fn keeps_promise(league: &LeagueId, match_id: &MatchId, draw: &OpenedDraw) -> bool {
    commitment(league, match_id, &draw.seed) == draw.commitment
}

/// The dice of a match; [`dice_of`] says how they are made.
pub fn dice(league: &LeagueId, match_id: &MatchId, draw: &OpenedDraw) -> Dice {
    let nonces = draw.nonces.each_ref().map(String::as_str);
    dice_of(league, match_id, &draw.seed, draw.attempt, nonces)
}

/// The dice of a match whose draw is not opened yet.
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

fn mac(keyed: &Hmac<Sha256>, parts: &[&str]) -> [u8; 32] {
    let mut mac = keyed.clone();
    list(parts, |text| mac.update(text));
    mac.update(b"]");
    mac.finalize().into_bytes().into()
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

    fn ids() -> (LeagueId, MatchId) {
        (
            LeagueId::new("league_2025_even_odd").unwrap(),
            MatchId::new("R1M1").unwrap(),
        )
    }

    #[test]
    fn draw_is_plain_hmac_over_plain_json() {
        // Computed with Python's hmac, hashlib and json modules.
        let (league, match_id) = ids();
        let seed = LeagueSecret([7; 32]).seed(&league, &match_id);
        assert_eq!(
            seed.to_hex(),
            "b03f86fad2edc03bc5e54c269ba7e96f45960982371ff157d46d8f7b31815a1f"
        );
        assert_eq!(
            commitment(&league, &match_id, &seed).to_hex(),
            "4e66b95f9684d4d8f367506abc66df89738943c56c2e361292ba3b12026a717a"
        );
        let draw = OpenedDraw {
            commitment: commitment(&league, &match_id, &seed),
            seed,
            attempt: 1,
            nonces: ["é\"|".into(), String::new()],
        };
        let mut dice = dice(&league, &match_id, &draw);
        let rolls: Vec<_> = (0..6).map(|_| dice.roll(1..=10)).collect();
        assert_eq!(rolls, [7, 7, 10, 2, 7, 5]);
        assert!(keeps_promise(&league, &match_id, &draw));
        assert!(!keeps_promise(
            &league,
            &MatchId::new("R1M2").unwrap(),
            &draw
        ));
    }

    #[test]
    fn each_part_changes_the_draw() {
        let (league, match_id) = ids();
        let secret = LeagueSecret([7; 32]);
        let seed = secret.seed(&league, &match_id);
        let draw = OpenedDraw {
            commitment: commitment(&league, &match_id, &seed),
            seed,
            attempt: 1,
            nonces: ["a".into(), "b".into()],
        };
        let number = |draw: &OpenedDraw| dice(&league, &match_id, draw).roll(0..=u64::MAX - 1);
        let plain = number(&draw);
        assert_ne!(
            plain,
            number(&OpenedDraw {
                attempt: 2,
                ..draw.clone()
            })
        );
        let swapped = ["b".into(), "a".into()];
        assert_ne!(
            plain,
            number(&OpenedDraw {
                nonces: swapped,
                ..draw.clone()
            })
        );
        let other = secret.seed(&league, &MatchId::new("R1M2").unwrap());
        assert_ne!(
            plain,
            number(&OpenedDraw {
                seed: other,
                ..draw
            })
        );
    }

    #[test]
    fn manager_token_is_for_one_agent_of_one_league() {
        let (league, match_id) = ids();
        let secret = LeagueSecret([7; 32]);
        let (one, two) = (PlayerId::numbered(1), PlayerId::numbered(2));
        let token = secret.manager_token(&league, &Agent::Player(one.clone()));
        assert_ne!(token, secret.manager_token(&league, &Agent::Player(two)));
        let other = LeagueId::new("league_2026").unwrap();
        assert_ne!(
            token,
            secret.manager_token(&other, &Agent::Player(one.clone()))
        );
        assert_ne!(token, secret.match_token(&league, &match_id, &one));
        let agent = Agent::Player(one.clone());
        let back = secret.return_token(&league, &agent);
        assert_ne!(token.hash(), back.hash());
        assert_eq!(token.masked(), "tok-manager-…");
        assert_eq!(back.masked(), "tok-return-…");
    }

    #[test]
    fn match_token_is_for_one_player_of_one_match() {
        let (league, match_id) = ids();
        let secret = LeagueSecret([7; 32]);
        let token = |player| secret.match_token(&league, &match_id, &PlayerId::numbered(player));
        assert_ne!(token(1), token(2));
        assert_eq!(token(1).masked(), "tok-r1m1-…");
    }
}
