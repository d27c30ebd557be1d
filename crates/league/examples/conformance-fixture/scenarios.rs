//! The tools, resources and prompts that the official conformance suite wants to find.
//!
//! Nothing of this belongs to an agent. It stands behind the same door and the same [`Mcp`] as an
//! agent, so that what the suite says of it holds for the way by which agents are reached.
#![expect(
    deprecated,
    reason = "the suite still asks for logging, sampling and roots, which later revisions drop"
)]

mod content;
mod rounds;
mod talk;

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities,
    CompleteRequestParams, CompleteResult, CompletionInfo, ContentBlock, ErrorData,
    GetPromptRequestParams, GetPromptResponse, Implementation, JsonObject, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig,
    SetLevelRequestParams, SubscribeRequestParams, Tool, UnsubscribeRequestParams,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde_json::{Value, json};

use league_mcp::Mcp;

/// Serves the fixture, with sessions for clients that begin with a handshake.
pub(crate) fn mcp() -> Mcp {
    Mcp::with_sessions(ConformanceServer::default())
}

/// Every tool of the fixture.
const TOOLS: [&str; 24] = [
    "test_simple_text",
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_error_handling",
    "test_tool_with_logging",
    "test_tool_with_progress",
    "test_sampling",
    "test_elicitation",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
    "test_missing_capability",
    "test_streaming_elicitation",
    "test_logging_tool",
    "test_input_required_result_elicitation",
    "test_input_required_result_sampling",
    "test_input_required_result_list_roots",
    "test_input_required_result_request_state",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_multi_round",
    "test_input_required_result_tampered_state",
    "test_input_required_result_capabilities",
    "json_schema_2020_12_tool",
];

#[derive(Default)]
struct ConformanceServer {
    subscribed: Mutex<BTreeSet<String>>,
}

impl ServerHandler for ConformanceServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_prompts()
            .enable_completions()
            .enable_logging()
            .build();
        ServerConfig::new(capabilities).with_server_info(Implementation::new(
            "league-fixture",
            env!("CARGO_PKG_VERSION"),
        ))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = TOOLS.iter().map(|&name| tool(name));
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if let Some(content) = content::of(&request.name) {
            return Ok(content.into());
        }
        if request.name.starts_with("test_input_required_result_") {
            let state = request.request_state.as_deref();
            let given = request.input_responses.unwrap_or_default();
            return rounds::tool(&request.name, &given, state, &context);
        }
        let arguments = request.arguments.unwrap_or_default();
        match &*request.name {
            "test_missing_capability" => require(&context, "sampling"),
            "test_streaming_elicitation" => rounds::elicitation(&Default::default()),
            "json_schema_2020_12_tool" => Ok(said("ok").into()),
            name => talk::tool(name, &arguments, &context).await.map(Into::into),
        }
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(content::resources()))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(
            content::templates(),
        ))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        content::read(&request.uri).map(Into::into).ok_or_else(|| {
            let data = json!({"uri": request.uri});
            ErrorData::resource_not_found("there is no such resource", Some(data))
        })
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let mut subscribed = self
            .subscribed
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        subscribed.insert(request.uri);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let mut subscribed = self
            .subscribed
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        subscribed.remove(&request.uri);
        Ok(())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(content::prompts()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        if request.name == "test_input_required_result_prompt" {
            return rounds::prompt(&request.input_responses.unwrap_or_default());
        }
        let arguments = request.arguments.unwrap_or_default();
        let prompt = content::prompt(&request.name, &arguments);
        let unknown = || ErrorData::invalid_params("there is no such prompt", None);
        prompt.map(Into::into).ok_or_else(unknown)
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let words = ["paris", "park", "party"].map(str::to_owned).into_iter();
        let fitting = words.filter(|word| word.starts_with(&request.argument.value));
        let completion = CompletionInfo::with_all_values(fitting.collect());
        let completion = completion.map_err(|why| ErrorData::internal_error(why, None))?;
        Ok(CompleteResult::new(completion))
    }

    async fn set_level(
        &self,
        _: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }
}

fn tool(name: &'static str) -> Tool {
    let schema = match name {
        "test_sampling" => wanting("prompt"),
        "test_elicitation" => wanting("message"),
        "json_schema_2020_12_tool" => json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "$defs": {"address": {
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            }},
            "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
            "additionalProperties": false,
        }),
        _ => json!({"type": "object", "properties": {}}),
    };
    Tool::new(
        name,
        format!("Does what the scenario of `{name}` asks for."),
        members(schema),
    )
}

fn wanting(argument: &str) -> Value {
    json!({
        "type": "object",
        "properties": {argument: {"type": "string"}},
        "required": [argument],
    })
}

fn members(value: Value) -> JsonObject {
    match value {
        Value::Object(members) => members,
        _ => JsonObject::new(),
    }
}

/// A result of one sentence.
fn said(sentence: impl Into<String>) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(sentence)])
}

/// Refuses a client without the needed capability.
fn require(
    context: &RequestContext<RoleServer>,
    capability: &str,
) -> Result<CallToolResponse, ErrorData> {
    let declared = context.client_capabilities().unwrap_or_default();
    let declared = serde_json::to_value(declared).unwrap_or_default();
    if declared.get(capability).is_some() {
        return Ok(said("the capability is there").into());
    }
    let needed: ClientCapabilities =
        serde_json::from_value(json!({capability: {}})).unwrap_or_default();
    Err(ErrorData::missing_required_client_capability(needed))
}
