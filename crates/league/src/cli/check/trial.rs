//! The league's side of a check: finds out with the code of a league how an agent takes calls, and
//! plays trial matches with a player, run by a referee of this league.

use std::collections::BTreeSet;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use league_check::fake_manager::FakeManager;
use league_check::listener::ANY_PORT;
use league_check::registration::form::{self, Registration};
use league_check::rule::Trouble;
use league_check::stage::Stage;
use league_check::trial::{self, CanPlay, Entry, PlayedMatch};
use league_check::{AgentKind, RandomBytes, Target};
use league_core::draw::{LeagueSecret, LeagueSecrets};
use league_core::league::{Applicant, Command, League, LeagueRules, Reply};
use league_core::letter::Peer;
use league_core::machine::Machine;
use league_core::referee::{Referee, RefereeRules};
use league_protocol::finding::{Finding, Reading, Severity};
use league_protocol::id::{GameType, LeagueId, PlayerId, RefereeId};
use league_protocol::message::RegisterResponse;
use league_protocol::peer::PeerProfile;
use league_protocol::sender::{Agent, CallStyle, Dialect};
use league_protocol::token::hex;
use tokio::sync::watch;
use tokio::time::timeout;

use super::not_checked;
use crate::agents::assemble::Shared;
use crate::agents::{RunningAgent, referee};
use crate::chance::Chance;
use crate::cli::failure::{CommandError, chain};
use crate::clock;
use crate::config::{ConfigLoader, breaker_rule, referee_timeouts};
use crate::http::descriptors::Descriptors;
use crate::http::local;
use crate::http::server::{Routes, serve};
use crate::http::tls::{Tls, Trust};
use crate::http::transport::Listener;
use crate::storage::root::Root;
use crate::wire::observed::Count;

/// The game of the trial matches.
const GAME: &str = "even_odd";
/// How many matches a player tries, unless it loses the first without playing.
const MATCHES: usize = 3;
/// What the answer says of a player that was started before the check.
const UNSEEN: &str = "its registration was not seen; start it after the check has begun, or let \
    `--launch \"COMMAND\"` start it";
/// The members that a player knows from its registration alone.
const GIVEN: [&str; 3] = ["player_id", "auth_token", "sender"];
/// How long the last letters of a match may take.
const LETTERS_TIMEOUT: Duration = Duration::from_secs(60);
/// How long our own referee may take to register.
const REFEREE_TIMEOUT: Duration = Duration::from_secs(60);

/// The outcome of the trial matches.
pub(super) struct Trial {
    pub(super) lenient: CanPlay,
    /// The outcome in a strict league; `None` if no registration was seen, without which a player
    /// cannot know what a strict league asks for.
    pub(super) strict: Option<CanPlay>,
}

/// The part of a league that calls agents, with files of its own until it is dropped.
pub(super) struct LeagueSide {
    shared: Shared,
    folder: PathBuf,
    random: RandomBytes,
}

