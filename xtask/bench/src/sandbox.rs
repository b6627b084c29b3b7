//! What a payment costs in `payments sandbox`, with a real process, real sockets and HTTP.

use std::path::Path;
use std::time::Duration;

use anyhow::ensure;
use xtask::Server;

use crate::load::{Burst, Load};
use crate::measure::{Turns, median};
use crate::process::{self, child, folder, memory_mib};
use crate::report::{Goal, Report, short};
use crate::responses::CARD_PAYMENT;

const MANY_CONNECTIONS: usize = 64;

pub(crate) fn measure(report: &mut Report) -> anyhow::Result<()> {
    ready(report)?;
    rate(report)?;
    full(report)
}

fn sandbox(data: Option<&Path>) -> anyhow::Result<Server> {
    let mut command = process::sandbox()?;
    if let Some(file) = data {
        command.arg("--data").arg(file);
    }
    Server::start(command)
}

/// The time from the start of the process to its ready line.
fn ready(report: &mut Report) -> anyhow::Result<()> {
    let many = report.amount(100_000, 100);
    let folder = folder()?;
    let full = folder.path().join("full");
    let filled = sandbox(Some(&full))?;
    let ids = fill(&filled, many)?;
    filled.end()?;
    let mut add = |name: String, goal, start: &dyn Fn(u32) -> anyhow::Result<Server>| {
        let times =
            (0..report.amount(21, 1)).map(|number| Ok(start(number)?.ready_after.as_secs_f64() * 1e3));
        let times = times.collect::<anyhow::Result<Vec<_>>>()?;
        report.add(name, median(times.into_iter()), "ms", Some(Goal::AtMost(goal)), "");
        anyhow::Ok(())
    };
    add("ready, in memory".to_owned(), 100.0, &|_| sandbox(None))?;
    let new_file = |start| folder.path().join(format!("new-{start}"));
    add("ready, --data, new file".to_owned(), 100.0, &|start| sandbox(Some(&new_file(start))))?;
    add(format!("ready, --data, {many} transactions"), 300.0, &|_| sandbox(Some(&full)))?;
    // The state has every payment.
    let server = sandbox(Some(&full))?;
    turn(report, &server, 1, [&ids[0], &ids[ids.len() - 1]].map(|id| lookup(&server, id)).into())?;
    Ok(())
}

/// Card payments, compared with a hyper server that does nothing.
fn rate(report: &mut Report) -> anyhow::Result<()> {
    for connections in [1, MANY_CONNECTIONS] {
        let (sandbox, bare) = (sandbox(None)?, Server::start(child(&["bare-server"])?)?);
        let rate = |server: &Server| Ok(turn(report, server, connections, vec![card_payment(server)])?.rate);
        let turns = Turns::take(report.amount(21, 1), || rate(&sandbox), || rate(&bare))?;
        let name = format!("POST in memory, connections: {connections}");
        report.add(name, turns.median(), "of bare hyper", Some(Goal::AtLeast(0.5)), turns.note());
    }
    Ok(())
}

/// How much memory each transaction adds, and whether a lookup among many takes longer.
fn full(report: &mut Report) -> anyhow::Result<()> {
    let (warm_up, few, many) =
        (report.amount(5_000, 20), report.amount(1_000, 10), report.amount(100_000, 100));
    let full = sandbox(None)?;
    fill(&full, warm_up)?;
    let resident = || memory_mib(full.id(), "VmRSS:");
    let before = resident()?;
    let ids = fill(&full, many)?;
    let each = (resident()? - before) * 1024.0 / f64::from(many);
    let note = format!("resident {} MiB before", short(before));
    report.add(format!("memory per transaction, over {many}"), each, "KiB", Some(Goal::AtMost(1.0)), note);

    let small = sandbox(None)?;
    let few_ids = fill(&small, few)?;
    // The same number of different transactions for both stores, in scattered order.
    let lookups = |server: &Server, ids: &[String]| -> Vec<_> {
        (0..few_ids.len()).map(|number| lookup(server, &ids[number * 7_919 % ids.len()])).collect()
    };
    let (of_many, of_few) = (lookups(&full, &ids), lookups(&small, &few_ids));
    let rate =
        |server: &Server, requests: &[_]| Ok(turn(report, server, MANY_CONNECTIONS, requests.to_vec())?.rate);
    let turns = Turns::take(report.amount(21, 1), || rate(&full, &of_many), || rate(&small, &of_few))?;
    let goal = Some(Goal::AtLeast(0.9));
    report.add(format!("GET among {many}"), turns.median(), "of among few", goal, turns.note());
    Ok(())
}

/// As many exchanges as fit into 200 ms.
fn turn(
    report: &Report,
    server: &Server,
    connections: usize,
    requests: Vec<Vec<u8>>,
) -> anyhow::Result<Burst> {
    let time = Duration::from_millis(if report.is_smoke() { 20 } else { 200 });
    Load { connections, requests, time, count: u32::MAX }.run(server)
}

/// Makes `count` card payments and returns their ids.
fn fill(server: &Server, count: u32) -> anyhow::Result<Vec<String>> {
    let time = Duration::from_mins(2);
    let load = Load { connections: MANY_CONNECTIONS, requests: vec![card_payment(server)], time, count };
    let ids = load.run(server)?.transaction_ids;
    ensure!(ids.len() == count as usize, "only {} of {count} payments in {time:?}", ids.len());
    Ok(ids)
}

fn card_payment(server: &Server) -> Vec<u8> {
    let (head, length) = (head(server, "POST", "transaction"), CARD_PAYMENT.len());
    format!("{head}Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{CARD_PAYMENT}").into()
}

fn lookup(server: &Server, id: &str) -> Vec<u8> {
    format!("{}\r\n", head(server, "GET", &format!("transaction/{id}"))).into()
}

fn head(server: &Server, method: &str, path: &str) -> String {
    let Server { address, api_key, .. } = server;
    format!(
        "{method} /api/v1/public/{path} HTTP/1.1\r\nHost: {address}\r\nAccept: application/json\r\n\
         Authorization: {api_key}\r\n"
    )
}
