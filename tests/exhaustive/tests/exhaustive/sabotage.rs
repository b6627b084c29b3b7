//! `decide` with one changed decision, as by a bug, and bugs of the client and the store. The search must find each.

use payments_journal::{Failure, FailureKind, HistoryEvent, Intent, IntentState};

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
    of_decide("an end is accepted from another attempt", Broken::NotListed, |input, found| match input {
        Input::End { how, .. } => real_decide(Input::End { attempt: Attempt::Current, how }, found),
        _ => real_decide(input, found),
    }),
    of_decide("an unknown key is sent again", Broken::SentTwice, |input, found| {
        match (input, found.map(|row| &row.state)) {
            (Input::Begin { .. }, Some(IntentState::Unknown(_))) => as_if(not_processed(), input, found),
            _ => real_decide(input, found),
        }
    }),
    of_decide("a plain call sends a rejected key again", Broken::SentAfterRejection, |input, found| {
        match (input, found.map(|row| &row.state)) {
            (Input::Begin { .. }, Some(IntentState::Rejected(_))) => as_if(not_processed(), input, found),
            _ => real_decide(input, found),
        }
    }),
    of_decide("requests are not compared", Broken::OtherRequest, |input, found| match input {
        Input::Begin { is_after_rejection, .. } => {
            real_decide(Input::Begin { is_after_rejection, is_same_request: true }, found)
        }
        _ => real_decide(input, found),
    }),
    of_decide("an ended attempt is marked as a crash", Broken::Forgotten, |input, found| match input {
        Input::Orphan { .. } => as_if(IntentState::Sending, input, found),
        _ => real_decide(input, found),
    }),
    of_decide("a crash counts as not processed", Broken::NotListed, |input, found| match input {
        Input::Orphan { attempt } => real_decide(Input::End { attempt, how: How::NotProcessed }, found),
        _ => real_decide(input, found),
    }),
    of_decide("a rejection is forgotten", Broken::SentAfterRejection, |input, found| {
        let mut found = found.cloned();
        if let Some(found) = &mut found {
            found.follows = None;
        }
        real_decide(input, found.as_ref())
    }),
    of_decide("a crash cannot be resolved", Broken::Stuck, |input, found| {
        let is_crashed = found.is_some_and(
            |found| matches!(&found.state, IntentState::Unknown(failure) if failure.kind == FailureKind::CRASH),
        );
        let is_finding = matches!(input, Input::Resolve { .. });
        if is_crashed && is_finding { None } else { real_decide(input, found) }
    }),
    of_decide("a person overrides the service", Broken::Forgotten, |input, found| {
        match (input, found.map(|row| &row.state)) {
            (Input::Resolve { finding: Finding::NotProcessed, .. }, Some(IntentState::Processed { .. })) => {
                as_if(IntentState::Unknown(Failure::of_kind("timeout")), input, found)
            }
            _ => real_decide(input, found),
        }
    }),
    of_decide("a lost response counts as processed", Broken::NotCharged, |input, found| match input {
        Input::End { attempt, how: How::Unknown } => {
            real_decide(Input::End { attempt, how: How::Processed }, found)
        }
        _ => real_decide(input, found),
    }),
    of_decide("a row does not say who resolved it", Broken::NoResolver, |input, found| {
        let mut written = real_decide(input, found);
        if let Some(Intent { state: IntentState::Resolved { resolution, .. }, .. }) = &mut written {
            resolution.by.clear();
        }
        written
    }),
    of_decide("a resolution is written whatever was read", Broken::NotSeen, |input, found| match input {
        Input::Resolve { finding, .. } => real_decide(Input::of_fresh_read(finding), found),
        _ => real_decide(input, found),
    }),
    of_decide("a resolution is written to another revision", Broken::NotSeen, |input, found| match input {
        Input::Resolve { attempt, finding, .. } => {
            real_decide(Input::Resolve { attempt, is_same_revision: true, finding }, found)
        }
        _ => real_decide(input, found),
    }),
    of_decide("a resolution of one attempt counts for another", Broken::WrongAttempt, |input, found| {
        match input {
            Input::Resolve { is_same_revision, finding, .. } => {
                real_decide(Input::Resolve { attempt: Attempt::Current, is_same_revision, finding }, found)
            }
            _ => real_decide(input, found),
        }
    }),
    of_decide("a key that was found processed is sent again", Broken::SentAfterFound, |input, found| match (
        input,
        found.map(|row| &row.state),
    ) {
        (Input::Begin { .. }, Some(IntentState::Resolved { .. })) => {
            without_findings(found, |found| as_if(not_processed(), input, found))
        }
        _ => real_decide(input, found),
    }),
    of_decide(
        "a late finding is forgotten when the key ends",
        Broken::NotListed,
        |input, found| match input {
            Input::End { .. } => without_findings(found, |found| real_decide(input, found)),
            _ => real_decide(input, found),
        },
    ),
    of_decide("a late response to an earlier attempt is dropped", Broken::NotListed, |input, found| {
        match input {
            Input::End { attempt: Attempt::Other, .. } => None,
            _ => real_decide(input, found),
        }
    }),
    of_protocol(
        "a request is sent before its row is durable",
        Protocol::SendsAfterALostReply,
        Broken::NotListed,
    ),
    of_protocol("a purge removes an unknown key", Protocol::PurgesUnknown, Broken::Purged),
];

const fn of_decide(name: &'static str, breaks: Broken, decide: Decide) -> Sabotage {
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
