//! Kits whose author made a mistake in `choose`: it is shown, and the match is played all the same.

use std::fs::File;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::end_to_end::ground::Ground;
use crate::end_to_end::http::request;
use crate::end_to_end::process::{eventually, free_port, league};
use crate::python::{Python, interpreter};

/// A language, the line that opens `choose`, and a mistake to put below it.
const MISTAKES: [(&str, &str, &str); 4] = [
    (
        "python",
        "def choose(opponent, history):\n",
        "    raise RuntimeError('a slip of mine')\n",
    ),
    (
        "python",
        "def choose(opponent, history):\n",
        "    return 'a slip of mine'\n",
    ),
    (
        "python-fastmcp",
        "def choose(opponent, history):\n",
        "    raise RuntimeError('a slip of mine')\n",
    ),
    (
        "javascript",
        "function choose(opponent, history) {\n",
        "  throw new Error('a slip of mine');\n",
    ),
];

/// A kit with lines of its author in `choose`, whose manager does not answer.
pub(crate) struct EditedKit {
    pub(crate) program: Python,
    pub(crate) endpoint: String,
    errors: PathBuf,
}

impl EditedKit {
    /// Writes a kit, puts lines below the one that opens `choose`, and starts it.
    pub(crate) fn start(ground: &Ground, lang: &str, opening: &str, lines: &str) -> Self {
        let file = ground.path("kit.mjs");
        let place = file.to_str().unwrap();
        let written = league(["new", "player", "--lang", lang, "-o", place]);
        assert_eq!(written.code, Some(0), "{written:?}");
        let kit = std::fs::read_to_string(&file).unwrap();
        assert!(kit.contains(opening), "{lang}");
        std::fs::write(&file, kit.replace(opening, &format!("{opening}{lines}"))).unwrap();
        let (port, errors) = (free_port(), ground.path("errors.txt"));
        let mut command = match lang {
            "javascript" => Command::new("node"),
            _ => Command::new(interpreter("fastmcp-4")),
        };
        command.arg(&file).args(["--port", &port.to_string()]);
        command.args([
            "--manager",
            &format!("http://localhost:{}/mcp", free_port()),
        ]);
        command.current_dir(ground.path(""));
        let program = Python::telling(command, File::create(&errors).unwrap().into());
        let open = || std::net::TcpStream::connect(("127.0.0.1", port)).ok();
        eventually(open).unwrap();
        Self {
            program,
            endpoint: format!("http://localhost:{port}/mcp"),
            errors,
        }
    }

    /// The result of a call.
    pub(crate) fn call(&self, tool: &str, message: &Value) -> Value {
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": tool, "params": message});
        let answer = request(&self.endpoint, "POST", "/mcp", call.to_string().as_bytes());
        answer.json()["result"].clone()
    }

    /// What it printed on standard error.
    pub(crate) fn errors(&self) -> String {
        std::fs::read_to_string(&self.errors).unwrap()
    }
}

#[test]
fn mistake_in_choose_is_shown_and_replaced_by_a_random_move() {
    for (lang, opening, mistake) in MISTAKES {
        let ground = Ground::new();
        let mut kit = EditedKit::start(&ground, lang, opening, mistake);
        let call = json!({"match_id": "R1M1", "message_type": "CHOOSE_PARITY_CALL"});
        let answer = kit.call("choose_parity", &call);
        let choice = &answer["parity_choice"];
        assert!(choice == "even" || choice == "odd", "{lang}: {answer:?}");
        kit.program.says("so the move is random");
        let shown = || kit.errors().contains("a slip of mine").then_some(());
        eventually(shown).expect(lang);
    }
}
