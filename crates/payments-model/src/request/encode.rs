//! Writes a request into a buffer of exactly its size.

use std::io;
use std::sync::OnceLock;

use serde::{Serialize, Serializer};
use zeroize::Zeroizing;

use super::{DialPrefix, Email, SuggestedMode};
use crate::{CardNumber, Cvv, Expiry, GatewayCustomerId, SecretBytes, TokenId};

/// A valid request. Its bytes are written on first use, because a fake service never needs them.
pub(crate) struct Encoded<W> {
    pub(crate) wire: W,
    bytes: OnceLock<SecretBytes>,
}

impl<W: Serialize> Encoded<W> {
    pub(crate) const fn new(wire: W) -> Self {
        Self { wire, bytes: OnceLock::new() }
    }

    /// The bytes that are sent.
    pub(crate) fn bytes(&self) -> SecretBytes {
        self.bytes.get_or_init(|| encode(&self.wire)).share()
    }
}

impl<W: Clone> Clone for Encoded<W> {
    fn clone(&self) -> Self {
        let bytes = self.bytes.get().map_or_else(OnceLock::new, |bytes| bytes.share().into());
        Self { wire: self.wire.clone(), bytes }
    }
}

impl<W: PartialEq> PartialEq for Encoded<W> {
    fn eq(&self, other: &Self) -> bool {
        self.wire == other.wire
    }
}

impl<W: Eq> Eq for Encoded<W> {}

/// Writes the JSON into a buffer that never grows. Growing would leave a copy of the card number in memory.
pub(crate) fn encode(request: &impl Serialize) -> SecretBytes {
    let mut counter = Counter(0);
    write(request, &mut counter);
    let mut buffer = Zeroizing::new(Vec::with_capacity(counter.0));
    write(request, &mut *buffer);
    SecretBytes::new(buffer)
}

fn write(request: &impl Serialize, writer: impl io::Write) {
    serde_json::to_writer(writer, request).expect("a request is JSON, and writing to memory does not fail");
}

struct Counter(usize);

impl io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A type that is sent as a JSON string. Not a public `Serialize`, so that no secret is written by accident.
pub(crate) trait WireText {
    fn wire_text(&self) -> &str;
}

macro_rules! wire_text {
    ($($type:ident.$text:ident,)*) => {$(
        impl WireText for $type {
            fn wire_text(&self) -> &str {
                self.$text()
            }
        }
    )*};
}
wire_text! {
    CardNumber.expose_secret,
    Cvv.expose_secret,
    Expiry.expose_secret,
    Email.as_str,
    DialPrefix.as_str,
    SuggestedMode.as_str,
    TokenId.as_str,
    GatewayCustomerId.as_str,
}

/// For `serialize_with`.
pub(crate) fn wire_text<S: Serializer>(value: &impl WireText, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(value.wire_text())
}

#[cfg(test)]
mod tests {
    use super::encode;

    #[test]
    fn buffer_is_allocated_once_and_filled_exactly_s5() {
        let encoded = encode(&("\u{0}\"\\\n ü 4242424242424242", true));
        assert_eq!(encoded.capacity(), encoded.len(), "the buffer has grown");
        assert_eq!(encoded.as_ref(), "[\"\\u0000\\\"\\\\\\n ü 4242424242424242\",true]".as_bytes());
    }
}
