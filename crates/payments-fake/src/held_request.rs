use std::fmt;

use crate::understood_request::UnderstoodRequest;

/// A request that waits before it is processed. It holds card data; `Debug` shows nothing of it.
pub struct HeldRequest(pub(crate) Box<UnderstoodRequest>);

impl fmt::Debug for HeldRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(_) = self;
        f.write_str("HeldRequest([redacted])")
    }
}
