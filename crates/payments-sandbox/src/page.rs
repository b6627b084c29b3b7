//! The page at `/_sandbox/ui`, and the event stream that keeps it up to date.

use std::future::ready;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{StreamExt as _, once, unfold};
use http::Response;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use http_body_util::{BodyExt as _, Either, StreamBody};
use hyper::body::Frame;
use payments_fake::unversioned::OpenRecord;
use ring::rand::{SystemRandom, generate};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::timeout;

use crate::body::{Body, full};
use crate::shutdown::Shutdown;

const PAGE: &str = include_str!("../page.html");

/// The page. Only the script and the style with this response's nonce run, and no text in a record can guess the nonce. The
/// policy also forbids the page to turn any text into HTML.
pub(crate) fn page() -> Response<Body> {
    let random = generate(&SystemRandom::new()).expect("the system has random numbers");
    let nonce = format!("{:032x}", u128::from_ne_bytes(random.expose()));
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src data:; connect-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
         trusted-types 'none'"
    );
    let policy = HeaderValue::try_from(policy).expect("a policy is visible ASCII");
    let mut response = response("text/html; charset=utf-8", full(PAGE.replace("{nonce}", &nonce)));
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    response
}

fn response(media_type: &str, body: Body) -> Response<Body> {
    Response::builder()
        .header(CONTENT_TYPE, media_type)
        .header(CACHE_CONTROL, "no-store")
        .header(X_CONTENT_TYPE_OPTIONS, "nosniff")
        .header(REFERRER_POLICY, "no-referrer")
        .body(body)
        .expect("the headers are valid")
}

/// Sends events to every open stream. Sending never waits, and costs almost nothing without readers.
#[derive(Clone)]
pub(crate) struct Feed {
    events: broadcast::Sender<Event>,
    shutdown: Shutdown,
}

#[derive(Clone)]
pub(crate) enum Event {
    /// The request is recorded, with what its client saw.
    Request(OpenRecord),
    /// The ledger, the faults or the clock may have changed.
    Change,
}

impl Feed {
    pub(crate) fn new(shutdown: Shutdown) -> Self {
        Self { events: broadcast::Sender::new(BUFFERED_EVENTS), shutdown }
    }

    pub(crate) fn send(&self, event: Event) {
        // An error means that there is no reader.
        let _ = self.events.send(event);
    }

    /// Server-sent events from now until the shutdown: `request` with a recorded request, or `change`. A reader that is too
    /// slow misses requests and gets a `change` instead, so that it reads the list again.
    pub(crate) fn events(&self) -> Response<Body> {
        let events = unfold(self.events.subscribe(), async |mut events| {
            let text = match timeout(HEARTBEAT, events.recv()).await {
                // Its JSON is one line: line breaks in strings are escaped.
                Ok(Ok(Event::Request(record))) => {
                    format!("event: request\ndata: {}\n\n", record.to_request().to_json())
                }
                Ok(Ok(Event::Change) | Err(RecvError::Lagged(_))) => "event: change\ndata: {}\n\n".to_owned(),
                Ok(Err(RecvError::Closed)) => return None,
                // Writing detects a reader that left without closing the connection.
                Err(_) => ":\n\n".to_owned(),
            };
            Some((Bytes::from(text), events))
        });
        // The first bytes show the reader at once that the stream is open.
        let opened = once(ready(Bytes::from_static(b": open\n\n")));
        let pieces = opened.chain(events).take_until(self.shutdown.begun()).map(Frame::data).map(Ok);
        response("text/event-stream", Either::Right(StreamBody::new(pieces).boxed_unsync()))
    }
}

/// How many events a reader may be behind, chosen by this SDK.
const BUFFERED_EVENTS: usize = 256;

/// Chosen by this SDK.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(15);
