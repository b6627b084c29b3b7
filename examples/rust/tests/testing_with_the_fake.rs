//! Runs the example's tests with those of the workspace.

#[path = "../examples/testing_with_the_fake.rs"]
#[allow(dead_code, reason = "`examples.rs` runs its `main`")]
mod testing_with_the_fake;
