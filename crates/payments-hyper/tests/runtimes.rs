//! Is a missing or poorer runtime an error and never a panic?

#![allow(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod support;

use std::cell::Cell;
use std::future::Future;
use std::panic;
use std::pin::{Pin, pin};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use bytes::Bytes;
use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
use payments_core::{
    ApiKey, Client, Delivery, Endpoint, Error, Outcome, Sleep, Timer, Transport, TransportErrorKind,
};
use payments_hyper::{HyperTransport, TokioTimer};
use static_assertions::assert_impl_all;
use support::{Server, gate, post, send, send_failing};

assert_impl_all!(HyperTransport: Clone, Send, Sync, std::fmt::Debug);

/// How many panics there are on this thread meanwhile, caught ones included: with `panic = "abort"` none can be.
fn panics_during(work: impl FnOnce()) -> usize {
    thread_local!(static PANICS: Cell<usize> = const { Cell::new(0) });
    let former = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        PANICS.set(PANICS.get() + 1);
        former(info);
    }));
    let before = PANICS.get();
    work();
    PANICS.get() - before
}

fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

fn client(server: &Server, transport: &HyperTransport) -> Client {
    let endpoint = Endpoint::new(&server.url(), ApiKey::new("key").unwrap()).unwrap();
    Client::builder(endpoint, transport.clone(), TokioTimer::new()).build()
}

fn payment() -> TokenTransaction {
    TokenTransaction::builder("tok_1", Amount::from_cents(10_50), ConvenienceFee::Inactive).build().unwrap()
}

#[track_caller]
fn assert_names(error: &Error, missing: &str) {
    let text = error.to_string();
    assert!(error.is_configuration() && error.outcome() == Outcome::NotProcessed, "{text}");
    assert!(text.contains(missing) && text.ends_with("nothing was sent: correct the settings"), "{text}");
}

#[test]
fn outside_of_a_runtime_a_payment_is_a_configuration_error_and_no_panic_d01() {
    let server = Server::start(|connection| connection.serve("{}"));
    let client = client(&server, &HyperTransport::builder().build().unwrap());
    let (payment, id) = (payment(), "txn_1".parse().unwrap());
    let panics = panics_during(|| {
        let Poll::Ready(Err(error)) = poll(pin!(client.process_token(&payment))) else {
            panic!("there is nothing to wait for");
        };
        assert_names(&error, "a tokio runtime is missing");
        assert!(poll(pin!(client.transaction(&id))).is_ready(), "it is not worth another try");
    });
    assert_eq!((panics, server.connections()), (0, 0));
}

#[test]
fn a_runtime_without_a_driver_is_a_configuration_error_d01() {
    let server = Server::start(|connection| connection.serve("{}"));
    let client = client(&server, &HyperTransport::builder().build().unwrap());
    let builder = tokio::runtime::Builder::new_current_thread;
    for (runtime, missing) in [
        (builder().build().unwrap(), "time driver"),
        (builder().enable_io().build().unwrap(), "time driver"),
        (builder().enable_time().build().unwrap(), "network driver"),
    ] {
        assert_names(&runtime.block_on(client.process_token(&payment())).unwrap_err(), missing);
    }
    assert_eq!(server.received().len(), 0);
}

#[test]
fn a_call_that_leaves_its_runtime_before_it_is_sent_is_a_configuration_error_d01() {
    let server = Server::start(|connection| connection.serve("{}"));
    let transport = HyperTransport::builder().max_connections(1).build().unwrap();
    let client = client(&server, &transport);
    let payment = payment();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut second = pin!(client.process_token(&payment));
    {
        let _entered = runtime.enter();
        let mut first = pin!(transport.send(post(server.url()).request()));
        assert!(poll(first.as_mut()).is_pending(), "it has the only permit");
        assert!(poll(second.as_mut()).is_pending(), "it waits for the permit");
    }
    let panics = panics_during(|| {
        let Poll::Ready(Err(error)) = poll(second) else { panic!("there is nothing to wait for") };
        assert_names(&error, "a tokio runtime is missing");
    });
    assert_eq!((panics, server.received().len()), (0, 0));
}

/// A body that panics once it was written.
struct Explosive(&'static [u8]);

impl AsRef<[u8]> for Explosive {
    fn as_ref(&self) -> &[u8] {
        self.0
    }
}

impl Drop for Explosive {
    fn drop(&mut self) {
        panic!("on purpose");
    }
}

#[tokio::test]
async fn a_panic_with_a_connection_taken_is_unknown_and_no_configuration_error_d03() {
    let (read, wait_until_read) = gate();
    let server = Server::start(move |connection| {
        connection.read_request();
        read();
    });
    let transport = HyperTransport::builder().build().unwrap();
    let plan = post(server.url()).body(Bytes::from_owner(Explosive(b"{}")));
    let (delivery, kind, _) = send_failing(&transport, plan).await;
    assert_eq!((delivery, kind), (Delivery::Unknown, TransportErrorKind::Other));
    wait_until_read();
    assert_eq!(server.received().len(), 1);
}

/// A task that has much else to do gives a call no turn of tokio's to look at its own deadline.
#[tokio::test(start_paused = true)]
async fn the_transports_deadline_wins_over_the_backstop_in_a_busy_task_d23() {
    let server = Server::start(|connection| drop(connection.hold()));
    let client = client(&server, &HyperTransport::builder().build().unwrap());
    let payment = payment();
    let mut call = pin!(client.process_token(&payment));
    assert!(poll(call.as_mut()).is_pending(), "it connects");
    tokio::time::advance(Duration::from_hours(1)).await;
    while poll(pin!(tokio::task::consume_budget())).is_ready() {}
    let Poll::Ready(Err(error)) = poll(call) else { panic!("it has no time left") };
    assert!(error.is_timeout() && error.outcome() == Outcome::NotProcessed, "{error}");
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
fn a_timer_that_needs_no_runtime_ends_a_call_in_one_that_nobody_drives_d23() {
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

/// Told when the future that has it is to be polled again.
struct Signal(mpsc::Sender<()>);

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.0.send(()).unwrap_or(());
    }
}

/// hyper-util would put the connection back into its pool, and start a task for that where there is no runtime.
#[test]
fn a_call_dropped_outside_of_its_runtime_breaks_no_later_call() {
    let (answer, may_answer) = gate();
    let server = Server::start(move |connection| {
        while connection.read_request() {
            may_answer();
            connection.peer().answer("{}");
        }
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    for calls in (0..20).step_by(2) {
        let transport = HyperTransport::builder().build().unwrap();
        let (wake, woken) = mpsc::channel();
        let waker = Waker::from(Arc::new(Signal(wake)));
        let mut call = Box::pin(transport.send(post(server.url()).request()));
        while server.received().len() == calls {
            let _within = runtime.enter();
            assert!(call.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            let _ = woken.recv_timeout(Duration::from_millis(5));
        }
        // The response arrives, and the call is dropped before it takes it.
        woken.try_iter().for_each(drop);
        answer();
        woken.recv().unwrap();
        drop(call);

        answer();
        runtime.block_on(send(&transport, post(server.url()))).unwrap();
    }
}
