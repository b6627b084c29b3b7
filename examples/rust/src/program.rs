use std::env;
use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use payments_sandbox::BlockingSandbox;

/// The same example in another process, with a sandbox's address and API key in its environment.
#[derive(Debug)]
#[must_use = "a program does nothing until it is run"]
pub struct Program {
    command: Command,
}

impl Program {
    /// Whether this process is the program, and not the one that starts the sandbox.
    pub fn is_this_process() -> bool {
        env::var_os(MARK).is_some()
    }

    /// A program that pays at this sandbox.
    ///
    /// # Errors
    ///
    /// If the path of the example's own file is not available.
    pub fn with(sandbox: &BlockingSandbox) -> io::Result<Self> {
        let mut command = Command::new(env::current_exe()?);
        command.env(MARK, "1");
        command.env("PAYMENTS_BASE_URL", sandbox.base_url());
        command.env("PAYMENTS_API_KEY", sandbox.api_key());
        Ok(Self { command })
    }

    /// Adds a setting to its environment.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Starts the program without waiting for it.
    ///
    /// # Errors
    ///
    /// If it cannot be started.
    pub fn start(mut self) -> io::Result<Child> {
        self.command.spawn()
    }

    /// Runs the program, prints its output, and returns it line by line.
    ///
    /// # Errors
    ///
    /// If it cannot be started, or if it fails. A program that fails has printed why.
    #[allow(clippy::print_stdout, reason = "the reader sees the program's output")]
    pub fn run(mut self) -> io::Result<Vec<String>> {
        self.command.stdout(Stdio::piped());
        let mut program = self.command.spawn()?;
        let stdout = program.stdout.take().ok_or_else(|| io::Error::other("stdout is not a pipe"))?;
        let mut lines = Vec::new();
        for line in BufReader::new(stdout).lines() {
            let line = line?;
            println!("{line}");
            lines.push(line);
        }
        let status = program.wait()?;
        if !status.success() {
            return Err(io::Error::other(format!("the program failed: {status}")));
        }
        Ok(lines)
    }
}

/// Set in the program's environment only.
const MARK: &str = "PAYMENTS_EXAMPLE_PROGRAM";
