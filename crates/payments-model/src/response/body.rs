use serde_json::value::RawValue;

use super::Envelope;
use crate::json::WHITESPACE;
use crate::request::BYTE_ORDER_MARK;

/// A response body, as far as it can be read.
///
/// Reading never fails: what cannot be read is a kind of its own, because for a charge it is evidence and not an error. Only
/// [`Object`](Self::Object) can mean that a payment went through.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub enum Body<'a> {
    /// No bytes, or only white space.
    Empty,
    /// Not UTF-8, not JSON, cut short, or an object that has one of the envelope's members twice.
    Unreadable,
    /// JSON, but `null`, an array, a text or a number.
    NotAnObject,
    /// A JSON object.
    Object(Envelope<'a>),
}

impl<'a> Body<'a> {
    /// Reads the bytes. The whole body must be UTF-8, also where nobody looks. One leading byte order mark is skipped.
    pub fn read(bytes: &'a [u8]) -> Self {
        let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
        let Ok(text) = str::from_utf8(bytes) else {
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
