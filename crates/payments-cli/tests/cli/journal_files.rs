//! `payments journal export` with filters, and `payments journal resolve --from` with a completed export.

#![allow(clippy::unwrap_used, reason = "a helper of a test fails the test as the test itself does")]

use std::fs;
use std::process::Stdio;

use payments_core::OperationName;
use payments_fake::{Fault, block_on};
use serde_json::{Value, json};

use crate::journaled_charges::Workspace;
use crate::support::{
    CARD_PAYMENT, CHARGE, CREATE, Ended, KEY, Peer, Run, TOKEN_PAYMENT, authorization, begins, broken_pipe,
    declined_payment, has, holds, message, payments_at, responses,
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

    #[track_caller]
    fn refuses(&self, content: impl AsRef<[u8]>, expected: impl IntoIterator<Item = impl AsRef<str>>) {
        let expected: Vec<_> = expected.into_iter().map(|it| it.as_ref().to_owned()).collect();
        assert_eq!(wrong_rows(&self.resolving(content).end()), expected);
    }

    /// An export of the whole journal.
    fn export_all(&self) -> String {
        self.journal_command(&["export"]).stdout
    }

    fn exported(&self, arguments: &[&str]) -> Vec<String> {
        let ended = self.journal_command(&[&["export"], arguments].concat()).quiet(0);
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
    let error = ended.failed(2);
    assert_eq!(error["kind"], "resolve_file", "{error}");
    assert!(message(&error).contains("nothing was changed"), "{error}");
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
        "{BILLING}@1+1,tok_approved,1,false,\n,tok_declined,2,false,order-2\nlost,tok_approved,3,false,\n"
    );
    let first = workspace.write("first.csv", first);
    let second = format!("\u{feff}{BILLING}second,tok_approved,4,false,\n\n");
    let second = workspace.write("second.csv", second);
    let results = [workspace.path("results.csv"), workspace.path("results.jsonl")];
    workspace.arm(Fault::response_lost(OperationName::TokenTransaction).nth(3));
    let run = |file, results: &str| {
        workspace.run(["batch", "run", file, "--concurrency", "1", "--results", results]).end().code
    };
    assert_eq!([run(&first, &results[0]), run(&second, &results[1])], [Some(5), Some(0)]);

    assert_eq!(workspace.exported(&[]), ["by-hand", "@1+1", "order-2", "lost", "second"]);
    for file in [&first, &results[0]] {
        assert_eq!(workspace.exported(&["--run", file]), ["@1+1", "order-2", "lost"]);
    }
    let with_cr = "\u{feff}{\"Key\":\"second\"}\r\r{\"Key\":\"lost\"}\r";
    let with_cr = workspace.write("cr.jsonl", with_cr);
    assert_eq!(workspace.exported(&["--run", &with_cr]), ["lost", "second"]);
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
    assert!(csv.starts_with("key,state,") && csv.contains("\n'@1+1,processed,"), "{csv}");
    assert!(fs::read_to_string(&results[0]).unwrap().contains(",'@1+1,processed,"));

    for (file, expected) in [
        (workspace.write("none.csv", "Invoice,Amount\n1,2\n"), "line 1: the header has no column Key"),
        (workspace.write("torn.csv", format!("{BILLING}a,t,1,false,\n\"b")), "line 3: has a quotation mark"),
        (workspace.write("wide.csv", format!("{BILLING}a,t,1,false,,x\n")), "line 2: has 6 cells"),
        (
            workspace.write("error.csv", format!("{BILLING}#REF!,t,1,false,\n")),
            "line 2: must not be an error value",
        ),
        (workspace.write("spaced.csv", " Key,Amount\na,1\n"), "the heading \" Key\" has white space"),
        (workspace.write("torn.jsonl", "{\"Key\":\"a\"}\n{\"line\":2,"), "line 2: it is not a JSON object"),
        (workspace.write("nameless.jsonl", "{\"Amount\":2}"), "line 1: must not be empty"),
        (workspace.write("torn.jsonl", "{\"Key\":\"a\"}\r{\"line\":2,"), "line 2: it is not a JSON object"),
        (workspace.path("missing.csv"), "cannot be read"),
    ] {
        let error = workspace.journal_command(&["export", "--run", &file]).failed(2);
        assert_eq!(error["kind"], "run_file");
        assert!(message(&error).contains(expected), "{error}");
    }
    workspace.journal_command(&["export", "--since", "yesterday"]).refused("must be a date such as");
}

