//! `payments journal reconcile REPORT`. Proposals are tested in payments-journal, how cells are read beside it.
#![cfg(unix)]

use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, SystemTime};

use crate::prelude::*;

impl Workspace {
    pub(crate) fn token(&self, token: &str, key: &str, amount: &str) -> Ended {
        let request = format!(
            r#"{{"TokenId":"{token}","Amount":{amount},"ConvenienceFeeActive":false,"ReferenceNo":"{key}"}}"#
        );
        self.charging(key, &request).end()
    }

    /// A payment whose response is lost. Returns its transaction.
    fn lost(&self, key: &str, amount: &str) -> String {
        self.arm(Fault::response_lost(TOKENS));
        self.token("tok_approved", key, amount).exits(5);
        self.last_id()
    }

    pub(crate) fn reconcile(&self, report: impl AsRef<[u8]>, options: &str) -> Ended {
        let path = self.write("report.csv", report);
        self.journals(format!("reconcile {path} {options}"))
    }

    /// Checks that a report is refused with a message that has these parts.
    #[track_caller]
    fn refused(&self, report: impl AsRef<[u8]>, options: &str, parts: &[&str]) {
        let ended = self.reconcile(report, options);
        has(ended.refusal(), parts.iter().chain(&["nothing was changed"]));
        ended.hides(["4111111111111111"]);
    }
}

fn at(time: SystemTime) -> String {
    humantime::format_rfc3339_seconds(time).to_string()
}

pub(crate) fn now() -> String {
    at(SystemTime::now())
}

/// A payment of 10.50 whose response is lost, with the key and reference `invoice-21`. Returns its transaction, and a time for a report.
fn lost_invoice() -> (Workspace, String, String) {
    let workspace = Workspace::open();
    let id = workspace.lost("invoice-21", "10.50");
    (workspace, id, now())
}

fn found(ended: &Ended) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let document = ended.json();
    let proposals = document["proposals"].as_array().unwrap();
    proposals.iter().map(|it| (text(&it["key"]), text(&it["row"]["transaction_id"]))).collect()
}

/// Each reader must know whether this command escaped the formulas of a file: a wrong answer changes these keys.
#[test]
fn keys_like_formulas_survive_each_file_that_is_written_and_read_d49() {
    const KEYS: [&str; 6] = ["+1", "-1a", "@1", "'=1", "'2", "1;=1"];
    let workspace = Workspace::with_charge("kept");
    let copy = fs::read(workspace.journal()).unwrap();
    let rows = (1..).zip(KEYS).map(|(number, key)| format!("{key},tok_approved,{number}.25,false,\n"));
    workspace.rows(rows.collect::<String>());
    let [results, out] = ["results.csv", "found.csv"].map(|name| workspace.path(name));
    workspace.bills(&format!("--results {results}")).exits(0);
    let mut report = "Transaction ID,Amount,Reference,Date\n".to_owned();
    let lost = KEYS.map(|key| format!("{key}-lost"));
    for (number, key) in (1..).zip(&lost) {
        let amount = format!("{number}.50");
        let id = workspace.lost(key, &amount);
        report.extend([format!("{id},{amount},{key},{}\n", now())]);
    }
    workspace.reconcile(&report, &format!("--out {out}")).quiet(0);
    let exported = |options: &str| BTreeSet::from_iter(workspace.exported(options));
    let (billed, lost) = (BTreeSet::from(KEYS.map(str::to_owned)), BTreeSet::from(lost));
    let export = workspace.write("export.csv", workspace.csv(""));
    let every = exported("");
    assert_eq!(every.len(), 1 + billed.len() + lost.len());
    let billing = workspace.path("rows.csv");
    for (file, keys) in [(&billing, &billed), (&results, &billed), (&out, &lost), (&export, &every)] {
        assert_eq!(exported(&format!("--run {file}")), *keys, "{file}");
    }
    workspace.journals(format!("resolve --by ada --from {out}")).exits(0);
    assert_eq!(exported("--state resolved"), lost);

    fs::write(workspace.journal(), copy).unwrap();
    let accept = format!("accept-history --by ada --keys-are-exact --sent {export} {out} {results}");
    workspace.journals(accept).exits(0);
    assert_eq!(exported(""), every);
}

#[test]
fn reconciled_keys_are_resolved_from_the_file_that_it_writes() {
    let workspace = Workspace::open();
    let [first, second] = [workspace.lost("@invoice-21", "10.50"), workspace.lost("invoice-22", "99.00")];
    let third = workspace.token("tok_approved", "invoice-23", "7.25").paid_id();
    let time = now();
    let report = format!(
        "Transaction ID,Amount,Reference,Date,Status\n{first},10.50,@invoice-21,{time},Settled\n\
         {second},99.00,invoice-22,{time},FAILED\n{third},7.25,invoice-23,{time},Settled\n"
    );
    let out = workspace.path("found.csv");
    let options = format!("--charged-status settled --declined-status failed --out {out}");
    let before = workspace.export();
    let document = workspace.reconcile(&report, &options).quiet(0).json();
    assert_eq!(document["proposals"][1]["verdict"], "rejected");
    assert_eq!((&document["foreign"], &document["undecided"]), (&json!([]), &json!([])), "{document}");
    assert_eq!(workspace.export(), before, "something was changed");
    let (name, service) = (workspace.path("report.csv"), workspace.sandbox.base_url());
    let begun = ["@invoice-21", "invoice-22"].map(|key| workspace.shown(key, "begun_at"));
    let begun = begun.each_ref().map(|time| time.as_str().unwrap());
    assert_eq!(
        workspace.read("found.csv"),
        format!(
            "Key,Attempt,Revision,TransactionId,Verdict,Note,Service,BegunAt,ReportRow\n\
             '@invoice-21,1,2,{first},processed,\"{name}, line 2\",{service},{},\
             Transaction ID: {first}; Amount: 10.50; Reference: @invoice-21; Date: {time}; Status: Settled\n\
             invoice-22,1,2,{second},rejected,\"{name}, line 3\",{service},{},\
             Transaction ID: {second}; Amount: 99.00; Reference: invoice-22; Date: {time}; Status: FAILED\n",
            begun[0], begun[1]
        )
    );
    // Nobody has touched it, and the next run replaces it; a person's edits are kept.
    let written = workspace.read("found.csv");
    workspace.reconcile(&report, &options).quiet(0);
    let edited = written.replace("line 3", "line 3, and by telephone");
    workspace.write("found.csv", &edited);
    workspace.reconcile(&report, &options).refused("exists");
    assert_eq!(workspace.read("found.csv"), edited);
    // What the report has beside it would be overlooked.
    for (of, verdict) in [(&first, "processed"), (&second, "rejected")] {
        let denied = written.replace(&format!("{of},{verdict}"), ",not processed");
        workspace.write("found.csv", &denied);
        let ended = workspace.journals(format!("resolve --from {out} --dry-run"));
        has(
            &ended.wrong_rows()[0],
            ["Verdict is not processed, and the report has this row, which may be its payment"],
        );
        let line = denied.lines().find(|line| line.contains(&format!("Transaction ID: {of}"))).unwrap();
        let emptied = line.split_once("Transaction ID").unwrap().0;
        workspace.write("found.csv", denied.replace(line, emptied));
        workspace.journals(format!("resolve --from {out} --dry-run")).exits(0);
    }
    workspace.write("found.csv", written);

    workspace.journals(format!("resolve --from {out}")).quiet(0);
    assert_eq!(workspace.shown("@invoice-21", "transaction_id"), first);
    assert_eq!(workspace.shown("invoice-22", "state"), "rejected");
    let ended = workspace.reconcile(&report, "--charged-status settled --output text").exits(0);
    assert_eq!(ended.stdout, "nothing is unknown, and every charge is explained\n");
}

