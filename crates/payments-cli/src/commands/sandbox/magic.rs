use std::io::{self, IsTerminal as _, Write as _};

use payments_fake::test_values::TEST_VALUES;

use crate::args::OutputShape;
use crate::exit_code::ExitCode;

/// The table of test values: lines for people, JSON for programs.
pub(super) fn print(asked_for: Option<OutputShape>) -> ExitCode {
    let default = if io::stdout().is_terminal() { OutputShape::Text } else { OutputShape::Json };
    let printed = match asked_for.unwrap_or(default) {
        OutputShape::Json => payments_sandbox::magic_json(),
        OutputShape::Text => table(),
    };
    let mut stdout = io::stdout().lock();
    match writeln!(stdout, "{printed}").and_then(|()| stdout.flush()) {
        Ok(()) => ExitCode::Processed,
        Err(_) => ExitCode::Other,
    }
}

fn table() -> String {
    let rows = TEST_VALUES.iter().map(|row| (row.field.as_str(), row.value, row.result));
    let rows: Vec<_> = [("field", "value", "result")]
        .into_iter()
        .chain(rows)
        .map(|(field, value, result)| format!("{field:17}  {value:27}  {result}"))
        .collect();
    rows.join("\n")
}
