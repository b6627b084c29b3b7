use serde::de::IgnoredAny;

use crate::json::without_byte_order_mark;

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

/// Whether the bytes begin with a whole JSON object, in any encoding that extends ASCII and with any members. If no
/// [`Envelope`](super::Envelope) can be read from such bytes, readers may disagree about its content.
pub fn begins_with_json_object(bytes: &[u8]) -> bool {
    let bytes = without_byte_order_mark(bytes).trim_ascii_start();
    let mut values = serde_json::Deserializer::from_slice(bytes).into_iter::<IgnoredAny>();
    bytes.starts_with(b"{") && matches!(values.next(), Some(Ok(_)))
}
