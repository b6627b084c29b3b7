//! placeholder

mod attempt;
mod build_error;
mod builder;
mod client;
mod connection;
mod socket;
mod transport;

pub use build_error::BuildError;
pub use builder::UreqTransportBuilder;
pub use client::client;
pub use transport::UreqTransport;
