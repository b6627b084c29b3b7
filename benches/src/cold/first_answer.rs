//! A client that is built in a fresh process, to its first answer over https, beside hyper-util over hyper-rustls.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};
use rustls::HandshakeKind;
use serde_json::Value;

use crate::clients;
use crate::https_server::HttpsServer;
use crate::plan::Plan;
use crate::report::{Goal, Report, Short};
use crate::statistics::SideBySide;

pub(super) fn measure(plan: &Plan, report: &mut Report) -> anyhow::Result<()> {
    let name = "client built and first https answer";
    if plan.cold_starts == 0 {
        report.not_measured(name, "it takes a release build of the clients");
        return Ok(());
    }
    let (ours, peer) = (clients::build("cold-payments")?, clients::build("cold-hyper-rustls")?);
    let server = HttpsServer::start()?;
    let folder = tempfile::tempdir()?;
    let root = folder.path().join("root.pem");
    std::fs::write(&root, server.root_pem())?;

    let SideBySide { first, second, ratio } = SideBySide::measure(
        plan.cold_starts,
        || milliseconds(&ours, &server, &root),
        || milliseconds(&peer, &server, &root),
    )?;
    let resumed = server.handshakes().iter().filter(|kind| **kind != HandshakeKind::Full).count();
    ensure!(resumed == 0, "{resumed} handshakes were not whole ones, as those of a fresh process are");
    let note = format!(
        "{} against {} ms; {} fresh processes each; by turn from {} to {}",
        Short(first.median()),
        Short(second.median()),
        plan.cold_starts,
        Short(ratio.least()),
        Short(ratio.most()),
    );
    report.figure(name, ratio.median(), "of hyper-rustls", Goal::AtMost(1.2), &note);
    Ok(())
}

/// What the program says that it took, in a process of its own.
fn milliseconds(program: &Path, server: &HttpsServer, root: &Path) -> anyhow::Result<f64> {
    let output = Command::new(program).arg(server.address().to_string()).arg(root).output()?;
    ensure!(
        output.status.success(),
        "{} ended with {} and said {}",
        program.display(),
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    let said: Value = serde_json::from_slice(&output.stdout).context("a client's line is JSON")?;
    Ok(said["seconds"].as_f64().context("a client says what it took")? * 1e3)
}
