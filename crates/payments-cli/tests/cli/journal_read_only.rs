//! `journal list`, `show`, `export` and a dry run write nothing. The journal's own tests read it on a full disk and on a read-only
//! one.
#![cfg(target_os = "linux")]

use std::ffi::OsString;
use std::fs;
use std::time::SystemTime;

use crate::prelude::*;

/// The name, the time of the last change and the length of each file beside the journal.
fn files(workspace: &Workspace) -> Vec<(OsString, SystemTime, u64)> {
    let entries = fs::read_dir(workspace.path("")).unwrap().map(Result::unwrap);
    let mut files: Vec<_> = entries
        .map(|entry| (entry.file_name(), entry.metadata().unwrap()))
        .map(|(name, metadata)| (name, metadata.modified().unwrap(), metadata.len()))
        .collect();
    files.sort();
    files
}

/// With a processed key, and one that a killed process was sending, which is shown as unknown and not marked.
#[test]
fn reading_a_journal_changes_no_file() {
    let workspace = Workspace::with_charge("paid");
    let (running, gate) = workspace.in_flight("in-flight");
    running.signal("KILL");
    running.end();
    gate.release();
    workspace.rows("in-flight,tok_approved,45.00,false,\nnew,tok_approved,1,false,\n");
    let found = workspace.write("found.csv", "Key,Verdict,Note\nin-flight,not processed,in no report\n");
    let before = files(&workspace);

    let list = |options: &str| -> Value {
        serde_json::from_str(&workspace.journals(format!("list {options}")).stdout).unwrap()
    };
    let all = list("");
    holds(&all[0], &json!({"key": "paid", "state": "processed"}));
    holds(&all[1], &json!({"key": "in-flight", "state": "unknown", "kind": "crash"}));
    for options in ["--unresolved", "--state unknown"] {
        assert_eq!(list(options), json!([all[1]]));
    }
    assert_eq!(list("--state sending"), json!([]));
    assert_eq!(workspace.show("in-flight"), all[1]);
    assert_eq!(workspace.export().lines().count(), 2);
    has(workspace.csv(""), ["in-flight,unknown"]);
    begins(workspace.show_text("in-flight"), "UNKNOWN (CRASH)");
    workspace.bills("--dry-run").counts(&json!({"unknown_earlier": 1, "not_started": 1, "total": 2}));
    // A key that looks like a card number is looked up.
    workspace.charging("378282246310005", TOKEN_PAYMENT).with("--dry-run").end().failed(2);
    workspace.journals(format!("resolve --from {found} --by ada --dry-run")).exits(0);
    assert_eq!(files(&workspace), before);

    // What was shown can be resolved.
    workspace.journals("resolve in-flight --not-processed --note 'not in the books'").exits(0);
}
