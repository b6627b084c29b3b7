//! What every client is put through: the same calls, made in the same way.

mod records;

use std::future::Future;
use std::net::SocketAddr;

pub use records::{Charge, Record, Response};

/// The look-up of every client asks for this transaction.
pub const TRANSACTION: &str = "txn_e220a8397b1dcdaf";

/// What every client sends in `Authorization`.
pub const API_KEY: &str = "sk_live_51H8xQz2eZvKYlo2C";

/// A client whose clones share its connections.
pub trait Client: Clone + 'static {
    /// May keep so many idle connections.
    fn new(server: SocketAddr, connections: usize) -> Self;

    /// Charges a card and returns the transaction.
    fn charge(&self) -> impl Future<Output = String>;

    /// Looks [`TRANSACTION`] up and returns it.
    fn look_up(&self) -> impl Future<Output = String>;
}

/// The whole program of a client: `SERVER charge|look-up CALLS [IN_FLIGHT]`.
pub fn run<C: Client>() {
    let mut words = std::env::args().skip(1);
    let mut next = || words.next().expect("SERVER charge|look-up CALLS [IN_FLIGHT]");
    let server = next().parse().expect("an address");
    let is_look_up = next() == "look-up";
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
                            if is_look_up { client.look_up().await } else { client.charge().await };
                        assert_eq!(transaction, TRANSACTION, "the response was understood");
                    }
                })
            })
            .collect();
        for caller in callers {
            caller.await.expect("no call panics");
        }
    });
}
