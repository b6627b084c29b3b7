//! Where the journal is: a place that is none is refused, and a journal that is created is announced.

#![allow(clippy::unwrap_used, reason = "a helper of a test fails the test as the test itself does")]

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::journaled_charges::Workspace;
use crate::support::{CREATED, Ended, Peer, TOKEN_PAYMENT, Then, begins, has, payments_at};

/// None of these is the path of a file or the URL of a database.
const PLACES: &[&str] = &[
    "host=db password=hunter2 dbname=pay",
    "dbname=pay",
    "dbname = 'pay'",
    "host=/var/run/postgresql dbname=pay password=hunter2",
    "a=b.db",
    "postgres:pay",
    "PostgreSQL:ada:hunter2@db/pay",
    "postgresql:ada:hunter2@db/pay",
    "postgres:/ada:hunter2@db/pay",
    "postgres",
    "pg:pay",
    "ada:hunter2@db/pay",
    "//ada:hunter2@db/pay",
    "db.example.com:5432/pay",
    "mysql://ada:hunter2@db/pay",
    "sqlite://billing.db",
    "sqlite:billing.db",
    "file:///var/lib/billing.db",
    "\"postgres://ada:hunter2@db/pay\"",
    "~/billing.db",
    "$HOME/billing.db",
    "%h/billing.db",
    "\"/billing.db\"",
    "\"./billing.db\"",
    "billing.db\r",
    "billing.db\n",
    " ./billing.db",
    "/x host=db password=hunter2 dbname=pay",
    "ada:hunter2",
    "service/pay?password=hunter2",
    "tcp:db/pay",
    "tcp(db:5432)/pay",
    "[::1]/pay",
    "db:5432?x",
    "//db/pay",
];

/// It would watch nothing.
#[test]
fn witness_of_a_database_is_refused_d49() {
    let folder = tempfile::tempdir().unwrap();
    let rows = folder.path().join("rows.csv");
    fs::write(&rows, BATCH).unwrap();
    let run = |place: &str| {
        payments_at("https://127.0.0.1:1/api", ["batch", "run", rows.to_str().unwrap(), "--journal", place])
    };
    let place = "postgres://127.0.0.1:1/pay";
    has(run(place).arguments(["--witness", "w"]).end().refusal(), ["--witness is for a journal in a file"]);
    let by_variable = run(place).env("PAYMENTS_JOURNAL_WITNESS", "w").end().refusal();
    has(by_variable, ["PAYMENTS_JOURNAL_WITNESS is for a journal in a file"]);
}

const BATCH: &str = "Key,TokenId,Amount,ConvenienceFeeActive\ninvoice-1,tok_approved,1.00,false\n";

#[test]
fn place_that_is_none_is_refused_everywhere() {
    let peer = Peer::new(Then::Close);
    let folder = tempfile::tempdir().unwrap();
    let rows = tempfile::tempdir().unwrap();
    let rows = rows.path().join("rows.csv");
    fs::write(&rows, BATCH).unwrap();
    let rows = rows.to_str().unwrap();
    let commands: &[&[&str]] = &[
        &["batch", "run", rows],
        &["batch", "run", rows, "--dry-run"],
        &["token-transaction", "create", "--file", "-", "--key", "k"],
        &["void", "txn_1", "--key", "k"],
        &["journal", "list"],
        &["journal", "export"],
        &["journal", "resolve", "k", "--not-processed", "--note", "n", "--by", "ada"],
        &["journal", "retry", "--status", "401"],
        &["journal", "purge", "--older-than", "30d"],
    ];
    // Every place with one command, and every command with two places.
    let each = PLACES.iter().map(|place| (commands[2], *place));
    let all = commands.iter().flat_map(|command| PLACES[..2].iter().map(|place| (*command, *place)));
    for (command, place) in each.chain(all) {
        for is_option in [true, false] {
            let run = payments_at(&peer.base_url, command.iter()).in_folder(folder.path());
            let run = if is_option {
                run.arguments(["--journal", place])
            } else {
                run.env("PAYMENTS_JOURNAL", place)
            };
            let ended = run.stdin(TOKEN_PAYMENT).end();
            let message = ended.refusal();
            assert!(message.contains(": write "), "{message}");
            let source = if is_option { "--journal" } else { "PAYMENTS_JOURNAL" };
            begins(&message, format!("the journal of {source} "));
            assert!(message.contains("nothing was "), "{message}");
            let shown = format!("{}{}", ended.stdout, ended.stderr);
            assert!(!shown.contains("hunter2") && !shown.contains("dbname"), "{place}: {shown}");
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{place}: a file was made");
        }
    }
    assert_eq!(peer.connections(), 0);
}

