//! Writing JSON objects by hand, so that a request's secrets are written once into a buffer of exactly their
//! size.

use std::fmt::{self, Display, Write};

use zeroize::Zeroizing;

use crate::secret::SecretText;
use crate::{Amount, SecretBytes};

/// Writes the members of an object that `members` names, in two passes: one that counts, one that writes into
/// a buffer which never has to grow. Growing would leave a copy of the card number behind.
pub(crate) fn encode(members: impl Fn(&mut ObjectWriter<'_>)) -> SecretBytes {
    let mut buffer = Zeroizing::new(Vec::with_capacity(encoded_len(&members)));
    write_object(&mut *buffer, members);
    SecretBytes::new(buffer)
}

/// The number of bytes that [`encode`] would write.
pub(crate) fn encoded_len(members: impl Fn(&mut ObjectWriter<'_>)) -> usize {
    let mut length = Length(0);
    write_object(&mut length, members);
    length.0
}

/// Whether [`encode`] would write at most `limit` bytes. They are counted only if they could be more: nearly every
/// request is so far below any limit that the lengths of its texts tell.
pub(crate) fn fits(limit: usize, members: impl Fn(&mut ObjectWriter<'_>)) -> bool {
    let mut at_most = AtMost(0);
    write_object(&mut at_most, &members);
    at_most.0 <= limit || encoded_len(members) <= limit
}

/// Writes an object that holds nothing secret.
pub(crate) fn encode_plain(members: impl Fn(&mut ObjectWriter<'_>)) -> Vec<u8> {
    let mut buffer = Vec::with_capacity(encoded_len(&members));
    write_object(&mut buffer, members);
    buffer
}

/// One object on its way into a sink.
pub(crate) struct ObjectWriter<'s> {
    sink: &'s mut dyn Sink,
    is_empty: bool,
}

impl ObjectWriter<'_> {
    pub(crate) fn text(&mut self, name: &str, text: &str) {
        self.name(name);
        self.sink.text(text);
    }

    pub(crate) fn optional_text(&mut self, name: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.text(name, text);
        }
    }

    pub(crate) fn flag(&mut self, name: &str, flag: bool) {
        self.json(name, if flag { "true" } else { "false" });
    }

    pub(crate) fn optional_flag(&mut self, name: &str, flag: Option<bool>) {
        if let Some(flag) = flag {
            self.flag(name, flag);
        }
    }

    pub(crate) fn amount(&mut self, name: &str, amount: Amount) {
        self.name(name);
        self.display(&amount);
    }

    pub(crate) fn integer(&mut self, name: &str, value: impl Into<i64>) {
        self.name(name);
        self.display(&value.into());
    }

    /// Writes a value that is JSON already.
    pub(crate) fn json(&mut self, name: &str, json: &str) {
        self.name(name);
        self.sink.put(json);
    }

    fn name(&mut self, name: &str) {
        if !self.is_empty {
            self.sink.put(",");
        }
        self.is_empty = false;
        self.sink.text(name);
        self.sink.put(":");
    }

    fn display(&mut self, value: &dyn Display) {
        let written = write!(Formatted(self.sink), "{value}");
        debug_assert!(written.is_ok(), "a sink takes everything");
    }
}

/// Where bytes go: into a count or into a buffer.
pub(crate) trait Sink {
    fn put(&mut self, text: &str);

    /// Writes the text as a JSON string.
    fn text(&mut self, text: &str) {
        put_text(self, text);
    }
}

/// No less than the number of bytes, found without looking at any.
struct AtMost(usize);

impl Sink for AtMost {
    fn put(&mut self, text: &str) {
        self.0 = self.0.saturating_add(text.len());
    }

    fn text(&mut self, text: &str) {
        // Two quotation marks, and no escape is longer than `\u0000`.
        self.0 = self.0.saturating_add(text.len().saturating_mul(6).saturating_add(2));
    }
}

struct Length(usize);

impl Sink for Length {
    fn put(&mut self, text: &str) {
        self.0 += text.len();
    }
}

impl Sink for Vec<u8> {
    fn put(&mut self, text: &str) {
        self.extend_from_slice(text.as_bytes());
    }
}

impl Sink for String {
    fn put(&mut self, text: &str) {
        self.push_str(text);
    }
}

struct Formatted<'s, S: ?Sized>(&'s mut S);

