use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use http::header::AUTHORIZATION;
use http::request::Parts;
use http::{HeaderMap, Method, StatusCode};
use payments_core::OperationName;
use payments_model::unversioned::RequestMembers;
use payments_model::{Amount, TransactionId};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::redaction::{RedactedFields, Redaction, lossy};
use crate::{Fault, FaultKind, Reply, document};

/// A received request, without its secrets.
///
/// It is redacted when it is captured, not when it is shown. Card numbers are [masked](payments_model::mask) everywhere, and
/// an API key of at least eight characters is removed everywhere. The security code, the expiry date, objects and arrays, and every field that the
/// interface does not have (such as an ACH payment's account fields) are not kept. Nothing is kept of a body that is not a
/// JSON object. What remains is personal data, so `Debug` shows only the request line.
///
/// ```
/// # use payments_core::OperationName;
/// # use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
/// # use payments_fake::{FakeGateway, Fault, FaultKind, RequestEffect};
/// # let gateway = FakeGateway::new();
/// # let payment = TokenTransaction::builder("tok_approved", Amount::from_cents(10_50), ConvenienceFee::Inactive).build()?;
/// gateway.arm(Fault::response_lost(OperationName::TokenTransaction));
/// payments_fake::block_on(gateway.client().process_token(&payment)).unwrap_err();
/// let request = &gateway.requests()[0];
/// assert_eq!((request.effect, request.symptom), (RequestEffect::Charged, Some(FaultKind::Close)));
/// assert_eq!(request.transaction_id.as_ref(), Some(gateway.ledger().entries()[0].transaction_id()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct RecordedRequest {
    /// The operation, if the method and the path match one.
    pub operation: Option<OperationName>,
    /// The HTTP method, which can be any word. A card number or a key that was sent as the method is redacted.
    pub method: Method,
    /// The path, without the query.
    pub path: String,
    /// The headers. Those whose name suggests a card, a key, a token or a cookie have the value `[redacted]`. A name that may itself
    /// hold a secret is masked, or `redacted`.
    pub headers: HeaderMap,
    fields: RedactedFields,
    /// The length of the received body in bytes. A server may cut a body that is too long to accept.
    pub body_length: usize,
    /// When it was received, by the gateway's time of day.
    pub received_at: SystemTime,
    /// What the service did, whatever the client saw.
    pub effect: RequestEffect,
    /// The transaction that the request created or voided, or will with a late delivery.
    pub transaction_id: Option<TransactionId>,
    /// The fault that fired for the request.
    pub fault: Option<Fault>,
    /// Why the service refused or declined the request, in its own words. Card numbers and keys in it are masked.
    pub reason: Option<String>,
    /// The HTTP status that was sent to the client; `None` if none was, or not yet.
    pub status: Option<StatusCode>,
    /// What the client saw instead of a whole response: a close, a reset, a stall, a drip, a truncated response or garbage.
    /// With a drip and a truncated response it saw the [status](Self::status) too.
    pub symptom: Option<FaultKind>,
}

named! {
    /// What the service did with a request, whatever the client saw of it.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum RequestEffect {
        /// Nothing: a fault stopped the request before the commit, or it is still waiting.
        #[default]
        Nothing = "nothing",
        /// The service processed the payment: a sale or an authorization.
        Charged = "charged",
        /// The service declined the payment and keeps a record of it.
        Declined = "declined",
        /// The service voided a transaction.
        Voided = "voided",
        /// The service looked something up.
        LookedUp = "looked_up",
        /// The service refused the request, and nothing changed.
        Refused = "refused",
        /// Nothing so far: the request takes effect with
        /// [`FakeGateway::deliver_late`](crate::FakeGateway::deliver_late).
        Late = "late",
    }
}

/// What became of a request in the service. Each field is one of [`RecordedRequest`].
#[derive(Default)]
pub(crate) struct Done {
    pub(crate) effect: RequestEffect,
    pub(crate) transaction_id: Option<TransactionId>,
    pub(crate) reason: Option<String>,
}