/// Running the same command again does not help.
#[test]
fn journal_of_a_newer_version_is_not_called_safe_to_run_again() {
    let workspace = Workspace::open();
    let folder = workspace.journal().parent().unwrap().to_owned();
    assert_eq!(batch(&workspace, &folder, &[]).code, Some(0));
    let connection = rusqlite::Connection::open(workspace.journal()).unwrap();
    connection.pragma_update(None, "user_version", 1000).unwrap();
    drop(connection);
    let ended = batch(&workspace, &folder, &[]);
    ended.refused("newer");
    assert!(!format!("{}{}", ended.stdout, ended.stderr).contains("safe"), "{ended:?}");
}

/// A file that `touch` or a full disk has left is no journal whose keys were sent.
#[test]
fn command_that_needs_a_journal_creates_none_in_an_empty_file() {
    let workspace = Workspace::open();
    fs::write(workspace.journal(), "").unwrap();
    fs::set_permissions(workspace.journal(), Permissions::from_mode(0o600)).unwrap();
    let commands: [&[&str]; 3] = [
        &["retry", "--status", "401"],
        &["purge", "--older-than", "30d"],
        &["resolve", "k", "--not-processed", "--note", "n", "--by", "ada"],
    ];
    for without_tables in [false, true] {
        if without_tables {
            let connection = rusqlite::Connection::open(workspace.journal()).unwrap();
            connection.execute_batch("CREATE TABLE t (a); DROP TABLE t").unwrap();
        }
        let before = fs::read(workspace.journal()).unwrap();
        for command in commands {
            let ended = workspace.run([&["journal"], command].concat()).end();
            assert_eq!(ended.failed(2)["kind"], "no_journal");
            assert_eq!(fs::read(workspace.journal()).unwrap(), before, "{command:?}");
        }
    }
}

#[test]
fn file_with_an_equals_sign_can_be_named_by_a_path() {
    let workspace = Workspace::open();
    let folder = tempfile::tempdir().unwrap();
    let run = workspace.charging("k", TOKEN_PAYMENT).in_folder(folder.path());
    let ended = run.env("PAYMENTS_JOURNAL", "./a=b.db").end();
    ended.processed();
    assert!(folder.path().join("a=b.db").is_file());
    assert_eq!(announced(&ended), folder.path().join("a=b.db").to_str());
}

/// The place in the announcement of a created journal.
fn announced(ended: &Ended) -> Option<&str> {
    let line = ended.stderr.lines().find_map(|line| line.strip_prefix(CREATED))?;
    assert!(line.ends_with(
        ": if there was one before, stop now and find it, because a new journal charges every key again"
    ));
    Some(line.split_once(", which ").unwrap().0)
}

fn batch(workspace: &Workspace, folder: &Path, arguments: &[&str]) -> Ended {
    fs::write(workspace.journal().with_file_name("rows.csv"), BATCH).unwrap();
    let rows = workspace.journal().with_file_name("rows.csv");
    let run = workspace.run(["batch", "run", rows.to_str().unwrap()]).in_folder(folder);
    run.env("PAYMENTS_JOURNAL", "billing.db").arguments(arguments.iter()).end()
}

