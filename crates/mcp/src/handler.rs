//! What an agent offers, in the words of `rmcp`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams,
    CompleteResult, CompletionInfo, CustomRequest, CustomResult, DiscoverResult, ErrorCode,
    ErrorData, GetPromptRequestParams, GetPromptResponse, GetPromptResult, Implementation,
    JsonObject, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, Prompt, PromptArgument, PromptMessage,
    ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
    Reference, Resource, ResourceContents, ResourceTemplate, Role, ServerCapabilities,
    ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde_json::{Value, json};

use crate::offering::{self, Completing, McpCaller, Offering, Origin, PromptFault};
use crate::service::caller;
use crate::{LEGACY, MODERN};

/// How long a list may be taken for the present one, in milliseconds: they change with the program.
const LISTS_STAY: u64 = 60_000;

/// The methods of MCP that we serve in every era and that may have parameters.
const WITH_PARAMETERS: [&str; 7] = [
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/read",
    "prompts/list",
    "prompts/get",
    "completion/complete",
];

/// An offering, with its constant parts prepared once.
pub(crate) struct Handler {
    offering: Arc<dyn Offering>,
    info: ServerConfig,
    versions: Vec<ProtocolVersion>,
}

impl Handler {
    pub(crate) fn new(offering: Arc<dyn Offering>) -> Self {
        let info = info(offering.about());
        let served = LEGACY.iter().rev().chain([&MODERN]);
        let known = ProtocolVersion::KNOWN_VERSIONS.iter();
        let versions = known.filter(|known| served.clone().any(|served| *served == known.as_str()));
        let versions = versions.cloned().collect();
        Self {
            offering,
            info,
            versions,
        }
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        self.info.clone()
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Owned(self.versions.clone())
    }

    async fn discover(&self, _: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let found = DiscoverResult::from_server_info(self.versions.clone(), self.info.clone());
        Ok(found
            .with_ttl_ms(LISTS_STAY)
            .with_cache_scope(CacheScope::Public))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let all = ListToolsResult::with_all_items(self.offering.tools().iter().map(tool).collect());
        Ok(all
            .with_ttl_ms(LISTS_STAY)
            .with_cache_scope(CacheScope::Public))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request
            .arguments
            .map(|given| serde_json::value::to_raw_value(&given));
        let arguments = arguments.and_then(Result::ok);
        let caller = called_by(&context);
        let calling = self
            .offering
            .call(&request.name, arguments.as_deref(), caller);
        let Some(given) = calling.await else {
            return Err(unknown("tool", &request.name));
        };
        let answer: Value = serde_json::from_str(given.answer.get()).unwrap_or_default();
        let result = if given.failed {
            CallToolResult::structured_error(answer)
        } else {
            CallToolResult::structured(answer)
        };
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resources = self.offering.resources().await;
        let all = resources.into_iter().map(resource).collect();
        let all = ListResourcesResult::with_all_items(all);
        Ok(all
            .with_ttl_ms(LISTS_STAY)
            .with_cache_scope(CacheScope::Public))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let all = self.offering.templates().iter().map(template).collect();
        let all = ListResourceTemplatesResult::with_all_items(all);
        Ok(all
            .with_ttl_ms(LISTS_STAY)
            .with_cache_scope(CacheScope::Public))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let read = self.offering.read(&request.uri, called_by(&context)).await;
        let Some(read) = read else {
            let data = json!({"uri": request.uri});
            return Err(ErrorData::resource_not_found(
                "there is no such resource",
                Some(data),
            ));
        };
        let content = ResourceContents::text(read.text, request.uri).with_mime_type(read.mime_type);
        let result = ReadResourceResult::new(vec![content]).with_ttl_ms(read.fresh_for);
        Ok(result.with_cache_scope(CacheScope::Private).into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let all = self.offering.prompts().iter().map(prompt).collect();
        let all = ListPromptsResult::with_all_items(all);
        Ok(all
            .with_ttl_ms(LISTS_STAY)
            .with_cache_scope(CacheScope::Public))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = texts(request.arguments.unwrap_or_default());
        match self.offering.prompt(&request.name, arguments).await {
            Ok(text) => {
                let message = PromptMessage::new_text(Role::User, text);
                Ok(GetPromptResult::new(vec![message]).into())
            }
            Err(PromptFault::Unknown) => Err(unknown("prompt", &request.name)),
            Err(PromptFault::Unfit(why)) => Err(ErrorData::invalid_params(why, None)),
        }
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let of = match request.r#ref {
            Reference::Resource(reference) => reference.uri,
            Reference::Prompt(reference) => reference.name,
            _ => return Ok(CompleteResult::default()),
        };
        let wanted = Completing {
            of,
            argument: request.argument.name,
            typed: request.argument.value,
        };
        let mut values = self.offering.complete(wanted).await;
        let total = u32::try_from(values.len()).ok();
        let more = values.len() > CompletionInfo::MAX_VALUES;
        values.truncate(CompletionInfo::MAX_VALUES);
        let completion = CompletionInfo::with_pagination(values, total, more);
        let completion = completion.map_err(|why| ErrorData::internal_error(why, None))?;
        Ok(CompleteResult::new(completion))
    }

