//! Every command that an output prints is taken out of it and run as it is printed.
#![cfg(unix)]

use std::collections::{BTreeSet, VecDeque};
use std::path::Path;
use std::process::Command;

use crate::prelude::*;

/// The printed commands: lines, ends of lines, and what is in backticks.
fn commands(text: &str) -> Vec<String> {
    let found = text.match_indices("payments ").filter_map(|(at, _)| {
        let (before, rest) = text.split_at(at);
        let line = rest.lines().next().unwrap_or_default();
        match before.chars().next_back() {
            Some('`') => line.split('`').next(),
            _ if before.ends_with("  ") || before.ends_with(": ") => Some(line),
            _ => None,
        }
    });
    found
        .filter(|command| command.split(' ').nth(1).is_some_and(|it| it.chars().all(char::is_lowercase)))
        .map(str::to_owned)
        .collect()
}

fn in_shell(command: &str, folder: &Path) -> Ended {
    let mut shell = Command::new("sh");
    remove_settings(&mut shell);
    let binaries = Path::new(env!("CARGO_BIN_EXE_payments")).parent().unwrap();
    let path = format!("{}:{}", binaries.display(), std::env::var("PATH").unwrap());
    shell.args(["-c", &command.replacen("payments ", "payments --output text ", 1)]).current_dir(folder);
    let ended = shell.env("PATH", path).env("PAYMENTS_API_KEY", KEY).env("USER", "ada").output().unwrap();
    let [stdout, stderr] = [ended.stdout, ended.stderr].map(|text| String::from_utf8(text).unwrap());
    Ended { code: ended.status.code(), stdout, stderr }
}

/// Nothing but the API key is in the environment, so each command must name the journal, the base URL and the merchant.
#[test]
fn printed_commands_work_as_they_are_printed() {
    let workspace = Workspace::open();
    let folder = workspace.journal().parent().unwrap().to_owned();
    let run = |line: &str| payments(line).env("PAYMENTS_API_KEY", KEY).env("USER", "ada").in_folder(&folder);
    let (journal, url) = (workspace.path("billing.db"), workspace.sandbox.base_url());
    let options = format!("--journal {journal} --base-url {url} --merchant books --output text");
    let charge = |key: &str, payment: &str| -> Ended {
        let line = format!("token-transaction create --file - --key {key} {options}");
        run(&line).stdin(payment).end()
    };
    let mut printed = VecDeque::new();
    let mut print = |ended: Ended| printed.extend(commands(&(ended.stdout + &ended.stderr)));
    workspace.arm(Fault::on(TOKENS).before_commit().status(StatusCode::UNAUTHORIZED));
    print(charge("refused", TOKEN_PAYMENT));
    workspace.arm(Fault::response_lost(TOKENS).times(2));
    let rows = "k1,tok_approved,1.01,false,k1\nk2,tok_approved,2.02,false,k2\n";
    workspace.write("rows.csv", format!("{BILLING}\n{rows}"));
    print(run(&format!("batch run rows.csv --concurrency 1 {options}")).end().exits(5));
    let ids: Vec<_> = {
        let ledger = workspace.sandbox.gateway().ledger();
        ledger.charged().map(|entry| entry.transaction_id().to_string()).collect()
    };
    // The second is not in the report.
    let at = humantime::format_rfc3339_seconds(std::time::SystemTime::now());
    let report = format!("Id,Amount,Reference,Date,Status\n{},1.01,k1,{at},Settled\n", ids[0]);
    workspace.write("REPORT.csv", report);

    // Somebody runs it without the file of the other keys.
    printed.push_back(format!("payments journal resolve --from found.csv {options}"));
    let (mut done, mut shapes) = (BTreeSet::new(), BTreeSet::new());
    while let Some(command) = printed.pop_front() {
        if !done.insert(command.clone()) {
            continue;
        }
        shapes.insert(command.split(' ').skip(1).take(2).collect::<Vec<_>>().join(" "));
        let typed = command.replacen("WORD,…", "Settled", 1).replace("WORD,…", "Declined");
        let ended = in_shell(&typed.replace(" KEY", " k2"), &folder);
        let output = ended.stdout.clone() + &ended.stderr;
        // Another command may have done the same.
        let is_expected = output.contains("already resolved");
        assert!(is_expected || [Some(0), Some(5)].contains(&ended.code), "{command}: {ended:?}");
        // They come before those that were printed earlier.
        commands(&output).into_iter().rev().for_each(|next| printed.push_front(next));
    }
    let expected =
        ["journal export", "journal list", "journal reconcile", "journal resolve", "journal retry"];
    assert!(expected.iter().all(|it| shapes.contains(*it)), "{shapes:?}");
    let resolved = run(&format!("journal show k1 --journal {journal}")).end().exits(0).json();
    assert_eq!((&resolved["state"], &resolved["transaction_id"]), (&json!("resolved"), &json!(ids[0])));
    assert!(Path::new(&workspace.path("found.csv")).exists());
}

#[test]
fn printed_retry_runs_where_no_login_name_is_known() {
    let workspace = Workspace::open();
    workspace.arm(Fault::on(TOKENS).before_commit().status(StatusCode::UNAUTHORIZED).times(2));
    workspace.good(1);
    for run in [workspace.charging("k0", TOKEN_PAYMENT), workspace.billing("")] {
        let ended = run.by_nobody().text();
        let printed = commands(&ended.shown()).into_iter().find(|command| command.contains(" retry "));
        let printed = printed.unwrap_or_else(|| panic!("{ended:?}"));
        let line = printed.strip_prefix("payments ").unwrap();
        let line = line.strip_suffix(" --by NAME").unwrap_or_else(|| panic!("{printed}"));
        workspace.does(format!("{line} --by ada")).exits(0);
    }
}

/// A report is compared with the keys of one merchant, and the message says which option names it.
#[test]
fn merchant_of_a_report_is_named_as_for_a_call() {
    let workspace = Workspace::open();
    for (merchant, key) in [("books", "b1"), ("toys", "t1")] {
        workspace.arm(Fault::response_lost(TOKENS));
        workspace.charging(key, TOKEN_PAYMENT).with(["--merchant", merchant]).end().exits(5);
    }
    let report = workspace.write("report.csv", "Id,Amount,Reference,Date\n");
    let line = format!("journal reconcile {report}");
    let key = |ended: Ended| ended.exits(5).json()["undecided"][0]["key"].clone();
    assert_eq!(key(workspace.run(&line).with("--merchant books").end()), "b1");
    assert_eq!(key(workspace.run(&line).env("PAYMENTS_MERCHANT", "toys").end()), "t1");
    let service = format!("{}#books", workspace.sandbox.base_url());
    assert_eq!(key(workspace.run(&line).with(["--service", &service]).end()), "b1");
    has(
        workspace.run(&line).text().exits(2).stderr,
        ["several services", "name it with --service, or with --base-url and --merchant"],
    );
    workspace.run(&line).with(["--service", &service, "--merchant", "books"]).end().failed(2);
    // The file is not to blame.
    let begun = workspace.shown("b1", "begun_at");
    let rows = format!(
        "Key,Attempt,Revision,TransactionId,Verdict,Note,Service,BegunAt\nb1,1,2,{},processed,n,{service},{}\n",
        workspace.last_id(),
        begun.as_str().unwrap()
    );
    has(
        workspace.resolving(rows).text().exits(2).stderr,
        ["only the merchant differs", "give --merchant books"],
    );
}
