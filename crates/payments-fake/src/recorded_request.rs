use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt;
use std::time::SystemTime;

use http::header::AUTHORIZATION;
use http::request::Parts;
use http::{HeaderMap, Method};
use payments_core::OperationName;
use payments_model::unversioned::RequestMembers;

use crate::recorded_fields::RecordedFields;
use crate::redaction::{Redaction, lossy, quoted};
use crate::route::Route;
use crate::timestamp;

/// A request as it was received, without its secrets.
///
/// It is redacted when it is captured, not when it is shown. Card numbers are [masked](payments_model::mask) wherever they
/// stand. The security code, the expiry date, objects and arrays, and every field that the interface does not have (an ACH
/// payment's account fields are such) are not kept, and neither is the API key, wherever it stands. A body that is no JSON
/// object is not kept at all. What remains is personal data, so `Debug` shows the request line alone.
#[derive(Clone, PartialEq)]
pub struct RecordedRequest {
    operation: Option<OperationName>,
    method: Method,
    path: String,
    headers: HeaderMap,
    fields: RecordedFields,
    body_length: usize,
    received_at: SystemTime,
}

impl RecordedRequest {
    /// `members` are the body's, if it is a JSON object.
    pub(crate) fn capture(
        now: SystemTime,
        head: Parts,
        body_length: usize,
        members: Option<&RequestMembers<'_>>,
        accepted_keys: &[String],
    ) -> Self {
        let Parts { method, uri, headers, .. } = head;
        let key = headers.get(AUTHORIZATION).cloned();
        let redaction = Redaction::of(accepted_keys, key.as_ref());
        Self {
            operation: Route::of(&method, uri.path()).operation(),
            method: redaction.method(&method),
            path: redaction.text(uri.path()).into_owned(),
            headers: redaction.headers(headers),
            fields: members.map(|members| RecordedFields::redacted(members, &redaction)).unwrap_or_default(),
            body_length,
            received_at: now,
        }
    }

    /// The operation it was for, if its method and path are those of one.
    pub fn operation(&self) -> Option<OperationName> {
        self.operation
    }

    /// The HTTP method, which is any word; without a card number or a key that somebody sent as one.
    pub fn method(&self) -> &Method {
        &self.method
    }

    /// The path, without the query.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The headers; those that by their name hold a key, a token or a cookie read `[redacted]`.
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// A field of the body: a text as it is, a number or a word as JSON, anything else as `[redacted]` or masked. A reference
    /// of 13 to 19 digits is masked too if it looks like a card number (see [`mask`](payments_model::mask)): a time in
    /// milliseconds never does, a number that begins with 3 to 9 one time in ten.
    ///
    /// ```
    /// # use payments_fake::FakeGateway;
    /// # use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
    /// # let gateway = FakeGateway::new();
    /// # let payment = TokenTransaction::builder("tok_approved", Amount::from_cents(10_50), ConvenienceFee::Inactive)
    /// #     .reference_no("order-7").build()?;
    /// # payments_fake::block_on(gateway.client().process_token(&payment))?;
    /// let request = &gateway.requests()[0];
    /// assert_eq!(request.field("ReferenceNo").as_deref(), Some("order-7"));
    /// assert_eq!(request.field("Amount").as_deref(), Some("10.50"));
    /// assert_eq!(request.field("Description"), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn field(&self, name: &str) -> Option<Cow<'_, str>> {
        let json = self.fields.get(name)?;
        Some(serde_json::from_str(json).map_or(Cow::Borrowed(json), Cow::Owned))
    }

    /// The fields' names, in alphabetical order. One that may itself hold a secret is `(unprintable field name)`.
    pub fn field_names(&self) -> impl Iterator<Item = &str> {
        self.fields.sorted().into_keys()
    }

    /// The length of the body in bytes, as it was received; a server may cut one that is too long to be taken.
    pub fn body_length(&self) -> usize {
        self.body_length
    }

    /// Everything above as one JSON object: `operation` (or `null`), `method`, `path`, `headers` (several values of one name
    /// joined by commas), `fields`, `body_length` and `received_at`.
    pub fn to_json(&self) -> String {
        let Self { operation, method, path, headers, fields, body_length, received_at } = self;
        let headers = headers.keys().map(|name| {
            let values: Vec<_> = headers.get_all(name).iter().map(lossy).collect();
            format!("{}:{}", quoted(name.as_str()), quoted(&values.join(", ")))
        });
        let fields = fields.sorted().into_iter().map(|(name, value)| format!("{}:{value}", quoted(name)));
        format!(
            r#"{{"operation":{},"method":{},"path":{},"headers":{{{}}},"fields":{{{}}},"body_length":{body_length},"received_at":{}}}"#,
            operation.map_or("null".to_owned(), |operation| quoted(operation.as_str())),
            quoted(method.as_str()),
            quoted(path),
            headers.collect::<Vec<_>>().join(","),
            fields.collect::<Vec<_>>().join(","),
            quoted(&timestamp::format(*received_at)),
        )
    }

    /// When it was received, by the gateway's wall clock.
    pub fn received_at(&self) -> SystemTime {
        self.received_at
    }
}

impl fmt::Debug for RecordedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operation: _, method, path, headers: _, fields: _, body_length, received_at: _ } = self;
        write!(f, "RecordedRequest({method} {path}, {body_length} bytes)")
    }
}

/// The newest requests, as many as there is room for.
#[derive(Debug)]
pub(crate) struct RequestLog {
    requests: VecDeque<RecordedRequest>,
    room: usize,
}

impl RequestLog {
    pub(crate) const fn new(room: usize) -> Self {
        Self { requests: VecDeque::new(), room }
    }

    /// Gives the request back that there is no room for, so that it need not be dropped under the gateway's lock.
    pub(crate) fn push(&mut self, request: RecordedRequest) -> Option<RecordedRequest> {
        if self.room == 0 {
            return Some(request);
        }
        let oldest = if self.requests.len() >= self.room { self.requests.pop_front() } else { None };
        self.requests.push_back(request);
        oldest
    }

    pub(crate) fn all(&self) -> Vec<RecordedRequest> {
        self.requests.iter().cloned().collect()
    }

    pub(crate) fn clear(&mut self) {
        self.requests.clear();
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
    use http::{HeaderValue, Request};

    use crate::FakeGateway;

    /// A server hands over parts of the buffer that it reads from its socket, so to keep a part would be to keep the key and
    /// the card number.
    #[test]
    fn s5_nothing_that_is_recorded_is_a_part_of_what_was_received() {
        let received = Bytes::from(
            "host.invalid application/json test_key_of_the_fake_gateway {\"Amount\":1,\"Cvv\":\"917\"}"
                .to_owned(),
        );
        let value = |range| HeaderValue::from_maybe_shared(received.slice(range)).unwrap();
        let request = Request::post("/api/v1/public/transaction")
            .header(HOST, value(0..12))
            .header(CONTENT_TYPE, value(13..29))
            .header(AUTHORIZATION, value(30..58))
            .body(received.slice(59..))
            .unwrap();
        let gateway = FakeGateway::new();
        drop(gateway.handle(gateway.clock().wall(), request));
        let [recorded] = &gateway.requests()[..] else { panic!("one request was sent") };
        assert_eq!(recorded.headers()[HOST], "host.invalid");
        assert_eq!(recorded.field("Amount").as_deref(), Some("1"));
        assert!(received.is_unique());
    }
}
