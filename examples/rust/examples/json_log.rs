//! A log of each attempt as one line of JSON, with the call's id and the trace of the request that caused it.
//!
//! Copy `JsonLog` and `program`. Your own code logs `call_id()` of a `Success` or an error, which is the same as in these lines.

#![allow(clippy::print_stdout, reason = "an example prints what it does")]

use std::env;

use anyhow::Context as _;
use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
use payments_core::{
    ApiKey, AttemptAbandoned, AttemptFinished, AttemptStarted, CallerHeaders, Client, Endpoint, Observer,
    Outcome,
};
use payments_hyper::{HyperTransport, TokioTimer};
use serde_json::{Value, json};

tokio::task_local! {
    /// The `traceparent` of the request that this task serves. A charge through a `JournaledClient` runs in another task.
    static TRACEPARENT: String;
}

fn traceparent() -> Option<String> {
    TRACEPARENT.try_with(String::clone).ok()
}

/// An event shows only the names of the caller's headers, because any value may be a secret. This one is not, so it is logged here.
struct JsonLog;

impl JsonLog {
    fn write(started: &AttemptStarted<'_>, outcome: &str, mut more: Value) {
        more["call_id"] = started.call_id.to_string().into();
        more["traceparent"] = traceparent().into();
        more["service"] = started.service.into();
        more["operation"] = started.operation.as_str().into();
        // As text, so that no reader of the log rounds it.
        more["amount"] = started.amount.map(|amount| amount.to_string()).into();
        more["reference"] = started.reference.into();
        more["outcome"] = outcome.into();
        println!("{more}");
    }
}

impl Observer for JsonLog {
    fn attempt_finished(&self, event: &AttemptFinished<'_>) {
        let outcome = match event.failure {
            None if !event.started.operation.moves_money() => "found",
            None => "processed",
            Some(failure) => failure.outcome.map_or("lookup failed", Outcome::as_str),
        };
        let more = json!({
            "kind": event.failure.map(|failure| failure.kind.as_str()),
            "http_status": event.http_status.map(|status| status.as_u16()),
            "transaction_id": event.transaction_id,
        });
        Self::write(event.started, outcome, more);
    }

    /// The caller dropped the call, so no error reports it. Without this line nobody would know that a payment is unknown.
    fn attempt_abandoned(&self, event: &AttemptAbandoned<'_>) {
        Self::write(event.started, "unknown", json!({ "kind": "abandoned" }));
    }
}

#[tokio::main]
async fn program() -> anyhow::Result<()> {
    let key = ApiKey::new(&setting("PAYMENTS_API_KEY")?)?;
    let endpoint = Endpoint::new(&setting("PAYMENTS_BASE_URL")?, key)?;
    let client = Client::builder(endpoint, HyperTransport::builder().build()?, TokioTimer::new())
        .observer(JsonLog)
        .headers(|headers| {
            if let Some(traceparent) = traceparent() {
                // A value that is no header is left out: telemetry must not stop a payment.
                let _ = headers.insert("traceparent", traceparent);
            }
        })
        .build();

    for (order, token) in [(1, "tok_approved"), (2, "tok_declined"), (3, "tok_approved")] {
        let trace = format!("00-4bf92f3577b34da6a3ce929d0e0e473{order}-00f067aa0ba902b7-01");
        TRACEPARENT.scope(trace, pay(&client, order, token)).await?;
    }
    Ok(())
}

async fn pay(client: &Client, order: u32, token: &str) -> anyhow::Result<()> {
    let payment = TokenTransaction::builder(token, Amount::from_cents(10_50), ConvenienceFee::Inactive)
        .reference_no(format!("order {order}"))
        .build()?;
    // Headers of these calls alone. Those of every call are set when the client is built, above.
    let mut headers = CallerHeaders::new();
    headers.insert("x-request-id", format!("order-{order}"))?;
    let call_id = match client.with_headers(headers).process_token(&payment).await {
        Ok(charged) => charged.call_id(),
        Err(error) => error.failed_call().call_id(),
    };
    let call_id = call_id.map_or_else(|| "none".to_owned(), |id| id.to_string());
    println!("order {order}: call_id={call_id}");
    Ok(())
}

fn setting(name: &'static str) -> anyhow::Result<String> {
    env::var(name).context(name)
}

/// Only for the example: starts a sandbox, and runs the program above in another process.
fn main() -> anyhow::Result<()> {
    use payments_core::OperationName;
    use payments_examples::Program;
    use payments_fake::{FakeGateway, Fault};
    use payments_sandbox::Sandbox;

    if Program::is_this_process() {
        return program();
    }
    let sandbox = Sandbox::builder().fresh_gateway(FakeGateway::builder().seed(7)).start_blocking()?;
    sandbox.gateway().arm(Fault::response_lost(OperationName::TokenTransaction).skip(2));
    let output = Program::with(&sandbox)?.run()?;

    // Each line of the log is followed by the caller's own, with the same call id.
    for (attempt, (log, own)) in output.iter().step_by(2).zip(output.iter().skip(1).step_by(2)).enumerate() {
        let log: Value = serde_json::from_str(log)?;
        assert!(own.ends_with(log["call_id"].as_str().context("no call id")?));
        let request = &sandbox.gateway().requests()[attempt];
        assert_eq!(request.headers["traceparent"].to_str()?, log["traceparent"]);
        assert_eq!(request.headers["x-request-id"], format!("order-{}", attempt + 1));
    }
    Ok(())
}
