//! The servers that are judged: the fixture, and one real agent of each kind.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use anyhow::{Context, bail};

use crate::places::root;

/// How long a server may take to say where it answers.
const SLOWEST_START: Duration = Duration::from_secs(60);

/// A server at work; it is killed when it is dropped.
pub(super) struct Server {
    pub(super) name: &'static str,
    pub(super) url: String,
    /// A tool that anybody may call without arguments; none for the fixture.
    pub(super) public_tool: Option<&'static str>,
    child: Child,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// All of them, on a root of their own.
pub(super) struct Servers {
    servers: Vec<Server>,
    folder: PathBuf,
}

impl Drop for Servers {
    fn drop(&mut self) {
        self.servers.clear();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Servers {
    /// Builds and starts them, each on a free port.
    pub(super) fn start(target: &Path) -> anyhow::Result<Self> {
        build()?;
        let folder = target.join(format!("interop/root-{}", std::process::id()));
        fs::create_dir_all(&folder).with_context(|| format!("could not make {folder:?}"))?;
        let mut started = Self {
            servers: Vec::new(),
            folder: folder.clone(),
        };
        let league = target.join("debug/league");
        let fixture = target.join("debug/examples/conformance-fixture");
        started.add("fixture", None, &mut Command::new(fixture))?;
        let mut agent = |kind: &'static str, tool, manager: Option<&str>| {
            let mut command = Command::new(&league);
            command.args([kind, "--port", "0", "--root"]).arg(&folder);
            if let Some(manager) = manager {
                command.args(["--manager", manager]);
            }
            started.add(kind, Some(tool), &mut command)
        };
        let manager = agent("manager", "get_standings", None)?;
        agent("referee", "register_to_league", Some(&manager))?;
        agent("player", "get_player_state", Some(&manager))?;
        Ok(started)
    }

    /// All of them.
    pub(super) fn all(&self) -> &[Server] {
        &self.servers
    }

    /// Those that are agents.
    pub(super) fn agents(&self) -> impl Iterator<Item = &Server> {
        self.servers
            .iter()
            .filter(|server| server.public_tool.is_some())
    }

    fn add(
        &mut self,
        name: &'static str,
        public_tool: Option<&'static str>,
        command: &mut Command,
    ) -> anyhow::Result<String> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("could not start {command:?}"))?;
        let url = child
            .stdout
            .take()
            .and_then(|output| found(BufReader::new(output)));
        let mut server = Server {
            name,
            url: String::new(),
            public_tool,
            child,
        };
        let Some(url) = url else {
            bail!("`{name}` did not say where it answers");
        };
        server.url.clone_from(&url);
        self.servers.push(server);
        Ok(url)
    }
}

/// The first address in the output; the rest is read and let go, so that nobody waits to write it.
fn found(output: impl BufRead + Send + 'static) -> Option<String> {
    let (tell, told) = channel();
    thread::spawn(move || {
        for line in output.lines().map_while(Result::ok) {
            let words = line.split_whitespace();
            let urls = words.filter(|word| word.starts_with("http://"));
            for url in urls {
                // The suite judges loopback by its number.
                let _ = tell.send(url.replace("//localhost:", "//127.0.0.1:"));
            }
        }
    });
    told.recv_timeout(SLOWEST_START).ok()
}

fn build() -> anyhow::Result<()> {
    let arguments = ["build", "--quiet", "--package", "league", "--bin", "league"];
    let status = Command::new("cargo")
        .args(arguments)
        .args(["--example", "conformance-fixture"])
        .current_dir(root())
        .stdin(Stdio::null())
        .status()
        .context("could not start `cargo build`")?;
    if !status.success() {
        bail!("the servers could not be built");
    }
    Ok(())
}
