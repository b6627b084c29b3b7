use std::num::NonZeroUsize;
use std::time::Duration;

use http::StatusCode;
use payments_core::OperationName;
use payments_fake::{FaultKind, Phase};

use crate::{AnswerBody, Effect, StatusRow, Told, status_row};

/// What a caller is told of a fault that does not depend on an HTTP status, and what the service does.
#[derive(Debug)]
#[non_exhaustive]
pub struct FaultRow {
    /// The row of the outcome table that says so of a payment. Of a look-up row 12 says it.
    pub decision: u8,
    /// Faults that are alike to the caller. Of a kind with a size there is one for each place that it can fall in.
    pub kinds: &'static [FaultKind],
    /// The phases.
    pub phases: &'static [Phase],
    /// What a payment or a void is told.
    pub payment: Told,
    /// What a look-up is told.
    pub look_up: Told,
    /// What a payment or a void does to the books, or nothing if its phase alone decides that.
    pub effect: Option<Effect>,
}

/// Every fault without a status in every phase, each in exactly one row.
pub const FAULT_TABLE: &[FaultRow] = &[
    FaultRow {
        decision: 2,
        kinds: &[FaultKind::Refuse],
        phases: &PHASES,
        payment: Told::NOT_PROCESSED,
        look_up: Told::NOT_PROCESSED,
        effect: Some(Effect::Never),
    },
    FaultRow {
        decision: 3,
        kinds: &[FaultKind::Close, FaultKind::Reset, FaultKind::Stall, FaultKind::Garbage],
        phases: &PHASES,
        payment: Told::UNKNOWN,
        look_up: Told::NOT_PROCESSED,
        effect: None,
    },
    FaultRow {
        decision: 5,
        kinds: &[DELAY],
        phases: &[Phase::BeforeCommit, Phase::AfterCommit],
        payment: Told::PROCESSED,
        look_up: Told::PROCESSED,
        effect: Some(Effect::AtOnce),
    },
    FaultRow {
        decision: 3,
        kinds: &[DELAY],
        phases: &[Phase::Late],
        payment: Told::UNKNOWN,
        look_up: Told::NOT_PROCESSED,
        effect: None,
    },
    FaultRow {
        decision: 5,
        kinds: &[DRIP],
        phases: &[Phase::AfterCommit],
        payment: Told::PROCESSED,
        look_up: Told::PROCESSED,
        effect: None,
    },
    FaultRow {
        decision: 8,
        kinds: &[DRIP],
        phases: &[Phase::BeforeCommit, Phase::Late],
        payment: Told::UNKNOWN,
        look_up: Told::NOT_PROCESSED,
        effect: None,
    },
    FaultRow {
        decision: 8,
        kinds: &[FaultKind::Truncate { bytes: 0 }, FaultKind::Truncate { bytes: 70 }, BUT_ONE_BYTE],
        phases: &PHASES,
        payment: Told::UNKNOWN,
        look_up: Told::NOT_PROCESSED,
        effect: None,
    },
    FaultRow {
        decision: 7,
        kinds: &[FaultKind::WrongShape],
        phases: &PHASES,
        payment: Told::UNKNOWN,
        look_up: Told::NOT_PROCESSED,
        effect: None,
    },
];

/// Every phase.
pub const PHASES: [Phase; 3] = [Phase::BeforeCommit, Phase::AfterCommit, Phase::Late];

const DELAY: FaultKind = FaultKind::Delay { by: Duration::from_millis(1) };
const DRIP: FaultKind =
    FaultKind::Drip { bytes: NonZeroUsize::new(200).expect("not zero"), every: Duration::from_millis(1) };
/// No answer is as long as this, and a cut comes before the last byte at the latest.
const BUT_ONE_BYTE: FaultKind = FaultKind::Truncate { bytes: usize::MAX };

/// Of every row of the [status table](crate::STATUS_TABLE) one status, and the ones that are met most often.
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

/// What becomes of a call that a fault strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WhatHappens {
    /// What the caller is told.
    pub told: Told,
    /// What the call does to the books.
    pub effect: Effect,
    /// Whether the caller hears nothing, or not the end of it, until its deadline.
    pub until_the_deadline: bool,
}

