//! What a bot says on standard error, kept for its owner.

use std::io;
use std::path::{Path, PathBuf};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};

/// The most bytes of complaints that are kept of one life of a bot.
const MOST_COMPLAINTS: u64 = 1024 * 1024;

/// Keeps what a bot complains of in a file that only its owner reads, as it may tell its plans;
/// the rest is swallowed, so that the bot never waits for us.
pub(super) async fn keep(path: PathBuf, mut complaints: impl AsyncRead + Send + Unpin) {
    let mut file = match private(&path).await {
        Ok(file) => Some(file),
        Err(error) => {
            tracing::warn!(
                event_type = "BOT_UNHEARD",
                "could not open `{}`: {error}",
                path.display()
            );
            None
        }
    };
    let (mut kept, mut chunk) = (0, vec![0; 8 * 1024]);
    while let Ok(length @ 1..) = complaints.read(&mut chunk).await {
        let Some(open) = file.as_mut().filter(|_| kept < MOST_COMPLAINTS) else {
            continue;
        };
        kept += length as u64;
        let written = async {
            open.write_all(&chunk[..length]).await?;
            open.flush().await
        };
        if written.await.is_err() {
            file = None;
        }
    }
}

async fn private(path: &Path) -> io::Result<tokio::fs::File> {
    if let Some(folder) = path.parent() {
        tokio::fs::create_dir_all(folder).await?;
    }
    let mut options = tokio::fs::OpenOptions::new();
    options.create(true).append(true).mode(0o600);
    options.open(path).await
}
