//! `decide` with one changed decision, as by a bug, and bugs of the client and the store. The search must find each.

use payments_journal::{Failure, HistoryEvent, Intent, IntentState};

use crate::model::Protocol;
use crate::rows::{Attempt, Decide, Finding, How, Input, real_decide};
use crate::rules::Broken;

pub(crate) struct Sabotage {
    pub(crate) name: &'static str,
    pub(crate) decide: Decide,
    pub(crate) protocol: Protocol,
    /// The rule that it breaks first.
    pub(crate) breaks: Broken,
}

pub(crate) const ALL: [Sabotage; 19] = [
    of_decide("an end is accepted from another attempt", end_of_another_attempt, Broken::NotListed),
    of_decide("an unknown key is sent again", begin_over_unknown, Broken::SentTwice),
    of_decide("a plain call sends a rejected key again", begin_over_rejected, Broken::SentAfterRejection),
    of_decide("requests are not compared", begin_with_any_request, Broken::OtherRequest),
    of_decide("an ended attempt is marked as a crash", orphan_what_has_ended, Broken::Forgotten),
    of_decide("a crash counts as not processed", orphan_as_not_processed, Broken::NotListed),
    of_decide("a rejection is forgotten", end_forgets_the_rejection, Broken::SentAfterRejection),
    of_decide("a crash cannot be resolved", no_finding_after_a_crash, Broken::Stuck),
    of_decide("a person overrides the service", finding_over_processed, Broken::Forgotten),
    of_decide("a lost response counts as processed", unknown_as_processed, Broken::NotCharged),
    of_decide("a row does not say who resolved it", finding_without_a_name, Broken::NoResolver),
    of_decide("a resolution is written whatever was read", finding_by_key, Broken::NotSeen),
    of_decide("a resolution is written to another revision", finding_of_another_revision, Broken::NotSeen),
    of_decide(
        "a resolution of one attempt counts for another",
        finding_of_another_attempt,
        Broken::WrongAttempt,
    ),
    of_decide("a key that was found processed is sent again", begin_over_found, Broken::SentAfterFound),
    of_decide("a late finding is forgotten when the key ends", end_forgets_the_finding, Broken::NotListed),
    of_decide(
        "a late response to an earlier attempt is dropped",
        end_of_earlier_is_dropped,
        Broken::NotListed,
    ),
    of_protocol(
        "a request is sent before its row is durable",
        Protocol::SendsAfterALostReply,
        Broken::NotListed,
    ),
    of_protocol("a purge removes an unknown key", Protocol::PurgesUnknown, Broken::Purged),
];

const fn of_decide(name: &'static str, decide: Decide, breaks: Broken) -> Sabotage {
    Sabotage { name, decide, protocol: Protocol::Correct, breaks }
}

const fn of_protocol(name: &'static str, protocol: Protocol, breaks: Broken) -> Sabotage {
    Sabotage { name, decide: real_decide, protocol, breaks }
}

/// Decides as if the row had this state.
fn as_if(state: IntentState, input: Input, found: Option<&Intent>) -> Option<Intent> {
    let mut found = found.cloned();
    if let Some(found) = &mut found {
        (found.events, found.state) = (found.history().into_owned(), state);
    }
    real_decide(input, found.as_ref())
}

fn not_processed() -> IntentState {
    IntentState::NotProcessed(Failure::of_kind("not_connected"))
}

fn end_of_another_attempt(input: Input, found: Option<&Intent>) -> Option<Intent> {
    match input {
        Input::End { how, .. } => real_decide(Input::End { attempt: Attempt::Current, how }, found),
        _ => real_decide(input, found),
    }
}

fn begin_over_unknown(input: Input, found: Option<&Intent>) -> Option<Intent> {
    match (input, found.map(|row| &row.state)) {
        (Input::Begin { .. }, Some(IntentState::Unknown(_))) => as_if(not_processed(), input, found),
        _ => real_decide(input, found),
    }
}

fn begin_over_rejected(input: Input, found: Option<&Intent>) -> Option<Intent> {
    match (input, found.map(|row| &row.state)) {
        (Input::Begin { .. }, Some(IntentState::Rejected(_))) => as_if(not_processed(), input, found),
        _ => real_decide(input, found),
    }
}

fn begin_with_any_request(input: Input, found: Option<&Intent>) -> Option<Intent> {
    match input {
        Input::Begin { is_after_rejection, .. } => {
            real_decide(Input::Begin { is_after_rejection, is_same_request: true }, found)
        }
        _ => real_decide(input, found),
    }
}

