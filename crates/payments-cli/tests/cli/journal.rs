//! `payments journal`: listing, exporting, resolving, reopening and purging intents.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::StatusCode;
use payments_core::OperationName;
use payments_fake::Fault;
use payments_journal::internals::{Begin, Change, Ending, IntentStore as _};
use payments_journal::{AttemptId, Failure, IntentKey, SqliteStore};
use payments_model::TransactionId;
use payments_sandbox::Sandbox;
use serde_json::{Value, json};

use crate::journaled_charges::Workspace;
use crate::support::{
    CARD_PAYMENT, Ended, KEY, Peer, Run, TOKEN_PAYMENT, authorization, begins, broken_pipe, declined_payment,
    has, holds, message, payments, payments_at, responses,
};

impl Workspace {
    pub(crate) fn journal_command(&self, arguments: &[&str]) -> Ended {
        self.run(["journal"]).arguments(arguments.iter()).end()
    }

    fn list(&self, arguments: &[&str]) -> Value {
        let ended = self.journal_command(&[&["list"], arguments].concat()).quiet(0);
        serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:?}"))
    }

    /// With one intent in each state except sending.
    fn with_every_state() -> Self {
        let workspace = Self::open();
        workspace.charge("paid").processed();
        let declined = declined_payment().replace("45.00", "7.25");
        workspace.charging("declined", &declined).end().failed(4);
        let run = workspace.charging("refused", TOKEN_PAYMENT);
        run.env("PAYMENTS_PROXY", "http://127.0.0.1:1").end().failed(3);
        workspace.lose_response("lost");
        workspace.lose_response("found");
        workspace
            .journal_command(&["resolve", "found", "--not-processed", "--note", "not in the books"])
            .exits(0);
        workspace
    }

    /// An intent of unknown outcome at this service, as a killed process leaves it.
    pub(crate) fn add_unknown(&self, key: &str, base_url: &str) {
        let payment =
            payments_model::TokenTransaction::from_json(TOKEN_PAYMENT.as_bytes()).expect("it is valid");
        let store = SqliteStore::open(self.journal()).expect("it opens");
        apply_unknown(&store, &payment, key, base_url);
        payments_fake::block_on(store.close());
    }

    pub(crate) fn last_id(&self) -> String {
        let ledger = self.sandbox.gateway().ledger();
        ledger.entries().last().expect("something was charged").transaction_id().to_string()
    }
}

fn apply_unknown(store: &SqliteStore, payment: &payments_model::TokenTransaction, key: &str, service: &str) {
    let key = IntentKey::new(key).expect("it is valid");
    let (attempt, owner, now) = (AttemptId::new(), store.owner().clone(), SystemTime::now());
    let begin =
        Change::begin(Begin::First, key.clone(), service, payment.into(), attempt.clone(), owner, now);
    let lost = Ending::Unknown(Failure::of_kind("timeout"));
    for change in [begin, Change::end(key, attempt, lost, now)] {
        payments_fake::block_on(store.apply(change)).expect("it is written");
    }
}

const STATES: [&str; 5] = ["paid", "declined", "refused", "lost", "found"];

fn keys(list: &Value) -> Vec<&str> {
    list.as_array().expect("an array").iter().map(|intent| intent["key"].as_str().expect("a key")).collect()
}

