//! `payments journal export` with filters, and `payments journal resolve --from` with a completed export.

#![allow(clippy::unwrap_used, reason = "a helper of a test fails the test as the test itself does")]

use std::fs;
use std::process::Stdio;

use payments_core::OperationName;
use payments_fake::{Fault, block_on};
use serde_json::{Value, json};

use crate::journaled_charges::Workspace;
use crate::support::{
    CARD_PAYMENT, Ended, KEY, Peer, Run, TOKEN_PAYMENT, broken_pipe, payments_at, responses,
};

impl Workspace {
    fn path(&self, name: &str) -> String {
        self.journal().with_file_name(name).to_str().unwrap().to_owned()
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        fs::write(&path, content).unwrap();
        path
    }

    /// Makes one charge with a lost response for each key. Returns their transaction ids.
    fn lose_responses<const N: usize>(&self, keys: [&str; N]) -> [String; N] {
        keys.map(|key| {
            self.lose_response(key);
            self.last_id()
        })
    }

    fn resolving(&self, content: impl AsRef<[u8]>) -> Run {
        let path = self.write("found.csv", content);
        self.run(["journal", "resolve", "--by", "Grace", "--from", &path])
    }

    /// An export of the whole journal.
    fn export_all(&self) -> String {
        self.journal_command(&["export"]).stdout
    }

    fn exported(&self, arguments: &[&str]) -> Vec<String> {
        let ended = self.journal_command(&[&["export"], arguments].concat());
        assert_eq!((ended.code, &*ended.stderr), (Some(0), ""), "{ended:?}");
        let key = |line: &str| {
            let intent: Value = serde_json::from_str(line).unwrap();
            intent["key"].as_str().unwrap().to_owned()
        };
        ended.stdout.lines().map(key).collect()
    }
}

/// The violations of a refused file, as `line key: field rule`.
#[track_caller]
fn wrong_rows(ended: &Ended) -> Vec<String> {
    let error = ended.failed(2, "invalid");
    assert_eq!(error["kind"], "resolve_file", "{error}");
    assert!(error["message"].as_str().unwrap().contains("nothing was changed"), "{error}");
    let text = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    let violations = error["violations"].as_array().unwrap();
    violations
        .iter()
        .map(|it| {
            format!("{} {}: {} {}", it["line"], text(&it["key"]), text(&it["field"]), text(&it["rule"]))
        })
        .collect()
}

const BILLING: &str = "Key,TokenId,Amount,ConvenienceFeeActive,ReferenceNo\n";

