use opentelemetry::KeyValue;
use opentelemetry::metrics::{Counter, Histogram, Meter};

use super::events::{AttemptAbandoned, AttemptFinished, Observer};
use crate::error::Outcome;
use crate::{Endpoint, OperationName};

/// Records every attempt to instruments of an OpenTelemetry meter.
///
/// | instrument | unit | attributes |
/// |---|---|---|
/// | histogram `http.client.request.duration` | s | `http.request.method`, `server.address`, `server.port`, `url.template`, `http.response.status_code`, `error.type` |
/// | counter `payment.attempts` | {attempt} | `payment.operation`, `payment.outcome` |
///
/// The histogram follows OpenTelemetry's convention for HTTP clients. `payment.outcome` is `processed`, `not_processed`, `rejected`
/// or `unknown` for a payment or a void, and `found` or `failed` for a lookup. Alert on `unknown`: a person must investigate each of
/// them.
///
/// ```
/// use payments_core::Client;
/// use payments_core::unversioned::MeterObserver;
///
/// # let gateway = payments_fake::FakeGateway::new();
/// # let (endpoint, transport, timer) = (gateway.endpoint(), gateway.transport(), gateway.clock().clone());
/// let meter = opentelemetry::global::meter("billing");
/// let observer = MeterObserver::new(&meter, &endpoint);
/// let client = Client::builder(endpoint, transport, timer).observer(observer).build();
/// # payments_fake::block_on(client.transaction(&"txn_1".parse()?)).unwrap_err();
/// # Ok::<(), payments_core::model::ValidationError>(())
/// ```
#[derive(Debug)]
pub struct MeterObserver {
    duration: Histogram<f64>,
    attempts: Counter<u64>,
    endpoint: Endpoint,
}

/// Bucket boundaries of OpenTelemetry's convention for the duration of HTTP requests, in seconds.
const BOUNDARIES: [f64; 14] =
    [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0];

impl MeterObserver {
    /// Creates an observer for a client of this endpoint.
    pub fn new(meter: &Meter, endpoint: &Endpoint) -> Self {
        Self {
            duration: meter
                .f64_histogram("http.client.request.duration")
                .with_unit("s")
                .with_description("Duration of HTTP client requests.")
                .with_boundaries(BOUNDARIES.into())
                .build(),
            attempts: meter
                .u64_counter("payment.attempts")
                .with_unit("{attempt}")
                .with_description("Attempts by operation and by whether the money can have moved.")
                .build(),
            endpoint: endpoint.clone(),
        }
    }

    fn count(&self, operation: OperationName, outcome: &'static str) {
        let operation = KeyValue::new("payment.operation", operation.as_str());
        self.attempts.add(1, &[operation, KeyValue::new("payment.outcome", outcome)]);
    }

    fn time(&self, operation: OperationName, seconds: f64, more: impl IntoIterator<Item = KeyValue>) {
        let mut attributes = vec![
            KeyValue::new("http.request.method", operation.method()),
            KeyValue::new("server.address", self.endpoint.shown_host().into_owned()),
            KeyValue::new("server.port", i64::from(self.endpoint.server().port())),
            KeyValue::new("url.template", self.endpoint.url_template(operation)),
        ];
        attributes.extend(more);
        self.duration.record(seconds, &attributes);
    }
}

impl Observer for MeterObserver {
    fn attempt_finished(&self, event: &AttemptFinished<'_>) {
        let status = event.http_status.map(|status| i64::from(status.as_u16()));
        let status = status.map(|status| KeyValue::new("http.response.status_code", status));
        let error =
            event.failure.map(|failure| KeyValue::new("error.type", failure.error_type(event.http_status)));
        let operation = event.started.operation;
        self.time(operation, event.latency.as_secs_f64(), status.into_iter().chain(error));
        let outcome = match event.failure {
            None if operation.moves_money() => "processed",
            None => "found",
            Some(failure) => failure.outcome.map_or("failed", Outcome::as_str),
        };
        self.count(operation, outcome);
    }

    fn attempt_abandoned(&self, event: &AttemptAbandoned<'_>) {
        let operation = event.started.operation;
        let error = KeyValue::new("error.type", "dropped");
        self.time(operation, event.latency.as_secs_f64(), [error]);
        let outcome = if operation.moves_money() { Outcome::Unknown.as_str() } else { "failed" };
        self.count(operation, outcome);
    }
}
