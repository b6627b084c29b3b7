use std::fmt::Debug;

use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::{HeaderValue, Method};
use payments_model::unversioned::Status;
use payments_model::{
    AchTransaction, CardTransaction, CustomerRecord, TokenTransaction, TransactionReceipt, TransactionRecord,
    Void,
};

use super::data::{ResponseData, VoidReceipt};
use super::facts::Facts;
use super::lookups::{GetCustomer, GetTransaction};
use super::request::Request;
use crate::error::{CallError, Cause, Error, FailedCall, FailedResponse, LookupError};
use crate::response::{Meaning, Metadata, Received, Secrets};
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
    type Data: Debug + ResponseData;

    /// [`Error`](crate::Error) for a payment or a void, [`LookupError`](crate::LookupError) for a lookup.
    type Error: CallError;

    /// What identifies the request in the service's records, and what to search them by.
    fn facts(&self) -> Facts<'_> {
        self.as_request().facts()
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
        let exchange = Exchange::new(self.as_request(), endpoint, None);
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
        Exchange::new(self.as_request(), endpoint, None).read(&response)
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
        Exchange::new(self.as_request(), endpoint, None).error_from_transport(error)
    }
}

/// Other crates cannot name it.
pub(crate) trait Sealed {
    fn as_request(&self) -> Request<'_>;
}

macro_rules! operations {
    ($($operation:ident: Request::$request:ident => $data:ty, $error:ty;)*) => {$(
        impl Sealed for $operation {
            fn as_request(&self) -> Request<'_> {
                Request::$request(self)
            }
        }

        impl Operation for $operation {
            type Data = $data;
            type Error = $error;
        }
    )*};
}

operations! {
    CardTransaction: Request::Card => TransactionRecord, Error;
    AchTransaction: Request::Ach => TransactionRecord, Error;
    TokenTransaction: Request::Token => TransactionReceipt, Error;
    Void: Request::Void => VoidReceipt, Error;
    GetTransaction: Request::GetTransaction => TransactionRecord, LookupError;
    GetCustomer: Request::GetCustomer => CustomerRecord, LookupError;
}

/// One request and its end.
pub(crate) struct Exchange<'a> {
    request: Request<'a>,
    pub(crate) endpoint: &'a Endpoint,
    pub(crate) facts: Facts<'a>,
    pub(crate) secrets: Secrets<'a>,
    pub(crate) call_id: Option<CallId>,
}

impl<'a> Exchange<'a> {
    pub(crate) fn new(request: Request<'a>, endpoint: &'a Endpoint, call_id: Option<CallId>) -> Self {
        let secrets = request.secrets(endpoint.api_key().expose());
        Self { request, endpoint, facts: request.facts(), secrets, call_id }
    }

    /// Builds the request.
    pub(crate) fn request(&self) -> Result<http::Request<Bytes>, Cause> {
        let body = self.request.body();
        let method = if body.is_some() { Method::POST } else { Method::GET };
        let mut request = http::Request::new(body.map(Bytes::from_owner).unwrap_or_default());
        *request.uri_mut() = self.endpoint.uri(self.facts.operation, &self.request.path_id()?)?;
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
    pub(crate) fn read<D: ResponseData, E: CallError>(
        &self,
        response: &http::Response<Bytes>,
    ) -> Result<Success<D>, E> {
        let received = Received::whole(response, &self.secrets);
        // A failure is no success, whatever its data.
        let envelope = received.envelope.as_ref().filter(|envelope| envelope.status() != Status::Failure);
        let data = envelope.and_then(|envelope| D::read(envelope, &self.facts));
        match (received.meaning(&self.facts, data.is_some()), data) {
            (Meaning::Processed, Some(mut data)) => {
                data.redact_ids(&|id| self.secrets.redacted_id(id));
                let metadata = Metadata::new(&received, &data, &self.facts, &self.secrets);
                Ok(Success::new(data, metadata, self.call_id))
            }
            (meaning, _) => Err(self.failed(Cause::Response(self.failed_response(received, meaning)))),
        }
    }

    /// Converts the transport's evidence into an error.
    pub(crate) fn error_from_transport<E: CallError>(&self, mut error: TransportError) -> E {
        let response = error.take_partial().map(|partial| {
            let received = Received::cut(partial.as_http());
            let meaning = received.meaning(&self.facts, false);
            self.failed_response(received, meaning)
        });
        self.failed(Cause::Transport(error, response))
    }

    fn failed_response(&self, received: Received<'_>, meaning: Meaning) -> Box<FailedResponse> {
        Box::new(FailedResponse::new(received, meaning, &self.facts, &self.secrets))
    }

    /// The error of this exchange.
    pub(crate) fn failed<E: CallError>(&self, cause: Cause) -> E {
        let call = FailedCall { operation: Some(self.facts.operation), call_id: self.call_id, cause };
        E::from_call(call, &self.facts, &self.secrets)
    }
}

const JSON: HeaderValue = HeaderValue::from_static("application/json");

const SDK_VERSION: &str = concat!("payments-core/", env!("CARGO_PKG_VERSION"));
