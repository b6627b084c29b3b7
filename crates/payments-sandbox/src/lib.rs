//! The payment service on one's own machine, over HTTP, for any language.

mod blocking_sandbox;
mod connection;
mod real_time;
mod sandbox;
mod sandbox_builder;
mod server;
mod shutdown;
mod socket;
mod symptom;
mod tls;

pub use blocking_sandbox::BlockingSandbox;
pub use sandbox::Sandbox;
pub use sandbox_builder::SandboxBuilder;
