//! Names of hosts: how they are written, and the addresses that they have now.
//!
//! A name is resolved for each new connection, off the threads of the tasks and within a bound.
//! Which of its addresses may be called is decided elsewhere.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::Instant;

/// The longest name, and the longest part of it between two dots, in bytes.
const MAX_NAME: usize = 253;
const MAX_LABEL: usize = 63;
/// How long resolving a name may take.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(2);
/// The most names that are resolved at once; each takes a thread.
const MAX_LOOKUPS: usize = 128;
/// How long a failing lookup counts as a failure of our resolver. The answer does not show whose
/// failure it is, and without this bound a player could avoid a loss by breaking its name.
pub(crate) const RESOLVER_GRACE: Duration = Duration::from_secs(30);
/// The most failing names that are remembered.
const MAX_FAILING: usize = 1_024;

/// The form in which names are compared and resolved: lower case, without the dot at the end.
/// `None` if the text is not a name, or may be a number that the system reads as an address.
pub(crate) fn canonical(text: &str) -> Option<String> {
    let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
    let is_label = |label: &str| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        (1..=MAX_LABEL).contains(&label.len())
            && label.bytes().all(plain)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let last = name.rsplit('.').next().unwrap_or_default();
    let hex = last.strip_prefix("0x").unwrap_or("not hexadecimal");
    let is_number = last.bytes().all(|byte| byte.is_ascii_digit())
        || hex.bytes().all(|byte| byte.is_ascii_hexdigit());
    (name.len() <= MAX_NAME && name.split('.').all(is_label) && !is_number).then_some(name)
}

/// Why a name has no addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LookupError {
    /// The name has none.
    Unknown,
    /// Our resolver fails; the name may be in order.
    Resolver(String),
}

/// Resolves names; clones share their state.
#[derive(Clone)]
pub(crate) struct Resolver(Arc<ResolverState>);

/// The addresses of a name; may block for long.
type Lookup = dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync;

struct ResolverState {
    lookup: Arc<Lookup>,
    turns: Arc<Semaphore>,
    /// The names that our resolver fails at: since when, and when it failed last.
    failing: Mutex<BTreeMap<String, (Instant, Instant)>>,
}

impl Default for Resolver {
    fn default() -> Self {
        Self::new(&BTreeMap::new())
    }
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resolver").finish_non_exhaustive()
    }
}

impl Resolver {
    /// Resolves by these hosts first, then as the system does.
    pub(crate) fn new(hosts: &BTreeMap<String, IpAddr>) -> Self {
        let hosts = hosts.iter();
        let hosts = hosts.filter_map(|(name, address)| Some((canonical(name)?, *address)));
        let hosts: BTreeMap<String, IpAddr> = hosts.collect();
        Self::asking(move |name| match hosts.get(name) {
            Some(address) => Ok(vec![*address]),
            None => ask_system(name),
        })
    }

    /// Resolves by a function, which may block.
    pub(crate) fn asking(
        lookup: impl Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync + 'static,
    ) -> Self {
        Self::sharing(Arc::new(lookup))
    }

    /// Resolves in the same way, with a share of lookups of its own.
    pub(crate) fn apart(&self) -> Self {
        Self::sharing(Arc::clone(&self.0.lookup))
    }

    fn sharing(lookup: Arc<Lookup>) -> Self {
        Self(Arc::new(ResolverState {
            lookup,
            turns: Arc::new(Semaphore::new(MAX_LOOKUPS)),
            failing: Mutex::default(),
        }))
    }

