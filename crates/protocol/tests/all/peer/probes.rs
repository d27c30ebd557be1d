//! Finding out how peers take calls, by what real servers answer.

use league_protocol::peer::{
    HttpReply, LEGACY, MAX_PAGES, MODERN, PeerProfile, PeerRequest, Probe, ProbeStep, Session,
    ToolList,
};
use league_protocol::sender::CallStyle;
use serde_json::{Value, json};

use super::{json, session};

const DISCOVERED: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"ttlMs":0,"cacheScope":"private","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"resultType":"complete"}}"#;
const NO_SESSION: &str = r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Bad PeerRequest: Missing session ID"}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"p","version":"2"}}}"#;
const UNKNOWN: &str = r#"{"error":"Unknown method"}"#;

/// Answers every question with the next reply, and gives what was asked and found.
fn probed(replies: &[Option<HttpReply<'_>>]) -> (Vec<PeerRequest>, PeerProfile) {
    let (mut probe, mut step) = Probe::begin(1);
    let mut asked = Vec::new();
    let mut replies = replies.iter();
    for id in 2.. {
        match step {
            ProbeStep::Ask(request) => asked.push(request),
            ProbeStep::Found(found) => return (asked, found),
        }
        step = probe.hear(replies.next().copied().flatten().as_ref(), id);
    }
    unreachable!()
}

fn methods(asked: &[PeerRequest]) -> Vec<String> {
    let method = |request: &PeerRequest| {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        body["method"].as_str().unwrap().to_owned()
    };
    asked.iter().map(method).collect()
}

#[test]
fn modern_server_is_known_by_the_versions_that_it_lists() {
    let list = r#"{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"choose_parity","inputSchema":{"type":"object"}}],"resultType":"complete"}}"#;
    let (asked, found) = probed(&[Some(json(200, DISCOVERED)), Some(json(200, list))]);
    assert_eq!(methods(&asked), ["server/discover", "tools/list"]);
    assert_eq!(asked[0].headers[1].1, "server/discover");
    assert_eq!((found.as_str(), found.version()), ("modern", Some(MODERN)));
    let tools = found.tools.unwrap();
    assert_eq!(tools.names().collect::<Vec<_>>(), ["choose_parity"]);
    assert_eq!(tools.offered("choose_move").unwrap().0, "choose_parity");
    assert!(tools.offered("notify_round").is_none());
}

#[test]
fn codes_of_modern_servers_mean_a_modern_server() {
    for code in [-32020, -32021, -32022] {
        let body = json!({"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": "no"}});
        let (_, found) = probed(&[Some(json(400, &body.to_string()))]);
        assert_eq!(found.as_str(), "modern", "{code}");
        assert_eq!(found.tools, None);
    }
}

#[test]
fn newer_revision_is_spoken_where_ours_is_not_and_an_older_one_is_not_modern() {
    let body = json!({"jsonrpc": "2.0", "id": 1,
        "result": {"supportedVersions": ["2027-02-01", "2025-11-25", "2027-09-01"]}});
    let (asked, found) = probed(&[Some(json(200, &body.to_string()))]);
    assert_eq!(found.version(), Some("2027-09-01"));
    assert_eq!(asked[1].headers[0].1, "2027-09-01");
    let body = json!({"jsonrpc": "2.0", "id": 1, "result": {"supportedVersions": ["2025-11-25"]}});
    let (asked, _) = probed(&[Some(json(200, &body.to_string()))]);
    assert_eq!(methods(&asked), ["server/discover", "initialize"]);
}

#[test]
fn server_with_a_handshake_keeps_its_session() {
    let list = r#"{"jsonrpc":"2.0","id":4,"result":{"tools":[]}}"#;
    let (asked, found) = probed(&[
        Some(json(400, NO_SESSION)),
        Some(session(INITIALIZED, Some("9bdc60302d48"))),
        Some(json(202, "")),
        Some(json(200, list)),
    ]);
    assert_eq!(
        methods(&asked),
        [
            "server/discover",
            "initialize",
            "notifications/initialized",
            "tools/list"
        ]
    );
    assert_eq!(asked[2].id, None);
    assert_eq!(asked[3].headers[1].1, "9bdc60302d48");
    let session = Session {
        version: LEGACY.to_owned(),
        id: Some("9bdc60302d48".to_owned()),
        handshake: true,
    };
    assert_eq!(found.session, Some(session));
    assert!(found.has_session());
}

#[test]
fn session_that_does_not_fit_a_header_is_none() {
    for bad in ["", "a b", "a\r\nx: y", "é", &"x".repeat(257)] {
        let (_, found) = probed(&[None, Some(session(INITIALIZED, Some(bad)))]);
        assert!(!found.has_session(), "{bad:?}");
    }
}

