//! What does an egress proxy see of a payment, and what does a call return if the proxy fails?

use std::error::Error as StdError;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use crate::support::{ConnectProxy, Server, post, send, send_failing};
use payments_core::{Delivery, TransportErrorKind};
use payments_hyper::HyperTransport;

const PASSWORD: &str = "open sesame";
/// `Aladdin:open sesame`.
const CREDENTIALS: &str = "QWxhZGRpbjpvcGVuIHNlc2FtZQ==";

fn through(address: SocketAddr) -> HyperTransport {
    HyperTransport::builder().proxy(format!("http://Aladdin:open%20sesame@{address}")).build().unwrap()
}

/// Sends a request that must not be processed, and returns the error's kind and full text.
async fn send_not_processed(
    transport: &HyperTransport,
    plan: crate::support::Plan,
) -> (TransportErrorKind, String) {
    let (delivery, kind, error) = send_failing(transport, plan).await;
    assert_eq!(delivery, Delivery::NotProcessed);
    let mut text = String::new();
    let mut this: Option<&dyn StdError> = Some(&error);
    while let Some(error) = this {
        text = format!("{text}{error} {error:?} ");
        this = error.source();
    }
    for secret in [PASSWORD, "open%20sesame", CREDENTIALS, "Aladdin"] {
        assert!(!text.contains(secret), "an error shows the proxy's credentials: {text}");
    }
    (kind, text)
}

#[cfg(any(feature = "ring", feature = "aws-lc-rs"))]
#[tokio::test]
async fn tls_is_end_to_end_and_one_tunnel_carries_two_calls() {
    use crate::support::{CARD_NUMBER, KEY};

    let contains = |bytes: &[u8], text: &str| bytes.windows(text.len()).any(|it| it == text.as_bytes());
    let authority = crate::support::Authority::new();
    let server =
        Server::start_tls(authority.issue("localhost").server(), |connection| connection.serve("{}"));
    let proxy = ConnectProxy::tunnelling();
    let transport = HyperTransport::builder()
        .root_certificates_pem(authority.pem())
        .proxy(format!("http://Aladdin:open%20sesame@{}", proxy.address()))
        .build()
        .unwrap();
    for _ in 0..2 {
        assert_eq!(send(&transport, post(server.https_url())).await.unwrap().body(), "{}");
    }

    let target = format!("localhost:{}", server.address.port());
    let head = format!(
        "CONNECT {target} HTTP/1.1\r\nHost: {target}\r\nProxy-Authorization: Basic {CREDENTIALS}\r\n\r\n"
    );
    assert_eq!(proxy.heads(), [head]);
    let passed = proxy.after_heads();
    assert_eq!(passed[..2], [22, 3], "a TLS handshake");
    assert!(!contains(&passed, KEY) && !contains(&passed, CARD_NUMBER));
    let received = server.received();
    assert_eq!((received.len(), server.connections()), (2, 1));
    for request in received {
        assert_eq!(request.header("authorization"), [KEY]);
        assert!(request.header("proxy-authorization").is_empty(), "{}", request.head);
        assert!(contains(&request.body, CARD_NUMBER));
    }
}

#[tokio::test]
async fn a_proxy_that_opens_no_tunnel_is_not_processed_d02() {
    const PAGE: &str = r#"{"status":"success","status_code":100,"data":{"TransactionId":"txn_proxy"}}"#;
    let server = Server::start(|connection| connection.serve("{}"));
    let with_page = |status: &str| {
        let length = PAGE.len();
        format!("HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {length}\r\n\r\n{PAGE}")
    };
    for response in [
        with_page("407 Proxy Authentication Required"),
        with_page("502 Bad Gateway"),
        with_page("201 Created"),
        with_page("302 Found"),
        "HTTP/1.1 200 Connection esta".to_owned(),
        "\0garbage\r\n\r\n".to_owned(),
        format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "y".repeat(100_000)),
        String::new(),
    ] {
        let proxy = ConnectProxy::responding(response.clone());
        let (kind, text) = send_not_processed(&through(proxy.address()), post(server.url())).await;
        assert_eq!(kind, TransportErrorKind::Connect, "{response:.60}: {text}");
        assert!(!text.contains("txn_proxy"), "{text}");
        assert!(proxy.heads()[0].contains(CREDENTIALS));
        assert_eq!(
            (proxy.heads().len(), proxy.after_heads().len()),
            (1, 0),
            "nothing more is sent to the proxy"
        );
    }
    assert_eq!(server.connections(), 0);
}

/// Whatever the head and the page say.
#[tokio::test]
async fn a_refused_tunnel_names_the_proxys_status_d02_d56() {
    for status in [101, 204, 301, 400, 403, 404, 407, 429, 500, 502, 503, 504, 999] {
        for rest in [
            " Blocked by policy 451\r\nContent-Length: 4\r\n\r\nPAGE".to_owned(),
            format!("\r\n{}\r\n", "x: y\r\n".repeat(300)),
            " Cut\r\nContent-Le".to_owned(),
        ] {
            let proxy = ConnectProxy::responding(format!("HTTP/1.1 {status}{rest}"));
            let transport = through(proxy.address());
            let (kind, text) = send_not_processed(&transport, post("https://localhost:1/")).await;
            assert_eq!(kind, TransportErrorKind::Connect, "{text}");
            let (.., error) = send_failing(&transport, post("https://localhost:1/")).await;
            assert_eq!(error.is_permanent(), [400, 403, 404, 407].contains(&status), "{status}");
            assert!(text.contains(&format!("the proxy returned {status} ")), "{rest:.30}: {text}");
            assert!(!text.contains("PAGE") && !text.contains("policy"), "{text}");
        }
    }
}

