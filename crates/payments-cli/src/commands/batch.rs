//! `payments batch run`: a charge for every row of a file, each at most once.

mod batch_file;
mod csv_rows;
mod inspection;
mod json_rows;
mod row;
mod rows;
mod scratch;

use tokio::task::spawn_blocking;

use self::batch_file::BatchFile;
use self::inspection::{Inspected, Refusal, inspect};
use crate::args::GlobalOptions;
use crate::batch_arguments::BatchArguments;
use crate::batch_report::Summary;
use crate::call;
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::output::Output;
use crate::report::Report;

/// Runs the command to its end.
pub(super) fn run(options: GlobalOptions, arguments: BatchArguments) -> ExitCode {
    let output = Output::choose(options.output);
    let ended = call::block_on(end(options, arguments));
    let report = ended.and_then(|ended| ended).unwrap_or_else(Report::from);
    output.write(&report)
}

async fn end(options: GlobalOptions, arguments: BatchArguments) -> Result<Report, Failure> {
    let inspected = spawn_blocking(move || {
        let mut file = BatchFile::open(&arguments.file)?;
        inspect(&mut file, None)
    });
    let inspected = match inspected.await {
        Ok(Ok(inspected)) => inspected,
        Ok(Err(Refusal::Problems(problems))) => return Ok(Report::Refused(Box::new(problems))),
        Ok(Err(Refusal::Failure(failure))) => return Err(*failure),
        Err(_) => return Err(Failure::not_processed("internal", "internal error; nothing was sent")),
    };
    let Inspected { tallies, doubts, .. } = inspected;
    if options.client.dry_run {
        let summary = Summary { tallies, doubts, is_dry_run: true, ..Summary::default() };
        return Ok(Report::Summed(Box::new(summary)));
    }
    Err(Failure::invalid("usage", "only --dry-run can be done yet; nothing was sent"))
}
