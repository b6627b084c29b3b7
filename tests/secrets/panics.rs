//! Panic messages while requests, clients and responses are alive.

use std::panic::{self, AssertUnwindSafe};
use std::thread;

use payments_canary::Canaries;
use payments_core::model::Amount;
use payments_core::{
    AttemptStarted, Client, Observer, OperationName, Transport, TransportError, TransportRequest,
    TransportResponse,
};
use payments_fake::{FakeGateway, Fault, ManualClock, ScriptedTransport, block_on};

use super::requests::{ach_payment, card_payment, endpoint};
use super::transcript::{Transcript, transcribe};

#[test]
fn s5_panics_show_no_secret() {
    for set in 0..2 {
        let canaries = Canaries::set(set);
        let transcript = Transcript::default();
        let hook_transcript = transcript.clone();
        let this = thread::current().id();
        // Other tests of this process may panic meanwhile, on their own threads.
        let default_hook = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if thread::current().id() == this {
                hook_transcript.write(&format!("{panic} {panic:?}"));
            }
        }));
        let panicked = every_panic(&canaries, &transcript);
        drop(panic::take_hook());
        panic::set_hook(default_hook);
        assert_eq!(panicked, [false, true, true, true, true, true], "{}", transcript.text());
        transcript.assert_without("panic messages", &canaries);
    }
}

/// Returns which panics reached the caller. A panic of an observer does not.
fn every_panic(canaries: &Canaries, transcript: &Transcript) -> [bool; 6] {
    let panics = |body: &mut dyn FnMut()| panic::catch_unwind(AssertUnwindSafe(body)).is_err();
    let card = card_payment(canaries);
    let ach = ach_payment(canaries);
    let gateway = FakeGateway::builder().api_key(canaries.key()).ignore_unfired_faults().build();
    let panicking_observer = gateway.client_builder().observer(PanickingObserver).build();
    let panicking_transport =
        Client::builder(endpoint(canaries), PanickingTransport, ManualClock::auto()).build();
    let script = Client::builder(endpoint(canaries), ScriptedTransport::new(), ManualClock::auto()).build();
    [
        panics(&mut || transcribe!(transcript, block_on(panicking_observer.process_card(&card)).unwrap())),
        panics(&mut || drop(block_on(panicking_transport.process_card(&card)))),
        panics(&mut || drop(block_on(script.process_ach(&ach)))),
        // A panic in user code that formats its own values.
        panics(&mut || {
            let held = (&card, &ach, &gateway);
            panic!("checkout failed with {held:?} {:?}", gateway.requests());
        }),
        panics(&mut || drop(gateway.ledger().assert_charged_once(Amount::from_cents(7_77)).clone())),
        panics(&mut || {
            gateway.arm(Fault::on(OperationName::Void).before_commit().close());
            gateway.assert_all_faults_fired();
        }),
    ]
}

struct PanickingObserver;

impl Observer for PanickingObserver {
    fn attempt_started(&self, event: &AttemptStarted<'_>) {
        panic!("a bug in an observer at {event:?}");
    }
}

struct PanickingTransport;

impl Transport for PanickingTransport {
    async fn send(&self, request: TransportRequest) -> Result<TransportResponse, TransportError> {
        panic!("a bug in a transport with {request:?} {:?}", request.headers());
    }
}
