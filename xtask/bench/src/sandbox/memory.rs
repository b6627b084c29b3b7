//! How much larger the process becomes with each transaction.

use super::{Rig, Stored};
use crate::report::{Goal, Report, Short};

/// Gives the server that was filled, for questions about a full one.
pub(super) fn measure(rig: &Rig<'_>, report: &mut Report) -> anyhow::Result<Stored> {
    let name = format!("memory per transaction, over {}", rig.plan.many);
    let server = rig.sandbox()?;
    rig.fill(&server, rig.plan.warm_up)?;
    let before = server.resident_kib();
    let ids = rig.fill(&server, rig.plan.many)?;
    match (before, server.resident_kib()) {
        (Some(before), Some(after)) => {
            let per_transaction = (f64::from(after) - f64::from(before)) / f64::from(rig.plan.many);
            let note = format!(
                "resident {} MiB after {}, then {} MiB",
                Short(f64::from(before) / 1024.0),
                rig.plan.warm_up,
                Short(f64::from(after) / 1024.0),
            );
            report.figure(&name, per_transaction, "KiB", Goal::AtMost(1.0), &note);
        }
        _ => report.not_measured(&name, "only Linux tells how much memory a process has"),
    }
    Ok(Stored { server, ids })
}
