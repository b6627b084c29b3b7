//! How much of the rate of plain charges is left with a journal on the disk.

use super::{IN_FLIGHT, Rig, run};
use crate::report::{Goal, Report, Short};
use crate::statistics::SideBySide;

pub(super) fn measure(rig: &Rig<'_>, report: &mut Report) -> anyhow::Result<()> {
    let (server, rows) = (rig.sandbox()?, rig.plan.batch_rows);
    let folder = rig.folder()?;
    let file = Rig::billing_file(folder.path(), rows)?;
    let rate = |watched: run::Watched| f64::from(rows) / watched.time.as_secs_f64();
    let SideBySide { first, second, ratio } = SideBySide::measure(
        rig.plan.batch_turns,
        || Ok(rate(rig.batch(&server, rig.folder()?.path(), &file, IN_FLIGHT)?)),
        || Ok(rate(run::plain(&server, rows)?)),
    )?;
    let name = format!("batch run of {rows}, SQLite journal, in flight: {IN_FLIGHT}");
    let note = format!(
        "{} against {} per second, whole processes; {} turns, {} to {}",
        Short(first.median()),
        Short(second.median()),
        rig.plan.batch_turns,
        Short(ratio.least()),
        Short(ratio.most()),
    );
    report.figure(&name, ratio.median(), "of no journal", Goal::AtLeast(0.4), &note);
    Ok(())
}
