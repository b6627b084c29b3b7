//! The five operations as pure values: each builds its request and reads its response, with no I/O.

#[allow(
    private_interfaces,
    reason = "only this crate calls it, and its implementers are two; Rust 1.91 finds nothing here"
)]
mod error;
mod lookups;
mod name;
mod payments;

use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, USER_AGENT};
use http::{HeaderValue, Method};
use payments_model::unversioned::Body;

pub(crate) use error::{OperationError, Received};
pub use lookups::{GetCustomer, GetTransaction};
pub use name::OperationName;
pub use payments::VoidReceipt;

use crate::error::{Cause, FailedResponse, Failure};
use crate::response::{Meaning, Metadata, Secrets, Summary};
use crate::{Endpoint, Success, TransportError};
use sealed::Describe;

/// One operation of the service as a value: it builds its HTTP request and reads its HTTP response, and does no I/O.
///
/// This is all that a blocking or exotic HTTP stack needs. [`Client::call`](crate::Client::call) is a thin layer over it. The
/// requests themselves are the operations: a `CardTransaction` is the card payment, a `Void` is the void, and a lookup is
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
/// // … send it with any HTTP library, then read what came back:
/// let response = http::Response::builder().status(404).body(Bytes::from_static(
///     br#"{"status":"failed","status_code":404,"msg":"Transaction not found"}"#,
/// ))?;
/// let error = lookup.read(&endpoint, response).unwrap_err();
/// assert!(error.is_not_found());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Operation: Describe {
    /// The HTTP request, complete but for `Host` and `Content-Length`, which belong to the HTTP stack.
    ///
    /// Send it once, follow no redirect, and do not let the stack repeat it. The body holds card data and is wiped when the last of
    /// its clones and the operation are dropped. Do not print it: the `Debug` of `http::Request<Bytes>` shows the body.
    ///
    /// # Errors
    ///
    /// A validation error if an id cannot stand in a path. Nothing was sent.
    fn request(&self, endpoint: &Endpoint) -> Result<http::Request<Bytes>, Self::Error> {
        let (method, body) = match self.body() {
            Some(body) => (Method::POST, Bytes::from_owner(body)),
            None => (Method::GET, Bytes::new()),
        };
        let mut request = http::Request::new(body);
        *request.uri_mut() = self.uri(endpoint)?;
        let headers = request.headers_mut();
        // With room for those that belong to the HTTP stack.
        headers.reserve(7);
        headers.insert(AUTHORIZATION, endpoint.api_key().header_value().clone());
        headers.insert(ACCEPT, JSON);
        // Without it any coding would be acceptable (RFC 9110, 12.5.3), and an encoded response is unreadable.
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        headers.insert(USER_AGENT, HeaderValue::from_static(THIS_SDK));
        if method == Method::POST {
            headers.insert(CONTENT_TYPE, JSON);
        }
        *request.method_mut() = method;
        Ok(request)
    }

    /// Reads the response, whatever its status: the body must be whole, as received.
    ///
    /// # Errors
    ///
    /// Any response that does not say, in the way the interface shows, that the operation succeeded. See the table in the crate's
    /// documentation for the outcome of each.
    fn read(
        &self,
        endpoint: &Endpoint,
        response: http::Response<Bytes>,
    ) -> Result<Success<Self::Data>, Self::Error> {
        read(self, Some(endpoint), &response)
    }

    /// What the service's records can be searched by for this payment after an unknown outcome that gave no transaction to look
    /// up: a clause such as `amount, last four digits, payer's name and time`.
    ///
    /// The interface has no search, so a person does it, in the service's own reports. A card or ACH payment has no field for a
    /// reference of the caller's (the interface, Card transaction request body).
    fn search_by(&self) -> &'static str {
        self.found_by()
    }

    /// The error for a request that brought no whole response: the transport's evidence, turned into an outcome.
    fn not_answered(&self, endpoint: &Endpoint, error: TransportError) -> Self::Error {
        not_answered(self, Some(endpoint), error)
    }

    /// The same for tests of the code around a call, which have no endpoint.
    ///
    /// ```
    /// use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
    /// use payments_core::{ErrorKind, Operation, Outcome, TransportError, TransportErrorKind};
    ///
    /// let payment = TokenTransaction::builder("tok_1", Amount::from_cents(10_50), ConvenienceFee::Inactive).build()?;
    /// let error = payment.error_from_transport(TransportError::unknown(TransportErrorKind::Timeout));
    /// assert_eq!((error.outcome(), error.kind()), (Outcome::Unknown, ErrorKind::TimedOut));
    /// # Ok::<(), payments_core::model::ValidationError>(())
    /// ```
    fn error_from_transport(&self, error: TransportError) -> Self::Error {
        not_answered(self, None, error)
    }
}

