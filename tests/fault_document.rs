//! Does the page about faults agree with the tables that the tests use?

use std::fmt::Write;
use std::ops::RangeInclusive;

use http::StatusCode;
use payments_core::{OperationName, Outcome};
use payments_fake::{FaultKind, Phase};
use payments_tests::{
    CallResult, Effect, FAULT_TABLE, FaultRow, PHASES, ResponseBody, STATUS_TABLE, StatusRow, expectation,
    fault_kinds,
};

/// The page is part of the documentation of [`FaultKind`]. Run with `UPDATE_DOCS=1` to regenerate it.
#[test]
fn fault_page_agrees_with_the_tables() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/payments-fake/docs/fault-table.md");
    let page = page();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        written == page,
        "run this test with UPDATE_DOCS=1 and review the change; the page should be\n\n{page}"
    );
}

fn page() -> String {
    let mut page = String::from(HEAD);
    for row in FAULT_TABLE {
        write_fault(&mut page, row);
    }
    page.push_str(STATUSES);
    for row in STATUS_TABLE {
        write_status(&mut page, row);
    }
    page.push_str(FALSE_REJECTIONS);
    page + &false_rejections()
}

const HEAD: &str = "\
The result of each fault for the caller: the SDK's outcome, with the exit code of the `payments` command in parentheses. The
result is the same in every phase in which the caller receives the same bytes. The phase decides the ledger: with
`before_commit` the request has no effect, with `after_commit` it is processed, and with `late` it is processed when the test
delivers it. A lookup moves no money: it fails with a `LookupError`, which has no outcome and is either a rejection or not. The
last column is the decision for a payment or a void; for a lookup it is decision 12. The documentation of `Fault` describes what
a program should do after each outcome and what a test should assert.

| kind | phase | payment or void | lookup | ledger | decision |
|---|---|---|---|---|---|
";

const STATUSES: &str = "
A server that has accepted a connection can no longer refuse it, so the sandbox shows `refuse` as a `reset` without an effect. A
`delay` in the phase `late` sends no response at all: the effect is delivered late, not the response.

For `status` and `html` the HTTP status decides, in every phase. `status` sends the service's error body, except for 204, 205
and 304, which have no body; `html` sends a foreign body, like a proxy. A success body under a rejecting HTTP status is
something that no fault sends, but a broken service may. The phase decides the ledger.

| HTTP status | body | payment or void | lookup | decision |
|---|---|---|---|---|
";

const FALSE_REJECTIONS: &str = "
A service may reject a request that it has processed or will process. The client reports `Rejected`: the bytes are the same as
for a true rejection, no client can distinguish them, and a client that reported every rejection as `Unknown` would be useless.
Use these faults to test a program against such a service, and to check that its reconciliation finds the charge:

| kind | phase | payment or void | ledger |
|---|---|---|---|
";

fn write_fault(page: &mut String, row: &FaultRow) {
    let mut names: Vec<_> = row.kinds.iter().map(|kind| format!("`{}`", kind.as_str())).collect();
    names.dedup();
    let phases = match row.phases {
        phases if phases == PHASES => "any".to_owned(),
        phases => code(phases.iter().map(|phase| phase.as_str())),
    };
    let ledger = row.effect.map_or("decided by phase", ledger);
    let (payment, lookup) = (result_text(row.payment), lookup_text(row.lookup));
    let names = names.join(", ");
    writeln!(page, "| {names} | {phases} | {payment} | {lookup} | {ledger} | {} |", row.decision).unwrap();
}

fn write_status(page: &mut String, row: &StatusRow) {
    let statuses: Vec<_> = row.statuses.iter().map(range).collect();
    let bodies = match row.bodies {
        bodies if bodies == ResponseBody::ALL => "any".to_owned(),
        bodies => bodies.iter().map(|body| body_name(*body)).collect::<Vec<_>>().join(" or "),
    };
    let (payment, lookup) = (result_text(row.payment), lookup_text(row.lookup));
    let statuses = statuses.join(", ");
    writeln!(page, "| {statuses} | {bodies} | {payment} | {lookup} | {} |", row.decision).unwrap();
}

/// A line for each phase. Checks for every fault that these lines cover exactly the false rejections.
fn false_rejections() -> String {
    for phase in PHASES {
        for kind in fault_kinds().into_iter().chain(every_status()) {
            let expected = expectation(OperationName::Transaction, kind, phase);
            let has_status = matches!(kind, FaultKind::Status { .. } | FaultKind::Html { .. });
            let is_rejected = expected.result.outcome == Some(Outcome::Rejected);
            let described = has_status
                && is_rejected
                && expected.effect == Effect::of(phase)
                && phase != Phase::BeforeCommit;
            assert_eq!(
                expected.is_false_rejection(),
                described,
                "{kind:?} in {phase:?}: the page must cover it"
            );
        }
    }
    let mut lines = String::new();
    for phase in [Phase::AfterCommit, Phase::Late] {
        let (name, ledger) = (phase.as_str(), ledger(Effect::of(phase)));
        let kinds = "`status` and `html` with `Rejected` in the table above";
        writeln!(lines, "| {kinds} | `{name}` | `Rejected` (4, 6 or 7) | {ledger} |").unwrap();
    }
    lines
}

fn every_status() -> impl Iterator<Item = FaultKind> {
    (200..=599).flat_map(|status| {
        let status = StatusCode::from_u16(status).unwrap();
        [FaultKind::Status { status }, FaultKind::Html { status }]
    })
}

fn result_text(result: CallResult) -> String {
    let outcome = result.outcome.map_or_else(|| "Ok".to_owned(), |outcome| format!("{outcome:?}"));
    format!("`{outcome}` ({})", result.exit_code)
}

fn lookup_text(result: CallResult) -> String {
    let ending = match result.outcome {
        None => "`Ok`",
        Some(Outcome::Rejected) => "`LookupError`, rejected",
        Some(_) => "`LookupError`",
    };
    format!("{ending} ({})", result.exit_code)
}

fn ledger(effect: Effect) -> &'static str {
    match effect {
        Effect::Never => "no effect",
        Effect::Immediate => "processed",
        Effect::WhenDelivered => "processed when delivered",
        _ => unreachable!("there are three"),
    }
}

fn body_name(body: ResponseBody) -> &'static str {
    match body {
        ResponseBody::Refusal => "error body",
        ResponseBody::Foreign => "foreign or none",
        ResponseBody::Success => "success body",
        _ => unreachable!("there are three"),
    }
}

fn range(statuses: &RangeInclusive<u16>) -> String {
    match (statuses.start(), statuses.end()) {
        (one, other) if one == other => one.to_string(),
        (first, last) => format!("{first}\u{2013}{last}"),
    }
}

fn code<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
