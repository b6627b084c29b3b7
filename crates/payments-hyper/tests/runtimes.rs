//! Is a missing or poorer runtime an error and never a panic?

#![allow(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod support;

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use payments_core::{Delivery, Transport, TransportErrorKind};
use payments_hyper::HyperTransport;
use static_assertions::assert_impl_all;
use support::{Server, post, send_failing};

assert_impl_all!(HyperTransport: Clone, Send, Sync, std::fmt::Debug);

#[test]
fn a_call_outside_of_a_runtime_is_not_processed() {
    let server = Server::start(|connection| connection.serve("{}"));
    let transport = HyperTransport::builder().build().unwrap();
    let mut call = pin!(transport.send(post(server.url()).request()));
    let Poll::Ready(result) = call.as_mut().poll(&mut Context::from_waker(Waker::noop())) else {
        panic!("there is nothing to wait for");
    };
    let error = result.unwrap_err();
    assert_eq!((error.delivery(), error.kind()), (Delivery::NotProcessed, TransportErrorKind::Other));
    assert_eq!(server.connections(), 0);
}

#[test]
fn a_runtime_without_a_driver_is_not_processed() {
    let server = Server::start(|connection| connection.serve("{}"));
    let transport = HyperTransport::builder().build().unwrap();
    let bare = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let no_network = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let no_time = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    for runtime in [bare, no_network, no_time] {
        let (delivery, kind, _) = runtime.block_on(send_failing(&transport, post(server.url())));
        assert_eq!((delivery, kind), (Delivery::NotProcessed, TransportErrorKind::Other));
    }
    assert_eq!(server.received().len(), 0);
}
