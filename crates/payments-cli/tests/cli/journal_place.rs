//! Where the journal is: a place that is none is refused, and a journal that is created is announced.
#![cfg(unix)]

use std::fs;
use std::path::Path;

use crate::prelude::*;

/// It would watch nothing.
#[test]
fn witness_of_a_database_is_refused_d49() {
    let workspace = Workspace::with_rows(1);
    let run = || workspace.billing("--journal postgres://127.0.0.1:1/pay");
    run().with("--witness w").end().refused("--witness is for a journal in a file");
    let by_variable = run().env("PAYMENTS_JOURNAL_WITNESS", "w").end();
    by_variable.refused("PAYMENTS_JOURNAL_WITNESS is for a journal in a file");
}

/// In another directory it would be another file.
#[test]
fn relative_witness_of_the_environment_is_refused_d49() {
    let workspace = Workspace::with_rows(1);
    let relative = workspace.billing("").env("PAYMENTS_JOURNAL_WITNESS", "w").end();
    relative.refused("the path of PAYMENTS_JOURNAL_WITNESS is relative");
    let whole = workspace.path("w");
    workspace.billing("").env("PAYMENTS_JOURNAL_WITNESS", &whole).end().exits(0);
    let folder = tempfile::tempdir().unwrap();
    let charge = workspace.charging("k", TOKEN_PAYMENT).with("--witness w").in_folder(folder.path());
    charge.env("PAYMENTS_JOURNAL", "k.db").end().exits(0);
    assert!(fs::exists(whole).unwrap() && folder.path().join("w").exists());
}

/// As after an unmounted disk, or cron in another directory.
#[test]
fn missing_journal_that_must_exist_is_refused_d43() {
    let workspace = Workspace::with_rows(1);
    let folder = tempfile::tempdir().unwrap();
    let runs = || {
        let dry_run = || workspace.billing("--dry-run");
        [
            workspace.billing(""),
            dry_run(),
            workspace.charging("k", TOKEN_PAYMENT),
            workspace.run("void txn_1 --key v"),
        ]
    };
    // An earlier call with the key may have paid.
    let codes = [2, 2, 5, 5].into_iter().cycle();
    let by_option = runs().map(|run| run.with("--existing-journal"));
    let by_variable = runs().map(|run| run.env("PAYMENTS_JOURNAL_MUST_EXIST", "true"));
    for (run, code) in by_option.into_iter().chain(by_variable).zip(codes) {
        let ended = run.env("PAYMENTS_JOURNAL", "billing.db").in_folder(folder.path()).end();
        let error = ended.failed_as(code, "no_journal");
        has(
            message(&error),
            ["there is no journal at ", "requires one; nothing was sent: find it", "may have paid"],
        );
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "a journal was made");
    }
    assert_eq!(workspace.requests(), 0);
    let wrong = workspace.billing("").env("PAYMENTS_JOURNAL_MUST_EXIST", "yes").end();
    wrong.refused("PAYMENTS_JOURNAL_MUST_EXIST must be true or false");
    for value in ["", "false"] {
        workspace.billing("").env("PAYMENTS_JOURNAL_MUST_EXIST", value).end().exits(0);
    }
    workspace.bills("--existing-journal").exits(0);
    workspace.charging("k", TOKEN_PAYMENT).with("--existing-journal").end().processed();
    let without_key =
        workspace.run("token-transaction create --file - --existing-journal").stdin(TOKEN_PAYMENT);
    without_key.end().exits(2);
}

/// Nothing would fail, and nothing would protect.
#[test]
fn misspelled_variable_of_a_protection_is_refused() {
    let workspace = Workspace::with_rows(1);
    for (name, meant) in [
        ("PAYMENTS_JOURNAL_MUST_EXISTS", "PAYMENTS_JOURNAL_MUST_EXIST"),
        ("PAYMENT_JOURNAL_MUST_EXIST", "PAYMENTS_JOURNAL_MUST_EXIST"),
        ("payments_journal_must_exist", "PAYMENTS_JOURNAL_MUST_EXIST"),
        ("PAYMENTS_JOURNAL_WITNES", "PAYMENTS_JOURNAL_WITNESS"),
    ] {
        for run in [workspace.billing(""), workspace.charging("k", TOKEN_PAYMENT)] {
            let ended = run.env(name, "true").end();
            let error = ended.failed_as(2, "configuration");
            has(
                message(&error),
                [format!("no environment variable {name}, and {meant} is not set; nothing was sent")],
            );
        }
    }
    assert!(!workspace.journal().exists());
    let run = workspace.billing("").env("PAYMENTS_JOURNAL_PORT", "tcp://10.0.0.1:80");
    run.env("PAYMENTS_JOURNAL_MUST_EXISTS", "x").env("PAYMENTS_JOURNAL_MUST_EXIST", "").end().exits(0);
}

