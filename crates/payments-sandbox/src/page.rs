//! The page at `/_sandbox/ui`, and the stream of events that keeps it current.

use std::fmt::Write as _;
use std::time::Duration;

use bytes::Bytes;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderName, HeaderValue, Response};
use payments_fake::Responder;
use ring::rand::{SecureRandom as _, SystemRandom};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, mpsc};
use tokio::time::sleep;

use crate::body::Content;

const PAGE: &str = include_str!("../page.html");

/// The page. Its script and its style run because they carry this response's nonce, which no text in a record can know;
/// and the browser refuses to make HTML of any text at all.
pub(crate) fn page() -> Response<Content> {
    let mut random = [0; 16];
    SystemRandom::new().fill(&mut random).expect("the system has random numbers");
    let nonce = random.iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("a String takes every write");
        hex
    });
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src data:; connect-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
         trusted-types 'none'"
    );
    let policy = HeaderValue::try_from(policy).expect("a policy is visible ASCII");
    let page = Bytes::from(PAGE.replace("{nonce}", &nonce));
    let mut response = response(Content::Whole(page), "text/html; charset=utf-8");
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    response
}

fn response(content: Content, media_type: &'static str) -> Response<Content> {
    let mut response = Response::new(content);
    let headers: [(HeaderName, _); 4] = [
        (CONTENT_TYPE, media_type),
        (CACHE_CONTROL, "no-store"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
    ];
    for (name, value) in headers {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Tells every open stream of events what happened. It never waits, and costs next to nothing while nobody listens.
#[derive(Clone)]
pub(crate) struct Feed(broadcast::Sender<News>);

#[derive(Clone, Copy)]
pub(crate) enum News {
    /// The request of this number is recorded, with what its client is sent.
    Request(u64),
    /// Anything else may be different: the ledger, the faults, the clock.
    Change,
}

impl Feed {
    pub(crate) fn new() -> Self {
        Self(broadcast::Sender::new(REMEMBERED))
    }

    pub(crate) fn tell(&self, news: News) {
        // An error means that nobody listens.
        let _ = self.0.send(news);
    }

    /// Server-sent events from now on: `request` with a recorded request, or `change`. A reader that is too slow misses
    /// requests and is sent a `change` in their place, so that it reads the list again.
    pub(crate) fn events(&self, service: Responder) -> Response<Content> {
        let mut news = self.0.subscribe();
        let (events, pieces) = mpsc::channel(1);
        tokio::spawn(async move {
            // The first bytes tell the reader at once that the stream is open.
            let mut event = ": open\n\n".to_owned();
            while events.send(Bytes::from(event)).await.is_ok() {
                event = tokio::select! {
                    next = news.recv() => match next {
                        Ok(News::Request(number)) => request(&service, number),
                        Ok(News::Change) | Err(RecvError::Lagged(_)) => None,
                        Err(RecvError::Closed) => return,
                    }
                    .unwrap_or_else(|| "event: change\ndata: {}\n\n".to_owned()),
                    // A reader that went without a word is noticed when it is written to.
                    () = sleep(HEARTBEAT) => ":\n\n".to_owned(),
                    () = events.closed() => return,
                };
            }
        });
        response(Content::Pieces(pieces), "text/event-stream")
    }
}

/// As an event, unless it is forgotten by now. Its JSON has no line breaks outside its texts, and none in them.
fn request(service: &Responder, number: u64) -> Option<String> {
    service.recorded(number).map(|request| format!("event: request\ndata: {}\n\n", request.to_json()))
}

/// Chosen by this SDK: how much a reader may be behind.
const REMEMBERED: usize = 256;

/// Chosen by this SDK.
const HEARTBEAT: Duration = Duration::from_secs(15);
