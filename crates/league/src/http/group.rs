//! Several addresses of one peer: a league manager, and those that may take its league over.
//!
//! A call goes to the address that answered last, then to the others. A redirect only chooses among
//! these addresses, since a followed one carries the token of the call.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::client::{Answer, CallError};
use super::endpoint::{BadEndpoint, Endpoint};

/// The most addresses of one peer.
pub(crate) const MAX_ADDRESSES: usize = 16;
/// How long connecting to one of several addresses may take before the next is tried.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// The addresses of one peer, at least one; clones know the same one to have answered last.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    members: Vec<Member>,
    latest: Arc<AtomicUsize>,
}

/// One address, and how it was written: with its name, which a redirect may show.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Member {
    endpoint: Endpoint,
    written: Endpoint,
}

impl PartialEq for Group {
    fn eq(&self, other: &Self) -> bool {
        self.members == other.members
    }
}

impl Eq for Group {}

impl Group {
    /// Groups addresses, each with how it was written.
    ///
    /// # Errors
    ///
    /// There are too many.
    pub(crate) fn of(
        addresses: impl IntoIterator<Item = (Endpoint, Endpoint)>,
    ) -> Result<Self, BadEndpoint> {
        let addresses = addresses.into_iter();
        let members: Vec<_> = addresses
            .map(|(endpoint, written)| Member { endpoint, written })
            .take(MAX_ADDRESSES + 1)
            .collect();
        if members.len() > MAX_ADDRESSES {
            return Err(BadEndpoint::TooMany);
        }
        Ok(Self {
            members,
            latest: Arc::default(),
        })
    }

    /// The same servers, at other paths.
    pub(crate) fn map(&self, change: impl Fn(&Endpoint) -> Endpoint) -> Self {
        let members = self.members.iter().map(|member| Member {
            endpoint: change(&member.endpoint),
            written: change(&member.written),
        });
        Self {
            members: members.collect(),
            latest: Arc::clone(&self.latest),
        }
    }

    pub(crate) fn endpoints(&self) -> impl ExactSizeIterator<Item = &Endpoint> {
        self.members.iter().map(|member| &member.endpoint)
    }

    /// The member to which a redirect leads, if it is one.
    fn find(&self, location: &str) -> Option<usize> {
        let wanted = Endpoint::of_location(location).ok()?;
        let leads =
            |member: &Member| wanted.is_same(&member.endpoint) || wanted.is_same(&member.written);
        self.members.iter().position(leads)
    }

    /// Another address than the present one is asked from now on.
    pub(crate) fn pass_on(&self) {
        let latest = self.latest.load(Ordering::Relaxed);
        self.pass_on_from(latest, latest);
    }

    /// The address after `place` is asked from now on, unless another call has found one that answers
    /// since a search began.
    fn pass_on_from(&self, began: usize, place: usize) {
        let next = (place + 1) % self.members.len().max(1);
        let order = Ordering::Relaxed;
        let _ = self.latest.compare_exchange(began, next, order, order);
    }

    /// Looks for the address that takes a call.
    pub(crate) fn search(&self) -> Search<'_> {
        let began = self.latest.load(Ordering::Relaxed);
        Search {
            group: self,
            began,
            place: began,
            tried: vec![false; self.members.len()],
            failed: None,
            is_settled: false,
        }
    }
}

/// The search for the address that takes a call: each is tried once. A search that is dropped before
/// its end, as its time is over, leaves the address that was silent.
#[derive(Debug)]
pub(crate) struct Search<'g> {
    group: &'g Group,
    began: usize,
    place: usize,
    tried: Vec<bool>,
    failed: Option<CallError>,
    is_settled: bool,
}

