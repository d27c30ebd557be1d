//! A referee: starting it, observing its events, serving calls.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use league_core::referee::{
    Command, Event, MatchOrder, MatchView, Referee, RefereeRules, Refusal, Reply,
};
use league_protocol::fault::Code;
use league_protocol::finding::harmless;
use league_protocol::id::{GameType, LeagueId, MatchId, RefereeId};
use league_protocol::message::{Message, StartMatch, StartMatchPlayer};
use league_protocol::sender::Agent;
use league_protocol::time::Timestamp;
use league_protocol::token::{AuthToken, TokenHash};
use serde_json::{Map, Value, json};

use crate::agents::actor::{Handle, MachineAnswer, Observer};
use crate::agents::assemble::{AgentParts, JournalSource, Shared, StartError, restore, spawn};
use crate::agents::identity::{AgentInfo, Identity, Membership, Unregistered};
use crate::agents::{KeptTokens, RunningAgent, missing, not_for_me, not_in_yet, tools, unattended};
use crate::http::endpoint::{AllowList, BadEndpoint, Endpoint, MAX_ENDPOINT};
use crate::http::local;
use crate::http::server::Service;
use crate::storage::document_writer::DocumentWriter;
use crate::storage::publishers::RefereePublisher;
use crate::storage::record::{Opening, Record};
use crate::storage::secrets::{self, Tokens};
use crate::storage::store::Durability;
use crate::wire::dispatcher::{AgentService, Manifest, ServiceReply};
use crate::wire::observed::Failures;
use crate::wire::resources;
use crate::wire::sessions::Sessions;
use crate::wire::transcript::Transcripts;
use crate::wire::troubles::PeerTroubles;
use league_mcp::Origin;
use league_protocol::tools::ToolArguments;
use league_protocol::wire::Received;

/// Starts a referee, or resumes it where its journal ended.
///
/// # Errors
///
/// Its files are in use, or belong to another kind of agent.
pub(crate) fn start(
    shared: &Shared,
    league: &LeagueId,
    slot: &RefereeId,
    rules: RefereeRules,
) -> Result<(RunningAgent<Referee>, Arc<dyn Service>), StartError> {
    let journal = shared.root.referee_journal(league, slot);
    let token_file =
        secrets::place_of_agent(&shared.root, league, "referee", slot.as_str(), &journal);
    let tokens = KeptTokens {
        held: secrets::load_or_pledge(&token_file, &shared.chance)?,
        file: token_file,
    };
    let (name, admission_timeout) = (rules.display_name.clone(), rules.timeouts.join / 2);
    let transcripts = Transcripts::default();
    let mut observer = RefereeObserver {
        tokens,
        strict: false,
        game_type: None,
        transcripts: transcripts.clone(),
        matches: BTreeMap::new(),
        failures: shared.observed.failures().clone(),
        publisher: RefereePublisher::default(),
        document_writer: shared.document_writer.clone(),
    };
    let restored = restore(
        JournalSource {
            path: &journal,
            durability: Durability::Synced,
            opening: Opening {
                league_id: Some(league.clone()),
                ..Opening::of("referee", shared.chance.is_reproducible())
            },
        },
        |_| Ok(Referee::new(rules.clone())),
        |sequence, at, record, referee| observer.observe(sequence, at, record, referee),
    )?;
    shared.observed.keep(&shared.root, league, slot.as_str());
    let parts = AgentParts {
        restored,
        unregistered: Unregistered::Referee(name),
        bound_for: None,
        transcripts: Some(transcripts),
        silent: PeerTroubles::default(),
        first: vec![observer.begin()],
        observer: Box::new(observer),
    };
    Ok(spawn(shared, parts, |actor, identity| RefereeService {
        actor,
        identity: Arc::clone(identity),
        peers: shared.outbox.sessions.clone(),
        allowed: shared.outbox.allowed.clone(),
        told: PeerTroubles::default(),
        admission_timeout,
    }))
}

/// Keeps the referee's tokens, and the transcripts and documents of its matches.
struct RefereeObserver {
    tokens: KeptTokens,
    /// Whether the latest match is strict, and its game.
    strict: bool,
    game_type: Option<GameType>,
    transcripts: Transcripts,
    matches: BTreeMap<MatchId, OpenMatch>,
    failures: Failures,
    publisher: RefereePublisher,
    document_writer: DocumentWriter,
}

