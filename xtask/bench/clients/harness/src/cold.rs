//! What the first call of a process takes.

use std::env;
use std::fs;
use std::io::Write as _;
use std::net::SocketAddr;
use std::time::Instant;

use crate::TRANSACTION;

/// The whole program of a client that was never called before: `SERVER_ADDRESS ROOT_CERTIFICATE_FILE`.
///
/// From before the client is built to the first answer, which `charge` gives as the transaction it was about. What comes
/// from outside is there beforehand: the runtime, the request and the PEM text of the only root that is trusted.
pub fn run_cold(charge: impl AsyncFnOnce(SocketAddr, &str) -> String) {
    let mut words = env::args().skip(1);
    let mut next = || words.next().expect("SERVER_ADDRESS ROOT_CERTIFICATE_FILE");
    let server = next().parse().expect("an address");
    let root = fs::read_to_string(next()).expect("a certificate");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let started = Instant::now();
        let transaction = charge(server, &root).await;
        let taken = started.elapsed();
        assert_eq!(transaction, TRANSACTION, "the answer was understood");
        let line = serde_json::json!({ "seconds": taken.as_secs_f64() });
        writeln!(std::io::stdout(), "{line}").expect("stdout is read");
    });
}
