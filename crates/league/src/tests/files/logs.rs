//! Log lines reach the log of whoever speaks, whole and without a token.

use std::fs;
use std::path::Path;

use crate::config::LogLevel;
use crate::log::{Bounds, JsonLogger, LogError, layer};
use crate::storage::root::Root;
use league_protocol::token::AuthToken;
use serde_json::{Map, Value, json};
use tracing_subscriber::layer::SubscriberExt;

use crate::tests::journals::league_id;

/// Runs something with the layer installed, and waits until its lines are written.
fn logged(root: &Root, level: LogLevel, run: impl FnOnce()) {
    let (layer, guard) = layer(root.clone(), level, Bounds::default());
    let subscriber = tracing_subscriber::registry().with(layer);
    tracing::subscriber::with_default(subscriber, run);
    drop(guard);
}

fn lines(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn members(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

#[test]
fn line_goes_to_its_agent_else_its_league_else_the_system() {
    let folder = tempfile::tempdir().unwrap();
    let root = Root::new(folder.path());
    let league = league_id();
    logged(&root, LogLevel::Info, || {
        tracing::info!(agent_id = "P01", %league, "to the agent");
        tracing::info!(league_id = %league, component = "league_manager", "to the league");
        tracing::warn!(port = 8000_u64, "to the system");
        tracing::info!(agent_id = "../../etc/passwd", "to the system");
        tracing::debug!("not important enough");
    });
    let agent = lines(&root.agent_logs().join("P01.log.jsonl"));
    assert_eq!(agent.len(), 1);
    assert_eq!(agent[0]["component"], "P01");
    let central = lines(&root.league_log(&league));
    assert_eq!(central[0]["component"], "league_manager");
    assert_eq!(central[0]["message"], "to the league");
    let system = lines(&root.system_log());
    assert_eq!(system.len(), 2);
    assert_eq!(
        (&system[0]["level"], &system[0]["details"]["port"]),
        (&json!("WARNING"), &json!(8000))
    );
    assert!(
        root.system_log()
            .ends_with("logs/system/orchestrator.log.jsonl")
    );
}

#[test]
fn every_line_names_an_agent_and_has_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let root = Root::new(folder.path());
    let league = league_id();
    let (event_type, message_type) = ("MESSAGE_SENT", "GAME_OVER");
    logged(&root, LogLevel::Info, || {
        tracing::info!(agent_id = "P01", event_type, message_type);
        tracing::info!(league_id = %league, event_type, message_type, "");
        tracing::info!(event_type = "TURNED_OFF");
    });
    let logger = JsonLogger::new(&root, "league_manager", Some(&league)).unwrap();
    let nothing = members(json!({"agent_id": null, "message": ""}));
    logger.info("STARTED", nothing).unwrap();
    for (file, agent, sentence) in [
        (
            root.agent_logs().join("P01.log.jsonl"),
            "P01",
            "message sent: GAME_OVER",
        ),
        (
            root.league_log(&league),
            "league_manager",
            "message sent: GAME_OVER",
        ),
        (root.system_log(), "orchestrator", "turned off"),
        (logger.path().to_owned(), "league_manager", "started"),
    ] {
        let line = &lines(&file)[0];
        assert_eq!(line["agent_id"], agent, "{line}");
        assert_eq!(line["component"], agent, "{line}");
        assert_eq!(line["message"], sentence, "{line}");
    }
}

#[test]
fn fields_of_an_event_become_fields_of_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let root = Root::new(folder.path());
    logged(&root, LogLevel::Debug, || {
        tracing::debug!(
            agent_id = "REF01",
            component = "referee:REF01",
            event_type = "MESSAGE_SENT",
            message_type = "GAME_INVITATION",
            conversation_id = "convr1m1001",
            match_id = "R1M1",
            round = 1_u64,
            attempt = 2_i64,
            late = true,
            draw_seed = 7,
            "invited"
        );
    });
    let lines = lines(&root.agent_logs().join("REF01.log.jsonl"));
    let mut line = lines[0].clone();
    assert!(line["timestamp"].take().as_str().unwrap().ends_with('Z'));
    assert_eq!(
        line,
        json!({
            "timestamp": null, "level": "DEBUG", "component": "referee:REF01",
            "agent_id": "REF01", "event_type": "MESSAGE_SENT",
            "message_type": "GAME_INVITATION", "conversation_id": "convr1m1001",
            "message": "invited",
            "data": {"match_id": "R1M1", "round": 1, "attempt": 2, "late": true, "draw_seed": "…"}
        })
    );
}

