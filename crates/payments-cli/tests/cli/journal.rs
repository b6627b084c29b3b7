//! `payments journal`: listing, exporting, reopening and purging intents.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::{Duration, UNIX_EPOCH};

use payments_fake::FakeGateway;
use payments_sandbox::Sandbox;

use crate::prelude::*;

const STATES: [&str; 5] = ["paid", "declined", "refused", "lost", "found"];

impl Workspace {
    fn list(&self, options: &str) -> Value {
        let ended = self.journals(format!("list {options}")).quiet(0);
        serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:?}"))
    }

    /// With one intent in each state except sending, which have the keys [`STATES`].
    fn with_every_state() -> Self {
        let workspace = Self::open();
        workspace.charge("paid").processed();
        let declined = declined_payment().replace("45.00", "7.25");
        workspace.charging("declined", &declined).end().failed(4);
        let run = workspace.charging("refused", TOKEN_PAYMENT);
        run.env("PAYMENTS_PROXY", "http://127.0.0.1:1").end().failed(3);
        workspace.lose_responses(["lost", "found"]);
        workspace.journals("resolve found --not-processed --note 'not in the books'").exits(0);
        workspace
    }
}

fn texts<'a>(list: &'a Value, member: &str) -> Vec<&'a str> {
    let list = list.as_array().expect("an array");
    list.iter().map(|intent| intent[member].as_str().expect("a text")).collect()
}

#[test]
fn list_has_every_intent_in_order_or_those_in_some_states() {
    let workspace = Workspace::with_every_state();
    for (options, keys) in [
        ("", &STATES[..]),
        ("--unresolved", &["lost"]),
        ("--state processed,resolved", &["paid", "found"]),
        ("--state sending", &[]),
    ] {
        assert_eq!(texts(&workspace.list(options), "key"), keys, "{options}");
    }
    assert_eq!(workspace.journals("list --state sending").stdout, "[]\n");
    // So a backup of the file after a command has the whole journal.
    assert!(!workspace.journal().with_extension("db-wal").exists());
    let list = workspace.list("");
    assert_eq!(texts(&list, "state"), ["processed", "rejected", "not_processed", "unknown", "resolved"]);
    for intent in list.as_array().unwrap() {
        for member in "key operation amount transaction_id reference created_at changed_at".split(' ') {
            assert!(intent.get(member).is_some(), "{member}: {intent}");
        }
    }
    for time in texts(&list, "begun_at") {
        assert!(time.len() == "2026-11-21T20:31:06.123Z".len() && time.ends_with('Z'), "{time}");
    }
    let ended = workspace.journals("list");
    has(&ended.stdout, ["\"amount\":45.00,"]);
    ended.hides([KEY]);
    let resolution =
        json!({"resolved_as": "not_processed", "resolved_by": "ada", "note": "not in the books"});
    holds(&list[4], &resolution);
}

#[cfg(unix)]
#[test]
fn text_list_is_a_table_with_sums_and_without_tokens() {
    let workspace = Workspace::with_every_state();
    let text = workspace.journals("list --output text").stdout;
    let columns = ["KEY", "STATE", "AMOUNT", "BEGUN AT", "TRANSACTION", "REFERENCE", "ATTEMPT"];
    has(text.lines().next().unwrap(), columns);
    has(&text, ["rejected (", "unknown (", "resolved (not processed)"]);
    assert!(!text.contains("tok_"), "{text}");
    let sums: Vec<_> = text.split("\n\n").nth(1).expect("sums").lines().collect();
    assert_eq!(sums.len(), 5, "{text}");
    for (state, sum) in sums.iter().zip(["45.00", "7.25", "45.00", "45.00", "45.00"]) {
        assert!(state.contains(" 1 intent ") && state.ends_with(&format!(" {sum}")), "{state}");
    }
    assert_eq!(workspace.journals("list --state sending --output text").stdout, "none\n");

    for width in [100, 80, 60, 40] {
        let text = workspace.run("journal list").env("NO_COLOR", "1").on_terminal_of_width(width);
        let header = text.lines().next().unwrap();
        assert!(header.starts_with("KEY") && header.contains("AMOUNT"), "{text}");
        let is_table = |line: &&str| !line.starts_with("the terminal is too narrow");
        let widest = text.lines().filter(is_table).take_while(|line| !line.is_empty()).map(str::len).max();
        assert!(width == 40 || widest <= Some(width.into()), "{text}");
        assert_eq!(header.contains("ATTEMPT"), !text.contains("too narrow for"), "{text}");
    }

    let text = workspace.show_text("lost");
    begins(&text, "UNKNOWN (");
    has(&text, ["key ", "begun at ", "next ", "reconcile by token, amount and time"]);
}

