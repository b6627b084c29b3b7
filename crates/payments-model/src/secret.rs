//! Keeps secrets out of logs, and removes them from memory on drop.

use std::fmt;
use std::sync::Arc;

use zeroize::Zeroizing;

/// Replaces a secret or personal value.
pub(crate) const REDACTED: &str = "[redacted]";

/// Its `Debug` is `[redacted]`.
pub(crate) struct Redacted;

impl fmt::Debug for Redacted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

/// Declares a `Debug` that shows no field.
macro_rules! redacted_debug {
    ($($type:ident $(<$lifetime:lifetime>)?),*) => {$(
        impl std::fmt::Debug for $type $(<$lifetime>)? {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_tuple(stringify!($type)).field(&$crate::secret::Redacted).finish()
            }
        }
    )*};
}
pub(crate) use redacted_debug;

/// A request as JSON, which may hold a card or account number.
///
/// The request and its transport share the buffer, and it is set to zero when both have dropped it. This is
/// best effort: a transport, the operating system or a core dump may keep copies.
///
/// There is no `Clone`, no `Display` and no serialization. `Debug` shows only the length.
pub struct SecretBytes(Arc<Zeroizing<Vec<u8>>>);

impl SecretBytes {
    pub(crate) fn new(bytes: Zeroizing<Vec<u8>>) -> Self {
        Self(Arc::new(bytes))
    }

    pub(crate) fn share(&self) -> Self {
        Self(Arc::clone(&self.0))
    }

    /// The number of bytes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no bytes. A request is never empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl AsRef<[u8]> for SecretBytes {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for SecretBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(bytes) = self;
        write!(f, "SecretBytes({} bytes)", bytes.len())
    }
}

/// Text that is set to zero on drop. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct SecretText(Zeroizing<String>);

impl SecretText {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(Zeroizing::new(text.into()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<Zeroizing<String>> for SecretText {
    fn from(text: Zeroizing<String>) -> Self {
        Self(text)
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

#[cfg(test)]
mod tests {
    use zeroize::{ZeroizeOnDrop, Zeroizing};

    use super::{SecretBytes, SecretText};

    #[test]
    fn secrets_are_set_to_zero_on_drop_s5() {
        fn is_zeroed_on_drop(_: &impl ZeroizeOnDrop) {}
        let SecretText(text) = SecretText::new("4242");
        let SecretBytes(bytes) = SecretBytes::new(Zeroizing::new(vec![1]));
        is_zeroed_on_drop(&text);
        is_zeroed_on_drop(&*bytes);
    }

    #[test]
    fn length_counts_bytes() {
        let bytes = |length| SecretBytes::new(Zeroizing::new(vec![0; length]));
        assert!(bytes(0).is_empty() && !bytes(2).is_empty());
        assert_eq!(bytes(2).len(), 2);
    }

    #[test]
    fn debug_shows_no_secret_s5() {
        assert_eq!(format!("{:?}", SecretText::new("4242")), "[redacted]");
        assert_eq!(format!("{:?}", SecretBytes::new(Zeroizing::new(vec![1, 2]))), "SecretBytes(2 bytes)");
    }
}
