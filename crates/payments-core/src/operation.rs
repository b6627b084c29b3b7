//! The five operations as pure values: each builds its request and reads its answer, with no I/O.

mod get_customer;
mod get_transaction;
mod token_transaction;
mod transaction;
mod void;

use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, USER_AGENT};
use http::{HeaderValue, Method};
use payments_model::{Body, TransactionId, salvage_transaction_id};

pub use get_customer::GetCustomer;
pub use get_transaction::GetTransaction;
pub use void::VoidReceipt;

use crate::error::{AnswerKind, Found};
use crate::judgement::{Claim, Judgement, judge_lookup, judge_payment};
use crate::metadata::Metadata;
use crate::secrets::Secrets;
use crate::{Delivery, Endpoint, Error, Outcome, Success, TransportError};

/// One operation of the service as a value: it can build its HTTP request and read its HTTP answer, and does no I/O.
///
/// This is all that a blocking or exotic HTTP stack needs. `Client` is a thin layer over it. The requests themselves
/// are the operations: a `CardTransaction` is the card payment, a `Void` is the void, and a look-up is
/// [`GetTransaction`] or [`GetCustomer`]. The trait is sealed: the service has these operations and no others.
///
/// # Example
///
/// ```
/// use bytes::Bytes;
/// use payments_core::{ApiKey, Endpoint, GetTransaction, Operation};
///
/// let endpoint = Endpoint::new("https://pay.example.com/api/v1/public", ApiKey::new("sk_live_51H")?)?;
/// let lookup = GetTransaction::new("txn_1".parse()?);
/// let request = lookup.request(&endpoint)?;
/// assert_eq!(request.uri(), "https://pay.example.com/api/v1/public/transaction/txn_1");
///
/// // … send it with any HTTP library, then hand over the answer:
/// let answer = http::Response::builder().status(404).body(Bytes::from_static(
///     br#"{"status":"failed","status_code":404,"msg":"Transaction not found"}"#,
/// ))?;
/// let error = lookup.read(&endpoint, answer).unwrap_err();
/// assert!(error.is_not_found());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Operation: sealed::Describe {
    /// The HTTP request, complete but for `Host` and `Content-Length`, which belong to the HTTP stack.
    ///
    /// Send it once, follow no redirect, and do not let the stack repeat it. The body holds card data and is wiped
    /// when its last clone is dropped. Do not print it: the `Debug` of `http::Request<Bytes>` shows the body.
    ///
    /// # Errors
    ///
    /// A validation error, [`Outcome::NotProcessed`], if an id cannot stand in a path.
    fn request(&self, endpoint: &Endpoint) -> Result<http::Request<Bytes>, Error> {
        let (method, body) = match self.body() {
            Some(body) => (Method::POST, Bytes::from_owner(body)),
            None => (Method::GET, Bytes::new()),
        };
        let uri = self.uri(endpoint)?;
        let mut request = http::Request::new(body);
        let headers = request.headers_mut();
        // With room for those that belong to the HTTP stack.
        headers.reserve(if method == Method::POST { 7 } else { 6 });
        headers.insert(AUTHORIZATION, endpoint.api_key().header_value().clone());
        headers.insert(ACCEPT, JSON);
        // Without it any coding would be acceptable (RFC 9110, 12.5.3), and an encoded answer is an unreadable one.
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        headers.insert(
            USER_AGENT,
            HeaderValue::from_static(concat!("payments-core/", env!("CARGO_PKG_VERSION"))),
        );
        if method == Method::POST {
            headers.insert(CONTENT_TYPE, JSON);
        }
        *request.method_mut() = method;
        *request.uri_mut() = uri;
        Ok(request)
    }

    /// Reads the answer, whatever its status: the body must be whole, as received.
    ///
    /// # Errors
    ///
    /// Any answer that does not say, in the way the interface shows, that the operation succeeded. See the table in
    /// the crate's documentation for the outcome of each.
    fn read(&self, endpoint: &Endpoint, answer: http::Response<Bytes>) -> Result<Success<Self::Data>, Error> {
        let body = if is_encoded(&answer) { Body::Unreadable } else { Body::read(answer.body()) };
        let data = match &body {
            Body::Object(said) => self.data(said),
            _ => None,
        };
        let judgement = judge::<Self>(&answer, Claim::of(&body, data.is_some()));
        let secrets = Secrets::new(self.secrets(), endpoint);
        match (judgement, data) {
            (Judgement::Processed, Some(mut data)) => {
                Self::redact_echoes(&mut data, secrets.as_slice());
                Ok(Success::new(data, Metadata::new(&answer, &body, &secrets)))
            }
            _ => Err(refusal(self, judgement, &answer, &body, &secrets)),
        }
    }

    /// The error for a request that brought no whole answer: the transport's evidence, turned into an outcome.
    fn not_answered(&self, endpoint: &Endpoint, error: TransportError) -> Error {
        let secrets = Secrets::new(self.secrets(), endpoint);
        let outcome = match (error.delivery(), error.partial()) {
            (Delivery::Answered(_), Some(partial)) => {
                let partial = partial.as_http();
                let judgement = judge::<Self>(partial, Claim::Unreadable);
                return refusal(self, judgement, partial, &Body::Unreadable, &secrets).caused_by(error);
            }
            (Delivery::Unknown | Delivery::Answered(_), _) if Self::NAME.moves_money() => Outcome::Unknown,
            (Delivery::NotProcessed | Delivery::Unknown | Delivery::Answered(_), _) => Outcome::NotProcessed,
        };
        Error::not_answered(Self::NAME, outcome, error).of_a_void(to_look_up(self, &secrets))
    }
}

