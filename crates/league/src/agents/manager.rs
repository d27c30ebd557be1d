//! The league manager.

mod registration;

use std::sync::Arc;

use league_core::league::{Command, Event, League, LeagueRules, Refusal, Reply};
use league_protocol::finding::harmless;
use league_protocol::id::{LeagueId, MatchId};
use league_protocol::message::{
    AgentMeta, LeagueError, LeagueQuery, Message, Query, QueryAnswer, RegisterResponse,
};
use league_protocol::sender::Agent;
use league_protocol::time::Timestamp;
use league_protocol::token::{AuthToken, TokenHash};
use registration::AdmissionSpelling;
pub(crate) use registration::InvitedPlayer;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::UnboundedSender;

use crate::agents::actor::{Handle, Observer};
use crate::agents::assemble::{
    AgentParts, JournalStart, Place, Shared, StartError, restore, settle,
};
use crate::agents::identity::{Identity, Unregistered};
use crate::agents::{RunningAgent, missing, not_for_me, tools, unattended};
use crate::chance::Chance;
use crate::http::endpoint::{AllowList, OwnAddresses};
use crate::http::server::Service;
use crate::storage::document_writer::DocumentWriter;
use crate::storage::publishers::LeaguePublisher;
use crate::storage::record::{Opening, Record};
use crate::storage::secrets::{LeagueKeys, SecretError};
use crate::storage::store::Durability;
use crate::wire::observed;
use crate::wire::outbound::PeerTroubles;
use crate::wire::resources::{CONFIG, SCHEDULE, STANDINGS};
use crate::wire::router::{AgentService, Heard, Manifest, ServiceReply, ToolArguments};
use crate::wire::sessions::Sessions;

/// A fact of the league, told to whoever watches in this process.
pub(crate) type News = (Timestamp, Event);

