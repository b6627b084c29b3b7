//! The operations as plain values: each builds its request and reads its response, without I/O.

mod data;
mod exchange;
mod facts;
mod lookups;
mod name;
mod next_step;
mod request;

use std::fmt::Debug;

use bytes::Bytes;
use payments_model::{
    AchTransaction, CardTransaction, CustomerRecord, TokenTransaction, TransactionReceipt, TransactionRecord,
    Void,
};

use crate::error::{CallError, Error, LookupError};
use crate::{Endpoint, Success, TransportError};
pub(crate) use data::ResponseData;
pub use data::VoidReceipt;
pub(crate) use exchange::Exchange;
pub use facts::Facts;
pub use lookups::{GetCustomer, GetTransaction};
pub use name::OperationName;
pub use next_step::NextStep;
use request::Request;

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
