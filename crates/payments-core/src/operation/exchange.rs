use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::{HeaderValue, Method};

use super::describe::Describe;
use super::facts::Facts;
use crate::error::{CallError as _, Cause, FailedCall, FailedResponse};
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
pub trait Operation: Describe {
    /// What identifies the request in the service's records, and what to search them by.
    fn facts(&self) -> Facts<'_> {
        self.describe()
    }

    /// Builds the HTTP request, complete except for `Host` and `Content-Length`, which the HTTP stack adds.
    ///
    /// Send it once, follow no redirect, and do not let the stack retry it. The body contains card data. It is wiped when its last
    /// clone and the operation are dropped. Do not print the request: the `Debug` of `http::Request<Bytes>` shows the body.
    ///
    /// # Errors
    ///
    /// A validation error if an id is not a valid path segment. Nothing was sent.
    fn request(&self, endpoint: &Endpoint) -> Result<http::Request<Bytes>, Self::Error> {
        request(self, endpoint).map_err(|cause| not_sent(self, &secrets_of(self, endpoint), None, cause))
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
        read(self, &secrets_of(self, endpoint), None, &response)
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
        not_answered(self, &secrets_of(self, endpoint), None, error)
    }
}

impl<T: Describe> Operation for T {}

/// The secrets of a call.
pub(crate) fn secrets_of<O: Describe + ?Sized>(operation: &O, endpoint: &Endpoint) -> Secrets {
    Secrets::new(&operation.secrets(), endpoint.api_key().header_value())
}

/// Builds the request.
pub(crate) fn request<O: Describe + ?Sized>(
    operation: &O,
    endpoint: &Endpoint,
) -> Result<http::Request<Bytes>, Cause> {
    let (method, body) = match operation.body() {
        Some(body) => (Method::POST, Bytes::from_owner(body)),
        None => (Method::GET, Bytes::new()),
    };
    let mut request = http::Request::new(body);
    *request.uri_mut() = operation.uri(endpoint)?;
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

/// The error of a request that was not sent.
pub(crate) fn not_sent<O: Describe + ?Sized>(
    operation: &O,
    secrets: &Secrets,
    call_id: Option<CallId>,
    cause: Cause,
) -> O::Error {
    let call = FailedCall { operation: Some(O::NAME), call_id, cause, response: None };
    O::Error::of(call, &operation.describe(), secrets)
}

/// Reads a whole response. The secrets are masked in the parts that are kept.
pub(crate) fn read<O: Describe + ?Sized>(
    operation: &O,
    secrets: &Secrets,
    call_id: Option<CallId>,
    response: &http::Response<Bytes>,
) -> Result<Success<O::Data>, O::Error> {
    let facts = operation.describe();
    let received = Received::whole(response, secrets);
    let mut meaning = received.meaning(&facts);
    if meaning == Meaning::Processed {
        if let Some(mut data) = received.envelope().and_then(|envelope| operation.data(envelope)) {
            O::redact_ids(&mut data, &|id| secrets.redacted_id(id, operation.card_number()));
            return Ok(Success::new(data, received.metadata(secrets), call_id));
        }
        meaning = Meaning::Unclear;
    }
    let response = Some(FailedResponse::new(received, meaning, &facts, secrets));
    let call = FailedCall { operation: Some(O::NAME), call_id, cause: Cause::Response, response };
    Err(O::Error::of(call, &facts, secrets))
}

/// Converts the transport's evidence into an error.
pub(crate) fn not_answered<O: Describe + ?Sized>(
    operation: &O,
    secrets: &Secrets,
    call_id: Option<CallId>,
    error: TransportError,
) -> O::Error {
    let facts = operation.describe();
    let response = error.partial().map(|partial| {
        let received = Received::cut(partial.as_http());
        let meaning = received.meaning(&facts);
        FailedResponse::new(received, meaning, &facts, secrets)
    });
    let call = FailedCall { operation: Some(O::NAME), call_id, cause: Cause::Transport(error), response };
    O::Error::of(call, &facts, secrets)
}

const JSON: HeaderValue = HeaderValue::from_static("application/json");

const SDK_VERSION: &str = concat!("payments-core/", env!("CARGO_PKG_VERSION"));
