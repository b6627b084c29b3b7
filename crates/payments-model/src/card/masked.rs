use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

use crate::mask::mask_digits;

/// A card number as the service returns it: only the last four digits are visible.
///
/// It is not a [`CardNumber`](crate::CardNumber), because it cannot be charged and may be shown. If the service returns a full
/// number, every digit except the last four is replaced by `*`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct MaskedCard(String);

impl MaskedCard {
    /// Keeps the text, with every digit except the last four replaced by `*`.
    pub fn new(text: &str) -> Self {
        Self(mask_digits(text))
    }

    /// The last four digits, if the text ends with four digits.
    pub fn last_four(&self) -> Option<&str> {
        let last = self.0.get(self.0.len().checked_sub(4)?..)?;
        last.bytes().all(|byte| byte.is_ascii_digit()).then_some(last)
    }

    /// The text, for example `************4242`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for MaskedCard {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for MaskedCard {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self::new(&text))
    }
}

impl fmt::Display for MaskedCard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}
