//! What a payment costs in `payments sandbox`: a real process, a real socket, the whole of HTTP.

mod durable;
mod look_up;
mod memory;
mod ready;
mod spent;
mod throughput;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use bytes::Bytes;

use crate::load::{Burst, Client, Load};
use crate::plan::Plan;
use crate::report::Report;
use crate::requests;
use crate::server::Server;

pub(crate) fn measure(plan: &Plan, report: &mut Report) -> anyhow::Result<()> {
    let rig = Rig::new(plan)?;
    ready::measure(&rig, report)?;
    throughput::measure(&rig, report)?;
    durable::measure(&rig, report)?;
    let stored = memory::measure(&rig, report)?;
    look_up::measure(&rig, &stored, report)
}

/// What every question about the sandbox needs.
struct Rig<'a> {
    plan: &'a Plan,
    client: Client,
    /// The `payments` command.
    payments: PathBuf,
    /// Why nothing can be measured with `--data`, if so.
    no_data: Option<&'static str>,
}

/// A server and the transactions that it was given.
struct Stored {
    server: Server,
    ids: Vec<String>,
}

impl<'a> Rig<'a> {
    fn new(plan: &'a Plan) -> anyhow::Result<Self> {
        let payments = this_program()?.with_file_name(format!("payments{}", std::env::consts::EXE_SUFFIX));
        let help = Command::new(&payments).args(["sandbox", "--help"]).output();
        let help = help.with_context(|| {
            format!("{} cannot be run: build it with `cargo build -p payments-cli`", payments.display())
        })?;
        let mut rig = Self { plan, client: Client::new()?, payments, no_data: None };
        if !String::from_utf8_lossy(&help.stdout).contains("--data") {
            rig.no_data = Some("this build has no --data");
        } else if !rig.writes_a_file()? {
            rig.no_data = Some("this build's --data writes no file");
        }
        Ok(rig)
    }

    fn writes_a_file(&self) -> anyhow::Result<bool> {
        let folder = self.folder()?;
        let file = folder.path().join("new");
        self.sandbox_with_data(&file)?;
        Ok(file.exists())
    }

    fn sandbox(&self) -> anyhow::Result<Server> {
        Server::start(&self.payments, &["sandbox"])
    }

    fn sandbox_with_data(&self, file: &Path) -> anyhow::Result<Server> {
        let file = file.to_str().context("the path of a temporary file is not UTF-8")?;
        Server::start(&self.payments, &["sandbox", "--data", file])
    }

    /// Where databases are put: beside the build, because a folder for temporary files may be in memory, where nothing
    /// is ever durable and everything is fast.
    fn folder(&self) -> anyhow::Result<tempfile::TempDir> {
        let build = self.payments.parent().context("a program is in a folder")?;
        Ok(tempfile::Builder::new().prefix("bench-").tempdir_in(build)?)
    }

    /// As much as can be had in the time of one turn.
    fn turn(&self, server: &Server, connections: usize, requests: Rc<[Bytes]>) -> anyhow::Result<Burst> {
        let time = self.plan.turn;
        let load = Load { connections, requests, time, count: u32::MAX, keep: None };
        let burst = self.client.run(server, &load)?;
        ensure!(burst.answers > 0, "{server} answered nothing within {time:?}");
        Ok(burst)
    }

    /// As many card payments as can be had in the time of one turn.
    fn payments_turn(&self, server: &Server, connections: usize) -> anyhow::Result<Burst> {
        self.turn(server, connections, [requests::card_payment(server)].into())
    }

    /// Looks transactions up, which must all be there.
    fn look_up(&self, server: &Server, ids: &[String]) -> anyhow::Result<()> {
        let requests: Rc<[_]> = ids.iter().map(|id| requests::look_up(server, id)).collect();
        let count = ids.len().try_into().context("so many look-ups are not made at once")?;
        let load = Load { connections: 1, requests, time: LONGEST_FILL, count, keep: None };
        self.client.run(server, &load)?;
        Ok(())
    }

    /// Makes this many card payments and gives their ids.
    fn fill(&self, server: &Server, count: u32) -> anyhow::Result<Vec<String>> {
        let load = Load {
            connections: MANY_CONNECTIONS,
            requests: [requests::card_payment(server)].into(),
            time: LONGEST_FILL,
            count,
            keep: Some(requests::transaction_id),
        };
        let Burst { answers, time, kept } = self.client.run(server, &load)?;
        ensure!(answers == count, "{server} took only {answers} of {count} payments within {time:?}");
        ensure!(kept.len() == count as usize, "{server} answered payments without a TransactionId");
        Ok(kept)
    }
}

fn bare_server() -> anyhow::Result<Server> {
    Server::start(&this_program()?, &["serve-bare"])
}

const MANY_CONNECTIONS: usize = 64;

const LONGEST_FILL: Duration = Duration::from_mins(1);

fn this_program() -> anyhow::Result<PathBuf> {
    std::env::current_exe().context("the path of this program is unknown")
}
