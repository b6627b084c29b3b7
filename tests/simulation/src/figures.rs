use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use crate::{Coverage, Ending};

/// The result of a simulation, in numbers.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Figures {
    /// Worlds, each with its own service, clients and clock.
    pub worlds: u64,
    /// Payments that callers wanted to make, not counting voids and lookups.
    pub charges: u64,
    /// Client calls, of every operation.
    pub calls: u64,
    /// Calls that repeat an intent whose previous call was not processed.
    pub resends: u64,
    /// Requests that the transports received.
    pub attempts: u64,
    /// Complete requests that the service received.
    pub received: u64,
    /// Charges in the ledgers, including voided ones.
    pub charged: u64,
    /// Voids in the ledgers.
    pub voided: u64,
    /// Calls with a fault of the service or of the wire.
    pub faults: u64,
    /// Calls held at a gate.
    pub held: u64,
    /// Clock jumps.
    pub jumps: u64,
    /// Requests that took effect after their callers had received an error.
    pub late: u64,
    /// Calls rejected by a service that had charged, because the fake was set to do so. No client can detect it.
    pub false_rejections: u64,
    /// Steps. All invariants are checked after each.
    pub steps: u64,
    /// Virtual time that passed in all worlds.
    pub virtual_time: Duration,
    /// How the calls ended, in the order of [`Ending::ALL`].
    pub endings: [u64; Ending::ALL.len()],
    /// How often each combination occurred.
    pub coverage: Coverage,
    /// Equal in two runs only if the same events happened in the same order.
    pub digest: u64,
}

impl Figures {
    pub(crate) fn add(&mut self, other: &Self) {
        self.worlds += other.worlds;
        self.charges += other.charges;
        self.calls += other.calls;
        self.resends += other.resends;
        self.attempts += other.attempts;
        self.received += other.received;
        self.charged += other.charged;
        self.voided += other.voided;
        self.faults += other.faults;
        self.held += other.held;
        self.jumps += other.jumps;
        self.late += other.late;
        self.false_rejections += other.false_rejections;
        self.steps += other.steps;
        self.virtual_time += other.virtual_time;
        self.endings.iter_mut().zip(other.endings).for_each(|(own, count)| *own += count);
        self.coverage.add(&other.coverage);
        let mut digest = DefaultHasher::new();
        (self.digest, other.digest).hash(&mut digest);
        self.digest = digest.finish();
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "charges        {:>12}   in {} worlds", self.charges, self.worlds)?;
        writeln!(
            f,
            "calls          {:>12}   including {} repeated because they were not processed",
            self.calls, self.resends
        )?;
        for (ending, count) in Ending::ALL.into_iter().zip(self.endings) {
            writeln!(f, "  {ending:<13}{count:>12}")?;
        }
        writeln!(f, "attempts       {:>12}   the service received {}", self.attempts, self.received)?;
        writeln!(f, "charged        {:>12}   and {} voids, in the ledgers", self.charged, self.voided)?;
        writeln!(f, "with a fault   {:>12}", self.faults)?;
        writeln!(f, "held at a gate {:>12}", self.held)?;
        writeln!(f, "clock jumps    {:>12}", self.jumps)?;
        writeln!(f, "late effects   {:>12}", self.late)?;
        writeln!(
            f,
            "false rejections{:>11}   the service charged and rejected, as configured",
            self.false_rejections
        )?;
        writeln!(f, "steps          {:>12}   all invariants checked after each", self.steps)?;
        writeln!(f, "virtual time   {:>12.1} days", self.virtual_time.as_secs_f64() / 86_400.0)?;
        let (shown, all) = (
            self.coverage.required().filter(|(.., count)| *count > 0).count(),
            self.coverage.required().count(),
        );
        writeln!(f, "combinations   {shown:>12}   of {all} of operation, fault, phase and ending")?;
        write!(f, "digest         {:016x}", self.digest)
    }
}
