//! `payments journal export` with filters, and `payments journal resolve --from` with a completed export.
#![cfg(unix)]

use std::process::Stdio;
use std::time::{Duration, SystemTime};

use crate::prelude::*;
use crate::resolving::unclear_response;

impl Workspace {
    #[track_caller]
    fn refuses(&self, content: impl AsRef<[u8]>, expected: impl IntoIterator<Item = impl AsRef<str>>) {
        let expected: Vec<_> = expected.into_iter().map(|it| it.as_ref().to_owned()).collect();
        assert_eq!(wrong_rows(&self.resolving(content).end()), expected);
    }

    /// The keys that an export has.
    pub(crate) fn exported(&self, options: &str) -> Vec<String> {
        let ended = self.journals(format!("export {options}")).quiet(0);
        let key = |line: &str| {
            let intent: Value = serde_json::from_str(line).unwrap();
            intent["key"].as_str().unwrap().to_owned()
        };
        ended.stdout.lines().map(key).collect()
    }

    /// An export of what is unknown, with these changes: a key, a column and a value.
    fn filled(&self, changes: &[(&str, &str, &str)]) -> String {
        let csv = self.csv("--state unknown");
        let mut reader = csv::Reader::from_reader(csv.as_bytes());
        let headings = reader.headers().unwrap().clone();
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(&headings).unwrap();
        for row in reader.records().map(Result::unwrap) {
            let change =
                |heading: &str| changes.iter().find(|(key, column, _)| row[0] == **key && *column == heading);
            let cells = headings.iter().zip(&row);
            let cells = cells.map(|(heading, cell)| change(heading).map_or(cell, |(_, _, value)| value));
            writer.write_record(cells).unwrap();
        }
        String::from_utf8(writer.into_inner().unwrap()).unwrap()
    }
}

/// [`Ended::wrong_rows`] of a refused file of resolutions.
#[track_caller]
fn wrong_rows(ended: &Ended) -> Vec<String> {
    has(message(&ended.failed_as(2, "resolve_file")), ["nothing was changed"]);
    ended.wrong_rows()
}

/// Checks that nothing was resolved because no row was filled in.
#[track_caller]
fn leaves_alone(ended: &Ended, count: usize) {
    assert_eq!((ended.code, &ended.json()["left_alone"]), (Some(0), &json!(count)), "{ended:?}");
}

#[test]
fn export_filters_by_state_time_and_run() {
    let workspace = Workspace::with_charge("by-hand");
    let rows = "@1+1,tok_approved,1,false,\n,tok_declined,2,false,order-2\nlost,tok_approved,3,false,\n";
    let first = workspace.write("first.csv", format!("{BILLING}\n{rows}"));
    let second =
        workspace.write("second.csv", format!("\u{feff}{BILLING}\nsecond,tok_approved,4,false,\n\n"));
    let results = [workspace.path("results.csv"), workspace.path("results.jsonl")];
    workspace.arm(Fault::response_lost(TOKENS).skip(2));
    for (file, results, code) in [(&first, &results[0], 5), (&second, &results[1], 0)] {
        workspace.does(format!("batch run {file} --concurrency 1 --results {results}")).exits(code);
    }
    let cr = workspace.write("cr.jsonl", "\u{feff}{\"Key\":\"second\"}\r\r{\"Key\":\"lost\"}\r");
    let last = workspace.shown("second", "begun_at").as_str().unwrap().to_owned();
    for (options, keys) in [
        (String::new(), &["by-hand", "@1+1", "order-2", "lost", "second"][..]),
        (format!("--run {first}"), &["@1+1", "order-2", "lost"]),
        (format!("--run {}", results[0]), &["@1+1", "order-2", "lost"]),
        (format!("--run {second}"), &["second"]),
        (format!("--run {}", results[1]), &["second"]),
        (format!("--run {cr}"), &["lost", "second"]),
        (format!("--run {first} --state unknown,rejected"), &["order-2", "lost"]),
        ("--state unknown --state rejected".to_owned(), &["order-2", "lost"]),
        (format!("--since {last}"), &["second"]),
        (format!("--since {}", &last[..10]), &["by-hand", "@1+1", "order-2", "lost", "second"]),
        ("--since 2999-01-01T00:00:00+01:00".to_owned(), &[]),
    ] {
        assert_eq!(workspace.exported(&options), keys, "{options}");
    }

    // Results and exports both keep a spreadsheet from reading a key as a formula.
    let csv = workspace.csv(&format!("--run {first}"));
    begins(&csv, "key,state,");
    has(&csv, ["\n'@1+1,processed,"]);
    has(workspace.read("results.csv"), [",'@1+1,processed,"]);

    for (name, content, expected) in [
        ("none.csv", "Invoice,Amount\n1,2\n".to_owned(), "line 1: the header has no column Key"),
        ("torn.csv", format!("{BILLING}\na,t,1,false,\n\"b"), "line 3: has a quotation mark"),
        ("wide.csv", format!("{BILLING}\na,t,1,false,,x\n"), "line 2: has 6 cells"),
        ("error.csv", format!("{BILLING}\n#REF!,t,1,false,\n"), "line 2: must not be an error value"),
        ("spaced.csv", " Key,Amount\na,1\n".to_owned(), "the heading \" Key\" has white space"),
        ("twice.csv", "Key,Key\na,b\n".to_owned(), "the heading \"Key\" is a column more than once"),
        ("torn.jsonl", "{\"Key\":\"a\"}\r{\"line\":2,".to_owned(), "line 2: it is not a JSON object"),
        ("nameless.jsonl", "{\"Amount\":2}".to_owned(), "line 1: must not be empty"),
    ] {
        let file = workspace.write(name, content);
        let error = workspace.journals(format!("export --run {file}")).failed_as(2, "run_file");
        has(message(&error), [expected]);
    }
    workspace.journals("export --run /missing.csv").refused("cannot be read");
    workspace.journals("export --since yesterday").refused("must be a date such as");
}

