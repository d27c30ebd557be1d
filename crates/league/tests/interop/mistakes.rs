//! Kits whose author made a mistake in `choose`: it is shown, and the match is played all the same.

use std::fs::File;
use std::process::Command;

use serde_json::json;

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

#[test]
fn mistake_in_choose_is_shown_and_replaced_by_a_random_move() {
    for (lang, opening, mistake) in MISTAKES {
        let ground = Ground::new();
        let file = ground.path("kit.mjs");
        let place = file.to_str().unwrap();
        let written = league(["new", "player", "--lang", lang, "--output", place]);
        assert_eq!(written.code, Some(0), "{written:?}");
        let kit = std::fs::read_to_string(&file).unwrap();
        assert!(kit.contains(opening), "{lang}");
        std::fs::write(&file, kit.replace(opening, &format!("{opening}{mistake}"))).unwrap();
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
        let _kit = Python::telling(command, File::create(&errors).unwrap().into());
        let open = || std::net::TcpStream::connect(("127.0.0.1", port)).ok();
        eventually(open).unwrap();
        let call = json!({"match_id": "R1M1", "message_type": "CHOOSE_PARITY_CALL"});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "choose_parity", "params": call});
        let endpoint = format!("http://localhost:{port}/mcp");
        let answer = request(&endpoint, "POST", "/mcp", call.to_string().as_bytes());
        let choice = &answer.json()["result"]["parity_choice"];
        assert!(choice == "even" || choice == "odd", "{lang}: {answer:?}");
        let shown = || {
            let shown = std::fs::read_to_string(&errors).unwrap();
            shown.contains("a slip of mine").then_some(())
        };
        eventually(shown).expect(lang);
    }
}