#[test]
fn export_filters_by_state_time_and_run() {
    let workspace = Workspace::open();
    workspace.charge("by-hand").processed();
    let first = format!(
        "{BILLING}=1+1,tok_approved,1,false,\n,tok_declined,2,false,order-2\nlost,tok_approved,3,false,\n"
    );
    let first = workspace.write("first.csv", first);
    let second = r#"{"Key":"second","TokenId":"tok_approved","Amount":4,"ConvenienceFeeActive":false}"#;
    let second = workspace.write("second.jsonl", format!("\u{feff}{second}\n\n"));
    let results = [workspace.path("results.csv"), workspace.path("results.jsonl")];
    workspace.sandbox.gateway().arm(Fault::response_lost(OperationName::TokenTransaction).nth(3));
    let run = |file, results: &str| {
        workspace.run(["batch", "run", file, "--concurrency", "1", "--results", results]).end().code
    };
    assert_eq!([run(&first, &results[0]), run(&second, &results[1])], [Some(5), Some(0)]);

    assert_eq!(workspace.exported(&[]), ["by-hand", "=1+1", "order-2", "lost", "second"]);
    for file in [&first, &results[0]] {
        assert_eq!(workspace.exported(&["--run", file]), ["=1+1", "order-2", "lost"]);
    }
    for file in [&second, &results[1]] {
        assert_eq!(workspace.exported(&["--run", file]), ["second"]);
    }
    assert_eq!(workspace.exported(&["--run", &first, "--state", "unknown,rejected"]), ["order-2", "lost"]);
    assert_eq!(workspace.exported(&["--state", "unknown", "--state", "rejected"]), ["order-2", "lost"]);

    let last = workspace.show("second")["begun_at"].as_str().unwrap().to_owned();
    assert_eq!(workspace.exported(&["--since", &last]), ["second"]);
    assert_eq!(workspace.exported(&["--since", &last[..10]]).len(), 5);
    assert_eq!(workspace.exported(&["--since", "2999-01-01T00:00:00+01:00"]), [""; 0]);
    assert_eq!(workspace.journal_command(&["export", "--since", "2999-01-01"]).stdout, "");

    // Results and exports both keep a spreadsheet from reading a key as a formula.
    let csv = workspace.journal_command(&["export", "--run", &first, "--format", "csv"]).stdout;
    assert!(csv.starts_with("key,state,") && csv.contains("\n'=1+1,processed,"), "{csv}");
    assert!(fs::read_to_string(&results[0]).unwrap().contains(",'=1+1,processed,"));

    for (file, expected) in [
        (workspace.write("none.csv", "Invoice,Amount\n1,2\n"), "line 1: the header has no column Key"),
        (workspace.write("torn.csv", format!("{BILLING}a,t,1,false,\nb,t\n")), "line 3: has 2 cells"),
        (workspace.write("torn.jsonl", "{\"Key\":\"a\"}\n{\"line\":2,"), "line 2: it is not a JSON object"),
        (workspace.write("nameless.jsonl", "{\"Amount\":2}"), "line 1: must not be empty"),
        (workspace.path("missing.csv"), "cannot be read"),
    ] {
        let error = workspace.journal_command(&["export", "--run", &file]).failed(2, "invalid");
        assert_eq!(error["kind"], "run_file");
        assert!(error["message"].as_str().unwrap().contains(expected), "{error}");
    }
    let error = workspace.journal_command(&["export", "--since", "yesterday"]).failed(2, "invalid");
    assert!(error["message"].as_str().unwrap().contains("must be a date such as"), "{error}");
}

#[test]
fn completed_export_resolves_its_rows() {
    let workspace = Workspace::open();
    let [one, two, _] = workspace.lose_responses(["=1+1", "two", "not-there"]);
    workspace.charge("paid").processed();
    let export = workspace.journal_command(&["export", "--state", "unknown", "--format", "csv"]).stdout;
    // As a spreadsheet saves it: with CRLF, a byte order mark and an empty last line.
    let mut rows: Vec<Vec<_>> =
        export.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect();
    let column = |name: &str| rows[0].iter().position(|it| it == name).unwrap();
    let (id, note) = (column("transaction_id"), column("note"));
    rows[1][id] = one.clone();
    rows[2][id] = two.clone();
    rows[2][note] = "\"in the report, page 2\"".to_owned();
    rows[3][note] = "in no report".to_owned();
    let filled: String = rows.iter().map(|row| row.join(",") + "\r\n").collect();
    let filled = format!("\u{feff}{filled}\r\n,,\r\n");
    let filled = filled.replace("\r\n,,\r\n", &format!("\r\n{}\r\n", ",".repeat(rows[0].len() - 1)));

    let ended = workspace.resolving(&filled).end();
    assert_eq!((ended.code, &*ended.stderr), (Some(0), ""), "{ended:?}");
    let document = ended.json();
    assert!(ended.stdout.starts_with(
        "{\"resolved\":{\"not_processed\":{\"count\":1,\"sum\":45.00},\"processed\":{\"count\":2,\"sum\":90.00}},"
    ));
    let intents = document["intents"].as_array().unwrap();
    assert_eq!(intents.len(), 3);
    for (intent, (key, id, note)) in intents.iter().zip([
        ("=1+1", Some(&one), Value::Null),
        ("two", Some(&two), json!("in the report, page 2")),
        ("not-there", None, json!("in no report")),
    ]) {
        let mut intent = intent.clone();
        let record = intent.as_object_mut().unwrap().remove("record");
        assert_eq!(intent, workspace.show(key));
        assert_eq!((&intent["state"], &intent["resolved_by"]), (&json!("resolved"), &json!("Grace")));
        assert_eq!(intent.get("note").unwrap_or(&Value::Null), &note);
        assert_eq!(record.map(|record| record["TransactionId"].clone()), id.map(|id| json!(id)));
    }

    // With the same file again, for example after a crash, each row that is done is named.
    let again = wrong_rows(&workspace.resolving(&filled).end());
    assert_eq!(
        again[0],
        "2 =1+1: Key was already resolved the same way, by Grace: remove this row from the file"
    );
    assert_eq!(again.len(), 3, "{again:?}");
    let other = wrong_rows(
        &workspace.resolving(format!("Key,TransactionId,Note\ntwo,,gone\nnot-there,{one},\n")).end(),
    );
    assert!(other[0].starts_with("2 two: Key was already resolved differently, by Grace: "), "{other:?}");
    assert_eq!(other.len(), 2, "the row is wrong for its key alone: {other:?}");
}

