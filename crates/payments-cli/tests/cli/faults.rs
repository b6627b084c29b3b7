//! The exit code, JSON and text for every fault in every phase match the fault table and the sandbox's ledger.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use payments_core::{OperationName, Outcome};
use payments_fake::{Fault, FaultKind, Fixtures, Phase};
use payments_sandbox::BlockingSandbox;
use payments_tests::{CallResult, Expectation, LedgerCheck, PHASES, expectation_over_socket, fault_kinds};
use serde_json::{Value, json};

use crate::cases::{Case, every_command};
use crate::support::{Ended, sandbox};

#[test]
fn card_payment_faults_match_the_table_d02_d03_d08_d09_d10_d11() {
    every_fault(0);
}

#[test]
fn ach_payment_faults_match_the_table_d02_d03_d08_d09_d10_d11_d39() {
    every_fault(1);
}

#[test]
fn token_payment_faults_match_the_table_d02_d03_d08_d09_d10_d11_d40() {
    every_fault(2);
}

#[test]
fn void_faults_match_the_table_d02_d03_d08_d09_d10_d11() {
    every_fault(3);
}

#[test]
fn transaction_lookup_faults_match_the_table_d12() {
    every_fault(4);
}

#[test]
fn customer_lookup_faults_match_the_table_d12() {
    every_fault(5);
}

/// Several faults in parallel, because they mostly wait for a deadline or a pause.
fn every_fault(command: usize) {
    let kinds = fault_kinds();
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let case = &every_command()[command];
                let sandbox = sandbox();
                while let Some(kind) = kinds.get(next.fetch_add(1, Ordering::Relaxed)) {
                    every_phase(&sandbox, case, *kind);
                }
            });
        }
    });
}

fn every_phase(sandbox: &BlockingSandbox, case: &Case, kind: FaultKind) {
    let [before, after, late] = PHASES.map(|phase| expectation_over_socket(case.operation, kind, phase));
    let told_before = one_fault(sandbox, case, kind, Phase::BeforeCommit, before);
    let told_after = one_fault(sandbox, case, kind, Phase::AfterCommit, after);
    if before.result == after.result && before.result != CallResult::PROCESSED {
        assert_eq!(told_before, told_after, "{kind:?}: the output depends on whether the service acted");
    }
    one_fault(sandbox, case, kind, Phase::Late, late);
}

/// Returns the document without what differs in every call.
fn one_fault(
    sandbox: &BlockingSandbox,
    case: &Case,
    kind: FaultKind,
    phase: Phase,
    fact: Expectation,
) -> Value {
    let gateway = sandbox.gateway();
    gateway.reset_to(&fixtures());
    // A lookup is repeated twice, unless the requested pause exceeds its deadline.
    let fault = Fault::on(case.operation).at(phase).show(kind).times(3).retry_after("120");
    let what = format!("{fault:?}");
    gateway.arm(fault);
    let books = LedgerCheck::of(gateway);

    let timeout = if fact.lasts_until_deadline { "2" } else { "60" };
    let shape = if phase == Phase::Late { "text" } else { "json" };
    let ended = case.run(sandbox.base_url(), &["--timeout", timeout, "--output", shape]);

    assert_eq!(ended.code, Some(i32::from(fact.result.exit_code)), "{what}: {ended:?}");
    let requests = gateway.requests().len();
    assert!(requests <= if case.moves_money() { 1 } else { 3 }, "{what}: sent {requests} times");
    books.assert_effect(case.operation, fact.effect, &what);
    if shape == "text" {
        assert_text(&ended, case.operation, fact.result, &what);
        Value::Null
    } else {
        check_document(&ended, case.operation, kind, fact.result, &what)
    }
}

fn fixtures() -> Fixtures {
    let json = r#"{"transactions": [{"TransactionId": "txn_1", "Amount": 10.50, "TransactionType": 2, "Voided": false}]}"#;
    Fixtures::from_json(json).expect("a good fixture")
}

