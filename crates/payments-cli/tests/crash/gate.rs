//! When to kill: at what the run has done by then, not at a time.

use std::fs;
use std::hint::spin_loop;
use std::thread;

use fastrand::Rng;

use crate::command::{Batch, Desk};
use crate::service::Service;

/// A moment of a run, and how long after it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gate {
    sign: Sign,
    spins: u32,
}

#[derive(Clone, Copy, Debug)]
enum Sign {
    /// It was started.
    Started,
    /// The log of the journal's database has grown so often: a row was written, and is perhaps not sent yet.
    Written(usize),
    /// The service has received so many charges more.
    Received(usize),
    /// The results file has so many bytes more.
    Reported(u64),
}

impl Gate {
    /// One within the next `rows` charges of a run.
    pub(crate) fn any(rows: usize, chance: &mut Rng) -> Self {
        let some = chance.usize(1..=rows.max(1));
        let sign = match chance.u8(..10) {
            0 => Sign::Started,
            1..=4 => Sign::Written(some),
            5..=7 => Sign::Received(some),
            _ => Sign::Reported(some as u64 * 150),
        };
        // Up to some milliseconds where the build is not optimised.
        let magnitude = chance.u32(1..18);
        Self { sign, spins: chance.u32(..1 << magnitude) }
    }

    /// One of a run that reaches nobody, which soon only waits.
    pub(crate) fn of_an_outage(chance: &mut Rng) -> Self {
        Self { sign: Sign::Written(chance.usize(1..6)), spins: chance.u32(..1000) }
    }

    /// Waits for the moment, or for the end of the runs.
    pub(crate) fn wait(self, service: &mut Service, desk: &Desk, batches: &mut [Batch]) {
        let size = |path| fs::metadata(path).map_or(0, |metadata| metadata.len());
        let (results, log) = (desk.results(), desk.write_ahead_log());
        let (received, reported) = (service.received(), size(&results));
        let (mut last, mut grown) = (size(&log), 0);
        let mut has_come = || match self.sign {
            Sign::Started => true,
            Sign::Written(times) => {
                let now = size(&log);
                grown += usize::from(now > last);
                last = now;
                grown >= times
            }
            Sign::Received(more) => service.received() >= received + more,
            Sign::Reported(more) => size(&results) >= reported + more,
        };
        while !has_come() && !batches.iter_mut().all(Batch::has_ended) {
            thread::yield_now();
        }
        (0..self.spins).for_each(|_| spin_loop());
    }
}
