use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::time::SystemTime;

use http::header::AUTHORIZATION;
use http::request::Parts;
use http::{HeaderMap, Method, StatusCode};
use payments_core::OperationName;
use payments_model::unversioned::{FieldName, RequestMembers};
use payments_model::{Amount, TransactionId};
use serde_json::value::RawValue;

use crate::redaction::{Redaction, lossy, quoted};
use crate::request::Route;
use crate::{Fault, Reply, document};

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
    pub(crate) fields: RecordedFields,
    body_length: usize,
    received_at: SystemTime,
    number: u64,
    pub(crate) decided: Decided,
    pub(crate) fault: Option<Fault>,
    status: Option<StatusCode>,
    symptom: Option<&'static str>,
}

named! {
    /// What the service did with a request, whatever the client saw of it.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum RequestEffect {
        /// Nothing: a fault stopped the request before the commit, or it still waits.
        #[default]
        Nothing = "nothing",
        /// The service made the payment: a sale or an authorization.
        Charged = "charged",
        /// The service declined the payment and keeps a record of it.
        Declined = "declined",
        /// The service voided a transaction.
        Voided = "voided",
        /// The service looked something up.
        LookedUp = "looked_up",
        /// The service refused the request, and nothing changed.
        Refused = "refused",
        /// Nothing so far: what was decided takes effect with
        /// [`FakeGateway::deliver_late`](crate::FakeGateway::deliver_late).
        Late = "late",
    }
}

/// What was decided about a request: its effect and the transaction that it made or voided.
pub(crate) type Decided = (RequestEffect, Option<TransactionId>);

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
            path: redaction.path(uri.path()),
            headers: redaction.headers(headers),
            fields: members.map(|members| RecordedFields::redacted(members, &redaction)).unwrap_or_default(),
            body_length,
            received_at: now,
            number: 0,
            decided: Decided::default(),
            fault: None,
            status: None,
            symptom: None,
        }
    }

    /// Notes what the client is sent.
    pub(crate) fn saw(&mut self, reply: &Reply) {
        (self.status, self.symptom) = (reply.status(), reply.symptom());
    }

    /// Its number among all requests of the gateway, counted from 1; 0 in a
    /// [`ScriptedTransport`](crate::ScriptedTransport).
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The amount that the request names, if it can be read.
    pub fn amount(&self) -> Option<Amount> {
        self.field("Amount")?.parse().ok()
    }

    /// What the service did, whatever the client saw.
    ///
    /// ```
    /// # use payments_core::OperationName;
    /// # use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
    /// # use payments_fake::{FakeGateway, Fault, RequestEffect};
    /// # let gateway = FakeGateway::new();
    /// # let payment = TokenTransaction::builder("tok_approved", Amount::from_cents(10_50), ConvenienceFee::Inactive).build()?;
    /// gateway.arm(Fault::response_lost(OperationName::TokenTransaction));
    /// payments_fake::block_on(gateway.client().process_token(&payment)).unwrap_err();
    /// let request = &gateway.requests()[0];
    /// assert_eq!((request.effect(), request.symptom()), (RequestEffect::Charged, Some("close")));
    /// assert_eq!(request.transaction_id(), Some(gateway.ledger().entries()[0].transaction_id()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn effect(&self) -> RequestEffect {
        self.decided.0
    }

    /// The transaction that the request made or voided, or will with a late delivery.
    pub fn transaction_id(&self) -> Option<&TransactionId> {
        self.decided.1.as_ref()
    }

    /// The fault that struck the request.
    pub fn fault(&self) -> Option<&Fault> {
        self.fault.as_ref()
    }

    /// The HTTP status that the client was sent; `None` if it saw none, or sees none yet.
    pub fn status(&self) -> Option<StatusCode> {
        self.status
    }

    /// What the client saw instead of a whole response: `close`, `reset`, `stall`, `drip`, `truncate` or `garbage`.
    /// With `drip` and `truncate` it saw the [status](Self::status) too.
    pub fn symptom(&self) -> Option<&'static str> {
        self.symptom
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
        let json = self.fields.sorted().remove(name)?;
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
    /// joined by commas), `fields`, `body_length`, `received_at`, `amount`, `effect`, `transaction_id`, `fault` (in words),
    /// `status` and `symptom`. What there is not is `null`. The [number](Self::number) is not in it.
    pub fn to_json(&self) -> String {
        let Self { operation, method, path, headers, fields, body_length, received_at, .. } = self;
        let or_null = |text: Option<String>| text.unwrap_or_else(|| "null".to_owned());
        let headers = headers.keys().map(|name| {
            let values: Vec<_> = headers.get_all(name).iter().map(lossy).collect();
            format!("{}:{}", quoted(name.as_str()), quoted(&values.join(", ")))
        });
        let fields = fields.sorted().into_iter().map(|(name, value)| format!("{}:{value}", quoted(name)));
        format!(
            r#"{{"operation":{},"method":{},"path":{},"headers":{{{}}},"fields":{{{}}},"body_length":{body_length},"received_at":{},"amount":{},"effect":{},"transaction_id":{},"fault":{},"status":{},"symptom":{}}}"#,
            or_null(operation.map(|operation| quoted(operation.as_str()))),
            quoted(method.as_str()),
            quoted(path),
            headers.collect::<Vec<_>>().join(","),
            fields.collect::<Vec<_>>().join(","),
            quoted(&document::timestamp(*received_at).to_string()),
            or_null(self.amount().map(|amount| amount.to_string())),
            quoted(self.effect().as_str()),
            or_null(self.transaction_id().map(|id| quoted(id.as_str()))),
            or_null(self.fault.as_ref().map(|fault| quoted(&fault.to_string()))),
            or_null(self.status.map(|status| status.as_u16().to_string())),
            or_null(self.symptom.map(quoted)),
        )
    }

    /// When it was received, by the gateway's wall clock.
    pub fn received_at(&self) -> SystemTime {
        self.received_at
    }
}

