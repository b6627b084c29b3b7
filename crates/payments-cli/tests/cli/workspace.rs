//! A sandbox with a journal and a folder of files, as a person has who charges customers.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::SystemTime;

use payments_core::OperationName;
use payments_fake::{Fault, Gate, block_on};
use payments_journal::internals::{Begin, Change, Ending, IntentStore as _, NewAttempt};
use payments_journal::{AttemptId, Failure, IntentKey, SqliteStore};
use payments_model::{TokenTransaction, TransactionId};
use payments_sandbox::BlockingSandbox;
use serde_json::Value;

use crate::support::{CHARGE, CREATE, Ended, Line, Run, Running, TOKEN_PAYMENT, payments_at, sandbox};

pub(crate) const TOKENS: OperationName = OperationName::TokenTransaction;

/// The header of a billing file, as [`Workspace::rows`] writes it.
pub(crate) const BILLING: &str = "Key,TokenId,Amount,ConvenienceFeeActive,ReferenceNo";

pub(crate) struct Workspace {
    pub(crate) sandbox: BlockingSandbox,
    folder: tempfile::TempDir,
}

impl Workspace {
    pub(crate) fn open() -> Self {
        Self { sandbox: sandbox(), folder: tempfile::tempdir().expect("a temporary folder") }
    }

    /// With a billing file of so many rows.
    pub(crate) fn with_rows(count: usize) -> Self {
        let workspace = Self::open();
        workspace.good(count);
        workspace
    }

    /// With a processed charge of this key.
    pub(crate) fn with_charge(key: &str) -> Self {
        let workspace = Self::open();
        workspace.charge(key).processed();
        workspace
    }

    /// With charges of these keys whose responses are lost. Returns their transactions.
    pub(crate) fn with_lost<const N: usize>(keys: [&str; N]) -> (Self, [String; N]) {
        let workspace = Self::open();
        let ids = workspace.lose_responses(keys);
        (workspace, ids)
    }