#[test]
fn peer_without_mcp_is_called_in_plain_json_rpc() {
    for reply in [
        Some(json(200, UNKNOWN)),
        Some(json(
            200,
            r#"{"jsonrpc":"2.0","id":1,"result":{"status":"ok"}}"#,
        )),
        Some(json(
            200,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}"#,
        )),
        Some(json(500, "oops")),
        Some(json(404, "")),
        Some(json(
            200,
            r#"{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":"all","protocolVersion":7}}"#,
        )),
        None,
    ] {
        let (asked, found) = probed(&[reply, reply]);
        assert_eq!(methods(&asked), ["server/discover", "initialize"]);
        assert_eq!(found.layout(), Some(CallStyle::Tool));
        assert_eq!(found.heard, reply.is_some());
    }
}

#[test]
fn no_question_shows_a_token_or_a_capability() {
    let (asked, _) = probed(&[
        Some(json(400, NO_SESSION)),
        Some(session(INITIALIZED, None)),
    ]);
    for request in asked {
        let text = String::from_utf8(request.body).unwrap();
        assert!(!text.contains("token"), "{text}");
        assert!(
            !text.contains("sampling") && !text.contains("elicitation"),
            "{text}"
        );
    }
}

#[test]
fn pages_are_read_up_to_a_bound_and_a_changed_list_is_noticed() {
    // The first page answers the second question.
    let page = |place: usize, name: &str| {
        let body = json!({"jsonrpc": "2.0", "id": place + 2, "result":
            {"tools": [{"name": name, "inputSchema": {"type": "object"}}], "nextCursor": "on"}});
        body.to_string()
    };
    let pages = |first: &str| -> Vec<String> {
        let name = |place: usize| match place {
            0 => first.to_owned(),
            place => format!("tool{place}"),
        };
        (0..100).map(|place| page(place, &name(place))).collect()
    };
    let (pages, others) = (pages("tool0"), pages("another"));
    let mut replies = vec![Some(json(200, DISCOVERED))];
    replies.extend(pages.iter().map(|page| Some(json(200, page))));
    let (asked, found) = probed(&replies);
    assert_eq!(asked.len(), 1 + MAX_PAGES);
    let tools = found.tools.unwrap();
    assert_eq!(tools.len(), MAX_PAGES);
    replies[1] = Some(json(200, &others[0]));
    let other = probed(&replies).1.tools.unwrap();
    assert_ne!(tools.digest(), other.digest());
}

/// The tools of a peer that lists these names.
fn listed(names: &[&str]) -> ToolList {
    let tools: Vec<_> = names.iter().map(|name| json!({"name": name})).collect();
    let (mut probe, _) = Probe::begin(1);
    let answers = [
        json!({"jsonrpc": "2.0", "id": 1, "result": {"supportedVersions": [MODERN]}}),
        json!({"jsonrpc": "2.0", "id": 2, "result": {"tools": tools}}),
    ];
    let mut step = None;
    for (answer, id) in answers.iter().zip(2..) {
        let body = answer.to_string();
        let reply = HttpReply {
            status: 200,
            session: None,
            body: body.as_bytes(),
        };
        step = Some(probe.hear(Some(&reply), id));
    }
    match step {
        Some(ProbeStep::Found(profile)) => profile.tools.unwrap(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn tools_of_a_peer_are_matched_by_their_words() {
    let of_a_player = listed(&[
        "receive_game_invitation",
        "make_parity_choice",
        "receive_match_result",
        "on_round_start",
        "on_round_end",
        "receive_standings",
        "league_finished",
        "get_history",
    ]);
    for (ours, theirs) in [
        ("handle_game_invitation", Some("receive_game_invitation")),
        ("choose_parity", Some("make_parity_choice")),
        ("choose_move", Some("make_parity_choice")),
        ("notify_match_result", Some("receive_match_result")),
        ("notify_round", Some("on_round_start")),
        ("notify_round_completed", Some("on_round_end")),
        ("update_standings", Some("receive_standings")),
        ("notify_league_completed", Some("league_finished")),
        ("notify_game_error", None),
        ("register_player", None),
    ] {
        let found = of_a_player.offered(ours).map(|(name, _)| name);
        assert_eq!(found, theirs, "{ours}");
    }
    let exact = listed(&[
        "choose_parity",
        "make_choice",
        "handle_invitation",
        "join_invitation",
    ]);
    assert_eq!(exact.offered("choose_parity").unwrap().0, "choose_parity");
    assert!(exact.offered("handle_game_invitation").is_none(), "two fit");
    let camel = listed(&["handleGameInvitation", "chooseMove", "parity_history"]);
    assert_eq!(
        camel.offered("handle_game_invitation").unwrap().0,
        "handleGameInvitation"
    );
    assert_eq!(camel.offered("choose_parity").unwrap().0, "chooseMove");
}
