//! The payer's e-mail address and telephone prefix.

use std::fmt;

use crate::secret::redacted_debug;
use crate::violation::Rule;

/// The payer's e-mail address in a valid request: one `@` with text on both sides, no whitespace, no control characters, at
/// most 64 bytes before the `@` and 254 bytes in total.
///
/// These rules are chosen by this SDK. Whether the address exists is not checked. It is personal data, so `Debug` does not
/// show it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Email(String);

impl Email {
    /// The address.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn check(text: impl Into<String>) -> Result<Self, Rule> {
        let text = text.into();
        let has_gaps = text.chars().any(|character| character.is_whitespace() || character.is_control());
        let is_address = text.len() <= 254
            && !has_gaps
            && text.split_once('@').is_some_and(|(local, domain)| {
                (1..=64).contains(&local.len()) && !domain.is_empty() && !domain.contains('@')
            });
        if is_address { Ok(Self(text)) } else { Err("must be an e-mail address such as name@example.com") }
    }
}

redacted_debug!(Email);

/// The telephone dialing prefix in a valid request, such as `+1` or `+441534`: a plus sign and 1 to 15 digits.
///
/// The interface calls the field `BillingCountryCode`, which invites sending `US`. That is an error here.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DialPrefix(String);

impl DialPrefix {
    /// The prefix with its plus sign.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn check(text: impl Into<String>) -> Result<Self, Rule> {
        let text = text.into();
        let is_prefix = text.strip_prefix('+').is_some_and(|digits| {
            (1..=15).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
        });
        if is_prefix {
            Ok(Self(text))
        } else {
            Err("must be a dialing prefix such as +1, not a country code such as US")
        }
    }
}

impl fmt::Display for DialPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}
