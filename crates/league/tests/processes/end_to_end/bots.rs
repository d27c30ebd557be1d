//! Bots: programs that play over their standard input and output, within limits.

use std::fs;
use std::path::PathBuf;

use rustix::process::{Pid, test_kill_process};
use serde_json::{Value, json};

use crate::end_to_end::ground::{Agent, Ground, LEAGUE};
use crate::end_to_end::process::{Process, eventually};

/// A bot in the shell: it answers each line, with `even` when it is asked for a move.
const EVEN: &str = r#"
while IFS= read -r line; do
  id=$(printf %s "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
  said='"error":{"code":-32601,"message":"no such method"}'
  case $line in
    *'"choose_parity"'*)
      said='"result":{"message_type":"CHOOSE_PARITY_RESPONSE","parity_choice":"MOVE"}'
      AFTER ;;
    *'"handle_game_invitation"'* | *'"notify_'* | *'"update_standings"'*) said='"result":{}' ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$said"
done
"#;

/// A league of a bot and one of our players, begun when both are there.
struct Table {
    ground: Ground,
    manager: Agent,
    script: PathBuf,
}

impl Table {
    fn new(script: &str) -> Self {
        Self::of("even_odd", script)
    }

    fn of(game: &str, script: &str) -> Self {
        let ground = Ground::hasty();
        let seats = ["--players", "2", "--referees", "1", "--exit-when-done"];
        let plays = ["--game", game, "--league-id", LEAGUE];
        let manager = ground.manager(&[&seats[..], &plays].concat());
        let path = ground.path("bot.sh");
        fs::write(&path, script).unwrap();
        Self {
            ground,
            manager,
            script: path,
        }
    }

    fn bot(&self, arguments: &[&str]) -> Agent {
        let command = format!("sh {} {}", self.script.display(), self.ground.root());
        let own = ["--exec", &command];
        let arguments = [&own, arguments].concat();
        self.ground.player(1, &self.manager.endpoint, &arguments)
    }

    /// Plays the league with this bot, and gives the result of its match.
    fn play(self) -> (Ground, Value) {
        self.play_against("always-odd")
    }

    fn play_against(self, strategy: &str) -> (Ground, Value) {
        let manager = &self.manager.endpoint;
        let done = ["--exit-when-done"];
        let bot = self.bot(&done);
        let others = [
            self.ground.referee(1, manager, &done),
            self.ground
                .player(2, manager, &["--strategy", strategy, "--exit-when-done"]),
        ];
        let ended = self.manager.process.end();
        assert_eq!(ended.code, Some(0), "{ended:?}");
        for agent in others.into_iter().chain([bot]) {
            let ended = agent.process.end();
            assert_eq!(ended.code, Some(0), "{ended:?}");
        }
        let result = self.ground.results().remove("R1M1").unwrap();
        (self.ground, result)
    }
}

fn script(choice: &str, after: &str) -> String {
    EVEN.replace("MOVE", choice).replace("AFTER", after)
}

#[test]
fn bot_plays_over_its_standard_input_and_output() {
    let heard = "tee -a \"$1/heard\" | (\n";
    let (ground, result) = Table::new(&format!("{heard}{})", script("even", ""))).play();
    let heard = fs::read_to_string(ground.path("heard")).unwrap();
    assert!(heard.contains("ROUND_ANNOUNCEMENT"), "{heard}");
    assert!(!heard.contains("tok-"), "no token is for a bot: {heard}");
    assert_ne!(result["status"], "TECHNICAL_LOSS", "{result}");
    assert_eq!(result["choices"]["P01"], "even", "{result}");
    ground.verified();
}

