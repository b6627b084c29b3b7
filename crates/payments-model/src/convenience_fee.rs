/// Whether a convenience fee applies to a payment, sent as `ConvenienceFeeActive`.
///
/// It has no default, because it changes the total that the payer is charged. This SDK computes no fees.
///
/// The enum is complete: on the wire it is a boolean.
#[expect(clippy::exhaustive_enums, reason = "complete: a boolean on the wire")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConvenienceFee {
    /// A fee applies. How much it is, the interface does not show.
    Active,
    /// No fee applies.
    Inactive,
}

impl ConvenienceFee {
    pub(crate) const fn from_flag(active: bool) -> Self {
        if active { Self::Active } else { Self::Inactive }
    }

    pub(crate) const fn is_active(self) -> bool {
        matches!(self, Self::Active)
    }
}