/// A command that is copied out of a chat has quotation marks that no shell removes, or invisible characters.
#[test]
fn journal_beside_one_of_the_same_name_in_another_spelling_is_not_created() {
    let workspace = Workspace::with_rows(1);
    let folder = tempfile::tempdir().unwrap();
    let at = |run: Run, journal: &str| run.env("PAYMENTS_JOURNAL", journal).in_folder(folder.path()).end();
    at(workspace.billing(""), "billing.db").ends(0, "processed");
    for journal in
        ["\u{201c}billing.db\u{201d}", "billing.db\u{200b}", "Billing.db", "billing.db,", "./billing.DB"]
    {
        // On some disks it is the same file.
        if journal.is_ascii() && folder.path().join(journal).exists() {
            continue;
        }
        for (run, code) in [
            (workspace.billing(""), 2),
            (workspace.billing("--dry-run"), 2),
            (workspace.charging("k0", TOKEN_PAYMENT), 5),
        ] {
            let error = at(run, journal).failed_as(code, "no_journal");
            let said = [
                "and beside it is billing.db, the same name in another spelling; nothing was sent: name that one",
            ];
            has(message(&error), said);
        }
    }
    assert_eq!((workspace.requests(), fs::read_dir(folder.path()).unwrap().count()), (1, 2));
    for (key, journal) in
        ["billing-2.db", "billing.1.db", "\u{5317}\u{4eac}.db", "\u{4e0a}\u{6d77}.db"].into_iter().enumerate()
    {
        at(workspace.charging(&format!("other-{key}"), TOKEN_PAYMENT), journal).processed();
    }
    fs::remove_file(folder.path().join("billing.db")).unwrap();
    at(workspace.charging("k", TOKEN_PAYMENT), "Billing.db").processed();
}

/// A mistyped path, or a disk that is not mounted: every key would be new.
#[test]
fn journal_in_a_missing_folder_is_refused_d43() {
    let workspace = Workspace::with_rows(1);
    let (missing, results) = (workspace.path("missing"), workspace.path("results.csv"));
    let runs = || {
        [
            (workspace.billing(&format!("--results {results}")), 2),
            (workspace.billing("--dry-run"), 2),
            // An earlier call with the key may have paid.
            (workspace.charging("k", TOKEN_PAYMENT), 5),
            (workspace.charging("k", TOKEN_PAYMENT).with("--dry-run"), 5),
            (workspace.run("void txn_1 --key v"), 5),
            (workspace.run("journal list"), 2),
        ]
    };
    for (run, code) in runs() {
        let ended = run.env("PAYMENTS_JOURNAL", &format!("{missing}/billing.db")).end();
        let error = ended.failed_as(code, "no_journal");
        has(message(&error), ["its folder does not exist", "create the folder, or correct the name"]);
        assert!(!fs::exists(&missing).unwrap() && !fs::exists(&results).unwrap(), "a file was made");
    }
    assert_eq!(workspace.requests(), 0);
    fs::create_dir(&missing).unwrap();
    for (run, code) in runs().into_iter().take(3).zip([0, 0, 0]).map(|((run, _), code)| (run, code)) {
        run.env("PAYMENTS_JOURNAL", &format!("{missing}/billing.db")).end().exits(code);
    }
}

/// Every kind of such a place is tested where it is decided; here every command, and every reason.
#[test]
fn place_that_is_none_is_refused_everywhere() {
    let peer = Peer::new(Then::Close);
    let folder = tempfile::tempdir().unwrap();
    let workspace = Workspace::with_rows(1);
    let batch = format!("batch run {}", workspace.path("rows.csv"));
    let dry_run = format!("{batch} --dry-run");
    let charge = "token-transaction create --file - --key k";
    let list = "host=db password=hunter2 dbname=pay";
    for (line, place) in [
        (charge, list),
        (charge, "postgres:/ada:hunter2@db/pay"),
        (charge, "//ada:hunter2@db/pay"),
        (charge, "\"postgres://ada:hunter2@db/pay\""),
        (charge, "$HOME/billing.db"),
        (charge, "billing.db\n"),
        (charge, "service/pay?password=hunter2"),
        (&batch, list),
        (&dry_run, list),
        ("void txn_1 --key k", list),
        ("journal list", list),
        ("journal export", list),
        ("journal resolve k --not-processed --note n --by ada", list),
        ("journal retry --status 401", list),
        ("journal purge --older-than 30d", list),
    ] {
        let run = || payments_at(&peer.base_url, line).in_folder(folder.path()).stdin(TOKEN_PAYMENT);
        for (run, source) in [
            (run().with(["--journal", place]), "--journal"),
            (run().env("PAYMENTS_JOURNAL", place), "PAYMENTS_JOURNAL"),
        ] {
            let ended = run.end();
            let message = ended.refusal();
            begins(&message, format!("the journal of {source} "));
            has(&message, [": write ", "nothing was "]);
            ended.hides(["hunter2", "dbname"]);
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{place}: a file was made");
        }
    }
    assert_eq!(peer.connections(), 0);
}

/// The place in the announcement of a created journal.
fn announced(ended: &Ended) -> Option<&str> {
    let line = ended.stderr.lines().find_map(|line| line.strip_prefix(CREATED))?;
    assert!(line.ends_with(
        ": if there was one before, stop now and find it, because a new journal charges every key again"
    ));
    Some(line.split_once(", which ").unwrap().0)
}

