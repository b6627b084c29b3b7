use payments_core::OperationName;
use payments_fake::{EntryState, FakeGateway, Ledger, Phase};

/// The effect of a payment or a void on the service's ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effect {
    /// No effect, now or later.
    Never,
    /// It takes effect before the caller gets the result.
    Immediate,
    /// It takes effect after the caller got the result, when the test calls [`FakeGateway::deliver_late`].
    WhenDelivered,
}

impl Effect {
    /// The effect of a request with a fault in this phase.
    pub const fn of(phase: Phase) -> Self {
        match phase {
            Phase::BeforeCommit => Self::Never,
            Phase::AfterCommit => Self::Immediate,
            Phase::Late => Self::WhenDelivered,
        }
    }
}

/// A gateway's ledger before a call, to compare with the ledger after it.
#[derive(Debug)]
pub struct LedgerCheck<'a> {
    gateway: &'a FakeGateway,
    before: Ledger,
}

impl<'a> LedgerCheck<'a> {
    /// Takes the current ledger.
    pub fn of(gateway: &'a FakeGateway) -> Self {
        Self { gateway, before: gateway.ledger() }
    }

    /// Asserts that one call of this operation had exactly this effect. Delivers late effects.
    ///
    /// # Panics
    ///
    /// If the effect differs. The message begins with `case`.
    #[track_caller]
    pub fn assert_effect(self, operation: OperationName, effect: Effect, case: &str) {
        let now = u8::from(effect == Effect::Immediate);
        let late = u8::from(effect == Effect::WhenDelivered);
        self.assert_changes(operation, now, case);
        let delivered = self.gateway.deliver_late();
        assert_eq!(delivered, usize::from(late), "{case}: late effects");
        self.assert_changes(operation, now + late, case);
    }

    /// Asserts the number of new or changed entries, each a charge or, for a void, a voided charge.
    #[track_caller]
    fn assert_changes(&self, operation: OperationName, count: u8, case: &str) {
        let after = self.gateway.ledger();
        let mut before = self.before.entries().iter();
        let changed: Vec<_> = after.entries().iter().filter(|entry| before.next() != Some(*entry)).collect();
        assert_eq!(changed.len(), usize::from(count), "{case}: {after}");
        for entry in changed {
            let is_done = match operation {
                OperationName::Void => entry.state == EntryState::Voided,
                _ => entry.operation == operation && entry.is_charged(),
            };
            assert!(is_done, "{case}: {entry}");
        }
    }
}