impl fmt::Debug for RecordedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { method, path, body_length, .. } = self;
        write!(f, "RecordedRequest({method} {path}, {body_length} bytes)")
    }
}

/// The newest requests, as many as there is room for, numbered without a gap.
#[derive(Debug)]
pub(crate) struct RequestLog {
    requests: VecDeque<RecordedRequest>,
    room: usize,
    /// The number of the newest request.
    newest: u64,
}

impl RequestLog {
    pub(crate) const fn new(room: usize) -> Self {
        Self { requests: VecDeque::new(), room, newest: 0 }
    }

    /// Keeps the request under the next number. Gives the request back that there is no room for, so that it need not be
    /// dropped under the gateway's lock.
    pub(crate) fn push(&mut self, mut request: RecordedRequest) -> (u64, Option<RecordedRequest>) {
        self.newest += 1;
        if self.room == 0 {
            return (self.newest, Some(request));
        }
        request.number = self.newest;
        let oldest = if self.requests.len() >= self.room { self.requests.pop_front() } else { None };
        self.requests.push_back(request);
        (self.newest, oldest)
    }

    /// Notes something about a request, if it is still kept.
    pub(crate) fn note(&mut self, number: u64, note: impl FnOnce(&mut RecordedRequest)) {
        if let Some(request) = self.with_number(number) {
            note(request);
        }
    }

    pub(crate) fn with_number(&mut self, number: u64) -> Option<&mut RecordedRequest> {
        let behind = usize::try_from(self.newest.checked_sub(number)?).ok()?;
        let index = self.requests.len().checked_sub(behind + 1)?;
        self.requests.get_mut(index)
    }

    /// Those after this number.
    pub(crate) fn since(&self, number: u64) -> Vec<RecordedRequest> {
        self.requests.iter().filter(|request| request.number > number).cloned().collect()
    }

    pub(crate) fn clear(&mut self) {
        self.requests.clear();
    }
}

/// The fields of a body without their secrets, in the order in which they came: a JSON object, or nothing.
#[derive(Clone, Default)]
pub(crate) struct RecordedFields {
    json: String,
    /// Whether nothing was taken out of a value that is shown.
    pub(crate) is_clean: bool,
}

impl RecordedFields {
    pub(crate) fn redacted(members: &RequestMembers<'_>, redaction: &Redaction<'_>) -> Self {
        let redaction = redaction.within(members.text());
        // One buffer, because one for each value would cost more than everything else about them.
        let room_for_redacted = 64;
        let mut json = String::with_capacity(members.text().len() + room_for_redacted);
        let mut is_clean = true;
        for (name, value) in members.iter() {
            let (name, value) = redaction.field(name, value);
            is_clean &= matches!(value, Cow::Borrowed(_)) || name == FieldName::CardNumber.as_str();
            json.push_str(if json.is_empty() { "{\"" } else { ",\"" });
            // No name needs an escape.
            json.extend([&*name, "\":", &*value]);
        }
        json.push_str(if json.is_empty() { "{}" } else { "}" });
        Self { json, is_clean }
    }

    /// By name, each name once: of a repeated one the last. Read when somebody looks, which is once in many requests if
    /// ever.
    pub(crate) fn sorted(&self) -> BTreeMap<&str, &str> {
        let fields: BTreeMap<&str, &RawValue> = serde_json::from_str(&self.json).unwrap_or_default();
        fields.into_iter().map(|(name, value)| (name, value.get())).collect()
    }
}

/// In any order, as members of a JSON object are.
impl PartialEq for RecordedFields {
    fn eq(&self, other: &Self) -> bool {
        self.sorted() == other.sorted()
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
    use http::{HeaderValue, Request};

    use super::*;
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

    fn fields(body: &str) -> RecordedFields {
        RecordedFields::redacted(&RequestMembers::read(body.as_bytes()).unwrap(), &Redaction::of(&[], None))
    }

    #[test]
    fn of_a_repeated_field_the_last_is_told() {
        let fields = fields(r#"{"Reason":"a","Amount":1,"Reason":"b","x y":1,"y z":2,"Cvv":"917"}"#);
        let sorted: Vec<_> = fields.sorted().into_iter().collect();
        let redacted = "\"[redacted]\"";
        assert_eq!(
            sorted,
            [("(unprintable field name)", redacted), ("Amount", "1"), ("Cvv", redacted), ("Reason", "\"b\"")]
        );
    }

    #[test]
    fn fields_are_the_same_in_another_order() {
        assert!(fields(r#"{"Amount":1,"Reason":"a"}"#) == fields(r#"{"Reason":"a","Amount":1}"#));
        assert!(fields(r#"{"Amount":1,"Reason":"a"}"#) != fields(r#"{"Reason":"a","Amount":2}"#));
    }
}
