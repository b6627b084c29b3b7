//! Processes that a benchmark starts, and their memory use (Linux only).

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::Value;

/// A server that writes its address as `payments sandbox` does. Dropping this value kills it.
#[derive(Debug)]
pub(crate) struct Server {
    process: Child,
    /// Kept open, or the server would get a broken pipe.
    _stdout: BufReader<ChildStdout>,
    pub(crate) base_url: String,
    pub(crate) address: SocketAddr,
    pub(crate) api_key: String,
    /// From the start of the process to its ready line.
    pub(crate) ready_after: Duration,
}

impl Server {
    pub(crate) fn start(mut command: Command) -> anyhow::Result<Self> {
        let started = Instant::now();
        let mut process =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let mut stdout = BufReader::new(process.stdout.take().context("stdout is piped")?);
        let mut line = String::new();
        stdout.read_line(&mut line)?;
        let ready_after = started.elapsed();
        let ready: Value =
            serde_json::from_str(&line).with_context(|| format!("{command:?} is not ready"))?;
        let base_url = ready["base_url"].as_str().context("a ready line without a base_url")?.to_owned();
        let authority = base_url.split('/').nth(2).context("a base_url without an address")?;
        Ok(Self {
            address: authority.parse()?,
            api_key: ready["api_key"].as_str().unwrap_or_default().to_owned(),
            process,
            _stdout: stdout,
            base_url,
            ready_after,
        })
    }

    /// Ends the server with SIGTERM, and waits for the end.
    pub(crate) fn end(mut self) -> anyhow::Result<()> {
        // The shell has it built in; the program of this name may not be installed.
        let sent = Command::new("sh").args(["-c", "kill \"$0\"", &self.process.id().to_string()]).status()?;
        let ended = self.process.wait()?;
        ensure!(sent.success() && ended.success(), "the server ended with {ended}");
        Ok(())
    }

    pub(crate) fn resident_mib(&self) -> anyhow::Result<f64> {
        memory_mib(self.process.id(), "VmRSS:")
    }
}

/// Kills the server at once.
impl Drop for Server {
    fn drop(&mut self) {
        // Both fail if the process has already ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

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