/// Undoing them gives back what was rightly charged.
#[test]
fn amounts_of_a_wrong_column_are_no_charges_to_undo() {
    let workspace = Workspace::open();
    let paid = ["1", "2", "3", "4"].map(|key| workspace.token("tok_approved", key, "10.50").paid_id());
    let advice = |amounts: &[&str]| {
        let row = |(row, amount)| format!("{},{amount},{row},{}\n", paid[row], now());
        let rows: String = amounts.iter().enumerate().map(row).collect();
        let foreign = format!("txn_1,1.00,other,{0}\ntxn_2,1.00,more,{0}\n", now());
        let report = format!("Transaction ID,Amount,Reference,Date\n{rows}{foreign}");
        workspace.reconcile(report, "--output text").exits(8).stdout
    };
    let wrong_column = "is it after a fee, or in cents? --column amount=HEADING names another";
    has(advice(&["10.20", "1050"]), [wrong_column]);
    has(advice(&["10.20", "10.50"]), ["undo what is wrong"]);
    // The column is right: two rows agree.
    has(advice(&["105.00", "105.00", "10.50", "10.50"]), ["undo what is wrong"]);
}

/// Taking it for proof that nothing was charged would charge twice.
#[test]
fn report_that_ends_before_a_payment_says_so() {
    let workspace = Workspace::open();
    workspace.lost("one", "10.50");
    let explained = |time: SystemTime| {
        let report = format!("Transaction ID,Amount,Reference,Date\ntxn_1,3.00,other,{}\n", at(time));
        workspace.reconcile(report, "--output text").exits(5).stdout
    };
    let [before, after] =
        [SystemTime::now() - Duration::from_mins(1), SystemTime::now() + Duration::from_mins(1)];
    has(explained(before), ["one  10.50  was sent after the newest row of this report: export a later one"]);
    has(explained(after), ["one  10.50  no row agrees in amount"]);
}

/// Who reads that no row agrees may believe that nothing was charged, and send it again.
#[test]
fn row_whose_reference_a_spreadsheet_has_changed_is_shown() {
    let workspace = Workspace::open();
    let id = workspace.lost("0017", "10.50");
    let report = format!("Transaction ID,Amount,Reference,Date\n{id},10.50,17,{}\n", now());
    let text = workspace.reconcile(&report, "--output text").exits(5).stdout;
    has(
        &text,
        [
            "0017  10.50  a row has its amount and time, and another reference or card".to_owned(),
            format!("  line 2  {id}  17  10.50"),
        ],
    );
    let open = &workspace.reconcile(&report, "").exits(5).json()["undecided"][0];
    assert_eq!(
        (&open["why"], &open["candidates"][0]["transaction_id"]),
        (&Value::from("no_row"), &Value::from(id))
    );
}

/// A declined payment would be proposed as charged, and nobody would know that its column was not read.
#[test]
fn columns_beside_an_unknown_status_are_named() {
    let (workspace, id, time) = lost_invoice();
    let report =
        |status: &str| format!("Nummer;Betrag;Referenz;Tag;Zustand\n{id};10,50;invoice-21;{time};{status}\n");
    let columns = "--column id=Nummer,amount=Betrag,reference=Referenz,time=Tag,status= --output text";
    let text = workspace.reconcile(report("Abgelehnt"), columns).exits(0).stdout;
    has(&text, ["NO STATUS, so every row counts as charged\n  not read: Zustand\n  does one of these say"]);
    let json = workspace.reconcile(report("Abgelehnt"), &columns.replace("text", "json")).exits(0).json();
    assert_eq!(json["unread_columns"], serde_json::json!(["Zustand"]));
    let status = "--column status=Zustand --charged-status Gebucht --declined-status Abgelehnt";
    let text = workspace.reconcile(report("Abgelehnt"), &format!("{columns} {status}")).exits(0).stdout;
    has(&text, ["invoice-21  10.50  rejected: line 2"]);
    assert!(!text.contains("NO STATUS"), "{text}");
}

/// One that is left out would be the one that means a charge.
#[test]
fn every_unnamed_status_is_shown() {
    let workspace = Workspace::open();
    workspace.charge("paid").exits(0);
    let time = now();
    let report = |statuses: u32| {
        let rows =
            (0..statuses).map(|number| format!("txn_{number},1.00,order-{number},{time},Word{number:03}\n"));
        format!("Transaction ID,Amount,Reference,Date,Status\n{}", rows.collect::<String>())
    };
    let ended = workspace.reconcile(report(16), "--charged-status Settled");
    assert_eq!(ended.json()["unnamed_statuses"].as_object().unwrap().len(), 16);
    let shown = "Word014 (1), Word015 (1)";
    has(workspace.reconcile(report(16), "--charged-status Settled --output text").stdout, [shown]);
    workspace.refused(report(16), "", &[shown]);
    workspace.refused(report(103), "", &["Word099 (1) and 3 more: is it a column of statuses?"]);
}

/// Else an unexplained charge would pass for none, and a payment that is in the report for one that stays unknown.
#[test]
fn misspelled_or_unnamed_status_is_no_all_clear() {
    let workspace = Workspace::open();
    let first = workspace.token("tok_approved", "invoice-23", "7.25").paid_id();
    let time = now();
    let report = |second: &str| {
        format!(
            "Transaction ID,Amount,Reference,Date,Status\n{first},7.25,invoice-23,{time},Settled\n\
             txn_second,7.25,invoice-23,{time},{second}\n"
        )
    };
    workspace.reconcile(report("Settled"), "--charged-status settled").exits(8);
    let misspelled = workspace.reconcile(report("Settled"), "--charged-status setled --output text").exits(2);
    let shown = "STATUS THAT NOBODY HAS NAMED, so its rows decide nothing\n  \
                 a status with the words Settled (2)\n  no row has the word setled, which an option names\n";
    assert!(misspelled.stdout.contains(shown), "{}", misspelled.stdout);
    assert!(!misspelled.stdout.contains("every charge is explained"), "{}", misspelled.stdout);
    let pending = workspace.reconcile(report("Pending"), "--charged-status settled").quiet(0).json();
    assert_eq!(pending["doubtful"][0]["lines"], json!([3]), "{pending}");
    assert_eq!(pending["unnamed_statuses"], json!({"Pending": 1}), "{pending}");
    // One of several words may be that of another day.
    for (report, options, code) in [
        (report("Settled"), "--charged-status settled,captured --declined-status failed", 8),
        (report("Pending"), "--charged-status settled,captured --declined-status failed", 0),
        (report("Settled"), "--charged-status setled,captured --declined-status failed", 2),
        (report("Failed"), "--charged-status setled --declined-status failed", 2),
    ] {
        workspace.reconcile(&report, options).exits(code);
    }
    workspace.lost("invoice-24", "1.00");
    workspace.reconcile(report("Settled"), "--charged-status setled").exits(5);
}

