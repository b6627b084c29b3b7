use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use zeroize::Zeroizing;

use crate::check::{Check, Entry, Invalid};
use crate::json_tokens::leaf_texts;
use crate::json_writer::{self, Length, ObjectWriter, quoted};
use crate::payment::{Payment, payment_accessors, payment_setters};
use crate::payment_draft::PaymentDraft;
use crate::redact::Redacted;
use crate::secret::SecretText;
use crate::violation::printable_field_name;
use crate::{
    Amount, ConvenienceFee, Payer, RequestMembers, SecretBytes, SuggestedMode, TransactionType,
    ValidationError, Violation,
};

/// A checked request to take a payment from a bank account: `POST /transaction` with the mode `ACH`.
///
/// The interface does not show which fields carry the account details, and this SDK invents no names: the
/// caller names them, and they are sent verbatim. All of them are treated as secrets: set to zero on drop and
/// never shown.
///
/// # Examples
///
/// ```
/// use payments_model::{AchTransaction, Amount, ConvenienceFee, Payer, TransactionType};
///
/// let payer = Payer {
///     customer_name: "A. Payer",
///     email: "payer@example.com",
///     country_code: "+1",
///     phone_number: "555-0100",
///     country: "US",
///     postal_code: "94105",
///     ip_address: "203.0.113.7",
/// };
/// let sale = AchTransaction::builder(
///     Amount::from_cents(25_00),
///     TransactionType::Sale,
///     ConvenienceFee::Inactive,
///     payer,
/// )
/// // The names come from the merchant's agreement with the service, not from this SDK.
/// .account_field("RoutingNumber", "021000021")
/// .account_field("AccountNumber", "000123456789")
/// .build()?;
/// assert_eq!(sale.account_field_names().collect::<Vec<_>>(), ["RoutingNumber", "AccountNumber"]);
/// # Ok::<(), payments_model::ValidationError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct AchTransaction {
    payment: Payment,
    account_fields: Vec<AccountField>,
    length: Length,
}

impl AchTransaction {
    /// Begins a request with everything that is known to be required. Nothing is checked before
    /// [`build`](AchTransactionBuilder::build).
    pub fn builder(
        amount: Amount,
        transaction_type: TransactionType,
        convenience_fee: ConvenienceFee,
        payer: Payer<'_>,
    ) -> AchTransactionBuilder<'_> {
        let mut payment = PaymentDraft::new(amount, transaction_type, convenience_fee, payer);
        payment.suggested_mode = Entry::text(SuggestedMode::ACH);
        AchTransactionBuilder { draft: AchDraft { payment, account_fields: Vec::new() } }
    }

    /// Reads a request out of a JSON object with the interface's field names. Every field that the interface
    /// does not name is an account field and is kept verbatim, whatever its JSON type.
    ///
    /// # Errors
    ///
    /// With every rule of the builder that the document breaks, in the same words; and for each of the
    /// interface's fields that is repeated, `null` or of another JSON type than the interface names. `body`
    /// if it is no JSON object. Nothing was sent.
    pub fn from_json(document: &[u8]) -> Result<Self, ValidationError> {
        Self::from_members(&RequestMembers::read(document)?)
    }

    /// The same from members that were read already.
    ///
    /// # Errors
    ///
    /// As [`from_json`](Self::from_json).
    pub fn from_members(members: &RequestMembers<'_>) -> Result<Self, ValidationError> {
        let mut draft = AchDraft::default();
        for (name, json) in members.as_slice() {
            if let Some(slot) = draft.payment.slot(name) {
                slot.put(*json);
            } else {
                let value = SecretText::new(json.as_str().to_owned());
                draft.account_fields.push(AccountField::new(&**name, value));
            }
        }
        draft.check()
    }

    /// The request as JSON: the interface's fields in the order of its table, the account fields where a card
    /// transaction has its card fields, without the fields that are not set.
    pub fn encode(&self) -> SecretBytes {
        json_writer::encode(self.length, |out| self.write(out))
    }

    payment_accessors!();

    /// The names of the account fields, in the order given.
    pub fn account_field_names(&self) -> impl Iterator<Item = &str> {
        self.account_fields.iter().map(|field| field.name.as_str())
    }

    /// Every secret of this request, for scrubbing an answer that may echo it with [`scrub`](crate::scrub): the
    /// texts and numbers in the values of the account fields, without JSON's quotes and escapes.
    pub fn secrets(&self) -> Vec<&str> {
        self.account_fields.iter().flat_map(|field| &field.texts).map(|text| text.as_str()).collect()
    }

    fn write(&self, out: &mut ObjectWriter<'_>) {
        let Self { payment: Payment { head, tail }, account_fields, length: _ } = self;
        head.write(out);
        for AccountField { name, json, texts: _ } in account_fields {
            out.foreign(name, json.as_str());
        }
        tail.write(out);
    }
}

