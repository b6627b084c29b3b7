//! What the tests of `Change::decide` share: the changes of one key, whose row each test holds itself.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use payments_core::model::{Amount, ConvenienceFee, TokenTransaction, TransactionId};
use payments_journal::internals::{Begin, Change, Ending, NewAttempt};
use payments_journal::{AttemptId, Failure, Intent, IntentKey, IntentRequest, OwnerId, Resolution};

pub(crate) const SERVICE: &str = "https://pay.example.com";

pub(crate) fn at(second: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(second)
}

pub(crate) fn key() -> IntentKey {
    IntentKey::new("k").unwrap()
}

pub(crate) fn id(text: &str) -> TransactionId {
    TransactionId::new(text).unwrap()
}

pub(crate) fn attempt(name: &str) -> AttemptId {
    AttemptId::from_kept(name)
}

pub(crate) fn owner() -> OwnerId {
    OwnerId::from_kept("owner")
}

pub(crate) fn request(cents: i64) -> IntentRequest {
    let amount = Amount::from_cents(cents);
    (&TokenTransaction::builder("tok_1", amount, ConvenienceFee::Inactive).build().unwrap()).into()
}

pub(crate) fn begin_as(begin: Begin, name: &str, request: IntentRequest, second: u64) -> Change {
    begin_at(SERVICE, begin, name, request, second)
}

pub(crate) fn begin_at(
    service: &str,
    begin: Begin,
    name: &str,
    request: IntentRequest,
    second: u64,
) -> Change {
    Change::begin(
        key(),
        NewAttempt { begin, service: service.to_owned(), request, attempt_id: attempt(name), owner: owner() },
        at(second),
    )
}

pub(crate) fn end(name: &str, ending: Ending, second: u64) -> Change {
    Change::end(key(), attempt(name), ending, at(second))
}

/// Marks this attempt as one whose process died.
pub(crate) fn crashed(name: &str, second: u64) -> Change {
    Change::orphan(key(), attempt(name), at(second))
}

/// A person resolves the row that they have just read.
pub(crate) fn resolve_at(read: &Intent, resolution: Resolution, second: u64) -> Option<Intent> {
    Change::resolve(read, resolution, at(second)).decide(Some(read)).ok()
}

pub(crate) fn refused(status: u16) -> Failure {
    let mut failure = Failure::of_kind("rejected");
    failure.http_status = Some(status);
    failure
}

pub(crate) fn timeout() -> Failure {
    Failure::of_kind("timeout")
}

pub(crate) fn processed(text: &str) -> Ending {
    Ending::Processed(id(text))
}

pub(crate) fn rejected(status: u16) -> Ending {
    Ending::Rejected(refused(status))
}

pub(crate) fn not_processed() -> Ending {
    Ending::NotProcessed(Failure::of_kind("connect"))
}

pub(crate) fn unknown() -> Ending {
    Ending::Unknown(timeout())
}

/// A person has found it.
pub(crate) fn paid_as(text: &str) -> Resolution {
    Resolution::processed(id(text), "ada")
}

/// A person has found no payment.
pub(crate) fn none_found() -> Resolution {
    Resolution::not_processed("ada")
}
