//! Records metrics to an OpenTelemetry meter.
//!
//! This module has a type of the crate `opentelemetry` in its API, which has no stable version yet. So it may change in any release
//! of this crate: a new minor version of `opentelemetry` is a breaking change here. The rest of the crate follows Semantic
//! Versioning.

pub use crate::observer::MeterObserver;
