//! The sandbox in another process, and what its admin interface knows.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::http::Http;
use crate::weather::Weather;

/// A sandbox that ends with this value.
pub(crate) struct Service {
    process: Child,
    _stdout: BufReader<ChildStdout>,
    admin: Http,
    admin_url: String,
    pub(crate) base_url: String,
    pub(crate) api_key: String,
}

/// What the service did for one reference.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) transaction_id: String,
    pub(crate) cents: u64,
    pub(crate) is_declined: bool,
}

impl Service {
    pub(crate) fn start() -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_payments"))
            .args(["sandbox", "--log", "off"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(process.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap();
        let text = |name: &str| ready[name].as_str().unwrap().to_owned();
        let (admin_url, base_url, api_key) = (text("admin_url"), text("base_url"), text("api_key"));
        let admin = Http::connect(&admin_url, "").unwrap();
        Self { process, _stdout: stdout, admin, admin_url, base_url, api_key }
    }

    fn get(&mut self, path: &str) -> Value {
        self.ask(path, |admin| admin.get(path))
    }

    fn post(&mut self, path: &str, body: &Value) -> Value {
        self.ask(path, |admin| admin.post(path, &body.to_string()))
    }

    fn ask(&mut self, path: &str, ask: impl Fn(&mut Http) -> io::Result<(u16, Value)>) -> Value {
        let answered = ask(&mut self.admin).or_else(|_| {
            // A connection on which nothing was asked for long is closed.
            self.admin = Http::connect(&self.admin_url, "")?;
            ask(&mut self.admin)
        });
        let (status, answer) = answered.unwrap();
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    /// Arms what is to go wrong, and one that never strikes and only counts.
    pub(crate) fn arm(&mut self, weather: &Weather) {
        let counter = json!({"operation": "token-transaction", "phase": "before_commit", "kind": "close", "skip": u32::MAX});
        for fault in std::iter::once(counter).chain(weather.faults()) {
            self.post("/faults", &fault);
        }
    }

    /// How many charges it has received.
    pub(crate) fn received(&mut self) -> usize {
        let seen = self.get("/faults")["faults"][0]["seen"].as_u64().unwrap();
        usize::try_from(seen).unwrap()
    }

    /// Does what requests asked for whose senders were told nothing; says how many.
    pub(crate) fn deliver_late(&mut self) -> u64 {
        self.post("/deliver-late", &json!({}))["delivered"].as_u64().unwrap()
    }

    /// For each reference the numbers of the requests in which it was received.
    pub(crate) fn transmissions(&mut self) -> HashMap<String, Vec<usize>> {
        let mut transmissions: HashMap<String, Vec<usize>> = HashMap::new();
        let requests = self.get("/requests?operation=token-transaction");
        for (number, request) in requests["requests"].as_array().unwrap().iter().enumerate() {
            let reference = request["fields"]["ReferenceNo"].as_str().unwrap().to_owned();
            transmissions.entry(reference).or_default().push(number);
        }
        transmissions
    }

    /// The books, by reference.
    pub(crate) fn ledger(&mut self) -> BTreeMap<String, Vec<Entry>> {
        let mut ledger: BTreeMap<String, Vec<Entry>> = BTreeMap::new();
        for entry in self.get("/state")["transactions"].as_array().unwrap() {
            let text = |name: &str| entry[name].as_str().unwrap().to_owned();
            ledger.entry(text("ReferenceNo")).or_default().push(Entry {
                transaction_id: text("TransactionId"),
                cents: cents(&entry["Amount"]),
                is_declined: entry["Declined"].as_bool().unwrap(),
            });
        }
        ledger
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// An amount as a document says it, a number or a text.
pub(crate) fn cents(amount: &Value) -> u64 {
    let text = amount.as_str().map_or_else(|| amount.to_string(), str::to_owned);
    let (whole, decimals) = text.split_once('.').unwrap_or((&text, ""));
    assert!(decimals.len() <= 2, "{text}");
    format!("{whole}{decimals:0<2}").parse().unwrap_or_else(|_| panic!("no amount: {text}"))
}
