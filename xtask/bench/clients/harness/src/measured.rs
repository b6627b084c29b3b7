use std::fs;
use std::io::Write as _;

/// What the calls took. Memory is of the whole process, in KiB, as only Linux tells it.
#[derive(Default)]
pub(crate) struct Measured {
    pub(crate) calls: usize,
    pub(crate) seconds: f64,
    /// How long of these seconds this thread was on a processor.
    pub(crate) busy_seconds: Option<f64>,
    /// In nanoseconds, in any order.
    pub(crate) latencies: Vec<u32>,
    /// Resident once the callers are there and none has called.
    pub(crate) before_kib: Option<u64>,
    /// Resident while all callers wait for their first answer.
    pub(crate) waiting_kib: Option<u64>,
    /// The most that was ever resident by the time that they have it.
    pub(crate) peak_together_kib: Option<u64>,
    /// The same after the calls that do not count.
    pub(crate) peak_warm_kib: Option<u64>,
    /// The same at the end.
    pub(crate) peak_kib: Option<u64>,
}

impl Measured {
    pub(crate) fn print(mut self) {
        self.latencies.sort_unstable();
        let at = |share: usize| self.latencies.get(self.latencies.len() * share / 1000).copied().unwrap_or(0);
        let line = serde_json::json!({
            "calls": self.calls,
            "seconds": self.seconds,
            "busy_seconds": self.busy_seconds,
            "p50_ns": at(500),
            "p99_ns": at(990),
            "p999_ns": at(999),
            "before_kib": self.before_kib,
            "waiting_kib": self.waiting_kib,
            "peak_together_kib": self.peak_together_kib,
            "peak_warm_kib": self.peak_warm_kib,
            "peak_kib": self.peak_kib,
        });
        writeln!(std::io::stdout(), "{line}").expect("stdout is read");
    }
}

/// How long the first thread of this process was on a processor; only Linux tells.
pub(crate) fn busy_seconds() -> Option<f64> {
    let statistics = fs::read_to_string("/proc/self/schedstat").ok()?;
    let nanoseconds: f64 = statistics.split(' ').next()?.parse().ok()?;
    Some(nanoseconds / 1e9)
}

pub(crate) fn resident_kib() -> Option<u64> {
    status("VmRSS:")
}

/// The most that was ever resident.
pub(crate) fn peak_kib() -> Option<u64> {
    status("VmHWM:")
}

fn status(name: &str) -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|line| line.strip_prefix(name)?.trim().strip_suffix(" kB")?.parse().ok())
}
