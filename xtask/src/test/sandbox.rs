//! A sandbox that runs while another program asks it.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context as _, bail};
use serde_json::Value;
use xshell::{Shell, cmd};

/// The variables that tell a program where the sandbox is.
pub(super) const BASE_URL: &str = "SANDBOX_BASE_URL";
pub(super) const API_KEY: &str = "SANDBOX_API_KEY";

/// A running `payments sandbox`; dropping it kills it.
pub(super) struct Sandbox {
    process: Child,
    /// Kept open, because a sandbox may write to it as long as it runs.
    _stdout: BufReader<ChildStdout>,
    ready: Value,
}

impl Sandbox {
    /// Starts one with such a call, on a free port, and waits for its ready line.
    pub(super) fn start(call: &[String]) -> anyhow::Result<Self> {
        let (command, arguments) = call.split_first().context("a sandbox needs a command")?;
        let mut process = Command::new(command)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {command}"))?;
        let mut stdout = BufReader::new(process.stdout.take().expect("it was asked for"));
        let mut line = String::new();
        let read = stdout.read_line(&mut line);
        let mut sandbox = Self { process, _stdout: stdout, ready: Value::Null };
        read.context("cannot read the sandbox's ready line")?;
        sandbox.ready = serde_json::from_str(&line)
            .with_context(|| format!("the sandbox's first line is not the ready line: {line:?}"))?;
        Ok(sandbox)
    }

    /// What a program's environment says of this sandbox.
    pub(super) fn environment(&self) -> anyhow::Result<[(&'static str, &str); 2]> {
        let text = |name| self.ready[name].as_str().with_context(|| format!("the ready line has no {name}"));
        Ok([(BASE_URL, text("base_url")?), (API_KEY, text("api_key")?)])
    }

    /// Asks it to end, as a service manager would, and holds it to ending well.
    pub(super) fn stop(mut self, shell: &Shell) -> anyhow::Result<()> {
        let pid = self.process.id().to_string();
        cmd!(shell, "sh -c 'kill -TERM \"$0\"' {pid}").quiet().run()?;
        let status = self.process.wait()?;
        if !status.success() {
            bail!("the sandbox was asked to end and ended with {status}");
        }
        Ok(())
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        // Both fail for a process that has ended, which is what is wanted.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
