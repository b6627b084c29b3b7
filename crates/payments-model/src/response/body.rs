use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::Envelope;
use crate::json::{BYTE_ORDER_MARK, WHITESPACE};

/// A response body, as far as it can be read.
///
/// Reading never fails. An unreadable body is a variant and not an error, because for a charge it is evidence. Only
/// [`Object`](Self::Object) can mean that a payment succeeded.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub enum Body<'a> {
    /// No bytes, or only whitespace.
    Empty,
    /// Not UTF-8, not JSON, truncated, or an object that has one of the envelope's members twice.
    Unreadable,
    /// JSON, but not an object.
    NotAnObject,
    /// A JSON object.
    Object(Envelope<'a>),
}

impl<'a> Body<'a> {
    /// Reads the bytes. The whole body must be UTF-8, including members that are not read. One leading byte order mark is
    /// skipped.
    pub fn read(bytes: &'a [u8]) -> Self {
        let Ok(text) = str::from_utf8(without_byte_order_mark(bytes)) else {
            return Self::Unreadable;
        };
        let text = text.trim_matches(WHITESPACE);
        if text.is_empty() {
            Self::Empty
        } else if text.starts_with('{') {
            Envelope::read(text).map_or(Self::Unreadable, Self::Object)
        } else if serde_json::from_str::<&RawValue>(text).is_ok() {
            Self::NotAnObject
        } else {
            Self::Unreadable
        }
    }
}

/// Whether the bytes begin as a JSON object, list or string and end before it does. A response that ends when its connection
/// is closed shows in no other way that it was cut.
pub fn is_truncated_json(bytes: &[u8]) -> bool {
    let bytes = without_byte_order_mark(bytes).trim_ascii_start();
    // Half a number reads as an invalid one, and not as the end.
    let of_a_number = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
    let end = bytes.iter().rposition(|byte| !of_a_number(byte)).map_or(0, |last| last + 1);
    let mut values = serde_json::Deserializer::from_slice(&bytes[..end]).into_iter::<IgnoredAny>();
    matches!(bytes.first(), Some(b'{' | b'[' | b'"'))
        && values.find_map(Result::err).is_some_and(|error| error.is_eof())
}

/// Whether the bytes begin with a whole JSON object, in any encoding that extends ASCII and with any members. If the body is
/// [unreadable](Body::Unreadable) all the same, readers may disagree about its content.
pub fn begins_with_json_object(bytes: &[u8]) -> bool {
    let bytes = without_byte_order_mark(bytes).trim_ascii_start();
    let mut values = serde_json::Deserializer::from_slice(bytes).into_iter::<IgnoredAny>();
    bytes.starts_with(b"{") && matches!(values.next(), Some(Ok(_)))
}

fn without_byte_order_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes)
}
