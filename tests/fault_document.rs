//! Is the page about faults what the tables say that are put to the proof?

use std::fmt::Write;
use std::ops::RangeInclusive;

use http::StatusCode;
use payments_core::{OperationName, Outcome};
use payments_fake::{FaultKind, Phase};
use payments_tests::{
    AnswerBody, Effect, FAULT_TABLE, FaultRow, PHASES, STATUS_TABLE, StatusRow, Told, kinds, what_happens,
};

/// Shown in the documentation of [`FaultKind`], where authors of tests look. Run with `UPDATE_DOCS=1` to write it anew.
#[test]
fn the_page_about_faults_is_made_of_the_tables() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/payments-fake/docs/fault-table.md");
    let page = page();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        written == page,
        "run this test with UPDATE_DOCS=1 and read the change: the page should be\n\n{page}"
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
    page.push_str(LIES);
    page + &lies()
}

const HEAD: &str = "\
What a caller is told of each fault: the SDK's outcome, and in brackets the exit code of the `payments` command. It is
told the same in every phase in which the same bytes come, because nothing that it can see differs. What the
service's ledger says then is for the phase to decide: with `before_commit` nothing, with `after_commit` that it is done,
with `late` nothing until the test delivers it, and then that it is done. A lookup moves nothing: it fails with a
`LookupError`, which has no outcome and is a rejection or not. The last column is the row of the outcome table that decides
about a payment or a void; about lookups row 12 does. What a program should do after each outcome, and what a test of it
asserts then, stands in the documentation of `Fault`.

| kind | phase | a payment or a void | a lookup | the ledger | row |
|---|---|---|---|---|---|
";

const STATUSES: &str = "
A server that has accepted a connection cannot refuse it any more, so the sandbox shows `refuse` as a `reset` without an
effect. A `delay` in the phase `late` brings no answer at all: what is delivered late is the effect, not the answer.

Of `status` and `html` the HTTP status decides, in every phase alike. `status` has the service's error body, but for 204,
205 and 304, which have none; `html` has a foreign one, as a proxy gives it. A body claims success if it says so while the
HTTP status says no, which no fault does and a broken service may. The ledger is as the phase says.

| HTTP status | body | a payment or a void | a lookup | row |
|---|---|---|---|---|
";

const LIES: &str = "
A service that says no to what it has done, or will do, is believed: the bytes are those of a true refusal, no client can
tell the two apart, and one that called every refusal `Unknown` would be of no use. These are the faults by which a program
can be shown such a service, and whether its reconciliation finds the charge:

| kind | phase | a payment or a void | the ledger |
|---|---|---|---|
";

fn write_fault(page: &mut String, row: &FaultRow) {
    let mut names: Vec<_> = row.kinds.iter().map(|kind| format!("`{}`", kind.as_str())).collect();
    names.dedup();
    let phases = match row.phases {
        phases if phases == PHASES => "any".to_owned(),
        phases => code(phases.iter().map(|phase| phase.as_str())),
    };
    let books = row.effect.map_or("as the phase says", books);
    let (payment, look_up) = (told(row.payment), told_lookup(row.look_up));
    let names = names.join(", ");
    writeln!(page, "| {names} | {phases} | {payment} | {look_up} | {books} | {} |", row.decision).unwrap();
}

fn write_status(page: &mut String, row: &StatusRow) {
    let statuses: Vec<_> = row.statuses.iter().map(range).collect();
    let bodies = match row.bodies {
        bodies if bodies == AnswerBody::ALL => "any".to_owned(),
        bodies => bodies.iter().map(|body| body_name(*body)).collect::<Vec<_>>().join(" or "),
    };
    let (payment, look_up) = (told(row.payment), told_lookup(row.look_up));
    let statuses = statuses.join(", ");
    writeln!(page, "| {statuses} | {bodies} | {payment} | {look_up} | {} |", row.decision).unwrap();
}

/// A line for each phase, after a look at every fault whether these are the lies and no others.
fn lies() -> String {
    for phase in PHASES {
        for kind in kinds().into_iter().chain(every_status()) {
            let fact = what_happens(OperationName::Transaction, kind, phase);
            let has_status = matches!(kind, FaultKind::Status { .. } | FaultKind::Html { .. });
            let is_no = fact.told.outcome == Some(Outcome::Rejected);
            let described =
                has_status && is_no && fact.effect == Effect::of(phase) && phase != Phase::BeforeCommit;
            assert_eq!(fact.is_a_lie(), described, "{kind:?} in {phase:?}: the page must say so");
        }
    }
    let mut lines = String::new();
    for phase in [Phase::AfterCommit, Phase::Late] {
        let (name, books) = (phase.as_str(), books(Effect::of(phase)));
        let kinds = "`status` and `html` where the table above says `Rejected`";
        writeln!(lines, "| {kinds} | `{name}` | `Rejected` (4, 6 or 7) | {books} |").unwrap();
    }
    lines
}

fn every_status() -> impl Iterator<Item = FaultKind> {
    (200..=599).flat_map(|status| {
        let status = StatusCode::from_u16(status).unwrap();
        [FaultKind::Status { status }, FaultKind::Html { status }]
    })
}

fn told(told: Told) -> String {
    let outcome = told.outcome.map_or_else(|| "Ok".to_owned(), |outcome| format!("{outcome:?}"));
    format!("`{outcome}` ({})", told.exit_code)
}

fn told_lookup(told: Told) -> String {
    let ending = match told.outcome {
        None => "`Ok`",
        Some(Outcome::Rejected) => "`LookupError`, rejected",
        Some(_) => "`LookupError`",
    };
    format!("{ending} ({})", told.exit_code)
}

fn books(effect: Effect) -> &'static str {
    match effect {
        Effect::Never => "nothing",
        Effect::AtOnce => "it is done",
        Effect::WhenDelivered => "it is done once delivered",
        _ => unreachable!("there are three"),
    }
}

fn body_name(body: AnswerBody) -> &'static str {
    match body {
        AnswerBody::Refusal => "error body",
        AnswerBody::Foreign => "foreign or none",
        AnswerBody::Success => "claims success",
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
