//! A referee.

mod barred;
mod card;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use league_core::letter::CallOutcome;
use league_core::referee::{
    Command, CorrelationId, Event, MatchOrder, MatchView, Referee, RefereeRules, Reply,
};
use league_protocol::fault::Code;
use league_protocol::id::{LeagueId, MatchId, RefereeId};
use league_protocol::message::Message;
use league_protocol::sender::Agent;
use league_protocol::time::Timestamp;
use league_protocol::token::AuthToken;
use serde_json::{Map, Value, json};

pub(crate) use barred::is_here;

use super::assemble::{House, Place, Shared, StartError, restore, settle};
use super::{Running, keep_tokens, missing, not_for_me, not_in_yet, unattended};
use crate::agents::actor::{Desk, Witness, Worker};
use crate::agents::identity::{Identity, Life, Newcomer};
use crate::http::endpoint::AllowList;
use crate::http::server::Service;
use crate::storage::document_writer::Archivist;
use crate::storage::projection::publisher::RefereePublisher;
use crate::storage::record::{Opening, Record};
use crate::storage::secrets;
use crate::storage::store::Durability;
use crate::wire::observed::Failures;
use crate::wire::outbound::PeerTroubles;
use crate::wire::resources;
use crate::wire::router::{AgentService, Heard, Manifest, ServiceReply, ToolArguments};
use crate::wire::sessions::Sessions;
use crate::wire::transcript::Transcripts;

impl Worker for Referee {
    fn tick() -> Command {
        Command::Tick
    }

    fn heard(correlation: CorrelationId, outcome: CallOutcome) -> Command {
        Command::Outcome {
            correlation,
            outcome,
        }
    }
}

