//! `cargo xtask release`: takes the workspace to a registry. It has a command line of its own.

use std::ffi::OsString;

use anyhow::bail;

use crate::workspace::{cargo, shell};

/// Whether it was asked for. Its words are not for the command line of the tasks to read.
pub(crate) fn is_asked_for() -> bool {
    std::env::args_os().nth(1).is_some_and(|task| task == "release")
}

/// Lets the release speak; what stopped it is an error of this task.
pub(crate) fn run() -> anyhow::Result<()> {
    let words: Vec<_> = std::env::args_os().skip(2).collect();
    let shell = shell()?;
    let call = "run --locked --quiet --package payments-release --".split(' ');
    if cargo(&shell, call).args(&words).run().is_err() {
        bail!("{}", stopped(words.first()));
    }
    Ok(())
}

/// The last line after a failure, whose reasons are above it.
fn stopped(verb: Option<&OsString>) -> &'static str {
    match verb.and_then(|verb| verb.to_str()) {
        Some("check") => "this commit cannot be released yet: see above",
        Some("prepare") => "nothing was prepared: see above",
        Some("publish") => "the release is not finished: see above",
        _ => "see above",
    }
}
