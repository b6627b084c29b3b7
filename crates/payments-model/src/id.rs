//! The four identifiers. Each has its own type, so that one cannot be sent in place of another.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize};

use crate::ValidationError;
use crate::violation::Rule;

/// Declares an identifier: `$check_new` validates in `new`, `$check_read` when one is deserialized.
macro_rules! identifier {
    ($(#[$meta:meta])* $name:ident, $check_new:path, $check_read:path, $(#[$new_meta:meta])*) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            $(#[$new_meta])*
            pub fn new(text: impl Into<String>) -> Result<Self, ValidationError> {
                Self::check(text.into()).map_err(|rule| ValidationError::one(stringify!($name), rule))
            }

            /// The identifier as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            pub(crate) fn check(text: String) -> Result<Self, Rule> {
                $check_new(&text)?;
                Ok(Self(text))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = ValidationError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::new(text)
            }
        }

        impl TryFrom<&str> for $name {
            type Error = ValidationError;

            fn try_from(text: &str) -> Result<Self, Self::Error> {
                Self::new(text)
            }
        }

        impl TryFrom<String> for $name {
            type Error = ValidationError;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                Self::new(text)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            /// Accepts every identifier that the service may return.
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                $check_read(&text).map_err(serde::de::Error::custom)?;
                Ok(Self(text))
            }
        }
    };
}

/// Declares an identifier whose record can be looked up.
macro_rules! path_identifier {
    ($(#[$meta:meta])* $name:ident) => {
        identifier! {
            $(#[$meta])*
            $name, check_path_segment, not_empty,
            /// An identifier that is safe in a URL path.
            ///
            /// # Errors
            ///
            /// If the text is empty, is `.` or `..`, is longer than 256 bytes, or contains anything except ASCII letters,
            /// digits and `- . _ ~ : @ + = ,`. The rule is chosen by this SDK.
        }

        impl $name {
            /// An identifier as the service returned it. `None` if the text is empty.
            pub fn from_answer(text: impl Into<String>) -> Option<Self> {
                let text = text.into();
                not_empty(&text).ok().map(|()| Self(text))
            }

            /// The identifier as one segment of a URL path. It needs no escaping.
            ///
            /// # Errors
            ///
            /// If the identifier comes from a response and breaks the rule of [`new`](Self::new). This SDK cannot look up
            /// its record. Nothing was sent.
            pub fn path_segment(&self) -> Result<&str, ValidationError> {
                check_path_segment(&self.0).map_err(|rule| ValidationError::one(stringify!($name), rule))?;
                Ok(&self.0)
            }
        }
    };
}

path_identifier! {
    /// The service's identifier of a transaction.
    ///
    /// The interface says only that it is text. [`new`](Self::new) accepts what is safe in a URL path. An identifier from a
    /// response may be any text that is not empty, because the form of an identifier must not turn a successful payment into
    /// an error.
    TransactionId
}

path_identifier! {
    /// The service's identifier of a customer.
    ///
    /// The interface says only that it is text. [`new`](Self::new) accepts what is safe in a URL path. An identifier from a
    /// response may be any text that is not empty.
    CustomerId
}

identifier! {
    /// The service's identifier of a stored payment token.
    ///
    /// The interface documents neither how tokens are created nor their form, so any text that is not blank is accepted and
    /// sent verbatim.
    TokenId, check_not_blank, check_not_blank,
    /// Keeps the text unchanged.
    ///
    /// # Errors
    ///
    /// If the text is blank.
}

identifier! {
    /// The identifier of the customer that owns a stored token.
    ///
    /// The interface documents neither how it is created nor its form, so any text that is not blank is accepted and sent
    /// verbatim. It is not a [`CustomerId`], and neither converts to the other.
    GatewayCustomerId, check_not_blank, check_not_blank,
    /// Keeps the text unchanged.
    ///
    /// # Errors
    ///
    /// If the text is blank.
}

pub(crate) fn check_not_blank(text: &str) -> Result<(), Rule> {
    if text.trim().is_empty() { Err("must not be blank") } else { Ok(()) }
}

fn not_empty(text: &str) -> Result<(), Rule> {
    if text.is_empty() { Err("must not be empty") } else { Ok(()) }
}

/// The rule for an identifier that becomes one segment of a URL path. An allow-list, because percent-encoding cannot save
/// `..`: URL parsers read `%2e%2e` as `..` too.
fn check_path_segment(text: &str) -> Result<(), Rule> {
    let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:@+=,".contains(&byte);
    match text {
        "" => Err("must not be empty"),
        "." | ".." => Err("must not be . or .."),
        _ if text.len() > 256 => Err("must be at most 256 bytes"),
        _ if !text.bytes().all(is_safe) => {
            Err("must contain only ASCII letters, digits and the characters - . _ ~ : @ + = ,")
        }
        _ => Ok(()),
    }
}