/// `status_words.rs` has every heading and word; here is one of each kind.
#[test]
fn row_with_a_word_against_it_is_never_proposed() {
    let (workspace, id, time) = lost_invoice();
    let report = |heading: &str, cells: &str| {
        format!("Transaction ID,Amount,Reference,Date,{heading}\n{id},10.50,invoice-21,{time},{cells}\n")
    };
    // Columns that say what happened in other words.
    for (heading, word) in [("Settlement_Status", "Declined"), ("Estado", "Rechazado"), ("Result code", "05")]
    {
        workspace.refused(report(heading, word), "", &["--charged-status", &format!("{word} (1)")]);
    }
    let approved = "--charged-status approved";
    for (heading, cells, options, is_found) in [
        ("Payment Status", "Approved", approved, true),
        ("Outcome", "Rechazado", approved, false),
        ("Type", "Sale", "", true),
        ("Type", "Refund", "", false),
        ("Paid,Failure Message", "FALSE,Your card was declined.", "", false),
        ("Captured,Paid,Failure Message", "TRUE,TRUE,", "", true),
        // The status says that it was made, and another column that it was given back.
        ("Status,Note", "Approved,Voided", approved, false),
        ("Status,Note", "Approved,payout pending", approved, true),
    ] {
        let ended = workspace.reconcile(report(heading, cells), options);
        assert_eq!(found(&ended).len(), usize::from(is_found), "{heading} {cells}: {ended:?}");
        assert_eq!(ended.json()["unexplained"], json!([]), "{ended:?}");
    }
    // Two columns that may say it.
    let both = report("Status,Outcome", "Settled,Unsuccessful");
    workspace.refused(
        &both,
        approved,
        &["several columns that may be the status: Status, Outcome", "--column status=HEADING"],
    );
    let named = "--column status=Status --charged-status settled";
    assert_eq!(found(&workspace.reconcile(&both, named)).len(), 0);
    let fine = report("Status,Outcome,Paid", "Settled,ok,FALSE");
    assert_eq!(found(&workspace.reconcile(fine, named)).len(), 0);
    workspace.refused(
        report("Status", "Partially refunded"),
        "--charged-status 'Settled,Partially refunded'",
        &["of --charged-status says that no money moved, or was given back"],
    );
    let pending =
        workspace.reconcile(report("Status", "Pending settlement"), "--charged-status 'pending settlement'");
    assert_eq!(found(&pending).len(), 1);
    // A charge and its refund are no unexplained money.
    let both = format!("{}other,10.50,invoice-21,{time},Refund\n", report("Type", "Sale"));
    assert_eq!(workspace.reconcile(both, "").exits(5).json()["unexplained"], json!([]));
}

#[test]
fn charge_of_a_rejected_key_is_written_and_resolved_d48() {
    let workspace = Workspace::open();
    workspace.token("tok_declined", "invoice-21", "10.50").exits(4);
    let lost = workspace.lost("invoice-22", "10.50");
    let known = workspace.shown("invoice-21", "transaction_id").as_str().map(str::to_owned);
    // The report calls the declined payment charged.
    let id = known.unwrap_or(lost);
    let report = format!("TransactionId;Amount;Reference;Date\n{id};10,50;invoice-21;{}\n", now());
    let out = workspace.path("found.csv");
    // 5 comes before 8.
    let ended = workspace.reconcile(&report, &format!("--out {out}")).exits(5);
    assert_eq!(ended.json()["unexplained"][0]["is_proposed"], true, "{ended:?}");
    workspace.journals("resolve invoice-22 --not-processed --note 'not there'").exits(0);
    workspace.reconcile(&report, "").exits(8);
    has(workspace.read("found.csv"), [format!("invoice-21,1,2,{id},processed,")]);
    workspace.journals(format!("resolve --from {out}")).exits(0);
    assert_eq!(workspace.shown("invoice-21", "transaction_id"), id);
    workspace.reconcile(&report, "").exits(0);
}

/// A refund or a dispute of a second charge does not explain it.
#[test]
fn second_charge_is_an_alarm_whatever_another_column_says() {
    let workspace = Workspace::open();
    let id = workspace.token("tok_approved", "inv-3", "20.00").paid_id();
    let time = now();
    let report = |headings: &str, own: &str, again: &str| {
        format!(
            "Transaction ID,Amount,Reference,Date,{headings}\n{id},20.00,inv-3,{time},{own}\n\
             txn_dup,20.00,inv-3,{time},{again}\n"
        )
    };
    for (heading, own, again, against) in [
        ("Amount Refunded", "0.00", "1.00", Some("\"Amount Refunded\": yes")),
        ("Refundable", "No", "Yes", None),
        ("Note", "", "pending", Some("Note: pending")),
        ("Paid", "Yes", "No", Some("Paid: no")),
    ] {
        let [heading, own, again] =
            [("Status", heading), ("settled", own), ("settled", again)].map(|(a, b)| format!("{a},{b}"));
        let ended = workspace.reconcile(report(&heading, &own, &again), "--charged-status settled").exits(8);
        let row = &ended.json()["unexplained"][0]["rows"][1];
        assert_eq!((&row["status"], row["against"].as_str()), (&json!("settled"), against), "{ended:?}");
    }
    workspace.reconcile(report("Disputed", "No", "Yes"), "").exits(8);
    // Without a status the type says what the row is, and a person sees it.
    let document = workspace.reconcile(report("Type", "Sale", "Refund"), "").exits(0).json();
    assert_eq!(document["doubtful"][0]["against"], "Type: refund", "{document}");
}

/// A person must see the second charge, whose status nobody has named, and the row that contradicts the journal.
#[test]
fn what_contradicts_a_processed_key_is_shown() {
    let workspace = Workspace::open();
    let id = workspace.token("tok_approved", "invoice-23", "7.25").paid_id();
    let time = now();
    let report = |rows: &[(&str, &str, &str)]| {
        let rows =
            rows.iter().map(|(id, amount, status)| format!("{id},{amount},invoice-23,{time},{status}\n"));
        format!("Transaction ID,Amount,Reference,Date,Status\n{}", rows.collect::<String>())
    };
    let settled = "--charged-status Settled --declined-status Declined";
    let own = (&*id, "7.25", "Settled");
    for (rows, doubtful, code) in [
        (&[own][..], 0, 0),
        (&[own, ("other", "7.25", "Captured")], 1, 0),
        (&[own, ("other", "7.25", "Refunded")], 0, 0),
        (&[own, ("other", "7.25", "Settled")], 0, 8),
        (&[(&id, "72.50", "Settled")], 0, 8),
        (&[(&id, "7.25", "Declined")], 0, 8),
    ] {
        let ended = workspace.reconcile(report(rows), settled).exits(code);
        let shown = ended.json()["doubtful"].as_array().unwrap().len();
        assert_eq!(
            (shown, ended.json()["unexplained"].as_array().unwrap().len()),
            (doubtful, usize::from(code == 8))
        );
    }
}

#[test]
fn charged_rows_of_no_key_are_an_error_only_in_a_complete_journal() {
    let workspace = Workspace::open();
    let id = workspace.token("tok_approved", "invoice-23", "7.25").paid_id();
    let time = now();
    let report = format!("Id,Amount,Reference,Date\nt9,5.00,other,{time}\n");
    let ended = workspace.reconcile(&report, "").exits(0);
    assert_eq!(ended.json()["foreign"][0]["lines"], json!([2]));
    workspace.reconcile(&report, "--journal-is-complete").exits(8);
    // The same invoice, charged again by another program.
    let twice = format!("Id,Amount,Reference,Date\n{id},7.25,invoice-23,{time}\nt9,7.25,invoice-23,{time}\n");
    let ended = workspace.reconcile(&twice, "--output text").exits(8);
    let unread = workspace.run(format!("journal reconcile {} --output json", workspace.path("report.csv")));
    unread.end_unread().exits(8);
    has(&ended.stdout, ["invoice-23  7.25  the journal says processed\n"]);
}

