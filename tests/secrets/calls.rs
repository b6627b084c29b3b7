//! Every operation meets every fault in every phase: what does a call leave behind?

use payments_canary::Canaries;
use payments_core::model::Void;
use payments_core::{Client, Error, LookupError, Success, TracingObserver};
use payments_fake::{DeclineShape, FakeGateway, Fault, Phase, block_on};
use payments_tests::kinds;

use super::lines::Lines;
use super::page::{CanFail, Page, Teller, tell};
use super::requests::{ach_payment, card_payment};
use crate::requests::token;

pub(super) const PHASES: [Phase; 3] = [Phase::BeforeCommit, Phase::AfterCommit, Phase::Late];

/// Where time and chance come from the test, two runs must not even tell which secrets they were about.
#[test]
fn no_call_with_any_fault_leaves_a_secret_behind_d62() {
    Page::assert_clean("what calls leave behind", every_fault);
}

fn every_fault(canaries: &Canaries) -> Page {
    let page = Page::default();
    let lines = Lines::on(page.clone());
    for shape in DeclineShape::ALL {
        let gateway = FakeGateway::builder().api_key(canaries.key()).decline_shape(shape).seed(7);
        let gateway = gateway.ignore_unfired_faults().build();
        let observed = |traced: bool| {
            let client = gateway.client_builder().lookup_retries(1);
            if traced { client.observer(TracingObserver::new()) } else { client.observer(page.clone()) }
                .build()
        };
        for client in [observed(false), observed(true)] {
            lines.during(|| every_call(&client, canaries, &page));
        }
        let client = observed(false);
        // How a decline looks makes no difference to a fault.
        let kinds = if shape == DeclineShape::OkFailed { kinds() } else { Vec::new() };
        for kind in kinds {
            for phase in PHASES {
                let fault = gateway.arm(Fault::on_any().at(phase).show(kind).times(7));
                every_call(&client, canaries, &page);
                gateway.disarm(fault);
            }
        }
        gateway.deliver_late();
        tell!(&page, gateway);
        tell!(&page, gateway.ledger());
        page.write(&gateway.first_tenant().state_json());
        for request in gateway.requests() {
            tell!(&page, request);
            page.write(&request.to_json());
            page.debug(request.headers());
            for name in request.field_names() {
                page.write(&format!("{name} {:?}", request.field(name)));
            }
        }
    }
    assert!(page.text().len() > 1_000_000, "there is something to find");
    page
}

pub(super) fn every_call(client: &Client, canaries: &Canaries, page: &Page) {
    block_on(calls(client, canaries, page));
}

pub(super) async fn calls(client: &Client, canaries: &Canaries, page: &Page) {
    let authorised = client.process_card(&card_payment(canaries)).await;
    tell_result(page, &authorised);
    tell_result(page, &client.process_ach(&ach_payment(canaries)).await);
    tell_result(page, &client.process_token(&token("tok_declined", 1_00)).await);
    let id = authorised.map_or_else(|_| "t".parse().unwrap(), |authorised| authorised.transaction_id.clone());
    tell_result(page, &client.void(&Void::new(id.clone())).await);
    tell_lookup(page, &client.transaction(&id).await);
    tell_lookup(page, &client.customer(&"cus_1".parse().unwrap()).await);
}

/// All that a caller can learn of a call, each question asked.
pub(super) fn tell_result<T: std::fmt::Debug>(page: &Page, result: &Result<Success<T>, Error>) {
    tell_result_without_json(page, result);
    if let Some(record) = result.as_ref().err().and_then(Error::record) {
        tell!(page, *record);
    }
}

/// The same without the JSON of a record, which holds what the service sent.
pub(super) fn tell_result_without_json<T: std::fmt::Debug>(page: &Page, result: &Result<Success<T>, Error>) {
    match result {
        Ok(success) => tell_success(page, success),
        Err(error) => {
            tell!(page, *error);
            page.write(&error.body_snippet().unwrap_or_default());
            page.debug(&(error.reason(), error.status_code(), error.request_id(), error.record_status()));
            page.debug(&(error.transaction_id(), error.kind(), error.code(), error.violations()));
            page.debug(&(error.retry_after(), error.record()));
            if let Some(failed) = error.transport_error() {
                tell!(page, *failed);
                Teller(failed).causes(page);
            }
        }
    }
}

/// The same of a lookup.
fn tell_lookup<T: std::fmt::Debug>(page: &Page, result: &Result<Success<T>, LookupError>) {
    match result {
        Ok(success) => tell_success(page, success),
        Err(error) => {
            tell!(page, *error);
            page.write(&error.body_snippet().unwrap_or_default());
            page.debug(&(error.reason(), error.status_code(), error.request_id()));
            page.debug(&(error.kind(), error.code(), error.violations(), error.retry_after()));
            if let Some(failed) = error.transport_error() {
                tell!(page, *failed);
                Teller(failed).causes(page);
            }
        }
    }
}

fn tell_success<T: std::fmt::Debug>(page: &Page, success: &Success<T>) {
    page.debug(success);
    page.debug(success.data());
    page.write(&success.body_snippet());
    page.debug(&(success.message(), success.status_code(), success.request_id(), success.retry_after()));
}
