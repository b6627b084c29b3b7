//! Tests of what `TracingObserver` reports.

#![cfg(feature = "tracing")]
use std::fmt::{Debug, Write};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};

use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
use payments_core::{AttemptAbandoned, AttemptFinished, Observer, OperationName, TracingObserver};
use payments_fake::{FakeGateway, Fault, block_on};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Metadata, Subscriber, subscriber};
use tracing_subscriber::layer::{self, Layer, SubscriberExt as _};

/// Records every event as a line.
#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<Vec<String>>>);

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // The latency differs from run to run.
        if field.name() != "latency" {
            write!(self.0, " {}={value:?}", field.name()).unwrap();
        }
    }
}

impl Subscriber for Recorder {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(format!("{} {}", event.metadata().level(), event.metadata().target()));
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// The events reported while `test` runs.
fn reported(test: impl FnOnce(&FakeGateway)) -> Vec<String> {
    let recorder = Recorder::default();
    subscriber::with_default(recorder.clone(), || test(&FakeGateway::new()));
    recorder.0.lock().unwrap().clone()
}

fn payment() -> TokenTransaction {
    TokenTransaction::builder("tok_approved", Amount::from_cents(10_50), ConvenienceFee::Inactive)
        .build()
        .unwrap()
}

fn pay(gateway: &FakeGateway) {
    let client = gateway.client_builder().observer(TracingObserver::new()).build();
    let _ = block_on(client.process_token(&payment()));
}

#[test]
fn a_successful_payment_is_info_with_its_ids() {
    let lines = reported(pay);
    assert_eq!(lines.len(), 2, "{lines:#?}");
    let started = "DEBUG payments message=attempt started operation=\"token-transaction\" attempt=1 call_id=";
    let call_id = lines[0].strip_prefix(started).expect("a start is reported");
    assert!(lines[1].contains(&format!("attempt=1 call_id={call_id} ")), "{lines:#?}");
    assert!(lines[1].contains("amount=10.50"), "{lines:#?}");
    assert!(lines[1].starts_with("INFO payments message=attempt succeeded operation=\"token-transaction\""));
    for part in ["outcome=\"processed\"", "http_status=200", "request_id=\"", "transaction_id=\"txn_"] {
        assert!(lines[1].contains(part), "{part}: {}", lines[1]);
    }
}

/// Who counts what was processed counts payments.
#[test]
fn a_lookup_that_succeeds_is_found_and_not_processed() {
    let lines = reported(|gateway| {
        let charged = block_on(gateway.client().process_token(&payment())).unwrap();
        let client = gateway.client_builder().observer(TracingObserver::new()).build();
        block_on(client.transaction(&charged.transaction_id)).unwrap();
    });
    assert!(lines[1].contains("attempt succeeded") && lines[1].contains("outcome=\"found\""), "{lines:#?}");
}

#[test]
fn an_unknown_outcome_is_an_error_and_a_safe_failure_a_warning() {
    let lost = reported(|gateway| {
        gateway.arm(Fault::response_lost(OperationName::TokenTransaction));
        pay(gateway);
    });
    assert!(
        lost[1].starts_with("ERROR payments message=outcome unknown: it may have been processed"),
        "{lost:#?}"
    );
    assert!(lost[1].contains("outcome=\"unknown\" kind=\"interrupted\" transport=\"closed\""), "{lost:#?}");

    let refused = reported(|gateway| {
        gateway.arm(Fault::on(OperationName::TokenTransaction).before_commit().refuse());
        pay(gateway);
    });
    assert!(refused[1].starts_with("WARN payments message=attempt failed"), "{refused:#?}");
    assert!(
        refused[1].contains("outcome=\"not_processed\" kind=\"not_connected\" transport=\"connect\""),
        "{refused:#?}"
    );
}

#[test]
fn a_dropped_payment_is_an_error_d22() {
    let lines = reported(|gateway| {
        let gate = gateway.gate(OperationName::TokenTransaction);
        let client = gateway.client_builder().observer(TracingObserver::new()).build();
        let payment = payment();
        let mut call = Box::pin(client.process_token(&payment));
        assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        drop(call);
        gate.release();
    });
    assert!(
        lines[1].starts_with("ERROR payments message=call dropped: it may have been processed"),
        "{lines:#?}"
    );
    assert!(lines[1].contains("started_at=") && lines[1].contains("amount=10.50"), "{lines:#?}");
}

/// Panics at one callback.
struct Panicking {
    at: &'static str,
    panics: Arc<AtomicU32>,
}

impl Panicking {
    fn reached(&self, callback: &str) {
        if callback == self.at {
            self.panics.fetch_add(1, Ordering::Relaxed);
            panic!("{callback}");
        }
    }
}

impl<S: Subscriber> Layer<S> for Panicking {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        Interest::sometimes()
    }

    fn enabled(&self, _: &Metadata<'_>, _: layer::Context<'_, S>) -> bool {
        self.reached("enabled");
        true
    }

    fn on_new_span(&self, _: &Attributes<'_>, _: &Id, _: layer::Context<'_, S>) {
        self.reached("on_new_span");
    }

    fn on_record(&self, _: &Id, _: &Record<'_>, _: layer::Context<'_, S>) {
        self.reached("on_record");
    }

    fn on_event(&self, _: &Event<'_>, _: layer::Context<'_, S>) {
        self.reached("on_event");
    }

    fn on_enter(&self, _: &Id, _: layer::Context<'_, S>) {
        self.reached("on_enter");
    }

    fn on_exit(&self, _: &Id, _: layer::Context<'_, S>) {
        self.reached("on_exit");
    }

    fn on_close(&self, _: Id, _: layer::Context<'_, S>) {
        self.reached("on_close");
    }
}

/// Counts the attempts that finished and those that were abandoned.
#[derive(Clone, Default)]
struct Ends([Arc<AtomicU32>; 2]);

impl Observer for Ends {
    fn attempt_finished(&self, _: &AttemptFinished<'_>) {
        self.0[0].fetch_add(1, Ordering::Relaxed);
    }

    fn attempt_abandoned(&self, _: &AttemptAbandoned<'_>) {
        self.0[1].fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_layer_that_panics_does_not_lose_the_outcome() {
    for at in ["enabled", "on_new_span", "on_record", "on_event", "on_enter", "on_exit", "on_close"] {
        let (panics, ends, gateway) = (Arc::default(), Ends::default(), FakeGateway::new());
        let layer = Panicking { at, panics: Arc::clone(&panics) };
        let client = gateway.client_builder().observer((TracingObserver::new(), ends.clone())).build();
        let ends = || ends.0.each_ref().map(|count| count.load(Ordering::Relaxed));
        subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            let charged = catch_unwind(AssertUnwindSafe(|| block_on(client.process_token(&payment()))));
            assert!(charged.expect(at).is_ok(), "{at}");
            assert_eq!(ends(), [1, 0], "{at}");
            assert!(panics.swap(0, Ordering::Relaxed) > 0, "{at} is not reached");

            let gate = gateway.gate(OperationName::TokenTransaction);
            // A second panic during the unwinding would abort the process.
            let dropped = catch_unwind(AssertUnwindSafe(|| {
                let payment = payment();
                let mut call = Box::pin(client.process_token(&payment));
                assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
                panic!("on purpose");
            }));
            let panic = dropped.expect_err("it panics");
            assert_eq!(panic.downcast_ref(), Some(&"on purpose"), "{at}");
            assert_eq!(ends(), [1, 1], "{at}");
            assert!(panics.load(Ordering::Relaxed) > 0, "{at} is not reached");
            gate.release();
        });
    }
}
