//! `--journal PLACE --key KEY` on the commands that move money: each key is sent at most once.

use std::fs;
use std::thread;
use std::time::Duration;

use payments_fake::Fixtures;
use payments_model::Amount;
use serde_json::Value;

use crate::prelude::*;

#[test]
fn repeated_key_is_charged_once() {
    let workspace = Workspace::open();
    let first = workspace.charge("invoice-17");
    let id = first.paid_id();
    let document = first.json();
    assert_eq!((&document["key"], document.get("recorded")), (&"invoice-17".into(), None), "{document}");
    for _ in 0..2 {
        let again = workspace.charge("invoice-17").quiet(0);
        assert_eq!(
            again.stdout,
            format!(
                "{{\"outcome\":\"processed\",\"http_status\":null,\"data\":{{\"TransactionId\":\"{id}\"}},\
                 \"key\":\"invoice-17\",\"recorded\":true}}\n"
            )
        );
    }
    assert_eq!(workspace.requests(), 1);
    let text = workspace.charging("invoice-17", TOKEN_PAYMENT).text().stdout;
    begins(&text, "PROCESSED EARLIER, nothing was sent now\n");
    has(&text, ["invoice-17"]);
}

#[test]
fn every_operation_that_moves_money_takes_a_key_and_a_new_attempt_d44() {
    let workspace = Workspace::open();
    let declined = CARD_PAYMENT.replace("378282246310005", "4000000000000002").replace("7391", "739");
    workspace.creating("card").stdin(declined).end().failed(4);
    let again = workspace.creating("card").with("--after-rejection").stdin(authorization()).end();
    let id = again.paid_id();
    workspace.does("void txn_nothing --key void").failed(4);
    workspace.does(format!("void {id} --key void --after-rejection")).processed();
    workspace.creating("account").stdin(ach_payment()).end().processed();
    assert_eq!(workspace.requests(), 5);
    for run in [
        workspace.creating("card").stdin(authorization()),
        workspace.creating("account").stdin(ach_payment()),
        workspace.run(format!("void {id} --key void")),
    ] {
        assert_eq!(run.end().json()["recorded"], true);
    }
    assert_eq!(workspace.requests(), 5);
    holds(&workspace.show("card"), &json!({"card_ending": "0005", "transaction_id": id}));
    assert_eq!(workspace.shown("account", "subject"), "account");
    assert_eq!(workspace.shown("void", "voids"), id);

    // `secrets::journal` searches for codes and expiry dates, which other digits can match by chance.
    for secret in ["378282246310005", "000123456789", KEY] {
        workspace.assert_not_stored(secret);
    }
}

/// Somebody who is told that nothing moved pays again under another key.
#[test]
fn paid_key_that_contains_the_account_is_unknown_and_not_shown_d43() {
    let workspace = Workspace::open();
    let key = "debit-000123456789";
    workspace.creating(key).stdin(ach_payment()).end().failed_as(2, "secret_in_key");
    workspace.charge(key).processed();
    let ended = workspace.creating(key).stdin(ach_payment()).end();
    ended.failed_as(5, "secret_in_key");
    ended.hides(["000123456789"]);
    assert_eq!((&ended.json()["key"], workspace.requests()), (&Value::Null, 1));
}

#[test]
fn paid_key_with_another_request_is_unknown_and_names_the_transaction_d43() {
    let workspace = Workspace::open();
    let id = workspace.charge("invoice-17").paid_id();
    for other in [TOKEN_PAYMENT.replace("45.00", "45.01"), declined_payment()] {
        let ended = workspace.charging("invoice-17", &other).end();
        let error = ended.failed_as(5, "key_reused");
        let begun_at = workspace.shown("invoice-17", "begun_at");
        holds(&error, &json!({"transaction_id": id, "sent_at": begun_at}));
        has(message(&error), [format!("nothing was sent now: that one is already paid as transaction {id}")]);
        assert_eq!(ended.json()["key"], "invoice-17");
        begins(
            workspace.charging("invoice-17", &other).text().stderr,
            "KEY OF ANOTHER REQUEST, nothing was sent now: do not pay it another way (exit code 5)\n",
        );
        // The explicit call for a new attempt does not help either.
        let again = workspace.charging("invoice-17", &other).with("--after-rejection").end();
        again.failed_as(5, "key_reused");
    }
    assert_eq!(workspace.requests(), 1);
    workspace.sandbox.gateway().ledger().assert_charged_once(Amount::from_cents(45_00));
}