    /// The path of a file beside the journal.
    pub(crate) fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().expect("a plain path").to_owned()
    }

    /// Returns the path.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        fs::write(&path, content).expect("it is writable");
        path
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("it can be read")
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.folder.path().join("billing.db")
    }

    /// Removes the journal and what shows that it was there.
    pub(crate) fn remove_journal(&self) {
        fs::remove_file(self.journal()).expect("it exists");
        fs::remove_dir_all(self.path("billing.db-owners")).expect("it exists");
    }

    /// The command with the sandbox and this journal in its environment.
    pub(crate) fn run(&self, line: impl Line) -> Run {
        let run = payments_at(self.sandbox.base_url(), line);
        run.env("PAYMENTS_JOURNAL", &self.path("billing.db")).env("USER", "ada")
    }

    /// The same, run to its end.
    pub(crate) fn does(&self, line: impl Line) -> Ended {
        self.run(line).end()
    }

    /// `payments journal` with this line.
    pub(crate) fn journals(&self, line: impl AsRef<str>) -> Ended {
        self.does(format!("journal {}", line.as_ref()))
    }

    pub(crate) fn charge(&self, key: &str) -> Ended {
        self.charging(key, TOKEN_PAYMENT).end()
    }

    pub(crate) fn charging(&self, key: &str, request: &str) -> Run {
        // A key may begin with a hyphen.
        self.run(CHARGE).with([&*format!("--key={key}")]).stdin(request)
    }

    /// A payment by card or account with this key.
    pub(crate) fn creating(&self, key: &str) -> Run {
        self.run(CREATE).with(["--key", key])
    }

    /// A charge whose response is lost after the commit. Returns its transaction.
    pub(crate) fn lose_response(&self, key: &str) -> String {
        self.arm(Fault::response_lost(TOKENS));
        self.charge(key).exits(5);
        self.last_id()
    }

    pub(crate) fn lose_responses<const N: usize>(&self, keys: [&str; N]) -> [String; N] {
        keys.map(|key| self.lose_response(key))
    }

    /// An intent of unknown outcome at this service, as a killed process leaves it.
    pub(crate) fn add_unknown(&self, key: &str, base_url: &str) {
        self.add_unknowns(&[key.to_owned()], base_url);
    }

    /// In many threads, because a store commits changes together that wait together.
    pub(crate) fn add_unknowns(&self, keys: &[String], base_url: &str) {
        self.add_unknowns_at(SystemTime::now(), keys, base_url);
    }

    pub(crate) fn add_unknowns_at(&self, now: SystemTime, keys: &[String], base_url: &str) {
        let store = SqliteStore::open(self.journal()).expect("it opens");
        let add = |key: &String| {
            let key = IntentKey::new(key.as_str()).expect("it is valid");
            let new = new_attempt(&store, base_url);
            let attempt = new.attempt_id.clone();
            let lost = Ending::Unknown(Failure::of_kind("timeout"));
            for change in [Change::begin(key.clone(), new, now), Change::end(key, attempt, lost, now)] {
                block_on(store.apply(change)).expect("it is written");
            }
        };
        thread::scope(|scope| {
            for some in keys.chunks(keys.len().div_ceil(50)) {
                scope.spawn(|| some.iter().for_each(add));
            }
        });
        block_on(store.close());
    }

    /// A processed charge of this payment at the sandbox, as another process writes it into the journal.
    pub(crate) fn add_charge(&self, key: &str, payment: &str) {
        let store = SqliteStore::open(self.journal()).expect("it opens");
        let (key, now) = (IntentKey::new(key).expect("it is valid"), SystemTime::now());
        let payment = TokenTransaction::from_json(payment.as_bytes()).expect("it is valid");
        let new = NewAttempt { request: (&payment).into(), ..new_attempt(&store, self.sandbox.base_url()) };
        let attempt = new.attempt_id.clone();
        let paid = Ending::Processed(TransactionId::new(format!("txn_{key}")).expect("it is valid"));
        for change in [Change::begin(key.clone(), new, now), Change::end(key, attempt, paid, now)] {
            block_on(store.apply(change)).expect("it is written");
        }
        block_on(store.close());
    }

    /// So many notes of a key that was rejected with HTTP 401, as if it were reopened and sent again each time.
    pub(crate) fn add_notes(&self, key: &str, count: usize) {
        let store = SqliteStore::open(self.journal()).expect("it opens");
        let (key, now) = (IntentKey::new(key).expect("it is valid"), SystemTime::now());
        for _ in 0..count {
            let new = new_attempt(&store, self.sandbox.base_url());
            let attempt = new.attempt_id.clone();
            let mut refused = Failure::of_kind("rejected");
            refused.http_status = Some(401);
            for change in [
                Change::reopen(key.clone(), Some(&[401]), "ada", Some("fixed"), now),
                Change::begin(key.clone(), new, now),
                Change::end(key.clone(), attempt, Ending::Rejected(refused), now),
            ] {
                block_on(store.apply(change)).expect("it is written");
            }
        }
        block_on(store.close());
    }

    pub(crate) fn arm(&self, fault: Fault) {
        self.sandbox.gateway().arm(fault);
    }

    pub(crate) fn requests(&self) -> usize {
        self.sandbox.gateway().requests().len()
    }

    /// The transaction of the newest charge.
    pub(crate) fn last_id(&self) -> String {
        let ledger = self.sandbox.gateway().ledger();
        ledger.entries().last().expect("something was charged").transaction_id().to_string()
    }

    pub(crate) fn hold_responses(&self) -> Gate {
        self.sandbox.gateway().gate_after_commit(TOKENS)
    }

    /// A charge with this key whose response is held back.
    pub(crate) fn in_flight(&self, key: &str) -> (Running, Gate) {
        let gate = self.hold_responses();
        let running = self.charging(key, TOKEN_PAYMENT).start();
        block_on(gate.arrived());
        (running, gate)
    }

    pub(crate) fn show(&self, key: &str) -> Value {
        self.does(["journal", "show", key]).quiet(0).json()
    }

    /// A member of what `journal show` has for this key.
    pub(crate) fn shown(&self, key: &str, member: &str) -> Value {
        self.show(key)[member].clone()
    }

    pub(crate) fn show_text(&self, key: &str) -> String {
        self.does(["journal", "show", key, "--output", "text"]).stdout
    }

    /// An export of the whole journal.
    pub(crate) fn export(&self) -> String {
        self.journals("export").stdout
    }

    pub(crate) fn csv(&self, options: &str) -> String {
        self.journals(format!("export --format csv {options}")).stdout
    }

    /// A column of the whole export.
    pub(crate) fn column(&self, name: &str) -> Vec<String> {
        let csv = self.csv("");
        let mut rows = csv::Reader::from_reader(csv.as_bytes());
        let column = rows.headers().expect("a header").iter().position(|it| it == name).expect("it is there");
        rows.records().map(|row| row.expect("a row")[column].to_owned()).collect()
    }

    /// Says that the keys of these rows were sent.
    pub(crate) fn accept(&self, rows: impl AsRef<[u8]>) -> Ended {
        let file = self.write("sent.csv", rows);
        self.journals(format!("accept-history --by ada --sent {file}"))
    }

    /// `journal resolve --from` a file with this content.
    pub(crate) fn resolving(&self, content: impl AsRef<[u8]>) -> Run {
        let file = self.write("found.csv", content);
        self.run(format!("journal resolve --by Grace --from {file}"))
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

    /// A billing file with these rows under [`BILLING`].
    pub(crate) fn rows(&self, rows: impl AsRef<str>) {
        self.write("rows.csv", format!("{BILLING}\n{}", rows.as_ref()));
    }

    /// Rows of 1.01, 2.01 and so on with these tokens, and the keys k1, k2 and so on.
    pub(crate) fn tokens(&self, tokens: &[&str]) {
        let mut rows = String::new();
        for (number, token) in (1..).zip(tokens) {
            writeln!(rows, "k{number},{token},{number}.01,false,order {number}").expect("a text");
        }
        self.rows(rows);
    }

    pub(crate) fn good(&self, count: usize) {
        self.tokens(&vec!["tok_approved"; count]);
    }

    /// A billing run of the file.
    pub(crate) fn billing(&self, options: &str) -> Run {
        self.run(format!("batch run {} {options}", self.path("rows.csv")))
    }

    pub(crate) fn bills(&self, options: &str) -> Ended {
        self.billing(options).end()
    }

    /// A run with this many rows at the gate.
    pub(crate) fn billing_in_flight(&self, options: &str, gate: &Gate, rows: usize) -> Running {
        let running = self.billing(options).start();
        block_on(gate.arrivals(rows));
        running
    }

    /// The lines of a results file.
    pub(crate) fn results(&self, name: &str) -> Vec<Value> {
        self.read(name).lines().map(|line| serde_json::from_str(line).expect("an object")).collect()
    }

    /// The references and amounts of all charges. Checks that none is there twice.
    #[track_caller]
    pub(crate) fn charged(&self) -> BTreeSet<(String, String)> {
        let ledger = self.sandbox.gateway().ledger();
        let charged: Vec<_> = ledger
            .charged()
            .map(|entry| (entry.reference_no.clone().unwrap_or_default(), entry.amount.to_string()))
            .collect();
        let distinct: BTreeSet<_> = charged.iter().cloned().collect();
        assert_eq!(distinct.len(), charged.len(), "charged twice: {charged:?}");
        distinct
    }
}

/// The first attempt of [`TOKEN_PAYMENT`].
fn new_attempt(store: &SqliteStore, service: &str) -> NewAttempt {
    let payment = TokenTransaction::from_json(TOKEN_PAYMENT.as_bytes()).expect("it is valid");
    NewAttempt {
        begin: Begin::Plain,
        service: service.to_owned(),
        request: (&payment).into(),
        attempt_id: AttemptId::new(),
        owner: store.owner().clone(),
    }
}
