//! What the journal costs a billing run, and whether a long run keeps its memory use and its rate.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
use payments_core::{ApiKey, Endpoint};
use payments_journal::SqliteStore;
use tokio::runtime;
use tokio::task::JoinSet;
use xtask::Server;

use crate::measure::Turns;
use crate::process::{self, child, folder, memory_mib, payments, watch};
use crate::report::{Goal, Report};

const IN_FLIGHT: u32 = 64;

/// The sandbox always approves it.
const TOKEN: &str = "tok_approved";

pub(crate) fn measure(report: &mut Report) -> anyhow::Result<()> {
    let server = Server::start(process::sandbox()?)?;
    rate(report, &server)?;
    commits(report, &server)?;
    length(report, &server)
}

/// The rate with a journal on disk, relative to charges without a journal.
fn rate(report: &mut Report, server: &Server) -> anyhow::Result<()> {
    let rows = report.amount(20_000, 20);
    let per_second = |time: Duration| Ok(f64::from(rows) / time.as_secs_f64());
    let plain = || {
        let arguments = ["plain-charges", &server.base_url, &server.api_key, &rows.to_string()];
        per_second(watch(child(&arguments)?, |_| ())?)
    };
    let journaled = || {
        let folder = folder()?;
        per_second(watch(billing_run(server, folder.path(), rows, IN_FLIGHT)?, |_| ())?)
    };
    let turns = Turns::take(report.amount(5, 1), journaled, plain)?;
    let name = format!("batch of {rows}, SQLite journal, {IN_FLIGHT} in flight");
    report.add(name, turns.median(), "of no journal", Some(Goal::AtLeast(0.4)), turns.note());
    Ok(())
}

/// How many durable commits each charge needs, one charge at a time.
fn commits(report: &mut Report, server: &Server) -> anyhow::Result<()> {
    // Few enough that SQLite does not restart the write-ahead log meanwhile.
    let charges = 50;
    let folder = folder()?;
    // Closing the last connection would remove the log.
    let kept_open = SqliteStore::open(folder.path().join("journal.db"))?;
    let log = folder.path().join("journal.db-wal");
    let before = commits_in(&fs::read(&log)?).context("the journal's log is not in SQLite's format")?;
    watch(billing_run(server, folder.path(), charges, 1)?, |_| ())?;
    let after = commits_in(&fs::read(&log)?).context("the journal's log is not in SQLite's format")?;
    drop(kept_open);
    // Opening the journal restarts its log if no other connection is active.
    let earlier = if before.salt == after.salt { before.count } else { 0 };
    let each = f64::from(after.count - earlier) / f64::from(charges);
    report.add("durable commits for each charge", each, "", Some(Goal::AtMost(2.0)), "one at a time");
    Ok(())
}

/// The commits in a write-ahead log since its last restart.
#[derive(Debug, Default, PartialEq)]
struct Commits {
    salt: [u8; 8],
    count: u32,
}

/// A frame that states the size of the database ends a commit: <https://www.sqlite.org/fileformat2.html#the_write_ahead_log>.
fn commits_in(log: &[u8]) -> Option<Commits> {
    if log.is_empty() {
        return Some(Commits::default());
    }
    let page = usize::try_from(u32::from_be_bytes(log.get(8..12)?.try_into().ok()?)).ok()?;
    let salt: [u8; 8] = log.get(16..24)?.try_into().ok()?;
    let frames = log.get(32..)?.chunks_exact(24 + page).take_while(|frame| frame[8..16] == salt);
    let count = frames.filter(|frame| frame[4..8] != [0; 4]).count();
    Some(Commits { salt, count: u32::try_from(count).ok()? })
}

/// Whether a long run keeps its memory use and its rate.
fn length(report: &mut Report, server: &Server) -> anyhow::Result<()> {
    let rows = report.amount(100_000, 100);
    let folder = folder()?;
    let results = folder.path().join("results.jsonl");
    // The size of the results over time.
    let (mut growth, mut peak) = (Vec::new(), 0_f64);
    let started = Instant::now();
    watch(billing_run(server, folder.path(), rows, IN_FLIGHT)?, |process| {
        // The process may already have ended.
        peak = peak.max(memory_mib(process, "VmHWM:").unwrap_or_default());
        let size = fs::metadata(&results).map_or(0, |metadata| metadata.len());
        growth.push((started.elapsed(), size));
    })?;
    report.add(format!("batch of {rows}, most memory"), peak, "MiB", Some(Goal::AtMost(64.0)), "");
    let ratio = last_tenth_by_first(&growth).unwrap_or(f64::NAN);
    let name = format!("batch of {rows}, rate of its last tenth");
    report.add(name, ratio, "of its first", Some(Goal::AtLeast(0.9)), "");
    Ok(())
}

