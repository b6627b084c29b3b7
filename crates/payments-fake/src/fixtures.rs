//! The initial content of a gateway: customers, tokens and transactions as documents.

use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

use indexmap::IndexMap;
use payments_model::{CustomerId, CustomerRecord, GatewayCustomerId, MaskedCard, TokenId, TransactionId};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::document::{
    self, Code, IdOfCustomer, IdOfOwner, IdOfToken, IdOfTransaction, Object, SmallNumber, Text,
};
use crate::fault_document::FaultDocument;
use crate::test_values::{self, CUSTOMER, TestEffect, TestField, TestValue};
use crate::transaction::{COUNTRY_ID, TransactionDocument};
use crate::{DocumentError, Fault, LedgerEntry};

/// The initial content of a gateway: customers, tokens, transactions and armed faults, from one JSON document.
///
/// It can also be read from the output of [`Tenant::state_json`](crate::Tenant::state_json).
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
pub struct Fixtures(pub(crate) FixturesDocument);

impl Fixtures {
    /// Reads the document, strictly: an unknown field is an error.
    ///
    /// - A customer is a record of the interface; `CustomerId` is required.
    /// - A token has `TokenId` (required), `GatewayCustomerId`, `CardNumber` (masked at once), `TransactionId` and
    ///   `Declines`.
    /// - A transaction is a record of the interface (`TransactionId` and `Amount` are required) with `Operation`,
    ///   `ReferenceNo`, `Description`, `TokenId`, `Voided`, `Declined`, `VoidReason` and `ProcessedAt`.
    /// - A fault is as in [`Fault::from_json`].
    ///
    /// # Errors
    ///
    /// The first problem found, and its place.
    pub fn from_json(json: &str) -> Result<Self, DocumentError> {
        document::read(json).map(Self)
    }
}

/// Reads the documents that follow each other in a text, as [`Fixtures::from_json`] reads one.
///
/// # Errors
///
/// The first problem found. A problem with the JSON or a field names the number of its document if that is not the first.
pub fn all_fixtures(json: &str) -> Result<Vec<Fixtures>, DocumentError> {
    Ok(document::read_all(json)?.into_iter().map(Fixtures).collect())
}

/// Private, because an error of serde alone may quote a value.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct FixturesDocument {
    #[serde(deserialize_with = "records::<CustomerDocument, _>")]
    pub(crate) customers: IndexMap<CustomerId, CustomerRecord>,
    #[serde(deserialize_with = "records::<TokenDocument, _>")]
    pub(crate) tokens: IndexMap<TokenId, StoredToken>,
    #[serde(deserialize_with = "records::<TransactionDocument, _>")]
    pub(crate) transactions: IndexMap<TransactionId, Arc<LedgerEntry>>,
    #[serde(deserialize_with = "faults")]
    pub(crate) faults: Vec<Fault>,
}

fn faults<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Fault>, D::Error> {
    let faults = Vec::<Object<FaultDocument>>::deserialize(deserializer)?;
    Ok(faults.into_iter().map(|Object(FaultDocument(fault))| fault).collect())
}

/// A record in a document.
pub(crate) trait RecordDocument {
    type Id: Hash + Eq;
    type Record;

    fn into_record(self) -> Result<(Self::Id, Self::Record), &'static str>;
}

/// A record with its id. It is converted as soon as its document is read, so that a problem has its place.
struct Identified<D: RecordDocument>(D::Id, D::Record);

impl<'de, D: RecordDocument + Deserialize<'de>> Deserialize<'de> for Identified<D> {
    fn deserialize<R: Deserializer<'de>>(deserializer: R) -> Result<Self, R::Error> {
        let Object(document) = Object::<D>::deserialize(deserializer)?;
        let (id, record) = document.into_record().map_err(R::Error::custom)?;
        Ok(Self(id, record))
    }
}

fn records<'de, D, R>(deserializer: R) -> Result<IndexMap<D::Id, D::Record>, R::Error>
where
    D: RecordDocument + Deserialize<'de>,
    R: Deserializer<'de>,
{
    let list = Vec::<Identified<D>>::deserialize(deserializer)?;
    let mut records = IndexMap::with_capacity(list.len());
    for (index, Identified(id, record)) in list.into_iter().enumerate() {
        // Not the id, which may be a secret.
        if let (first, Some(_)) = records.insert_full(id, record) {
            return Err(R::Error::custom(format_args!("[{index}]: has the same id as [{first}]")));
        }
    }
    Ok(records)
}

/// One record as a document, and its id.
pub(crate) fn record<'de, D>(json: &'de str) -> Result<(D::Id, D::Record), DocumentError>
where
    D: RecordDocument + Deserialize<'de>,
{
    document::read(json).map(|Identified::<D>(id, record)| (id, record))
}

/// Records hold personal data, so only their counts are shown.
impl fmt::Debug for Fixtures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FixturesDocument { customers, tokens, transactions, faults } = &self.0;
        f.debug_struct("Fixtures")
            .field("customers", &customers.len())
            .field("tokens", &tokens.len())
            .field("transactions", &transactions.len())
            .field("faults", faults)
            .finish()
    }
}

