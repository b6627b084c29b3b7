//! What a log says of an intent, behind the feature `tracing`. Every event has the key, under the target `payments`.
//!
//! A call whose key holds a secret is refused before any of these.

#![cfg_attr(not(feature = "tracing"), allow(unused_variables, reason = "nothing is logged then"))]

use std::future::Future;

use payments_model::TransactionId;
#[cfg(feature = "tracing")]
use tracing::{Instrument as _, error, error_span, warn};

use crate::{Applied, Ending, Failure, IntentKey, StoreError};

/// The future within the caller's span, and within one that has the key: events of the client, its observer and its transport
/// have both. The caller's span is entered by itself, because a filter that lets only other targets through disables `intent`.
pub(crate) fn in_span<F: Future>(key: &IntentKey, future: F) -> impl Future<Output = F::Output> + use<F> {
    #[cfg(feature = "tracing")]
    let future =
        future.instrument(error_span!(target: "payments", "intent", key = key.as_str())).in_current_span();
    future
}

/// The outcome is unknown from now on.
pub(crate) fn unknown(key: &IntentKey, failure: &Failure) {
    #[cfg(feature = "tracing")]
    error!(
        target: "payments",
        key = key.as_str(),
        kind = &*failure.kind,
        transaction_id = failure.transaction_id.as_ref().map(TransactionId::as_str),
        "outcome unknown: it may have been processed"
    );
}

/// It ended so, and the journal could not take that.
pub(crate) fn not_recorded(key: &IntentKey, ending: &Ending, error: &StoreError) {
    #[cfg(feature = "tracing")]
    {
        let (outcome, transaction_id) = match ending {
            Ending::Processed(id) => ("processed", Some(id)),
            Ending::Rejected(failure) => ("rejected", failure.transaction_id.as_ref()),
            Ending::NotProcessed(failure) => ("not_processed", failure.transaction_id.as_ref()),
            Ending::Unknown(failure) => ("unknown", failure.transaction_id.as_ref()),
        };
        error!(
            target: "payments",
            key = key.as_str(),
            outcome,
            transaction_id = transaction_id.map(TransactionId::as_str),
            error = %error,
            "the outcome could not be written to the journal"
        );
    }
}

/// Nobody waited any more when it could have been sent.
pub(crate) fn left_before_it_was_sent(key: &IntentKey) {
    #[cfg(feature = "tracing")]
    warn!(target: "payments", key = key.as_str(), "the caller left before it was sent: nothing was sent");
}

/// It was processed, and nobody waited any more.
pub(crate) fn processed_unheard(key: &IntentKey, transaction_id: &TransactionId) {
    #[cfg(feature = "tracing")]
    warn!(
        target: "payments",
        key = key.as_str(),
        transaction_id = transaction_id.as_str(),
        "processed after the caller left"
    );
}

/// The service gave the transaction of another intent to this one.
pub(crate) fn same_transaction(ended: &Applied) {
    #[cfg(feature = "tracing")]
    if let (Some(intent), Some(other)) = (&ended.written, &ended.same_transaction_as) {
        error!(
            target: "payments",
            key = intent.key.as_str(),
            other_key = other.as_str(),
            "two intents are processed as one transaction: compare them"
        );
    }
}

#[cfg(all(test, feature = "tracing"))]
mod tests {
    use tracing::{Span, info_span};
    use tracing_subscriber::filter::filter_fn;
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    /// Such as with `RUST_LOG=my_app=info`: the events of an observer of that program keep its span.
    #[test]
    fn the_callers_span_is_kept_where_a_filter_switches_the_target_payments_off() {
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