fn last_tenth_by_first(growth: &[(Duration, u64)]) -> Option<f64> {
    let all = growth.last()?.1;
    let when = |size: u64| Some(growth.iter().find(|(_, then)| *then >= size.max(1))?.0.as_secs_f64());
    Some((when(all / 10)? - when(1)?) / (when(all)? - when(all / 10 * 9)?))
}

/// Writes a billing file of `rows` valid rows and returns the command that runs it. The journal is a file in `folder`.
fn billing_run(server: &Server, folder: &Path, rows: u32, in_flight: u32) -> anyhow::Result<Command> {
    let mut text = String::from("Key,TokenId,GatewayCustomerId,Amount,ConvenienceFeeActive,ReferenceNo\n");
    for row in 0..rows {
        let (whole, cents) = (1 + row % 900, row % 100);
        writeln!(text, "invoice-2026-{row:07},{TOKEN},gc_1,{whole}.{cents:02},false,order {row:07}")?;
    }
    let file = |name: &str| -> PathBuf { folder.join(name) };
    fs::write(file("billing.csv"), text)?;
    let mut command = Command::new(payments()?);
    command.args(["batch", "run"]).arg(file("billing.csv"));
    command.arg("--journal").arg(file("journal.db")).arg("--results").arg(file("results.jsonl"));
    command.args(["--concurrency", &in_flight.to_string(), "--base-url", &server.base_url]);
    command.args(["--output", "json"]).env("PAYMENTS_API_KEY", &server.api_key);
    for name in ["PAYMENTS_BASE_URL", "PAYMENTS_API_KEY_FILE"] {
        command.env_remove(name);
    }
    Ok(command)
}

/// Makes the same charges with the client alone, without a journal, with as many in flight.
pub(crate) fn charge_plainly(base_url: &str, api_key: &str, count: u32) -> anyhow::Result<()> {
    let endpoint = Endpoint::new(base_url, ApiKey::new(api_key)?)?;
    runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async move {
        let client = payments_hyper::client(endpoint)?;
        let next = std::sync::Arc::new(AtomicU32::new(0));
        let mut all = JoinSet::new();
        for _ in 0..IN_FLIGHT {
            let (client, next) = (client.clone(), std::sync::Arc::clone(&next));
            all.spawn(async move {
                loop {
                    let row = next.fetch_add(1, Ordering::Relaxed);
                    if row >= count {
                        return anyhow::Ok(());
                    }
                    client.process_token(&payment(row)?).await?;
                }
            });
        }
        while let Some(ended) = all.join_next().await {
            ended??;
        }
        Ok(())
    })
}

/// The same payment as this row of the billing file.
fn payment(row: u32) -> anyhow::Result<TokenTransaction> {
    let cents = i64::from((1 + row % 900) * 100 + row % 100);
    let builder = TokenTransaction::builder(TOKEN, Amount::from_cents(cents), ConvenienceFee::Inactive);
    Ok(builder.gateway_customer_id("gc_1").reference_no(format!("order {row:07}")).build()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_frame_of_each_current_commit_counts() {
        let frame = |size: u32, salt: u8| {
            let head = [[0, 0, 0, 1], size.to_be_bytes(), [salt; 4], [salt; 4], [0; 4], [0; 4]];
            [head.concat(), vec![9; 512]].concat()
        };
        let mut header = vec![0; 32];
        header[8..12].copy_from_slice(&512_u32.to_be_bytes());
        header[16..24].copy_from_slice(&[7; 8]);
        let log = [header, frame(0, 7), frame(2, 7), frame(3, 7), frame(4, 6)].concat();
        assert_eq!(commits_in(&log), Some(Commits { salt: [7; 8], count: 2 }));
        assert_eq!(commits_in(&[1; 31]), None);
    }

    #[test]
    fn a_run_that_slows_down_is_detected() {
        let ratio = |time: fn(u64) -> u64| {
            let growth: Vec<_> =
                (1..=100).map(|step| (Duration::from_millis(time(step)), step * 10)).collect();
            last_tenth_by_first(&growth).unwrap()
        };
        assert!((ratio(|step| step * 10) - 0.9).abs() < 0.05);
        assert!(ratio(|step| step * step) < 0.1);
    }
}
