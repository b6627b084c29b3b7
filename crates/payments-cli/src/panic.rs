//! A panic is a defect, and even a defect must not print a card number.

use std::panic::{self, AssertUnwindSafe, PanicHookInfo};

use crate::exit_code::ExitCode;
use crate::stderr;

/// Runs `body`; if it panics, the place is reported without the payload, which may hold input.
pub(crate) fn contain(body: impl FnOnce() -> ExitCode) -> ExitCode {
    panic::set_hook(Box::new(report_the_place));
    panic::catch_unwind(AssertUnwindSafe(body)).unwrap_or(ExitCode::Other)
}

fn report_the_place(info: &PanicHookInfo<'_>) {
    stderr::write_last(match info.location() {
        Some(place) => format!("payments: internal error at {}:{}\n", place.file(), place.line()),
        None => "payments: internal error\n".to_owned(),
    });
}
