use std::io::{BufReader, Read as _};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;

/// What one of the [`clients`](crate::clients) is to do in a process of its own. It charges cards.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClientRun {
    pub(crate) server: SocketAddr,
    /// Those that count, of all callers together; each caller makes the same number of them, one at a time.
    pub(crate) calls: u32,
    /// As many callers.
    pub(crate) in_flight: u32,
    /// Calls before those that count.
    pub(crate) warm_up: u32,
    /// The most connections that the client may have, where it can be told. All callers share them.
    pub(crate) connections: Option<u32>,
    /// Whether it is also told how long each call takes, which takes memory.
    pub(crate) latencies: bool,
}

impl ClientRun {
    /// The command line, the program aside.
    ///
    /// Every caller's first call is under way before the first is answered, so that what comes later finds connections open.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let Self { server, calls, in_flight, warm_up, connections, latencies } = self;
        let mut words = vec![server.to_string(), "charge".to_owned()];
        words.extend([calls.to_string(), in_flight.to_string(), "together".to_owned()]);
        words.push(format!("warm-up={warm_up}"));
        words.extend(connections.map(|count| format!("connections={count}")));
        words.extend(latencies.then(|| "latencies".to_owned()));
        words
    }

    /// Runs the program to its end.
    pub(crate) fn run(&self, program: &Path) -> anyhow::Result<Figures> {
        let mut process = Command::new(program)
            .args(self.arguments())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let mut stdout = BufReader::new(process.stdout.take().expect("it was asked for"));
        let (report, reported) = mpsc::sync_channel(1);
        // A thread, because a pipe cannot be read with a deadline.
        thread::spawn(move || {
            let mut text = String::new();
            let read = stdout.read_to_string(&mut text);
            // Nobody listens once the deadline has passed.
            let _ = report.send(read.map(|_| text));
        });
        let Ok(text) = reported.recv_timeout(LONGEST_RUN) else {
            // An error means that it has ended already.
            let _ = process.kill();
            let _ = process.wait();
            bail!("{} had not ended after {LONGEST_RUN:?}: {self:?}", program.display());
        };
        let status = process.wait()?;
        ensure!(status.success(), "{} ended with {status}: {self:?}", program.display());
        let text = text?;
        Figures::read(&text).with_context(|| format!("{} said {text:?}", program.display()))
    }
}

/// A million calls take some ten seconds, and twenty times that where many share a machine.
const LONGEST_RUN: Duration = Duration::from_mins(5);

/// What the calls of a run took, as the client says itself. Memory is of its whole process, in KiB; only Linux tells it.
#[derive(Debug)]
pub(crate) struct Figures {
    /// Per second.
    pub(crate) rate: f64,
    /// How much of that time it was on a processor, from 0 to 1, where it has one thread and the system tells.
    pub(crate) busy: Option<f64>,
    /// How long it was on a processor for each call, in microseconds, where that is known.
    pub(crate) on_core: Option<f64>,
    /// In microseconds.
    pub(crate) p99: f64,
    /// Resident once the callers are there and none has called.
    pub(crate) before: Option<f64>,
    /// Resident while all of them wait for their first answer.
    pub(crate) waiting: Option<f64>,
    /// The most that was ever resident by the time that all have it.
    pub(crate) peak_together: Option<f64>,
    /// The same after the calls that do not count.
    pub(crate) peak_warm: Option<f64>,
    /// The same at the end.
    pub(crate) peak: Option<f64>,
}

impl Figures {
    fn read(text: &str) -> anyhow::Result<Self> {
        let line: Value = serde_json::from_str(text)?;
        let known = |name: &str| line[name].as_f64();
        let number = |name: &str| known(name).with_context(|| format!("no {name}"));
        let (calls, seconds) = (number("calls")?, number("seconds")?);
        let busy = known("busy_seconds");
        Ok(Self {
            rate: calls / seconds,
            busy: busy.map(|busy| busy / seconds),
            on_core: busy.map(|busy| busy * 1e6 / calls),
            p99: number("p99_ns")? / 1e3,
            before: known("before_kib"),
            waiting: known("waiting_kib"),
            peak_together: known("peak_together_kib"),
            peak_warm: known("peak_warm_kib"),
            peak: known("peak_kib"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_says_is_read_in_the_units_that_are_told() {
        let line = r#"{"calls":500,"seconds":0.25,"busy_seconds":0.2,"p50_ns":1,"p99_ns":2500,"before_kib":7,"peak_kib":null}"#;
        let figures = Figures::read(line).unwrap();
        let is = |value: f64, expected: f64| (value - expected).abs() < 1e-9;
        assert!(is(figures.rate, 2_000.0) && is(figures.p99, 2.5) && is(figures.busy.unwrap(), 0.8));
        assert!(is(figures.on_core.unwrap(), 400.0));
        assert!(is(figures.before.unwrap(), 7.0) && figures.peak.is_none());
    }

    #[test]
    fn what_says_less_is_no_client() {
        assert!(Figures::read("").is_err());
        assert!(Figures::read(r#"{"calls":500,"p99_ns":1}"#).unwrap_err().to_string().contains("seconds"));
    }

    #[test]
    fn a_client_is_asked_for_no_more_than_is_wanted() {
        let server = "127.0.0.1:9".parse().unwrap();
        let run =
            ClientRun { server, calls: 9, in_flight: 3, warm_up: 6, connections: None, latencies: false };
        assert_eq!(run.arguments().join(" "), "127.0.0.1:9 charge 9 3 together warm-up=6");
        let run = ClientRun { connections: Some(2), latencies: true, ..run };
        assert!(run.arguments().join(" ").ends_with("warm-up=6 connections=2 latencies"));
    }

    #[test]
    fn a_program_that_fails_is_told() {
        let server = "127.0.0.1:9".parse().unwrap();
        let run =
            ClientRun { server, calls: 9, in_flight: 3, warm_up: 6, connections: None, latencies: false };
        assert!(run.run(Path::new("no-such-program")).unwrap_err().to_string().contains("cannot start"));
    }
}