#[test]
fn second_card_after_a_decline_needs_after_rejection_d44() {
    let workspace = Workspace::open();
    let declined = declined_payment();
    let again = || workspace.charging("order-4711", TOKEN_PAYMENT).with("--after-rejection").end();
    has(message(&again().failed_as(2, "no_such_key")), ["nothing was sent"]);
    workspace.charging("order-4711", &declined).end().failed(4);

    // A plain call sends neither card again.
    assert_eq!(workspace.charging("order-4711", &declined).end().json()["recorded"], true);
    has(message(&workspace.charge("order-4711").failed_as(2, "key_reused")), ["that one moved no money"]);
    for (request, heading) in [
        (TOKEN_PAYMENT, "INVALID, nothing was sent (exit code 2)"),
        (&*declined, "REJECTED EARLIER, nothing was sent now (exit code 4)"),
    ] {
        let text = workspace.charging("order-4711", request).text().stderr;
        begins(&text, heading);
        has(&text, ["to make a new attempt with this key, give --after-rejection"]);
    }
    assert_eq!(workspace.requests(), 1);

    let id = again().paid_id();
    assert_eq!((again().paid_id(), workspace.requests()), (id, 2));
    assert_eq!(workspace.shown("order-4711", "attempts"), 2);
    workspace.sandbox.gateway().ledger().assert_charged_once(Amount::from_cents(45_00));
}

/// More of these messages are in docs/error-messages.md.
#[test]
fn key_and_journal_need_each_other() {
    let workspace = Workspace::open();
    let journal = workspace.path("billing.db");
    let charge =
        |options: &str| payments_at(workspace.sandbox.base_url(), CHARGE).with(options).stdin(TOKEN_PAYMENT);
    for (run, advice) in [
        (charge("").env("PAYMENTS_JOURNAL", &journal), "unset the variable"),
        (charge("--journal '' --key k"), "--journal"),
        (charge("--after-rejection"), "--key"),
    ] {
        has(run.end().refusal(), [advice, "nothing was sent"]);
    }
    assert!(!workspace.journal().exists(), "a refused command created a journal");
    // A secret is no key, and is not repeated.
    for (secret, kind) in [(KEY, "secret_in_key"), ("4111111111111111", "usage")] {
        let ended = workspace.charge(&format!("invoice-{secret}"));
        ended.failed_as(2, kind);
        ended.hides([secret]);
    }
    assert_eq!(workspace.requests(), 0);

    // The option overrides the variable, and an empty variable counts as unset.
    charge("").env("PAYMENTS_JOURNAL", "").end().processed();
    let overridden =
        workspace.charging("invoice-17", TOKEN_PAYMENT).env("PAYMENTS_JOURNAL", "/missing/journal");
    overridden.with(["--journal", &journal]).end().processed();
    assert_eq!(workspace.shown("invoice-17", "state"), "processed");
}