/// A payment is searched by its reference. A column that is empty needs no place, nor one that has the key again.
#[cfg(unix)]
#[test]
fn narrow_list_has_what_a_payment_is_searched_by() {
    let workspace = Workspace::open();
    let unknown = |key: &str, reference: &str| {
        workspace.arm(Fault::response_lost(TOKENS));
        let request = TOKEN_PAYMENT.replace('}', &format!(r#","ReferenceNo":"{reference}"}}"#));
        workspace.charging(key, &request).end().exits(5);
        let text = workspace.run("journal list --unresolved").env("NO_COLOR", "1").on_terminal_of_width(80);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let lines = text.lines().map(str::to_owned);
        (lines.clone().next().unwrap(), lines.filter(|line| line.contains("narrow")).collect::<String>())
    };
    let same = "invoice-2026-11-000123";
    let (header, note) = unknown(same, same);
    assert_eq!(
        header.split_whitespace().collect::<Vec<_>>(),
        ["KEY", "STATE", "AMOUNT", "BEGUN", "AT", "ATTEMPT"]
    );
    assert_eq!(note, "");
    let (header, note) = unknown("invoice-2026-11-000124", "customer 4711, November");
    assert!(header.ends_with("REFERENCE") && !header.contains("BEGUN AT"), "{header}");
    begins(note, "the terminal is too narrow for BEGUN AT, ATTEMPT: see");
}

#[test]
fn list_of_several_pages_is_one_array() {
    let workspace = Workspace::with_charge("first");
    let count = 1100;
    let keys: Vec<_> = (0..count).map(|number| format!("key-{number}")).collect();
    workspace.add_unknowns(&keys, "https://pay.example.com");
    let list = workspace.list("");
    let keys = texts(&list, "key");
    assert_eq!((keys.len(), keys.iter().collect::<BTreeSet<_>>().len()), (count + 1, count + 1));
    has(workspace.journals("list --output text").stdout, ["  1100 intents        49500.00"]);
    let csv = workspace.csv("");
    assert_eq!(csv.lines().count(), count + 2);
    assert_eq!(csv.lines().filter(|line| line.starts_with("key,")).count(), 1);
}

#[test]
fn export_has_everything_in_both_formats() {
    let workspace = Workspace::with_every_state();
    let exported: Vec<Value> =
        workspace.export().lines().map(|line| serde_json::from_str(line).expect("one object")).collect();
    assert_eq!(Value::from(exported.clone()), workspace.list(""));

    let csv = workspace.csv("");
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let names = reader.headers().unwrap().clone();
    let rows: Vec<_> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), exported.len());
    for (row, object) in rows.iter().zip(&exported) {
        for (name, value) in object.as_object().unwrap() {
            let column = names.iter().position(|column| column == name).unwrap_or_else(|| panic!("{name}"));
            let shown = match value {
                Value::Null => String::new(),
                Value::String(text) => text.clone(),
                // A text in CSV.
                Value::Array(events) => {
                    assert_eq!(row[column].split("; ").count(), events.len(), "{}", &row[column]);
                    continue;
                }
                // Exact in CSV, but parsed as a float here.
                Value::Number(_) if name == "amount" => continue,
                other => other.to_string(),
            };
            assert_eq!(&row[column], shown, "{name}");
        }
    }
    has(&csv, [",45.00,", ",7.25,"]);
}

