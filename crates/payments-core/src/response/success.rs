use std::fmt;
use std::ops::Deref;
use std::time::Duration;

use http::StatusCode;
use payments_model::TransactionId;
use serde::ser::{Serialize, SerializeStruct as _, Serializer};

use super::metadata::Metadata;
use crate::CallId;
use crate::operation::ResponseData;

/// The data of a successful response, and the response's metadata.
///
/// It dereferences to the operation's data, such as a [`TransactionRecord`](payments_model::TransactionRecord):
/// `success.to_json()` returns the record as JSON.
///
/// serde writes the data, the HTTP status, `status_code`, the message and the request id.
///
/// ```
/// # use bytes::Bytes;
/// use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
/// use payments_core::{ApiKey, Endpoint, Operation};
///
/// let payment = TokenTransaction::builder("tok_1", Amount::from_cents(10_50), ConvenienceFee::Inactive).build()?;
/// let response = http::Response::new(Bytes::from_static(
///     br#"{"status":"success","status_code":100,"message":"Processed","data":{"TransactionId":"txn_1"}}"#,
/// ));
/// let endpoint = Endpoint::new("https://pay.example.com/api/v1/public", ApiKey::new("sk_live_51H")?)?;
/// let success = payment.read(&endpoint, response)?;
/// assert_eq!(success.transaction_id.as_str(), "txn_1");
/// assert_eq!(success.message(), Some("Processed"));
/// let receipt = success.into_data();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Success<T>(Box<Parts<T>>);

/// Boxed, because it is large and is moved through many functions.
#[derive(Clone)]
struct Parts<T> {
    data: T,
    metadata: Metadata,
    call_id: Option<CallId>,
}

impl<T> Success<T> {
    pub(crate) fn new(data: T, metadata: Metadata, call_id: Option<CallId>) -> Self {
        Self(Box::new(Parts { data, metadata, call_id }))
    }

    /// The response's `data`.
    pub fn data(&self) -> &T {
        &self.0.data
    }

    /// The response's `data`, without the rest of the response.
    pub fn into_data(self) -> T {
        self.0.data
    }

    /// The call, as events and spans name it. `None` if no client made the call.
    pub fn call_id(&self) -> Option<CallId> {
        self.0.call_id
    }

    /// The HTTP status, always a 2xx.
    pub fn http_status(&self) -> StatusCode {
        self.0.metadata.http_status
    }

    /// The body's `status_code`, unchanged: 100 for a payment and 200 for a lookup.
    pub fn status_code(&self) -> Option<&str> {
        self.0.metadata.status_code.as_deref()
    }

    /// The body's message, [masked](payments_model::mask). It is for people; the SDK decides nothing from it.
    pub fn message(&self) -> Option<&str> {
        self.0.metadata.message.as_deref()
    }

    /// The response's request id header, if it has one. Quote it to the service's support.
    pub fn request_id(&self) -> Option<&str> {
        self.0.metadata.request_id.as_deref()
    }

    /// How long the service asks to wait. See [`FailedCall::retry_after`](crate::FailedCall::retry_after).
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.metadata.retry_after
    }

    /// The first 2 KiB of the response's body, [masked](payments_model::mask).
    ///
    /// It can still contain personal data, so it is not part of `Debug`.
    pub fn body_snippet(&self) -> String {
        self.0.metadata.snippet.text()
    }
}

#[allow(private_bounds, reason = "the data of an operation, which only this crate implements")]
impl<T: ResponseData> Success<T> {
    /// The transaction that a success of any operation is about. `None` for a customer. For code that is generic over the operation.
    pub fn transaction(&self) -> Option<&TransactionId> {
        self.0.data.transaction_id()
    }
}

impl<T> Deref for Success<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0.data
    }
}

impl<T: fmt::Debug> fmt::Debug for Success<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Parts { data, metadata, call_id } = &*self.0;
        f.debug_struct("Success")
            .field("call_id", call_id)
            .field("data", &metadata.shown(data))
            .field("metadata", metadata)
            .finish()
    }
}

impl<T: Serialize> Serialize for Success<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut document = serializer.serialize_struct("Success", 5)?;
        document.serialize_field("http_status", &self.http_status().as_u16())?;
        document.serialize_field("status_code", &self.status_code())?;
        document.serialize_field("message", &self.message())?;
        document.serialize_field("request_id", &self.request_id())?;
        document.serialize_field("data", self.data())?;
        document.end()
    }
}
