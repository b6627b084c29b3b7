//! HTTP/2, where many requests share a connection and a server has more ways to end one. Only one of them proves that a
//! request was not processed.
//!
//! For stacks with [`Ability::Http2`], over TLS, with a server that offers only HTTP/2.

mod floods;
mod frames;
mod goaways;
mod refusals;
mod streams;
mod versions;

pub use self::floods::*;
pub use self::frames::*;
pub use self::goaways::*;
pub use self::refusals::*;
pub use self::streams::*;
pub use self::versions::*;

use crate::completed_call::CompletedCall;
use crate::contract::{Contract, Harness};
use crate::http2::{Peer, Request};
use crate::test_request::TestRequest;
use crate::test_run::TestRun;
use crate::violation::Violation;
use crate::{Ability, Stack};

fn contract(name: &'static str, why: &'static str) -> Contract {
    Contract::new(name, why).needs(Ability::Http2)
}

/// Checks the result of a call for which the server runs `action`, on a new and on a reused connection.
fn new_and_reused<S: Stack>(
    harness: &Harness<'_, S>,
    what: &str,
    action: impl Fn(&mut Peer<'_>, &Request) + Clone + Send + Sync + 'static,
    prepare: impl Fn(TestRequest) -> TestRequest,
    check: impl Fn(&TestRun<'_, S>, &CompletedCall) -> Result<(), Violation>,
) -> Result<(), Violation> {
    for served in [0, 1] {
        let action = action.clone();
        let script = move |peer: &mut Peer<'_>| {
            // On a second connection, which there should not be, every request meets the same action.
            let to_echo = if peer.index() == 0 { served } else { 0 };
            for _ in 0..to_echo {
                if let Some(request) = peer.next_request() {
                    peer.echo(&request);
                }
            }
            while let Some(request) = peer.next_request() {
                action(peer, &request);
            }
        };
        let what = if served == 0 {
            what.to_owned()
        } else {
            format!("responds to a first request; with the second it {what}")
        };
        harness.with_http2_server(&what, &[], script, |run| {
            for _ in 0..served {
                run.round_trip()?;
            }
            let call = run.send(prepare(run.charge()))?;
            check(run, &call)
        })?;
    }
    Ok(())
}

/// Echoes every request.
fn echo_all(peer: &mut Peer<'_>) {
    peer.serve();
}

/// The call must be `Unknown`, and its request arrived once.
fn unknown_and_once<S: Stack>(run: &TestRun<'_, S>, call: &CompletedCall) -> Result<(), Violation> {
    call.must_be_unknown()?;
    run.must_have_arrived_once(&call.id)
}
