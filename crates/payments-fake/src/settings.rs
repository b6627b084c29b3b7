use std::time::SystemTime;

use crate::document::representable;
use crate::{Choices, ManualClock};

/// What a gateway is built with. It never changes afterwards, so it is read without a lock.
pub(crate) struct Settings {
    /// The accepted keys, at least one. None of them may be stored from a request.
    pub(crate) api_keys: Vec<String>,
    /// The index of the tenant of each key.
    pub(crate) tenants: Vec<usize>,
    /// Zero if it is not set.
    pub(crate) seed: Option<u64>,
    pub(crate) choices: Choices,
    pub(crate) clock: ManualClock,
    pub(crate) wall_clock: Option<Box<dyn Fn() -> SystemTime + Send + Sync>>,
    pub(crate) recorded_requests: usize,
    pub(crate) ignores_unfired_faults: bool,
}

impl Settings {
    /// The time of day.
    pub(crate) fn now(&self) -> SystemTime {
        representable(self.wall_clock.as_ref().map_or_else(|| self.clock.system_time(), |now| now()))
    }

    /// The index of the tenant with this key. The comparison may take a time that depends on the key, which is no secret here:
    /// everybody who reaches the fake controls it.
    pub(crate) fn tenant_with_key(&self, presented: &[u8]) -> Option<usize> {
        let own = self.api_keys.iter().position(|own| own.as_bytes() == presented)?;
        Some(self.tenants[own])
    }

    /// The number of tenants. The keys of each follow each other.
    pub(crate) fn tenant_count(&self) -> usize {
        self.tenants.last().map_or(0, |last| last + 1)
    }
}
