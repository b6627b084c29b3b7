//! Does a request that never left always come back as "not processed"?

#![allow(clippy::unwrap_used, reason = "in a test a panic is the report")]

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
fn refused_is_not_processed_d02() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", nobody.local_addr().unwrap());
    drop(nobody);
    assert_eq!(failure_of(&url), (Delivery::NotProcessed, TransportErrorKind::Connect));
}

#[test]
fn a_name_that_does_not_resolve_is_not_processed_d02() {
    let failure = failure_of("http://no-such-host.invalid/");
    assert_eq!(failure, (Delivery::NotProcessed, TransportErrorKind::Resolve));
}

#[test]
fn a_uri_that_names_no_server_is_not_processed_d01() {
    for url in ["/transaction", "ftp://127.0.0.1/", "socks5://127.0.0.1/", "http://user:word@127.0.0.1/"] {
        assert_eq!(failure_of(url), (Delivery::NotProcessed, TransportErrorKind::Other), "{url}");
    }
}

/// A port that cannot be read must not become the scheme's own: somebody else may listen there.
#[test]
fn a_port_that_cannot_be_read_sends_nothing_anywhere_d01() {
    // Where tests may not listen at this port, the kind of the error shows that no connection was tried.
    let fall_back = TcpListener::bind("127.0.0.1:80").ok();
    for port in ["", "0", "+80", "65616", "99999"] {
        let failure = failure_of(&format!("http://127.0.0.1:{port}/transaction"));
        assert_eq!(failure, (Delivery::NotProcessed, TransportErrorKind::Other), "{port:?}");
    }
    if let Some(listener) = fall_back {
        listener.set_nonblocking(true).unwrap();
        let nobody = listener.accept().unwrap_err();
        assert_eq!(nobody.kind(), ErrorKind::WouldBlock);
    }
}
