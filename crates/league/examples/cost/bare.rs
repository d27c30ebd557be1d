//! The measure of all others: hyper, one body, one type, one answer.
//!
//! It checks nothing that parsing does not, and knows no limits: this is what nobody should put on
//! a network, and the least that serving a call can cost.

use std::convert::Infallible;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};

use crate::choice::{Choice, Invitation};

#[derive(Deserialize)]
#[expect(dead_code, reason = "reading the fields is what is measured")]
struct Call {
    jsonrpc: String,
    method: String,
    params: Invitation,
    id: Value,
}

#[derive(Serialize)]
struct Answer {
    jsonrpc: &'static str,
    result: Choice,
    id: Value,
}

/// Serves for as long as it is let.
pub(crate) async fn serve(listener: TcpListener) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(converse(stream));
    }
}

async fn converse(stream: TcpStream) {
    if stream.set_nodelay(true).is_ok() {
        // A peer that breaks the connection has nobody left to be told.
        let _ = http1::Builder::new()
            .serve_connection(TokioIo::new(stream), service_fn(answer))
            .await;
    }
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let body = request.into_body().collect().await;
    let body = body.map(|body| body.to_bytes()).unwrap_or_default();
    let answer = serde_json::from_slice(&body).and_then(|call: Call| {
        serde_json::to_vec(&Answer {
            jsonrpc: "2.0",
            result: call.params.into(),
            id: call.id,
        })
    });
    let mut response = Response::default();
    match answer {
        Ok(answer) => *response.body_mut() = Full::from(answer),
        Err(_) => *response.status_mut() = StatusCode::BAD_REQUEST,
    }
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    Ok(response)
}
