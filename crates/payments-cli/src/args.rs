//! The command line. No argument is a secret.

#![allow(clippy::doc_markdown, reason = "clap prints these comments as they are")]

pub(crate) mod batch;
mod global;
pub(crate) mod journal;
pub(crate) mod sandbox;

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, CommandFactory as _, Error, FromArgMatches as _, Parser, Subcommand};
use clap_complete::Shell;

use self::batch::BatchCommand;
use self::global::hidden_but;
pub(crate) use self::global::{ClientOptions, GlobalOptions, OutputShape, TypedOption, timeout};
use self::journal::{IntentOptions, JournalArguments};
use self::sandbox::SandboxArguments;
use crate::help::{self, end, help};

/// Pay, void and look up with the payment service, and always know whether the money can have moved.
///
/// Start with `payments demo`: it needs no account and no network.
#[derive(Parser)]
#[command(name = "payments", version, help_template = help::TEMPLATE, after_help = help!("payments"))]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: GlobalOptions,

    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Arguments {
    /// Reads the command line. An option that the help of the command hides is one that it does not take.
    pub(crate) fn read(arguments: &[OsString]) -> Result<Self, Error> {
        let columns = terminal_size::terminal_size().map_or(usize::MAX, |(width, _)| width.0.into());
        let mut command = help::fitted(Self::command(), columns);
        let all = command.try_get_matches_from_mut(arguments)?;
        let (mut reached, mut matches) = (&command, &all);
        while let Some((name, next)) = matches.subcommand() {
            (reached, matches) = (reached.find_subcommand(name).expect("it was matched"), next);
        }
        let is_given = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
        let unused = reached.get_arguments().find(|it| it.is_hide_set() && is_given(it.get_id().as_str()));
        if let Some(name) = unused.and_then(clap::Arg::get_long) {
            let mut error = Error::new(ErrorKind::UnknownArgument);
            error.insert(ContextKind::InvalidArg, ContextValue::String(format!("--{name}")));
            return Err(error);
        }
        let typed = typed_options(reached, matches);
        let mut arguments = Self::from_arg_matches(&all)?;
        arguments.global.client.typed = typed;
        Ok(arguments)
    }
}

/// Each option of the command line, as typed.
fn typed_options(reached: &clap::Command, matches: &ArgMatches) -> Vec<TypedOption> {
    let typed = matches.ids().filter_map(|id| {
        let option = reached.get_arguments().find(|option| option.get_id() == id)?;
        let name = option.get_long()?.to_owned();
        let is_typed = matches.value_source(id.as_str()) == Some(ValueSource::CommandLine);
        let values = matches.get_raw(id.as_str()).filter(|_| option.get_action().takes_values());
        let value = values.map(|values| values.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(","));
        is_typed.then_some(TypedOption { name, value })
    });
    typed.collect()
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Show everything in action against a local sandbox; no account, no network
    #[command(long_about = help!("demo"), after_long_help = end(help!("demo_codes"), "payments demo"), args = hidden_but(&[]))]
    Demo,

    /// Run the payment service on this machine until SIGINT or SIGTERM
    #[command(
        long_about = help::sandbox(),
        after_long_help = end(help!("sandbox_codes"), "payments sandbox --listen 127.0.0.1:8437 --data state.json"),
        args = hidden_but(&[])
    )]
    Sandbox(SandboxArguments),

    /// Pay by card or ACH, or look up a transaction
    #[command(subcommand, after_long_help = "Example:\n  payments transaction get txn_1")]
    Transaction(TransactionCommand),

    /// Pay with a stored token
    #[command(subcommand, after_long_help = "Example:\n  payments token-transaction create --file sale.json")]
    TokenTransaction(TokenTransactionCommand),

    /// Void an authorization
    #[command(long_about = help!("void"), after_long_help = end(help!("charge_codes"), "payments void txn_1 --reason \"ordered twice\""))]
    Void(VoidArguments),

    /// Charge a whole file of stored tokens
    #[command(
        subcommand,
        after_long_help = "Example:\n  payments batch run invoices.csv --journal billing.db"
    )]
    Batch(BatchCommand),

    /// Inspect the journal of payments sent with --key, and resolve unknown outcomes
    #[command(long_about = help!("journal"), after_long_help = "Example:\n  payments journal list --unresolved")]
    Journal(JournalArguments),

    /// Look up a customer
    #[command(subcommand, after_long_help = "Example:\n  payments customer get cus_1")]
    Customer(CustomerCommand),

    /// Check address, TLS and key without moving money
    #[command(long_about = help!("check"), after_long_help = end(help!("check_codes"), "payments check --base-url https://pay.example.com/api/v1/public"))]
    Check,

    /// Print a shell completion script
    #[command(
        long_about = help!("completions"),
        after_long_help = end(help!("completions_codes"), "payments completions bash"),
        args = hidden_but(&[])
    )]
    Completions {
        /// The shell
        #[arg(value_name = "SHELL")]
        shell: Shell,
    },

    /// Explain options, settings and JSON
    #[command(hide = true, long_about = help!("settings"), help_template = "{about}", args = hidden_but(&[]))]
    Settings,
}

#[derive(Subcommand)]
pub(crate) enum TransactionCommand {
    /// Process a card or ACH payment (POST /transaction)
    #[command(long_about = help!("transaction_create"), after_long_help = end(help!("charge_codes"), "payments transaction create --file sale.json \\\n      --journal billing.db --key invoice-17"))]
    Create(Payment),

    /// Look up a transaction (GET /transaction/{id})
    #[command(long_about = help!("transaction_get"), after_long_help = end(help!("look_up_codes"), "payments transaction get txn_1"))]
    Get {
        /// TransactionId of the transaction
        #[arg(value_name = "ID")]
        id: String,
    },
}

#[derive(Subcommand)]
pub(crate) enum TokenTransactionCommand {
    /// Process a payment with a stored token (POST /token-transaction)
    #[command(long_about = help!("token_transaction_create"), after_long_help = end(help!("charge_codes"), "payments token-transaction create --file sale.json \\\n      --journal billing.db --key invoice-17"))]
    Create(Payment),
}

#[derive(Subcommand)]
pub(crate) enum CustomerCommand {
    /// Look up a customer (GET /customer/{id})
    #[command(long_about = help!("customer_get"), after_long_help = end(help!("look_up_codes"), "payments customer get cus_1"))]
    Get {
        /// CustomerId of the customer
        #[arg(value_name = "ID")]
        id: String,
    },
}

#[derive(Args)]
pub(crate) struct Payment {
    /// File with the request as JSON, or - for stdin; at most 64 KiB
    #[arg(long, value_name = "FILE")]
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) intent: IntentOptions,
}

#[derive(Args)]
pub(crate) struct VoidArguments {
    /// TransactionId of the authorization to void
    #[arg(value_name = "ID")]
    pub(crate) id: String,

    /// Reason, as free text for the service's records
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,

    #[command(flatten)]
    pub(crate) intent: IntentOptions,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn help_texts_fit_the_columns_of_their_files() {
        fn check(command: &clap::Command) -> usize {
            let after = [command.get_after_help(), command.get_after_long_help()];
            let texts = command.get_subcommands().map(clap::Command::get_long_about).chain(after);
            let texts: Vec<_> = texts.flatten().map(ToString::to_string).collect();
            for line in texts.iter().flat_map(|text| text.lines()) {
                assert!(line.chars().count() <= help::COLUMNS, "{}: {line}", command.get_name());
            }
            texts.len() + command.get_subcommands().map(check).sum::<usize>()
        }
        assert!(check(&Arguments::command()) > 30);
    }
}
