//! Whether a long run stays small, and as fast as it began.

use super::{IN_FLIGHT, Rig};
use crate::report::{Goal, Report, Short};

pub(super) fn measure(rig: &Rig<'_>, report: &mut Report) -> anyhow::Result<()> {
    let (server, rows) = (rig.sandbox()?, rig.plan.long_run);
    let folder = rig.folder()?;
    let file = Rig::billing_file(folder.path(), rows)?;
    let watched = rig.batch(&server, folder.path(), &file, IN_FLIGHT)?;
    let name = format!("batch run of {rows}: most memory");
    match watched.peak_kib {
        Some(peak) => {
            let note = format!("{} per second", Short(f64::from(rows) / watched.time.as_secs_f64()));
            report.figure(&name, f64::from(peak) / 1024.0, "MiB", Goal::Below(64.0), &note);
        }
        None => report.not_measured(&name, "only Linux tells how much memory a process had"),
    }
    let name = format!("batch run of {rows}: rate of its last tenth");
    match watched.last_by_first() {
        Some(ratio) => report.figure(&name, ratio, "of its first", Goal::AtLeast(0.9), ""),
        None => report.not_measured(&name, "its results were not seen to grow"),
    }
    Ok(())
}