/// A customer in a document. A lookup returns every field of the interface, so an omitted field is empty.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "PascalCase")]
pub(crate) struct CustomerDocument {
    customer_id: IdOfCustomer,
    customer_name: Option<Text>,
    email: Option<Text>,
    phone_number: Option<Text>,
    country_id: Option<SmallNumber>,
    country_code: Option<Code>,
    address: Option<Text>,
    city: Option<Text>,
    postal_code: Option<Code>,
    state_id: Option<SmallNumber>,
}

impl RecordDocument for CustomerDocument {
    type Id = CustomerId;
    type Record = CustomerRecord;

    fn into_record(self) -> Result<(CustomerId, CustomerRecord), &'static str> {
        let IdOfCustomer(id) = self.customer_id;
        let mut record = CustomerRecord::new();
        record.customer_id = id.clone().into();
        record.customer_name = self.customer_name.unwrap_or_default().0.into();
        record.email = self.email.unwrap_or_default().0.into();
        record.phone_number = self.phone_number.unwrap_or_default().0.into();
        record.country_id = i64::from(self.country_id.unwrap_or_default().0).into();
        record.country_code = self.country_code.unwrap_or_default().0.into();
        record.address = self.address.unwrap_or_default().0.into();
        record.city = self.city.unwrap_or_default().0.into();
        record.postal_code = self.postal_code.unwrap_or_default().0.into();
        record.state_id = i64::from(self.state_id.unwrap_or_default().0).into();
        Ok((id, record))
    }
}

/// A token that was created by a payment with `PaymentTokenization`, or by a test.
///
/// The interface does not show how a program learns of it; a test reads [`FakeGateway::tokens`](crate::FakeGateway::tokens).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
#[non_exhaustive]
pub struct StoredToken {
    /// The `TokenId` of a token payment.
    pub token_id: TokenId,
    /// The customer who owns it: the only `GatewayCustomerId` it can be charged with.
    pub gateway_customer_id: GatewayCustomerId,
    /// The card it was created from, masked.
    #[serde(rename = "CardNumber")]
    pub card: MaskedCard,
    /// The payment that created it, unless a test did.
    pub transaction_id: Option<TransactionId>,
    /// Whether every charge of it is declined, because of its card or because a test chose so.
    pub declines: bool,
}

/// A token in a document. The interface does not show such a record, so the fake defines its own.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "PascalCase")]
pub(crate) struct TokenDocument {
    token_id: IdOfToken,
    gateway_customer_id: Option<IdOfOwner>,
    /// Masked by [`StoredToken`].
    card_number: Option<String>,
    transaction_id: Option<IdOfTransaction>,
    #[serde(default)]
    declines: bool,
}

impl RecordDocument for TokenDocument {
    type Id = TokenId;
    type Record = StoredToken;

    /// Masks the card number. If it is a test card whose payments are declined, charges of the token are declined too.
    fn into_record(self) -> Result<(TokenId, StoredToken), &'static str> {
        let number = self.card_number.as_deref().unwrap_or(test_values::VISA);
        let row = TestValue::find(TestField::CardNumber, &number.replace([' ', '-'], ""));
        let card_declines =
            row.is_some_and(|row| matches!(row.effect, TestEffect::Declines | TestEffect::DeclinesAsToken));
        let IdOfToken(token_id) = self.token_id;
        let token = StoredToken {
            token_id: token_id.clone(),
            gateway_customer_id: self.gateway_customer_id.map_or_else(seeded_owner, |IdOfOwner(owner)| owner),
            card: MaskedCard::new(number),
            transaction_id: self.transaction_id.map(|IdOfTransaction(id)| id),
            declines: self.declines || card_declines,
        };
        Ok((token_id, token))
    }
}

impl RecordDocument for TransactionDocument {
    type Id = TransactionId;
    type Record = Arc<LedgerEntry>;

    fn into_record(self) -> Result<(TransactionId, Arc<LedgerEntry>), &'static str> {
        let entry = self.into_entry()?;
        Ok((entry.transaction_id().clone(), Arc::new(entry)))
    }
}

/// The customer that always exists, who is also the payer of every token payment.
pub(crate) fn seeded_customer() -> CustomerRecord {
    let mut record = CustomerRecord::new();
    record.customer_id = CUSTOMER.parse::<CustomerId>().expect("a test value is a valid id").into();
    record.customer_name = "Grace Example".to_owned().into();
    record.email = "grace@example.com".to_owned().into();
    record.phone_number = "555-0100".to_owned().into();
    record.country_id = COUNTRY_ID.into();
    record.country_code = "+1".to_owned().into();
    record.address = "1 Example Street".to_owned().into();
    record.city = "Exampleton".to_owned().into();
    record.postal_code = "94105".to_owned().into();
    record.state_id = 5.into();
    record
}

/// The owner of the named tokens and of every token created from a card.
pub(crate) fn seeded_owner() -> GatewayCustomerId {
    test_values::GATEWAY_CUSTOMER.parse().expect("a test value is a valid id")
}