impl<'g> Search<'g> {
    /// The address to try now; `None` only for a group without addresses.
    pub(crate) fn endpoint(&self) -> Option<&'g Endpoint> {
        Some(&self.group.members.get(self.place)?.endpoint)
    }

    /// How long connecting may take, if another address is left.
    pub(crate) fn connect_timeout(&self) -> Option<Duration> {
        let left = self.tried.iter().filter(|tried| !**tried).count();
        (left > 1).then_some(CONNECT_TIMEOUT)
    }

    /// Weighs the outcome of the present address: ends the search, or moves on.
    pub(crate) fn weigh(
        &mut self,
        outcome: Result<Answer, CallError>,
    ) -> ControlFlow<Result<Answer, CallError>> {
        let error = match outcome {
            Ok(Answer {
                location: Some(location),
                ..
            }) => CallError::Redirect(location),
            Ok(answer) if !is_away(answer.status) => {
                self.group.latest.store(self.place, Ordering::Relaxed);
                self.is_settled = true;
                return ControlFlow::Break(Ok(answer));
            }
            Ok(answer) => CallError::Unavailable(answer.status),
            // Another address changes nothing about these.
            Err(error @ (CallError::Local(_) | CallError::TooLarge)) => {
                self.is_settled = true;
                return ControlFlow::Break(Err(error));
            }
            Err(error) => error,
        };
        self.tried[self.place] = true;
        let redirect = match &error {
            CallError::Redirect(location) => self.group.find(location),
            _ => None,
        };
        // A redirect to an address that was tried tells that none of them holds the league.
        let error = redirect.map_or(error, |_| CallError::Unavailable(REDIRECTED));
        let kept = self.failed.take().filter(|kept| rank(kept) >= rank(&error));
        let kept = kept.unwrap_or(error);
        let untried = |place: &usize| !self.tried[*place];
        let mut ring = (0..self.tried.len()).map(|step| (self.place + step) % self.tried.len());
        if let Some(next) = redirect.filter(untried).or_else(|| ring.find(untried)) {
            self.place = next;
            self.failed = Some(kept);
            return ControlFlow::Continue(());
        }
        self.is_settled = true;
        ControlFlow::Break(Err(kept))
    }
}

impl Drop for Search<'_> {
    fn drop(&mut self) {
        if !self.is_settled {
            self.group.pass_on_from(self.began, self.place);
        }
    }
}

/// The status of a redirect to another address of the peer.
const REDIRECTED: u16 = 307;

/// Whether a server says that it does not hold the league now, or a proxy that its server is away.
const fn is_away(status: u16) -> bool {
    matches!(status, 502..=504)
}

