use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::time::SystemTime;

use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request};
use payments_core::OperationName;
use payments_model::{MaskedCard, printable_field_name, scrub, shown_field};
use serde_json::value::RawValue;

use crate::record::without_card_numbers;
use crate::route::Route;
use crate::timestamp;

/// A request as it was received, without its secrets.
///
/// It is redacted when it is captured, not when it is shown: the card number is masked, wherever else it stands too, and
/// the security code, the expiry date, every field that the interface does not have (an ACH payment's account fields are
/// such) and the API key, wherever it stands, are not kept. A body that is no JSON object is not kept at all. What remains is personal data, so `Debug`
/// shows the request line alone.
#[derive(Clone, PartialEq)]
pub struct RecordedRequest {
    operation: Option<OperationName>,
    method: Method,
    path: String,
    headers: HeaderMap,
    /// Values as JSON text, by field name.
    fields: Vec<(Cow<'static, str>, String)>,
    body_length: usize,
    received_at: SystemTime,
}

impl RecordedRequest {
    pub(crate) fn capture(now: SystemTime, request: &Request<Bytes>) -> Self {
        let path = request.uri().path();
        let redaction = Redaction::of(request);
        let mut headers = request.headers().clone();
        for (name, value) in &mut headers {
            *value = redaction.header(name, value);
        }
        Self {
            operation: Route::of(request.method(), path).operation(),
            method: request.method().clone(),
            path: redaction.text(path),
            headers,
            fields: redaction.fields(request.body()),
            body_length: request.body().len(),
            received_at: now,
        }
    }

    /// The operation it was for, if its method and path are those of one.
    pub fn operation(&self) -> Option<OperationName> {
        self.operation
    }

    /// The HTTP method.
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

    /// A field of the body: a text as it is, anything else as JSON, a secret as `[redacted]` or masked. A reference of
    /// 12 or more digits is masked too if it could be a card number, as one in ten can.
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
        let (_, json) = self.fields.iter().find(|(own, _)| own == name)?;
        Some(serde_json::from_str(json).map_or(Cow::Borrowed(json), Cow::Owned))
    }

    /// The fields' names, in alphabetical order. One that may itself hold a secret is `(unprintable field name)`.
    pub fn field_names(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|(name, _)| name.as_ref())
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
        let fields = fields.iter().map(|(name, value)| format!("{}:{value}", quoted(name)));
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

    pub(crate) fn push(&mut self, request: RecordedRequest) {
        if self.requests.len() >= self.room {
            self.requests.pop_front();
        }
        if self.room > 0 {
            self.requests.push_back(request);
        }
    }

    pub(crate) fn all(&self) -> Vec<RecordedRequest> {
        self.requests.iter().cloned().collect()
    }

    pub(crate) fn clear(&mut self) {
        self.requests.clear();
    }
}

/// What is taken out of one request.
struct Redaction<'a> {
    /// The key that it came with, which somebody may have put elsewhere too.
    key: Option<&'a str>,
}

impl<'a> Redaction<'a> {
    fn of(request: &'a Request<Bytes>) -> Self {
        // A shorter one would be found in words that have nothing to do with it.
        const SHORTEST_KEY: usize = 8;
        let key = request.headers().get(AUTHORIZATION).and_then(|key| key.to_str().ok());
        Self { key: key.filter(|key| key.len() >= SHORTEST_KEY) }
    }

    fn text(&self, text: &str) -> String {
        let shown = without_card_numbers(text);
        match self.key {
            Some(key) if shown.contains(key) => shown.replace(key, REDACTED),
            _ => shown,
        }
    }

    fn fields(&self, body: &Bytes) -> Vec<(Cow<'static, str>, String)> {
        let Ok(fields) = serde_json::from_slice::<BTreeMap<Cow<'_, str>, &RawValue>>(body) else {
            return Vec::new();
        };
        fields.into_iter().map(|(name, value)| self.field(&name, value.get())).collect()
    }

    fn field(&self, name: &str, json: &str) -> (Cow<'static, str>, String) {
        let text = serde_json::from_str::<Cow<'_, str>>(json);
        let Some(known) = shown_field(name) else {
            let value = match text {
                Ok(number) if name == "CardNumber" => self.text(MaskedCard::new(&number).as_str()),
                _ => REDACTED.to_owned(),
            };
            let name = self.text(printable_field_name(name));
            return (Cow::Owned(name), quoted(&value));
        };
        // The text and not its JSON, because that is what a test gets to see. Anything else stands as it is if it is still one
        // number or one word after scrubbing, and as a text if not: masked digits are no JSON, and what is nested too deeply
        // would make the whole unreadable.
        let value = if let Ok(text) = text {
            quoted(&self.text(&text))
        } else {
            let shown = self.text(&scrub(json, &[]));
            if is_number_or_word(&shown) { shown } else { quoted(&shown) }
        };
        (Cow::Borrowed(known), value)
    }

    fn header(&self, name: &HeaderName, value: &HeaderValue) -> HeaderValue {
        let redacted = HeaderValue::from_static(REDACTED);
        let has_secret_name =
            name != IDEMPOTENCY_KEY && SECRET_HEADER_WORDS.iter().any(|word| name.as_str().contains(word));
        if has_secret_name || value.is_sensitive() {
            return redacted;
        }
        let text = lossy(value);
        let shown = self.text(&text);
        if shown == text { value.clone() } else { HeaderValue::from_str(&shown).unwrap_or(redacted) }
    }
}

fn is_number_or_word(json: &str) -> bool {
    !json.starts_with(['[', '{', '"']) && serde_json::from_str::<&RawValue>(json).is_ok()
}

fn lossy(value: &HeaderValue) -> Cow<'_, str> {
    String::from_utf8_lossy(value.as_bytes())
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a text is JSON")
}

const REDACTED: &str = "[redacted]";

/// What the names of headers have in common that hold a key: whoever sends one may not have marked it as sensitive, as
/// on a socket nobody can.
const SECRET_HEADER_WORDS: [&str; 7] = ["auth", "cookie", "key", "password", "secret", "session", "token"];

/// A key to nothing, and what a test may well want to see.
const IDEMPOTENCY_KEY: &str = "idempotency-key";
