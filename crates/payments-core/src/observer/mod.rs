//! Events of every attempt, for metrics, traces and alarms.

mod events;
#[cfg(feature = "opentelemetry")]
mod opentelemetry;
#[cfg(feature = "tracing")]
mod tracing;

pub use events::{AttemptAbandoned, AttemptFailure, AttemptFinished, AttemptStarted, BodySnippet, Observer};
#[cfg(feature = "opentelemetry")]
pub use opentelemetry::MeterObserver;
#[cfg(feature = "tracing")]
pub use tracing::TracingObserver;