#[test]
fn completed_export_resolves_its_rows() {
    let (workspace, [one, two, _]) = Workspace::with_lost(["@1+1", "two", "not-there"]);
    workspace.charge("paid").processed();
    let filled = workspace.filled(&[
        ("'@1+1", "transaction_id", &one),
        ("two", "transaction_id", &two),
        ("two", "note", "in the report, page 2"),
        ("not-there", "note", "in no report"),
        ("not-there", "verdict", "not processed"),
    ]);
    // As a spreadsheet saves it: with CRLF, a byte order mark and an empty last line.
    let empty = ",".repeat(filled.lines().next().unwrap().matches(',').count());
    let filled = format!("\u{feff}{}\r\n{empty}\r\n", filled.replace('\n', "\r\n"));

    let ended = workspace.resolving(&filled).end().exits(0);
    begins(
        &ended.stdout,
        "{\"resolved\":{\"not_processed\":{\"count\":1,\"sum\":45.00},\"processed\":{\"count\":2,\"sum\":90.00}},",
    );
    let document = ended.json();
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
        holds(&intent, &json!({"state": "resolved", "resolved_by": "Grace", "note": note}));
        assert_eq!(record.map(|record| record["TransactionId"].clone()), id.map(|id| json!(id)));
    }

    // The same file again, for example after a crash, changes nothing.
    let before = workspace.export();
    let again = workspace.resolving(&filled).end().quiet(0).json();
    holds(&again, &json!({"already_so": 3, "left_alone": 0, "intents": []}));
    let text = workspace.resolving(&filled).text().exits(0).stdout;
    has(text, ["already resolved the same way, and left as they are: 3 rows\nstill unknown: no key\n"]);
    assert_eq!(workspace.export(), before);
    // But its other cells may not be mixed up.
    let mixed = wrong_rows(&workspace.resolving(filled.replacen("45.00", "46.00", 1)).end());
    begins(&mixed[0], "2 @1+1: amount is not the amount of the key's payment");
    let other = format!("Key,TransactionId,Note,Verdict\ntwo,,gone,not processed\nnot-there,{one},,\n");
    let other = wrong_rows(&workspace.resolving(other).end());
    begins(&other[0], "2 two: Key was already resolved differently, by Grace: as processed; ");
    assert_eq!(other.len(), 2, "the row is wrong for its key alone: {other:?}");
}

#[test]
fn apostrophes_are_stripped_from_exports_only() {
    let workspace = Workspace::open();
    workspace.lose_response("+1");
    // Of the same payment it would be the same key.
    workspace.arm(Fault::response_lost(TOKENS));
    workspace.charging("'+1", &TOKEN_PAYMENT.replace("45.00", "46.00")).end().exits(5);
    let row = "'+1,,'- not there,not processed";
    // The amount shows that it is not the other key.
    let own = format!("Key,TransactionId,Note,Verdict,Attempt,Revision,Amount\n{row},1,2,46.00\n");
    workspace.resolving(own).end().exits(0);
    assert_eq!([workspace.shown("+1", "state"), workspace.shown("'+1", "note")], ["unknown", "'- not there"]);
    workspace.resolving(format!("key,transaction_id,note,verdict\n{row}\n")).end().exits(0);
    assert_eq!(workspace.shown("+1", "note"), "- not there");
}

/// The id in the void's own request is not evidence.
#[test]
fn unchanged_export_of_an_unknown_void_resolves_nothing_d10() {
    let workspace = Workspace::open();
    let id = workspace.creating("payment").stdin(authorization()).end().paid_id();
    workspace.arm(Fault::request_lost(OperationName::Void));
    workspace.does(format!("void {id} --key void")).failed(5);
    leaves_alone(&workspace.resolving(workspace.filled(&[])).end(), 1);
    // Nor is another id that an unclear response named.
    let peer = Peer::responding("200 OK", &unclear_response("txn_2"));
    let at = |run: Run| run.at(&peer.base_url).end();
    // It is not what a person looks up, in the call itself and once it is recorded.
    for _ in 0..2 {
        let error = at(workspace.run(format!("void {id} --key named"))).failed(5);
        assert_eq!(error["transaction_id"], id.as_str(), "{error}");
        has(message(&error), [format!("look up transaction {id}, then resolve the key")]);
    }
    has(workspace.filled(&[]), [",txn_2,"]);
    leaves_alone(&at(workspace.resolving("key,transaction_id,note\nnamed,txn_2,asked support\n")), 1);
    assert_eq!(workspace.shown("named", "state"), "unknown");
    let expected =
        "2 void: Note is required for a void: the record of its transaction does not show that it was voided";
    workspace.refuses(format!("Key,TransactionId,Note\nvoid,{id},\n"), [expected]);
    assert_eq!(workspace.shown("void", "state"), "unknown");
}

#[test]
fn row_with_another_amount_is_refused_with_points_and_with_commas() {
    let (workspace, [one]) = Workspace::with_lost(["one"]);
    let expected = "2 one: amount is not the amount of the key's payment: compare the row with `payments journal show KEY`";
    workspace.refuses("key,amount,transaction_id,note,verdict\none,46.00,,n,rejected\n", [expected]);
    let semicolons =
        |amount: &str| format!("\u{feff}key;transaction_id;note;amount\none;{one};a, b;{amount}\n");
    workspace.refuses(semicolons("46,00"), [expected]);
    assert_eq!(workspace.shown("one", "state"), "unknown");
    workspace.resolving(semicolons("45,00")).end().exits(0);
    assert_eq!(workspace.shown("one", "note"), "a, b");
}

#[test]
fn text_shows_one_line_per_record_and_a_dry_run_changes_nothing() {
    let (workspace, [one, two, three]) = Workspace::with_lost(["one", "two", "three"]);
    let before = workspace.export();
    let file = format!(
        "Key,TransactionId,Note,Verdict\none,{one},,\ntwo,,in no report,not processed\n\
         three,{three},declined,rejected\n"
    );
    let lines = format!(
        "  one    45.00 processed as {one}; found: 45.00, card 4242, Status 1, Grace Example\n  \
           two    45.00 not processed: in no report\n  \
           three  45.00 rejected as {three}; found: 45.00, card 4242, Status 1, Grace Example: declined\n"
    );
    let sums = "resolved as processed: 1 intent, 45.00; as rejected: 1 intent, 45.00; as not processed, may be sent again: 1 intent, 45.00\n\
                compare each record with its intent, and its time and reference in the service's records";
    let trial = |file: &str| workspace.resolving(file).with("--dry-run");
    let text = trial(&file).text().exits(0);
    assert_eq!(
        text.stdout,
        format!("DRY RUN, nothing was changed\n{lines}would be {sums}, then run it without --dry-run\n")
    );
    let text_of_one = trial("Key,Note,Verdict\ntwo,in no report,not processed\n").text().exits(0).stdout;
    has(text_of_one, ["would stay unknown: 2 intents, 90.00\nrun it without --dry-run\n"]);
    begins(&text.stderr, "WARNING: two was sent less than 24 hours ago");
    let document = trial(&file).end().json();
    holds(&document, &json!({"dry_run": true}));
    assert_eq!(document["intents"][0]["state"], "unknown");
    assert_eq!(document["intents"][0]["record"]["TransactionId"], json!(one));
    assert_eq!(document["resolved"]["processed"]["count"], 1);
    let wrong = trial(&format!("Key,TransactionId,Note\none,{two},\ntwo,{two},\n")).end();
    assert_eq!(wrong_rows(&wrong), ["3 two: TransactionId is the same as in line 2"]);
    assert_eq!(workspace.export(), before);

    let text = workspace.resolving(&file).text().exits(0);
    let wrong = ": if it is not the payment of the key, resolve that key again with --replace\n";
    assert_eq!(text.stdout, format!("{lines}{sums}{wrong}still unknown: no key\n"));
    begins(&text.stderr, "WARNING: two was sent less than 24 hours ago");
    assert_eq!(workspace.shown("one", "state"), "resolved");

    // Nothing was looked up.
    workspace.lose_responses(["four"]);
    let file = "Key,TransactionId,Note,Verdict\nfour,,in no report,not processed\n";
    let sums =
        "resolved as processed: 0 intents, 0.00; as not processed, may be sent again: 1 intent, 45.00\n";
    let dry = trial(file).text().exits(0).stdout;
    assert!(dry.ends_with(&format!("would be {sums}run it without --dry-run\n")), "{dry}");
    let done = workspace.resolving(file).text().exits(0).stdout;
    assert!(done.ends_with(&format!("\n{sums}still unknown: no key\n")), "{done}");
}

