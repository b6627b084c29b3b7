//! Where a report goes: stdout and stderr, in one of two shapes.

use std::io::{self, IsTerminal as _, Write};

use crate::args::OutputShape;
use crate::escape;
use crate::exit_code::ExitCode;
use crate::processed::Effect;
use crate::report::Report;
use crate::style::Style;
use crate::text;

/// How this process shows its result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    shape: OutputShape,
    stdout: Style,
    stderr: Style,
    /// Whether somebody looks at stderr while stdout goes elsewhere.
    is_watched: bool,
}

impl Output {
    /// `asked_for`, else text for a terminal and JSON for anything else.
    pub(crate) fn choose(asked_for: Option<OutputShape>) -> Self {
        let (stdout, stderr) = (io::stdout(), io::stderr());
        let shape = asked_for
            .unwrap_or_else(|| if stdout.is_terminal() { OutputShape::Text } else { OutputShape::Json });
        Self {
            shape,
            stdout: Style::of(&stdout),
            stderr: Style::of(&stderr),
            is_watched: stderr.is_terminal() && !stdout.is_terminal(),
        }
    }

    /// Writes the report and says how the process should end.
    pub(crate) fn write(self, report: &Report) -> ExitCode {
        self.write_to(report, &mut io::stdout().lock(), &mut io::stderr().lock())
    }

    /// JSON, and a text for people's eyes; text, with failures on stderr.
    ///
    /// A success that cannot be written is [`ExitCode::Other`]: the caller lacks the id, and stderr has it. A failure
    /// that cannot be written keeps its exit code, which says what matters most.
    fn write_to(self, report: &Report, stdout: &mut dyn Write, stderr: &mut dyn Write) -> ExitCode {
        let written = match (self.shape, report) {
            (OutputShape::Json, _) => json(report).and_then(|document| write_all(stdout, &document)),
            (OutputShape::Text, Report::Processed(processed)) => {
                if let Some(warning) = text::warning(processed, self.stderr) {
                    // The record on stdout shows the other id as well.
                    let _ = write_all(stderr, &warning);
                }
                write_all(stdout, &text::processed(processed, self.stdout))
            }
            (OutputShape::Text, Report::Failed(_)) => Ok(()),
        };
        if let Report::Failed(failure) = report
            && (self.shape == OutputShape::Text || self.is_watched || failure.kind == "interrupted")
        {
            // The exit code still carries the outcome if stderr is gone.
            let _ = write_all(stderr, &text::failed(failure, self.stderr));
        }
        match (report, written) {
            (Report::Processed(processed), Err(error)) => {
                let message = match &processed.effect {
                    Effect::Moved { transaction_id } => format!(
                        "PROCESSED, but the result could not be written to stdout ({error}).\n  \
                         The money moved: do not run it again. TransactionId {}\n",
                        escape::for_terminal(transaction_id)
                    ),
                    Effect::FoundTransaction { .. } | Effect::FoundCustomer => {
                        format!("found, but the result could not be written to stdout ({error})\n")
                    }
                };
                let _ = write_all(stderr, &message);
                ExitCode::Other
            }
            _ => report.exit_code(),
        }
    }
}

fn json(report: &Report) -> io::Result<String> {
    let document = serde_json::to_string(report)?;
    Ok(escape::in_json(&document) + "\n")
}

fn write_all(stream: &mut dyn Write, text: &str) -> io::Result<()> {
    stream.write_all(text.as_bytes())?;
    stream.flush()
}