/// How much an error tells: an address that is away tells less than one that refuses the call.
const fn rank(error: &CallError) -> u8 {
    match error {
        CallError::Redirect(_) => 2,
        CallError::Unavailable(_) => 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(text: &str) -> Group {
        Endpoint::of_managers(text)
            .unwrap()
            .group()
            .unwrap()
            .clone()
    }

    fn answer(status: u16) -> Result<Answer, CallError> {
        Ok(Answer {
            status,
            session: None,
            location: None,
            body: Default::default(),
        })
    }

    fn redirect(location: &str) -> Result<Answer, CallError> {
        answer(307).map(|answer| Answer {
            location: Some(location.to_owned()),
            ..answer
        })
    }

    /// The addresses that a call tries, by their last port digit, and its outcome.
    fn tried(group: &Group, outcomes: &[Result<Answer, CallError>]) -> String {
        let mut search = group.search();
        let mut places = String::new();
        for outcome in outcomes {
            places.push_str(&search.place.to_string());
            if let ControlFlow::Break(outcome) = search.weigh(outcome.clone()) {
                return match outcome {
                    Ok(answer) => format!("{places} {}", answer.status),
                    Err(error) => format!("{places} {error}"),
                };
            }
        }
        format!("{places}…")
    }

    const THREE: &str = "http://10.0.0.1:8000/mcp,10.0.0.2:8000, https://10.0.0.3";

    #[test]
    fn redirect_leads_only_to_a_listed_address() {
        let group = group(THREE);
        for (location, found) in [
            ("http://10.0.0.1:8000/mcp", Some(0)),
            ("http://10.0.0.2:8000/mcp", Some(1)),
            ("https://10.0.0.3:443/mcp", Some(2)),
            ("https://10.0.0.3/mcp", Some(2)),
            ("http://10.0.0.3/mcp", None),
            ("https://10.0.0.1:8000/mcp", None),
            ("http://10.0.0.1:8001/mcp", None),
            ("http://10.0.0.1:8000/mcp/", None),
            ("http://10.0.0.1:8000/other", None),
            ("http://10.0.0.1:8000/mcp?token", None),
            ("http://10.0.0.1:8000@10.0.0.9/mcp", None),
            ("http://manager.example:8000/mcp", None),
            ("//10.0.0.1:8000/mcp", None),
            ("/mcp", None),
            ("", None),
        ] {
            assert_eq!(group.find(location), found, "{location}");
        }
    }

    #[test]
    fn name_is_compared_as_it_was_written() {
        let group = group("http://localhost:8000/mcp");
        for location in ["http://LOCALHOST:8000/mcp", "http://127.0.0.1:8000/mcp"] {
            assert_eq!(group.find(location), Some(0), "{location}");
        }
        let [endpoint, written] = ["http://10.0.0.1:8000/mcp", "http://Board.example:8000/mcp"]
            .map(|text| Endpoint::of_location(text).unwrap());
        let named = Group::of([(endpoint, written)]).unwrap();
        for (location, found) in [
            ("http://board.example:8000/mcp", Some(0)),
            ("http://10.0.0.1:8000/mcp", Some(0)),
            ("http://board.example.evil:8000/mcp", None),
        ] {
            assert_eq!(named.find(location), found, "{location}");
        }
    }

    #[test]
    fn each_address_is_tried_once_and_the_one_that_answers_is_kept() {
        let refused = || Err(CallError::Connection("it refuses connections".to_owned()));
        let second = "http://10.0.0.2:8000/mcp";
        let outside = "http://10.0.0.9:8000/mcp";
        for (outcomes, expected, next) in [
            (vec![answer(200)], "0 200", 0),
            (vec![answer(429)], "0 429", 0),
            (vec![refused(), answer(503), answer(200)], "012 200", 2),
            (
                vec![redirect("https://10.0.0.3/mcp"), answer(200)],
                "02 200",
                2,
            ),
            (
                vec![refused(), redirect("https://10.0.0.3/mcp"), refused()],
                "012 no manager holds the league now (HTTP status 307)",
                0,
            ),
            (
                vec![redirect(second), redirect(second), answer(200)],
                "012 200",
                2,
            ),
            (
                vec![refused(), refused(), refused()],
                "012 no connection: it refuses connections",
                0,
            ),
            (
                vec![refused(), answer(503), refused()],
                "012 no manager holds the league now (HTTP status 503)",
                0,
            ),
            (
                vec![redirect(outside), answer(503), refused()],
                "012 it redirects to `http://10.0.0.9:8000/mcp`, and a call, which may carry a \
                 token, follows only to an address that `--manager` lists",
                0,
            ),
            (
                vec![Err(CallError::TooLarge)],
                "0 the answer is larger than 4194304 bytes",
                0,
            ),
        ] {
            let group = group(THREE);
            assert_eq!(tried(&group, &outcomes), expected);
            assert_eq!(group.search().place, next, "{expected}");
        }
    }

    #[test]
    fn search_that_runs_out_of_time_leaves_the_silent_address() {
        let group = group(THREE);
        for silent in [0, 1, 2, 0] {
            let search = group.search();
            assert_eq!(search.place, silent);
        }
        let health = group.map(|member| member.beside("health"));
        assert_eq!(&*health.search().endpoint().unwrap().path, "/health");
        assert_eq!(health.search().place, 2, "the same servers");
    }

    #[test]
    fn more_addresses_than_the_bound_are_refused() {
        let many = vec!["localhost:8000"; MAX_ADDRESSES + 1].join(",");
        assert_eq!(Endpoint::of_managers(&many), Err(BadEndpoint::TooMany));
        for wrong in ["", ",", "localhost:8000,", "localhost:8000,ftp://x"] {
            assert!(Endpoint::of_managers(wrong).is_err(), "{wrong}");
        }
    }
}