    /// Requests that `rmcp` could not read: unknown methods, and MCP methods with wrong parameters.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method;
        if WITH_PARAMETERS.contains(&method.as_str()) {
            let why = format!("the parameters of `{method}` are not as MCP has them");
            return Err(ErrorData::invalid_params(why, None));
        }
        let why = format!("there is no method `{method}`");
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, why, None))
    }
}

fn called_by(context: &RequestContext<RoleServer>) -> McpCaller {
    let parts = context.extensions.get::<http::request::Parts>();
    let Some(parts) = parts else {
        return McpCaller::default();
    };
    let origin = parts.extensions.get::<Origin>();
    caller(&parts.headers, origin.copied().unwrap_or_default())
}

/// An error about a name that nothing has.
fn unknown(kind: &str, name: &str) -> ErrorData {
    let name: String = name.chars().take(64).collect();
    let message = format!("there is no {kind} `{}` here", name.escape_debug());
    ErrorData::invalid_params(message, None)
}

/// The arguments of a prompt, all of which are text.
fn texts(arguments: JsonObject) -> BTreeMap<String, String> {
    let text = |value: Value| match value {
        Value::String(text) => text,
        other => other.to_string(),
    };
    arguments
        .into_iter()
        .map(|(name, value)| (name, text(value)))
        .collect()
}

fn info(about: offering::About) -> ServerConfig {
    let capabilities = ServerCapabilities::builder()
        .enable_tools()
        .enable_resources()
        .enable_prompts()
        .enable_completions()
        .build();
    let mut server = Implementation::new(about.name, about.version);
    server.title = Some(about.title);
    ServerConfig::new(capabilities)
        .with_server_info(server)
        .with_instructions(about.instructions)
}

fn tool(tool: &offering::Tool) -> Tool {
    let annotations = ToolAnnotations::new()
        .read_only(tool.read_only)
        .destructive(false)
        .idempotent(tool.idempotent)
        .open_world(false);
    Tool::new(tool.name, tool.description, Arc::clone(&tool.input_schema))
        .with_title(tool.title)
        .with_raw_output_schema(Arc::clone(&tool.output_schema))
        .with_annotations(annotations)
}

fn resource(resource: offering::Resource) -> Resource {
    Resource::new(resource.uri, resource.name)
        .with_title(resource.title)
        .with_description(resource.description)
        .with_mime_type(resource.mime_type)
}

fn template(template: &offering::Template) -> ResourceTemplate {
    ResourceTemplate::new(template.pattern, template.name)
        .with_title(template.title)
        .with_description(template.description)
        .with_mime_type(template.mime_type)
}

fn prompt(prompt: &offering::Prompt) -> Prompt {
    let arguments = prompt.arguments.iter().map(|argument| {
        PromptArgument::new(argument.name)
            .with_description(argument.description)
            .with_required(argument.required)
    });
    Prompt::new(
        prompt.name,
        Some(prompt.description),
        Some(arguments.collect()),
    )
    .with_title(prompt.title)
}
