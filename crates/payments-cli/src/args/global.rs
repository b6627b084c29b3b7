//! The options of every command.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Arg, Args, Command, ValueEnum};

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
#[derive(Args, Default)]
#[command(next_help_heading = "Global options")]
pub(crate) struct ClientOptions {
    /// Base URL of the service [env: PAYMENTS_BASE_URL]
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) base_url: Option<String>,

    /// File with the API key [env: PAYMENTS_API_KEY (the key itself), PAYMENTS_API_KEY_FILE]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) api_key_file: Option<PathBuf>,

    /// Your name for the merchant that the key is of, if the journal has several [env: PAYMENTS_MERCHANT]
    #[arg(long, global = true, value_name = "LABEL")]
    pub(crate) merchant: Option<String>,

    // Negative numbers are accepted here so that `timeout` refuses them with its own message.
    /// Deadline of the whole call in seconds, decimals allowed [env: PAYMENTS_TIMEOUT] [default: 60]
    #[arg(long, global = true, value_name = "SECONDS", value_parser = timeout, allow_negative_numbers = true)]
    pub(crate) timeout: Option<Duration>,

    /// PEM file with an additional certificate authority to trust [env: PAYMENTS_CA_CERT]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) ca_cert: Option<PathBuf>,

    /// Egress proxy as http://host:port; set one with a password in the variable [env: PAYMENTS_PROXY]
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) proxy: Option<String>,

    /// Show the request, redacted, and send nothing
    #[arg(long, global = true)]
    pub(crate) dry_run: bool,

    /// Write to stderr where each setting came from and how each attempt went
    #[arg(long, global = true)]
    pub(crate) verbose: bool,

    /// Every option of the command line, for commands that messages print.
    #[arg(skip)]
    pub(crate) typed: Vec<TypedOption>,
}

/// An option, as typed.
pub(crate) struct TypedOption {
    pub(crate) name: String,
    /// Several values are joined by commas; `None` if it takes none.
    pub(crate) value: Option<String>,
}

/// The two formats of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputShape {
    /// One JSON document for programs
    Json,
    /// Lines for people
    Text,
}

/// The client options but these, hidden from the help of a command that does not take them. With `--verbose`, commands of the
/// journal show which one is used.
pub(crate) fn hidden_but(taken: &[&str]) -> Vec<Arg> {
    let options = ClientOptions::augment_args(Command::new("payments"));
    let hidden = options.get_arguments().filter(|option| !taken.contains(&option.get_id().as_str()));
    hidden.map(|option| option.clone().hide(true)).collect()
}

/// `--dry-run` with the help of one command.
pub(crate) fn dry_run(help: &'static str) -> Arg {
    let options = ClientOptions::augment_args(Command::new("payments"));
    let option = options.get_arguments().find(|option| option.get_id() == "dry_run");
    option.expect("it is an option of every command").clone().help(help)
}

/// Chosen by this command: no charge is worth a longer wait, and a larger number is nearly always milliseconds by mistake.
const LONGEST_TIMEOUT: Duration = Duration::from_hours(24);

/// Seconds with or without decimals. The error is the rule that the text breaks.
pub(crate) fn timeout(text: &str) -> Result<Duration, &'static str> {
    const RULE: &str = "must be a number of seconds above 0 and at most 86400, such as 30 or 2.5";
    up_to_a_day(text).filter(|timeout| !timeout.is_zero()).ok_or(RULE)
}

pub(super) fn up_to_a_day(text: &str) -> Option<Duration> {
    let duration = Duration::try_from_secs_f64(text.parse().ok()?).ok()?;
    (duration <= LONGEST_TIMEOUT).then_some(duration)
}

#[cfg(test)]
mod tests {
    use super::*;

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