#[test]
fn completed_export_resolves_its_rows() {
    let workspace = Workspace::open();
    let [one, two, _] = workspace.lose_responses(["@1+1", "two", "not-there"]);
    workspace.charge("paid").processed();
    let export = workspace.csv(&["--state", "unknown"]);
    // As a spreadsheet saves it: with CRLF, a byte order mark and an empty last line.
    let mut rows: Vec<Vec<_>> =
        export.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect();
    let column = |name: &str| rows[0].iter().position(|it| it == name).unwrap();
    let (id, note, verdict) = (column("transaction_id"), column("note"), column("verdict"));
    rows[1][id] = one.clone();
    rows[2][id] = two.clone();
    rows[2][note] = "\"in the report, page 2\"".to_owned();
    rows[3][note] = "in no report".to_owned();
    rows[3][verdict] = "not processed".to_owned();
    let filled: String = rows.iter().map(|row| row.join(",") + "\r\n").collect();
    let filled = format!("\u{feff}{filled}\r\n,,\r\n");
    let filled = filled.replace("\r\n,,\r\n", &format!("\r\n{}\r\n", ",".repeat(rows[0].len() - 1)));

    let ended = workspace.resolving(&filled).end().quiet(0);
    let document = ended.json();
    assert!(ended.stdout.starts_with(
        "{\"resolved\":{\"not_processed\":{\"count\":1,\"sum\":45.00},\"processed\":{\"count\":2,\"sum\":90.00}},"
    ));
    let intents = document["intents"].as_array().unwrap();
    assert_eq!(intents.len(), 3);
    for (intent, (key, id, note)) in intents.iter().zip([
        ("@1+1", Some(&one), Value::Null),
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
        "2 @1+1: Key was already resolved the same way, by Grace: remove this row from the file"
    );
    assert_eq!(again.len(), 3, "{again:?}");
    let other = wrong_rows(
        &workspace
            .resolving(format!(
                "Key,TransactionId,Note,Verdict\ntwo,,gone,not processed\nnot-there,{one},,\n"
            ))
            .end(),
    );
    assert!(
        other[0].starts_with("2 two: Key was already resolved differently, by Grace: as processed; "),
        "{other:?}"
    );
    assert_eq!(other.len(), 2, "the row is wrong for its key alone: {other:?}");
}

#[test]
fn apostrophes_are_stripped_from_exports_only() {
    let workspace = Workspace::open();
    workspace.lose_responses(["+1", "'+1"]);
    let row = "'+1,,'- not there,not processed\n";
    assert_eq!(workspace.resolving(format!("Key,TransactionId,Note,Verdict\n{row}")).end().code, Some(0));
    assert_eq!([&workspace.show("+1")["state"], &workspace.show("'+1")["note"]], ["unknown", "'- not there"]);
    assert_eq!(workspace.resolving(format!("key,transaction_id,note,verdict\n{row}")).end().code, Some(0));
    assert_eq!(workspace.show("+1")["note"], "- not there");
}

/// The id in the void's own request is not evidence.
#[test]
fn unchanged_export_of_an_unknown_void_resolves_nothing_d10() {
    let workspace = Workspace::open();
    let id = workspace.creating("payment").stdin(authorization()).end().paid_id();
    workspace.arm(Fault::request_lost(OperationName::Void));
    workspace.run(["void", &id, "--key", "void"]).end().failed(5);
    let export = workspace.csv(&["--state", "unknown"]);
    let unchanged = workspace.resolving(export).end();
    assert_eq!(
        (unchanged.code, unchanged.json()["left_alone"].as_u64()),
        (Some(0), Some(1)),
        "{unchanged:?}"
    );
    // Nor is another id that an unclear response named.
    let peer = Peer::responding("200 OK", &unclear_response("txn_2"));
    let at = |run: Run| run.env("PAYMENTS_BASE_URL", &peer.base_url).end();
    at(workspace.run(["void", &id, "--key", "named"])).failed(5);
    let export = workspace.csv(&["--state", "unknown"]);
    assert!(export.contains(",txn_2,"), "{export}");
    let noted = at(workspace.resolving("key,transaction_id,note\nnamed,txn_2,asked support\n"));
    assert_eq!((noted.code, noted.json()["left_alone"].as_u64()), (Some(0), Some(1)), "{noted:?}");
    assert_eq!(workspace.show("named")["state"], "unknown");
    let found = format!("Key,TransactionId,Note\nvoid,{id},\n");
    let expected =
        "2 void: Note is required for a void: the record of its transaction does not show that it was voided";
    workspace.refuses(found, [expected]);
    assert_eq!(workspace.show("void")["state"], "unknown");
}

#[test]
fn export_with_mixed_up_rows_is_refused() {
    let workspace = Workspace::open();
    workspace.lose_responses(["one"]);
    let file = |amount: &str| {
        format!("key,amount,transaction_id,note,verdict\none,{amount},,in no report,rejected\n")
    };
    let expected = "2 one: amount is not the amount of the key's payment: compare the row with `payments journal show KEY`";
    workspace.refuses(file("46.00"), [expected]);
    assert_eq!(workspace.show("one")["state"], "unknown");
    assert_eq!(workspace.resolving(file("45.00")).end().code, Some(0));
}

#[test]
fn text_shows_each_record_with_its_intent_and_the_sums() {
    let workspace = Workspace::open();
    let [one, two, _] = workspace.lose_responses(["one", "two", "three"]);
    let file = format!(
        "Key,TransactionId,Note,Verdict\none,{one},,\ntwo,{two},,\nthree,,in no report,not processed\n"
    );
    let text = workspace.resolving(file).text().exits(0);
    assert_eq!(
        text.stdout,
        format!(
            "  one    45.00 processed as {one}; found: 45.00, card 4242, Status 1, Grace Example\n  \
               two    45.00 processed as {two}; found: 45.00, card 4242, Status 1, Grace Example\n  \
               three  45.00 not processed: in no report\n\
             resolved as processed: 2 intents, 90.00; as not processed, may be sent again: 1 intent, 45.00\n\
             compare each record with its intent, and its time and reference in the service's records: if it is not the payment of the key, resolve that key again with --replace\n"
        )
    );
    begins(&text.stderr, "WARNING: three was sent less than 24 hours ago");
}

#[test]
fn dry_run_checks_and_looks_up_every_row_and_changes_nothing() {
    let workspace = Workspace::open();
    let [one, two, three] = workspace.lose_responses(["one", "two", "three"]);
    let before = workspace.export_all();
    let file = format!(
        "Key,TransactionId,Note,Verdict\none,{one},,\ntwo,,in no report,not processed\n\
         three,{three},declined,rejected\n"
    );
    let trial = |file: &str| workspace.resolving(file).arguments(["--dry-run"]);
    let text = trial(&file).text().exits(0);
    assert_eq!(
        text.stdout,
        format!(
            "DRY RUN, nothing was changed\n  \
               one    45.00 processed as {one}; found: 45.00, card 4242, Status 1, Grace Example\n  \
               two    45.00 not processed: in no report\n  \
               three  45.00 rejected as {three}: declined\n\
             would be resolved as processed: 1 intent, 45.00; as rejected: 1 intent, 45.00; as not processed, may be sent again: 1 intent, 45.00\n\
             compare each record with its intent, and its time and reference in the service's records, then run it without --dry-run\n"
        )
    );
    begins(&text.stderr, "WARNING: two was sent less than 24 hours ago");
    let document = trial(&file).end().json();
    assert_eq!((&document["dry_run"], &document["intents"][0]["state"]), (&json!(true), &json!("unknown")));
    assert_eq!(document["intents"][0]["record"]["TransactionId"], json!(one));
    assert_eq!(document["resolved"]["processed"]["count"], 1);

    let wrong = wrong_rows(&trial(&format!("Key,TransactionId,Note\none,{two},\ntwo,{two},\n")).end());
    assert_eq!(wrong, ["3 two: TransactionId is the same as in line 2"]);
    assert_eq!(workspace.export_all(), before);
    let ended = workspace.resolving(&file).end();
    assert!(ended.json().get("dry_run").is_none(), "{ended:?}");
    assert_eq!(workspace.show("one")["state"], "resolved");
}

#[test]
fn file_with_semicolons_is_read_with_decimal_commas() {
    let workspace = Workspace::open();
    let [one] = workspace.lose_responses(["one"]);
    let file = |amount: &str| format!("\u{feff}key;transaction_id;note;amount\none;{one};a, b;{amount}\n");
    let expected = "2 one: amount is not the amount of the key's payment: compare the row with `payments journal show KEY`";
    workspace.refuses(file("46,00"), [expected]);
    workspace.resolving(file("45,00")).end().exits(0);
    assert_eq!(workspace.show("one")["note"], "a, b");
}

#[test]
fn every_wrong_row_is_named_and_nothing_is_written() {
    let workspace = Workspace::open();
    let paid = workspace.charge("paid").paid_id();
    let [one, two, three, _, _, _, _, before] =
        workspace.lose_responses(["one", "two", "three", "four", "five", "six", "seven", "before"]);
    assert_eq!(workspace.journal_command(&["resolve", "before", "--processed", &before]).code, Some(0));
    // Not in this journal.
    let larger = payments_at(workspace.sandbox.base_url(), CHARGE)
        .stdin(TOKEN_PAYMENT.replace("45.00", "46.00"))
        .end();
    let larger = larger.paid_id();
    let content = format!(
        "note,AMOUNT,KEY,Transaction_ID,VERDICT\n,1,one,{one},\n,1,one,{two},\n,1,two,{one},\n,1,three,{paid},\n\
         ,1,four,{larger},\n,1,five,txn_of_nobody,\n ,1,six,,not processed\n,1,nobody,{three},\n,1,paid,{paid},\n\
         ,1,before,{before},\n,1,in voice,{three},\n,1,seven,txn/..,\n,1,eight\n,1,nine,#N/A\n,1,ten,txn_1 \n\
         ,1,=A1,{three}\n,1,eleven,,,more\n"
    );
    let before = workspace.export_all();
    let expected = [
        "3 one: Key is the same as in line 2".to_owned(),
        "4 two: TransactionId is the same as in line 2".to_owned(),
        "5 three: TransactionId already belongs to paid".to_owned(),
        "6 four: TransactionId cannot belong to this intent: its amount is 46.00, and 45.00 was to be charged"
            .to_owned(),
        "7 five: TransactionId is not known to the service (HTTP 404)".to_owned(),
        "8 six: Note is required where the verdict is not processed: say how you know".to_owned(),
        "9 nobody: Key is not in the journal".to_owned(),
        "10 paid: Key is not unknown but processed: remove this row from the file".to_owned(),
        "11 before: Key was already resolved the same way, by ada: remove this row from the file".to_owned(),
        "12 ?: Key must consist of visible ASCII characters, without spaces".to_owned(),
        "13 seven: TransactionId cannot be looked up: remove this row from the file, and resolve the key alone with `payments \
         journal resolve KEY --processed ID --unverified`"
            .to_owned(),
        "15 nine: TransactionId must not be an error value of a spreadsheet".to_owned(),
        "16 ten: TransactionId must not begin or end with white space".to_owned(),
        "17 ?: Key must not be a formula of a spreadsheet".to_owned(),
        "18 ?: row has 6 cells, and the header has 5; a value with a comma needs quotes, and an amount needs a point and not a \
         comma"
            .to_owned(),
    ];
    let seen = wrong_rows(&workspace.resolving(&content).end());
    assert_eq!(seen, expected);
    assert_eq!(workspace.export_all(), before);

    let text = workspace.resolving(&content).text();
    assert_eq!((text.code, &*text.stdout), (Some(2), ""), "{text:?}");
    let lines: Vec<_> = text.stderr.lines().collect();
    assert_eq!(lines[0], "INVALID, nothing was changed (exit code 2)");
    assert_eq!((lines[2], lines.len()), ("  line 3: one: Key is the same as in line 2", 17));
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
            format!("Key\tTransactionId\tNote\none\t{one}\t\n"),
            vec!["1 ?: header has columns separated by tabs; they must be separated by commas"],
        ),
        (
            format!("Key,TransactionId,transaction_id,Note\none,,{one},\n"),
            vec!["1 ?: TransactionId is a column more than once"],
        ),
        ("Key,TransactionId,Note\n,,\n\n".to_owned(), vec!["1 ?: file has no rows"]),
        (
            format!("Key, TransactionId,Note\none,{one},\n"),
            vec!["1 ?: TransactionId has white space around the name in the header: remove it"],
        ),
        (
            format!("Key,TransactionId,Note\rone,{one},\rone,{one},\r"),
            vec!["3 one: Key is the same as in line 2", "3 one: TransactionId is the same as in line 2"],
        ),
    ] {
        workspace.refuses(&content, expected);
    }
    let folder = workspace.path("");
    workspace.journal_command(&["resolve", "--from", &folder]).refused("is a directory");
    for arguments in [
        &["resolve", "one", "--from", "found.csv"][..],
        &["resolve", "--from", "found.csv", "--not-processed", "--note", "n"],
        &["resolve", "--from", "found.csv", "--note", "n"],
        &["resolve", "--processed", "txn_1"],
        &["resolve", "--not-processed", "--note", "n"],
        &["resolve", "--by", "ada"],
        &["resolve", "one", "--not-processed", "--note", "n", "--dry-run"],
    ] {
        workspace.journal_command(arguments).failed(2);
    }
    let journal = workspace.path("billing.db");
    let own = [journal.clone(), format!("{journal}-owners/witness"), workspace.path("witness")];
    let witness = ["--witness", &own[2]];
    for path in &own {
        let arguments = ["accept-history", "--sent", path, "--by", "ada"];
        workspace
            .journal_command(&[&arguments[..], &witness].concat())
            .refused(" is the journal or belongs to it; ");
    }
    for arguments in [["resolve", "--from", &journal], ["export", "--run", &journal]] {
        workspace.journal_command(&arguments).refused(" is the journal or belongs to it; ");
    }
    assert_eq!(workspace.export_all(), before);
}

