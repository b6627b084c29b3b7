//! A forked process has none of its parent's threads, and its calls must end on time without them.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use fork::{Fork, fork, waitpid};
use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
use payments_core::{ApiKey, Endpoint, Outcome};
use tokio::runtime::Builder;

const TOTAL: Duration = Duration::from_secs(1);

/// The outcome of a payment with its own runtime and client; `None` if it was processed.
fn pay(base_url: &str) -> Option<Outcome> {
    let endpoint = Endpoint::new(base_url, ApiKey::new("sk_test").unwrap()).unwrap();
    let client = payments_reqwest::client(endpoint).unwrap().with_total_timeout(TOTAL);
    let payment = TokenTransaction::builder("tok_1", Amount::from_cents(10_50), ConvenienceFee::Inactive);
    let payment = payment.build().unwrap();
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(client.process_token(&payment)).err().map(|error| error.outcome())
}

#[test]
fn a_call_in_a_forked_process_ends_at_its_deadline_d51() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base_url = format!("http://{}", listener.local_addr().unwrap());
    // Answers the first connection, and is silent on the others.
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let head = BufReader::new(&stream).lines().map_while(Result::ok);
        assert!(head.take_while(|line| !line.is_empty()).count() > 0);
        let body = r#"{"status_code":100,"data":{"TransactionId":"txn_1"}}"#;
        write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        let _silent: Vec<_> = listener.incoming().collect();
    });
    assert_eq!(pay(&base_url), None);

    match fork().unwrap() {
        Fork::Child => {
            // A call that hangs must not hang the test.
            thread::spawn(|| {
                thread::sleep(TOTAL * 15);
                exit(2);
            });
            let started = Instant::now();
            let is_on_time = pay(&base_url) == Some(Outcome::Unknown) && started.elapsed() >= TOTAL;
            exit(i32::from(!is_on_time));
        }
        Fork::Parent(child) => {
            let status = waitpid(child).unwrap();
            assert_eq!(status, 0, "the wait status of the child: exit code 2 if its call never ended");
        }
    }
}

#[allow(clippy::exit, reason = "a child must not return into the test harness")]
fn exit(code: i32) -> ! {
    std::process::exit(code)
}
