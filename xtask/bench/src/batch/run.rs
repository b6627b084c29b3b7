//! A process that charges, watched while it runs.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};

use super::{IN_FLIGHT, Rig, this_program};
use crate::server::Server;

/// A process that has ended well.
#[derive(Debug)]
pub(super) struct Watched {
    pub(super) time: Duration,
    /// The most memory that it ever had resident, in KiB; only Linux tells.
    pub(super) peak_kib: Option<u32>,
    /// When the results had which size.
    pub(super) growth: Vec<(Duration, u64)>,
}

impl Rig<'_> {
    /// The whole of `payments batch run`, from its start to its end.
    pub(super) fn batch(
        &self,
        server: &Server,
        folder: &Path,
        file: &Path,
        in_flight: u32,
    ) -> anyhow::Result<Watched> {
        let results = folder.join("results.jsonl");
        let mut command = Command::new(&self.payments);
        command.args(["batch", "run"]).arg(file);
        command.arg("--journal").arg(folder.join("journal.db")).arg("--results").arg(&results);
        command.args(["--concurrency", &in_flight.to_string(), "--base-url", &base_url(server)]);
        command.args(["--output", "json"]).env("PAYMENTS_API_KEY", server.api_key());
        watch(command, Some(&results))
    }
}

/// The same number of charges without a journal.
pub(super) fn plain(server: &Server, count: u32) -> anyhow::Result<Watched> {
    let mut command = Command::new(this_program()?);
    command.args(["charge-plain", &base_url(server), server.api_key()]);
    command.args([count.to_string(), IN_FLIGHT.to_string()]);
    watch(command, None)
}

fn base_url(server: &Server) -> String {
    format!("http://{}/api/v1/public", server.address())
}

fn watch(mut command: Command, results: Option<&Path>) -> anyhow::Result<Watched> {
    let said = tempfile::tempfile()?;
    command.stdin(Stdio::null()).stdout(said.try_clone()?).stderr(said.try_clone()?);
    for name in ["PAYMENTS_BASE_URL", "PAYMENTS_API_KEY_FILE", "PAYMENTS_PROFILE"] {
        command.env_remove(name);
    }
    let started = Instant::now();
    let mut process = command.spawn().context("a process that charges cannot be started")?;
    let mut watched = Watched { time: Duration::ZERO, peak_kib: None, growth: Vec::new() };
    let status = loop {
        watched.look(&process, results, started);
        if let Some(status) = process.try_wait()? {
            break status;
        }
        sleep(BETWEEN_LOOKS);
    };
    watched.time = started.elapsed();
    ensure!(status.success(), "a process that charges ended with {status} and said {:?}", read(said)?);
    Ok(watched)
}

/// Short beside what is measured, and long beside what looking costs.
const BETWEEN_LOOKS: Duration = Duration::from_millis(5);

impl Watched {
    fn look(&mut self, process: &Child, results: Option<&Path>, started: Instant) {
        // Once it has ended there is nothing to read any more.
        let status = fs::read_to_string(format!("/proc/{}/status", process.id()));
        self.peak_kib = status.ok().and_then(|status| peak_kib(&status)).or(self.peak_kib);
        let size = results.and_then(|path| fs::metadata(path).ok()).map(|metadata| metadata.len());
        if let Some(size) = size
            && self.growth.last().is_none_or(|(_, last)| *last < size)
        {
            self.growth.push((started.elapsed(), size));
        }
    }

    /// Rate of the last tenth of the results by the rate of the first.
    pub(super) fn last_by_first(&self) -> Option<f64> {
        let (_, all) = *self.growth.last()?;
        let begin = self.growth.iter().find(|(_, size)| *size > 0)?.0;
        let at = |part: u64| Some(self.growth.iter().find(|(_, size)| *size >= all / 10 * part)?.0);
        let end = self.growth.last()?.0;
        let (first, last) = (at(1)?.checked_sub(begin)?, end.checked_sub(at(9)?)?);
        Some(first.as_secs_f64() / last.as_secs_f64())
    }
}

fn peak_kib(status: &str) -> Option<u32> {
    status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok())
}

fn read(mut said: fs::File) -> anyhow::Result<String> {
    use std::io::{Read as _, Seek as _};
    let mut text = String::new();
    said.rewind()?;
    said.read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_becomes_slower_is_seen() {
        let watched = |growth: &[(u64, u64)]| {
            let growth = growth.iter().map(|(at, size)| (Duration::from_millis(*at), *size)).collect();
            Watched { time: Duration::ZERO, peak_kib: None, growth }
        };
        let steady: Vec<_> = (1..=100).map(|step| (100 + step * 10, step * 10)).collect();
        assert!((watched(&steady).last_by_first().unwrap() - 0.9).abs() < 0.05);
        let slower: Vec<_> = (1..=100).map(|step| (100 + step * step, step * 10)).collect();
        assert!(watched(&slower).last_by_first().unwrap() < 0.1);
        assert_eq!(watched(&[]).last_by_first(), None);
    }

    #[test]
    fn the_peak_is_found_among_the_rest() {
        assert_eq!(peak_kib("Name:\tpayments\nVmHWM:\t    9000 kB\nVmRSS:\t    4164 kB\n"), Some(9_000));
        assert_eq!(peak_kib("Name:\tpayments\n"), None);
    }
}
