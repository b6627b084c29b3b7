use std::time::SystemTime;

use crate::document::representable;
use crate::{Choices, ManualClock};

/// What a gateway is built with. It never changes afterwards, so it is read without a lock.
pub(crate) struct Settings {
    /// The accepted keys of each tenant, at least one. None of them may be stored from a request.
    pub(crate) tenants: Vec<Vec<String>>,
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
        self.tenants.iter().position(|keys| keys.iter().any(|own| own.as_bytes() == presented))
    }

    /// The keys of all tenants.
    pub(crate) fn api_keys(&self) -> impl Iterator<Item = &str> {
        self.tenants.iter().flatten().map(String::as_str)
    }
}
