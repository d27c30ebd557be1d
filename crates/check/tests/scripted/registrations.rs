//! Registrations in other forms than that of the documents: how a league takes them, and what the
//! report says of them.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use league_check::caller::{JSON, PROMPT};
use league_check::fake_manager::FakeManager;
use league_check::reply::Reply;
use league_check::stage::Stage;
use league_check::trial::Entry;
use league_check::wire::{Request, exchange};
use league_check::{AgentKind, Target};
use league_protocol::finding::Reading;
use serde_json::{Value, json};

use crate::player::{random, registration};

const PORT: u16 = 8101;

/// A stage after a registration at a path, and the answer to it.
async fn registered(path: &str, body: &Value) -> (Stage, Reply) {
    let anywhere = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0);
    let manager = FakeManager::open(anywhere, AgentKind::Player, PORT, random());
    let manager = manager.await.unwrap();
    let home = Target::local(manager.listener.address.port());
    let body = body.to_string();
    let request = Request {
        path,
        ..Request::post(&home, &JSON, body.as_bytes())
    };
    let reply = Reply::read(exchange(&home, &request, PROMPT).await);
    let stage = Stage::player(Target::local(PORT), manager, None, Duration::from_secs(2));
    (stage, reply)
}

fn message() -> Value {
    registration(&format!("http://localhost:{PORT}/mcp"))
}

fn framed(method: &str, message: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": message})
}

#[tokio::test]
async fn registration_of_the_documents_has_nothing_to_report() {
    let (stage, reply) = registered("/mcp", &framed("register_player", message())).await;
    assert_eq!(reply.member("status"), Some(&json!("ACCEPTED")));
    assert_eq!(stage.registration_departure(), None);
    let entry = Entry::of(&stage, Reading::Strict).unwrap();
    assert!(entry.registration.unwrap().deviations.is_empty());
}

#[tokio::test]
async fn registration_at_a_path_of_its_own_is_told_and_refused_by_strict_leagues() {
    let body = json!({"name": "Heron", "endpoint": "http://localhost:8101/mcp"});
    let (stage, reply) = registered("/register", &body).await;
    assert_eq!(reply.json.unwrap()["status"], "ACCEPTED");
    assert!(stage.admission().is_some());
    let told = stage.registration_departure().unwrap();
    assert_eq!(
        told,
        "it registered by `POST /register`, a body without a JSON-RPC frame, a message without \
         `message_type`; the documents ask for `POST /mcp` with the method `register_player` and a \
         LEAGUE_REGISTER_REQUEST of `league.v2`"
    );
    assert!(Entry::of(&stage, Reading::Lenient).is_ok());
    let why = Entry::of(&stage, Reading::Strict).unwrap_err();
    assert!(
        why.contains("a strict league takes registrations as calls to `/mcp` only"),
        "{why}"
    );
}

#[tokio::test]
async fn bare_registration_is_told_and_answered_bare() {
    let (stage, reply) = registered("/mcp", &message()).await;
    let json = reply.json.unwrap();
    assert_eq!(json["status"], "ACCEPTED");
    assert!(json.get("jsonrpc").is_none(), "{json}");
    let told = stage.registration_departure().unwrap();
    let expected = "it registered by a body without a JSON-RPC frame; the documents ask for ";
    assert!(told.starts_with(expected), "{told}");
    let entry = Entry::of(&stage, Reading::Lenient).unwrap();
    assert!(!entry.registration.unwrap().deviations.is_empty());
    assert!(Entry::of(&stage, Reading::Strict).is_err());
}

#[tokio::test]
async fn registration_by_another_method_is_told() {
    let (stage, _) = registered("/mcp", &framed("league_register", message())).await;
    let told = stage.registration_departure().unwrap();
    assert!(
        told.starts_with("it registered by the method `league_register`; "),
        "{told}"
    );
    assert!(Entry::of(&stage, Reading::Lenient).is_ok());
}

#[tokio::test]
async fn registration_in_the_first_protocol_is_told() {
    let mut old = message();
    old["protocol"] = "league.v1".into();
    let (stage, _) = registered("/mcp", &framed("register_player", old)).await;
    assert!(stage.is_v1());
    let told = stage.registration_departure().unwrap();
    assert!(
        told.starts_with("it registered by a message of `league.v1`; "),
        "{told}"
    );
}

#[tokio::test]
async fn registration_that_no_league_can_read_is_told_with_the_reason() {
    let mut vague = message();
    vague["timestamp"] = "2026-11-15T14:00:00+02:00".into();
    let (stage, _) = registered("/mcp", &framed("register_player", vague)).await;
    let why = Entry::of(&stage, Reading::Lenient).unwrap_err();
    assert!(
        why.starts_with("a league does not take its registration: "),
        "{why}"
    );
    assert!(why.contains("UTC"), "{why}");
}
