//! How the rate of a billing run with one PostgreSQL journal grows with the number of processes that share its rows.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, ensure};
use payments_postgres_for_tests::Server as Postgres;

use crate::batch::billing_run;
use crate::process::{Server, folder, payments};
use crate::report::{Goal, Report};

/// For each process: few enough that the service's 200 ms are the limit and not this machine.
const IN_FLIGHT: u32 = 8;

pub(crate) fn measure(report: &mut Report) -> anyhow::Result<()> {
    let folder = folder()?;
    let fixtures = folder.path().join("slow.json");
    fs::write(&fixtures, SLOW)?;
    let mut command = Command::new(payments()?);
    command.args(["sandbox", "--log", "off", "--fixtures"]).arg(fixtures);
    let service = Server::start(command)?;
    let rows = report.amount(1600, 16);
    let mut alone = None;
    for processes in [1, 2, 4] {
        let per_second = rate(&service, rows, processes)?;
        let alone = *alone.get_or_insert(per_second);
        let goal = (processes > 1).then_some(Goal::AtLeast(0.8 * f64::from(processes)));
        let name = format!("{processes} processes, {IN_FLIGHT} in flight each");
        report.add(name, per_second / alone, "of one process", goal, format!("{per_second:.0} rows/s"));
    }
    Ok(())
}

/// Delays every response by 200 ms.
const SLOW: &str = r#"{"faults": [
    {"operation": "token-transaction", "phase": "before_commit", "kind": "delay", "delay_ms": 200, "times": 1000000}
]}"#;

/// Rows per second of one file, from the start of the first process to the end of the last.
fn rate(service: &Server, rows: u32, processes: u32) -> anyhow::Result<f64> {
    let postgres = Postgres::start().context("no PostgreSQL is installed")?;
    // Each process has its own folder and file, as on a separate machine.
    let folders = (0..processes).map(|_| folder()).collect::<anyhow::Result<Vec<_>>>()?;
    let runs =
        folders.iter().map(|it| billing_run(service, it.path(), Some(&postgres.url()), rows, IN_FLIGHT));
    let mut runs = runs.collect::<anyhow::Result<Vec<_>>>()?;
    let started = Instant::now();
    let processes =
        runs.iter_mut().map(|it| it.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn());
    for mut process in processes.collect::<Result<Vec<_>, _>>()? {
        let status = process.wait()?;
        ensure!(status.success(), "a billing run ended with {status}");
    }
    Ok(f64::from(rows) / started.elapsed().as_secs_f64())
}
