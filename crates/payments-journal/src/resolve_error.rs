use std::error::Error;
use std::fmt;

use payments_model::TransactionId;

use crate::resolving::Refusal;
use crate::{Intent, IntentKey, IntentState, Resolution, StoreError, Verdict};

/// Why an intent was not resolved. Resolving sends nothing. Nothing was changed, with one exception: if
/// [`store_error`](Self::store_error) [is in doubt](StoreError::is_in_doubt), the resolution may have been written.
#[derive(Debug)]
pub struct ResolveError(pub(crate) Reason);

#[derive(Debug)]
pub(crate) enum Reason {
    Store(StoreError),
    NoSuchIntent(IntentKey),
    /// It has changed since it was read, when it had this many attempts.
    Changed {
        read_attempts: u32,
        found: Box<Intent>,
    },
    /// What is known does not give way to the resolution.
    Known(Box<Intent>),
    SeveralAttempts(Box<Intent>),
    /// The history no longer has the request of this attempt.
    RequestDropped(IntentKey, u32),
    Refused(Box<Intent>, Refusal),
    NothingToLookUp,
    OtherService {
        key: IntentKey,
        recorded: String,
        called: String,
    },
    Taken {
        id: TransactionId,
        by: IntentKey,
    },
    LookUp(payments_core::LookupError),
    Contradicted(Vec<String>),
}

impl Reason {
    /// Why this intent does not accept the resolution.
    pub(crate) fn refused(intent: Intent, resolution: &Resolution) -> Self {
        match intent.refusal_of(resolution) {
            Some(Refusal::Known) | None => Self::Known(intent.into()),
            Some(refusal) => Self::Refused(intent.into(), refusal),
        }
    }
}

impl ResolveError {
    /// The journal has no intent with this key.
    pub fn is_no_such_intent(&self) -> bool {
        matches!(self.0, Reason::NoSuchIntent(_))
    }

    /// The intent's outcome is known, or it is still being sent.
    pub fn is_not_unknown(&self) -> bool {
        matches!(self.0, Reason::Known(_))
    }

    /// The intent has changed since the person read it: it was resolved, ended or sent again. The message says how. Read it
    /// again, and let the person decide again.
    pub fn is_changed(&self) -> bool {
        matches!(self.0, Reason::Changed { .. })
    }

    /// The intent belongs to another [service](crate::Intent::service) than the one that the client
    /// [calls](payments_core::Client::service). Nothing was looked up, because a transaction there is not the intent's.
    pub fn is_other_service(&self) -> bool {
        matches!(self.0, Reason::OtherService { .. })
    }

    /// The transaction cannot be the intent's: another intent has it, or its amount or card differs.
    pub fn is_contradicted(&self) -> bool {
        matches!(
            self.0,
            Reason::Taken { .. } | Reason::Contradicted(_) | Reason::Refused(_, Refusal::SameTransaction(_))
        )
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
            Reason::Changed { read_attempts, found } => {
                write!(f, "{} has changed since it was read: ", found.key)?;
                if found.attempts != *read_attempts {
                    write!(f, "it has begun attempt {}, and ", found.attempts)?;
                }
                f.write_str(&known(found))
            }
            Reason::Known(intent) if intent.state == IntentState::Sending => {
                write!(f, "{} is being sent, and its outcome is not known yet", intent.key)
            }
            Reason::Known(intent) => write!(f, "the outcome of {} is known: {}", intent.key, known(intent)),
            Reason::SeveralAttempts(intent) => write!(
                f,
                "{} has {} attempts, so the attempt must be named, as it was read",
                intent.key, intent.attempts
            ),
            Reason::RequestDropped(key, attempt) => write!(
                f,
                "the journal no longer has the request of attempt {attempt} of {key}, because it keeps the newest events only, so a \
                 lookup proves nothing about it: compare the transaction yourself, and resolve it without a lookup"
            ),
            Reason::Refused(intent, refusal) => write_refusal(intent, refusal, f),
            Reason::NothingToLookUp => {
                f.write_str("the resolution names no processed transaction to look up")
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

fn write_refusal(intent: &Intent, refusal: &Refusal, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let Intent { key, attempts, .. } = intent;
    match refusal {
        Refusal::NoSuchAttempt(number) => write!(f, "the journal has no attempt {number} of {key}"),
        Refusal::EarlierAttempt(number) => write!(
            f,
            "attempt {number} of {key} is not the newest, which is {attempts}: an earlier attempt can only be resolved as \
             processed"
        ),
        Refusal::Reported(number) => {
            write!(f, "attempt {number} of {key} is processed, as the service itself has reported")
        }
        Refusal::SameTransaction(number) => {
            write!(f, "attempt {number} of {key} is already processed as this transaction")
        }
        Refusal::TooLong(error) => write!(f, "{error}"),
        Refusal::TooMany => write!(f, "{key} has {} notes of persons already", intent.count_of_notes()),
        Refusal::Known => write!(f, "the outcome of {key} is known: {}", known(intent)),
    }
}

/// What is known about the newest attempt, and who has said so if it was a person.
fn known(intent: &Intent) -> String {
    match (intent.decision_about(intent.attempts), &intent.state) {
        (_, IntentState::Resolved { resolution, .. }) | (Some(resolution), IntentState::Rejected(_)) => {
            let verdict = match &resolution.verdict {
                Verdict::Processed(id) => format!("processed, transaction {}", id.as_str().escape_debug()),
                Verdict::Rejected(_) => "rejected".to_owned(),
                Verdict::NotProcessed => "not processed".to_owned(),
            };
            format!("{} resolved it as {verdict}", resolution.by.escape_debug())
        }
        (_, IntentState::Sending) => "it is being sent".to_owned(),
        (_, state) => format!("it is {}", state.name().as_str().replace('_', " ")),
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
