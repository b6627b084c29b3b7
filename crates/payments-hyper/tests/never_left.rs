//! Does a request that never left always come back as "not processed"?

#![allow(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod support;

use std::io::{ErrorKind, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::Duration;

use payments_core::{Delivery, TransportErrorKind};
use payments_hyper::HyperTransport;
use support::{Server, post, send_failing};

fn transport() -> HyperTransport {
    HyperTransport::builder().build().unwrap()
}

#[tokio::test]
async fn refused_is_not_processed_d02() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", nobody.local_addr().unwrap());
    drop(nobody);
    let (delivery, kind, _) = send_failing(&transport(), post(url)).await;
    assert_eq!((delivery, kind), (Delivery::NotProcessed, TransportErrorKind::Connect));
}

#[tokio::test]
async fn a_name_that_does_not_resolve_is_not_processed_d02() {
    let (delivery, kind, _) = send_failing(&transport(), post("http://no-such-host.invalid/")).await;
    assert_eq!((delivery, kind), (Delivery::NotProcessed, TransportErrorKind::Resolve));
}

#[tokio::test]
async fn a_uri_that_names_no_server_is_not_processed_d01() {
    for url in ["/transaction", "ftp://127.0.0.1/", "http://user:word@127.0.0.1/"] {
        let (delivery, ..) = send_failing(&transport(), post(url)).await;
        assert_eq!(delivery, Delivery::NotProcessed, "{url}");
    }
}

/// A port that cannot be read must not become the scheme's own: somebody else may listen there.
#[tokio::test]
async fn a_port_that_cannot_be_read_sends_nothing_anywhere_d01() {
    // Where this port is not for tests to take, the kind of the error shows that nobody tried to connect.
    let fall_back = TcpListener::bind("127.0.0.1:80").ok();
    for port in ["", "0", "+80", "65616", "99999", "000080"] {
        let plan = post(format!("http://127.0.0.1:{port}/transaction")).total(Duration::from_secs(1));
        let (delivery, kind, _) = send_failing(&transport(), plan).await;
        assert_eq!((delivery, kind), (Delivery::NotProcessed, TransportErrorKind::Other), "{port:?}");
    }
    if let Some(listener) = fall_back {
        listener.set_nonblocking(true).unwrap();
        let nobody = listener.accept().unwrap_err();
        assert_eq!(nobody.kind(), ErrorKind::WouldBlock);
    }
}

#[tokio::test]
async fn no_time_at_all_sends_nothing_even_on_an_open_connection_d23() {
    let server = Server::start(|connection| connection.serve("{}"));
    let transport = transport();
    support::send(&transport, post(server.url())).await.unwrap();
    let (delivery, kind, _) = send_failing(&transport, post(server.url()).total(Duration::ZERO)).await;
    assert_eq!((delivery, kind), (Delivery::NotProcessed, TransportErrorKind::Timeout));
    assert_eq!(server.received().len(), 1);
}

/// What a server does before it can have read anything makes hyper hand the request back. From a new connection that
/// ends the call: another connection might fare no better, and so on for ever.
#[tokio::test]
async fn a_new_connection_that_hands_the_request_back_is_not_processed_and_the_last_d02() {
    let speak_first = |mut tcp: &TcpStream| tcp.write_all(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n");
    let close = |tcp: &TcpStream| tcp.shutdown(Shutdown::Both);
    for greet in [speak_first, close] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let plan = post(format!("http://{}/", listener.local_addr().unwrap()));
        // The call is polled first and waits for its connection. Nobody polls it again, nor the network, before the
        // server, which works on the same thread, has done its part.
        let greeting = async {
            let tcp = listener.accept().unwrap().0;
            greet(&tcp).unwrap();
            tcp
        };
        let transport = transport();
        let ((delivery, kind, _), _open) = tokio::join!(send_failing(&transport, plan), greeting);
        assert_eq!((delivery, kind), (Delivery::NotProcessed, TransportErrorKind::Closed));
        listener.set_nonblocking(true).unwrap();
        assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock, "no other is tried");
    }
}
