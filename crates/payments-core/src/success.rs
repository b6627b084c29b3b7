use std::ops::Deref;

use http::StatusCode;

use crate::RetryAfter;
use crate::metadata::Metadata;

/// What the service did, and the answer that says so.
///
/// It dereferences to the operation's data, such as a
/// [`TransactionRecord`](payments_model::TransactionRecord).
#[derive(Clone, Debug)]
pub struct Success<T> {
    data: T,
    metadata: Metadata,
}

impl<T> Success<T> {
    pub(crate) fn new(data: T, metadata: Metadata) -> Self {
        Self { data, metadata }
    }

    /// The answer's `data`.
    pub fn data(&self) -> &T {
        &self.data
    }

    /// The answer's `data`, without the rest of the answer.
    pub fn into_data(self) -> T {
        self.data
    }

    /// The HTTP status, some 2xx.
    pub fn http_status(&self) -> StatusCode {
        self.metadata.http_status
    }

    /// The body's `status_code` as it was written, 100 for a payment and 200 for a look-up.
    pub fn status_code(&self) -> Option<&str> {
        self.metadata.status_code()
    }

    /// The body's message, scrubbed. It is for people; no decision rests on it.
    pub fn message(&self) -> Option<&str> {
        self.metadata.message()
    }

    /// The answer's request id header, if it has one: what to quote to the service's support.
    pub fn request_id(&self) -> Option<&str> {
        self.metadata.request_id()
    }

    /// The answer's `Retry-After`, if it has one.
    pub fn retry_after(&self) -> Option<RetryAfter> {
        self.metadata.retry_after
    }

    /// The first 2 KiB of the answer's body, scrubbed of secrets as well as they can be recognised.
    ///
    /// It may still hold personal data, so it is not part of `Debug`.
    pub fn body_snippet(&self) -> String {
        self.metadata.body_snippet()
    }
}

impl<T> Deref for Success<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.data
    }
}