#[test]
fn every_wrong_row_is_named_with_all_that_is_wrong_and_nothing_is_written_d48() {
    let workspace = Workspace::open();
    let paid = workspace.charge("paid").paid_id();
    workspace.charge("paid-2").processed();
    let keys = ["one", "two", "three", "four", "five", "six", "seven", "before"];
    let [one, two, three, _, _, _, _, before] = workspace.lose_responses(keys);
    workspace.lose_responses(["twelve", "thirteen", "fourteen", "fifteen"]);
    workspace.journals(format!("resolve before --processed {before}")).exits(0);
    // Not in this journal.
    let larger = payments_at(workspace.sandbox.base_url(), CHARGE);
    let larger = larger.stdin(TOKEN_PAYMENT.replace("45.00", "46.00")).end().paid_id();
    let content = format!(
        "note,AMOUNT,KEY,Transaction_ID,VERDICT,Attempt,Revision\n,,one,{one},\n,,one,{two},\n,,two,{one},\n,,three,{paid},\n\
         ,,four,{larger},\n,,five,txn_of_nobody,\n ,,six,,not processed\n,,nobody,{three},\n,,paid,{paid},\n\
         ,,before,{before},\n,,in voice,{three},\n,,seven,txn/..,\n,,eight\n,,nine,#N/A\n,,ten,txn_1 \n\
         ,,=A1,{three}\n,,eleven,,,,,more\n\
         ,,twelve,txn_of_others,rejected,x,y\n\u{200b},,thirteen,txn_1,not processed,9\n\
         n,,fourteen,{larger},rejected\nn,,fifteen,a/../b,rejected\n\
         ,,unheard,,maybe,x\n,,none,,processed,1\n,,paid-2,,rejected,,z\n"
    );
    let rejected_without_note = "Note is required where the verdict is rejected: say how you know";
    let may_be_empty = "; the id of a rejected payment may be left empty";
    let before = workspace.export();
    workspace.refuses(&content, [
        "3 one: Key is the same as in line 2",
        "4 two: TransactionId is the same as in line 2",
        "5 three: TransactionId already belongs to paid",
        "6 four: TransactionId cannot belong to this intent: its amount is 46.00, and 45.00 was to be charged",
        "7 five: TransactionId is not known to the service (HTTP 404)",
        "8 six: Note is required where the verdict is not processed: say how you know",
        "9 nobody: Key is not in the journal",
        "10 paid: Key is not unknown but processed: remove this row from the file",
        "12 Key must consist of visible ASCII characters, without spaces",
        "13 seven: TransactionId cannot be looked up: remove this row from the file, and resolve the key alone with `payments \
         journal resolve KEY --processed ID --unverified`",
        "15 nine: Key is not in the journal",
        "15 nine: TransactionId must not be an error value of a spreadsheet",
        "16 ten: Key is not in the journal",
        "16 ten: TransactionId must not begin or end with white space",
        "17 Key must not be a formula of a spreadsheet",
        "18 row has 8 cells, and the header has 7; a value with a comma needs quotes, and an amount needs a point and not a \
         comma",
        &format!("19 twelve: {rejected_without_note}"),
        "19 twelve: Attempt must be a number",
        "19 twelve: Revision must be a number",
        &format!("19 twelve: TransactionId is not known to the service (HTTP 404){may_be_empty}"),
        "20 thirteen: TransactionId must be empty where the verdict is not processed",
        "20 thirteen: Note is required where the verdict is not processed: say how you know",
        "20 thirteen: Attempt is 9, and the newest is 1: if the row is about attempt 9, resolve it alone with \
         `payments journal resolve thirteen --attempt 9`",
        "21 fourteen: TransactionId is the same as in line 6",
        &format!(
            "21 fourteen: TransactionId cannot belong to this intent: its amount is 46.00, and 45.00 was to be charged{may_be_empty}"
        ),
        &format!("22 fifteen: TransactionId cannot be looked up{may_be_empty}"),
        "23 unheard: Verdict must be processed, rejected, not processed, or empty",
        "23 unheard: Attempt must be a number",
        "23 unheard: Key is not in the journal",
        "24 none: TransactionId is required where the verdict is processed",
        "24 none: Key is not in the journal",
        &format!("25 paid-2: {rejected_without_note}"),
        "25 paid-2: Revision must be a number",
        "25 paid-2: Key is not unknown but processed: remove this row from the file",
    ]);
    let text = workspace.resolving(&content).text().exits(2);
    let lines: Vec<_> = text.stderr.lines().collect();
    assert_eq!((&*text.stdout, lines[0]), ("", "INVALID, nothing was changed (exit code 2)"));
    assert_eq!((lines[2], lines.len()), ("  line 3: one: Key is the same as in line 2", 37));
    assert_eq!(workspace.export(), before);
}