#[test]
fn reports_are_read_as_processors_write_them() {
    let workspace = Workspace::open();
    let id = workspace.lost("invoice-21", "1210.50");
    let today = &now()[..10];
    let (year, month, day) = (&today[..4], &today[5..7], &today[8..]);
    for (report, options) in [
        (
            format!(
                "\u{feff}Txn-Id;Brutto;Order No.;Datum\r\n{id};1.210,50 €;invoice-21;{day}.{month}.{year}\r\n"
            ),
            "--column id=Txn-Id,amount=brutto --column 'time=Datum,reference=Order No.'",
        ),
        (
            format!("Transaction ID,Gross,Order,Created\n{id},\"$1,210.50\",invoice-21,{today}\n"),
            "--zone UTC",
        ),
        (
            format!("Transaction ID,Amount,Reference,Date\n{id},1210.5,invoice-21,{month}/{day}/{year}\n"),
            "--dates mdy",
        ),
    ] {
        let ended = workspace.reconcile(&report, options).exits(0);
        assert_eq!(found(&ended), [("invoice-21".to_owned(), id.clone())], "{report} {ended:?}");
    }
    let both = "Id,Amount,Reference,Date\nt1,1.00,r,05/11/2026\nt2,1.00,r,06/11/2026\n";
    workspace.refused(
        both,
        "",
        &["the dates can be read in two ways; nothing was changed: say --dates dmy or mdy"],
    );
    let one = format!("{both}t3,1.00,r,23/11/2026\n");
    workspace.reconcile(&one, "").exits(5);
    workspace.refused(format!("{one}t4,1.00,r,11/23/2026\n"), "", &["two orders"]);
}

#[test]
fn unreadable_row_may_be_any_payment_and_is_listed() {
    let (workspace, id, time) = lost_invoice();
    for (line, is_in_the_way) in [
        (format!("t2,ten,invoice-21,{time}"), true),
        (format!("t2,10.50,#REF!,{time}"), true),
        ("t2,10.50,invoice-21,soon".to_owned(), true),
        (format!("t2,10,50,invoice-21,{time}"), true),
        (format!("t2,ten,invoice-99,{time}"), false),
        ("Total,10.50,,".to_owned(), false),
    ] {
        let report = format!("Id,Amount,Reference,Date\n{id},10.50,invoice-21,{time}\n{line}\n");
        let ended = workspace.reconcile(&report, "").exits(if is_in_the_way { 5 } else { 0 });
        let document = ended.json();
        assert_eq!(document["unreadable"][0]["line"], 3, "{line} {document}");
        let why = document["undecided"][0]["why"].as_str();
        assert_eq!(why, is_in_the_way.then_some("unreadable_row"), "{line} {document}");
    }
}

#[test]
fn missing_columns_and_words_are_asked_for() {
    let (workspace, ..) = lost_invoice();
    let header = "Id,Amount,Reference,Date";
    let paid = format!("{header},Status\nt,1,r,2026-11-01,Paid");
    for (report, options, expected) in [
        ("A,Amount,Reference,Date", "", "--column id=HEADING"),
        ("Id,Amount,Date", "", "neither references nor last four digits"),
        ("Id,Amount,Gross,Reference,Date", "", "several columns that may be the amount: Amount, Gross"),
        // Everything at once, and one instruction.
        (
            "Nr,Amount,Gross,Datum,Card",
            "--charged-status ok",
            "the report has no column that is known to be the id; several columns that may be the amount: Amount, Gross; no column \
             that is known to be the time; no column that is known to be the status; its headings are Nr, Amount, Gross, Datum, \
             Card; recognized: last-four=Card; nothing was changed: say which is which with payments journal reconcile ",
        ),
        (
            "Nr,Amount,Gross,Datum,Card",
            "--charged-status ok",
            "report.csv --charged-status ok --column id=HEADING --column amount=HEADING --column time=HEADING --column status=HEADING",
        ),
        // The words of the status with the unknown columns.
        (
            "Id,Amount,Reference,Settlement Date,Status\nt,1,r,2026-11-01,Settled\nt,1,r,2026-11-01,Declined\nu,1,r,x,Settled",
            "",
            "the report has no column that is known to be the time (\"Settlement Date\" may be days later: if it is the only one, give \
             --within too); a status with the words Declined (1), Settled (2); its headings are",
        ),
        (
            "Id,Amount,Reference,Settlement Date,Status\nt,1,r,2026-11-01,Settled",
            "",
            "report.csv --column 'time=Settlement Date' --charged-status WORD,… --declined-status WORD,…",
        ),
        (
            "A",
            "--column time=B",
            "no column of the name that --column time gives; neither references nor last four digits, of which it needs one; its headings \
             are A; recognized: none of them; nothing was changed: say which is which with payments journal reconcile ",
        ),
        // Without it the journal could be an older copy.
        (
            "Nr,Amount,Reference,Date",
            "--witness /mnt/witness.db",
            "report.csv --column id=HEADING --witness /mnt/witness.db",
        ),
        (header, "--column id=Nr", "no column of the name that --column id gives"),
        (header, "--charged-status ok", "has no column that is known to be the status"),
        (&paid, "", "a status with the words Paid (1); nothing was changed: say with --charged-status"),
        (
            &paid,
            "--charged-status Paid,ok --declined-status 'Failed, OK'",
            "\"OK\" is a word of --charged-status and of --declined-status",
        ),
        // As where the two options are mixed up.
        (
            &paid,
            "--charged-status ok --declined-status 'Failed, Fully paid'",
            "\"Fully paid\" of --declined-status says that the money moved",
        ),
        (
            &paid,
            "--charged-status 'Nicht bezahlt'",
            "\"Nicht bezahlt\" of --charged-status says that no money moved",
        ),
        (
            &paid,
            "--charged-status Abgelehnt --declined-status Storno",
            "\"Abgelehnt\" of --charged-status says that no money moved",
        ),
        (
            &paid,
            "--charged-status Storno --declined-status Bezahlt",
            "\"Bezahlt\" of --declined-status says that the money moved",
        ),
        (
            &format!("{header}\n4111111111111111,1,r,2026-11-01"),
            "",
            "must not be a card number; if it only looks like one, give --ids-are-not-cards",
        ),
    ] {
        workspace.refused(format!("{report}\n"), options, &[expected]);
    }
    let journal = workspace.path("billing.db");
    for options in ["--service https://pay.example.com", &format!("--out {journal}")] {
        workspace.reconcile(header, options).failed(2);
    }
    workspace.journals(format!("reconcile {journal}")).failed(2);
}

/// The command that is ready to paste is printed and logged, so it must not repeat a password.
#[test]
fn password_of_an_option_is_not_in_the_command_to_paste() {
    let workspace = Workspace::open();
    let report = workspace.write("report.csv", "Id,Amount,Reference,Datum\n");
    let options = "--journal postgres://bob:hunter2@127.0.0.1:9/billing --zone -05:30 \
                   --within 36h --service https://pay.example.com --charged-status 'Settled,In full' --ids-are-not-cards";
    let expected = format!(
        "say which is which with payments journal reconcile {report} --zone -05:30 --within 36h \
         --service https://pay.example.com --charged-status 'Settled,In full' --ids-are-not-cards --column time=HEADING --column status=HEADING --journal PLACE"
    );
    for output in ["json", "text"] {
        let ended =
            workspace.does(format!("journal reconcile {report} {options} --output {output}")).exits(2);
        ended.hides(["hunter2"]);
        has(ended.shown(), [&expected]);
    }
}

