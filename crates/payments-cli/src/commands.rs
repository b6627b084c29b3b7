//! The commands, one file or folder for each.

mod batch;
mod check;
mod demo;
mod journal;
mod operations;
mod sandbox;

use clap::CommandFactory as _;
use clap_complete::Shell;
use payments_model::{CustomerId, TokenTransaction, TransactionId, TransactionRequest};

use crate::args::batch::BatchCommand;
use crate::args::{
    Arguments, Command, CustomerCommand, GlobalOptions, Payment, TokenTransactionCommand, TransactionCommand,
    VoidArguments,
};
use crate::call::{self, journaled};
use crate::help::help;
use crate::output::{self, Output};
use crate::report::ExitCode;
use crate::settings::{PrintedCommands, warning_of_proxy};
use crate::{files, stderr};

/// Runs the command to its end.
pub(crate) fn run(arguments: Arguments) -> ExitCode {
    let Arguments { global: GlobalOptions { client: options, output: requested }, command } = arguments;
    let output = &Output::choose(requested, PrintedCommands::repeating(&options));
    if let Some(warning) = warning_of_proxy(&options) {
        stderr::warn(&warning);
    }
    match command {
        Command::Demo => demo::run(requested, output),
        Command::Sandbox(sandbox) => sandbox::run(output, sandbox),
        Command::Transaction(TransactionCommand::Create(Payment { file, intent })) => {
            journaled::run(options, output, &intent, move || {
                files::request(&file, TransactionRequest::from_json)
            })
        }
        Command::Transaction(TransactionCommand::Get { id }) => {
            call::run(options, output, move || Ok(TransactionId::new(id)?))
        }
        Command::TokenTransaction(TokenTransactionCommand::Create(Payment { file, intent })) => {
            journaled::run(options, output, &intent, move || {
                files::request(&file, TokenTransaction::from_json)
            })
        }
        Command::Void(VoidArguments { id, reason, intent }) => {
            // The journal keeps the id.
            let may_be_like_a_card = intent.key.is_none() || intent.ids_are_not_cards;
            journaled::run(options, output, &intent, move || operations::void(id, reason, may_be_like_a_card))
        }
        Command::Batch(BatchCommand::Run(batch)) => batch::run(options, output, batch),
        Command::Journal(arguments) => journal::run(options, output, arguments),
        Command::Customer(CustomerCommand::Get { id }) => {
            call::run(options, output, move || Ok(CustomerId::new(id)?))
        }
        Command::Check => check::run(options, output),
        Command::Completions { shell } => completions(shell),
        Command::Settings => output::print_document(&format!("{}\n", help!("settings"))),
    }
}

/// Prints a shell completion script.
fn completions(shell: Shell) -> ExitCode {
    // Into memory first: the generator panics if a pipe is closed early.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "payments", &mut script);
    output::print_document(&String::from_utf8_lossy(&script))
}
