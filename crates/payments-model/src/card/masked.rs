use std::fmt;

use serde::{Deserialize, Serialize};

use crate::mask::stars;

/// A card number as the service returns it: only the last four digits can be seen.
///
/// Another type than [`CardNumber`](crate::CardNumber), because it cannot be charged and may be shown. If a service returns a
/// full number all the same, every digit but the last four is replaced by `*`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct MaskedCard(String);

impl MaskedCard {
    /// Keeps the text, with at most the last four of its digits legible.
    pub fn new(text: &str) -> Self {
        Self(stars(text))
    }

    /// The last four digits, if the text ends in four digits.
    pub fn last_four(&self) -> Option<&str> {
        let last = self.0.get(self.0.len().checked_sub(4)?..)?;
        last.bytes().all(|byte| byte.is_ascii_digit()).then_some(last)
    }

    /// The text, for example `************4242`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for MaskedCard {
    /// As [`new`](Self::new).
    fn from(text: String) -> Self {
        Self::new(&text)
    }
}

impl From<MaskedCard> for String {
    fn from(card: MaskedCard) -> Self {
        card.0
    }
}

impl fmt::Display for MaskedCard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}