#[test]
fn logs_hold_no_token() {
    let folder = tempfile::tempdir().unwrap();
    let root = Root::new(folder.path());
    let token = AuthToken::mint("P01", &[0x5e; 32]);
    logged(&root, LogLevel::Debug, || {
        let (auth_token, agent_id) = (token.reveal(), "P01");
        tracing::info!(agent_id, auth_token, ?token, "said {}", token.reveal());
        tracing::error!(body = %json!({"params": {"auth_token": token.reveal()}}), "refused");
    });
    let logger = JsonLogger::new(&root, "player:P01", None).unwrap();
    let details = members(json!({"auth_token": token.reveal(), "message": token.reveal()}));
    logger.error("AUTH", details).unwrap();
    let mut seen = 0;
    for file in [
        root.agent_logs().join("P01.log.jsonl"),
        root.system_log(),
        logger.path().to_owned(),
    ] {
        let text = fs::read_to_string(file).unwrap();
        assert!(!text.contains("5e5e5e5e"), "{text}");
        seen += text.matches("tok-p01-…").count();
    }
    assert!(seen >= 5, "{seen}");
}

#[test]
fn flat_detail_replaces_no_field_of_the_line() {
    let folder = tempfile::tempdir().unwrap();
    let logger = JsonLogger::new(&Root::new(folder.path()), "referee:REF01", None).unwrap();
    let details = members(json!({"timestamp": "never", "component": "another", "why": "late"}));
    logger.info("LATE", details).unwrap();
    let text = fs::read_to_string(logger.path()).unwrap();
    assert_eq!(text.matches("component").count(), 1, "{text}");
    assert!(
        !text.contains("never") && text.contains(r#""why":"late""#),
        "{text}"
    );
}

#[test]
fn flood_of_lines_is_written_or_counted_without_blocking() {
    let folder = tempfile::tempdir().unwrap();
    let root = Root::new(folder.path());
    let said = 20_000;
    logged(&root, LogLevel::Info, || {
        for number in 0..said {
            tracing::info!(number, "again");
        }
    });
    let lines = lines(&root.system_log());
    let is_counted = |line: &&Value| line["event_type"] == "LINES_DROPPED";
    let counted: u64 = lines
        .iter()
        .filter(is_counted)
        .filter_map(|line| line["details"]["lines"].as_u64())
        .sum();
    let written = lines.iter().filter(|line| !is_counted(line)).count() as u64;
    assert_eq!(written + counted, said);
}

#[test]
fn aside_is_written_to_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let root = Root::new(folder.path());
    logged(&root, LogLevel::Info, || {
        tracing::warn!(agent_id = "P01", aside = "my plan is odd", "it has ended");
    });
    let lines = lines(&root.agent_logs().join("P01.log.jsonl"));
    assert_eq!(lines[0]["message"], "it has ended");
    assert!(!lines[0].to_string().contains("plan"), "{}", lines[0]);
}

#[test]
fn logger_of_the_documents_writes_to_their_path() {
    let folder = tempfile::tempdir().unwrap();
    let root = Root::new(folder.path());
    let logger = JsonLogger::new(&root, "referee:REF01", Some(&league_id())).unwrap();
    assert!(
        logger
            .path()
            .ends_with("logs/league/league_2025_even_odd/referee_REF01.log.jsonl")
    );
    let details =
        members(json!({"match_id": "R1M1", "error_code": "TIMEOUT_MOVE", "timeout_sec": 30}));
    logger.error("GAME_ERROR", details).unwrap();
    logger.info("STARTED", Map::new()).unwrap();
    logger.warning("SLOW", Map::new()).unwrap();
    logger
        .log_message_sent("GAME_OVER", "player:P01", Map::new())
        .unwrap();
    logger
        .log_message_received(
            "GAME_JOIN_ACK",
            "player:P02",
            members(json!({"conversation_id": "c"})),
        )
        .unwrap();
    let lines = lines(logger.path());
    let levels: Vec<_> = lines
        .iter()
        .map(|line| line["level"].as_str().unwrap())
        .collect();
    assert_eq!(levels, ["ERROR", "INFO", "WARNING", "DEBUG", "DEBUG"]);
    assert_eq!(lines[0]["match_id"], "R1M1");
    assert_eq!(lines[0]["timeout_sec"], 30);
    assert_eq!(lines[0]["message"], "game error");
    assert!(lines[0].get("data").is_none(), "{}", lines[0]);
    assert_eq!(lines[0]["agent_id"], "REF01");
    assert_eq!(lines[3]["message_type"], "GAME_OVER");
    assert_eq!(lines[3]["recipient"], "player:P01");
    assert_eq!(lines[3]["message"], "sent GAME_OVER to player:P01");
    assert_eq!(lines[4]["conversation_id"], "c");
}

#[test]
fn component_cannot_lead_out_of_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    for component in ["", "../x", "a/b", "x\0"] {
        let refused = JsonLogger::new(&Root::new(folder.path()), component, None);
        assert!(
            matches!(refused, Err(LogError::Component { .. })),
            "{component:?}"
        );
    }
}
