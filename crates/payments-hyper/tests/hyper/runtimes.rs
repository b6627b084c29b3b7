//! Is a missing or incomplete runtime an error and never a panic?

use std::cell::Cell;
use std::future::Future;
use std::panic;
use std::pin::{Pin, pin};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use crate::support::{Server, gate, post, runtime, send, send_failing, settle, spawn, transport, until};
use bytes::Bytes;
use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
use payments_core::{
    ApiKey, Client, Delivery, Endpoint, Error, ErrorKind, Outcome, Sleep, Timer, Transport,
    TransportErrorKind,
};
use payments_hyper::{HyperTransport, TokioTimer};
use static_assertions::assert_impl_all;

assert_impl_all!(HyperTransport: Clone, Send, Sync, std::fmt::Debug);

/// The number of panics on this thread while `work` runs, including caught ones: with `panic = "abort"` each would be fatal.
fn panics_during(work: impl FnOnce()) -> usize {
    thread_local!(static PANICS: Cell<usize> = const { Cell::new(0) });
    let previous = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        PANICS.set(PANICS.get() + 1);
        previous(info);
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
    assert!(error.kind() == ErrorKind::Configuration && error.outcome() == Outcome::NotProcessed, "{text}");
    assert!(text.contains(missing) && text.ends_with("nothing was sent: fix the settings"), "{text}");
}

#[test]
fn a_call_outside_a_runtime_is_a_configuration_error_without_a_panic_d01() {
    let server = Server::start(|connection| connection.serve("{}"));
    let client = client(&server, &transport());
    let (payment, id) = (payment(), "txn_1".parse().unwrap());
    let panics = panics_during(|| {
        let Poll::Ready(Err(error)) = poll(pin!(client.process_token(&payment))) else {
            panic!("the call must not wait");
        };
        assert_names(&error, "a tokio runtime is missing");
        assert!(poll(pin!(client.transaction(&id))).is_ready(), "the lookup must not be retried");
    });
    assert_eq!((panics, server.connections()), (0, 0));
}

