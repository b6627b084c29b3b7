use std::fmt;

/// Identifies one call of a client, such as `5f1c9a04be7d2a33`: the same in the events of all its attempts, in the span of the call,
/// and in its [`Success`](crate::Success) or [error](crate::FailedCall::call_id). It is random and is not sent to the service.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct CallId(pub(crate) u64);

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CallId({self})")
    }
}
