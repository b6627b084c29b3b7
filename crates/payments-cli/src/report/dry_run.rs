//! `--dry-run`: the request that would be sent, without its secrets.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Not;

use bytes::Bytes;
use http::Request;
use http::header::AUTHORIZATION;
use payments_core::CallError;
use payments_model::unversioned::{CARD_FIELDS, RequestMembers, printable_field_name, request_field};
use payments_model::{MaskedCard, mask};
use serde::{Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};

use crate::failure::Failure;

/// The result of `--dry-run`.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "outcome", rename = "dry_run")]
pub(crate) struct DryRun {
    pub(crate) request: RedactedRequest,
    /// Whether the journal has its key. What of, a call would tell: it may be that of another payment.
    #[serde(skip_serializing_if = "Not::not")]
    pub(crate) is_key_recorded: bool,
}

/// A request as it would be sent, except for `Host` and `Content-Length`, which belong to the connection.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct RedactedRequest {
    pub(crate) method: String,
    pub(crate) url: String,
    pub(crate) headers: Fields<String>,
    /// `None` for a GET.
    pub(crate) body: Option<Fields<Box<RawValue>>>,
}

/// Names and values in their order.
#[derive(Clone, Debug)]
pub(crate) struct Fields<T>(pub(crate) Vec<(String, T)>);

impl DryRun {
    /// Of the request that a client would send.
    pub(crate) fn of(request: Result<Request<Bytes>, impl CallError>) -> Result<Self, Failure> {
        let request = request.map_err(|error| Failure::of(&error))?;
        Ok(Self { request: RedactedRequest::of(&request), is_key_recorded: false })
    }
}

impl RedactedRequest {
    fn of(request: &Request<Bytes>) -> Self {
        // The key may be where it does not belong: in the address, or in a text field.
        let key = request.headers().get(AUTHORIZATION).and_then(|key| key.to_str().ok()).unwrap_or_default();
        let shown = |text: &str| mask(text, &[key]).into_owned();
        let headers = request.headers().iter().map(|(name, value)| {
            let value = if value.is_sensitive() {
                "[redacted]".to_owned()
            } else {
                shown(&String::from_utf8_lossy(value.as_bytes()))
            };
            (name.as_str().to_owned(), value)
        });
        let body = RequestMembers::read(request.body()).ok();
        Self {
            method: request.method().to_string(),
            // An id in the path may be a card number in the wrong place.
            url: shown(&request.uri().to_string()),
            headers: Fields(headers.collect()),
            body: body.map(|members| redacted_members(&members, key)),
        }
    }
}

/// The members as they may be shown. The card number is masked. The values of other card fields, and of fields that the
/// interface does not have, are redacted. A redacted text, and the API key, is also redacted inside other fields.
fn redacted_members(members: &RequestMembers<'_>, key: &str) -> Fields<Box<RawValue>> {
    let text_of = |value: &str| serde_json::from_str::<String>(value).ok();
    let is_hidden = |name| request_field(name).is_none_or(|field| CARD_FIELDS.contains(&field));
    let hidden = members.iter().filter(|(name, _)| is_hidden(name));
    let secrets: Vec<String> = hidden.filter_map(|(_, value)| text_of(value)).collect();
    let secrets: Vec<&str> = secrets.iter().map(String::as_str).chain([key]).collect();
    let redacted = members.iter().map(|(name, value)| {
        let text = text_of(value);
        let shown = match (name, text.as_deref()) {
            ("CardNumber", Some(number)) => to_raw_value(MaskedCard::new(number).as_str()),
            _ if is_hidden(name) => to_raw_value("[redacted]"),
            (_, text) => match mask(text.unwrap_or(value), &secrets) {
                // Exactly as it would be sent: an amount keeps its digits, and a string its escapes.
                Cow::Borrowed(_) => RawValue::from_string(value.to_owned()),
                Cow::Owned(masked) => to_raw_value(&masked),
            },
        };
        (printable_field_name(name).into_owned(), shown.unwrap_or_else(|_| RawValue::NULL.to_owned()))
    });
    Fields(with_distinct_names(redacted))
}

/// Names that are masked or cut may become equal, and most JSON parsers would drop all but one. A number after a space makes
/// them distinct, because a name with a space is shown in quotation marks.
fn with_distinct_names<T>(members: impl Iterator<Item = (String, T)>) -> Vec<(String, T)> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let distinct = members.map(|(name, value)| {
        let count = seen.entry(name.clone()).or_default();
        *count += 1;
        if *count == 1 { (name, value) } else { (format!("{name} {count}"), value) }
    });
    distinct.collect()
}

impl<T: Serialize> Serialize for Fields<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_is_shown_as_sent_unless_it_has_a_secret() {
        let body = br#"{"Description":"a\n4242424242424242","Reason":"a\n\u202eb","Amount":10.50,"Pin":"x\"y","ReferenceNo":"x\"y key"}"#;
        let members = RequestMembers::read(body).expect("an object");
        let Fields(members) = redacted_members(&members, "key");
        let members: Vec<_> = members.iter().map(|(name, value)| format!("{name}={}", value.get())).collect();
        assert_eq!(
            members,
            [
                r#"Description="a\n************4242""#,
                r#"Reason="a\n\u202eb""#,
                "Amount=10.50",
                r#"Pin="[redacted]""#,
                r#"ReferenceNo="[redacted] [redacted]""#,
            ]
        );
    }

    #[test]
    fn unprintable_names_stay_distinct() {
        let members = ["a", "b", "a", "a"].map(|name| (name.to_owned(), ()));
        let names: Vec<_> =
            with_distinct_names(members.into_iter()).into_iter().map(|(name, ())| name).collect();
        assert_eq!(names, ["a", "b", "a 2", "a 3"]);
    }
}
