//! What a payment or a void of unknown outcome is found by, where there is no id: the interface has no search, so a
//! person goes through the service's own records.

use std::time::SystemTime;

use payments_model::Amount;

use crate::timestamp::timestamp;

/// What was sent, and when. Every text in it is free of secrets.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    /// Of a payment.
    pub(crate) amount: Option<Amount>,
    /// The caller's own, if the request has one.
    pub(crate) reference: Option<String>,
    pub(crate) at: SystemTime,
}

impl Sent {
    /// When it was sent, in UTC as RFC 3339 has it.
    pub(crate) fn timestamp(&self) -> String {
        timestamp(self.at)
    }
}
