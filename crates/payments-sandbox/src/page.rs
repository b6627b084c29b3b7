//! The page at `/_sandbox/ui`, and the stream of events that keeps it current.

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
use payments_fake::Responder;
use ring::rand::{SystemRandom, generate};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::timeout;

use crate::body::{Body, whole};
use crate::shutdown::Shutdown;

const PAGE: &str = include_str!("../page.html");

/// The page. Its script and its style run because they carry this response's nonce, which no text in a record can know;
/// and the browser refuses to make HTML of any text at all.
pub(crate) fn page() -> Response<Body> {
    let random = generate(&SystemRandom::new()).expect("the system has random numbers");
    let nonce = format!("{:032x}", u128::from_ne_bytes(random.expose()));
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src data:; connect-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
         trusted-types 'none'"
    );
    let policy = HeaderValue::try_from(policy).expect("a policy is visible ASCII");
    let mut response = response("text/html; charset=utf-8", whole(PAGE.replace("{nonce}", &nonce)));
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

/// Tells every open stream of events what happened. It never waits, and costs next to nothing while nobody listens.
#[derive(Clone)]
pub(crate) struct Feed {
    news: broadcast::Sender<News>,
    shutdown: Shutdown,
}

#[derive(Clone, Copy)]
pub(crate) enum News {
    /// The request of this number is recorded, with what its client is sent.
    Request(u64),
    /// Anything else may be different: the ledger, the faults, the clock.
    Change,
}

impl Feed {
    pub(crate) fn new(shutdown: Shutdown) -> Self {
        Self { news: broadcast::Sender::new(REMEMBERED), shutdown }
    }

    pub(crate) fn tell(&self, news: News) {
        // An error means that nobody listens.
        let _ = self.news.send(news);
    }

    /// Server-sent events from now until the shutdown: `request` with a recorded request, or `change`. A reader that is too
    /// slow misses requests and is sent a `change` in their place, so that it reads the list again.
    pub(crate) fn events(&self, service: Responder) -> Response<Body> {
        let news = unfold((self.news.subscribe(), service), async |(mut news, service)| {
            let event = match timeout(HEARTBEAT, news.recv()).await {
                Ok(Ok(News::Request(number))) => request(&service, number),
                Ok(Ok(News::Change) | Err(RecvError::Lagged(_))) => None,
                Ok(Err(RecvError::Closed)) => return None,
                // A reader that went without a word is noticed when it is written to.
                Err(_) => Some(":\n\n".to_owned()),
            };
            let event = event.unwrap_or_else(|| "event: change\ndata: {}\n\n".to_owned());
            Some((Bytes::from(event), (news, service)))
        });
        // The first bytes tell the reader at once that the stream is open.
        let opened = once(ready(Bytes::from_static(b": open\n\n")));
        let pieces = opened.chain(news).take_until(self.shutdown.begun()).map(Frame::data).map(Ok);
        response("text/event-stream", Either::Right(StreamBody::new(pieces).boxed_unsync()))
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

#[cfg(test)]
mod tests {
    use payments_fake::{FakeGateway, block_on};

    use super::*;

    #[tokio::test]
    async fn events_come_until_the_sandbox_stops() {
        let (switch, shutdown) = Shutdown::new();
        let feed = Feed::new(shutdown);
        let mut body = feed.events(FakeGateway::new().responder()).into_body();
        for expected in [": open\n\n", "event: change\ndata: {}\n\n"] {
            feed.tell(News::Change);
            let piece = body.frame().await.unwrap().unwrap();
            assert_eq!(piece.into_data().unwrap(), expected);
        }
        switch.send_replace(true);
        assert!(block_on(body.frame()).is_none(), "the feed is still there");
    }

    #[tokio::test]
    async fn events_end_with_their_feed() {
        let (_switch, shutdown) = Shutdown::new();
        let feed = Feed::new(shutdown);
        let mut body = feed.events(FakeGateway::new().responder()).into_body();
        drop(feed);
        assert!(body.frame().await.unwrap().is_ok());
        assert!(body.frame().await.is_none());
    }
}
