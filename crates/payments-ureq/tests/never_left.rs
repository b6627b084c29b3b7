//! Tests that a request of which nothing was sent is always "not processed".

#![allow(clippy::unwrap_used, reason = "a panic reports a failed test")]

use std::io::ErrorKind;
use std::net::TcpListener;
use std::time::Duration;

use http::Request;
use payments_core::blocking::Transport;
use payments_core::{Deadlines, Delivery, OperationName, TransportErrorKind, TransportRequest};
use payments_ureq::UreqTransport;

fn failure_of(url: &str) -> (Delivery, TransportErrorKind) {
    let request = Request::post(url).body("{}".into()).unwrap();
    let deadlines = Deadlines::new(Duration::from_secs(20), Duration::from_secs(20));
    let cap = TransportRequest::DEFAULT_RESPONSE_CAP;
    let request = TransportRequest::new(request, OperationName::TokenTransaction, deadlines, cap);
    let error = UreqTransport::builder().build().unwrap().send(request).unwrap_err();
    (error.delivery(), error.kind())
}

#[test]
fn a_refused_connection_is_not_processed_d02() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", closed.local_addr().unwrap());
    drop(closed);
    assert_eq!(failure_of(&url), (Delivery::NotProcessed, TransportErrorKind::Connect));
}

#[test]
fn a_name_that_does_not_resolve_is_not_processed_d02() {
    let failure = failure_of("http://no-such-host.invalid/");
    assert_eq!(failure, (Delivery::NotProcessed, TransportErrorKind::Resolve));
}

#[test]
fn a_url_without_a_usable_server_is_not_processed_d01() {
    for url in ["/transaction", "ftp://127.0.0.1/", "socks5://127.0.0.1/", "http://user:word@127.0.0.1/"] {
        assert_eq!(failure_of(url), (Delivery::NotProcessed, TransportErrorKind::Other), "{url}");
    }
}

/// An invalid port must not become the scheme's default, where another server may listen.
#[test]
fn nothing_is_sent_for_an_invalid_port_d01() {
    // If tests may not listen on this port, the kind of the error shows that no connection was tried.
    let default_port = TcpListener::bind("127.0.0.1:80").ok();
    for port in ["", "0", "+80", "65616", "99999"] {
        let failure = failure_of(&format!("http://127.0.0.1:{port}/transaction"));
        assert_eq!(failure, (Delivery::NotProcessed, TransportErrorKind::Other), "{port:?}");
    }
    if let Some(listener) = default_port {
        listener.set_nonblocking(true).unwrap();
        let error = listener.accept().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
    }
}
