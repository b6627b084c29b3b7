//! The tests of the example, among those of the workspace.

#[path = "../examples/testing_with_the_fake.rs"]
#[allow(dead_code, reason = "its `main` is run by `examples.rs`")]
mod testing_with_the_fake;