#[test]
fn notifications_of_a_bot_are_accepted() {
    let notification = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#;
    for (more, stray) in [(notification, false), ("hello", true)] {
        let script = script("even", "").replace("\ndone\n", &format!("\necho '{more}'\ndone\n"));
        let table = Table::new(&script);
        let ended = table.bot(&[]).process.stop();
        assert_eq!(ended.code, Some(0), "{ended:?}");
        // Nothing is written down where nothing is out of place.
        let log = fs::read_to_string(table.ground.path("logs/system/orchestrator.log.jsonl"));
        let log = log.unwrap_or_default();
        assert_eq!(log.contains("BOT_STRAY"), stray, "{more}: {log}");
    }
}

#[test]
fn ended_bot_is_restarted_and_plays_on() {
    // It leaves before its first answer, once.
    let once = "[ -e $1/left ] || { touch $1/left; echo my plan is gone >&2; exit 3; }";
    let with_folder = script("even", once).replace("$1", "\"$1\"");
    let (ground, result) = Table::new(&with_folder).play();
    assert_ne!(result["status"], "TECHNICAL_LOSS", "{result}");
    assert!(ground.path("left").exists());
    let log = fs::read_to_string(ground.path("logs/agents/P01.log.jsonl")).unwrap();
    assert!(log.contains("BOT_ENDED"), "{log}");
    assert!(!log.contains("my plan"), "others may read the log: {log}");
    let complaints = fs::read_to_string(ground.path("logs/bots/P01.stderr.log")).unwrap();
    assert!(
        complaints.contains("the bot has ended: exit status: 3"),
        "{complaints}"
    );
}

#[test]
fn illegal_answer_of_a_bot_is_passed_on_unchanged() {
    let (_, result) = Table::new(&script("seven", "")).play();
    assert_eq!(result["status"], "TECHNICAL_LOSS", "{result}");
    assert_eq!(result["failed"], json!({"P01": "E004"}), "{result}");
}

#[test]
fn bot_has_its_limits_and_sees_little_of_its_surroundings() {
    let told = "{ ulimit -n; ulimit -d; ulimit -c; env; } > \"$1/told\"";
    let table = Table::new(&format!("{told}\n{}", script("even", "")));
    let bot = table.bot(&[]);
    let told = fs::read_to_string(table.ground.path("told")).unwrap();
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines[..3], ["256", "1048576", "0"]);
    assert!(lines.iter().any(|line| line.starts_with("PATH=")));
    let strange = lines[3..].iter().filter(|line| line.starts_with("CARGO"));
    assert_eq!(strange.count(), 0, "{told}");
    drop(bot);
}

#[test]
fn child_processes_of_a_bot_end_with_its_killed_player() {
    let begun = "sleep 1000 & echo $! > \"$1/grandchild\"; echo $$ > \"$1/child\"";
    for kill in [false, true] {
        let table = Table::new(&format!("{begun}\n{}", script("even", "")));
        let mut bot = table.bot(&[]);
        let pids = ["child", "grandchild"].map(|name| {
            let number = fs::read_to_string(table.ground.path(name)).unwrap();
            Pid::from_raw(number.trim().parse().unwrap()).unwrap()
        });
        assert!(pids.iter().all(|pid| test_kill_process(*pid).is_ok()));
        match kill {
            true => bot.process.kill(),
            false => {
                let ended = bot.process.stop();
                assert_eq!(ended.code, Some(0), "{ended:?}");
            }
        }
        let gone = eventually(|| {
            let gone = |pid: &Pid| test_kill_process(*pid).is_err() || is_dead(*pid);
            pids.iter().all(gone).then_some(())
        });
        assert!(gone.is_some(), "killed: {kill}");
    }
}

#[test]
fn slow_restart_of_a_bot_is_awaited_and_stops_at_once() {
    // Its second life takes longer than anybody waits for it.
    let slow = "[ -e \"$1/left\" ] && { touch \"$1/again\"; sleep 1000; }";
    let once = "touch \"$1/left\"; exit 3";
    let table = Table::new(&format!("{slow}\n{}", script("even", once)));
    let bot = table.bot(&[]);
    let manager = &table.manager.endpoint;
    let _others = [
        table.ground.referee(1, manager, &[]),
        table.ground.player(2, manager, &[]),
    ];
    let again = table.ground.path("again");
    eventually(|| again.exists().then_some(())).unwrap();
    let told = std::time::Instant::now();
    let ended = bot.process.stop();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(told.elapsed() < std::time::Duration::from_secs(30));
}

