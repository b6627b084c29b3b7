use std::fmt;
use std::time::SystemTime;

use payments_core::ApiKey;
use payments_model::{Amount, TransactionType};

use crate::settings::Settings;
use crate::{Choices, FakeGateway, ManualClock};

/// Builds a [`FakeGateway`] that differs from [`FakeGateway::new`].
#[must_use = "a builder does nothing until it is built"]
pub struct FakeGatewayBuilder {
    settings: Settings,
}

impl FakeGatewayBuilder {
    pub(crate) fn new() -> Self {
        let settings = Settings {
            tenants: Vec::new(),
            seed: None,
            choices: Choices::default(),
            clock: ManualClock::auto(),
            wall_clock: None,
            recorded_requests: 1000,
            ignores_unfired_faults: false,
        };
        Self { settings }
    }

    /// A key to accept, instead of [`FakeGateway::API_KEY`]. Each further call adds a key with its own
    /// [`Tenant`](crate::Tenant): a separate ledger, tokens and customers. A key that was already added is ignored.
    ///
    /// # Panics
    ///
    /// If no client could send the key: it is empty, or has anything but visible ASCII.
    #[track_caller]
    pub fn api_key(self, key: impl Into<String>) -> Self {
        self.api_keys([key])
    }

    /// Several keys of one tenant, such as the old key and the new one while you rehearse a rotation. If one of them was
    /// already added, the others join its tenant.
    ///
    /// ```
    /// use payments_fake::FakeGateway;
    ///
    /// let gateway = FakeGateway::builder().api_keys(["old_key", "new_key"]).build();
    /// assert_eq!((gateway.api_key(), gateway.tenants().count()), ("old_key", 1));
    /// assert!(gateway.tenant("new_key").is_some());
    /// ```
    ///
    /// # Panics
    ///
    /// As for [`api_key`](Self::api_key).
    #[track_caller]
    pub fn api_keys(mut self, keys: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let keys: Vec<String> = keys.into_iter().map(Into::into).collect();
        let are_valid = keys.iter().all(|key| ApiKey::new(key).is_ok());
        assert!(are_valid, "an API key is visible ASCII without spaces");
        let shares_a_key = |tenant: &Vec<String>| tenant.iter().any(|key| keys.contains(key));
        let tenants = &mut self.settings.tenants;
        let place = tenants.iter().position(shares_a_key).unwrap_or(tenants.len());
        let mut tenant: Vec<_> = tenants.extract_if(.., |tenant| shares_a_key(tenant)).flatten().collect();
        for key in keys {
            if !tenant.contains(&key) {
                tenant.push(key);
            }
        }
        if !tenant.is_empty() {
            self.settings.tenants.insert(place, tenant);
        }
        self
    }

    /// The seed of identifiers and garbage; 0 by default. The same seed, requests and clock produce the same replies,
    /// byte for byte.
    pub fn seed(mut self, seed: u64) -> Self {
        self.settings.seed = Some(seed);
        self
    }

    /// Changes what the fake does where the interface does not say; [`Choices`] is the complete list.
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
    ///
    /// # Panics
    ///
    /// If a transaction type is `GatewayDefault`, because these choices are what that stands for. If the convenience fee is
    /// below zero, or is written with more than two decimal places: no payment of the service has such an amount, and a state
    /// that contained one could not be loaded.
    #[track_caller]
    pub fn choices(mut self, change: impl FnOnce(&mut Choices)) -> Self {
        let choices = &mut self.settings.choices;
        change(choices);
        let types = [choices.omitted_transaction_type, choices.token_transaction_type];
        let are_chosen = !types.contains(&TransactionType::GatewayDefault);
        assert!(are_chosen, "a chosen transaction type is Sale or Auth");
        let fee = choices.convenience_fee;
        let is_valid = fee.is_none_or(|fee| fee >= Amount::from_cents(0) && fee.written_decimals() <= 2);
        assert!(is_valid, "a convenience fee is at least zero and has at most two decimal places");
        self
    }

    /// The clock of this gateway's transports and clients; [automatic](ManualClock::auto) by default.
    pub fn clock(mut self, clock: ManualClock) -> Self {
        self.settings.clock = clock;
        self
    }

    /// Dates responses and ledger entries by this clock instead of [`clock`](Self::clock); pass [`SystemTime::now`] for the
    /// system clock. A run then no longer repeats byte for byte.
    pub fn wall_clock(mut self, now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        self.settings.wall_clock = Some(Box::new(now));
        self
    }

    /// Does not panic at the end if an armed fault never fired, for a gateway behind a server.
    pub fn ignore_unfired_faults(mut self) -> Self {
        self.settings.ignores_unfired_faults = true;
        self
    }

    /// How many of the newest requests are kept for [`FakeGateway::requests`]; 1000 by default.
    pub fn recorded_requests(mut self, count: usize) -> Self {
        self.settings.recorded_requests = count;
        self
    }

    /// Builds the gateway.
    pub fn build(mut self) -> FakeGateway {
        if self.settings.tenants.is_empty() {
            self = self.api_key(FakeGateway::API_KEY);
        }
        FakeGateway::with_settings(self.settings)
    }
}

/// For a server of the gateway in this project only: it may change in any version.
#[doc(hidden)]
impl FakeGatewayBuilder {
    /// Sets the seed if it is not set. Returns the seed.
    pub fn seed_or(&mut self, seed: u64) -> u64 {
        *self.settings.seed.get_or_insert(seed)
    }
}

impl fmt::Debug for FakeGatewayBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FakeGatewayBuilder").field("seed", &self.settings.seed).finish_non_exhaustive()
    }
}
