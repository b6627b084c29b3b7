//! How soon a sandbox is ready: from the start of its process to its ready line.

use std::path::Path;

use super::{Rig, WITHOUT_DATA};
use crate::report::{Goal, Report, Short};
use crate::server::Server;
use crate::statistics::Sample;

pub(super) fn measure(rig: &Rig<'_>, report: &mut Report) -> anyhow::Result<()> {
    let in_memory = ready_after(rig, |_| rig.sandbox())?;
    report_times(report, rig, "ready, in memory", &in_memory, GOAL_MS);

    let fresh = "ready, --data, new file";
    let full = format!("ready, --data, {} transactions", rig.plan.many);
    if !rig.keeps_data {
        report.not_measured(fresh, WITHOUT_DATA);
        report.not_measured(&full, WITHOUT_DATA);
        return Ok(());
    }
    let folder = rig.folder()?;
    let new_file = |start| rig.sandbox_with_data(&folder.path().join(format!("new-{start}")));
    let on_new_files = ready_after(rig, new_file)?;
    report_times(report, rig, fresh, &on_new_files, GOAL_MS);

    let file = folder.path().join("full");
    fill(rig, &file)?;
    let loaded = ready_after(rig, |_| rig.sandbox_with_data(&file))?;
    report_times(report, rig, &full, &loaded, GOAL_FULL_MS);
    Ok(())
}

const GOAL_MS: f64 = 100.0;
const GOAL_FULL_MS: f64 = 1_000.0;

fn ready_after(rig: &Rig<'_>, start: impl Fn(u32) -> anyhow::Result<Server>) -> anyhow::Result<Sample> {
    let starts = (0..rig.plan.starts).map(|number| Ok(start(number)?.ready_after()));
    Ok(starts.collect::<anyhow::Result<Vec<_>>>()?.into_iter().collect())
}

/// The process that fills the file is killed, so the first start after it also has what it left behind to put right.
fn fill(rig: &Rig<'_>, file: &Path) -> anyhow::Result<()> {
    let server = rig.sandbox_with_data(file)?;
    rig.fill(&server, rig.plan.many)?;
    Ok(())
}

fn report_times(report: &mut Report, rig: &Rig<'_>, name: &str, times: &Sample, goal_ms: f64) {
    let (least, most) = (Short(times.least()), Short(times.most()));
    let note = format!("median of {} starts, {least} to {most} ms", rig.plan.starts);
    report.figure(name, times.median(), "ms", Goal::Below(goal_ms), &note);
}