#[test]
fn file_without_columns_or_rows_is_refused() {
    let (workspace, [one]) = Workspace::with_lost(["one"]);
    let before = workspace.export();
    let missing = ["Key", "TransactionId", "Note"].map(|name| format!("1 {name} is missing in the header"));
    let tabs = "1 header has columns separated by tabs; they must be separated by commas";
    let spaces = "1 TransactionId has white space around the name in the header: remove it";
    for (content, expected) in [
        ("key,transaction_id\none,ID\n", &[&*missing[2]][..]),
        ("one,ID,\n", &[&missing[0], &missing[1], &missing[2]]),
        ("Key\tTransactionId\tNote\none\tID\t\n", &[tabs]),
        (
            "Key,TransactionId,transaction_id,Note\none,,ID,\n",
            &["1 TransactionId is a column more than once"],
        ),
        ("Key,TransactionId,Note\n,,\n\n", &["1 file has no rows"]),
        ("Key, TransactionId,Note\none,ID,\n", &[spaces]),
        (
            "Key,TransactionId,Note\rone,ID,\rone,ID,\r",
            &["3 one: Key is the same as in line 2", "3 one: TransactionId is the same as in line 2"],
        ),
    ] {
        workspace.refuses(content.replace("ID", &one), expected);
    }
    for line in [
        "one --from found.csv",
        "--from found.csv --not-processed --note n",
        "--from found.csv --note n",
        "--processed txn_1",
        "--not-processed --note n",
        "--by ada",
        "one --not-processed --note n --dry-run",
    ] {
        workspace.journals(format!("resolve {line}")).failed(2);
    }
    workspace.journals(format!("resolve --from {}", workspace.path(""))).refused("is a directory");
    let (journal, witness) = (workspace.path("billing.db"), workspace.path("witness"));
    for line in [
        format!("resolve --from {journal}"),
        format!("export --run {journal}"),
        format!("accept-history --by ada --sent {journal}"),
        format!("accept-history --by ada --sent {journal}-owners/witness"),
        format!("accept-history --by ada --sent {witness} --witness {witness}"),
    ] {
        workspace.journals(line).refused(" is the journal or belongs to it; ");
    }
    assert_eq!(workspace.export(), before);
}

#[test]
fn api_key_in_a_file_is_neither_stored_nor_shown() {
    let (workspace, _) = Workspace::with_lost(["one"]);
    let rows = format!("{KEY},,n,rejected\n{KEY},txn/1,n,\n{KEY},,n,rejected\none,{KEY},n,rejected\n");
    let refused = workspace.resolving(format!("Key,TransactionId,Note,Verdict\n{rows}")).end();
    let wrong = wrong_rows(&refused);
    assert_eq!(wrong[0], "2 Key must not hold the API key");
    assert_eq!(wrong.last().unwrap(), "5 one: TransactionId must not hold the API key");
    let row = format!("one,,{KEY} n,not processed\n");
    let resolved = workspace.resolving(format!("Key,TransactionId,Note,Verdict\n{row}")).end();
    assert_eq!(resolved.json()["intents"][0]["note"], "[redacted] n");
    for ended in [refused, resolved] {
        ended.hides([KEY]);
    }
}

/// Even if earlier lookups succeeded and other rows are wrong.
#[test]
fn failed_lookup_stops_the_resolution_with_3() {
    let (workspace, [one, _]) = Workspace::with_lost(["one", "two"]);
    let content = format!(
        "Key,TransactionId,Note,Verdict\none,{one},,\ntwo,,in no report,not processed\nnobody,,n,rejected\n"
    );
    let before = workspace.export();
    for (name, value, kind) in
        [("PAYMENTS_API_KEY", "wrong", "unauthorized"), ("PAYMENTS_PROXY", "http://127.0.0.1:1", "connect")]
    {
        let run = || workspace.resolving(&content).env(name, value).with("--timeout 0.5");
        let error = run().end().failed_as(3, kind);
        has(run().text().stderr, [format!("  {}\n", message(&error))]);
        begins(message(&error), "line 2, one: the transaction could not be looked up: ");
        assert!(message(&error).ends_with("; nothing was changed"), "{error}");
        assert_eq!(workspace.export(), before);
    }
    let wrong = "2 another: TransactionId returns the record of another transaction: check it with `payments transaction get`";
    let another = responses::TRANSACTION_FOUND.replace("10.50", "45.00");
    for (status, body, kind) in [
        // A proxy's 404 says nothing about the transaction.
        ("404 Not Found", "<html>", "intermediary"),
        ("403 Forbidden", responses::POSTAL_CODE, "rejected"),
        // A record of another transaction than the requested one proves nothing.
        ("200 OK", &another, "another"),
    ] {
        let peer = Peer::responding(status, body);
        workspace.add_unknown(kind, &peer.base_url);
        let before = workspace.export();
        let content = format!("Key,TransactionId,Note\n{kind},{one},\n");
        let ended = workspace.resolving(content).at(&peer.base_url).end();
        if kind == "another" {
            assert_eq!(wrong_rows(&ended), [wrong]);
        } else {
            ended.failed_as(3, kind);
        }
        assert_eq!(workspace.export(), before);
    }
}

/// Resolves a file of three rows while someone else resolves the second.
#[test]
fn key_resolved_by_someone_else_meanwhile_is_kept() {
    for (shape, stdout) in [("json", None), ("json", Some(broken_pipe())), ("text", Some(broken_pipe()))] {
        let (workspace, [one, _, three]) = Workspace::with_lost(["one", "two", "three"]);
        let content = format!(
            "Key,TransactionId,Note,Verdict\none,{one},,\ntwo,,in no report,not processed\nthree,{three},,\n"
        );
        let gate = workspace.sandbox.gateway().gate(OperationName::GetTransaction);
        let (is_read, stdout) = (stdout.is_none(), stdout.map_or_else(Stdio::piped, Stdio::from));
        let running = workspace.resolving(&content).with(["--output", shape]).stdout(stdout).spawn();
        block_on(gate.arrived());
        workspace.journals("resolve two --not-processed --note 'the bank says so' --by ada").exits(0);
        gate.release();
        let ended = running.end().exits(3);
        if is_read {
            let error = ended.failed_as(3, "changed_meanwhile");
            assert_eq!(
                message(&error),
                "2 of 3 rows were resolved; line 3, two: two has changed since it was read: ada resolved it as not processed; \
                 the same file may be given again: a resolved row changes nothing"
            );
            let document = ended.json();
            assert_eq!(document["resolved"]["processed"]["count"], 2);
            assert_eq!(document["intents"].as_array().unwrap().len(), 2);
        } else {
            has(
                &ended.stderr,
                [
                    "PARTLY DONE, it is safe to run it again (exit code 3)\n  2 of 3 rows were resolved; line 3, two: ",
                ],
            );
        }
        assert_eq!(workspace.shown("two", "resolved_by"), "ada");
        assert_eq!(workspace.shown("three", "transaction_id"), three);
    }
}

