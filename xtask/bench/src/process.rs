//! Processes that a benchmark starts, and their memory use (Linux only).

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};

/// Runs a command to its end, and calls `look` every few milliseconds with its process id.
pub(crate) fn watch(mut command: Command, mut look: impl FnMut(u32)) -> anyhow::Result<Duration> {
    let started = Instant::now();
    let mut process = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let status = loop {
        look(process.id());
        if let Some(status) = process.try_wait()? {
            break status;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    ensure!(status.success(), "{command:?} ended with {status}");
    Ok(started.elapsed())
}

/// `VmRSS:` is the resident memory now, `VmHWM:` its maximum.
pub(crate) fn memory_mib(process: u32, name: &str) -> anyhow::Result<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let kib = status.lines().find_map(|line| line.strip_prefix(name)?.trim().strip_suffix(" kB"));
    Ok(kib.context("no such line in the status of a process")?.parse::<f64>()? / 1024.0)
}

/// The `payments` command, in the same folder as this program.
pub(crate) fn payments() -> anyhow::Result<PathBuf> {
    let command = this_program()?.with_file_name(format!("payments{}", std::env::consts::EXE_SUFFIX));
    ensure!(command.exists(), "there is no {}: run cargo build --package payments-cli", command.display());
    Ok(command)
}

/// The command that starts a sandbox, whose log nobody reads.
pub(crate) fn sandbox() -> anyhow::Result<Command> {
    let mut command = Command::new(payments()?);
    command.arg("sandbox").stderr(Stdio::null());
    Ok(command)
}

/// A command that runs this program itself.
pub(crate) fn child(arguments: &[&str]) -> anyhow::Result<Command> {
    let mut command = Command::new(this_program()?);
    command.args(arguments);
    Ok(command)
}

pub(crate) fn this_program() -> anyhow::Result<PathBuf> {
    std::env::current_exe().context("the path of this program is unknown")
}

/// A temporary folder next to the build. The system's temporary folder may be in memory, where a sync costs nothing.
pub(crate) fn folder() -> anyhow::Result<tempfile::TempDir> {
    let program = this_program()?;
    let build = program.parent().context("a program is in a folder")?;
    Ok(tempfile::Builder::new().prefix("bench-").tempdir_in(build)?)
}
