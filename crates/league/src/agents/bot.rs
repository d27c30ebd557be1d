//! A bot: a program that plays over its standard input and output.
//!
//! One of our players represents the bot in the league: it registers, authenticates itself, keeps
//! the journal, and forwards every message to the bot without the tokens. The bot's answer to a
//! referee is the player's answer. A bot uses MCP or plain JSON-RPC, one message per line; its call
//! style is detected as for any peer.

mod codec;
pub(crate) mod launch;
pub(crate) mod stderr;
mod stdio;

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use stderr::{StderrReader, shown};
use stdio::{Pipes, wakes};

pub(crate) use codec::legal_moves;
use codec::{understood, without_move, without_token, written};
use launch::{BotProcess, Launch, LaunchError};
use league_protocol::fault::Code;
use league_protocol::finding::harmless;
use league_protocol::message::{LeagueError, Message, MoveResponse};
use league_protocol::peer::PeerProfile;
use league_protocol::sender::{Agent, CallStyle};
use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::agents::identity::Identity;
use crate::http::client::CallError;
use crate::wire::sessions::PeerSession;

/// Tells the allocator of `league keep` not to claim memory in advance, which would count towards the
/// limit of the bot.
pub(crate) const LAZY_MEMORY: &str = "MIMALLOC_ARENA_EAGER_COMMIT";
/// The most notifications waiting for a bot; further notifications are dropped.
const MAX_QUEUED_NEWS: usize = 256;
const NEWS_TIMEOUT: Duration = Duration::from_secs(10);
/// How the line begins in which `league keep` tells that the bot has ended.
pub(crate) const ENDED: &str = "the bot has ended: ";
const MAX_EXIT_CHARS: usize = 80;

pub(crate) struct Bot {
    launch: Launch,
    /// The name of its player in logs, until the player has an id.
    name: String,
    identity: OnceLock<Arc<Identity>>,
    /// Its call style, if the user specified it.
    speech: Option<CallStyle>,
    stage: Mutex<BotState>,
    started: AtomicU32,
    /// The standard error of its latest process.
    stderr: Mutex<Option<StderrReader>>,
    /// How its latest process ended, as `league keep` says it.
    exit: Mutex<Option<String>>,
    absence: BotAbsence,
    news: mpsc::Sender<(Message, Agent)>,
}

/// Why the bot was not there when a move was wanted of it; empty again after its next move.
pub(crate) type BotAbsence = Arc<Mutex<Option<String>>>;

/// A bot that could not be started.
#[derive(Debug)]
pub(crate) struct BotStartError {
    pub(crate) error: Arc<LaunchError>,
    /// The last lines of its standard error, for its owner.
    pub(crate) last_lines: Vec<String>,
    /// What to do about environment variables that it did not get.
    pub(crate) missing: Option<String>,
}

enum BotState {
    /// Not started yet, or ended.
    Absent,
    /// Starting; all callers wait for the same start.
    Starting(watch::Receiver<Start>, AbortHandle),
    /// Running when last checked.
    Here(Arc<BotSession>),
    Ended,
}

/// The outcome of a start, once it is known.
type Start = Option<Result<Arc<BotSession>, Arc<LaunchError>>>;

/// One process of the bot, and the session with it.
struct BotSession {
    process: tokio::sync::Mutex<BotProcess>,
    link: PeerSession<Pipes>,
    found: Arc<PeerProfile>,
}

impl fmt::Debug for Bot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bot")
            .field("launch", &self.launch)
            .finish_non_exhaustive()
    }
}

impl Bot {
    /// Starts a bot and waits until its call style is known.
    ///
    /// # Errors
    ///
    /// The bot cannot be started, or does not answer.
    pub(crate) async fn start(
        launch: Launch,
        name: String,
        speech: Option<CallStyle>,
    ) -> Result<Arc<Self>, BotStartError> {
        let (news, waiting) = mpsc::channel(MAX_QUEUED_NEWS);
        let bot = Arc::new(Self {
            launch,
            name,
            identity: OnceLock::new(),
            speech,
            stage: Mutex::new(BotState::Absent),
            started: AtomicU32::new(0),
            stderr: Mutex::new(None),
            exit: Mutex::new(None),
            absence: BotAbsence::default(),
            news,
        });
        if let Err(error) = bot.present().await {
            let last_lines = bot.last_lines().await.unwrap_or_default();
            let missing = bot.launch.missing_variables(&last_lines);
            return Err(BotStartError {
                error,
                last_lines,
                missing,
            });
        }
        tokio::spawn(tell_all(Arc::downgrade(&bot), waiting));
        Ok(bot)
    }

