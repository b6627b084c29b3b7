//! `payments journal reconcile REPORT`.

#![allow(clippy::unwrap_used, reason = "a helper of a test fails the test as the test itself does")]

use std::fs;
use std::time::SystemTime;

use payments_core::OperationName;
use payments_fake::Fault;
use serde_json::{Value, json};

use crate::journaled_charges::Workspace;
use crate::support::Ended;

impl Workspace {
    fn file(&self, name: &str) -> String {
        self.journal().with_file_name(name).to_str().unwrap().to_owned()
    }

    fn token(&self, token: &str, key: &str, amount: &str) -> Ended {
        let request = format!(
            r#"{{"TokenId":"{token}","Amount":{amount},"ConvenienceFeeActive":false,"ReferenceNo":"{key}"}}"#
        );
        self.charging(key, &request).end()
    }

    /// A payment whose response is lost. Returns its transaction.
    fn lost(&self, key: &str, amount: &str) -> String {
        self.arm(Fault::response_lost(OperationName::TokenTransaction));
        assert_eq!(self.token("tok_approved", key, amount).code, Some(5));
        self.newest_id()
    }

    fn newest_id(&self) -> String {
        let ledger = self.sandbox.gateway().ledger();
        ledger.entries().last().unwrap().transaction_id().as_str().to_owned()
    }

    fn reconcile(&self, report: impl AsRef<[u8]>, arguments: &[&str]) -> Ended {
        let path = self.file("report.csv");
        fs::write(&path, report).unwrap();
        self.run(["journal", "reconcile", &path]).arguments(arguments.iter()).end()
    }

    /// The message of a refused report.
    #[track_caller]
    fn refused(&self, report: impl AsRef<[u8]>, arguments: &[&str]) -> String {
        let message = self.reconcile(report, arguments).refusal();
        assert!(message.contains("nothing was changed"), "{message}");
        message
    }
}

fn now() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}

fn found(ended: &Ended) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let document = ended.json();
    let proposals = document["proposals"].as_array().unwrap();
    proposals.iter().map(|it| (text(&it["key"]), text(&it["row"]["transaction_id"]))).collect()
}

#[test]
fn reconciled_keys_are_resolved_from_the_file_that_it_writes() {
    let workspace = Workspace::open();
    let [first, second] = [workspace.lost("@invoice-21", "10.50"), workspace.lost("invoice-22", "99.00")];
    workspace.token("tok_approved", "invoice-23", "7.25").processed();
    let third = workspace.newest_id();
    let time = now();
    let report = format!(
        "Transaction ID,Amount,Reference,Date,Status\n{first},10.50,@invoice-21,{time},Settled\n\
         {second},99.00,invoice-22,{time},FAILED\n{third},7.25,invoice-23,{time},Settled\n"
    );
    let out = workspace.file("found.csv");
    let statuses = ["--charged-status", "settled", "--declined-status", "failed", "--out", &out];
    let before = workspace.run(["journal", "list"]).end().stdout;
    let ended = workspace.reconcile(&report, &statuses).quiet(0);
    let document = ended.json();
    assert_eq!(document["proposals"][1]["verdict"], "rejected");
    assert_eq!((&document["foreign"], &document["undecided"]), (&json!([]), &json!([])), "{document}");
    assert_eq!(workspace.run(["journal", "list"]).end().stdout, before, "nothing was changed");
    let written = fs::read_to_string(&out).unwrap();
    let name = workspace.file("report.csv");
    assert_eq!(
        written,
        format!(
            "Key,Attempt,Revision,TransactionId,Verdict,Note\n\
             '@invoice-21,1,2,{first},processed,\"{name}, line 2\"\n\
             invoice-22,1,2,{second},rejected,\"{name}, line 3\"\n"
        )
    );
    workspace.reconcile(&report, &statuses).refused("exists");

    workspace.run(["journal", "resolve", "--from", &out]).end().quiet(0);
    assert_eq!(workspace.show("@invoice-21")["transaction_id"], first);
    assert_eq!(workspace.show("invoice-22")["state"], "rejected");
    let ended = workspace.reconcile(&report, &["--charged-status", "settled", "--output", "text"]);
    assert_eq!(
        (ended.code, &*ended.stdout),
        (Some(0), "nothing is unknown, and every charge is explained\n")
    );
}

