//! Which connection carries a request, and which one never does again?

#![allow(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod support;

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use payments_core::{Delivery, TransportErrorKind};
use payments_hyper::HyperTransport;
use support::{Conversation, Server, gate, post, send, send_failing};
use tokio::task::JoinSet;

fn transport() -> HyperTransport {
    HyperTransport::builder().build().unwrap()
}

#[tokio::test]
async fn the_connection_that_was_used_last_is_used_first() {
    let (may_answer, wait_until_may_answer) = gate();
    let (arrived, wait_until_arrived) = gate();
    let server = Server::start(move |connection| {
        let name = connection.index().to_string();
        while connection.read_request() {
            if name == "0" && connection.requests_read() == 1 {
                arrived();
                wait_until_may_answer();
            }
            connection.peer().answer(&name);
        }
    });
    let transport = transport();
    let older = tokio::spawn({
        let (transport, plan) = (transport.clone(), post(server.url()));
        async move { send(&transport, plan).await }
    });
    tokio::task::spawn_blocking(wait_until_arrived).await.unwrap();
    assert_eq!(send(&transport, post(server.url())).await.unwrap().body(), "1");
    may_answer();
    assert_eq!(older.await.unwrap().unwrap().body(), "0");
    assert_eq!(send(&transport, post(server.url())).await.unwrap().body(), "0");
}

/// A task, as far as others can wake it.
struct Task(Waker);

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.0.wake_by_ref();
    }
}

#[tokio::test]
async fn an_idle_connection_keeps_no_task_alive() {
    let server = Server::start(|connection| {
        let name = connection.index().to_string();
        while connection.read_request() {
            connection.peer().answer(&name);
        }
    });
    let transport = transport();
    let tasks = [(); 2].map(async |()| {
        let mut call = pin!(send(&transport, post(server.url())));
        let mut task = None;
        let answer = poll_fn(|cx| {
            let task = task.get_or_insert_with(|| Arc::new(Task(cx.waker().clone())));
            call.as_mut().poll(&mut Context::from_waker(&Waker::from(Arc::clone(task))))
        })
        .await;
        (answer.unwrap().body().to_vec(), task.unwrap())
    });
    for finished in tasks {
        let (answered_by, task) = finished.await;
        assert_eq!(answered_by, b"0", "the connection is kept");
        assert_eq!(Arc::strong_count(&task), 1, "and its last task is not");
    }
}

type Script = Box<dyn Fn(&mut Conversation) + Send + Sync>;

/// A server answers the first call, then does something more, and the client has had no chance to notice: its runtime
/// runs nothing between that and the next call, which must go out on another connection and get its own answer.
async fn next_call_after(answer: fn(&mut Conversation), more: fn(&mut Conversation)) {
    next_call_over(&transport(), Server::start, Server::url, answer, more).await;
    #[cfg(any(feature = "ring", feature = "aws-lc-rs"))]
    for version in rustls::ALL_VERSIONS {
        let authority = support::Authority::new();
        let config = authority.issue("localhost").server_for(&[version], None);
        let transport = HyperTransport::builder().root_certificates_pem(authority.pem()).build().unwrap();
        let start = |script: Script| Server::start_tls(config, script);
        next_call_over(&transport, start, Server::https_url, answer, more).await;
    }
}

async fn next_call_over(
    transport: &HyperTransport,
    start: impl FnOnce(Script) -> Server,
    url: fn(&Server) -> String,
    answer: fn(&mut Conversation),
    more: fn(&mut Conversation),
) {
    let (may_go_on, wait_until_may_go_on) = gate();
    let (done, wait_until_done) = gate();
    let server = start(Box::new(move |connection| {
        if connection.index() == 0 {
            connection.read_request();
            answer(connection);
            wait_until_may_go_on();
            more(connection);
            done();
            connection.hold();
        } else {
            connection.serve("its own");
        }
    }));
    send(transport, post(url(&server))).await.unwrap();
    may_go_on();
    wait_until_done();
    let answer = send(transport, post(url(&server))).await.expect("it is noticed before anything is written");
    assert_eq!(answer.body(), "its own");
    assert_eq!((server.connections(), server.received().len()), (2, 2));
}

fn answer(connection: &mut Conversation) {
    connection.peer().answer("{}");
}

#[tokio::test]
async fn a_pooled_connection_that_was_closed_is_replaced_d02() {
    next_call_after(answer, Conversation::close).await;
}

#[tokio::test]
async fn a_pooled_connection_that_was_reset_is_replaced_d02() {
    next_call_after(answer, Conversation::reset).await;
}

#[tokio::test]
async fn an_answer_that_nobody_asked_for_is_nobodys() {
    next_call_after(answer, answer).await;
}

#[tokio::test]
async fn a_second_answer_in_one_piece_with_the_first_is_nobodys() {
    let answer_twice = |connection: &mut Conversation| {
        connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}".repeat(2));
    };
    next_call_after(answer_twice, |_| ()).await;
}