impl<S: Sink + ?Sized> Write for Formatted<'_, S> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.put(text);
        Ok(())
    }
}

pub(crate) fn write_object(sink: &mut dyn Sink, members: impl Fn(&mut ObjectWriter<'_>)) {
    sink.put("{");
    members(&mut ObjectWriter { sink: &mut *sink, is_empty: true });
    sink.put("}");
}

fn put_text<S: Sink + ?Sized>(sink: &mut S, text: &str) {
    sink.put("\"");
    // Without a branch, so that the processor looks at many bytes at once. Nearly every text passes.
    let needs_escapes = text.bytes().fold(false, |needs, byte| needs | matches!(byte, b'"' | b'\\' | ..b' '));
    if needs_escapes {
        put_escaped(sink, text);
    } else {
        sink.put(text);
    }
    sink.put("\"");
}

fn put_escaped<S: Sink + ?Sized>(sink: &mut S, text: &str) {
    let mut unwritten = text;
    while let Some(at) = unwritten.find(|character| matches!(character, '"' | '\\' | ..' ')) {
        let (plain, rest) = unwritten.split_at(at);
        let (special, rest) = rest.split_at(1);
        sink.put(plain);
        put_escape(sink, special);
        unwritten = rest;
    }
    sink.put(unwritten);
}

/// Writes one of the characters that JSON does not allow in a string as they are; all of them are one byte
/// long.
fn put_escape<S: Sink + ?Sized>(sink: &mut S, special: &str) {
    match special {
        "\n" => sink.put("\\n"),
        "\r" => sink.put("\\r"),
        "\t" => sink.put("\\t"),
        "\"" => sink.put("\\\""),
        "\\" => sink.put("\\\\"),
        _ => special.bytes().for_each(|byte| {
            let written = write!(Formatted(sink), "\\u{byte:04x}");
            debug_assert!(written.is_ok(), "a sink takes everything");
        }),
    }
}

/// A secret text as a JSON string.
pub(crate) fn quoted(text: &str) -> SecretText {
    let mut length = Length(0);
    put_text(&mut length, text);
    let mut buffer = Zeroizing::new(String::with_capacity(length.0));
    put_text(&mut *buffer, text);
    SecretText::from(buffer)
}

#[cfg(test)]
mod tests {
    use super::{encode, encode_plain, encoded_len, fits, quoted};

    #[test]
    fn s5_the_buffer_is_reserved_once_and_filled_exactly() {
        let write = |out: &mut super::ObjectWriter<'_>| {
            out.text("text", "\u{0}\"\\\n ü 4242424242424242");
            out.amount("amount", crate::Amount::from_cents(-10_50));
            out.optional_flag("flag", Some(true));
            out.optional_text("absent", None);
        };
        let encoded = encode(write);
        assert_eq!(encoded.len(), encoded_len(write));
        assert_eq!(encoded.capacity(), encoded.len(), "the buffer has grown");
        assert_eq!(encoded.as_ref(), encode_plain(write));
    }

    #[test]
    fn texts_are_escaped_as_json_demands_and_no_further() {
        for (text, json) in [
            ("", r#""""#),
            ("a/ü\u{2028}\u{7f}", "\"a/ü\u{2028}\u{7f}\""),
            ("\"\\", r#""\"\\""#),
            ("\n\r\t", r#""\n\r\t""#),
            ("\u{0}\u{1f}\u{8}", r#""\u0000\u001f\u0008""#),
        ] {
            assert_eq!(quoted(text).as_str(), json);
        }
    }

    #[test]
    fn an_object_fits_to_the_byte_however_much_of_it_is_escaped() {
        for text in ["", "abc", "\u{1}\u{1}\u{1}", "\n\"ü", &"\\".repeat(100)] {
            let write = |out: &mut super::ObjectWriter<'_>| {
                out.text("text", text);
                out.flag("flag", true);
                out.amount("amount", crate::Amount::from_cents(1));
            };
            let length = encode_plain(write).len();
            assert!(fits(length, write) && fits(6 * length, write), "{text:?}");
            assert!(!fits(length - 1, write), "{text:?}");
        }
    }

    #[test]
    fn an_object_without_members_is_empty() {
        assert_eq!(encode_plain(|_| ()), b"{}");
    }
}
