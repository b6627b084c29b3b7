//! Writing JSON objects by hand, so that a request's secrets are written once into a buffer of exactly their
//! size.

use std::fmt::{self, Display, Write};
use std::net::IpAddr;

use zeroize::Zeroizing;

use crate::secret::SecretText;
use crate::{Amount, SecretBytes};

/// Writes an object whose length is known into a buffer of that size, which never has to grow. Growing would leave a copy
/// of the card number behind.
pub(crate) fn encode(length: Length, members: impl Fn(&mut ObjectWriter<'_>)) -> SecretBytes {
    let mut buffer = Zeroizing::new(Vec::with_capacity(length.bytes));
    if length.has_escapes {
        write_object(&mut *buffer, members);
    } else {
        write_object(&mut Plain(&mut buffer), members);
    }
    debug_assert_eq!(buffer.len(), length.bytes, "the length is that of the same members");
    SecretBytes::new(buffer)
}

/// Writes an object that holds nothing secret.
pub(crate) fn encode_plain(members: impl Fn(&mut ObjectWriter<'_>)) -> Vec<u8> {
    let mut buffer = Vec::with_capacity(Length::of(&members).bytes);
    write_object(&mut buffer, members);
    buffer
}

/// One object on its way into a sink.
pub(crate) struct ObjectWriter<'s> {
    sink: &'s mut dyn Sink,
    /// What stands before the next name.
    opening: u8,
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
        match amount.price() {
            // Nearly every amount, and without the machinery of formatting, which takes five times as long.
            Some((whole, hundredths)) => {
                self.sink.put(itoa::Buffer::new().format(whole));
                self.sink.put(if hundredths < 10 { ".0" } else { "." });
                self.sink.put(itoa::Buffer::new().format(hundredths));
            }
            None => self.sink.short(&amount),
        }
    }

    pub(crate) fn integer(&mut self, name: &'static str, value: impl Into<i64>) {
        self.name(name);
        self.sink.put(itoa::Buffer::new().format(value.into()));
    }

    pub(crate) fn address(&mut self, name: &'static str, address: IpAddr) {
        self.name(name);
        self.sink.put("\"");
        match address {
            IpAddr::V4(address) => {
                for (index, part) in address.octets().into_iter().enumerate() {
                    if index > 0 {
                        self.sink.mark(b'.');
                    }
                    self.sink.put(itoa::Buffer::new().format(part));
                }
            }
            IpAddr::V6(_) => self.sink.short(&address),
        }
        self.sink.put("\"");
    }

    /// Writes a value that is JSON already.
    pub(crate) fn json(&mut self, name: &'static str, json: &str) {
        self.name(name);
        self.sink.put(json);
    }

    /// The same under a name that somebody else chose.
    pub(crate) fn foreign(&mut self, name: &str, json: &str) {
        self.sink.mark(self.opening);
        self.opening = b',';
        self.sink.text(name);
        self.sink.put(":");
        self.sink.put(json);
    }

    /// The interface's names have nothing to escape.
    fn name(&mut self, name: &'static str) {
        debug_assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'), "{name}");
        self.sink.name(self.opening, name);
        self.opening = b',';
    }
}

/// Where bytes go: into a count or into a buffer.
///
/// It is called through a pointer, once or twice for each member, so what belongs together is one call.
pub(crate) trait Sink {
    fn put(&mut self, text: &str);

    /// Writes one ASCII character.
    fn mark(&mut self, mark: u8);

    /// Writes a name that has nothing to escape.
    fn name(&mut self, opening: u8, name: &str) {
        self.mark(opening);
        self.mark(b'"');
        self.put(name);
        self.put("\":");
    }

    /// Writes the text as a JSON string.
    fn text(&mut self, text: &str) {
        put_text(self, text);
    }

    /// Writes what the value displays: an odd amount or an IP address.
    fn short(&mut self, value: &dyn Display) {
        let written = write!(Formatted(self), "{value}");
        debug_assert!(written.is_ok(), "a sink takes everything");
    }
}

/// How long an object is as JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Length {
    pub(crate) bytes: usize,
    /// Nearly no text has anything to escape, and where none has, writing need not look for it again.
    has_escapes: bool,
}

