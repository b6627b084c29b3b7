//! Tests that a connection is used only by the runtime that opened it.

use std::future::Future;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Request;
use payments_core::{
    Deadlines, Delivery, OperationName, Transport, TransportError, TransportErrorKind, TransportRequest,
};
use payments_reqwest::ReqwestTransport;
use tokio::runtime::Builder;

/// Responds to a request for each message from `may_respond`, and counts connections and requests.
struct Server {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    requests: Arc<AtomicUsize>,
    may_respond: mpsc::Sender<()>,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (connections, requests) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let (may_respond, wait) = mpsc::channel();
        let wait = Arc::new(std::sync::Mutex::new(wait));
        let server =
            Self { address, connections: connections.clone(), requests: requests.clone(), may_respond };
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                connections.fetch_add(1, Ordering::SeqCst);
                let (requests, wait) = (requests.clone(), Arc::clone(&wait));
                thread::spawn(move || serve(connection, &requests, &wait));
            }
        });
        server
    }

    fn request(&self) -> TransportRequest {
        request(self.address, Bytes::from_static(b"{}"))
    }

    fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}

fn request(to: SocketAddr, body: Bytes) -> TransportRequest {
    let request = Request::post(format!("http://{to}/")).body(body).unwrap();
    TransportRequest::new(request, OperationName::TokenTransaction, Deadlines::default(), 1024)
}

fn serve(mut connection: TcpStream, requests: &AtomicUsize, wait: &std::sync::Mutex<mpsc::Receiver<()>>) {
    let mut unread = Vec::new();
    loop {
        while !unread.ends_with(b"{}") {
            let mut buffer = [0; 1024];
            match connection.read(&mut buffer) {
                Ok(0) | Err(_) => return,
                Ok(length) => unread.extend_from_slice(&buffer[..length]),
            }
        }
        unread.clear();
        requests.fetch_add(1, Ordering::SeqCst);
        if wait.lock().unwrap().recv().is_err()
            || connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}").is_err()
        {
            return;
        }
    }
}

#[test]
fn a_connection_of_another_runtime_is_not_used() {
    let server = Server::start();
    let transport = ReqwestTransport::builder().build().unwrap();
    let runtime = || Builder::new_current_thread().enable_all().build().unwrap();
    let (first, second) = (runtime(), runtime());
    // Neither runtime is driven while the other runs, so a shared connection would never get its response.
    for _ in 0..3 {
        for runtime in [&first, &second] {
            server.may_respond.send(()).unwrap();
            runtime.block_on(transport.send(server.request())).unwrap();
        }
    }
    assert_eq!(server.connections.load(Ordering::SeqCst), 2);
}

/// As in a process that was stopped until after the deadline of a call, while another call returned its connection.
#[tokio::test]
async fn a_connection_that_another_call_returns_after_the_deadline_sends_nothing_d23() {
    let server = Server::start();
    let transport = ReqwestTransport::builder().build().unwrap();
    let other = tokio::spawn({
        let (transport, request) = (transport.clone(), server.request());
        async move { transport.send(request).await }
    });
    while server.requests() == 0 {
        tokio::task::yield_now().await;
    }
    let total = Duration::from_millis(500);
    let request =
        Request::post(format!("http://{}/", server.address)).body(Bytes::from_static(b"{}")).unwrap();
    let deadlines = Deadlines::new(total, total);
    let request = TransportRequest::new(request, OperationName::TokenTransaction, deadlines, 1024);
    let mut call = pin!(transport.send(request));
    let mut context = Context::from_waker(Waker::noop());
    assert!(call.as_mut().poll(&mut context).is_pending(), "the call connects");
    // The call counts its deadline from within that poll.
    let started = Instant::now();
    server.may_respond.send(()).unwrap();
    other.await.unwrap().unwrap();
    // The connection waits for the call, which is not polled before its deadline.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    thread::sleep(total.saturating_sub(started.elapsed()));
    let error = call.await.unwrap_err();
    assert_eq!(evidence(&error), (Delivery::NotProcessed, TransportErrorKind::Timeout), "{error:?}");
    assert_eq!(server.requests(), 1);
}

struct Signal(mpsc::Sender<()>);

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.0.send(()).unwrap_or(());
    }
}

/// hyper-util spawns a task to return the connection to its pool.
#[test]
fn a_call_can_be_dropped_outside_its_runtime() {
    let server = Server::start();
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    for calls in (0..20).step_by(2) {
        let transport = ReqwestTransport::builder().build().unwrap();
        let (wake, woken) = mpsc::channel();
        let waker = Waker::from(Arc::new(Signal(wake)));
        let mut call = Box::pin(transport.send(server.request()));
        while server.requests() == calls {
            let _within = runtime.enter();
            assert!(call.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            let _ = woken.recv_timeout(Duration::from_millis(5));
        }
        // Drops the call after the response has arrived and before the call reads it.
        woken.try_iter().for_each(drop);
        server.may_respond.send(()).unwrap();
        woken.recv().unwrap();
        drop(call);

        server.may_respond.send(()).unwrap();
        runtime.block_on(transport.send(server.request())).unwrap();
    }
}

fn evidence(error: &TransportError) -> (Delivery, TransportErrorKind) {
    (error.delivery(), error.kind())
}

#[test]
fn a_runtime_without_a_driver_is_a_configuration_error_d01() {
    let server = Server::start();
    let transport = ReqwestTransport::builder().build().unwrap();
    for has_time in [true, false] {
        let mut runtime = Builder::new_current_thread();
        let runtime = if has_time { runtime.enable_time() } else { runtime.enable_io() };
        let error = runtime.build().unwrap().block_on(transport.send(server.request())).unwrap_err();
        let expected = (Delivery::NotProcessed, TransportErrorKind::Configuration);
        assert_eq!(evidence(&error), expected, "{error:?}");
    }
    assert_eq!(server.requests(), 0);
}

/// A body that panics when it is dropped.
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

/// Only the connector's own panic proves that nothing was sent.
#[tokio::test]
async fn a_panic_in_a_call_is_unknown_d03() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let transport = ReqwestTransport::builder().build().unwrap();
    let error = transport.send(request(nobody, Bytes::from_owner(PanicOnDrop(b"{}")))).await.unwrap_err();
    assert_eq!(evidence(&error), (Delivery::Unknown, TransportErrorKind::Other), "{error:?}");
}
