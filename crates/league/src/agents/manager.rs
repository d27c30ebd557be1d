//! The league manager.

mod candidate;
mod card;
mod guest;
mod keys;
mod knock;
mod log;
mod shown;
mod wishes;

use std::sync::Arc;

use league_core::league::{Command, CorrelationId, Event, League, LeagueRules, Refusal, Reply};
use league_core::letter::CallOutcome;
use league_protocol::id::{LeagueId, MatchId};
use league_protocol::message::{LeagueError, LeagueQuery, Message, Query};
use league_protocol::sender::Agent;
use league_protocol::time::Timestamp;
use league_protocol::token::{AuthToken, TokenHash};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::UnboundedSender;

use super::assemble::{House, Place, Shared, StartError, restore, settle};
use super::{Running, missing, not_for_me, unattended};
use crate::agents::actor::{Desk, Witness, Worker};
use crate::agents::identity::{Identity, Newcomer};
use crate::chance::Chance;
use crate::http::endpoint::{AllowList, Home};
use crate::http::server::Service;
use crate::storage::document_writer::Archivist;
use crate::storage::projection::publisher::LeaguePublisher;
use crate::storage::record::{Opening, Record};
use crate::storage::secrets::SecretError;
use crate::storage::store::Durability;
use crate::wire::observed;
use crate::wire::outbound::PeerTroubles;
use crate::wire::router::{AgentService, Heard, Manifest, ServiceReply, ToolArguments};
use crate::wire::sessions::Sessions;
pub(crate) use guest::Guest;
use keys::keys_of;
use wishes::Wishes;

impl Worker for League {
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
    guests: &[Guest],
    home: &Home,
    news: Option<UnboundedSender<News>>,
) -> Result<(Running<League>, Arc<dyn Service>), StartError> {
    let league_id = rules.league_id.clone();
    let mut keys = None;
    let mut clerk = Clerk {
        league_id: league_id.clone(),
        publisher: LeaguePublisher::new(league_id.clone()),
        archivist: shared.archivist.clone(),
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
    let wishes = Wishes::new(rules.strict);
    let house = House {
        first: invited.collect(),
        silent: PeerTroubles::of(restored.machine.is_over()),
        identity: identity_of(&restored.machine),
        restored,
        transcripts: None,
        witness: Box::new(clerk),
    };
    Ok(settle(shared, house, |desk| Manager {
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
    let identity = Arc::new(Identity::new(Newcomer::Manager, rules.strict));
    identity.set_agent(Agent::Manager, rules.league_id.clone());
    identity.set_game(rules.game_type.clone());
    identity
}

/// Sees what happens in the league, writes its documents and tells whoever watches.
struct Clerk {
    league_id: LeagueId,
    publisher: LeaguePublisher,
    archivist: Archivist,
    news: Option<UnboundedSender<News>>,
    untold: Vec<News>,
}

impl Clerk {
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
            log::log(&self.league_id, event);
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

impl Witness<League> for Clerk {
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
        self.archivist.publish(self.publisher.due(at, league));
    }

    fn wakeup(&self) -> Option<Timestamp> {
        self.publisher.wakeup()
    }

    fn end(&mut self, at: Timestamp, league: &League) {
        self.archivist.publish(self.publisher.rest(at, league));
    }
}

/// What the manager does with what it is told.
pub(crate) struct Manager {
    /// The way to its desk.
    pub(crate) desk: Desk<League>,
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
    pub(crate) wishes: Wishes,
}

impl AgentService for Manager {
    fn manifest(&self) -> &'static Manifest {
        &card::MANIFEST
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

impl Manager {
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
