//! The steps of `cargo xtask test`, as data: add a row and it is run, listed and timed.
//!
//! Running them is left to `test` and `run`.

use crate::run::Invocation;
use crate::tally::{self, Tally};

/// One thing that must hold.
pub(crate) struct Step {
    /// What `--only` calls it.
    pub(crate) name: &'static str,
    /// What holds if it passes.
    pub(crate) promise: &'static str,
    pub(crate) invocation: Invocation,
    pub(crate) needs: &'static [Need],
    /// Counts the tests in a line of the output; absent if the step runs none.
    pub(crate) count: Option<fn(&str) -> Option<Tally>>,
}

/// A tool that a step cannot do without.
pub(crate) struct Need {
    pub(crate) tool: &'static str,
    /// Succeeds if the tool is here.
    pub(crate) probe: Invocation,
    /// How to get the tool.
    pub(crate) remedy: &'static str,
}

/// The steps in the order in which they run: what fails soonest comes first.
pub(crate) const STEPS: &[Step] = &[
    Step {
        name: "format",
        promise: "every file is formatted",
        invocation: Invocation::new("cargo", &["fmt", "--all", "--check"]),
        needs: &[RUSTFMT],
        count: None,
    },
    Step {
        name: "clippy",
        promise: "no lint has anything to say",
        invocation: Invocation::new(
            "cargo",
            &[
                "clippy",
                "--workspace",
                "--all-targets",
                "--",
                "-D",
                "warnings",
            ],
        ),
        needs: &[CLIPPY],
        count: None,
    },
    Step {
        name: "clippy-interop",
        promise: "nor of the tests that `cargo test` leaves out",
        invocation: Invocation::new(
            "cargo",
            &[
                "clippy",
                "--package",
                "league",
                "--test",
                "interop",
                "--",
                "-D",
                "warnings",
            ],
        ),
        needs: &[CLIPPY],
        count: None,
    },
    Step {
        name: "rust",
        promise: "every Rust test passes, examples in the documentation too",
        invocation: Invocation::new("cargo", &["test", "--workspace", "--no-fail-fast"]),
        needs: &[],
        count: Some(tally::from_cargo_test),
    },
    Step {
        name: "conformance",
        promise: "the official judges of MCP accept our servers in both revisions",
        invocation: Invocation::new("cargo", &["xtask", "conformance"]),
        needs: &[NPM],
        count: Some(tally::from_cargo_test),
    },
    Step {
        name: "interop",
        promise: "players of other people's libraries play whole leagues",
        invocation: Invocation::new("cargo", &["xtask", "interop"]),
        needs: &[PYTHON],
        count: Some(tally::from_cargo_test),
    },
    Step {
        name: "browser",
        promise: "people can watch a league in a real browser",
        invocation: Invocation::new("cargo", &["xtask", "browser"]),
        needs: &[NPM, NODE],
        count: Some(tally::from_node_test),
    },
    Step {
        name: "doc",
        promise: "the documentation builds without a warning",
        invocation: Invocation::new("cargo", &["doc", "--workspace", "--no-deps"])
            .with(&[("RUSTDOCFLAGS", "-D warnings")]),
        needs: &[],
        count: None,
    },
];

const RUSTFMT: Need = Need {
    tool: "rustfmt",
    probe: Invocation::new("cargo", &["fmt", "--version"]),
    remedy: "rustup component add rustfmt",
};

const NPM: Need = Need {
    tool: "npm",
    probe: Invocation::new("npm", &["--version"]),
    remedy: "apt-get install npm",
};

const NODE: Need = Need {
    tool: "Node.js 20 or newer",
    probe: Invocation::new(
        "node",
        &[
            "-e",
            "process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)",
        ],
    ),
    remedy: "apt-get install nodejs, or see https://nodejs.org",
};

const PYTHON: Need = Need {
    tool: "Python 3.11 or newer with `venv`",
    probe: Invocation::new("python3", &["-c", "import venv, ensurepip"]),
    remedy: "apt install python3 python3-venv",
};

const CLIPPY: Need = Need {
    tool: "clippy",
    probe: Invocation::new("cargo", &["clippy", "--version"]),
    remedy: "rustup component add clippy",
};
