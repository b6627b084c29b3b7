//! The harness for every client: the same calls, made in the same way.

mod records;

use std::future::Future;
use std::net::SocketAddr;

pub use records::{CARD_PAYMENT, Charge, Response};

/// The transaction that every lookup asks for.
pub const TRANSACTION: &str = "txn_e220a8397b1dcdaf";

/// The value of every client's `Authorization` header.
pub const API_KEY: &str = "sk_live_51H8xQz2eZvKYlo2C";

/// A client whose clones share its connections.
pub trait Client: Clone + 'static {
    /// Creates a client that may keep this many idle connections.
    fn new(server: SocketAddr, connections: usize) -> Self;

    /// Charges a card and returns the transaction's id.
    fn charge(&self) -> impl Future<Output = String>;

    /// Looks up [`TRANSACTION`] and returns its id.
    fn lookup(&self) -> impl Future<Output = String>;
}

/// The main program of a client: `SERVER charge|lookup CALLS [IN_FLIGHT]`.
///
/// # Panics
///
/// On any failure, which ends the measurement.
pub fn run<C: Client>() {
    let mut words = std::env::args().skip(1);
    let mut next = || words.next().expect("SERVER charge|lookup CALLS [IN_FLIGHT]");
    let server = next().parse().expect("an address");
    let is_lookup = next() == "lookup";
    let calls: usize = next().parse().expect("a number of calls");
    let in_flight = words.next().map_or(1, |word| word.parse().expect("a number of calls in flight"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let client = C::new(server, in_flight);
        let callers: Vec<_> = (0..in_flight)
            .map(|_| {
                let client = client.clone();
                tokio::task::spawn_local(async move {
                    for _ in 0..calls / in_flight {
                        let transaction =
                            if is_lookup { client.lookup().await } else { client.charge().await };
                        assert_eq!(transaction, TRANSACTION, "the response must be understood");
                    }
                })
            })
            .collect();
        for caller in callers {
            caller.await.expect("no call panics");
        }
    });
}
