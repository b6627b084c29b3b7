//! `--dry-run`: the request that would be sent, without its secrets.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::Request;
use http::header::AUTHORIZATION;
use payments_core::{Transport, TransportError, TransportErrorKind, TransportRequest, TransportResponse};
use payments_model::unversioned::{FieldName, RequestMembers};
use payments_model::{MaskedCard, mask, printable_field_name};
use serde::{Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};

use crate::call::Call;
use crate::failure::Failure;
use crate::settings::Settings;

/// A request as it would be sent, but for `Host` and `Content-Length`, which belong to the connection.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Rehearsal {
    pub(crate) method: String,
    pub(crate) url: String,
    pub(crate) headers: Members<String>,
    /// Of a POST.
    pub(crate) body: Option<Members<Box<RawValue>>>,
}

/// Names and values in their order.
#[derive(Clone, Debug)]
pub(crate) struct Members<T>(pub(crate) Vec<(String, T)>);

impl Rehearsal {
    /// Lets the client make the request, as it would, for a transport that keeps it.
    pub(crate) async fn of<C: Call>(call: &C, settings: &Settings) -> Result<Self, Failure> {
        let kept = Kept::default();
        let client = settings.client_over(kept.clone()).lookup_retries(0).build();
        let ended = call.send(&client).await;
        let kept = kept.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        match (kept, ended) {
            (Some(request), _) => Ok(Self::redacted(&request)),
            (None, Err(error)) => Err(Failure::of(&error)),
            (None, Ok(_)) => Err(Failure::not_processed("internal", "internal error; nothing was sent")),
        }
    }

    fn redacted(request: &Request<Bytes>) -> Self {
        // The key is known here, and may stand where it does not belong: in the address, or in a free text.
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
            // An id in its path may be a card number in the wrong place.
            url: shown(&request.uri().to_string()),
            headers: Members(headers.collect()),
            body: body.map(|members| redacted_members(&members, key)),
        }
    }
}

/// The members as they may be shown: the card number masked, and every other value redacted that is the card's or that of no
/// field of the interface. A redacted text is redacted where it stands in another field as well, and so is the API key.
fn redacted_members(members: &RequestMembers<'_>, key: &str) -> Members<Box<RawValue>> {
    let text_of = |value: &str| serde_json::from_str::<String>(value).ok();
    let is_hidden = |name| FieldName::find(name).is_none_or(FieldName::is_of_card);
    let hidden = members.iter().filter(|(name, _)| is_hidden(name));
    let secrets: Vec<String> = hidden.filter_map(|(_, value)| text_of(value)).collect();
    let secrets: Vec<&str> = secrets.iter().map(String::as_str).chain([key]).collect();
    let redacted = members.iter().map(|(name, value)| {
        let text = text_of(value);
        let shown = match (name, text.as_deref()) {
            ("CardNumber", Some(number)) => to_raw_value(MaskedCard::new(number).as_str()),
            _ if is_hidden(name) => to_raw_value("[redacted]"),
            (_, text) => match mask(text.unwrap_or(value), &secrets) {
                // As it would be sent: an amount with its digits, and a text with its lines.
                Cow::Borrowed(_) => RawValue::from_string(value.to_owned()),
                Cow::Owned(masked) => to_raw_value(&masked),
            },
        };
        (printable_field_name(name).to_owned(), shown.unwrap_or_else(|_| RawValue::NULL.to_owned()))
    });
    Members(with_unlike_names(redacted))
}

/// Two names that cannot be shown would be alike, and one of them lost to most readers of JSON. A name that can be shown
/// has no space, so that a number behind one makes no third alike.
fn with_unlike_names<T>(members: impl Iterator<Item = (String, T)>) -> Vec<(String, T)> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let unlike = members.map(|(name, value)| {
        let count = seen.entry(name.clone()).or_default();
        *count += 1;
        if *count == 1 { (name, value) } else { (format!("{name} {count}"), value) }
    });
    unlike.collect()
}

/// A transport that keeps what it is to send.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Option<Request<Bytes>>>>);

impl Transport for Kept {
    async fn send(&self, request: TransportRequest) -> Result<TransportResponse, TransportError> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(request.into_http());
        Err(TransportError::not_processed(TransportErrorKind::Cancelled))
    }
}

impl<T: Serialize> Serialize for Members<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_shown_as_it_would_be_sent_unless_it_holds_a_secret() {
        let body = br#"{"Description":"a\n4242424242424242","Reason":"a\n\u202eb","Amount":10.50,"Pin":"x\"y","ReferenceNo":"x\"y key"}"#;
        let members = RequestMembers::read(body).expect("an object");
        let Members(members) = redacted_members(&members, "key");
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
    fn names_that_cannot_be_shown_stay_apart() {
        let members = ["a", "b", "a", "a"].map(|name| (name.to_owned(), ()));
        let names: Vec<_> =
            with_unlike_names(members.into_iter()).into_iter().map(|(name, ())| name).collect();
        assert_eq!(names, ["a", "b", "a 2", "a 3"]);
    }
}
