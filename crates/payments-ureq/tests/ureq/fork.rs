//! Tests that a forked process uses none of its parent's connections.

#![cfg(unix)]
use std::any::Any;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use fork::{Fork, fork, waitpid};
use payments_core::SystemTimer;
use payments_core::blocking::Client;
use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
use payments_core::{ApiKey, Endpoint, Outcome};
use payments_sandbox::Sandbox;
use payments_ureq::{UreqTransport, UreqTransportBuilder};

/// A forked process that runs a function.
struct Child {
    process: i32,
    text: std::io::PipeReader,
}

impl Child {
    /// Forks, and runs `work` in the child.
    fn start(work: impl FnOnce() -> String) -> Self {
        let (text, mut writer) = std::io::pipe().unwrap();
        match fork().unwrap() {
            Fork::Parent(process) => Self { process, text },
            Fork::Child => {
                let text = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| message(&*panic));
                let is_written = writer.write_all(text.as_bytes()).is_ok();
                exit(i32::from(!is_written));
            }
        }
    }

    /// What the function returned, or its panic.
    fn wait(mut self) -> String {
        let mut text = String::new();
        self.text.read_to_string(&mut text).unwrap();
        assert_eq!(waitpid(self.process).unwrap(), 0, "{text}");
        text
    }
}

#[allow(clippy::exit, reason = "a child must not return into the test harness")]
fn exit(code: i32) -> ! {
    std::process::exit(code)
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref().copied()).unwrap_or("a panic").to_owned()
}

/// `None` if it was processed.
fn pay(client: &Client, token: &str) -> Option<Outcome> {
    let payment = TokenTransaction::builder(token, Amount::from_cents(10_50), ConvenienceFee::Inactive);
    client.process_token(&payment.build().unwrap()).err().map(|error| error.outcome())
}

/// How many of sixty payments with this token end this way.
fn of_sixty(client: &Client, token: &str, outcome: Option<Outcome>) -> usize {
    (0..60).filter(|_| pay(client, token) == outcome).count()
}

#[test]
fn parent_and_child_each_get_their_own_responses_d51() {
    for is_secure in [false, true] {
        let sandbox = if is_secure { Sandbox::builder().tls() } else { Sandbox::builder() };
        let sandbox = sandbox.start_blocking().unwrap();
        let mut transport = UreqTransport::builder();
        if let Some(authority) = sandbox.ca_certificate_pem() {
            transport = transport.only_root_certificates_pem(authority);
        }
        let client = payments_core::Client::builder(
            sandbox.endpoint(),
            transport.build().unwrap(),
            SystemTimer::new(),
        )
        .build_blocking();
        pay(&client, "tok_approved");

        let child = Child::start(|| {
            format!("{} rejected", of_sixty(&client, "tok_declined", Some(Outcome::Rejected)))
        });
        let processed = of_sixty(&client, "tok_approved", None);
        assert_eq!((processed, &*child.wait()), (60, "60 rejected"), "over TLS: {is_secure}");
    }
}

#[test]
fn parent_and_children_have_their_own_call_ids() {
    let client = Server::start().client(UreqTransport::builder());
    let call_id = || {
        let found = client.transaction(&"txn_1".parse().unwrap()).unwrap();
        found.call_id().unwrap().to_string()
    };
    call_id();
    let children = [Child::start(call_id), Child::start(call_id)].map(Child::wait);
    assert_ne!(children[0], children[1]);
    assert!(!children.contains(&call_id()));
}

/// A server that serves lookups, and remembers what each connection received, and whether it ended.
struct Server {
    address: SocketAddr,
    connections: Arc<Mutex<Vec<Seen>>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Seen {
    requests: usize,
    has_ended: bool,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::<Mutex<Vec<Seen>>>::default();
        let seen = Arc::clone(&connections);
        thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                seen.lock().unwrap().push(Seen::default());
                let seen = Arc::clone(&seen);
                thread::spawn(move || {
                    serve(&stream.unwrap(), |change| change(&mut seen.lock().unwrap()[number]));
                });
            }
        });
        Self { address, connections }
    }

    fn client(&self, builder: UreqTransportBuilder) -> Client {
        let endpoint = Endpoint::new(&format!("http://{}", self.address), ApiKey::new("sk_test").unwrap());
        payments_core::Client::builder(endpoint.unwrap(), builder.build().unwrap(), SystemTimer::new())
            .build_blocking()
    }

    fn seen(&self) -> Vec<Seen> {
        self.connections.lock().unwrap().clone()
    }
}

fn serve(mut stream: &TcpStream, note: impl Fn(fn(&mut Seen))) {
    let body = r#"{"status_code":200,"data":{"TransactionId":"txn_1"}}"#;
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        if line.is_empty() {
            note(|seen| seen.requests += 1);
            let response = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
            stream.write_all(response.as_bytes()).unwrap();
        }
    }
    note(|seen| seen.has_ended = true);
}

fn look_up(client: &Client) {
    client.transaction(&"txn_1".parse().unwrap()).unwrap();
}

#[test]
fn a_child_neither_uses_nor_ends_its_parents_connection_d51() {
    let server = Server::start();
    let client = server.client(UreqTransport::builder());
    look_up(&client);
    let inherited = client.clone();
    let child = Child::start(move || {
        look_up(&inherited);
        look_up(&inherited);
        drop(inherited);
        "done".to_owned()
    });
    assert_eq!(child.wait(), "done");
    look_up(&client);
    let open = Seen { requests: 2, has_ended: false };
    assert_eq!(server.seen()[0], open, "the parent's connection: {:?}", server.seen());
    assert_eq!(server.seen().len(), 2, "the child reuses its own connection");
    assert_eq!(server.seen()[1].requests, 2);
}

#[test]
fn a_grandchild_has_its_own_connection_too_d51() {
    let server = Server::start();
    let client = server.client(UreqTransport::builder());
    look_up(&client);
    let child = Child::start(|| {
        look_up(&client);
        let grandchild = Child::start(|| {
            look_up(&client);
            "done".to_owned()
        });
        let text = grandchild.wait();
        look_up(&client);
        text
    });
    assert_eq!(child.wait(), "done");
    look_up(&client);
    let requests: Vec<_> = server.seen().iter().map(|seen| seen.requests).collect();
    assert_eq!(requests, [2, 2, 1]);
}

/// A lock that another thread held at the moment of the fork is never released in the child.
#[test]
fn a_child_forked_while_threads_make_calls_can_make_calls_d51() {
    let server = Server::start();
    let client = server.client(UreqTransport::builder());
    let has_ended = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !has_ended.load(Ordering::Relaxed) {
                    look_up(&client);
                }
            });
        }
        for _ in 0..50 {
            let inherited = client.clone();
            let child = Child::start(move || {
                look_up(&inherited);
                drop(inherited);
                "done".to_owned()
            });
            assert_eq!(child.wait(), "done");
        }
        has_ended.store(true, Ordering::Relaxed);
    });
}
