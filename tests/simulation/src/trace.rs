use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use payments_core::OperationName;
use payments_fake::Phase;

use crate::{Cause, Ending};

/// Everything that happened in one world, in order, and a digest of it. Two runs with the same seed have the same digest.
#[derive(Default)]
pub(crate) struct Trace {
    lines: Vec<Line>,
    digest: DefaultHasher,
}

/// One event.
#[derive(Clone, Hash)]
struct Line {
    at: Duration,
    /// The call that it happened to, or `None` if it concerns the whole world.
    call: Option<usize>,
    event: Event,
}

/// An event that can happen.
#[derive(Clone, Hash)]
pub(crate) enum Event {
    // To a call.
    Called { operation: OperationName, intent: usize, what: &'static str, total: Duration, plan: Cause },
    AttemptStarted(u32),
    Sending,
    DeliveryDelayed(Duration),
    Received,
    FaultFired(Cause),
    Held(Phase),
    Reported { what: &'static str, status: u16 },
    TransportDropped,
    AttemptFinished(&'static str),
    AttemptAbandoned,
    Ended { ending: Ending, kind: &'static str },
    Resent,
    // To its intent, in the ledger.
    Charged { cents: i64 },
    Declined,
    Voided,
    // To the world.
    Armed(String),
    GateClosed(OperationName, Phase),
    GateReleased(OperationName),
    DeliveredLate(usize),
    Jumped(Duration),
}

impl Trace {
    pub(crate) fn note(&mut self, at: Duration, call: Option<usize>, event: Event) {
        let line = Line { at, call, event };
        line.hash(&mut self.digest);
        self.lines.push(line);
    }

    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    pub(crate) fn digest(&self) -> u64 {
        self.digest.finish()
    }

    /// The events of these calls, and of the world between the first and the last of them.
    pub(crate) fn lines_about(&self, calls: &[usize]) -> Vec<String> {
        let is_theirs = |line: &Line| line.call.is_some_and(|call| calls.contains(&call));
        let first = self.lines.iter().position(is_theirs).unwrap_or(self.lines.len());
        let last = self.lines.iter().rposition(is_theirs).map_or(first, |last| last + 1);
        let lines = self.lines[first..last].iter().filter(|line| line.call.is_none() || is_theirs(line));
        lines.map(ToString::to_string).collect()
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, call, event } = self;
        write!(f, "{:>12.3} s  ", at.as_secs_f64())?;
        match call {
            Some(call) => write!(f, "call {call}: {event}"),
            None => write!(f, "world: {event}"),
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Called { operation, intent, what, total, plan } => {
                write!(
                    f,
                    "call for intent {intent}: {operation}, {what}, deadline {total:?}, planned fault: {plan:?}"
                )
            }
            Self::AttemptStarted(attempt) => write!(f, "the observer sees attempt {attempt} start"),
            Self::Sending => f.write_str("the transport receives the request"),
            Self::DeliveryDelayed(by) => {
                write!(f, "the request will reach the service in {by:?}, even if the caller has gone")
            }
            Self::Received => f.write_str("the service receives the whole request"),
            Self::FaultFired(cause) => write!(f, "the service's fault fires: {cause:?}"),
            Self::Held(moment) => write!(f, "a gate holds the request, {moment:?}"),
            Self::Reported { what, status: 0 } => write!(f, "the transport reports: {what}"),
            Self::Reported { what, status } => write!(f, "the transport reports: {what}, HTTP {status}"),
            Self::TransportDropped => f.write_str("the transport's future is dropped before it reports"),
            Self::AttemptFinished(how) => write!(f, "the observer sees the attempt end: {how}"),
            Self::AttemptAbandoned => f.write_str("the observer sees the attempt abandoned"),
            Self::Ended { ending, kind: "" } => write!(f, "the call ends: {ending}"),
            Self::Ended { ending, kind } => write!(f, "the call ends: {ending} ({kind})"),
            Self::Resent => f.write_str("the caller will send it again, because it was not processed"),
            Self::Charged { cents } => write!(f, "LEDGER: charged, {}.{:02}", cents / 100, cents % 100),
            Self::Declined => f.write_str("LEDGER: declined"),
            Self::Voided => f.write_str("LEDGER: voided"),
            Self::Armed(fault) => write!(f, "armed {fault}"),
            Self::GateClosed(operation, moment) => write!(f, "a gate closes on {operation}, {moment:?}"),
            Self::GateReleased(operation) => write!(f, "the gate on {operation} opens"),
            Self::DeliveredLate(count) => write!(f, "{count} late requests are committed"),
            Self::Jumped(by) => write!(f, "the clock jumps by {by:?}"),
        }
    }
}
