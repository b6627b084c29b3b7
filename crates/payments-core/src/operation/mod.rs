//! The five operations as plain values: each builds its request and reads its response, without I/O.

#[allow(
    private_interfaces,
    reason = "only this crate calls and implements the trait; Rust 1.91 does not report this lint here"
)]
mod error;
mod lookups;
mod name;
mod payments;

use std::borrow::Cow;

use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::{HeaderValue, Method};
use payments_model::unversioned::{Body, redact};

pub(crate) use error::{OperationError, Received};
pub use lookups::{GetCustomer, GetTransaction};
pub use name::OperationName;
pub use payments::VoidReceipt;

use crate::error::{Cause, FailedResponse, Failure};
use crate::response::{BodyForm, Meaning, Metadata, Secrets, Summary};
use crate::{Endpoint, Success, TransportError};
use sealed::Describe;

/// One operation of the service as a value: it builds its HTTP request and reads its HTTP response, and does no I/O.
///
/// An HTTP stack of any kind needs nothing else. [`Client::call`](crate::Client::call) is a thin layer over it. The requests are the
/// operations: a `CardTransaction` is a card payment, a `Void` is a void, and [`GetTransaction`] and [`GetCustomer`] are lookups. The
/// trait is sealed, because the service has only these operations.
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
/// // … send it with any HTTP library, then read the response:
/// let response = http::Response::builder().status(404).body(Bytes::from_static(
///     br#"{"status":"failed","status_code":404,"msg":"Transaction not found"}"#,
/// ))?;
/// let error = lookup.read(&endpoint, response).unwrap_err();
/// assert!(error.is_not_found());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Operation: Describe {
    /// Builds the HTTP request, complete except for `Host` and `Content-Length`, which the HTTP stack adds.
    ///
    /// Send it once, follow no redirect, and do not let the stack retry it. The body contains card data. It is wiped when its last
    /// clone and the operation are dropped. Do not print the request: the `Debug` of `http::Request<Bytes>` shows the body.
    ///
    /// # Errors
    ///
    /// A validation error if an id is not a valid path segment. Nothing was sent.
    fn request(&self, endpoint: &Endpoint) -> Result<http::Request<Bytes>, Self::Error> {
        let (method, body) = match self.body() {
            Some(body) => (Method::POST, Bytes::from_owner(body)),
            None => (Method::GET, Bytes::new()),
        };
        let mut request = http::Request::new(body);
        *request.uri_mut() = self.uri(endpoint)?;
        let headers = request.headers_mut();
        // Leaves room for the headers of the HTTP stack.
        headers.reserve(7);
        headers.insert(AUTHORIZATION, endpoint.api_key().header_value().clone());
        headers.insert(ACCEPT, JSON);
        // Without this header any coding would be acceptable (RFC 9110, 12.5.3), and an encoded response is unreadable.
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        headers.insert(USER_AGENT, HeaderValue::from_static(SDK_VERSION));
        if method == Method::POST {
            headers.insert(CONTENT_TYPE, JSON);
        }
        *request.method_mut() = method;
        Ok(request)
    }

    /// Reads the response, whatever its status. The body must be whole and unchanged.
    ///
    /// # Errors
    ///
    /// Any response that does not say, as the interface documents it, that the operation succeeded. The table in the crate's
    /// documentation has the outcome of each.
    fn read(
        &self,
        endpoint: &Endpoint,
        response: http::Response<Bytes>,
    ) -> Result<Success<Self::Data>, Self::Error> {
        read(self, Some(endpoint), &response)
    }

    /// What to search the service's records by after an unknown outcome without a transaction id: a phrase such as
    /// `amount, last four digits, payer's name and time`.
    ///
    /// The interface has no search, so a person searches the service's own reports. A card or ACH payment has no field for a
    /// reference of the caller (the interface, Card transaction request body).
    fn search_by(&self) -> &'static str {
        self.found_by()
    }

    /// Returns the error for a request that got no whole response. The transport's evidence decides its outcome.
    fn not_answered(&self, endpoint: &Endpoint, error: TransportError) -> Self::Error {
        not_answered(self, Some(endpoint), error)
    }

    /// The same without an endpoint, for tests of the code around a call.
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

