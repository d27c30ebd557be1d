//! Results that ask the client back, in the modern way: in rounds, with nothing kept here.

use rmcp::RoleServer;
use rmcp::model::{
    CallToolResponse, ErrorData, GetPromptResponse, GetPromptResult, InputRequiredResult,
    InputResponses, PromptMessage, RequestStateCodec, Role,
};
use rmcp::service::RequestContext;
use serde_json::{Value, json};

use super::said;

/// Seals the state that travels with the client; not a secret, as nothing depends on it.
const SEAL: &[u8; 32] = b"the fixture has nothing to hide.";

/// Plays a round of a tool.
pub(crate) fn tool(
    name: &str,
    given: &InputResponses,
    state: Option<&str>,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    match name.trim_start_matches("test_input_required_result_") {
        "elicitation" => elicitation(given),
        "sampling" => once(given, "capital_question", sampling(), |answer| {
            format!("The answer was {}", answer["content"]["text"])
        }),
        "list_roots" => once(given, "client_roots", roots(), |answer| {
            format!("The roots are {}", answer["roots"])
        }),
        "request_state" | "tampered_state" => sealed(given, state),
        "multiple_inputs" => several(given, state),
        "multi_round" => in_steps(given, state),
        "capabilities" => by_capability(context),
        _ => Err(ErrorData::invalid_params("there is no such tool", None)),
    }
}

/// Asks for a name, and again until one comes.
pub(crate) fn elicitation(given: &InputResponses) -> Result<CallToolResponse, ErrorData> {
    let name = given
        .get("user_name")
        .map(|answer| &answer["content"]["name"]);
    match name.and_then(Value::as_str) {
        Some(name) => Ok(said(format!("Hello, {name}!")).into()),
        None => ask(
            json!({"user_name": form("What is your name?", "name", "string")}),
            None,
        ),
    }
}

/// Plays a round of the prompt that asks back.
pub(crate) fn prompt(given: &InputResponses) -> Result<GetPromptResponse, ErrorData> {
    let context = given
        .get("user_context")
        .map(|answer| &answer["content"]["context"]);
    match context.and_then(Value::as_str) {
        Some(context) => {
            let message = PromptMessage::new_text(Role::User, format!("Consider: {context}"));
            Ok(GetPromptResult::new(vec![message]).into())
        }
        None => {
            let question = form("What context should the prompt use?", "context", "string");
            Ok(required(json!({"user_context": question}), None)?.into())
        }
    }
}

fn once(
    given: &InputResponses,
    key: &str,
    question: Value,
    tell: impl Fn(&Value) -> String,
) -> Result<CallToolResponse, ErrorData> {
    match given.get(key) {
        Some(answer) => Ok(said(tell(answer)).into()),
        None => ask(json!({key: question}), None),
    }
}

fn sealed(given: &InputResponses, state: Option<&str>) -> Result<CallToolResponse, ErrorData> {
    match state {
        Some(state) => {
            open(state)?;
            Ok(said(format!("state-ok, {} answers", given.len())).into())
        }
        None => {
            let question = form("Please confirm", "ok", "boolean");
            ask(json!({"confirm": question}), Some("confirm"))
        }
    }
}

fn several(given: &InputResponses, state: Option<&str>) -> Result<CallToolResponse, ErrorData> {
    let keys = ["user_name", "greeting", "client_roots"];
    if let Some(state) = state
        && keys.iter().all(|key| given.contains_key(*key))
    {
        open(state)?;
        return Ok(said("All three came.").into());
    }
    let questions = json!({
        "user_name": form("What is your name?", "name", "string"),
        "greeting": sampling(),
        "client_roots": roots(),
    });
    ask(questions, Some("several"))
}

fn in_steps(given: &InputResponses, state: Option<&str>) -> Result<CallToolResponse, ErrorData> {
    let step = state.map(open).transpose()?;
    match step.as_deref() {
        Some("two") if given.contains_key("step2") => Ok(said("Both steps are done.").into()),
        Some("one") if given.contains_key("step1") => {
            let question = form("Step 2: What is your favorite color?", "color", "string");
            ask(json!({"step2": question}), Some("two"))
        }
        _ => {
            let question = form("Step 1: What is your name?", "name", "string");
            ask(json!({"step1": question}), Some("one"))
        }
    }
}

/// Asks only for inputs that the client declared.
fn by_capability(context: &RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
    let declared = context.client_capabilities().unwrap_or_default();
    let mut questions = json!({});
    if declared.elicitation.is_some() {
        questions["user_name"] = form("What is your name?", "name", "string");
    }
    let declared = serde_json::to_value(declared).unwrap_or_default();
    if declared.get("sampling").is_some() {
        questions["greeting"] = sampling();
    }
    ask(questions, None)
}

fn ask(questions: Value, state: Option<&str>) -> Result<CallToolResponse, ErrorData> {
    Ok(required(questions, state)?.into())
}

fn required(questions: Value, state: Option<&str>) -> Result<InputRequiredResult, ErrorData> {
    let mut result = json!({"resultType": "input_required", "inputRequests": questions});
    if let Some(state) = state {
        result["requestState"] = RequestStateCodec::new(SEAL).seal(state.as_bytes()).into();
    }
    serde_json::from_value(result)
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

fn open(state: &str) -> Result<String, ErrorData> {
    let opened = RequestStateCodec::new(SEAL).open(state);
    let text = opened.ok().and_then(|bytes| String::from_utf8(bytes).ok());
    text.ok_or_else(|| ErrorData::invalid_params("the state is not the one that was sent", None))
}

fn form(message: &str, field: &str, kind: &str) -> Value {
    json!({
        "method": "elicitation/create",
        "params": {
            "message": message,
            "requestedSchema": {
                "type": "object",
                "properties": {field: {"type": kind}},
                "required": [field],
            },
        },
    })
}

fn sampling() -> Value {
    let text = "What is the capital of France?";
    let message = json!({"role": "user", "content": {"type": "text", "text": text}});
    json!({
        "method": "sampling/createMessage",
        "params": {"messages": [message], "maxTokens": 100},
    })
}

fn roots() -> Value {
    json!({"method": "roots/list", "params": {}})
}