/// Starts a referee, or takes it up where its journal left it.
///
/// # Errors
///
/// Its files may not be ours to use, or be in use.
pub(crate) fn start(
    shared: &Shared,
    league: &LeagueId,
    slot: &RefereeId,
    rules: RefereeRules,
) -> Result<(Running<Referee>, Arc<dyn Service>), StartError> {
    let journal = shared.root.referee_journal(league, slot);
    let token_file =
        secrets::place_of_agent(&shared.root, league, "referee", slot.as_str(), &journal);
    let tokens = secrets::load_or_pledge(&token_file, &shared.chance)?;
    let (name, patience) = (rules.display_name.clone(), rules.timeouts.join / 2);
    let identity = Arc::new(Identity::new(Newcomer::Referee(name), false));
    identity.set_tokens(&tokens);
    let transcripts = Transcripts::default();
    let mut scribe = Scribe {
        identity: Arc::clone(&identity),
        transcripts: transcripts.clone(),
        matches: BTreeMap::new(),
        failures: shared.observed.failures().clone(),
        token_file,
        publisher: RefereePublisher::default(),
        archivist: shared.archivist.clone(),
    };
    let restored = restore(
        Place {
            path: &journal,
            durability: Durability::Synced,
            opening: Opening {
                role: "referee".to_owned(),
                league_id: Some(league.clone()),
                rules: None,
                secret: None,
                reproducible: shared.chance.is_reproducible(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
            },
        },
        |_| Ok(Referee::new(rules.clone())),
        |sequence, at, record, referee| scribe.take_in(sequence, at, record, referee),
    )?;
    shared.observed.keep(&shared.root, league, slot.as_str());
    let house = House {
        restored,
        identity: Arc::clone(&identity),
        transcripts: Some(transcripts),
        silent: PeerTroubles::default(),
        witness: Box::new(scribe),
        first: vec![begin(&identity)],
    };
    Ok(settle(shared, house, |desk| Whistle {
        desk,
        identity,
        peers: shared.roads.peers.clone(),
        allowed: shared.roads.allowed.clone(),
        told: PeerTroubles::default(),
        patience,
    }))
}

/// Keeps what the referee is given, and the record of its matches.
struct Scribe {
    identity: Arc<Identity>,
    transcripts: Transcripts,
    matches: BTreeMap<MatchId, Played>,
    failures: Failures,
    token_file: PathBuf,
    publisher: RefereePublisher,
    archivist: Archivist,
}

/// A match that is held, as it was ordered, and what has gone wrong in it.
struct Played {
    fixture: Arc<MatchOrder>,
    /// By place of the player.
    failed: Vec<(usize, Code, String)>,
}

impl Scribe {
    /// Notes what cost attempts, now that nothing of the match is hidden any more.
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

impl Witness<Referee> for Scribe {
    fn record(&mut self, event: &Event) -> Option<Record<Event>> {
        match event {
            // From here on the journal holds what was chosen, so it may hold who said it as well.
            Event::Decided { match_id, .. } | Event::Closed { match_id, .. } => {
                let attempt = self.matches.get(match_id)?.fixture.attempt;
                let transcript = self.transcripts.take(match_id, attempt)?;
                Some(Record::Transcript(transcript))
            }
            _ => None,
        }
    }

    fn take_in(&mut self, sequence: u64, at: Timestamp, record: &Record<Event>, _: &Referee) {
        self.publisher.take_in(sequence, at, record);
        match record {
            Record::Event(Event::Enrolled {
                referee_id,
                league_id,
                ..
            }) => {
                let agent = Agent::Referee(referee_id.clone());
                self.identity.set_agent(agent, league_id.clone());
            }
            Record::Event(Event::MatchOpened { fixture, .. }) => {
                self.identity.set_strict(fixture.strict);
                self.identity.set_game(fixture.game_type.clone());
                self.transcripts.begin(&fixture.match_id);
                let played = Played {
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
                // What only the player was told may be read by all when the match is over.
                let told = aside.as_ref().map_or(detail, |aside| &aside.0);
                if let Some(played) = self.matches.get_mut(match_id) {
                    played.failed.push((seat.index(), *code, told.clone()));
                }
            }
            Record::Event(Event::Closed { match_id, .. }) => {
                self.note_failures(match_id);
                self.transcripts.forget(match_id);
            }
            Record::Event(Event::LeagueEnded { .. }) => self.identity.set_life(Life::Completed),
            Record::Event(_) | Record::Opened(_) | Record::Transcript(_) => {}
        }
    }

    fn replied(&mut self, reply: &Reply) -> Option<Command> {
        match reply {
            Reply::TokenGranted {
                token,
                return_token,
            } => {
                let (identity, file) = (&self.identity, &self.token_file);
                keep_tokens(identity, file, token, return_token.as_ref());
                None
            }
            Reply::TokenRefused => Some(begin(&self.identity)),
            Reply::Noted | Reply::StartMatchAck(_) | Reply::MatchState(_) => None,
        }
    }

    fn settle(&mut self, at: Timestamp, _: &Referee) {
        self.archivist.publish(self.publisher.due(at));
    }

    fn wakeup(&self) -> Option<Timestamp> {
        self.publisher.wakeup()
    }

    fn end(&mut self, at: Timestamp, _: &Referee) {
        self.archivist.publish(self.publisher.rest(at));
    }
}

/// Registers, with what an earlier registration gave.
fn begin(identity: &Identity) -> Command {
    let token = identity.return_token().or_else(|| identity.token());
    Command::Begin { token }
}

/// What a referee does with what it is told.
pub(crate) struct Whistle {
    /// The way to its desk.
    pub(crate) desk: Desk<Referee>,
    /// Who it is.
    pub(crate) identity: Arc<Identity>,
    /// How those it calls take calls.
    pub(crate) peers: Sessions,
    /// Where players may be called.
    pub(crate) allowed: AllowList,
    /// Which players it has told of that may not be called.
    pub(crate) told: PeerTroubles,
    /// How long a call may wait for its admission.
    pub(crate) patience: Duration,
}

impl AgentService for Whistle {
    fn manifest(&self) -> &'static Manifest {
        &card::MANIFEST
    }

    async fn hear(&self, heard: Heard) -> ServiceReply {
        let token = heard.token.as_ref().map(AuthToken::hash);
        if !self.identity.is_in(self.patience).await {
            return not_in_yet();
        }
        let command = match heard.message {
            Message::StartMatch(order) => return self.start_match(order, token).await,
            Message::LeagueCompleted(end) => Command::LeagueCompleted {
                league_id: end.league_id.clone(),
                token,
            },
            Message::Ping => Command::Ping,
            // What is told to all concerns players; a referee nods.
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
            // It registers by itself until it is in; whoever calls may only ask how far it is.
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
        let rules = self.desk.look(|referee| {
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
        let seen = self.desk.look(|referee| {
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

impl Whistle {
    async fn ask(&self, command: Command) -> ServiceReply {
        match self.desk.ask(command).await {
            Ok(Ok(Reply::StartMatchAck(ack))) => {
                ServiceReply::Proven(Box::new(Message::StartMatchAck(ack)))
            }
            Ok(Ok(Reply::MatchState(view))) => ServiceReply::Plain(shown(&view)),
            Ok(Ok(Reply::Noted | Reply::TokenGranted { .. } | Reply::TokenRefused)) => {
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
