//! What agents offer over MCP: every tool, and what can be read of a league that was played.

use serde_json::{Value, json};

use crate::end_to_end::ground::Ground;
use crate::end_to_end::http::request;
use crate::end_to_end::process::league;

/// Calls a method of MCP, and gives the whole answer.
pub(crate) fn ask(endpoint: &str, method: &str, params: &Value) -> Value {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let answer = request(endpoint, "POST", "/mcp", body.to_string().as_bytes());
    answer.json()
}

/// Reads a resource.
pub(crate) fn read(endpoint: &str, uri: &str) -> Value {
    let answer = ask(endpoint, "resources/read", &json!({"uri": uri}));
    let text = answer["result"]["contents"][0]["text"].as_str();
    serde_json::from_str(text.unwrap_or_else(|| panic!("{uri}: {answer}"))).unwrap()
}

#[test]
fn every_tool_is_listed_and_answers_by_its_schema() {
    let ground = Ground::new();
    let manager = ground.manager(&[]);
    let referee = ground.referee(1, &manager.endpoint, &[]);
    let player = ground.player(1, &manager.endpoint, &[]);
    for (agent, count) in [(&manager, 11), (&referee, 10), (&player, 11)] {
        let agent = agent.endpoint.as_str();
        let listed = ask(agent, "tools/list", &json!({}));
        let tools = listed["result"]["tools"].as_array().unwrap();
        assert_eq!(tools.len(), count);
        assert_eq!(
            listed,
            ask(agent, "tools/list", &json!({})),
            "the order changes"
        );
        for tool in tools {
            let name = tool["name"].as_str().unwrap();
            let fits = |letter: char| letter.is_ascii_lowercase() || letter == '_';
            assert!(name.chars().all(fits) && name.len() <= 64, "{name}");
            assert!(
                !["ping", "initialize"].contains(&name),
                "{name} is a method of MCP"
            );
            assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
            assert!(
                tool["inputSchema"].get("additionalProperties").is_none(),
                "{tool}"
            );
            let called = json!({"name": name, "arguments": {}});
            let answer = ask(agent, "tools/call", &called);
            let given = &answer["result"]["structuredContent"];
            let schema = jsonschema::validator_for(&tool["outputSchema"]).unwrap();
            assert!(
                schema.is_valid(given),
                "{name}: {given} is not as {tool} says"
            );
        }
    }
}

#[test]
fn non_idempotent_tool_is_not_marked_idempotent() {
    let ground = Ground::new();
    let manager = ground.manager(&[]);
    let listed = ask(&manager.endpoint, "tools/list", &json!({}));
    for tool in listed["result"]["tools"].as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        let changing = ["register_referee", "register_player", "start_league"];
        let again = changing.contains(&name) || name == "admin";
        assert_eq!(tool["annotations"]["idempotentHint"], !again, "{tool}");
    }
}

#[test]
fn played_league_is_readable_as_resources_and_prompts() {
    let ground = Ground::new();
    let played = ["run", "--ports", "auto", "--root", ground.root(), "-q"];
    assert_eq!(league(played).code, Some(0));
    let agent = ground.manager(&[]);
    let manager = agent.endpoint.as_str();

    let standings = read(manager, "league://standings");
    assert_eq!(
        standings["standings"].as_array().unwrap().len(),
        4,
        "{standings}"
    );
    let schedule = read(manager, "league://schedule");
    assert_eq!(schedule["total_rounds"], 3, "{schedule}");
    assert_eq!(
        read(manager, "league://rounds")["rounds"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
    assert_eq!(read(manager, "league://config")["game_type"], "even_odd");
    assert!(
        !read(manager, "log://self")["lines"]
            .as_array()
            .unwrap()
            .is_empty()
    );
    let transcript = read(manager, "match://R1M1/transcript");
    assert!(transcript["result"].is_object(), "{transcript}");
    assert!(
        !transcript["transcript"].as_array().unwrap().is_empty(),
        "{transcript}"
    );
    for absent in [
        "match://R9M9/transcript",
        "match://../transcript",
        "league://secrets",
    ] {
        let answer = ask(manager, "resources/read", &json!({"uri": absent}));
        assert_eq!(answer["error"]["code"], -32002, "{absent}: {answer}");
    }

    let about = json!({"name": "explain_result", "arguments": {"match_id": "R1M1"}});
    let prompt = ask(manager, "prompts/get", &about);
    let text = prompt["result"]["messages"][0]["content"]["text"]
        .as_str()
        .unwrap();
    assert!(text.contains("\"match_id\":\"R1M1\""), "{text}");
    let wanted = json!({
        "ref": {"type": "ref/resource", "uri": "match://{match_id}/transcript"},
        "argument": {"name": "match_id", "value": "R2"},
    });
    let completed = ask(manager, "completion/complete", &wanted);
    let values = &completed["result"]["completion"]["values"];
    assert_eq!(*values, json!(["R2M1", "R2M2"]), "{completed}");
}
