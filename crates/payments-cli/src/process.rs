//! What a command needs of its process, so that its result is reported whatever happens: threads, signals, and panics that are caught.

pub(crate) mod interrupt;
pub(crate) mod run_to_report;
pub(crate) mod spare;

pub(crate) use self::interrupt::Interrupt;
