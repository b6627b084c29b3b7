//! Tests of the spans, metrics and headers for OpenTelemetry.

#![cfg(all(feature = "tracing", feature = "opentelemetry"))]
use std::collections::BTreeMap;
use std::error::Error as _;
use std::fmt::Write as _;
use std::future::Future;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};

use http::StatusCode;
use opentelemetry::global;
use opentelemetry::metrics::MeterProvider as _;
use opentelemetry::trace::{SpanKind, Status, TracerProvider as _};
use opentelemetry_sdk::metrics::data::{
    AggregatedMetrics, HistogramDataPoint, MetricData, ResourceMetrics, ScopeMetrics,
};
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, PeriodicReader, SdkMeterProvider};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use payments_core::model::{
    Amount, Card, CardTransaction, ConvenienceFee, TokenTransaction, TransactionType, Void,
};
use payments_core::unversioned::MeterObserver;
use payments_core::{
    ApiKey, Client, Endpoint, OperationName, Transport, TransportError, TransportErrorKind, TransportRequest,
    TransportResponse,
};
use payments_fake::{FakeGateway, Fault, block_on};
use tracing_subscriber::layer::SubscriberExt as _;

use crate::support::PAYER;

const CARD: &str = "4111111111111111";

fn payment(reference: &str) -> TokenTransaction {
    let builder =
        TokenTransaction::builder("tok_approved", Amount::from_cents(10_50), ConvenienceFee::Inactive);
    builder.reference_no(reference).build().unwrap()
}

/// The spans recorded while `test` runs, in the order in which they end.
fn recorded(test: impl FnOnce(&FakeGateway)) -> Vec<SpanData> {
    let exporter = InMemorySpanExporter::default();
    let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
    tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
        test(&FakeGateway::new());
    });
    exporter.get_finished_spans().unwrap()
}

/// The attributes of a span, without those of its source location.
fn attributes(span: &SpanData) -> BTreeMap<&str, String> {
    let pairs = span.attributes.iter().map(|pair| (pair.key.as_str(), pair.value.to_string()));
    pairs
        .filter(|(name, _)| {
            ["http.", "server.", "url.", "error.", "payment."].iter().any(|prefix| name.starts_with(prefix))
        })
        .collect()
}

#[test]
fn a_payment_has_a_span_with_a_client_span_for_its_attempt() {
    let mut call_id = String::new();
    let spans = recorded(|gateway| {
        let charged = block_on(gateway.client().process_token(&payment("invoice 17"))).unwrap();
        call_id = charged.call_id().unwrap().to_string();
    });
    let [attempt, call] = &*spans else { panic!("{spans:#?}") };
    assert_eq!((&*call.name, &*attempt.name), ("token-transaction", "POST /api/v1/public/token-transaction"));
    assert_eq!((&call.span_kind, &attempt.span_kind), (&SpanKind::Internal, &SpanKind::Client));
    assert_eq!(attempt.parent_span_id, call.span_context.span_id());
    assert_eq!(
        attributes(call),
        BTreeMap::from([
            ("payment.operation", "token-transaction".to_owned()),
            ("payment.call_id", call_id),
            ("payment.amount", "10.50".to_owned()),
            ("payment.reference", "invoice 17".to_owned()),
            ("payment.outcome", "processed".to_owned()),
        ])
    );
    assert_eq!(
        attributes(attempt),
        BTreeMap::from([
            ("http.request.method", "POST".to_owned()),
            ("http.response.status_code", "200".to_owned()),
            ("server.address", "payments.invalid".to_owned()),
            ("server.port", "443".to_owned()),
            ("url.template", "/api/v1/public/token-transaction".to_owned()),
        ])
    );
    assert_eq!(attempt.status, Status::Unset);
}

#[test]
fn a_failed_attempt_has_its_error_and_a_retried_lookup_its_resend_count() {
    let spans = recorded(|gateway| {
        gateway.arm(Fault::response_lost(OperationName::TokenTransaction));
        block_on(gateway.client().process_token(&payment("invoice 17"))).unwrap_err();
        gateway.arm(Fault::on(OperationName::GetTransaction).before_commit().status(StatusCode::BAD_GATEWAY));
        block_on(gateway.client().transaction(&"txn_1".parse().unwrap())).unwrap_err();
    });
    let summary = |span: &SpanData| {
        let attributes = attributes(span);
        ["payment.outcome", "error.type", "http.response.status_code", "http.request.resend_count"]
            .map(|name| attributes.get(name).cloned().unwrap_or_default())
            .join(" ")
    };
    let summaries: Vec<_> = spans.iter().map(summary).collect();
    assert_eq!(summaries, [" interrupted  ", "unknown interrupted  ", " 502 502 ", " 404 404 1", " 404  "]);
    assert!(spans[0].status != Status::Unset && spans[2].status != Status::Unset);
}