/// The second charge matters more than the row that was left, and a second run of the rest would not find it any more.
#[test]
fn second_charge_in_a_partly_resolved_file_decides_the_exit_code_d48() {
    for stdout_is_read in [true, false] {
        let (workspace, [first, _]) = Workspace::with_two_attempts();
        let [other] = workspace.lose_responses(["other"]);
        let revision = |key: &str| workspace.shown(key, "revision");
        let content = format!(
            "Key,TransactionId,Note,Attempt,Revision\nk,{first},,1,{}\nother,{other},,1,{}\n",
            revision("k"),
            revision("other")
        );
        let gate = workspace.sandbox.gateway().gate(OperationName::GetTransaction);
        let stdout = if stdout_is_read { Stdio::piped() } else { Stdio::from(broken_pipe()) };
        let running = workspace.resolving(&content).stdout(stdout).spawn();
        block_on(gate.arrived());
        workspace.journals("resolve other --not-processed --note 'the bank says so' --by ada").exits(0);
        gate.release();
        let ended = running.end().exits(8);
        has(
            &ended.stderr,
            [
                &*format!("WARNING: POSSIBLE SECOND CHARGE of k: it was processed as {first}"),
                "PARTLY DONE, it is safe to run it again (exit code 8)",
            ],
        );
        if stdout_is_read {
            assert_eq!(ended.json()["error"]["kind"], "changed_meanwhile");
        }
        assert_eq!(workspace.shown("k", "also_processed_as"), first);
    }
}

/// A key of a lost time becomes a key of the service that finds its transaction, and of no service that was not asked about it.
#[test]
fn row_that_is_not_looked_up_is_not_bound_to_the_service_of_the_others_d49() {
    let (workspace, [id]) = Workspace::with_lost(["k"]);
    workspace.accept("Key\ngone\n").exits(0);
    let content = format!("Key,TransactionId,Note,Verdict\nk,{id},,\ngone,,in no report,not processed\n");
    workspace.resolving(content).end().exits(0);
    let gone = workspace.show("gone");
    assert_eq!((&gone["resolved_as"], &gone["service"]), (&json!("not_processed"), &Value::Null), "{gone}");
}

#[test]
fn void_shares_its_transaction_with_the_payment_only() {
    let workspace = Workspace::open();
    workspace.arm(Fault::response_lost(OperationName::Transaction));
    workspace.creating("payment").stdin(authorization()).end().failed(5);
    let id = workspace.last_id();
    // The second void would be refused, so its request is lost on the way.
    for (key, fault) in [
        ("void-1", Fault::response_lost(OperationName::Void)),
        ("void-2", Fault::request_lost(OperationName::Void)),
    ] {
        workspace.arm(fault);
        workspace.does(format!("void {id} --key {key}")).failed(5);
    }
    let rows = |rows: &[&str]| {
        let rows: Vec<_> = rows.iter().map(|key| format!("{key},{id},n")).collect();
        format!("Key,TransactionId,Note\n{}", rows.join("\n"))
    };
    let twice = rows(&["payment", "void-1", "void-2"]);
    workspace.refuses(twice, ["4 void-2: TransactionId is the same as in line 3"]);
    workspace.resolving(rows(&["payment", "void-1"])).end().exits(0);
    workspace.refuses(rows(&["void-2"]), ["2 void-2: TransactionId already belongs to void-1"]);
}

/// A key in a file is refused if it looks like a card number, unless it is in the journal or the person says that it is none.
#[test]
fn key_like_a_card_number_is_read_from_a_file_if_it_is_none_or_in_the_journal_d52() {
    const LIKE_A_CARD: &str = "4539578763621486";
    let workspace = Workspace::open();
    let rule = "must not contain a card number; if it only looks like one, give --ids-are-not-cards";
    workspace.charge("other").processed();
    workspace.rows(format!("{LIKE_A_CARD},tok_approved,1,false,\n"));
    let of_run = format!("--run {}", workspace.path("rows.csv"));
    let refused = workspace.journals(format!("export {of_run}"));
    has(refused.refusal(), ["line 2", rule]);
    refused.hides([LIKE_A_CARD]);
    let lacking = workspace.journals(format!("export {of_run} --ids-are-not-cards")).exits(0);
    assert_eq!(lacking.stdout, "");
    begins(&lacking.stderr, "1 key of the file is not in the journal, such as that in line 2:");

    let resolutions = format!("Key,TransactionId,Note,Verdict\n{LIKE_A_CARD},,not there,not processed\n");
    let ended = workspace.resolving(&resolutions).end();
    assert_eq!(wrong_rows(&ended), [format!("2 Key {rule}")]);
    ended.hides([LIKE_A_CARD]);
    let ended = workspace.resolving(&resolutions).with("--ids-are-not-cards").end();
    assert_eq!(wrong_rows(&ended), [format!("2 {LIKE_A_CARD}: Key is not in the journal")]);

    // No card number of another column is looked up.
    workspace.lose_response("one");
    let looked_up = workspace.requests();
    workspace.refuses("Key,TransactionId,Note\none,4111111111111111,\n", [
        "2 one: TransactionId must not be a card number; if it only looks like one, give --ids-are-not-cards",
    ]);
    assert_eq!(workspace.requests(), looked_up);

    // Nor does a row with another problem show a key that may be a card number.
    let mixed_up = format!(
        "Key,TransactionId,Note\n4111111111111111,a/../b,\n4242424242424242,#N/A,\n5555555555554444,txn_1,\n\
         378282246310005,{KEY},\n"
    );
    for output in ["json", "text"] {
        let ended = workspace.resolving(&mixed_up).with(["--output", output]).end().exits(2);
        ended.hides(["4111111111", "4242424242", "5555555555", "3782822463"]);
    }

    // Once it is in the journal, every command accepts it.
    workspace.arm(Fault::response_lost(TOKENS));
    workspace.bills("--ids-are-not-cards").exits(5);
    workspace.bills("").exits(5);
    assert_eq!(workspace.exported(&of_run), [LIKE_A_CARD]);
    workspace.resolving(&resolutions).end().exits(0);
    assert_eq!(workspace.shown(LIKE_A_CARD, "state"), "resolved");
    // And a mistyped one is not repeated.
    let mistyped = workspace.journals("show 4111111111111111");
    mistyped.failed(2);
    mistyped.hides(["4111111111111111"]);
}

/// Notes about what was asked, without an answer yet, resolve nothing.
#[test]
fn row_with_neither_id_nor_verdict_is_left_alone_and_counted_d48() {
    let (workspace, [one, _]) = Workspace::with_lost(["one", "two"]);
    let asked = "two,,\"asked support, no answer yet\"";
    let rows = format!("one,{one},,\n{asked},\nnot-in-the-journal,,,\n");
    let text = workspace.resolving(format!("Key,TransactionId,Note,Verdict\n{rows}")).text().exits(0);
    has(&text.stdout, ["\nleft alone, without a Verdict or a new TransactionId: 2 rows\n"]);
    assert_eq!(workspace.shown("one", "state"), "resolved");
    let two = workspace.show("two");
    assert_eq!(
        (&two["state"], two["history"].as_array().map(Vec::len)),
        (&json!("unknown"), Some(2)),
        "{two}"
    );
    let nothing = workspace.resolving(format!("Key,TransactionId,Note\n{asked}\n")).end();
    leaves_alone(&nothing, 1);
    assert_eq!(nothing.json()["intents"], json!([]));
}