/// Longer than the store retries the write.
#[test]
fn outcome_is_recorded_after_a_long_lock_of_the_journal() {
    let workspace = Workspace::open();
    let (running, gate) = workspace.in_flight("invoice-17");
    let other = rusqlite::Connection::open(workspace.journal()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    gate.release();
    thread::sleep(Duration::from_secs(32));
    other.execute_batch("ROLLBACK").unwrap();
    let ended = running.end();
    ended.processed();
    assert_eq!(ended.json().get("journal"), None, "{ended:?}");
    assert_eq!(workspace.shown("invoice-17", "state"), "processed");
}

#[test]
fn dry_run_creates_no_journal() {
    let workspace = Workspace::open();
    let dry_run = |key: &str| workspace.charging(key, TOKEN_PAYMENT).with("--dry-run");
    assert_eq!(dry_run("invoice-17").end().json()["outcome"], "dry_run");
    // A refused request does not create one either.
    workspace.charging("invoice-17", "{}").end().failed(2);
    assert!(!workspace.journal().exists());
    // It says that the journal has the key, because a call with a paid key sends nothing.
    workspace.charge("paid").processed();
    assert_eq!(dry_run("paid").end().json()["is_key_recorded"], true);
    has(dry_run("paid").text().stdout, ["\nthe journal has this key: "]);
}

#[test]
fn unknown_outcome_stays_unknown_and_is_not_sent_again() {
    let workspace = Workspace::open();
    workspace.arm(Fault::response_lost(TOKENS));
    let request = TOKEN_PAYMENT.replace('}', r#","ReferenceNo":"invoice 17"}"#);
    let charging = || workspace.charging("invoice-17", &request);
    let first = charging().end();
    assert!(first.failed(5)["sent_at"].is_string(), "{first:?}");
    assert_eq!((&first.json()["key"], first.json().get("recorded")), (&"invoice-17".into(), None));

    let again = charging().end();
    let error = again.failed(5);
    assert_eq!(again.json()["recorded"], true);
    let shown = workspace.show("invoice-17");
    // Not the time of the first call, but of its request.
    assert_eq!((&error["kind"], &error["sent_at"]), (&shown["kind"], &shown["begun_at"]));
    has(&again.stdout, ["\"amount\":45.00", "\"reference\":\"invoice 17\""]);
    let text = charging().text().stderr;
    has(text, ["OUTCOME UNKNOWN, do not pay it another way", "then resolve the key", "invoice-17"]);
    assert_eq!(workspace.requests(), 1);
}

#[test]
fn rejection_keeps_its_exit_code_until_a_person_reopens_it() {
    let workspace = Workspace::open();
    let declined = declined_payment();
    workspace.charging("invoice-17", &declined).end().failed(4);
    let again = workspace.charging("invoice-17", &declined).end();
    again.failed(4);
    assert_eq!(again.json()["recorded"], true);
    for api_key in ["wrong_key", "wrong_key", KEY] {
        let run = workspace.charging("invoice-18", TOKEN_PAYMENT).env("PAYMENTS_API_KEY", api_key);
        assert_eq!(run.end().failed(6)["http_status"], 401);
    }
    let text = workspace.charging("invoice-18", TOKEN_PAYMENT).text().stderr;
    has(&text, ["payments journal retry --status 401"]);

    let retried = workspace.journals("retry --status 401,403").quiet(0);
    assert_eq!(retried.stdout, "{\"reopened\":{\"count\":1,\"sum\":45.00}}\n");
    assert_eq!(workspace.shown("invoice-18", "state"), "not_processed");
    workspace.charge("invoice-18").processed();
    workspace.charging("invoice-17", &declined).end().failed(4);
    assert_eq!(workspace.shown("invoice-18", "attempts"), 2);
}

/// Nor is it said that nothing was changed.
#[test]
fn key_with_all_notes_does_not_keep_the_others_from_a_retry() {
    let workspace = Workspace::open();
    let refused = |key: &str| {
        workspace.charging(key, TOKEN_PAYMENT).env("PAYMENTS_API_KEY", "wrong_key").end().failed(6);
    };
    ["a", "b", "c"].into_iter().for_each(refused);
    workspace.add_notes("b", 100);
    let error = workspace.journals("retry --status 401 --by ada --note fixed").failed(2);
    has(
        message(&error),
        ["2 intents were reopened; 1 intent was not: b has as many notes as the journal keeps"],
    );
    assert!(!message(&error).contains("nothing was changed"), "{error}");
    let states = || ["a", "b", "c"].map(|key| workspace.shown(key, "state"));
    assert_eq!(states(), ["not_processed", "rejected", "not_processed"]);
    refused("a");
    let text = workspace.journals("retry --status 401 --by ada --note fixed --output text").exits(2).stderr;
    begins(&text, "PARTLY DONE, it is safe to run it again (exit code 2)\n");
    has(&text, ["1 intent was reopened"]);
    // Nothing is done of it, and leaving out the note helps.
    let text = workspace.journals("retry --status 401 --by ada --note fixed --output text").exits(2).stderr;
    begins(&text, "INVALID, nothing was changed (exit code 2)\n");
    workspace.journals("retry --status 401 --by ada").exits(0);
    assert_eq!(states()[1], "not_processed");
}

#[test]
fn refusal_unrelated_to_the_payment_never_suggests_a_new_key() {
    let first = "REJECTED: fix the cause first (exit code ";
    let later = "REJECTED EARLIER, nothing was sent now (exit code ";
    let by_person = "fix the cause, then let a person reopen the key\n";
    for (status, code) in
        [(StatusCode::TOO_MANY_REQUESTS, 4), (StatusCode::METHOD_NOT_ALLOWED, 4), (StatusCode::NOT_FOUND, 7)]
    {
        let workspace = Workspace::open();
        workspace.arm(Fault::on(TOKENS).before_commit().status(status));
        let reopen = format!(
            "until a person allows it to be sent again: payments journal retry --status {}",
            status.as_u16()
        );
        for (heading, advice) in [(first, ""), (later, by_person)] {
            let ended = workspace.charging("invoice-17", TOKEN_PAYMENT).text();
            let text = ended.diagnostics();
            begins(text, format!("{heading}{code})"));
            has(text, [&*reopen, advice]);
            ended.hides(["new key", "new request"]);
        }
        assert_eq!(workspace.requests(), 1);
    }
}

#[test]
fn journal_that_cannot_be_created_sends_nothing_d43() {
    let workspace = Workspace::with_rows(1);
    workspace.write("file", "no folder");
    let other = workspace.write("other", "no database ".repeat(500));
    for name in ["file/billing.db", "other", "."] {
        let place = workspace.path(name);
        let run = workspace.charging("invoice-17", TOKEN_PAYMENT);
        let error = run.env("PAYMENTS_JOURNAL", &place).end().failed_as(5, "journal");
        assert_eq!(error.get("sent_at"), None, "{name}: {error}");
        workspace.billing("").env("PAYMENTS_JOURNAL", &place).end().failed_as(2, "journal");
    }
    assert_eq!(workspace.requests(), 0);
    assert_eq!(fs::read_to_string(other).unwrap(), "no database ".repeat(500));
}

#[cfg(unix)]
#[test]
fn unavailable_journal_is_unknown_because_an_earlier_call_may_have_paid_d43() {
    use std::os::unix::fs::PermissionsExt as _;

    let (workspace, _) = Workspace::with_lost(["invoice-17"]);
    let mode = |mode| fs::set_permissions(workspace.journal(), fs::Permissions::from_mode(mode)).unwrap();
    mode(0o644);
    let database = "postgres://ada@127.0.0.1:1/books";
    let (until_fixed, same_command) = (
        "so do not pay it another way; it fails again until that is fixed",
        "so run the same command again when the journal is available",
    );
    for (place, advice, heading) in [
        (&*workspace.path("billing.db"), until_fixed, "it will fail again until the cause is fixed"),
        (database, same_command, "run it again with the same key"),
    ] {
        let run = || workspace.charging("invoice-17", TOKEN_PAYMENT).env("PAYMENTS_JOURNAL", place);
        let error = run().end().failed_as(5, "journal");
        assert_eq!(error.get("sent_at"), None, "{error}");
        let advice = format!("nothing was sent now: an earlier call with this key may have paid, {advice}");
        assert!(message(&error).ends_with(&advice), "{error}");
        begins(
            run().text().stderr,
            format!(
                "NOT SENT NOW, and the journal cannot tell whether an earlier call has paid: {heading} (exit code 5)\n"
            ),
        );
    }
    mode(0o600);
    workspace.charge("invoice-17").failed(5);
    assert_eq!(workspace.requests(), 1);
}

#[test]
fn journal_password_is_never_shown() {
    let workspace = Workspace::open();
    let whole = "postgres://ada:hunter2@127.0.0.1:1/books";
    for url in [
        whole,
        "postgresql://ada@127.0.0.1:1/books?password=hunter2",
        "postgres://ada:hunter2",
        "postgres://ada:hunter2@/books?sslmode=nonsense",
    ] {
        let run =
            || workspace.charging("invoice-17", TOKEN_PAYMENT).env("PAYMENTS_JOURNAL", url).with("--verbose");
        for ended in [run().end(), run().text()] {
            assert!(matches!(ended.code, Some(2 | 5)), "{ended:?}");
            ended.hides(["hunter2"]);
        }
        let ended = payments(["journal", "list", "--journal", url]).end();
        assert!(matches!(ended.code, Some(2 | 3)), "{ended:?}");
        ended.hides(["hunter2"]);
    }
    assert_eq!(workspace.requests(), 0);
    let list = || payments(["journal", "list", "--journal", whole]);
    let warning = "every user of this machine can read the arguments of its processes";
    has(list().text().stderr, [warning]);
    has(list().end().stderr, [warning]);
}

#[test]
fn key_in_flight_is_in_progress_for_another_process() {
    let workspace = Workspace::open();
    let (first, gate) = workspace.in_flight("invoice-17");
    workspace.charge("invoice-17").failed_as(5, "in_progress");
    assert_eq!((workspace.requests(), workspace.shown("invoice-17", "state")), (1, "sending".into()));
    workspace.journals("resolve invoice-17 --not-processed --note gone").failed_as(2, "not_unknown");
    gate.release();
    first.end().processed();
    assert_eq!(workspace.charge("invoice-17").json()["recorded"], true);
    assert_eq!(workspace.requests(), 1);
}

#[cfg(unix)]
#[test]
fn outcome_that_cannot_be_recorded_is_reported_with_a_warning() {
    let declined = declined_payment();
    for (request, code, outcome) in [(TOKEN_PAYMENT, 0, "processed"), (&*declined, 4, "rejected")] {
        for shape in ["json", "text"] {
            let workspace = Workspace::open();
            let gate = workspace.hold_responses();
            let running = workspace.charging("invoice-17", request).with(["--output", shape]).start();
            block_on(gate.arrived());
            fs::remove_file(workspace.journal()).unwrap();
            gate.release();
            let ended = running.end().exits(code);
            has(
                &ended.stderr,
                [
                    "WARNING: the outcome could not be recorded in the journal, which will list the key as unknown",
                ],
            );
            if shape == "json" {
                let document = ended.json();
                assert_eq!((&document["outcome"], document.get("recorded")), (&outcome.into(), None));
                begins(document["journal"].as_str().unwrap(), "the outcome could not be recorded: ");
            }
        }
    }
}

#[cfg(unix)]
#[test]
fn first_signal_waits_for_the_response_and_records_it() {
    for signal in ["INT", "TERM", "HUP"] {
        let workspace = Workspace::open();
        let (mut running, gate) = workspace.in_flight("invoice-17");
        running.signal(signal);
        // The line on stderr comes before the response.
        begins(running.error_line(), format!("SIG{signal}: waiting for the response"));
        gate.release();
        let ended = running.end().exits(0);
        assert_eq!(ended.json()["outcome"], "processed", "{ended:?}");
        assert_eq!(workspace.shown("invoice-17", "state"), "processed");
    }
}

#[cfg(unix)]
#[test]
fn second_signal_or_kill_leaves_the_key_unresolved() {
    for signal in ["INT", "KILL"] {
        let workspace = Workspace::open();
        let (mut running, gate) = workspace.in_flight("invoice-17");
        if signal == "INT" {
            running.signal("INT");
            running.error_line();
        }
        running.signal(signal);
        let ended = running.end();
        if signal == "INT" {
            assert!(ended.failed_as(5, "interrupted")["sent_at"].is_string(), "{ended:?}");
            assert_eq!(ended.json()["key"], "invoice-17");
        }
        drop(gate);
        let list: Value = serde_json::from_str(&workspace.journals("list --unresolved").stdout).unwrap();
        holds(&list[0], &json!({"key": "invoice-17", "state": "unknown", "kind": "crash"}));
        workspace.charge("invoice-17").failed(5);
        assert_eq!(workspace.requests(), 1);
    }
}
/// The journal would keep and show it.
#[test]
fn key_token_and_reference_like_a_card_number_need_the_option_once_d52() {
    const LIKE_A_CARD: &str = "4539578763621486";
    let workspace = Workspace::open();
    let token = TOKEN_PAYMENT.replace("tok_approved", LIKE_A_CARD);
    let reference = TOKEN_PAYMENT.replacen('{', &format!(r#"{{"ReferenceNo":"{LIKE_A_CARD}","#), 1);
    for (key, request, rule) in [
        (LIKE_A_CARD, TOKEN_PAYMENT, "nothing was sent;"),
        ("k", &token, "TokenId must be a token of the service, never a card number; nothing was sent;"),
        ("k", &reference, "ReferenceNo must not contain a card number; nothing was sent;"),
    ] {
        for option in ["--dry-run", ""] {
            let refused = workspace.charging(key, request).with(option).end();
            has(refused.refusal(), [rule, "give --ids-are-not-cards"]);
            refused.hides([LIKE_A_CARD]);
        }
    }
    assert!(!workspace.journal().exists());
    assert_eq!(workspace.requests(), 0);
    for (key, request) in [(LIKE_A_CARD, TOKEN_PAYMENT), ("k", &reference)] {
        let first = workspace.charging(key, request).with("--ids-are-not-cards").end().paid_id();
        // It is in the journal.
        assert_eq!(workspace.charging(key, request).end().paid_id(), first);
        assert_eq!(workspace.shown(key, "state"), "processed");
    }
    workspace.charging("new", &reference).end().exits(2);
    assert_eq!(workspace.requests(), 2);
}

#[test]
fn ids_of_any_form_are_looked_up_voided_and_resolved_d41() {
    let ids = ["MC/2026/0001", "auth0|x", "a b", "50%", "ü-1", "a?b#c", "-x", "'x'"];
    let workspace = Workspace::open();
    let transactions: Vec<_> =
        ids.iter().map(|id| json!({"TransactionId": id, "Amount": 45.00, "TransactionType": 2})).collect();
    let fixtures = json!({ "transactions": transactions }).to_string();
    workspace.sandbox.gateway().load(&Fixtures::from_json(&fixtures).unwrap());
    for (id, number) in ids.iter().zip(0..) {
        let found = workspace.run("transaction get --").with([id]).end().processed();
        assert_eq!(found["TransactionId"], *id);

        let (lost, void) = (format!("lost-{number}"), format!("void-{number}"));
        workspace.lose_response(&lost);
        let resolve = ["journal", "resolve", &lost, &format!("--processed={id}"), "--note", "found"];
        workspace.does(resolve).exits(0);
        assert_eq!(workspace.shown(&lost, "transaction_id"), *id);
        let voided = workspace.does(["void", "--key", &void, "--", id]).processed();
        assert_eq!(voided["TransactionId"], *id);
        assert_eq!(workspace.shown(&void, "state"), "processed");
    }
    // No path can hold it, but the body of a void can.
    workspace.does("transaction get a/../b").refused("nothing was sent");
    assert_eq!(workspace.does("void --key void a/../b").failed(4)["reason"], "invalid transaction id");
}
