use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use crate::{Coverage, Ending};

/// What a simulation did and saw.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Figures {
    /// How many worlds there were, each with a service, clients and a clock of its own.
    pub worlds: u64,
    /// How many payments callers wanted to make; voids and look-ups come on top.
    pub charges: u64,
    /// How many calls of a client there were, of every operation.
    pub calls: u64,
    /// How many of them were of an intent whose call before was not processed.
    pub resends: u64,
    /// How many requests the transports were given.
    pub attempts: u64,
    /// How many whole requests the service received.
    pub received: u64,
    /// How many charges the ledgers show, voided ones included.
    pub charged: u64,
    /// How many voids they show.
    pub voided: u64,
    /// How many calls met a fault, of the service or of the wire.
    pub faults: u64,
    /// How many calls were held at a gate.
    pub held: u64,
    /// How often a clock jumped.
    pub jumps: u64,
    /// How many requests took effect after their callers had got an error.
    pub late: u64,
    /// How many calls were rejected by a service that had charged: the fake was told to lie, and no client can know.
    pub lies: u64,
    /// How many steps there were, with every promise checked after each.
    pub steps: u64,
    /// How much time passed in all worlds.
    pub virtual_time: Duration,
    /// How the calls ended, in the order of [`Ending::ALL`].
    pub endings: [u64; Ending::ALL.len()],
    /// How often each combination happened.
    pub coverage: Coverage,
    /// A number that two runs share only if the same happened in both, in the same order.
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
        self.lies += other.lies;
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
            "calls          {:>12}   {} of them sent again what was not processed",
            self.calls, self.resends
        )?;
        for (ending, count) in Ending::ALL.into_iter().zip(self.endings) {
            writeln!(f, "  {ending:<13}{count:>12}")?;
        }
        writeln!(f, "attempts       {:>12}   the service received {}", self.attempts, self.received)?;
        writeln!(f, "in the ledgers {:>12}   and {} voids", self.charged, self.voided)?;
        writeln!(f, "met a fault    {:>12}", self.faults)?;
        writeln!(f, "held at a gate {:>12}", self.held)?;
        writeln!(f, "clock jumps    {:>12}", self.jumps)?;
        writeln!(f, "late effects   {:>12}", self.late)?;
        writeln!(f, "service lied   {:>12}   said no and charged, as it was told to", self.lies)?;
        writeln!(f, "steps          {:>12}   every promise checked after each", self.steps)?;
        writeln!(f, "virtual time   {:>12.1} days", self.virtual_time.as_secs_f64() / 86_400.0)?;
        let (shown, all) = (
            self.coverage.required().filter(|(.., count)| *count > 0).count(),
            self.coverage.required().count(),
        );
        writeln!(f, "combinations   {shown:>12}   of {all} of operation, fault, phase and ending")?;
        write!(f, "digest         {:016x}", self.digest)
    }
}
