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

mod app;
mod args;
mod batch_arguments;
mod batch_report;
mod call;
mod call_error;
mod checked;
mod commands;
mod csv_file;
mod escape;
mod exit_code;
mod failure;
mod file_identity;
mod help;
mod input;
mod intent_note;
mod intent_object;
mod interrupt;
mod journal_arguments;
mod journal_place;
mod journaled_call;
mod last_write;
mod next_step;
mod output;
mod panic;
mod path_name;
mod processed;
mod purpose;
mod rehearsal;
mod report;
mod row_file;
mod sandbox_arguments;
mod secret_file;
mod sent;
mod settings;
mod stderr;
mod style;
mod text;
mod timeout;
mod timestamp;
mod trace;
mod usage;

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// For `payments sandbox`, whose threads allocate for every request and free what another one allocated: with the
/// allocator of glibc a payment takes half as long again.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    app::run(std::env::args_os().collect()).into()
}