/// As cron in another directory: the second run charges again, and must at least say where its journal is.
#[test]
fn created_journal_is_announced_with_its_whole_path() {
    let workspace = Workspace::open();
    for (number, shape) in ["json", "text"].into_iter().enumerate() {
        let folder = tempfile::tempdir().unwrap();
        let whole = folder.path().join("billing.db");
        let whole = whole.to_str().unwrap();
        let dry = batch(&workspace, folder.path(), &["--output", shape, "--dry-run"]);
        assert_eq!((dry.code, announced(&dry)), (Some(0), None));
        let ended = batch(&workspace, folder.path(), &["--output", shape]);
        assert_eq!((ended.code, announced(&ended)), (Some(0), Some(whole)), "{ended:?}");
        assert_eq!(workspace.requests(), number + 1);
        let again = batch(&workspace, folder.path(), &["--output", shape]);
        assert_eq!((again.code, announced(&again)), (Some(0), None), "{again:?}");
        if shape == "json" {
            assert_eq!(ended.json()["journal_created"], json!(whole));
            assert_eq!(
                (&again.json()["journal_created"], &dry.json()["journal_created"]),
                (&Value::Null, &Value::Null)
            );
        } else {
            has(&ended.stdout, [&format!("\n  this run created the journal {whole}\n")]);
            assert!(!again.stdout.contains("created"), "{again:?}");
        }
    }
    let first = workspace.charge("k");
    assert_eq!(announced(&first), workspace.journal().to_str());
    assert_eq!(announced(&workspace.charge("other")), None);
}

/// A run that stops at once has created it too.
#[test]
fn run_that_charges_nothing_tells_that_it_created_the_journal() {
    let workspace = Workspace::open();
    fs::write(workspace.journal().with_file_name("rows.csv"), BATCH).unwrap();
    let rows = workspace.journal().with_file_name("rows.csv");
    let ended = workspace
        .run(["batch", "run", rows.to_str().unwrap()])
        .env("PAYMENTS_API_KEY", "wrong")
        .end()
        .exits(6);
    assert_eq!(announced(&ended), workspace.journal().to_str());
    assert_eq!(ended.json()["journal_created"], json!(workspace.journal().to_str()));
}

/// SQLite does not find a row whose entry in an index is missing, so the row would be charged again.
#[test]
fn damaged_index_of_the_journal_stops_every_command_that_may_send() {
    for (index, definition) in [
        ("intent_key", "(key) WHERE key <> 'invoice-1'"),
        ("intent_unresolved", "(position) WHERE state = 'sending'"),
        ("intent_processed", "(processed_as) WHERE key <> 'invoice-1'"),
    ] {
        let workspace = Workspace::open();
        let folder = workspace.journal().parent().unwrap().to_owned();
        assert_eq!(batch(&workspace, &folder, &[]).code, Some(0));
        workspace.lose_response("lost");
        let connection = rusqlite::Connection::open(workspace.journal()).unwrap();
        connection
            .execute_batch(&format!(
                "CREATE INDEX other ON intent {definition};
                 PRAGMA writable_schema = ON;
                 UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'other')
                 WHERE name = '{index}';
                 DELETE FROM sqlite_schema WHERE name = 'other';
                 PRAGMA writable_schema = RESET"
            ))
            .unwrap();
        drop(connection);
        let sent = workspace.requests();
        let charge = TOKEN_PAYMENT.replace("45.00", "1.00");
        let run = batch(&workspace, &folder, &[]);
        run.failed(2);
        let charge = workspace.charging("invoice-1", &charge).end();
        charge.failed(5);
        let retry = workspace.run(["journal", "retry", "--status", "401"]).end();
        retry.failed(2);
        for ended in [&run, &charge, &retry] {
            let message = ended.json()["error"]["message"].as_str().unwrap().to_owned();
            has(&message, [index, "A damaged index"]);
            assert!(!format!("{}{}", ended.stdout, ended.stderr).contains("safe"), "{ended:?}");
        }
        let dry = batch(&workspace, &folder, &["--dry-run"]);
        assert_eq!(dry.json()["error"]["message"], run.json()["error"]["message"]);
        for states in [&["--unresolved"][..], &["--state", "unknown"]] {
            let listed = workspace.journal_command(&[&["list"], states].concat()).stdout;
            assert!(listed.contains(r#""key":"lost""#), "{index}: {listed}");
        }
        assert_eq!(workspace.requests(), sent, "{index}");
    }
}
