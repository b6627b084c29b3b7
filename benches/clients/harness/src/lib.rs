//! What every client is put through: the same calls, made in the same way, counted and timed by the same code.

mod cold;
mod records;

use std::env;
use std::future::Future;
use std::io::Write as _;
use std::net::SocketAddr;
use std::time::Instant;

pub use cold::run_cold;
pub use records::{Answer, Charge, Record};

/// The look-up of every client asks for this transaction.
pub const TRANSACTION: &str = "txn_e220a8397b1dcdaf";

/// What every client sends in `Authorization`.
pub const API_KEY: &str = "sk_live_51H8xQz2eZvKYlo2C";

/// One caller of a client, which makes one call at a time.
pub trait Caller: Sized + 'static {
    /// As many callers as are to have a call under way at once, however this client shares connections among them.
    fn callers(server: SocketAddr, count: usize) -> impl Future<Output = Vec<Self>>;

    /// Charges a card and gives the transaction.
    fn charge(&mut self) -> impl Future<Output = String>;

    /// Looks [`TRANSACTION`] up and gives it.
    fn look_up(&mut self) -> impl Future<Output = String>;
}

/// What is asked of this process.
struct Asked {
    server: SocketAddr,
    look_up: bool,
    calls: usize,
    in_flight: usize,
    latencies: bool,
}

impl Asked {
    fn read() -> Self {
        let mut words = env::args().skip(1);
        let mut next = || words.next().expect("SERVER charge|look-up CALLS IN_FLIGHT [latencies]");
        Self {
            server: next().parse().expect("an address"),
            look_up: next() == "look-up",
            calls: next().parse().expect("a number of calls"),
            in_flight: next().parse().expect("a number of calls in flight"),
            latencies: env::args().any(|word| word == "latencies"),
        }
    }
}

/// The whole program of a client: makes the calls that the command line asks for, and prints what they took.
pub fn run<C: Caller>() {
    let asked = Asked::read();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let set = tokio::task::LocalSet::new();
    set.block_on(&runtime, async {
        let callers = C::callers(asked.server, asked.in_flight).await;
        let each = asked.calls / asked.in_flight;
        let started = Instant::now();
        let calling: Vec<_> = callers
            .into_iter()
            .map(|caller| tokio::task::spawn_local(call(caller, each, asked.look_up, asked.latencies)))
            .collect();
        let mut latencies = Vec::new();
        for caller in calling {
            latencies.append(&mut caller.await.expect("no call panics"));
        }
        report(started.elapsed().as_secs_f64(), each * asked.in_flight, latencies);
    });
}

async fn call<C: Caller>(mut caller: C, calls: usize, look_up: bool, latencies: bool) -> Vec<u32> {
    let mut taken = Vec::with_capacity(if latencies { calls } else { 0 });
    for _ in 0..calls {
        let started = latencies.then(Instant::now);
        let transaction = if look_up { caller.look_up().await } else { caller.charge().await };
        assert_eq!(transaction, TRANSACTION, "the answer was understood");
        if let Some(started) = started {
            taken.push(u32::try_from(started.elapsed().as_nanos()).unwrap_or(u32::MAX));
        }
    }
    taken
}

/// The same for a client that blocks: a thread for each caller.
pub fn report(seconds: f64, calls: usize, mut nanoseconds: Vec<u32>) {
    nanoseconds.sort_unstable();
    let at = |share: usize| nanoseconds.get(nanoseconds.len() * share / 1000).copied().unwrap_or(0);
    let line = serde_json::json!({
        "calls": calls, "seconds": seconds, "p50_ns": at(500), "p99_ns": at(990), "p999_ns": at(999),
    });
    writeln!(std::io::stdout(), "{line}").expect("stdout is read");
}

/// For a client that blocks: a thread for each caller, each with a client of its own kind.
pub fn run_blocking<C: Clone + Send + 'static>(
    client: impl FnOnce(SocketAddr) -> C,
    charge: fn(&C) -> String,
    look_up: fn(&C) -> String,
) {
    let asked = Asked::read();
    let client = client(asked.server);
    let each = asked.calls / asked.in_flight;
    let call = if asked.look_up { look_up } else { charge };
    let started = Instant::now();
    let threads: Vec<_> = (0..asked.in_flight)
        .map(|_| {
            let client = client.clone();
            std::thread::spawn(move || {
                let mut taken = Vec::with_capacity(if asked.latencies { each } else { 0 });
                for _ in 0..each {
                    let started = asked.latencies.then(Instant::now);
                    assert_eq!(call(&client), TRANSACTION, "the answer was understood");
                    if let Some(started) = started {
                        taken.push(u32::try_from(started.elapsed().as_nanos()).unwrap_or(u32::MAX));
                    }
                }
                taken
            })
        })
        .collect();
    let latencies = threads.into_iter().flat_map(|thread| thread.join().expect("no call panics")).collect();
    report(started.elapsed().as_secs_f64(), each * asked.in_flight, latencies);
}
