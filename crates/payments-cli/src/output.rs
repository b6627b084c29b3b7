//! Writes a report to stdout and stderr, in one of two formats.

use std::io::{self, IsTerminal as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use serde::Serialize;
use tokio::runtime;
use tokio::sync::oneshot;
use tokio::time::sleep;

use crate::args::OutputShape;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::report::Report;
use crate::report::call::{Effect, Processed};
use crate::report::exit_code::ExitCode;
use crate::report::text;
use crate::style::{self, Style, Tone};
use crate::{stderr, stdout};

/// The format of the result, and the styles of both streams.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    shape: OutputShape,
    stdout: Style,
    stderr: Style,
    /// Whether stderr is a terminal and stdout is not.
    only_stderr_is_terminal: bool,
}

impl Output {
    /// `requested`, else text on a terminal and JSON otherwise.
    pub(crate) fn choose(requested: Option<OutputShape>) -> Self {
        let stdout = io::stdout();
        let shape = requested
            .unwrap_or_else(|| if stdout.is_terminal() { OutputShape::Text } else { OutputShape::Json });
        Self {
            shape,
            stdout: Style::of(&stdout),
            stderr: stderr::style(),
            only_stderr_is_terminal: stderr::is_terminal() && !stdout.is_terminal(),
        }
    }

    /// Whether people read the result.
    pub(crate) fn is_text(self) -> bool {
        self.shape == OutputShape::Text
    }

    /// The style of text on stdout.
    pub(crate) fn style(self) -> Style {
        self.stdout
    }

    /// Reports why a result that is already partly on stdout is incomplete.
    pub(crate) fn write_partial(self, failure: &Failure) -> ExitCode {
        stderr::write_last(text::failed(failure, self.stderr));
        ExitCode::of_failure(failure)
    }

    /// Warns a person. A program reads only its JSON document.
    pub(crate) fn warn(self, warnings: &[String]) {
        if self.shape == OutputShape::Json && !stderr::is_terminal() {
            return;
        }
        let warning = self.stderr.paint(Tone::Warning, "WARNING");
        for text in warnings {
            stderr::write(format!("{warning}: {}\n", style::for_terminal(text)));
        }
        stderr::finish_on_a_terminal();
    }

    /// Writes a result to stdout: `document`, or `text` for people.
    pub(crate) fn print(
        self,
        document: &impl Serialize,
        text: impl FnOnce(Style) -> String,
    ) -> io::Result<()> {
        match self.shape {
            OutputShape::Json => stdout::print_json(document),
            OutputShape::Text => stdout::print(&text(self.stdout)),
        }
    }

    /// Writes the report and returns the exit code.
    ///
    /// A success that cannot be written is [`ExitCode::Other`]: the caller does not have the id, so stderr gets it. A failure
    /// that cannot be written keeps its exit code, which matters most.
    pub(crate) fn write(self, report: &Report) -> ExitCode {
        stderr::finish_on_a_terminal();
        if let Report::Processed(processed) = report
            && self.is_text()
            && let Some(warning) = text::warning(processed, self.stderr)
        {
            // The record on stdout also shows the other id.
            stderr::write(warning);
            stderr::finish_on_a_terminal();
        }
        let is_refusal = matches!(report, Report::Failed(_) | Report::InvalidFile(_));
        let written = self.print(report, |style| if is_refusal { String::new() } else { report.text(style) });
        if let Some(warning) = report.note().and_then(|note| text::journal_warning(note, self.stderr)) {
            stderr::write_last(warning);
        }
        let is_read = self.is_text() || self.only_stderr_is_terminal;
        let is_for_people = match report {
            Report::Failed(failure) => is_read || failure.is_interrupted,
            Report::InvalidFile(_) => is_read,
            // Text is already on stdout.
            Report::Check(_) | Report::Batch(_) => is_read && !self.is_text(),
            Report::Processed(_) | Report::DryRun(_) => false,
        };
        if is_for_people {
            // If this is lost, the exit code still has the outcome.
            stderr::write_last(report.text(self.stderr));
        }
        match written.err().and_then(|error| not_written(report, &error)) {
            Some(message) => {
                stderr::write_last(message);
                ExitCode::Other
            }
            None => report.exit_code(),
        }
    }
}

