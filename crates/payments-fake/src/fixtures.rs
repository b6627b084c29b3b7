use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::fmt;

use payments_model::{CustomerId, CustomerRecord, printable_field_name};
use serde_json::value::RawValue;

use crate::{
    DocumentError, Fault, LedgerEntry, StoredToken, customer_document, fault_document, token_document,
    transaction_document,
};

/// What a gateway holds before the first request: customers, tokens, transactions and armed faults, out of one JSON
/// document.
///
/// What [`Tenant::state_json`](crate::Tenant::state_json) writes can be read here.
///
/// ```
/// use payments_fake::{FakeGateway, Fixtures};
///
/// let fixtures = Fixtures::from_json(
///     r#"{
///         "customers": [{"CustomerId": "cus_7", "CustomerName": "Ada Example"}],
///         "tokens": [{"TokenId": "tok_7", "GatewayCustomerId": "gc_7", "CardNumber": "************4242"}],
///         "transactions": [{"TransactionId": "txn_7", "Amount": 10.50, "TransactionType": 2}],
///         "faults": [{"operation": "void", "phase": "after_commit", "kind": "close", "skip": 1}]
///     }"#,
/// )?;
/// let gateway = FakeGateway::builder().ignore_unfired_faults().build();
/// gateway.load(&fixtures);
/// # Ok::<(), payments_fake::DocumentError>(())
/// ```
#[derive(Clone, Default)]
pub struct Fixtures {
    pub(crate) customers: Vec<(CustomerId, CustomerRecord)>,
    pub(crate) tokens: Vec<StoredToken>,
    pub(crate) transactions: Vec<LedgerEntry>,
    pub(crate) faults: Vec<Fault>,
}

impl Fixtures {
    /// Reads the document, strictly.
    ///
    /// - A customer is the interface's record; `CustomerId` is required.
    /// - A token has `TokenId` (required), `GatewayCustomerId`, `CardNumber` (masked at once), `TransactionId` and
    ///   `Declines`.
    /// - A transaction is the interface's record, `TransactionId` and `Amount` required, with `Operation`, `ReferenceNo`,
    ///   `Description`, `TokenId`, `Voided`, `Declined`, `VoidReason` and `ProcessedAt`.
    /// - A fault is as in [`Fault::from_json`].
    ///
    /// # Errors
    ///
    /// Everything that is wrong anywhere in it, each with its place.
    pub fn from_json(json: &str) -> Result<Self, DocumentError> {
        let mut problems = Vec::new();
        let fixtures = Self::read(json, &mut problems);
        if problems.is_empty() { Ok(fixtures) } else { Err(DocumentError::new(problems)) }
    }

    fn read(json: &str, problems: &mut Vec<String>) -> Self {
        let Ok(mut members) = serde_json::from_str::<BTreeMap<Cow<'_, str>, &RawValue>>(json) else {
            problems.push(not_an_object(json));
            return Self::default();
        };
        let mut list = |name: &'static str| members.remove(name);
        let (customers, tokens) = (list("customers"), list("tokens"));
        let (transactions, faults) = (list("transactions"), list("faults"));
        let fixtures = Self {
            customers: read_all(
                "customers",
                customers,
                customer_document::read,
                |(id, _)| Some(id.as_str()),
                problems,
            ),
            tokens: read_all(
                "tokens",
                tokens,
                token_document::read,
                |token| Some(token.token_id.as_str()),
                problems,
            ),
            transactions: read_all(
                "transactions",
                transactions,
                transaction_document::read,
                |entry| Some(entry.transaction_id().as_str()),
                problems,
            ),
            faults: read_all("faults", faults, fault_document::read, |_| None, problems),
        };
        problems.extend(members.keys().map(|name| {
            let name = printable_field_name(name);
            format!("{name} is none of customers, tokens, transactions and faults")
        }));
        fixtures
    }
}

/// The elements of one list, with their problems under their places.
fn read_all<T>(
    list: &str,
    json: Option<&RawValue>,
    read: impl Fn(&str) -> Result<T, Vec<String>>,
    id: impl Fn(&T) -> Option<&str>,
    problems: &mut Vec<String>,
) -> Vec<T> {
    let Some(json) = json else { return Vec::new() };
    let Ok(elements) = serde_json::from_str::<Vec<&RawValue>>(json.get()) else {
        problems.push(format!("{list} must be a list"));
        return Vec::new();
    };
    let mut all = Vec::with_capacity(elements.len());
    for (index, element) in elements.iter().enumerate() {
        match read(element.get()) {
            Ok(value) => all.push(value),
            Err(found) => problems.extend(found.iter().map(|problem| format!("{list}[{index}]: {problem}"))),
        }
    }
    let mut seen = HashSet::new();
    let repeated = all.iter().filter_map(&id).filter(|id| !seen.insert(*id));
    problems.extend(repeated.map(|id| format!("{list}: the id {id} stands twice")));
    all
}

/// With the place, but without the parser's words, which quote the document.
fn not_an_object(json: &str) -> String {
    match serde_json::from_str::<&RawValue>(json) {
        Ok(_) => "it must be a JSON object".to_owned(),
        Err(error) => {
            format!("it must be JSON; it stops being so at line {}, column {}", error.line(), error.column())
        }
    }
}

/// Records hold personal data: only their numbers are shown.
impl fmt::Debug for Fixtures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { customers, tokens, transactions, faults } = self;
        f.debug_struct("Fixtures")
            .field("customers", &customers.len())
            .field("tokens", &tokens.len())
            .field("transactions", &transactions.len())
            .field("faults", faults)
            .finish()
    }
}
