use std::num::NonZeroUsize;
use std::time::Duration;

use http::StatusCode;
use payments_core::OperationName;
use payments_fake::{FaultKind, Phase};

use crate::{CallResult, Effect, ResponseBody, StatusRow, status_row};

/// The expected result and effect of faults that do not depend on an HTTP status.
#[derive(Debug)]
#[non_exhaustive]
pub struct FaultRow {
    /// The decision for a payment or a void. For a lookup it is decision 12.
    pub decision: u8,
    /// Faults that look the same to the caller. A kind with a size has one entry for each relevant position.
    pub kinds: &'static [FaultKind],
    /// The phases.
    pub phases: &'static [Phase],
    /// The result of a payment or a void.
    pub payment: CallResult,
    /// The result of a lookup.
    pub lookup: CallResult,
    /// The effect of a payment or a void, or `None` if the phase decides it.
    pub effect: Option<Effect>,
}

/// Every fault without a status in every phase, each in exactly one row.
pub const FAULT_TABLE: &[FaultRow] = &[
    FaultRow {
        decision: 2,
        kinds: &[FaultKind::Refuse],
        phases: &PHASES,
        payment: CallResult::NOT_PROCESSED,
        lookup: CallResult::NOT_PROCESSED,
        effect: Some(Effect::Never),
    },
    FaultRow {
        decision: 3,
        kinds: &[FaultKind::Close, FaultKind::Reset, FaultKind::Stall, FaultKind::Garbage],
        phases: &PHASES,
        payment: CallResult::UNKNOWN,
        lookup: CallResult::NOT_PROCESSED,
        effect: None,
    },
    FaultRow {
        decision: 5,
        kinds: &[DELAY],
        phases: &[Phase::BeforeCommit, Phase::AfterCommit],
        payment: CallResult::PROCESSED,
        lookup: CallResult::PROCESSED,
        effect: Some(Effect::Immediate),
    },
    FaultRow {
        decision: 3,
        kinds: &[DELAY],
        phases: &[Phase::Late],
        payment: CallResult::UNKNOWN,
        lookup: CallResult::NOT_PROCESSED,
        effect: None,
    },
    FaultRow {
        decision: 5,
        kinds: &[DRIP],
        phases: &[Phase::AfterCommit],
        payment: CallResult::PROCESSED,
        lookup: CallResult::PROCESSED,
        effect: None,
    },
    FaultRow {
        decision: 8,
        kinds: &[DRIP],
        phases: &[Phase::BeforeCommit, Phase::Late],
        payment: CallResult::UNKNOWN,
        lookup: CallResult::NOT_PROCESSED,
        effect: None,
    },
    FaultRow {
        decision: 8,
        kinds: &[FaultKind::Truncate { bytes: 0 }, FaultKind::Truncate { bytes: 70 }, ALL_BUT_LAST_BYTE],
        phases: &PHASES,
        payment: CallResult::UNKNOWN,
        lookup: CallResult::NOT_PROCESSED,
        effect: None,
    },
    FaultRow {
        decision: 7,
        kinds: &[FaultKind::WrongShape],
        phases: &PHASES,
        payment: CallResult::UNKNOWN,
        lookup: CallResult::NOT_PROCESSED,
        effect: None,
    },
];

/// Every phase.
pub const PHASES: [Phase; 3] = [Phase::BeforeCommit, Phase::AfterCommit, Phase::Late];

const DELAY: FaultKind = FaultKind::Delay { by: Duration::from_millis(1) };
const DRIP: FaultKind =
    FaultKind::Drip { bytes: NonZeroUsize::new(200).expect("not zero"), every: Duration::from_millis(1) };
/// No response is this long, so only the last byte is cut off.
const ALL_BUT_LAST_BYTE: FaultKind = FaultKind::Truncate { bytes: usize::MAX };

/// At least one status for each row of the [status table](crate::STATUS_TABLE), and the most frequent ones.
pub const SAMPLE_STATUSES: [StatusCode; 16] = [
    StatusCode::OK,
    StatusCode::CREATED,
    StatusCode::NO_CONTENT,
    StatusCode::TEMPORARY_REDIRECT,
    StatusCode::BAD_REQUEST,
    StatusCode::UNAUTHORIZED,
    StatusCode::PAYMENT_REQUIRED,
    StatusCode::FORBIDDEN,
    StatusCode::NOT_FOUND,
    StatusCode::REQUEST_TIMEOUT,
    StatusCode::CONFLICT,
    StatusCode::TOO_EARLY,
    StatusCode::TOO_MANY_REQUESTS,
    StatusCode::INTERNAL_SERVER_ERROR,
    StatusCode::BAD_GATEWAY,
    StatusCode::SERVICE_UNAVAILABLE,
];