#[test]
fn the_span_of_a_dropped_payment_has_an_unknown_outcome_d22() {
    let spans = recorded(|gateway| {
        let gate = gateway.gate(OperationName::TokenTransaction);
        let (client, payment) = (gateway.client(), payment("invoice 17"));
        let mut call = Box::pin(client.process_token(&payment));
        assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        drop(call);
        gate.release();
    });
    assert_eq!(spans.len(), 2);
    for span in &spans {
        assert_eq!(attributes(span)["error.type"], "dropped");
    }
    assert_eq!(attributes(&spans[1])["payment.outcome"], "unknown");
}

/// The hook for headers runs before anything is passed to the transport.
#[test]
fn the_span_of_a_payment_whose_headers_panicked_is_not_unknown_d22() {
    let spans = recorded(|gateway| {
        let client = gateway.client_builder().headers(|_| panic!("the headers panic")).build();
        let call = AssertUnwindSafe(|| block_on(client.process_token(&payment("invoice 17"))));
        catch_unwind(call).unwrap_err();
        assert!(gateway.requests().is_empty());
    });
    let [_, call] = &*spans else { panic!("{spans:#?}") };
    assert_eq!(attributes(call)["payment.outcome"], "not_processed");
}

#[test]
fn no_span_holds_a_secret_d62() {
    let spans = recorded(|gateway| {
        let card = Card { number: CARD, cvv: "739", expiry: "12/33" };
        let amount = Amount::from_cents(10_50);
        let sale =
            CardTransaction::builder(amount, TransactionType::Sale, ConvenienceFee::Inactive, card, PAYER);
        let _ = block_on(gateway.client().process_card(&sale.build().unwrap()));
        // A card number in the field for a reference.
        block_on(gateway.client().process_token(&payment(CARD))).unwrap();
        block_on(gateway.client().process_token(&payment(gateway.api_key()))).unwrap();
    });
    assert_eq!(spans.len(), 6);
    let shown = format!("{spans:?}");
    assert!(
        !shown.contains(CARD) && !shown.contains("739\"") && !shown.contains(FakeGateway::API_KEY),
        "{shown}"
    );
}

#[test]
fn no_span_or_metric_has_a_key_of_the_base_url_d25_d62() {
    let key = "sk_canary_7Qz";
    let endpoint =
        || Endpoint::new(&format!("https://{key}.example.com/{key}/v1"), ApiKey::new(key).unwrap()).unwrap();
    let exporter = InMemoryMetricExporter::default();
    let provider =
        SdkMeterProvider::builder().with_reader(PeriodicReader::builder(exporter.clone()).build()).build();
    let spans = recorded(|gateway| {
        let observer = MeterObserver::new(&provider.meter("test"), &endpoint());
        let client = Client::builder(endpoint(), gateway.transport(), gateway.clock().clone());
        block_on(client.observer(observer).build().process_token(&payment("a"))).unwrap_err();
    });
    provider.force_flush().unwrap();
    let shown = format!("{spans:?} {:?}", exporter.get_finished_metrics().unwrap());
    assert!(
        shown.contains("[redacted].example.com") && shown.contains("/[redacted]/v1/token-transaction"),
        "{shown}"
    );
    assert!(!shown.contains("canary"), "{shown}");
}

/// Answers a payment with an error that repeats the address, and does not reach the server with a void.
#[derive(Clone, Default)]
struct Repeating(Arc<Mutex<String>>);

