use std::borrow::Cow;
use std::fmt;
use std::sync::OnceLock;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use payments_model::Body;

use crate::retry_after::{RetryAfter, answered_at};
use crate::secrets::{KeptSecrets, Secrets};
use crate::snippet::Snippet;

/// What is kept of every answer, good or bad.
///
/// Its texts are scrubbed when somebody looks, so that the calls that nobody looks into do not pay for it.
#[derive(Clone)]
pub(crate) struct Metadata {
    pub(crate) http_status: StatusCode,
    pub(crate) retry_after: Option<RetryAfter>,
    /// The pause that `Retry-After` asks for, if it asks for one that can be told.
    pub(crate) pause: Option<Duration>,
    request_id: Option<HeaderValue>,
    status_code: Option<Unscrubbed>,
    message: Option<Unscrubbed>,
    snippet: Snippet,
    secrets: KeptSecrets,
}

impl Metadata {
    pub(crate) fn new(answer: &http::Response<Bytes>, body: &Body<'_>, secrets: &Secrets<'_>) -> Self {
        let (status_code, message) = match body {
            Body::Object(answer) => (answer.status_code_text().map(Cow::Borrowed), answer.message()),
            _ => (None, None),
        };
        let retry_after = RetryAfter::read(answer.headers());
        let keep = |text| Unscrubbed::new(text, answer.body());
        Self {
            http_status: answer.status(),
            retry_after,
            pause: retry_after.and_then(|retry_after| retry_after.pause(answered_at(answer.headers()))),
            request_id: request_id(answer.headers(), secrets),
            status_code: status_code.map(keep),
            message: message.map(keep),
            snippet: Snippet::new(answer.body(), secrets),
            secrets: secrets.keep(),
        }
    }

    pub(crate) fn status_code(&self) -> Option<&str> {
        let code = self.status_code.as_ref()?;
        Some(code.shown.get_or_init(|| self.secrets.clean_code(code.text().trim_matches('"'))))
    }

    pub(crate) fn message(&self) -> Option<&str> {
        let message = self.message.as_ref()?;
        Some(message.shown.get_or_init(|| self.secrets.clean_message(&message.text())))
    }

    pub(crate) fn request_id(&self) -> Option<&str> {
        self.request_id.as_ref().and_then(|id| id.to_str().ok())
    }

    pub(crate) fn body_snippet(&self) -> String {
        self.snippet.text(&self.secrets)
    }
}

impl fmt::Debug for Metadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            http_status,
            retry_after,
            pause,
            snippet,
            request_id: _,
            status_code: _,
            message: _,
            secrets: _,
        } = self;
        f.debug_struct("Metadata")
            .field("http_status", http_status)
            .field("status_code", &self.status_code())
            .field("message", &self.message())
            .field("retry_after", retry_after)
            .field("pause", pause)
            .field("request_id", &self.request_id())
            .field("snippet", snippet)
            .finish()
    }
}

/// A text of an answer, and what may be shown of it once somebody has asked.
#[derive(Clone)]
struct Unscrubbed {
    raw: Bytes,
    shown: OnceLock<String>,
}

impl Unscrubbed {
    fn new(text: Cow<'_, str>, body: &Bytes) -> Self {
        let raw = match text {
            Cow::Borrowed(text) if body.len() <= Snippet::KEPT_BYTES => body.slice_ref(text.as_bytes()),
            // Copied, so that a long body is not kept alive for a few words.
            text => Bytes::from(text.into_owned()),
        };
        Self { raw, shown: OnceLock::new() }
    }

    fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.raw)
    }
}

/// The interface names no such header. These are the names that services and the proxies before them use.
const REQUEST_ID_HEADERS: [HeaderName; 3] = [
    HeaderName::from_static("x-request-id"),
    HeaderName::from_static("request-id"),
    HeaderName::from_static("x-correlation-id"),
];

fn request_id(headers: &HeaderMap, secrets: &Secrets<'_>) -> Option<HeaderValue> {
    // One look at the few headers of an answer takes a fraction of three searches.
    let rank = |name| REQUEST_ID_HEADERS.iter().position(|known| known == name);
    let ids = headers.iter().filter_map(|(name, value)| Some((rank(name)?, value)));
    let (_, id) = ids.min_by_key(|(rank, _)| *rank)?;
    let text = id.to_str().ok()?;
    let is_an_id =
        text.len() <= 200 && text.bytes().all(|byte| byte.is_ascii_graphic()) && !secrets.are_in(text);
    is_an_id.then(|| id.clone())
}
