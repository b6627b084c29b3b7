use std::collections::HashMap;
use std::fmt;

use payments_model::{CustomerId, CustomerRecord};
use serde_json::value::RawValue;

use crate::document_reader::DocumentReader;
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
        Self::read(json).map_err(DocumentError::new)
    }

    fn read(json: &str) -> Result<Self, Vec<String>> {
        let mut reader = DocumentReader::new(json)?;
        let fixtures = Self {
            customers: read_all(&mut reader, "customers", customer_document::read, |(id, _)| {
                Some(id.as_str())
            }),
            tokens: read_all(&mut reader, "tokens", token_document::read, |token| {
                Some(token.token_id.as_str())
            }),
            transactions: read_all(&mut reader, "transactions", transaction_document::read, |entry| {
                Some(entry.transaction_id().as_str())
            }),
            faults: read_all(&mut reader, "faults", fault_document::read, |_| None),
        };
        reader.finish()?;
        Ok(fixtures)
    }
}

/// The elements of one list. Their problems are told with their places, and never by an id, which may be anything.
fn read_all<T>(
    reader: &mut DocumentReader<'_>,
    list: &str,
    read: impl Fn(&str) -> Result<T, Vec<String>>,
    id: impl Fn(&T) -> Option<&str>,
) -> Vec<T> {
    let Some(json) = reader.take(list) else { return Vec::new() };
    let Ok(elements) = serde_json::from_str::<Vec<&RawValue>>(json.get()) else {
        reader.problem(list, "must be a list");
        return Vec::new();
    };
    let mut all = Vec::with_capacity(elements.len());
    let mut places = HashMap::new();
    for (index, element) in elements.iter().enumerate() {
        match read(element.get()) {
            Ok(value) => {
                if let Some(id) = id(&value)
                    && let Some(first) = places.insert(id.to_owned(), index)
                {
                    reader.problem(
                        &format!("{list}[{index}]:"),
                        &format!("its id stands in {list}[{first}] too"),
                    );
                }
                all.push(value);
            }
            Err(found) => {
                for problem in found {
                    reader.problem(&format!("{list}[{index}]:"), &problem);
                }
            }
        }
    }
    all
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
