//! What every client is put through: the same calls, made in the same way, counted and timed by the same code.

mod asked;
mod cold;
mod measured;
mod records;

use std::cell::Cell;
use std::future::Future;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::{Arc, Barrier};
use std::time::Instant;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::{JoinHandle, spawn_local, yield_now};

use asked::Asked;
pub use asked::most_connections;
pub use cold::run_cold;
use measured::{Measured, busy_seconds, peak_kib, resident_kib};
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

/// The whole program of a client: makes the calls that the command line asks for, and prints what they took.
pub fn run<C: Caller>() {
    let asked = Asked::read();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let set = tokio::task::LocalSet::new();
    set.block_on(&runtime, measure::<C>(&asked)).print();
}

async fn measure<C: Caller>(asked: &Asked) -> Measured {
    let mut measured = Measured::default();
    let mut callers = C::callers(asked.server, asked.in_flight).await;
    if asked.together {
        measured.before_kib = resident_kib();
        let waiting;
        (callers, waiting) = together(asked, callers).await;
        measured.waiting_kib = waiting;
        measured.peak_together_kib = peak_kib();
    }
    if asked.warm_up > 0 {
        (callers, _) = all_call(callers, asked.each(asked.warm_up), asked.look_up, false).await;
        measured.peak_warm_kib = peak_kib();
    }
    let busy_before = busy_seconds();
    let started = Instant::now();
    let each = asked.each(asked.calls);
    (_, measured.latencies) = all_call(callers, each, asked.look_up, asked.latencies).await;
    measured.seconds = started.elapsed().as_secs_f64();
    measured.busy_seconds = busy_seconds().zip(busy_before).map(|(after, before)| after - before);
    measured.peak_kib = peak_kib();
    measured.calls = each * asked.in_flight;
    measured
}

/// One call of every caller, none of which is answered before all are under way; and what is resident at that moment.
///
/// However a client shares connections, it has as many from then on as these callers need.
async fn together<C: Caller>(asked: &Asked, callers: Vec<C>) -> (Vec<C>, Option<u64>) {
    tell(asked.server, "hold").await;
    let (count, look_up) = (callers.len(), asked.look_up);
    let begun = Rc::new(Cell::new(0));
    let calling: Vec<_> = callers
        .into_iter()
        .map(|mut caller| {
            let begun = Rc::clone(&begun);
            spawn_local(async move {
                // The call is polled for the first time in the same turn of this task.
                begun.set(begun.get() + 1);
                call(&mut caller, look_up).await;
                caller
            })
        })
        .collect();
    while begun.get() < count {
        yield_now().await;
    }
    let waiting = resident_kib();
    tell(asked.server, "release").await;
    (all(calling).await, waiting)
}

/// A word to the server itself.
async fn tell(server: SocketAddr, word: &str) {
    let mut tcp = TcpStream::connect(server).await.expect("the server listens");
    let request = format!("GET /{word} HTTP/1.1\r\nhost: {server}\r\n\r\n");
    tcp.write_all(request.as_bytes()).await.expect("the server reads");
    let read = tcp.read(&mut [0; 1024]).await.expect("the server answers");
    assert!(read > 0, "the server knows the word");
}

/// So many calls of every caller, one after the other; and how long each took, in nanoseconds, if that is wanted.
async fn all_call<C: Caller>(
    callers: Vec<C>,
    each: usize,
    look_up: bool,
    latencies: bool,
) -> (Vec<C>, Vec<u32>) {
    let calling = callers.into_iter().map(|mut caller| {
        spawn_local(async move {
            let mut taken = Vec::with_capacity(if latencies { each } else { 0 });
            for _ in 0..each {
                let started = latencies.then(Instant::now);
                call(&mut caller, look_up).await;
                taken.extend(started.map(nanoseconds_since));
            }
            (caller, taken)
        })
    });
    let calling: Vec<_> = calling.collect();
    let (callers, taken): (Vec<_>, Vec<_>) = all(calling).await.into_iter().unzip();
    (callers, taken.concat())
}

async fn all<T: 'static>(tasks: Vec<JoinHandle<T>>) -> Vec<T> {
    let mut all = Vec::with_capacity(tasks.len());
    for task in tasks {
        all.push(task.await.expect("no call panics"));
    }
    all
}

async fn call<C: Caller>(caller: &mut C, look_up: bool) {
    let transaction = if look_up { caller.look_up().await } else { caller.charge().await };
    assert_eq!(transaction, TRANSACTION, "the answer was understood");
}

fn nanoseconds_since(started: Instant) -> u32 {
    u32::try_from(started.elapsed().as_nanos()).unwrap_or(u32::MAX)
}

/// For a client that blocks: a thread for each caller, each with a client of its own kind.
pub fn run_blocking<C: Clone + Send + 'static>(
    client: impl FnOnce(SocketAddr) -> C,
    charge: fn(&C) -> String,
    look_up: fn(&C) -> String,
) {
    let asked = Asked::read();
    let client = client(asked.server);
    let (warm_up, each) = (asked.each(asked.warm_up), asked.each(asked.calls));
    let call = if asked.look_up { look_up } else { charge };
    let warm = Arc::new(Barrier::new(asked.in_flight + 1));
    let threads: Vec<_> = (0..asked.in_flight)
        .map(|_| {
            let (client, warm) = (client.clone(), Arc::clone(&warm));
            std::thread::spawn(move || {
                let mut taken = Vec::with_capacity(if asked.latencies { each } else { 0 });
                for _ in 0..warm_up {
                    assert_eq!(call(&client), TRANSACTION, "the answer was understood");
                }
                warm.wait();
                for _ in 0..each {
                    let started = asked.latencies.then(Instant::now);
                    assert_eq!(call(&client), TRANSACTION, "the answer was understood");
                    taken.extend(started.map(nanoseconds_since));
                }
                taken
            })
        })
        .collect();
    warm.wait();
    let started = Instant::now();
    let latencies = threads.into_iter().flat_map(|thread| thread.join().expect("no call panics")).collect();
    let seconds = started.elapsed().as_secs_f64();
    Measured { calls: each * asked.in_flight, seconds, latencies, ..Measured::default() }.print();
}
