//! Runs the example's tests with those of the workspace: its transport keeps the contract of every transport.

#[path = "../examples/own_transport.rs"]
#[allow(dead_code, reason = "`examples.rs` runs its `main`")]
mod own_transport;
