use std::collections::BTreeMap;

use opentelemetry::metrics::MeterProvider as _;
use opentelemetry_sdk::metrics::data::{AggregatedMetrics, MetricData, ResourceMetrics, ScopeMetrics};
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, PeriodicReader, SdkMeterProvider};
use payments_journal::Resolution;
use payments_journal::unversioned::SummaryGauges;

use crate::client::support::response_lost;
use crate::client::world::World;

/// The values of every gauge that are not zero, by name and state.
fn exported(provider: &SdkMeterProvider, exporter: &InMemoryMetricExporter) -> BTreeMap<String, f64> {
    fn values<T: Copy>(
        data: &MetricData<T>,
        number: impl Fn(T) -> f64,
    ) -> Vec<(Vec<opentelemetry::KeyValue>, f64)> {
        let MetricData::Gauge(gauge) = data else { panic!("not a gauge") };
        let point = |point: &opentelemetry_sdk::metrics::data::GaugeDataPoint<T>| {
            (point.attributes().cloned().collect(), number(point.value()))
        };
        gauge.data_points().map(point).collect()
    }

    exporter.reset();
    provider.force_flush().unwrap();
    let resources = exporter.get_finished_metrics().unwrap();
    let metrics = resources.iter().flat_map(ResourceMetrics::scope_metrics).flat_map(ScopeMetrics::metrics);
    let mut found = BTreeMap::new();
    for metric in metrics {
        let points = match metric.data() {
            #[allow(clippy::cast_precision_loss, reason = "small counts")]
            AggregatedMetrics::U64(data) => values(data, |count| count as f64),
            AggregatedMetrics::F64(data) => values(data, |value| value),
            AggregatedMetrics::I64(_) => panic!("there is none"),
        };
        assert_eq!(points.len(), 6, "a point for every state of {}", metric.name());
        for (attributes, value) in points {
            let [state] = &attributes[..] else { panic!("{attributes:?}") };
            assert_eq!(state.key.as_str(), "payment.state");
            found.insert(format!("{} {}", metric.name(), state.value), value);
        }
    }
    found.retain(|_, value| *value != 0.0);
    found
}

#[tokio::test]
async fn gauges_have_count_sum_and_age_of_every_state_and_fall_back_to_zero() {
    let exporter = InMemoryMetricExporter::default();
    let provider =
        SdkMeterProvider::builder().with_reader(PeriodicReader::builder(exporter.clone()).build()).build();
    let gauges = SummaryGauges::new(&provider.meter("test"));
    let world = World::new().await;
    world.fail(response_lost()).await;
    let begun_at = world.intent().await.begun_at;
    gauges.record(&world.client.journal().summary().await.unwrap());

    let mut found = exported(&provider, &exporter);
    let age = found.remove("payment.intent.oldest_age unknown").unwrap();
    assert!(age > 0.0 && age <= begun_at.elapsed().unwrap().as_secs_f64(), "{age}");
    let expected = [("payment.intent.amount unknown", 10.5), ("payment.intent.count unknown", 1.0)];
    assert_eq!(found, BTreeMap::from(expected.map(|(name, value)| (name.to_owned(), value))));

    world.resolve(Resolution::not_processed("ada").note("not in the books")).await.unwrap();
    gauges.record(&world.client.journal().summary().await.unwrap());
    let names: Vec<_> = exported(&provider, &exporter).into_keys().collect();
    assert_eq!(
        names,
        ["amount", "count", "oldest_age"].map(|name| format!("payment.intent.{name} resolved"))
    );
}
