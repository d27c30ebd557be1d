//! One endpoint of MCP: a message in, an answer out.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT, ALLOW, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue};
use http::{HeaderMap, Method};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use league_protocol::rpc::{self, Call, Era, Frame, Id, RpcError};
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::session::SessionManager;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};

use crate::direct::DirectCall;
use crate::handler::Handler;
use crate::offering::{BoxFuture, McpCaller, Offering, Origin};
use crate::wire;

#[derive(Clone)]
pub struct Mcp {
    /// Answers plain calls of tools, if there is one.
    offering: Option<Arc<dyn Offering>>,
    /// Who answers, as JSON.
    server: Arc<str>,
    /// Whether clients may hold sessions.
    sessions: bool,
    serve: Arc<ServeFn>,
}

type ServeFn =
    dyn Fn(http::Request<Full<Bytes>>) -> BoxFuture<'static, http::Response<Events>> + Send + Sync;

/// Server-sent events, as they come.
pub type Events = BoxBody<Bytes, Infallible>;

/// The headers of a request and the origin of its sender.
#[derive(Debug, Clone, Default)]
pub struct RequestHead {
    pub headers: HeaderMap,
    pub origin: Origin,
}

/// An HTTP response.
#[derive(Debug)]
pub struct McpResponse {
    pub status: u16,
    /// Headers beside those that every answer has.
    pub headers: HeaderMap,
    pub body: ResponseBody,
}

#[derive(Debug)]
pub enum ResponseBody {
    /// JSON; nothing for a status that has no body.
    Whole(Bytes),
    /// Server-sent events.
    Events(Events),
}

impl Mcp {
    /// Serves what an agent has to offer: without sessions, each answer one piece of JSON.
    pub fn new(offering: Arc<dyn Offering>) -> Self {
        let about = offering.about();
        let server = serde_json::json!({
            "name": about.name, "title": about.title, "version": about.version,
        });
        let handler = Arc::new(Handler::new(Arc::clone(&offering)));
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true);
        Self {
            offering: Some(offering),
            server: server.to_string().into(),
            sessions: false,
            serve: serving(handler, NeverSessionManager::default(), config),
        }
    }

    /// Serves a handler of `rmcp` with sessions, and in events where it has more than one to tell.
    #[cfg(feature = "sessions")]
    pub fn with_sessions(handler: impl ServerHandler) -> Self {
        use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
        let config = StreamableHttpServerConfig::default().with_json_response(true);
        Self {
            offering: None,
            server: "{}".into(),
            sessions: true,
            serve: serving(Arc::new(handler), LocalSessionManager::default(), config),
        }
    }

    /// Answers a message that was posted, by the rules of its era.
    pub async fn answer(&self, head: &RequestHead, era: Era, frame: &Frame<'_>) -> McpResponse {
        match frame {
            Frame::Call(call) => match self.direct(head, era, call).await {
                Some(body) => McpResponse::json(200, body),
                None => self.relay(head, era, frame, Some(&call.id)).await,
            },
            Frame::Notification(_) => self.relay(head, era, frame, None).await,
            Frame::Response(_) if self.sessions => self.relay(head, era, frame, None).await,
            Frame::Response(_) => {
                let error = RpcError::unasked_response();
                McpResponse::json(400, rpc::fail(None, &error, era).into())
            }
            Frame::Malformed(malformed) => {
                McpResponse::json(malformed.status(era).code(), malformed.answer(era).into())
            }
        }
    }

    /// Answers `GET` and `DELETE`, of which only sessions know.
    pub async fn answer_other(&self, method: Method, head: &RequestHead) -> McpResponse {
        if self.sessions {
            return self
                .pass(method, head, Bytes::new(), Era::Legacy, None)
                .await;
        }
        let message = "This endpoint has no sessions and no stream of its own. Use `POST`.";
        let error = RpcError::invalid_request(message);
        let mut refused = McpResponse::json(405, rpc::fail(None, &error, Era::Simple).into());
        refused
            .headers
            .insert(ALLOW, HeaderValue::from_static("POST"));
        refused
    }

    /// Answers a plain call of a tool that there is.
    async fn direct(&self, head: &RequestHead, era: Era, call: &Call<'_>) -> Option<Bytes> {
        let offering = self.offering.as_ref()?;
        let plain = DirectCall::of(&head.headers, era, call)?;
        let calling = offering.call(&plain.tool, plain.arguments, head.caller());
        let given = calling.await?;
        Some(plain.answer(&call.id, &given, &self.server))
    }

    async fn relay(
        &self,
        head: &RequestHead,
        era: Era,
        frame: &Frame<'_>,
        id: Option<&Id<'_>>,
    ) -> McpResponse {
        if let Some(why) = wire::ambiguous(frame) {
            let error = RpcError::invalid_params(format!("Not readable: {why}."));
            return McpResponse::json(400, rpc::fail(id, &error, era).into());
        }
        match wire::written(frame) {
            Some(body) => self.pass(Method::POST, head, body, era, id).await,
            None => {
                let error = RpcError::unasked_response();
                McpResponse::json(400, rpc::fail(id, &error, era).into())
            }
        }
    }

    async fn pass(
        &self,
        method: Method,
        head: &RequestHead,
        body: Bytes,
        era: Era,
        id: Option<&Id<'_>>,
    ) -> McpResponse {
        let accepted = match method {
            Method::GET => "text/event-stream",
            // A client that accepts only JSON gets only JSON, so it need not ask for both.
            _ => "application/json, text/event-stream",
        };
        let mut request = http::Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.headers_mut() = head.headers.clone();
        // `rmcp` answers in another task, which sees only the extensions.
        request.extensions_mut().insert(head.origin);
        let set = request.headers_mut();
        // The HTTP server has checked the host, and a pipe has none.
        set.insert(HOST, HeaderValue::from_static("localhost"));
        set.insert(ACCEPT, HeaderValue::from_static(accepted));
        set.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let (parts, body) = (self.serve)(request).await.into_parts();
        McpResponse::of(parts, body, era, id).await
    }
}