/// These say when the payment was made; a settlement or a posting can be days later.
#[test]
fn time_is_known_by_its_heading_and_the_last_name_of_a_column_counts() {
    let (workspace, id, time) = lost_invoice();
    let report = |heading: &str| format!("Id,Amount,Reference,{heading}\n{id},10.50,invoice-21,{time}\n");
    for heading in ["Processed At", "ProcessedAt", "processed_at", "Processed"] {
        assert_eq!(found(&workspace.reconcile(report(heading), "")).len(), 1, "{heading}");
    }
    for heading in ["Settled At", "Settlement Date", "Posted", "posted_at"] {
        let quote = if heading.contains(' ') { "'" } else { "" };
        let named = format!("--column {quote}time={heading}{quote}");
        workspace.refused(report(heading), "", &[&named]);
        let ended = workspace.reconcile(report(heading), &format!("--column time=Mistyped {named}"));
        assert_eq!(found(&ended).len(), 1, "{heading}");
    }
    // Days later, so a row with only this would not be found.
    let late = at(SystemTime::now() + Duration::from_hours(72));
    for later in ["Posted", "Posted At", "Processed", "Processed At"] {
        let report = format!("Id,{later},Amount,Reference,Date\n{id},{late},10.50,invoice-21,{time}\n");
        assert_eq!(found(&workspace.reconcile(report, "")).len(), 1, "{later}");
    }
    workspace.refused(report("Date").replace("Id,", "Id,Created,"), "", &["may be the time: Created, Date"]);
}

#[test]
fn unreadable_cells_of_a_column_are_one_line_with_an_example_and_a_remedy() {
    let (workspace, id, time) = lost_invoice();
    let mut report = format!("Id,Amount,Reference,Date\n{id},10.50,invoice-21,{time}\n");
    for _ in 0..35 {
        report += "t2,10.50,other,4111111111111111 Uhr\n";
    }
    report += "t3,10,50,other,x,\n";
    let text = workspace.reconcile(&report, "--output text").stdout;
    has(
        &text,
        [
            "CANNOT BE READ: 36 rows\n  time: 35 rows in the column Date, such as line 3: ************1111 Uhr\n    \
          write it as 2026-11-01 or 2026-11-01T08:00:00+01:00, or name another column: --column time=HEADING\n  \
          line 38  the row has ",
        ],
    );
    let refused = workspace.reconcile("Id,Amount\n", "--output text").exits(2);
    assert!(refused.stderr.starts_with("INVALID REPORT (exit code 2)\n"), "{refused:?}");
}

#[test]
fn key_is_missing_only_within_the_days_that_the_report_has() {
    let workspace = Workspace::open();
    let before = |days: u64| SystemTime::now() - Duration::from_hours(24 * days);
    workspace.add_unknowns_at(before(6), &["invoice-21".to_owned()], workspace.sandbox.base_url());
    let report = format!("Id,Amount,Reference,Date\nt9,5.00,other,{}\n", now());
    let complete = |to: &str| format!("--complete-from {} --complete-to {to}", at(before(9)));
    let ended = workspace.reconcile(&report, &complete(&now())).exits(5);
    assert_eq!(ended.json()["missing"][0]["key"], "invoice-21", "{ended:?}");
    for options in [complete(&at(before(4))), String::new()] {
        assert_eq!(workspace.reconcile(&report, &options).json()["missing"], json!([]), "{options}");
    }
    let later = &at(SystemTime::now() + Duration::from_hours(48))[..10];
    let refused = format!("no report can be complete until {later}: today is 2");
    workspace.refused(&report, &complete(later), &[&refused]);
}

/// Three keys are lost, and the report has the first. A person fills in what is known about the second.
#[test]
fn evening_after_a_run_needs_two_files_and_one_command() {
    let workspace = Workspace::open();
    let keys = ["@invoice-21", "invoice-22", "invoice-23"];
    let [first, ..] = keys.map(|key| workspace.lost(key, "10.50"));
    let report = format!("Id,Amount,Reference,Date\n{first},10.50,@invoice-21,{}\n", now());
    let [out, rest] = ["found.csv", "rest.csv"].map(|name| workspace.path(name));
    let both = format!("--out {out} --rest {rest}");
    let text = workspace.reconcile(&report, &format!("{both} --output text")).exits(5).stdout;
    let steps =
        format!("read {out}, fill in {rest}, then:\n  payments journal resolve --from {out} --from {rest}\n");
    assert!(text.ends_with(&steps), "{text}");
    let [service, two, three] = [
        workspace.sandbox.base_url().to_owned(),
        workspace.shown("invoice-22", "begun_at").as_str().unwrap().to_owned(),
        workspace.shown("invoice-23", "begun_at").as_str().unwrap().to_owned(),
    ];
    let headings = "Key,Attempt,Revision,TransactionId,Verdict,Note,Service,BegunAt,Amount,Reference,\
                    CardEnding,TokenId,Voids,ReportRow\n";
    let row = |number: u32, verdict: &str, note: &str, at: &str| {
        format!(
            "invoice-{number},1,2,,{verdict},{note},{service},{at},10.50,invoice-{number},,tok_approved,,\n"
        )
    };
    assert_eq!(
        workspace.read("rest.csv"),
        format!("{headings}{}{}", row(22, "", "", &two), row(23, "", "", &three))
    );
    let resolve =
        |options: &str| workspace.journals(format!("resolve --by ada --from {out} --from {rest} {options}"));
    // Every row of both files is checked before anything is written.
    let cut = "the row has too many cells: a note with a comma needs quotation marks";
    let before = workspace.export();
    for (wrong, expected) in [
        (row(22, "not processed", "", &two), "Note is required"),
        (row(22, "not processed", "none", &three), "BegunAt is not that of the key"),
        (row(22, "not processed", "none", "05/11/2026 10:00"), "write it as it was, or empty the cell"),
        (row(22, "not processed", "none", &two).replace(",1,2,", ",1,3,"), "Revision is not 2"),
        (row(22, "not processed", "none", &two).replace(",1,2,", ",2,2,"), "Attempt is 2"),
        (row(22, "not processed", "none", &two).replace("127", "128"), "Service is not that of the key"),
        (row(22, "not processed", "none", &two).replace("10.50", "10.51"), "amount is not the amount"),
        (row(22, "not processed", "none, says Ada", &two), cut),
        (row(22, "not processed", "none, says Ada", &two).replace(",\n", "\n"), cut),
        (row(22, "not processed", "called, twice, none", &two), cut),
        (row(22, "not processed", "https://t.example/1, none", &two), cut),
        (row(22, "not processed", "none,https://t.example/1", &two), cut),
        (
            format!("'@invoice-21,1,2,,,,,{},,,,,,\n", now()),
            &*format!("Key is the same as in line 2 of {out}"),
        ),
    ] {
        workspace.write("rest.csv", format!("{headings}{wrong}"));
        let ended = resolve("--output text").exits(2);
        has(
            &ended.stderr,
            ["the files have 1 problem; nothing was changed", &format!("  {rest}, line 2: "), expected],
        );
        let ended = resolve("");
        let error = ended.failed_as(2, "resolve_file");
        assert_eq!(error["violations"][0]["file"], *rest, "{error}");
    }
    assert_eq!(workspace.export(), before, "something was changed");

    let rows = [row(22, "not processed", "in no report", &two), row(23, "", "", &three)];
    workspace.write("rest.csv", format!("{headings}{}", rows.concat()));
    let dry = resolve("--dry-run").exits(0).json();
    assert_eq!((&dry["left_alone"], &dry["still_unknown"]), (&json!(1), &json!({"count": 1, "sum": 10.5})));
    assert_eq!(workspace.export(), before, "something was changed");
    let text = resolve("--output text").exits(0).stdout;
    let next = format!(
        "still unknown: 1 intent, 10.50; fill in their rows once you find something out, then run:\n  \
         payments journal resolve --from {rest}\n"
    );
    assert!(text.ends_with(&next), "{text}");
    // What is resolved by then changes nothing.
    let again = resolve("").exits(0).json();
    assert_eq!((&again["already_so"], &again["left_alone"]), (&json!(2), &json!(1)), "{again}");
    assert_eq!(workspace.shown("@invoice-21", "transaction_id"), first);
    assert_eq!(workspace.shown("invoice-22", "note"), "in no report");
    assert_eq!(workspace.shown("invoice-23", "state"), "unknown");

    // The files may follow one option. A spreadsheet has changed the form of the time.
    let begun = three[..19].replace('T', " ");
    let one = workspace.write("one.csv", format!("{headings}{}", row(23, "not processed", "none", &begun)));
    let two = workspace.write("two.csv", format!("{headings}{}", row(23, "", "", &three)));
    has(workspace.journals(format!("resolve --from {one} {two}")).refusal(), ["the files have 1 problem"]);
    // The same file again has each key twice.
    let refused = workspace.journals(format!("resolve --from {one} --from {one}")).refusal();
    has(&refused, ["the files have 1 problem"]);
    let text = workspace.journals(format!("resolve --from {one} --output text")).exits(0).stdout;
    assert!(text.ends_with("\nstill unknown: no key\n"), "{text}");
}

