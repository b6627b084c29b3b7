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
    /// How often each combination occurred.
    pub coverage: Coverage,
    /// Equal in two runs only if the same events happened in the same order.
    pub digest: u64,
}

type Count = (&'static str, fn(&mut Figures) -> &mut u64);

const COUNTS: [Count; 13] = [
    ("worlds", |it| &mut it.worlds),
    ("charges", |it| &mut it.charges),
    ("calls repeated", |it| &mut it.resends),
    ("attempts", |it| &mut it.attempts),
    ("received", |it| &mut it.received),
    ("in the ledgers", |it| &mut it.charged),
    ("voids", |it| &mut it.voided),
    ("with a fault", |it| &mut it.faults),
    ("held at a gate", |it| &mut it.held),
    ("clock jumps", |it| &mut it.jumps),
    ("late effects", |it| &mut it.late),
    ("charged and rejected", |it| &mut it.false_rejections),
    ("steps, all checked", |it| &mut it.steps),
];

impl Figures {
    pub(crate) fn add(&mut self, mut other: Self) {
        for (_, count) in COUNTS {
            *count(self) += *count(&mut other);
        }
        self.virtual_time += other.virtual_time;
        self.coverage.add(&other.coverage);
        let mut digest = DefaultHasher::new();
        (self.digest, other.digest).hash(&mut digest);
        self.digest = digest.finish();
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut figures = self.clone();
        for (name, count) in COUNTS {
            writeln!(f, "{name:<20}{:>12}", count(&mut figures))?;
        }
        for ending in Ending::ALL {
            writeln!(f, "calls {ending:<14}{:>12}", self.coverage.ended(ending))?;
        }
        writeln!(f, "virtual time        {:>12.1} days", self.virtual_time.as_secs_f64() / 86_400.0)?;
        let required: Vec<_> = self.coverage.required().collect();
        let shown = required.iter().filter(|(.., count)| *count > 0).count();
        let all = required.len();
        writeln!(f, "combinations        {shown:>12} of {all} of operation, fault, phase and ending")?;
        write!(f, "digest                  {:016x}", self.digest)
    }
}
