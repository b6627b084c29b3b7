//! The long help texts, in files of at most 80 columns.

use clap::{Arg, Args as _, Command};
use payments_fake::test_values::{self, TEST_VALUES};

use crate::args::ClientOptions;

/// A text from the folder `help`.
macro_rules! help {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/help/", $name, ".txt")).trim_ascii_end()
    };
}
pub(crate) use help;

/// The help of `payments` itself, without the global options. Each command's help lists those that it takes.
pub(crate) const TEMPLATE: &str = "\
{about-with-newline}
{usage-heading} {usage}

Commands:
{subcommands}{after-help}";

/// The end of a command's help: exit codes and an example.
pub(crate) fn end(codes: &str, example: &str) -> String {
    format!("{codes}\n\nExample:\n  {example}")
}

/// The help of `payments sandbox`, with test values from the sandbox's own table.
pub(crate) fn sandbox() -> String {
    let is_main = |value| MAIN_TEST_VALUES.contains(&value);
    let rows: Vec<_> = TEST_VALUES
        .iter()
        .filter(|row| is_main(row.value))
        .map(|row| format!("  {:17}  {:17}  {}", row.field.as_str(), row.value, row.result))
        .collect();
    help!("sandbox").replace("{test values}", &rows.join("\n"))
}

const MAIN_TEST_VALUES: [&str; 8] = [
    test_values::VISA,
    test_values::DECLINED,
    test_values::INSUFFICIENT_FUNDS,
    test_values::TOK_APPROVED,
    test_values::TOK_DECLINED,
    test_values::TOK_THEN_DECLINED,
    test_values::INVALID_POSTAL_CODE,
    test_values::CUSTOMER,
];

/// Client options that a command accepts only to refuse them, hidden from its help.
pub(crate) fn hidden_client_options() -> Vec<Arg> {
    let options = ClientOptions::augment_args(Command::new("payments"));
    options.get_arguments().map(|option| option.clone().hide(true)).collect()
}

/// The same for commands of the journal, where `--verbose` shows which journal is used.
pub(crate) fn hidden_settings() -> Vec<Arg> {
    let mut options = hidden_client_options();
    options.retain(|option| option.get_id() != "verbose");
    options
}

/// `--dry-run` with the help of one command.
pub(crate) fn dry_run(help: &'static str) -> Arg {
    let options = ClientOptions::augment_args(Command::new("payments"));
    let option = options.get_arguments().find(|option| option.get_id() == "dry_run");
    option.expect("it is an option of every command").clone().help(help)
}
