//! How soon a sandbox is ready: from the start of its process to its ready line.

use std::path::Path;

use anyhow::Context as _;

use super::Rig;
use crate::report::{Goal, Report, Short};
use crate::server::Server;
use crate::statistics::Sample;

pub(super) fn measure(rig: &Rig<'_>, report: &mut Report) -> anyhow::Result<()> {
    let in_memory = ready_after(rig, |_| rig.sandbox())?;
    report_times(report, rig, "ready, in memory", &in_memory, GOAL_MS);

    let fresh = "ready, --data, new file";
    let full = format!("ready, --data, {} transactions", rig.plan.many);
    if let Some(why) = rig.no_data {
        report.not_measured(fresh, why);
        report.not_measured(&full, why);
        return Ok(());
    }
    let folder = rig.folder()?;
    let new_file = |start| rig.sandbox_with_data(&folder.path().join(format!("new-{start}")));
    let on_new_files = ready_after(rig, new_file)?;
    report_times(report, rig, fresh, &on_new_files, GOAL_MS);

    let file = folder.path().join("full");
    let kept = fill(rig, &file)?;
    let loaded = ready_after(rig, |_| rig.sandbox_with_data(&file))?;
    let server = rig.sandbox_with_data(&file)?;
    rig.look_up(&server, &kept)
        .context("a sandbox lost payments that it had answered, in spite of --data")?;
    report_times(report, rig, &full, &loaded, GOAL_FULL_MS);
    Ok(())
}

const GOAL_MS: f64 = 100.0;
const GOAL_FULL_MS: f64 = 1_000.0;

fn ready_after(rig: &Rig<'_>, start: impl Fn(u32) -> anyhow::Result<Server>) -> anyhow::Result<Sample> {
    let starts = (0..rig.plan.starts).map(|number| Ok(start(number)?.ready_after()));
    Ok(starts.collect::<anyhow::Result<Vec<_>>>()?.into_iter().collect())
}

/// Gives the ids of the first and the last payment. The process that fills the file is killed, so the first start after
/// it also has what it left behind to put right.
fn fill(rig: &Rig<'_>, file: &Path) -> anyhow::Result<[String; 2]> {
    let server = rig.sandbox_with_data(file)?;
    let mut ids = rig.fill(&server, rig.plan.many)?;
    let last = ids.pop().context("no payment was made")?;
    Ok([ids.swap_remove(0), last])
}

fn report_times(report: &mut Report, rig: &Rig<'_>, name: &str, times: &Sample, goal_ms: f64) {
    let (least, most) = (Short(times.least()), Short(times.most()));
    let note = format!("median of {} starts, {least} to {most} ms", rig.plan.starts);
    report.figure(name, times.median(), "ms", Goal::Below(goal_ms), &note);
}
