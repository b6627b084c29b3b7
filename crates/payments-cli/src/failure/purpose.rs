//! The purpose of a command, which decides what its failure means.

/// The purpose of a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A payment or a void. The default, because its failures need most care.
    #[default]
    MoveMoney,
    /// A lookup of a transaction. Its failure says nothing about the payment.
    FindTransaction,
    /// A lookup of a customer.
    FindCustomer,
    /// A command of the journal, which never sends a payment.
    KeepJournal,
}

impl Purpose {
    /// What an early refusal says about its effect. "Nothing was sent" would be confusing for a command of the journal,
    /// which never sends a payment.
    pub(crate) const fn nothing_done(self) -> &'static str {
        match self {
            Self::MoveMoney | Self::FindTransaction | Self::FindCustomer => "nothing was sent",
            Self::KeepJournal => "nothing was changed",
        }
    }
}
