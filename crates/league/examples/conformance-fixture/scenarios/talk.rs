//! Tools that talk to the client while they run: notices, progress, questions of the old way.
#![expect(
    deprecated,
    reason = "the suite still asks for logging and sampling, which later revisions drop"
)]

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    CallToolResult, ContentBlock, CreateMessageRequestParams, ElicitRequestParams, ErrorData,
    JsonObject, LoggingLevel, LoggingMessageNotificationParam, ProgressNotificationParam,
    SamplingMessage,
};
use rmcp::service::RequestContext;
use serde_json::{Value, json};

use super::said;

/// How long a tool takes between two things that it tells.
const PAUSE: Duration = Duration::from_millis(50);

/// Runs one of them.
pub(crate) async fn tool(
    name: &str,
    arguments: &JsonObject,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResult, ErrorData> {
    let given = |name: &str| {
        arguments
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    match name {
        "test_tool_with_logging" | "test_logging_tool" => Ok(log(context).await),
        "test_tool_with_progress" => Ok(progress(context).await),
        "test_sampling" => Ok(sample(given("prompt"), context).await),
        "test_elicitation" => elicit(given("message"), &person(), context).await,
        "test_elicitation_sep1034_defaults" => {
            elicit("All of these have defaults.", &defaults(), context).await
        }
        "test_elicitation_sep1330_enums" => elicit("Choose.", &choices(), context).await,
        _ => Err(ErrorData::invalid_params("there is no such tool", None)),
    }
}

/// Logs, unless the client had to ask for it and did not.
async fn log(context: &RequestContext<RoleServer>) -> CallToolResult {
    let modern = context.meta.protocol_version().is_some();
    let wanted = !modern || context.meta.log_level().is_some();
    let told = [
        "Tool execution started",
        "Tool processing data",
        "Tool execution completed",
    ];
    for sentence in told.iter().filter(|_| wanted) {
        let notice = LoggingMessageNotificationParam::new(LoggingLevel::Info, json!(sentence));
        // The client may have gone.
        let _ = context.peer.notify_logging_message(notice).await;
        tokio::time::sleep(PAUSE).await;
    }
    said("All of it was logged.")
}

async fn progress(context: &RequestContext<RoleServer>) -> CallToolResult {
    let token = context.meta.get_progress_token();
    for step in [0.0, 50.0, 100.0] {
        if let Some(token) = &token {
            let notice = ProgressNotificationParam::new(token.clone(), step).with_total(100.0);
            // The client may have gone.
            let _ = context.peer.notify_progress(notice).await;
        }
        tokio::time::sleep(PAUSE).await;
    }
    said("All steps are done.")
}

async fn sample(prompt: &str, context: &RequestContext<RoleServer>) -> CallToolResult {
    let messages = vec![SamplingMessage::user_text(prompt)];
    let asked = CreateMessageRequestParams::new(messages, 100);
    match context.peer.create_message(asked).await {
        Ok(answer) => {
            let text = answer
                .message
                .content
                .first()
                .and_then(|content| content.as_text());
            let text = text.map(|text| text.text.clone()).unwrap_or_default();
            said(format!("LLM response: {text}"))
        }
        Err(error) => failed(&error.to_string()),
    }
}

async fn elicit(
    message: &str,
    schema: &Value,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResult, ErrorData> {
    let asked = json!({"mode": "form", "message": message, "requestedSchema": schema});
    let asked: ElicitRequestParams = serde_json::from_value(asked)
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    Ok(match context.peer.create_elicitation(asked).await {
        Ok(answer) => {
            let action = serde_json::to_value(&answer.action).unwrap_or_default();
            let action = action.as_str().unwrap_or_default().to_owned();
            let content = json!(answer.content);
            said(format!(
                "Elicitation completed: action={action}, content={content}"
            ))
        }
        Err(error) => failed(&error.to_string()),
    })
}

fn failed(why: &str) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(why)])
}

fn person() -> Value {
    json!({
        "type": "object",
        "properties": {
            "username": {"type": "string", "description": "User's response"},
            "email": {"type": "string", "description": "User's email address"},
        },
        "required": ["username", "email"],
    })
}

fn defaults() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "default": "John Doe"},
            "age": {"type": "integer", "default": 30},
            "score": {"type": "number", "default": 95.5},
            "status": {
                "type": "string",
                "enum": ["active", "inactive", "pending"],
                "default": "active",
            },
            "verified": {"type": "boolean", "default": true},
        },
        "required": [],
    })
}

fn choices() -> Value {
    let titled = |word: &str| {
        let titles = ["First", "Second", "Third"].iter().zip(1..);
        let each = titles.map(|(title, number)| {
            json!({"const": format!("value{number}"), "title": format!("{title} {word}")})
        });
        each.collect::<Vec<Value>>()
    };
    let plain = ["option1", "option2", "option3"];
    json!({
        "type": "object",
        "properties": {
            "untitledSingle": {"type": "string", "enum": plain},
            "titledSingle": {"type": "string", "oneOf": titled("Option")},
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
            "titledMulti": {"type": "array", "items": {"anyOf": titled("Choice")}},
        },
        "required": [],
    })
}