/// A word that no column of statuses has is still a word.
#[test]
fn row_with_a_word_against_it_is_never_proposed() {
    let workspace = Workspace::open();
    let (id, time) = (workspace.lost("invoice-21", "10.50"), now());
    let report = |heading: &str, word: &str| {
        format!("Transaction ID,Amount,Reference,Date,{heading}\n{id},10.50,invoice-21,{time},{word}\n")
    };
    for heading in ["Payment Status", "Transaction status", "Settlement_Status", "Status Code"] {
        let message = workspace.refused(report(heading, "Declined"), &[]);
        assert!(message.contains("--charged-status") && message.contains("Declined (1)"), "{message}");
        assert_eq!(
            found(&workspace.reconcile(report(heading, "Approved"), &["--charged-status", "approved"])).len(),
            1
        );
    }
    for (heading, word, is_found) in [
        ("Type", "Sale", true),
        ("Type", "Refund", false),
        ("Remark", "customer asked for a refund", true),
        ("Outcome", "Failed", false),
        ("AVS Status", "N", true),
        ("Remark", "DECLINED", false),
        ("Refund Status", "Refunded", false),
        ("Refund Status", "", true),
    ] {
        let ended = workspace.reconcile(report(heading, word), &[]);
        assert_eq!(found(&ended).len(), usize::from(is_found), "{heading} {word}: {ended:?}");
        assert_eq!(ended.json()["unexplained"], json!([]), "{ended:?}");
    }
    // The status says that it was made, and another column that it was given back.
    for (word, is_found) in [("Refunded", false), ("Voided", false), ("payout pending", true)] {
        let report = format!(
            "Transaction ID,Amount,Reference,Date,Status,Note\n{id},10.50,invoice-21,{time},Approved,{word}\n"
        );
        let ended = workspace.reconcile(report, &["--charged-status", "approved"]);
        assert_eq!(found(&ended).len(), usize::from(is_found), "{word}: {ended:?}");
    }
    // A charge and its refund are no money that nobody explains.
    let both = format!("{}other,10.50,invoice-21,{time},Refund\n", report("Type", "Sale"));
    let ended = workspace.reconcile(both, &[]).exits(5);
    assert_eq!(ended.json()["unexplained"], json!([]), "{ended:?}");
}

#[test]
fn charge_of_a_rejected_key_is_written_and_resolved_d48() {
    let workspace = Workspace::open();
    assert_eq!(workspace.token("tok_declined", "invoice-21", "10.50").code, Some(4));
    let lost = workspace.lost("invoice-22", "10.50");
    let known = workspace.show("invoice-21")["transaction_id"].as_str().map(str::to_owned);
    // The report calls the declined payment charged.
    let id = known.unwrap_or_else(|| lost.clone());
    let (time, out) = (now(), workspace.file("found.csv"));
    let report = format!("TransactionId;Amount;Reference;Date\n{id};10,50;invoice-21;{time}\n");
    let ended = workspace.reconcile(&report, &["--out", &out]);
    assert_eq!(ended.code, Some(5), "5 comes before 8: {ended:?}");
    assert_eq!(ended.json()["unexplained"][0]["is_proposed"], true, "{ended:?}");
    workspace.run(["journal", "resolve", "invoice-22", "--not-processed", "--note", "not there"]).end();
    workspace.reconcile(&report, &[]).exits(8);
    assert!(fs::read_to_string(&out).unwrap().contains(&format!("invoice-21,1,2,{id},processed,")));
    workspace.run(["journal", "resolve", "--from", &out]).end().exits(0);
    assert_eq!(workspace.show("invoice-21")["transaction_id"], id);
    assert_eq!(workspace.reconcile(&report, &[]).code, Some(0));
}

#[test]
fn charged_rows_of_no_key_are_an_error_only_in_a_complete_journal() {
    let workspace = Workspace::open();
    workspace.token("tok_approved", "invoice-23", "7.25").processed();
    let report = format!("Id,Amount,Reference,Date\nt9,5.00,other,{}\n", now());
    let ended = workspace.reconcile(&report, &[]);
    assert_eq!((ended.code, &ended.json()["foreign"][0]["lines"]), (Some(0), &json!([2])));
    assert_eq!(workspace.reconcile(&report, &["--journal-is-complete"]).code, Some(8));
    // The same invoice, charged again by another program.
    let (id, time) = (workspace.newest_id(), now());
    let twice = format!("Id,Amount,Reference,Date\n{id},7.25,invoice-23,{time}\nt9,7.25,invoice-23,{time}\n");
    let ended = workspace.reconcile(&twice, &["--output", "text"]).exits(8);
    assert!(ended.stdout.contains("invoice-23  7.25  the journal says processed\n"), "{ended:?}");
}

#[test]
fn reports_are_read_as_processors_write_them() {
    let workspace = Workspace::open();
    let id = workspace.lost("invoice-21", "1210.50");
    let day = &now()[..10];
    let (year, month, day_of_month) = (&day[..4], &day[5..7], &day[8..]);
    for (report, arguments) in [
        (
            format!(
                "\u{feff}Txn-Id;Brutto;Order No.;Datum\r\n{id};1.210,50 €;invoice-21;{day_of_month}.{month}.{year}\r\n"
            ),
            &["--column", "id=Txn-Id,amount=brutto", "--column", "time=Datum,reference=Order No."][..],
        ),
        (
            format!("Transaction ID,Gross,Order,Created\n{id},\"$1,210.50\",invoice-21,{day}\n"),
            &["--zone", "UTC"],
        ),
        (
            format!(
                "Transaction ID,Amount,Reference,Date\n{id},1210.5,invoice-21,{month}/{day_of_month}/{year}\n"
            ),
            &["--dates", "mdy"],
        ),
    ] {
        let ended = workspace.reconcile(&report, arguments);
        assert_eq!(found(&ended), [("invoice-21".to_owned(), id.clone())], "{report} {ended:?}");
        assert_eq!(ended.code, Some(0));
    }
    let both = "Id,Amount,Reference,Date\nt1,1.00,r,05/11/2026\nt2,1.00,r,06/11/2026\n";
    assert!(
        workspace.refused(both, &[]).contains("the dates can be read in two ways: say --dates dmy or mdy")
    );
    let one = format!("{both}t3,1.00,r,23/11/2026\n");
    assert_eq!(workspace.reconcile(one, &[]).code, Some(5));
    let mixed = format!("{both}t3,1.00,r,23/11/2026\nt4,1.00,r,11/23/2026\n");
    assert!(workspace.refused(mixed, &[]).contains("two orders"));
}

