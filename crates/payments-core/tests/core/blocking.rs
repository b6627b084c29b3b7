//! Tests that the blocking client behaves like the asynchronous one, without a runtime.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use payments_core::Client;
use payments_core::blocking::{Timer, Transport};
use payments_core::model::{Amount, ConvenienceFee, TokenTransaction, TransactionId, Void};
use payments_core::{
    AttemptFinished, Deadlines, ErrorKind, Observer, OperationName, Outcome, TransportError,
    TransportErrorKind, TransportRequest, TransportResponse,
};
use payments_fake::{FakeGateway, Fault, ManualClock};

fn payment() -> TokenTransaction {
    TokenTransaction::builder("tok_approved", Amount::from_cents(10_50), ConvenienceFee::Inactive)
        .build()
        .unwrap()
}

/// Fails every request in the same way and records its deadlines.
#[derive(Clone, Default)]
struct Failing(Arc<Mutex<Vec<Deadlines>>>);

impl Transport for Failing {
    fn send(&self, request: TransportRequest) -> Result<TransportResponse, TransportError> {
        self.0.lock().unwrap().push(request.deadlines());
        Err(TransportError::unknown(TransportErrorKind::Closed))
    }
}

/// A clock that each sleep advances.
#[derive(Clone)]
struct SleepingClock(Arc<Mutex<Instant>>);

impl Timer for SleepingClock {
    fn now(&self) -> Instant {
        *self.0.lock().unwrap()
    }

    fn sleep(&self, duration: Duration) {
        *self.0.lock().unwrap() += duration;
    }
}

#[test]
fn every_operation_works_as_in_the_asynchronous_client() {
    let gateway = FakeGateway::new();
    let client = gateway.blocking_client();
    let charged = client.process_token(&payment()).unwrap();
    let id = charged.transaction_id.clone();
    assert_eq!(client.transaction(&id).unwrap().amount.value(), Some(&Amount::from_cents(10_50)));
    let error = client.void(&Void::new(id)).unwrap_err();
    assert_eq!(error.outcome(), Outcome::Rejected, "a sale cannot be voided");
    assert_eq!(client.customer(&"cus_unknown".parse().unwrap()).unwrap_err().kind(), ErrorKind::NotFound);
    gateway.ledger().assert_charged_once(Amount::from_cents(10_50));
}

#[test]
fn a_lost_response_is_unknown_and_sent_once_d20() {
    let gateway = FakeGateway::new();
    gateway.arm(Fault::response_lost(OperationName::TokenTransaction));
    let error = gateway.blocking_client().process_token(&payment()).unwrap_err();
    assert_eq!(error.outcome(), Outcome::Unknown);
    gateway.ledger().assert_charged_once(Amount::from_cents(10_50));
}

#[test]
fn a_silent_service_ends_at_the_total_deadline_d23() {
    let gateway = FakeGateway::new();
    gateway.arm(Fault::on(OperationName::TokenTransaction).before_commit().stall());
    let client = gateway.client_builder().total_timeout(Duration::from_secs(7)).build_blocking();
    let before = gateway.clock().elapsed();
    let error = client.process_token(&payment()).unwrap_err();
    assert_eq!((error.outcome(), error.kind()), (Outcome::Unknown, ErrorKind::TimedOut));
    assert_eq!(gateway.clock().elapsed(), before + Duration::from_secs(7));
}

#[test]
fn only_a_lookup_is_retried_and_within_its_deadline_d20() {
    let transport = Failing::default();
    let timer = SleepingClock(Arc::new(Mutex::new(Instant::now())));
    let client = Client::builder(FakeGateway::new().endpoint(), transport.clone(), timer)
        .connect_timeout(Duration::from_secs(3))
        .total_timeout(Duration::from_secs(30))
        .build_blocking();
    let sent = || std::mem::take(&mut *transport.0.lock().unwrap());

    client.process_token(&payment()).unwrap_err();
    assert_eq!(sent(), [Deadlines::new(Duration::from_secs(3), Duration::from_secs(30))]);
    let id: TransactionId = "txn_1".parse().unwrap();
    client.transaction(&id).unwrap_err();
    let totals: Vec<_> = sent().iter().map(|deadlines| deadlines.total()).collect();
    assert!(totals.len() == 3 && totals.is_sorted_by(|one, next| one > next), "{totals:?}");

    client.with_lookup_retries(0).transaction(&id).unwrap_err();
    assert_eq!(sent().len(), 1);
    client.with_total_timeout(Duration::from_millis(50)).transaction(&id).unwrap_err();
    assert_eq!(sent().len(), 1, "the pause does not fit into the deadline");
}

#[test]
fn a_late_response_is_not_discarded_d23() {
    /// Takes an hour by the client's clock.
    struct Late(FakeGateway, SleepingClock);
    impl Transport for Late {
        fn send(&self, request: TransportRequest) -> Result<TransportResponse, TransportError> {
            self.1.sleep(Duration::from_hours(1));
            Transport::send(&self.0.transport(), request)
        }
    }
    let gateway = FakeGateway::new();
    let timer = SleepingClock(Arc::new(Mutex::new(Instant::now())));
    let transport = Late(gateway.clone(), timer.clone());
    let client = Client::builder(gateway.endpoint(), transport, timer).build_blocking();
    client.process_token(&payment()).unwrap();
}

#[test]
fn the_observer_receives_the_same_events() {
    type Attempt = (Duration, Option<Outcome>);
    #[derive(Clone, Default)]
    struct Attempts(Arc<Mutex<Vec<Attempt>>>);
    impl Observer for Attempts {
        fn attempt_finished(&self, event: &AttemptFinished<'_>) {
            let outcome = event.failure.as_ref().and_then(|failure| failure.outcome);
            self.0.lock().unwrap().push((event.latency, outcome));
        }
    }
    let observer = Attempts::default();
    let gateway = FakeGateway::builder().clock(ManualClock::auto()).build();
    gateway.arm(Fault::on(OperationName::TokenTransaction).before_commit().stall());
    let client = gateway.client_builder().observer(observer.clone()).build_blocking();
    client.process_token(&payment()).unwrap_err();
    client.process_token(&payment()).unwrap();
    let attempts = observer.0.lock().unwrap();
    assert_eq!(*attempts, [(Duration::from_mins(1), Some(Outcome::Unknown)), (Duration::ZERO, None)]);
}