/// The expected result and effect of a call with a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Expectation {
    /// The result for the caller.
    pub result: CallResult,
    /// The effect on the ledger.
    pub effect: Effect,
    /// Whether no complete response arrives before the caller's deadline.
    pub lasts_until_deadline: bool,
}

impl Expectation {
    /// Whether the service rejects a request that takes effect, now or later. No client can detect this, because the same
    /// bytes arrive when nothing happened.
    pub fn is_false_rejection(self) -> bool {
        use payments_core::Outcome::{NotProcessed, Rejected};
        self.effect != Effect::Never && matches!(self.result.outcome, Some(NotProcessed | Rejected))
    }
}

/// Every kind of fault that the tests use, over every network.
pub fn fault_kinds() -> Vec<FaultKind> {
    let mut kinds = Vec::new();
    for kind in FAULT_TABLE.iter().flat_map(|row| row.kinds) {
        if !kinds.contains(kind) {
            kinds.push(*kind);
        }
    }
    kinds.extend(SAMPLE_STATUSES.map(|status| FaultKind::Status { status }));
    kinds.extend(SAMPLE_STATUSES.map(|status| FaultKind::Html { status }));
    kinds
}

/// The expected result and effect of a valid call with this fault.
///
/// # Panics
///
/// If no row covers the fault.
pub fn expectation(operation: OperationName, kind: FaultKind, phase: Phase) -> Expectation {
    let (result, effect) = status_row_of(kind).map_or_else(
        || {
            let row = fault_row(kind, phase);
            (CallResult::of_operation(operation, row.payment, row.lookup), row.effect)
        },
        |row| (row.result(operation), None),
    );
    let effect =
        if operation.moves_money() { effect.unwrap_or_else(|| Effect::of(phase)) } else { Effect::Never };
    let lasts_until_deadline = match kind {
        FaultKind::Stall => true,
        FaultKind::Delay { .. } | FaultKind::Drip { .. } => result != CallResult::PROCESSED,
        _ => false,
    };
    Expectation { result, effect, lasts_until_deadline }
}

/// The same over a sandbox. The sandbox accepts every connection, so it resets a connection instead of refusing it.
///
/// # Panics
///
/// If no row covers the fault.
pub fn expectation_over_socket(operation: OperationName, kind: FaultKind, phase: Phase) -> Expectation {
    match kind {
        FaultKind::Refuse => expectation(operation, FaultKind::Reset, Phase::BeforeCommit),
        _ => expectation(operation, kind, phase),
    }
}

fn fault_row(kind: FaultKind, phase: Phase) -> &'static FaultRow {
    let row = FAULT_TABLE.iter().find(|row| row.kinds.contains(&kind) && row.phases.contains(&phase));
    row.unwrap_or_else(|| panic!("no row covers {kind:?} in {phase:?}"))
}

fn status_row_of(kind: FaultKind) -> Option<&'static StatusRow> {
    match kind {
        // These statuses have no body.
        FaultKind::Status { status } if matches!(status.as_u16(), 204 | 205 | 304) => {
            Some(status_row(status.as_u16(), ResponseBody::Foreign))
        }
        FaultKind::Status { status } => Some(status_row(status.as_u16(), ResponseBody::Refusal)),
        FaultKind::Html { status } => Some(status_row(status.as_u16(), ResponseBody::Foreign)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_in_every_phase_is_in_exactly_one_row() {
        for row in FAULT_TABLE {
            for kind in row.kinds {
                for phase in PHASES {
                    let matches = |row: &&FaultRow| row.kinds.contains(kind) && row.phases.contains(&phase);
                    assert_eq!(FAULT_TABLE.iter().filter(matches).count(), 1, "{kind:?} in {phase:?}");
                }
            }
        }
    }

    /// The names that [`FaultKind::as_str`] returns. A new kind must be added here and to the table.
    #[test]
    fn every_fault_kind_is_in_the_table() {
        let mut names: Vec<_> = fault_kinds().into_iter().map(FaultKind::as_str).collect();
        names.sort_unstable();
        names.dedup();
        let all = "close delay drip garbage html refuse reset stall status truncate wrong_shape";
        assert_eq!(names.join(" "), all);
    }

    #[test]
    fn every_status_row_that_a_fault_can_produce_has_a_sample() {
        for row in crate::STATUS_TABLE {
            let can_occur = row.bodies.iter().any(|body| *body != ResponseBody::Success);
            let has_sample = SAMPLE_STATUSES.iter().any(|status| row.covers(status.as_u16(), row.bodies[0]));
            assert!(!can_occur || has_sample, "{row:?}");
        }
    }
}