    /// The addresses of a name, at least one. IPv4 comes first, on which most machines listen.
    ///
    /// # Errors
    ///
    /// There are none, or our resolver fails.
    pub(crate) async fn resolve(&self, name: &str) -> Result<Vec<IpAddr>, LookupError> {
        let looked_up = tokio::time::timeout(LOOKUP_TIMEOUT, self.look_up(name)).await;
        let cause = match looked_up {
            Ok(Ok(mut found)) => {
                self.failing().remove(name);
                found = found.iter().map(IpAddr::to_canonical).collect();
                found.sort_by_key(IpAddr::is_ipv6);
                found.dedup();
                return Some(found)
                    .filter(|found| !found.is_empty())
                    .ok_or(LookupError::Unknown);
            }
            Ok(Err(error)) if !is_resolver_failure(&error) => {
                self.failing().remove(name);
                return Err(LookupError::Unknown);
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => "it does not answer".to_owned(),
        };
        Err(match self.is_excused(name) {
            true => LookupError::Resolver(cause),
            false => LookupError::Unknown,
        })
    }

    async fn look_up(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let turn = Arc::clone(&self.0.turns).acquire_owned().await;
        let (lookup, name) = (Arc::clone(&self.0.lookup), name.to_owned());
        // A lookup that hangs keeps its turn: its thread hangs, too.
        let looked_up = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            lookup(&name)
        });
        looked_up.await.map_err(io::Error::other)?
    }

    /// Whether a failure of our resolver is excused, because it has not failed at this name for
    /// long.
    fn is_excused(&self, name: &str) -> bool {
        let mut failing = self.failing();
        failing.retain(|_, (_, last)| last.elapsed() < RESOLVER_GRACE);
        if let Some((since, last)) = failing.get_mut(name) {
            *last = Instant::now();
            return since.elapsed() < RESOLVER_GRACE;
        }
        let is_new = failing.len() < MAX_FAILING;
        if is_new {
            failing.insert(name.to_owned(), (Instant::now(), Instant::now()));
        }
        is_new
    }

    fn failing(&self) -> MutexGuard<'_, BTreeMap<String, (Instant, Instant)>> {
        let failing = self.0.failing.lock();
        failing.unwrap_or_else(PoisonError::into_inner)
    }
}

/// The addresses that the system finds for a name.
pub(crate) fn ask_system(name: &str) -> io::Result<Vec<IpAddr>> {
    let found = (name, 0).to_socket_addrs()?;
    Ok(found.map(|found| found.ip()).collect())
}

