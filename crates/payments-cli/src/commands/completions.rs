//! `payments completions`.

use std::io::{self, Write as _};

use clap::CommandFactory as _;

use super::refuse_settings;
use crate::args::{Arguments, GlobalOptions, ShellToComplete};
use crate::exit_code::ExitCode;
use crate::purpose::Purpose;

/// Prints the script that a shell reads to complete this command's words.
pub(super) fn run(options: &GlobalOptions, asked: &ShellToComplete) -> ExitCode {
    if let Some(refused) = refuse_settings(options, "talks to no service", Purpose::MoveMoney) {
        return refused;
    }
    // Into memory first: the generator panics where a pipe is closed early.
    let mut script = Vec::new();
    let mut command = Arguments::command();
    clap_complete::generate(asked.shell, &mut command, "payments", &mut script);
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(&script).and_then(|()| stdout.flush());
    if written.is_ok() { ExitCode::Processed } else { ExitCode::Other }
}