/// Nor do they in an empty file, which `touch` or a full disk has left and which is no journal whose keys were sent.
#[cfg(unix)]
#[test]
fn only_a_command_that_charges_creates_a_journal() {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    let workspace = Workspace::open();
    let reading = ["list", "show k", "export"];
    let changing = [
        "retry --status 401",
        "purge --older-than 30d",
        "resolve k --not-processed --note n",
        "resolve k --processed txn_1",
    ];
    for line in reading.iter().chain(&changing) {
        let error = workspace.journals(line).failed_as(2, "no_journal");
        has(message(&error), ["there is no journal at "]);
        assert!(!workspace.journal().exists(), "{line}");
        payments(format!("journal {line}")).end().refused("give --journal PLACE");
    }
    workspace.write("billing.db", "");
    fs::set_permissions(workspace.journal(), Permissions::from_mode(0o600)).unwrap();
    for without_tables in [false, true] {
        if without_tables {
            let connection = rusqlite::Connection::open(workspace.journal()).unwrap();
            connection.execute_batch("CREATE TABLE t (a); DROP TABLE t").unwrap();
        }
        let before = fs::read(workspace.journal()).unwrap();
        for line in changing {
            workspace.journals(line).failed_as(2, "no_journal");
            assert_eq!(fs::read(workspace.journal()).unwrap(), before, "{line}");
        }
    }
}

#[test]
fn refused_journal_commands_say_nothing_was_changed() {
    let workspace = Workspace::with_every_state();
    for (kind, lines) in [
        (
            "usage",
            "purge | purge --older-than 23h | list --state foo | list --unresolved --state unknown | export --format xml | \
             show 'in voice' | resolve lost | resolve lost --not-processed | \
             resolve lost --not-processed --note n --processed txn_1 | retry | retry --status 401 --dry-run | forget",
        ),
        (
            "no_such_key",
            "show nobody | resolve nobody --not-processed --note n | resolve nobody --processed txn_1 | \
             retry --status 401 --key nobody",
        ),
        ("", "list --journal '' | resolve lost --not-processed --note ' '"),
    ] {
        for line in lines.split(" | ") {
            let error = workspace.journals(line).failed(2);
            assert!(kind.is_empty() || error["kind"] == kind, "{line}: {error}");
            has(message(&error), ["; nothing was changed"]);
            let text = workspace.run(format!("journal {line}")).text();
            begins(&text.stderr, "INVALID, nothing was changed (exit code 2)\n");
            text.hides(["sent"]);
        }
    }
    assert_eq!(texts(&workspace.list(""), "key"), STATES);
    payments("journal list").text().hides(["sent"]);
}

#[test]
fn only_rejections_with_the_status_or_the_key_are_reopened_d44() {
    let workspace = Workspace::with_every_state();
    for key in ["unauthorised-1", "unauthorised-2"] {
        workspace.charging(key, TOKEN_PAYMENT).env("PAYMENTS_API_KEY", "wrong").end().failed(6);
    }
    for line in ["--status 401 --key lost", "--status 401 --key declined", "--key paid", "--key lost"] {
        workspace.journals(format!("retry {line}")).failed_as(2, "not_rejected_so");
    }
    let sent = workspace.requests();
    let text = workspace.journals("retry --status 401 --key unauthorised-1 --output text").stdout;
    begins(text, "reopened 1 intent, 45.00 in total; nothing was sent");
    for (line, count) in
        [("--status 403 --status 401", 1), ("--status 401", 0), ("--key declined --note typo", 1)]
    {
        assert_eq!(workspace.journals(format!("retry {line}")).json()["reopened"]["count"], count, "{line}");
    }
    assert_eq!(workspace.requests(), sent);
    let states = texts(&workspace.list(""), "state").join(" ");
    let expected = "processed not_processed not_processed unknown resolved not_processed not_processed";
    assert_eq!(states, expected);
}

/// The lines of the history in a text, without their times.
pub(crate) fn story(text: &str) -> Vec<&str> {
    let lines = text.lines().filter_map(|line| line.trim_start().strip_prefix("history"));
    lines.map(|line| line.trim_start().split_once(' ').expect("a time").1).collect()
}

