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
    pub(crate) fn text(&mut self, name: &'static str, text: &str) {
        self.name(name);
        self.sink.text(text);
    }

    pub(crate) fn optional_text(&mut self, name: &'static str, text: Option<&str>) {
        if let Some(text) = text {
            self.text(name, text);
        }
    }

    pub(crate) fn flag(&mut self, name: &'static str, flag: bool) {
        self.name(name);
        self.sink.put(if flag { "true" } else { "false" });
    }

    pub(crate) fn optional_flag(&mut self, name: &'static str, flag: Option<bool>) {
        if let Some(flag) = flag {
            self.flag(name, flag);
        }
    }

    pub(crate) fn amount(&mut self, name: &'static str, amount: Amount) {
        self.name(name);
        self.sink.short(&amount);
    }

    pub(crate) fn integer(&mut self, name: &'static str, value: impl Into<i64>) {
        self.name(name);
        self.sink.short(&value.into());
    }

    /// Writes what a value of few characters, none of which needs an escape, displays, as a text.
    pub(crate) fn short_text(&mut self, name: &'static str, value: &dyn Display) {
        self.name(name);
        self.sink.put("\"");
        self.sink.short(value);
        self.sink.put("\"");
    }

    /// Writes a value that is JSON already.
    pub(crate) fn json(&mut self, name: &'static str, json: &str) {
        self.name(name);
        self.sink.put(json);
    }

    /// The same under a name that somebody else chose.
    pub(crate) fn foreign(&mut self, name: &str, json: &str) {
        self.separate();
        self.sink.text(name);
        self.sink.put(":");
        self.sink.put(json);
    }

    /// The interface's names have nothing to escape.
    fn name(&mut self, name: &'static str) {
        debug_assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'), "{name}");
        self.separate();
        self.sink.put("\"");
        self.sink.put(name);
        self.sink.put("\":");
    }

    fn separate(&mut self) {
        if !self.is_empty {
            self.sink.put(",");
        }
        self.is_empty = false;
    }
}

/// Where bytes go: into a count or into a buffer.
pub(crate) trait Sink {
    fn put(&mut self, text: &str);

    /// Writes the text as a JSON string.
    fn text(&mut self, text: &str) {
        put_text(self, text);
    }

    /// Writes what the value displays: an amount, a number or an IP address.
    fn short(&mut self, value: &dyn Display) {
        let written = write!(Formatted(self), "{value}");
        debug_assert!(written.is_ok(), "a sink takes everything");
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

    fn short(&mut self, _: &dyn Display) {
        // An amount has 19 digits, a point and a sign, and at most 64 zeros before or behind them; the others are shorter.
        const LONGEST: usize = 100;
        self.0 = self.0.saturating_add(LONGEST);
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
    fn what_is_short_is_never_longer_than_it_is_taken_to_be() {
        let longest: std::net::Ipv6Addr = "fe80:1111:2222:3333:4444:5555:6666:7777".parse().unwrap();
        for amount in ["-9223372036854775807e64", "-9223372036854775807e-64", "0.00"] {
            let write = |out: &mut super::ObjectWriter<'_>| {
                out.amount("amount", amount.parse().unwrap());
                out.integer("integer", i64::MIN);
                out.short_text("address", &longest);
            };
            let mut at_most = super::AtMost(0);
            super::write_object(&mut at_most, write);
            assert!(at_most.0 >= encoded_len(write), "{amount}");
            assert_eq!(encode(write).as_ref(), encode_plain(write));
        }
    }

    #[test]
    fn an_object_without_members_is_empty() {
        assert_eq!(encode_plain(|_| ()), b"{}");
    }
}