/// A match as ordered, and its failed attempts.
struct OpenMatch {
    fixture: Arc<MatchOrder>,
    /// Seat, code and detail of each failed attempt.
    failed: Vec<(usize, Code, String)>,
}

impl RefereeObserver {
    /// The command to register, with the tokens of an earlier registration.
    fn begin(&self) -> Command {
        let Tokens {
            token,
            return_token,
        } = &self.tokens.held;
        let token = return_token.as_ref().unwrap_or(token);
        Command::Begin {
            token: Some(token.clone()),
        }
    }

    /// Records failed attempts, now that nothing about the match is hidden.
    fn note_failures(&mut self, match_id: &MatchId) {
        let Some(played) = self.matches.remove(match_id) else {
            return;
        };
        for (place, code, detail) in played.failed {
            if let Some(seated) = played.fixture.players.get(place) {
                self.failures
                    .note(&seated.player_id, code, &detail, match_id);
            }
        }
    }
}

impl Observer<Referee> for RefereeObserver {
    fn companion(&mut self, event: &Event) -> Option<Record<Event>> {
        match event {
            // From here on the journal holds the choices, so it may hold the transcript as well.
            Event::Decided { match_id, .. } | Event::Closed { match_id, .. } => {
                let attempt = self.matches.get(match_id)?.fixture.attempt;
                let transcript = self.transcripts.take(match_id, attempt)?;
                Some(Record::Transcript(transcript))
            }
            _ => None,
        }
    }

    fn observe(&mut self, sequence: u64, at: Timestamp, record: &Record<Event>, _: &Referee) {
        self.publisher.take_in(sequence, at, record);
        match record {
            Record::Event(Event::MatchOpened { fixture, .. }) => {
                self.strict = fixture.strict;
                self.game_type = Some(fixture.game_type.clone());
                self.transcripts.begin(&fixture.match_id);
                let played = OpenMatch {
                    fixture: Arc::clone(fixture),
                    failed: Vec::new(),
                };
                self.matches.insert(fixture.match_id.clone(), played);
            }
            Record::Event(Event::AttemptFailed {
                match_id,
                seat,
                code,
                detail,
                aside,
                ..
            }) => {
                // Details that only the player received become public when the match is over.
                let told = aside.as_ref().map_or(detail, |aside| &aside.0);
                if let Some(played) = self.matches.get_mut(match_id) {
                    played.failed.push((seat.index(), *code, told.clone()));
                }
            }
            Record::Event(Event::Closed { match_id, .. }) => {
                self.note_failures(match_id);
                self.transcripts.forget(match_id);
            }
            Record::Event(_) | Record::Opened(_) | Record::Transcript(_) => {}
        }
    }

    fn answered(&mut self, answer: &MachineAnswer<Referee>) -> Option<Command> {
        match answer {
            Ok(Reply::TokenGranted {
                token,
                return_token,
            }) => {
                self.tokens.grant(token, return_token.as_ref());
                None
            }
            Err(Refusal::TokenRefused) => Some(self.begin()),
            Ok(Reply::Noted | Reply::StartMatchAck(_) | Reply::MatchState(_)) | Err(_) => None,
        }
    }

    fn info(&self, referee: &Referee) -> AgentInfo {
        let enrolled = referee.enrolled();
        AgentInfo {
            agent: enrolled.map(|(id, _)| Agent::Referee(id.clone())),
            league_id: enrolled.map(|(_, league)| league.clone()),
            game_type: self.game_type.clone(),
            strict: self.strict,
            guarded: false,
            token: Some(self.tokens.held.token.clone()),
            return_token: self.tokens.held.return_token.clone(),
            membership: match enrolled {
                Some(_) if referee.league_over() => Membership::Completed,
                Some(_) => Membership::Enrolled,
                None => Membership::Registering,
            },
        }
    }

    fn flush(&mut self, at: Timestamp, _: &Referee) {
        self.document_writer.publish(self.publisher.due(at));
    }

    fn wakeup(&self) -> Option<Timestamp> {
        self.publisher.wakeup()
    }

    fn stop(&mut self, at: Timestamp, _: &Referee) {
        self.document_writer.publish(self.publisher.rest(at));
    }
}

