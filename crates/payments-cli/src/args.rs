//! The command line as clap reads it. Nothing here is a secret.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::batch_arguments::BatchCommand;
use crate::journal_arguments::{IntentOptions, JournalArguments};
use crate::sandbox_arguments::SandboxArguments;
use crate::{help, timeout};

/// Pays, voids and looks up through the payment service, and always says whether the money can have moved.
///
/// Start with `payments demo`: it needs no account and no network.
#[derive(Parser)]
#[command(name = "payments", version, after_long_help = help::SETTINGS)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: GlobalOptions,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What may stand before or after any command.
#[derive(Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct GlobalOptions {
    #[command(flatten)]
    pub(crate) client: ClientOptions,

    /// Shape of the result, json or text [default: text on a terminal, json otherwise]
    #[arg(long, global = true, value_name = "SHAPE", hide_possible_values = true)]
    pub(crate) output: Option<OutputShape>,
}

/// Settings of the commands that talk to a service; the others refuse them.
#[derive(Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct ClientOptions {
    // The help texts stand in strings where their words are no Markdown.
    #[arg(
        long,
        global = true,
        value_name = "URL",
        help = "Base address of the service [env: PAYMENTS_BASE_URL]"
    )]
    pub(crate) base_url: Option<String>,

    #[arg(
        long,
        global = true,
        value_name = "FILE",
        help = "File with the API key [env: PAYMENTS_API_KEY (the key itself), PAYMENTS_API_KEY_FILE]"
    )]
    pub(crate) api_key_file: Option<PathBuf>,

    /// Deadline of the whole call in seconds, decimals allowed [default: 60]
    // Negative numbers are taken, so that they are refused by the rule.
    #[arg(long, global = true, value_name = "SECONDS", value_parser = timeout::timeout, allow_negative_numbers = true)]
    pub(crate) timeout: Option<Duration>,

    /// PEM file with a certificate authority to trust as well
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) ca_cert: Option<PathBuf>,

    #[arg(
        long,
        global = true,
        value_name = "URL",
        help = "Egress proxy as http://host:port; give a password in the variable [env: PAYMENTS_PROXY]"
    )]
    pub(crate) proxy: Option<String>,

    #[arg(
        long,
        global = true,
        value_name = "NAME",
        help = "Profile with what is set by neither option nor variable [env: PAYMENTS_PROFILE]"
    )]
    pub(crate) profile: Option<String>,

    /// Show the request, redacted, and send nothing
    #[arg(long, global = true)]
    pub(crate) dry_run: bool,

    /// Tell on stderr where the settings came from and how each attempt went
    #[arg(long, global = true)]
    pub(crate) verbose: bool,
}

/// The two shapes of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputShape {
    /// One JSON document for programs
    Json,
    /// Lines for people
    Text,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Show everything at work against a sandbox of its own; no account, no network
    ///
    /// Starts a sandbox on a free loopback port, sends it every operation and every documented error over a real
    /// socket, loses one answer on purpose, and compares what the client believed with the sandbox's own ledger.
    #[command(after_long_help = help::DEMO_CODES, args = help::hidden_client_options())]
    Demo,

    /// Serve the payment service on this machine until SIGINT or SIGTERM
    #[command(
        long_about = help::sandbox(),
        after_long_help = help::SANDBOX_CODES,
        args = help::hidden_client_options()
    )]
    Sandbox(SandboxArguments),

    /// Pay by card or ACH, or look a transaction up
    #[command(subcommand)]
    Transaction(TransactionCommand),

    /// Pay with a stored token
    #[command(subcommand)]
    TokenTransaction(TokenTransactionCommand),

    /// Void a previously authorised transaction
    #[command(long_about = help::VOID, after_long_help = help::CHARGE_CODES)]
    Void(VoidArguments),

    /// Charge a whole file of stored tokens
    #[command(subcommand)]
    Batch(BatchCommand),

    /// Look into the journal of what was sent with --key, and resolve what is unknown
    #[command(long_about = help::journal::JOURNAL)]
    Journal(JournalArguments),

    /// Look a customer up
    #[command(subcommand)]
    Customer(CustomerCommand),

    /// Check address, TLS and key without moving money
    #[command(long_about = help::CHECK, after_long_help = help::CHECK_CODES)]
    Check,

    /// Print the completions for a shell
    #[command(
        long_about = help::COMPLETIONS,
        after_long_help = help::COMPLETIONS_CODES,
        args = help::hidden_client_options()
    )]
    Completions(ShellToComplete),
}

#[derive(Subcommand)]
pub(crate) enum TransactionCommand {
    /// Process a card or ACH payment (POST /transaction)
    #[command(long_about = help::TRANSACTION_CREATE, after_long_help = help::CHARGE_CODES)]
    Create(Payment),

    /// Look one transaction up (GET /transaction/{id})
    #[command(long_about = help::TRANSACTION_GET, after_long_help = help::LOOK_UP_CODES)]
    Get(TransactionToFind),
}

#[derive(Subcommand)]
pub(crate) enum TokenTransactionCommand {
    /// Process a payment with a stored token (POST /token-transaction)
    #[command(long_about = help::TOKEN_TRANSACTION_CREATE, after_long_help = help::CHARGE_CODES)]
    Create(Payment),
}

#[derive(Subcommand)]
pub(crate) enum CustomerCommand {
    /// Look one customer up (GET /customer/{id})
    #[command(long_about = help::CUSTOMER_GET, after_long_help = help::LOOK_UP_CODES)]
    Get(CustomerToFind),
}

#[derive(Args)]
pub(crate) struct Payment {
    #[command(flatten)]
    pub(crate) request: RequestFile,

    #[command(flatten)]
    pub(crate) intent: IntentOptions,
}

#[derive(Args)]
pub(crate) struct RequestFile {
    /// File with the request as JSON, or - for stdin; at most 64 KiB
    #[arg(long, value_name = "FILE")]
    pub(crate) file: PathBuf,
}

#[derive(Args)]
pub(crate) struct TransactionToFind {
    #[arg(value_name = "ID", help = "TransactionId of the transaction")]
    pub(crate) id: String,
}

#[derive(Args)]
pub(crate) struct CustomerToFind {
    #[arg(value_name = "ID", help = "CustomerId of the customer")]
    pub(crate) id: String,
}

#[derive(Args)]
pub(crate) struct ShellToComplete {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: Shell,
}

#[derive(Args)]
pub(crate) struct VoidArguments {
    #[arg(value_name = "ID", help = "TransactionId of the authorisation to void")]
    pub(crate) id: String,

    /// Why, as free text for the service's records
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
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }
}