impl fmt::Debug for AchTransaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { payment: Payment { head, tail }, account_fields, length: _ } = self;
        f.debug_struct("AchTransaction")
            .field("amount", &head.amount)
            .field("transaction_type", &tail.transaction_type)
            .field("convenience_fee", &tail.convenience_fee)
            .field("suggested_mode", &tail.suggested_mode)
            .field("account_fields", account_fields)
            .field("billing", &head.billing)
            .field("shipping", &head.shipping)
            .field("shipping_same_as_billing", &head.shipping_same_as_billing)
            .field("payment_tokenization", &tail.payment_tokenization)
            .field("ip_address", &Redacted)
            .finish()
    }
}

/// An [`AchTransaction`] before it is checked.
#[must_use]
pub struct AchTransactionBuilder<'a> {
    draft: AchDraft<'a>,
}

impl<'a> AchTransactionBuilder<'a> {
    payment_setters!();

    /// Adds one account field, sent verbatim as a JSON string under the caller's own name.
    ///
    /// [`build`](Self::build) refuses a name that is blank, is used twice, or is the name of a field of the
    /// interface in any case: some services read names without regard to case and would take `amount` for
    /// `Amount`.
    pub fn account_field(mut self, name: impl Into<String>, text: &str) -> Self {
        self.draft.account_fields.push(AccountField::new(name, quoted(text)));
        self
    }

    /// Checks everything. No account field is required, because the interface shows none.
    ///
    /// # Errors
    ///
    /// With all violations at once. Nothing was sent.
    pub fn build(self) -> Result<AchTransaction, ValidationError> {
        self.draft.check()
    }
}

impl fmt::Debug for AchTransactionBuilder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { draft: _ } = self;
        f.debug_struct("AchTransactionBuilder").finish_non_exhaustive()
    }
}

/// One field that the caller named; its value is kept as JSON text.
#[derive(Clone, PartialEq, Eq)]
struct AccountField {
    name: String,
    json: SecretText,
    /// What `json` holds, ready to be looked for in an answer.
    texts: Vec<Zeroizing<String>>,
}

impl AccountField {
    fn new(name: impl Into<String>, json: SecretText) -> Self {
        let texts = leaf_texts(json.as_str());
        Self { name: name.into(), json, texts }
    }
}

impl fmt::Debug for AccountField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, json, texts: _ } = self;
        write!(f, "{}: {json:?}", printable_field_name(name))
    }
}

/// The request before it is checked: a builder and a JSON document both end here.
#[derive(Default)]
struct AchDraft<'a> {
    payment: PaymentDraft<'a>,
    account_fields: Vec<AccountField>,
}

impl AchDraft<'_> {
    fn check(self) -> Result<AchTransaction, ValidationError> {
        let Self { mut payment, account_fields } = self;
        let mut check = Check::default();
        let head = payment.check_head(&mut check);
        let tail = payment.check_tail(&mut check, |mode| {
            if mode.is_ach() { Ok(()) } else { Err("must be ACH for an ACH transaction") }
        });
        let names = check_names(&account_fields, &mut check);
        let request = (|| {
            names?;
            Ok(AchTransaction {
                payment: Payment { head: head?, tail: tail? },
                account_fields,
                length: Length::default(),
            })
        })();
        let (request, length) = check.finish(request, AchTransaction::write)?;
        Ok(AchTransaction { length, ..request })
    }
}

fn check_names(fields: &[AccountField], check: &mut Check) -> Result<(), Invalid> {
    let mut seen = HashSet::new();
    let mut outcome = Ok(());
    for AccountField { name, json: _, texts: _ } in fields {
        let rule = if name.trim().is_empty() {
            "must have a name that is not blank"
        } else if MODELLED_NAMES.iter().any(|modelled| modelled.eq_ignore_ascii_case(name)) {
            "is a field of the interface, not an account field"
        } else if !seen.insert(name.as_str()) {
            "appears more than once"
        } else {
            continue;
        };
        outcome = Err(check.refuse(Violation::of_named(name, rule)));
    }
    outcome
}

/// The fields of the interface's card transaction table.
const MODELLED_NAMES: [&str; 27] = [
    "Amount",
    "BillingAddress",
    "BillingCity",
    "BillingCountry",
    "BillingCountryCode",
    "BillingCustomerName",
    "BillingEmail",
    "BillingPhoneNumber",
    "BillingPostalCode",
    "BillingState",
    "ShippingSameAsBilling",
    "ShippingCustomerName",
    "ShippingEmail",
    "ShippingPhoneNumber",
    "ShippingAddress",
    "ShippingCountry",
    "ShippingCity",
    "ShippingState",
    "ShippingPostalCode",
    "CardNumber",
    "Cvv",
    "ExpiryDate",
    "SuggestedMode",
    "ConvenienceFeeActive",
    "TransactionType",
    "PaymentTokenization",
    "IpAddress",
];
