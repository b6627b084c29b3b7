use std::fmt;
use std::ops::Deref;

use http::StatusCode;

use crate::RetryAfter;
use crate::metadata::Metadata;

/// What the service did, and the answer that says so.
///
/// It dereferences to the operation's data, such as a
/// [`TransactionRecord`](payments_model::TransactionRecord): `success.to_json()` writes the record. For `serde_json` take
/// [`data`](Self::data).
#[derive(Clone)]
pub struct Success<T>(Box<Answered<T>>);

/// In a box, like what an error holds: it is large, and on its way to the caller it is handed over from one function to the
/// next many times.
#[derive(Clone)]
struct Answered<T> {
    data: T,
    metadata: Metadata,
}

impl<T> Success<T> {
    pub(crate) fn new(data: T, metadata: Metadata) -> Self {
        Self(Box::new(Answered { data, metadata }))
    }

    /// The answer's `data`.
    pub fn data(&self) -> &T {
        &self.0.data
    }

    /// The answer's `data`, without the rest of the answer.
    pub fn into_data(self) -> T {
        self.0.data
    }

    /// The HTTP status, some 2xx.
    pub fn http_status(&self) -> StatusCode {
        self.0.metadata.http_status
    }

    /// The body's `status_code` as it was written, 100 for a payment and 200 for a look-up.
    pub fn status_code(&self) -> Option<&str> {
        self.0.metadata.status_code()
    }

    /// The body's message, scrubbed. It is for people; no decision rests on it.
    pub fn message(&self) -> Option<&str> {
        self.0.metadata.message()
    }

    /// The answer's request id header, if it has one: what to quote to the service's support.
    pub fn request_id(&self) -> Option<&str> {
        self.0.metadata.request_id()
    }

    /// The answer's `Retry-After`, if it has one.
    pub fn retry_after(&self) -> Option<RetryAfter> {
        self.0.metadata.retry_after
    }

    /// The first 2 KiB of the answer's body, scrubbed of secrets as well as they can be recognised.
    ///
    /// It may still hold personal data, so it is not part of `Debug`.
    pub fn body_snippet(&self) -> String {
        self.0.metadata.body_snippet()
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
        let Answered { data, metadata } = &*self.0;
        f.debug_struct("Success").field("data", data).field("metadata", metadata).finish()
    }
}
