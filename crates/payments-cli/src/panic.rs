//! A panic is a defect, and even a defect must not print a card number.

use std::io::{self, Write as _};
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};

use crate::exit_code::ExitCode;

/// Runs `body`; if it panics, the place is reported without the payload, which may hold input.
pub(crate) fn contain(body: impl FnOnce() -> ExitCode) -> ExitCode {
    panic::set_hook(Box::new(report_the_place));
    panic::catch_unwind(AssertUnwindSafe(body)).unwrap_or(ExitCode::Other)
}

fn report_the_place(info: &PanicHookInfo<'_>) {
    let mut stderr = io::stderr().lock();
    // Nobody is left to tell if stderr is gone too.
    let _ = match info.location() {
        Some(place) => writeln!(stderr, "payments: internal error at {}:{}", place.file(), place.line()),
        None => writeln!(stderr, "payments: internal error"),
    };
}
