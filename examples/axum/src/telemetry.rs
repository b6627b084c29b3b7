//! Exports traces and metrics by OTLP, and logs to stderr.

use std::time::Duration;
use std::{env, io};

use axum::Router;
use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderMap, HeaderName};
use axum::middleware::{self, Next};
use axum::response::Response;
use opentelemetry::global;
use opentelemetry::propagation::Extractor;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{MetricExporter, Protocol, SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracerProvider;
use payments_core::unversioned::MeterObserver;
use payments_core::{Endpoint, TracingObserver};
use payments_journal::Journal;
use payments_journal::unversioned::SummaryGauges;
use tokio::time::sleep;
use tracing::{Instrument as _, info_span, warn};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::{open, serve};

/// The whole service, with traces and metrics.
pub(crate) async fn run() -> anyhow::Result<()> {
    let telemetry = install()?;
    let meter = global::meter("checkout");
    let observer = |endpoint: &Endpoint| (TracingObserver::new(), MeterObserver::new(&meter, endpoint));
    let payments = open(observer).await?;
    let gauges = SummaryGauges::new(&meter);
    let watching = tokio::spawn(watch(payments.journal().clone(), gauges.clone()));
    let traced = |routes: Router| routes.layer(middleware::from_fn(in_span));
    let last = async |journal: &Journal| {
        watching.abort();
        record(journal, &gauges).await;
    };
    serve(payments, traced, last).await?;
    telemetry.shutdown()
}

/// Shut this down to export the last spans and metrics.
struct Telemetry(Option<(SdkTracerProvider, SdkMeterProvider)>);

/// Logs to stderr, and exports to the collector that `OTEL_EXPORTER_OTLP_ENDPOINT` names.
fn install() -> anyhow::Result<Telemetry> {
    let log = fmt::layer().with_writer(io::stderr).with_ansi(false);
    let registry = tracing_subscriber::registry().with(LevelFilter::INFO).with(log);
    if env::var_os("OTEL_EXPORTER_OTLP_ENDPOINT").is_none() {
        registry.init();
        return Ok(Telemetry(None));
    }
    // The exporters use reqwest, which may need a TLS provider for the whole process. Fails only if there is one already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    // The exporters read the variable themselves.
    let spans = SpanExporter::builder().with_http().with_protocol(Protocol::HttpJson).build()?;
    let metrics = MetricExporter::builder().with_http().with_protocol(Protocol::HttpJson).build()?;
    let tracers = SdkTracerProvider::builder().with_batch_exporter(spans).build();
    let meters = SdkMeterProvider::builder().with_periodic_exporter(metrics).build();
    global::set_text_map_propagator(TraceContextPropagator::new());
    global::set_meter_provider(meters.clone());
    registry.with(tracing_opentelemetry::layer().with_tracer(tracers.tracer("checkout"))).init();
    Ok(Telemetry(Some((tracers, meters))))
}

impl Telemetry {
    fn shutdown(self) -> anyhow::Result<()> {
        if let Some((tracers, meters)) = self.0 {
            tracers.shutdown()?;
            meters.shutdown()?;
        }
        Ok(())
    }
}

/// Records what is in the journal, once a minute.
async fn watch(journal: Journal, gauges: SummaryGauges) {
    loop {
        record(&journal, &gauges).await;
        sleep(Duration::from_mins(1)).await;
    }
}

async fn record(journal: &Journal, gauges: &SummaryGauges) {
    match journal.summary().await {
        Ok(summary) => gauges.record(&summary),
        Err(error) => warn!(%error, "the gauges are old, because the journal cannot be read"),
    }
}

/// Creates a span for each request, in the sender's trace.
async fn in_span(request: Request, next: Next) -> Response {
    struct Headers<'a>(&'a HeaderMap);

    impl Extractor for Headers<'_> {
        fn get(&self, name: &str) -> Option<&str> {
            self.0.get(name)?.to_str().ok()
        }

        fn keys(&self) -> Vec<&str> {
            self.0.keys().map(HeaderName::as_str).collect()
        }
    }

    let route = request.extensions().get::<MatchedPath>().map_or("", MatchedPath::as_str);
    // Not traced, because load balancers call it often.
    if route == "/health" {
        return next.run(request).await;
    }
    let span = info_span!(
        "request",
        "otel.name" = format!("{} {route}", request.method()),
        "otel.kind" = "server",
        "http.request.method" = %request.method(),
        "http.route" = route,
        "http.response.status_code" = tracing::field::Empty,
    );
    let sender =
        global::get_text_map_propagator(|propagator| propagator.extract(&Headers(request.headers())));
    // Fails without a collector, because the span is not exported then.
    let _ = span.set_parent(sender);
    let response = next.run(request).instrument(span.clone()).await;
    span.record("http.response.status_code", response.status().as_u16());
    response
}
