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
