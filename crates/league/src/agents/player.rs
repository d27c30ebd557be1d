//! A player.

mod card;
mod diary;
mod mind;

use std::sync::Arc;
use std::time::Duration;

use league_core::letter::CallOutcome;
use league_core::player::{
    Command, CorrelationId, Player, PlayerPhase, PlayerRules, PlayerView, Refusal, Reply, Think,
};
use league_protocol::id::{LeagueId, PlayerId};
use league_protocol::message::Message;
use league_protocol::sender::Agent;
use league_protocol::token::{AuthToken, hex};
use serde_json::{Map, Value, json};
use tokio::sync::watch;

use super::assemble::{House, Place, Shared, StartError, restore, settle};
use super::{Running, not_for_me, not_in_yet, unattended};
use crate::agents::actor::{Desk, Ruling, Unattended, Worker};
use crate::agents::identity::{Identity, Life, Newcomer};
use crate::chance::Chance;
use crate::clock;
use crate::http::server::Service;
use crate::storage::projection::publisher::PlayerPublisher;
use crate::storage::record::Opening;
use crate::storage::secrets;
use crate::storage::store::Durability;
use crate::wire::outbound::PeerTroubles;
use crate::wire::resources;
use crate::wire::router::{AgentService, Heard, Manifest, ServiceReply, ToolArguments};
use diary::{Diary, enrolled};
pub(crate) use mind::{Manner, Mind};
use mind::{Thinking, Told};

/// How many characters of chance a player brings to each draw.
const NONCE_LENGTH: usize = 32;

