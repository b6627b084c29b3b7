//! What tells one `.crate` file from another.

use std::fmt;

use sha2::{Digest as _, Sha256};

/// The SHA-256 of a `.crate` file, as a registry's index has it; shown in hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Checksum([u8; 32]);

impl Checksum {
    pub(crate) fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub(crate) fn of(file: &[u8]) -> Self {
        Self(Sha256::digest(file).into())
    }
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_shown_as_an_index_has_it() {
        // The SHA-256 of nothing.
        let nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Checksum::of(b"").to_string(), nothing);
    }
}
