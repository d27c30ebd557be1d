//! A player that keeps the rules, and the means to have it break one.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use league_check::caller::{JSON, PROMPT};
use league_check::fake_manager::FakeManager;
use league_check::listener::{IncomingCall, Listener, ScriptedAnswer};
use league_check::reply::Reply;
use league_check::stage::{Stage, borrowed};
use league_check::verdict::{Finding, Verdict};
use league_check::wire::{HttpConnection, Request, exchange};
use league_check::{AgentKind, RandomBytes, Target, verdict};
use league_protocol::peer::{HttpReply, PeerProfile, Probe, ProbeStep};
use serde_json::{Value, json};

/// Any free port of this machine.
const ANYWHERE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// Bytes that differ from call to call.
pub(crate) fn random() -> RandomBytes {
    let drawn = AtomicU8::new(0);
    Arc::new(move || [drawn.fetch_add(1, Ordering::Relaxed); 32])
}

/// A stage with a scripted player on it.
pub(crate) struct Played {
    pub(crate) stage: Arc<Stage>,
    /// Kept as long as it is needed.
    listener: Option<Listener>,
}

/// What a fair player answers.
pub(crate) fn fair(heard: &IncomingCall) -> ScriptedAnswer {
    let said = heard.message();
    let message = |kind: &str, says: Value| {
        let mut message = json!({
            "protocol": "league.v2", "message_type": kind, "sender": "player:P01",
            "timestamp": "2026-11-15T12:00:00Z", "conversation_id": said["conversation_id"],
            "match_id": said["match_id"], "player_id": "P01",
        });
        for (name, value) in says.as_object().unwrap() {
            message[name] = value.clone();
        }
        ScriptedAnswer::Result(message)
    };
    match heard.tool() {
        Some("handle_game_invitation") => message(
            "GAME_JOIN_ACK",
            json!({"accept": true, "arrival_timestamp": "2026-11-15T12:00:00Z"}),
        ),
        Some("choose_parity") => {
            message("CHOOSE_PARITY_RESPONSE", json!({"parity_choice": "even"}))
        }
        Some("notify_match_result") => ScriptedAnswer::Result(json!({"status": "ok"})),
        _ => {
            let error = json!({"code": -32601, "message": "there is no such method"});
            let answer = json!({"jsonrpc": "2.0", "id": heard.json["id"], "error": error});
            ScriptedAnswer::Raw(200, answer.to_string())
        }
    }
}

/// A fair answer with a member changed.
pub(crate) fn but(
    heard: &IncomingCall,
    tool: &str,
    name: &str,
    value: impl Into<Value>,
) -> ScriptedAnswer {
    match fair(heard) {
        ScriptedAnswer::Result(mut message) if heard.tool() == Some(tool) => {
            message[name] = value.into();
            ScriptedAnswer::Result(message)
        }
        said => said,
    }
}

/// The wish to play.
pub(crate) fn registration(endpoint: &str) -> Value {
    json!({
        "protocol": "league.v2", "message_type": "LEAGUE_REGISTER_REQUEST",
        "sender": "player:Heron", "timestamp": "2026-11-15T12:00:00Z",
        "conversation_id": "heron-hello",
        "player_meta": {
            "display_name": "Heron", "version": "0.3.0", "protocol_version": "2.1.0",
            "game_types": ["even_odd"], "contact_endpoint": endpoint,
        },
    })
}

/// Sets a stage with a player that does by this script, and registers by this message.
pub(crate) async fn stage(
    script: impl Fn(&IncomingCall) -> ScriptedAnswer + Send + Sync + 'static,
    registers: impl FnOnce(&mut Value),
) -> Played {
    let player = Listener::open(ANYWHERE, script).await.unwrap();
    let mut played = staged(player.address.port(), registers).await;
    played.listener = Some(player);
    played
}

/// Sets a stage with a player that answers at a port already, and registers by this message.
pub(crate) async fn staged(port: u16, registers: impl FnOnce(&mut Value)) -> Played {
    let url = format!("http://localhost:{port}/mcp");
    let agent = Target::local(port);
    let office = FakeManager::open(ANYWHERE, AgentKind::Player, port, random())
        .await
        .unwrap();
    let mut message = registration(&url);
    registers(&mut message);
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "register_player", "params": message});
    let call = call.to_string();
    let request = Request {
        method: "POST",
        path: "/mcp",
        headers: &JSON,
        body: call.as_bytes(),
    };
    let admitted = exchange(
        &Target::local(office.listener.address.port()),
        &request,
        PROMPT,
    )
    .await;
    assert!(admitted.came.is_ok(), "{admitted:?}");
    let stage = Arc::new(Stage::player(agent, office, None, Duration::from_secs(2)));
    stage.settle(probed(&stage).await);
    assert!(stage.begin().await);
    Played {
        stage,
        listener: None,
    }
}

/// How a player takes calls; in a check, the league finds it out.
async fn probed(stage: &Stage) -> PeerProfile {
    let (mut probe, mut step) = Probe::begin(1);
    for id in 2.. {
        let request = match step {
            ProbeStep::Found(profile) => return profile,
            ProbeStep::Ask(request) => request,
        };
        let mut headers = JSON.to_vec();
        headers.extend(borrowed(&request.headers));
        let reply = Reply::read(stage.post(&headers, &request.body, PROMPT).await);
        let body = reply
            .json
            .as_ref()
            .map(Value::to_string)
            .unwrap_or_default();
        let heard = HttpReply {
            status: reply.status(),
            session: reply.header("mcp-session-id"),
            body: body.as_bytes(),
        };
        step = probe.hear(Some(&heard), id);
    }
    PeerProfile::PLAIN
}

impl Played {
    /// Plays one rule, leniently.
    pub(crate) async fn rule(&self, id: &str) -> Finding {
        self.judged(id, false).await
    }

    /// Plays one rule, strictly or not.
    pub(crate) async fn judged(&self, id: &str, strict: bool) -> Finding {
        let mut topics = self.stage.topics();
        for topic in &mut topics {
            topic.rules.retain(|rule| format!("P-{}", rule.id) == id);
        }
        let findings = verdict::play(&self.stage, &topics, strict, &|_| {}).await;
        assert_eq!(findings.len(), 1, "there is a rule {id}");
        findings.into_iter().next().unwrap()
    }

    /// Closes the port of the player.
    pub(crate) async fn leave(&mut self) {
        self.listener = None;
        while HttpConnection::open(&self.stage.agent).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// What comes of one rule.
    pub(crate) async fn verdict(&self, id: &str) -> Verdict {
        self.rule(id).await.verdict
    }
}
