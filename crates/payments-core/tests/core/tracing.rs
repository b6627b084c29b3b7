//! Tests of what `TracingObserver` reports.

#![cfg(feature = "tracing")]
use std::fmt::{Debug, Write};
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};

use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
use payments_core::{OperationName, TracingObserver};
use payments_fake::{FakeGateway, Fault, block_on};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber, subscriber};

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
