//! The origin of a call reaches the tool on every path.

use std::sync::Arc;

use league_mcp::{
    About, BoxFuture, Mcp, McpCaller, Offering, Origin, RequestHead, ResponseBody, Tool, ToolAnswer,
};
use league_protocol::rpc::{self, Era, Incoming};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

/// Offers one tool, which tells where it was called from.
struct OriginTool(Vec<Tool>);

impl Offering for OriginTool {
    fn about(&self) -> About {
        About {
            name: "telling".to_owned(),
            title: "Telling".to_owned(),
            version: "1.0.0".to_owned(),
            instructions: String::new(),
        }
    }

    fn tools(&self) -> &[Tool] {
        &self.0
    }

    fn call<'o>(
        &'o self,
        _tool: &'o str,
        _arguments: Option<&'o RawValue>,
        caller: McpCaller,
    ) -> BoxFuture<'o, Option<ToolAnswer>> {
        let told = json!({"origin": format!("{:?}", caller.origin)});
        let given = to_raw_value(&told).ok().map(|answer| ToolAnswer {
            answer,
            failed: false,
        });
        Box::pin(std::future::ready(given))
    }
}

fn telling() -> Mcp {
    let tool = Tool {
        name: "tell",
        title: "Tell",
        description: "Tells where it was called from.",
        input_schema: Arc::new(Map::from_iter([("type".to_owned(), "object".into())])),
        output_schema: Arc::new(Map::from_iter([("type".to_owned(), "object".into())])),
        read_only: true,
        idempotent: true,
    };
    Mcp::new(Arc::new(OriginTool(vec![tool])))
}

#[tokio::test]
async fn call_that_is_answered_in_a_task_of_its_own_is_known_by_its_origin_too() {
    let (from, at) = ([192, 0, 2, 20].into(), [192, 0, 2, 10].into());
    let mcp = telling();
    for origin in [Origin::Unknown, Origin::Pipe, Origin::Network { from, at }] {
        let head = RequestHead {
            origin,
            ..RequestHead::default()
        };
        for params in [
            json!({"name": "tell", "arguments": {}}),
            json!({"name": "tell", "arguments": {}, "extra": true}),
        ] {
            let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
            let call = call.to_string();
            let Incoming::Single(frame) = rpc::read(call.as_bytes(), Era::Legacy) else {
                panic!("{call}")
            };
            let answer = mcp.answer(&head, Era::Legacy, &frame).await;
            let ResponseBody::Whole(body) = answer.body else {
                panic!("{call}")
            };
            let answer: Value = serde_json::from_slice(&body).unwrap();
            let told = &answer["result"]["structuredContent"]["origin"];
            assert_eq!(*told, format!("{origin:?}"), "{call}: {answer}");
        }
    }
}
