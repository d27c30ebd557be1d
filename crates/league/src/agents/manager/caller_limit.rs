//! Limits callers: players by the join code of the organiser, registrations by their number from one
//! address, questions by their number from one agent.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use league_core::league::LeagueRules;
use league_mcp::Origin;
use league_protocol::fault::Code;
use league_protocol::message::LeagueError;
use league_protocol::token::{AuthToken, TokenHash};
use tokio::time::Instant;

use crate::http::local;

/// A caller may use its whole burst again after this time.
const REFILL: Duration = Duration::from_secs(60);
/// The most callers remembered; the caller that has rested longest makes room.
const MAX_CALLERS: usize = 4_096;
/// How many questions an agent may ask at once, and within [`REFILL`] again.
const MAX_QUESTIONS: u32 = 1_200;

/// Limits registrations, returns and questions.
#[derive(Debug)]
pub(crate) struct CallerLimit {
    /// The hash of the code that players must show.
    code: Option<TokenHash>,
    /// Registrations, by address.
    addresses: Bursts<IpAddr>,
    /// Questions, by token.
    questions: Bursts<TokenHash>,
}

impl CallerLimit {
    pub(crate) fn new(rules: &LeagueRules, code: Option<&AuthToken>) -> Self {
        let awaited = rules
            .start_when
            .map(|(players, referees)| players.saturating_add(referees));
        let capacity = awaited.unwrap_or(rules.max_players);
        Self {
            code: code.map(AuthToken::hash),
            // Twice the capacity of the league, so that a class behind one router gets in.
            addresses: Bursts::of(capacity.max(1).saturating_mul(2)),
            questions: Bursts::of(MAX_QUESTIONS),
        }
    }

    /// Whether a player with this code may join.
    pub(crate) fn is_open_to(&self, code: Option<&AuthToken>) -> bool {
        self.code.is_none() || code.map(AuthToken::hash) == self.code
    }

    /// Whether a player shows the code of the league.
    pub(crate) fn is_code(&self, code: Option<&AuthToken>) -> bool {
        self.code.is_some() && self.is_open_to(code)
    }

    /// Counts a registration, unless it comes from this machine or shows a secret of the organiser:
    /// the join code or the referee key.
    pub(crate) fn admit(
        &self,
        shows_secret: bool,
        origin: Origin,
        now: Instant,
    ) -> Result<(), LeagueError> {
        let Origin::Network { from, .. } = origin else {
            return Ok(());
        };
        if shows_secret || local::is_own(from) {
            return Ok(());
        }
        let counted = self.addresses.take(local::address_prefix(from), now);
        counted.map_err(|wait| {
            let detail = format!(
                "too many registrations from `{from}`: wait, or show the join code or referee \
                 key if the organiser has given one"
            );
            LeagueError::new(Code::RateLimited, detail).until(wait)
        })
    }

    /// Counts a question of an agent; without a token the question is refused anyway.
    pub(crate) fn question(
        &self,
        token: Option<TokenHash>,
        now: Instant,
    ) -> Result<(), LeagueError> {
        let Some(token) = token else { return Ok(()) };
        let counted = self.questions.take(token, now);
        counted.map_err(|wait| {
            let detail = format!(
                "more than {MAX_QUESTIONS} questions in {} seconds: wait, and ask less often",
                REFILL.as_secs()
            );
            LeagueError::new(Code::RateLimited, detail).until(wait)
        })
    }
}

/// Lets each caller do something so many times at once, and again as time passes.
#[derive(Debug)]
pub(crate) struct Bursts<K> {
    burst: u32,
    /// When the burst of a caller will be whole again.
    callers: Mutex<BTreeMap<K, Instant>>,
}

impl<K: Ord + Copy> Bursts<K> {
    pub(crate) fn of(burst: u32) -> Self {
        Self {
            burst,
            callers: Mutex::default(),
        }
    }

    /// Counts one use, or says how long the caller must wait.
    pub(crate) fn take(&self, caller: K, now: Instant) -> Result<(), Duration> {
        let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        make_room(&mut callers, now);
        let whole_at = callers.entry(caller).or_insert(now);
        let next = (*whole_at).max(now) + REFILL / self.burst;
        let wait = next.duration_since(now).saturating_sub(REFILL);
        if wait > Duration::ZERO {
            return Err(wait);
        }
        *whole_at = next;
        Ok(())
    }
}

