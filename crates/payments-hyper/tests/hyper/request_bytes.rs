//! Does the server read exactly the request that was passed?

use crate::support::{CARD_NUMBER, KEY, Server, post, send, transport};
use bytes::Bytes;
use http::{Method, Request, Version};
use payments_core::{Deadlines, OperationName, Transport, TransportRequest};

#[tokio::test]
async fn a_charge_is_exactly_these_bytes_d25() {
    let server = Server::start(|connection| connection.serve("{}"));
    send(&transport(), post(server.url())).await.unwrap();
    let [request] = server.received().try_into().expect("one request");
    assert_eq!(
        request.head,
        format!(
            "POST /api/v1/public/transaction HTTP/1.1\r\nauthorization: {KEY}\r\nhost: {}\r\ncontent-length: 30\r\n\r\n",
            server.address
        )
    );
    assert_eq!(request.body, format!(r#"{{"CardNumber":"{CARD_NUMBER}"}}"#).into_bytes());
}

#[tokio::test]
async fn a_lookup_has_neither_body_nor_length() {
    let server = Server::start(|connection| connection.serve("{}"));
    let plan = post(format!("http://{}/v1/transaction/a%2Fb:c~d?x=y%20z", server.address)).get();
    send(&transport(), plan).await.unwrap();
    let [request] = server.received().try_into().expect("one request");
    assert_eq!(request.request_line(), "GET /v1/transaction/a%2Fb:c~d?x=y%20z HTTP/1.1");
    assert_eq!(request.header("content-length"), [""; 0]);
    assert_eq!(request.header("transfer-encoding"), [""; 0]);
}

#[tokio::test]
async fn an_empty_post_has_content_length_zero() {
    let server = Server::start(|connection| connection.serve("{}"));
    send(&transport(), post(server.url()).body("")).await.unwrap();
    assert_eq!(server.received()[0].header("content-length"), ["0"]);
}

#[tokio::test]
async fn the_transport_sets_length_host_and_version() {
    let server = Server::start(|connection| connection.serve("{}"));
    let request = Request::builder()
        .method(Method::POST)
        .version(Version::HTTP_3)
        .uri(format!("http://{}", server.address))
        .header("host", "elsewhere.example")
        .header("content-length", "3")
        .header("transfer-encoding", "chunked")
        .header("x-twice", "one")
        .header("x-twice", "two")
        .body(Bytes::from_static(b"{\"a\":1}"))
        .unwrap();
    let request = TransportRequest::new(request, OperationName::Void, Deadlines::default(), 1000);
    transport().send(request).await.unwrap();
    let [received] = server.received().try_into().expect("one request");
    assert_eq!(received.request_line(), "POST / HTTP/1.1");
    assert_eq!(received.header("host"), [server.address.to_string()]);
    assert_eq!(received.header("content-length"), ["7"]);
    assert_eq!(received.header("transfer-encoding"), [""; 0]);
    assert_eq!(received.header("x-twice"), ["one", "two"]);
    assert_eq!(received.body, b"{\"a\":1}");
}
