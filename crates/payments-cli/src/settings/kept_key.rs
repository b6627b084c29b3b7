//! The key, kept to be recognised where it does not belong.

use std::fmt;

use payments_model::mask;
use zeroize::Zeroizing;

/// The key, wiped when dropped.
pub(super) struct KeptKey(Zeroizing<String>);

impl KeptKey {
    pub(super) fn new(key: Zeroizing<String>) -> Self {
        Self(key)
    }

    /// The text without the key and without card numbers.
    pub(super) fn mask(&self, text: &str) -> String {
        mask(text, &[&self.0]).into_owned()
    }

    /// A shorter one is in too much else by chance.
    pub(super) fn is_in(&self, text: &str) -> bool {
        self.0.len() >= 8 && text.contains(&**self.0)
    }
}

impl fmt::Debug for KeptKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}
