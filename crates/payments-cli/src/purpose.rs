//! What a call is for, which decides what its failure means to a person.

/// What a call is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A payment or a void.
    #[default]
    MoveMoney,
    /// To find a transaction: its failure says nothing about the payment.
    FindTransaction,
    /// To find a customer.
    FindCustomer,
    /// To read or mend the journal, which sends no payment.
    KeepJournal,
}

impl Purpose {
    /// What a refusal at the outset says of what it has left alone. A command of the journal never sends a payment, and
    /// who hears that nothing was sent may wonder what it would have sent.
    pub(crate) const fn nothing_done(self) -> &'static str {
        match self {
            Self::MoveMoney | Self::FindTransaction | Self::FindCustomer => "nothing was sent",
            Self::KeepJournal => "nothing was changed",
        }
    }
}
