//! What decides for a player: a strategy of ours, or a bot.

use std::sync::Arc;
use std::time::Duration;

use league_core::player::{Command, MatchRecord, Think};
use league_games::Dice;
use league_protocol::fault::Code;
use league_protocol::finding::excerpt;
use league_protocol::message::{LeagueError, Message};
use league_protocol::sender::Agent;

use crate::agents::bot::Bot;
use crate::agents::strategy::Strategy;
use crate::clock;

/// How a player plays, besides what its machine is told.
#[derive(Debug, Clone)]
pub(crate) struct Manner {
    /// What decides.
    pub(crate) mind: Mind,
    /// How long it pretends to think, so that people can watch.
    pub(crate) pace: Duration,
}

/// What decides for a player.
#[derive(Debug, Clone)]
pub(crate) enum Mind {
    /// One of ours.
    Strategy(&'static dyn Strategy),
    /// A program of somebody else's.
    Bot(Arc<Bot>),
}

/// What somebody told the player, word for word, for a bot to hear it too.
#[derive(Debug, Clone)]
pub(super) struct Told {
    pub(super) message: Message,
    pub(super) from: Agent,
}

/// What it takes to think, besides the question.
pub(super) struct Thinking {
    pub(super) memory: Vec<Arc<MatchRecord>>,
    pub(super) dice: Dice,
    /// The player's own share in the draw, unless a bot brings one.
    pub(super) nonce: String,
    pub(super) told: Option<Told>,
}

impl Mind {
    /// A word for people.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Strategy(strategy) => strategy.name(),
            Self::Bot(_) => "bot",
        }
    }

    /// The bot, if it is one.
    pub(super) fn bot(&self) -> Option<&Arc<Bot>> {
        match self {
            Self::Strategy(_) => None,
            Self::Bot(bot) => Some(bot),
        }
    }

    /// Chooses, or says why a bot did not; a strategy that is too late leaves it open.
    pub(super) async fn choose(
        &self,
        think: Think,
        thinking: Thinking,
    ) -> Result<Command, LeagueError> {
        match self {
            Self::Strategy(strategy) => Ok(by_strategy(*strategy, think, thinking).await),
            Self::Bot(bot) => by_bot(bot, think, thinking).await,
        }
    }
}

async fn by_strategy(strategy: &'static dyn Strategy, think: Think, thinking: Thinking) -> Command {
    let Thinking {
        memory,
        mut dice,
        nonce,
        ..
    } = thinking;
    let (match_id, turn) = (think.match_id.clone(), think.turn);
    let until = think.until.since(clock::now());
    let name = strategy.name();
    let choosing = tokio::task::spawn_blocking(move || strategy.choose(&think, &memory, &mut dice));
    let chosen = tokio::time::timeout(until, choosing).await;
    Command::Chosen {
        match_id,
        turn,
        choice: chosen.ok().and_then(Result::ok),
        nonce: Some(nonce),
        reasoning: Some(format!("chosen by the strategy `{name}`")),
    }
}

/// What a bot does not answer, or answers against the rules, is not mended for it: the referee
/// counts it as it would count it from any agent.
async fn by_bot(bot: &Arc<Bot>, think: Think, thinking: Thinking) -> Result<Command, LeagueError> {
    let Some(Told { message, from }) = thinking.told else {
        let detail = "the bot cannot be asked what nobody said";
        return Err(LeagueError::new(Code::InvalidMessage, detail));
    };
    let until = think.until.since(clock::now());
    let response = bot.choose(&message, &from, until).await?;
    if !think.options.contains(&response.choice) {
        let found = excerpt(&response.choice.to_string());
        let detail = format!("the bot chose {found}, which is not among the legal moves");
        return Err(LeagueError::new(Code::InvalidMove, detail));
    }
    Ok(Command::Chosen {
        match_id: think.match_id,
        turn: think.turn,
        choice: Some(response.choice),
        nonce: response.nonce.or(Some(thinking.nonce)),
        reasoning: response.reasoning,
    })
}
