//! Tests that the contract holds with a caller's own `reqwest::ClientBuilder`, even if its settings would break it.

use std::error::Error as _;
use std::future::{Future, pending, ready};
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, header};
use payments_conformance::{Abilities, Ability, Setup, Stack};
use payments_core::{Deadlines, Delivery, OperationName, Transport, TransportErrorKind, TransportRequest};
use payments_reqwest::ReqwestTransport;
use payments_reqwest::unversioned::from_client_builder;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{ClientBuilder, Proxy};
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};
use tokio::runtime::Runtime;

fn trusting(authority: Option<&[u8]>) -> ClientBuilder {
    let mut roots = RootCertStore::empty();
    if let Some(der) = authority {
        roots.add(CertificateDer::from(der)).unwrap();
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut tls = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    tls.alpn_protocols = vec![b"http/1.1".to_vec()];
    reqwest::Client::builder().tls_backend_preconfigured(tls)
}

struct OwnBuilder {
    runtime: Runtime,
}

impl Stack for OwnBuilder {
    type Transport = ReqwestTransport;

    fn transport(&self, setup: &Setup) -> ReqwestTransport {
        let authority = setup.authority_der().to_vec();
        from_client_builder(move || {
            trusting(Some(&authority))
                .redirect(reqwest::redirect::Policy::limited(10))
                .retry(reqwest::retry::for_host("localhost").no_budget().classify_fn(|attempt| {
                    if attempt.status().is_some() { attempt.success() } else { attempt.retryable() }
                }))
                .timeout(Duration::from_millis(1))
                .read_timeout(Duration::from_millis(1))
                .https_only(true)
                .http1_max_headers(1)
                .http2_prior_knowledge()
                .http09_responses()
        })
        .unwrap()
    }

    fn block_on<F>(&self, future: F) -> F::Output
    where
        F: Future + Send,
        F::Output: Send,
    {
        self.runtime.block_on(future)
    }

    fn abilities(&self) -> Abilities {
        Abilities::default().with(Ability::ManyHeaders).with(Ability::FoldedHeaders)
    }
}

// The themes that one of these settings would break, and those about opening a connection.
payments_conformance::contract_tests!(
    OwnBuilder { runtime: Runtime::new().unwrap() },
    themes: requests, answers, lost_answers, other_routes, broken_tls, never_sent, late_connections, deadlines, environment,
);

fn request(uri: &str) -> TransportRequest {
    let request = Request::post(uri).body(Bytes::from_static(b"{}")).unwrap();
    let deadlines = Deadlines::new(Duration::from_secs(20), Duration::from_secs(20));
    TransportRequest::new(request, OperationName::TokenTransaction, deadlines, 1024)
}

#[tokio::test]
async fn a_proxy_of_the_builder_is_used_for_https_only() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (sender, heads) = mpsc::channel();
    thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            let mut head = [0; 4096];
            let length = connection.read(&mut head).unwrap();
            connection.write_all(b"HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n").unwrap();
            sender.send(String::from_utf8_lossy(&head[..length]).into_owned()).unwrap();
        }
    });
    let transport = from_client_builder(move || trusting(None).proxy(Proxy::all(&address).unwrap())).unwrap();

    let error = transport.send(request("https://pay.example.com/")).await.unwrap_err();
    assert_eq!(error.delivery(), Delivery::NotProcessed, "{error:?}");
    assert!(heads.recv().unwrap().starts_with("CONNECT pay.example.com:443 "));
    assert_eq!(error.source().unwrap().to_string(), "the proxy returned 407");
    assert!(error.is_permanent(), "{error:?}");

    // Through the proxy, this would return its 407.
    let error = transport.send(request("http://127.0.0.1:1/")).await.unwrap_err();
    assert_eq!(error.kind(), TransportErrorKind::Connect, "{error:?}");
}

