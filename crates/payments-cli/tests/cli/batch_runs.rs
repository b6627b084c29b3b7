//! `payments batch run` against a sandbox: every way a run can end, and what the same command does afterwards.
#![cfg(unix)]

use std::collections::BTreeSet;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use payments_tests::UnresponsivePort;

use crate::prelude::*;

#[test]
fn every_row_is_charged_once_over_repeated_runs() {
    let workspace = Workspace::with_rows(70);
    let run = || workspace.bills(&format!("--results {}", workspace.path("results.jsonl")));
    let ended = run();
    ended.ends(0, "processed").counts(&json!({"processed": 70, "total": 70}));
    assert_eq!(ended.diagnostics(), "");
    has(&ended.stdout, [r#""processed":{"count":70,"sum":2485.70}"#]);
    assert_eq!(workspace.charged().len(), 70);

    let results = workspace.results("results.jsonl");
    assert_eq!(results.len(), 70);
    let lines: BTreeSet<_> = results.iter().map(|result| result["line"].as_u64().unwrap()).collect();
    assert_eq!(lines, (2..=71).collect());
    for result in &results {
        let key = format!("k{}", result["line"].as_u64().unwrap() - 1);
        holds(result, &json!({"key": key, "outcome": "processed", "http_status": 200}));
        assert!(result["data"]["TransactionId"].is_string());
    }
    run().ends(0, "processed").counts(&json!({"processed_earlier": 70, "total": 70}));
    assert_eq!((workspace.requests(), workspace.results("results.jsonl").len()), (70, 70));
}

#[test]
fn rejected_row_exits_4_and_stays_rejected() {
    let workspace = Workspace::open();
    workspace.tokens(&["tok_approved", "tok_declined", "tok_approved"]);
    let ended = workspace.bills("");
    ended.ends(4, "rejected").counts(&json!({"processed": 2, "rejected": 1, "total": 3}));
    has(&ended.stdout, [r#""rejected":{"count":1,"sum":2.01}"#]);
    let earlier = json!({"processed_earlier": 2, "rejected_earlier": 1, "total": 3});
    workspace.bills("").ends(4, "rejected").counts(&earlier);
    workspace.good(2);
    workspace.write(
        "rows.csv",
        workspace.read("rows.csv").replace("2,tok_approved", "2,tok_declined")
            + "k9,tok_declined,9.01,false,\n",
    );
    let text = workspace.bills("--output text").stdout;
    has(
        text,
        ["  rejected, never sent again automatically:\n    line 3: k2, 2.01 (", "    line 4: k9, 9.01 ("],
    );
    assert_eq!(workspace.requests(), 4);
}

#[test]
fn unknown_row_exits_5_and_is_never_sent_again_d03() {
    let workspace = Workspace::with_rows(5);
    workspace.arm(Fault::response_lost(TOKENS).skip(2));
    let ended = workspace.bills(&format!("--concurrency 1 --results {}", workspace.path("results.jsonl")));
    ended.ends(5, "unknown").counts(&json!({"processed": 4, "unknown": 1, "total": 5}));
    let unresolved = json!({"line": 4, "key": "k3", "amount": 3.01, "transaction_id": null, "outcome": "unknown", "kind": "closed"});
    assert_eq!(ended.json()["unresolved"], json!([unresolved]));
    let results = workspace.results("results.jsonl");
    for (number, result) in (1..).zip(&results) {
        assert_eq!(result["amount"].to_string(), format!("{number}.01"));
        assert_eq!(result["reference"], format!("order {number}"));
    }
    let error = &results[2]["error"];
    holds(error, &json!({"reference": "order 3", "amount": 3.01}));
    assert!(error["sent_at"].is_string(), "{error}");

    let text = workspace.bills("--output text").exits(5).stdout;
    has(text, ["OUTCOME UNKNOWN for 1 charge", "line 4: k3, 3.01", "payments journal list --unresolved"]);
    assert_eq!((workspace.requests(), workspace.charged().len()), (5, 5));

    // A person resolves it.
    workspace.journals("resolve k3 --not-processed --note 'not in the books'").exits(0);
    workspace.bills("").exits(0);
    assert_eq!(workspace.requests(), 6, "the resolved row was not sent");
}

#[test]
fn http_401_stops_the_run_with_6_until_a_person_reopens_the_row() {
    let workspace = Workspace::with_rows(50);
    let ended = workspace.billing("--concurrency 1").env("PAYMENTS_API_KEY", "another_key").end();
    let refused = json!({"rejected": 1, "not_started": 49, "total": 50});
    ended.stops(6, "rejected", "unauthorized").counts(&refused);
    let earlier = json!({"processed": 49, "rejected_earlier": 1, "total": 50});
    workspace.bills("").ends(4, "rejected").counts(&earlier);
    workspace.journals("retry --status 401").exits(0);
    workspace.bills("").ends(0, "processed");
    assert_eq!(workspace.charged().len(), 50);
}

#[test]
fn rate_and_max_rejected_are_kept() {
    let workspace = Workspace::open();
    workspace.tokens(&["tok_declined"; 20]);
    let begun = Instant::now();
    let ended = workspace.bills("--concurrency 1 --max-rejected 2 --rate 20/s");
    let rejected = json!({"rejected": 3, "not_started": 17, "total": 20});
    ended.stops(3, "unfinished", "max_rejected").counts(&rejected);
    assert!(begun.elapsed() >= Duration::from_millis(2 * 50), "the rate was not kept");
}

#[test]
fn refusals_unrelated_to_the_payment_are_listed_by_status() {
    let workspace = Workspace::open();
    let mut tokens = vec!["tok_approved", "tok_approved", "tok_declined", "tok_approved", "tok_approved"];
    workspace.tokens(&tokens);
    workspace.arm(Fault::on(TOKENS).before_commit().status(StatusCode::TOO_MANY_REQUESTS).times(2));
    let run = || workspace.bills("--concurrency 1 --output text");
    let url = workspace.sandbox.base_url();
    has(
        run().exits(4).stdout,
        [
            "FINISHED, some were rejected (exit code 4)",
            "  rejected for a reason other than the payment itself:\n    HTTP 429: 2 rows, 3.02\n",
            &format!(
                "run `payments journal retry --status 429 --base-url {url}` so that the same command sends them again"
            ),
        ],
    );
    // One more row, which gets a 401: from now on both statuses are listed.
    tokens.push("tok_approved");
    workspace.tokens(&tokens);
    workspace.arm(Fault::on(TOKENS).before_commit().status(StatusCode::UNAUTHORIZED));
    let ended = run().exits(6);
    has(
        &ended.stdout,
        [
            "HTTP 401: 1 row, 6.01\n",
            "HTTP 429: 2 rows, 3.02\n",
            &format!("payments journal retry --status 401,429 --base-url {url}`"),
        ],
    );
    ended.hides(["--status 401`"]);
    let ended = workspace.bills("");
    ended.ends(4, "rejected");
    has(
        &ended.stdout,
        [r#""rejected_by_status":{"401":{"count":1,"sum":6.01},"429":{"count":2,"sum":3.02}}"#],
    );
    workspace.journals("retry --status 401,429").exits(0);
    // One is declined.
    run().exits(4).hides(["HTTP"]);
    assert_eq!(workspace.charged().len(), 5);
}

#[test]
fn refusals_of_every_row_stop_the_run_before_the_file_is_burnt_d10() {
    for status in
        ["400 Bad Request", "404 Not Found", "405 Method Not Allowed", "413 Too Large", "431 Too Large"]
    {
        let workspace = Workspace::with_rows(40);
        let proxy = Peer::responding(status, "<html>no</html>");
        let run = |options: &str| workspace.billing(options).at(&proxy.base_url).end();
        let ended = run("--concurrency 1");
        ended
            .stops(3, "unfinished", "blocked")
            .counts(&json!({"rejected": 3, "not_started": 37, "total": 40}));
        let code = &status[..3];
        assert_eq!(ended.json()["rejected_by_status"], json!({code: {"count": 3, "sum": 6.03}}));
        let text = run("--dry-run --output text").stdout;
        has(&text, [format!("HTTP {code}: 3 rows, 6.03")]);
        // With this one the service declines payments too.
        let is_never_a_decline = code != "400";
        let url = &proxy.base_url;
        let advice = format!("`payments journal retry --status {code} --base-url {url}`");
        assert_eq!(text.contains(&advice), is_never_a_decline, "{text}");
        assert_eq!(text.contains("`payments journal retry --key KEY`"), !is_never_a_decline, "{text}");
        workspace.journals(format!("retry --status {code}")).exits(0);
        assert_eq!(run("--dry-run").count("not_started"), 40);
    }
    // The service's own words on a path that it does not have.
    let workspace = Workspace::with_rows(5);
    workspace.arm(Fault::on(TOKENS).before_commit().status(StatusCode::NOT_FOUND).times(3));
    workspace.bills("--concurrency 1").stops(3, "unfinished", "blocked");
    workspace.journals("retry --status 404").exits(0);
    workspace.bills("").ends(0, "processed");
    assert_eq!(workspace.charged().len(), 5);
}

#[test]
fn outage_leaves_the_rows_to_the_next_run_d02() {
    let workspace = Workspace::with_rows(100);
    let port = UnresponsivePort::refusing();
    let unreachable = |options: &str| {
        let run = workspace.billing(options);
        run.env("PAYMENTS_PROXY", &format!("http://{}", port.address())).end()
    };
    let results = workspace.path("r.jsonl");
    let ended = unreachable(&format!("--patience 0 --concurrency 4 --results {results}"));
    ended.stops(3, "unfinished", "outage");
    let tried = ended.count("not_processed");
    assert!((1..=4).contains(&tried), "no more than were in flight: {ended:?}");
    ended.counts(&json!({"not_processed": tried, "not_started": 100 - tried, "total": 100}));
    let results = workspace.results("r.jsonl");
    assert_eq!(results.len() as u64, tried);
    assert!(results.iter().all(|result| result["outcome"] == "not_processed"), "{results:?}");

    // With patience, the same rows are tried again in the same run.
    let ended = unreachable("--patience 1 --concurrency 2");
    assert!(ended.stops(3, "unfinished", "outage").count("not_processed") <= 2, "{ended:?}");

    workspace.bills("").ends(0, "processed");
    assert_eq!(workspace.charged().len(), 100);
}

#[test]
fn key_of_another_request_is_refused_before_sending_d43() {
    let workspace = Workspace::open();
    workspace.tokens(&["tok_approved", "tok_declined", "tok_approved"]);
    workspace.arm(Fault::response_lost(TOKENS));
    workspace.bills("--concurrency 1").ends(5, "unknown");
    let id = workspace.shown("k3", "transaction_id").as_str().unwrap().to_owned();
    workspace.rows(
        "k9,tok_approved,1,false,\nk1,tok_approved,7,false,\nk2,tok_approved,2.01,false,\nk3,tok_declined,3,true,\n",
    );
    let text = workspace.bills("--output text").exits(2).stderr;
    has(
        &text,
        [
            "line 3: Key k1 is already in the journal for another request, with another amount; that request of 1.01 is unknown \
             and may have been processed: resolve it first, and never pay this with another key",
            "line 4: Key k2 is already in the journal for another request, with another token; that request of 2.01 is rejected \
             and moved no money: to pay it another way, charge it by hand with the same key and --after-rejection, and remove \
             this row from the file; use a new key only for a different payment",
            &format!(
                "line 5: Key k3 is already in the journal for another request, with another token and another amount and another \
                 convenience fee; that request of 3.01 is processed as transaction {id}: do not pay it another way, and remove \
                 this row from the file; use a new key only for a different payment"
            ),
        ],
    );
    let error = workspace.bills("").failed(2);
    assert_eq!((&error["violations"][2]["line"], &error["violation_count"]), (&json!(5), &json!(3)));
    let recorded = json!({"key": "k3", "state": "processed", "amount": 3.01, "transaction_id": id});
    assert_eq!(error["violations"][2]["recorded"], recorded);
    assert_eq!(workspace.requests(), 3);
}

#[test]
fn dry_run_counts_the_rows_left() {
    let workspace = Workspace::with_rows(3);
    workspace.bills("").ends(0, "processed");
    workspace.good(5);
    let left = json!({"processed_earlier": 3, "not_started": 2, "total": 5});
    workspace.bills("--dry-run").ends(0, "dry_run").counts(&left);
    let text = workspace.bills("--dry-run --output text").stdout;
    begins(&text, "DRY RUN, nothing was sent");
    has(&text, ["would be sent         2   9.02"]);
    let unread = workspace.billing("--dry-run").end_unread().exits(1);
    begins(&unread.stderr, "nothing was sent, as requested, but");
    assert_eq!(workspace.requests(), 3);
}

/// Where the journal and the report are on one full disk, stderr has the only copy of a transaction.
#[cfg(unix)]
#[test]
fn outcome_without_record_is_on_stderr_if_the_report_cannot_be_printed() {
    for is_processed in [true, false] {
        let workspace = Workspace::with_rows(1);
        if !is_processed {
            workspace.tokens(&["tok_declined"]);
        }
        let gate = workspace.hold_responses();
        let running = workspace.billing("").stdout(full_disk()).spawn();
        block_on(gate.arrived());
        fs::remove_file(workspace.journal()).unwrap();
        gate.release();
        let ended = running.end().exits(5);
        let row = if is_processed {
            format!("line 2: k1, 1.01 (PROCESSED, TransactionId {})", workspace.last_id())
        } else {
            "line 2: k1, 1.01 (rejected".to_owned()
        };
        let heading = "1 outcome NOT RECORDED in the journal: keep this list (exit code 5)";
        let cause = "payments: the report could not be written to stdout (No space left on device";
        has(&ended.stderr, [heading, &row, cause]);
    }
}

#[cfg(unix)]
#[test]
fn report_of_a_run_that_cannot_be_printed_goes_to_stderr() {
    let workspace = Workspace::with_rows(3);
    workspace.arm(Fault::response_lost(TOKENS).skip(1));
    let run = || workspace.billing("--concurrency 1");
    let lost = ["OUTCOME UNKNOWN for 1 charge", "line 3: ", "could not be written to stdout (No space left"];
    has(run().end_on_full_disk().exits(5).stderr, lost);
    let lost = [lost[0], lost[1], "could not be written to stdout (Broken pipe"];
    for shape in ["json", "text"] {
        has(run().with(["--output", shape]).end_unread().exits(5).stderr, lost);
    }
    let both = run().stdout(full_disk()).spawn_with_stderr(full_disk());
    assert_eq!(both.wait_without_reading(), Some(5));
    // A file that is refused.
    workspace.write("rows.csv", "Key,TokenId\nk,tok_approved\n");
    has(run().end_on_full_disk().exits(2).stderr, ["INVALID, nothing was sent", "Amount"]);
}

#[test]
fn refused_file_creates_no_journal_and_no_results() {
    let workspace = Workspace::open();
    workspace.tokens(&["tok_approved", ""]);
    let results = workspace.path("results.jsonl");
    let error = workspace.bills(&format!("--results {results}")).failed(2);
    assert_eq!(error["violations"], json!([{"line": 3, "field": "TokenId", "rule": "is required"}]));

    // The API key in a column, in the header and in a cell beyond it.
    let header = "Key,TokenId,GatewayCustomerId,Amount,ConvenienceFeeActive,Description,ReferenceNo";
    let columns: Vec<_> = header.split(',').collect();
    let good = ["tok_approved", "gc_1", "1", "false", "tea", "r"].join(",");
    let mut rows = vec![header.to_owned(), format!("k0,{good}")];
    for number in 0..columns.len() {
        let row = format!("k{number},{good}");
        let mut cells: Vec<_> = row.split(',').collect();
        let with_key = format!("x-{KEY}");
        cells[number] = &with_key;
        rows.push(cells.join(","));
    }
    let mut files = vec![(rows.join("\n"), columns)];
    files.push((format!("{header},{KEY}\nk,{good}\n"), vec!["header"]));
    files.push((format!("{header},\nk,{good},{KEY}\n"), vec!["row"]));
    for (content, fields) in files {
        workspace.write("rows.csv", content);
        for option in ["", "--dry-run", "--output text"] {
            let ended = workspace.bills(option).exits(2);
            for field in &fields {
                let text = format!("{field} must not hold the API key");
                let json = format!(r#""field":"{field}","rule":"must not hold the API key""#);
                has(ended.shown(), [if option == "--output text" { text } else { json }]);
            }
            ended.hides([&KEY[..8]]);
        }
    }
    assert!(!workspace.journal().exists() && !fs::exists(results).unwrap());
    assert_eq!(workspace.requests(), 0);
}

/// The content of a billing file with these rows, with a column of keys if they have one.
fn sheet(rows: &str) -> String {
    let has_keys = rows.split('\n').next().unwrap().matches(',').count() == 4;
    format!("{}\n{rows}\n", if has_keys { BILLING } else { BILLING.strip_prefix("Key,").unwrap() })
}

/// A column of keys is added or removed, a spreadsheet changes the keys, or a person types them again.
#[test]
fn file_that_is_changed_charges_nobody_again_d53() {
    let same_payment = |keys: &str| {
        let rows = keys.split(' ').map(|key| format!("{key},tok_approved,1.01,false,r-1"));
        rows.collect::<Vec<_>>().join("\n")
    };
    let [in_journal, in_line_2] =
        ["is in the journal under the key ", "is that of line 2 in another spelling"];
    let would_be_sent = "would be sent, and a charge with this ReferenceNo";
    for (charged, changed, rules) in [
        // Under a key that is clearly another, another amount, another token and a declined payment are other payments.
        (
            "tok_approved,1.01,false,order-1",
            "k1,tok_approved,1.01,false,order-1",
            &["is in the journal under the key order-1:"][..],
        ),
        ("tok_approved,1.01,false,order-1", "order-1,tok_approved,1.01,false,order-1", &[]),
        ("tok_approved,1.01,false,order-1", "k1,tok_approved,1.02,false,order-1", &[]),
        ("tok_declined,2.01,false,order-2", "k2,tok_declined,2.01,false,order-2", &[]),
        (
            "k1,tok_approved,1.01,false,order 1\nk2,tok_approved,2.01,false,order 2",
            "tok_approved,1.01,false,order-1\ntok_approved,2.01,false,order-2",
            &["is in the journal under the key k1:", "is in the journal under the key k2:"],
        ),
        ("k1,tok_approved,1.01,false,order 1", "tok_approved,1.01,false,december-1", &[]),
        (&same_payment("0017"), &same_payment("17"), &["is in the journal under the key 0017:"]),
        (&same_payment("12.10"), &same_payment("12.1"), &["use a key that is clearly another"]),
        (&same_payment("1234567890123456"), &same_payment("1234567890123450"), &[in_journal]),
        (&same_payment("Inv-5"), &same_payment("inv5"), &[in_journal]),
        // An amount that was corrected, another payment, and the next month of a subscription.
        ("0017,tok_approved,1.01,false,r-1", "17,tok_approved,1.02,false,r-1", &[in_journal]),
        ("0017,tok_approved,1.01,false,r-1", "17,tok_approved,1.02,false,r-2", &[]),
        ("Inv-5,tok_approved,4.01,false,r-1", "inv-5,tok_approved,4.01,false,r-2", &[]),
        (&same_payment("Inv-5"), &same_payment("inv-6"), &[]),
        // Where the reference is the key, a spreadsheet changes both.
        ("tok_approved,9.01,false,0042", "tok_approved,9.01,false,42", &[in_journal]),
        ("inv-0017,tok_approved,1.01,false,0017", "tok_approved,1.01,false,17", &[would_be_sent]),
        ("inv-0017,tok_approved,1.01,false,0017", "tok_approved,1.01,false,18", &[]),
        ("tok_approved,1.01,false,0017", "inv-17,tok_approved,1.01,false,17", &[would_be_sent]),
        ("tok_approved,1.01,false,0017", "inv-17,tok_approved,1.01,false,18", &[]),
        // Two spellings in one file, of which one may be charged already.
        (&same_payment("q-1"), &same_payment("q-1 Q-1"), &[""]),
        ("", &same_payment("q-1 Q-1"), &[in_line_2]),
        ("", &same_payment("0017 18 17 17.0"), &[in_line_2; 2]),
        ("", &same_payment("2043-2 Feb-43"), &[in_line_2]),
        ("", "q-1,tok_approved,1.01,false,r-1\nQ-1,tok_approved,1.01,false,r-2", &[]),
        // Subscriptions, dates, and numbers that are longer than spreadsheets keep.
        ("", &same_payment("sub-1 sub-2 1-2 2-1 2026.1 sub.2026.10 1234567890123456 1234567890123457"), &[]),
    ] {
        let workspace = Workspace::open();
        let bills = |rows: &str, option: &str| {
            workspace.write("rows.csv", sheet(rows));
            workspace.bills(&format!("--ids-are-not-cards {option}"))
        };
        if !charged.is_empty() {
            bills(charged, "");
        }
        assert_eq!(workspace.requests(), charged.lines().count(), "{charged}");
        let dry_run = bills(changed, "--dry-run");
        if rules.is_empty() {
            assert_eq!(dry_run.code, Some(0), "{charged} {changed}: {dry_run:?}");
            continue;
        }
        for ended in [dry_run, bills(changed, "")] {
            let broken = ended.wrong_rows();
            let are_those = broken.iter().zip(rules).all(|(broken, rule)| broken.contains(rule));
            assert!(broken.len() == rules.len() && are_those, "{charged} {changed}: {broken:?}");
        }
        assert_eq!(workspace.requests(), charged.lines().count(), "{charged} {changed}");
    }
}

#[test]
fn reopened_key_is_not_sent_if_its_reference_was_charged_meanwhile_d53() {
    let row = "TokenId,Amount,ConvenienceFeeActive,ReferenceNo\ntok_approved,1.01,false,order-1\n";
    let with_key = format!("Key,{}", row.replace("tok_", "k1,tok_"));
    for (first, second) in [(&*with_key, row), (row, &with_key)] {
        let workspace = Workspace::open();
        workspace.arm(Fault::on(TOKENS).before_commit().status(StatusCode::UNAUTHORIZED));
        workspace.write("rows.csv", first);
        workspace.bills("").stops(6, "rejected", "unauthorized");
        workspace.write("rows.csv", second);
        workspace.bills("").ends(0, "processed");
        workspace.journals("retry --status 401 --by ada").exits(0);
        workspace.write("rows.csv", first);
        has(&workspace.bills("").wrong_rows()[0], ["would be sent, and"]);
        assert_eq!(workspace.charged().len(), 1);
    }
}

#[test]
fn results_are_private_and_appended_on_a_new_line() {
    use std::os::unix::fs::PermissionsExt as _;

    let workspace = Workspace::with_rows(1);
    let results = workspace.path("results.jsonl");
    let option = format!("--results {results}");
    workspace.bills(&option).ends(0, "processed");
    assert_eq!(fs::metadata(&results).unwrap().permissions().mode() & 0o777, 0o600);
    // As a killed run leaves it: with half a line.
    let torn = workspace.read("results.jsonl") + r#"{"line":3,"outco"#;
    workspace.write("results.jsonl", &torn);
    workspace.good(2);
    workspace.bills(&option).ends(0, "processed");
    let line = r#"{"line":3,"amount":2.01,"reference":"order 2","outcome":"processed""#;
    begins(workspace.read("results.jsonl"), format!("{torn}\n{line}"));

    // The same in CSV, with one header. An unclosed quotation mark hides no results.
    let workspace = Workspace::open();
    let run = || workspace.bills(&format!("--concurrency 1 --results {}", workspace.path("results.CSV")));
    for count in [2, 3] {
        workspace.tokens(&["tok_approved", "tok_declined", "tok_approved"][..count]);
        run().ends(4, "rejected");
    }
    let whole = workspace.read("results.CSV");
    let lines: Vec<_> = whole.lines().collect();
    assert_eq!(lines[0], "line,key,outcome,amount,reference,transaction_id,http_status,kind,message");
    assert_eq!(lines.len(), 4, "{whole}");
    begins(lines[1], "2,k1,processed,1.01,order 1,txn_");
    begins(lines[2], "3,k2,rejected,2.01,order 2,txn_");
    has(lines[2], [",200,rejected,"]);
    begins(lines[3], "4,k3,processed,3.01,order 3,txn_");
    for (key, torn) in [
        ("k5", "5,k4,rejected,1.00,\"tea, and"),
        ("k6", "5,k4,rejected,1.00,\"tea, \"\"and"),
        ("k7", "5,k4,rejected,1,tea"),
    ] {
        workspace.rows(format!("{key},tok_approved,1.00,false,{key}\n"));
        workspace.write("results.CSV", format!("{whole}{torn}"));
        run().ends(0, "processed");
        let text = workspace.read("results.CSV");
        let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
        let keys: Vec<_> = reader.records().map(|record| record.unwrap()[1].to_owned()).collect();
        assert_eq!(keys, ["k1", "k2", "k3", "k4", key], "{text}");
        begins(&text, format!("{whole}{torn}"));
    }
}

/// A container that is started with a new volume, and a relative path in another folder, have another journal.
#[test]
fn keys_that_the_results_have_and_the_journal_has_not_are_not_sent() {
    for name in ["results.jsonl", "results.csv"] {
        let workspace = Workspace::open();
        workspace.rows(
            "k1,tok_approved,1.00,false,k1\nk2,tok_declined,2.00,false,k2\n+3,tok_approved,3.00,false,k3\n",
        );
        let option = format!("--concurrency 1 --results {}", workspace.path(name));
        workspace.arm(Fault::response_lost(TOKENS).skip(2));
        workspace.bills(&option).ends(5, "unknown");
        // With their journal they are known, and what was declined moved no money.
        workspace.bills(&option).ends(5, "unknown");
        workspace.remove_journal();
        for option in [&option, &format!("{option} --dry-run")] {
            let said = [
                "says that rows to send were charged, or may have been: 2, the first is +3;",
                "it is not the journal of that run, or has lost or forgotten them, and they would be charged again; nothing was sent",
            ];
            has(message(&workspace.bills(option).failed_as(2, "results")), said);
            assert!(!workspace.journal().exists());
        }
        assert_eq!(workspace.requests(), 3);
        // Another file of results, or other rows.
        workspace.rows("k2,tok_approved,2.00,false,k2\nk4,tok_approved,4.00,false,k4\n");
        workspace.bills(&option).ends(0, "processed");
        workspace.rows("k1,tok_approved,1.00,false,k1\n");
        workspace.bills(&option).failed_as(2, "results");
        workspace.bills(&option.replace(name, &format!("new-{name}"))).ends(0, "processed");
    }
}

#[test]
fn unwritable_results_are_refused_before_sending() {
    let workspace = Workspace::with_rows(1);
    let after_blanks = format!("{}a,tok_1\n", "\n".repeat(2000));
    let others =
        [("december.csv", "Key,TokenId\n"), ("notes.txt", "Key,TokenId\n"), ("blank.csv", &*after_blanks)];
    for (name, content) in others {
        workspace.write(name, content);
    }
    for (name, expected) in [
        (".", "is not a regular file"),
        ("/dev/full", "is not a regular file"),
        ("none/results.jsonl", "cannot be written"),
        ("rows.csv", "is the file of the billing run itself"),
        ("december.csv", "has something else in it"),
        ("notes.txt", "has something else in it"),
        ("blank.csv", "has something else in it"),
    ] {
        let message = workspace.billing("--results").with([workspace.path(name)]).end().refusal();
        has(&message, [expected]);
        assert!(message.ends_with("; nothing was sent: fix the file or name another one"), "{message}");
    }
    for (name, content) in others {
        assert_eq!(workspace.read(name), content);
    }
    assert!(!workspace.journal().exists());
}

#[test]
fn journal_under_any_name_is_refused_as_input_or_results() {
    let workspace = Workspace::with_rows(1);
    let elsewhere = tempfile::tempdir().unwrap();
    fs::create_dir(workspace.path("x")).unwrap();
    let link = elsewhere.path().join("link");
    std::os::unix::fs::symlink(workspace.path(""), &link).unwrap();
    let through_link = format!("{}/billing.db-wal", link.display());
    let in_folder = |line: &str| workspace.run(line).in_folder(std::path::Path::new(&workspace.path("")));
    let refuses = |results: &str| {
        let error =
            in_folder(&format!("batch run rows.csv --results {results}")).end().failed_as(2, "results");
        has(error["message"].as_str().unwrap(), ["is the journal"]);
    };
    // Before the journal exists, and when it does.
    for name in ["billing.db", "./billing.db-shm", "x/../billing.db", &through_link] {
        refuses(name);
    }
    assert!(!workspace.journal().exists());
    workspace.bills("").ends(0, "processed");
    std::os::unix::fs::symlink(workspace.journal(), workspace.path("other")).unwrap();
    for name in ["./billing.db", "billing.db-wal", "other", "x/../billing.db", &through_link] {
        refuses(name);
    }
    let error =
        in_folder("batch run x/../billing.db --results results.jsonl").end().failed_as(2, "batch_file");
    has(error["message"].as_str().unwrap(), ["is the journal"]);
    assert_eq!(workspace.requests(), 1);
}

/// The file, which was read into memory, is overwritten in place with other amounts and more rows.
#[test]
fn change_of_the_file_during_a_run_counts_for_the_next_run() {
    let workspace = Workspace::with_rows(60);
    let gate = workspace.sandbox.gateway().gate(TOKENS);
    let running = workspace.billing_in_flight("--concurrency 1", &gate, 1);
    let text = workspace.read("rows.csv");
    let more = "more-1,tok_approved,1.01,false,more 1\n";
    workspace.write("rows.csv", format!("{}{more}", text.replace(".01,", ".99,")));
    gate.release();
    running.end().ends(0, "processed").counts(&json!({"processed": 60, "total": 60}));
    let charged = workspace.charged();
    assert!(charged.iter().all(|(_, amount)| amount.ends_with(".01")), "{charged:?}");
    workspace.write("rows.csv", format!("{text}{more}"));
    workspace
        .bills("")
        .ends(0, "processed")
        .counts(&json!({"processed": 1, "processed_earlier": 60, "total": 61}));
    assert_eq!(workspace.charged().len(), 61);
}

#[test]
fn concurrent_runs_charge_nobody_twice() {
    let workspace = Workspace::with_rows(60);
    let ended: Vec<Ended> = thread::scope(|scope| {
        let runs: Vec<_> = (0..3).map(|_| scope.spawn(|| workspace.bills(""))).collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    for ended in &ended {
        // A run that ends while another one is still sending is unfinished.
        assert!(matches!(ended.code, Some(0 | 3)), "{ended:?}");
        assert_eq!(ended.count("total"), 60, "{ended:?}");
    }
    assert_eq!((workspace.requests(), workspace.charged().len()), (60, 60));
    workspace.bills("").ends(0, "processed");
}

/// A numeric token or reference is sent and stored as it is, since a masked one reconciles nothing.
#[test]
fn ids_that_look_like_card_numbers_are_sent_and_stored_as_they_are_d52() {
    const LIKE_A_CARD: &str = "4539578763621486";
    let rejected = r#"{"status":"failed","status_code":400,"msg":"bad request error: invalid token"}"#;
    for extension in ["csv", "jsonl"] {
        let workspace = Workspace::open();
        workspace.rows(format!("{LIKE_A_CARD},{LIKE_A_CARD},1.00,false,{LIKE_A_CARD}\n"));
        let results = format!("results.{extension}");
        let peer = Peer::responding("400 Bad Request", rejected);
        let options = format!("--ids-are-not-cards --results {}", workspace.path(&results));
        workspace.billing(&options).at(&peer.base_url).end().exits(4);
        let request = peer.request();
        has(&request, ["TokenId", "ReferenceNo"].map(|member| format!("\"{member}\":\"{LIKE_A_CARD}\"")));
        let intent: Value = workspace.show(LIKE_A_CARD);
        holds(&intent, &json!({"token_id": LIKE_A_CARD, "reference": LIKE_A_CARD}));
        // The key, also in the message, and the reference.
        let results = workspace.read(&results);
        assert_eq!(results.matches(LIKE_A_CARD).count(), 3, "{results}");
    }
}

/// Documents have the digits of the file.
#[test]
fn people_see_two_decimals() {
    let workspace = Workspace::open();
    workspace.arm(Fault::request_lost(TOKENS));
    workspace.rows("k1,tok_approved,10.5,false,one\nk2,tok_approved,7,false,two\n");
    let text = workspace.billing("--concurrency 1").text().exits(5).stdout;
    has(
        &text,
        ["line 2: k1, 10.50 (", "  processed           1   7.00\n", "  total               2  17.50\n"],
    );
    has(workspace.journals("list --output text").stdout, ["   10.50  ", "    7.00  ", " 17.50\n"]);
    has(workspace.show_text("k1"), ["  amount           10.50\n"]);
    has(workspace.journals("list").stdout, ["\"amount\":10.5,", "\"amount\":7,"]);
    assert_eq!(workspace.column("amount"), ["10.5", "7"]);
    let file = "Key,Note,Verdict\nk1,gone,not processed\n";
    has(
        workspace.resolving(file).text().exits(0).stdout,
        ["  k1  10.50 not processed: gone\n", "1 intent, 10.50\n"],
    );
}
