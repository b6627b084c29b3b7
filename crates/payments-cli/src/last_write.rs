//! The last thing that a command does: it writes its report, and a signal ends the wait for whoever does not read it.

use std::thread;
use std::time::Duration;

use tokio::runtime;
use tokio::sync::oneshot;
use tokio::time::sleep;

use crate::exit_code::ExitCode;
use crate::interrupt::Interrupt;
use crate::output::Output;
use crate::report::Report;

/// How long somebody who has given the command up waits for its report.
const LAST_MOMENT: Duration = Duration::from_secs(1);

/// Writes the report of a command that has caught signals, and says how the process should end.
///
/// Whoever reads a pipe may stop reading it. The signals stay caught until the process ends, so a thread writes, and a
/// signal ends the wait for it; a report that nobody took is one that could not be written.
pub(crate) fn write(output: Output, report: Report) -> ExitCode {
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