#[test]
fn verdicts_of_a_file_are_read_in_any_spelling_and_checked_d48() {
    let (workspace, [one, _, three, _]) = Workspace::with_lost(["one", "two", "three", "four"]);
    // A declined payment would be booked as paid if a verdict were overlooked.
    for (headings, more, column) in [
        ("Key,TransactionId,Note,Verdit", ",rejected", "Verdit"),
        ("key,transaction_id,note,verdict,Ver dict", ",,Rejected", "\"Ver dict\""),
        ("key,transaction_id,note,verdict,", ",,not processed", "\"\""),
    ] {
        let rule = format!(
            "2 one: row has a verdict in the column {column}: name that column Verdict, or remove it"
        );
        workspace.refuses(format!("{headings}\none,{one},the portal{more}\n"), [rule]);
    }
    for status in ["declined", "Refunded in part", "FAILED"] {
        let found = format!("Key,TransactionId,Note,Status\none,{one},,{status}\n");
        begins(&wrong_rows(&workspace.resolving(found).end())[0], "2 one: row has the word ");
        let found = format!("Key,TransactionId,Note,Status,Verdict\none,{one},,{status},processed\n");
        workspace.resolving(found).with("--dry-run").end().exits(0);
    }
    // Where nothing was charged there is no id, but a column that may hold one is named.
    let only_verdicts = "one,not processed,in no report\ntwo,,\n";
    let dry_run = workspace.resolving(format!("Key,Verdict,Note\n{only_verdicts}")).with("--dry-run").end();
    leaves_alone(&dry_run, 1);
    assert_eq!(dry_run.json()["resolved"]["not_processed"]["count"], 1, "{dry_run:?}");
    for headings in ["Key,Txn,Note", "Key,Verdict,Note,Txn", "key,verdict,note,reference"] {
        let file = format!("{headings}\n{only_verdicts}");
        workspace.refuses(file, ["1 TransactionId is missing in the header"]);
    }
    workspace.refuses(
        "Key,Verdict,Note\none,processed,the portal\n",
        ["2 one: TransactionId is required where the verdict is processed"],
    );
    // A cell that cannot be read checks nothing.
    workspace.refuses(
        format!("key,transaction_id,note,amount,verdict\none,{one},,45.00 EUR,processed\n"),
        ["2 one: amount cannot be read: write it as it was exported"],
    );
    assert_eq!(workspace.shown("one", "state"), "unknown");
    // An export has an empty column, and a person may add another. Other columns are ignored, with a name or without.
    let right = format!(
        "key,transaction_id,note,verdict,Verdict,card_ending,Paid,\none,{one},,,PROCESSED,,unknown,x\n\
         two,,portal: declined,Rejected,,,,\nthree,{three},portal: declined,rejected,,,,\nfour,,in no report,, not_processed ,,,\n"
    );
    let ended = workspace.resolving(right).end().exits(0);
    for (verdict, count) in [("processed", 1), ("rejected", 2), ("not_processed", 1)] {
        assert_eq!(ended.json()["resolved"][verdict]["count"], count, "{verdict}: {ended:?}");
    }
    for (key, state) in
        [("one", "resolved"), ("two", "rejected"), ("three", "rejected"), ("four", "resolved")]
    {
        assert_eq!(workspace.shown(key, "state"), state, "{key}");
    }
    assert_eq!(workspace.shown("three", "transaction_id"), three);
}

/// Somebody resolves a key and sends it again while another person fills in an export.
#[test]
fn export_of_an_attempt_that_is_not_the_newest_is_refused_d48() {
    let (workspace, [one, two]) = Workspace::with_lost(["one", "two"]);
    let fill = |id: &str| workspace.filled(&[("one", "transaction_id", id), ("two", "transaction_id", &two)]);
    let old = fill(&one);
    workspace.journals("resolve one --not-processed --note n --by ada").exits(0);
    let second = workspace.lose_response("one");
    let before = workspace.export();
    workspace.refuses(
        &old,
        [
            "2 one: Attempt is 1, and the newest is 2: if the row is about attempt 1, resolve it alone with \
             `payments journal resolve one --attempt 1`",
            "2 one: Revision is not 5: the key has changed since this file was exported, export it again",
        ],
    );
    workspace.refuses(
        format!("Key,TransactionId,Note\none,{one},\n"),
        ["2 one: Attempt is required, because the key has 2 attempts: see `payments journal show one`"],
    );
    assert_eq!(workspace.export(), before);
    workspace.resolving(fill(&second)).end().exits(0);
    assert_eq!(workspace.shown("one", "transaction_id"), second);
}

/// What an export says about a key is no new finding, however its headings are written: the file repeats what the journal knows.
#[test]
fn exported_row_that_was_not_filled_in_resolves_nothing_d48() {
    let workspace = Workspace::open();
    for (key, id) in [("one", "txn_1"), ("two", " lead"), ("three", "txn/.."), ("four", "\u{202e}abc")] {
        let peer = Peer::responding("200 OK", &unclear_response(id));
        let at = |run: Run| run.at(&peer.base_url).end();
        at(workspace.charging(key, TOKEN_PAYMENT)).failed(5);
        leaves_alone(&at(workspace.resolving(workspace.filled(&[(key, "note", "asked support")]))), 1);
        holds(&workspace.show(key), &json!({"state": "unknown", "paid": "unknown"}));
        let (verdict, paid) = if key == "three" { ("rejected", "no") } else { ("processed", "yes") };
        let filled = workspace.filled(&[(key, "note", "the portal"), (key, "verdict", verdict)]);
        at(workspace.resolving(filled)).exits(0);
        holds(&workspace.show(key), &json!({"transaction_id": id, "paid": paid}));
    }

    let workspace = Workspace::open();
    workspace.charging("declined", &declined_payment()).end().failed(4);
    let made = payments_at(workspace.sandbox.base_url(), "transaction create --file -");
    let id = made.stdin(authorization()).end().paid_id();
    workspace.arm(Fault::response_lost(OperationName::Void));
    workspace.does(format!("void {id} --reason twice --key void")).exits(5);
    workspace.journals("resolve void --not-processed --note 'support: still authorized'").exits(0);
    let pending = r#"{"status":"declined","status_code":101,"data":{"TransactionId":"txn_9"}}"#;
    let peer = Peer::responding("200 OK", pending);
    workspace.charging("unclear", TOKEN_PAYMENT).at(&peer.base_url).end().exits(5);
    let (before, csv) = (workspace.export(), workspace.csv(""));
    let (headings, rows) = csv.split_once('\n').unwrap();
    for headings in [headings.to_owned(), headings.replacen("key", "Key", 1), headings.to_uppercase()] {
        let ended = workspace.resolving(format!("{headings}\n{rows}")).at(&peer.base_url).end();
        leaves_alone(&ended, 3);
        assert_eq!(workspace.export(), before, "{headings}");
    }
}

