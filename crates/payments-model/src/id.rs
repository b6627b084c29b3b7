//! The four identifiers. Each has its own type, so that one cannot be sent in place of another.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize};

use crate::ValidationError;
use crate::secret::{REDACTED, redacted_debug};
use crate::spreadsheet::check_no_spreadsheet_value;
use crate::violation::Rule;

/// Declares an identifier: `$check_new` validates in `new`, `$check_read` when one is deserialized.
macro_rules! identifier {
    ($(#[$meta:meta])* $name:ident, $check_new:path, $check_read:path, $(#[$new_meta:meta])*) => {
        $(#[$meta])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            $(#[$new_meta])*
            pub fn new(text: impl Into<String>) -> Result<Self, ValidationError> {
                Self::check(text).map_err(|rule| ValidationError::one(stringify!($name), rule))
            }

            /// The identifier as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            pub(crate) fn check(text: impl Into<String>) -> Result<Self, Rule> {
                let text = text.into();
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
            $name, check_record_id, not_empty,
            /// An identifier as a person or a program writes it.
            ///
            /// # Errors
            ///
            /// If the text is blank, is longer than 256 characters, contains a control character, begins or ends with white
            /// space or an invisible character, or is a formula or an error value of a spreadsheet. The rule is chosen by this SDK.
        }

        impl $name {
            /// An identifier as the service returned it. `None` if the text is empty.
            pub fn from_response(text: impl Into<String>) -> Option<Self> {
                let text = text.into();
                not_empty(&text).ok().map(|()| Self(text))
            }

            /// Whether a part of it was replaced, because it contained the API key or the card number of the request. Two such
            /// identifiers may be equal although the service returned different ones, so do not compare them.
            pub fn is_redacted(&self) -> bool {
                self.0.contains(REDACTED)
            }

            /// The identifier as one segment of a URL path: everything except ASCII letters, digits and `- . _ ~` is
            /// percent-encoded.
            ///
            /// # Errors
            ///
            /// If one of its parts between slashes and backslashes is `.` or `..`, which percent-encoding cannot save, or if
            /// it is blank, is longer than 256 characters or contains a control character. This SDK cannot look up its
            /// record. Nothing was sent.
            pub fn path_segment(&self) -> Result<Cow<'_, str>, ValidationError> {
                path_segment(&self.0).map_err(|rule| ValidationError::one(stringify!($name), rule))
            }
        }
    };
}

path_identifier! {
    #[derive(Debug)]
    /// The service's identifier of a transaction.
    ///
    /// The interface says only that it is text. An identifier from a response may be any text that is not empty, because the
    /// form of an identifier must not turn a successful payment into an error. Nearly all can be voided and looked up: see
    /// [`new`](Self::new) and [`path_segment`](Self::path_segment).
    TransactionId
}

path_identifier! {
    #[derive(Debug)]
    /// The service's identifier of a customer.
    ///
    /// The interface says only that it is text. An identifier from a response may be any text that is not empty.
    CustomerId
}

identifier! {
    /// The service's identifier of a stored payment token.
    ///
    /// The interface documents neither how tokens are created nor their form, so nearly any text is accepted and
    /// sent verbatim.
    TokenId, check_typed, check_not_blank,
    /// Keeps the text unchanged.
    ///
    /// # Errors
    ///
    /// If the text is blank, begins or ends with white space or an invisible character, or is a formula or an error value of a
    /// spreadsheet.
}

// With it and the API key, anybody can charge the payer.
redacted_debug!(TokenId);

identifier! {
    #[derive(Debug)]
    /// The identifier of the customer that owns a stored token.
    ///
    /// The interface documents neither how it is created nor its form, so nearly any text is accepted and sent verbatim.
    /// It is not a [`CustomerId`], and neither converts to the other.
    GatewayCustomerId, check_typed, check_not_blank,
    /// Keeps the text unchanged.
    ///
    /// # Errors
    ///
    /// If the text is blank, begins or ends with white space or an invisible character, or is a formula or an error value of a
    /// spreadsheet.
}

pub(crate) fn check_not_blank(text: &str) -> Result<(), Rule> {
    if is_blank(text) { Err("must not be blank") } else { Ok(()) }
}

/// Whether a text shows nothing.
pub fn is_blank(text: &str) -> bool {
    text.chars().all(shows_nothing)
}

/// Whether the character is white space or [invisible](is_invisible).
pub(crate) fn shows_nothing(letter: char) -> bool {
    letter.is_whitespace() || is_invisible(letter)
}

fn not_empty(text: &str) -> Result<(), Rule> {
    if text.is_empty() { Err("must not be empty") } else { Ok(()) }
}

/// The rule for an identifier that a person or a program writes.
fn check_typed(text: &str) -> Result<(), Rule> {
    check_not_blank(text)?;
    check_ends(text)?;
    check_no_spreadsheet_value(text)
}

/// The rule for an identifier of a record. A record can be voided and stored under any such identifier.
fn check_record_id(text: &str) -> Result<(), Rule> {
    check_typed(text)?;
    check_length_and_controls(text)
}

fn check_length_and_controls(text: &str) -> Result<(), Rule> {
    if text.chars().nth(MAX_CHARACTERS).is_some() {
        Err("must be at most 256 characters")
    } else if text.contains(char::is_control) {
        Err("must not contain control characters")
    } else {
        Ok(())
    }
}

/// Refuses white space and other invisible characters around a text. The service compares ids exactly.
///
/// # Errors
///
/// The broken rule.
pub fn check_ends(text: &str) -> Result<(), Rule> {
    if text.starts_with(shows_nothing) || text.ends_with(shows_nothing) {
        Err("must not begin or end with white space")
    } else {
        Ok(())
    }
}

/// Whether Unicode has the character in the category Cf or calls it `Default_Ignorable_Code_Point`, or it is the blank
/// pattern of Braille. Windows puts some of them around copied text.
pub fn is_invisible(letter: char) -> bool {
    matches!(letter,
        '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{890}' | '\u{891}'
        | '\u{8e2}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{110bd}' | '\u{110cd}'
        | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// The identifier for a URL path.
fn path_segment(text: &str) -> Result<Cow<'_, str>, Rule> {
    check_not_blank(text)?;
    check_length_and_controls(text)?;
    if text.split(['/', '\\']).any(|part| matches!(part, "." | "..")) {
        return Err("must not have a part that is . or .. in order to be looked up");
    }
    let is_unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    if text.bytes().all(is_unreserved) {
        return Ok(Cow::Borrowed(text));
    }
    let mut encoded = String::with_capacity(3 * text.len());
    for byte in text.bytes() {
        if is_unreserved(byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.extend(['%', hex_digit(byte >> 4), hex_digit(byte & 15)]);
        }
    }
    Ok(Cow::Owned(encoded))
}

fn hex_digit(value: u8) -> char {
    char::from(b"0123456789ABCDEF"[usize::from(value & 15)])
}

/// The longest identifier that is sent, chosen by this SDK.
const MAX_CHARACTERS: usize = 256;
