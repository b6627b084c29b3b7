//! A client that is built in a fresh process, to its first answer over https, beside hyper-util over hyper-rustls.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};
use rustls::HandshakeKind;
use serde_json::Value;
use tempfile::TempDir;

use crate::clients;
use crate::cores::{Cores, Side};
use crate::https_server::HttpsServer;
use crate::plan::Plan;
use crate::report::{Cell, Goal, Report, Short, Table};
use crate::statistics::SideBySide;

pub(super) fn measure(plan: &Plan, report: &mut Report) -> anyhow::Result<()> {
    let name = "client built and first https answer";
    if let Err(why) = clients::are_compared() {
        report.not_measured(name, why);
        return Ok(());
    }
    let (ours, peer) = (clients::build("cold-payments")?, clients::build("cold-hyper-rustls")?);
    let rig = Rig::new()?;
    let SideBySide { first, second, ratio } =
        SideBySide::measure(plan.cold_starts, || rig.milliseconds(&ours), || rig.milliseconds(&peer))?;
    let mut table = Table::new("A fresh process: client built and first https answer", &["client", "ms"]);
    table.peer("hyper-util, hyper-rustls, serde", [Cell::from(&second)]);
    table.ours("this SDK", [Cell::from(&first)]);
    report.table(table);
    let note = format!(
        "by turn from {} to {}; {} processes each, {}",
        Short(ratio.least()),
        Short(ratio.most()),
        plan.cold_starts,
        rig.cores.note(),
    );
    report.figure(name, ratio.median(), "of hyper-rustls", Goal::AtMost(1.1), &note);
    Ok(())
}

struct Rig {
    cores: Cores,
    server: HttpsServer,
    root: PathBuf,
    _folder: TempDir,
}

impl Rig {
    fn new() -> anyhow::Result<Self> {
        let cores = Cores::apart();
        let server = cores.start(Side::Server, HttpsServer::start)?;
        let folder = tempfile::tempdir()?;
        let root = folder.path().join("root.pem");
        std::fs::write(&root, server.root_pem())?;
        Ok(Self { cores, server, root, _folder: folder })
    }

    /// What a client says that it took, in a process of its own.
    fn milliseconds(&self, client: &Path) -> anyhow::Result<f64> {
        let mut command = Command::new(client);
        command.arg(self.server.address().to_string()).arg(&self.root);
        let output = self.cores.start(Side::Client, || Ok(command.output()?))?;
        ensure!(
            output.status.success(),
            "{} ended with {} and said {}",
            client.display(),
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
        let last = self.server.handshakes().last().copied();
        ensure!(
            last == Some(HandshakeKind::Full),
            "a fresh process has no session to resume, and yet: {last:?}"
        );
        let said: Value = serde_json::from_slice(&output.stdout).context("a client's line is JSON")?;
        Ok(said["seconds"].as_f64().context("a client says what it took")? * 1e3)
    }
}
