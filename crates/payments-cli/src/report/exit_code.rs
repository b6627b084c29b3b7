//! The exit codes, which scripts branch on, and the rules for them: of a call, of a billing run, and of a command about keys. A
//! command without an outcome, such as `sandbox` or `journal list`, ends with 0 or 1.

use std::process;

use crate::failure::{Done, FailedOutcome, Failure};
use crate::report::run::{RunOutcome, Summary};

/// The exit code of the process. The numbers are fixed: other programs depend on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum ExitCode {
    /// The service processed the request, or found the record.
    Processed = 0,
    /// Anything without its own code, such as a result that could not be written.
    Other = 1,
    /// Wrong usage or input. Nothing was sent.
    Invalid = 2,
    /// Not processed: running the same command again is safe.
    NotProcessed = 3,
    /// The service, or something in front of it, rejected the request.
    Rejected = 4,
    /// It may have been processed. Running the same command again may charge twice.
    Unknown = 5,
    /// Rejected with HTTP 401: the API key was refused.
    Unauthorized = 6,
    /// Rejected with HTTP 404.
    NotFound = 7,
    /// The finding or the response was recorded, and two attempts of the key may have been charged.
    SecondCharge = 8,
}

impl ExitCode {
    /// Of a call that succeeded.
    pub(crate) const fn of_success(is_second_charge: bool) -> Self {
        if is_second_charge { Self::SecondCharge } else { Self::Processed }
    }

    /// Of a call, or any other command, that failed.
    pub(crate) fn of_failure(failure: &Failure) -> Self {
        match (failure.outcome, failure.http_status()) {
            (FailedOutcome::Unknown, _) => Self::Unknown,
            // As of a run: a second one would not find it any more.
            _ if failure.advice.done == Done::SecondCharge => Self::SecondCharge,
            (FailedOutcome::Invalid, _) => Self::Invalid,
            (FailedOutcome::NotProcessed, _) => Self::NotProcessed,
            (FailedOutcome::Rejected, Some(401)) => Self::Unauthorized,
            (FailedOutcome::Rejected, Some(404)) => Self::NotFound,
            (FailedOutcome::Rejected, _) => Self::Rejected,
        }
    }

    /// Of a billing run. A run whose file is refused ends with 2 before it begins.
    pub(crate) fn of_run(run: &Summary) -> Self {
        match run.outcome() {
            RunOutcome::DryRun => Self::Processed,
            RunOutcome::Unknown => Self::Unknown,
            _ if !run.second_charges.is_empty() || run.same_transaction_count > 0 => Self::SecondCharge,
            RunOutcome::Unauthorized => Self::Unauthorized,
            RunOutcome::Unfinished => Self::NotProcessed,
            RunOutcome::Rejected => Self::Rejected,
            RunOutcome::WithoutResults => Self::Other,
            RunOutcome::Processed => Self::Processed,
        }
    }

    /// Of a command that shows or changes keys of the journal.
    pub(crate) const fn of_keys(some_stay_unknown: bool, is_second_charge: bool) -> Self {
        if some_stay_unknown { Self::Unknown } else { Self::of_success(is_second_charge) }
    }

    /// The same if the result could not be written, which is no success.
    pub(crate) const fn unwritten(self) -> Self {
        match self {
            Self::Processed => Self::Other,
            code => code,
        }
    }

    pub(crate) const fn number(self) -> u8 {
        self as u8
    }
}

