//! The `payments` command: the five operations of the payment service from a shell, the service itself on one's own
//! machine, and a demonstration of both.
//!
//! Other programs call it, so its command names, its JSON and its exit codes are fixed. Whatever happens, the exit
//! code and `outcome` say whether the money can have moved; see [`exit_code`].
//!
//! ```console
//! $ payments demo                                  # a tour of everything, with a service of its own
//! $ payments sandbox --listen 127.0.0.1:8437       # that service, for any language
//! $ export PAYMENTS_BASE_URL=http://127.0.0.1:8437/api/v1/public PAYMENTS_API_KEY=test_key_of_the_fake_gateway
//! $ payments check                                 # address, TLS and key, without moving money
//! $ payments transaction create --file sale.json
//! $ payments batch run november.csv --journal billing.db
//! ```
//!
//! # What it does not do
//!
//! It sends nothing twice by itself, and nothing at all to an environment that was not named: there is no default address,
//! key or profile. The service's key and card data are never arguments, because other users of the machine could read them
//! there. It asks no questions, and keeps nothing between calls but what it was told to, such as a journal.

mod args;
mod batch_report;
mod call;
mod commands;
mod csv_file;
mod exit_code;
mod failure;
mod files;
mod help;
mod intent_object;
mod interrupt;
mod journal_place;
mod journaled_call;
mod output;
mod rehearsal;
mod report;
mod row_file;
mod settings;
mod stderr;
mod stdout;
mod style;
mod text;
mod trace;
mod usage;

use std::ffi::OsString;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::process;

use clap::Parser as _;

use crate::args::Arguments;
use crate::exit_code::ExitCode;

fn main() -> process::ExitCode {
    panic::set_hook(Box::new(report_the_place));
    let arguments: Vec<_> = std::env::args_os().collect();
    let code = panic::catch_unwind(AssertUnwindSafe(|| run(&arguments))).unwrap_or(ExitCode::Other);
    stderr::finish();
    code.into()
}

fn run(arguments: &[OsString]) -> ExitCode {
    match Arguments::try_parse_from(arguments) {
        Ok(arguments) => commands::run(arguments),
        Err(error) => usage::answer(&error, arguments),
    }
}

/// A panic is a defect, and even a defect must not print a card number: its payload may hold input.
fn report_the_place(info: &PanicHookInfo<'_>) {
    stderr::write_last(match info.location() {
        Some(place) => format!("payments: internal error at {}:{}\n", place.file(), place.line()),
        None => "payments: internal error\n".to_owned(),
    });
}
