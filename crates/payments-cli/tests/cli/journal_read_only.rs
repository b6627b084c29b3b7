//! `journal list`, `show` and `export` write nothing: they work on a full disk and on a read-only one.

#![allow(clippy::unwrap_used, reason = "a helper of a test fails the test as the test itself does")]
#![allow(clippy::print_stderr, reason = "a test that covers nothing says so")]

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::time::SystemTime;

use serde_json::{Value, json};

use crate::batch_runs::counts;
use crate::journaled_charges::Workspace;
use crate::support::TOKEN_PAYMENT;

/// A journal with a processed key, and one that a killed process was sending.
fn crashed() -> Workspace {
    let workspace = Workspace::open();
    workspace.charge("paid").processed();
    let (running, gate) = workspace.in_flight("in-flight");
    running.signal("KILL");
    running.end();
    gate.release();
    workspace
}

/// Runs `payments journal …` in its own view of the file system, after this script.
fn under(mounts: &str, journal: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &format!("{mounts} && exec \"$0\" \"$@\"")]);
    command.arg(env!("CARGO_BIN_EXE_payments")).arg("journal").args(arguments);
    command.args(["--journal", journal.to_str().unwrap()]).env_remove("PAYMENTS_JOURNAL").output().unwrap()
}

fn may_mount() -> bool {
    let status = Command::new("unshare").args(["--mount", "true"]).status();
    let may = status.is_ok_and(|status| status.success());
    if !may {
        eprintln!("NOT COVERED: full and read-only file systems; this user may not mount one");
    }
    may
}

/// Checks that all three commands show the crash, after this script.
fn assert_shown(mounts: &str, journal: &Path) {
    let run = |arguments: &[&str]| {
        let output = under(mounts, journal, arguments);
        assert!(output.status.success() && output.stderr.is_empty(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let list: Value = serde_json::from_str(&run(&["list"])).unwrap();
    let shown: Vec<_> =
        list.as_array().unwrap().iter().map(|it| [&it["key"], &it["state"], &it["kind"]]).collect();
    assert_eq!(shown[0][..2], ["paid", "processed"]);
    assert_eq!(shown[1], ["in-flight", "unknown", "crash"]);
    let unresolved: Value = serde_json::from_str(&run(&["list", "--unresolved"])).unwrap();
    assert_eq!(unresolved[0]["key"], "in-flight");
    let unknown: Value = serde_json::from_str(&run(&["list", "--state", "unknown"])).unwrap();
    assert_eq!(unknown, unresolved);
    assert_eq!(run(&["list", "--state", "sending"]), "[]\n");
    let one: Value = serde_json::from_str(&run(&["show", "in-flight"])).unwrap();
    assert_eq!(one, unresolved[0]);
    assert_eq!(run(&["export"]).lines().count(), 2);
    assert!(run(&["export", "--format", "csv"]).contains("in-flight,unknown"));
    let text = run(&["show", "in-flight", "--output", "text"]);
    assert!(text.starts_with("UNKNOWN (CRASH)") && text.contains("then resolve the key"), "{text}");
}

#[test]
fn journal_on_a_read_only_medium_is_shown() {
    let workspace = crashed();
    if !may_mount() {
        return;
    }
    let folder = workspace.journal().parent().unwrap().display().to_string();
    let mounts = format!("mount --bind {folder} {folder} && mount -o remount,bind,ro {folder}");
    assert_shown(&mounts, &workspace.journal());
    let refused = under(&mounts, &workspace.journal(), &["retry", "--status", "401"]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");

    // A copy without the index of its log, and without the locks of its owners.
    let copy = tempfile::tempdir().unwrap();
    for suffix in ["db", "db-wal"] {
        fs::copy(
            workspace.journal().with_extension(suffix),
            copy.path().join("billing").with_extension(suffix),
        )
        .unwrap();
    }
    let folder = copy.path().display();
    let mounts = format!("mount --bind {folder} {folder} && mount -o remount,bind,ro {folder}");
    assert_shown(&mounts, &copy.path().join("billing.db"));
}

/// A tmpfs of the size of the files, which are copied there, and then filled.
#[test]
fn journal_on_a_full_disk_is_shown() {
    let workspace = crashed();
    if !may_mount() {
        return;
    }
    let folder = workspace.journal().parent().unwrap().display().to_string();
    for files in ["billing.db billing.db-wal billing.db-shm billing.db-owners", "billing.db billing.db-wal"] {
        let disk = tempfile::tempdir().unwrap();
        let on = disk.path().display();
        let mounts = format!(
            "mount -t tmpfs -o size=2m,mode=700 tmpfs {on} && cd {folder} && cp -a {files} {on} \
             && {{ head -c 3000000 /dev/zero > {on}/ballast; }} 2> /dev/null || true; \
             {{ ! echo full > {on}/more; }} 2> /dev/null"
        );
        assert_shown(&mounts, &disk.path().join("billing.db"));
    }
}

/// The name, the time of the last change and the length of each file.
fn files(folder: &Path) -> Vec<(OsString, SystemTime, u64)> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let mut files: Vec<_> = entries
        .map(|entry| (entry.file_name(), entry.metadata().unwrap()))
        .map(|(name, metadata)| (name, metadata.modified().unwrap(), metadata.len()))
        .collect();
    files.sort();
    files
}

/// The key of a dead sender counts as unknown, as in the run, and is not marked.
#[test]
fn dry_run_changes_no_file_of_the_journal() {
    let workspace = crashed();
    let folder = tempfile::tempdir().unwrap();
    let rows = folder.path().join("rows.csv");
    fs::write(
        &rows,
        "Key,TokenId,Amount,ConvenienceFeeActive\nin-flight,tok_approved,45.00,false\nnew,tok_approved,1,false\n",
    )
    .unwrap();
    let files = || files(workspace.journal().parent().unwrap());
    let before = files();
    let ended = workspace.run(["batch", "run", rows.to_str().unwrap(), "--dry-run"]).end();
    assert_eq!(counts(&ended), json!({"unknown_earlier": 1, "not_started": 1, "total": 2}));
    assert_eq!(files(), before);
    // A key that looks like a card number is looked up.
    let ended = workspace.charging("378282246310005", TOKEN_PAYMENT).arguments(["--dry-run"]).end();
    ended.failed(2);
    assert_eq!(files(), before);
}

#[test]
fn reading_a_journal_changes_no_file() {
    let workspace = crashed();
    let files = || files(workspace.journal().parent().unwrap());
    let before = files();
    for _ in 0..2 {
        for arguments in [&["list"][..], &["show", "in-flight"], &["export"]] {
            assert_eq!(workspace.journal_command(arguments).code, Some(0));
        }
    }
    assert_eq!(files(), before);
    // What was shown can be resolved.
    workspace
        .journal_command(&["resolve", "in-flight", "--not-processed", "--note", "not in the books"])
        .exits(0);
}
