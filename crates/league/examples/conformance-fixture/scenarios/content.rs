//! Constant results, resources and prompts.

use rmcp::model::{
    AudioContent, CallToolResult, ContentBlock, GetPromptResult, ImageContent, JsonObject, Prompt,
    PromptArgument, PromptMessage, ReadResourceResult, Resource, ResourceContents,
    ResourceTemplate, Role,
};
use serde_json::{Value, json};

use super::said;

/// One red point, as PNG.
const IMAGE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAA\
                     AABJRU5ErkJggg==";
/// Silence, as WAV.
const SOUND: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";

/// The result of a tool without a conversation.
pub(crate) fn of(tool: &str) -> Option<CallToolResult> {
    Some(match tool {
        "test_simple_text" => said("This is a simple text response for testing."),
        "test_image_content" => CallToolResult::success(vec![image()]),
        "test_audio_content" => {
            let sound = ContentBlock::Audio(AudioContent::new(SOUND, "audio/wav"));
            CallToolResult::success(vec![sound])
        }
        "test_embedded_resource" => {
            let text = "This is an embedded resource content.";
            CallToolResult::success(vec![embedded(
                "test://embedded-resource",
                "text/plain",
                text,
            )])
        }
        "test_multiple_content_types" => {
            let text = json!({"test": "data", "value": 123}).to_string();
            CallToolResult::success(vec![
                ContentBlock::text("Multiple content types test:"),
                image(),
                embedded("test://mixed-content-resource", "application/json", &text),
            ])
        }
        "test_error_handling" => {
            let sentence = "This tool intentionally returns an error for testing";
            CallToolResult::error(vec![ContentBlock::text(sentence)])
        }
        _ => return None,
    })
}

pub(crate) fn resources() -> Vec<Resource> {
    let resource = |uri: &str, name: &str, kind: &str| {
        Resource::new(uri, name)
            .with_description("What the suite reads.")
            .with_mime_type(kind)
    };
    vec![
        resource("test://static-text", "text", "text/plain"),
        resource("test://static-binary", "image", "image/png"),
        resource("test://watched-resource", "watched", "text/plain"),
    ]
}

pub(crate) fn templates() -> Vec<ResourceTemplate> {
    let template = ResourceTemplate::new("test://template/{id}/data", "template")
        .with_description("What the suite reads under an id.")
        .with_mime_type("application/json");
    vec![template]
}

pub(crate) fn read(uri: &str) -> Option<ReadResourceResult> {
    let text = |text: &str, kind: &str| ResourceContents::text(text, uri).with_mime_type(kind);
    let content = match uri {
        "test://static-text" => text(
            "This is the content of the static text resource.",
            "text/plain",
        ),
        "test://watched-resource" => text("Nothing happens here.", "text/plain"),
        "test://static-binary" => ResourceContents::blob(IMAGE, uri).with_mime_type("image/png"),
        _ => {
            let id = uri
                .strip_prefix("test://template/")?
                .strip_suffix("/data")?;
            let about = format!("Data for ID: {id}");
            let found = json!({"id": id, "templateTest": true, "data": about});
            text(&found.to_string(), "application/json")
        }
    };
    Some(ReadResourceResult::new(vec![content]))
}

pub(crate) fn prompts() -> Vec<Prompt> {
    let prompt = |name: &str, arguments: &[&str]| {
        let arguments = arguments.iter().map(|&name| {
            PromptArgument::new(name)
                .with_description("What the suite fills in.")
                .with_required(true)
        });
        Prompt::new(
            name,
            Some("What the suite asks for."),
            Some(arguments.collect()),
        )
    };
    vec![
        prompt("test_simple_prompt", &[]),
        prompt("test_prompt_with_arguments", &["arg1", "arg2"]),
        prompt("test_prompt_with_embedded_resource", &["resourceUri"]),
        prompt("test_prompt_with_image", &[]),
        prompt("test_input_required_result_prompt", &[]),
    ]
}

pub(crate) fn prompt(name: &str, arguments: &JsonObject) -> Option<GetPromptResult> {
    let given = |name: &str| {
        arguments
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let user = |content| PromptMessage::new(Role::User, content);
    let text = |sentence: &str| user(ContentBlock::text(sentence));
    Some(GetPromptResult::new(match name {
        "test_simple_prompt" => vec![text("This is a simple prompt for testing.")],
        "test_prompt_with_arguments" => {
            let (first, second) = (given("arg1"), given("arg2"));
            let sentence = format!("Prompt with arguments: arg1='{first}', arg2='{second}'");
            vec![text(&sentence)]
        }
        "test_prompt_with_embedded_resource" => {
            let content = "Embedded resource content for testing.";
            vec![
                user(embedded(given("resourceUri"), "text/plain", content)),
                text("Please process the embedded resource above."),
            ]
        }
        "test_prompt_with_image" => vec![user(image()), text("Please analyze the image above.")],
        _ => return None,
    }))
}

fn image() -> ContentBlock {
    ContentBlock::Image(ImageContent::new(IMAGE, "image/png"))
}

fn embedded(uri: &str, kind: &str, text: &str) -> ContentBlock {
    ContentBlock::resource(ResourceContents::text(text, uri).with_mime_type(kind))
}