#[test]
fn api_key_in_a_file_is_neither_stored_nor_shown() {
    let workspace = Workspace::open();
    workspace.lose_responses(["one"]);
    let rows = format!("{KEY},,n,rejected\n{KEY},txn/1,n,\n{KEY},,n,rejected\none,{KEY},n,rejected\n");
    let refused = workspace.resolving(format!("Key,TransactionId,Note,Verdict\n{rows}")).end();
    let wrong = wrong_rows(&refused);
    assert_eq!(wrong[0], "2 ?: Key must not hold the API key");
    assert_eq!(wrong.last().unwrap(), "5 one: TransactionId must not hold the API key");
    let row = format!("one,,{KEY} n,not processed\n");
    let resolved = workspace.resolving(format!("Key,TransactionId,Note,Verdict\n{row}")).end();
    assert_eq!(resolved.json()["intents"][0]["note"], "[redacted] n");
    assert!(!format!("{refused:?}{resolved:?}").contains(KEY));
}

/// Even if earlier lookups succeeded and other rows are wrong.
#[test]
fn failed_lookup_stops_the_resolution_with_3() {
    let workspace = Workspace::open();
    let [one, _] = workspace.lose_responses(["one", "two"]);
    let content = format!(
        "Key,TransactionId,Note,Verdict\none,{one},,\ntwo,,in no report,not processed\nnobody,,n,rejected\n"
    );
    let before = workspace.export_all();
    let stops = |run: Run, kind: &str| {
        let ended = run.end();
        let error = ended.failed(3);
        assert_eq!(error["kind"], kind, "{error}");
        let message = error["message"].as_str().unwrap();
        begins(message, "line 2, one: the transaction could not be looked up: ");
        assert!(message.ends_with("; nothing was changed"), "{message}");
        assert_eq!(workspace.export_all(), before);
    };
    stops(workspace.resolving(&content).env("PAYMENTS_API_KEY", "wrong"), "unauthorized");
    let nowhere = workspace.resolving(&content).env("PAYMENTS_PROXY", "http://127.0.0.1:1");
    stops(nowhere.arguments(["--timeout", "0.5"]), "connect");
    // A proxy's 404 says nothing about the transaction.
    for (status, body, kind) in
        [("404 Not Found", "<html>", "intermediary"), ("403 Forbidden", responses::POSTAL_CODE, "rejected")]
    {
        let peer = Peer::responding(status, body);
        workspace.add_unknown(kind, &peer.base_url);
        let content = format!("Key,TransactionId,Note\n{kind},{one},\n");
        let before = workspace.export_all();
        let error = workspace.resolving(content).env("PAYMENTS_BASE_URL", &peer.base_url).end();
        assert_eq!(error.failed(3)["kind"], kind);
        assert_eq!(workspace.export_all(), before);
    }

    // A record of another transaction than the requested one proves nothing.
    let peer = Peer::responding("200 OK", &responses::TRANSACTION_FOUND.replace("10.50", "45.00"));
    workspace.add_unknown("one-more", &peer.base_url);
    let before = workspace.export_all();
    let content = format!("Key,TransactionId,Note\none-more,{one},\n");
    let run = workspace.resolving(content).env("PAYMENTS_BASE_URL", &peer.base_url);
    let expected = "2 one-more: TransactionId returns the record of another transaction: check it with `payments transaction get`";
    assert_eq!(wrong_rows(&run.end()), [expected]);
    assert_eq!(workspace.export_all(), before);
}