#[test]
fn a_runtime_without_a_driver_is_a_configuration_error_d01() {
    let server = Server::start(|connection| connection.serve("{}"));
    let client = client(&server, &transport());
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
fn a_call_polled_outside_its_runtime_before_it_is_sent_is_a_configuration_error_d01() {
    let server = Server::start(|connection| connection.serve("{}"));
    let transport = HyperTransport::builder().max_requests_in_flight(1).build().unwrap();
    let client = client(&server, &transport);
    let payment = payment();
    let runtime = runtime();
    let mut second = pin!(client.process_token(&payment));
    {
        let _entered = runtime.enter();
        let mut first = pin!(transport.send(post(server.url()).request()));
        assert!(poll(first.as_mut()).is_pending(), "the first call has the only permit");
        assert!(poll(second.as_mut()).is_pending(), "the second call waits for the permit");
    }
    let panics = panics_during(|| {
        let Poll::Ready(Err(error)) = poll(second) else { panic!("the call must not wait") };
        assert_names(&error, "a tokio runtime is missing");
    });
    assert_eq!((panics, server.received().len()), (0, 0));
}

/// A body that panics when it is dropped after it was written.
struct PanicOnDrop(&'static [u8]);

impl AsRef<[u8]> for PanicOnDrop {
    fn as_ref(&self) -> &[u8] {
        self.0
    }
}

impl Drop for PanicOnDrop {
    fn drop(&mut self) {
        panic!("on purpose");
    }
}

#[tokio::test]
async fn a_panic_after_a_connection_was_assigned_is_unknown_d03() {
    let (read, wait_until_read) = gate();
    let server = Server::start(move |connection| {
        connection.read_request();
        read();
    });
    let transport = transport();
    let plan = post(server.url()).body(Bytes::from_owner(PanicOnDrop(b"{}")));
    let (delivery, kind, _) = send_failing(&transport, plan).await;
    assert_eq!((delivery, kind), (Delivery::Unknown, TransportErrorKind::Other));
    wait_until_read();
    assert_eq!(server.received().len(), 1);
}

/// In a task without tokio budget, an ordinary timer would not fire.
#[tokio::test(start_paused = true)]
async fn the_transports_deadline_fires_in_a_busy_task_d23() {
    let server = Server::start(|connection| drop(connection.hold()));
    let client = client(&server, &transport());
    let payment = payment();
    let mut call = pin!(client.process_token(&payment));
    assert!(poll(call.as_mut()).is_pending(), "the call connects");
    tokio::time::advance(Duration::from_hours(1)).await;
    while poll(pin!(tokio::task::consume_budget())).is_ready() {}
    let Poll::Ready(Err(error)) = poll(call) else { panic!("the deadline has passed") };
    assert!(error.kind() == ErrorKind::TimedOut && error.outcome() == Outcome::NotProcessed, "{error}");
}

/// As in a process that was stopped meanwhile.
#[tokio::test(start_paused = true)]
async fn a_connection_that_opens_after_its_deadline_sends_nothing_d23() {
    let server = Server::start(|connection| connection.serve("{}"));
    let transport = transport();
    let mut call =
        pin!(transport.send(
            post(server.url()).connect(Duration::from_secs(10)).total(Duration::from_mins(1)).request()
        ));
    assert!(poll(call.as_mut()).is_pending(), "the call connects");
    until(|| server.connections() > 0).await;
    // The runtime learns that the connection is open, but the call is not polled.
    tokio::time::advance(Duration::from_secs(20)).await;
    tokio::task::yield_now().await;
    let Poll::Ready(Err(error)) = poll(call) else { panic!("the deadline has passed") };
    assert_eq!((error.delivery(), error.kind()), (Delivery::NotProcessed, TransportErrorKind::Timeout));
    assert_eq!(server.received().len(), 0);
}

/// As in a process that was stopped meanwhile.
#[tokio::test(start_paused = true)]
async fn a_connection_that_another_call_returns_after_the_deadline_sends_nothing_d23() {
    let (may_respond, wait_until_may_respond) = gate();
    let server = Server::start(move |connection| {
        while connection.read_request() {
            wait_until_may_respond();
            connection.peer().respond("{}");
        }
    });
    let transport = transport();
    let other = spawn(&transport, post(server.url()).total(Duration::from_hours(3)));
    until(|| !server.received().is_empty()).await;
    let request = post(server.url()).connect(Duration::from_hours(3)).total(Duration::from_mins(1)).request();
    let mut call = pin!(transport.send(request));
    assert!(poll(call.as_mut()).is_pending(), "the call connects");
    may_respond();
    until(|| other.is_finished()).await;
    // The connection waits for the call, which is not polled before its deadline.
    settle().await;
    tokio::time::advance(Duration::from_hours(1)).await;
    let Poll::Ready(Err(error)) = poll(call) else { panic!("the deadline has passed") };
    assert_eq!((error.delivery(), error.kind()), (Delivery::NotProcessed, TransportErrorKind::Timeout));
    assert_eq!(server.received().len(), 1);
}

/// Like the one above, but the call first had a connection that the server had closed, which returned the request unwritten.
#[tokio::test(start_paused = true)]
async fn a_returned_request_is_not_sent_on_another_connection_after_the_deadline_d23() {
    let (may_respond, wait_until_may_respond) = gate();
    let (may_close, wait_until_may_close) = gate();
    let (closed, wait_until_closed) = gate();
    let server = Server::start(move |connection| {
        if connection.index() == 0 {
            while connection.read_request() {
                wait_until_may_respond();
                connection.peer().respond("{}");
            }
        } else if connection.read_request() {
            connection.peer().respond("{}");
            wait_until_may_close();
            connection.close();
            closed();
        }
    });
    let transport = transport();
    let request = || post(server.url()).connect(Duration::from_hours(3)).total(Duration::from_hours(3));
    let other = spawn(&transport, request());
    until(|| !server.received().is_empty()).await;
    let first = spawn(&transport, request());
    until(|| first.is_finished()).await;
    first.await.unwrap().unwrap();
    let mut call = pin!(transport.send(request().total(Duration::from_mins(1)).request()));
    may_close();
    wait_until_closed();
    assert!(poll(call.as_mut()).is_pending(), "the call has the connection that is closed");
    settle().await;
    assert!(poll(call.as_mut()).is_pending(), "the call connects again");
    may_respond();
    until(|| other.is_finished()).await;
    settle().await;
    tokio::time::advance(Duration::from_hours(1)).await;
    let Poll::Ready(Err(error)) = poll(call) else { panic!("the deadline has passed") };
    assert_eq!((error.delivery(), error.kind()), (Delivery::NotProcessed, TransportErrorKind::Timeout));
    assert_eq!(server.received().len(), 2);
}

/// A timer with one sleeping thread for each sleep. It needs no runtime.
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
fn a_timer_without_a_runtime_ends_a_call_on_an_undriven_runtime_d23() {
    let transport = transport();
    let server = Server::start(|connection| _ = connection.hold());
    let endpoint = Endpoint::new(&server.url(), ApiKey::new("key").unwrap()).unwrap();
    let client = Client::builder(endpoint, transport, ThreadTimer)
        .total_timeout(Duration::from_millis(100))
        .lookup_retries(0)
        .build();
    let runtime = runtime();
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
    assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
}

/// Sends a message when its task is woken.
struct WakeSignal(mpsc::Sender<()>);

impl Wake for WakeSignal {
    fn wake(self: Arc<Self>) {
        self.0.send(()).unwrap_or(());
    }
}

/// Without the guard, hyper-util would return the connection to its pool and spawn a task for that outside a runtime.
#[test]
fn a_call_dropped_outside_its_runtime_breaks_no_later_call() {
    let (respond, wait_until_may_respond) = gate();
    let server = Server::start(move |connection| {
        while connection.read_request() {
            wait_until_may_respond();
            connection.peer().respond("{}");
        }
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    for calls in (0..20).step_by(2) {
        let transport = transport();
        let (wake, woken) = mpsc::channel();
        let waker = Waker::from(Arc::new(WakeSignal(wake)));
        let mut call = Box::pin(transport.send(post(server.url()).request()));
        while server.received().len() == calls {
            let _entered = runtime.enter();
            assert!(call.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            let _ = woken.recv_timeout(Duration::from_millis(5));
        }
        // The response arrives, but the call is dropped before it reads it.
        woken.try_iter().for_each(drop);
        respond();
        woken.recv().unwrap();
        drop(call);

        respond();
        runtime.block_on(send(&transport, post(server.url()))).unwrap();
    }
}