impl From<ExitCode> for process::ExitCode {
    fn from(code: ExitCode) -> Self {
        Self::from(code.number())
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use payments_core::{ApiKey, Endpoint, GetTransaction, Operation, Outcome};
    use payments_fake::unversioned::{ErrorEnvelope, success};
    use payments_model::{Amount, TransactionId, Void};
    use payments_tests::{ResponseBody, status_row};
    use serde_json::json;

    use super::*;
    use crate::report::run::{Phase, Stop, Tally};

    #[test]
    fn exit_code_is_the_first_that_applies() {
        let one = || {
            let mut tally = Tally::default();
            tally.add(Amount::from_cents(1));
            tally
        };
        // Each summary also has everything that the summaries with a lower priority have.
        let ended = |summary: &Summary| (ExitCode::of_run(summary).number(), json!(summary.outcome()));
        let mut summary = Summary::default();
        let mut expects = |code: u8, outcome: &str, change: &dyn Fn(&mut Summary)| {
            change(&mut summary);
            assert_eq!(ended(&summary), (code, json!(outcome)), "{summary:?}");
            summary.clone()
        };
        expects(0, "processed", &|_| {});
        let mut panicked = Summary { stop: Some(Stop::Internal), ..Summary::default() };
        assert_eq!(ended(&panicked), (3, json!("unfinished")));
        panicked.phase = Phase::Charging;
        assert_eq!(ended(&panicked), (5, json!("unknown")));
        expects(1, "processed", &|it| it.incomplete_results = Some("full".to_owned()));
        expects(4, "rejected", &|it| (it.tallies.total, it.tallies.rejected) = (one(), one()));
        let rejected = expects(3, "unfinished", &|it| it.tallies.total.add(Amount::from_cents(1)));
        let unfinished = expects(6, "rejected", &|it| it.stop = Some(Stop::Unauthorized(Outcome::Rejected)));
        let mut same_transaction = Summary { same_transaction_count: 1, ..unfinished.clone() };
        assert_eq!(ended(&same_transaction), (8, json!("rejected")));
        same_transaction.tallies.unknown.add(Amount::from_cents(1));
        assert_eq!(ended(&same_transaction), (5, json!("unknown")));
        let second_charge = expects(8, "rejected", &|it| it.second_charges = vec!["POSSIBLE".to_owned()]);
        for change in [
            (|it| it.tallies.unknown.add(Amount::from_cents(1))) as fn(&mut Summary),
            |it| it.tallies.earlier.unknown.add(Amount::from_cents(1)),
            |it| it.not_recorded.add(Amount::from_cents(1)),
        ] {
            for mut summary in [rejected.clone(), unfinished.clone(), second_charge.clone()] {
                summary.tallies.total.add(Amount::from_cents(1));
                change(&mut summary);
                assert_eq!(ended(&summary), (5, json!("unknown")), "{summary:?}");
            }
        }
        let mut elsewhere = Summary::default();
        (elsewhere.tallies.total, elsewhere.tallies.in_progress) = (one(), one());
        assert_eq!(ExitCode::of_run(&elsewhere).number(), 3, "in progress elsewhere");
    }

    /// The exit code after this response to the operation.
    fn exit_code<O: Operation>(operation: &O, status: u16, body: Vec<u8>) -> u8
    where
        Failure: From<O::Error>,
    {
        let key = ApiKey::new("key").expect("visible ASCII");
        let endpoint = Endpoint::new("https://pay.example.com", key).expect("https");
        let mut response = http::Response::new(Bytes::from(body));
        *response.status_mut() = http::StatusCode::from_u16(status).expect("three digits");
        match operation.read(&endpoint, response) {
            Ok(_) => ExitCode::Processed.number(),
            Err(error) => ExitCode::of_failure(&Failure::from(error)).number(),
        }
    }

    #[test]
    fn exit_codes_match_the_status_table_d05_d06_d08_d09_d10_d11_d12() {
        let id = TransactionId::new("txn_1").expect("a good id");
        let (void, look_up) = (Void::new(id.clone()), GetTransaction::new(id));
        let data = serde_json::json!({"TransactionId": "txn_1"});
        for status in 200..=599 {
            for body in ResponseBody::ALL {
                let (to_void, to_look_up) = match body {
                    ResponseBody::Refusal => {
                        let refused =
                            ErrorEnvelope::new(status.try_into().expect("three digits"), "no").encode();
                        (refused.clone(), refused)
                    }
                    ResponseBody::Success => {
                        let (done, found) = (success::post("done", &data), success::get("found", &data));
                        (done.into_body().into(), found.into_body().into())
                    }
                    _ => (b"<html>".to_vec(), b"<html>".to_vec()),
                };
                let row = status_row(status, body);
                let seen = (exit_code(&void, status, to_void), exit_code(&look_up, status, to_look_up));
                assert_eq!(seen, (row.payment.exit_code, row.lookup.exit_code), "HTTP {status}, {body:?}");
            }
        }
    }
}