/// Resolves a file of three rows while someone else resolves the second. Also returns the ids of the other two.
fn changed_meanwhile(workspace: &Workspace, shape: &str, stdout: impl Into<Stdio>) -> (Ended, [String; 2]) {
    let [one, _, three] = workspace.lose_responses(["one", "two", "three"]);
    let content = format!(
        "Key,TransactionId,Note,Verdict\none,{one},,\ntwo,,in no report,not processed\nthree,{three},,\n"
    );
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
    let error = ended.failed(3);
    assert_eq!(
        (error["kind"].as_str().unwrap(), error["message"].as_str().unwrap()),
        (
            "changed_meanwhile",
            "2 of 3 rows were resolved; line 3, two: two has changed since it was read: ada resolved it as not processed; \
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
    let authorise = |key: &str| workspace.creating(key).stdin(authorization()).end();
    workspace.arm(Fault::response_lost(OperationName::Transaction));
    authorise("payment").failed(5);
    let id = workspace.last_id();
    // The second void would be refused, so its request is lost on the way.
    for (key, fault) in [
        ("void-1", Fault::response_lost(OperationName::Void)),
        ("void-2", Fault::request_lost(OperationName::Void)),
    ] {
        workspace.arm(fault);
        workspace.run(["void", &id, "--key", key]).end().failed(5);
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

/// A key in a file is refused if it looks like a card number, unless it is in the journal or the person says that it is none.
#[test]
fn key_like_a_card_number_is_read_from_a_file_if_it_is_none_or_in_the_journal_d52() {
    const LIKE_A_CARD: &str = "4539578763621486";
    let workspace = Workspace::open();
    let rule = "must not contain a card number; if it only looks like one, give --ids-are-not-cards";
    workspace.charge("other").processed();
    let billing = workspace.write("rows.csv", format!("{BILLING}{LIKE_A_CARD},tok_approved,1,false,\n"));
    let export = ["export", "--run", &billing];
    let message = workspace.journal_command(&export).refusal();
    assert!(
        message.contains("line 2") && message.contains(rule) && !message.contains(LIKE_A_CARD),
        "{message}"
    );
    assert_eq!(workspace.exported(&[&export[1..], &["--ids-are-not-cards"]].concat()), [""; 0]);

    let resolutions = format!("Key,TransactionId,Note,Verdict\n{LIKE_A_CARD},,not there,not processed\n");
    let ended = workspace.resolving(&resolutions).end();
    assert_eq!(wrong_rows(&ended), [format!("2 ?: Key {rule}")]);
    assert!(!format!("{ended:?}").contains(LIKE_A_CARD), "{ended:?}");
    let ended = workspace.resolving(&resolutions).arguments(["--ids-are-not-cards"]).end();
    assert_eq!(wrong_rows(&ended), [format!("2 {LIKE_A_CARD}: Key is not in the journal")]);

    // No card number of another column is looked up.
    workspace.lose_response("one");
    let looked_up = workspace.requests();
    let ended = workspace.resolving("Key,TransactionId,Note\none,4111111111111111,\n").end();
    let refused =
        "2 one: TransactionId must not be a card number; if it only looks like one, give --ids-are-not-cards";
    assert_eq!(wrong_rows(&ended), [refused]);
    assert_eq!(workspace.requests(), looked_up);

    // Nor does a row with another problem show a key that may be a card number.
    let mixed_up = format!(
        "Key,TransactionId,Note\n4111111111111111,a/../b,\n4242424242424242,#N/A,\n5555555555554444,txn_1,\n\
         378282246310005,{KEY},\n"
    );
    for output in ["json", "text"] {
        let ended = workspace.resolving(&mixed_up).arguments(["--output", output]).end().exits(2);
        for digits in ["4111111111", "4242424242", "5555555555", "3782822463"] {
            assert!(!format!("{ended:?}").contains(digits), "{ended:?}");
        }
    }

    // Once it is in the journal, every command accepts it.
    workspace.arm(Fault::response_lost(OperationName::TokenTransaction));
    let run = ["batch", "run", &billing];
    workspace.run(run).arguments(["--ids-are-not-cards"]).end().exits(5);
    workspace.run(run).end().exits(5);
    assert_eq!(workspace.exported(&export[1..]), [LIKE_A_CARD]);
    assert_eq!(workspace.show(LIKE_A_CARD)["state"], "unknown");
    assert_eq!(workspace.resolving(&resolutions).end().code, Some(0));
    assert_eq!(workspace.show(LIKE_A_CARD)["state"], "resolved");
    // And a mistyped one is not repeated.
    let error = workspace.journal_command(&["show", "4111111111111111"]).failed(2);
    assert!(!error.to_string().contains("4111111111111111"), "{error}");
}

/// Notes about what was asked, without an answer yet, resolve nothing.
#[test]
fn row_with_neither_id_nor_verdict_is_left_alone_and_counted_d48() {
    let workspace = Workspace::open();
    let [one, two] = workspace.lose_responses(["one", "two"]);
    let rows = format!("one,{one},,\ntwo,,\"asked support, no answer yet\",\nnot-in-the-journal,,,\n");
    let content = format!("Key,TransactionId,Note,Verdict\n{rows}");
    let text = workspace.resolving(&content).text().exits(0);
    has(&text.stdout, ["\nleft alone, without a Verdict or a new TransactionId: 2 rows\n"]);
    assert_eq!(workspace.show("one")["state"], "resolved");
    let left_alone = workspace.show("two");
    let events = left_alone["history"].as_array().map(Vec::len);
    assert_eq!((&left_alone["state"], events), (&json!("unknown"), Some(2)), "{left_alone}");
    let nothing =
        workspace.resolving("Key,TransactionId,Note\ntwo,,\"asked support, no answer yet\"\n").end();
    assert_eq!((nothing.code, &nothing.json()["left_alone"]), (Some(0), &json!(1)), "{nothing:?}");
    assert_eq!(nothing.json()["intents"], json!([]));
    let resolved = workspace.resolving(format!("Key,TransactionId,Note\ntwo,{two},\n")).end();
    assert_eq!((resolved.code, &resolved.json()["left_alone"]), (Some(0), &json!(0)), "{resolved:?}");
}

#[test]
fn verdicts_of_a_file_are_read_in_any_spelling_and_checked_d48() {
    let workspace = Workspace::open();
    let [one, _, three, _] = workspace.lose_responses(["one", "two", "three", "four"]);
    let wrong = format!(
        "Key,TransactionId,Note,Verdict\none,,n,processed\ntwo,,,rejected\nthree,{three},n,not processed\nfour,,n,maybe\n"
    );
    workspace.refuses(
        wrong,
        [
            "2 one: TransactionId is required where the verdict is processed",
            "3 two: Note is required where the verdict is rejected: say how you know",
            "4 three: TransactionId must be empty where the verdict is not processed",
            "5 four: Verdict must be processed, rejected, not processed, or empty",
        ],
    );
    // An export has an empty column, and a person may add another.
    let right = format!(
        "key,transaction_id,note,verdict,Verdict\none,{one},,,PROCESSED\ntwo,,portal: declined,Rejected,\n\
         three,{three},portal: declined,rejected,\nfour,,in no report,, not_processed \n"
    );
    let ended = workspace.resolving(right).end().exits(0);
    let counts = |name: &str| ended.json()["resolved"][name]["count"].clone();
    assert_eq!(
        [counts("processed"), counts("rejected"), counts("not_processed")],
        [1, 2, 1].map(Value::from)
    );
    for (key, state) in
        [("one", "resolved"), ("two", "rejected"), ("three", "rejected"), ("four", "resolved")]
    {
        assert_eq!(workspace.show(key)["state"], state, "{key}");
    }
    assert_eq!(workspace.show("three")["transaction_id"], *three);
}

/// Somebody resolves a key and sends it again while another person fills in an export.
#[test]
fn export_of_an_attempt_that_is_not_the_newest_is_refused_d48() {
    let workspace = Workspace::open();
    let [one, two] = workspace.lose_responses(["one", "two"]);
    let export = workspace.csv(&["--state", "unknown"]);
    let mut reader = csv::Reader::from_reader(export.as_bytes());
    let headings = reader.headers().unwrap().clone();
    let column = |name: &str| headings.iter().position(|it| it == name).unwrap();
    let fill = |records: Vec<csv::StringRecord>, ids: &[&String]| {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(&headings).unwrap();
        for (record, id) in records.iter().zip(ids) {
            let cells = record.iter().enumerate();
            let cells =
                cells.map(|(index, cell)| if index == column("transaction_id") { id.as_str() } else { cell });
            writer.write_record(cells).unwrap();
        }
        String::from_utf8(writer.into_inner().unwrap()).unwrap()
    };
    let old = fill(reader.records().map(Result::unwrap).collect(), &[&one, &two]);
    let resolve = ["resolve", "one", "--not-processed", "--note", "n", "--by", "ada"];
    assert_eq!(workspace.journal_command(&resolve).code, Some(0));
    workspace.lose_response("one");
    let second = workspace.last_id();
    let before = workspace.export_all();
    workspace.refuses(
        &old,
        [
            "2 one: Attempt is 1, and the newest is 2: if the row is about attempt 1, resolve it alone with \
             `payments journal resolve one --attempt 1`",
            "2 one: Revision is not 5: the key has changed since this file was exported, export it again",
        ],
    );
    let bare = format!("Key,TransactionId,Note\none,{one},\n");
    workspace.refuses(
        bare,
        ["2 one: Attempt is required, because the key has 2 attempts: see `payments journal show one`"],
    );
    assert_eq!(workspace.export_all(), before);
    let export = workspace.csv(&["--state", "unknown"]);
    let mut reader = csv::Reader::from_reader(export.as_bytes());
    let new = fill(reader.records().map(Result::unwrap).collect(), &[&second, &two]);
    assert_eq!(workspace.resolving(new).end().code, Some(0));
    assert_eq!(workspace.show("one")["transaction_id"], *second);
}

/// A response that proves nothing, and the same record for a lookup.
fn unclear_response(id: &str) -> String {
    responses::TRANSACTION_FOUND.replace("10.50", "45.00").replace("\"txn_1\"", &json!(id).to_string())
}

/// The response named the transaction: the file repeats what the journal knows.
#[test]
fn exported_id_without_a_verdict_resolves_nothing_d48() {
    let workspace = Workspace::open();
    for (key, id) in [("one", "txn_1"), ("two", " lead"), ("three", "txn/.."), ("four", "\u{202e}abc")] {
        let peer = Peer::responding("200 OK", &unclear_response(id));
        let at = |run: Run| run.env("PAYMENTS_BASE_URL", &peer.base_url).end();
        at(workspace.charging(key, TOKEN_PAYMENT)).failed(5);
        let export = workspace.csv(&["--state", "unknown"]);
        let mut reader = csv::Reader::from_reader(export.as_bytes());
        let headings = reader.headers().unwrap().clone();
        let row = reader.records().map(Result::unwrap).find(|row| row[0] == *key).unwrap();
        let saved = |note: &str, verdict: &str| {
            let mut writer = csv::Writer::from_writer(Vec::new());
            writer.write_record(&headings).unwrap();
            writer
                .write_record(headings.iter().zip(&row).map(|(name, cell)| match name {
                    "note" => note,
                    "verdict" => verdict,
                    _ => cell,
                }))
                .unwrap();
            writer.into_inner().unwrap()
        };
        for note in ["", "asked support, no answer yet"] {
            let unchanged = at(workspace.resolving(saved(note, "")));
            assert_eq!(
                (unchanged.code, &unchanged.json()["left_alone"]),
                (Some(0), &json!(1)),
                "{unchanged:?}"
            );
            holds(&workspace.show(key), &json!({"state": "unknown", "paid": "unknown"}));
        }
        let is_looked_up = key != "three";
        let verdict = if is_looked_up { "processed" } else { "rejected" };
        let resolved = at(workspace.resolving(saved("the portal", verdict)));
        assert_eq!(resolved.code, Some(0), "{id:?}: {resolved:?}");
        assert_eq!(workspace.show(key)["transaction_id"], id);
        assert_eq!(workspace.show(key)["paid"], if is_looked_up { "yes" } else { "no" });
    }
}

/// A declined payment would be booked as paid.
#[test]
fn verdict_under_another_heading_is_refused_d48() {
    let workspace = Workspace::open();
    let [one] = workspace.lose_responses(["one"]);
    for (headings, more, column) in [
        ("Key,TransactionId,Note,Verdit", ",rejected", "Verdit"),
        ("key,transaction_id,note,verdict,Ver dict", ",,Rejected", "\"Ver dict\""),
        ("key,transaction_id,note,verdict,", ",,not processed", "\"\""),
    ] {
        let file = format!("{headings}\none,{one},the portal{more}\n");
        let rule = format!(
            "2 one: row has a verdict in the column {column}: name that column Verdict, or remove it"
        );
        workspace.refuses(file, [rule]);
        assert_eq!(workspace.show("one")["state"], "unknown");
    }
    // Other columns are ignored, with a name or without.
    let file = format!("key,transaction_id,note,card_ending,Paid,Checked by,\none,{one},,,unknown,Bob,x\n");
    assert_eq!(workspace.resolving(file).end().code, Some(0));
}

/// Typed ids are refused in these forms, but this is what the service returned.
#[test]
fn id_that_the_journal_holds_is_resolved_in_any_form_d41() {
    let workspace = Workspace::open();
    for (number, id) in [" lead", "trail ", "=A1", "#REF!", "Err:502", "\u{202e}abc"].into_iter().enumerate()
    {
        let peer = Peer::responding("200 OK", &unclear_response(id));
        let at = |run: Run| run.env("PAYMENTS_BASE_URL", &peer.base_url).end();
        let resolve = |key: &str, arguments: &[&str]| {
            at(workspace.run(["journal", "resolve", key]).arguments(arguments.iter()))
        };
        let keys =
            [format!("looked-up-{number}"), format!("unverified-{number}"), format!("rejected-{number}")];
        for key in &keys {
            at(workspace.charging(key, TOKEN_PAYMENT)).failed(5);
        }
        let typed = id.replace('\u{202e}', "\\u{202e}");
        let rejected = format!("--rejected={typed}");
        assert_eq!(resolve(&keys[2], &[&rejected, "--note", "n"]).code, Some(0), "{id:?}");
        assert_eq!(resolve(&keys[0], &["--processed", &typed]).code, Some(0), "{id:?}");
        assert_eq!(workspace.show(&keys[0])["transaction_id"], id);
        let back = ["--not-processed", "--note", "n", "--replace", &typed];
        assert_eq!(resolve(&keys[0], &back).code, Some(0), "{id:?}");
        assert_eq!(resolve(&keys[1], &["--processed", &typed, "--unverified"]).code, Some(0), "{id:?}");
        // Another key does not hold it.
        workspace.add_unknown(&format!("other-{number}"), &peer.base_url);
        if id != "\u{202e}abc" {
            resolve(&format!("other-{number}"), &["--processed", id, "--unverified"]).failed(2);
        }
    }
}

/// The way back from a loss: what the service knows is found there, and belongs to it from then on.
#[test]
fn lost_keys_are_resolved_from_a_file_at_their_service_d49() {
    let workspace = Workspace::open();
    workspace.charge("kept").processed();
    let copy = fs::read(workspace.path("billing.db")).expect("it can be read");
    let ids = ["one", "two"].map(|key| {
        workspace.charge(key).processed();
        workspace.last_id()
    });
    fs::write(workspace.path("billing.db"), copy).expect("it can be written");
    let accepted = workspace.accept("Key\none\ntwo\nthree\n");
    assert_eq!(accepted.json()["unknown"], 3, "{accepted:?}");
    let [one, two] = ids;
    let kept = workspace.show("kept")["transaction_id"].as_str().unwrap().to_owned();
    let taken = workspace.resolving(format!("Key,TransactionId,Note\none,{kept},\n")).end();
    assert_eq!(wrong_rows(&taken), ["2 one: TransactionId already belongs to kept"]);
    let rejected = "Key,TransactionId,Verdict,Note\nthree,,rejected,declined there\n";
    workspace.refuses(rejected, [
            "2 three: Key cannot be resolved from a file: the entry of this key was lost, so the journal does not know its service: \
          name it, as for a call"
        ]);
    let found = format!(
        "Key,TransactionId,Verdict,Note\none,{one},processed,\ntwo,{two},processed,\nthree,,rejected,declined there\n"
    );
    workspace.resolving(found).end().exits(0);
    for key in ["one", "two", "three"] {
        assert!(workspace.show(key)["service"].is_string(), "{key}");
    }
    assert_eq!(workspace.charge("one").code, Some(0), "it is recorded");
    workspace.charge("three").failed(4);
    assert_eq!(workspace.sandbox.gateway().ledger().entries().len(), 3);
}

#[test]
fn unverified_verdict_of_a_lost_key_needs_its_service_d47_d49() {
    for verdict in [&["--processed", "txn_9", "--unverified"][..], &["--rejected", "--note", "declined"]] {
        let workspace = Workspace::open();
        workspace.charge("kept").processed();
        workspace.accept("Key\nlost\n");
        let arguments = [&["journal", "resolve", "lost", "--by", "ada"][..], verdict].concat();
        let nowhere = workspace.run(arguments.iter()).env("PAYMENTS_BASE_URL", "").end();
        nowhere.failed(2);
        assert!(format!("{nowhere:?}").contains("does not know its service"), "{nowhere:?}");
        workspace.run(arguments.iter()).arguments(["--merchant", "toys"]).end().exits(0);
        assert!(workspace.show("lost")["service"].as_str().unwrap().ends_with("#toys"));
        workspace.charge("lost").failed(5);
    }
}

/// A cell would continue until the next quotation mark, and the rows between them would be neither sent nor named nor compared.
#[test]
fn quotation_mark_that_hides_rows_is_refused_in_every_file() {
    let workspace = Workspace::open();
    workspace.lose_responses(["one"]);
    let swallowing = |row: &str| {
        let row = |key: &str, text: &str| row.replace("KEY", key).replace("TEXT", text);
        [row("one", "\"Monitor 12"), row("two", "Cable"), row("three", "\"Monitor 14")].join("\n")
    };
    let before = workspace.export_all();
    for (name, heading, row, command) in [
        ("sent.csv", "Key,Text", "KEY,TEXT", &["journal", "accept-history", "--by", "ada", "--sent"][..]),
        (
            "found.csv",
            "Key,TransactionId,Note",
            "KEY,txn_1,TEXT",
            &["journal", "resolve", "--by", "ada", "--from"],
        ),
        (
            "run.csv",
            "Key,TokenId,Amount,ConvenienceFeeActive,Description",
            "KEY,tok_approved,10.50,false,TEXT",
            &["batch", "run"],
        ),
        (
            "run.csv",
            "Key,TokenId,Amount,ConvenienceFeeActive,Description",
            "KEY,tok_approved,10.50,false,TEXT",
            &["journal", "export", "--run"],
        ),
        ("report.csv", "Id,Amount,Date,Reference", "t1,10.50,2026-11-23,TEXT", &["journal", "reconcile"]),
    ] {
        let path = workspace.write(name, format!("{heading}\n{}\n", swallowing(row)));
        let ended = workspace.run([command, &[&path]].concat()).end();
        assert_eq!(ended.code, Some(2), "{command:?}: {ended:?}");
        let said = format!("{}{}", ended.stdout, ended.stderr);
        assert!(said.contains("quotation mark"), "{command:?}: {said}");
        assert_eq!(workspace.export_all(), before, "{command:?}");
    }
    assert_eq!(workspace.requests(), 1);
}

/// What an export says about a key is no new finding, however its headings are written.
#[test]
fn exported_row_that_was_not_filled_in_resolves_nothing_d48() {
    let workspace = Workspace::open();
    let declined = declined_payment();
    workspace.charging("declined", &declined).end().failed(4);
    let authorized = CARD_PAYMENT.replace("\"TransactionType\":\"1\"", "\"TransactionType\":\"2\"");
    let made = payments_at(workspace.sandbox.base_url(), CREATE).stdin(authorized).end();
    let id = made.paid_id();
    workspace.arm(Fault::response_lost(OperationName::Void));
    assert_eq!(workspace.run(["void", &id, "--reason", "twice", "--key", "void"]).end().code, Some(5));
    let note = ["--not-processed", "--note", "support: still authorized"];
    assert_eq!(workspace.journal_command(&[&["resolve", "void"][..], &note].concat()).code, Some(0));
    let pending = r#"{"status":"declined","status_code":101,"data":{"TransactionId":"txn_9"}}"#;
    let peer = Peer::responding("200 OK", pending);
    let at = &peer.base_url;
    assert_eq!(workspace.charging("unclear", TOKEN_PAYMENT).env("PAYMENTS_BASE_URL", at).end().code, Some(5));

    let before = workspace.export_all();
    let exported = workspace.journal_command(&["export", "--format", "csv"]).stdout;
    let (headings, rows) = exported.split_once('\n').unwrap();
    for headings in [headings.to_owned(), headings.replacen("key", "Key", 1), headings.to_uppercase()] {
        let file = workspace.write("found.csv", format!("{headings}\n{rows}"));
        let run = workspace.run(["journal", "resolve", "--by", "ada", "--from", &file]);
        let ended = run.env("PAYMENTS_BASE_URL", at).end();
        assert_eq!(ended.code, Some(0), "{headings}: {ended:?}");
        assert_eq!(ended.json()["left_alone"], 3, "{ended:?}");
        assert_eq!(workspace.export_all(), before, "{headings}");
    }
}

#[test]
fn id_beside_a_word_against_it_needs_a_verdict_d48() {
    let workspace = Workspace::open();
    let [id] = workspace.lose_responses(["one"]);
    for status in ["declined", "Refunded in part", "FAILED"] {
        let found = format!("Key,TransactionId,Note,Status\none,{id},,{status}\n");
        let wrong = wrong_rows(&workspace.resolving(found).end());
        assert!(wrong[0].starts_with("2 one: row has the word "), "{wrong:?}");
        let found = format!("Key,TransactionId,Note,Status,Verdict\none,{id},,{status},processed\n");
        assert_eq!(workspace.resolving(found).arguments(["--dry-run"]).end().code, Some(0));
    }
    // A cell that cannot be read checks nothing.
    let exported = "key,transaction_id,note,amount,verdict\n";
    let wrong = wrong_rows(&workspace.resolving(format!("{exported}one,{id},,45.00 EUR,processed\n")).end());
    assert_eq!(wrong, ["2 one: amount cannot be read: write it as it was exported"]);
}
