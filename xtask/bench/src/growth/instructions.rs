//! What a call costs among so many in flight, each with a connection of its own.

use super::{Rig, server};
use crate::client_run::ClientRun;
use crate::report::{Goal, Report, Short};
use crate::valgrind::{self, Counted};

pub(super) fn measure(rig: &Rig<'_>, report: &mut Report) -> anyhow::Result<()> {
    let mut alone = None;
    for &in_flight in rig.plan.in_flight {
        let name = format!("instructions of a charge, in flight: {in_flight}");
        if !valgrind::is_installed() {
            report.not_measured(&name, valgrind::IS_MISSING);
            continue;
        }
        if rig.open_files < u64::from(in_flight) + OTHER_FILES {
            report.not_measured(&name, &format!("a process may open only {} files", rig.open_files));
            continue;
        }
        let per_call = per_call(rig, in_flight)?;
        let note = format!("{} instructions", Short(per_call));
        let alone = *alone.get_or_insert(per_call);
        report.figure(&name, per_call / alone, "of one alone", GOAL, &note);
    }
    Ok(())
}

/// Flat. That it becomes cheaper is not growth: many calls share one look for what has arrived.
const GOAL: Goal = Goal::AtMost(1.05);

/// What valgrind itself, the runtime and the words to the server need.
const OTHER_FILES: u64 = 64;

fn per_call(rig: &Rig<'_>, in_flight: u32) -> anyhow::Result<f64> {
    let server = server()?;
    let client = Counted::new(&rig.client, |calls| {
        let run = ClientRun {
            server: server.address(),
            calls,
            in_flight,
            warm_up: 0,
            connections: None,
            latencies: false,
        };
        run.arguments()
    });
    // Whole rounds, of which each caller makes one call.
    let few = rig.plan.counted_calls.div_ceil(in_flight) * in_flight;
    client.instructions_per_call(few, 3 * few)
}
