//! `--journal PLACE --key KEY` on the commands that move money: each key is sent at most once.

use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use http::StatusCode;
use payments_core::OperationName;
use payments_fake::{Fault, Gate, block_on};
use payments_model::Amount;
use payments_sandbox::BlockingSandbox;
use serde_json::{Value, json};

use crate::support::{
    CARD_PAYMENT, CHARGE, CREATE, Ended, KEY, Run, Running, TOKEN_PAYMENT, ach_payment, authorization,
    begins, declined_payment, has, holds, message, payments, payments_at, sandbox,
};

/// A sandbox, and a folder for a journal.
pub(crate) struct Workspace {
    pub(crate) sandbox: BlockingSandbox,
    folder: tempfile::TempDir,
}

impl Workspace {
    pub(crate) fn open() -> Self {
        let sandbox = sandbox();
        Self { sandbox, folder: tempfile::tempdir().expect("a temporary folder") }
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.folder.path().join("billing.db")
    }

    /// Removes the journal and what shows that it was there.
    pub(crate) fn remove_journal(&self) {
        fs::remove_file(self.journal()).expect("it exists");
        fs::remove_dir_all(self.journal().with_file_name("billing.db-owners")).expect("it exists");
    }

    /// The command with the sandbox and this journal in its environment.
    pub(crate) fn run(&self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Run {
        let journal = self.journal();
        payments_at(self.sandbox.base_url(), arguments)
            .env("PAYMENTS_JOURNAL", journal.to_str().expect("a plain path"))
            .env("USER", "ada")
    }

    pub(crate) fn charge(&self, key: &str) -> Ended {
        self.charging(key, TOKEN_PAYMENT).end()
    }

    pub(crate) fn charging(&self, key: &str, request: &str) -> Run {
        self.run(["token-transaction", "create", "--file", "-", "--key", key]).stdin(request)
    }

    /// The output of `journal show` for this key.
    pub(crate) fn show(&self, key: &str) -> Value {
        let ended = self.run(["journal", "show", key]).end().quiet(0);
        ended.json()
    }

    /// A charge whose response is lost after the commit.
    pub(crate) fn lose_response(&self, key: &str) {
        self.arm(Fault::response_lost(OperationName::TokenTransaction));
        self.charge(key).exits(5);
    }

    pub(crate) fn arm(&self, fault: Fault) {
        self.sandbox.gateway().arm(fault);
    }

    /// A payment by card or account with this key.
    pub(crate) fn creating(&self, key: &str) -> Run {
        self.run(CREATE).arguments(["--key", key])
    }

    /// A charge with this key whose response is held back.
    pub(crate) fn in_flight(&self, key: &str) -> (Running, Gate) {
        let gate = self.hold_responses();
        let running = self.charging(key, TOKEN_PAYMENT).start();
        block_on(gate.arrived());
        (running, gate)
    }

    /// Says that the keys of these rows were sent.
    pub(crate) fn accept(&self, rows: impl AsRef<[u8]>) -> Ended {
        let file = self.journal().with_file_name("sent.csv");
        fs::write(&file, rows).expect("it is writable");
        self.run(["journal", "accept-history", "--by", "ada", "--sent"]).arguments([file]).end()
    }

    pub(crate) fn csv(&self, arguments: &[&str]) -> String {
        self.run(["journal", "export", "--format", "csv"]).arguments(arguments).end().stdout
    }

    /// A column of the whole export.
    pub(crate) fn column(&self, name: &str) -> Vec<String> {
        let csv = self.csv(&[]);
        let mut rows = csv::Reader::from_reader(csv.as_bytes());
        let column = rows.headers().expect("a header").iter().position(|it| it == name).expect("it is there");
        rows.records().map(|row| row.expect("a row")[column].to_owned()).collect()
    }

    /// Checks that no file beside the journal holds it.
    #[track_caller]
    pub(crate) fn assert_not_stored(&self, secret: &str) {
        for entry in self.folder.path().read_dir().expect("a folder") {
            let path = entry.expect("an entry").path();
            let stored = fs::read(&path).unwrap_or_default();
            let has_it = stored.windows(secret.len()).any(|part| part == secret.as_bytes());
            assert!(!has_it, "{secret} in {}", path.display());
        }
    }

    pub(crate) fn requests(&self) -> usize {
        self.sandbox.gateway().requests().len()
    }

    pub(crate) fn hold_responses(&self) -> Gate {
        self.sandbox.gateway().gate_after_commit(OperationName::TokenTransaction)
    }
}

#[test]
fn repeated_key_is_charged_once() {
    let workspace = Workspace::open();
    let first = workspace.charge("invoice-17");
    let id = first.processed()["TransactionId"].clone();
    let document = first.json();
    assert_eq!((&document["key"], document.get("recorded")), (&"invoice-17".into(), None), "{document}");
    for _ in 0..2 {
        let again = workspace.charge("invoice-17");
        assert_eq!(
            (again.code, again.stdout, &*again.stderr),
            (
                Some(0),
                format!(
                    "{{\"outcome\":\"processed\",\"http_status\":null,\"data\":{{\"TransactionId\":{id}}},\
                     \"key\":\"invoice-17\",\"recorded\":true}}\n"
                ),
                ""
            )
        );
    }
    assert_eq!(workspace.requests(), 1);
    let text = workspace.charging("invoice-17", TOKEN_PAYMENT).text();
    begins(&text.stdout, "PROCESSED EARLIER, nothing was sent now\n");
    assert!(text.stdout.contains("invoice-17"), "{text:?}");
}

#[test]
fn every_operation_that_moves_money_takes_a_key() {
    let workspace = Workspace::open();
    let ach = ach_payment();
    for (key, arguments, stdin) in [("card", &CREATE[..], CARD_PAYMENT), ("account", &CREATE, &*ach)] {
        let run = || workspace.run(arguments.iter()).arguments(["--key", key]).stdin(stdin).end().json();
        let (first, again) = (run(), run());
        assert_eq!(first["data"]["TransactionId"], again["data"]["TransactionId"], "{first} {again}");
        assert_eq!((first.get("recorded"), &again["recorded"]), (None, &Value::from(true)));
    }
    let authorised = workspace.creating("auth").stdin(authorization()).end();
    let id = authorised.paid_id();
    let void = || workspace.run(["void", &id, "--key", "void-1"]).end().json();
    let (first, again) = (void(), void());
    assert_eq!(first["data"], again["data"], "{first} {again}");
    assert_eq!(again["recorded"], true);
    assert_eq!(workspace.requests(), 4);
    assert_eq!(workspace.show("card")["card_ending"], "0005");
    assert_eq!(workspace.show("account")["subject"], "account");
    assert_eq!(workspace.show("void-1")["voids"], *id);

    // `secrets::journal` searches for codes and expiry dates, which other digits can match by chance.
    for secret in ["378282246310005", "000123456789", KEY] {
        workspace.assert_not_stored(secret);
    }
}

#[test]
fn paid_key_with_another_request_is_unknown_and_names_the_transaction_d43() {
    let workspace = Workspace::open();
    let id = workspace.charge("invoice-17").processed()["TransactionId"].clone();
    for other in [TOKEN_PAYMENT.replace("45.00", "45.01"), declined_payment()] {
        let ended = workspace.charging("invoice-17", &other).end();
        let error = ended.failed(5);
        assert_eq!((&error["kind"], &error["transaction_id"]), (&"key_reused".into(), &id));
        let message = error["message"].as_str().unwrap();
        let paid =
            format!("nothing was sent now: that one is already paid as transaction {}", id.as_str().unwrap());
        assert!(message.contains(&paid), "{error}");
        assert_eq!(ended.json()["key"], "invoice-17");
        assert_eq!(error["sent_at"], workspace.show("invoice-17")["begun_at"]);
        let text = workspace.charging("invoice-17", &other).text().stderr;
        let heading =
            "KEY OF ANOTHER REQUEST, nothing was sent now: do not pay it another way (exit code 5)\n";
        begins(&text, heading);
        // The explicit call for a new attempt does not help either.
        let again = workspace.charging("invoice-17", &other).arguments(["--after-rejection"]).end();
        assert_eq!(again.failed(5)["kind"], "key_reused");
    }
    assert_eq!(workspace.requests(), 1);
    workspace.sandbox.gateway().ledger().assert_charged_once(Amount::from_cents(45_00));
}

#[test]
fn second_card_after_a_decline_needs_after_rejection_d44() {
    let workspace = Workspace::open();
    let declined = declined_payment();
    workspace.charging("order-4711", &declined).end().failed(4);

    // A plain call sends neither card again.
    assert_eq!(workspace.charging("order-4711", &declined).end().json()["recorded"], true);
    let error = workspace.charge("order-4711").failed(2);
    assert_eq!(error["kind"], "key_reused");
    assert!(message(&error).contains("that one moved no money"), "{error}");
    for (request, heading) in [
        (TOKEN_PAYMENT, "INVALID, nothing was sent (exit code 2)"),
        (&*declined, "REJECTED EARLIER, nothing was sent now (exit code 4)"),
    ] {
        let text = workspace.charging("order-4711", request).text().stderr;
        begins(&text, heading);
        assert!(text.contains("to make a new attempt with this key, give --after-rejection"), "{text}");
    }
    assert_eq!(workspace.requests(), 1);

    let again = || workspace.charging("order-4711", TOKEN_PAYMENT).arguments(["--after-rejection"]).end();
    let id = again().processed()["TransactionId"].clone();
    assert_eq!((&again().json()["data"]["TransactionId"], workspace.requests()), (&id, 2));
    assert_eq!(workspace.show("order-4711")["attempts"], 2);
    workspace.sandbox.gateway().ledger().assert_charged_once(Amount::from_cents(45_00));
}

#[test]
fn new_attempt_needs_a_known_key_d44() {
    let workspace = Workspace::open();
    let error = workspace.charging("order-1", TOKEN_PAYMENT).arguments(["--after-rejection"]).end();
    let error = error.failed(2);
    assert_eq!(error["kind"], "no_such_key");
    assert!(message(&error).contains("nothing was sent"), "{error}");
    let create = ["token-transaction", "create", "--file", "-", "--after-rejection"];
    let without_a_key = payments_at(workspace.sandbox.base_url(), create).stdin(TOKEN_PAYMENT).end();
    assert_eq!(without_a_key.failed(2)["kind"], "usage");
    assert_eq!(workspace.requests(), 0);
}

#[test]
fn every_operation_takes_a_new_attempt_after_a_rejection_d44() {
    let workspace = Workspace::open();
    let declined = CARD_PAYMENT.replace("378282246310005", "4000000000000002").replace("7391", "739");
    workspace.creating("card").stdin(declined).end().failed(4);
    let paid = workspace.creating("card").arguments(["--after-rejection"]).stdin(authorization()).end();
    let id = paid.paid_id();
    workspace.run(["void", "txn_nothing", "--key", "void"]).end().failed(4);
    workspace.run(["void", &id, "--key", "void", "--after-rejection"]).end().processed();
    assert_eq!(workspace.requests(), 4);
}

#[test]
fn key_and_journal_need_each_other() {
    let workspace = Workspace::open();
    let journal = workspace.journal();
    let journal = journal.to_str().unwrap();
    let at_the_sandbox = || payments_at(workspace.sandbox.base_url(), CHARGE).stdin(TOKEN_PAYMENT);
    for (run, advice) in [
        (at_the_sandbox().arguments(["--key", "invoice-17"]), "give --journal PLACE or set PAYMENTS_JOURNAL"),
        (at_the_sandbox().arguments(["--journal", journal]), "--journal needs --key"),
        (at_the_sandbox().env("PAYMENTS_JOURNAL", journal), "unset the variable"),
        (
            at_the_sandbox().arguments(["--journal", "mysql://db", "--key", "k"]),
            "neither a path nor an address that starts with postgres://",
        ),
        (at_the_sandbox().arguments(["--journal", journal, "--key", "invoice 17"]), "--key"),
        (at_the_sandbox().arguments(["--journal", "", "--key", "k"]), "--journal"),
    ] {
        let message = run.end().refusal();
        assert!(message.contains(advice) && message.contains("nothing was sent"), "{advice}: {message}");
    }
    assert_eq!(workspace.requests(), 0);
    assert!(!workspace.journal().exists(), "a refused command created a journal");

    // The option overrides the variable, and an empty variable counts as unset.
    at_the_sandbox().env("PAYMENTS_JOURNAL", "").end().processed();
    let ended = workspace.charging("invoice-17", TOKEN_PAYMENT).env("PAYMENTS_JOURNAL", "/missing/journal");
    ended.arguments(["--journal", journal]).end().processed();
    assert_eq!(workspace.show("invoice-17")["state"], "processed");
}

#[test]
fn secret_key_is_refused_and_not_repeated() {
    let workspace = Workspace::open();
    for (secret, exit) in [(KEY, "secret_in_key"), ("4111111111111111", "usage")] {
        let ended = workspace.charge(&format!("invoice-{secret}"));
        assert_eq!(ended.failed(2)["kind"], exit, "{ended:?}");
        assert!(!format!("{ended:?}").contains(secret), "{ended:?}");
    }
    assert_eq!(workspace.requests(), 0);
}

/// Longer than the store retries the write.
#[test]
fn outcome_is_recorded_after_a_long_lock_of_the_journal() {
    let workspace = Workspace::open();
    let (running, gate) = workspace.in_flight("invoice-17");
    let other = rusqlite::Connection::open(workspace.journal()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    gate.release();
    thread::sleep(Duration::from_secs(32));
    other.execute_batch("ROLLBACK").unwrap();
    let ended = running.end();
    ended.processed();
    assert_eq!(ended.json().get("journal"), None, "{ended:?}");
    assert_eq!(workspace.show("invoice-17")["state"], "processed");
}

#[test]
fn dry_run_creates_no_journal() {
    let workspace = Workspace::open();
    let ended = workspace.charging("invoice-17", TOKEN_PAYMENT).arguments(["--dry-run"]).end();
    assert_eq!(ended.json()["outcome"], "dry_run");
    assert!(!workspace.journal().exists());
    // It says that the journal has the key, because a call with a paid key sends nothing.
    workspace.charge("paid").processed();
    let dry_run = || workspace.charging("paid", TOKEN_PAYMENT).arguments(["--dry-run"]);
    assert_eq!(dry_run().end().json()["is_key_recorded"], true);
    let text = dry_run().text().stdout;
    assert!(text.contains("\nthe journal has this key: "), "{text}");
    workspace.remove_journal();
    // A refused request does not create one either.
    workspace.charging("invoice-17", "{}").end().failed(2);
    assert!(!workspace.journal().exists());
}

#[test]
fn unknown_outcome_stays_unknown_and_is_not_sent_again() {
    let workspace = Workspace::open();
    workspace.arm(Fault::response_lost(OperationName::TokenTransaction));
    let request = TOKEN_PAYMENT.replace('}', r#","ReferenceNo":"invoice 17"}"#);
    let first = workspace.charging("invoice-17", &request).end();
    let error = first.failed(5);
    assert!(error["sent_at"].is_string(), "{error}");
    assert_eq!((&first.json()["key"], first.json().get("recorded")), (&"invoice-17".into(), None));

    let again = workspace.charging("invoice-17", &request).end();
    let error = again.failed(5);
    assert_eq!(again.json()["recorded"], true);
    let shown = workspace.show("invoice-17");
    assert_eq!(error["kind"], shown["kind"]);
    for (member, value) in [("amount", "45.00"), ("reference", "\"invoice 17\"")] {
        assert!(again.stdout.contains(&format!("\"{member}\":{value}")), "{}", again.stdout);
    }
    assert_eq!(error["sent_at"], shown["begun_at"], "not the time of the first call");
    let text = workspace.charging("invoice-17", &request).text();
    has(&text.stderr, ["OUTCOME UNKNOWN, do not pay it another way", "then resolve the key", "invoice-17"]);
    assert_eq!(workspace.requests(), 1);
}

#[test]
fn rejection_keeps_its_exit_code_until_a_person_reopens_it() {
    let workspace = Workspace::open();
    let declined = declined_payment();
    let codes = [0, 1].map(|_| workspace.charging("invoice-17", &declined).end());
    for ended in &codes {
        ended.failed(4);
    }
    assert_eq!(codes[1].json()["recorded"], true);

    let wrong_key =
        || workspace.charging("invoice-18", TOKEN_PAYMENT).env("PAYMENTS_API_KEY", "wrong_key").end();
    for _ in 0..2 {
        let error = wrong_key().failed(6);
        assert_eq!(error["http_status"], 401, "{error}");
    }
    // With the right API key it stays rejected.
    workspace.charge("invoice-18").failed(6);
    let text = workspace.charging("invoice-18", TOKEN_PAYMENT).text();
    assert!(text.stderr.contains("payments journal retry --status 401"), "{}", text.stderr);

    let retried = workspace.run(["journal", "retry", "--status", "401,403"]).end();
    assert_eq!((retried.code, &*retried.stdout), (Some(0), "{\"reopened\":{\"count\":1,\"sum\":45.00}}\n"));
    assert_eq!(workspace.show("invoice-18")["state"], "not_processed");
    workspace.charge("invoice-18").processed();
    workspace.charging("invoice-17", &declined).end().failed(4);
    assert_eq!(workspace.show("invoice-18")["attempts"], 2);
}

#[test]
fn refusal_unrelated_to_the_payment_never_suggests_a_new_key() {
    let workspace = Workspace::open();
    let busy =
        Fault::on(OperationName::TokenTransaction).before_commit().status(StatusCode::TOO_MANY_REQUESTS);
    workspace.arm(busy);
    for heading in ["REJECTED (exit code 4)", "REJECTED EARLIER, nothing was sent now (exit code 4)"] {
        let run = workspace.charging("invoice-17", TOKEN_PAYMENT).arguments(["--output", "text"]);
        let ended = run.end();
        let text = ended.diagnostics();
        begins(text, heading);
        has(
            text,
            ["payments journal retry --status 429", "fix the cause, then let a person reopen the key\n"],
        );
        assert!(!text.contains("new key") && !text.contains("new request"), "{text}");
    }
    assert_eq!(workspace.requests(), 1);
}

#[test]
fn not_processed_key_is_sent_again() {
    let workspace = Workspace::open();
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let run = || workspace.charging("invoice-17", TOKEN_PAYMENT);
    run().env("PAYMENTS_PROXY", &format!("http://{closed}")).end().failed(3);
    assert_eq!(workspace.show("invoice-17")["state"], "not_processed");
    run().end().processed();
}

#[test]
fn journal_that_cannot_be_created_sends_nothing_d43() {
    let workspace = Workspace::open();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "no folder").unwrap();
    fs::write(folder.path().join("other"), "no database ".repeat(500)).unwrap();
    for name in ["file/billing.db", "other", "."] {
        let place = folder.path().join(name);
        let run =
            workspace.charging("invoice-17", TOKEN_PAYMENT).env("PAYMENTS_JOURNAL", place.to_str().unwrap());
        let ended = run.end();
        let error = ended.failed(5);
        assert_eq!((&error["kind"], error.get("sent_at")), (&"journal".into(), None), "{ended:?}");
    }
    assert_eq!(workspace.requests(), 0);
    assert_eq!(fs::read_to_string(folder.path().join("other")).unwrap(), "no database ".repeat(500));
}

#[cfg(unix)]
#[test]
fn unavailable_journal_is_unknown_because_an_earlier_call_may_have_paid_d43() {
    use std::os::unix::fs::PermissionsExt as _;

    let workspace = Workspace::open();
    workspace.lose_response("invoice-17");
    let mode = |mode| fs::set_permissions(workspace.journal(), fs::Permissions::from_mode(mode)).unwrap();
    mode(0o644);
    let advice = "nothing was sent now: an earlier call with this key may have paid, \
                  so run the same command again when the journal is available";
    let error = workspace.charge("invoice-17").failed(5);
    assert_eq!((&error["kind"], error.get("sent_at")), (&"journal".into(), None), "{error}");
    assert!(error["message"].as_str().unwrap().ends_with(advice), "{error}");
    let heading = "NOT SENT NOW, and the journal cannot tell whether an earlier call has paid: run it again with the same \
                   key (exit code 5)\n";
    let text = workspace.charging("invoice-17", TOKEN_PAYMENT).text().stderr;
    begins(&text, heading);
    mode(0o600);
    workspace.charge("invoice-17").failed(5);

    // The same with an unreachable database.
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("postgres://ada@{closed}/books");
    let run = || workspace.charging("invoice-17", TOKEN_PAYMENT).env("PAYMENTS_JOURNAL", &url);
    let error = run().end().failed(5);
    assert!(error["message"].as_str().unwrap().ends_with(advice), "{error}");
    let text = run().text().stderr;
    begins(&text, heading);
    assert_eq!(workspace.requests(), 1);
}

#[test]
fn journal_password_is_never_shown() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let workspace = Workspace::open();
    for url in [
        format!("postgres://ada:hunter2@{closed}/books"),
        format!("postgresql://ada@{closed}/books?password=hunter2"),
        "postgres://ada:hunter2".to_owned(),
        "postgres://ada:hunter2@/books?sslmode=nonsense".to_owned(),
    ] {
        for shape in ["json", "text"] {
            let run = workspace.charging("invoice-17", TOKEN_PAYMENT).env("PAYMENTS_JOURNAL", &url);
            let ended = run.arguments(["--verbose", "--output", shape]).end();
            assert!(matches!(ended.code, Some(2 | 5)), "{ended:?}");
            assert!(!format!("{ended:?}").contains("hunter2"), "{ended:?}");
        }
        let ended = payments(["journal", "list", "--journal", &url]).end();
        assert!(matches!(ended.code, Some(2 | 3)) && !format!("{ended:?}").contains("hunter2"), "{ended:?}");
    }
    assert_eq!(workspace.requests(), 0);

    let url = format!("postgres://ada:hunter2@{closed}/books");
    for (shape, is_warned) in [("text", true), ("json", false)] {
        let ended = payments(["journal", "list", "--journal", &url, "--output", shape]).end();
        let warning = "every user of this machine can read the arguments of its processes";
        assert_eq!(ended.stderr.contains(warning), is_warned, "{ended:?}");
    }
}

#[test]
fn key_in_flight_is_in_progress_for_another_process() {
    let workspace = Workspace::open();
    let (first, gate) = workspace.in_flight("invoice-17");
    let second = workspace.charge("invoice-17");
    let error = second.failed(5);
    assert_eq!((&error["kind"], workspace.requests()), (&"in_progress".into(), 1), "{error}");
    assert_eq!(workspace.show("invoice-17")["state"], "sending");
    let resolving =
        workspace.run(["journal", "resolve", "invoice-17", "--not-processed", "--note", "gone"]).end();
    assert_eq!(resolving.failed(2)["kind"], "not_unknown");
    gate.release();
    first.end().processed();
    assert_eq!(workspace.charge("invoice-17").json()["recorded"], true);
    assert_eq!(workspace.requests(), 1);
}

#[cfg(unix)]
#[test]
fn outcome_that_cannot_be_recorded_is_reported_with_a_warning() {
    let declined = declined_payment();
    for (request, code, outcome) in [(TOKEN_PAYMENT, 0, "processed"), (&*declined, 4, "rejected")] {
        for shape in ["json", "text"] {
            let workspace = Workspace::open();
            let gate = workspace.hold_responses();
            let run = workspace.charging("invoice-17", request).arguments(["--output", shape]);
            let running = run.start();
            block_on(gate.arrived());
            fs::remove_file(workspace.journal()).unwrap();
            gate.release();
            let ended = running.end().exits(code);
            let warning = "WARNING: the outcome could not be recorded in the journal, which will list the key as unknown";
            assert!(ended.stderr.contains(warning), "{ended:?}");
            if shape == "json" {
                let document = ended.json();
                assert_eq!((&document["outcome"], document.get("recorded")), (&outcome.into(), None));
                let why = document["journal"].as_str().unwrap();
                begins(why, "the outcome could not be recorded: ");
            }
        }
    }
}

#[cfg(unix)]
mod interrupted {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn first_signal_waits_for_the_response_and_records_it() {
        for signal in ["INT", "TERM", "HUP"] {
            let workspace = Workspace::open();
            let (running, gate) = workspace.in_flight("invoice-17");
            running.signal(signal);
            // The line on stderr comes before the response.
            let mut running = running;
            assert!(running.error_line().starts_with(&format!("SIG{signal}: waiting for the response")));
            gate.release();
            let ended = running.end();
            assert_eq!((ended.code, &ended.json()["outcome"]), (Some(0), &"processed".into()), "{ended:?}");
            assert_eq!(workspace.show("invoice-17")["state"], "processed");
        }
    }

