//! The payments command.
fn main() {}