impl Worker for Player {
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

/// Starts a player, or takes it up where its journal left it.
///
/// # Errors
///
/// Its files may not be ours to use, or be in use.
pub(crate) fn start(
    shared: &Shared,
    league: &LeagueId,
    slot: &PlayerId,
    rules: PlayerRules,
    manner: Manner,
) -> Result<(Running<Player>, Arc<dyn Service>), StartError> {
    let journal = shared.root.player_journal(slot);
    let token_file =
        secrets::place_of_agent(&shared.root, league, "player", slot.as_str(), &journal);
    let tokens = secrets::load_or_pledge(&token_file, &shared.chance)?;
    let (name, strict) = (rules.display_name.clone(), rules.strict);
    let dialect = rules.manager.dialect;
    let mut publisher = PlayerPublisher::among(shared.crowd);
    let (announced, announcements) = watch::channel(());
    let patience = rules.timeouts.join / 2;
    let restored = restore(
        Place {
            path: &journal,
            // Losing the last of its memory in a power cut does a player no wrong.
            durability: Durability::Written,
            opening: Opening {
                role: "player".to_owned(),
                league_id: None,
                rules: None,
                secret: None,
                reproducible: shared.chance.is_reproducible(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
            },
        },
        |_| Ok(Player::new(rules.clone())),
        |sequence, at, record, _| publisher.take_in(sequence, at, record),
    )?;
    let identity = Identity::new(Newcomer::Player(name), strict);
    let identity = Arc::new(identity.bound_for(league.clone(), dialect));
    identity.set_tokens(&tokens);
    let over = recall(&restored.machine, league, &identity);
    let house = House {
        restored,
        identity: Arc::clone(&identity),
        transcripts: None,
        silent: PeerTroubles::default(),
        witness: Box::new(Diary {
            identity: Arc::clone(&identity),
            token_file,
            announced,
            publisher,
            archivist: shared.archivist.clone(),
        }),
        first: if over {
            Vec::new()
        } else {
            vec![Command::Begin]
        },
    };
    if let Some(bot) = manner.mind.bot() {
        bot.plays_for(&identity);
    }
    let (chance, purpose) = (shared.chance.clone(), slot.to_string());
    Ok(settle(shared, house, |desk| Competitor {
        desk,
        manner,
        announcements,
        patience,
        chance,
        identity,
        purpose,
    }))
}

/// Tells who it is, from what it kept, and whether its league is over.
fn recall(player: &Player, league: &LeagueId, identity: &Identity) -> bool {
    if let Some((agent, league)) = enrolled(player) {
        identity.set_guarded(player.knows_manager());
        identity.set_agent(agent, league);
    }
    // Of a league that is over there is nothing more to be had.
    let over = player.phase() == PlayerPhase::Completed && player.league_id() == Some(league);
    // Until it is admitted anew, whoever calls may know more of the league than it does.
    identity.set_life(if over {
        Life::Completed
    } else {
        Life::Registering
    });
    over
}

/// What a player does with what it is told.
pub(crate) struct Competitor {
    /// The way to its desk.
    pub(crate) desk: Desk<Player>,
    /// How it plays.
    pub(crate) manner: Manner,
    /// Changes when a match was announced.
    pub(crate) announcements: watch::Receiver<()>,
    /// How long a call may wait for the announcement of its match.
    pub(crate) patience: Duration,
    /// Where dice and nonces come from.
    pub(crate) chance: Chance,
    /// Who it is.
    pub(crate) identity: Arc<Identity>,
    /// Its own name for chance, so that no two players draw the same from one seed.
    pub(crate) purpose: String,
}

impl AgentService for Competitor {
    fn manifest(&self) -> &'static Manifest {
        &card::MANIFEST
    }

    async fn hear(&self, heard: Heard) -> ServiceReply {
        if matches!(heard.message, Message::Ping) {
            return ServiceReply::Message(Box::new(Message::Acknowledged));
        }
        let admits = matches!(heard.message, Message::PlayerRegisterResponse(_));
        if !admits && !self.identity.is_in(self.patience).await {
            return not_in_yet();
        }
        let token = heard.token.as_ref().map(AuthToken::hash);
        let refused = not_for_me(&heard.message);
        let told = self.manner.mind.bot().map(|_| Told {
            message: heard.message.clone(),
            from: heard.sender.unwrap_or(Agent::Manager),
        });
        let ours = heard.conversation.as_ref();
        let ours = ours.is_some_and(|named| self.identity.is_own_registration(named));
        let command = Command::from_message(heard.message, token).map(|command| match command {
            Command::Admitted { response, .. } => Command::Admitted {
                response,
                answers_us: ours,
            },
            command => command,
        });
        match command {
            Some(command) => self.ask(command, told).await,
            None if self.identity.takes_anything() => {
                ServiceReply::Message(Box::new(Message::Acknowledged))
            }
            None => refused,
        }
    }

    fn nods(&self) -> bool {
        self.identity.takes_anything()
    }

    async fn call(&self, tool: &str, _arguments: ToolArguments) -> Option<ServiceReply> {
        match tool {
            "get_player_state" => Some(self.ask(Command::StateWanted, None).await),
            _ => None,
        }
    }

    async fn show(&self, uri: &str) -> Option<Value> {
        if uri != resources::CONFIG.0 {
            return None;
        }
        let rules = self.desk.look(|player| {
            let rules = player.rules();
            json!({
                "display_name": rules.display_name,
                "version": rules.version,
                "endpoint": rules.endpoint,
                "games": rules.games,
                "manager": rules.manager.endpoint,
                "strict": rules.strict,
                "dialect": rules.manager.dialect,
            })
        });
        let mut rules = rules.await.ok()?;
        rules["strategy"] = self.manner.mind.name().into();
        Some(rules)
    }

    async fn health(&self) -> Map<String, Value> {
        let seen = self.desk.look(|player| {
            json!({
                "player_id": player.player_id(),
                "league_id": player.league_id(),
                "state": format!("{:?}", player.phase()).to_ascii_uppercase(),
                "problem": player.rejection(),
                "matches": player.memory().statistics().total_matches,
            })
        });
        let mut health = match seen.await {
            Ok(Value::Object(health)) => health,
            _ => Map::new(),
        };
        health.insert("strategy".into(), self.manner.mind.name().into());
        health
    }
}

impl Competitor {
    async fn ask(&self, command: Command, told: Option<Told>) -> ServiceReply {
        let ruling = match self.put(command).await {
            Ok(Ok(Reply::Think(think))) => match self.think(think, told.clone()).await {
                Ok(ruling) => ruling,
                Err(spoken) => return spoken,
            },
            Ok(ruling) => ruling,
            Err(error) => return unattended(error),
        };
        let mut reply = match ruling {
            Ok(reply) => reply,
            Err(refusal) => return ServiceReply::error(refusal.to_league_error()),
        };
        self.pass_on(told, &mut reply).await;
        match reply {
            Reply::State(view) => ServiceReply::Plain(shown(&view)),
            reply @ (Reply::Joined(_) | Reply::Move { .. }) => {
                let message = reply.into_message().unwrap_or(Message::Acknowledged);
                ServiceReply::Proven(Box::new(message))
            }
            _ => ServiceReply::Message(Box::new(Message::Acknowledged)),
        }
    }

