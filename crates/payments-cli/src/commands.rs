//! The commands, one file for each noun of the command line.

mod batch;
mod check;
mod completions;
mod customer;
mod demo;
mod journal;
mod sandbox;
mod token_transaction;
mod transaction;
mod void;

use crate::args::{
    Arguments, ClientOptions, Command, CustomerCommand, GlobalOptions, Payment, TokenTransactionCommand,
    TransactionCommand, VoidArguments,
};
use crate::batch_arguments::BatchCommand;
use crate::call;
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::journaled_call;
use crate::output::Output;
use crate::purpose::Purpose;
use crate::report::Report;

/// Runs the command to its end.
pub(crate) fn run(arguments: Arguments) -> ExitCode {
    let Arguments { global, command } = arguments;
    match command {
        Command::Demo => demo::run(&global),
        Command::Sandbox(sandbox) => sandbox::run(&global, sandbox),
        Command::Transaction(TransactionCommand::Create(Payment { request, intent })) => {
            journaled_call::run(global, intent, move || transaction::payment(&request))
        }
        Command::Transaction(TransactionCommand::Get(id)) => {
            call::run(global, move || transaction::look_up(&id))
        }
        Command::TokenTransaction(TokenTransactionCommand::Create(Payment { request, intent })) => {
            journaled_call::run(global, intent, move || token_transaction::payment(&request))
        }
        Command::Void(VoidArguments { id, reason, intent }) => {
            journaled_call::run(global, intent, move || void::void(id, reason))
        }
        Command::Batch(BatchCommand::Run(batch)) => batch::run(global, batch),
        Command::Journal(arguments) => journal::run(global, arguments),
        Command::Customer(CustomerCommand::Get(id)) => call::run(global, move || customer::look_up(&id)),
        Command::Check => check::run(global),
        Command::Completions(shell) => completions::run(&global, &shell),
    }
}

/// The settings of client commands, refused where they would be ignored: whoever gives them means a real service.
fn refuse_client_settings(options: &GlobalOptions) -> Option<ExitCode> {
    refuse_settings(options, "talks to no service but its own sandbox", Purpose::MoveMoney)
}

fn refuse_settings(options: &GlobalOptions, because: &str, purpose: Purpose) -> Option<ExitCode> {
    let ClientOptions { base_url, api_key_file, timeout, ca_cert, proxy, profile, dry_run, verbose } =
        &options.client;
    let given = [
        ("--base-url", base_url.is_some()),
        ("--api-key-file", api_key_file.is_some()),
        ("--timeout", timeout.is_some()),
        ("--ca-cert", ca_cert.is_some()),
        ("--proxy", proxy.is_some()),
        ("--profile", profile.is_some()),
        ("--dry-run", *dry_run),
        ("--verbose", *verbose),
    ];
    let (name, _) = given.into_iter().find(|(_, is_given)| *is_given)?;
    let nothing_done = purpose.nothing_done();
    let message = format!("this command {because} and takes no {name}; {nothing_done}");
    let failure = Failure::invalid("usage", message).of_a(purpose);
    Some(Output::choose(options.output).write(&Report::from(failure)))
}