impl Drop for LeagueSide {
    fn drop(&mut self) {
        self.shared.document_writer.finish();
        // What cannot be removed is left to the system's own cleaning.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl LeagueSide {
    /// Prepares calls to the agent at an address.
    pub(super) fn new(
        agent: SocketAddr,
        trust: Trust,
        random: RandomBytes,
    ) -> Result<Self, CommandError> {
        let name = &hex(&random())[..16];
        let folder = std::env::temp_dir().join(format!("league-check-{name}"));
        let shared = shared(&folder, agent, trust)?;
        Ok(Self {
            shared,
            folder,
            random,
        })
    }

    /// Lets the check call a player or a referee as a league calls it.
    pub(super) async fn settle(&self, stage: &Stage) {
        let admission = stage.admission();
        let read = admission.map(|admission| form::read(&admission.call, Reading::Lenient));
        let registration = read.and_then(Result::ok);
        let endpoint = match &registration {
            Some(known) => known.request.meta.contact_endpoint.clone(),
            None => stage.agent.to_string(),
        };
        let peer = peer(&endpoint, registration.as_ref());
        if let Some(profile) = self.profile(&peer).await {
            stage.settle(profile);
        }
    }

    /// How a peer takes calls: as it declared, as it is known, or as the probe of a league finds.
    async fn profile(&self, peer: &Peer) -> Option<Arc<PeerProfile>> {
        if peer.speech == Some(CallStyle::Simple) {
            return Some(Arc::new(PeerProfile::PLAIN));
        }
        let endpoint = self.shared.outbox.allowed.check(&peer.endpoint).ok()?;
        let session = self.shared.outbox.sessions.session(peer, &endpoint);
        if let Some(layout) = peer.speech.filter(|style| *style != CallStyle::Mcp) {
            session.assume(layout);
        }
        Some(session.profile().await)
    }

    /// Plays trial matches with a player that has arrived.
    pub(super) async fn try_out(&self, player: &Stage) -> Result<Trial, CommandError> {
        self.settle(player).await;
        let entry = match Entry::of(player, Reading::Lenient) {
            Ok(entry) => entry,
            Err(why) => return Ok(Trial::refused(why)),
        };
        if let Err(why) = self.admit(&entry, false) {
            return Ok(Trial::refused(why));
        }
        let referee = TrialReferee::start(self, player).await?;
        let lenient = self.lenient(player, &entry, &referee).await?;
        let strictly = Entry::of(player, Reading::Strict);
        let strictly = strictly.and_then(|entry| self.admit(&entry, true));
        let strict = match (&lenient, strictly) {
            (CanPlay::No(_), _) => Some(lenient.clone()),
            _ if entry.registration.is_none() => None,
            (_, Err(why)) => Some(CanPlay::No(why)),
            (_, Ok(())) => {
                let lost = self.play(player, &entry, &referee, true).await?;
                Some(lost.map_or(CanPlay::Yes, CanPlay::No))
            }
        };
        Ok(Trial { lenient, strict })
    }

    /// Lets the machine of a manager decide about a registration; one that was not seen is left to
    /// the matches.
    fn admit(&self, entry: &Entry, strict: bool) -> Result<(), String> {
        let Some(registration) = &entry.registration else {
            return Ok(());
        };
        let words = |error: &dyn std::error::Error| error.to_string();
        let game = GameType::new(GAME).map_err(|error| words(&error))?;
        let league = LeagueId::new("check").map_err(|error| words(&error))?;
        let rules = LeagueRules {
            strict,
            ..LeagueRules::new(league, game)
        };
        let league = League::new(rules, LeagueSecrets::one(LeagueSecret([0; 32])));
        let league = league.map_err(|error| words(&error))?;
        let endpoint = self.shared.outbox.allowed.check(&entry.endpoint);
        let applicant = Applicant {
            request: registration.request.clone(),
            dialect: registration.dialect,
            speech: registration.request.meta.speech,
            endpoint: endpoint.map(drop).map_err(|error| error.to_string()),
            chance: (self.random)(),
            has_key: false,
            is_listed: false,
            is_at_address: true,
        };
        let decided = league.decide(clock::now(), &Command::RegisterPlayer(applicant));
        let because = match decided.answer {
            Ok(Reply::Player(RegisterResponse::Rejected { reason })) => reason,
            Ok(_) => return Ok(()),
            Err(refusal) => refusal.to_string(),
        };
        Err(format!("a league rejects its registration: {because}"))
    }

    async fn lenient(
        &self,
        player: &Stage,
        entry: &Entry,
        referee: &TrialReferee,
    ) -> Result<CanPlay, CommandError> {
        let (mut played, mut lost) = (0, Vec::new());
        while played < MATCHES && (played == 0 || lost.len() < played) {
            lost.extend(self.play(player, entry, referee, false).await?);
            self.settle(player).await;
            played += 1;
        }
        if lost.len() == played {
            return Ok(CanPlay::No(lost.remove(0)));
        }
        let registration = entry.registration.as_ref();
        let mut deviations: Vec<String> = match registration {
            Some(registration) => registration.deviations.iter().filter_map(told).collect(),
            None => vec![UNSEEN.to_owned()],
        };
        let counts = self.shared.deviations.counts();
        let seen = counts.get(&agent(entry).to_string());
        let seen = seen.into_iter().flatten();
        let is_own = |count: &&Count| registration.is_some() || !GIVEN.contains(&&*count.kind.path);
        deviations.extend(seen.filter(is_own).map(counted));
        let mut told = BTreeSet::new();
        deviations.retain(|deviation| told.insert(deviation.clone()));
        if let Some(first) = lost.first() {
            deviations.push(format!("{} of {played} matches: {first}", lost.len()));
        }
        Ok(CanPlay::with(deviations))
    }

    /// Plays one match; returns why the player lost it without playing, if it did.
    async fn play(
        &self,
        player: &Stage,
        entry: &Entry,
        referee: &TrialReferee,
        strict: bool,
    ) -> Result<Option<String>, CommandError> {
        let played = trial::play(player, entry, &referee.stage, strict).await;
        let PlayedMatch { match_id, lost } = played.map_err(not_tried)?;
        let ended = player.revive().await;
        let Some(reason) = lost else {
            return Ok(None);
        };
        referee.settle().await;
        let failures = self.shared.observed.failures().all();
        let failures = failures.get(&agent(entry).to_string());
        let mut here = failures.into_iter().flatten();
        let here = here.find(|failed| failed.match_id.as_str() == match_id);
        let failure = here.map(|failed| format!("{} ({})", failed.detail, failed.code.as_str()));
        // The end of its process explains all that the referee noticed of it.
        let because = ended.or(failure).unwrap_or(reason);
        Ok(Some(format!(
            "it lost a match without playing it: {because}"
        )))
    }
}

impl Trial {
    /// A player that no league admits.
    fn refused(why: String) -> Self {
        Self {
            lenient: CanPlay::No(why.clone()),
            strict: Some(CanPlay::No(why)),
        }
    }
}

/// A referee of a league, which a fake manager orders to run trial matches.
struct TrialReferee {
    stage: Stage,
    running: RunningAgent<Referee>,
    end: watch::Sender<bool>,
}

impl Drop for TrialReferee {
    fn drop(&mut self) {
        self.end.send_replace(true);
    }
}

impl TrialReferee {
    async fn start(side: &LeagueSide, player: &Stage) -> Result<Self, CommandError> {
        let league = player.admission().map(|admission| admission.league);
        let league = league.unwrap_or_else(|| player.league_id());
        let listener = Listener::bind(ANY_PORT, None).await.map_err(no_port)?;
        let (port, random) = (listener.port(), Arc::clone(&side.random));
        let kind = AgentKind::Referee;
        let manager = FakeManager::open_in(league.clone(), ANY_PORT, kind, port, random);
        let manager = manager.await.map_err(no_port)?;
        let shared = &side.shared;
        let id = RefereeId::new("REF01").map_err(|error| failed(&error))?;
        let league = LeagueId::new(league).map_err(|error| failed(&error))?;
        let rules = rules(shared, port, manager.listener.address)?;
        let started = referee::start(shared, &league, &id, rules);
        let (running, service) = started.map_err(|error| failed(&error))?;
        let routes = Routes::behind(shared.gate.clone());
        routes.open("", service);
        let end = watch::Sender::new(false);
        let limits = shared.limits.clone();
        tokio::spawn(serve(listener, routes, limits, end.subscribe()));
        let (target, random) = (Target::local(port), Arc::clone(&side.random));
        let stage = Stage::referee(target, manager, None, REFEREE_TIMEOUT, random);
        if !stage.arrive().await || stage.admission().is_none() {
            let cause = "our own referee did not register".to_owned();
            return Err(not_checked(cause, "try again on a machine with less load"));
        }
        Ok(Self {
            stage,
            running,
            end,
        })
    }

