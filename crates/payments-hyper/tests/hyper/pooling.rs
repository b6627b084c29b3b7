//! Which connection carries a request, and which one is never reused? The contracts say more about both.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use crate::support::{Server, gate, post, runtime, send, send_failing, settle, spawn, transport};
use payments_core::{Delivery, TransportErrorKind};
use payments_hyper::HyperTransport;

#[tokio::test]
async fn the_most_recently_used_connection_is_reused_first() {
    let (may_respond, wait_until_may_respond) = gate();
    let (arrived, wait_until_arrived) = gate();
    let server = Server::start(move |connection| {
        let name = connection.index().to_string();
        while connection.read_request() {
            if name == "0" && connection.requests_read() == 1 {
                arrived();
                wait_until_may_respond();
            }
            connection.peer().respond(&name);
        }
    });
    let transport = transport();
    let older = spawn(&transport, post(server.url()));
    tokio::task::spawn_blocking(wait_until_arrived).await.unwrap();
    assert_eq!(send(&transport, post(server.url())).await.unwrap().body(), "1");
    may_respond();
    assert_eq!(older.await.unwrap().unwrap().body(), "0");
    assert_eq!(send(&transport, post(server.url())).await.unwrap().body(), "0");
}

/// Counts, with its `Arc`, who keeps a waker of this task.
struct TaskWaker(Waker);

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.0.wake_by_ref();
    }
}

#[tokio::test]
async fn an_idle_connection_keeps_no_task_alive() {
    let server = Server::start(|connection| {
        let name = connection.index().to_string();
        while connection.read_request() {
            connection.peer().respond(&name);
        }
    });
    let transport = transport();
    let tasks = [(); 2].map(async |()| {
        let mut call = pin!(send(&transport, post(server.url())));
        let mut task = None;
        let response = poll_fn(|cx| {
            let task = task.get_or_insert_with(|| Arc::new(TaskWaker(cx.waker().clone())));
            call.as_mut().poll(&mut Context::from_waker(&Waker::from(Arc::clone(task))))
        })
        .await;
        (response.unwrap().body().to_vec(), task.unwrap())
    });
    for task in tasks {
        let (connection, task) = task.await;
        assert_eq!(connection, b"0", "the connection is kept");
        assert_eq!(Arc::strong_count(&task), 1, "the connection keeps the waker of its last call");
    }
}

#[tokio::test]
async fn one_call_skips_many_dead_connections_d02() {
    const MANY: usize = 16;
    let (may_close, wait_until_may_close) = gate();
    let (closed, wait_until_closed) = gate();
    let all_here = Barrier::new(MANY);
    let server = Server::start(move |connection| {
        if connection.index() < MANY {
            connection.read_request();
            // No response before every call has arrived, so that each call has its own connection.
            all_here.wait();
            connection.peer().respond("{}");
            wait_until_may_close();
            connection.close();
            closed();
        } else {
            connection.serve("{}");
        }
    });
    let transport = transport();
    burst(&transport, &server.url(), MANY).await;
    (0..MANY).for_each(|_| may_close());
    (0..MANY).for_each(|_| wait_until_closed());
    send(&transport, post(server.url())).await.unwrap();
    assert_eq!((server.connections(), server.received().len()), (MANY + 1, MANY + 1));
}

#[tokio::test]
async fn a_dead_connection_without_a_replacement_is_not_processed_d02() {
    // The listener is closed too, so the request that hyper returns cannot be sent on another connection.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (may_close, wait_until_may_close) = gate();
    let (closed, wait_until_closed) = gate();
    std::thread::spawn(move || {
        use std::io::{Read, Write};
        let mut tcp = listener.accept().unwrap().0;
        assert!(tcp.read(&mut [0; 4096]).unwrap() > 0);
        tcp.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}").unwrap();
        wait_until_may_close();
        drop((tcp, listener));
        closed();
    });
    let transport = transport();
    send(&transport, post(url.clone())).await.unwrap();
    may_close();
    wait_until_closed();
    let (delivery, kind, _) = send_failing(&transport, post(url)).await;
    assert_eq!((delivery, kind), (Delivery::NotProcessed, TransportErrorKind::Connect));
}

