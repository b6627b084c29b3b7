//! The five operations as pure values: each builds its request and reads its answer, with no I/O.

mod get_customer;
mod get_transaction;
#[expect(private_interfaces, reason = "only this crate calls it, and its implementers are two")]
mod operation_error;
mod token_transaction;
mod transaction;
mod void;

use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, USER_AGENT};
use http::{HeaderValue, Method};
use payments_model::Body;

pub use get_customer::GetCustomer;
pub use get_transaction::GetTransaction;
pub use void::VoidReceipt;

use crate::failure::{Cause, FailedResponse, Failure};
use crate::judgement::{Claim, Judgement};
use crate::metadata::Metadata;
use crate::secrets::Secrets;
use crate::{Endpoint, Success, TransportError};
pub(crate) use operation_error::OperationError;
use sealed::Describe;

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
pub trait Operation: Describe {
    /// The HTTP request, complete but for `Host` and `Content-Length`, which belong to the HTTP stack.
    ///
    /// Send it once, follow no redirect, and do not let the stack repeat it. The body holds card data and is wiped
    /// when its last clone is dropped. Do not print it: the `Debug` of `http::Request<Bytes>` shows the body.
    ///
    /// # Errors
    ///
    /// A validation error if an id cannot stand in a path. Nothing was sent.
    fn request(&self, endpoint: &Endpoint) -> Result<http::Request<Bytes>, Self::Error> {
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

    /// Reads the response, whatever its status: the body must be whole, as received.
    ///
    /// # Errors
    ///
    /// Any response that does not say, in the way the interface shows, that the operation succeeded. See the table in
    /// the crate's documentation for the outcome of each.
    fn read(
        &self,
        endpoint: &Endpoint,
        response: http::Response<Bytes>,
    ) -> Result<Success<Self::Data>, Self::Error> {
        let body = if is_encoded(&response) { Body::Unreadable } else { Body::read(response.body()) };
        let data = match &body {
            Body::Object(said) => self.data(said),
            _ => None,
        };
        let claim = Claim::of(&body, data.is_some());
        let judgement = Self::Error::judge(response.status(), claim, &body, response.body(), self.changes());
        let secrets = Secrets::new(self.secrets(), endpoint);
        let metadata = Metadata::new(&response, &body, &secrets);
        if let (Judgement::Processed, Some(mut data)) = (judgement, data) {
            Self::redact_echoes(&mut data, secrets.as_slice());
            return Ok(Success::new(data, metadata));
        }
        let refused = Some(FailedResponse { judgement, metadata });
        let failure = Failure { operation: Some(Self::NAME), cause: Cause::Response, response: refused };
        Err(Self::Error::of(self, failure, &body, response.body(), &secrets))
    }

    /// What the service's records can be searched by for this payment after an unknown outcome that gave no transaction to
    /// look up: a clause such as `amount, last four digits, payer's name and time`.
    ///
    /// The interface has no search, so a person does it, in the service's own reports. A card or ACH payment has no field for
    /// a reference of the caller's (the interface, Card transaction request body).
    fn search_by(&self) -> &'static str {
        self.found_by()
    }

    /// The error for a request that brought no whole response: the transport's evidence, turned into an outcome.
    fn not_answered(&self, endpoint: &Endpoint, error: TransportError) -> Self::Error {
        let secrets = Secrets::new(self.secrets(), endpoint);
        let partial = error.partial().map(|partial| partial.as_http().clone());
        let unread = &Body::Unreadable;
        let response = partial.as_ref().map(|partial| {
            let judgement = Self::Error::judge(
                partial.status(),
                Claim::Unreadable,
                unread,
                partial.body(),
                self.changes(),
            );
            FailedResponse { judgement, metadata: Metadata::new(partial, unread, &secrets) }
        });
        let bytes = partial.as_ref().map_or(&[][..], |partial| partial.body());
        let failure = Failure { operation: Some(Self::NAME), cause: Cause::Transport(error), response };
        Self::Error::of(self, failure, unread, bytes, &secrets)
    }
}

impl<T: Describe> Operation for T {}

pub(crate) mod sealed {
    use http::Uri;
    use payments_model::{Answer, SecretBytes, TransactionId};

    use super::operation_error::OperationError;
    use crate::{Endpoint, OperationName};

    /// What sets one operation apart from the others.
    #[expect(unnameable_types, reason = "that it cannot be named is what seals `Operation`")]
    pub trait Describe {
        /// What a success holds.
        type Data;

        /// What a failure is: [`Error`](crate::Error) for what moves money, [`LookupError`](crate::LookupError) for a lookup.
        type Error: OperationError;

        /// The operation's name.
        const NAME: OperationName;

        /// Where it goes.
        fn uri(&self, endpoint: &Endpoint) -> Result<Uri, Self::Error>;

        /// The body to post, or nothing to get.
        fn body(&self) -> Option<SecretBytes> {
            None
        }

        /// The request's own secrets, which no text kept of the response may show.
        fn secrets(&self) -> Vec<&str> {
            Vec::new()
        }

        /// The transaction that the request changes.
        fn changes(&self) -> Option<&TransactionId> {
            None
        }

        /// What a payment whose outcome is unknown can be found by in the service's records.
        fn found_by(&self) -> &'static str {
            "its transaction id"
        }

        /// What a success must hold, if the response holds it.
        fn data(&self, answer: &Answer<'_>) -> Option<Self::Data>;

        /// Takes these secrets out of it, with which the service may answer.
        fn redact_echoes(data: &mut Self::Data, secrets: &[&str]);

        /// The transaction that a success is about.
        fn transaction_id(data: &Self::Data) -> Option<&str>;
    }
}

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// `identity` was asked for; what comes encoded all the same is not decoded, so that no decoder has to be trusted.
fn is_encoded(response: &http::Response<Bytes>) -> bool {
    let identity = |value: &HeaderValue| value.as_bytes().trim_ascii().eq_ignore_ascii_case(b"identity");
    response.headers().get_all(CONTENT_ENCODING).iter().any(|value| !value.is_empty() && !identity(value))
}