    /// Brings a command to the desk, and again when its match has been announced: the manager's
    /// announcement and the referee's call come by different roads, and either may be first.
    async fn put(&self, command: Command) -> Result<Ruling<Player>, Unattended> {
        let mut announcements = self.announcements.clone();
        let announced = async {
            loop {
                announcements.mark_unchanged();
                let ruling = self.desk.ask(command.clone()).await;
                let early = matches!(ruling, Ok(Err(Refusal::NotAnnounced { .. })));
                if !early || announcements.changed().await.is_err() {
                    return ruling;
                }
            }
        };
        match tokio::time::timeout(self.patience, announced).await {
            Ok(ruling) => ruling,
            Err(_) => self.desk.ask(command).await,
        }
    }

    /// Chooses away from the desk, and comes back with the choice or, too late, without one.
    async fn think(
        &self,
        think: Box<Think>,
        told: Option<Told>,
    ) -> Result<Ruling<Player>, ServiceReply> {
        let memory = self.desk.look(|player| {
            let history = player.memory().history();
            history.cloned().collect::<Vec<_>>()
        });
        let memory = memory.await.map_err(unattended)?;
        let purpose = format!("{}:{}:{}", self.purpose, think.match_id, think.turn);
        let nonce = hex(&self.chance.bytes_for(&format!("nonce:{purpose}")));
        let thinking = Thinking {
            memory,
            dice: self.chance.dice_for(&purpose),
            nonce: nonce[..NONCE_LENGTH].to_owned(),
            told,
        };
        let until = think.until.since(clock::now());
        tokio::time::sleep(self.manner.pace.min(until / 2)).await;
        let chosen = self.manner.mind.choose(*think, thinking).await;
        let chosen = chosen.map_err(|error| {
            tracing::warn!(
                agent_id = %self.identity.log_name(),
                event_type = "BOT_FAILED",
                "{}",
                error.detail
            );
            ServiceReply::error(error)
        })?;
        self.desk.ask(chosen).await.map_err(unattended)
    }

    /// Has a bot hear what its player heard; to an invitation it may say no.
    async fn pass_on(&self, told: Option<Told>, reply: &mut Reply) {
        let (Some(bot), Some(told)) = (self.manner.mind.bot(), told) else {
            return;
        };
        match reply {
            Reply::Joined(ack) if ack.accept => {
                ack.accept = bot.comes(&told.message, &told.from, self.patience).await;
            }
            Reply::Acknowledged => bot.tell(told.message, told.from),
            _ => {}
        }
    }
}

/// A player as `get_player_state` shows it.
fn shown(view: &PlayerView) -> Value {
    let history: Vec<&league_core::player::MatchRecord> =
        view.history.iter().map(Arc::as_ref).collect();
    json!({
        "player_id": view.player_id,
        "display_name": view.display_name,
        "league_id": view.league_id,
        "state": format!("{:?}", view.phase).to_ascii_uppercase(),
        "stats": view.statistics,
        "standing": view.standing,
        "open_matches": view.open_matches,
        "history": history,
        "disputed_draws": view.disputed,
    })
}