#[test]
fn unreadable_row_may_be_any_payment_and_is_listed() {
    let workspace = Workspace::open();
    let id = workspace.lost("invoice-21", "10.50");
    let time = now();
    let heading = "Id,Amount,Reference,Date";
    for (line, is_in_the_way) in [
        (format!("t2,ten,invoice-21,{time}"), true),
        (format!("t2,10.50,#REF!,{time}"), true),
        ("t2,10.50,invoice-21,soon".to_owned(), true),
        (format!("t2,10,50,invoice-21,{time}"), true),
        (format!("t2,ten,invoice-99,{time}"), false),
        ("Total,10.50,,".to_owned(), false),
    ] {
        let report = format!("{heading}\n{id},10.50,invoice-21,{time}\n{line}\n");
        let ended = workspace.reconcile(&report, &[]);
        let document = ended.json();
        assert_eq!(document["unreadable"][0]["line"], 3, "{line} {document}");
        assert_eq!(ended.code, Some(if is_in_the_way { 5 } else { 0 }), "{line} {document}");
        if is_in_the_way {
            assert_eq!(document["undecided"][0]["why"], "unreadable_row", "{line} {document}");
        }
    }
}

#[test]
fn missing_columns_and_words_are_asked_for() {
    let workspace = Workspace::open();
    workspace.lost("invoice-21", "10.50");
    for (report, arguments, expected) in [
        ("A,Amount,Reference,Date\n", &[][..], "--column id=HEADING"),
        ("Id,Amount,Date\n", &[], "neither references nor last four digits"),
        ("Id,Amount,Gross,Reference,Date\n", &[], "several columns that may be the amount: Amount, Gross"),
        (
            "Id,Amount,Reference,Date\n",
            &["--column", "id=Nr"],
            "no column of the name that --column id gives",
        ),
        ("Id,Amount,Reference,Date\n", &["--charged-status", "ok"], "has no status"),
        (
            "Id,Amount,Reference,Date,Status\nt,1,r,2026-11-01,Paid\n",
            &[],
            "--charged-status which of its words mean that the money moved: Paid (1)",
        ),
        (
            "Id,Amount,Reference,Date,Status\nt,1,r,2026-11-01,Paid\n",
            &["--charged-status", "Paid,ok", "--declined-status", "Failed, OK"],
            "\"OK\" is a word of --charged-status and of --declined-status; nothing was changed",
        ),
        (
            "Id,Amount,Reference,Date\n4111111111111111,1,r,2026-11-01\n",
            &[],
            "must not be a card number; if it only looks like one, give --ids-are-not-cards",
        ),
    ] {
        let message = workspace.refused(report, arguments);
        assert!(message.contains(expected), "{message}");
        assert!(!message.contains("4111111111111111"), "{message}");
    }
    let other = workspace.reconcile("Id,Amount,Reference,Date\n", &["--service", "https://pay.example.com"]);
    other.failed(2);
    let journal = workspace.journal();
    let journal = journal.to_str().unwrap();
    workspace.run(["journal", "reconcile", journal]).end().failed(2);
    let taken = workspace.reconcile("Id,Amount,Reference,Date\n", &["--out", journal]);
    taken.failed(2);
}

#[test]
fn key_is_missing_only_within_the_days_that_the_report_has() {
    let workspace = Workspace::open();
    workspace.lost("invoice-21", "10.50");
    let day = |days: u64, is_before: bool| {
        let span = std::time::Duration::from_hours(24 * days);
        let time = if is_before { SystemTime::now() - span } else { SystemTime::now() + span };
        humantime::format_rfc3339_seconds(time).to_string()
    };
    let report = format!("Id,Amount,Reference,Date\nt9,5.00,other,{}\n", now());
    let (from, to) = (day(4, true), day(5, false));
    let ended = workspace.reconcile(&report, &["--complete-from", &from, "--complete-to", &to]);
    let document = ended.json();
    assert_eq!((ended.code, &document["missing"][0]["key"]), (Some(5), &json!("invoice-21")), "{document}");
    assert_eq!(workspace.reconcile(&report, &[]).json()["missing"], json!([]));
}