impl WhatHappens {
    /// Whether the service says no to what it does, now or later: then the caller is told what no client can know to be
    /// wrong, because the same bytes come when it does nothing.
    pub fn is_a_lie(self) -> bool {
        use payments_core::Outcome::{NotProcessed, Rejected};
        self.effect != Effect::Never && matches!(self.told.outcome, Some(NotProcessed | Rejected))
    }
}

/// Every kind of fault that is put to the proof over every network.
pub fn kinds() -> Vec<FaultKind> {
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

/// What becomes of a valid call that this fault strikes.
///
/// # Panics
///
/// If no row is about the fault.
pub fn what_happens(operation: OperationName, kind: FaultKind, phase: Phase) -> WhatHappens {
    let (told, effect) = status_row_of(kind).map_or_else(
        || {
            let row = fault_row(kind, phase);
            (Told::by(operation, row.payment, row.look_up), row.effect)
        },
        |row| (row.told(operation), None),
    );
    let effect =
        if operation.moves_money() { effect.unwrap_or_else(|| Effect::of(phase)) } else { Effect::Never };
    let until_the_deadline = match kind {
        FaultKind::Stall => true,
        FaultKind::Delay { .. } | FaultKind::Drip { .. } => told != Told::PROCESSED,
        _ => false,
    };
    WhatHappens { told, effect, until_the_deadline }
}

/// The same where a sandbox serves the fake: it accepts every connection, so it cannot refuse one and resets it.
///
/// # Panics
///
/// If no row is about the fault.
pub fn what_happens_over_a_socket(operation: OperationName, kind: FaultKind, phase: Phase) -> WhatHappens {
    match kind {
        FaultKind::Refuse => what_happens(operation, FaultKind::Reset, Phase::BeforeCommit),
        _ => what_happens(operation, kind, phase),
    }
}

fn fault_row(kind: FaultKind, phase: Phase) -> &'static FaultRow {
    let row = FAULT_TABLE.iter().find(|row| row.kinds.contains(&kind) && row.phases.contains(&phase));
    row.unwrap_or_else(|| panic!("no row is about {kind:?} in {phase:?}"))
}

fn status_row_of(kind: FaultKind) -> Option<&'static StatusRow> {
    match kind {
        // These have no body.
        FaultKind::Status { status } if matches!(status.as_u16(), 204 | 205 | 304) => {
            Some(status_row(status.as_u16(), AnswerBody::Foreign))
        }
        FaultKind::Status { status } => Some(status_row(status.as_u16(), AnswerBody::Refusal)),
        FaultKind::Html { status } => Some(status_row(status.as_u16(), AnswerBody::Foreign)),
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
                    let is_it = |row: &&FaultRow| row.kinds.contains(kind) && row.phases.contains(&phase);
                    assert_eq!(FAULT_TABLE.iter().filter(is_it).count(), 1, "{kind:?} in {phase:?}");
                }
            }
        }
    }

    /// The names that [`FaultKind::as_str`] lists; a new kind must be named there and put into the table.
    #[test]
    fn every_kind_by_name_is_in_the_table() {
        let mut names: Vec<_> = kinds().into_iter().map(FaultKind::as_str).collect();
        names.sort_unstable();
        names.dedup();
        let all = [
            "close",
            "delay",
            "drip",
            "garbage",
            "html",
            "refuse",
            "reset",
            "stall",
            "status",
            "truncate",
            "wrong_shape",
        ];
        assert_eq!(names, all);
    }

    #[test]
    fn every_row_of_the_status_table_that_a_fault_can_show_has_a_sample() {
        for row in crate::STATUS_TABLE {
            let is_shown = row.bodies.iter().any(|body| *body != AnswerBody::Success);
            let has_sample =
                SAMPLE_STATUSES.iter().any(|status| row.is_about(status.as_u16(), row.bodies[0]));
            assert!(!is_shown || has_sample, "{row:?}");
        }
    }
}