impl Length {
    pub(crate) fn of(members: impl Fn(&mut ObjectWriter<'_>)) -> Self {
        let mut length = Self::default();
        write_object(&mut length, members);
        length
    }
}

impl Sink for Length {
    fn put(&mut self, text: &str) {
        self.bytes += text.len();
    }

    fn mark(&mut self, _: u8) {
        self.bytes += 1;
    }

    fn text(&mut self, text: &str) {
        if needs_escapes(text) {
            self.has_escapes = true;
            put_text(self, text);
        } else {
            self.bytes += text.len() + 2;
        }
    }
}

/// A buffer for texts of which it is known that none has anything to escape.
struct Plain<'b>(&'b mut Vec<u8>);

impl Sink for Plain<'_> {
    fn put(&mut self, text: &str) {
        self.0.put(text);
    }

    fn mark(&mut self, mark: u8) {
        self.0.mark(mark);
    }

    fn text(&mut self, text: &str) {
        self.mark(b'"');
        self.put(text);
        self.mark(b'"');
    }
}

impl Sink for Vec<u8> {
    fn put(&mut self, text: &str) {
        self.extend_from_slice(text.as_bytes());
    }

    fn mark(&mut self, mark: u8) {
        self.push(mark);
    }
}

impl Sink for String {
    fn put(&mut self, text: &str) {
        self.push_str(text);
    }

    fn mark(&mut self, mark: u8) {
        self.push(char::from(mark));
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
    let mut out = ObjectWriter { sink: &mut *sink, opening: b'{' };
    members(&mut out);
    let is_empty = out.opening == b'{';
    sink.put(if is_empty { "{}" } else { "}" });
}

fn put_text<S: Sink + ?Sized>(sink: &mut S, text: &str) {
    sink.put("\"");
    if needs_escapes(text) {
        put_escaped(sink, text);
    } else {
        sink.put(text);
    }
    sink.put("\"");
}

/// Nearly no text does. Without a branch, so that the processor looks at many bytes at once.
fn needs_escapes(text: &str) -> bool {
    text.bytes().fold(false, |needs, byte| needs | matches!(byte, b'"' | b'\\' | ..b' '))
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
    let mut length = Length::default();
    length.text(text);
    let mut buffer = Zeroizing::new(String::with_capacity(length.bytes));
    put_text(&mut *buffer, text);
    SecretText::from(buffer)
}

#[cfg(test)]
mod tests {
    use super::{Length, encode, encode_plain, quoted};

    fn text(write: impl Fn(&mut super::ObjectWriter<'_>)) -> String {
        String::from_utf8(encode_plain(write)).unwrap()
    }

    #[test]
    fn s5_the_buffer_is_reserved_once_and_filled_exactly() {
        let write = |out: &mut super::ObjectWriter<'_>| {
            out.text("text", "\u{0}\"\\\n ü 4242424242424242");
            out.amount("amount", crate::Amount::from_cents(-10_50));
            out.optional_flag("flag", Some(true));
            out.optional_text("absent", None);
        };
        let encoded = encode(Length::of(write), write);
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
    fn amounts_numbers_and_addresses_are_written_as_they_display() {
        let address = |text: &str| -> std::net::IpAddr { text.parse().unwrap() };
        for amount in
            ["0.00", "0.05", "10.50", "-10.50", "1249.5", "7", "92233720368547758.07", "1e-9", "-3e64"]
        {
            let amount: crate::Amount = amount.parse().unwrap();
            assert_eq!(text(|out| out.amount("a", amount)), format!("{{\"a\":{amount}}}"));
        }
        for number in [0, -1, i64::MIN, i64::MAX] {
            assert_eq!(text(|out| out.integer("a", number)), format!("{{\"a\":{number}}}"));
        }
        for address in ["0.0.0.0", "203.0.113.61", "255.255.255.255", "::", "fe80::1:2"].map(address) {
            assert_eq!(text(|out| out.address("a", address)), format!("{{\"a\":\"{address}\"}}"));
        }
    }

    #[test]
    fn an_object_without_members_is_empty() {
        assert_eq!(encode_plain(|_| ()), b"{}");
    }
}