impl Done {
    pub(crate) fn refused(reason: String) -> Self {
        Self { effect: RequestEffect::Refused, transaction_id: None, reason: Some(reason) }
    }
}

impl RecordedRequest {
    /// `members` are those of the body, if it is a JSON object.
    pub(crate) fn capture<'a>(
        operation: Option<OperationName>,
        head: Parts,
        body_length: usize,
        members: Option<&RequestMembers<'_>>,
        accepted_keys: impl Iterator<Item = &'a str>,
    ) -> Self {
        let Parts { method, uri, headers, .. } = head;
        let key = headers.get(AUTHORIZATION).cloned();
        let redaction = Redaction::of(accepted_keys, key.as_ref());
        Self {
            operation,
            method: redaction.method(&method),
            path: redaction.path(uri.path()),
            headers: redaction.headers(&headers),
            fields: members.map(|members| redaction.fields(members)).unwrap_or_default(),
            body_length,
            received_at: SystemTime::UNIX_EPOCH,
            effect: RequestEffect::Nothing,
            transaction_id: None,
            fault: None,
            reason: None,
            status: None,
            symptom: None,
        }
    }

    /// The amount in the request, if it can be read.
    pub fn amount(&self) -> Option<Amount> {
        self.field("Amount")?.parse().ok()
    }

    /// A field of the body: a string unquoted, a number, boolean or null as JSON, anything else as `[redacted]` or masked. A
    /// reference of 13 to 19 digits is masked too if it looks like a card number (see [`mask`](payments_model::mask)): a time
    /// in milliseconds never does; of the numbers that begin with 3 to 9, one in ten does.
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
        let json = self.fields.by_name().remove(name)?.get();
        Some(serde_json::from_str(json).map_or(Cow::Borrowed(json), Cow::Owned))
    }

    /// The field names, in alphabetical order. A name that may itself hold a secret is `(unprintable field name)`.
    pub fn field_names(&self) -> impl Iterator<Item = &str> {
        self.fields.by_name().into_keys()
    }

    /// Everything as one JSON object: `operation` (or `null`), `method`, `path`, `headers` (several values of one name
    /// joined by commas), `fields`, `body_length`, `received_at`, `amount`, `effect`, `transaction_id`, `reason`,
    /// `fault` (as text), `status` and `symptom` (its [name](FaultKind::as_str)). Absent values are `null`.
    pub fn to_json(&self) -> String {
        #[derive(Serialize)]
        struct Document<'a> {
            operation: Option<&'a str>,
            method: &'a str,
            path: &'a str,
            headers: BTreeMap<&'a str, String>,
            fields: BTreeMap<&'a str, &'a RawValue>,
            body_length: usize,
            received_at: String,
            amount: Option<Box<RawValue>>,
            effect: &'a str,
            transaction_id: Option<&'a TransactionId>,
            reason: Option<&'a str>,
            fault: Option<String>,
            status: Option<u16>,
            symptom: Option<&'a str>,
        }

        let values = |name| self.headers.get_all(name).iter().map(lossy).collect::<Vec<_>>().join(", ");
        document::to_json(&Document {
            operation: self.operation.map(OperationName::as_str),
            method: self.method.as_str(),
            path: &self.path,
            headers: self.headers.keys().map(|name| (name.as_str(), values(name))).collect(),
            fields: self.fields.by_name(),
            body_length: self.body_length,
            received_at: document::timestamp(self.received_at).to_string(),
            amount: self.amount().and_then(|amount| RawValue::from_string(amount.to_string()).ok()),
            effect: self.effect.as_str(),
            transaction_id: self.transaction_id.as_ref(),
            reason: self.reason.as_deref(),
            fault: self.fault.as_ref().map(Fault::to_string),
            status: self.status.map(|status| status.as_u16()),
            symptom: self.symptom.map(FaultKind::as_str),
        })
    }
}

impl fmt::Debug for RecordedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { method, path, body_length, .. } = self;
        write!(f, "RecordedRequest({method} {path}, {body_length} bytes)")
    }
}

