//! What a process keeps of calls that have ended.

use super::{ONLY_LINUX, Rig, server};
use crate::client_run::ClientRun;
use crate::report::{Goal, Report, Short};

pub(super) fn measure(rig: &Rig<'_>, report: &mut Report) -> anyhow::Result<()> {
    let (warm_up, calls) = (rig.plan.calls_before, rig.plan.many_calls);
    let name = format!("growth over {calls} calls");
    let server = server()?;
    let run = ClientRun {
        server: server.address(),
        calls,
        in_flight: IN_FLIGHT,
        warm_up,
        connections: None,
        latencies: false,
    };
    let figures = run.run(&rig.client)?;
    match figures.peak_warm.zip(figures.peak) {
        Some((before, after)) => {
            let note = format!(
                "most resident {} MiB after {warm_up} calls and {} MiB in all; in flight: {IN_FLIGHT}",
                Short(before / 1024.0),
                Short(after / 1024.0),
            );
            // The system adds up what its processors have counted only now and then, so that a peak can seem to fall.
            let growth = (after - before).max(0.0) / 1024.0;
            report.figure(&name, growth, "MiB", Goal::AtMost(1.0), &note);
        }
        None => report.not_measured(&name, ONLY_LINUX),
    }
    Ok(())
}

const IN_FLIGHT: u32 = 64;
