use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::Value;

/// A running `payments sandbox`, or another server that writes its address in the same way. Dropping this value kills it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Server {
    process: Process,
    /// Kept open, or the server would get a broken pipe.
    _stdout: BufReader<ChildStdout>,
    /// The address of the service.
    pub base_url: String,
    /// The host and the port of the service.
    pub address: SocketAddr,
    /// The key that the service accepts.
    pub api_key: String,
    /// From the start of the process to its ready line.
    pub ready_after: Duration,
}

impl Server {
    /// Starts it, and waits for its ready line. Its stderr is the caller's, or what the command says.
    ///
    /// # Errors
    ///
    /// If its first line is no ready line.
    pub fn start(mut command: Command) -> anyhow::Result<Self> {
        let started = Instant::now();
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut process = Process(command.spawn()?);
        let mut stdout = BufReader::new(process.0.stdout.take().context("stdout is piped")?);
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

    /// The id of its process.
    pub fn id(&self) -> u32 {
        self.process.0.id()
    }

    /// Ends the server with SIGTERM, and waits for the end.
    ///
    /// # Errors
    ///
    /// If it does not end with success.
    pub fn end(mut self) -> anyhow::Result<()> {
        // It is built into the shell; the program of this name may not be installed.
        let sent = Command::new("sh").args(["-c", "kill \"$0\"", &self.id().to_string()]).status()?;
        let ended = self.process.0.wait()?;
        ensure!(sent.success() && ended.success(), "the server ended with {ended}");
        Ok(())
    }
}

/// Killed when it is dropped.
#[derive(Debug)]
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail if the process has already ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