/// A recorded request that is not finished. Each holder can read what became of it, even if the gateway has removed it
/// meanwhile.
#[derive(Clone, Debug)]
pub struct OpenRecord(Arc<Mutex<RecordedRequest>>);

impl OpenRecord {
    pub(crate) fn new(request: RecordedRequest) -> Self {
        Self(Arc::new(Mutex::new(request)))
    }

    /// The request as it is now.
    pub fn to_request(&self) -> RecordedRequest {
        self.lock().clone()
    }

    /// Records what the client saw.
    pub fn set_reply(&self, reply: &Reply) {
        let mut request = self.lock();
        (request.status, request.symptom) = (reply.status(), reply.symptom());
    }

    /// Whether the request got as far as the commit. A lookup does, found or not, like for a [fault](Fault) after the commit.
    pub(crate) fn is_processed(&self) -> bool {
        let request = self.lock();
        match request.effect {
            RequestEffect::Nothing | RequestEffect::Late => false,
            RequestEffect::Refused => !request.operation.is_some_and(OperationName::moves_money),
            _ => true,
        }
    }

    /// Records what the service did.
    pub(crate) fn set_done(&self, Done { effect, transaction_id, reason }: Done) {
        let mut request = self.lock();
        (request.effect, request.transaction_id, request.reason) = (effect, transaction_id, reason);
    }

    fn lock(&self) -> MutexGuard<'_, RecordedRequest> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The newest requests, up to the capacity.
#[derive(Debug)]
pub(crate) struct RequestLog {
    requests: VecDeque<OpenRecord>,
    capacity: usize,
}

impl RequestLog {
    pub(crate) const fn new(capacity: usize) -> Self {
        Self { requests: VecDeque::new(), capacity }
    }

    /// Stores the request. Returns the one that was evicted, so that the caller can drop it after the gateway's lock is released.
    pub(crate) fn push(&mut self, request: OpenRecord) -> Option<OpenRecord> {
        self.requests.push_back(request);
        if self.requests.len() > self.capacity { self.requests.pop_front() } else { None }
    }

    pub(crate) fn all(&self) -> Vec<RecordedRequest> {
        self.requests.iter().map(OpenRecord::to_request).collect()
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

    use super::*;
    use crate::FakeGateway;

    /// A server passes slices of the buffer that it reads from its socket. Keeping a slice would keep the whole buffer, with
    /// the key and the card number.
    #[test]
    fn s5_recorded_values_do_not_share_the_received_buffer() {
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
        drop(gateway.handle(gateway.clock().system_time(), request));
        let [recorded] = &gateway.requests()[..] else { panic!("one request was sent") };
        assert_eq!(recorded.headers[HOST], "host.invalid");
        assert_eq!(recorded.field("Amount").as_deref(), Some("1"));
        assert!(received.is_unique());
    }

    fn fields(body: &str) -> RedactedFields {
        Redaction::of([], None).fields(&RequestMembers::read(body.as_bytes()).unwrap())
    }

    #[test]
    fn the_last_value_of_a_repeated_field_counts() {
        let fields = fields(r#"{"Reason":"a","Amount":1,"Reason":"b","x y":1,"y z":2,"Cvv":"917"}"#);
        let redacted = "\"[redacted]\"";
        assert_eq!(
            fields.by_name().into_iter().map(|(name, json)| (name, json.get())).collect::<Vec<_>>(),
            [("(unprintable field name)", redacted), ("Amount", "1"), ("Cvv", redacted), ("Reason", "\"b\"")]
        );
    }

    #[test]
    fn equality_of_fields_ignores_their_order() {
        assert!(fields(r#"{"Amount":1,"Reason":"a"}"#) == fields(r#"{"Reason":"a","Amount":1}"#));
        assert!(fields(r#"{"Amount":1,"Reason":"a"}"#) != fields(r#"{"Reason":"a","Amount":2}"#));
    }
}
