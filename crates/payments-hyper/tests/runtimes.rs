//! Is a missing or poorer runtime an error and never a panic?

#![allow(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod support;

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use payments_core::{ApiKey, Client, Delivery, Endpoint, Sleep, Timer, Transport, TransportErrorKind};
use payments_hyper::{HyperTransport, TokioTimer};
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

/// Threads that sleep, wherever the task runs that waits for them.
struct ThreadTimer;

impl Timer for ThreadTimer {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        let (ended, ends) = tokio::sync::oneshot::channel();
        thread::spawn(move || {
            thread::sleep(duration);
            ended.send(())
        });
        Box::pin(async { ends.await.unwrap() })
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

#[test]
fn d23_a_timer_that_needs_no_runtime_ends_a_call_in_one_that_nobody_drives() {
    let transport = HyperTransport::builder().build().unwrap();
    let server = Server::start(|connection| _ = connection.hold());
    let endpoint = Endpoint::new(&server.url(), ApiKey::new("key").unwrap()).unwrap();
    let client = Client::builder(endpoint, transport, ThreadTimer)
        .total_timeout(Duration::from_millis(100))
        .lookup_retries(0)
        .build();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let _entered = runtime.enter();
    let id = "txn_1".parse().unwrap();
    let mut call = pin!(client.transaction(&id));
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let error = loop {
        match call.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(result) => break result.unwrap_err(),
            Poll::Pending => thread::park_timeout(Duration::from_secs(30)),
        }
    };
    assert!(error.is_timeout(), "{error}");
}
