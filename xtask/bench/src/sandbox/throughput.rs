//! How many card payments a sandbox takes, compared with an HTTP server that does nothing.

use super::spent::Spent;
use super::{MANY_CONNECTIONS, Rig, bare_server};
use crate::report::{Goal, Report, Short};
use crate::statistics::SideBySide;

pub(super) fn measure(rig: &Rig<'_>, report: &mut Report) -> anyhow::Result<()> {
    for connections in [1, MANY_CONNECTIONS] {
        let (sandbox, bare) = (rig.sandbox()?, bare_server()?);
        let (mut by_sandbox, mut by_bare) = (Spent::default(), Spent::default());
        let turns = SideBySide::measure(
            rig.plan.turns,
            || by_sandbox.count(&sandbox, || rig.payments_turn(&sandbox, connections)),
            || by_bare.count(&bare, || rig.payments_turn(&bare, connections)),
        )?;
        let SideBySide { first, second, ratio } = turns;
        let name = format!("POST /transaction, in memory, connections: {connections}");
        let note = format!(
            "{} against {} per second; turns {} to {}",
            Short(first.median()),
            Short(second.median()),
            Short(ratio.least()),
            Short(ratio.most()),
        );
        report.figure(&name, ratio.median(), "of bare hyper", Goal::AtLeast(GOAL), &note);
        let name = format!("processor time per payment, connections: {connections}");
        Spent::report(&by_sandbox, &by_bare, "bare hyper", &name, report);
    }
    Ok(())
}

/// Of the bare server's rate.
const GOAL: f64 = 0.5;