/// Answers the messages and tool calls for a referee.
pub(crate) struct RefereeService {
    pub(crate) actor: Handle<Referee>,
    pub(crate) identity: Arc<Identity>,
    pub(crate) peers: Sessions,
    /// The addresses at which players may be called.
    pub(crate) allowed: AllowList,
    /// The players already reported because their address may not be called.
    pub(crate) told: PeerTroubles,
    /// How long a call may wait for the referee's admission.
    pub(crate) admission_timeout: Duration,
}

impl AgentService for RefereeService {
    fn manifest(&self) -> &'static Manifest {
        &tools::REFEREE
    }

    async fn hear(&self, received: Received, _origin: Origin) -> ServiceReply {
        let token = received.token.as_ref().map(AuthToken::hash);
        if !self.identity.is_in(self.admission_timeout).await {
            return not_in_yet();
        }
        let command = match received.message {
            Message::StartMatch(order) => return self.start_match(order, token).await,
            Message::LeagueCompleted(end) => Command::LeagueCompleted {
                league_id: end.league_id.clone(),
                token,
            },
            Message::Ping => Command::Ping,
            // Notifications for players; a referee only acknowledges them.
            Message::RoundAnnouncement(_)
            | Message::RoundCompleted(_)
            | Message::StandingsUpdate(_)
            | Message::LeagueStart(_) => {
                return ServiceReply::Message(Box::new(Message::Acknowledged));
            }
            other => return not_for_me(&other),
        };
        self.ask(command).await
    }

    async fn call(&self, tool: &str, arguments: ToolArguments) -> Option<ServiceReply> {
        if tool == "register_to_league" {
            // The referee registers by itself; a caller can only query its progress.
            return Some(ServiceReply::Plain(json!({
                "status": if self.identity.agent().is_some() { "registered" } else { "registering" },
                "agent": self.identity.label(),
                "league_id": self.identity.league(),
            })));
        }
        let known = [
            "collect_choices",
            "draw_number",
            "finalize_match",
            "get_match_state",
        ];
        if !known.contains(&tool) {
            return None;
        }
        let Some(match_id) = arguments.text("match_id") else {
            return Some(missing("match_id"));
        };
        let Ok(match_id) = MatchId::new(match_id) else {
            return Some(missing("match_id"));
        };
        let token = arguments.token.as_ref().map(AuthToken::hash);
        let command = match tool {
            "collect_choices" => Command::CollectChoices { match_id, token },
            "draw_number" => Command::DrawNumber { match_id, token },
            "finalize_match" => Command::FinalizeMatch { match_id, token },
            _ => Command::MatchState { match_id },
        };
        Some(self.ask(command).await)
    }

    async fn show(&self, uri: &str) -> Option<Value> {
        if uri != resources::CONFIG.0 {
            return None;
        }
        let rules = self.actor.query(|referee| {
            let rules = referee.rules();
            json!({
                "display_name": rules.display_name,
                "version": rules.version,
                "endpoint": rules.endpoint,
                "games": rules.games,
                "max_concurrent_matches": rules.max_concurrent,
                "manager": rules.manager.endpoint,
            })
        });
        rules.await.ok()
    }

    async fn health(&self) -> Map<String, Value> {
        let seen = self.actor.query(|referee| {
            json!({
                "league_id": referee.enrolled().map(|(_, league)| league),
                "registered": referee.enrolled().is_some(),
                "problem": referee.registration_problem(),
                "playing": referee.playing(),
                "max_concurrent_matches": referee.rules().max_concurrent,
            })
        });
        let mut health = match seen.await {
            Ok(Value::Object(health)) => health,
            _ => Map::new(),
        };
        health.insert("peers".into(), self.peers.shown());
        health
    }
}

impl RefereeService {
    async fn ask(&self, command: Command) -> ServiceReply {
        match self.actor.ask(command).await {
            Ok(Ok(Reply::StartMatchAck(ack))) => {
                ServiceReply::Proven(Box::new(Message::StartMatchAck(ack)))
            }
            Ok(Ok(Reply::MatchState(view))) => ServiceReply::Plain(shown(&view)),
            Ok(Ok(Reply::Noted | Reply::TokenGranted { .. })) => {
                ServiceReply::Message(Box::new(Message::Acknowledged))
            }
            Ok(Err(refusal)) => ServiceReply::error(refusal.to_league_error()),
            Err(error) => unattended(error),
        }
    }
}

