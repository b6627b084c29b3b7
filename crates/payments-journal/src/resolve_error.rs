use std::error::Error;
use std::fmt;

use crate::resolving::{Refusal, TooLong};
use crate::store_error::NOTHING_CHANGED;
use crate::{Intent, IntentKey, IntentState, StoreError, Verdict};

/// Why an intent was not resolved or reopened. Neither sends anything. Nothing was changed, with two exceptions: it may have
/// [become unknown](Self::became_unknown), and if [`store_error`](Self::store_error) [is in doubt](StoreError::is_in_doubt), the
/// resolution may have been written.
#[derive(Debug)]
pub struct ResolveError(pub(crate) Reason);

#[derive(Debug, thiserror::Error)]
pub(crate) enum Reason {
    #[error(transparent)]
    Store(StoreError),
    #[error("the journal has no intent {0}")]
    NoSuchIntent(IntentKey),
    #[error(
        "the journal no longer has the request of attempt {1} of {0}, because it keeps the newest events only, so a lookup proves \
         nothing about it: compare the transaction yourself, and resolve it without a lookup"
    )]
    RequestDropped(IntentKey, u32),
    #[error("{}", refused(.0, .1))]
    Refused(Refusal, Box<Intent>),
    #[error("the resolution names no processed transaction to look up")]
    NothingToLookUp,
    #[error(
        "{key} belongs to another service: it was first used for {recorded}, and a lookup at {called} proves nothing about it: \
         check the base URL, the merchant and the API key"
    )]
    OtherService { key: IntentKey, recorded: String, called: String },
    #[error("{0}")]
    InvalidService(String),
    #[error("the transaction could not be looked up: {0}")]
    LookUp(payments_core::LookupError),
    #[error("the transaction cannot be this intent's: {}", .0.join("; "))]
    Contradicted(Vec<String>),
}

impl ResolveError {
    /// The journal has no intent with this key.
    pub fn is_no_such_intent(&self) -> bool {
        matches!(self.0, Reason::NoSuchIntent(_))
    }

    /// The intent's outcome is known, or it is still being sent.
    pub fn is_not_unknown(&self) -> bool {
        matches!(self.0, Reason::Refused(Refusal::Known, _))
    }

    /// The intent cannot be [reopened](crate::Journal::reopen): it is not rejected, or not with one of these statuses.
    pub fn is_not_rejected(&self) -> bool {
        matches!(self.0, Reason::Refused(Refusal::NotRejected, _))
    }

    /// The intent has changed since the person read it: it was resolved, ended or sent again. The message says how. Read it
    /// again, and let the person decide again.
    pub fn is_changed(&self) -> bool {
        matches!(self.0, Reason::Refused(Refusal::Changed(_), _))
    }

    /// The intent may have been sent in a time whose entries the journal has [lost](crate::Journal::accept_history), and is unknown
    /// now, maybe by this resolution. [`is_changed`](Self::is_changed) is true too. **Do not read the intent again and repeat the
    /// resolution:** it would be accepted, and if it says that no money moved, the key can be charged a second time. A person finds
    /// out about the lost time first.
    pub fn became_unknown(&self) -> bool {
        matches!(&self.0, Reason::Refused(Refusal::Changed(_), found) if found.is_unknown_by_loss())
    }

    /// The intent belongs to another [service](crate::Intent::service) than the one that the client
    /// [calls](payments_core::Client::service), or that the person asked. Nothing was looked up, because a transaction there is not
    /// the intent's.
    pub fn is_other_service(&self) -> bool {
        matches!(self.0, Reason::OtherService { .. })
    }

    /// The transaction cannot be the intent's: it belongs to another intent, or its amount or card differs.
    pub fn is_contradicted(&self) -> bool {
        matches!(
            self.0,
            Reason::Contradicted(_) | Reason::Refused(Refusal::Taken { .. } | Refusal::SameTransaction(_), _)
        )
    }

    /// Why the transaction could not be looked up.
    pub fn look_up_error(&self) -> Option<&payments_core::LookupError> {
        let Reason::LookUp(error) = &self.0 else { return None };
        Some(error)
    }

    /// Its text, which does not say that nothing was changed, for a report about several keys.
    pub fn why(&self) -> String {
        match (&self.0, self.but()) {
            (Reason::Store(error), None) => error.why(),
            (reason, None) => reason.to_string(),
            (reason, Some(but)) => format!("{reason}; {but}"),
        }
    }

    /// What its text says instead of that nothing was changed.
    fn but(&self) -> Option<&'static str> {
        match &self.0 {
            Reason::Store(error) if error.is_in_doubt() => {
                Some("the resolution may have been written: look at the key before you resolve it again")
            }
            _ if self.became_unknown() => Some(
                "it may have been sent in a time whose entries the journal has lost: find out about that time too, then resolve \
                 it again",
            ),
            _ => None,
        }
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
        match (&self.0, self.but()) {
            (Reason::Store(error), None) => f.write_str(&error.and_nothing_changed()),
            (reason, but) => write!(f, "{reason}; {}", but.unwrap_or(NOTHING_CHANGED)),
        }
    }
}

/// What has happened to the intent since it had so many attempts.
fn changed(read_attempts: u32, found: &Intent) -> String {
    let begun = match found.attempts {
        attempts if attempts == read_attempts => String::new(),
        attempts => format!("it has begun attempt {attempts}, and "),
    };
    begun + &known(found)
}

fn refused(refusal: &Refusal, intent: &Intent) -> String {
    let Intent { key, attempts, state, .. } = intent;
    match refusal {
        // No person's word is refused for these.
        Refusal::NoSuchIntent | Refusal::OtherService | Refusal::AnotherRequest(_) => {
            format!("{key} is refused")
        }
        Refusal::NoSuchAttempt(number) => format!("the journal has no attempt {number} of {key}"),
        Refusal::EarlierAttempt(number) => format!(
            "attempt {number} of {key} is not the newest, which is {attempts}: an earlier attempt can only be resolved as \
             processed"
        ),
        Refusal::Known if *state == IntentState::Sending => {
            format!("{key} is being sent, and its outcome is not known yet")
        }
        Refusal::Known => format!("the outcome of {key} is known: {}", known(intent)),
        Refusal::NotRejected => {
            let such =
                if matches!(state, IntentState::Rejected(_)) { " with one of these statuses" } else { "" };
            format!("{key} was not rejected{such}: {}", known(intent))
        }
        Refusal::Reported(number) => {
            format!("attempt {number} of {key} is processed, as the service itself has reported")
        }
        Refusal::SameTransaction(number) => {
            format!("attempt {number} of {key} is already processed as this transaction")
        }
        Refusal::Taken { id, by } => {
            format!("transaction {} already belongs to {by}", id.as_str().escape_debug())
        }
        Refusal::TooLong => TooLong.to_string(),
        Refusal::Changed(read) => format!("{key} has changed since it was read: {}", changed(*read, intent)),
        Refusal::TooMany => format!(
            "{key} has as many notes as the journal keeps, and takes only a found transaction or a reopening without a note"
        ),
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
            Reason::LookUp(error) => error.source(),
            reason => reason.source(),
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
        let error = ResolveError::from(crate::store::only_read());
        assert_eq!(error.to_string(), "the journal was opened only to be read; nothing was changed");
    }
}
