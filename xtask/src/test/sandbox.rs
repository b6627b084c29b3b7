//! A sandbox process that serves another program's requests.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::Context as _;
use serde_json::Value;

/// A running `payments sandbox`; dropping it kills it.
pub(super) struct Sandbox {
    process: Child,
    ready: Value,
}

impl Sandbox {
    /// Starts a sandbox on a free port, and waits for its ready line.
    pub(super) fn start(payments: &Path, options: &[&str]) -> anyhow::Result<Self> {
        let mut command = Command::new(payments);
        command.arg("sandbox").args(options).stdin(Stdio::null()).stdout(Stdio::piped());
        let process = command.spawn().with_context(|| format!("cannot start {}", payments.display()))?;
        let mut sandbox = Self { process, ready: Value::Null };
        let stdout = sandbox.process.stdout.as_mut().context("the sandbox has no stdout")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        sandbox.ready = serde_json::from_str(&line)
            .context("the sandbox's first line is not its ready line: see above")?;
        Ok(sandbox)
    }

    pub(super) fn base_url(&self) -> &str {
        self.ready["base_url"].as_str().unwrap_or_default()
    }

    pub(super) fn api_key(&self) -> &str {
        self.ready["api_key"].as_str().unwrap_or_default()
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        // Both fail if the process has already ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
