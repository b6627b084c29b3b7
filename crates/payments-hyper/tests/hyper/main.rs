//! The tests of payments-hyper, one file per question.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod broken_bodies;
mod broken_http2;
mod building;
mod conformance;
mod http2;
mod lost_responses;
mod memory;
mod not_sent;
mod pooling;
mod proxy;
mod request_bytes;
mod responses;
mod runtimes;
mod support;
mod tls;
