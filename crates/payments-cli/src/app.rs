//! From the arguments to the exit code.

use std::ffi::OsString;

use clap::Parser as _;

use crate::args::Arguments;
use crate::exit_code::ExitCode;
use crate::{commands, panic, stderr, usage};

/// Runs the command that `arguments`, the program's name first, ask for.
pub(crate) fn run(arguments: Vec<OsString>) -> ExitCode {
    let code = panic::contain(move || match Arguments::try_parse_from(&arguments) {
        Ok(arguments) => commands::run(arguments),
        Err(error) => usage::answer(&error, &arguments),
    });
    stderr::finish();
    code
}
