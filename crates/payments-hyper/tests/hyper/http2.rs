//! HTTP/2, in addition to the contracts for transports.

#![cfg(all(feature = "http2", any(feature = "ring", feature = "aws-lc-rs")))]
use std::fmt::Write as _;
use std::future::poll_fn;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use crate::support::{Authority, post, runtime, send, send_failing};
use bytes::Bytes;
use h2::{Reason, server};
use http::{Response, StatusCode};
use payments_core::{Delivery, TransportErrorKind};
use payments_hyper::{HyperTransport, HyperTransportBuilder};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

const SOON: Duration = Duration::from_secs(20);

/// What the server does with each request.
#[derive(Clone)]
enum Act {
    /// Responds with 200 and `{}`.
    Respond,
    /// Sends half a response, and then the code with which the client resets it.
    RespondHalf(mpsc::Sender<Reason>),
    Reset(Reason),
    /// Sends `GOAWAY` without an error.
    Goaway,
}

struct Server {
    url: String,
    connections: Arc<AtomicUsize>,
}

impl Server {
    /// Starts a server, and returns it with the builder of a transport that trusts it.
    fn start(act: Act) -> (Self, HyperTransportBuilder) {
        let authority = Authority::new();
        let mut config = authority.issue("localhost").server();
        config.alpn_protocols = vec![b"h2".to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let url = format!("https://localhost:{}/transaction", listener.local_addr().unwrap().port());
        let server = Self { url, connections: Arc::default() };
        let connections = Arc::clone(&server.connections);
        thread::spawn(move || {
            runtime().block_on(async {
                let listener = TcpListener::from_std(listener).unwrap();
                loop {
                    let (tcp, _) = listener.accept().await.unwrap();
                    connections.fetch_add(1, Ordering::SeqCst);
                    tokio::spawn(serve(acceptor.clone(), tcp, act.clone()));
                }
            });
        });
        (server, HyperTransport::builder().root_certificates_pem(authority.pem()).allow_http2())
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

async fn serve(acceptor: TlsAcceptor, tcp: TcpStream, act: Act) {
    let mut connection = server::handshake(acceptor.accept(tcp).await.unwrap()).await.unwrap();
    // The stream of a request that is dropped is reset.
    let mut kept = Vec::new();
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        kept.push(request);
        match &act {
            Act::Respond => {
                let mut body = respond.send_response(Response::new(()), false).unwrap();
                body.send_data(Bytes::from_static(b"{}"), true).unwrap();
            }
            Act::RespondHalf(reset) => {
                let mut body = respond.send_response(Response::new(()), false).unwrap();
                body.send_data(Bytes::from_static(b"abcdefg"), false).unwrap();
                let reset = reset.clone();
                tokio::spawn(async move {
                    let code = poll_fn(|cx| body.poll_reset(cx)).await;
                    reset.send(code.unwrap()).unwrap();
                });
            }
            Act::Reset(code) => respond.send_reset(*code),
            Act::Goaway => connection.abrupt_shutdown(Reason::NO_ERROR),
        }
    }
}

#[tokio::test]
async fn a_body_over_the_cap_is_kept_up_to_the_cap_and_reset_d65() {
    let (reset, codes) = mpsc::channel();
    let (server, builder) = Server::start(Act::RespondHalf(reset));
    let plan = post(&server.url).cap(5);
    let (delivery, kind, error) = send_failing(&builder.build().unwrap(), plan).await;
    assert_eq!((delivery, kind), (Delivery::Answered(StatusCode::OK), TransportErrorKind::BodyTooLarge));
    assert_eq!(error.partial().unwrap().body(), "abcde");
    let code = tokio::task::spawn_blocking(move || codes.recv_timeout(SOON)).await.unwrap();
    assert_eq!(code, Ok(Reason::CANCEL));
}

#[tokio::test]
async fn a_connection_idle_for_too_long_is_not_reused() {
    let (server, builder) = Server::start(Act::Respond);
    let transport = builder.pool_idle_timeout(Duration::ZERO).build().unwrap();
    for _ in 0..3 {
        send(&transport, post(&server.url)).await.unwrap();
    }
    assert_eq!(server.connections(), 3);
}

#[test]
fn a_connection_of_another_runtime_is_not_reused() {
    let (server, builder) = Server::start(Act::Respond);
    let transport = builder.build().unwrap();
    let (first, second) = (runtime(), runtime());
    for _ in 0..3 {
        first.block_on(send(&transport, post(&server.url))).unwrap();
        second.block_on(send(&transport, post(&server.url))).unwrap();
    }
    assert_eq!(server.connections(), 2);
    drop(first);
    runtime().block_on(send(&transport, post(&server.url))).unwrap();
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
    let acts =
        [Act::Respond, Act::Reset(Reason::REFUSED_STREAM), Act::Reset(Reason::INTERNAL_ERROR), Act::Goaway];
    for act in acts {
        let (server, builder) = Server::start(act);
        drop(send(&builder.build().unwrap(), post(&server.url).body(body.clone())).await);
    }
    let traced = traced.0.lock().unwrap().clone();
    assert!(traced.contains("Headers") && traced.contains("Data"), "h2 must trace frames: {traced}");
    assert!(!traced.contains(crate::support::KEY), "the key is traced: {traced}");
    // The traces include stream numbers, lengths and windows; none of them contains the canaries' digits.
    canaries.assert_absent("what h2 traces", traced.as_bytes());
}