impl Transport for Repeating {
    async fn send(&self, request: TransportRequest) -> Result<TransportResponse, TransportError> {
        write!(self.0.lock().unwrap(), "{request:?}").unwrap();
        let server = request.server()?;
        if request.operation() == OperationName::Void {
            let source = io::Error::other(format!("no connection to {server}"));
            return Err(TransportError::not_processed(TransportErrorKind::Connect).with_source(source));
        }
        let body = format!(r#"{{"message":"bad request error: no route for {}"}}"#, request.uri());
        let response = http::Response::builder().status(400).body(body.into());
        Ok(response.expect("a valid response").into())
    }
}

#[test]
fn an_earlier_key_of_the_base_url_is_in_no_text_d25_d62() {
    let key = |text| ApiKey::new(text).unwrap();
    for at in ["https://pay.example.com/sk_canary_7Qz/v1", "https://sk_canary_7Qz.example.com/v1"] {
        let shown = Repeating::default();
        let spans = recorded(|gateway| {
            let endpoint = Endpoint::new(at, key("sk_canary_7Qz")).unwrap();
            let first = Client::builder(endpoint, shown.clone(), gateway.clock().clone()).build();
            let rotated = first.with_api_key(key("second_key_1"));
            let merchant = rotated.for_merchant("books", key("third_key_1")).unwrap();
            for client in [first, rotated, merchant] {
                let refused = block_on(client.process_token(&payment("a"))).unwrap_err();
                assert!(refused.reason().unwrap().contains("[redacted]"), "{refused}");
                let void = Void::new("txn_1".parse().unwrap());
                let unreached = block_on(client.void(&void)).unwrap_err();
                let call = refused.failed_call();
                let texts = (call.reason(), call.body_snippet(), unreached.source());
                let mut shown = shown.0.lock().unwrap();
                write!(shown, "{client:?} {refused:#} {refused:?} {unreached:#} {unreached:?} {texts:?}")
                    .unwrap();
            }
        });
        let shown = format!("{spans:?} {}", shown.0.lock().unwrap());
        assert!(shown.contains("no connection to"), "{shown}");
        assert!(!shown.contains("canary"), "{at}: {shown}");
    }
}

#[test]
fn the_trace_headers_name_the_span_of_the_attempt() {
    global::set_text_map_propagator(TraceContextPropagator::new());
    let mut sent = String::new();
    let spans = recorded(|gateway| {
        block_on(gateway.client().process_token(&payment("invoice 17"))).unwrap();
        sent = gateway.requests()[0].headers["traceparent"].to_str().unwrap().to_owned();
    });
    let context = &spans[0].span_context;
    assert_eq!(sent, format!("00-{}-{}-01", context.trace_id(), context.span_id()));
}

#[test]
fn durations_are_in_seconds_and_attempts_are_counted_by_outcome() {
    let exporter = InMemoryMetricExporter::default();
    let provider =
        SdkMeterProvider::builder().with_reader(PeriodicReader::builder(exporter.clone()).build()).build();
    let gateway = FakeGateway::new();
    let endpoint = gateway.endpoint();
    let observer = MeterObserver::new(&provider.meter("test"), &endpoint);
    let client =
        Client::builder(endpoint, gateway.transport(), gateway.clock().clone()).observer(observer).build();
    block_on(client.process_token(&payment("a"))).unwrap();
    block_on(client.process_token(&payment("b"))).unwrap();
    gateway.arm(Fault::response_lost(OperationName::TokenTransaction));
    block_on(client.process_token(&payment("c"))).unwrap_err();
    provider.force_flush().unwrap();

    let resources = exporter.get_finished_metrics().unwrap();
    let metrics: Vec<_> =
        resources.iter().flat_map(ResourceMetrics::scope_metrics).flat_map(ScopeMetrics::metrics).collect();
    let named = |name: &str| *metrics.iter().find(|metric| metric.name() == name).unwrap();
    let AggregatedMetrics::U64(MetricData::Sum(attempts)) = named("payment.attempts").data() else {
        panic!("a counter")
    };
    let outcome = |pair: &opentelemetry::KeyValue| pair.key.as_str() == "payment.outcome";
    let counted: BTreeMap<_, _> = attempts
        .data_points()
        .map(|point| {
            (point.attributes().find(|pair| outcome(pair)).unwrap().value.to_string(), point.value())
        })
        .collect();
    assert_eq!(counted, BTreeMap::from([("processed".to_owned(), 2), ("unknown".to_owned(), 1)]));
    let duration = named("http.client.request.duration");
    assert_eq!(duration.unit(), "s");
    let AggregatedMetrics::F64(MetricData::Histogram(duration)) = duration.data() else {
        panic!("a histogram")
    };
    let mut counts: Vec<_> = duration.data_points().map(HistogramDataPoint::count).collect();
    counts.sort_unstable();
    assert_eq!(counts, [1, 2], "one without and two with HTTP status 200");
}
