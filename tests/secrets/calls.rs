//! Runs every operation with every fault in every phase, and searches everything that the calls produce.

use payments_canary::Canaries;
use payments_core::model::Void;
use payments_core::{Client, Error, FailedCall, LookupError, Success, TracingObserver};
use payments_fake::{DeclineShape, FakeGateway, Fault, block_on};
use payments_tests::{PHASES, fault_kinds};

use super::requests::{ach_payment, card_payment};
use super::transcript::{Transcript, transcribe};
use crate::requests::token;

/// The test controls time and randomness, so the output must not depend on the secrets at all.
#[test]
fn calls_with_any_fault_show_no_secret_d62() {
    Transcript::assert_clean("the output of calls", every_fault);
}

fn every_fault(canaries: &Canaries) -> Transcript {
    let transcript = Transcript::default();
    for &shape in DeclineShape::ALL {
        let gateway = FakeGateway::builder()
            .api_key(canaries.key())
            .choices(|choices| choices.decline_shape = shape)
            .seed(7);
        let gateway = gateway.ignore_unfired_faults().build();
        let observed = |traced: bool| {
            let client = gateway.client_builder().lookup_retries(1);
            if traced { client.observer(TracingObserver::new()) } else { client.observer(transcript.clone()) }
                .build()
        };
        for client in [observed(false), observed(true)] {
            transcript.record_traces(|| every_call(&client, canaries, &transcript));
        }
        let client = observed(false);
        // Faults do not depend on the shape of a decline, so one shape is enough.
        let kinds = if shape == DeclineShape::OkFailed { fault_kinds() } else { Vec::new() };
        for kind in kinds {
            for phase in PHASES {
                let fault = gateway.arm(Fault::on_any().at(phase).show(kind).times(7));
                every_call(&client, canaries, &transcript);
                gateway.disarm(fault);
            }
        }
        gateway.deliver_late();
        transcribe!(&transcript, gateway);
        transcribe!(&transcript, gateway.ledger());
        transcript.write(&gateway.first_tenant().state_json());
        for request in gateway.requests() {
            transcribe!(&transcript, request);
            transcript.write(&request.to_json());
            transcript.debug(&request.headers);
            for name in request.field_names() {
                transcript.write(&format!("{name} {:?}", request.field(name)));
            }
        }
    }
    assert!(transcript.text().len() > 1_000_000, "the transcript is too short");
    transcript
}

pub(super) fn every_call(client: &Client, canaries: &Canaries, transcript: &Transcript) {
    block_on(calls(client, canaries, transcript));
}

pub(super) async fn calls(client: &Client, canaries: &Canaries, transcript: &Transcript) {
    let authorised = client.process_card(&card_payment(canaries)).await;
    transcribe_result(transcript, &authorised);
    transcribe_result(transcript, &client.process_ach(&ach_payment(canaries)).await);
    transcribe_result(transcript, &client.process_token(&token("tok_declined", 1_00)).await);
    let id = authorised.map_or_else(|_| "t".parse().unwrap(), |authorised| authorised.transaction_id.clone());
    transcribe_result(transcript, &client.void(&Void::new(id.clone())).await);
    transcribe_lookup(transcript, &client.transaction(&id).await);
    transcribe_lookup(transcript, &client.customer(&"cus_1".parse().unwrap()).await);
}

/// Writes everything that a caller can read from the result of a call.
pub(super) fn transcribe_result<T: std::fmt::Debug>(
    transcript: &Transcript,
    result: &Result<Success<T>, Error>,
) {
    transcribe_result_without_json(transcript, result);
    if let Some(record) = result.as_ref().err().and_then(Error::record) {
        transcribe!(transcript, *record);
    }
}

/// The same without the JSON of a record, which contains what the service sent.
pub(super) fn transcribe_result_without_json<T: std::fmt::Debug>(
    transcript: &Transcript,
    result: &Result<Success<T>, Error>,
) {
    match result {
        Ok(success) => transcribe_success(transcript, success),
        Err(error) => {
            transcribe!(transcript, *error);
            transcript.debug(&(error.record_status(), error.transaction_id(), error.record()));
            transcribe_failed_call(transcript, error.failed_call());
        }
    }
}

/// The same for a lookup.
fn transcribe_lookup<T: std::fmt::Debug>(transcript: &Transcript, result: &Result<Success<T>, LookupError>) {
    match result {
        Ok(success) => transcribe_success(transcript, success),
        Err(error) => {
            transcribe!(transcript, *error);
            transcribe_failed_call(transcript, error.failed_call());
        }
    }
}

fn transcribe_failed_call(transcript: &Transcript, call: &FailedCall) {
    transcript.write(&call.body_snippet().unwrap_or_default());
    transcript.debug(call);
    transcript.debug(&(call.reason(), call.status_code(), call.request_id(), call.kind()));
    transcript.debug(&(call.violations(), call.retry_after()));
    if let Some(failed) = call.transport_error() {
        transcribe!(transcript, *failed);
    }
}

fn transcribe_success<T: std::fmt::Debug>(transcript: &Transcript, success: &Success<T>) {
    transcript.debug(success);
    transcript.debug(success.data());
    transcript.write(&success.body_snippet());
    transcript.debug(&(
        success.message(),
        success.status_code(),
        success.request_id(),
        success.retry_after(),
    ));
}