    /// Sets the player that it plays for.
    pub(crate) fn plays_for(&self, identity: &Arc<Identity>) {
        // A bot plays for only one player.
        let _ = self.identity.set(Arc::clone(identity));
    }

    /// Where it is noted if the bot is not there.
    pub(crate) fn absence(&self) -> BotAbsence {
        Arc::clone(&self.absence)
    }

    /// Asks the bot for a move.
    ///
    /// # Errors
    ///
    /// The error for the referee if the bot makes no move.
    pub(crate) async fn choose(
        self: &Arc<Self>,
        message: &Message,
        from: &Agent,
        timeout: Duration,
    ) -> Result<MoveResponse, LeagueError> {
        let answer = self.ask(message, from, timeout).await;
        let is_absent = matches!(&answer, Err(error) if error.code == Code::Connection);
        *lock(&self.absence) = is_absent.then(|| match &*lock(&self.exit) {
            Some(exit) => format!("the bot has ended ({exit})"),
            None => "the bot has ended".to_owned(),
        });
        match answer {
            Ok(Message::MoveResponse(response)) => Ok(Arc::unwrap_or_clone(response)),
            Ok(Message::LeagueError(error)) => Err(*error),
            Err(error) if error.code != Code::MissingField => Err(error),
            Ok(_) | Err(_) => Err(without_move(message)),
        }
    }

    /// Asks the bot whether it joins a match; the bot joins unless it declines in time.
    pub(crate) async fn comes(
        self: &Arc<Self>,
        message: &Message,
        from: &Agent,
        timeout: Duration,
    ) -> bool {
        match self.ask(message, from, timeout).await {
            Ok(Message::GameJoinAck(ack)) => ack.accept,
            Ok(_) | Err(_) => true,
        }
    }

    /// Queues a notification for the bot, in order, without waiting for its answer.
    pub(crate) fn tell(&self, message: Message, from: Agent) {
        if self.news.try_send((without_token(message), from)).is_err() {
            tracing::warn!(
                agent_id = %self.agent(),
                event_type = "BOT_BEHIND",
                "the bot is too far behind; a notification was dropped"
            );
        }
    }

    /// Ends the bot and all processes that it has started, even while it is starting.
    pub(crate) async fn end(&self) {
        let stage = std::mem::replace(&mut *self.stage(), BotState::Ended);
        match stage {
            BotState::Here(present) => present.process.lock().await.end().await,
            // Aborting the start drops the process, which ends it.
            BotState::Starting(_, start) => start.abort(),
            BotState::Absent | BotState::Ended => {}
        }
    }

    async fn ask(
        self: &Arc<Self>,
        message: &Message,
        from: &Agent,
        timeout: Duration,
    ) -> Result<Message, LeagueError> {
        let until = Instant::now() + timeout;
        let late = |_| LeagueError::new(Code::Timeout, "the bot: it is still starting");
        let present = tokio::time::timeout(timeout, self.present());
        let present = present
            .await
            .map_err(late)?
            .map_err(|error| LeagueError::new(Code::Connection, format!("the bot: {error}")))?;
        let write = |found: &PeerProfile, id: u64| written(message, from, found, id);
        let (found, rest) = (Arc::clone(&present.found), until - Instant::now());
        match present.link.call(found, rest, write).await {
            Ok(Some(called)) => understood(message, &called.answer, called.id, &called.profile),
            // Without a tool for the message, the bot does not need it.
            Ok(None) => Ok(Message::Acknowledged),
            Err(error) => Err(unreached(&error)),
        }
    }

