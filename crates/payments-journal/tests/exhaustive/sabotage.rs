//! `decide` with one answer changed, as a defect would change it, and two defects of the client and the store. Each must be
//! found.

use payments_journal::{Failure, Intent, IntentState};

use crate::model::Protocol;
use crate::rows::{Asked, Attempt, Decide, How, Word, honest};
use crate::rules::Broken;

pub(crate) struct Sabotage {
    pub(crate) name: &'static str,
    pub(crate) decide: Decide,
    pub(crate) protocol: Protocol,
    /// The rule that it breaks first.
    pub(crate) breaks: Broken,
}

pub(crate) const ALL: [Sabotage; 14] = [
    of_decide("an end is accepted from another attempt", end_of_another_attempt, Broken::NotListed),
    of_decide("what is unknown is sent again", begin_over_unknown, Broken::SentTwice),
    of_decide("a plain call sends again what was rejected", begin_over_rejected, Broken::SentAfterRejection),
    of_decide("requests are not compared", begin_with_any_request, Broken::OtherRequest),
    of_decide("what has ended is given up", orphan_what_has_ended, Broken::Forgotten),
    of_decide("a crash counts as not processed", orphan_as_not_processed, Broken::NotListed),
    of_decide("a rejection is forgotten", end_forgets_the_rejection, Broken::SentAfterRejection),
    of_decide("a crash cannot be resolved", no_word_after_a_crash, Broken::NoWayOut),
    of_decide("a person overrides the service", word_over_processed, Broken::Forgotten),
    of_decide("a lost response counts as processed", unknown_as_processed, Broken::NotCharged),
    of_decide("a row does not say who resolved it", word_of_nobody, Broken::NobodySaidSo),
    of_decide("a word about one attempt counts for another", word_of_another_attempt, Broken::SaidOfAnother),
    of_protocol(
        "a request is sent before its row is durable",
        Protocol::SendsAfterALostReply,
        Broken::NotListed,
    ),
    of_protocol("a purge removes what is unknown", Protocol::PurgesWhatIsUnknown, Broken::Purged),
];

const fn of_decide(name: &'static str, decide: Decide, breaks: Broken) -> Sabotage {
    Sabotage { name, decide, protocol: Protocol::Honest, breaks }
}

const fn of_protocol(name: &'static str, protocol: Protocol, breaks: Broken) -> Sabotage {
    Sabotage { name, decide: honest, protocol, breaks }
}

/// The answer to a row that is as found but for its state.
fn as_if(state: IntentState, asked: Asked, found: Option<&Intent>) -> Option<Intent> {
    let mut found = found.cloned();
    if let Some(found) = &mut found {
        found.state = state;
    }
    honest(asked, found.as_ref())
}

fn not_processed() -> IntentState {
    IntentState::NotProcessed(Failure::of_kind("not_connected"))
}

fn end_of_another_attempt(asked: Asked, found: Option<&Intent>) -> Option<Intent> {
    match asked {
        Asked::End { how, .. } => honest(Asked::End { attempt: Attempt::Current, how }, found),
        _ => honest(asked, found),
    }
}

fn begin_over_unknown(asked: Asked, found: Option<&Intent>) -> Option<Intent> {
    match (asked, found.map(|row| &row.state)) {
        (Asked::Begin { .. }, Some(IntentState::Unknown(_))) => as_if(not_processed(), asked, found),
        _ => honest(asked, found),
    }
}

fn begin_over_rejected(asked: Asked, found: Option<&Intent>) -> Option<Intent> {
    match (asked, found.map(|row| &row.state)) {
        (Asked::Begin { .. }, Some(IntentState::Rejected(_))) => as_if(not_processed(), asked, found),
        _ => honest(asked, found),
    }
}

fn begin_with_any_request(asked: Asked, found: Option<&Intent>) -> Option<Intent> {
    match asked {
        Asked::Begin { is_after_rejection, .. } => {
            honest(Asked::Begin { is_after_rejection, is_same_request: true }, found)
        }
        _ => honest(asked, found),
    }
}

fn orphan_what_has_ended(asked: Asked, found: Option<&Intent>) -> Option<Intent> {
    match asked {
        Asked::Orphan { .. } => as_if(IntentState::Sending, asked, found),
        _ => honest(asked, found),
    }
}

fn orphan_as_not_processed(asked: Asked, found: Option<&Intent>) -> Option<Intent> {
    match asked {
        Asked::Orphan { attempt } => honest(Asked::End { attempt, how: How::NotProcessed }, found),
        _ => honest(asked, found),
    }
}

fn end_forgets_the_rejection(asked: Asked, found: Option<&Intent>) -> Option<Intent> {
    let mut found = found.cloned();
    if let Some(found) = &mut found {
        found.follows = None;
    }
    honest(asked, found.as_ref())
}

fn no_word_after_a_crash(asked: Asked, found: Option<&Intent>) -> Option<Intent> {
    let is_given_up = found.is_some_and(
        |found| matches!(&found.state, IntentState::Unknown(failure) if failure.kind == Failure::CRASH),
    );
    let is_word = matches!(asked, Asked::Resolve(_) | Asked::ResolveAttempt { .. });
    if is_given_up && is_word { None } else { honest(asked, found) }
}

fn word_over_processed(asked: Asked, found: Option<&Intent>) -> Option<Intent> {
    match (asked, found.map(|row| &row.state)) {
        (Asked::Resolve(Word::NotProcessed), Some(IntentState::Processed { .. })) => {
            as_if(IntentState::Unknown(Failure::of_kind("timeout")), asked, found)
        }
        _ => honest(asked, found),
    }
}

fn unknown_as_processed(asked: Asked, found: Option<&Intent>) -> Option<Intent> {
    match asked {
        Asked::End { attempt, how: How::Unknown } => {
            honest(Asked::End { attempt, how: How::Processed }, found)
        }
        _ => honest(asked, found),
    }
}

fn word_of_another_attempt(asked: Asked, found: Option<&Intent>) -> Option<Intent> {
    match asked {
        Asked::ResolveAttempt { word, .. } => {
            honest(Asked::ResolveAttempt { attempt: Attempt::Current, word }, found)
        }
        _ => honest(asked, found),
    }
}

fn word_of_nobody(asked: Asked, found: Option<&Intent>) -> Option<Intent> {
    let mut written = honest(asked, found);
    if let Some(Intent { state: IntentState::Resolved { resolution, .. }, .. }) = &mut written {
        resolution.by.clear();
    }
    written
}