#[test]
fn apostrophes_are_stripped_from_exports_only() {
    let workspace = Workspace::open();
    workspace.lose_responses(["=1", "'=1"]);
    assert_eq!(workspace.resolving("Key,TransactionId,Note\n'=1,,'- not there\n").end().code, Some(0));
    assert_eq!([&workspace.show("=1")["state"], &workspace.show("'=1")["note"]], ["unknown", "'- not there"]);
    assert_eq!(workspace.resolving("key,transaction_id,note\n'=1,,'- not there\n").end().code, Some(0));
    assert_eq!(workspace.show("=1")["note"], "- not there");
}

/// The id in the void's own request is not evidence.
#[test]
fn unchanged_export_of_an_unknown_void_resolves_nothing_d10() {
    let workspace = Workspace::open();
    let authorisation = CARD_PAYMENT.replace(r#""TransactionType":"1""#, r#""TransactionType":"2""#);
    let create = ["transaction", "create", "--file", "-", "--key", "payment"];
    let id = workspace.run(create).stdin(authorisation).end().processed()["TransactionId"]
        .as_str()
        .unwrap()
        .to_owned();
    workspace.sandbox.gateway().arm(Fault::request_lost(OperationName::Void));
    workspace.run(["void", &id, "--key", "void"]).end().failed(5, "unknown");
    let export = workspace.journal_command(&["export", "--state", "unknown", "--format", "csv"]).stdout;
    let how =
        "say how you know that it was not processed, or remove the row from the file if you do not know";
    let expected = format!("2 void: Note is required where there is no TransactionId: {how}");
    assert_eq!(wrong_rows(&workspace.resolving(export).end()), [expected]);
    let found = format!("Key,TransactionId,Note\nvoid,{id},\n");
    let expected =
        "2 void: Note is required for a void: the record of its transaction does not show that it was voided";
    assert_eq!(wrong_rows(&workspace.resolving(found).end()), [expected]);
    assert_eq!(workspace.show("void")["state"], "unknown");
}

#[test]
fn export_with_mixed_up_rows_is_refused() {
    let workspace = Workspace::open();
    workspace.lose_responses(["one"]);
    let file = |amount: &str| format!("key,amount,transaction_id,note\none,{amount},,in no report\n");
    let expected = "2 one: amount is not the amount of the key's payment: compare the row with `payments journal show KEY`";
    assert_eq!(wrong_rows(&workspace.resolving(file("46.00")).end()), [expected]);
    assert_eq!(workspace.show("one")["state"], "unknown");
    assert_eq!(workspace.resolving(file("45.00")).end().code, Some(0));
}

#[test]
fn text_shows_each_record_with_its_intent_and_the_sums() {
    let workspace = Workspace::open();
    let [one, two, _] = workspace.lose_responses(["one", "two", "three"]);
    let file = format!("Key,TransactionId,Note\none,{one},\ntwo,{two},\nthree,,in no report\n");
    let text = workspace.resolving(file).arguments(["--output", "text"]).end();
    assert_eq!(text.code, Some(0), "{text:?}");
    let (first, rest) =
        text.stdout.split_once("\n\nRESOLVED (NOT PROCESSED)\n").unwrap_or_else(|| panic!("{text:?}"));
    assert!(first.starts_with("RESOLVED (PROCESSED)\n  key ") && first.contains("\n\nFOUND\n"), "{first}");
    assert!(
        rest.ends_with(
            "\n\nresolved as processed: 2 intents, 90.00; as not processed, may be sent again: 1 intent, 45.00\n\
             compare each record with its intent, and its time and reference in the service's records: if it is not the payment of the key, resolve that key again\n"
        ),
        "{rest}"
    );
    assert!(text.stderr.starts_with("WARNING: three was sent less than 24 hours ago"), "{text:?}");
}

#[test]
fn every_wrong_row_is_named_and_nothing_is_written() {
    let workspace = Workspace::open();
    let paid = workspace.charge("paid").processed()["TransactionId"].as_str().unwrap().to_owned();
    let [one, two, three, _, _, _, _, before] =
        workspace.lose_responses(["one", "two", "three", "four", "five", "six", "seven", "before"]);
    assert_eq!(workspace.journal_command(&["resolve", "before", "--processed", &before]).code, Some(0));
    // Not in this journal.
    let larger = payments_at(workspace.sandbox.base_url(), ["token-transaction", "create", "--file", "-"])
        .stdin(TOKEN_PAYMENT.replace("45.00", "46.00"))
        .end();
    let larger = larger.processed()["TransactionId"].as_str().unwrap().to_owned();
    let content = format!(
        "note,AMOUNT,KEY,Transaction_ID\n,1,one,{one}\n,1,one,{two}\n,1,two,{one}\n,1,three,{paid}\n,1,four,{larger}\n\
         ,1,five,txn_of_nobody\n ,1,six,\n,1,nobody,{three}\n,1,paid,{paid}\n,1,before,{before}\n,1,in voice,{three}\n\
         ,1,seven,txn/1\n,1,seven\n"
    );
    let before = workspace.export_all();
    let expected = [
        "3 one: Key is the same as in line 2".to_owned(),
        "4 two: TransactionId is the same as in line 2".to_owned(),
        "5 three: TransactionId already belongs to paid".to_owned(),
        "6 four: TransactionId cannot belong to this intent: its amount is 46.00, and 45.00 was to be charged"
            .to_owned(),
        "7 five: TransactionId is not known to the service (HTTP 404)".to_owned(),
        "8 six: Note is required where there is no TransactionId: say how you know that it was not processed, or remove the row \
         from the file if you do not know"
            .to_owned(),
        "9 nobody: Key is not in the journal".to_owned(),
        "10 paid: Key is not unknown but processed: remove this row from the file".to_owned(),
        "11 before: Key was already resolved the same way, by ada: remove this row from the file".to_owned(),
        "12 ?: Key must consist of visible ASCII characters, without spaces".to_owned(),
        "13 seven: TransactionId must contain only ASCII letters, digits and the characters - . _ ~ : @ + = ,".to_owned(),
        "14 ?: row has 3 cells, and the header has 4".to_owned(),
    ];
    let seen = wrong_rows(&workspace.resolving(&content).end());
    assert_eq!(seen, expected);
    assert_eq!(workspace.export_all(), before);

    let text = workspace.resolving(&content).arguments(["--output", "text"]).end();
    assert_eq!((text.code, &*text.stdout), (Some(2), ""), "{text:?}");
    let lines: Vec<_> = text.stderr.lines().collect();
    assert_eq!(lines[0], "INVALID, nothing was changed (exit code 2)");
    assert_eq!((lines[2], lines.len()), ("  line 3: one: Key is the same as in line 2", 14));
}

#[test]
fn file_without_columns_or_rows_is_refused() {
    let workspace = Workspace::open();
    let [one] = workspace.lose_responses(["one"]);
    let before = workspace.export_all();
    for (content, expected) in [
        (format!("key,transaction_id\none,{one}\n"), vec!["1 ?: Note is missing in the header"]),
        (
            format!("one,{one},\n"),
            vec![
                "1 ?: Key is missing in the header",
                "1 ?: TransactionId is missing in the header",
                "1 ?: Note is missing in the header",
            ],
        ),
        (
            format!("Key;TransactionId;Note\none;{one};\n"),
            vec!["1 ?: header has columns separated by semicolons; they must be separated by commas"],
        ),
        (
            format!("Key,TransactionId,transaction_id,Note\none,,{one},\n"),
            vec!["1 ?: TransactionId is a column more than once"],
        ),
        ("Key,TransactionId,Note\n,,\n\n".to_owned(), vec!["1 ?: file has no rows"]),
    ] {
        assert_eq!(wrong_rows(&workspace.resolving(&content).end()), expected, "{content}");
    }
    let folder = workspace.path("");
    let error = workspace.journal_command(&["resolve", "--from", &folder]).failed(2, "invalid");
    assert!(error["message"].as_str().unwrap().contains("is a directory"), "{error}");
    for arguments in [
        &["resolve", "one", "--from", "found.csv"][..],
        &["resolve", "--from", "found.csv", "--not-processed", "--note", "n"],
        &["resolve", "--from", "found.csv", "--note", "n"],
        &["resolve", "--processed", "txn_1"],
        &["resolve", "--not-processed", "--note", "n"],
        &["resolve", "--by", "ada"],
        &["resolve", "--from", "found.csv", "--dry-run"],
    ] {
        workspace.journal_command(arguments).failed(2, "invalid");
    }
    let journal = workspace.path("billing.db");
    for arguments in [["resolve", "--from", &journal], ["export", "--run", &journal]] {
        let error = workspace.journal_command(&arguments).failed(2, "invalid");
        assert!(error["message"].as_str().unwrap().contains(" is the journal or belongs to it; "), "{error}");
    }
    assert_eq!(workspace.export_all(), before);
}

#[test]
fn api_key_in_a_file_is_neither_stored_nor_shown() {
    let workspace = Workspace::open();
    workspace.lose_responses(["one"]);
    let refused =
        workspace.resolving(format!("Key,TransactionId,Note\n{KEY},,n\n{KEY},txn/1,n\n{KEY},,n\n")).end();
    assert_eq!(wrong_rows(&refused)[0], "2 ?: Key must not hold the API key");
    let resolved = workspace.resolving(format!("Key,TransactionId,Note\none,,{KEY} n\n")).end();
    assert_eq!(resolved.json()["intents"][0]["note"], "[redacted] n");
    assert!(!format!("{refused:?}{resolved:?}").contains(KEY));
}

/// Even if earlier lookups succeeded and other rows are wrong.
#[test]
fn failed_lookup_stops_the_resolution_with_3() {
    let workspace = Workspace::open();
    let [one, _] = workspace.lose_responses(["one", "two"]);
    let content = format!("Key,TransactionId,Note\none,{one},\ntwo,,in no report\nnobody,,n\n");
    let before = workspace.export_all();
    let stops = |run: Run, kind: &str| {
        let ended = run.end();
        let error = ended.failed(3, "not_processed");
        assert_eq!(error["kind"], kind, "{error}");
        let message = error["message"].as_str().unwrap();
        assert!(message.starts_with("line 2, one: the transaction could not be looked up: "), "{message}");
        assert!(message.ends_with("; nothing was changed"), "{message}");
        assert_eq!(workspace.export_all(), before);
    };
    stops(workspace.resolving(&content).env("PAYMENTS_API_KEY", "wrong"), "unauthorized");
    let at = |peer: &Peer| workspace.resolving(&content).env("PAYMENTS_BASE_URL", &peer.base_url);
    // A proxy's 404 says nothing about the transaction.
    stops(at(&Peer::responding("404 Not Found", "<html>")), "intermediary");
    stops(at(&Peer::responding("403 Forbidden", responses::POSTAL_CODE)), "rejected");
    let nowhere = workspace.resolving(&content).env("PAYMENTS_BASE_URL", "http://127.0.0.1:1");
    stops(nowhere.arguments(["--timeout", "0.5"]), "connect");

    // A record of another transaction than the requested one proves nothing.
    let other = responses::TRANSACTION_FOUND.replace("10.50", "45.00");
    let content = format!("Key,TransactionId,Note\none,{one},\n");
    let run =
        workspace.resolving(content).env("PAYMENTS_BASE_URL", &Peer::responding("200 OK", &other).base_url);
    let expected = "2 one: TransactionId returns the record of another transaction: check it with `payments transaction get`";
    assert_eq!(wrong_rows(&run.end()), [expected]);
    assert_eq!(workspace.export_all(), before);
}

/// Resolves a file of three rows while someone else resolves the second. Also returns the ids of the other two.
fn changed_meanwhile(workspace: &Workspace, shape: &str, stdout: impl Into<Stdio>) -> (Ended, [String; 2]) {
    let [one, _, three] = workspace.lose_responses(["one", "two", "three"]);
    let content = format!("Key,TransactionId,Note\none,{one},\ntwo,,in no report\nthree,{three},\n");
    let gate = workspace.sandbox.gateway().gate(OperationName::GetTransaction);
    let running = workspace.resolving(&content).arguments(["--output", shape]).stdout(stdout).spawn();
    block_on(gate.arrived());
    let other = ["resolve", "two", "--not-processed", "--note", "the bank says so", "--by", "ada"];
    assert_eq!(workspace.journal_command(&other).code, Some(0));
    gate.release();
    (running.end(), [one, three])
}

#[test]
fn key_resolved_by_someone_else_meanwhile_is_kept() {
    let workspace = Workspace::open();
    let (ended, [_, three]) = changed_meanwhile(&workspace, "json", Stdio::piped());
    let error = ended.failed(3, "not_processed");
    assert_eq!(
        (error["kind"].as_str().unwrap(), error["message"].as_str().unwrap()),
        (
            "changed_meanwhile",
            "2 of 3 rows were resolved; line 3, two: the outcome of two is known: it is resolved; \
             remove the resolved rows from the file and run it again"
        )
    );
    let document = ended.json();
    assert_eq!(document["resolved"]["processed"]["count"], 2);
    assert_eq!(document["intents"].as_array().unwrap().len(), 2);
    assert_eq!(workspace.show("two")["resolved_by"], "ada");
    assert_eq!(workspace.show("three")["transaction_id"], *three);
}

#[test]
fn unresolved_rows_are_reported_when_stdout_is_closed() {
    for shape in ["text", "json"] {
        let (ended, _) = changed_meanwhile(&Workspace::open(), shape, broken_pipe());
        assert_eq!(ended.code, Some(3), "{ended:?}");
        let expected = "PARTLY DONE, it is safe to run it again (exit code 3)\n  2 of 3 rows were resolved; line 3, two: ";
        assert!(ended.stderr.contains(expected), "{ended:?}");
    }
}

#[test]
fn void_shares_its_transaction_with_the_payment_only() {
    let workspace = Workspace::open();
    let authorisation = CARD_PAYMENT.replace(r#""TransactionType":"1""#, r#""TransactionType":"2""#);
    let authorise = |key: &str| {
        let create = ["transaction", "create", "--file", "-", "--key", key];
        workspace.run(create).stdin(authorisation.as_str()).end()
    };
    workspace.sandbox.gateway().arm(Fault::response_lost(OperationName::Transaction));
    authorise("payment").failed(5, "unknown");
    let id = workspace.last_id();
    for key in ["void-1", "void-2"] {
        workspace.sandbox.gateway().arm(Fault::response_lost(OperationName::Void));
        workspace.run(["void", &id, "--key", key]).end().failed(5, "unknown");
    }
    let twice = format!("Key,TransactionId,Note\npayment,{id},\nvoid-1,{id},n\nvoid-2,{id},n\n");
    let seen = wrong_rows(&workspace.resolving(twice).end());
    assert_eq!(seen, ["4 void-2: TransactionId is the same as in line 3"]);
    let once = format!("Key,TransactionId,Note\npayment,{id},\nvoid-1,{id},n\n");
    assert_eq!(workspace.resolving(once).end().code, Some(0));
    let held = format!("Key,TransactionId,Note\nvoid-2,{id},n\n");
    let seen = wrong_rows(&workspace.resolving(held).end());
    assert_eq!(seen, ["2 void-2: TransactionId already belongs to void-1"]);
}
