//! What a person may do with all intents of one service. The rules are here; a store makes the change in one transaction.

use std::error::Error;
use std::fmt;
use std::time::SystemTime;

use payments_core::{ApiKey, Endpoint};
use payments_model::mask;

use crate::milliseconds;
use crate::resolving::TooLong;
use crate::summary::{Summary, Tally};
use crate::{HistoryEvent, Intent, IntentKey, StateName, StoreError};

/// The intents of one service, as a person has seen them: counts and sums to decide about, and to give back.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServiceIntents {
    /// The [service](Intent::service), with the merchant's label if it has one.
    pub service: String,
    /// Its intents.
    pub intents: Summary,
}

/// One change of every intent of a service.
#[derive(Clone, Debug)]
pub struct ServiceChange {
    read: ServiceIntents,
    to: Option<String>,
    by: String,
    at: SystemTime,
}

impl ServiceChange {
    /// This person renames the service of these intents, or forgets them if there is no new name.
    pub fn new(read: &ServiceIntents, to: Option<&str>, by: &str, at: SystemTime) -> Self {
        let (to, by) = (to.map(str::to_owned), mask(by, &[]).into_owned());
        Self { read: read.clone(), to, by, at: milliseconds::rounded(at) }
    }

    /// The service whose intents it changes.
    pub fn service(&self) -> &str {
        &self.read.service
    }

    /// The new name; `None` if the intents are forgotten.
    pub fn new_name(&self) -> Option<&str> {
        self.to.as_deref()
    }

    /// The person.
    pub fn by(&self) -> &str {
        &self.by
    }

    /// The number of intents that it changes.
    pub fn count(&self) -> u64 {
        self.read.intents.count()
    }

    /// What is done, for the journal's own record.
    pub fn done(&self) -> String {
        let service = self.service();
        match self.new_name() {
            Some(to) => format!("renamed {service} to {to}"),
            None => format!("forgot {service}"),
        }
    }

    /// Why it is refused, if these are the intents of the service now.
    pub fn refusal(&self, now: Vec<Tally>) -> Option<ServiceError> {
        let intents = Summary::of(now, |_| false);
        let count = |state| intents.state(state).count;
        let (sending, unknown) = (count(StateName::Sending), count(StateName::Unknown));
        let reason = if sending > 0 {
            Reason::InFlight(sending)
        } else if intents != self.read.intents {
            Reason::Changed(ServiceIntents { service: self.service().to_owned(), intents })
        } else if unknown > 0 && self.to.is_none() {
            Reason::Unknown(unknown)
        } else {
            return None;
        };
        Some(ServiceError(reason))
    }

    /// The intent with its service renamed.
    pub fn renamed(&self, found: &Intent) -> Intent {
        let (at, by, service) = (self.at, self.by.clone(), self.service().to_owned());
        let event = HistoryEvent::Renamed { at, by, service, intents: self.count() };
        let mut renamed = Intent { events: found.followed_by(Some(event)), ..found.clone() };
        renamed.service = self.to.clone().or(renamed.service);
        renamed.changed_at = self.at;
        renamed.revision += 1;
        renamed.with_short_history()
    }

    /// Refused, because these intents hold a transaction that an intent of the new service holds too.
    pub fn same_transactions(keys: impl IntoIterator<Item = String>) -> Option<ServiceError> {
        let keys: Vec<_> = keys.into_iter().map(IntentKey::from_kept).collect();
        (!keys.is_empty()).then(|| ServiceError(Reason::SameTransactions(keys)))
    }
}

/// How many of the keys with a common transaction are named.
pub(crate) const NAMED: u32 = 10;

/// Why the intents of a service were not renamed or forgotten. Nothing was changed, with one exception: if
/// [`store_error`](Self::store_error) [is in doubt](StoreError::is_in_doubt), it may have been done.
#[derive(Debug)]
pub struct ServiceError(Reason);

