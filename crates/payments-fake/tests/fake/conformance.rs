//! Does the fake transport fulfil the contract of every transport, as far as it applies without sockets?
//!
//! It uses an automatic clock, so no deadline takes real time.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use bytes::Bytes;
use http::{Request, Response};
use payments_conformance::{Abilities, Ability, Act, ID_HEADER, Setup, Stack};
use payments_core::Timer as _;
use payments_fake::{FakeTransport, ManualClock, Reply};

struct FakeStack {
    clock: ManualClock,
}

impl Stack for FakeStack {
    type Transport = FakeTransport;

    fn transport(&self, setup: &Setup) -> FakeTransport {
        let script = setup.script().expect("a stack without sockets gets a script").clone();
        let (arrivals, number) = (setup.arrivals().clone(), AtomicUsize::new(0));
        let reply = move |request: Request<Bytes>| {
            let act = script.act(number.fetch_add(1, Ordering::SeqCst));
            if !matches!(act, Act::Refuse) {
                arrivals.record(&request);
            }
            reply(act, &request)
        };
        FakeTransport::over(reply, self.clock.clone())
    }

    fn abilities(&self) -> Abilities {
        let reason =
            "it carries replies, not bytes: there is no connection that could be closed, reused or encrypted";
        Abilities::default().without(Ability::Sockets, reason)
    }

    fn now(&self) -> Instant {
        self.clock.now()
    }

    fn debug(&self, transport: &FakeTransport) -> Option<String> {
        Some(format!("{transport:?}"))
    }
}

/// What the network would carry back from a server that acts this way.
fn reply(act: &Act, request: &Request<Bytes>) -> Reply {
    match act {
        Act::Echo => Reply::Response(Response::new(request.headers()[ID_HEADER].as_bytes().to_vec().into())),
        Act::Answer(answer) => Reply::Response(answer.clone()),
        Act::Close => Reply::Closed,
        Act::Reset => Reply::Reset,
        Act::Silence => Reply::Stalled,
        Act::Drip { answer, bytes, every } => {
            let bytes = NonZeroUsize::new(*bytes).expect("a piece has at least a byte");
            Reply::Drip { response: answer.clone(), bytes, every: *every, complete: false }
        }
        Act::Truncate { answer, bytes } => Reply::Truncated { response: answer.clone(), bytes: *bytes },
        Act::Garbage(garbage) => Reply::Garbage(garbage.clone()),
        Act::Refuse => Reply::Refused,
        act => panic!("unexpected act: {act:?}"),
    }
}

payments_conformance::contract_tests!(FakeStack { clock: ManualClock::auto() });
