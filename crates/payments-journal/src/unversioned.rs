//! Records the [summary](crate::Journal::summary) of a journal to an OpenTelemetry meter.
//!
//! It may change in any version. It has a type of the crate `opentelemetry` in its API, which has no stable version yet: a new minor
//! version of `opentelemetry` is a breaking change here. The rest of the crate follows Semantic Versioning.

pub use crate::gauges::SummaryGauges;