/// Starts the manager of a league, or takes it up where its journal left it; nobody may register
/// with the manager's own addresses, `home`.
///
/// # Errors
///
/// Its files may not be ours to use, or be in use.
pub(crate) fn start(
    shared: &Shared,
    rules: LeagueRules,
    guests: &[InvitedPlayer],
    home: &OwnAddresses,
    news: Option<UnboundedSender<News>>,
) -> Result<(RunningAgent<League>, Arc<dyn Service>), StartError> {
    let league_id = rules.league_id.clone();
    let mut keys = None;
    let mut clerk = ManagerObserver {
        league_id: league_id.clone(),
        publisher: LeaguePublisher::new(league_id.clone()),
        document_writer: shared.document_writer.clone(),
        news,
        untold: Vec::new(),
    };
    let restored = restore(
        Place {
            path: &shared.root.league_journal(&league_id),
            durability: Durability::Synced,
            opening: Opening {
                role: "league_manager".to_owned(),
                league_id: Some(league_id.clone()),
                rules: Some(rules.clone()),
                secret: None,
                reproducible: shared.chance.is_reproducible(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
            },
        },
        |beginning| {
            let (own, begun) = keys_of(shared, &league_id, beginning)?;
            let secret = keys.insert(own).secret;
            Ok(League::new(begun.unwrap_or_else(|| rules.clone()), secret)?)
        },
        |sequence, at, record, league| clerk.take_in(sequence, at, record, league),
    )?;
    shared
        .observed
        .keep(&shared.root, &league_id, observed::MANAGER);
    let keys = keys.ok_or_else(|| SecretError::missing(&shared.root, &league_id))?;
    clerk.take_up();
    let rules = restored.machine.rules();
    let (allowed, chance) = (&shared.roads.allowed, shared.chance.clone());
    let allowed = allowed.within(home);
    let invited = guests.iter().filter(|_| !rules.strict);
    let invited = invited.map(|guest| guest.wish(&rules.game_type, &allowed, &chance));
    let wishes = AdmissionSpelling::new(rules.strict);
    let parts = AgentParts {
        first: invited.collect(),
        silent: PeerTroubles::of(restored.machine.is_over()),
        identity: identity_of(&restored.machine),
        restored,
        transcripts: None,
        observer: Box::new(clerk),
    };
    Ok(settle(shared, parts, |desk| ManagerService {
        desk,
        league_id,
        allowed,
        chance,
        peers: shared.roads.peers.clone(),
        admin: keys.admin.hash(),
        wishes,
    }))
}

/// Who the manager of a league is to others.
fn identity_of(league: &League) -> Arc<Identity> {
    let rules = league.rules();
    let identity = Arc::new(Identity::new(Unregistered::Manager, rules.strict));
    identity.set_agent(Agent::Manager, rules.league_id.clone());
    identity.set_game(rules.game_type.clone());
    identity
}

/// Sees what happens in the league, writes its documents and tells whoever watches.
struct ManagerObserver {
    league_id: LeagueId,
    publisher: LeaguePublisher,
    document_writer: DocumentWriter,
    news: Option<UnboundedSender<News>>,
    untold: Vec<News>,
}

impl ManagerObserver {
    /// Tells of a league that goes on, and passes on what was read of it.
    fn take_up(&mut self) {
        let taken_up = self.untold.len();
        self.pass_on();
        if taken_up > 0 {
            tracing::info!(
                component = "league_manager", league_id = %self.league_id,
                event_type = "LEAGUE_TAKEN_UP", "the league goes on after {taken_up} facts"
            );
        }
    }

    /// Logs what is new, and tells whoever watches.
    fn tell(&mut self) {
        for (_, event) in &self.untold {
            log(&self.league_id, event);
        }
        self.pass_on();
    }

    fn pass_on(&mut self) {
        for told in self.untold.drain(..) {
            if let Some(news) = &self.news {
                // Whoever watched may have gone.
                let _ = news.send(told);
            }
        }
    }

    fn keep_news(&mut self, at: Timestamp, event: &Event) {
        self.untold.push((at, event.clone()));
    }
}

impl Observer<League> for ManagerObserver {
    fn take_in(&mut self, sequence: u64, at: Timestamp, record: &Record<Event>, league: &League) {
        self.publisher.take_in(sequence, at, record, league);
        if let Record::Event(event) = record {
            self.keep_news(at, event);
        }
    }

    fn remember(&mut self, at: Timestamp, event: &Event) {
        if matches!(event, Event::MatchAccepted { .. }) {
            self.keep_news(at, event);
        }
    }

    fn settle(&mut self, at: Timestamp, league: &League) {
        self.tell();
        self.document_writer.publish(self.publisher.due(at, league));
    }

    fn wakeup(&self) -> Option<Timestamp> {
        self.publisher.wakeup()
    }

    fn end(&mut self, at: Timestamp, league: &League) {
        self.document_writer
            .publish(self.publisher.rest(at, league));
    }
}

/// What the manager does with what it is told.
pub(crate) struct ManagerService {
    /// The way to its desk.
    pub(crate) desk: Handle<League>,
    /// Which league it runs.
    pub(crate) league_id: LeagueId,
    /// Which addresses agents may register with.
    pub(crate) allowed: AllowList,
    /// Where tokens come from.
    pub(crate) chance: Chance,
    /// How those it calls take calls.
    pub(crate) peers: Sessions,
    /// The hash of the token that steers the league.
    pub(crate) admin: TokenHash,
    /// Who has asked to play, and how often.
    pub(crate) wishes: AdmissionSpelling,
}

impl AgentService for ManagerService {
    fn manifest(&self) -> &'static Manifest {
        &tools::MANAGER
    }

    async fn hear(&self, heard: Heard) -> ServiceReply {
        let token = heard.token.as_ref().map(AuthToken::hash);
        let command = match heard.message {
            Message::RefereeRegisterRequest(request) => {
                let meta = request.meta.clone();
                let wish =
                    Command::RegisterReferee(self.candidate(request, heard.dialect, heard.origin));
                let spoken = self.ask(wish).await;
                self.tell_of("referee", &meta, &spoken);
                return spoken;
            }
            Message::PlayerRegisterRequest(request) => {
                let (wished, meta) = (
                    self.wishes.of(&request, heard.dialect),
                    request.meta.clone(),
                );
                let wish =
                    Command::RegisterPlayer(self.candidate(request, heard.dialect, heard.origin));
                let spoken = self.ask(wish).await;
                self.tell_of("player", &meta, &spoken);
                let spelling = wished.and_then(|address| self.wishes.spelling(address, &spoken));
                return spoken.spelled(spelling);
            }
            Message::MatchResultReport(report) => Command::Report {
                token,
                sender: heard.sender,
                report,
            },
            Message::LeagueQuery(query) if token == Some(self.admin) => {
                return self.inform(*query).await;
            }
            Message::LeagueQuery(query) => Command::Query {
                token,
                sender: heard.sender,
                query,
            },
            Message::Ping => return ServiceReply::Message(Box::new(Message::Acknowledged)),
            other => return not_for_me(&other),
        };
        self.ask(command).await
    }

    async fn call(&self, tool: &str, arguments: ToolArguments) -> Option<ServiceReply> {
        let token = arguments.token.as_ref().map(AuthToken::hash);
        let admin = token == Some(self.admin);
        let command = match tool {
            "create_schedule" => Command::CreateSchedule { admin },
            "start_league" => Command::Start { admin },
            "get_standings" => {
                let query = LeagueQuery {
                    league_id: None,
                    query: Query::Standings,
                    by_api_page: false,
                };
                return Some(self.inform(query).await);
            }
            "get_step_token" => return Some(self.give_step_access(&arguments, admin).await),
            _ => return None,
        };
        if token.is_none() {
            return Some(refuse(&Refusal::AdminTokenMissing));
        }
        Some(self.ask(command).await)
    }

    async fn show(&self, uri: &str) -> Option<Value> {
        self.shown(uri).await
    }

    async fn health(&self) -> Map<String, Value> {
        let seen = self.desk.look(|league| {
            json!({
                "league_id": league.rules().league_id,
                "game_type": league.rules().game_type,
                "state": format!("{:?}", league.phase()).to_ascii_uppercase(),
                "players": league.players().len(),
                "referees": league.referees().len(),
                "rounds": league.schedule().rounds(),
                "round_id": league.round().map(|round| round.number()),
                "matches_played": league.matches_played(),
                "matches": league.schedule().total_matches(),
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

impl ManagerService {
    async fn ask(&self, command: Command) -> ServiceReply {
        match self.desk.ask(command).await {
            Ok(Ok(reply)) => speak(&reply),
            Ok(Err(refusal)) => refuse(&refusal),
            Err(error) => unattended(error),
        }
    }

    /// Tells the administrator what it takes to step a match.
    async fn give_step_access(&self, arguments: &ToolArguments, admin: bool) -> ServiceReply {
        if !admin {
            return refuse(match arguments.token {
                None => &Refusal::AdminTokenMissing,
                Some(_) => &Refusal::NotAdmin,
            });
        }
        let match_id = arguments.text("match_id").map(MatchId::new);
        let Some(Ok(match_id)) = match_id else {
            return missing("match_id");
        };
        let reins = self
            .desk
            .look(move |league| league.step_access(&match_id))
            .await;
        match reins {
            Ok(Ok(reins)) => ServiceReply::Plain(json!({
                "match_id": reins.match_id,
                "referee_id": reins.referee_id,
                "contact_endpoint": reins.endpoint,
                "step_token": reins.token.reveal(),
            })),
            Ok(Err(refusal)) => refuse(&refusal),
            Err(error) => unattended(error),
        }
    }

    async fn inform(&self, query: LeagueQuery) -> ServiceReply {
        let informed = self.desk.look(move |league| league.inform(&query)).await;
        match informed {
            Ok(response) => {
                let message = Message::LeagueQueryResponse(Box::new(response));
                ServiceReply::Message(Box::new(message))
            }
            Err(error) => unattended(error),
        }
    }
}

fn speak(reply: &Reply) -> ServiceReply {
    match reply.to_message() {
        Some(message) => ServiceReply::Message(Box::new(message)),
        None => ServiceReply::Plain(plain(reply)),
    }
}

/// The two replies that no message of the protocol carries.
fn plain(reply: &Reply) -> Value {
    match reply {
        Reply::Schedule {
            total_rounds,
            rounds,
        } => json!({"total_rounds": total_rounds, "rounds": Arc::clone(rounds)}),
        Reply::Started => json!({"status": "started"}),
        _ => json!({"status": "ok"}),
    }
}

fn refuse(refusal: &Refusal) -> ServiceReply {
    let error: LeagueError = refusal.to_league_error();
    ServiceReply::error(error)
}

impl ManagerService {
    /// What lies at an address, as it is now.
    pub(crate) async fn shown(&self, uri: &str) -> Option<Value> {
        match uri {
            uri if uri == STANDINGS.0 => self.told(Query::Standings).await,
            uri if uri == SCHEDULE.0 => self.told(Query::Schedule).await,
            uri if uri == CONFIG.0 => {
                let rules = self
                    .desk
                    .look(|league| serde_json::to_value(league.rules()));
                rules.await.ok()?.ok()
            }
            _ => None,
        }
    }

    /// The answer to a question that anybody may ask, without an envelope.
    async fn told(&self, query: Query) -> Option<Value> {
        let query = LeagueQuery {
            league_id: None,
            query,
            by_api_page: false,
        };
        let informed = self.desk.look(move |league| league.inform(&query)).await;
        Some(match informed.ok()?.answer {
            Ok(QueryAnswer::Standings { round_id, rows }) => {
                json!({"round_id": round_id, "standings": rows})
            }
            Ok(QueryAnswer::Schedule {
                total_rounds,
                rounds,
            }) => json!({"total_rounds": total_rounds, "rounds": rounds}),
            Ok(QueryAnswer::NextMatch(_) | QueryAnswer::PlayerStats(_)) => return None,
            Err(problem) => json!({"problem": problem}),
        })
    }
}

/// The keys of a league and the rules it began with, if it has begun.
///
/// A new league has new keys, whatever was played under its name before: what was drawn then is
/// known. One that goes on needs its own.
pub(crate) fn keys_of(
    shared: &Shared,
    league: &LeagueId,
    beginning: JournalStart<'_>,
) -> Result<(LeagueKeys, Option<LeagueRules>), StartError> {
    match beginning {
        JournalStart::Known(opening) => {
            let keys = LeagueKeys::of(&shared.root, league, opening.secret.as_deref())?;
            Ok((keys, opening.rules.clone()))
        }
        JournalStart::New(opening) => {
            let made = shared.root.standings(league);
            if made.exists() {
                return Err(StartError::Lost {
                    journal: shared.root.league_journal(league).display().to_string(),
                    made: made.display().to_string(),
                });
            }
            let keys = LeagueKeys::make(&shared.root, league, &shared.chance)?;
            opening.secret = Some(keys.fingerprint());
            Ok((keys, None))
        }
    }
}

/// How many characters of what an agent says of itself are logged.
pub(crate) const MAX_LOGGED_CHARS: usize = 100;

/// Logs who was not let in, and why; nothing if it was.
pub(crate) fn turned_away(league: &LeagueId, kind: &str, meta: &AgentMeta, answer: &ServiceReply) {
    let reason = match answer.message() {
        Some(
            Message::PlayerRegisterResponse(RegisterResponse::Rejected { reason })
            | Message::RefereeRegisterResponse(RegisterResponse::Rejected { reason }),
        ) => reason.clone(),
        Some(Message::LeagueError(error)) => format!("{} {}", error.code, error.detail),
        _ => return,
    };
    let name = harmless(&meta.display_name, MAX_LOGGED_CHARS);
    let endpoint = harmless(&meta.contact_endpoint, MAX_LOGGED_CHARS);
    tracing::warn!(
        component = "league_manager", league_id = %league, event_type = "REGISTRATION_REFUSED",
        "{kind} `{name}` at `{endpoint}` is not let in: {reason}"
    );
}

/// Logs a fact of the league.
pub(crate) fn log(league: &LeagueId, event: &Event) {
    let told = |event_type: &str, sentence: String| {
        tracing::info!(component = "league_manager", league_id = %league, event_type, "{sentence}");
    };
    match event {
        Event::PlayerRegistered { player_id, .. } => {
            told("PLAYER_REGISTERED", format!("player {player_id} is in"));
        }
        Event::RefereeRegistered { referee_id, .. } => {
            told("REFEREE_REGISTERED", format!("referee {referee_id} is in"));
        }
        Event::AgentReturned { agent, .. } => told("AGENT_RETURNED", format!("{agent} came back")),
        Event::LeagueStarted { .. } => told("LEAGUE_STARTED", "the league begins".to_owned()),
        Event::RoundOpened { round, .. } => told("ROUND_OPENED", format!("round {round} begins")),
        Event::MatchesMoved { moves, .. } => {
            told(
                "MATCHES_MOVED",
                format!("{} matches change hands", moves.len()),
            );
        }
        Event::ResultRecorded {
            match_id, result, ..
        } => told("RESULT_RECORDED", format!("{match_id}: {}", result.reason)),
        Event::ReportConflicted {
            match_id, referee, ..
        } => tracing::warn!(
            component = "league_manager", league_id = %league, event_type = "REPORT_CONFLICTED",
            "{referee} told another end of {match_id}; the first one stands"
        ),
        Event::ReportRefused {
            match_id,
            referee,
            problem,
            ..
        } => tracing::warn!(
            component = "league_manager", league_id = %league, event_type = "REPORT_REFUSED",
            "the report of {match_id} by {referee} is not believed: {problem}"
        ),
        Event::PlayerShutDown { player_id, .. } => tracing::warn!(
            component = "league_manager", league_id = %league, event_type = "PLAYER_SHUT_DOWN",
            "{player_id} is out of the league after too many technical losses in a row"
        ),
        Event::RoundClosed { round, .. } => told("ROUND_CLOSED", format!("round {round} is over")),
        Event::LeagueCompleted { .. } => told("LEAGUE_COMPLETED", "the league is over".to_owned()),
        Event::MatchAccepted { .. }
        | Event::AgentFailed { .. }
        | Event::AgentAnswered { .. }
        | Event::RefereeSuspended { .. }
        | Event::ProbesSent { .. }
        | Event::Stopped => {}
    }
}