#[test]
fn list_has_every_intent_in_order_or_those_in_some_states() {
    let workspace = Workspace::with_every_state();
    assert_eq!(keys(&workspace.list(&[])), STATES);
    assert_eq!(keys(&workspace.list(&["--unresolved"])), ["lost"]);
    assert_eq!(keys(&workspace.list(&["--state", "processed,resolved"])), ["paid", "found"]);
    assert_eq!(keys(&workspace.list(&["--state", "sending"])), [""; 0]);
    assert_eq!(workspace.journal_command(&["list", "--state", "sending"]).stdout, "[]\n");

    let list = workspace.list(&[]);
    for intent in list.as_array().unwrap() {
        for member in
            "key state operation amount transaction_id reference created_at begun_at changed_at".split(' ')
        {
            assert!(intent.get(member).is_some(), "{member}: {intent}");
        }
        let time = intent["begun_at"].as_str().unwrap();
        assert!(time.len() == "2026-11-21T20:31:06.123Z".len() && time.ends_with('Z'), "{time}");
    }
    let states: Vec<_> = list.as_array().unwrap().iter().map(|it| it["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["processed", "rejected", "not_processed", "unknown", "resolved"]);
    let ended = workspace.journal_command(&["list"]);
    assert!(ended.stdout.contains("\"amount\":45.00,"), "exact amounts: {}", ended.stdout);
    assert!(!ended.stdout.contains(KEY));
    let resolved = &list[4];
    holds(
        resolved,
        &json!({"resolved_as": "not_processed", "resolved_by": "ada", "note": "not in the books"}),
    );
    for arguments in [&["list", "--unresolved", "--state", "unknown"][..], &["list", "--state", "lost"]] {
        workspace.journal_command(arguments).failed(2);
    }
}

#[test]
fn text_list_is_a_table_with_sums_and_without_tokens() {
    let workspace = Workspace::with_every_state();
    let text = workspace.journal_command(&["list", "--output", "text"]).stdout;
    let first = text.lines().next().unwrap();
    for column in ["KEY", "STATE", "AMOUNT", "BEGUN AT", "ATTEMPT", "TRANSACTION", "REFERENCE"] {
        assert!(first.contains(column), "{text}");
    }
    has(&text, ["rejected (", "unknown (", "resolved (not processed)"]);
    assert!(!text.contains("tok_"), "{text}");
    let sums: Vec<_> = text.split("\n\n").nth(1).expect("sums").lines().collect();
    assert_eq!(sums.len(), 5, "{text}");
    for (state, sum) in sums.iter().zip(["45.00", "7.25", "45.00", "45.00", "45.00"]) {
        assert!(state.contains(" 1 intent ") && state.ends_with(&format!(" {sum}")), "{state}");
    }
    let text = workspace.journal_command(&["list", "--state", "sending", "--output", "text"]).stdout;
    assert_eq!(text, "none\n");

    for width in [100, 80, 60, 40] {
        let text = workspace.run(["journal", "list"]).env("NO_COLOR", "1").on_terminal_of_width(width);
        let header = text.lines().next().unwrap();
        assert!(header.starts_with("KEY") && header.contains("AMOUNT"), "{text}");
        let is_table = |line: &&str| !line.starts_with("the terminal is too narrow");
        let widest = text.lines().filter(is_table).take_while(|line| !line.is_empty()).map(str::len).max();
        assert!(width == 40 || widest <= Some(width.into()), "{text}");
        assert_eq!(header.contains("TRANSACTION"), !text.contains("too narrow for"), "{text}");
    }

    let text = workspace.journal_command(&["show", "lost", "--output", "text"]).stdout;
    begins(&text, "UNKNOWN (");
    has(&text, ["key ", "begun_at ", "next ", "reconcile by token, amount and time"]);
}

#[test]
fn list_of_several_pages_is_one_array() {
    let workspace = Workspace::open();
    workspace.charge("first").processed();
    let payment = payments_model::TokenTransaction::from_json(TOKEN_PAYMENT.as_bytes()).unwrap();
    let store = SqliteStore::open(workspace.journal()).unwrap();
    let count = 1100;
    let numbers: Vec<_> = (0..count).collect();
    // Many threads, because a store commits changes together that wait together.
    thread::scope(|scope| {
        for numbers in numbers.chunks(count / 50) {
            let (store, payment) = (&store, &payment);
            scope.spawn(move || {
                for number in numbers {
                    apply_unknown(store, payment, &format!("key-{number}"), "https://pay.example.com");
                }
            });
        }
    });
    drop(store);
    let list = workspace.list(&[]);
    let keys: BTreeSet<_> = keys(&list).into_iter().collect();
    assert_eq!((keys.len(), list.as_array().unwrap().len()), (count + 1, count + 1));
    let text = workspace.journal_command(&["list", "--output", "text"]).stdout;
    assert!(text.contains("  1100 intents        49500.00"), "{}", &text[text.len() - 300..]);
    let csv = workspace.csv(&[]);
    assert_eq!(csv.lines().count(), count + 2);
    assert_eq!(csv.lines().filter(|line| line.starts_with("key,")).count(), 1);
}

#[test]
fn export_has_everything_in_both_formats() {
    let workspace = Workspace::with_every_state();
    let lines = workspace.journal_command(&["export"]).exits(0);
    let exported: Vec<Value> =
        lines.stdout.lines().map(|line| serde_json::from_str(line).expect("one object")).collect();
    assert_eq!(Value::from(exported.clone()), workspace.list(&[]));

    let csv = workspace.csv(&[]);
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
    workspace.journal_command(&["export", "--format", "xml"]).refused("jsonl, csv");
}

#[test]
fn reading_commands_do_not_create_a_journal() {
    let workspace = Workspace::open();
    for arguments in [
        &["list"][..],
        &["show", "k"],
        &["export"],
        &["retry", "--status", "401"],
        &["purge", "--older-than", "30d"],
        &["resolve", "k", "--not-processed", "--note", "n"],
        &["resolve", "k", "--processed", "txn_1"],
    ] {
        let error = workspace.journal_command(arguments).failed(2);
        assert_eq!(error["kind"], "no_journal", "{arguments:?}: {error}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("there is no journal at "), "{message}");
        assert!(!workspace.journal().exists(), "{arguments:?}");
        payments(["journal"]).arguments(arguments.iter()).end().refused("give --journal PLACE");
    }
}

#[test]
fn local_commands_refuse_service_settings() {
    for arguments in [&["list"][..], &["show", "k"], &["export"], &["retry", "--status", "401"]] {
        let run = payments(["journal"]).arguments(arguments.iter());
        run.arguments(["--proxy", "http://127.0.0.1:1"]).end().refused("takes no --proxy");
    }
}

#[test]
fn refused_journal_commands_say_nothing_was_changed() {
    let workspace = Workspace::with_every_state();
    let nowhere = ["list", "--journal", ""];
    for arguments in [
        &["purge"][..],
        &["purge", "--older-than", "1h"],
        &["list", "--state", "foo"],
        &["show", "in voice"],
        &["resolve", "lost", "--not-processed"],
        &["resolve", "lost", "--not-processed", "--note", " "],
        &["retry", "--status", "401", "--dry-run"],
        &["forget"],
        &nowhere,
    ] {
        let run = || workspace.run(["journal"]).arguments(arguments.iter());
        let message = run().end().failed(2)["message"].as_str().unwrap().to_owned();
        assert!(message.contains("; nothing was changed") && !message.contains("sent"), "{message}");
        let text = run().text().stderr;
        begins(&text, "INVALID, nothing was changed (exit code 2)\n");
    }
    let unnamed = payments(["journal", "list", "--output", "text"]).end().stderr;
    assert!(unnamed.contains("no journal is named; nothing was changed") && !unnamed.contains("sent"));
}

#[test]
fn unused_key_is_not_found() {
    let workspace = Workspace::with_every_state();
    for arguments in [
        &["show", "nobody"][..],
        &["resolve", "nobody", "--not-processed", "--note", "n"],
        &["resolve", "nobody", "--processed", "txn_1"],
        &["retry", "--status", "401", "--key", "nobody"],
    ] {
        assert_eq!(workspace.journal_command(arguments).failed(2)["kind"], "no_such_key");
    }
}

#[test]
fn resolving_as_processed_needs_a_matching_lookup() {
    let workspace = Workspace::open();
    workspace.lose_response("lost");
    let id = workspace.last_id();
    let other = workspace.charging("other", &TOKEN_PAYMENT.replace("45.00", "46.00")).end().processed();
    let (other, resolve) = (other["TransactionId"].as_str().unwrap(), |id: &str| {
        workspace.journal_command(&["resolve", "lost", "--processed", id, "--by", "Grace", "--note", "found"])
    });

    let error = resolve(other).failed(2);
    assert_eq!(error["kind"], "contradicted", "{error}");
    let message = error["message"].as_str().unwrap();
    has(message, ["46.00", "45.00", "nothing was changed"]);
    resolve("txn_of_nobody").fails(7, "nothing was changed");
    let run = workspace.run(["journal", "resolve", "lost", "--processed", &id]);
    run.env("PAYMENTS_API_KEY", "wrong").end().failed(6);
    let peer = Peer::responding("200 OK", &responses::TRANSACTION_FOUND.replace("10.50", "45.00"));
    workspace.add_unknown("at-the-peer", &peer.base_url);
    let error = workspace
        .run(["journal", "resolve", "at-the-peer", "--processed", &id])
        .env("PAYMENTS_BASE_URL", &peer.base_url);
    error.end().refused("its record is of another transaction");
    assert_eq!(workspace.show("lost")["state"], "unknown");

    let resolved = resolve(&id).exits(0);
    let shown = workspace.show("lost");
    let mut document = resolved.json();
    document.as_object_mut().unwrap().remove("record").expect("what was looked up");
    assert_eq!(document, shown);
    holds(
        &shown,
        &json!({"state": "resolved", "resolved_as": "processed", "resolved_by": "Grace", "transaction_id": id}),
    );
    let again = workspace.charge("lost").json();
    assert_eq!((&again["outcome"], &again["recorded"]), (&"processed".into(), &true.into()));
    assert_eq!(again["data"]["TransactionId"], id);

    // A transaction belongs to one intent only.
    workspace.lose_response("lost-too");
    workspace
        .journal_command(&["resolve", "lost-too", "--processed", &id])
        .refused("already belongs to lost");
}

#[test]
fn resolving_as_processed_shows_the_record() {
    let workspace = Workspace::open();
    // Another invoice's payment of the same amount, unknown to this journal, so nothing contradicts it.
    let other = workspace.charge("other").paid_id();
    let looked_up = workspace.run(["transaction", "get", &other]).end().json()["data"].clone();
    workspace.remove_journal();
    workspace.lose_response("lost");
    let resolve =
        |shape| workspace.journal_command(&["resolve", "lost", "--processed", &other, "--output", shape]);
    let resolved = resolve("json").json();
    assert_eq!((&resolved["key"], &resolved["record"]), (&"lost".into(), &looked_up), "{resolved}");
    assert!(looked_up["Status"].is_string(), "{looked_up}");

    let text = resolve("text");
    let (intent, record) = text.stdout.split_once("\n\nFOUND\n").unwrap_or_else(|| panic!("{text:?}"));
    begins(intent, "RESOLVED (PROCESSED)\n");
    assert!(
        record.starts_with("  a record is not proof of a charge: the meaning of Status is not published\n")
    );
    has(record, ["Status ", "CardNumber ", "Amount ", &other, "resolve the key again"]);
}

#[test]
fn key_resolved_as_not_processed_is_sent_again() {
    let workspace = Workspace::open();
    workspace.lose_response("lost");
    workspace.journal_command(&["resolve", "lost", "--not-processed"]).failed(2);
    workspace.journal_command(&["resolve", "lost", "--not-processed", "--note", " "]).failed(2);
    workspace.journal_command(&["resolve", "lost"]).failed(2);
    let both = ["resolve", "lost", "--not-processed", "--note", "n", "--processed", "txn_1"];
    workspace.journal_command(&both).failed(2);
    assert_eq!(workspace.show("lost")["state"], "unknown");

    let resolve = ["resolve", "lost", "--not-processed", "--note", "the books say so"];
    let without_user = workspace.run(["journal"]).arguments(resolve);
    let without_user =
        ["USER", "LOGNAME", "USERNAME"].iter().fold(without_user, |run, name| run.env(name, ""));
    without_user.end().refused("--by NAME");

    let resolved = workspace.run(["journal"]).arguments(resolve).text();
    begins(&resolved.stdout, "RESOLVED (NOT PROCESSED)\n");
    assert!(resolved.stdout.contains("the key may be sent again"), "{resolved:?}");
    assert!(resolved.stderr.contains("WARNING: it was sent less than 24 hours ago"), "{resolved:?}");
    workspace.charge("lost").processed();
    assert_eq!(workspace.requests(), 2);
    assert_eq!(workspace.journal_command(&resolve).failed(2)["kind"], "not_unknown");
}

#[test]
fn note_keeps_no_card_number_and_no_api_key() {
    let workspace = Workspace::open();
    workspace.lose_response("lost");
    let note = format!("the card was 4111 1111 1111 1111, I think, and {KEY}");
    let replaced = ["--processed", &workspace.last_id(), "--replace", "not-processed"];
    for resolution in [&["--not-processed"][..], &replaced] {
        let resolve = ["resolve", "lost", "--note", &note, "--by", KEY];
        let resolved = workspace.journal_command(&[&resolve, resolution].concat()).exits(0);
        let digits: String = resolved.stdout.chars().filter(char::is_ascii_digit).collect();
        assert!(!digits.contains("4111111111111111"), "{}", resolved.stdout);
        assert!(!resolved.stdout.contains(KEY), "{}", resolved.stdout);
    }
}

/// A setting that is missing or wrong must not keep the key from being masked.
#[cfg(unix)]
#[test]
#[allow(clippy::too_many_lines, reason = "a table")]
fn api_key_in_a_persons_text_is_masked_in_every_state_of_the_settings() {
    type Change<'a> = Box<dyn Fn(Run) -> Run + 'a>;

    let workspace = Workspace::open();
    let other = tempfile::tempdir().expect("a temporary folder");
    let file_of_mode = |name: &str, content: &str, mode: u32| {
        use std::os::unix::fs::PermissionsExt;

        let path = other.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("it is writable");
        std::fs::write(&path, content).expect("it is writable");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).expect("the test owns it");
        path.to_str().expect("a plain path").to_owned()
    };
    let file = |name: &str, content: &str| file_of_mode(name, content, 0o600);
    let (with_key, with_another) = (file("key", KEY), file("another", "sk_of_somebody_else"));
    let writable = file_of_mode("writable.key", &format!("{KEY}\n"), 0o666);
    let changes: [(&str, Change<'_>); 11] = [
        ("without a base URL", Box::new(|run| run)),
        ("invalid base URL", Box::new(|run| run.env("PAYMENTS_BASE_URL", "ftp://x"))),
        ("missing authority", Box::new(|run| run.arguments(["--ca-cert", "/nowhere"]))),
        ("invalid proxy", Box::new(|run| run.env("PAYMENTS_PROXY", "x"))),
        (
            "proxy on another machine",
            Box::new(|run| run.env("PAYMENTS_BASE_URL", "http://[::1]").env("PAYMENTS_PROXY", "http://x:1")),
        ),
        ("missing key file", Box::new(|run| run.arguments(["--api-key-file", "/nowhere"]))),
        ("another key is used", Box::new(|run| run.arguments(["--api-key-file", &with_another]))),
        ("invalid key", Box::new(|run| run.env("PAYMENTS_API_KEY", &format!(" {KEY}\n")))),
        (
            "key in a file",
            Box::new(|run| run.env("PAYMENTS_API_KEY", "").env("PAYMENTS_API_KEY_FILE", &with_key)),
        ),
        (
            "key in a file that others can write to",
            Box::new(|run| run.env("PAYMENTS_API_KEY", "").env("PAYMENTS_API_KEY_FILE", &writable)),
        ),
        (
            "overridden file",
            Box::new(|run| {
                run.env("PAYMENTS_API_KEY", "sk_of_somebody_else").env("PAYMENTS_API_KEY_FILE", &with_key)
            }),
        ),
    ];
    for (number, (state, change)) in changes.iter().enumerate() {
        let run = |arguments: &[&str]| {
            let run = workspace.run(["journal"]).arguments(arguments.iter());
            change(run.env("PAYMENTS_BASE_URL", "")).env("USER", KEY).end()
        };
        let (one, two) = (format!("one-{number}"), format!("two-{number}"));
        workspace.lose_response(&one);
        workspace.lose_response(&two);
        let text = format!("not with {KEY}, I think");
        let found =
            file("found.csv", &format!("Key,TransactionId,Note,Verdict\n{two},,\"{text}\",not processed\n"));
        for ended in [
            run(&["resolve", &one, "--not-processed", "--note", &text, "--by", &text]),
            run(&["resolve", "--from", &found]),
        ] {
            assert_eq!(ended.code, Some(0), "{state}: {ended:?}");
            assert!(ended.stdout.contains("[redacted], I think"), "{state}: {ended:?}");
            assert!(!format!("{ended:?}").contains(KEY), "{state}: {ended:?}");
        }
        let ended = run(&["resolve", KEY, "--not-processed", "--note", &text]);
        assert_eq!(ended.failed(2)["kind"], "no_such_key");
        assert!(!format!("{ended:?}").contains(KEY), "{state}: {ended:?}");
        workspace.assert_not_stored(KEY);
    }
    for arguments in [&["show", KEY][..], &["retry", "--status", "401", "--key", KEY]] {
        let ended = workspace.journal_command(arguments);
        assert_eq!(ended.failed(2)["kind"], "no_such_key");
        assert!(!format!("{ended:?}").contains(KEY), "{ended:?}");
    }
}

#[test]
fn unknown_void_is_resolved_with_the_transaction_it_voids() {
    use payments_core::OperationName;
    use payments_fake::Fault;

    let workspace = Workspace::open();
    let authorised = workspace.creating("auth").stdin(authorization()).end();
    let id = authorised.paid_id();
    workspace.arm(Fault::response_lost(OperationName::Void));
    let error = workspace.run(["void", &id, "--key", "void"]).end().failed(5);
    assert_eq!(error["transaction_id"], *id);
    let resolved = workspace.journal_command(&["resolve", "void", "--processed", &id]);
    assert_eq!(resolved.code, Some(0), "the payment's id counts as another charge's: {resolved:?}");
    workspace.sandbox.gateway().ledger().assert_voided(&TransactionId::new(&*id).unwrap());
}

#[test]
fn only_rejections_with_the_status_are_reopened() {
    let workspace = Workspace::with_every_state();
    for key in ["unauthorised-1", "unauthorised-2"] {
        let run = workspace.charging(key, TOKEN_PAYMENT).env("PAYMENTS_API_KEY", "wrong");
        run.end().failed(6);
    }
    workspace.journal_command(&["retry"]).failed(2);
    assert_eq!(
        workspace.journal_command(&["retry", "--status", "401", "--key", "lost"]).failed(2)["kind"],
        "not_rejected_so"
    );

    let sent = workspace.requests();
    let text = ["retry", "--status", "401", "--key", "unauthorised-1", "--output", "text"];
    assert!(
        workspace
            .journal_command(&text)
            .stdout
            .starts_with("reopened 1 intent, 45.00 in total; nothing was sent")
    );
    let all = workspace.journal_command(&["retry", "--status", "403", "--status", "401"]);
    assert_eq!(all.json(), json!({"reopened": {"count": 1, "sum": 45.0}}));
    assert_eq!(workspace.journal_command(&["retry", "--status", "401"]).json()["reopened"]["count"], 0);
    assert_eq!(workspace.requests(), sent);
    let states: Vec<_> = STATES.map(|key| workspace.show(key)["state"].as_str().unwrap().to_owned()).into();
    assert_eq!(states, ["processed", "rejected", "not_processed", "unknown", "resolved"]);
    assert_eq!(workspace.show("unauthorised-2")["state"], "not_processed");
}

/// The lines of the history in a text, without their times.
fn story(text: &str) -> Vec<&str> {
    let lines = text.lines().filter_map(|line| line.trim_start().strip_prefix("history"));
    lines.map(|line| line.trim_start().split_once(' ').expect("a time").1).collect()
}

#[test]
fn show_tells_what_has_happened_and_who_did_what_d48() {
    let workspace = Workspace::open();
    workspace.charging("k", TOKEN_PAYMENT).env("PAYMENTS_API_KEY", "wrong").end().failed(6);
    let retry = ["retry", "--key", "k", "--by", "ada", "--note", "the key was replaced"];
    assert_eq!(workspace.journal_command(&retry).code, Some(0));
    workspace.lose_response("k");
    let id = workspace.last_id();
    let not_processed = ["--not-processed", "--note", "in no report", "--attempt", "2"];
    assert_eq!(workspace.resolve("bob", &not_processed).code, Some(0));
    let found =
        ["--processed", &id, "--note", "on the statement", "--replace", "not-processed", "--attempt", "2"];
    assert_eq!(workspace.resolve("ada", &found).code, Some(0));

    let text = workspace.journal_command(&["show", "k", "--output", "text"]).stdout;
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
    let shown = workspace.show("k");
    let events: Vec<_> = shown["history"].as_array().unwrap().iter().map(|it| &it["event"]).collect();
    assert_eq!(events, ["begun", "ended", "reopened", "begun", "ended", "resolved", "resolved"]);
    let begun = &shown["history"][3];
    holds(begun, &json!({"attempt": 2, "amount": 45.0, "token_id": "tok_approved"}));
    assert_eq!(
        (&shown["history"][4]["outcome"], &shown["history"][6]["instead_of"]),
        (&json!("unknown"), &json!("not processed"))
    );
    // Both exports have it.
    let exported = workspace.journal_command(&["export"]).json();
    assert_eq!(exported["history"], shown["history"]);
    let csv = workspace.csv(&[]);
    assert!(csv.lines().next().is_some_and(|names| names.ends_with(",history,verdict")), "{csv}");
    let is_in = |line: &&&str| csv.contains(**line);
    assert_eq!(expected.iter().filter(is_in).count(), expected.len(), "{csv}");
}

#[test]
fn api_key_is_in_no_name_or_note_that_the_journal_keeps() {
    let workspace = Workspace::open();
    for key in ["a", "b"] {
        workspace.charging(key, TOKEN_PAYMENT).env("PAYMENTS_API_KEY", "wrong").end().failed(6);
    }
    let named = workspace.journal().with_file_name("sent.csv");
    std::fs::write(&named, "Key\nb\nc\n").expect("it is writable");
    let service = workspace.show("a")["service"].as_str().unwrap().to_owned();
    let (by, named) = (format!("ada {KEY}"), named.to_str().unwrap());
    let new = "https://new.example.com";
    for arguments in [
        &["retry", "--status", "401", "--by", &by, "--note", &by][..],
        &["retry", "--key", "a", "--by", &by, "--note", &by],
        &["accept-history", "--sent", named, "--by", &by],
        &["resolve", "b", "--not-processed", "--note", &by, "--by", &by],
        &["rename-service", &service, new, "--count", "2", "--by", &by],
        &["forget-service", new, "--count", "2", "--by", &by],
    ] {
        let ended = workspace.journal_command(arguments);
        assert_eq!(ended.code, Some(0), "{arguments:?}: {ended:?}");
        assert!(!format!("{ended:?}").contains(KEY), "{ended:?}");
        let export = workspace.journal_command(&["export"]).stdout;
        assert!(!export.contains(KEY), "{arguments:?}: {export}");
        workspace.assert_not_stored(KEY);
    }
}

#[test]
fn verbose_names_the_journal_and_its_source() {
    let workspace = Workspace::with_every_state();
    let (journal, from_an_option) = (workspace.journal(), workspace.journal().with_file_name("billing.db"));
    let journal = journal.display();
    let by_option = ["--journal", from_an_option.to_str().unwrap()];
    for arguments in [
        &["list"][..],
        &["show", "lost"],
        &["export"],
        &["resolve", "lost", "--not-processed", "--note", "n"],
        &["retry", "--status", "401"],
        &["purge", "--older-than", "30d"],
    ] {
        let run = || workspace.run(["--verbose", "journal"]).arguments(arguments.iter());
        let silent = workspace.journal_command(arguments);
        for (ended, source) in [(run(), "PAYMENTS_JOURNAL"), (run().arguments(by_option), "--journal")]
            .map(|(run, source)| (run.end(), source))
        {
            assert_eq!(ended.code, Some(0), "{ended:?}");
            assert_eq!(ended.stderr, format!("payments: journal {journal} ({source})\n"));
            assert_eq!(ended.stdout.len(), silent.stdout.len());
        }
    }
}

#[test]
fn purge_keeps_recent_intents_and_warns() {
    let workspace = Workspace::with_every_state();
    workspace.journal_command(&["purge", "--older-than", "23h"]).refused("--older-than");
    let purged = workspace.journal_command(&["purge", "--older-than", "30d"]).json();
    assert_eq!(purged["purged"], 0);
    assert!(purged["warning"].as_str().unwrap().contains("new again"), "{purged}");
    // The output repeats the age as the user wrote it.
    for age in ["24h", "400d", "1year 5days"] {
        let text = workspace.journal_command(&["purge", "--older-than", age, "--output", "text"]);
        assert_eq!(text.stdout, format!("purged 0 intents that ended more than {age} ago\n"));
    }
    let text = workspace.journal_command(&["purge", "--older-than", "24h", "--output", "text"]);
    assert!(text.stderr.contains("new again"), "{text:?}");
    assert_eq!(keys(&workspace.list(&[])), STATES);
}

#[test]
fn purge_reports_the_newest_removed_time_d45() {
    let workspace = Workspace::with_every_state();
    let age = |key: &str, days: u32| {
        let journal = rusqlite::Connection::open(workspace.journal()).unwrap();
        let sql =
            "UPDATE intent SET stored_at = stored_at - ?2 * 86400000 WHERE key = ?1 RETURNING stored_at";
        journal.query_row(sql, (key, days), |row| row.get::<_, i64>(0)).unwrap().unsigned_abs()
    };
    age("paid", 40);
    let newest = UNIX_EPOCH + Duration::from_millis(age("refused", 35));
    let nothing = workspace.journal_command(&["purge", "--older-than", "50d"]).json();
    assert_eq!((&nothing["purged"], &nothing["newest_purged_at"]), (&json!(0), &Value::Null));
    let purged = workspace.journal_command(&["purge", "--older-than", "30d"]).json();
    let newest = humantime::format_rfc3339_millis(newest).to_string();
    assert_eq!((&purged["purged"], &purged["newest_purged_at"]), (&json!(2), &json!(newest)));

    age("found", 60);
    let text = workspace.journal_command(&["purge", "--older-than", "45d", "--output", "text"]);
    let lines: Vec<_> = text.stdout.lines().collect();
    assert_eq!(lines[0], "purged 1 intent that ended more than 45d ago");
    assert!(lines[1].starts_with("the newest of them last changed at 2"), "{lines:?}");
}

#[test]
fn reading_commands_end_quietly_when_the_pipe_is_closed() {
    let workspace = Workspace::with_every_state();
    let quiet: &[&[&str]] = &[
        &["list"],
        &["list", "--output", "text"],
        &["show", "paid"],
        &["show", "paid", "--output", "text"],
        &["export"],
        &["export", "--format", "csv"],
    ];
    for arguments in quiet {
        let run = workspace.run(["journal"]).arguments(arguments.iter());
        let ended = run.end_unread();
        assert_eq!((ended.code, &*ended.stderr), (Some(1), ""), "{arguments:?}");
        // A disk that is full is not a reader that has seen enough.
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
        let run = workspace.run(["journal"]).arguments(arguments.iter());
        let ended = run.stdout(full.unwrap()).end_with_given_stdout().exits(1);
        assert!(ended.stderr.contains("could not be written to stdout"), "{ended:?}");
    }
    // What it changed is said.
    let ended = workspace.run(["journal", "purge", "--older-than", "30d"]).stdout(broken_pipe());
    assert!(ended.end_with_given_stdout().stderr.contains("could not be written to stdout"));
}

#[test]
fn control_characters_of_a_reference_are_escaped() {
    let workspace = Workspace::open();
    let request = TOKEN_PAYMENT.replace('}', ",\"ReferenceNo\":\"\\u001b[2J\\u202epaid\"}");
    workspace.charging("k", &request).end().processed();
    for arguments in [
        &["list"][..],
        &["list", "--output", "text"],
        &["show", "k", "--output", "text"],
        &["export", "--format", "csv"],
    ] {
        let ended = workspace.journal_command(arguments);
        assert!(!ended.stdout.contains(['\u{1b}', '\u{202e}']), "{ended:?}");
        assert!(ended.stdout.contains("paid"), "{ended:?}");
    }
}

/// A sandbox that starts again with the same seed simulates a service that returns an id twice.
#[test]
fn duplicate_transaction_id_is_reported_with_both_keys() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("billing.db");
    let mut address = SocketAddr::from(([127, 0, 0, 1], 0));
    let mut charge = |key: &str| {
        let service = Sandbox::builder().api_key(KEY).seed(7).listen(address).start_blocking().unwrap();
        address = service.base_url().split('/').nth(2).unwrap().parse().unwrap();
        let run =
            payments_at(service.base_url(), ["token-transaction", "create", "--file", "-", "--key", key]);
        run.stdin(TOKEN_PAYMENT).arguments(["--journal", journal.to_str().unwrap()]).end()
    };
    let (first, second) = (charge("one"), charge("two"));
    assert_eq!((first.code, second.code), (Some(0), Some(0)), "{second:?}");
    let [first, document] =
        [&first, &second].map(|ended| serde_json::from_str::<Value>(&ended.stdout).unwrap());
    assert_eq!(document["data"]["TransactionId"], first["data"]["TransactionId"]);
    assert_eq!(document["same_transaction_as"], "one", "{document}");
    assert_eq!(first.get("same_transaction_as"), None);
    has(&second.stderr, ["the same transaction for another key: one; both are recorded"]);
}

/// So a backup of that file after a command has the whole journal.
#[test]
fn journal_is_one_file_after_each_command() {
    let workspace = Workspace::with_every_state();
    let log = workspace.journal().with_extension("db-wal");
    for arguments in [&["list"][..], &["show", "paid"], &["purge", "--older-than", "30d"]] {
        assert_eq!(workspace.journal_command(arguments).code, Some(0), "{arguments:?}");
        assert!(!log.exists(), "{arguments:?}");
    }
    workspace.charge("one-more").processed();
    assert!(workspace.journal().exists() && !log.exists());
}

impl Workspace {
    fn resolve(&self, by: &str, arguments: &[&str]) -> Ended {
        self.journal_command(&[&["resolve", "k", "--by", by], arguments].concat())
    }

    /// The response of the first attempt is lost, a person says that it was not processed, and the response of the second attempt
    /// is lost too. Returns the transactions of both.
    fn with_two_attempts() -> (Self, [String; 2]) {
        let workspace = Self::open();
        workspace.lose_response("k");
        let first = workspace.last_id();
        assert_eq!(workspace.resolve("ada", &["--not-processed", "--note", "in no report"]).code, Some(0));
        workspace.lose_response("k");
        let second = workspace.last_id();
        (workspace, [first, second])
    }
}

/// Ada resolves the key, and Bob has the list of yesterday.
#[test]
fn second_decision_needs_to_name_what_it_replaces_d48() {
    let workspace = Workspace::open();
    workspace.lose_response("k");
    let id = workspace.last_id();
    assert_eq!(workspace.resolve("ada", &["--processed", &id, "--note", "on the statement"]).code, Some(0));
    let before = workspace.show("k");
    let error = workspace.resolve("bob", &["--not-processed", "--note", "in no report"]).failed(2);
    assert_eq!(error["kind"], "already_resolved");
    let expected = format!(
        "attempt 1 of k was already resolved as {id} by ada (on the statement); nothing was changed: \
         if you know better, give --replace {id}"
    );
    assert_eq!(message(&error), expected);
    for wrong in ["rejected", "not-processed", "txn_other"] {
        let replace = ["--not-processed", "--note", "n", "--replace", wrong];
        has(
            message(&workspace.resolve("bob", &replace).failed(2)),
            [&format!("is {id}, by ada, and --replace names {wrong}")],
        );
    }
    assert_eq!(workspace.show("k"), before);
    let sent = workspace.requests();
    assert_eq!(workspace.charge("k").json()["recorded"], true);
    assert_eq!(workspace.requests(), sent, "it is not sent again");
    // Who says the same replaces nothing.
    assert_eq!(workspace.resolve("bob", &["--processed", &id, "--note", "me too"]).code, Some(0));

    let note = "that was another order";
    workspace.resolve("bob", &["--rejected", "--note", note, "--replace", &id]).exits(0);
    workspace.resolve("ada", &["--not-processed", "--note", "sure", "--replace", "rejected"]).exits(0);
    workspace.resolve("bob", &["--processed", &id, "--replace", "not-processed"]).exits(0);
    // Every note is kept, and shown in order.
    let shown = workspace.show("k");
    let events = shown["history"].as_array().unwrap().iter();
    let said: Vec<_> =
        events.filter(|it| it["event"] == "resolved").map(|it| (&it["by"], &it["note"])).collect();
    let expected = [
        ("ada", json!("on the statement")),
        ("bob", json!("me too")),
        ("bob", json!(note)),
        ("ada", json!("sure")),
        ("bob", Value::Null),
    ];
    assert_eq!(said.len(), expected.len(), "{shown}");
    assert!(said.iter().zip(&expected).all(|((by, note), (b, n))| **by == *b && *note == n), "{shown}");
    let text = workspace.journal_command(&["show", "k", "--output", "text"]).stdout;
    for (by, verdict, note) in [
        ("ada", format!("processed as {id}"), ": on the statement"),
        ("bob", format!("rejected instead of processed as {id}"), ": that was another order"),
        ("ada", "not processed instead of rejected".to_owned(), ": sure"),
        ("bob", format!("processed as {id} instead of not processed"), "\n"),
    ] {
        assert!(text.contains(&format!(" {by}: attempt 1 {verdict}{note}")), "{by} {verdict}: {text}");
    }
}

#[test]
fn replace_of_what_nobody_has_resolved_is_refused_d48() {
    let workspace = Workspace::open();
    workspace.lose_response("k");
    for replaced in ["rejected", "not-processed", "txn_1"] {
        workspace
            .resolve("bob", &["--not-processed", "--note", "n", "--replace", replaced])
            .refused("is not resolved, so there is nothing to replace");
    }
    assert_eq!(workspace.show("k")["state"], "unknown");
}

#[test]
fn key_with_several_attempts_is_resolved_by_number_d48() {
    let (workspace, [_, second]) = Workspace::with_two_attempts();
    for verdict in [&["--not-processed"][..], &["--rejected"], &["--processed", &second]] {
        let error = workspace.resolve("bob", &[verdict, &["--note", "n"]].concat()).failed(2);
        assert_eq!(error["kind"], "attempt_required");
        begins(message(&error), "k has 2 attempts; nothing was changed: say which one");
    }
    // The second of two people proves once more that attempt 1 did nothing.
    for verdict in ["--not-processed", "--rejected"] {
        let arguments = [verdict, "--note", "n", "--attempt", "1", "--replace", "not-processed"];
        let error = workspace.resolve("bob", &arguments).failed(2);
        begins(message(&error), "attempt 1 of k is not the newest, which is 2: ");
    }
    workspace
        .resolve("bob", &["--processed", &second, "--attempt", "3"])
        .refused("the journal has no attempt 3 of k");
    assert_eq!(workspace.show("k")["state"], "unknown");
    for command in [&["list"][..], &["export"]] {
        assert!(
            workspace.journal_command(command).stdout.contains("\"attempt\":2,\"revision\":5"),
            "{command:?}"
        );
    }
    workspace.resolve("bob", &["--processed", &second, "--attempt", "2"]).exits(0);
    assert_eq!(workspace.show("k")["transaction_id"], *second);
}

#[test]
fn late_finding_is_a_possible_second_charge_and_the_key_is_never_sent_again_d48() {
    let (workspace, [first, second]) = Workspace::with_two_attempts();
    let late =
        workspace.resolve("bob", &["--processed", &first, "--attempt", "1", "--output", "text"]).exits(8);
    has(&late.stderr, ["POSSIBLE SECOND CHARGE of k: it was processed as ", "(exit code 8)", &*first]);
    let shown = workspace.show("k");
    assert_eq!((&shown["state"], &shown["also_processed_as"]), (&json!("unknown"), &json!(first)));
    let text = workspace.journal_command(&["list", "--output", "text"]).stdout;
    assert!(text.contains("unknown (closed, possible second charge)"), "{text}");
    let sent = workspace.requests();
    let recorded = workspace.charge("k");
    recorded.fails(5, format!("processed as transaction {first}"));
    let again =
        workspace.run(["token-transaction", "create", "--file", "-", "--key", "k", "--after-rejection"]);
    again.stdin(TOKEN_PAYMENT).end().failed(5);
    assert_eq!(workspace.requests(), sent);

    let both = workspace.resolve("bob", &["--processed", &second, "--attempt", "2"]).exits(8);
    assert_eq!(both.json()["transaction_id"], *second);
    let sent = workspace.requests();
    let recorded = workspace.charge("k").exits(8);
    assert_eq!(recorded.json()["data"]["TransactionId"], *second);
    let warning = recorded.json()["second_charge"].as_str().unwrap().to_owned();
    assert!(warning.contains(&*first) && recorded.stderr.contains(&warning), "{recorded:?}");
    assert_eq!(workspace.requests(), sent);
    let taken_back = ["--not-processed", "--note", "wrong order", "--attempt", "2", "--replace", &second];
    workspace.resolve("ada", &taken_back).exits(0);
    let shown = workspace.show("k");
    assert_eq!(
        (&shown["state"], &shown["resolved_as"], &shown["transaction_id"], shown.get("also_processed_as")),
        (&json!("resolved"), &json!("processed"), &json!(first), None)
    );
    let sent = workspace.requests();
    let paid = workspace.charge("k").json();
    assert_eq!((&paid["recorded"], &paid["data"]["TransactionId"]), (&json!(true), &json!(first)));
    assert_eq!(workspace.requests(), sent, "no charge was sent");
}

/// In flight when the machine stopped, and declined by the processor.
#[test]
fn declined_payment_that_was_found_is_neither_paid_nor_sent_again_d48() {
    let workspace = Workspace::open();
    workspace.lose_response("k");
    for note in [&[][..], &["--note", " "]] {
        workspace.resolve("ada", &[&["--rejected"], note].concat()).failed(2);
    }
    assert_eq!(workspace.show("k")["state"], "unknown");
    workspace.resolve("ada", &["--rejected=txn_declined", "--note", "the portal says declined"]).exits(0);
    let shown = workspace.show("k");
    holds(
        &shown,
        &json!({"state": "rejected", "kind": "resolved", "resolved_as": "rejected", "resolved_by": "ada", "note": "the portal says declined", "transaction_id": "txn_declined", "paid": "no"}),
    );
    let sent = workspace.requests();
    workspace.charge("k").fails(4, "as ada has found out");
    assert_eq!(workspace.requests(), sent);
    let again =
        workspace.run(["token-transaction", "create", "--file", "-", "--key", "k", "--after-rejection"]);
    again.stdin(TOKEN_PAYMENT).end().processed();
    assert_eq!(workspace.requests(), sent + 1);
}

#[test]
fn rejection_of_the_service_gives_way_to_a_found_id_d48() {
    let workspace = Workspace::open();
    let declined = declined_payment();
    workspace.charging("k", &declined).end().failed(4);
    let id = workspace.charge("other").paid_id();
    workspace.remove_journal();
    workspace.charging("k", &declined).end().failed(4);
    for verdict in ["--not-processed", "--rejected"] {
        assert_eq!(workspace.resolve("ada", &[verdict, "--note", "n"]).failed(2)["kind"], "not_unknown");
    }
    workspace.resolve("ada", &["--processed", &id, "--replace", "rejected"]).exits(0);
    assert_eq!(workspace.show("k")["paid"], "yes");
}

#[test]
fn unverified_id_is_recorded_without_a_lookup_and_says_so_d48() {
    let workspace = Workspace::open();
    workspace.lose_response("k");
    // A service that has such a transaction and refuses to look it up.
    let refused = Fault::on(OperationName::GetTransaction).before_commit().status(StatusCode::BAD_REQUEST);
    workspace.arm(refused);
    let error = workspace.resolve("ada", &["--processed", "odd-id", "--output", "text"]).exits(4);
    has(&error.stderr, ["could not be looked up", "record it with --unverified"]);
    let nowhere = |arguments: &[&str]| {
        let run = workspace.run(["journal", "resolve", "k", "--by", "ada"]).arguments(arguments.iter());
        run.env("PAYMENTS_BASE_URL", "http://127.0.0.1:1").end()
    };
    nowhere(&["--not-processed", "--note", "n", "--unverified"]).failed(2);
    nowhere(&["--processed", KEY, "--unverified"]).failed(2);
    let resolved = nowhere(&["--processed", "odd-id", "--unverified", "--output", "text"]).exits(0);
    begins(&resolved.stdout, "RESOLVED (PROCESSED, UNVERIFIED)\n");
    let shown = workspace.show("k");
    for (member, value) in
        [("unverified", json!(true)), ("resolved_by", json!("ada")), ("transaction_id", json!("odd-id"))]
    {
        assert_eq!(shown[member], value, "{shown}");
    }
    assert_eq!(shown["history"][2]["unverified"], true);
    // A verified id may replace it, and then the row says so.
    let id = workspace.last_id();
    assert_eq!(workspace.resolve("bob", &["--processed", &id, "--replace", "odd-id"]).code, Some(0));
    assert_eq!(workspace.show("k").get("unverified"), None);
}

#[test]
fn accounting_reads_one_column_d48() {
    let workspace = Workspace::with_every_state();
    let create = |key: &str, kind: &str| {
        let payment =
            CARD_PAYMENT.replace(r#""TransactionType":"1""#, &format!(r#""TransactionType":"{kind}""#));
        workspace.creating(key).stdin(payment).end().paid_id()
    };
    create("sold", "1");
    let authorized = create("authorized", "2");
    workspace.run(["void", &authorized, "--key", "voided"]).end().processed();
    let (keys, paid) = (workspace.column("key"), workspace.column("paid"));
    let expected = [
        ("paid", "yes"),
        ("declined", "no"),
        ("refused", "no"),
        ("lost", "unknown"),
        ("found", "no"),
        ("sold", "yes"),
        ("authorized", "authorized"),
        ("voided", ""),
    ];
    assert!(keys.iter().zip(&paid).map(|(key, paid)| (&**key, &**paid)).eq(expected), "{keys:?} {paid:?}");
}

#[test]
fn retry_reopens_nothing_that_may_have_been_charged_in_the_lost_time_d49() {
    let workspace = Workspace::open();
    let begin_failing = || {
        workspace.arm(
            Fault::on(OperationName::TokenTransaction).before_commit().status(StatusCode::TOO_MANY_REQUESTS),
        );
    };
    begin_failing();
    workspace.charge("refused").failed(4);
    workspace.accept("Key\nother\n").exits(0);
    begin_failing();
    workspace.charge("later").failed(4);
    let ended = workspace.journal_command(&["retry", "--status", "429"]).exits(5);
    assert_eq!(ended.json()["reopened"]["count"], 1, "only the later one");
    assert_eq!(ended.json()["unknown"]["count"], 1);
    workspace.charge("later").processed();
    workspace.charge("refused").failed(5);
}

#[test]
fn restored_copy_charges_nothing_until_a_person_says_what_was_sent_d49() {
    let workspace = Workspace::open();
    workspace.charge("kept").processed();
    let copy = std::fs::read(workspace.journal()).expect("it can be read");
    workspace.charge("lost").processed();
    std::fs::write(workspace.journal(), copy).expect("it can be written");
    for key in ["lost", "new"] {
        let refused = workspace.charge(key);
        refused.fails(5, "payments journal accept-history");
    }
    // What only reads shows what is there, and says that it may be old.
    for (words, code) in [(&["list"][..], 0), (&["show", "lost"], 2), (&["summary"], 0), (&["export"], 0)] {
        let read = workspace.journal_command(words).exits(code);
        let warning = "a key that it does not show may have been charged: the journal";
        assert!(read.stderr.contains(warning) && !read.stdout.contains("warning"), "{read:?}");
    }
    let file = workspace.journal().with_file_name("orders.csv");
    std::fs::write(&file, "Order,Key\n17,lost\n18,kept\n").expect("it can be written");
    let ended = workspace.journal_command(&["accept-history", "--by", "ada"]);
    assert_eq!(ended.code, Some(2), "it must name the keys that were sent: {ended:?}");
    let sent = file.to_str().expect("it is UTF-8");
    let ended = workspace.journal_command(&["accept-history", "--sent", sent, "--by", "ada"]).exits(0);
    assert_eq!(ended.json(), serde_json::json!({ "named": 2, "unknown": 1 }));
    assert!(!workspace.journal_command(&["list"]).stderr.contains("may be old"));
    workspace.charge("new").processed();
    assert_eq!(workspace.charge("kept").code, Some(0), "it is recorded");
    workspace.charge("lost").failed(5);
    assert_eq!(workspace.sandbox.gateway().ledger().entries().len(), 3);
}

/// The natural list of the keys that were sent is a file that this command wrote, and some of its keys look like formulas.
#[test]
fn accepted_keys_are_read_as_this_command_writes_them_d49() {
    let workspace = Workspace::open();
    workspace.charge("kept").processed();
    let copy = std::fs::read(workspace.journal()).expect("it can be read");
    let odd = ["+1", "a;=b"];
    for key in odd {
        workspace.charge(key).processed();
    }
    let exported = workspace.journal_command(&["export", "--format", "csv"]).stdout;
    std::fs::write(workspace.journal(), copy).expect("it can be written");
    let ended = workspace.accept(&exported);
    assert_eq!(ended.json(), serde_json::json!({ "named": 3, "unknown": 2 }), "{ended:?}");
    for key in odd {
        workspace.charge(key).failed(5);
    }
    assert_eq!(workspace.sandbox.gateway().ledger().entries().len(), 3);
}

#[test]
fn list_of_what_was_sent_may_have_semicolons_but_no_api_key_d49() {
    let workspace = Workspace::open();
    workspace.charge("kept").processed();
    let accept = |rows: &str| workspace.accept(rows);
    let refused = accept(&format!("Key\n{KEY}\n")).exits(2);
    assert!(format!("{refused:?}").contains("must not hold the API key"), "{refused:?}");
    assert!(!format!("{refused:?}").contains(KEY), "{refused:?}");
    let accepted = accept("Order;Key;Amount\n17;lost;1,50\n");
    assert_eq!(accepted.json(), serde_json::json!({ "named": 1, "unknown": 1 }), "{accepted:?}");
    assert!(!workspace.journal_command(&["export"]).stdout.contains(KEY));
}
