//! Runs a command to its report, whatever panics and signals it meets.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::thread;
use std::time::Duration;

use tokio::runtime;
use tokio::sync::oneshot;
use tokio::time::sleep;

use crate::failure::{Failure, Purpose};
use crate::output::Output;
use crate::process::{Interrupt, spare};
use crate::report::run::Phase;
use crate::report::{Effect, ExitCode, Processed, Report};
use crate::stderr;

/// Runs a command that may send something, and writes its report. If it panics, which is a bug, it still ends with the report of
/// `on_panic`. Its futures run on this thread, or on so many `workers` if there are any. The command sets its cell once something
/// may have been sent, and `on_panic` receives it.
pub(crate) fn run(
    output: &Output,
    purpose: Purpose,
    workers: usize,
    command: impl AsyncFnOnce(&mut Interrupt, &Cell<bool>) -> Result<Report, Failure>,
    on_panic: impl FnOnce(bool) -> Failure,
) -> ExitCode {
    let has_begun = Cell::new(false);
    let ended = catch_unwind(AssertUnwindSafe(|| {
        let (ended, interrupt) = start(workers, async |interrupt| command(interrupt, &has_begun).await);
        let ended = ended.flatten().map_err(|failure| failure.for_purpose(purpose));
        finish(output, ended.unwrap_or_else(Report::from), interrupt)
    }));
    ended.unwrap_or_else(|_| {
        let failure = on_panic(has_begun.get()).for_purpose(purpose);
        let code = ExitCode::of_failure(&failure);
        // The report itself may be what panics.
        catch_unwind(AssertUnwindSafe(|| output.write(&failure.into()))).unwrap_or(code)
    })
}

/// Runs a future on this thread.
pub(crate) fn block_on<F: Future>(future: F) -> Result<F::Output, Failure> {
    run_on_runtime(0, future).map_err(|error| cannot_start(&error))
}

/// Runs a command that catches signals, which [`finish`] still catches.
pub(crate) fn start<T>(
    workers: usize,
    command: impl AsyncFnOnce(&mut Interrupt) -> T,
) -> (Result<T, Failure>, Option<Interrupt>) {
    let ended = run_on_runtime(workers, async {
        let mut interrupt = Interrupt::install()?;
        Ok((command(&mut interrupt).await, interrupt))
    });
    match ended.flatten() {
        Ok((ended, interrupt)) => (Ok(ended), Some(interrupt)),
        Err(error) => (Err(cannot_start(&error)), None),
    }
}

/// Runs a future once the threads and descriptors of a whole command were tried.
fn run_on_runtime<F: Future>(workers: usize, future: F) -> io::Result<F::Output> {
    let runtime = match workers {
        0 => runtime::Builder::new_current_thread(),
        _ => runtime::Builder::new_multi_thread(),
    };
    spare::require_all(workers).and_then(|()| block_on_runtime(runtime, future))
}

fn block_on_runtime<F: Future>(mut runtime: runtime::Builder, future: F) -> io::Result<F::Output> {
    let runtime = runtime.enable_all().build()?;
    let ended = runtime.block_on(future);
    // Abandoned work, such as a thread that is still reading stdin, must not keep the command alive.
    runtime.shutdown_background();
    Ok(ended)
}

/// `None` if the future panics. Even then the caller must report that the request may have been sent.
pub(crate) async fn catch_panic<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
        Ok(poll) => poll.map(Some),
        Err(_) => Poll::Ready(None),
    })
    .await
}

pub(crate) fn cannot_start(error: &io::Error) -> Failure {
    let message = "this process has no thread or file descriptor left, or cannot wait for signals; nothing was sent: \
                   look at the limits of `ulimit -u` and `ulimit -n`";
    Failure::not_processed("internal", message).with_cause(error)
}

/// How long the report may take after the user has abandoned the command.
const REPORT_TIMEOUT: Duration = Duration::from_secs(1);

