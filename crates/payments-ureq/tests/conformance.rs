//! Does the transport keep the contract of every transport, over http and over https?

use std::future::{Future, poll_fn};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::thread;

use payments_conformance::{Abilities, Ability, Setup, Stack};
use payments_core::{Transport, TransportError, TransportRequest, TransportResponse, blocking};
use payments_ureq::UreqTransport;

struct UreqStack;

/// Each call on a thread of its own.
struct Threads(UreqTransport);

impl Transport for Threads {
    fn send(
        &self,
        request: TransportRequest,
    ) -> impl Future<Output = Result<TransportResponse, TransportError>> + Send {
        let transport = self.0.clone();
        let shared = Arc::new(Mutex::new((None, None::<std::task::Waker>)));
        let mut start = Some((request, Arc::clone(&shared)));
        poll_fn(move |cx| {
            shared.lock().expect("no panic").1 = Some(cx.waker().clone());
            if let Some((request, shared)) = start.take() {
                let transport = transport.clone();
                thread::spawn(move || {
                    let result = blocking::Transport::send(&transport, request);
                    let waker = {
                        let mut shared = shared.lock().expect("no panic");
                        shared.0 = Some(result);
                        shared.1.take()
                    };
                    if let Some(waker) = waker {
                        waker.wake();
                    }
                });
            }
            shared.lock().expect("no panic").0.take().map_or(Poll::Pending, Poll::Ready)
        })
    }
}

impl Stack for UreqStack {
    type Transport = Threads;

    fn transport(&self, setup: &Setup) -> Threads {
        Threads(
            UreqTransport::builder().only_root_certificates_pem(setup.authority_pem()).build().expect("PEM"),
        )
    }

    fn abilities(&self) -> Abilities {
        Abilities::default().without(Ability::Cancel, "a blocking call cannot be ended from outside")
    }

    fn debug(&self, transport: &Threads) -> Option<String> {
        Some(format!("{:?}", transport.0))
    }
}

payments_conformance::contract_tests!(UreqStack);
