use std::fmt;

/// A card number as the service returns it: only the last four digits can be seen.
///
/// Another type than [`CardNumber`](crate::CardNumber), because it cannot be charged and may be shown. Should
/// a service return a full number all the same, every digit but the last four is replaced by `*` here, so
/// that nothing downstream can leak it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MaskedCard(String);

impl MaskedCard {
    /// Keeps the text, with at most the last four of its digits legible.
    pub fn new(text: &str) -> Self {
        let digits = text.chars().filter(|character| character.is_numeric()).count();
        if digits <= 4 {
            // As it should be.
            return Self(text.to_owned());
        }
        let mut to_hide = digits - 4;
        let mask = |character: char| {
            if to_hide > 0 && character.is_numeric() {
                to_hide -= 1;
                return '*';
            }
            character
        };
        let mut masked = String::with_capacity(text.len());
        masked.extend(text.chars().map(mask));
        Self(masked)
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

impl fmt::Display for MaskedCard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}