impl<T: Describe> Operation for T {}

/// Reads a whole response. The endpoint's API key is masked in what is kept of it.
pub(crate) fn read<O: Describe + ?Sized>(
    operation: &O,
    endpoint: Option<&Endpoint>,
    response: &http::Response<Bytes>,
) -> Result<Success<O::Data>, O::Error> {
    let body = if is_encoded(response) { Body::Unreadable } else { Body::read(response.body()) };
    let data = match &body {
        Body::Object(envelope) => operation.data(envelope),
        _ => None,
    };
    let summary = Summary::of(&body, data.is_some());
    let received = Received { http_status: response.status(), body, bytes: response.body() };
    let meaning = O::Error::meaning(&received, summary, operation.changes());
    let secrets = Secrets::new(&operation.secrets(), endpoint);
    let metadata = Metadata::new(response, &received.body, secrets);
    let record = match (meaning, data) {
        (Meaning::Processed, Some(data)) => return Ok(Success::new(data, metadata)),
        (_, data) => data.and_then(O::into_record),
    };
    let response = Some(FailedResponse { meaning, metadata });
    let failure = Failure { operation: Some(O::NAME), cause: Cause::Response, response };
    Err(O::Error::of(operation, failure, endpoint, Some(&received), record))
}

/// Turns the transport's evidence into an error.
fn not_answered<O: Describe + ?Sized>(
    operation: &O,
    endpoint: Option<&Endpoint>,
    error: TransportError,
) -> O::Error {
    let partial = error.partial().map(|partial| partial.as_http().clone());
    let received = partial.as_ref().map(|partial| Received {
        http_status: partial.status(),
        body: Body::Unreadable,
        bytes: partial.body(),
    });
    let response = partial.as_ref().zip(received.as_ref()).map(|(partial, received)| FailedResponse {
        meaning: O::Error::meaning(received, Summary::Unreadable, operation.changes()),
        metadata: Metadata::new(partial, &received.body, Secrets::new(&operation.secrets(), endpoint)),
    });
    let failure = Failure { operation: Some(O::NAME), cause: Cause::Transport(error), response };
    O::Error::of(operation, failure, endpoint, received.as_ref(), None)
}

pub(crate) mod sealed {
    use http::Uri;
    use payments_model::unversioned::Envelope;
    use payments_model::{Amount, SecretBytes, TransactionId, TransactionRecord};

    use super::OperationError;
    use crate::{Endpoint, OperationName};

    /// What sets one operation apart from the others.
    #[allow(unnameable_types, reason = "that it cannot be named is what seals `Operation`")]
    pub trait Describe {
        /// What a success holds.
        type Data;

        /// What a failure is: [`Error`](crate::Error) for what moves money, [`LookupError`](crate::LookupError) for a lookup.
        type Error: OperationError;

        /// The operation's name.
        const NAME: OperationName;

        /// Where it goes.
        fn uri(&self, endpoint: &Endpoint) -> Result<Uri, Self::Error>;

        /// What a success must hold, if the response holds it.
        fn data(&self, envelope: &Envelope<'_>) -> Option<Self::Data>;

        /// The record that a success would hold.
        fn into_record(_: Self::Data) -> Option<TransactionRecord> {
            None
        }

        /// The transaction that a success is about.
        fn transaction_id(data: &Self::Data) -> Option<&str>;

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

        /// What an observer is told of the request.
        fn facts(&self) -> Facts<'_>;
    }

    /// What identifies a request in the service's records, without its secrets.
    #[derive(Debug, Default)]
    #[allow(unnameable_types, reason = "only this crate has use for it")]
    pub struct Facts<'a> {
        pub(crate) amount: Option<Amount>,
        pub(crate) reference: Option<&'a str>,
        pub(crate) last_four: Option<&'a str>,
        pub(crate) transaction_id: Option<&'a str>,
    }
}

const JSON: HeaderValue = HeaderValue::from_static("application/json");

const THIS_SDK: &str = concat!("payments-core/", env!("CARGO_PKG_VERSION"));

/// `identity` was asked for. What comes encoded all the same is not decoded, so that no decoder has to be trusted.
fn is_encoded(response: &http::Response<Bytes>) -> bool {
    let identity = |value: &HeaderValue| value.as_bytes().trim_ascii().eq_ignore_ascii_case(b"identity");
    response.headers().get_all(CONTENT_ENCODING).iter().any(|value| !value.is_empty() && !identity(value))
}