/// A verdict that is copied down a column is that of keys which the report shows, too.
#[test]
fn not_processed_beside_rows_that_may_be_a_key_s_is_refused() {
    let workspace = Workspace::open();
    for (key, amount) in [("0017", "10.50"), ("inv-18", "20.00"), ("inv-19", "30.00"), ("inv-20", "40.00")] {
        workspace.lost(key, amount);
    }
    let row = |id: &str, amount: &str, reference: &str| format!("{id},{amount},{reference},{}\n", now());
    let rows = [
        row("t1", "10.50", "17"),
        row("t2", "20.00", "inv-18"),
        row("t3", "20.00", "inv-18"),
        row("t4", "39.00", "inv-20"),
    ];
    let report = format!("Id,Amount,Reference,Date\n{}", rows.concat());
    let rest = workspace.path("rest.csv");
    workspace.reconcile(&report, &format!("--rest {rest}")).exits(5);
    let unfilled = workspace.read("rest.csv");
    has(
        &unfilled,
        [
            "Id: t1; Amount: 10.50; Reference: 17; Date: ",
            "; Reference: inv-18;",
            " | Id: t3; ",
            "Amount: 39.00",
        ],
    );
    let filled = unfilled.replace(",1,2,,,,", ",1,2,,not processed,none,");
    let error = workspace.resolving(&filled).end().failed_as(2, "resolve_file");
    let wrong: Vec<_> = error["violations"].as_array().unwrap().iter().map(|it| &it["key"]).collect();
    assert_eq!(wrong, ["0017", "inv-18", "inv-20"], "{error}");
    has(error.to_string(), ["if the row is another payment's, empty its ReportRow"]);
    // A person has looked.
    let without_text = filled.lines().map(|line| line.split(",Id: ").next().unwrap().to_owned() + "\n");
    workspace.resolving(without_text.collect::<String>()).end().exits(0);
    assert_eq!(workspace.shown("inv-18", "resolved_as"), "not_processed");
}

/// A person fills in the rest another day, when a run has charged the keys that were not processed.
#[test]
fn same_files_may_be_given_again_after_their_keys_were_sent_again_d48() {
    let workspace = Workspace::open();
    let [found, ..] = ["invoice-21", "invoice-22", "invoice-23"].map(|key| workspace.lost(key, "10.50"));
    let report = format!("Id,Amount,Reference,Date\n{found},10.50,invoice-21,{}\n", now());
    let [out, rest] = ["found.csv", "rest.csv"].map(|name| workspace.path(name));
    workspace.reconcile(&report, &format!("--out {out} --rest {rest}")).exits(5);
    let unfilled = workspace.read("rest.csv");
    let filled = |verdicts: [&str; 2]| {
        let [first, second] = verdicts.map(|it| format!(",1,2,,{it},"));
        workspace
            .write("rest.csv", unfilled.replacen(",1,2,,,,", &first, 1).replacen(",1,2,,,,", &second, 1));
        workspace.journals(format!("resolve --by ada --from {out} --from {rest}"))
    };
    filled(["not processed,gone", ","]).exits(0);
    let second = workspace.token("tok_approved", "invoice-22", "10.50").paid_id();
    let again = filled(["not processed,gone", ","]).quiet(0).json();
    assert_eq!((&again["already_so"], &again["left_alone"]), (&json!(2), &json!(1)), "{again}");
    // What contradicts it is refused, and so is the rest of the file.
    let refused = filled(["rejected,gone", "rejected,declined"]).failed_as(2, "resolve_file");
    has(refused["violations"][0]["rule"].as_str().unwrap(), ["is not unknown but processed"]);
    assert_eq!(workspace.shown("invoice-23", "state"), "unknown");
    let done = filled(["not processed,gone", "rejected,declined"]).exits(0).json();
    assert_eq!(
        (&done["already_so"], &done["resolved"]["rejected"]["count"]),
        (&json!(2), &json!(1)),
        "{done}"
    );
    assert_eq!(workspace.shown("invoice-22", "transaction_id"), second);
}

/// A card's last four digits, a void's transaction, and an apostrophe before a formula; not what is still being sent.
#[test]
fn rest_has_what_a_person_searches_by() {
    let workspace = Workspace::open();
    workspace.arm(Fault::response_lost(OperationName::Transaction));
    workspace.creating("@card").stdin(CARD_PAYMENT).end().exits(5);
    let (running, gate) = workspace.in_flight("now");
    let rest = workspace.path("rest.csv");
    let report = "Id,Amount,Reference,Date\n";
    let document = workspace.reconcile(report, &format!("--rest {rest}")).quiet(5).json();
    assert_eq!((&document["rest"], &document["out"]), (&json!(rest), &json!(null)));
    let written = workspace.read("rest.csv");
    let begun = workspace.shown("@card", "begun_at");
    let service = workspace.sandbox.base_url();
    has(&written, [format!("\n'@card,1,2,,,,{service},{},", begun.as_str().unwrap())]);
    assert_eq!(written.lines().count(), 2, "{written}");
    let ending = workspace.shown("@card", "card_ending");
    has(&written, [format!(",{},,,\n", ending.as_str().unwrap())]);
    let filled = written.replace(",1,2,,,,", ",1,2,,not processed,in no report,");
    workspace.write("rest.csv", filled);
    workspace.journals(format!("resolve --from {rest}")).exits(0);
    gate.release();
    running.end().exits(0);
    assert_eq!(workspace.shown("@card", "resolved_as"), "not_processed");
}

#[test]
fn next_command_of_reconcile_runs_where_no_login_name_is_known() {
    let (workspace, id, time) = lost_invoice();
    let report = format!("Id,Amount,Reference,Date\n{id},10.50,invoice-21,{time}\n");
    let path = workspace.write("report.csv", report);
    let (out, journal) = (workspace.path("found.csv"), workspace.path("billing.db"));
    let run = workspace.run(format!("journal reconcile {path} --out {out} --journal {journal}"));
    let text = run.by_nobody().text().exits(0).stdout;
    let next =
        format!("read {out}, then:\n  payments journal resolve --from {out} --journal {journal} --by NAME\n");
    assert!(text.ends_with(&next), "{text}");
    let command = next.lines().last().unwrap().trim().strip_prefix("payments ").unwrap();
    workspace.does(command).exits(0);
}