/// The names of documents are for programs.
#[test]
fn text_has_words_instead_of_names() {
    let workspace = Workspace::open();
    workspace.charging("k", TOKEN_PAYMENT).env("PAYMENTS_API_KEY", "wrong").end().failed(6);
    workspace.journals("retry --key k --by ada").exits(0);
    let text = workspace.show_text("k");
    begins(&text, "NOT PROCESSED (REOPENED BY NAME)\n");
    has(&text, ["token id ", "convenience fee  no\n", "kind             reopened by name\n"]);
    let named = text.replace("tok_approved", "");
    assert!(!named.contains('_'), "{text}");
    workspace.token("tok_declined", "declined", "10.50").failed(4);
    let list = workspace.journals("list --output text").stdout;
    has(&list, ["not processed (reopened by name)", "\nnot processed  ", "rejected (declined)"]);
    has(workspace.journals("summary --output text").stdout, ["not processed  "]);
}

#[test]
fn show_tells_what_has_happened_and_who_did_what_d48() {
    let workspace = Workspace::open();
    workspace.charging("k", TOKEN_PAYMENT).env("PAYMENTS_API_KEY", "wrong").end().failed(6);
    workspace.journals("retry --key k --by ada --note 'the key was replaced'").exits(0);
    let id = workspace.lose_response("k");
    workspace.journals("resolve k --by bob --not-processed --note 'in no report' --attempt 2").exits(0);
    let found = format!("--processed {id} --note 'on the statement' --replace not-processed --attempt 2");
    workspace.journals(format!("resolve k --by ada {found}")).exits(0);

    let text = workspace.show_text("k");
    let found = format!("ada: attempt 2 processed as {id} instead of not processed: on the statement");
    let expected = [
        "attempt 1 began: token-transaction of 45.00 by token tok_approved",
        "attempt 1 ended: rejected (HTTP 401 unauthorized): Unauthorized: Invalid API Key",
        "ada: may be sent again: the key was replaced",
        "attempt 2 began: token-transaction of 45.00 by token tok_approved",
        "attempt 2 ended: unknown (closed)",
        "bob: attempt 2 not processed: in no report",
        &found,
    ];
    assert_eq!(story(&text), expected, "{text}");
    let history = workspace.shown("k", "history");
    let events = texts(&history, "event");
    assert_eq!(events, ["begun", "ended", "reopened", "begun", "ended", "resolved", "resolved"]);
    holds(&history[3], &json!({"attempt": 2, "amount": 45.0, "token_id": "tok_approved"}));
    holds(&history[4], &json!({"outcome": "unknown"}));
    holds(&history[6], &json!({"instead_of": "not processed"}));
    // Both exports have it.
    assert_eq!(workspace.journals("export").json()["history"], history);
    let csv = workspace.csv("");
    assert!(csv.lines().next().is_some_and(|names| names.ends_with(",history,verdict")), "{csv}");
    has(&csv, expected);
}

#[test]
fn verbose_names_the_journal_and_its_source() {
    let workspace = Workspace::with_every_state();
    let journal = workspace.path("billing.db");
    for line in ["list", "show lost", "retry --status 401", "purge --older-than 30d"] {
        let silent = workspace.journals(line);
        let run = || workspace.run(format!("--verbose journal {line}"));
        for (run, source) in [(run(), "PAYMENTS_JOURNAL"), (run().with(["--journal", &journal]), "--journal")]
        {
            let ended = run.end().exits(0);
            assert_eq!(ended.stderr, format!("payments: journal {journal} ({source})\n"));
            assert_eq!(ended.stdout.len(), silent.stdout.len());
        }
    }
}

#[test]
fn purge_reports_how_many_and_the_newest_removed_time_d45() {
    let workspace = Workspace::with_every_state();
    let purge = |line: &str| workspace.journals(format!("purge --older-than {line}"));
    let age = |key: &str, days: u32| {
        let journal = rusqlite::Connection::open(workspace.journal()).unwrap();
        let sql =
            "UPDATE intent SET stored_at = stored_at - ?2 * 86400000 WHERE key = ?1 RETURNING stored_at";
        journal.query_row(sql, (key, days), |row| row.get::<_, i64>(0)).unwrap().unsigned_abs()
    };
    // The output repeats the age as the user wrote it.
    for age in ["24h", "400d", "'1year 5days'"] {
        let text = purge(&format!("{age} --output text"));
        let age = age.trim_matches('\'');
        assert_eq!(text.stdout, format!("purged 0 intents that ended more than {age} ago\n"));
        has(&text.stderr, ["new again"]);
    }
    age("paid", 40);
    let newest = UNIX_EPOCH + Duration::from_millis(age("refused", 35));
    let nothing = purge("50d").json();
    assert_eq!((&nothing["purged"], &nothing["newest_purged_at"]), (&json!(0), &Value::Null));
    has(nothing["warning"].as_str().unwrap(), ["new again"]);
    let newest = humantime::format_rfc3339_millis(newest).to_string();
    holds(&purge("30d").json(), &json!({"purged": 2, "newest_purged_at": newest}));

    age("found", 60);
    let text = purge("45d --output text").stdout;
    begins(&text, "purged 1 intent that ended more than 45d ago\nthe newest of them last changed at 2");
    assert_eq!(texts(&workspace.list(""), "key"), ["declined", "lost"]);
}