#[tokio::test]
async fn a_refused_tunnel_is_named_d02() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://user:hunter2@{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            let _ = connection.read(&mut [0; 4096]).unwrap();
            connection.write_all(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 4\r\n\r\nPAGE").unwrap();
        }
    });
    let transport = from_client_builder(move || trusting(None).proxy(Proxy::all(&address).unwrap())).unwrap();
    let error = transport.send(request("https://pay.example.com/")).await.unwrap_err();
    assert_eq!(error.delivery(), Delivery::NotProcessed, "{error:?}");
    let text = format!("{error:?} {}", error.source().unwrap());
    assert!(text.contains("the proxy refused to open a connection"), "{text}");
    assert!(!text.contains("PAGE") && !text.contains("hunter2"), "{text}");
}

/// No test of this program installs a provider for rustls.
#[test]
fn a_builder_without_tls_is_an_error_not_a_panic() {
    let error = from_client_builder(ClientBuilder::new).unwrap_err();
    assert!(error.is_client() && !error.is_root_certificate(), "{error:?}");
    assert_eq!(
        error.to_string(),
        "reqwest could not build a client with these settings; nothing was sent: change the settings of the \
         `reqwest::ClientBuilder`"
    );
    assert!(error.source().unwrap().to_string().contains("crypto provider"), "{error:?}");
}

#[tokio::test]
async fn a_builder_that_fails_later_is_a_configuration_error() {
    let is_broken = Arc::new(AtomicBool::new(false));
    let transport = from_client_builder({
        let is_broken = Arc::clone(&is_broken);
        move || {
            assert!(!is_broken.load(Ordering::Relaxed), "broken later");
            trusting(None)
        }
    })
    .unwrap();
    is_broken.store(true, Ordering::Relaxed);
    let error = transport.send(request("http://127.0.0.1:1/")).await.unwrap_err();
    assert_eq!(error.delivery(), Delivery::NotProcessed, "{error:?}");
    assert_eq!(error.kind(), TransportErrorKind::Configuration, "{error:?}");
    let cause = error.source().unwrap().source().unwrap();
    assert_eq!(cause.to_string(), "broken later");
}

#[test]
fn a_builder_that_waits_for_another_call_does_not_stop_it() {
    let (entered, has_entered) = mpsc::channel();
    let (release, is_released) = mpsc::channel();
    let is_released = std::sync::Mutex::new(is_released);
    let builds = AtomicUsize::new(0);
    let transport = from_client_builder(move || {
        // The first build is that of `from_client_builder`.
        if builds.fetch_add(1, Ordering::Relaxed) == 1 {
            entered.send(()).unwrap();
            is_released.lock().unwrap().recv_timeout(Duration::from_secs(10)).expect("the other call ends");
        }
        trusting(None)
    })
    .unwrap();
    let call =
        || Runtime::new().unwrap().block_on(transport.send(request("http://127.0.0.1:1/"))).unwrap_err();
    thread::scope(|scope| {
        let waiting = scope.spawn(call);
        has_entered.recv().unwrap();
        let other = call();
        release.send(()).unwrap_or(());
        for error in [other, waiting.join().unwrap()] {
            assert_eq!(error.kind(), TransportErrorKind::Connect, "{error:?}");
        }
    });
}

/// Resolves every name but the second to this machine. That one never ends.
struct OneName(Arc<AtomicUsize>);

impl Resolve for OneName {
    fn resolve(&self, _: Name) -> Resolving {
        if self.0.fetch_add(1, Ordering::SeqCst) == 1 {
            return Box::pin(pending());
        }
        let this_machine = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        Box::pin(ready(Ok(Box::new([this_machine].into_iter()) as Addrs)))
    }
}