fn orphan_what_has_ended(input: Input, found: Option<&Intent>) -> Option<Intent> {
    match input {
        Input::Orphan { .. } => as_if(IntentState::Sending, input, found),
        _ => real_decide(input, found),
    }
}

fn orphan_as_not_processed(input: Input, found: Option<&Intent>) -> Option<Intent> {
    match input {
        Input::Orphan { attempt } => real_decide(Input::End { attempt, how: How::NotProcessed }, found),
        _ => real_decide(input, found),
    }
}

fn end_forgets_the_rejection(input: Input, found: Option<&Intent>) -> Option<Intent> {
    let mut found = found.cloned();
    if let Some(found) = &mut found {
        found.follows = None;
    }
    real_decide(input, found.as_ref())
}

fn no_finding_after_a_crash(input: Input, found: Option<&Intent>) -> Option<Intent> {
    let is_crashed = found.is_some_and(
        |found| matches!(&found.state, IntentState::Unknown(failure) if failure.kind == Failure::CRASH),
    );
    let is_finding = matches!(input, Input::Resolve { .. });
    if is_crashed && is_finding { None } else { real_decide(input, found) }
}

fn finding_over_processed(input: Input, found: Option<&Intent>) -> Option<Intent> {
    match (input, found.map(|row| &row.state)) {
        (Input::Resolve { finding: Finding::NotProcessed, .. }, Some(IntentState::Processed { .. })) => {
            as_if(IntentState::Unknown(Failure::of_kind("timeout")), input, found)
        }
        _ => real_decide(input, found),
    }
}

fn unknown_as_processed(input: Input, found: Option<&Intent>) -> Option<Intent> {
    match input {
        Input::End { attempt, how: How::Unknown } => {
            real_decide(Input::End { attempt, how: How::Processed }, found)
        }
        _ => real_decide(input, found),
    }
}

fn finding_by_key(input: Input, found: Option<&Intent>) -> Option<Intent> {
    match input {
        Input::Resolve { finding, .. } => real_decide(Input::of_fresh_read(finding), found),
        _ => real_decide(input, found),
    }
}

fn finding_of_another_revision(input: Input, found: Option<&Intent>) -> Option<Intent> {
    match input {
        Input::Resolve { attempt, finding, .. } => {
            real_decide(Input::Resolve { attempt, is_same_revision: true, finding }, found)
        }
        _ => real_decide(input, found),
    }
}

fn finding_of_another_attempt(input: Input, found: Option<&Intent>) -> Option<Intent> {
    match input {
        Input::Resolve { is_same_revision, finding, .. } => {
            real_decide(Input::Resolve { attempt: Attempt::Current, is_same_revision, finding }, found)
        }
        _ => real_decide(input, found),
    }
}

fn begin_over_found(input: Input, found: Option<&Intent>) -> Option<Intent> {
    match (input, found.map(|row| &row.state)) {
        (Input::Begin { .. }, Some(IntentState::Resolved { .. })) => {
            without_findings(found, |found| as_if(not_processed(), input, found))
        }
        _ => real_decide(input, found),
    }
}

fn end_forgets_the_finding(input: Input, found: Option<&Intent>) -> Option<Intent> {
    match input {
        Input::End { .. } => without_findings(found, |found| real_decide(input, found)),
        _ => real_decide(input, found),
    }
}

fn end_of_earlier_is_dropped(input: Input, found: Option<&Intent>) -> Option<Intent> {
    match input {
        Input::End { attempt: Attempt::Other, .. } => None,
        _ => real_decide(input, found),
    }
}

/// Decides as if nobody had found anything, and keeps what they said.
fn without_findings(
    found: Option<&Intent>,
    decide: impl Fn(Option<&Intent>) -> Option<Intent>,
) -> Option<Intent> {
    let mut forgotten = found.cloned()?;
    let kept = forgotten.history().into_owned();
    forgotten.events.clone_from(&kept);
    forgotten.events.retain(|event| !matches!(event, HistoryEvent::Resolved(_)));
    let known = forgotten.events.len();
    let mut written = decide(Some(&forgotten))?;
    written.events = kept.into_iter().chain(written.history()[known..].iter().cloned()).collect();
    Some(written)
}

fn finding_without_a_name(input: Input, found: Option<&Intent>) -> Option<Intent> {
    let mut written = real_decide(input, found);
    if let Some(Intent { state: IntentState::Resolved { resolution, .. }, .. }) = &mut written {
        resolution.by.clear();
    }
    written
}
