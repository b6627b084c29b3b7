//! What does an HTTP/2 server prove when it fails?

#![cfg(all(feature = "http2", any(feature = "ring", feature = "aws-lc-rs")))]
#![allow(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod support;

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use http::StatusCode;
use payments_core::{Delivery, TransportErrorKind};
use payments_hyper::HyperTransport;
use support::{Authority, Conversation, Server, post, send, send_failing};
use tokio::task::JoinSet;

/// A deadline that is waited for. Long enough for a request to arrive on a busy machine.
const SHORT: Duration = Duration::from_secs(1);
/// A deadline that is never reached, unless something hangs.
const AMPLE: Duration = Duration::from_secs(20);
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

/// A server's end of an HTTP/2 connection, frame by frame.
struct Frames<'a> {
    connection: &'a mut Conversation,
    bodies: HashMap<u32, Vec<u8>>,
}

/// What the client sent.
enum Event {
    /// A whole request: its stream and its body.
    Request(u32, Vec<u8>),
    /// The client gave a stream up, with this code.
    Reset(u32),
}

impl<'a> Frames<'a> {
    fn greet(connection: &'a mut Conversation) -> Option<Self> {
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

    /// The head of an answer: status 200, from HPACK's static table.
    fn head(&mut self, stream: u32) -> bool {
        self.write(HEADERS, END_HEADERS, stream, &[0x88])
    }

    fn answer(&mut self, stream: u32, body: &[u8]) -> bool {
        self.head(stream) && self.write(DATA, END_STREAM, stream, body)
    }

    fn reset(&mut self, stream: u32, code: u32) {
        self.write(RST_STREAM, 0, stream, &code.to_be_bytes());
    }

    /// Says, without an error, that no stream above `last` was or will be processed.
    fn goaway(&mut self, last: u32) {
        let payload: Vec<u8> = last.to_be_bytes().into_iter().chain([0; 4]).collect();
        self.write(GOAWAY, 0, 0, &payload);
    }

    /// Echoes every request.
    fn serve(&mut self) {
        while let Some((stream, body)) = self.next_request() {
            if !self.answer(stream, &body) {
                return;
            }
        }
    }
}

/// An HTTP/2 server, and a transport that trusts it.
fn server(script: impl Fn(Frames<'_>, usize) + Send + Sync + 'static) -> (Server, HyperTransport) {
    let authority = Authority::new();
    let mut config = authority.issue("localhost").server();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let server = Server::start_tls(config, move |connection| {
        let index = connection.index();
        if let Some(frames) = Frames::greet(connection) {
            script(frames, index);
        }
    });
    let transport =
        HyperTransport::builder().root_certificates_pem(authority.pem()).allow_http2().build().unwrap();
    (server, transport)
}

/// The evidence after `fate` befell a request that was read whole, on a new connection and on one that has served.
async fn evidence(total: Duration, fate: fn(&mut Frames<'_>, u32)) -> [Delivery; 2] {
    let mut evidence = Vec::new();
    for served_before in [0, 1] {
        let (read, requests) = mpsc::channel();
        let (server, transport) = server(move |mut frames, _| {
            for _ in 0..served_before {
                let (stream, body) = frames.next_request().unwrap();
                frames.answer(stream, &body);
            }
            while let Some((stream, body)) = frames.next_request() {
                read.send(body).unwrap();
                fate(&mut frames, stream);
            }
        });
        for _ in 0..served_before {
            send(&transport, post(server.https_url())).await.unwrap();
        }
        let (delivery, ..) =
            send_failing(&transport, post(server.https_url()).total(total).body("a charge")).await;
        assert_eq!(server.connections(), 1, "it is tried once");
        drop(transport);
        assert_eq!(requests.try_iter().collect::<Vec<_>>(), [b"a charge"], "it is sent once");
        evidence.push(delivery);
    }
    [evidence[0], evidence[1]]
}

#[tokio::test]
async fn d04_refused_stream_is_not_processed() {
    let refused = |frames: &mut Frames<'_>, stream| frames.reset(stream, REFUSED_STREAM);
    assert_eq!(evidence(AMPLE, refused).await, [Delivery::NotProcessed; 2]);
}

#[tokio::test]
async fn d04_any_other_reset_is_unknown() {
    let internal_error = |frames: &mut Frames<'_>, stream| frames.reset(stream, INTERNAL_ERROR);
    assert_eq!(evidence(AMPLE, internal_error).await, [Delivery::Unknown; 2]);
    let cancel = |frames: &mut Frames<'_>, stream| frames.reset(stream, CANCEL);
    assert_eq!(evidence(AMPLE, cancel).await, [Delivery::Unknown; 2]);
}

#[tokio::test]
async fn d04_goaway_is_unknown_even_where_it_promises_that_nothing_was_processed() {
    let goaway = |frames: &mut Frames<'_>, _| frames.goaway(0);
    assert_eq!(evidence(AMPLE, goaway).await, [Delivery::Unknown; 2]);
}

#[tokio::test]
async fn d03_read_then_closed_is_unknown() {
    let closed = |frames: &mut Frames<'_>, _| {
        // The client sees the end of TLS records in the middle of everything.
        frames.connection.peer().shut_down();
    };
    assert_eq!(evidence(AMPLE, closed).await, [Delivery::Unknown; 2]);
}

#[tokio::test]
async fn d23_silence_ends_with_the_total_deadline_as_unknown() {
    assert_eq!(evidence(SHORT, |_, _| ()).await, [Delivery::Unknown; 2]);
}

#[tokio::test]
async fn a_reset_after_the_head_is_answered_even_if_it_says_refused() {
    let late = |frames: &mut Frames<'_>, stream| {
        frames.head(stream);
        frames.write(DATA, 0, stream, b"half");
        frames.reset(stream, REFUSED_STREAM);
    };
    assert_eq!(evidence(AMPLE, late).await, [Delivery::Answered(StatusCode::OK); 2]);
}

#[tokio::test]
async fn d65_a_body_over_the_cap_is_kept_up_to_it_and_given_up() {
    let (given_up, codes) = mpsc::channel();
    let (server, transport) = server(move |mut frames, _| {
        let (stream, _) = frames.next_request().unwrap();
        frames.head(stream);
        frames.write(DATA, 0, stream, b"abcdefg");
        while let Some(event) = frames.next() {
            if let Event::Reset(code) = event {
                return given_up.send(code).unwrap();
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
async fn d22_a_dropped_call_resets_its_stream_and_harms_no_other() {
    let (arrived, wait_until_arrived) = mpsc::channel();
    let (given_up, codes) = mpsc::channel();
    let (server, transport) = server(move |mut frames, _| {
        while let Some(event) = frames.next() {
            match event {
                Event::Request(_, body) if body == b"to be dropped" => arrived.send(()).unwrap(),
                Event::Request(stream, body) => drop(frames.answer(stream, &body)),
                Event::Reset(code) => given_up.send(code).unwrap(),
            }
        }
    });
    let call = tokio::spawn({
        let (transport, plan) = (transport.clone(), post(server.https_url()).body("to be dropped"));
        async move { send(&transport, plan).await }
    });
    tokio::task::spawn_blocking(move || wait_until_arrived.recv_timeout(SOON)).await.unwrap().unwrap();
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    let code = tokio::task::spawn_blocking(move || codes.recv_timeout(SOON)).await.unwrap();
    assert_eq!(code, Ok(CANCEL));
    let answer = send(&transport, post(server.https_url()).body("another")).await.unwrap();
    assert_eq!((answer.body().as_ref(), server.connections()), (b"another".as_slice(), 1));
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
    for (answer, body) in calls.join_all().await {
        assert_eq!(answer.body(), body.as_bytes());
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn a_connection_idle_for_too_long_is_not_used() {
    let authority = Authority::new();
    let mut config = authority.issue("localhost").server();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let server = Server::start_tls(config, |connection| {
        if let Some(mut frames) = Frames::greet(connection) {
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
fn a_connection_of_another_runtime_is_not_used() {
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

#[tokio::test]
async fn http_1_1_is_spoken_to_a_server_that_knows_no_other_and_without_leave_to_all() {
    let authority = Authority::new();
    let http1 = Server::start_tls(authority.issue("localhost").server(), |connection| connection.serve("{}"));
    let mut both = authority.issue("localhost").server();
    both.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let both = Server::start_tls(both, |connection| connection.serve("{}"));
    let builder = || HyperTransport::builder().root_certificates_pem(authority.pem());
    send(&builder().allow_http2().build().unwrap(), post(http1.https_url())).await.unwrap();
    send(&builder().build().unwrap(), post(both.https_url())).await.unwrap();
    assert_eq!((http1.received().len(), both.received().len()), (1, 1));
}

/// A server that ends its connections at moments that no client can foresee, in three ways.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d04_nothing_is_sent_twice_to_a_server_that_ends_at_random() {
    const CALLERS: usize = 8;
    const CALLS: usize = 100;
    let journal = Arc::new(Mutex::new(Vec::new()));
    let received = Arc::clone(&journal);
    let (server, transport) = server(move |mut frames, index| {
        let mut last = 0;
        for _ in 0..10 + index % 7 {
            let Some((stream, body)) = frames.next_request() else { return };
            received.lock().unwrap().push(body);
            frames.answer(stream, b"{}");
            last = stream;
        }
        match index % 3 {
            0 => frames.connection.close(),
            1 => frames.connection.reset(),
            _ => {
                frames.goaway(last);
                // What still arrives is processed all the same, as real servers were seen to do.
                while let Some((stream, body)) = frames.next_request() {
                    received.lock().unwrap().push(body);
                    frames.answer(stream, b"{}");
                }
            }
        }
    });
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        let (transport, url) = (transport.clone(), server.https_url());
        callers.spawn(async move {
            let mut not_processed = Vec::new();
            for number in 0..CALLS {
                let id = format!("payment {caller}/{number}");
                let result = send(&transport, post(url.clone()).body(id.clone())).await;
                if result.is_err_and(|error| error.delivery() == Delivery::NotProcessed) {
                    not_processed.push(id.into_bytes());
                }
            }
            not_processed
        });
    }
    let not_processed: HashSet<_> = callers.join_all().await.into_iter().flatten().collect();
    let received = journal.lock().unwrap().clone();
    let once: HashSet<_> = received.iter().cloned().collect();
    assert_eq!(received.len(), once.len(), "something was sent twice");
    assert!(once.is_disjoint(&not_processed), "something that arrived was called not processed");
    assert!(server.connections() > 10, "connections were ended and replaced");
}

/// Everything that is traced on this thread, at every level.
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
async fn s5_nothing_that_h2_traces_is_a_secret() {
    let canaries = payments_canary::Canaries::set(0);
    let body = format!(
        r#"{{"CardNumber":"{}","Cvv":"{}","ExpiryDate":"{}","AccountNumber":"{}"}}"#,
        canaries.card(),
        canaries.cvv(),
        canaries.expiry(),
        canaries.account()
    );
    let traced = Traced::default();
    let guard = tracing::subscriber::set_default(traced.clone());
    let fates: [fn(&mut Frames<'_>, u32); 4] = [
        |frames, stream| _ = frames.answer(stream, b"{}"),
        |frames, stream| frames.reset(stream, REFUSED_STREAM),
        |frames, stream| frames.reset(stream, INTERNAL_ERROR),
        |frames, _| frames.goaway(0),
    ];
    for fate in fates {
        let (server, transport) = server(move |mut frames, _| {
            while let Some((stream, _)) = frames.next_request() {
                fate(&mut frames, stream);
            }
        });
        drop(send(&transport, post(server.https_url()).body(body.clone())).await);
    }
    drop(guard);
    let traced = traced.0.lock().unwrap().clone();
    assert!(traced.contains("Headers") && traced.contains("Data"), "h2 traces frames: {traced}");
    assert!(!traced.contains(support::KEY), "the key is traced: {traced}");
    // Stream numbers, lengths and windows are among it, and no three digits of theirs are these.
    canaries.assert_absent("what h2 traces", traced.as_bytes());
}
