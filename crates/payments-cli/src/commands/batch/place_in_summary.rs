//! Where a row is counted: a function of the result of its charge.

use payments_core::Outcome;
use payments_journal::IntentState;
use payments_model::Amount;

use super::charge_result::ChargeResult;
use crate::report::batch::{KnownOutcome, Tallies};

/// The one place of a row in the summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Processed,
    /// With the HTTP status.
    Rejected(Option<u16>),
    NotProcessed,
    Unknown,
    /// The journal had this outcome and the next three.
    EarlierProcessed,
    EarlierRejected(Option<u16>),
    EarlierNotProcessed,
    EarlierUnknown,
    /// Another process is sending it.
    InProgress,
    /// The journal failed before the row was sent. An earlier run may have sent it.
    NotStarted,
}

impl Place {
    fn of(charged: &ChargeResult) -> Self {
        let error = match charged {
            Ok(journaled) if journaled.is_from_the_journal() => return Self::EarlierProcessed,
            Ok(_) => return Self::Processed,
            Err(error) => error,
        };
        if error.is_in_progress() {
            Self::InProgress
        } else if error.is_recorded() {
            match error.intent().map(|intent| &intent.state) {
                Some(IntentState::Rejected(failure)) => Self::EarlierRejected(failure.http_status),
                Some(IntentState::NotProcessed(_)) => Self::EarlierNotProcessed,
                _ => Self::EarlierUnknown,
            }
        } else if error.is_journal() {
            Self::NotStarted
        } else {
            let status = error.call_error().and_then(payments_core::Error::http_status);
            match error.outcome() {
                Outcome::NotProcessed => Self::NotProcessed,
                Outcome::Rejected => Self::Rejected(status.map(|status| status.as_u16())),
                Outcome::Unknown => Self::Unknown,
            }
        }
    }

    pub(super) fn count(self, amount: Amount, tallies: &mut Tallies) {
        let tally = match self {
            Self::Processed => &mut tallies.processed,
            Self::Rejected(status) => {
                tallies.rejected_by_status.add(status, amount);
                &mut tallies.rejected
            }
            Self::NotProcessed | Self::EarlierNotProcessed => &mut tallies.not_processed,
            Self::Unknown => &mut tallies.unknown,
            Self::EarlierProcessed => &mut tallies.earlier.processed,
            Self::EarlierRejected(status) => {
                tallies.rejected_by_status.add(status, amount);
                &mut tallies.earlier.rejected
            }
            Self::EarlierUnknown => &mut tallies.earlier.unknown,
            Self::InProgress => &mut tallies.in_progress,
            Self::NotStarted => return,
        };
        tally.add(amount);
    }

    /// Whether this run has the result, which belongs into the file of `--results`.
    pub(super) const fn is_of_this_run(self) -> bool {
        matches!(self, Self::Processed | Self::Rejected(_) | Self::NotProcessed | Self::Unknown)
    }

    const fn is_unknown(self) -> bool {
        matches!(self, Self::Unknown | Self::EarlierUnknown)
    }
}

/// What the summary says about the result of a row's charge.
#[derive(Debug)]
pub(super) struct InSummary<'a> {
    pub(super) place: Place,
    /// The outcome, if it is known and the journal could not record it.
    pub(super) unrecorded: Option<KnownOutcome>,
    /// Why a person must look at the row; `None` if nobody must.
    pub(super) unresolved_kind: Option<&'a str>,
    /// The message of a journal that failed before the row was sent, or afterwards.
    pub(super) journal_failure: Option<String>,
}

impl<'a> InSummary<'a> {
    pub(super) fn of(charged: &'a ChargeResult) -> Self {
        let place = Place::of(charged);
        let (not_recorded, known) = match charged {
            Ok(journaled) => (journaled.not_recorded.as_ref(), KnownOutcome::Processed),
            Err(error) if error.outcome() == Outcome::Rejected => {
                (error.not_recorded(), KnownOutcome::Rejected)
            }
            Err(error) => (error.not_recorded(), KnownOutcome::NotProcessed),
        };
        let unrecorded = not_recorded.map(|_| known).filter(|_| !place.is_unknown());
        let unresolved_kind = match charged {
            _ if unrecorded.is_some() => Some("not_recorded"),
            Err(error) if place.is_unknown() => Some(error.kind()),
            _ => None,
        };
        let journal_failure = match charged {
            Ok(_) => not_recorded.map(|error| format!("{error:#}")),
            Err(error) => match not_recorded.or_else(|| error.store_error()) {
                Some(store_error) => Some(format!("{store_error:#}")),
                None => error.is_journal().then(|| format!("{error:#}")),
            },
        };
        Self { place, unrecorded, unresolved_kind, journal_failure }
    }
}

#[cfg(test)]
mod tests {
    use payments_core::{TransportError, TransportErrorKind};
    use payments_fake::ScriptedTransport;

    use super::super::charge_result::tests::{DECLINED, PAID, charge_over, charge_twice};
    use super::*;

    #[tokio::test]
    async fn every_result_has_one_place() {
        let answer = |status, body| ScriptedTransport::new().respond_json(status, body);
        let lost = || ScriptedTransport::new().fail(TransportError::unknown(TransportErrorKind::Closed));
        let unreached =
            || ScriptedTransport::new().fail(TransportError::not_processed(TransportErrorKind::Connect));
        for (transport, first, kind) in [
            (answer(200, PAID), Place::Processed, None),
            (answer(400, DECLINED), Place::Rejected(Some(400)), None),
            (unreached(), Place::NotProcessed, None),
            (lost(), Place::Unknown, Some("closed")),
        ] {
            let charged = charge_over(transport).await;
            let InSummary { place, unrecorded, unresolved_kind, journal_failure } = InSummary::of(&charged);
            assert_eq!((place, unresolved_kind), (first, kind));
            assert!(first.is_of_this_run() && unrecorded.is_none() && journal_failure.is_none());
        }
        for (transport, again, kind) in [
            (answer(200, PAID), Place::EarlierProcessed, None),
            (answer(400, DECLINED), Place::EarlierRejected(Some(400)), None),
            (lost(), Place::EarlierUnknown, Some("closed")),
            (ScriptedTransport::new().hang(), Place::InProgress, None),
        ] {
            let charged = charge_twice(transport).await;
            let InSummary { place, unresolved_kind, .. } = InSummary::of(&charged);
            assert_eq!((place, unresolved_kind), (again, kind));
            assert!(!again.is_of_this_run());
        }
    }

    #[test]
    fn every_place_is_in_one_tally_or_not_started() {
        let amount = Amount::from_cents(1);
        for (place, not_started) in [
            (Place::Processed, 0),
            (Place::Rejected(None), 0),
            (Place::NotProcessed, 0),
            (Place::Unknown, 0),
            (Place::EarlierProcessed, 0),
            (Place::EarlierRejected(None), 0),
            (Place::EarlierNotProcessed, 0),
            (Place::EarlierUnknown, 0),
            (Place::InProgress, 0),
            (Place::NotStarted, 1),
        ] {
            let mut tallies = Tallies::default();
            tallies.total.add(amount);
            place.count(amount, &mut tallies);
            assert_eq!(tallies.not_started().count, not_started, "{place:?}");
        }
    }
}
