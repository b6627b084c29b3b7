use payments_core::OperationName;
use payments_fake::{EntryState, FakeGateway, Ledger, Phase};

/// What a payment or a void does to the service's books.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effect {
    /// Nothing, now and later.
    Never,
    /// It is done when the caller is told.
    AtOnce,
    /// It is done after the caller was told, when the test calls [`FakeGateway::deliver_late`].
    WhenDelivered,
}

impl Effect {
    /// What a phase means for the books.
    pub const fn of(phase: Phase) -> Self {
        match phase {
            Phase::BeforeCommit => Self::Never,
            Phase::AfterCommit => Self::AtOnce,
            Phase::Late => Self::WhenDelivered,
        }
    }
}

/// The books of a gateway before a call, to compare with what they are after it.
#[derive(Debug)]
pub struct Books<'a> {
    gateway: &'a FakeGateway,
    before: Ledger,
}

impl<'a> Books<'a> {
    /// As they are now.
    pub fn of(gateway: &'a FakeGateway) -> Self {
        Self { gateway, before: gateway.ledger() }
    }

    /// One call of this operation had this effect and no other. Delivers what is late.
    ///
    /// # Panics
    ///
    /// If it had not; `case` says of what.
    #[track_caller]
    pub fn assert_effect(self, operation: OperationName, effect: Effect, case: &str) {
        let now = u8::from(effect == Effect::AtOnce);
        let late = u8::from(effect == Effect::WhenDelivered);
        self.assert_deeds(operation, now, case);
        let delivered = self.gateway.deliver_late();
        assert_eq!(delivered, usize::from(late), "{case}: what was late");
        self.assert_deeds(operation, now + late, case);
    }

    /// So many new or changed entries, each of them a charge or, of a void, the end of one.
    #[track_caller]
    fn assert_deeds(&self, operation: OperationName, count: u8, case: &str) {
        let after = self.gateway.ledger();
        let mut before = self.before.entries().iter();
        let deeds: Vec<_> = after.entries().iter().filter(|entry| before.next() != Some(*entry)).collect();
        assert_eq!(deeds.len(), usize::from(count), "{case}: {after}");
        for deed in deeds {
            let is_done = match operation {
                OperationName::Void => deed.state == EntryState::Voided,
                _ => deed.operation == operation && deed.is_charged(),
            };
            assert!(is_done, "{case}: {deed}");
        }
    }
}
