use std::time::SystemTime;

use crate::{Choices, ManualClock};

/// What a gateway is built with. It never changes afterwards, so it is read without a lock.
pub(crate) struct Settings {
    /// The accepted keys, one for each tenant; at least one. None of them may be stored from a request.
    pub(crate) api_keys: Vec<String>,
    pub(crate) seed: u64,
    pub(crate) choices: Choices,
    pub(crate) clock: ManualClock,
    pub(crate) wall_clock: Option<Box<dyn Fn() -> SystemTime + Send + Sync>>,
    pub(crate) recorded_requests: usize,
}

impl Settings {
    /// The time of day.
    pub(crate) fn now(&self) -> SystemTime {
        self.wall_clock.as_ref().map_or_else(|| self.clock.wall(), |now| now())
    }

    /// The index of the tenant with this key. Keys of the same length are compared to the end, so that the time does not
    /// reveal how much of a key is right.
    pub(crate) fn tenant_with_key(&self, presented: &[u8]) -> Option<usize> {
        let is_same = |own: &String| {
            let difference = own
                .bytes()
                .zip(presented)
                .fold(0, |difference, (own, presented)| difference | (own ^ presented));
            own.len() == presented.len() && difference == 0
        };
        self.api_keys.iter().position(is_same)
    }
}

#[cfg(test)]
mod tests {
    use crate::FakeGateway;

    #[test]
    fn a_key_must_match_completely() {
        let builder = FakeGateway::builder().api_key("key").api_key("two");
        assert_eq!(builder.settings.tenant_with_key(b"key"), Some(0));
        assert_eq!(builder.settings.tenant_with_key(b"two"), Some(1));
        for other in ["", "k", "kez", "keyk", "keykey", "KEY"] {
            assert_eq!(builder.settings.tenant_with_key(other.as_bytes()), None, "{other}");
        }
    }
}