#[tokio::test]
async fn a_connection_close_header_is_obeyed() {
    let (closed, wait_until_closed) = gate();
    let server = Server::start(move |connection| {
        connection.read_request();
        connection.write("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}");
        // Waits until the client closes its side.
        connection.hold();
        closed();
    });
    let transport = transport();
    for _ in 0..2 {
        send(&transport, post(server.url())).await.unwrap();
        wait_until_closed();
    }
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn a_connection_idle_for_too_long_is_not_reused() {
    let server = Server::start(|connection| connection.serve("{}"));
    let idle_timeout = Duration::from_millis(30);
    let transport = HyperTransport::builder().pool_idle_timeout(idle_timeout).build().unwrap();
    send(&transport, post(server.url())).await.unwrap();
    // A task of the connection returns it to the pool, and from then on it is idle.
    settle().await;
    tokio::time::sleep(idle_timeout).await;
    send(&transport, post(server.url())).await.unwrap();
    assert_eq!(server.connections(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_zero_idle_timeout_gives_each_call_its_own_connection() {
    let (closed, wait_until_closed) = gate();
    let server = Server::start(move |connection| {
        connection.serve("{}");
        closed();
    });
    let transport = HyperTransport::builder().pool_idle_timeout(Duration::ZERO).build().unwrap();
    for calls in 1..=3 {
        send(&transport, post(server.url())).await.unwrap();
        wait_until_closed();
        assert_eq!(server.connections(), calls);
    }
}

/// Makes `count` concurrent calls, each on its own connection, and waits for them.
async fn burst(transport: &HyperTransport, url: &str, count: usize) {
    let calls: Vec<_> = (0..count).map(|_| spawn(transport, post(url))).collect();
    for call in calls {
        call.await.unwrap().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn surplus_idle_connections_are_closed() {
    let (closed, wait_until_closed) = gate();
    let all_here = Barrier::new(4);
    let server = Server::start(move |connection| {
        connection.read_request();
        all_here.wait();
        connection.peer().respond("{}");
        connection.hold();
        closed();
    });
    let transport = HyperTransport::builder().max_idle_connections(1).build().unwrap();
    burst(&transport, &server.url(), 4).await;
    for _ in 0..3 {
        wait_until_closed();
    }
    drop(transport);
    wait_until_closed();
}

#[tokio::test]
async fn max_requests_in_flight_makes_the_next_one_wait() {
    let (arrived, wait_until_arrived) = gate();
    let (respond, may_respond) = mpsc::channel::<()>();
    let may_respond = Mutex::new(may_respond);
    let server = Server::start(move |connection| {
        while connection.read_request() {
            arrived();
            may_respond.lock().unwrap().recv().unwrap();
            connection.peer().respond("{}");
        }
    });
    let transport = HyperTransport::builder().max_requests_in_flight(1).build().unwrap();
    let first = spawn(&transport, post(server.url()));
    tokio::task::spawn_blocking(wait_until_arrived).await.unwrap();

    let waiting = post(server.url()).connect(Duration::from_millis(100));
    let (delivery, kind, _) = send_failing(&transport, waiting).await;
    assert_eq!((delivery, kind), (Delivery::NotProcessed, TransportErrorKind::Timeout));
    assert_eq!((server.connections(), server.received().len()), (1, 1));

    respond.send(()).unwrap();
    first.await.unwrap().unwrap();
    respond.send(()).unwrap();
    send(&transport, post(server.url())).await.unwrap();
    assert_eq!((server.connections(), server.received().len()), (1, 2));
}

#[test]
fn a_connection_of_another_runtime_is_not_reused() {
    let server = Server::start(|connection| connection.serve("{}"));
    let transport = transport();
    let (first, second) = (runtime(), runtime());
    // Neither runtime polls the network while the other works, so a shared connection would never get its response.
    for _ in 0..3 {
        first.block_on(send(&transport, post(server.url()))).unwrap();
        second.block_on(send(&transport, post(server.url()))).unwrap();
    }
    assert_eq!(server.connections(), 2);
}

#[test]
fn a_dropped_runtime_breaks_no_later_call() {
    let server = Server::start(|connection| connection.serve("{}"));
    let transport = transport();
    for _ in 0..3 {
        let runtime = runtime();
        for _ in 0..2 {
            runtime.block_on(send(&transport, post(server.url()))).unwrap();
        }
    }
    assert_eq!((server.connections(), server.received().len()), (3, 6));
}
