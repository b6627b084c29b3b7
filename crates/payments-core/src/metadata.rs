use std::borrow::Cow;
use std::time::SystemTime;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode};
use payments_model::{Body, scrub};

use crate::retry_after::{RetryAfter, answered_at};
use crate::snippet::Snippet;

/// What is kept of every answer, good or bad.
#[derive(Clone, Debug)]
pub(crate) struct Metadata {
    pub(crate) http_status: StatusCode,
    pub(crate) status_code: Option<String>,
    pub(crate) message: Option<String>,
    pub(crate) retry_after: Option<RetryAfter>,
    pub(crate) answered_at: Option<SystemTime>,
    pub(crate) request_id: Option<HeaderValue>,
    snippet: Snippet,
}

impl Metadata {
    pub(crate) fn new(answer: &http::Response<Bytes>, body: &Body<'_>, secrets: &[&str]) -> Self {
        let (status_code, message) = match body {
            Body::Object(answer) => (answer.status_code_text(), answer.message()),
            _ => (None, None),
        };
        let clean = |text: &str| {
            let mut text = scrub(text, secrets);
            text.truncate(text.floor_char_boundary(MESSAGE_MAX_BYTES));
            text
        };
        Self {
            http_status: answer.status(),
            status_code: status_code.map(|json| clean(json.trim_matches('"'))),
            message: message.map(|text| clean(&text)),
            retry_after: RetryAfter::read(answer.headers()),
            answered_at: answered_at(answer.headers()),
            request_id: request_id(answer.headers()),
            snippet: Snippet::new(answer.body(), secrets),
        }
    }

    pub(crate) fn request_id(&self) -> Option<&str> {
        self.request_id.as_ref().and_then(|id| id.to_str().ok())
    }

    pub(crate) fn body_snippet(&self) -> Cow<'_, str> {
        self.snippet.text()
    }

    /// The pause that `Retry-After` asks for, if it asks for one that can be told.
    pub(crate) fn pause(&self) -> Option<std::time::Duration> {
        self.retry_after?.pause(self.answered_at)
    }
}

/// A message is a sentence; a body that puts a page there is cut.
const MESSAGE_MAX_BYTES: usize = 1024;

/// The interface names no such header. These are the names that services and the proxies before them use.
const REQUEST_ID_HEADERS: [&str; 3] = ["x-request-id", "request-id", "x-correlation-id"];

fn request_id(headers: &HeaderMap) -> Option<HeaderValue> {
    let printable =
        |value: &&HeaderValue| value.len() <= 200 && value.as_bytes().iter().all(u8::is_ascii_graphic);
    REQUEST_ID_HEADERS.iter().find_map(|name| headers.get(*name)).filter(printable).cloned()
}
