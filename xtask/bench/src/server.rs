use std::fmt;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde_json::Value;

/// A server in a process of its own, which ends with this value. It says where it listens as `payments sandbox` does.
#[derive(Debug)]
pub(crate) struct Server {
    process: Child,
    /// Held open, or the server would meet a broken pipe.
    _stdout: BufReader<ChildStdout>,
    name: String,
    line: ReadyLine,
    ready_after: Duration,
}

impl Server {
    /// Starts the program and waits for its ready line.
    pub(crate) fn start(program: &Path, arguments: &[&str]) -> anyhow::Result<Self> {
        let name = format!("`{} {}`", program.display(), arguments.join(" "));
        let started = Instant::now();
        let mut process = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {name}"))?;
        let mut stdout = BufReader::new(process.stdout.take().expect("it was asked for"));
        let (report, reported) = mpsc::sync_channel(1);
        // A thread, because a pipe cannot be read with a deadline.
        thread::spawn(move || {
            let mut line = String::new();
            let read = stdout.read_line(&mut line);
            // Nobody listens once the deadline has passed.
            let _ = report.send(read.map(|_| (line, started.elapsed(), stdout)));
        });
        let line = match reported.recv_timeout(LONGEST_START) {
            Ok(Ok((line, ready_after, stdout))) => {
                ReadyLine::read(&line).map(|read| (read, ready_after, stdout))
            }
            Ok(Err(error)) => Err(error.into()),
            Err(_) => bail_after_kill(&mut process, &name)?,
        };
        match line {
            Ok((line, ready_after, stdout)) => Ok(Self { process, _stdout: stdout, name, line, ready_after }),
            Err(error) => {
                let said = last_words(&mut process);
                Err(error.context(format!("{name} gave no ready line and said {said:?}")))
            }
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.line.address
    }

    pub(crate) fn api_key(&self) -> &str {
        &self.line.api_key
    }

    /// From the start of the process to its ready line.
    pub(crate) fn ready_after(&self) -> Duration {
        self.ready_after
    }

    /// How much memory the process has resident, in KiB; only Linux tells.
    pub(crate) fn resident_kib(&self) -> Option<u32> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).ok()?;
        resident_kib(&status)
    }

    /// How long its threads have been running on a processor; only Linux tells.
    pub(crate) fn processor_time(&self) -> Option<Duration> {
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.process.id())).ok()?;
        let times = threads.map(|thread| {
            let statistics = std::fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
            Some(Duration::from_nanos(statistics.split(' ').next()?.parse().ok()?))
        });
        times.sum()
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// At once: what a server does at its end is not measured, and what it answered must outlive this.
impl Drop for Server {
    fn drop(&mut self) {
        // An error means that it has ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

const LONGEST_START: Duration = Duration::from_secs(30);

fn bail_after_kill<T>(process: &mut Child, name: &str) -> anyhow::Result<T> {
    let said = last_words(process);
    bail!("{name} was not ready within {LONGEST_START:?} and said {said:?}")
}

fn last_words(process: &mut Child) -> String {
    // Ended first, or its stderr would have no end.
    let _ = process.kill();
    let _ = process.wait();
    let mut words = String::new();
    if let Some(stderr) = &mut process.stderr {
        // What cannot be read was not said.
        let _ = stderr.read_to_string(&mut words);
    }
    words
}

/// The first line of a server.
#[derive(Debug, PartialEq, Eq)]
struct ReadyLine {
    address: SocketAddr,
    api_key: String,
}

impl ReadyLine {
    fn read(line: &str) -> anyhow::Result<Self> {
        let line: Value = serde_json::from_str(line).with_context(|| format!("not JSON: {line:?}"))?;
        let text = |name: &str| line[name].as_str().with_context(|| format!("no {name} in {line}"));
        let base_url = text("base_url")?;
        let authority = base_url.strip_prefix("http://").and_then(|rest| rest.split('/').next());
        let address = authority.and_then(|authority| authority.parse().ok());
        let address = address.with_context(|| format!("no IP address and port in {base_url}"))?;
        Ok(Self { address, api_key: text("api_key")?.to_owned() })
    }
}

fn resident_kib(status: &str) -> Option<u32> {
    status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB")?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_and_the_key_are_read_whatever_else_the_line_says() {
        let line = r#"{"base_url":"http://127.0.0.1:4012/api/v1/public","api_key":"k","seed":7}"#;
        let expected = ReadyLine { address: "127.0.0.1:4012".parse().unwrap(), api_key: "k".to_owned() };
        assert_eq!(ReadyLine::read(line).unwrap(), expected);
    }

    #[test]
    fn a_line_that_says_something_else_is_refused() {
        for line in [
            "",
            "ready",
            r#"{"base_url":"http://127.0.0.1:4012/api"}"#,
            r#"{"base_url":"https://127.0.0.1:4012/","api_key":"k"}"#,
            r#"{"base_url":"http://localhost/","api_key":"k"}"#,
        ] {
            assert!(ReadyLine::read(line).is_err(), "{line}");
        }
    }

    #[test]
    fn resident_memory_is_found_among_the_rest() {
        let status = "Name:\tpayments\nVmHWM:\t    9000 kB\nVmRSS:\t    4164 kB\nThreads:\t3\n";
        assert_eq!(resident_kib(status), Some(4_164));
        assert_eq!(resident_kib("Name:\tpayments\n"), None);
    }

    #[test]
    fn a_program_that_is_not_ready_is_told_with_what_it_said() {
        let error = Server::start(&std::env::current_exe().unwrap(), &["--no-such-flag"]).unwrap_err();
        let text = format!("{error:#}");
        assert!(text.contains("gave no ready line") && text.contains("no-such-flag"), "{text}");
    }
}
