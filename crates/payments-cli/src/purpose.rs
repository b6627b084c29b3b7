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
