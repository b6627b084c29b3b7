//! The long help texts, in files of at most 80 columns.

use payments_fake::test_values::{self, TEST_VALUES};

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
