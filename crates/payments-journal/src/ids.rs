//! The names of intents, attempts and owners.

use std::fmt;
use std::str::FromStr;

use payments_model::unversioned::check_no_spreadsheet_value;
use serde::{Deserialize, Deserializer, Serialize};
use thiserror::Error;

/// The caller's name for one intent to move money, such as `invoice-2026-0017`: its idempotency key.
///
/// 1 to 128 visible ASCII characters, without spaces. The journal identifies an intent by this alone, so it must come from
/// what is being paid, never from a clock or a random number: a new key for the same invoice is a new charge. It is stored in
/// the journal and shown in errors and lists, so it must not contain a secret. Digits are accepted even if they look like a
/// card number, because one in twenty random numbers of 16 digits does.
///
/// ```
/// use payments_journal::IntentKey;
///
/// let key = IntentKey::new("invoice-2026-0017")?;
/// assert_eq!(key.as_str(), "invoice-2026-0017");
/// assert!(IntentKey::new("invoice 17").is_err());
/// # Ok::<(), payments_journal::InvalidIntentKey>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Box<str>")]
pub struct IntentKey(Box<str>);

impl IntentKey {
    /// The longest key, in bytes.
    pub const MAX_BYTES: usize = 128;

    /// Checks the key and keeps it unchanged.
    ///
    /// # Errors
    ///
    /// If it is empty, longer than 128 characters, has characters other than visible ASCII, or is a formula or an error value of
    /// a spreadsheet. Nothing was sent. The error does not show the key.
    pub fn new(text: impl Into<String>) -> Result<Self, InvalidIntentKey> {
        let text = text.into().into_boxed_str();
        let rule = match text.len() {
            0 => "must not be empty",
            1..=Self::MAX_BYTES if !text.bytes().all(|byte| byte.is_ascii_graphic()) => {
                "must consist of visible ASCII characters, without spaces"
            }
            1..=Self::MAX_BYTES => match check_no_spreadsheet_value(&text) {
                Ok(()) => return Ok(Self(text)),
                Err(rule) => rule,
            },
            _ => "must be at most 128 characters",
        };
        Err(InvalidIntentKey(rule))
    }

    /// A key read from a journal. The rules for new keys do not apply: a version with stricter rules must still read the rows of
    /// an earlier one.
    pub(crate) fn from_kept(text: impl Into<Box<str>>) -> Self {
        Self(text.into())
    }

    /// Shown in place of a key that contains a secret.
    pub(crate) fn redacted() -> Self {
        Self("[redacted]".into())
    }

    /// The key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Deserializes a key read from a journal.
pub(crate) fn deserialize_kept_key<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<IntentKey, D::Error> {
    Box::<str>::deserialize(deserializer).map(IntentKey::from_kept)
}

impl fmt::Display for IntentKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl TryFrom<Box<str>> for IntentKey {
    type Error = InvalidIntentKey;

    fn try_from(text: Box<str>) -> Result<Self, InvalidIntentKey> {
        Self::new(text)
    }
}

impl FromStr for IntentKey {
    type Err = InvalidIntentKey;

    fn from_str(text: &str) -> Result<Self, InvalidIntentKey> {
        Self::new(text)
    }
}

/// A text that cannot be an intent key. Nothing was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the intent key {0}; nothing was sent")]
pub struct InvalidIntentKey(&'static str);

impl InvalidIntentKey {
    /// The broken rule, as the rest of a sentence about the key: `must not be empty`.
    pub const fn rule(&self) -> &'static str {
        self.0
    }
}

macro_rules! random_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(Box<str>);

        impl $name {
            /// A new id of 128 random bits.
            ///
            /// # Panics
            ///
            /// If the operating system cannot provide randomness.
            #[allow(clippy::new_without_default, reason = "no id is the natural one")]
            pub fn new() -> Self {
                let mut bytes = [0; 16];
                getrandom::fill(&mut bytes).expect("the system has randomness");
                Self(format!("{:032x}", u128::from_be_bytes(bytes)).into())
            }

            /// An id read from a store.
            pub fn from_kept(text: impl Into<Box<str>>) -> Self {
                Self(text.into())
            }

            /// The id as text, for a store.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }
    };
}

random_id! {
    /// One attempt to send the request of an intent. Only the attempt that a row names may record how it ended.
    AttemptId
}

random_id! {
    /// One opened store, which sends. While its process lives, what it sends is in progress.
    OwnerId
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> Option<&'static str> {
        IntentKey::new(text).err().map(|error| error.rule())
    }

    #[test]
    fn a_key_is_1_to_128_visible_ascii_characters() {
        for good in ["a", "!", "~", "invoice-17/2026#2", &"k".repeat(128)] {
            assert_eq!(rule(good), None, "{good}");
        }
        assert_eq!(rule(""), Some("must not be empty"));
        assert_eq!(rule(&"k".repeat(129)), Some("must be at most 128 characters"));
        for bad in ["a b", "a\n", "\u{7f}", "ä", " "] {
            assert_eq!(
                rule(bad),
                Some("must consist of visible ASCII characters, without spaces"),
                "{bad:?}"
            );
        }
    }

    #[test]
    fn a_key_may_be_any_digits_d52() {
        for key in ["4242424242424242", "charge-4242424242424242", "2026112100000017", "9405701444882224"] {
            assert_eq!(rule(key), None, "{key}");
        }
    }

    #[test]
    fn a_formula_or_an_error_of_a_spreadsheet_is_no_key_d53() {
        for error in ["#REF!", "#N/A", "#DIV/0!", "#NV", "#WERT!", "####"] {
            assert_eq!(rule(error), Some("must not be an error value of a spreadsheet"), "{error}");
        }
        for formula in ["=A1", "=\"00123\"", "="] {
            assert_eq!(rule(formula), Some("must not be a formula of a spreadsheet"), "{formula}");
        }
        for key in ["#17", "a=1", "-17", "+17", "@17"] {
            assert_eq!(rule(key), None, "{key}");
        }
        // A key that an earlier version recorded can still be read.
        assert_eq!(IntentKey::from_kept("#REF!").as_str(), "#REF!");
    }
}