impl RequestHead {
    /// Finds the token that `Authorization: Bearer` holds.
    pub fn bearer(&self) -> Option<&str> {
        bearer(&self.headers)
    }

    fn caller(&self) -> McpCaller {
        caller(&self.headers, self.origin)
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

pub(crate) fn caller(headers: &HeaderMap, origin: Origin) -> McpCaller {
    let bearer = bearer(headers).map(str::to_owned);
    McpCaller { bearer, origin }
}

impl McpResponse {
    fn json(status: u16, body: Bytes) -> Self {
        Self {
            status,
            headers: HeaderMap::new(),
            body: ResponseBody::Whole(body),
        }
    }

    /// Takes an answer of `rmcp`; one in plain text becomes an error of JSON-RPC.
    async fn of(parts: http::response::Parts, body: Events, era: Era, id: Option<&Id<'_>>) -> Self {
        let status = parts.status.as_u16();
        let of_type = |wanted: &str| {
            let found = parts.headers.get(CONTENT_TYPE);
            found.is_some_and(|found| found.as_bytes().starts_with(wanted.as_bytes()))
        };
        let body = if of_type("text/event-stream") {
            ResponseBody::Events(body)
        } else {
            // The body is in memory already, and cannot fail.
            let whole = body.collect().await.unwrap_or_default().to_bytes();
            ResponseBody::Whole(if whole.is_empty() {
                whole
            } else {
                wire::addressed(&whole, id, era)
            })
        };
        let mut headers = HeaderMap::new();
        for name in ["mcp-session-id", "allow"] {
            if let Some(value) = parts.headers.get(name) {
                headers.insert(name, value.clone());
            }
        }
        Self {
            status,
            headers,
            body,
        }
    }
}

/// Who may call, and what for, was settled at the door.
fn serving(
    handler: Arc<impl ServerHandler>,
    sessions: impl SessionManager,
    config: StreamableHttpServerConfig,
) -> Arc<ServeFn> {
    let config = config.disable_allowed_hosts().disable_allowed_origins();
    let service =
        StreamableHttpService::new(move || Ok(Arc::clone(&handler)), Arc::new(sessions), config);
    Arc::new(move |request| {
        let service = service.clone();
        Box::pin(async move { service.handle(request).await })
    })
}
