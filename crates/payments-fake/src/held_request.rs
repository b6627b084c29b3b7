use std::fmt;

use crate::understood_request::UnderstoodRequest;

/// A request that waits before it is processed. It holds card data; `Debug` shows nothing of it.
pub struct HeldRequest {
    pub(crate) request: Box<UnderstoodRequest>,
    /// Its number in the record of requests.
    pub(crate) number: u64,
    /// The service's when it came.
    pub(crate) epoch: u64,
}

impl fmt::Debug for HeldRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { request: _, number: _, epoch: _ } = self;
        f.write_str("HeldRequest([redacted])")
    }
}
