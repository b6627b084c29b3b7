//! The arguments of `payments sandbox`. None is a secret: its keys open only the sandbox.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use payments_fake::{DeclineShape, FakeGateway, UnlistedCards};

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct SandboxArguments {
    #[command(subcommand)]
    pub(crate) show: Option<SandboxCommand>,

    #[command(flatten)]
    pub(crate) serve: ServeArguments,
}

#[derive(Subcommand)]
pub(crate) enum SandboxCommand {
    /// Print the table of test values: which card, token or postal code does what
    Magic,
    /// Print the OpenAPI document of the service
    Openapi,
}

#[derive(Args)]
pub(crate) struct ServeArguments {
    /// Where to listen; port 0 picks a free port
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:0", value_parser = address)]
    pub(crate) listen: SocketAddr,

    /// Separate address for the admin interface [default: the service's]
    #[arg(long, value_name = "ADDR:PORT", value_parser = address)]
    pub(crate) admin_listen: Option<SocketAddr>,

    /// A key to accept; keys joined by commas share a ledger, a repeated option has another
    #[arg(long = "api-key", value_name = "KEY", default_value = FakeGateway::API_KEY)]
    pub(crate) api_keys: Vec<String>,

    /// File to load the state from, and to save it in at the end and on request; kill -9 saves nothing
    #[arg(long, value_name = "FILE")]
    pub(crate) data: Option<PathBuf>,

    /// JSON file of customers, tokens, transactions and faults to start with
    #[arg(long, value_name = "FILE")]
    pub(crate) fixtures: Option<PathBuf>,

    /// Serve over https, with a generated certificate
    #[arg(long)]
    pub(crate) tls: bool,

    /// File to write the certificate authority that clients must trust to, as PEM
    #[arg(long, value_name = "FILE", requires = "tls")]
    pub(crate) tls_ca_out: Option<PathBuf>,

    /// Another name for the generated certificate, such as a container's; repeat it for more
    #[arg(long = "tls-name", value_name = "NAME", requires = "tls")]
    pub(crate) tls_names: Vec<String>,

    /// Seed for identifiers: the same seed gives the same identifiers, and new ones after a reset
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    /// Response to a declined payment: ok-failed, ok-error, bad-request or payment-required
    #[arg(long, value_name = "SHAPE", default_value_t = DeclineShape::default())]
    pub(crate) decline_shape: DeclineShape,

    /// What happens to a card number outside the test values
    #[arg(long, value_name = "WHAT", default_value = "approve", value_parser = unlisted_cards())]
    pub(crate) unlisted_cards: UnlistedCards,

    /// Ignore fields that the interface does not have, instead of refusing them with HTTP 400
    #[arg(long)]
    pub(crate) allow_unknown_fields: bool,

    /// Ignore the header Sandbox-Fault of requests
    #[arg(long)]
    pub(crate) no_control_headers: bool,

    /// Log each request to stderr: off, text, pretty or json [default: text on a terminal, off otherwise]
    #[arg(long, value_name = "SHAPE", hide_possible_values = true)]
    pub(crate) log: Option<LogShape>,
}

/// The error is the rule that the text breaks.
fn address(text: &str) -> Result<SocketAddr, &'static str> {
    text.parse().map_err(|_| "write ADDR:PORT, such as 127.0.0.1:8080")
}

fn unlisted_cards() -> impl TypedValueParser<Value = UnlistedCards> {
    let values = [
        PossibleValue::new("approve").help("It is approved; only its last four digits are kept"),
        PossibleValue::new("decline").help("It is declined"),
        PossibleValue::new("refuse")
            .help("It is refused with HTTP 400, so that no real card number can be used by mistake"),
    ];
    PossibleValuesParser::new(values).map(|chosen| match &*chosen {
        "approve" => UnlistedCards::Approved,
        "decline" => UnlistedCards::Declined,
        _ => UnlistedCards::Refused,
    })
}

/// How requests are logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogShape {
    /// Not at all
    Off,
    /// A line each, for people
    Text,
    /// A line each, aligned: what the service did, and what the client saw
    Pretty,
    /// A JSON object each, for programs
    Json,
}
