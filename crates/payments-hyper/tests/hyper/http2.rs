//! HTTP/2, in addition to the contracts for transports.

#![cfg(all(feature = "http2", any(feature = "ring", feature = "aws-lc-rs")))]
use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use crate::support::{Authority, Conversation, Server, post, send, send_failing};
use http::StatusCode;
use payments_core::{Delivery, TransportErrorKind};
use payments_hyper::HyperTransport;
use tokio::task::JoinSet;

const SOON: Duration = Duration::from_secs(20);

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const END_STREAM: u8 = 1;
const ACK: u8 = 1;
const END_HEADERS: u8 = 4;

const INTERNAL_ERROR: u32 = 2;
const REFUSED_STREAM: u32 = 7;
const CANCEL: u32 = 8;

/// The server side of an HTTP/2 connection, frame by frame.
struct Frames<'a> {
    connection: &'a mut Conversation,
    bodies: HashMap<u32, Vec<u8>>,
}

/// What the client sent.
enum Event {
    /// A complete request: its stream and its body.
    Request(u32, Vec<u8>),
    /// The client reset a stream with this code.
    Reset(u32),
}

impl<'a> Frames<'a> {
    fn accept(connection: &'a mut Conversation) -> Option<Self> {
        let preface = connection.peer().read_exact(24)?;
        assert_eq!(preface, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        let mut frames = Self { connection, bodies: HashMap::new() };
        frames.write(SETTINGS, 0, 0, &[]);
        Some(frames)
    }

    fn write(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> bool {
        let mut frame = u32::try_from(payload.len()).unwrap().to_be_bytes()[1..].to_vec();
        frame.extend([kind, flags]);
        frame.extend(stream.to_be_bytes());
        frame.extend(payload);
        self.connection.write(frame)
    }

    fn next(&mut self) -> Option<Event> {
        loop {
            let head = self.connection.peer().read_exact(9)?;
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
            let payload = self.connection.peer().read_exact(usize::try_from(length).unwrap())?;
            let (kind, flags) = (head[3], head[4]);
            match kind {
                SETTINGS if flags & ACK == 0 => drop(self.write(SETTINGS, ACK, 0, &[])),
                HEADERS | DATA => {
                    let body = self.bodies.entry(stream).or_default();
                    if kind == DATA {
                        body.extend(payload);
                    }
                    if flags & END_STREAM != 0 {
                        return Some(Event::Request(stream, self.bodies.remove(&stream).unwrap()));
                    }
                }
                RST_STREAM => return Some(Event::Reset(u32::from_be_bytes(payload.try_into().unwrap()))),
                _ => {}
            }
        }
    }

    fn next_request(&mut self) -> Option<(u32, Vec<u8>)> {
        loop {
            if let Event::Request(stream, body) = self.next()? {
                return Some((stream, body));
            }
        }
    }

    /// Sends a response head: status 200, from HPACK's static table.
    fn head(&mut self, stream: u32) -> bool {
        self.write(HEADERS, END_HEADERS, stream, &[0x88])
    }

    fn respond(&mut self, stream: u32, body: &[u8]) -> bool {
        self.head(stream) && self.write(DATA, END_STREAM, stream, body)
    }

    fn reset(&mut self, stream: u32, code: u32) {
        self.write(RST_STREAM, 0, stream, &code.to_be_bytes());
    }

    /// Sends `GOAWAY` without an error: no stream above `last` was or will be processed.
    fn goaway(&mut self, last: u32) {
        let payload: Vec<u8> = last.to_be_bytes().into_iter().chain([0; 4]).collect();
        self.write(GOAWAY, 0, 0, &payload);
    }

    /// Responds to every request with its own body.
    fn serve(&mut self) {
        while let Some((stream, body)) = self.next_request() {
            if !self.respond(stream, &body) {
                return;
            }
        }
    }
}

/// Starts an HTTP/2 server and creates a transport that trusts it.
fn server(script: impl Fn(Frames<'_>, usize) + Send + Sync + 'static) -> (Server, HyperTransport) {
    let authority = Authority::new();
    let mut config = authority.issue("localhost").server();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let server = Server::start_tls(config, move |connection| {
        let index = connection.index();
        if let Some(frames) = Frames::accept(connection) {
            script(frames, index);
        }
    });
    let transport =
        HyperTransport::builder().root_certificates_pem(authority.pem()).allow_http2().build().unwrap();
    (server, transport)
}

#[tokio::test]
async fn a_body_over_the_cap_is_kept_up_to_the_cap_and_reset_d65() {
    let (reset, codes) = mpsc::channel();
    let (server, transport) = server(move |mut frames, _| {
        let (stream, _) = frames.next_request().unwrap();
        frames.head(stream);
        frames.write(DATA, 0, stream, b"abcdefg");
        while let Some(event) = frames.next() {
            if let Event::Reset(code) = event {
                return reset.send(code).unwrap();
            }
        }
    });
    let (delivery, kind, error) = send_failing(&transport, post(server.https_url()).cap(5)).await;
    assert_eq!((delivery, kind), (Delivery::Answered(StatusCode::OK), TransportErrorKind::BodyTooLarge));
    assert_eq!(error.partial().unwrap().body(), "abcde");
    let code = tokio::task::spawn_blocking(move || codes.recv_timeout(SOON)).await.unwrap();
    assert_eq!(code, Ok(CANCEL));
}

#[tokio::test]
async fn many_calls_share_one_connection() {
    let (server, transport) = server(|mut frames, _| frames.serve());
    send(&transport, post(server.https_url())).await.unwrap();
    let mut calls = JoinSet::new();
    for number in 0..64 {
        let body = format!("call {number}");
        let (transport, plan) = (transport.clone(), post(server.https_url()).body(body.clone()));
        calls.spawn(async move { (send(&transport, plan).await.unwrap(), body) });
    }
    for (response, body) in calls.join_all().await {
        assert_eq!(response.body(), body.as_bytes());
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn a_connection_idle_for_too_long_is_not_reused() {
    let authority = Authority::new();
    let mut config = authority.issue("localhost").server();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let server = Server::start_tls(config, |connection| {
        if let Some(mut frames) = Frames::accept(connection) {
            frames.serve();
        }
    });
    let builder = HyperTransport::builder().root_certificates_pem(authority.pem()).allow_http2();
    let transport = builder.pool_idle_timeout(Duration::ZERO).build().unwrap();
    for _ in 0..3 {
        send(&transport, post(server.https_url())).await.unwrap();
    }
    assert_eq!(server.connections(), 3);
}

#[test]
fn a_connection_of_another_runtime_is_not_reused() {
    let (server, transport) = server(|mut frames, _| frames.serve());
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (first, second) = (runtime(), runtime());
    for _ in 0..3 {
        first.block_on(send(&transport, post(server.https_url()))).unwrap();
        second.block_on(send(&transport, post(server.https_url()))).unwrap();
    }
    assert_eq!(server.connections(), 2);
    drop(first);
    let third = runtime();
    third.block_on(send(&transport, post(server.https_url()))).unwrap();
    assert_eq!(server.connections(), 3);
}

/// Records every trace event at every level.
#[derive(Clone, Default)]
struct Traced(Arc<Mutex<String>>);

impl tracing::field::Visit for Traced {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
        writeln!(self.0.lock().unwrap(), "{field}={value:?}").unwrap();
    }
}

impl tracing::Subscriber for Traced {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        span.record(&mut self.clone());
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, values: &tracing::span::Record<'_>) {
        values.record(&mut self.clone());
    }

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        event.record(&mut self.clone());
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}

#[tokio::test]
async fn h2_traces_no_secret() {
    let canaries = payments_canary::Canaries::set(0);
    let body = format!(
        r#"{{"CardNumber":"{}","Cvv":"{}","ExpiryDate":"{}","AccountNumber":"{}"}}"#,
        canaries.card(),
        canaries.cvv(),
        canaries.expiry(),
        canaries.account()
    );
    let traced = Traced::default();
    // For all threads: tracing caches for the whole process which events have a subscriber, and other tests have none.
    tracing::subscriber::set_global_default(traced.clone()).unwrap();
    let responses: [fn(&mut Frames<'_>, u32); 4] = [
        |frames, stream| _ = frames.respond(stream, b"{}"),
        |frames, stream| frames.reset(stream, REFUSED_STREAM),
        |frames, stream| frames.reset(stream, INTERNAL_ERROR),
        |frames, _| frames.goaway(0),
    ];
    for respond in responses {
        let (server, transport) = server(move |mut frames, _| {
            while let Some((stream, _)) = frames.next_request() {
                respond(&mut frames, stream);
            }
        });
        drop(send(&transport, post(server.https_url()).body(body.clone())).await);
    }
    let traced = traced.0.lock().unwrap().clone();
    assert!(traced.contains("Headers") && traced.contains("Data"), "h2 must trace frames: {traced}");
    assert!(!traced.contains(crate::support::KEY), "the key is traced: {traced}");
    // The traces include stream numbers, lengths and windows; none of them contains the canaries' digits.
    canaries.assert_absent("what h2 traces", traced.as_bytes());
}
