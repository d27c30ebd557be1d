//! Peer sessions over a scripted carrier.

use super::*;

/// The status, session and body of an answer.
type Said = Result<(u16, Option<&'static str>, Value), CallError>;

/// Answers from a script, and records the requests.
struct Scripted {
    script: fn(&PeerRequest) -> Said,
    asked: Mutex<Vec<PeerRequest>>,
}

impl Scripted {
    fn link(script: fn(&PeerRequest) -> Said) -> Arc<PeerSession<Self>> {
        Arc::new(PeerSession::new(Self {
            script,
            asked: Mutex::default(),
        }))
    }
}

impl PeerSession<Scripted> {
    fn methods(&self) -> Vec<String> {
        let asked = self.carrier.asked.lock().unwrap();
        asked.iter().map(method).collect()
    }
}

impl Carrier for Scripted {
    async fn carry(&self, request: &PeerRequest, _: Duration) -> Result<Answer, CallError> {
        self.asked.lock().unwrap().push(request.clone());
        // Give concurrent callers a chance to run.
        tokio::task::yield_now().await;
        let (status, session, mut body) = (self.script)(request)?;
        body["id"] = request.id.into();
        body["jsonrpc"] = "2.0".into();
        Ok(Answer {
            status,
            location: None,
            session: session.map(str::to_owned),
            body: body.to_string().into(),
        })
    }
}

fn method(request: &PeerRequest) -> String {
    match serde_json::from_slice::<Value>(&request.body) {
        Ok(body) => body["method"].as_str().unwrap_or_default().to_owned(),
        Err(_) => format!("{:?}", request.verb),
    }
}

fn session_of(request: &PeerRequest) -> Option<&str> {
    let mut headers = request.headers.iter();
    let (_, session) = headers.find(|(name, _)| *name == "mcp-session-id")?;
    Some(session)
}

fn legacy(request: &PeerRequest) -> Said {
    Ok(match method(request).as_str() {
        "initialize" => (
            200,
            Some("s1"),
            json!({"result": {"protocolVersion": "2025-11-25"}}),
        ),
        "tools/list" => (
            200,
            None,
            json!({"result": {"tools": [{"name": "choose_parity"}]}}),
        ),
        "server/discover" => (
            400,
            None,
            json!({"error": {"code": -32600, "message": "no"}}),
        ),
        _ => (200, None, json!({"result": {}})),
    })
}

#[tokio::test]
async fn all_who_need_a_peer_at_once_share_one_finding_out() {
    let link = Scripted::link(legacy);
    let all: Vec<_> = (0..20)
        .map(|_| {
            let link = Arc::clone(&link);
            tokio::spawn(async move { link.profile().await })
        })
        .collect();
    for one in all {
        assert!(one.await.unwrap().has_session());
    }
    let once = [
        "server/discover",
        "initialize",
        "notifications/initialized",
        "tools/list",
    ];
    assert_eq!(link.methods(), once);
}

#[tokio::test]
async fn whoever_is_not_there_is_asked_again_but_not_at_once() {
    let link = Scripted::link(|_| Err(CallError::Connection("refused".to_owned())));
    for _ in 0..5 {
        assert_eq!(link.profile().await.layout(), Some(CallStyle::Tool));
    }
    assert_eq!(link.methods(), ["server/discover", "initialize"]);
    link.rested();
    link.profile().await;
    assert_eq!(link.methods().len(), 4);
}

#[tokio::test]
async fn whoever_hangs_on_the_questions_is_spoken_to_simply_from_then_on() {
    let link = Scripted::link(|_| Err(CallError::Timeout(QUESTION_TIMEOUT)));
    link.profile().await;
    link.rested();
    assert_eq!(link.profile().await.layout(), Some(CallStyle::Tool));
    assert_eq!(link.methods().len(), 2);
}

/// Answers each question after a while.
struct Slow(Duration);

impl Carrier for Slow {
    fn probe_timeout(&self) -> Duration {
        Duration::from_secs(8)
    }

    async fn carry(&self, request: &PeerRequest, wait: Duration) -> Result<Answer, CallError> {
        tokio::time::sleep(self.0.min(wait)).await;
        match self.0 > wait {
            true => Err(CallError::Timeout(wait)),
            false => Scripted::link(legacy).carrier.carry(request, wait).await,
        }
    }
}

#[tokio::test(start_paused = true)]
async fn slow_peer_is_found_out_within_the_time_of_its_carrier() {
    let of = async |seconds| {
        PeerSession::new(Slow(Duration::from_secs(seconds)))
            .profile()
            .await
    };
    assert!(of(4).await.has_session());
    assert_eq!(of(9).await.layout(), Some(CallStyle::Tool));
}

#[tokio::test]
async fn a_doubt_is_cleared_once_and_not_more_often_than_allowed() {
    let link = Scripted::link(legacy);
    let found = link.profile().await;
    for _ in 0..3 {
        link.doubt(&found);
        assert!(
            Arc::ptr_eq(&link.profile().await, &found),
            "it is too early"
        );
    }
    link.rested();
    let again = link.profile().await;
    assert!(!Arc::ptr_eq(&again, &found));
    // Doubting an old profile does not affect the current one.
    link.doubt(&found);
    link.rested();
    assert!(Arc::ptr_eq(&link.profile().await, &again));
}

#[tokio::test]
async fn an_idle_session_is_kept_alive_and_one_that_nobody_uses_is_ended() {
    let link = Scripted::link(legacy);
    link.profile().await;
    link.idle(HEARTBEAT);
    link.look_after().await;
    assert_eq!(link.methods().last().unwrap(), "ping");
    link.idle(Duration::ZERO);
    link.look_after().await;
    assert_eq!(link.methods().len(), 5, "a session in use needs no beat");
    link.idle(IDLE_TIMEOUT);
    link.look_after().await;
    assert_eq!(link.methods().last().unwrap(), "Delete");
    link.look_after().await;
    assert_eq!(link.methods().len(), 6);
    assert!(link.known().0.is_none());
}

#[tokio::test]
async fn a_beat_that_finds_the_session_gone_opens_another() {
    let link = Scripted::link(|request| match session_of(request) {
        Some("s1") if method(request) == "ping" => Ok((
            404,
            None,
            json!({"error": {"code": -32600, "message": "gone"}}),
        )),
        _ => legacy(request),
    });
    let before = link.profile().await;
    link.idle(HEARTBEAT);
    link.look_after().await;
    let after = link.profile().await;
    assert!(!Arc::ptr_eq(&before, &after));
    assert!(after.has_session());
}

#[tokio::test]
async fn a_call_in_a_forgotten_session_is_made_once_more_in_a_new_one() {
    let link = Scripted::link(|request| match method(request).as_str() {
        "tools/call" => Ok((
            404,
            None,
            json!({"error": {"code": -32600, "message": "gone"}}),
        )),
        _ => legacy(request),
    });
    let found = link.profile().await;
    let call = |found: &PeerProfile, id| peer::call(found, id, "choose_parity", &json!({}), None);
    let called = link
        .call(found, QUESTION_TIMEOUT, call)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(called.answer.status, 404, "and not a third time");
    let calls = link
        .methods()
        .into_iter()
        .filter(|method| method == "tools/call");
    assert_eq!(calls.count(), 2);
}

impl PeerSession<Scripted> {
    /// Simulates that [`PROBE_INTERVAL`] has passed.
    fn rested(&self) {
        self.held_mut(|held| held.found_at = None);
    }

    /// Simulates that the session was last used this long ago.
    fn idle(&self, time: Duration) {
        self.held_mut(|held| held.used_at = Instant::now().checked_sub(time));
    }
}

fn tools(names: &[&str]) -> ToolList {
    let tools: Vec<_> = names.iter().map(|name| json!({"name": name})).collect();
    let answers = [
        json!({"jsonrpc": "2.0", "id": 1, "result": {"supportedVersions": ["2026-07-28"]}}),
        json!({"jsonrpc": "2.0", "id": 2, "result": {"tools": tools}}),
    ];
    let (mut probe, mut step) = Probe::begin(1);
    for answer in answers {
        let body = answer.to_string();
        let reply = HttpReply {
            status: 200,
            session: None,
            body: body.as_bytes(),
        };
        step = probe.hear(Some(&reply), 2);
    }
    match step {
        ProbeStep::Found(found) => found.tools.unwrap(),
        ProbeStep::Ask(_) => panic!("it has all it needs"),
    }
}

#[test]
fn a_name_that_two_servers_use_is_told_with_the_server() {
    let mut tool_names = ToolNames::default();
    tool_names.add("player:P01", &tools(&["choose_parity", "sing"]));
    tool_names.add("player:P02", &tools(&["choose_parity"]));
    assert_eq!(
        tool_names.names(),
        [
            "player:P01.choose_parity",
            "player:P02.choose_parity",
            "sing"
        ]
    );
}
