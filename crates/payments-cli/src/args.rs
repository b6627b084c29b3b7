//! The command line as clap reads it. Nothing here is a secret, but for the key of one's own sandbox.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use payments_fake::FakeGateway;

use crate::help;

/// Pays, voids and looks up through the payment service, and always says whether the money can have moved.
///
/// Start with `payments demo`: it needs no account and no network.
#[derive(Parser)]
#[command(name = "payments", version, after_long_help = help::CLIENT)]
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

    /// Shape of the result [default: text on a terminal, json otherwise]
    #[arg(long, global = true, value_name = "SHAPE")]
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
        help = "Base address of the service [env: PAYMENTS_BASE_URL]",
        long_help = "Base address of the service, path prefix included, such as \
                     https://pay.example.com/api/v1/public [env: PAYMENTS_BASE_URL]\n\n\
                     Plain http is taken for a loopback address or localhost alone."
    )]
    pub(crate) base_url: Option<String>,

    #[arg(
        long,
        global = true,
        value_name = "FILE",
        help = "File with the API key [env: PAYMENTS_API_KEY (the key itself), PAYMENTS_API_KEY_FILE]",
        long_help = "File with the API key; one newline at its end is ignored\n\n\
                     It wins over PAYMENTS_API_KEY, which holds the key itself and wins over PAYMENTS_API_KEY_FILE."
    )]
    pub(crate) api_key_file: Option<PathBuf>,

    /// Deadline of the whole call in seconds, decimals allowed [default: 60]
    ///
    /// A charge whose answer comes too late has an unknown outcome, so a short deadline makes more of those.
    #[arg(long, global = true, value_name = "SECONDS", value_parser = timeout)]
    pub(crate) timeout: Option<Duration>,

    /// PEM file with a certificate authority to trust as well
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) ca_cert: Option<PathBuf>,
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
    #[command(after_long_help = help::DEMO)]
    Demo,

    /// Serve the payment service on this machine until SIGINT or SIGTERM
    #[command(after_long_help = help::SANDBOX)]
    Sandbox(SandboxArguments),

    /// Pay by card or ACH, or look a transaction up
    #[command(subcommand, after_long_help = help::CLIENT)]
    Transaction(TransactionCommand),

    /// Pay with a stored token
    #[command(subcommand, after_long_help = help::CLIENT)]
    TokenTransaction(TokenTransactionCommand),

    /// Void a previously authorised transaction
    #[command(after_long_help = help::CLIENT)]
    Void(VoidArguments),

    /// Look a customer up
    #[command(subcommand, after_long_help = help::CLIENT)]
    Customer(CustomerCommand),
}

#[derive(Args)]
pub(crate) struct SandboxArguments {
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,

    /// The key to accept; it opens nothing but this sandbox
    #[arg(long, value_name = "KEY", default_value = FakeGateway::API_KEY)]
    pub(crate) api_key: String,
}

#[derive(Subcommand)]
pub(crate) enum TransactionCommand {
    /// Process a card or ACH payment (POST /transaction)
    ///
    /// The file is a JSON object with the interface's field names; `SuggestedMode` decides between card and ACH.
    #[command(after_long_help = help::CLIENT)]
    Create(RequestFile),

    /// Look one transaction up (GET /transaction/{id})
    #[command(after_long_help = help::CLIENT)]
    Get(Id),
}

#[derive(Subcommand)]
pub(crate) enum TokenTransactionCommand {
    /// Process a payment with a stored token (POST /token-transaction)
    ///
    /// The file is a JSON object with the interface's field names.
    #[command(after_long_help = help::CLIENT)]
    Create(RequestFile),
}

#[derive(Subcommand)]
pub(crate) enum CustomerCommand {
    /// Look one customer up (GET /customer/{id})
    #[command(after_long_help = help::CLIENT)]
    Get(Id),
}

#[derive(Args)]
pub(crate) struct RequestFile {
    /// File with the request as JSON, or - for stdin; at most 64 KiB
    #[arg(long, value_name = "FILE")]
    pub(crate) file: PathBuf,
}

#[derive(Args)]
pub(crate) struct Id {
    /// The record's id
    #[arg(value_name = "ID")]
    pub(crate) id: String,
}

#[derive(Args)]
pub(crate) struct VoidArguments {
    /// `TransactionId` of the authorisation to void
    #[arg(value_name = "ID")]
    pub(crate) id: String,

    /// Why, as free text for the service's records
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
}

/// No charge is worth waiting for longer, and a larger number is nearly always milliseconds by mistake.
const LONGEST_TIMEOUT: Duration = Duration::from_hours(24);

fn timeout(text: &str) -> Result<Duration, &'static str> {
    const RULE: &str = "must be a number of seconds above 0 and at most 86400, such as 30 or 2.5";
    let seconds: f64 = text.parse().map_err(|_| RULE)?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(timeout) if !timeout.is_zero() && timeout <= LONGEST_TIMEOUT => Ok(timeout),
        _ => Err(RULE),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn a_timeout_is_a_positive_number_of_seconds_within_a_day() {
        assert_eq!(timeout("30"), Ok(Duration::from_secs(30)));
        assert_eq!(timeout("0.25"), Ok(Duration::from_millis(250)));
        assert_eq!(timeout("86400"), Ok(LONGEST_TIMEOUT));
        for bad in ["", "0", "-1", "0.0000000000001", "86400.1", "1e300", "inf", "NaN", "30s", "1,5"] {
            assert!(timeout(bad).is_err(), "{bad}");
        }
    }
}