#[cfg(unix)]
#[test]
fn reading_commands_end_quietly_when_the_pipe_is_closed() {
    let workspace = Workspace::with_every_state();
    for line in ["list", "list --output text", "show paid", "export", "export --format csv"] {
        let run = || workspace.run(format!("journal {line}"));
        run().end_unread().quiet(1);
        // A disk that is full is not a reader that has seen enough.
        let ended = run().end_on_full_disk().exits(1);
        has(&ended.stderr, ["could not be written to stdout"]);
    }
    // What it changed is said.
    let ended = workspace.run("journal purge --older-than 30d").end_unread();
    has(ended.stderr, ["could not be written to stdout", "purged 0 intents that ended more than 30d ago"]);
}

#[test]
fn control_characters_of_a_reference_are_escaped() {
    let workspace = Workspace::open();
    let request = TOKEN_PAYMENT.replace('}', ",\"ReferenceNo\":\"\\u001b[2J\\u202epaid\"}");
    workspace.charging("k", &request).end().processed();
    for line in ["list", "list --output text", "show k --output text", "export --format csv"] {
        let ended = workspace.journals(line);
        ended.hides(["\u{1b}", "\u{202e}"]);
        has(&ended.stdout, ["paid"]);
    }
}

/// A sandbox that starts again with the same seed simulates a service that returns an id twice.
#[test]
fn duplicate_transaction_id_is_reported_with_both_keys() {
    let workspace = Workspace::open();
    let mut address = SocketAddr::from(([127, 0, 0, 1], 0));
    let [first, second] = ["one", "two"].map(|key| {
        let service = Sandbox::builder()
            .fresh_gateway(FakeGateway::builder().api_key(KEY).seed(7))
            .listen(address)
            .start_blocking()
            .unwrap();
        address = service.base_url().split('/').nth(2).unwrap().parse().unwrap();
        let run = payments_at(service.base_url(), CHARGE).with(["--key", key]).stdin(TOKEN_PAYMENT);
        run.env("PAYMENTS_JOURNAL", &workspace.path("billing.db")).end()
    });
    assert_eq!(first.paid_id(), second.paid_id());
    assert_eq!(first.json().get("same_transaction_as"), None);
    assert_eq!(second.json()["same_transaction_as"], "one");
    has(&second.stderr, ["the same transaction for another key: one; both are recorded"]);
}

#[test]
fn accounting_reads_one_column_d48() {
    let workspace = Workspace::with_every_state();
    let sale = authorization().replace(r#""TransactionType":"2""#, r#""TransactionType":"1""#);
    workspace.creating("sold").stdin(sale).end().processed();
    workspace.creating("authorized").stdin(authorization()).end().processed();
    let other = workspace.creating("voided-later").stdin(authorization()).end().paid_id();
    workspace.does(format!("void {other} --key voided")).processed();
    let paid = workspace.column("paid");
    let rows: Vec<_> = workspace.column("key").into_iter().zip(paid).collect();
    let expected = [
        ("paid", "yes"),
        ("declined", "no"),
        ("refused", "no"),
        ("lost", "unknown"),
        ("found", "no"),
        ("sold", "yes"),
        ("authorized", "authorized"),
        ("voided-later", "authorized"),
        ("voided", ""),
    ];
    assert_eq!(rows, expected.map(|(key, paid)| (key.to_owned(), paid.to_owned())));
}