/// Whether a process is dead and only waits for somebody to ask how it ended.
fn is_dead(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    stat.is_ok_and(|stat| {
        stat.rsplit(") ")
            .next()
            .is_some_and(|rest| rest.starts_with('Z'))
    })
}

#[test]
fn last_lines_of_a_bot_are_shown_when_it_ends() {
    let lost = "echo 'cannot find the book of openings' >&2; exit 3";
    let table = Table::new(&script("even", lost));
    let manager = &table.manager.endpoint;
    let command = format!("sh {}", table.script.display());
    let own = ["player", "--root", table.ground.root(), "--port", "0"];
    let own = own.into_iter().chain(["--manager", manager]);
    let mut bot = Process::start(own.chain(["--exec", &command]));
    let _others = [
        table.ground.referee(1, manager, &[]),
        table.ground.player(2, manager, &[]),
    ];
    bot.warning(|line| line.contains("the bot has ended: it is started again (1 of 3)"));
    bot.warning(|line| line.contains("the last lines of its standard error:"));
    bot.warning(|line| line.contains("cannot find the book of openings"));
}

#[test]
fn silent_bot_is_reported_before_the_timeout() {
    let ground = Ground::new();
    let mut player = ground.start("player", &["--port", "0", "--exec", "sleep 1000"]);
    let told = player.event("event_type", "BOT_SILENT");
    let sentence = told["sentence"].as_str().unwrap();
    assert!(sentence.contains("does not flush its output"), "{sentence}");
    assert!(sentence.contains("up to 120 s"), "{sentence}");
}

#[test]
fn bot_moves_in_the_documented_form_or_any_clear_one() {
    // The first place that is free, said in another way each time.
    let bot = r#"
turn=0
while IFS= read -r line; do
  id=$(printf %s "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
  said='"result":{}'
  case $line in
    *'"choose_move"'*)
      free=$(printf %s "$line" | sed 's/.*"valid_options":\[\([0-9]*\).*/\1/')
      turn=$((turn + 1))
      case $((turn % 3)) in
        1) said='"result":{"move":'$free'}' ;;
        2) said='"result":{"move_data":'$free'}' ;;
        0) said='"result":{"message_type":"GAME_MOVE_RESPONSE","move_data":{"move":'$free'}}' ;;
      esac ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$said"
done
"#;
    let (ground, result) = Table::of("tic_tac_toe", bot).play_against("random");
    assert_ne!(result["status"], "TECHNICAL_LOSS", "{result}");
    ground.verified();
}

#[test]
fn bot_gets_the_leniency_of_a_player() {
    let (_, result) = Table::new(&script("Even", "")).play();
    assert_ne!(result["status"], "TECHNICAL_LOSS", "{result}");
    assert_eq!(result["choices"]["P01"], "even", "{result}");
}

#[test]
fn program_that_is_not_a_bot_is_reported_at_once() {
    let ground = Ground::new();
    let hasty = json!({"bots": {"start_timeout_sec": 1}});
    ground.write("config/system.json", &hasty);
    for (command, cause) in [
        ("/no/such/program", "the bot does not answer"),
        ("true", "the bot does not answer"),
        ("sleep 1000", "the bot does not answer"),
        ("cat /dev/zero", "the bot does not answer"),
        ("'open", "is not a command"),
        (
            "sh -c 'echo no module >&2'",
            "the last lines of its standard error:\n    no module",
        ),
    ] {
        let player = ground.start("player", &["--port", "0", "--exec", command]);
        let ended = player.end();
        assert!(matches!(ended.code, Some(2 | 3)), "{command}: {ended:?}");
        assert!(ended.errors.contains(cause), "{command}: {ended:?}");
    }
}
