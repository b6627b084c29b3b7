//! Tests that a request of which nothing was sent is always "not processed".

use std::error::Error as _;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpListener};
use std::thread;
use std::time::Duration;

use http::Request;
use payments_core::blocking::Transport;
use payments_core::{
    Deadlines, Delivery, OperationName, TransportError, TransportErrorKind, TransportRequest,
};
use payments_ureq::UreqTransport;

fn failure_of(url: &str) -> (Delivery, TransportErrorKind) {
    let error = error_of(url);
    (error.delivery(), error.kind())
}

fn error_of(url: &str) -> TransportError {
    let request = Request::post(url).body("{}".into()).unwrap();
    let deadlines = Deadlines::new(Duration::from_secs(20), Duration::from_secs(20));
    let cap = TransportRequest::DEFAULT_RESPONSE_CAP;
    let request = TransportRequest::new(request, OperationName::TokenTransaction, deadlines, cap);
    UreqTransport::builder().build().unwrap().send(request).unwrap_err()
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

/// TLS cannot check a certificate for such a name, so no connection is opened.
#[test]
fn a_name_that_tls_does_not_allow_is_a_configuration_error_d02() {
    let error = error_of("https://no..name.invalid/");
    assert_eq!((error.delivery(), error.kind()), (Delivery::NotProcessed, TransportErrorKind::Configuration));
    assert!(error.is_permanent());
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

#[test]
fn every_alert_about_a_client_certificate_says_so_d02() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://localhost:{}/", listener.local_addr().unwrap().port());
    // The numbers of the alerts in RFC 8446, section 6.
    let alerts = [40, 41, 42, 43, 44, 45, 46, 48, 49, 116];
    thread::spawn(move || {
        for alert in alerts {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 4096]).unwrap();
            stream.write_all(&[21, 3, 3, 0, 2, 2, alert]).unwrap();
            stream.shutdown(Shutdown::Write).unwrap();
            let _ = stream.read_to_end(&mut Vec::new());
        }
    });
    for alert in alerts {
        let error = error_of(&url);
        assert_eq!((error.delivery(), error.kind()), (Delivery::NotProcessed, TransportErrorKind::Tls));
        let text = error.source().unwrap().to_string();
        assert!(text.contains("client certificate"), "alert {alert}: {text}");
    }
}
