//! The tests of the example, among those of the workspace: its transport keeps the contract of every transport.

#[path = "../examples/own_transport.rs"]
#[allow(dead_code, reason = "its `main` is run by `examples.rs`")]
mod own_transport;
