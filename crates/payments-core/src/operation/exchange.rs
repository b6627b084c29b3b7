use std::borrow::Cow;
use std::fmt::Debug;

use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::{HeaderValue, Method};
use payments_model::unversioned::{Envelope, Status};
use payments_model::{SecretBytes, TransactionId, ValidationError};

use super::facts::Facts;
use super::name::OperationName;
use crate::error::{CallError, Cause, FailedCall, FailedResponse};
use crate::response::{Meaning, Received, Secrets};
use crate::{CallId, Endpoint, Success, TransportError};

/// One operation of the service as a value: it builds its HTTP request and reads its HTTP response, and does no I/O.
///
/// An HTTP stack of any kind needs nothing else. [`Client::call`](crate::Client::call) is a thin layer over it. The requests are the
/// operations: a `CardTransaction` is a card payment, a `Void` is a void, and [`GetTransaction`](crate::GetTransaction) and
/// [`GetCustomer`](crate::GetCustomer) are lookups. The trait is sealed, because the service has only these operations.
///
/// # Example
///
/// ```
/// use bytes::Bytes;
/// use payments_core::{ApiKey, Endpoint, ErrorKind, GetTransaction, Operation};
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
/// assert_eq!(error.kind(), ErrorKind::NotFound);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[allow(private_bounds, reason = "only this crate implements it")]
pub trait Operation: Sealed {
    /// The data of a success.
    type Data: Debug;

    /// [`Error`](crate::Error) for a payment or a void, [`LookupError`](crate::LookupError) for a lookup.
    type Error: CallError;

    /// The operation's name.
    #[doc(hidden)]
    const NAME: OperationName;

    /// What identifies the request in the service's records, and what to search them by.
    fn facts(&self) -> Facts<'_>;

    /// Builds the HTTP request, complete except for `Host` and `Content-Length`, which the HTTP stack adds.
    ///
    /// Send it once, follow no redirect, and do not let the stack retry it. The body contains card data. It is wiped when its last
    /// clone and the operation are dropped. Do not print the request: the `Debug` of `http::Request<Bytes>` shows the body.
    ///
    /// # Errors
    ///
    /// A validation error if an id is not a valid path segment. Nothing was sent.
    fn request(&self, endpoint: &Endpoint) -> Result<http::Request<Bytes>, Self::Error> {
        let exchange = Exchange::new(self, endpoint, None);
        exchange.request().map_err(|cause| exchange.failed(cause))
    }

    /// Reads the response, whatever its status. The body must be whole and unchanged.
    ///
    /// The client uses it too, so it also creates the success or the error of a call for tests of the code around it.
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
        Exchange::new(self, endpoint, None).read(&response)
    }

    /// Returns the error for a request that got no whole response. The transport's evidence decides its outcome.
    ///
    /// ```
    /// use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
    /// use payments_core::{ApiKey, Endpoint, ErrorKind, Operation, Outcome, TransportError, TransportErrorKind};
    ///
    /// let endpoint = Endpoint::new("https://pay.example.com/api/v1/public", ApiKey::new("sk_live_51H")?)?;
    /// let payment = TokenTransaction::builder("tok_1", Amount::from_cents(10_50), ConvenienceFee::Inactive).build()?;
    /// let error = payment.error_from_transport(&endpoint, TransportError::unknown(TransportErrorKind::Timeout));
    /// assert_eq!((error.outcome(), error.kind()), (Outcome::Unknown, ErrorKind::TimedOut));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn error_from_transport(&self, endpoint: &Endpoint, error: TransportError) -> Self::Error {
        Exchange::new(self, endpoint, None).error_from_transport(error)
    }

    /// The id in the URL of a lookup, as a path segment.
    #[doc(hidden)]
    fn path_id(&self) -> Result<Cow<'_, str>, ValidationError> {
        Ok(Cow::Borrowed(""))
    }

    /// The body of a `POST`, or `None` for a `GET`.
    #[doc(hidden)]
    fn body(&self) -> Option<SecretBytes> {
        None
    }

    /// The request's secrets, to be masked in the texts that are kept of a response.
    #[doc(hidden)]
    fn secrets(&self) -> Vec<&str> {
        Vec::new()
    }

    /// The digits of the request's card, if it has one.
    #[doc(hidden)]
    fn card_digits(&self) -> Option<&str> {
        None
    }

    /// The data of a success, if the response contains any.
    #[doc(hidden)]
    fn data(&self, envelope: &Envelope<'_>) -> Option<Self::Data>;

    /// Replaces each id of a success for which `redacted` returns another text.
    #[doc(hidden)]
    fn redact_ids(data: &mut Self::Data, redacted: &dyn Fn(&str) -> Option<String>);

    /// The transaction that a success is about.
    #[doc(hidden)]
    fn transaction_id_of(data: &Self::Data) -> Option<&TransactionId>;
}

