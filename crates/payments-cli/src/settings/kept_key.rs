//! The key, kept to be recognised where it does not belong.

use std::fmt;

use payments_model::scrub;
use zeroize::Zeroizing;

/// The key, wiped when dropped.
pub(super) struct KeptKey(Zeroizing<String>);

impl KeptKey {
    pub(super) fn new(key: Zeroizing<String>) -> Self {
        Self(key)
    }

    /// The text without the key and without card numbers.
    pub(super) fn scrub(&self, text: &str) -> String {
        scrub(text, &[&*self.0])
    }
}

impl fmt::Debug for KeptKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}