/// As cron in another directory: the second run charges again, and must at least say where its journal is.
#[test]
fn created_journal_is_announced_with_its_whole_path() {
    let workspace = Workspace::with_rows(1);
    for (shape, charges) in ["json", "text"].into_iter().zip(1..) {
        let folder = tempfile::tempdir().unwrap();
        let whole = folder.path().join("billing.db");
        let whole = whole.to_str().unwrap();
        let run = |options: &str| {
            let run = workspace.billing(&format!("--output {shape} {options}")).in_folder(folder.path());
            run.env("PAYMENTS_JOURNAL", "billing.db").end().exits(0)
        };
        let (dry, ended) = (run("--dry-run"), run(""));
        assert_eq!((announced(&dry), announced(&ended)), (None, Some(whole)), "{ended:?}");
        assert_eq!(workspace.requests(), charges);
        let again = run("");
        assert_eq!(announced(&again), None, "{again:?}");
        if shape == "json" {
            let created = [&ended, &again, &dry].map(|ended| ended.json()["journal_created"].clone());
            assert_eq!(created, [json!(whole), Value::Null, Value::Null]);
        } else {
            has(&ended.stdout, [format!("\n  this run created the journal {whole}\n")]);
            again.hides(["created"]);
        }
    }
    // A run that charges nothing has created it too.
    let refused = workspace.billing("").env("PAYMENTS_API_KEY", "wrong").end().exits(6);
    assert_eq!(announced(&refused), workspace.journal().to_str());
    assert_eq!(refused.json()["journal_created"], json!(workspace.path("billing.db")));

    // A single charge, and a file whose name would be a setting without its path.
    let folder = tempfile::tempdir().unwrap();
    let charge = |key: &str| {
        let run = workspace.charging(key, TOKEN_PAYMENT).in_folder(folder.path());
        run.env("PAYMENTS_JOURNAL", "./a=b.db").end()
    };
    assert_eq!(announced(&charge("k")), folder.path().join("a=b.db").to_str());
    assert_eq!(announced(&charge("other")), None);
}

/// Checks that no command may send with this journal, and that none of them calls it safe, or of use, to run it again.
#[track_caller]
fn nothing_may_be_sent(workspace: &Workspace, parts: &[&str]) {
    let sent = workspace.requests();
    let charge = TOKEN_PAYMENT.replace("45.00", "1.01");
    for (ended, code) in [
        (workspace.bills(""), 2),
        (workspace.bills("--dry-run"), 2),
        (workspace.charging("k1", &charge).end(), 5),
        (workspace.journals("retry --status 401"), 2),
    ] {
        has(message(&ended.failed(code)), parts);
        ended.hides(["safe", "same command", "same key"]);
    }
    assert_eq!(workspace.requests(), sent, "{parts:?}");
}

fn change(journal: &Path, sql: &str) {
    rusqlite::Connection::open(journal).unwrap().execute_batch(sql).unwrap();
}

/// SQLite does not find a row whose entry in an index is missing, so the row would be charged again.
#[test]
fn damaged_or_newer_journal_stops_every_command_that_may_send() {
    for (index, definition) in [
        ("intent_key", "(key) WHERE key <> 'k1'"),
        ("intent_unresolved", "(position) WHERE state = 'sending'"),
        ("intent_processed", "(processed_as) WHERE key <> 'k1'"),
    ] {
        let workspace = Workspace::with_rows(1);
        workspace.bills("").exits(0);
        workspace.lose_response("lost");
        change(
            &workspace.journal(),
            &format!(
                "CREATE INDEX other ON intent {definition};
                 PRAGMA writable_schema = ON;
                 UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'other')
                 WHERE name = '{index}';
                 DELETE FROM sqlite_schema WHERE name = 'other';
                 PRAGMA writable_schema = RESET"
            ),
        );
        nothing_may_be_sent(&workspace, &[index, "A damaged index"]);
        for states in ["--unresolved", "--state unknown"] {
            has(workspace.journals(format!("list {states}")).stdout, [r#""key":"lost""#]);
        }
    }
    let workspace = Workspace::with_rows(1);
    workspace.bills("").exits(0);
    change(&workspace.journal(), "PRAGMA user_version = 1000");
    nothing_may_be_sent(&workspace, &["newer"]);
}

/// The index is sound, so only the check of the rows notices it. Running it again does not help.
#[test]
fn damaged_row_is_not_safe_to_run_again() {
    let workspace = Workspace::with_rows(1);
    workspace.bills("").exits(0);
    change(&workspace.journal(), "UPDATE intent SET document = '{'");
    for options in ["", "--dry-run"] {
        let ended = workspace.bills(options);
        has(message(&ended.failed(2)), ["nothing was sent", "damaged"]);
    }
    let ended = workspace.charging("k1", &TOKEN_PAYMENT.replace("45.00", "1.01")).end();
    has(
        message(&ended.failed(5)),
        ["the document of the intent k1", "do not pay it another way; it fails again until that is fixed"],
    );
}