/// A cell would continue until the next quotation mark, and the rows between them would be neither sent nor named nor compared.
#[test]
fn quotation_mark_that_hides_rows_is_refused_in_every_file() {
    let (workspace, _) = Workspace::with_lost(["one"]);
    let before = workspace.export();
    let billing =
        ("Key,TokenId,Amount,ConvenienceFeeActive,Description", "KEY,tok_approved,10.50,false,TEXT");
    for (line, (heading, row)) in [
        ("journal accept-history --by ada --sent", ("Key,Text", "KEY,TEXT")),
        ("journal resolve --by ada --from", ("Key,TransactionId,Note", "KEY,txn_1,TEXT")),
        ("batch run", billing),
        ("journal export --run", billing),
        ("journal reconcile", ("Id,Amount,Date,Reference", "t1,10.50,2026-11-23,TEXT")),
    ] {
        let row = |key: &str, text: &str| row.replace("KEY", key).replace("TEXT", text);
        let rows = [row("one", "\"Monitor 12"), row("two", "Cable"), row("three", "\"Monitor 14")];
        let path = workspace.write("file.csv", format!("{heading}\n{}\n", rows.join("\n")));
        let ended = workspace.does(format!("{line} {path}")).exits(2);
        has(ended.shown(), ["quotation mark"]);
        assert_eq!(workspace.export(), before, "{line}");
    }
    assert_eq!(workspace.requests(), 1);
}