/// Checks the JSON output.
fn check_document(
    ended: &Ended,
    operation: OperationName,
    kind: FaultKind,
    expected: CallResult,
    what: &str,
) -> Value {
    let mut document = ended.json();
    assert_eq!(document["outcome"], expected.document_outcome(), "{what}: {ended:?}");
    if expected == CallResult::PROCESSED {
        return document;
    }
    let error = &document["error"];
    let message = error["message"].as_str().expect("a message");
    let advice = match (expected.outcome, operation.moves_money()) {
        (Some(Outcome::NotProcessed), true) => "; nothing was processed: it is safe to send it again",
        (Some(Outcome::Rejected), true) => "; it was rejected: fix the cause, then send a new request",
        (Some(Outcome::Unknown), _) if message.contains("HTTP 403") => {
            "; it may have been processed: find the cause, and look for the payment before you send anything again: "
        }
        (Some(Outcome::Unknown), _) => "; it may have been processed: do not send it again, ",
        _ => "; a lookup moves no money: ",
    };
    assert!(message.contains(advice), "{what}: {message}");
    let is_foreign_403 = expected.outcome == Some(Outcome::Unknown) && message.contains("HTTP 403");
    assert_eq!(message.ends_with("; run `payments check` to find the cause"), is_foreign_403, "{message}");
    let has_status = matches!(kind, FaultKind::Status { .. } | FaultKind::Html { .. });
    let pause = if has_status { json!(120) } else { Value::Null };
    assert_eq!(error["retry_after_seconds"], pause, "{what}: {error}");
    let is_unknown = expected == CallResult::UNKNOWN;
    assert!(is_unknown || error.get("amount").is_none(), "{what}: {error}");
    assert_eq!(error["sent_at"].is_string(), is_unknown, "{what}: {error}");
    assert!(!is_unknown || operation != OperationName::Void || error["transaction_id"] == "txn_1", "{error}");

    let another_id = error["transaction_id"].as_str().filter(|id| *id != "txn_1").map(str::to_owned);
    let error = document["error"].as_object_mut().expect("an object");
    error.remove("sent_at");
    error.remove("request_id");
    let text = document.to_string();
    match another_id {
        Some(id) => json!(text.replace(&id, "ID")),
        None => json!(text),
    }
}

/// Checks the text output.
fn assert_text(ended: &Ended, operation: OperationName, expected: CallResult, what: &str) {
    let is_transaction_lookup = operation == OperationName::GetTransaction;
    let heading = match (expected.outcome, operation.moves_money()) {
        (None, true) => "PROCESSED (HTTP 200)",
        (None, false) => "FOUND (HTTP 200)",
        (Some(Outcome::NotProcessed), true) => "NOT PROCESSED, it is safe to run it again (exit code 3)",
        (Some(Outcome::Rejected), true) => "REJECTED (exit code ",
        (Some(Outcome::Unknown), _) => "OUTCOME UNKNOWN, do not run it again: ",
        (Some(Outcome::NotProcessed), false) if is_transaction_lookup => {
            "NOT LOOKED UP, which says nothing about the payment; it is safe to run it again (exit code 3)"
        }
        (Some(Outcome::NotProcessed), false) => "NOT LOOKED UP, it is safe to run it again (exit code 3)",
        (Some(Outcome::Rejected), false) if ended.stderr.starts_with("NOT FOUND") => "NOT FOUND",
        (Some(Outcome::Rejected), false) => "LOOKUP REJECTED",
    };
    let (text, other) = if expected == CallResult::PROCESSED {
        (&ended.stdout, &ended.stderr)
    } else {
        (&ended.stderr, &ended.stdout)
    };
    assert_eq!(other, "", "{what}");
    assert!(text.starts_with(heading), "{what}: {text}");
    if expected == CallResult::UNKNOWN {
        assert!(text.contains("\n  sent at "), "{what}: {text}");
        assert!(!text.contains("retry after"), "suggests a retry: {what}: {text}");
        let is_void = operation == OperationName::Void;
        assert!(!is_void || !text.contains("\n  TransactionId "), "the id is there twice: {what}: {text}");
        let step = if is_void || text.contains("\n  TransactionId ") {
            "payments transaction get txn_"
        } else {
            "reconcile by "
        };
        assert!(text.contains(step), "{what}: {text}");
    }
}
