use std::ops::RangeInclusive;

use payments_core::OperationName;

use crate::CallResult;

/// The kinds of response body that an outcome can depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResponseBody {
    /// The service's error body: a JSON object whose `status` is `failed` and whose `status_code` is the HTTP status.
    Refusal,
    /// Any other body: a proxy's page, an empty body, a truncated one.
    Foreign,
    /// The service's success body.
    Success,
}

impl ResponseBody {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Refusal, Self::Foreign, Self::Success];
}

/// The result of a response with one of these statuses and one of these bodies.
#[derive(Debug)]
#[non_exhaustive]
pub struct StatusRow {
    /// The decision for a payment or a void. For a lookup it is decision 12.
    pub decision: u8,
    /// The HTTP statuses.
    pub statuses: &'static [RangeInclusive<u16>],
    /// The bodies.
    pub bodies: &'static [ResponseBody],
    /// The result of a payment or a void.
    pub payment: CallResult,
    /// The result of a lookup.
    pub lookup: CallResult,
}

impl StatusRow {
    /// The result of this operation.
    pub const fn result(&self, operation: OperationName) -> CallResult {
        CallResult::of_operation(operation, self.payment, self.lookup)
    }

    /// Whether the row covers this status and body.
    pub fn covers(&self, status: u16, body: ResponseBody) -> bool {
        self.bodies.contains(&body) && self.statuses.iter().any(|range| range.contains(&status))
    }
}

/// Every final HTTP status from 200 to 599 with every body, each in exactly one row. The exit codes of the command are tested
/// against all of it, and the faults in `outcomes.rs` are samples.
pub const STATUS_TABLE: &[StatusRow] = {
    use ResponseBody::{Foreign, Refusal, Success};

    const ANY: &[ResponseBody] = &ResponseBody::ALL;

    &[
        row(5, SUCCESS, &[Success], CallResult::PROCESSED, CallResult::PROCESSED),
        row(6, &[200..=200], &[Refusal], CallResult::REJECTED, CallResult::REJECTED),
        // The body's `status_code` is the HTTP status, and one such as 201 is not a rejection.
        row(6, &[201..=203, 205..=299], &[Refusal], CallResult::UNKNOWN, CallResult::REJECTED),
        row(8, SUCCESS, &[Foreign], CallResult::UNKNOWN, CallResult::NOT_PROCESSED),
        // A 204 cannot have a body, so its body is not a response to this request.
        row(8, &[204..=204], ANY, CallResult::UNKNOWN, CallResult::NOT_PROCESSED),
        row(11, &[300..=399], ANY, CallResult::UNKNOWN, CallResult::NOT_PROCESSED),
        row(9, &[401..=401], &[Refusal], CallResult::UNAUTHORIZED, CallResult::UNAUTHORIZED),
        row(10, &[401..=401], &[Foreign], CallResult::UNAUTHORIZED, CallResult::UNAUTHORIZED),
        row(9, &[401..=401], &[Success], CallResult::UNKNOWN, CallResult::UNAUTHORIZED),
        row(9, &[404..=404], &[Refusal], CallResult::NOT_FOUND, CallResult::NOT_FOUND),
        row(10, &[404..=404], &[Foreign], CallResult::NOT_FOUND, CallResult::NOT_FOUND),
        row(9, &[404..=404], &[Success], CallResult::UNKNOWN, CallResult::NOT_FOUND),
        row(9, REFUSALS, &[Refusal], CallResult::REJECTED, CallResult::REJECTED),
        row(10, REFUSALS, &[Foreign], CallResult::REJECTED, CallResult::REJECTED),
        row(9, REFUSALS, &[Success], CallResult::UNKNOWN, CallResult::REJECTED),
        row(11, &[408..=409, 425..=425], ANY, CallResult::UNKNOWN, CallResult::REJECTED),
        row(9, OTHER_4XX, &[Refusal], CallResult::REJECTED, CallResult::REJECTED),
        row(11, OTHER_4XX, &[Foreign], CallResult::UNKNOWN, CallResult::REJECTED),
        row(9, OTHER_4XX, &[Success], CallResult::UNKNOWN, CallResult::REJECTED),
        row(11, &[500..=599], ANY, CallResult::UNKNOWN, CallResult::NOT_PROCESSED),
    ]
};

const fn row(
    decision: u8,
    statuses: &'static [RangeInclusive<u16>],
    bodies: &'static [ResponseBody],
    payment: CallResult,
    lookup: CallResult,
) -> StatusRow {
    StatusRow { decision, statuses, bodies, payment, lookup }
}

/// The 2xx statuses that can have a body.
const SUCCESS: &[RangeInclusive<u16>] = &[200..=203, 205..=299];

/// The statuses of decision 10, except 401 and 404, which have their own exit codes.
const REFUSALS: &[RangeInclusive<u16>] =
    &[400..=400, 405..=405, 411..=411, 413..=415, 417..=417, 421..=422, 429..=429, 431..=431];

/// The 4xx statuses that no decision names, and 403, which a firewall may send after the service has acted.
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

/// The row that covers this status and body.
///
/// # Panics
///
/// If the status is not from 200 to 599.
pub fn status_row(status: u16, body: ResponseBody) -> &'static StatusRow {
    let row = STATUS_TABLE.iter().find(|row| row.covers(status, body));
    row.unwrap_or_else(|| panic!("no row covers HTTP {status} with {body:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_with_every_body_is_in_exactly_one_row() {
        for status in 200..=599 {
            for body in ResponseBody::ALL {
                let rows = STATUS_TABLE.iter().filter(|row| row.covers(status, body)).count();
                assert_eq!(rows, 1, "HTTP {status} with {body:?}");
            }
        }
    }
}