/// Whether the resolver failed, and not the name. The standard library gives the code of the
/// resolver only as its sentence: of glibc and macOS, and of musl.
fn is_resolver_failure(error: &io::Error) -> bool {
    let said = error.to_string().to_ascii_lowercase();
    error.raw_os_error().is_some()
        || said.contains("temporary failure")
        || said.contains("try again")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_is_compared_in_one_form() {
        for (text, name) in [
            ("heron.example", Some("heron.example")),
            ("HERON.Example.", Some("heron.example")),
            ("localhost.", Some("localhost")),
            ("lab-pc", Some("lab-pc")),
            ("player_1", Some("player_1")),
            ("4f3a2b1c", Some("4f3a2b1c")),
            ("xn--bcher-kva.example", Some("xn--bcher-kva.example")),
            ("10.example", Some("10.example")),
            ("", None),
            (".", None),
            ("heron..example", None),
            ("heron.example..", None),
            (".example", None),
            ("-heron.example", None),
            ("heron-.example", None),
            ("b\u{fc}cher.example", None),
            ("heron.example%00", None),
            ("heron example", None),
            ("[::1]", None),
        ] {
            assert_eq!(canonical(text).as_deref(), name, "{text}");
        }
        let label = "a".repeat(MAX_LABEL);
        assert!(canonical(&label).is_some());
        assert_eq!(canonical(&format!("{label}a")), None);
        let long = [&*label; 4].join(".");
        assert_eq!(canonical(&long), None, "255 bytes");
        assert!(canonical(&long[2..]).is_some(), "253 bytes");
    }

    #[test]
    fn number_that_the_system_reads_as_an_address_is_not_a_name() {
        for text in [
            "2130706433",
            "017700000001",
            "0x7f000001",
            "0X7F000001",
            "127.1",
            "127.0.1",
            "0177.0.0.1",
            "0x7f.0.0.1",
            "127.0.0.0x1",
            "127.0.0.1.",
            "0x",
            "heron.1",
        ] {
            assert_eq!(canonical(text), None, "{text}");
        }
    }

    fn failing(sentence: &'static str) -> Resolver {
        Resolver::asking(move |_| Err(io::Error::other(sentence)))
    }

    const TEMPORARY: &str =
        "failed to lookup address information: Temporary failure in name resolution";

    #[tokio::test]
    async fn configured_host_is_found_however_it_is_written() {
        let address: IpAddr = [127, 0, 0, 9].into();
        let resolver = Resolver::new(&BTreeMap::from([("Heron.Example.".to_owned(), address)]));
        assert_eq!(resolver.resolve("heron.example").await, Ok(vec![address]));
    }

    #[tokio::test]
    async fn addresses_are_canonical_and_ipv4_comes_first() {
        let resolver = Resolver::asking(|_| {
            let found = ["2620:fe::9", "::ffff:9.9.9.9", "9.9.9.9"];
            Ok(found.map(|found| found.parse().unwrap()).into())
        });
        let found = resolver.resolve("heron.example").await.unwrap();
        let expected: [IpAddr; 2] = ["9.9.9.9", "2620:fe::9"].map(|found| found.parse().unwrap());
        assert_eq!(found, expected);
    }

    #[tokio::test]
    async fn name_without_addresses_is_unknown() {
        let none = Resolver::asking(|_| Ok(Vec::new()));
        assert_eq!(none.resolve("a.example").await, Err(LookupError::Unknown));
        let unknown = failing("failed to lookup address information: Name or service not known");
        assert_eq!(
            unknown.resolve("a.example").await,
            Err(LookupError::Unknown)
        );
    }

    #[tokio::test(start_paused = true)]
    async fn failing_resolver_is_excused_for_a_while() {
        let resolver = failing(TEMPORARY);
        let ours = Err(LookupError::Resolver(TEMPORARY.to_owned()));
        assert_eq!(resolver.resolve("a.example").await, ours);
        tokio::time::advance(RESOLVER_GRACE - Duration::from_secs(1)).await;
        assert_eq!(resolver.resolve("a.example").await, ours);
        tokio::time::advance(Duration::from_secs(1)).await;
        let unknown = Err(LookupError::Unknown);
        assert_eq!(resolver.resolve("a.example").await, unknown);
        assert_eq!(resolver.resolve("b.example").await, ours, "another name");
    }

    #[tokio::test(start_paused = true)]
    async fn success_begins_a_new_time_of_grace() {
        let is_up = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let up = Arc::clone(&is_up);
        let resolver =
            Resolver::asking(
                move |_| match up.load(std::sync::atomic::Ordering::Relaxed) {
                    true => Ok(vec![[127, 0, 0, 1].into()]),
                    false => Err(io::Error::other(TEMPORARY)),
                },
            );
        for _ in 0..2 {
            is_up.store(false, std::sync::atomic::Ordering::Relaxed);
            let failed = resolver.resolve("a.example").await;
            assert!(
                matches!(failed, Err(LookupError::Resolver(_))),
                "{failed:?}"
            );
            tokio::time::advance(2 * RESOLVER_GRACE).await;
            is_up.store(true, std::sync::atomic::Ordering::Relaxed);
            assert!(resolver.resolve("a.example").await.is_ok());
        }
    }

    #[tokio::test]
    async fn lookups_apart_do_not_wait_for_others_that_hang() {
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let ended = Mutex::new(ended);
        let resolver = Resolver::asking(move |name| {
            if name == "slow.example" {
                // Returns when the test ends, so that the runtime can.
                let _ = ended.lock().unwrap().recv();
            }
            Ok(vec![[127, 0, 0, 1].into()])
        });
        let door = resolver.apart();
        for _ in 0..MAX_LOOKUPS {
            let door = door.clone();
            tokio::spawn(async move { door.resolve("slow.example").await });
        }
        while door.0.turns.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        assert!(resolver.resolve("a.example").await.is_ok());
        drop(end);
    }

    #[tokio::test]
    async fn hanging_lookup_ends_in_time() {
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let ended = Mutex::new(ended);
        let resolver = Resolver::asking(move |_| {
            // Returns when the test ends, so that the runtime can.
            let _ = ended.lock().unwrap().recv();
            Ok(Vec::new())
        });
        let began = std::time::Instant::now();
        let failed = resolver.resolve("a.example").await;
        assert_eq!(
            failed,
            Err(LookupError::Resolver("it does not answer".to_owned()))
        );
        assert!(began.elapsed() >= LOOKUP_TIMEOUT);
        drop(end);
    }
}