/// The message for a success that could not be written to stdout.
fn not_written(report: &Report, error: &io::Error) -> Option<String> {
    let what = match report {
        Report::Processed(Processed { effect: Effect::Moved { transaction_id }, .. }) => {
            return Some(format!(
                "PROCESSED, but the result could not be written to stdout ({error}).\n  \
                 The money moved: do not run it again. TransactionId {}\n",
                style::for_terminal(transaction_id.as_str())
            ));
        }
        Report::Processed(Processed {
            effect: Effect::FoundTransaction { .. } | Effect::FoundCustomer,
            ..
        }) => "found",
        Report::DryRun(_) => "nothing was sent, as requested",
        Report::Batch(summary) if summary.is_dry_run => "nothing was sent, as requested",
        // It has only looked, so a reader that has seen enough, such as `head`, is not told anything.
        Report::Check(checked) if checked.failure.is_none() && stdout::is_closed(error) => {
            return Some(String::new());
        }
        Report::Check(checked) if checked.failure.is_none() => "every step passed",
        Report::Batch(summary) if ExitCode::of_run(summary) == ExitCode::Processed => {
            "the billing run has finished, and the journal has every outcome"
        }
        Report::Check(_) | Report::Batch(_) | Report::InvalidFile(_) | Report::Failed(_) => return None,
    };
    Some(stdout::not_written(what, error))
}

/// How long the report may take after the user has abandoned the command.
const REPORT_TIMEOUT: Duration = Duration::from_secs(1);

/// Writes the report of a command that catches signals, and returns the exit code.
///
/// A reader may stop reading its pipe. Signals stay caught until the process ends, so another thread writes, and a signal
/// ends the wait for it. The report then counts as not written.
pub(crate) fn finish(output: Output, report: Report) -> ExitCode {
    let Ok(runtime) = runtime::Builder::new_current_thread().enable_all().build() else {
        return output.write(&report);
    };
    let code = runtime.block_on(write_or_interrupt(Arc::new(report), move |report| output.write(report)));
    runtime.shutdown_background();
    code
}

async fn write_or_interrupt(
    report: Arc<Report>,
    write: impl Fn(&Report) -> ExitCode + Clone + Send + 'static,
) -> ExitCode {
    let Ok(mut interrupt) = Interrupt::install() else { return write(&report) };
    // A success that could not be written is not a success.
    let unread = match report.exit_code() {
        ExitCode::Processed => ExitCode::Other,
        code => code,
    };
    let is_given_up = matches!(&*report, Report::Batch(summary) if summary.is_given_up());
    let (sender, written) = oneshot::channel();
    let writing = thread::Builder::new().name("report".to_owned()).spawn({
        let (report, write) = (report.clone(), write.clone());
        move || {
            // The receiver may have stopped waiting.
            let _ = sender.send(write(&report));
        }
    });
    if writing.is_err() {
        return write(&report);
    }
    tokio::select! {
        biased;
        code = written => code.unwrap_or_else(|_| after_panic(&report)),
        _ = interrupt.arrived() => unread,
        () = sleep(REPORT_TIMEOUT), if is_given_up => unread,
    }
}

/// Reports what matters most on stderr after writing the report has panicked, which is a bug.
fn after_panic(report: &Report) -> ExitCode {
    let error = io::Error::other("internal error");
    let (text, code) = match report {
        Report::Processed(Processed { effect: Effect::Moved { .. }, .. }) => {
            (not_written(report, &error), ExitCode::Unknown)
        }
        Report::Batch(summary) if summary.has_begun => {
            let lines = catch_unwind(AssertUnwindSafe(|| summary.lines(Style::Plain))).ok();
            (lines, ExitCode::Unknown)
        }
        _ => (
            None,
            if report.exit_code() == ExitCode::Processed { ExitCode::Other } else { report.exit_code() },
        ),
    };
    let text = text.unwrap_or_else(|| "the result could not be written (internal error)\n".to_owned());
    stderr::write_last(format!("{text}  (exit code {})\n", code.number()));
    code
}

#[cfg(test)]
mod tests {
    use payments_model::Amount;

    use super::*;
    use crate::report::run::Summary;

    /// The exit code if writing this report panics.
    fn code_after_panic(report: Report) -> ExitCode {
        let runtime = runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(write_or_interrupt(Arc::new(report), |_| unreachable!("a bug")))
    }

    #[test]
    fn panic_while_a_report_is_written_does_not_hide_an_outcome_d54() {
        let mut summary = Summary { has_begun: true, ..Summary::default() };
        for tally in [&mut summary.tallies.total, &mut summary.tallies.processed] {
            tally.add(Amount::from_cents(1));
        }
        assert_eq!(code_after_panic(Report::Batch(Box::new(summary))), ExitCode::Unknown);
        let unknown = Failure::new(crate::failure::FailedOutcome::Unknown, "closed", "text");
        assert_eq!(code_after_panic(unknown.into()), ExitCode::Unknown);
        assert_eq!(
            code_after_panic(Failure::not_processed("connect", "text").into()),
            ExitCode::NotProcessed
        );
    }
}