#[tokio::test]
async fn many_dead_connections_are_all_replaced_by_one_call_d02() {
    const MANY: usize = 16;
    let (may_close, wait_until_may_close) = gate();
    let (closed, wait_until_closed) = gate();
    let all_here = Barrier::new(MANY);
    let server = Server::start(move |connection| {
        if connection.index() < MANY {
            connection.read_request();
            // No answer before every call is here, so that each has a connection of its own.
            all_here.wait();
            connection.peer().answer("{}");
            wait_until_may_close();
            connection.close();
            closed();
        } else {
            connection.serve("{}");
        }
    });
    let transport = transport();
    let mut calls = JoinSet::new();
    for _ in 0..MANY {
        let (transport, plan) = (transport.clone(), post(server.url()));
        calls.spawn(async move { send(&transport, plan).await.map(drop) });
    }
    while let Some(call) = calls.join_next().await {
        call.unwrap().unwrap();
    }
    (0..MANY).for_each(|_| may_close());
    (0..MANY).for_each(|_| wait_until_closed());
    send(&transport, post(server.url())).await.unwrap();
    assert_eq!((server.connections(), server.received().len()), (MANY + 1, MANY + 1));
}

#[tokio::test]
async fn no_connection_left_after_a_dead_one_is_not_processed_d02() {
    // The listener is gone as well, so that the request which was handed back has nowhere to go.
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
async fn a_connection_that_the_server_announces_to_close_is_not_kept() {
    let (closed, wait_until_closed) = gate();
    let server = Server::start(move |connection| {
        connection.read_request();
        connection.write("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}");
        // The client closes its side by itself.
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
async fn a_connection_idle_for_too_long_is_not_used() {
    let server = Server::start(|connection| connection.serve("{}"));
    let patience = Duration::from_millis(30);
    let transport = HyperTransport::builder().pool_idle_timeout(patience).build().unwrap();
    send(&transport, post(server.url())).await.unwrap();
    tokio::time::sleep(patience).await;
    send(&transport, post(server.url())).await.unwrap();
    assert_eq!(server.connections(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn no_patience_means_a_connection_for_each_call_and_none_kept_open() {
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

/// Makes `count` calls at once, each on a connection of its own, and waits for them.
async fn burst(transport: &HyperTransport, url: &str, count: usize) {
    let mut calls = JoinSet::new();
    for _ in 0..count {
        let (transport, plan) = (transport.clone(), post(url));
        calls.spawn(async move { send(&transport, plan).await.map(drop) });
    }
    while let Some(call) = calls.join_next().await {
        call.unwrap().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn surplus_idle_connections_are_closed() {
    let (closed, wait_until_closed) = gate();
    let all_here = Barrier::new(4);
    let server = Server::start(move |connection| {
        connection.read_request();
        all_here.wait();
        connection.peer().answer("{}");
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
async fn no_more_calls_than_allowed_are_under_way() {
    let (arrived, wait_until_arrived) = gate();
    let (answer, may_answer) = mpsc::channel::<()>();
    let may_answer = Mutex::new(may_answer);
    let server = Server::start(move |connection| {
        while connection.read_request() {
            arrived();
            may_answer.lock().unwrap().recv().unwrap();
            connection.peer().answer("{}");
        }
    });
    let transport = HyperTransport::builder().max_connections(1).build().unwrap();
    let first = tokio::spawn({
        let (transport, plan) = (transport.clone(), post(server.url()));
        async move { send(&transport, plan).await }
    });
    tokio::task::spawn_blocking(wait_until_arrived).await.unwrap();

    let waiting = post(server.url()).connect(Duration::from_millis(100));
    let (delivery, kind, _) = send_failing(&transport, waiting).await;
    assert_eq!((delivery, kind), (Delivery::NotProcessed, TransportErrorKind::Timeout));
    assert_eq!((server.connections(), server.received().len()), (1, 1));

    answer.send(()).unwrap();
    first.await.unwrap().unwrap();
    answer.send(()).unwrap();
    send(&transport, post(server.url())).await.unwrap();
    assert_eq!((server.connections(), server.received().len()), (1, 2));
}

#[test]
fn a_connection_of_another_runtime_is_not_used() {
    let server = Server::start(|connection| connection.serve("{}"));
    let transport = transport();
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (first, second) = (runtime(), runtime());
    // Neither polls the network while the other works: a connection shared between them would never get its answer.
    for _ in 0..3 {
        first.block_on(send(&transport, post(server.url()))).unwrap();
        second.block_on(send(&transport, post(server.url()))).unwrap();
    }
    assert_eq!(server.connections(), 2);
}

#[test]
fn a_connection_whose_runtime_is_gone_breaks_no_later_call() {
    let server = Server::start(|connection| connection.serve("{}"));
    let transport = transport();
    for _ in 0..3 {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        for _ in 0..2 {
            runtime.block_on(send(&transport, post(server.url()))).unwrap();
        }
    }
    assert_eq!((server.connections(), server.received().len()), (3, 6));
}
