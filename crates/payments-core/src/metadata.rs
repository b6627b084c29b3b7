use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode};
use payments_model::Body;

use crate::retry_after::{RetryAfter, answered_at};
use crate::secrets::Secrets;
use crate::snippet::Snippet;

/// What is kept of every answer, good or bad.
#[derive(Clone, Debug)]
pub(crate) struct Metadata {
    pub(crate) http_status: StatusCode,
    pub(crate) status_code: Option<String>,
    pub(crate) message: Option<String>,
    pub(crate) retry_after: Option<RetryAfter>,
    /// The pause that `Retry-After` asks for, if it asks for one that can be told.
    pub(crate) pause: Option<Duration>,
    pub(crate) request_id: Option<HeaderValue>,
    snippet: Snippet,
}

impl Metadata {
    pub(crate) fn new(answer: &http::Response<Bytes>, body: &Body<'_>, secrets: &Secrets<'_>) -> Self {
        let (status_code, message) = match body {
            Body::Object(answer) => (answer.status_code_text(), answer.message()),
            _ => (None, None),
        };
        let retry_after = RetryAfter::read(answer.headers());
        Self {
            http_status: answer.status(),
            status_code: status_code.map(|json| secrets.clean_code(json.trim_matches('"'))),
            message: message.map(|text| secrets.clean(&text)),
            retry_after,
            pause: retry_after.and_then(|retry_after| retry_after.pause(answered_at(answer.headers()))),
            request_id: request_id(answer.headers(), secrets),
            snippet: Snippet::new(answer.body(), secrets),
        }
    }

    pub(crate) fn request_id(&self) -> Option<&str> {
        self.request_id.as_ref().and_then(|id| id.to_str().ok())
    }

    pub(crate) fn body_snippet(&self) -> String {
        self.snippet.text()
    }
}

/// The interface names no such header. These are the names that services and the proxies before them use.
const REQUEST_ID_HEADERS: [&str; 3] = ["x-request-id", "request-id", "x-correlation-id"];

fn request_id(headers: &HeaderMap, secrets: &Secrets<'_>) -> Option<HeaderValue> {
    let id = REQUEST_ID_HEADERS.iter().find_map(|name| headers.get(*name))?;
    let text = id.to_str().ok()?;
    let is_an_id =
        text.len() <= 200 && text.bytes().all(|byte| byte.is_ascii_graphic()) && !secrets.are_in(text);
    is_an_id.then(|| id.clone())
}
