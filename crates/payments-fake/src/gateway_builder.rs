use std::fmt;

use payments_core::ApiKey;

use crate::choices::Choices;
use crate::{DeclineShape, FakeGateway, ManualClock};

/// Builds a [`FakeGateway`] that differs from [`FakeGateway::new`].
#[must_use = "a builder does nothing until it is built"]
pub struct FakeGatewayBuilder {
    pub(crate) api_key: String,
    pub(crate) seed: u64,
    pub(crate) choices: Choices,
    pub(crate) clock: ManualClock,
    pub(crate) system_wall_clock: bool,
    pub(crate) unfired_faults: UnfiredFaults,
    pub(crate) recorded_requests: usize,
}

/// What a gateway does at its end about armed faults that never fired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnfiredFaults {
    Panic,
    Ignore,
}

impl FakeGatewayBuilder {
    pub(crate) fn new() -> Self {
        Self {
            api_key: FakeGateway::API_KEY.to_owned(),
            seed: 0,
            choices: Choices::default(),
            clock: ManualClock::auto(),
            system_wall_clock: false,
            unfired_faults: UnfiredFaults::Panic,
            recorded_requests: 1000,
        }
    }

    /// The key that the service accepts; [`FakeGateway::API_KEY`] by default.
    ///
    /// # Panics
    ///
    /// If it is no key that a client could send: empty, or with anything but visible ASCII.
    #[track_caller]
    pub fn api_key(mut self, key: impl Into<String>) -> Self {
        self.api_key = key.into();
        assert!(ApiKey::new(&self.api_key).is_ok(), "an API key is visible ASCII without spaces");
        self
    }

    /// Where identifiers and garbage come from; 0 by default. One seed, the same requests and the same clock give the
    /// same replies, byte for byte.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// How a decline looks.
    pub fn decline_shape(mut self, shape: DeclineShape) -> Self {
        self.choices.decline_shape = shape;
        self
    }

    /// Changes what the fake does where the interface says nothing; [`Choices`] is the whole list.
    ///
    /// ```
    /// use payments_core::model::Amount;
    /// use payments_fake::FakeGateway;
    ///
    /// let gateway = FakeGateway::builder()
    ///     .choices(|choices| choices.convenience_fee = Some(Amount::from_cents(1_95)))
    ///     .build();
    /// # drop(gateway);
    /// ```
    pub fn choices(mut self, change: impl FnOnce(&mut Choices)) -> Self {
        change(&mut self.choices);
        self
    }

    /// The clock of this gateway's transports and clients; [automatic](ManualClock::auto) by default.
    pub fn clock(mut self, clock: ManualClock) -> Self {
        self.clock = clock;
        self
    }

    /// Dates answers by the computer's clock, for a gateway that is served to others. A run then no longer repeats byte
    /// for byte.
    pub fn system_wall_clock(mut self) -> Self {
        self.system_wall_clock = true;
        self
    }

    /// Does not panic at the end if an armed fault never fired, for a gateway that is served to others.
    pub fn ignore_unfired_faults(mut self) -> Self {
        self.unfired_faults = UnfiredFaults::Ignore;
        self
    }

    /// How many of the newest requests are kept for [`FakeGateway::requests`]; 1000 by default.
    pub fn recorded_requests(mut self, count: usize) -> Self {
        self.recorded_requests = count;
        self
    }

    /// The gateway.
    pub fn build(self) -> FakeGateway {
        FakeGateway::from_builder(self)
    }
}

impl fmt::Debug for FakeGatewayBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { api_key: _, seed, choices, clock, system_wall_clock, unfired_faults, recorded_requests } =
            self;
        f.debug_struct("FakeGatewayBuilder")
            .field("api_key", &format_args!("[redacted]"))
            .field("seed", seed)
            .field("choices", choices)
            .field("clock", clock)
            .field("system_wall_clock", system_wall_clock)
            .field("unfired_faults", unfired_faults)
            .field("recorded_requests", recorded_requests)
            .finish()
    }
}
