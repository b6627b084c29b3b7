//! HTTP/2, where many requests share a connection and a server has more ways to end one. Only one of them proves that a
//! request was not processed.
//!
//! For stacks with [`Ability::Http2`](crate::Ability::Http2), over TLS, with a server that offers only HTTP/2.

mod goaways;
mod resets;
mod streams;
mod versions;

pub use self::goaways::*;
pub use self::resets::*;
pub use self::streams::*;
pub use self::versions::*;

use std::time::Duration;

use crate::completed_call::CompletedCall;
use crate::harness::Harness;
use crate::http2_peer::{Peer, Request};
use crate::situations::after;
use crate::test_run::TestRun;
use crate::violation::Violation;

/// Checks the result of a payment for which the server runs `action`, on a new and on a reused connection.
fn new_and_reused(
    harness: &Harness<'_>,
    what: &str,
    total: Duration,
    action: impl Fn(&mut Peer<'_>, &Request) + Clone + Send + Sync + 'static,
    check: impl Fn(&TestRun<'_>, &CompletedCall) -> Result<(), Violation>,
) -> Result<(), Violation> {
    for served in [0, 1] {
        let action = action.clone();
        let script = move |peer: &mut Peer<'_>| {
            // On a second connection, which there should not be, every request meets the same action.
            let to_echo = if peer.index() == 0 { served } else { 0 };
            for _ in 0..to_echo {
                peer.serve_one();
            }
            while let Some(request) = peer.next_request() {
                action(peer, &request);
            }
        };
        harness.with_http2_server(&after(served, what), script, |run| {
            (0..served).try_for_each(|_| run.round_trip())?;
            check(run, &run.send(run.charge().total(total))?)
        })?;
    }
    Ok(())
}
