//! The four identifiers. They are four types so that one cannot be sent in place of another.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize};

use crate::ValidationError;
use crate::violation::Rule;

/// What all identifiers share, given the rule of the texts that `new` takes and of those that are deserialized.
macro_rules! identifier {
    ($(#[$meta:meta])* $name:ident, $new:path, $kept:path, $(#[$new_meta:meta])*) => {
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
                $new(&text)?;
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
            /// Takes whatever the service may have given.
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                $kept(&text).map_err(serde::de::Error::custom)?;
                Ok(Self(text))
            }
        }
    };
}

/// The rest of an identifier whose record can be looked up.
macro_rules! path_identifier {
    ($(#[$meta:meta])* $name:ident) => {
        identifier! {
            $(#[$meta])*
            $name, check_path_segment, not_empty,
            /// An identifier that is safe in a URL path.
            ///
            /// # Errors
            ///
            /// If the text is empty, is `.` or `..`, is longer than 256 bytes, or has a character other than ASCII letters,
            /// digits and `- . _ ~ : @ + = ,`. The rule is chosen by this SDK.
        }

        impl $name {
            /// An identifier as the service gave it: any text but the empty one.
            pub fn from_answer(text: impl Into<String>) -> Option<Self> {
                let text = text.into();
                not_empty(&text).ok().map(|()| Self(text))
            }

            /// The identifier as one segment of a URL path, which needs no escaping.
            ///
            /// # Errors
            ///
            /// If the identifier came out of a response and breaks the rule of [`new`](Self::new). What it names cannot be
            /// looked up by this SDK. Nothing was sent.
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
    /// The interface says no more than that it is text. [`new`](Self::new) takes what can safely become part of a URL path.
    /// An identifier read out of a response may be any text but the empty one, because a payment that went through must not
    /// become an error over the shape of its identifier.
    TransactionId
}

path_identifier! {
    /// The service's identifier of a customer.
    ///
    /// The interface says no more than that it is text. [`new`](Self::new) takes what can safely become part of a URL path.
    /// An identifier read out of a response may be any text but the empty one.
    CustomerId
}

identifier! {
    /// The service's identifier of a stored payment token.
    ///
    /// The interface shows neither how one is made nor what it looks like, so any text that is not blank is taken and sent
    /// verbatim.
    TokenId, check_not_blank, check_not_blank,
    /// Takes the identifier as it is.
    ///
    /// # Errors
    ///
    /// If the text is blank.
}

identifier! {
    /// The identifier of the customer that owns a stored token.
    ///
    /// The interface shows neither how one is made nor what it looks like, so any text that is not blank is taken and sent
    /// verbatim. It is not a [`CustomerId`], and neither is made from the other.
    GatewayCustomerId, check_not_blank, check_not_blank,
    /// Takes the identifier as it is.
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
            Err("must consist of ASCII letters, digits and the characters - . _ ~ : @ + = , only")
        }
        _ => Ok(()),
    }
}