/// The server thinks that it has sent the response to the next request too.
#[tokio::test]
async fn a_call_that_waits_for_a_connection_does_not_get_a_distrusted_one_d08() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let uri = format!("http://localhost:{}/", listener.local_addr().unwrap().port());
    let (waits, other_waits) = mpsc::channel();
    let server = thread::spawn(move || {
        let mut buffer = [0; 4096];
        let (mut distrusted, _) = listener.accept().unwrap();
        assert!(distrusted.read(&mut buffer).unwrap() > 0);
        other_waits.recv().unwrap();
        distrusted.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}").unwrap();
        let next = distrusted.read(&mut buffer).unwrap();
        assert_eq!(String::from_utf8_lossy(&buffer[..next]), "", "it is closed");
        let (mut trusted, _) = listener.accept().unwrap();
        assert!(trusted.read(&mut buffer).unwrap() > 0);
        trusted.write_all(b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n").unwrap();
    });
    let names = Arc::new(AtomicUsize::new(0));
    let resolver = Arc::new(OneName(Arc::clone(&names)));
    let transport = from_client_builder(move || trusting(None).dns_resolver(Arc::clone(&resolver))).unwrap();

    let refused = tokio::spawn({
        let (transport, request) = (transport.clone(), request(&uri));
        async move { transport.send(request).await }
    });
    let other = async {
        while names.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        transport.send(request(&uri)).await
    };
    let waits = async {
        while names.load(Ordering::SeqCst) < 2 {
            tokio::task::yield_now().await;
        }
        waits.send(()).unwrap();
    };
    let (other, ()) = tokio::join!(other, waits);
    let refused = refused.await.unwrap().unwrap_err();
    assert_eq!(refused.delivery(), Delivery::Unknown, "{refused:?}");
    assert_eq!(
        other.map(|response| response.status().as_u16()).map_err(|error| format!("{error:?}")),
        Ok(201)
    );
    server.join().unwrap();
}

/// A default header of this name would be sent instead of the transport's, or beside it.
#[tokio::test]
async fn default_headers_do_not_change_where_a_request_goes_or_ends_d25() {
    for (method, end, length) in [(Method::POST, "{}", 2), (Method::GET, "\r\n\r\n", 0)] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = thread::spawn(move || {
            let mut connection = listener.accept().unwrap().0;
            connection.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
            let mut received = Vec::new();
            while !received.ends_with(end.as_bytes()) {
                let mut bytes = [0; 4096];
                let length = connection.read(&mut bytes).unwrap();
                assert!(length > 0, "it ended early: {}", String::from_utf8_lossy(&received));
                received.extend_from_slice(&bytes[..length]);
            }
            connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
            String::from_utf8(received).unwrap().to_lowercase()
        });
        let transport = from_client_builder(|| {
            with_default_headers([(header::HOST, "evil.example"), (header::CONTENT_LENGTH, "1")])
        })
        .unwrap();
        let request = Request::builder().method(method).uri(format!("http://{address}/"));
        let request = request.body(Bytes::from_static(&b"{}"[..length])).unwrap();
        let request = TransportRequest::new(request, OperationName::Void, Deadlines::default(), 1024);
        let sent = transport.send(request).await;
        let received = server.join().unwrap();
        sent.unwrap();
        for header in [format!("\r\nhost: {address}\r\n"), format!("\r\ncontent-length: {length}\r\n")] {
            assert_eq!(received.matches(&header).count(), 1, "{received}");
        }
        assert_eq!(received.matches("\r\ncontent-length:").count(), 1, "{received}");
    }
}

#[test]
fn a_default_transfer_encoding_is_refused_d25() {
    for value in ["chunked", "gzip", "\"content-length\": 1"] {
        let error = from_client_builder(move || with_default_headers([(header::TRANSFER_ENCODING, value)]));
        let error = error.expect_err(value);
        assert!(error.is_client(), "{error:?}");
        assert!(error.source().unwrap().to_string().contains("Transfer-Encoding"), "{error:?}");
    }
    // A value is not a name.
    let named = header::HeaderName::from_static("x-named");
    from_client_builder(move || with_default_headers([(named.clone(), "\"transfer-encoding\": 1")])).unwrap();
}

fn with_default_headers(
    headers: impl IntoIterator<Item = (header::HeaderName, &'static str)>,
) -> ClientBuilder {
    let headers = headers.into_iter().map(|(name, value)| (name, value.parse().unwrap()));
    trusting(None).default_headers(headers.collect())
}
