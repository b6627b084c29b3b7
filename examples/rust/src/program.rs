use std::env;
use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use payments_sandbox::BlockingSandbox;

/// This example once more, in a process of its own, with a sandbox's address and key in its environment.
#[derive(Debug)]
#[must_use = "a program does nothing until it is run"]
pub struct Program {
    command: Command,
}

impl Program {
    /// Whether this process is the program, and not the stage that it is run on.
    pub fn is_this_process() -> bool {
        env::var_os(MARK).is_some()
    }

    /// The program, which is to pay to this sandbox.
    ///
    /// # Errors
    ///
    /// If the operating system does not say where the example's own file is.
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

    /// Starts it, and does not wait for it.
    ///
    /// # Errors
    ///
    /// If it cannot be started.
    pub fn start(mut self) -> io::Result<Child> {
        self.command.spawn()
    }

    /// Runs it to its end, shows what it says, and gives that back line by line.
    ///
    /// # Errors
    ///
    /// If it cannot be started, or if it fails: it has said why itself.
    #[allow(clippy::print_stdout, reason = "what a program says is for the reader")]
    pub fn run(mut self) -> io::Result<Vec<String>> {
        self.command.stdout(Stdio::piped());
        let mut program = self.command.spawn()?;
        let said = program.stdout.take().ok_or_else(|| io::Error::other("a pipe has an end to read from"))?;
        let mut lines = Vec::new();
        for line in BufReader::new(said).lines() {
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

/// The variable that is set for the program alone.
const MARK: &str = "PAYMENTS_EXAMPLE_PROGRAM";
