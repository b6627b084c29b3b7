//! `payments journal accept-history`: a journal that was restored from an older copy, and what a person says about the lost time.
#![cfg(unix)]

use std::fs;
use std::process::Command;
use std::thread;

use crate::journal_reconcile::now;
use crate::prelude::*;

/// A journal with the key `kept`, restored from a copy after these keys were charged. Returns their transactions too.
fn restored<const N: usize>(keys: [&str; N]) -> (Workspace, [String; N]) {
    let workspace = Workspace::with_charge("kept");
    let copy = fs::read(workspace.journal()).unwrap();
    let ids = keys.map(|key| workspace.charge(key).paid_id());
    fs::write(workspace.journal(), copy).unwrap();
    (workspace, ids)
}

fn charges(workspace: &Workspace) -> usize {
    workspace.sandbox.gateway().ledger().entries().len()
}

#[test]
fn restored_copy_charges_nothing_until_a_person_says_what_was_sent_d49() {
    let (workspace, _) = restored(["lost"]);
    for key in ["lost", "new"] {
        workspace.charge(key).fails(5, "payments journal accept-history");
    }
    // What only reads shows what is there, and says that it may be old.
    for (line, code) in [("list", 0), ("show lost", 2), ("summary", 0), ("export", 0)] {
        let read = workspace.journals(line).exits(code);
        has(&read.stderr, ["a key that it does not show may have been charged: the journal"]);
        assert!(!read.stdout.contains("may be old"), "{read:?}");
    }
    // It must name the keys that were sent.
    workspace.journals("accept-history --by ada").exits(2);
    let ended = workspace.accept("Order,Key\n17,lost\n18,kept\n").exits(0);
    assert_eq!(ended.json(), json!({ "named": 2, "unknown": 1 }));
    assert_eq!(workspace.journals("list").stderr, "");
    workspace.charge("new").processed();
    workspace.charge("kept").exits(0);
    workspace.charge("lost").failed(5);
    assert_eq!(charges(&workspace), 3);
}

/// A sum without them looks as if less had been charged.
#[test]
fn lost_keys_are_found_by_their_reference_and_are_in_no_sum_d49() {
    let (workspace, [id]) = restored(["lost"]);
    workspace.accept("Key\nlost\n").exits(0);
    assert_eq!(workspace.journals("summary").json()["states"][4]["lost"], 1);
    let report = format!("Transaction ID,Amount,Reference,Date\n{id},10.50,lost,{}\n", now());
    let text = workspace.reconcile(report, "--output text").exits(5).stdout;
    has(text, ["lost  was sent in the lost time", &format!("  line 2  {id}  lost  10.50")]);
    has(
        workspace.journals("list --output text").stdout,
        ["at an unknown service: 1 intent, 0.00 and 1 unknown amount\n"],
    );
    workspace.journals(format!("resolve lost --processed {id}")).exits(0);
    let listed = workspace.journals("list --output text").stdout;
    let url = workspace.sandbox.base_url();
    has(
        listed,
        [
            "resolved (processed)             1 intent  0.00 and 1 unknown amount\n".to_owned(),
            format!("charged at {url}: 2 intents, 45.00 and 1 unknown amount\n"),
        ],
    );
}

/// A key that is cut, and those that are missing after it, would be charged again.
#[test]
fn accepted_file_without_the_end_of_its_last_line_is_refused_d49() {
    let workspace = Workspace::with_charge("order-1");
    for content in ["Key\norder-14\norder-1", "Key,Amount\norder-14,10\norder-15,10"] {
        let refused = workspace.accept(content).exits(2);
        has(refused.shown(), ["\"line\":3", "as if it had been cut"]);
    }
    assert_eq!(workspace.accept("Key\norder-14\n").json(), json!({ "named": 1, "unknown": 1 }));
}

/// That it reads the files which this command writes is tested with all of those files.
#[test]
fn accepted_keys_may_be_separated_by_semicolons_and_are_not_the_api_key_d49() {
    let workspace = Workspace::with_charge("kept");
    let refused = workspace.accept(format!("Key\n{KEY}\n")).exits(2);
    has(refused.shown(), ["must not hold the API key"]);
    refused.hides([KEY]);
    let accepted = workspace.accept("Order;Key;Amount\n17;another;1,50\n");
    assert_eq!(accepted.json(), json!({ "named": 1, "unknown": 1 }), "{accepted:?}");
    assert!(!workspace.export().contains(KEY));
}

#[test]
fn retry_reopens_nothing_that_may_have_been_charged_in_the_lost_time_d49() {
    let workspace = Workspace::open();
    let refuse = || workspace.arm(Fault::on(TOKENS).before_commit().status(StatusCode::TOO_MANY_REQUESTS));
    refuse();
    workspace.charge("refused").failed(4);
    workspace.accept("Key\nother\n").exits(0);
    refuse();
    workspace.charge("later").failed(4);
    let document = workspace.journals("retry --status 429").exits(5).json();
    assert_eq!((&document["reopened"]["count"], &document["unknown"]["count"]), (&json!(1), &json!(1)));
    workspace.charge("later").processed();
    workspace.charge("refused").failed(5);
}

