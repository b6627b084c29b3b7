//! The sandbox in another process, and its admin interface.

use std::collections::{BTreeMap, HashMap};
use std::io;

use serde_json::{Value, json};

use crate::fault_plan::FaultPlan;
use crate::http::Http;
use crate::support::{Running, payments, started};

/// A sandbox process, killed when this is dropped.
pub(crate) struct Service {
    _running: Running,
    admin: Http,
    admin_url: String,
    pub(crate) base_url: String,
    pub(crate) api_key: String,
}

/// A transaction in the service's ledger.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) transaction_id: String,
    pub(crate) cents: u64,
    pub(crate) is_declined: bool,
}

impl Service {
    pub(crate) fn start() -> Self {
        let (running, ready) = started(payments("sandbox --log off"));
        let [admin_url, base_url, api_key] =
            ["admin_url", "base_url", "api_key"].map(|name| ready[name].as_str().unwrap().to_owned());
        let admin = Http::connect(&admin_url, "").unwrap();
        Self { _running: running, admin, admin_url, base_url, api_key }
    }

    fn get(&mut self, path: &str) -> Value {
        self.call(path, |admin| admin.get(path))
    }

    fn post(&mut self, path: &str, body: &Value) -> Value {
        self.call(path, |admin| admin.post(path, &body.to_string()))
    }

    fn call(&mut self, path: &str, send: impl Fn(&mut Http) -> io::Result<(u16, Value)>) -> Value {
        let result = send(&mut self.admin).or_else(|_| {
            // The sandbox closes a connection that was idle for long.
            self.admin = Http::connect(&self.admin_url, "")?;
            send(&mut self.admin)
        });
        let (status, response) = result.unwrap();
        assert_eq!(status, 200, "{path}: {response}");
        response
    }

    /// Arms the plan's faults, and before them one that never fires and only counts.
    pub(crate) fn arm(&mut self, plan: &FaultPlan) {
        let counter = json!({"operation": "token-transaction", "phase": "before_commit", "kind": "close", "skip": u32::MAX});
        for fault in std::iter::once(counter).chain(plan.faults()) {
            self.post("/faults", &fault);
        }
    }

    /// The number of charges received.
    pub(crate) fn received(&mut self) -> usize {
        let seen = self.get("/faults")["faults"][0]["seen"].as_u64().unwrap();
        usize::try_from(seen).unwrap()
    }

    /// Lets the requests with a late fault take effect. Returns their number.
    pub(crate) fn deliver_late(&mut self) -> u64 {
        self.post("/deliver-late", &json!({}))["delivered"].as_u64().unwrap()
    }

    /// For each reference, the requests that contained it, each with the place in the plan of the fault that fired.
    ///
    /// A fault after the commit waits for a request that is not refused, so it may fire for a later request than planned.
    pub(crate) fn transmissions(&mut self) -> HashMap<String, Vec<Option<usize>>> {
        let mut transmissions: HashMap<String, Vec<Option<usize>>> = HashMap::new();
        let requests = self.get("/requests?operation=token-transaction");
        for request in requests["requests"].as_array().unwrap() {
            let reference = request["fields"]["ReferenceNo"].as_str().unwrap().to_owned();
            // Such as "after_commit reset on token-transaction, from request 7".
            let fired = request["fault"].as_str().map(|fault| match fault.rsplit_once("from request ") {
                Some((_, first)) => first.parse::<usize>().unwrap() - 1,
                None => 0,
            });
            transmissions.entry(reference).or_default().push(fired);
        }
        transmissions
    }

    /// The ledger's transactions, by reference.
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

/// Parses an amount that a document has as a number or a string.
pub(crate) fn cents(amount: &Value) -> u64 {
    let text = amount.as_str().map_or_else(|| amount.to_string(), str::to_owned);
    let (whole, decimals) = text.split_once('.').unwrap_or((&text, ""));
    assert!(decimals.len() <= 2, "{text}");
    format!("{whole}{decimals:0<2}").parse().unwrap_or_else(|_| panic!("not an amount: {text}"))
}
