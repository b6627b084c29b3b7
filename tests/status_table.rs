use std::ops::RangeInclusive;

use payments_core::OperationName;

use crate::Told;

/// What the body of an answer is, as far as an outcome may rest on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AnswerBody {
    /// The service's error body: a JSON object whose `status` is `failed` and whose `status_code` is the HTTP status.
    Refusal,
    /// Anything that is not the service's: a proxy's page, nothing at all, half of something.
    Foreign,
    /// The body with which the service says that it did what was asked.
    Success,
}

impl AnswerBody {
    /// Every one of them.
    pub const ALL: [Self; 3] = [Self::Refusal, Self::Foreign, Self::Success];
}

/// What a caller is told of an answer with one of these statuses and one of these bodies.
#[derive(Debug)]
#[non_exhaustive]
pub struct StatusRow {
    /// The row of the outcome table that says so of a payment. Of a look-up row 12 says it.
    pub decision: u8,
    /// The HTTP statuses.
    pub statuses: &'static [RangeInclusive<u16>],
    /// The bodies.
    pub bodies: &'static [AnswerBody],
    /// What a payment or a void is told.
    pub payment: Told,
    /// What a look-up is told.
    pub look_up: Told,
}

impl StatusRow {
    /// What a call of this operation is told.
    pub const fn told(&self, operation: OperationName) -> Told {
        Told::by(operation, self.payment, self.look_up)
    }

    /// Whether the row is about such an answer.
    pub fn is_about(&self, status: u16, body: AnswerBody) -> bool {
        self.bodies.contains(&body) && self.statuses.iter().any(|range| range.contains(&status))
    }
}

/// Every final HTTP status from 200 to 599 with every body, each in exactly one row.
pub const STATUS_TABLE: &[StatusRow] = &[
    StatusRow {
        decision: 5,
        statuses: SUCCESS,
        bodies: &[AnswerBody::Success],
        payment: Told::PROCESSED,
        look_up: Told::PROCESSED,
    },
    StatusRow {
        decision: 6,
        statuses: &[200..=200],
        bodies: &[AnswerBody::Refusal],
        payment: Told::REJECTED,
        look_up: Told::REJECTED,
    },
    // The body's `status_code` is the HTTP status, and one such as 201 is no refusal.
    StatusRow {
        decision: 6,
        statuses: &[201..=203, 205..=299],
        bodies: &[AnswerBody::Refusal],
        payment: Told::UNKNOWN,
        look_up: Told::REJECTED,
    },
    StatusRow {
        decision: 8,
        statuses: SUCCESS,
        bodies: &[AnswerBody::Foreign],
        payment: Told::UNKNOWN,
        look_up: Told::NOT_PROCESSED,
    },
    // It cannot have a body, so whatever comes with it is no answer to this request.
    StatusRow {
        decision: 8,
        statuses: &[204..=204],
        bodies: &AnswerBody::ALL,
        payment: Told::UNKNOWN,
        look_up: Told::NOT_PROCESSED,
    },
    StatusRow {
        decision: 11,
        statuses: &[300..=399],
        bodies: &AnswerBody::ALL,
        payment: Told::UNKNOWN,
        look_up: Told::NOT_PROCESSED,
    },
    StatusRow {
        decision: 9,
        statuses: &[401..=401],
        bodies: &[AnswerBody::Refusal],
        payment: Told::UNAUTHORIZED,
        look_up: Told::UNAUTHORIZED,
    },
    StatusRow {
        decision: 10,
        statuses: &[401..=401],
        bodies: &[AnswerBody::Foreign],
        payment: Told::UNAUTHORIZED,
        look_up: Told::UNAUTHORIZED,
    },
    StatusRow {
        decision: 9,
        statuses: &[401..=401],
        bodies: &[AnswerBody::Success],
        payment: Told::UNKNOWN,
        look_up: Told::UNAUTHORIZED,
    },
    StatusRow {
        decision: 9,
        statuses: &[404..=404],
        bodies: &[AnswerBody::Refusal],
        payment: Told::NOT_FOUND,
        look_up: Told::NOT_FOUND,
    },
    StatusRow {
        decision: 10,
        statuses: &[404..=404],
        bodies: &[AnswerBody::Foreign],
        payment: Told::NOT_FOUND,
        look_up: Told::NOT_FOUND,
    },
    StatusRow {
        decision: 9,
        statuses: &[404..=404],
        bodies: &[AnswerBody::Success],
        payment: Told::UNKNOWN,
        look_up: Told::NOT_FOUND,
    },
    StatusRow {
        decision: 9,
        statuses: REFUSALS,
        bodies: &[AnswerBody::Refusal],
        payment: Told::REJECTED,
        look_up: Told::REJECTED,
    },
    StatusRow {
        decision: 10,
        statuses: REFUSALS,
        bodies: &[AnswerBody::Foreign],
        payment: Told::REJECTED,
        look_up: Told::REJECTED,
    },
    StatusRow {
        decision: 9,
        statuses: REFUSALS,
        bodies: &[AnswerBody::Success],
        payment: Told::UNKNOWN,
        look_up: Told::REJECTED,
    },
    StatusRow {
        decision: 11,
        statuses: &[408..=409, 425..=425],
        bodies: &AnswerBody::ALL,
        payment: Told::UNKNOWN,
        look_up: Told::REJECTED,
    },
    StatusRow {
        decision: 9,
        statuses: OTHER_4XX,
        bodies: &[AnswerBody::Refusal],
        payment: Told::REJECTED,
        look_up: Told::REJECTED,
    },
    StatusRow {
        decision: 11,
        statuses: OTHER_4XX,
        bodies: &[AnswerBody::Foreign],
        payment: Told::UNKNOWN,
        look_up: Told::REJECTED,
    },
    StatusRow {
        decision: 9,
        statuses: OTHER_4XX,
        bodies: &[AnswerBody::Success],
        payment: Told::UNKNOWN,
        look_up: Told::REJECTED,
    },
    StatusRow {
        decision: 11,
        statuses: &[500..=599],
        bodies: &AnswerBody::ALL,
        payment: Told::UNKNOWN,
        look_up: Told::NOT_PROCESSED,
    },
];

/// 2xx that can have a body.
const SUCCESS: &[RangeInclusive<u16>] = &[200..=203, 205..=299];

/// The statuses of decision 10 but for 401 and 404, which have exit codes of their own.
const REFUSALS: &[RangeInclusive<u16>] =
    &[400..=400, 405..=405, 411..=411, 413..=415, 417..=417, 421..=422, 429..=429, 431..=431];

/// The 4xx that no decision names, and 403, which firewalls send after the service has acted too.
const OTHER_4XX: &[RangeInclusive<u16>] = &[
    402..=403,
    406..=407,
    410..=410,
    412..=412,
    416..=416,
    418..=420,
    423..=424,
    426..=428,
    430..=430,
    432..=499,
];

/// The row about such an answer.
///
/// # Panics
///
/// If the status is not from 200 to 599.
pub fn status_row(status: u16, body: AnswerBody) -> &'static StatusRow {
    let row = STATUS_TABLE.iter().find(|row| row.is_about(status, body));
    row.unwrap_or_else(|| panic!("no row is about HTTP {status} with {body:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_with_every_body_is_in_exactly_one_row() {
        for status in 200..=599 {
            for body in AnswerBody::ALL {
                let rows = STATUS_TABLE.iter().filter(|row| row.is_about(status, body)).count();
                assert_eq!(rows, 1, "HTTP {status} with {body:?}");
            }
        }
    }
}
