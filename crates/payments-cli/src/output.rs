//! Where a report goes: stdout and stderr, in one of two shapes.

use std::io::{self, IsTerminal as _};
use std::thread;
use std::time::Duration;

use tokio::runtime;
use tokio::sync::oneshot;
use tokio::time::sleep;

use crate::args::OutputShape;
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::report::{Effect, Processed, Report};
use crate::style::{self, Style, Tone};
use crate::{stderr, stdout, text};

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
        let stdout = io::stdout();
        let shape = asked_for
            .unwrap_or_else(|| if stdout.is_terminal() { OutputShape::Text } else { OutputShape::Json });
        Self {
            shape,
            stdout: Style::of(&stdout),
            stderr: stderr::style(),
            is_watched: stderr::is_terminal() && !stdout.is_terminal(),
        }
    }

    /// Writes the report and says how the process should end.
    pub(crate) fn write(self, report: &Report) -> ExitCode {
        stderr::finish_on_a_terminal();
        self.write_to_stdout(report)
    }

    /// Whether people read the result.
    pub(crate) fn is_text(self) -> bool {
        self.shape == OutputShape::Text
    }

    /// How text on stdout looks.
    pub(crate) fn style(self) -> Style {
        self.stdout
    }

    /// Tells why a result that is in part on stdout already ends too early.
    pub(crate) fn torn(self, failure: &Failure) -> ExitCode {
        stderr::write_last(text::failed(failure, self.stderr));
        failure.exit_code()
    }

    /// Tells a person of settings that may not be what they mean; a program reads its one document alone.
    pub(crate) fn warn(self, warnings: &[String]) {
        if self.shape == OutputShape::Json && !stderr::is_terminal() {
            return;
        }
        let warning = self.stderr.paint(Tone::Doubtful, "WARNING");
        for text in warnings {
            stderr::write(format!("{warning}: {}\n", style::for_terminal(text)));
        }
        stderr::finish_on_a_terminal();
    }

    /// Tells a person what is odd about a success.
    fn warn_of(self, processed: &Processed) {
        if let Some(warning) = text::warning(processed, self.stderr) {
            // The record on stdout shows the other id as well.
            stderr::write(warning);
            stderr::finish_on_a_terminal();
        }
    }

    /// JSON, and a text for people's eyes; text, with failures on stderr.
    ///
    /// A success that cannot be written is [`ExitCode::Other`]: the caller lacks the id, and stderr has it. A failure
    /// that cannot be written keeps its exit code, which says what matters most.
    fn write_to_stdout(self, report: &Report) -> ExitCode {
        let written = match self.shape {
            OutputShape::Json => stdout::print_json(report),
            OutputShape::Text => match report {
                Report::Processed(processed) => {
                    self.warn_of(processed);
                    stdout::print(&text::processed(processed, self.stdout))
                }
                Report::Rehearsed(request) => stdout::print(&text::rehearsed(request, self.stdout)),
                Report::Checked(checked) => stdout::print(&checked.lines(self.stdout)),
                Report::Summed(summary) => stdout::print(&summary.lines(self.stdout)),
                Report::Failed(_) | Report::Refused(_) => Ok(()),
            },
        };
        if let Some(warning) = report.note().and_then(|note| text::journal_warning(note, self.stderr)) {
            stderr::write_last(warning);
        }
        let for_people = match report {
            Report::Failed(failure)
                if self.shape == OutputShape::Text || self.is_watched || *failure.kind == *"interrupted" =>
            {
                Some(text::failed(failure, self.stderr))
            }
            Report::Checked(checked) if self.shape == OutputShape::Json && self.is_watched => {
                Some(checked.lines(self.stderr))
            }
            Report::Summed(summary) if self.shape == OutputShape::Json && self.is_watched => {
                Some(summary.lines(self.stderr))
            }
            Report::Refused(problems) if self.shape == OutputShape::Text || self.is_watched => {
                Some(problems.lines(self.stderr))
            }
            _ => None,
        };
        if let Some(text) = for_people {
            // The exit code still carries the outcome if nobody reads it.
            stderr::write_last(text);
        }
        match written.err().and_then(|error| unwritten(report, &error)) {
            Some(message) => {
                stderr::write_last(message);
                ExitCode::Other
            }
            None => report.exit_code(),
        }
    }
}

/// What to say of a success that stdout did not take.
fn unwritten(report: &Report, error: &io::Error) -> Option<String> {
    let what = match report {
        Report::Processed(Processed { effect: Effect::Moved { transaction_id }, .. }) => {
            return Some(format!(
                "PROCESSED, but the result could not be written to stdout ({error}).\n  \
                 The money moved: do not run it again. TransactionId {}\n",
                style::for_terminal(transaction_id)
            ));
        }
        Report::Processed(Processed {
            effect: Effect::FoundTransaction { .. } | Effect::FoundCustomer,
            ..
        }) => "found",
        Report::Rehearsed(_) => "nothing was sent, as asked",
        Report::Checked(checked) if checked.failure.is_none() => "all is well",
        Report::Summed(summary) if summary.exit_code() == ExitCode::Processed => {
            "the billing run has ended as the journal has it"
        }
        Report::Checked(_) | Report::Summed(_) | Report::Refused(_) | Report::Failed(_) => return None,
    };
    Some(format!("{what}, but the result could not be written to stdout ({error})\n"))
}

/// How long somebody who has given the command up waits for its report.
const LAST_MOMENT: Duration = Duration::from_secs(1);

/// Writes the report of a command that has caught signals, and says how the process should end.
///
/// Whoever reads a pipe may stop reading it. The signals stay caught until the process ends, so a thread writes, and a
/// signal ends the wait for it; a report that nobody took is one that could not be written.
pub(crate) fn finish(output: Output, report: Report) -> ExitCode {
    let Ok(runtime) = runtime::Builder::new_current_thread().enable_all().build() else {
        return output.write(&report);
    };
    let code = runtime.block_on(written(output, report));
    runtime.shutdown_background();
    code
}

async fn written(output: Output, report: Report) -> ExitCode {
    let Ok(mut interrupt) = Interrupt::install() else { return output.write(&report) };
    let unread = unread(&report);
    let is_given_up = matches!(&report, Report::Summed(summary) if summary.is_given_up());
    let (tell, told) = oneshot::channel();
    let writing = thread::Builder::new().name("report".to_owned()).spawn(move || {
        // The process may have ended.
        let _ = tell.send(output.write(&report));
    });
    if writing.is_err() {
        return unread;
    }
    tokio::select! {
        biased;
        code = told => code.unwrap_or(unread),
        _ = interrupt.arrived() => unread,
        () = sleep(LAST_MOMENT), if is_given_up => unread,
    }
}

/// How the process ends if nobody takes the report: a success that cannot be told is none.
fn unread(report: &Report) -> ExitCode {
    match report.exit_code() {
        ExitCode::Processed => ExitCode::Other,
        code => code,
    }
}
