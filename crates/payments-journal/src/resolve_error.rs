use std::error::Error;
use std::fmt;

use payments_model::TransactionId;

use crate::{IntentKey, StateName, StoreError};

/// Why an intent was not resolved. A resolution sends nothing. Nothing was changed, unless the text says so: if
/// [`store_error`](Self::store_error) [is in doubt](StoreError::is_in_doubt), the resolution may be written down.
#[derive(Debug)]
pub struct ResolveError(pub(crate) Why);

#[derive(Debug)]
pub(crate) enum Why {
    Store(StoreError),
    NoSuchIntent(IntentKey),
    NotUnknown(IntentKey, StateName),
    Taken { id: TransactionId, by: IntentKey },
    LookUp(payments_core::LookupError),
    Contradicted(Vec<String>),
}

impl ResolveError {
    /// The journal has no intent with this key.
    pub fn is_no_such_intent(&self) -> bool {
        matches!(self.0, Why::NoSuchIntent(_))
    }

    /// The intent's outcome is known, or it is still being sent.
    pub fn is_not_unknown(&self) -> bool {
        matches!(self.0, Why::NotUnknown(..))
    }

    /// The transaction cannot be the intent's: another intent has it, or its amount or card is another one.
    pub fn is_contradicted(&self) -> bool {
        matches!(self.0, Why::Taken { .. } | Why::Contradicted(_))
    }

    /// Why the transaction could not be looked up.
    pub fn look_up_error(&self) -> Option<&payments_core::LookupError> {
        let Why::LookUp(error) = &self.0 else { return None };
        Some(error)
    }

    /// Why the journal could not be read or written.
    pub fn store_error(&self) -> Option<&StoreError> {
        let Why::Store(error) = &self.0 else { return None };
        Some(error)
    }
}

impl From<StoreError> for ResolveError {
    fn from(error: StoreError) -> Self {
        Self(Why::Store(error))
    }
}

impl fmt::Display for ResolveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Why::Store(error) if error.is_in_doubt() => {
                return write!(
                    f,
                    "{error}; the resolution may be written down all the same: look at the key before you resolve it again"
                );
            }
            Why::Store(error) => write!(f, "{error}"),
            Why::NoSuchIntent(key) => write!(f, "the journal has no intent {key}"),
            Why::NotUnknown(key, StateName::Sending) => {
                write!(f, "{key} is being sent, and how it ends is not known yet")
            }
            Why::NotUnknown(key, StateName::Unknown) => {
                write!(f, "{key} was sent again meanwhile, and the outcome of that attempt is unknown")
            }
            Why::NotUnknown(key, state) => {
                write!(f, "the outcome of {key} is known: it is {}", state.as_str())
            }
            Why::Taken { id, by } => {
                write!(f, "transaction {} already belongs to {by}", id.as_str().escape_debug())
            }
            Why::LookUp(error) => write!(f, "the transaction could not be looked up: {error}"),
            Why::Contradicted(by) => {
                write!(f, "the transaction cannot be this intent's: {}", by.join("; "))
            }
        }?;
        f.write_str("; nothing was changed")
    }
}

impl Error for ResolveError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.0 {
            Why::Store(error) => error.source(),
            Why::LookUp(error) => error.source(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resolution_in_doubt_may_be_written_down_and_says_so() {
        let error = ResolveError::from(StoreError::in_doubt("the connection broke"));
        assert_eq!(
            error.to_string(),
            "the connection broke; the resolution may be written down all the same: look at the key before you resolve \
             it again"
        );
        let error = ResolveError::from(StoreError::unavailable("the disk is full"));
        assert_eq!(error.to_string(), "the disk is full; nothing was changed");
    }
}
