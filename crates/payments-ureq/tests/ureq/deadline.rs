//! Tests that a long silence ends at the deadline, although a socket timeout ends late.

use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use payments_core::SystemTimer;
use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
use payments_core::{ApiKey, Endpoint, ErrorKind, Outcome};
use payments_ureq::UreqTransport;

/// On Linux a socket timeout may end late by an eighth of its length.
#[test]
fn a_silence_ends_within_a_thirtieth_of_the_deadline_d23() {
    const TOTAL: Duration = Duration::from_secs(3);
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let endpoint = Endpoint::new(&url, ApiKey::new("sk_test").unwrap()).unwrap();
    let client = payments_core::Client::builder(
        endpoint,
        UreqTransport::builder().build().unwrap(),
        SystemTimer::new(),
    );
    let client = client.total_timeout(TOTAL).build_blocking();
    let payment =
        TokenTransaction::builder("tok_1", Amount::from_cents(1), ConvenienceFee::Inactive).build().unwrap();

    let call = || {
        let started = Instant::now();
        let error = client.process_token(&payment).unwrap_err();
        assert_eq!((error.outcome(), error.kind()), (Outcome::Unknown, ErrorKind::TimedOut));
        started.elapsed().checked_sub(TOTAL).expect("not before the deadline")
    };
    // On a busy machine some calls end late. With a timeout that is too long, all of them do.
    let late = thread::scope(|scope| {
        let calls = [(); 8].map(|()| scope.spawn(call));
        calls.map(|call| call.join().unwrap())
    });
    assert!(late.iter().min() < Some(&(TOTAL / 30)), "{late:?} after the deadline");
}
