use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderName, StatusCode};
use payments_model::mask;
use payments_model::unversioned::Envelope;

use super::body_form::BodyForm;
use super::received::Received;
use super::retry_after::retry_after;
use super::secrets::Secrets;
use super::snippet::Snippet;

/// The parts of every response that are kept. The texts are masked.
#[derive(Clone)]
pub(crate) struct Metadata {
    pub(crate) http_status: StatusCode,
    /// The pause that `Retry-After` asks for, if it can be computed.
    pub(crate) retry_after: Option<Duration>,
    pub(crate) request_id: Option<String>,
    pub(crate) status_code: Option<String>,
    pub(crate) message: Option<String>,
    pub(crate) snippet: Snippet,
    /// The `Debug` of the value in both forms, masked when it was read, if it shows a secret: no secret is kept for later.
    debug: Option<Arc<[String; 2]>>,
}

impl Metadata {
    /// What is kept of the response. `value` was read from it.
    pub(crate) fn new(received: &Received<'_>, value: &dyn fmt::Debug) -> Self {
        let Received { response, form, envelope, facts, secrets, .. } = received;
        let repeats_secrets = received.repeats_secrets;
        // A receipt repeats the id of its request.
        let may_show =
            repeats_secrets || facts.transaction_id.is_some_and(|id| secrets.are_masked_in(id.as_str()));
        let none = Secrets::default();
        let of_body = if repeats_secrets { secrets } else { &none };
        let status_code = envelope.as_ref().and_then(Envelope::status_code_text);
        let message = envelope.as_ref().and_then(Envelope::message);
        Self {
            http_status: response.status(),
            retry_after: retry_after(response.headers()),
            request_id: request_id(response.headers(), secrets),
            status_code: status_code.map(|code| of_body.mask_code(code.trim_matches('"'), MAX_TEXT_BYTES)),
            message: message.map(|message| {
                // Any other can have a secret that the body does not repeat, or end with half of one.
                let secrets = if message.is_as_sent() { of_body } else { secrets };
                secrets.mask_message(&message, MAX_TEXT_BYTES)
            }),
            snippet: Snippet::new(response.body(), *form == BodyForm::Cut, repeats_secrets, secrets),
            debug: may_show.then(|| secrets.masked_debug(value)).flatten(),
        }
    }

    /// The `Debug` of the value that was read from the response.
    pub(crate) fn shown<'a>(&'a self, value: &'a dyn fmt::Debug) -> impl fmt::Debug + 'a {
        Shown { value, masked: self.debug.as_deref() }
    }
}

impl fmt::Debug for Metadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { http_status, retry_after, request_id, status_code, message, snippet, debug: _ } = self;
        f.debug_struct("Metadata")
            .field("http_status", http_status)
            .field("status_code", status_code)
            .field("message", message)
            .field("retry_after", retry_after)
            .field("request_id", request_id)
            .field("snippet", snippet)
            .finish()
    }
}

struct Shown<'a> {
    value: &'a dyn fmt::Debug,
    masked: Option<&'a [String; 2]>,
}

impl fmt::Debug for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { value, masked } = self;
        match masked {
            Some(forms) => f.write_str(&forms[usize::from(f.alternate())]),
            // Card-like numbers are masked too.
            None if f.alternate() => f.write_str(&mask(&format!("{value:#?}"), &[])),
            None => f.write_str(&mask(&format!("{value:?}"), &[])),
        }
    }
}

/// Enough for a sentence. A longer text, such as a whole page, is cut.
const MAX_TEXT_BYTES: usize = 1024;

/// The interface names no such header. Services and their proxies use these names; the first that is present counts.
const REQUEST_ID_HEADERS: [HeaderName; 3] = [
    HeaderName::from_static("x-request-id"),
    HeaderName::from_static("request-id"),
    HeaderName::from_static("x-correlation-id"),
];

fn request_id(headers: &HeaderMap, secrets: &Secrets<'_>) -> Option<String> {
    let id = REQUEST_ID_HEADERS.iter().find_map(|name| headers.get(name))?.to_str().ok()?;
    let is_an_id = id.len() <= 200
        && id.bytes().all(|byte| byte.is_ascii_graphic())
        && !secrets.are_in(id)
        && mask(id, &[]) == id;
    is_an_id.then(|| id.to_owned())
}