#[test]
fn new_files_are_for_their_owner_and_replace_only_one_without_rows() {
    use std::os::unix::fs::PermissionsExt as _;

    let (workspace, id, time) = lost_invoice();
    workspace.lost("invoice-22", "10.50");
    let [out, rest] = ["found.csv", "rest.csv"].map(|name| workspace.path(name));
    let both = format!("--out {out} --rest {rest}");
    let exist = || [&out, &rest].map(|path| std::path::Path::new(path).exists());
    let nothing = "Id,Amount,Reference,Date\n";
    // Yesterday's file must not be taken for today's.
    workspace.write("found.csv", "yesterday's");
    has(
        workspace.reconcile(nothing, &format!("--out {out}")).refusal(),
        ["the file of --out", "exists", "different now, remove it, or name another; else resolve from it"],
    );
    assert_eq!(workspace.read("found.csv"), "yesterday's");
    fs::remove_file(&out).unwrap();
    // A program gives the file to `resolve` whatever was found.
    let ended = workspace.reconcile(nothing, &format!("--out {out}")).exits(5);
    assert_eq!(ended.json()["out"], *out);
    let headings = "Key,Attempt,Revision,TransactionId,Verdict,Note,Service,BegunAt,ReportRow\n";
    assert_eq!(workspace.read("found.csv"), headings);
    workspace.journals(format!("resolve --by ada --from {out}")).exits(0);
    // It is no next step for a person, and no obstacle to the right report.
    let text = workspace.reconcile(nothing, &format!("--out {out} --output text")).exits(5).stdout;
    assert!(!text.contains(&out), "{text}");
    workspace.write("found.csv", headings.replace("Note", "Notes"));
    workspace.reconcile(nothing, &format!("--out {out}")).refused("exists");
    workspace.write("found.csv", headings);
    let report = format!("Id,Amount,Reference,Date\n{id},10.50,invoice-21,{time}\n");
    // Neither is left if one of them cannot be written.
    workspace.write("rest.csv", "mine");
    has(workspace.reconcile(&report, &both).refusal(), ["the file of --rest", "exists"]);
    assert_eq!([&*workspace.read("found.csv"), &*workspace.read("rest.csv")], [headings, "mine"]);
    fs::remove_file(&out).unwrap();
    fs::remove_file(&rest).unwrap();
    workspace.reconcile(&report, &format!("--out {out} --rest {out}")).refused("name the same file");
    workspace.reconcile(&report, &both).exits(5);
    for path in [&out, &rest] {
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600, "{path}");
    }
    // What the journal does not know yet is kept.
    let other = report.replace("invoice-21", "invoice-22");
    has(
        workspace.reconcile(&other, &both).refusal(),
        ["the file of --out", "has what the journal does not know"],
    );
    workspace.journals(format!("resolve --from {out}")).exits(0);
    // Nothing is left to be done in these, and there is another unknown key.
    workspace.lost("invoice-23", "10.50");
    let unfilled = workspace.read("rest.csv");
    let noted = unfilled.replace(",1,2,,,,", ",1,2,,,asked support,");
    workspace.write("rest.csv", &noted);
    has(workspace.reconcile(nothing, &both).refusal(), ["the file of --rest", "exists"]);
    workspace.write("rest.csv", &unfilled);
    workspace.reconcile(nothing, &both).exits(5);
    let lines = || ["found.csv", "rest.csv"].map(|name| workspace.read(name).lines().count());
    assert_eq!(lines(), [1, 3]);
    // Nor in this one, once its key was sent again.
    let filled = workspace.read("rest.csv").replace(",1,2,,,,", ",1,2,,not processed,gone,");
    workspace.write("rest.csv", filled);
    workspace.journals(format!("resolve --from {rest}")).exits(0);
    workspace.token("tok_approved", "invoice-22", "10.50").processed();
    workspace.journals(format!("resolve --from {rest}")).exits(0);
    workspace.reconcile(nothing, &both).exits(0);
    assert_eq!(lines(), [1, 1]);
    for path in [&out, &rest] {
        fs::remove_file(path).unwrap();
    }
    let journal = workspace.path("billing.db");
    workspace.reconcile(&report, &format!("--rest {journal}")).refused("is the journal");
    // Opening it would wait for ever.
    let pipe = workspace.path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for option in ["--out", "--rest"] {
        workspace.reconcile(&report, &format!("{option} {pipe}")).refused("exists");
    }
    // A file that could not be written completely is removed.
    let path = workspace.write("report.csv", &report);
    let many: Vec<_> = (0..200).map(|number| format!("unknown-{number}")).collect();
    workspace.add_unknowns(&many, workspace.sandbox.base_url());
    let full = workspace.run(format!("journal reconcile {path} {both}")).with_file_limit(8).end();
    full.refused("could not be written completely");
    assert_eq!(exist(), [false, false]);
}

/// Nobody paid twice, and a person must know what was recorded and how to correct it.
#[test]
fn declined_row_of_a_processed_key_says_how_to_correct_it() {
    let (workspace, id, time) = lost_invoice();
    workspace.journals(format!("resolve invoice-21 --processed {id}")).exits(0);
    let other = workspace.token("tok_approved", "invoice-22", "7.25").paid_id();
    let report = format!(
        "Transaction ID,Amount,Reference,Date,Status\n{id},10.50,invoice-21,{time},Declined\n\
         {other},7.25,invoice-22,{time},Declined\n"
    );
    let options = "--charged-status settled --declined-status declined --output text";
    let text = workspace.reconcile(&report, options).exits(8).stdout;
    let correct = format!("resolve invoice-21 --rejected={id} --note TEXT --replace {id}");
    has(
        &text,
        [
            "RECORDED AS PAID, AND DECLINED IN THE REPORT: 2 cases\n",
            "invoice-21  10.50  the journal says resolved as processed\n",
            &format!("payments journal {correct}\n"),
            "invoice-22  7.25  the journal says processed\n",
        ],
    );
    assert!(!text.contains("NOBODY EXPLAINS") && !text.contains("paid twice"), "{text}");
    assert!(!text.contains("resolve invoice-22"), "{text}");
    workspace.journals(correct.replace("TEXT", "declined")).exits(0);
    let text = workspace.reconcile(&report, options).exits(8).stdout;
    has(&text, ["RECORDED AS PAID, AND DECLINED IN THE REPORT: 1 case\n"]);
    // A key resolved as not processed whose charge is in the report stays an alarm.
    workspace.lost("invoice-23", "3.00");
    workspace.journals("resolve invoice-23 --not-processed --note none").exits(0);
    let charged =
        format!("{report}txn_3,3.00,invoice-23,{time},Settled\n{other},7.25,invoice-22,{time},Settled\n");
    let text = workspace.reconcile(charged, options).exits(8).stdout;
    has(
        &text,
        ["MONEY THAT NOBODY EXPLAINS: ", "invoice-23  3.00  the journal says resolved as not processed\n"],
    );
}

