//! When to kill a run: after some progress, not after some time.

use std::fs;
use std::hint::spin_loop;
use std::thread;

use fastrand::Rng;

use crate::command::Workspace;
use crate::service::Service;
use crate::support::Running;

/// Some progress of a run, and a delay after it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KillPoint {
    progress: Progress,
    spins: u32,
}

#[derive(Clone, Copy, Debug)]
enum Progress {
    Started,
    /// The journal's write-ahead log has grown this often: a row was written and may not be sent yet.
    Written(usize),
    /// The service has received this many more charges.
    Received(usize),
    /// The results file has grown by this many bytes.
    Reported(u64),
}

impl KillPoint {
    /// A random point within the next `rows` charges of a run.
    pub(crate) fn random(rows: usize, chance: &mut Rng) -> Self {
        let some = chance.usize(1..=rows.max(1));
        let progress = match chance.u8(..10) {
            0 => Progress::Started,
            1..=4 => Progress::Written(some),
            5..=7 => Progress::Received(some),
            _ => Progress::Reported(some as u64 * 150),
        };
        // Up to some milliseconds in a debug build.
        let magnitude = chance.u32(1..18);
        Self { progress, spins: chance.u32(..1 << magnitude) }
    }

    /// A point of a run without a service, which makes little progress.
    pub(crate) fn during_outage(chance: &mut Rng) -> Self {
        Self { progress: Progress::Written(chance.usize(1..6)), spins: chance.u32(..1000) }
    }

    /// Waits for this point, or until all runs have ended.
    pub(crate) fn wait(self, service: &mut Service, workspace: &Workspace, batches: &mut [Running]) {
        let size = |path| fs::metadata(path).map_or(0, |metadata| metadata.len());
        let (results, log) = (workspace.results(), workspace.write_ahead_log());
        let (received, reported) = (service.received(), size(&results));
        let (mut last, mut grown) = (size(&log), 0);
        let mut is_reached = || match self.progress {
            Progress::Started => true,
            Progress::Written(times) => {
                let now = size(&log);
                grown += usize::from(now > last);
                last = now;
                grown >= times
            }
            Progress::Received(more) => service.received() >= received + more,
            Progress::Reported(more) => size(&results) >= reported + more,
        };
        while !is_reached() && !batches.iter_mut().all(Running::has_ended) {
            thread::yield_now();
        }
        (0..self.spins).for_each(|_| spin_loop());
    }
}
