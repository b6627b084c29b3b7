//! Writes a report to stdout and stderr, in one of two formats.

use std::io::{self, IsTerminal as _};

use serde::Serialize;

use crate::args::OutputShape;
use crate::failure::Failure;
use crate::report::run::Phase;
use crate::report::{Effect, ExitCode, Processed, Report, text};
use crate::settings::PrintedCommands;
use crate::style::{self, Style};
use crate::wrap::wrapped;
use crate::{stderr, stdout};

/// The format of the result, the style of stdout, and the commands that a text names.
#[derive(Clone)]
pub(crate) struct Output {
    shape: OutputShape,
    pub(crate) stdout: Style,
    pub(crate) commands: PrintedCommands,
}

impl Output {
    /// `requested`, else text on a terminal and JSON otherwise.
    pub(crate) fn choose(requested: Option<OutputShape>, commands: PrintedCommands) -> Self {
        let stdout = io::stdout();
        let shape = requested
            .unwrap_or_else(|| if stdout.is_terminal() { OutputShape::Text } else { OutputShape::Json });
        Self { shape, stdout: Style::of(&stdout), commands }
    }

    /// Whether people read the result.
    pub(crate) fn is_text(&self) -> bool {
        self.shape == OutputShape::Text
    }

    /// Reports why a result that is already partly on stdout is incomplete.
    pub(crate) fn write_partial(&self, failure: &Failure) -> ExitCode {
        stderr::write_last(text::failed(failure, stderr::style(), &self.commands));
        ExitCode::of_failure(failure)
    }

    /// Writes a result to stdout: `document`, or `text` for people.
    pub(crate) fn print(
        &self,
        document: &impl Serialize,
        text: impl FnOnce(Style) -> String,
    ) -> io::Result<()> {
        match self.shape {
            OutputShape::Json => stdout::print_json(document),
            OutputShape::Text => stdout::print(&wrapped(&text(self.stdout), stdout::width())),
        }
    }

    /// Writes the report and returns the exit code.
    ///
    /// If it cannot be written to stdout, stderr gets what the caller does not have then. A success without a report is
    /// [`ExitCode::Other`]; any other report keeps its exit code, which matters most.
    pub(crate) fn write(&self, report: &Report) -> ExitCode {
        let is_refusal = matches!(report, Report::Failed(_));
        let text = |style| report.text(style, &self.commands);
        let written = self.print(report, |style| if is_refusal { String::new() } else { text(style) });
        if let Some(warning) = report.note().and_then(text::journal_warning) {
            stderr::warn(&warning);
        }
        if let Err(error) = written {
            stderr::write_last(self.unwritten(report, &error));
            return report.exit_code().unwritten();
        }
        let is_read = self.is_text() || (stderr::is_terminal() && !io::stdout().is_terminal());
        let is_for_people = match report {
            Report::Failed(failure) => is_read || failure.advice.is_interrupted,
            // Text is already on stdout.
            Report::Check(_) | Report::Batch(_) => is_read && !self.is_text(),
            Report::Processed(_) | Report::DryRun(_) => false,
        };
        if is_for_people {
            // If this is lost, the exit code still has the outcome.
            stderr::write_last(text(stderr::style()));
        }
        report.exit_code()
    }

    /// What stderr gets in place of a report that could not be written to stdout: all of it, unless one line says as much.
    pub(crate) fn unwritten(&self, report: &Report, error: &io::Error) -> String {
        let what = match report {
            Report::Processed(Processed { effect: Effect::Moved(transaction_id), .. }) => {
                return format!(
                    "PROCESSED, but the result could not be written to stdout ({error}).\n  \
                     The money moved: do not run it again. TransactionId {}\n",
                    style::for_terminal(transaction_id.as_str())
                );
            }
            Report::Processed(_) => "found",
            Report::DryRun(_) => NOTHING_SENT,
            Report::Batch(summary) if summary.phase == Phase::DryRun => NOTHING_SENT,
            // It has only looked, so a reader that has seen enough, such as `head`, is not told anything.
            Report::Check(checked) if checked.failure.is_none() && stdout::is_closed(error) => {
                return String::new();
            }
            Report::Check(checked) if checked.failure.is_none() => "every step passed",
            Report::Batch(summary) if ExitCode::of_run(summary) == ExitCode::Processed => {
                "the billing run has finished, and the journal has every outcome"
            }
            Report::Check(_) | Report::Batch(_) | Report::Failed(_) => {
                return format!(
                    "{}payments: the report could not be written to stdout ({error})\n",
                    report.text(stderr::style(), &self.commands)
                );
            }
        };
        stdout::not_written(what, error)
    }
}

const NOTHING_SENT: &str = "nothing was sent, as requested";

/// Writes a document, and returns the exit code. It ends quietly if the reader has closed the pipe.
pub(crate) fn print_document(text: &str) -> ExitCode {
    match stdout::print(text) {
        Ok(()) => ExitCode::Processed,
        Err(error) => {
            if !stdout::is_closed(&error) {
                stderr::write_last(format!(
                    "payments: the result could not be written to stdout ({error})\n"
                ));
            }
            ExitCode::Other
        }
    }
}
