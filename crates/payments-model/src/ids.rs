//! What the four identifier types share. They are four types so that one cannot be sent in place of another.

use crate::check::Rule;

/// The part of an identifier type that does not depend on its rule: reading and printing it.
macro_rules! identifier {
    ($name:ident) => {
        impl $name {
            /// The identifier as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(&self.0)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl std::str::FromStr for $name {
            type Err = crate::ValidationError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::new(text)
            }
        }

        impl TryFrom<&str> for $name {
            type Error = crate::ValidationError;

            fn try_from(text: &str) -> Result<Self, Self::Error> {
                Self::new(text)
            }
        }

        impl TryFrom<String> for $name {
            type Error = crate::ValidationError;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                Self::new(text)
            }
        }
    };
}
pub(crate) use identifier;

/// The rest of an identifier type whose records are looked up under it.
macro_rules! path_identifier {
    ($name:ident) => {
        crate::ids::identifier!($name);

        impl $name {
            /// An identifier that is safe in a URL path.
            ///
            /// # Errors
            ///
            /// If the text is empty, is `.` or `..`, is longer than 256 bytes, or has a character other than ASCII
            /// letters, digits and `- . _ ~ : @ + = ,`.
            pub fn new(text: impl Into<String>) -> Result<Self, crate::ValidationError> {
                let id = Self(text.into());
                id.path_segment()?;
                Ok(id)
            }

            /// An identifier as the service gave it: any text but the empty one.
            pub fn from_answer(text: impl Into<String>) -> Option<Self> {
                let text = text.into();
                if text.is_empty() { None } else { Some(Self(text)) }
            }

            /// The identifier as one segment of a URL path, which needs no escaping.
            ///
            /// # Errors
            ///
            /// If the identifier came out of an answer and does not keep the rule of [`new`](Self::new). What it
            /// names cannot be looked up by this SDK; nothing was sent.
            pub fn path_segment(&self) -> Result<&str, crate::ValidationError> {
                crate::ids::check_path_segment(&self.0)
                    .map_err(|rule| crate::ValidationError::one(stringify!($name), rule))?;
                Ok(&self.0)
            }
        }
    };
}
pub(crate) use path_identifier;

/// The rule for an identifier that becomes one segment of a URL path. An allow-list, because percent-encoding
/// cannot save `..`: URL parsers read `%2e%2e` as `..` too.
pub(crate) fn check_path_segment(text: &str) -> Result<(), Rule> {
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
