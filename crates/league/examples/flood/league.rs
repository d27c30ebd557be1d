//! A league in a process of its own, what it says, and what it has spent.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

/// How long a league may take to say the next thing that is waited for.
const LEAGUE_TIMEOUT: Duration = Duration::from_secs(300);
/// In what the system counts the time of processes.
const TICK: Duration = Duration::from_millis(10);

/// A league at work; it is killed when it is dropped.
pub(crate) struct League {
    /// Host and port of its page.
    pub(crate) authority: String,
    /// How many matches it has.
    pub(crate) matches: u64,
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

/// Where the program is: cargo builds examples in a folder beside the programs.
///
/// # Errors
///
/// Nobody may know where we are.
pub(crate) fn program() -> io::Result<PathBuf> {
    let ourselves = std::env::current_exe()?;
    let folder = ourselves.ancestors().nth(2).map(Path::to_owned);
    Ok(folder.unwrap_or_default().join("league"))
}

impl League {
    /// Starts one below a root, and waits until it says where its page is.
    ///
    /// # Errors
    ///
    /// The program may be missing, or keep silent.
    pub(crate) async fn start(program: &Path, root: &Path, arguments: &[&str]) -> io::Result<Self> {
        let mut child = Command::new(program)
            .args(["run", "--ports", "auto", "--web", "--output", "json"])
            .args(arguments)
            .arg("--root")
            .arg(root)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let output = child.stdout.take();
        let output = output.ok_or_else(|| io::Error::other("a league without output"))?;
        let mut league = Self {
            authority: String::new(),
            matches: 0,
            child,
            lines: BufReader::new(output).lines(),
        };
        let opening = league.hear(|event| event["event"] == "league").await?;
        let page = opening["page"].as_str().unwrap_or_default();
        let authority = page.trim_start_matches("http://").trim_end_matches('/');
        authority.clone_into(&mut league.authority);
        league.matches = opening["matches"].as_u64().unwrap_or_default();
        Ok(league)
    }

    /// Waits for an event that passes.
    ///
    /// # Errors
    ///
    /// It may end before, or not come in time.
    pub(crate) async fn hear(&mut self, wanted: impl Fn(&Value) -> bool) -> io::Result<Value> {
        let hearing = async {
            while let Some(line) = self.lines.next_line().await? {
                let event: Value = serde_json::from_str(&line).unwrap_or_default();
                if wanted(&event) {
                    return Ok(event);
                }
            }
            Err(io::Error::other("the league ended too early"))
        };
        let late = |_| io::Error::other("the league kept silent for too long");
        tokio::time::timeout(LEAGUE_TIMEOUT, hearing)
            .await
            .map_err(late)?
    }

    /// The processor time that it has spent so far, its own and the system's for it.
    ///
    /// # Errors
    ///
    /// Where the system keeps no `/proc`, nobody knows.
    pub(crate) fn spent(&self) -> io::Result<Duration> {
        let pid = self.child.id().unwrap_or_default();
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
        let unread = || io::Error::other("the system says not what the league has spent");
        // The name of the program comes first, in parentheses, and may hold anything.
        let (_, figures) = stat.rsplit_once(')').ok_or_else(unread)?;
        let ticks = figures.split_whitespace().skip(11).take(2);
        let ticks: Vec<u32> = ticks.filter_map(|count| count.parse().ok()).collect();
        match ticks[..] {
            [own, system] => Ok(TICK * (own + system)),
            _ => Err(unread()),
        }
    }

    /// Interrupts it, as Ctrl-C does, and waits until it has ended.
    ///
    /// # Errors
    ///
    /// It may not end.
    pub(crate) async fn end(mut self) -> io::Result<()> {
        let pid = self
            .child
            .id()
            .and_then(|pid| Pid::from_raw(pid.cast_signed()));
        if let Some(pid) = pid {
            kill_process(pid, Signal::INT)?;
        }
        let ending = async {
            // It may have more to say, and waits until that is heard.
            while self.lines.next_line().await?.is_some() {}
            self.child.wait().await.map(drop)
        };
        let late = |_| io::Error::other("the league did not end");
        tokio::time::timeout(LEAGUE_TIMEOUT, ending)
            .await
            .map_err(late)?
    }
}