fn make_room<K: Ord + Copy>(callers: &mut BTreeMap<K, Instant>, now: Instant) {
    if callers.len() < MAX_CALLERS {
        return;
    }
    callers.retain(|_, whole_at| *whole_at > now);
    if callers.len() >= MAX_CALLERS
        && let Some(rested) = callers.iter().min_by_key(|(_, whole_at)| **whole_at)
    {
        let rested = *rested.0;
        callers.remove(&rested);
    }
}

#[cfg(test)]
mod tests {
    use league_protocol::id::{GameType, LeagueId};

    use super::*;

    fn from(address: &str) -> Origin {
        Origin::Network {
            from: address.parse().unwrap(),
            at: "192.0.2.1".parse().unwrap(),
        }
    }

    fn limit(code: Option<&AuthToken>) -> CallerLimit {
        let rules = LeagueRules {
            start_when: Some((3, 1)),
            ..LeagueRules::new(
                LeagueId::new("one").unwrap(),
                GameType::new("even_odd").unwrap(),
            )
        };
        CallerLimit::new(&rules, code)
    }

    #[test]
    fn an_address_registers_twice_the_capacity_at_once_and_then_waits() {
        let (limit, now) = (limit(None), Instant::now());
        let register = |address: &str, now| limit.admit(false, from(address), now);
        for _ in 0..8 {
            assert_eq!(register("198.51.100.7", now), Ok(()));
        }
        let refused = register("198.51.100.7", now).unwrap_err();
        assert_eq!(refused.code, Code::RateLimited);
        let wait = refused.retry_after();
        assert_eq!(wait, Duration::from_secs(8));
        assert_eq!(register("198.51.100.8", now), Ok(()), "another address");
        assert_eq!(register("198.51.100.7", now + wait), Ok(()));
        assert!(register("198.51.100.7", now + wait).is_err());
        let rested = now + wait + REFILL;
        let again = (0..9).filter(|_| register("198.51.100.7", rested).is_ok());
        assert_eq!(again.count(), 8);
    }

    #[test]
    fn this_machine_and_holders_of_the_code_are_not_counted() {
        let code = AuthToken::new("blue heron");
        let (limit, now) = (limit(Some(&code)), Instant::now());
        let wrong = AuthToken::new("blue herring");
        for _ in 0..100 {
            assert_eq!(limit.admit(false, from("127.0.0.1"), now), Ok(()));
            assert_eq!(limit.admit(false, Origin::Pipe, now), Ok(()));
            let admitted = limit.admit(limit.is_code(Some(&code)), from("198.51.100.7"), now);
            assert_eq!(admitted, Ok(()));
        }
        let guesses = (0..100).filter(|_| {
            let guess = limit.admit(limit.is_code(Some(&wrong)), from("198.51.100.7"), now);
            guess.is_ok()
        });
        assert_eq!(guesses.count(), 8, "guesses are counted");
        assert!(limit.is_open_to(Some(&code)));
        assert!(!limit.is_open_to(Some(&wrong)) && !limit.is_open_to(None));
    }

    #[test]
    fn an_agent_that_asks_too_often_is_told_to_wait() {
        let (limit, now) = (limit(None), Instant::now());
        let [one, other] = ["tok-p01-x", "tok-p02-x"].map(|token| AuthToken::new(token).hash());
        for _ in 0..MAX_QUESTIONS {
            assert_eq!(limit.question(Some(one), now), Ok(()));
        }
        let refused = limit.question(Some(one), now).unwrap_err();
        assert_eq!(refused.code, Code::RateLimited);
        assert!(refused.retry_after() > Duration::ZERO, "{refused:?}");
        assert_eq!(limit.question(Some(other), now), Ok(()), "another agent");
        assert_eq!(limit.question(None, now), Ok(()), "refused elsewhere");
        assert_eq!(
            limit.question(Some(one), now + refused.retry_after()),
            Ok(())
        );
    }

    #[test]
    fn a_network_of_one_customer_counts_as_one_address() {
        let (limit, now) = (limit(None), Instant::now());
        let many = (0..100).filter(|last| {
            let address = format!("2001:db8:1:2::{last}");
            limit.admit(false, from(&address), now).is_ok()
        });
        assert_eq!(many.count(), 8);
    }

    #[test]
    fn few_addresses_are_remembered() {
        let (limit, now) = (limit(None), Instant::now());
        for address in 0..10_000_u32 {
            let address = format!(
                "10.{}.{}.{}",
                address >> 16,
                address >> 8 & 255,
                address & 255
            );
            let _ = limit.admit(false, from(&address), now);
        }
        assert!(limit.addresses.callers.lock().unwrap().len() <= MAX_CALLERS);
    }
}
