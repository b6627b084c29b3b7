//! What a panic says while requests, clients and answers are alive around it.

use std::panic::{self, AssertUnwindSafe};
use std::thread;

use payments_canary::Canaries;
use payments_core::model::Amount;
use payments_core::{
    AttemptStarted, Client, Observer, OperationName, Transport, TransportError, TransportRequest,
    TransportResponse,
};
use payments_fake::{FakeGateway, Fault, ManualClock, ScriptedTransport, block_on};

use super::page::{Page, tell};
use super::requests::{ach_payment, card_payment, endpoint};

#[test]
fn s5_no_panic_tells_a_secret() {
    for set in 0..2 {
        let canaries = Canaries::set(set);
        let page = Page::default();
        let heard = page.clone();
        let this = thread::current().id();
        // Other tests of this process may panic meanwhile, on threads of their own.
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if thread::current().id() == this {
                heard.write(&format!("{panic} {panic:?}"));
            }
        }));
        let panicked = every_panic(&canaries, &page);
        drop(panic::take_hook());
        panic::set_hook(usual);
        assert_eq!(panicked, [false, true, true, true, true, true], "{}", page.text());
        page.assert_without("what panics say", &canaries);
    }
}

/// Which of them reached the caller: an observer's does not.
fn every_panic(canaries: &Canaries, page: &Page) -> [bool; 6] {
    let panics = |body: &mut dyn FnMut()| panic::catch_unwind(AssertUnwindSafe(body)).is_err();
    let card = card_payment(canaries);
    let ach = ach_payment(canaries);
    let gateway = FakeGateway::builder().api_key(canaries.key()).ignore_unfired_faults().build();
    let careless = gateway.client_builder().observer(Careless).build();
    let broken = Client::builder(endpoint(canaries), Broken, ManualClock::auto()).build();
    let script = Client::builder(endpoint(canaries), ScriptedTransport::new(), ManualClock::auto()).build();
    [
        panics(&mut || tell!(page, block_on(careless.process_card(&card)).unwrap())),
        panics(&mut || drop(block_on(broken.process_card(&card)))),
        panics(&mut || drop(block_on(script.process_ach(&ach)))),
        // What a user's own code does with what it has at hand.
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

struct Careless;

impl Observer for Careless {
    fn attempt_started(&self, event: &AttemptStarted<'_>) {
        panic!("an observer's own mistake at {event:?}");
    }
}

struct Broken;

impl Transport for Broken {
    async fn send(&self, request: TransportRequest) -> Result<TransportResponse, TransportError> {
        panic!("a transport's own mistake with {request:?} {:?}", request.headers());
    }
}
