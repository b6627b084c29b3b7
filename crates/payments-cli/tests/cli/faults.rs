//! The exit code, JSON and text for a sample of the fault table match the table and the sandbox's ledger.

use std::thread;

use payments_core::Outcome;
use payments_fake::Phase::{AfterCommit, BeforeCommit, Late};
use payments_fake::{FaultKind, Fixtures, Phase};
use payments_tests::{CallResult, LedgerCheck, expectation_over_socket};

use crate::prelude::*;

/// A number of [`every_command`], a fault and its phase.
fn cells() -> [(usize, FaultKind, Phase); 20] {
    let html = |status| FaultKind::Html { status };
    let status = |status| FaultKind::Status { status };
    [
        (0, FaultKind::Refuse, BeforeCommit),
        (0, FaultKind::Close, AfterCommit),
        (0, FaultKind::Garbage, AfterCommit),
        (0, FaultKind::WrongShape, AfterCommit),
        (0, status(StatusCode::UNAUTHORIZED), BeforeCommit),
        (0, html(StatusCode::BAD_GATEWAY), AfterCommit),
        (1, FaultKind::Reset, AfterCommit),
        (1, status(StatusCode::BAD_REQUEST), BeforeCommit),
        (1, html(StatusCode::OK), AfterCommit),
        (2, FaultKind::Stall, AfterCommit),
        (2, FaultKind::Truncate { bytes: 70 }, AfterCommit),
        (2, status(StatusCode::TOO_MANY_REQUESTS), BeforeCommit),
        (2, status(StatusCode::SERVICE_UNAVAILABLE), Late),
        (3, FaultKind::Close, Late),
        (3, status(StatusCode::NOT_FOUND), BeforeCommit),
        (3, html(StatusCode::FORBIDDEN), AfterCommit),
        (4, FaultKind::Close, BeforeCommit),
        (4, status(StatusCode::NOT_FOUND), BeforeCommit),
        (5, FaultKind::WrongShape, BeforeCommit),
        (5, status(StatusCode::SERVICE_UNAVAILABLE), BeforeCommit),
    ]
}

/// In parallel, because some wait for a deadline or a pause.
#[test]
fn faults_match_the_table_d02_d03_d07_d08_d09_d10_d11_d12_d39_d40() {
    thread::scope(|scope| {
        for (case, kind, phase) in cells() {
            scope.spawn(move || one_fault(case, kind, phase));
        }
    });
}

fn one_fault(case: usize, kind: FaultKind, phase: Phase) {
    let case = &every_command()[case];
    let expected = expectation_over_socket(case.operation, kind, phase);
    let what = format!("{:?}: {kind:?} in {phase:?}", case.operation);
    let sandbox = sandbox();
    let gateway = sandbox.gateway();
    for shape in ["json", "text"] {
        let authorization = r#"{"TransactionId":"txn_1","Amount":10.50,"TransactionType":2,"Voided":false}"#;
        let fixtures = format!(r#"{{"transactions":[{authorization}]}}"#);
        gateway.reset_to(&Fixtures::from_json(&fixtures).expect("a good fixture"));
        // A lookup is repeated twice, unless the requested pause exceeds its deadline.
        gateway.arm(Fault::on(case.operation).at(phase).show(kind).times(3).retry_after("120"));
        let books = LedgerCheck::of(gateway);
        let timeout = if expected.lasts_until_deadline { "2" } else { "60" };
        let ended = case.run(sandbox.base_url(), &format!("--timeout {timeout} --output {shape}"));
        assert_eq!(ended.code, Some(i32::from(expected.result.exit_code)), "{what}: {ended:?}");
        let requests = gateway.requests().len();
        assert!(requests <= if case.moves_money() { 1 } else { 3 }, "{what}: sent {requests} times");
        books.assert_effect(case.operation, expected.effect, &what);
        if shape == "json" {
            check_document(&ended, case.operation, kind, expected.result, &what);
        } else {
            check_text(&ended, case.operation, expected.result, &what);
        }
    }
}

fn check_document(
    ended: &Ended,
    operation: OperationName,
    kind: FaultKind,
    expected: CallResult,
    what: &str,
) {
    let error = ended.failed(i32::from(expected.exit_code));
    let message = message(&error);
    let is_unknown = expected == CallResult::UNKNOWN;
    let is_foreign_403 = is_unknown && message.contains("HTTP 403");
    let advice = match (expected.outcome, operation.moves_money()) {
        (Some(Outcome::NotProcessed), true) => "; nothing was processed: it is safe to send it again",
        (Some(Outcome::Rejected), true) if message.contains("HTTP 429") => {
            "; it was rejected: wait, then send a new request"
        }
        (Some(Outcome::Rejected), true) => "; it was rejected: fix the cause, then send a new request",
        (Some(Outcome::Unknown), _) if is_foreign_403 => {
            "; it may have been processed: find the cause, and look for the payment before you send anything again: "
        }
        (Some(Outcome::Unknown), _) => "; it may have been processed: do not send it again, ",
        _ => "; a lookup moves no money: ",
    };
    assert!(message.contains(advice), "{what}: {message}");
    assert_eq!(message.ends_with("; run `payments check` to find the cause"), is_foreign_403, "{message}");
    let has_status = matches!(kind, FaultKind::Status { .. } | FaultKind::Html { .. });
    assert_eq!(error["retry_after_seconds"].as_u64(), has_status.then_some(120), "{what}: {error}");
    assert!(is_unknown || error.get("amount").is_none(), "{what}: {error}");
    assert_eq!(error["sent_at"].is_string(), is_unknown, "{what}: {error}");
    assert!(!is_unknown || operation != OperationName::Void || error["transaction_id"] == "txn_1", "{error}");
}

fn check_text(ended: &Ended, operation: OperationName, expected: CallResult, what: &str) {
    let text = &ended.stderr;
    let heading = match (expected.outcome, operation.moves_money()) {
        (None, _) => unreachable!("no cell is a success"),
        (Some(Outcome::NotProcessed), true) => "NOT PROCESSED, it is safe to run it again (exit code 3)",
        (Some(Outcome::Rejected), true) => "REJECTED: fix the cause, then send a new request (exit code ",
        (Some(Outcome::Unknown), _) => "OUTCOME UNKNOWN, do not run it again: ",
        (Some(Outcome::NotProcessed), false) if operation == OperationName::GetTransaction => {
            "NOT LOOKED UP, which says nothing about the payment; it is safe to run it again (exit code 3)"
        }
        (Some(Outcome::NotProcessed), false) => "NOT LOOKED UP, it is safe to run it again (exit code 3)",
        (Some(Outcome::Rejected), false) => "NOT FOUND",
    };
    assert_eq!(ended.stdout, "", "{what}");
    assert!(text.starts_with(heading), "{what}: {text}");
    for advice in ["safe to ", "fix the cause, then"] {
        assert!(text.matches(advice).count() <= 1, "the advice is there twice: {what}: {text}");
    }
    if expected == CallResult::UNKNOWN {
        assert!(text.contains("\n  sent at "), "{what}: {text}");
        assert!(!text.contains("retry after"), "suggests a retry: {what}: {text}");
        let is_void = operation == OperationName::Void;
        assert!(!is_void || !text.contains("\n  TransactionId "), "the id is there twice: {what}: {text}");
        let is_named = is_void || text.contains("\n  TransactionId ");
        let step = if is_named { "payments transaction get txn_" } else { "reconcile by " };
        assert!(text.contains(step), "{what}: {text}");
    }
}
