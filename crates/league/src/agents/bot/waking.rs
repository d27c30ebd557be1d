//! Waits for the first line of a bot.

use std::time::Duration;

use super::pipes::Pipes;

/// How long a bot may say nothing before its owner is told; most are there at once.
const QUIET: Duration = Duration::from_secs(5);

/// Wakes a bot, and tells whether it answered in time. One that is silent for long is told of
/// once: whoever sits before it sees nothing else.
pub(super) async fn wakes(pipes: &Pipes, patience: Duration, agent: &str) -> bool {
    let waking = pipes.wake(patience);
    tokio::pin!(waking);
    if let Ok(woken) = tokio::time::timeout(QUIET, &mut waking).await {
        return woken;
    }
    tracing::warn!(
        agent_id = agent,
        event_type = "BOT_SILENT",
        "the bot has said nothing for {} s; usually it does not flush its output \
         (in Python: `print(…, flush=True)`); its first line is waited for up to {} s",
        QUIET.as_secs(),
        patience.as_secs()
    );
    waking.await
}