#[derive(Debug, thiserror::Error)]
enum Reason {
    #[error(transparent)]
    Store(StoreError),
    #[error("the journal has no intent of the service {0}: write it as `journal list` prints it")]
    None(String),
    #[error(transparent)]
    TooLong(TooLong),
    #[error("{0}")]
    Name(String),
    #[error(
        "a living process is sending {0} of the intents of this service, and money may move: wait until it ends"
    )]
    InFlight(u64),
    #[error(
        "the service {} has {} intents now, and others than those that were seen: look at them and decide again",
        .0.service,
        .0.intents.count()
    )]
    Changed(ServiceIntents),
    #[error(
        "the outcome of {0} of the intents of this service is unknown, and forgetting them would lose a possible charge: \
         resolve them first"
    )]
    Unknown(u64),
    #[error(
        "intents of both services have the same transaction, so they are not one service, or a payment was recorded twice: \
         compare {}",
        .0.iter().map(IntentKey::as_str).collect::<Vec<_>>().join(", ")
    )]
    SameTransactions(Vec<IntentKey>),
}

impl ServiceError {
    /// The intents of the service as they are now, if they are not those that the person has seen. Let the person decide again.
    pub fn changed(&self) -> Option<&ServiceIntents> {
        let Reason::Changed(now) = &self.0 else { return None };
        Some(now)
    }

    /// A living process is sending some of them. Wait until it has ended.
    pub fn is_in_flight(&self) -> bool {
        matches!(self.0, Reason::InFlight(_))
    }

    /// The outcome of some of them is unknown, so forgetting them would lose a possible charge. Resolve them first.
    pub fn is_unknown(&self) -> bool {
        matches!(self.0, Reason::Unknown(_))
    }

    /// Keys of the service whose transaction an intent of the new one has too, at most ten. So the two are not one service.
    pub fn same_transactions(&self) -> &[IntentKey] {
        let Reason::SameTransactions(keys) = &self.0 else { return &[] };
        keys
    }

    /// Why the journal could not be read or written.
    pub fn store_error(&self) -> Option<&StoreError> {
        let Reason::Store(error) = &self.0 else { return None };
        Some(error)
    }

    /// No intent has this service.
    pub(crate) fn none(service: &str) -> Self {
        Self(Reason::None(mask(service, &[]).into_owned()))
    }

    /// [`check_name`] refuses the new name.
    pub(crate) fn name(why: String) -> Self {
        Self(Reason::Name(why))
    }
}

impl From<StoreError> for ServiceError {
    fn from(error: StoreError) -> Self {
        Self(Reason::Store(error))
    }
}

impl From<TooLong> for ServiceError {
    fn from(error: TooLong) -> Self {
        Self(Reason::TooLong(error))
    }
}

impl fmt::Display for ServiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Reason::Store(error) if error.is_in_doubt() => write!(
                f,
                "{error}; it may have been done: list the intents of the service before you repeat it"
            ),
            Reason::Store(error) => f.write_str(&error.and_nothing_changed()),
            reason => write!(f, "{reason}; nothing was sent and nothing was changed"),
        }
    }
}

impl Error for ServiceError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}

/// Refuses a name that no client has: its intents would never be sent again, and no call would be told their outcome. The error calls
/// it `what`.
pub(crate) fn check_name(what: &str, name: &str) -> Result<(), String> {
    let refused = |rule| Err(format!("{what} {rule}"));
    // Too short to be looked for in the name.
    let placeholder = || ApiKey::new("any");
    let (address, label) =
        name.split_once('#').map_or((name, None), |(address, label)| (address, Some(label)));
    let Ok(endpoint) = placeholder().and_then(|key| Endpoint::new(address, key)) else {
        return refused(
            "must be a base URL such as https://pay.example.com/api/v1/public, with #label for a merchant",
        );
    };
    let labeled = label.map(|label| placeholder().and_then(|key| endpoint.for_merchant(label, key)));
    let Ok(endpoint) = labeled.unwrap_or(Ok(endpoint)) else {
        return refused("has a merchant's label that is not 1 to 64 ASCII letters, digits and - . _");
    };
    let right = endpoint.service();
    if right == name { Ok(()) } else { Err(format!("no client would call {what}: write it as {right}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_says_once_that_nothing_was_changed() {
        for (error, text) in [
            (
                crate::store::closed(),
                "the journal was closed by this program; nothing was changed: open it again",
            ),
            (StoreError::unavailable("the disk is full"), "the disk is full; nothing was changed"),
        ] {
            assert_eq!(ServiceError::from(error).to_string(), text);
        }
    }
}