/// A match as `get_match_state` shows it.
fn shown(view: &MatchView) -> Value {
    let [a, b] = &view.players;
    json!({
        "league_id": view.league_id,
        "round_id": view.round_id,
        "match_id": view.match_id,
        "attempt": view.attempt,
        "game_type": view.game_type,
        "state": view.state.as_str(),
        "player_A_id": a,
        "player_B_id": b,
        "moves": view.moves,
        "result": view.result,
    })
}

impl RefereeService {
    /// Accepts an order, unless one of its players may not be called from here: another referee may
    /// be able to call the player, and the operator of this referee can fix its configuration.
    /// Otherwise the player would lose the match, as it does in the end if no referee can run it.
    pub(crate) async fn start_match(
        &self,
        order: Arc<StartMatch>,
        token: Option<TokenHash>,
    ) -> ServiceReply {
        let mut players = order.players.iter();
        let barred = players.find_map(|player| {
            let why = why_not(&self.allowed, player)?;
            Some((Agent::Player(player.player_id.clone()), why))
        });
        let reason = barred.as_ref().map(|(_, why)| why.clone());
        let spoken = self
            .ask(Command::StartMatch {
                order,
                token,
                barred: reason,
            })
            .await;
        if let Some((player, why)) = barred
            && is_answered(&spoken, &why)
            && self.told.is_new(&player, "NOT_CALLED")
        {
            let agent_id = self.identity.log_name();
            tracing::warn!(agent_id = &*agent_id, event_type = "NOT_CALLED", "{why}");
        }
        spoken
    }
}

/// Why a player may not be called; `None` if it may.
fn why_not(allowed: &AllowList, player: &StartMatchPlayer) -> Option<String> {
    match allowed.check(&player.endpoint) {
        Err(refused @ (BadEndpoint::NotAllowed(_) | BadEndpoint::OnManager(_))) => Some(format!(
            "player {} is not called at {}: {refused}",
            player.player_id,
            harmless(&player.endpoint, MAX_ENDPOINT)
        )),
        _ => None,
    }
}

/// Whether the authenticated manager received this reason, or has the match run anyway.
fn is_answered(spoken: &ServiceReply, why: &str) -> bool {
    match spoken.message() {
        Some(Message::StartMatchAck(ack)) => ack.accepted || ack.reason.as_deref() == Some(why),
        _ => false,
    }
}

/// Whether an address is on this machine; an invalid address counts as local.
pub(crate) fn is_here(endpoint: &str) -> bool {
    let read = Endpoint::parse(endpoint);
    read.map_or(true, |read| local::is_own(read.address.ip()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use league_protocol::id::PlayerId;
    use league_protocol::message::WinLossDraw;
    use league_protocol::sender::Dialect;
    use league_protocol::token::AuthToken;

    fn player(endpoint: &str) -> StartMatchPlayer {
        let token = AuthToken::new("tok_of_a_test");
        StartMatchPlayer {
            player_id: PlayerId::new("P01").unwrap(),
            endpoint: endpoint.into(),
            dialect: Dialect::V2,
            speech: None,
            token_hash: token.hash(),
            match_token: token,
            record: WinLossDraw::default(),
        }
    }

    #[test]
    fn the_loopback_of_another_machine_is_not_called() {
        let list = AllowList::default();
        let away = list.clone().away_from_manager();
        for local in [
            "http://localhost:8101/mcp",
            "http://[::ffff:127.0.0.1]:1/mcp",
        ] {
            assert_eq!(why_not(&list, &player(local)), None);
            let why = why_not(&away, &player(local)).unwrap();
            assert!(why.contains("on the league manager's machine"), "{why}");
        }
        let why = why_not(&list, &player("http://192.0.2.7:8101/mcp")).unwrap();
        assert!(why.contains("`--allow 192.0.2.7`"), "{why}");
    }

    #[test]
    fn a_manager_is_here_by_the_addresses_of_this_machine() {
        assert!(is_here("http://localhost:8000/mcp"));
        assert!(is_here("http://127.0.0.2:8000/mcp"));
        assert!(!is_here("http://192.0.2.1:8000/mcp"));
    }
}