    /// Waits until the last letters of a match are sent and noted.
    async fn settle(&self) {
        // What is still under way then is missing in the report alone.
        let _ = timeout(LETTERS_TIMEOUT, self.running.quiet.clone().wait()).await;
        for _ in 0..2 {
            let _ = self.running.actor.query(|_| ()).await;
        }
    }
}

fn shared(folder: &Path, agent: SocketAddr, trust: Trust) -> Result<Shared, CommandError> {
    let root = Root::new(folder);
    let system = ConfigLoader::new(root.clone()).load_system();
    let mut system = (*system.map_err(|error| failed(&error))?).clone();
    local::allow_calls(&mut system, Some(agent), &[]);
    let tls = Tls {
        server: None,
        trust,
    };
    let chance = Chance::new(None).map_err(|error| failed(&error))?;
    let descriptors = Descriptors::of(1, 1).map_err(|error| failed(&error))?;
    Ok(Shared::new(root, &system, &tls, chance, descriptors))
}

fn rules(shared: &Shared, port: u16, manager: SocketAddr) -> Result<RefereeRules, CommandError> {
    let system = ConfigLoader::new(shared.root.clone()).load_system();
    let system = system.map_err(|error| failed(&error))?;
    let game = GameType::new(GAME).map_err(|error| failed(&error))?;
    Ok(RefereeRules {
        display_name: "Referee of the check".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        wanted_id: None,
        key: None,
        endpoint: format!("http://{}:{port}/mcp", Ipv4Addr::LOCALHOST),
        games: vec![game],
        max_concurrent: 1,
        timeouts: referee_timeouts(&system),
        breaker: breaker_rule(&system),
        manager: Arc::new(Peer {
            agent: Agent::Manager,
            endpoint: format!("http://{manager}/mcp").into(),
            dialect: Dialect::V2,
            speech: Some(CallStyle::Simple),
            is_foreign: false,
        }),
    })
}

/// The agent under check as a league calls it.
fn peer(endpoint: &str, registration: Option<&Registration>) -> Peer {
    Peer {
        agent: Agent::Player(PlayerId::numbered(1)),
        endpoint: endpoint.into(),
        dialect: registration.map_or(Dialect::V2, |known| known.dialect),
        speech: registration.and_then(|known| known.request.meta.speech),
        is_foreign: registration.is_none_or(|known| known.request.meta.is_foreign()),
    }
}

fn agent(entry: &Entry) -> Agent {
    let id = PlayerId::new(entry.id.as_str());
    Agent::Player(id.unwrap_or_else(|_| PlayerId::numbered(1)))
}

/// A forgiven finding about the registration.
fn told(finding: &Finding) -> Option<String> {
    let forgiven = finding.severity == Severity::Deviation;
    forgiven.then(|| sentence(&finding.path, &finding.detail))
}

fn counted(count: &Count) -> String {
    sentence(&count.kind.path, &count.detail)
}

/// A finding as a sentence, with its place unless the sentence names it.
fn sentence(path: &str, detail: &str) -> String {
    match path.is_empty() || detail.contains(&format!("`{path}`")) {
        true => detail.to_owned(),
        false => format!("`{path}`: {detail}"),
    }
}

fn not_tried(trouble: Trouble) -> CommandError {
    let (Trouble::Broken(cause)
    | Trouble::Forgiven(cause)
    | Trouble::Skipped { reason: cause, .. }) = trouble;
    let hint = "try again on a machine with less load";
    not_checked(format!("no trial match could be played: {cause}"), hint)
}

fn no_port(error: io::Error) -> CommandError {
    not_checked(format!("no port for a referee: {error}"), "free some ports")
}

fn failed(error: &dyn std::error::Error) -> CommandError {
    not_checked(chain(error), "check that files can be written for a while")
}