/// A person compares it before it is recorded. A note would be in the journal for ever.
#[test]
fn found_rows_have_the_text_of_the_report() {
    let (workspace, id, time) = lost_invoice();
    let report = format!(
        "Transaction ID;Amount;Reference;Date;Zustand;Card\n{id};10,50;invoice-21;{time};abgelehnt;4111111111111111\n"
    );
    let out = workspace.path("found.csv");
    workspace.reconcile(report, &format!("--out {out} --column last-four=Card,status=")).exits(0);
    let written = workspace.read("found.csv");
    let row = format!(
        "Transaction ID: {id}; Amount: 10,50; Reference: invoice-21; Date: {time}; Zustand: abgelehnt; Card: ************1111"
    );
    assert!(
        written.starts_with("Key,Attempt,Revision,TransactionId,Verdict,Note,Service,BegunAt,ReportRow\n")
    );
    has(&written, [format!(",\"{row}\"\n")]);
    workspace.journals(format!("resolve --from {out}")).exits(0);
    assert_eq!(workspace.shown("invoice-21", "note"), format!("{}, line 2", workspace.path("report.csv")));
}

/// In a filtered export all rows have the same word, which only a person knows.
#[test]
fn declined_payment_is_not_found_as_charged_in_a_report_of_one_word() {
    let workspace = Workspace::open();
    workspace.arm(Fault::response_lost(TOKENS));
    workspace.token("tok_declined", "invoice-21", "11.50").exits(5);
    let out = workspace.path("found.csv");
    for more in ["", "t2,9.00,other,2026-11-01,Abgelehnt\n"] {
        let report =
            format!("Id,Amount,Reference,Date,Zustand\nt1,11.50,invoice-21,{},Abgelehnt\n{more}", now());
        workspace.refused(report, &format!("--out {out}"), &["Abgelehnt (", "--column status=Zustand"]);
    }
    assert!(!std::path::Path::new(&out).exists());
}

/// Else a declined row of such a report is recorded as paid, and nothing fails.
#[test]
fn column_that_may_be_a_status_is_asked_about() {
    let (workspace, id, time) = lost_invoice();
    let report = |heading: &str, own: &str, others: &[&str]| {
        let others =
            (0..).zip(others).map(|(number, word)| format!("t{number};1,00;other-{number};{time};{word}\n"));
        format!(
            "Id;Amount;Reference;Date;{heading}\n{id};10,50;invoice-21;{time};{own}\n{}",
            others.collect::<String>()
        )
    };
    for (heading, own, others) in [
        ("Zustand", "abgelehnt", &["gebucht", "gebucht"][..]),
        ("Buchung", "Abgelehnt", &["gebucht"]),
        ("Ergebnis", "nein", &["ja", "ja"]),
        ("Situation", "refusé", &["payé", "en attente"]),
        ("Code", "05", &["00", "00", "00"]),
        ("Bezahlt", "offen", &["erledigt", "erledigt"]),
        ("Paid", "offen", &["erledigt", "erledigt"]),
        ("Ok", "0", &["1"]),
        ("Ablehnungsgrund", "Karte gesperrt", &["", ""]),
        // All rows of an export of declined payments.
        ("Zustand", "Abgelehnt", &[]),
        ("Zustand", "Abgelehnt", &["Abgelehnt"]),
        ("Code", "05", &[]),
        ("Grund", "R01", &[]),
        ("Bezahlt", "nein", &["nein"]),
        ("Storniert", "ja", &["ja", "ja"]),
        ("Captured", "0", &["0"]),
        ("Settled", "No", &[]),
    ] {
        let count = 1 + others.iter().filter(|word| **word == own).count();
        let report = report(heading, own, others);
        let status = format!("--column status={heading} --charged-status WORD,… --declined-status WORD,…");
        let refused = format!("which words of the column {heading} mean that the money moved?");
        workspace.refused(&report, "", &[&refused, &format!("{own} ({count})"), &status, "--column status="]);
        // A person has looked.
        assert_eq!(found(&workspace.reconcile(&report, "--column status=")).len(), 1, "{heading}");
        let named = format!("--column status={heading} --charged-status xyz --declined-status '{own}'");
        let document = workspace.reconcile(&report, &named).json();
        assert_eq!(document["proposals"][0]["verdict"], "rejected", "{heading} {document}");
    }
    for (heading, own, others) in [
        ("Currency", "EUR", &["USD", "EUR"][..]),
        ("W", "EUR", &["CHF", "EUR"]),
        ("Scheme", "Visa", &["Mastercard", "Visa"]),
        ("Stadt", "Bonn", &["Ulm", "Ulm"]),
        ("Customer Name", "Ada", &["Bob", "Bob"]),
        ("Kunde", "a", &["b", "c", "d", "e", "f", "g"]),
        ("X", "a", &["b", "c", "d", "e", "f", "g"]),
        ("Valuta", "2026-11-01", &["2026-11-02", "2026-11-02"]),
        ("Net", "10,20", &["0,70", "0,70"]),
        ("Batch", "B-1077", &["B-1078", "B-1079"]),
        ("Approved", "yes", &["no", "no"]),
        ("Disputed", "no", &["yes", "no"]),
        ("Remark", "gift", &["", ""]),
        // The same in all rows, as in most reports.
        ("Merchant", "ACME", &["ACME"]),
        ("Currency", "EUR", &["EUR"]),
        ("W", "EUR", &["EUR"]),
        ("Type", "Payment", &["Payment"]),
        ("Country", "DE", &["DE"]),
        ("Channel", "web", &["web"]),
        ("Terminal", "T1", &["T1"]),
        ("Scheme", "Visa", &["Visa"]),
        ("Company Account", "ACME GmbH", &["ACME GmbH"]),
        ("Mode", "live", &["live"]),
        ("Time zone", "CET", &["CET"]),
        ("Recurring", "No", &["No"]),
        ("Captured", "TRUE", &["TRUE"]),
        ("Discount", "0", &["0"]),
        ("Livemode", "true", &["true"]),
        ("Fee", "0.30", &["0.30"]),
        ("Valuta", "2026-11-01", &["2026-11-01"]),
        ("Auftrag", "A1B2C3", &[]),
        ("Memo 2", "", &[""]),
    ] {
        let ended = workspace.reconcile(report(heading, own, others), "");
        assert_eq!(found(&ended).len(), 1, "{heading} {ended:?}");
    }
    // A column of that kind is no way around the words of a known status.
    workspace.refused(report("Status", "Paid", &["Paid"]), "--column status=", &["a status with the words"]);
    workspace.refused(
        report("Status", "Paid", &[]).replace("Status", "Zustand"),
        "--column status= --charged-status Paid",
        &["no column that is known to be the status"],
    );
    // Where other headings are asked for, so is this one.
    for (header, is_named) in [
        ("Nummer;Amount;Reference;Date;Zustand", true),
        ("Id;Amount;Gross;Reference;Date;Zustand", true),
        ("Nummer;Amount;Reference;Date", false),
    ] {
        let refused = workspace.reconcile(format!("{header}\n"), "").refusal();
        assert_eq!(refused.contains("--column status=HEADING"), is_named, "{refused}");
    }
    // A filtered export needs no word for a charge.
    let declined = "--column status=Zustand --declined-status Abgelehnt";
    let only = workspace.reconcile(report("Zustand", "Abgelehnt", &["Abgelehnt"]), declined).exits(0).json();
    assert_eq!(only["proposals"][0]["verdict"], "rejected", "{only}");
    workspace.refused(
        report("Zustand", "Abgelehnt", &["Gebucht"]),
        declined,
        &["say with --charged-status which of them mean that the money moved"],
    );
    // It is read before what was found.
    let no_status = "--column status= --output text";
    let text = workspace.reconcile(report("Zustand", "gebucht", &[]), no_status).exits(0).stdout;
    assert!(text.starts_with("NO STATUS, so every row counts as charged\n"), "{text}");
}