const CONFIRM: &str = "journal resolve k --rejected --note declined --by ada";

/// A journal in which a person has said that `k` was rejected, and later that there was a loss.
fn rejected_before_a_loss() -> Workspace {
    let (workspace, _) = Workspace::with_lost(["k"]);
    workspace.run(CONFIRM).end().exits(0);
    workspace.accept("Key\nother\n").exits(0);
    workspace
}

#[test]
fn repeated_rejection_after_a_loss_is_refused_until_the_person_has_looked_d48_d49() {
    let workspace = rejected_before_a_loss();
    // Repeating it would allow the key to be sent again.
    let ended = workspace.run(CONFIRM).text().exits(5);
    begins(&ended.stderr, "OUTCOME UNKNOWN, do not run it again");
    has(&ended.stderr, ["find out about that time too"]);
    let not_processed = CONFIRM.replace("--rejected", "--not-processed");
    for again in [CONFIRM, &format!("{CONFIRM} --attempt 1"), &not_processed] {
        let error = workspace.run(again).end().failed_as(2, "already_resolved");
        has(
            error["message"].as_str().unwrap(),
            ["ada resolved k as rejected, and then it became unknown", "then give --replace unknown"],
        );
    }
    workspace.run(format!("{CONFIRM} --replace rejected")).end().failed_as(2, "changed_meanwhile");
    let rows = "Key,Verdict,Note\nk,rejected,declined\n";
    let error = workspace.resolving(rows).end().failed_as(2, "resolve_file");
    assert_eq!(error["violations"][0]["field"], "Revision", "{error}");
    assert_eq!(workspace.shown("k", "state"), json!("unknown"));
    workspace.charging("k", TOKEN_PAYMENT).with("--after-rejection").end().failed(5);
    assert_eq!(charges(&workspace), 1);
    workspace.run(format!("{CONFIRM} --replace unknown")).end().exits(0);
    assert_eq!(workspace.shown("k", "state"), json!("rejected"));
}

/// An exported row has the revision, so the person who fills it in has seen the key as it is now.
#[test]
fn exported_row_of_a_key_that_became_unknown_is_accepted_d48_d49() {
    let workspace = rejected_before_a_loss();
    workspace.run(format!("{CONFIRM} --replace rejected")).end().failed(5);
    let revision = workspace.shown("k", "revision");
    let rows = format!("Key,Attempt,Revision,Verdict,Note\nk,1,{revision},rejected,declined\n");
    workspace.resolving(rows).end().exits(0);
}

/// The way back from a loss: what the service knows is found there, and belongs to it from then on.
#[test]
fn lost_keys_are_resolved_at_their_service_d47_d49() {
    let (workspace, [one, two]) = restored(["one", "two"]);
    let accepted = workspace.accept("Key\none\ntwo\nthree\nfour\nfive\n");
    assert_eq!(accepted.json()["unknown"], 5, "{accepted:?}");
    let kept = workspace.shown("kept", "transaction_id").as_str().unwrap().to_owned();
    let refused = |rows: String, rule: &str| {
        has(&workspace.resolving(rows).end().wrong_rows()[0], [rule]);
    };
    refused(format!("Key,TransactionId,Note\none,{kept},\n"), "already belongs to kept");
    refused(
        "Key,TransactionId,Verdict,Note\nthree,,rejected,declined there\n".to_owned(),
        "cannot be resolved from a file: the entry of this key was lost, so the journal does not know its service: \
         name it, as for a call",
    );
    let found = format!(
        "Key,TransactionId,Verdict,Note\none,{one},processed,\ntwo,{two},processed,\nthree,,rejected,declined there\n"
    );
    workspace.resolving(found).end().exits(0);
    for key in ["one", "two", "three"] {
        assert!(workspace.shown(key, "service").is_string(), "{key}");
    }
    workspace.charge("one").exits(0);
    workspace.charge("three").failed(4);

    // A verdict without a lookup needs the name of the service.
    for (key, verdict) in [("four", "--processed txn_9 --unverified"), ("five", "--rejected --note declined")]
    {
        let resolve = || workspace.run(format!("journal resolve {key} --by ada {verdict}"));
        let nowhere = resolve().at("").end();
        nowhere.failed(2);
        has(nowhere.shown(), ["does not know its service"]);
        // A pipe can be read only once.
        let fifo = workspace.path(key);
        assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let writer = {
            let fifo = fifo.clone();
            thread::spawn(move || fs::write(fifo, KEY))
        };
        let run = resolve().env("PAYMENTS_API_KEY", "").with(["--api-key-file", &*fifo]);
        run.with("--merchant toys").end().exits(0);
        writer.join().unwrap().unwrap();
        assert!(workspace.shown(key, "service").as_str().unwrap().ends_with("#toys"));
        workspace.charge(key).failed(5);
    }
    assert_eq!(charges(&workspace), 3);
}

