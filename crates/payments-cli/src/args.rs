//! The command line. No argument is a secret.

pub(crate) mod batch;
pub(crate) mod journal;
pub(crate) mod reconcile;
pub(crate) mod sandbox;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use self::batch::BatchCommand;
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

/// Options that are allowed before or after any command.
#[derive(Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct GlobalOptions {
    #[command(flatten)]
    pub(crate) client: ClientOptions,

    /// Format of the result, json or text [default: text on a terminal, json otherwise]
    #[arg(long, global = true, value_name = "SHAPE", hide_possible_values = true)]
    pub(crate) output: Option<OutputShape>,
}

/// Settings of the commands that talk to a service; the others refuse them.
#[derive(Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct ClientOptions {
    // A help text that is not valid Markdown is a string and not a doc comment.
    #[arg(
        long,
        global = true,
        value_name = "URL",
        help = "Base URL of the service [env: PAYMENTS_BASE_URL]"
    )]
    pub(crate) base_url: Option<String>,

    #[arg(
        long,
        global = true,
        value_name = "FILE",
        help = "File with the API key [env: PAYMENTS_API_KEY (the key itself), PAYMENTS_API_KEY_FILE]"
    )]
    pub(crate) api_key_file: Option<PathBuf>,

    #[arg(
        long,
        global = true,
        value_name = "LABEL",
        help = "Your name for the merchant that the key is of, if the journal has several [env: PAYMENTS_MERCHANT]"
    )]
    pub(crate) merchant: Option<String>,

    // Negative numbers are accepted here so that `timeout` refuses them with its own message.
    #[arg(
        long,
        global = true,
        value_name = "SECONDS",
        value_parser = timeout,
        allow_negative_numbers = true,
        help = "Deadline of the whole call in seconds, decimals allowed [env: PAYMENTS_TIMEOUT] [default: 60]"
    )]
    pub(crate) timeout: Option<Duration>,

    #[arg(
        long,
        global = true,
        value_name = "FILE",
        help = "PEM file with an additional certificate authority to trust [env: PAYMENTS_CA_CERT]"
    )]
    pub(crate) ca_cert: Option<PathBuf>,

    #[arg(
        long,
        global = true,
        value_name = "URL",
        help = "Egress proxy as http://host:port; set one with a password in the variable [env: PAYMENTS_PROXY]"
    )]
    pub(crate) proxy: Option<String>,

    /// Show the request, redacted, and send nothing
    #[arg(long, global = true)]
    pub(crate) dry_run: bool,

    /// Write to stderr where each setting came from and how each attempt went
    #[arg(long, global = true)]
    pub(crate) verbose: bool,
}

/// The two formats of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputShape {
    /// One JSON document for programs
    Json,
    /// Lines for people
    Text,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Show everything in action against a local sandbox; no account, no network
    ///
    /// Starts a sandbox on a free loopback port, sends it every operation and every documented error over a real
    /// socket, loses one response on purpose, and compares the client's results with the sandbox's own ledger.
    #[command(after_long_help = end(help!("demo_codes"), "payments demo"), args = help::hidden_client_options())]
    Demo,

    /// Run the payment service on this machine until SIGINT or SIGTERM
    #[command(
        long_about = help::sandbox(),
        after_long_help = end(help!("sandbox_codes"), "payments sandbox --listen 127.0.0.1:8437 --data state.json"),
        args = help::hidden_client_options()
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
        args = help::hidden_client_options()
    )]
    Completions {
        /// The shell
        #[arg(value_name = "SHELL")]
        shell: Shell,
    },

    /// Explain options, settings and JSON
    #[command(hide = true, long_about = help!("settings"), help_template = "{about}", args = help::hidden_client_options())]
    Settings,
}

#[derive(Subcommand)]
pub(crate) enum TransactionCommand {
    /// Process a card or ACH payment (POST /transaction)
    #[command(long_about = help!("transaction_create"), after_long_help = end(help!("charge_codes"), "payments transaction create --file sale.json --journal billing.db --key invoice-17"))]
    Create(Payment),

    /// Look up a transaction (GET /transaction/{id})
    #[command(long_about = help!("transaction_get"), after_long_help = end(help!("look_up_codes"), "payments transaction get txn_1"))]
    Get {
        #[arg(value_name = "ID", help = "TransactionId of the transaction")]
        id: String,
    },
}

#[derive(Subcommand)]
pub(crate) enum TokenTransactionCommand {
    /// Process a payment with a stored token (POST /token-transaction)
    #[command(long_about = help!("token_transaction_create"), after_long_help = end(help!("charge_codes"), "payments token-transaction create --file sale.json --journal billing.db --key invoice-17"))]
    Create(Payment),
}

#[derive(Subcommand)]
pub(crate) enum CustomerCommand {
    /// Look up a customer (GET /customer/{id})
    #[command(long_about = help!("customer_get"), after_long_help = end(help!("look_up_codes"), "payments customer get cus_1"))]
    Get {
        #[arg(value_name = "ID", help = "CustomerId of the customer")]
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
    #[arg(value_name = "ID", help = "TransactionId of the authorization to void")]
    pub(crate) id: String,

    /// Reason, as free text for the service's records
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,

    #[command(flatten)]
    pub(crate) intent: IntentOptions,
}

/// Chosen by this command: no charge is worth a longer wait, and a larger number is nearly always milliseconds by mistake.
const LONGEST_TIMEOUT: Duration = Duration::from_hours(24);

/// Seconds with or without decimals. The error is the rule that the text breaks.
pub(crate) fn timeout(text: &str) -> Result<Duration, &'static str> {
    const RULE: &str = "must be a number of seconds above 0 and at most 86400, such as 30 or 2.5";
    up_to_a_day(text).filter(|timeout| !timeout.is_zero()).ok_or(RULE)
}

fn up_to_a_day(text: &str) -> Option<Duration> {
    let duration = Duration::try_from_secs_f64(text.parse().ok()?).ok()?;
    (duration <= LONGEST_TIMEOUT).then_some(duration)
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
    fn timeout_is_positive_and_at_most_a_day() {
        assert_eq!(timeout("30"), Ok(Duration::from_secs(30)));
        assert_eq!(timeout("0.25"), Ok(Duration::from_millis(250)));
        assert_eq!(timeout("86400"), Ok(LONGEST_TIMEOUT));
        for bad in ["", "0", "-1", "0.0000000000001", "86400.1", "1e300", "inf", "NaN", "30s", "1,5"] {
            assert!(timeout(bad).is_err(), "{bad}");
        }
    }
}