/// Other crates cannot name it.
pub(crate) trait Sealed {}

/// Replaces the id if `redacted` returns another text.
pub(crate) fn redact_transaction_id(id: &mut TransactionId, redacted: &dyn Fn(&str) -> Option<String>) {
    if let Some(other) = redacted(id.as_str()).and_then(TransactionId::from_response) {
        *id = other;
    }
}

/// One request of an operation and its end.
pub(crate) struct Exchange<'a, O: ?Sized> {
    operation: &'a O,
    pub(crate) endpoint: &'a Endpoint,
    pub(crate) facts: Facts<'a>,
    pub(crate) secrets: Secrets<'a>,
    pub(crate) call_id: Option<CallId>,
}

impl<'a, O: Operation + ?Sized> Exchange<'a, O> {
    pub(crate) fn new(operation: &'a O, endpoint: &'a Endpoint, call_id: Option<CallId>) -> Self {
        let facts = operation.facts();
        let secrets = Secrets::new(operation.secrets(), endpoint.api_key().header_value());
        let secrets = secrets.with_token(facts.token_id);
        Self { operation, endpoint, facts, secrets, call_id }
    }

    /// Builds the request.
    pub(crate) fn request(&self) -> Result<http::Request<Bytes>, Cause> {
        let body = self.operation.body();
        let method = if body.is_some() { Method::POST } else { Method::GET };
        let mut request = http::Request::new(body.map(Bytes::from_owner).unwrap_or_default());
        *request.uri_mut() = self.endpoint.uri(O::NAME, &self.operation.path_id()?)?;
        let headers = request.headers_mut();
        // Leaves room for the headers of the HTTP stack.
        headers.reserve(7);
        headers.insert(AUTHORIZATION, self.endpoint.api_key().header_value().clone());
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

    /// Reads a whole response. The secrets are masked in the parts that are kept.
    pub(crate) fn read(&self, response: &http::Response<Bytes>) -> Result<Success<O::Data>, O::Error> {
        let received = Received::whole(response, &self.secrets);
        // A failure is no success, whatever its data.
        let envelope = received.envelope.as_ref().filter(|envelope| envelope.status() != Status::Failure);
        let data = envelope.and_then(|envelope| self.operation.data(envelope));
        match (received.meaning(&self.facts, data.is_some()), data) {
            (Meaning::Processed, Some(mut data)) => {
                O::redact_ids(&mut data, &|id| self.secrets.redacted_id(id, self.operation.card_digits()));
                let kept = received.kept(&data, &self.facts, &self.secrets);
                Ok(Success::new(data, kept, self.call_id))
            }
            (meaning, _) => Err(self.failed(Cause::Response(self.kept(received, meaning)))),
        }
    }

    /// Converts the transport's evidence into an error.
    pub(crate) fn error_from_transport(&self, mut error: TransportError) -> O::Error {
        let response = error.take_partial().map(|partial| {
            let received = Received::cut(partial.as_http());
            let meaning = received.meaning(&self.facts, false);
            self.kept(received, meaning)
        });
        self.failed(Cause::Transport(error, response))
    }

    /// The error of this exchange.
    pub(crate) fn failed(&self, cause: Cause) -> O::Error {
        let call = FailedCall { operation: Some(O::NAME), call_id: self.call_id, cause };
        O::Error::of(call, &self.facts, &self.secrets)
    }

    fn kept(&self, received: Received<'_>, meaning: Meaning) -> Box<FailedResponse> {
        let refused_by = match meaning {
            Meaning::Refused(by) => Some(by),
            Meaning::Processed | Meaning::Unclear => None,
        };
        Box::new(FailedResponse::new(received, refused_by, &self.facts, &self.secrets))
    }
}

const JSON: HeaderValue = HeaderValue::from_static("application/json");

const SDK_VERSION: &str = concat!("payments-core/", env!("CARGO_PKG_VERSION"));
