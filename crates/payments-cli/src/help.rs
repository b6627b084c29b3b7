//! Long texts of `--help`: files of text, in lines for a terminal of 80 columns.

use clap::{Arg, Args as _, Command};
use payments_fake::test_values::{self, TEST_VALUES};

use crate::args::ClientOptions;

/// A text of the folder `help`.
macro_rules! help {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/help/", $name, ".txt")).trim_ascii_end()
    };
}
pub(crate) use help;

/// The help of the command itself. The options of calls are in the help of the commands that take them.
pub(crate) const TEMPLATE: &str = "\
{about-with-newline}
{usage-heading} {usage}

Commands:
{subcommands}{after-help}";

/// The end of a command's help: its exit codes and an example.
pub(crate) fn end(codes: &str, example: &str) -> String {
    format!("{codes}\n\nExample:\n  {example}")
}

/// The test values come from the sandbox's own table.
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

/// The options of a command that takes them only to refuse them, so its help must not offer them.
pub(crate) fn hidden_client_options() -> Vec<Arg> {
    let options = ClientOptions::augment_args(Command::new("payments"));
    options.get_arguments().map(|option| option.clone().hide(true)).collect()
}

/// The same of a command that keeps the journal, which says with `--verbose` which one that is.
pub(crate) fn hidden_settings() -> Vec<Arg> {
    let mut options = hidden_client_options();
    options.retain(|option| option.get_id() != "verbose");
    options
}

/// `--dry-run` of a command that looks up and does not take it.
pub(crate) fn hidden_dry_run() -> Arg {
    dry_run().hide(true)
}

/// What the option means where there are many requests.
pub(crate) fn dry_run_of_a_batch() -> Arg {
    dry_run().help("Check and count every row, and send nothing")
}

fn dry_run() -> Arg {
    let options = ClientOptions::augment_args(Command::new("payments"));
    let option = options.get_arguments().find(|option| option.get_id() == "dry_run");
    option.expect("it is an option of every command").clone()
}
