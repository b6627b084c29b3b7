use std::fmt;

use crate::redact::Redacted;

/// The three card fields, as typed. They are checked when the request is built.
///
/// Exhaustive on purpose: these are all the card fields of the interface. `Debug` shows nothing of them.
#[expect(
    clippy::exhaustive_structs,
    reason = "a required field added by the interface must be a compile error"
)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Card<'a> {
    /// `CardNumber`: see [`CardNumber`](crate::CardNumber).
    pub number: &'a str,
    /// `Cvv`: see [`Cvv`](crate::Cvv).
    pub cvv: &'a str,
    /// `ExpiryDate`: `MMYY` or `MM/YY`, see [`Expiry`](crate::Expiry).
    pub expiry: &'a str,
}

impl fmt::Debug for Card<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number: _, cvv: _, expiry: _ } = self;
        f.debug_tuple("Card").field(&Redacted).finish()
    }
}