    /// The database accepts connections and never responds.
    #[test]
    fn signal_while_the_journal_opens_is_unknown_d43() {
        let workspace = Workspace::open();
        let deaf = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("postgres://ada@{}/books?sslmode=disable", deaf.local_addr().unwrap());
        let running = workspace.charging("invoice-17", TOKEN_PAYMENT).env("PAYMENTS_JOURNAL", &address);
        let running = running.start();
        let _connection = deaf.accept().unwrap();
        running.signal("INT");
        let ended = running.end();
        let error = ended.failed(5);
        assert_eq!((&error["kind"], &error["sent_at"]), (&"journal".into(), &Value::Null), "{error}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("an earlier call with this key may have paid"), "{message}");
        assert_eq!(workspace.requests(), 0);
    }

    #[test]
    fn second_signal_exits_at_once_and_the_key_stays_unresolved() {
        let workspace = Workspace::open();
        let (mut running, gate) = workspace.in_flight("invoice-17");
        running.signal("INT");
        running.error_line();
        running.signal("INT");
        let ended = running.end();
        let error = ended.failed(5);
        assert_eq!((&error["kind"], &ended.json()["key"]), (&"interrupted".into(), &"invoice-17".into()));
        assert!(error["sent_at"].is_string(), "{error}");
        drop(gate);
        let shown = workspace.show("invoice-17");
        assert_eq!((&shown["state"], &shown["kind"]), (&"unknown".into(), &"crash".into()));
        workspace.charge("invoice-17").failed(5);
        assert_eq!(workspace.requests(), 1);
    }

    #[test]
    fn killed_call_leaves_an_unknown_key() {
        let workspace = Workspace::open();
        let (running, gate) = workspace.in_flight("invoice-17");
        running.signal("KILL");
        running.end();
        drop(gate);
        let ended = workspace.run(["journal", "list", "--unresolved"]).end();
        let list: Value = serde_json::from_str(&ended.stdout).unwrap();
        holds(&list[0], &json!({"key": "invoice-17", "state": "unknown", "kind": "crash"}));
        workspace.charge("invoice-17").failed(5);
        assert_eq!(workspace.requests(), 1);
    }
}

/// A new key that looks like a card number needs the option. One that is in the journal does not.
#[test]
fn key_like_a_card_number_is_accepted_if_it_is_none_or_in_the_journal_d52() {
    const LIKE_A_CARD: &str = "4539578763621486";
    let workspace = Workspace::open();
    let refused = workspace.charge(LIKE_A_CARD);
    let message = refused.failed(2)["message"].as_str().unwrap().to_owned();
    has(&message, ["give --ids-are-not-cards", "nothing was sent"]);
    assert!(!format!("{refused:?}").contains(LIKE_A_CARD), "{refused:?}");
    assert!(!workspace.journal().exists());
    let option = ["--ids-are-not-cards"];
    let first = workspace.charging(LIKE_A_CARD, TOKEN_PAYMENT).arguments(option).end().processed();
    let again = workspace.charge(LIKE_A_CARD);
    assert_eq!((again.code, &again.json()["data"]["TransactionId"]), (Some(0), &first["TransactionId"]));
    assert_eq!(workspace.show(LIKE_A_CARD)["state"], "processed");
    assert_eq!(workspace.requests(), 1);
}

#[test]
fn ids_of_any_form_are_looked_up_voided_and_resolved_d41() {
    use payments_fake::Fixtures;

    for id in ["MC/2026/0001", "auth0|x", "a b", "50%", "ü-1", "a?b#c", "-x", "'x'"] {
        let workspace = Workspace::open();
        let transaction = serde_json::json!({ "TransactionId": id, "Amount": 45.00, "TransactionType": 2 });
        let fixtures = serde_json::json!({ "transactions": [transaction] }).to_string();
        workspace.sandbox.gateway().load(&Fixtures::from_json(&fixtures).unwrap());
        let found = workspace.run(["transaction", "get", "--", id]).end().processed();
        assert_eq!(found["TransactionId"], id);

        workspace.lose_response("lost");
        let id_option = format!("--processed={id}");
        workspace.journal_command(&["resolve", "lost", &id_option, "--note", "found"]).exits(0);
        assert_eq!(workspace.show("lost")["transaction_id"], id);

        workspace.arm(Fault::response_lost(OperationName::TokenTransaction));
        assert_eq!(workspace.charge("second").code, Some(5));
        let void = workspace.run(["void", "--key", "void", "--", id]).end().processed();
        assert_eq!(void["TransactionId"], id);
        assert_eq!(workspace.show("void")["state"], "processed");
    }
    // No path can hold it, but the body of a void can.
    let workspace = Workspace::open();
    workspace.run(["transaction", "get", "a/../b"]).end().refused("nothing was sent");
    let error = workspace.run(["void", "--key", "void", "a/../b"]).end().failed(4);
    assert_eq!(error["reason"], "invalid transaction id");
}