impl<T: sealed::Describe> Operation for T {}

pub(crate) mod sealed {
    use http::Uri;
    use payments_model::{Answer, SecretBytes, TransactionId};

    use crate::{Endpoint, Error, OperationName};

    /// What sets one operation apart from the others.
    #[expect(unnameable_types, reason = "that it cannot be named is what seals `Operation`")]
    pub trait Describe {
        /// What a success holds.
        type Data;

        /// The operation's name.
        const NAME: OperationName;

        /// Where it goes.
        fn uri(&self, endpoint: &Endpoint) -> Result<Uri, Error>;

        /// The body to post, or nothing to get.
        fn body(&self) -> Option<SecretBytes> {
            None
        }

        /// The request's own secrets, which no text kept of the answer may show.
        fn secrets(&self) -> Vec<&str> {
            Vec::new()
        }

        /// The transaction that the request changes.
        fn changes(&self) -> Option<&TransactionId> {
            None
        }

        /// What a success must hold, if the answer holds it.
        fn data(&self, answer: &Answer<'_>) -> Option<Self::Data>;

        /// Takes these secrets out of it, with which the service may answer.
        fn redact_echoes(data: &mut Self::Data, secrets: &[&str]);

        /// The transaction that a success is about.
        fn transaction_id(data: &Self::Data) -> Option<&str>;
    }
}

const JSON: HeaderValue = HeaderValue::from_static("application/json");

fn judge<O: Operation + ?Sized>(answer: &http::Response<Bytes>, claim: Claim) -> Judgement {
    if O::NAME.moves_money() {
        judge_payment(answer.status(), claim)
    } else {
        judge_lookup(answer.status(), claim)
    }
}

/// `identity` was asked for; what comes encoded all the same is not decoded, so that no decoder has to be trusted.
fn is_encoded(answer: &http::Response<Bytes>) -> bool {
    let identity = |value: &HeaderValue| value.as_bytes().trim_ascii().eq_ignore_ascii_case(b"identity");
    answer.headers().get_all(CONTENT_ENCODING).iter().any(|value| !value.is_empty() && !identity(value))
}

fn refusal<O: Operation + ?Sized>(
    operation: &O,
    judgement: Judgement,
    answer: &http::Response<Bytes>,
    body: &Body<'_>,
    secrets: &Secrets<'_>,
) -> Error {
    let (outcome, kind) = match judgement {
        Judgement::RejectedByService => (Outcome::Rejected, AnswerKind::RejectedByService),
        Judgement::RejectedByIntermediary => (Outcome::Rejected, AnswerKind::RejectedByIntermediary),
        Judgement::NotProcessed => (Outcome::NotProcessed, AnswerKind::Unclear),
        Judgement::Unknown | Judgement::Processed => (Outcome::Unknown, AnswerKind::Unclear),
    };
    let mut found = match body {
        Body::Object(said) if O::NAME.moves_money() => Found {
            transaction_id: said.transaction_id(),
            record_status: said.data_status(),
            record: said.transaction_record(),
        },
        _ => Found::default(),
    };
    if let Some(record) = &mut found.record {
        record.redact_echoes(secrets.as_slice());
    }
    if found.transaction_id.is_none() && O::NAME.moves_money() {
        found.transaction_id = salvage_transaction_id(answer.body());
    }
    // No id, and no code, has a key or a card number in it; what has is an echo, and these are shown as they are.
    found.transaction_id.take_if(|id| secrets.are_in(id.as_str()));
    found.record.take_if(|record| secrets.are_in(record.transaction_id.as_str()));
    found.record_status.take_if(|status| secrets.are_in(status));
    Error::answered(O::NAME, outcome, kind, Metadata::new(answer, body, secrets), found)
        .of_a_void(to_look_up(operation, secrets))
}

/// The transaction that tells whether the request was acted upon, unless its id is an echo of a secret.
fn to_look_up<'a, O: Operation + ?Sized>(
    operation: &'a O,
    secrets: &Secrets<'_>,
) -> Option<&'a TransactionId> {
    operation.changes().filter(|id| !secrets.are_in(id.as_str()))
}
