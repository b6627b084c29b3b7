//! Log events of an intent, with the feature `tracing`. Every event has the key and the target `payments`.
//!
//! A call whose key contains a secret is refused before any of these, in a span with another key.

#![cfg_attr(not(feature = "tracing"), allow(unused_variables, reason = "nothing is logged then"))]

use std::future::Future;
#[cfg(feature = "tracing")]
use std::panic::{AssertUnwindSafe, catch_unwind};

#[cfg(any(feature = "tokio", feature = "tracing"))]
use payments_model::TransactionId;
#[cfg(feature = "tracing")]
use tracing::{Instrument as _, error_span};

use crate::{Applied, Ending, Failure, Intent, IntentKey, StoreError};

/// Runs the future in the caller's span and in a span with the key, so events of the client, its observer and its transport
/// have both. The caller's span is entered separately, because a filter for other targets disables `intent`.
pub(crate) fn in_span<F: Future>(key: &IntentKey, future: F) -> impl Future<Output = F::Output> + use<F> {
    #[cfg(feature = "tracing")]
    let future =
        future.instrument(error_span!(target: "payments", "intent", key = key.as_str())).in_current_span();
    future
}

/// An event of the journal. A panic of the subscriber must not lose the outcome of a payment.
macro_rules! log {
    ($level:ident, $($event:tt)*) => {
        #[cfg(feature = "tracing")]
        let _ = catch_unwind(AssertUnwindSafe(|| tracing::$level!(target: "payments", $($event)*)));
    };
}

/// The outcome is unknown from now on.
pub(crate) fn unknown(key: &IntentKey, failure: &Failure) {
    log!(
        error,
        key = key.as_str(),
        kind = failure.kind.as_str(),
        transaction_id = failure.transaction_id.as_ref().map(TransactionId::as_str),
        "outcome unknown: it may have been processed"
    );
}

/// The journal could not write this end.
pub(crate) fn not_recorded(key: &IntentKey, ending: &Ending, error: &StoreError) {
    let (outcome, transaction_id) = match ending {
        Ending::Processed(id) => ("processed", Some(id)),
        Ending::Rejected(failure) => ("rejected", failure.transaction_id.as_ref()),
        Ending::NotProcessed(failure) => ("not_processed", failure.transaction_id.as_ref()),
        Ending::Unknown(failure) => ("unknown", failure.transaction_id.as_ref()),
    };
    log!(
        error,
        key = key.as_str(),
        outcome,
        transaction_id = transaction_id.map(TransactionId::as_str),
        error = %error,
        "the outcome could not be written to the journal"
    );
}

/// The caller left before the request was sent.
pub(crate) fn caller_left_before_send(key: &IntentKey) {
    log!(warn, key = key.as_str(), "the caller left before it was sent: nothing was sent");
}

/// It was processed after the caller left.
#[cfg(feature = "tokio")]
pub(crate) fn processed_after_caller_left(key: &IntentKey, transaction_id: &TransactionId) {
    let transaction_id = transaction_id.as_str();
    log!(warn, key = key.as_str(), transaction_id, "processed after the caller left");
}

/// Whether the service returned the transaction of another intent for the one whose end was written.
pub(crate) fn same_transaction(ended: &Applied) {
    if let Applied::Written { row, same_transaction_as: Some(other) } = ended {
        let (key, other_key) = (row.key.as_str(), other.as_str());
        log!(error, key, other_key, "two intents are processed as one transaction: compare them");
    }
}

/// Whether several attempts with the key of this row may have been charged.
pub(crate) fn second_charges(row: &Intent) {
    for other in row.second_charges() {
        let (key, transaction_id) = (row.key.as_str(), other.as_str());
        log!(error, key, transaction_id, "possible second charge: an earlier attempt was processed too");
    }
}

/// The server was promoted, and the caller has said in advance that nothing can be lost then.
#[cfg(feature = "postgres")]
pub(crate) fn new_timeline(accepted: &str, now: Option<&str>) {
    log!(warn, accepted, now, "the journal's database has a new timeline, which was accepted");
}

#[cfg(feature = "postgres")]
pub(crate) fn timeline_not_observed() {
    log!(
        warn,
        "not observed: this user may not ask for the timeline of the journal's database, so a failover that loses entries is \
         not noticed"
    );
}

/// The user who created the journal could not ask for it.
#[cfg(feature = "postgres")]
pub(crate) fn timeline_not_recorded() {
    log!(
        warn,
        "not observed: this user may not record the timeline and the identifier of the journal's database, which the journal does \
         not know, so a failover or a restored dump that loses entries may not be noticed: GRANT UPDATE (timeline) ON \
         payments_journal.meta to it"
    );
}

#[cfg(all(test, feature = "tracing"))]
mod tests {
    use tracing::{Span, info_span};
    use tracing_subscriber::filter::filter_fn;
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    /// For example with `RUST_LOG=my_app=info`: the events of that program's observer keep its span.
    #[test]
    fn caller_span_is_kept_if_a_filter_disables_the_target_payments() {
        let key = IntentKey::new("invoice-17").unwrap();
        let subscriber =
            tracing_subscriber::registry().with(filter_fn(|metadata| metadata.target() != "payments"));
        tracing::subscriber::with_default(subscriber, || {
            let inside = async { Span::current().metadata().map(tracing::Metadata::name) };
            let future = info_span!("order").in_scope(|| in_span(&key, inside));
            assert_eq!(payments_fake::block_on(future), Some("order"));
        });
    }
}