/// Reads a whole response. The endpoint's API key is masked in the parts that are kept.
pub(crate) fn read<O: Describe + ?Sized>(
    operation: &O,
    endpoint: Option<&Endpoint>,
    response: &http::Response<Bytes>,
) -> Result<Success<O::Data>, O::Error> {
    let secrets = Secrets::new(&operation.secrets(), endpoint);
    let (form, body) = BodyForm::read(response, &secrets);
    let data = match &body {
        Body::Object(envelope) => operation.data(envelope),
        _ => None,
    };
    let summary = Summary::of(&body, data.is_some());
    let is_whole = form.is_whole();
    let received = Received { http_status: response.status(), body, bytes: response.body(), is_whole };
    let meaning = O::Error::meaning(&received, summary, operation.changes());
    let metadata = Metadata::new(response, &received.body, secrets);
    let record = match (meaning, data) {
        (Meaning::Processed, Some(mut data)) => {
            O::redact_ids(&mut data, &|id| redacted_id(id, operation.card_number(), endpoint));
            return Ok(Success::new(data, metadata));
        }
        (_, data) => data.and_then(O::into_record),
    };
    let response = Some(FailedResponse { meaning, form, metadata });
    let failure = Failure { operation: Some(O::NAME), cause: Cause::Response, response };
    Err(O::Error::of(operation, failure, endpoint, Some(&received), record))
}

/// Converts the transport's evidence into an error.
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
        is_whole: false,
    });
    let response = partial.as_ref().zip(received.as_ref()).map(|(partial, received)| FailedResponse {
        meaning: O::Error::meaning(received, Summary::Unreadable, operation.changes()),
        form: BodyForm::Cut,
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

    /// The differences between the operations.
    #[allow(unnameable_types, reason = "other crates cannot name it, which seals `Operation`")]
    pub trait Describe {
        /// The data of a success.
        type Data;

        /// [`Error`](crate::Error) for a payment or a void, [`LookupError`](crate::LookupError) for a lookup.
        type Error: OperationError;

        /// The operation's name.
        const NAME: OperationName;

        /// The URL of the request.
        fn uri(&self, endpoint: &Endpoint) -> Result<Uri, Self::Error>;

        /// The data of a success, if the response has it.
        fn data(&self, envelope: &Envelope<'_>) -> Option<Self::Data>;

        /// The data as a transaction record, if it is one.
        fn into_record(_: Self::Data) -> Option<TransactionRecord> {
            None
        }

        /// Replaces each id of a success for which `redacted` returns another text.
        fn redact_ids(data: &mut Self::Data, redacted: &dyn Fn(&str) -> Option<String>);

        /// The transaction that a success is about.
        fn transaction_id(data: &Self::Data) -> Option<&str>;

        /// The body of a `POST`, or `None` for a `GET`.
        fn body(&self) -> Option<SecretBytes> {
            None
        }

        /// The request's secrets, to be masked in the texts that are kept of a response.
        fn secrets(&self) -> Vec<&str> {
            Vec::new()
        }

        /// The card number of the request, if it has one.
        fn card_number(&self) -> Option<&str> {
            None
        }

        /// The transaction that the request changes.
        fn changes(&self) -> Option<&TransactionId> {
            None
        }

        /// What a payment of unknown outcome can be found by in the service's records.
        fn found_by(&self) -> &'static str {
            "its transaction id"
        }

        /// What an observer receives about the request.
        fn facts(&self) -> Facts<'_>;
    }

    /// Replaces the id if `redacted` returns another text.
    pub(crate) fn redact_transaction_id(id: &mut TransactionId, redacted: &dyn Fn(&str) -> Option<String>) {
        if let Some(other) = redacted(id.as_str()).and_then(TransactionId::from_answer) {
            *id = other;
        }
    }

    /// What identifies a request in the service's records, without its secrets.
    #[derive(Debug, Default)]
    #[allow(unnameable_types, reason = "only this crate uses it")]
    pub struct Facts<'a> {
        pub(crate) amount: Option<Amount>,
        pub(crate) reference: Option<&'a str>,
        pub(crate) last_four: Option<&'a str>,
        pub(crate) transaction_id: Option<&'a str>,
    }
}

const JSON: HeaderValue = HeaderValue::from_static("application/json");

const SDK_VERSION: &str = concat!("payments-core/", env!("CARGO_PKG_VERSION"));

/// The id without the API key and the request's card number, if it contains one of them. Nothing else is replaced: by chance, a
/// security code occurs in more than one of a hundred random ids.
fn redacted_id(id: &str, card_number: Option<&str>, endpoint: Option<&Endpoint>) -> Option<String> {
    let key = endpoint.map(|endpoint| endpoint.api_key().expose());
    let secrets: Vec<&str> = card_number.into_iter().chain(key).collect();
    match redact(id, &secrets) {
        Cow::Owned(redacted) => Some(redacted),
        Cow::Borrowed(_) => None,
    }
}