/// Writes the report of a command that catches signals, and returns the exit code.
///
/// A reader may stop reading its pipe. Signals stay caught until the process ends, so another thread writes, and a signal
/// ends the wait for it, unless it only repeats one that has ended the command. The report then counts as not written.
pub(crate) fn finish(output: &Output, report: Report, interrupt: Option<Interrupt>) -> ExitCode {
    let Some(interrupt) = interrupt else { return output.write(&report) };
    let report = Arc::new(report);
    let write = |output: &Output, report: &Report| output.write(report);
    let writing = write_or_interrupt(output, Arc::clone(&report), interrupt, write);
    // The threads were tried when the command started; without descriptors, tokio panics.
    let written = spare::require_descriptors()
        .and_then(|()| block_on_runtime(runtime::Builder::new_current_thread(), writing));
    written.unwrap_or_else(|_| output.write(&report))
}

async fn write_or_interrupt(
    output: &Output,
    report: Arc<Report>,
    mut interrupt: Interrupt,
    write: fn(&Output, &Report) -> ExitCode,
) -> ExitCode {
    // One that arrived before is not about the report.
    while interrupt.has_arrived().await.is_some() {}
    let unread = report.exit_code().unwritten();
    let is_given_up = matches!(&*report, Report::Batch(summary) if summary.given_up.is_some());
    let (sender, written) = oneshot::channel();
    let writing = thread::Builder::new().name("report".to_owned()).spawn({
        let (output, report) = (output.clone(), report.clone());
        move || {
            // The receiver may have stopped waiting.
            let _ = sender.send(write(&output, &report));
        }
    });
    if writing.is_err() {
        return write(output, &report);
    }
    let why = tokio::select! {
        biased;
        code = written => return code.unwrap_or_else(|_| after_panic(output, &report)),
        signal = interrupt.arrived() => signal,
        () = sleep(REPORT_TIMEOUT), if is_given_up => "nobody reads it",
    };
    stderr::write_last(output.unwritten(&report, &io::Error::other(why)));
    stderr::write_last(format!(
        "{why}: the report could not be written to its end (exit code {})\n",
        unread.number()
    ));
    unread
}

/// Reports what matters most on stderr after writing the report has panicked, which is a bug.
fn after_panic(output: &Output, report: &Report) -> ExitCode {
    let code = match report {
        Report::Processed(Processed { effect: Effect::Moved(_), .. }) => ExitCode::Unknown,
        Report::Batch(summary) if summary.phase == Phase::Charging => ExitCode::Unknown,
        _ => report.exit_code().unwritten(),
    };
    let error = io::Error::other("internal error");
    let text = catch_unwind(AssertUnwindSafe(|| output.unwritten(report, &error)));
    let text = text.unwrap_or_else(|_| "the result could not be written (internal error)\n".to_owned());
    stderr::write_last(format!("{text}  (exit code {})\n", code.number()));
    code
}

#[cfg(test)]
mod tests {
    use payments_model::Amount;

    use super::*;
    use crate::report::run::Summary;
    use crate::settings::PrintedCommands;

    /// The exit code if writing this report panics.
    fn code_after_panic(report: Report) -> ExitCode {
        let runtime = runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let interrupt = Interrupt::install().expect("signals can be caught");
            let output = &Output::choose(None, PrintedCommands::default());
            write_or_interrupt(output, Arc::new(report), interrupt, |_, _| unreachable!("a bug")).await
        })
    }

    #[tokio::test]
    async fn panic_of_a_call_is_caught() {
        assert_eq!(catch_panic(async { 7 }).await, Some(7));
        assert_eq!(catch_panic(async { std::iter::empty::<u8>().next().expect("a bug") }).await, None);
    }

    #[test]
    fn panic_while_a_report_is_written_does_not_hide_an_outcome_d54() {
        let mut summary = Summary { phase: Phase::Charging, ..Summary::default() };
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