/// Two journals have the same key, and a person mixes up the files or the shells.
#[test]
fn row_of_another_journal_or_service_is_refused_d47_d48() {
    let filled = |workspace: &Workspace| {
        let exported =
            workspace.filled(&[("one", "note", "in no report"), ("one", "verdict", "not processed")]);
        let out = workspace.path("found-by-report.csv");
        let (id, time) = (workspace.last_id(), workspace.shown("one", "begun_at"));
        let time = time.as_str().unwrap();
        let report = format!("Id,Amount,Reference,Date,Status\n{id},45.00,one,{time},Declined\n");
        let report = workspace.write("report.csv", report);
        let words = "--charged-status Settled --declined-status Declined";
        workspace.journals(format!("reconcile {report} {words} --out {out}")).exits(0);
        [exported, workspace.read("found-by-report.csv")]
    };
    let lose = |workspace: &Workspace| {
        let request = TOKEN_PAYMENT.replace('}', r#","ReferenceNo":"one"}"#);
        workspace.arm(Fault::response_lost(TOKENS));
        workspace.charging("one", &request).end().exits(5);
    };
    let (here, there) = (Workspace::open(), Workspace::open());
    lose(&here);
    lose(&there);
    let files = filled(&there);
    for file in &files {
        let wrong = wrong_rows(&here.resolving(file).end());
        let service = format!("2 one: Service is not that of the key, which is {}:", here.sandbox.base_url());
        begins(&wrong[0], service);
        begins(&wrong[1], "2 one: BegunAt is not that of the key, which was sent at ");
        assert_eq!(here.shown("one", "state"), "unknown");
    }
    // The right journal takes both.
    for file in &files {
        there.resolving(file).with("--dry-run").end().exits(0);
    }
    // Another journal of the same service.
    there.remove_journal();
    lose(&there);
    for file in &files {
        let wrong = wrong_rows(&there.resolving(file).end());
        begins(&wrong[0], "2 one: BegunAt is not that of the key, which was sent at ");
        // Without the column only the person can know.
        let (headings, rows) = file.split_once('\n').unwrap();
        let without = headings.replace("begun_at", "sent").replace("BegunAt", "Sent");
        there.resolving(format!("{without}\n{rows}")).with("--dry-run").end().exits(0);
    }
}

/// A declined payment that is booked as paid is missed by nobody but the payee. `status_words.rs` has every heading and word; here is
/// one of each kind.
#[test]
fn id_beside_words_against_it_needs_a_verdict_d48() {
    let (workspace, [one]) = Workspace::with_lost(["one"]);
    for (headings, cells) in [
        ("Key,TransactionId,Note", "ID,declined says the portal"),
        ("key,transaction_id,note,verdict", "ID,the portal: refunded,"),
        ("Key,TransactionId,Note", "ID,Not paid"),
        ("Key,TransactionId,Note", "ID,no match"),
        ("Key,TransactionId,Note,Verdikt", "ID,,rejectd"),
        ("Key,TransactionId,Note,Outcome", "ID,,Unsuccessful"),
        ("Key,TransactionId,Note,Result", "ID,,anything"),
        ("Key,TransactionId,Note,Failure Message", "ID,,Insufficient funds"),
        ("Key,TransactionId,Note,Type", "ID,,Refund of sale"),
    ] {
        let rows =
            |headings: &str, more: &str| format!("{headings}\none,{}{more}\n", cells.replace("ID", &one));
        let wrong = wrong_rows(&workspace.resolving(rows(headings, "")).end());
        has(&wrong[0], ["an id without a verdict is a payment that was made"]);
        // The message names no word that the cell does not have.
        let has_word =
            ["declined", "refund", "unsuccessful"].iter().any(|word| cells.to_lowercase().contains(word));
        has(&wrong[0], [if has_word { "has the word " } else { "has something in the column " }]);
        // A person who says so knows it.
        if !headings.to_lowercase().contains("verdict") {
            let said = rows(&format!("{headings},Verdict"), ",processed");
            workspace.resolving(said).with("--dry-run").end().exits(0);
        }
    }
    for (headings, cells) in [
        ("Key,TransactionId,Note", "ID,on the statement of 21 November"),
        ("Key,TransactionId,Note,Paid", "ID,,yes"),
        ("Key,TransactionId,Note,Error", "ID,,none"),
        ("Key,TransactionId,Note,Customer", "ID,,Ada"),
        // Columns of the person's own.
        ("Key,TransactionId,Note,Service,BegunAt,AMOUNT", "ID,,Hosting,in May,1"),
    ] {
        let rows = format!("{headings}\none,{}\n", cells.replace("ID", &one));
        workspace.resolving(rows).with("--dry-run").end().exits(0);
    }
    // What the journal itself exports, with the notes of before, still says nothing.
    let id = workspace.charge("paid").paid_id();
    assert_ne!(id, one);
    assert_eq!(workspace.shown("one", "state"), "unknown");
}

#[test]
fn export_of_a_run_counts_the_keys_that_the_journal_lacks() {
    let (workspace, _) = Workspace::with_lost(["0017"]);
    for (keys, expected) in [
        ("0017", ""),
        ("17", "1 key of the file is not in the journal, such as that in line 2"),
        ("0017\n18\n19", "2 keys of the file are not in the journal, such as that in line 3"),
    ] {
        let file = workspace.write("run.csv", format!("Key\n{keys}\n"));
        let ended = workspace.journals(format!("export --run {file} --state unknown --format csv")).exits(0);
        has(&ended.stderr, [expected]);
        assert_eq!(ended.stderr.is_empty(), expected.is_empty(), "{ended:?}");
    }
}

#[test]
fn problem_of_a_row_is_reported_once() {
    let workspace = Workspace::open();
    workspace.rows("INV-5,tok_approved,1.00,false,INV-5\n");
    workspace.bills("").exits(0);
    workspace.rows("inv-5,tok_approved,1.00,false,INV-5\n");
    let error = workspace.bills("").failed(2);
    assert_eq!(error["violations"].as_array().unwrap().len(), 1, "{error}");
}

/// A row of which another key was resolved, and one whose key became unknown again, are no repetition.
#[test]
fn only_what_is_resolved_the_same_way_is_left_as_it_is_d48() {
    let (workspace, [one, two]) = Workspace::with_lost(["one", "two"]);
    let file = |verdicts: [&str; 2]| {
        format!("Key,TransactionId,Verdict,Note\none,{}\ntwo,{}\n", verdicts[0], verdicts[1])
    };
    let found = [format!("{one},processed,n"), ",rejected,n".to_owned()];
    let found = found.each_ref().map(String::as_str);
    workspace.resolving(file(found)).end().exits(0);
    // A finding beside it is written.
    let [three] = workspace.lose_responses(["three"]);
    let more = file(found) + &format!("three,{three},processed,n\n");
    let document = workspace.resolving(&more).end().exits(0).json();
    assert_eq!(
        (&document["already_so"], &document["resolved"]["processed"]["count"]),
        (&json!(2), &json!(1))
    );
    for verdicts in [
        [&*format!("{two},processed,n"), found[1]],
        [found[0], &*format!("{two},rejected,n")],
        [",not processed,n", found[1]],
    ] {
        let wrong = wrong_rows(&workspace.resolving(file(verdicts)).end());
        has(&wrong[0], ["was already resolved differently, by Grace"]);
    }
}

#[test]
fn only_unknown_keys_of_the_same_service_are_counted() {
    let workspace = Workspace::open();
    for (key, merchant) in [("one", "books"), ("two", "books"), ("of-toys", "toys")] {
        workspace.arm(Fault::response_lost(TOKENS));
        workspace.charging(key, TOKEN_PAYMENT).with(["--merchant", merchant]).end().exits(5);
    }
    let left = |rows: &str| {
        let run = || workspace.resolving(format!("Key,Note,Verdict\n{rows}"));
        let [document, text] = [run().end().exits(0).json(), json!(run().text().exits(0).stdout)];
        let count = |name: &str| document[name]["count"].as_u64();
        (count("still_unknown"), count("unknown_at_other_services"), text)
    };
    let elsewhere = "unknown at other services, and not counted above: 1 intent, 45.00; see ";
    for (rows, here, others) in [
        ("one,gone,not processed\n", 1, Some(1)),
        ("two,gone,not processed\n", 0, Some(1)),
        // Nothing says whose they are.
        ("of-toys,,\n", 1, None),
    ] {
        let (still_unknown, at_others, text) = left(rows);
        assert_eq!((still_unknown, at_others), (Some(here), others), "{rows}");
        assert_eq!(text.as_str().unwrap().contains(elsewhere), others.is_some(), "{text}");
    }
}

/// A declined payment's id too: another merchant's key finds none of them.
#[test]
fn missing_transactions_may_be_another_merchants() {
    let (workspace, _) = Workspace::with_lost(["one"]);
    let text = workspace.resolving("Key,TransactionId,Note\none,txn_of_nobody,\n").text().exits(2).stderr;
    has(
        &text,
        [
            "is not known to the service (HTTP 404)\n",
            "hint  another merchant's API key does not find it: check the API key",
        ],
    );
    let text = workspace.resolving("Key,TransactionId,Note\none,,\nnone,txn_1,\n").text().exits(2).stderr;
    assert!(!text.contains("hint"), "{text}");
}

/// A spreadsheet makes `17` of `0017`, and the next run sends the wrong payment again.
#[test]
fn key_that_may_be_another_unresolved_one_is_refused() {
    let workspace = Workspace::open();
    let (now, base_url) = (SystemTime::now(), workspace.sandbox.base_url());
    workspace.add_unknowns_at(now - Duration::from_mins(5), &["0017".to_owned()], base_url);
    workspace.add_unknowns_at(now, &["17", "18"].map(str::to_owned), base_url);
    let wrong = |key: &str, other: &str| {
        format!(
            "2 {key}: Key may stand for {other}, which is unresolved too, and a spreadsheet writes both alike: fill in an export, which \
             shows the time of each, or resolve the key alone with `payments journal resolve {key}`"
        )
    };
    for (headings, cells) in [("Key,Verdict,Note", ""), ("Key,Verdict,Note,Attempt,Revision", ",1,2")] {
        for (key, other) in [("17", "0017"), ("0017", "17")] {
            let file = format!("{headings}\n{key},not processed,gone{cells}\n");
            workspace.refuses(file, [wrong(key, other)]);
        }
        let other = format!("{headings}\n18,not processed,gone{cells}\n");
        workspace.resolving(other).with("--dry-run").end().exits(0);
    }
    let [one, two] = ["17", "0017"].map(|key| {
        workspace.write(&format!("{key}.csv"), format!("Key,Verdict,Note\n{key},rejected,gone\n"))
    });
    let both =
        workspace.journals(format!("resolve --by ada --from {one} {two} --output text")).exits(2).stderr;
    has(&both, ["17: Key may stand for 0017", "0017: Key may stand for 17"]);
    // The time shows whose row it is.
    let filled = workspace.filled(&[("17", "verdict", "not processed"), ("17", "note", "gone")]);
    let own: String = filled.split_inclusive('\n').filter(|line| !line.starts_with("0017,")).collect();
    workspace.resolving(&own).with("--dry-run").end().exits(0);
    workspace.journals("resolve 0017 --not-processed --note gone --by ada").exits(0);
    workspace.resolving("Key,Verdict,Note\n17,not processed,gone\n").end().exits(0);
}
