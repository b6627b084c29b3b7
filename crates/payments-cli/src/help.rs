//! The long help texts, in files of at most 80 columns.

use clap::Command;
use clap::builder::Resettable;
use payments_fake::test_values::{self, TEST_VALUES};

use crate::wrap::{column_of_text, wrapped};

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

/// The columns of the files, and of every wider terminal.
pub(crate) const COLUMNS: usize = 80;

/// The command with texts that fit a terminal of this width. clap would break each line of a file in two, and forget its
/// indentation.
pub(crate) fn fitted(command: Command, columns: usize) -> Command {
    if columns >= COLUMNS {
        return command;
    }
    let [about, after, after_long] =
        [command.get_long_about(), command.get_after_help(), command.get_after_long_help()]
            .map(|text| Resettable::from(text.map(|text| refilled(&text.to_string(), columns).into())));
    let command = command.long_about(about).after_help(after).after_long_help(after_long);
    command.mut_subcommands(|command| fitted(command, columns))
}

/// Joins the lines that a file breaks, and breaks them for this width.
fn refilled(text: &str, columns: usize) -> String {
    let mut whole: Vec<String> = Vec::new();
    let mut before = 0;
    for line in text.lines() {
        let word = line.split_whitespace().next().map_or(0, |word| word.chars().count());
        // Its first word did not fit on the line before.
        let is_broken = (1..20).contains(&word) && before + 1 + word > COLUMNS;
        match whole.last_mut() {
            Some(start) if is_broken && indent(line) == column_of_text(start, COLUMNS) => {
                *start += " ";
                *start += line.trim_start();
            }
            _ => whole.push(line.to_owned()),
        }
        before = line.chars().count();
    }
    wrapped(&whole.join("\n"), Some(columns))
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_help_keeps_paragraphs_tables_and_examples() {
        let text = "\
The lookup is the only request that is sent. With --output json, the member
`data` has the settings and the steps, even after a failure.

Key,TokenId,Amount
invoice-1843,tok_approved,45.00,false,invoice-1843
  payments check

Exit codes:
  0  done
  5  OUTCOME UNKNOWN: it may have been processed; do not run it again: look it
     up if its id is known, else reconcile by what the message names
  6  rejected";
        let narrow = "\
The lookup is the only request that is sent. With
--output json, the member `data` has the settings
and the steps, even after a failure.

Key,TokenId,Amount
invoice-1843,tok_approved,45.00,false,invoice-1843
  payments check

Exit codes:
  0  done
  5  OUTCOME UNKNOWN: it may have been processed;
     do not run it again: look it up if its id is
     known, else reconcile by what the message
     names
  6  rejected";
        assert_eq!(refilled(text, 50), narrow);
    }
}