#[tokio::test]
async fn a_tunnel_is_open_after_many_headers_or_interim_responses() {
    let server = Server::start(|connection| connection.serve("{}"));
    for head in [
        format!("HTTP/1.1 200 Connection established\r\n{}\r\n", "x: y\r\n".repeat(300)),
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nx: y\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"
            .to_owned(),
    ] {
        let proxy = ConnectProxy::tunnelling_with(head);
        assert_eq!(send(&through(proxy.address()), post(server.url())).await.unwrap().body(), "{}");
    }
}

#[tokio::test]
async fn a_silent_proxy_until_the_connect_deadline_is_not_processed_d02_d23() {
    let proxy = Arc::new(ConnectProxy::silent());
    // The clock stands still until the proxy has read the request, because tokio does not advance it while a blocking task runs.
    tokio::time::pause();
    let reading = tokio::task::spawn_blocking({
        let proxy = Arc::clone(&proxy);
        move || {
            while proxy.heads().is_empty() {
                std::thread::yield_now();
            }
        }
    });
    let (started, deadline) = (tokio::time::Instant::now(), Duration::from_secs(2));
    let plan = post("http://127.0.0.1:1/").connect(deadline).total(deadline * 20);
    assert_eq!(send_not_processed(&through(proxy.address()), plan).await.0, TransportErrorKind::Timeout);
    assert!(started.elapsed() < deadline * 2, "it must not wait for the total deadline");
    reading.await.unwrap();
    assert_eq!(proxy.heads().len(), 1);
}

#[tokio::test]
async fn an_unreachable_proxy_is_not_processed_d02() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = closed.local_addr().unwrap();
    drop(closed);
    let server = Server::start(|connection| connection.serve("{}"));
    assert_eq!(
        send_not_processed(&through(address), post(server.url())).await.0,
        TransportErrorKind::Connect
    );

    let unknown = HyperTransport::builder().proxy("http://no-such-proxy.invalid:3128").build().unwrap();
    let plan = post("https://localhost:1/");
    assert_eq!(send_not_processed(&unknown, plan).await.0, TransportErrorKind::Resolve);
    assert_eq!(server.connections(), 0);
}

/// A connection to `192.0.2.1` would fail with another kind, so none is tried.
#[tokio::test]
async fn plain_http_through_a_remote_proxy_is_a_configuration_error_d24() {
    let server = Server::start(|connection| connection.serve("{}"));
    let transport = through(SocketAddr::from(([192, 0, 2, 1], 3128)));
    let (kind, text) = send_not_processed(&transport, post(server.url())).await;
    assert_eq!(kind, TransportErrorKind::Configuration);
    assert!(text.contains("the proxy is not on this machine"), "{text}");
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn plain_http_through_a_local_proxy_is_tunneled() {
    let server = Server::start(|connection| connection.serve("{}"));
    let proxy = ConnectProxy::tunnelling();
    let transport = through(proxy.address());
    for _ in 0..2 {
        send(&transport, post(server.url())).await.unwrap();
    }
    assert_eq!((proxy.heads().len(), server.connections(), server.received().len()), (1, 1, 2));
    assert!(proxy.heads()[0].starts_with(&format!("CONNECT {} HTTP/1.1\r\n", server.address)));
}

#[tokio::test]
async fn connect_uses_the_default_port_of_the_scheme() {
    let proxy = ConnectProxy::responding("HTTP/1.1 502 Bad Gateway\r\n\r\n");
    let transport = HyperTransport::builder().proxy(format!("http://{}", proxy.address())).build().unwrap();
    for (url, target) in [
        ("http://pay.example/x", "pay.example:80"),
        ("https://pay.example/x", "pay.example:443"),
        ("http://pay.example:443/x", "pay.example:443"),
        ("https://pay.example:80/x", "pay.example:80"),
        ("https://[::1]/x", "[::1]:443"),
    ] {
        if url.starts_with("https") && !cfg!(any(feature = "ring", feature = "aws-lc-rs")) {
            continue;
        }
        send_not_processed(&transport, post(url)).await;
        let head = proxy.heads().pop().unwrap();
        assert_eq!(head, format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n"), "{url}");
    }
}

#[test]
fn other_addresses_than_http_are_refused_and_not_shown() {
    for address in
        ["https://u:hunter2@localhost", "socks5://u:hunter2@localhost", "http://u:hunter2@localhost/x"]
    {
        let error = HyperTransport::builder().proxy(address).build().unwrap_err();
        assert!(error.is_proxy());
        let text = format!("{error} {error:?} {}", error.source().unwrap());
        assert!(!text.contains("hunter2"), "{text}");
    }
}
