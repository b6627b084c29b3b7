//! The `payments` command: the five operations of the payment service from a shell, a sandbox of the service on your own
//! machine, and a demo of both.
//!
//! Other programs call it, so its command names, JSON and exit codes are fixed. The exit code and `outcome` always say
//! whether the money can have moved; see [`report::exit_code`].
//!
//! ```console
//! $ payments demo                                  # everything in action, against a sandbox
//! $ payments sandbox --listen 127.0.0.1:8437       # the sandbox, for any language
//! $ export PAYMENTS_BASE_URL=http://127.0.0.1:8437/api/v1/public PAYMENTS_API_KEY=test_key_of_the_fake_gateway
//! $ payments check                                 # address, TLS and key, without moving money
//! $ payments transaction create --file sale.json
//! $ payments batch run november.csv --journal billing.db
//! ```
//!
//! # The way of a command
//!
//! 1. `args` is the command line, as plain data. `usage` reports what clap refuses, and `help` has the long texts.
//! 2. `settings` merges options and environment, and says where each came from. It also has the place of the journal.
//! 3. `commands` has a file or a folder for each command. A single charge or lookup runs through `call`, and through
//!    `call::journaled` if it has a key; `commands::operations` says how each is sent. `rows` reads files of rows.
//! 4. `failure` is why a command did not succeed, and `call::hints` what to check. `report::advice` says what to do next.
//! 5. `report` is the result: a document for programs, a text for people, and in `report::exit_code` the exit code.
//! 6. `output` writes the report: `stdout` the result, `stderr` everything else. `process` makes sure that a command which may have
//!    sent something gets so far, whatever panics and signals arrive.
//!
//! # Where to look
//!
//! | question | file |
//! |---|---|
//! | What does a person do about an unknown outcome? | `report::advice` has the headline and the clauses, also those about a key; the rest of the message is written where the outcome arises: in `call` and `call::journaled_failure`, and in the errors of payments-core and payments-journal |
//! | Which options does a printed command repeat? | `settings::printed_commands`, which is made once and passed |
//! | Which environment variables are read? | `settings::source`; for the journal, `journal_place` there |
//! | Where is the API key found, and who may read its file? | `settings::api_key` |
//! | What does a signal do? | `process::interrupt` catches it. The first ends a call without a key (`call`); a second ends one with a key (`call::journaled`) or a billing run (`commands::batch::run`), which wait for what is in flight after the first |
//! | How is a billing run read, checked, sent and counted? | in `commands::batch`: `billing_file`, `inspection`, `run`, where `stop_rules` decides what each result means, and `counting` |
//! | Which charges refuse another key, or are warned about? | `call::same_payment` has the rule, for single calls and runs, and `rows::spreadsheet` says which keys are alike; `commands::batch::earlier_charges` finds them for the rows of a file, and `newcomers` during a run |
//! | What does a dry run count? | `commands::batch::inspection` counts the rows that are not sent, `report::run` the others, and `report::run::text` prints both |
//! | How does text fit a terminal? | `wrap` breaks the lines of results, warnings and help |
//! | How does the progress look? | `commands::batch::progress` has the words, `stderr::progress_bar` draws the bar |
//! | What does `journal list` show? | `commands::journal::list`, which also has columns, width and sums |
//! | Which members has an intent in JSON and CSV? | `intent`, and of its history `intent::history` |
//! | Which words mean declined? | `commands::journal::status_words`, also those of `--declined-status` |
//! | How are outcomes resolved? | in `commands::journal`: `resolve` for one, `resolve_file` for many; `reconcile` finds them in a processor's report, and `reconcile::proposals` writes them to files |
//!
//! # What it does not do
//!
//! It never sends a payment twice automatically, and sends nothing to an environment that was not named: there is no
//! default address or key. The API key and card data are never arguments, because other users of the machine
//! could read them. It asks no questions and stores nothing between calls except what you ask for, such as a journal.

mod args;
mod call;
mod commands;
mod failure;
mod files;
mod format;
mod help;
mod intent;
mod local_time;
mod output;
mod process;
mod report;
mod rows;
mod service;
mod settings;
mod stderr;
mod stdout;
mod style;
mod usage;
mod wrap;

use std::ffi::OsString;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};

use crate::args::Arguments;
use crate::report::ExitCode;

fn main() -> std::process::ExitCode {
    panic::set_hook(Box::new(report_panic));
    #[cfg(unix)]
    let file_limit = process::interrupt::FileLimit::catch();
    let arguments: Vec<_> = std::env::args_os().collect();
    let code = panic::catch_unwind(AssertUnwindSafe(|| run(&arguments))).unwrap_or(ExitCode::Other);
    #[cfg(unix)]
    if code != ExitCode::Processed && file_limit.is_some_and(|mut limit| limit.is_reached()) {
        stderr::write_last("payments: a file has reached the limit of `ulimit -f`, so a write failed\n");
    }
    stderr::finish();
    code.into()
}

fn run(arguments: &[OsString]) -> ExitCode {
    match Arguments::read(arguments) {
        Ok(arguments) => commands::run(arguments),
        Err(error) => usage::report(&error, arguments),
    }
}

/// Prints only the location: a panic's payload may contain input such as a card number.
fn report_panic(info: &PanicHookInfo<'_>) {
    stderr::write_last(match info.location() {
        Some(location) => format!("payments: internal error at {}:{}\n", location.file(), location.line()),
        None => "payments: internal error\n".to_owned(),
    });
}
