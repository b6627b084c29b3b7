//! The stage on which the examples run: the service that they call, and the process that a program of yours would be.
//!
//! An example is a program that finds the service's address and its key in its environment, as yours does. Its `main`
//! starts a sandbox, and then the same example again, as a [`Program`] of its own whose environment names the sandbox.
//! Nothing of this is needed outside the examples.

mod books;
mod program;
mod unplugged;

pub use books::{assert_nothing_wrong_was_said, show_books};
pub use program::Program;
pub use unplugged::Unplugged;
