use std::time::SystemTime;

use opentelemetry::KeyValue;
use opentelemetry::metrics::{Gauge, Meter};

use crate::Summary;

/// Gauges of an OpenTelemetry meter that show what is in a journal.
///
/// | gauge | unit | attribute |
/// |---|---|---|
/// | `payment.intent.count` | {intent} | `payment.state` |
/// | `payment.intent.amount` | that of the amounts | `payment.state` |
/// | `payment.intent.oldest_age` | s | `payment.state` |
///
/// `payment.state` is the name of each [`StateName`](crate::StateName). A state without intents has zeros, so an alert ends when
/// its cause does. The amount is the sum as a floating-point number: for a screen, not for the books.
///
/// A gauge keeps its value until the next [`record`](Self::record). So record a new summary about every minute, and also watch
/// whether the journal can be read. Several processes with one journal export the same numbers: take their maximum, not their sum.
///
/// ```
/// use payments_journal::unversioned::SummaryGauges;
/// use payments_journal::{Journal, MemoryStore};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), payments_journal::StoreError> {
/// let journal = Journal::open(MemoryStore::new()).await?;
/// let gauges = SummaryGauges::new(&opentelemetry::global::meter("billing"));
/// gauges.record(&journal.summary().await?); // about every minute
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct SummaryGauges {
    count: Gauge<u64>,
    amount: Gauge<f64>,
    oldest_age: Gauge<f64>,
}

impl SummaryGauges {
    /// Creates the gauges. They have no values before [`record`](Self::record).
    pub fn new(meter: &Meter) -> Self {
        Self {
            count: meter
                .u64_gauge("payment.intent.count")
                .with_unit("{intent}")
                .with_description("Intents of the journal in each state.")
                .build(),
            amount: meter
                .f64_gauge("payment.intent.amount")
                .with_description("Sum of the amounts of the journal's intents in each state.")
                .build(),
            oldest_age: meter
                .f64_gauge("payment.intent.oldest_age")
                .with_unit("s")
                .with_description("Time since the oldest intent in each state was begun.")
                .build(),
        }
    }

    /// Sets the gauges to this summary, with the ages of now. The amount of a state whose sum is not exact is not set.
    pub fn record(&self, summary: &Summary) {
        let now = SystemTime::now();
        for of in &summary.states {
            let state = [KeyValue::new("payment.state", of.state.as_str())];
            self.count.record(of.count, &state);
            if let Some(sum) = of.sum.and_then(|sum| sum.to_string().parse().ok()) {
                self.amount.record(sum, &state);
            }
            let age = of.age_of_oldest(now).unwrap_or_default();
            self.oldest_age.record(age.as_secs_f64(), &state);
        }
    }
}