    /// The running bot; an ended process is restarted as often as allowed.
    ///
    /// The start continues even if its caller is gone.
    async fn present(self: &Arc<Self>) -> Result<Arc<BotSession>, Arc<LaunchError>> {
        let mut start = {
            let mut stage = self.stage();
            match &*stage {
                BotState::Here(present) if !present.link.carrier().is_closed() => {
                    return Ok(Arc::clone(present));
                }
                BotState::Starting(start, _) => start.clone(),
                BotState::Ended => return Err(Arc::new(LaunchError::Silent)),
                BotState::Absent | BotState::Here(_) => {
                    let (tell, start) = watch::channel(None);
                    let last = std::mem::replace(&mut *stage, BotState::Absent);
                    let task = tokio::spawn(Arc::clone(self).start_over(last, tell));
                    *stage = BotState::Starting(start.clone(), task.abort_handle());
                    start
                }
            }
        };
        match start.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(started)) => started.clone(),
            Ok(None) | Err(_) => Err(Arc::new(LaunchError::Silent)),
        }
    }

    async fn start_over(self: Arc<Self>, last: BotState, tell: watch::Sender<Start>) {
        if let BotState::Here(last) = last {
            last.process.lock().await.end().await;
        }
        let started = self.launch_again().await.map_err(Arc::new);
        let mut stage = self.stage();
        if !matches!(*stage, BotState::Ended) {
            *stage = match &started {
                Ok(present) => BotState::Here(Arc::clone(present)),
                Err(_) => BotState::Absent,
            };
        }
        drop(stage);
        tell.send_replace(Some(started));
    }

    async fn launch_again(&self) -> Result<Arc<BotSession>, LaunchError> {
        let restarts = self.launch.limits.restarts;
        let before = self.started.fetch_add(1, Ordering::Relaxed);
        let last_lines = self.last_lines().await;
        if before > restarts {
            self.started.store(before, Ordering::Relaxed);
            self.tell_end(last_lines.as_deref(), "it is given up");
            return Err(LaunchError::TooOften(restarts));
        }
        if before > 0 {
            let again = format!("it is started again ({before} of {restarts})");
            self.tell_end(last_lines.as_deref(), &again);
        }
        let mut started = self.launch.start()?;
        let file = self.launch.stderr.clone();
        *self.stderr() = Some(StderrReader::begin(file, started.stderr));
        let limits = &self.launch.limits;
        let pipes = Pipes::open(started.input, started.output, limits.line);
        if !wakes(&pipes, limits.start, &self.agent()).await {
            started.process.end().await;
            return Err(LaunchError::Silent);
        }
        let link = PeerSession::new(pipes);
        let found = match self.speech {
            Some(CallStyle::Simple) => Arc::new(PeerProfile::PLAIN),
            _ => link.profile().await,
        };
        Ok(Arc::new(BotSession {
            process: tokio::sync::Mutex::new(started.process),
            link,
            found,
        }))
    }

    /// The last lines of its latest process, which has ended; `None` if they were already reported.
    async fn last_lines(&self) -> Option<Vec<String>> {
        let stderr = self.stderr().take()?;
        Some(stderr.last_lines().await)
    }

    /// Logs that its process has ended, and what follows.
    fn tell_end(&self, last_lines: Option<&[String]>, follows: &str) {
        let Some(words) = last_lines else { return };
        let exit = words.iter().rev();
        *lock(&self.exit) = exit
            .filter_map(|line| line.strip_prefix(ENDED))
            .map(|exit| harmless(exit, MAX_EXIT_CHARS))
            .next();
        let missing = self.launch.missing_variables(words);
        let missing = missing.map_or_else(String::new, |hint| format!("; {hint}"));
        tracing::warn!(
            agent_id = %self.agent(),
            event_type = "BOT_ENDED",
            aside = shown(words),
            "the bot has ended: {follows}; its standard error is kept in `logs/bots`{missing}"
        );
    }

    fn stderr(&self) -> std::sync::MutexGuard<'_, Option<StderrReader>> {
        lock(&self.stderr)
    }

    fn agent(&self) -> String {
        let known = self.identity.get().map(|identity| identity.log_name());
        known.map_or_else(|| self.name.clone(), |name| name.to_string())
    }

    fn stage(&self) -> std::sync::MutexGuard<'_, BotState> {
        lock(&self.stage)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn unreached(error: &CallError) -> LeagueError {
    let code = match error {
        CallError::Timeout(_) => Code::Timeout,
        CallError::TooLarge => Code::InvalidMessage,
        _ => Code::Connection,
    };
    LeagueError::new(code, format!("the bot: {error}"))
}

/// Sends the queued notifications in order, as long as the bot is in use.
async fn tell_all(bot: std::sync::Weak<Bot>, mut news: mpsc::Receiver<(Message, Agent)>) {
    while let Some((message, from)) = news.recv().await {
        let Some(bot) = bot.upgrade() else { return };
        if let Err(error) = bot.ask(&message, &from, NEWS_TIMEOUT).await {
            tracing::info!(
                agent_id = %bot.agent(),
                event_type = "BOT_NOT_TOLD",
                message_type = message.v2_type(),
                "{}", error.detail
            );
        }
    }
}
