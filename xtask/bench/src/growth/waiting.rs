//! What a call holds from its start to its end where there are far more calls than connections, so that nearly all of them
//! wait for their turn.

use super::{ONLY_LINUX, Rig, server};
use crate::client_run::{ClientRun, Figures};
use crate::report::{Goal, Report, Short};

pub(super) fn measure(rig: &Rig<'_>, report: &mut Report) -> anyhow::Result<()> {
    let many = rig.plan.waiting;
    let name = format!("memory of a call, in flight: {many}");
    let (most, least) = (run(rig, many)?, run(rig, CONNECTIONS)?);
    // As many calls as connections show what those cost, and the rest of what a process needs once.
    let each =
        |of: fn(&Figures) -> Option<f64>| Some((of(&most)? - of(&least)?) / f64::from(many - CONNECTIONS));
    match (each(at_peak), each(at_rest)) {
        (Some(at_peak), Some(at_rest)) => {
            let note =
                format!("at the peak, over {CONNECTIONS} connections; {} KiB while all wait", Short(at_rest));
            report.figure(&name, at_peak, "KiB", Goal::AtMost(12.0), &note);
        }
        _ => report.not_measured(&name, ONLY_LINUX),
    }
    Ok(())
}

/// How much more was resident than before the first call, at most.
fn at_peak(figures: &Figures) -> Option<f64> {
    Some(figures.peak_together? - figures.before?)
}

/// The same while no answer has come.
fn at_rest(figures: &Figures) -> Option<f64> {
    Some(figures.waiting? - figures.before?)
}

const CONNECTIONS: u32 = 64;

fn run(rig: &Rig<'_>, in_flight: u32) -> anyhow::Result<Figures> {
    let server = server()?;
    let run = ClientRun {
        server: server.address(),
        // Those that are held are enough.
        calls: 0,
        in_flight,
        warm_up: 0,
        connections: Some(CONNECTIONS),
        latencies: false,
    };
    run.run(&rig.client)
}
