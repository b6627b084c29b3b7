//! Writes the body of a request once, into a buffer that leaves no copy in memory.

use std::sync::OnceLock;
use std::{io, mem};

use serde::Serialize;
use zeroize::Zeroizing;

use crate::secret::SecretText;
use crate::{SecretBytes, ValidationError};

/// The body of a valid request, written when it is first needed: who plays the service only reads requests. Requests share
/// it with the transport.
#[derive(Default)]
pub(super) struct Body(OnceLock<SecretBytes>);

impl Body {
    /// The bytes that are sent.
    pub(super) fn bytes(&self, write: impl FnOnce() -> Object) -> SecretBytes {
        self.0.get_or_init(|| write().into_bytes()).share()
    }
}

impl Clone for Body {
    fn clone(&self) -> Self {
        Self(self.0.get().map(SecretBytes::share).map_or_else(OnceLock::new, OnceLock::from))
    }
}

/// The other fields of the request determine it.
impl PartialEq for Body {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Body {}

/// A JSON object that is being written.
pub(super) struct Object(WipedBuffer);

impl Object {
    pub(super) fn new() -> Self {
        Self(WipedBuffer::new())
    }

    pub(super) fn member(&mut self, name: &str, value: impl Serialize) -> &mut Self {
        let separator = if self.0.0.is_empty() { b'{' } else { b',' };
        self.0.append(&[separator]);
        self.write(name);
        self.0.append(b":");
        self.write(value);
        self
    }

    /// Writes nothing if there is no value.
    pub(super) fn optional(&mut self, name: &str, value: Option<impl Serialize>) -> &mut Self {
        match value {
            Some(value) => self.member(name, value),
            None => self,
        }
    }

    /// The object, of any size.
    pub(super) fn into_bytes(mut self) -> SecretBytes {
        self.0.append(b"}");
        SecretBytes::new(self.0.0)
    }

    fn write(&mut self, value: impl Serialize) {
        serde_json::to_writer(&mut self.0, &value).expect("a field is JSON, and memory takes any bytes");
    }
}

/// A secret as a JSON string.
pub(super) fn secret_json(text: &str) -> SecretText {
    let mut buffer = WipedBuffer::new();
    serde_json::to_writer(&mut buffer, text).expect("a text is JSON, and memory takes any bytes");
    // The error would hold the bytes, and a panic shows its error.
    let json = String::from_utf8(mem::take(&mut buffer.0)).unwrap_or_else(|_| unreachable!("JSON is UTF-8"));
    SecretText::new(json)
}

/// Refuses a body above a limit chosen by this SDK. The interface documents none.
pub(super) fn check_size(body: &SecretBytes) -> Result<(), ValidationError> {
    if body.len() > MAX_BODY_BYTES {
        return Err(ValidationError::one("body", format!("must be at most {MAX_BODY_BYTES} bytes of JSON")));
    }
    Ok(())
}

/// The limit of a request body, which the interface does not document.
pub const MAX_BODY_BYTES: usize = 64 * 1024;

/// Enough for nearly every request.
const TYPICAL_BYTES: usize = 1024;

/// A buffer that sets its old memory to zero when it grows. A `Vec` would leave a copy of the card number there.
struct WipedBuffer(Zeroizing<Vec<u8>>);

impl WipedBuffer {
    fn new() -> Self {
        Self(Zeroizing::new(Vec::with_capacity(TYPICAL_BYTES)))
    }

    fn append(&mut self, bytes: &[u8]) {
        let needed = self.0.len() + bytes.len();
        if needed > self.0.capacity() {
            let mut larger = Zeroizing::new(Vec::with_capacity(needed.max(2 * self.0.capacity())));
            larger.extend_from_slice(&self.0);
            // Dropping the old buffer sets it to zero.
            self.0 = larger;
        }
        self.0.extend_from_slice(bytes);
    }
}

impl io::Write for WipedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.append(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Object, TYPICAL_BYTES};

    #[test]
    fn members_are_written_in_order_across_growth_s5() {
        let mut object = Object::new();
        object.member("a\"", "\u{0}\\\n ü").optional("b", None::<bool>).optional("c", Some(true));
        assert_eq!(object.0.0.capacity(), TYPICAL_BYTES);
        let long = "4242".repeat(TYPICAL_BYTES);
        let written = object.member("d", &long);
        assert!(written.0.0.capacity() >= written.0.0.len());
        let expected = format!("{{\"a\\\"\":\"\\u0000\\\\\\n ü\",\"c\":true,\"d\":\"{long}\"}}");
        assert_eq!(object.into_bytes().as_ref(), expected.as_bytes());
    }
}
