//! Is a request that was never sent always reported as not processed?

use std::io::{ErrorKind, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::Duration;

use crate::support::{post, send_failing, transport};
use payments_core::{Delivery, TransportErrorKind};

#[tokio::test]
async fn each_failure_to_connect_has_its_kind_d02() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for (url, kind) in [
        (format!("http://{closed}/"), TransportErrorKind::Connect),
        ("http://no-such-host.invalid/".to_owned(), TransportErrorKind::Resolve),
    ] {
        let (delivery, was, _) = send_failing(&transport(), post(&url)).await;
        assert_eq!((delivery, was), (Delivery::NotProcessed, kind), "{url}");
    }
}

#[tokio::test]
async fn an_unusable_uri_is_not_processed_d01() {
    for url in ["/transaction", "ftp://127.0.0.1/", "http://user:word@127.0.0.1/"] {
        let (delivery, ..) = send_failing(&transport(), post(url)).await;
        assert_eq!(delivery, Delivery::NotProcessed, "{url}");
    }
}

/// An unreadable port must not be replaced by the scheme's default: somebody else may listen there.
#[tokio::test]
async fn an_unreadable_port_sends_nothing_d01() {
    // If the test may not bind port 80, the error kind alone shows that no connection was tried.
    let fall_back = TcpListener::bind("127.0.0.1:80").ok();
    for port in ["", "0", "+80", "65616", "99999", "000080"] {
        let plan = post(format!("http://127.0.0.1:{port}/transaction")).total(Duration::from_secs(1));
        let (delivery, kind, _) = send_failing(&transport(), plan).await;
        assert_eq!((delivery, kind), (Delivery::NotProcessed, TransportErrorKind::Other), "{port:?}");
    }
    if let Some(listener) = fall_back {
        listener.set_nonblocking(true).unwrap();
        let error = listener.accept().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
    }
}

/// hyper returns the request if the server speaks or closes before it has read anything. On a new connection that ends the call:
/// another connection might fail the same way, endlessly.
#[tokio::test]
async fn a_request_returned_from_a_new_connection_is_not_processed_d02() {
    let speak_first = |mut tcp: &TcpStream| tcp.write_all(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n");
    let close = |tcp: &TcpStream| tcp.shutdown(Shutdown::Both);
    for greet in [speak_first, close] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let plan = post(format!("http://{}/", listener.local_addr().unwrap()));
        // The call is polled first and waits for its connection. The server runs on the same thread, so neither the call nor
        // the network is polled again before the server is done.
        let greeting = async {
            let tcp = listener.accept().unwrap().0;
            greet(&tcp).unwrap();
            tcp
        };
        let transport = transport();
        let ((delivery, kind, _), _open) = tokio::join!(send_failing(&transport, plan), greeting);
        assert_eq!((delivery, kind), (Delivery::NotProcessed, TransportErrorKind::Closed));
        listener.set_nonblocking(true).unwrap();
        assert_eq!(
            listener.accept().unwrap_err().kind(),
            ErrorKind::WouldBlock,
            "no other connection is tried"
        );
    }
}
