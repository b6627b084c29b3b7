use std::error::Error;
use std::fmt;

use payments_model::TransactionId;

use crate::{IntentKey, StateName, StoreError};

/// Why an intent was not resolved. Resolving sends nothing. Nothing was changed, with one exception: if
/// [`store_error`](Self::store_error) [is in doubt](StoreError::is_in_doubt), the resolution may have been written.
#[derive(Debug)]
pub struct ResolveError(pub(crate) Reason);

#[derive(Debug)]
pub(crate) enum Reason {
    Store(StoreError),
    NoSuchIntent(IntentKey),
    NotUnknown(IntentKey, StateName),
    OtherService { key: IntentKey, recorded: String, called: String },
    Taken { id: TransactionId, by: IntentKey },
    LookUp(payments_core::LookupError),
    Contradicted(Vec<String>),
}

impl ResolveError {
    /// The journal has no intent with this key.
    pub fn is_no_such_intent(&self) -> bool {
        matches!(self.0, Reason::NoSuchIntent(_))
    }

    /// The intent's outcome is known, or it is still being sent.
    pub fn is_not_unknown(&self) -> bool {
        matches!(self.0, Reason::NotUnknown(..))
    }

    /// The intent belongs to another [service](crate::Intent::service) than the one that the client
    /// [calls](payments_core::Client::service). Nothing was looked up, because a transaction there is not the intent's.
    pub fn is_other_service(&self) -> bool {
        matches!(self.0, Reason::OtherService { .. })
    }

    /// The transaction cannot be the intent's: another intent has it, or its amount or card differs.
    pub fn is_contradicted(&self) -> bool {
        matches!(self.0, Reason::Taken { .. } | Reason::Contradicted(_))
    }

    /// Why the transaction could not be looked up.
    pub fn look_up_error(&self) -> Option<&payments_core::LookupError> {
        let Reason::LookUp(error) = &self.0 else { return None };
        Some(error)
    }

    /// Why the journal could not be read or written.
    pub fn store_error(&self) -> Option<&StoreError> {
        let Reason::Store(error) = &self.0 else { return None };
        Some(error)
    }
}

impl From<StoreError> for ResolveError {
    fn from(error: StoreError) -> Self {
        Self(Reason::Store(error))
    }
}

impl fmt::Display for ResolveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Reason::Store(error) if error.is_in_doubt() => {
                return write!(
                    f,
                    "{error}; the resolution may have been written: look at the key before you resolve it again"
                );
            }
            Reason::Store(error) => write!(f, "{error}"),
            Reason::NoSuchIntent(key) => write!(f, "the journal has no intent {key}"),
            Reason::NotUnknown(key, StateName::Sending) => {
                write!(f, "{key} is being sent, and its outcome is not known yet")
            }
            Reason::NotUnknown(key, StateName::Unknown) => {
                write!(f, "{key} was sent again meanwhile, and the outcome of that attempt is unknown")
            }
            Reason::NotUnknown(key, state) => {
                write!(f, "the outcome of {key} is known: it is {}", state.as_str())
            }
            Reason::OtherService { key, recorded, called } => write!(
                f,
                "{key} belongs to another service: it was first used for {recorded}, and a lookup at {called} proves nothing \
                 about it: check the base URL"
            ),
            Reason::Taken { id, by } => {
                write!(f, "transaction {} already belongs to {by}", id.as_str().escape_debug())
            }
            Reason::LookUp(error) => write!(f, "the transaction could not be looked up: {error}"),
            Reason::Contradicted(by) => {
                write!(f, "the transaction cannot be this intent's: {}", by.join("; "))
            }
        }?;
        f.write_str("; nothing was changed")
    }
}

impl Error for ResolveError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.0 {
            Reason::Store(error) => error.source(),
            Reason::LookUp(error) => error.source(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_doubt_resolution_reports_that_it_may_have_been_written() {
        let error = ResolveError::from(StoreError::in_doubt("the connection broke"));
        assert_eq!(
            error.to_string(),
            "the connection broke; the resolution may have been written: look at the key before you resolve it again"
        );
        let error = ResolveError::from(StoreError::unavailable("the disk is full"));
        assert_eq!(error.to_string(), "the disk is full; nothing was changed");
    }
}