/// What a dry run counts would be charged again, and the run sends none of it.
#[test]
fn dry_run_of_a_restored_copy_is_refused_as_the_run_is_d49() {
    let workspace = Workspace::with_rows(1);
    workspace.bills("").ends(0, "processed");
    let copy = fs::read(workspace.journal()).unwrap();
    workspace.good(2);
    workspace.bills("").ends(0, "processed");
    fs::write(workspace.journal(), copy).unwrap();
    workspace.good(1);
    workspace.bills("").exits(0);
    let counted = workspace.bills("--dry-run").exits(0);
    begins(&counted.stderr, "WARNING: what this shows may be old");
    workspace.good(3);
    let charged = workspace.charged();
    workspace.bills("").stops(3, "unfinished", "journal");
    let refused = workspace.bills("--dry-run");
    let error = refused.fails(2, "lacks its newest entries");
    has(error["message"].as_str().unwrap(), ["payments journal accept-history"]);
    assert_eq!(refused.stderr, "", "it is said once");
    assert_eq!(workspace.charged(), charged);
    // Nor is a journal that is missing beside its witness a new one.
    fs::remove_file(workspace.journal()).unwrap();
    workspace.bills("--dry-run").fails(2, "put it back");
}

/// In the lost time, a person may have charged the rejected key after all.
#[test]
fn run_of_a_restored_copy_warns_that_a_rejection_may_be_old_d49() {
    let workspace = Workspace::open();
    workspace.tokens(&["tok_declined"]);
    workspace.bills("").ends(4, "rejected");
    let copy = fs::read(workspace.journal()).unwrap();
    workspace.charge("later").processed();
    fs::write(workspace.journal(), copy).unwrap();
    let ended = workspace.bills("").exits(4);
    has(&ended.stderr, ["what this shows may be old", "lacks its newest entries"]);
}

/// A key that a person has named for a lost time. A spreadsheet changes its spelling, and without the column Key, the reference was
/// the key.
#[test]
fn lost_key_in_another_spelling_or_as_a_reference_is_not_charged_again_d49() {
    let workspace = Workspace::with_charge("any");
    workspace.accept("Key\nInv-7\nR-77\n").exits(0);
    for (key, reference, lost) in [("inv-7", "rent", "Inv-7"), ("new-1", "R-77", "R-77")] {
        let rule = format!("which may have been sent in a lost time, is in the journal under the key {lost}");
        workspace.rows(format!("{key},tok_approved,45.00,false,{reference}\n"));
        for option in ["--dry-run", ""] {
            has(&workspace.bills(option).wrong_rows()[0], [&rule]);
        }
        let request = TOKEN_PAYMENT.replace('}', &format!(r#","ReferenceNo":"{reference}"}}"#));
        let error = workspace.charging(key, &request).end().failed_as(2, "same_payment");
        has(message(&error), [&rule]);
    }
    assert_eq!(workspace.requests(), 1);
}

/// A key that is named wrongly is new to the journal, and the right one is charged again.
#[test]
fn keys_that_a_spreadsheet_has_changed_are_not_accepted_d49_d53() {
    let workspace = Workspace::with_charge("1234567890123450");
    let charged = charges(&workspace);
    let wrong = "1234567890123460 | \"1,843\" | \"1.843.000\" | 1843.0 | 1843.00 | 1.23457E+15 | 1e5 | 'inv-5 | '17 | \
                 \"\"\"inv-5\"\"\" | `inv-5`";
    for wrong in wrong.split(" | ") {
        let refused = workspace.accept(format!("Key\nright\n{wrong}\n")).exits(2);
        has(refused.shown(), ["\"line\":3"]);
    }
    assert_eq!(workspace.journals("show right").code, Some(2), "nothing was written");
    for right in "0017 1234567890123456 inv-1,843 2026.10 1e5a E5 1.84 12345678901234567a inv'5".split(' ') {
        workspace.accept(format!("Key\n\"{right}\"\n")).exits(0);
    }
    // The journal has exactly this key.
    workspace.accept("Key\n1234567890123450\n").exits(0);
    // A shop may have such keys, and says so.
    let file = workspace.write("sent.csv", "Key\n1234567890123460\n\"1,843\"\n");
    let line = format!("accept-history --by ada --sent {file} --keys-are-exact");
    assert_eq!(workspace.journals(line).exits(0).json()["unknown"], 2);
    assert_eq!(charges(&workspace), charged);
}
