//! What a request costs in the fake alone, without HTTP or a socket, and what an in-process test costs.

use std::hint::black_box;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context as _, bail, ensure};
use bytes::Bytes;
use http::Request;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use payments_core::model::CardTransaction;
use payments_fake::{FakeGateway, Reply, block_on};
use serde_json::Value;

use crate::measure::{cost, median};
use crate::process::this_program;
use crate::report::{Goal, Report};

pub(crate) fn measure(report: &mut Report) -> anyhow::Result<()> {
    let calls = report.amount(1_000, 2);
    // For a smoke test one case is enough.
    for (case, ..) in CASES.iter().take(if report.is_smoke() { 1 } else { CASES.len() }) {
        let arguments =
            |calls: u32| ["gateway-loop".to_owned(), (*case).to_owned(), calls.to_string()].into();
        let cost = cost(&this_program()?, arguments, (calls, 2 * calls))?;
        let note = format!("{:.0} allocations", cost.allocations);
        report.add(*case, cost.instructions, "instructions", None, note);
    }
    let payment = CardTransaction::from_json(CARD_PAYMENT.as_bytes()).context("the example is not valid")?;
    let client = FakeGateway::new().client();
    let mut times = Vec::new();
    for _ in 0..report.amount(10_000, 2) {
        let started = Instant::now();
        black_box(block_on(client.process_card(&payment))?);
        times.push(started.elapsed().as_secs_f64() * 1e6);
    }
    let time = median(times.into_iter());
    report.add("process_card over FakeTransport", time, "µs", Some(Goal::AtMost(25.0)), "");
    Ok(())
}

/// A kind of request, how to create one, and its expected status.
type Case = (&'static str, fn(&FakeGateway) -> anyhow::Result<Request<Bytes>>, u16);

const CASES: &[Case] = &[
    ("card-payment", |gateway| post(gateway, "transaction", CARD_PAYMENT), 200),
    ("token-payment", |gateway| post(gateway, "token-transaction", TOKEN_PAYMENT), 200),
    ("lookup", lookup, 200),
    (
        "wrong-key",
        |gateway| {
            let mut request = post(gateway, "transaction", CARD_PAYMENT)?;
            request.headers_mut().insert(AUTHORIZATION, "wrong".parse()?);
            Ok(request)
        },
        401,
    ),
];

/// Makes the calls of one case, while valgrind counts them.
pub(crate) fn run_loop(name: &str, calls: u32) -> anyhow::Result<()> {
    let (_, request, status) = CASES.iter().find(|(case, ..)| *case == name).context("no such case")?;
    let gateway = FakeGateway::new();
    let request = request(&gateway)?;
    for _ in 0..calls {
        let Reply::Answer(response) = gateway.handle(now(), request.clone()) else {
            bail!("{name} got no response");
        };
        ensure!(response.status() == *status, "{name}: HTTP {}", response.status());
    }
    Ok(())
}

/// A time in 2026.
fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_hours(490_896)
}

fn post(gateway: &FakeGateway, operation: &str, body: &'static str) -> anyhow::Result<Request<Bytes>> {
    Ok(Request::post(format!("/api/v1/public/{operation}"))
        .header("host", "127.0.0.1:4012")
        .header("accept", "application/json")
        .header("content-length", body.len())
        .header(AUTHORIZATION, gateway.api_key())
        .header(CONTENT_TYPE, "application/json")
        .body(Bytes::from_static(body.as_bytes()))?)
}

fn lookup(gateway: &FakeGateway) -> anyhow::Result<Request<Bytes>> {
    let Reply::Answer(response) = gateway.handle(now(), post(gateway, "transaction", CARD_PAYMENT)?) else {
        bail!("a card payment got no response");
    };
    let response: Value = serde_json::from_slice(response.body())?;
    let id = response["data"]["TransactionId"].as_str().context("a payment without an id")?;
    Ok(Request::get(format!("/api/v1/public/transaction/{id}"))
        .header("host", "127.0.0.1:4012")
        .header("accept", "application/json")
        .header(AUTHORIZATION, gateway.api_key())
        .body(Bytes::new())?)
}

const TOKEN_PAYMENT: &str =
    r#"{"TokenId":"tok_approved","Amount":10.50,"ConvenienceFeeActive":false,"ReferenceNo":"order-7"}"#;

/// With all 27 fields of the interface.
pub(crate) const CARD_PAYMENT: &str = concat!(
    r#"{"Amount":1249.50,"BillingAddress":"12 St James's Square, 2nd floor","BillingCity":"London","#,
    r#""BillingCountry":"826","BillingCountryCode":"+44","BillingCustomerName":"Ada King, Countess of Lovelace","#,
    r#""BillingEmail":"ada.lovelace@mail.example.com","BillingPhoneNumber":"020 7946 0958","#,
    r#""BillingPostalCode":"SW1Y 4JH","BillingState":"Greater London","ShippingSameAsBilling":false,"#,
    r#""ShippingCustomerName":"Charles Babbage","ShippingEmail":"charles.babbage@mail.example.com","#,
    r#""ShippingPhoneNumber":"020 7946 0123","ShippingAddress":"1 Dorset Street, Marylebone","#,
    r#""ShippingCountry":"826","ShippingCity":"London","ShippingState":"Greater London","#,
    r#""ShippingPostalCode":"W1U 4EG","CardNumber":"4242424242424242","Cvv":"917","ExpiryDate":"1137","#,
    r#""SuggestedMode":"Card","ConvenienceFeeActive":false,"TransactionType":"1","PaymentTokenization":false,"#,
    r#""IpAddress":"203.0.113.61"}"#,
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_case_returns_its_status() {
        for (case, ..) in CASES {
            run_loop(case, 2).unwrap();
        }
    }
}
