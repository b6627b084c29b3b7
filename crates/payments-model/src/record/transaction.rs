use std::fmt;

use serde::{Deserialize, Serialize};

use super::fields::{code, record, text};
use crate::json::Json;
use crate::{Amount, MaskedCard, TransactionId};

record! {
    /// A transaction, as a card payment, an ACH payment or a lookup returns it.
    ///
    /// Only the identifier is required when read, because a malformed field must not turn a successful payment into an error.
    /// Identifiers, codes and amounts may be strings or numbers. Absent, `null` and empty stay distinct.
    ///
    /// `Debug` shows identifiers, amounts, codes and the masked card number, and no personal data.
    pub struct TransactionRecord {
        => {
            /// `TransactionId`, the only required field.
            transaction_id: TransactionId = "TransactionId";
        }
        /// `BaseAmount`. The interface does not document how it relates to `Amount`. Nothing is derived from either.
        shown base_amount: Amount = "BaseAmount", Json::amount;
        /// `Amount`. It is not compared with the amount of the request.
        shown amount: Amount = "Amount", Json::amount;
        /// `CardNumber`. At most the last four digits are kept, even if the service sends more.
        shown card_number: MaskedCard = "CardNumber", masked_card;
        /// `BillingEmail`.
        personal billing_email: String = "BillingEmail", text;
        /// `BillingCustomerName`.
        personal billing_customer_name: String = "BillingCustomerName", text;
        /// `BillingAddress`. May be empty.
        personal billing_address: String = "BillingAddress", text;
        /// `BillingCity`. May be empty.
        personal billing_city: String = "BillingCity", text;
        /// `BillingState`. May be null.
        personal billing_state: String = "BillingState", text;
        /// `BillingPostalCode`. May be empty.
        personal billing_postal_code: String = "BillingPostalCode", code;
        /// `BillingCountry`. A numeric identifier, although a request has a text. The interface does not document what the
        /// numbers mean.
        shown billing_country: i64 = "BillingCountry", Json::integer;
        /// `BillingCountryCode`.
        personal billing_country_code: String = "BillingCountryCode", code;
        /// `BillingPhoneNumber`.
        personal billing_phone_number: String = "BillingPhoneNumber", text;
        /// `TransactionType`. 1 is a sale, 2 an authorization. Other numbers are possible.
        shown transaction_type: TransactionTypeCode = "TransactionType", transaction_type;
        /// `Status`. A code whose meaning the interface does not document. It never decides whether a payment succeeded.
        shown status: String = "Status", code;
    }
}

record! {
    /// The result of a token payment or a void. In the interface it has only a transaction identifier.
    ///
    /// A void may return a new identifier, different from that of the voided transaction.
    pub struct TransactionReceipt {
        => {
            /// `TransactionId`.
            transaction_id: TransactionId = "TransactionId";
        }
    }
}

/// The transaction type in a record. It is an open number, because values other than the two documented ones are possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TransactionTypeCode(i64);

impl TransactionTypeCode {
    /// A sale.
    pub const SALE: Self = Self(1);
    /// An authorization.
    pub const AUTH: Self = Self(2);

    /// The type with this number.
    pub const fn new(value: i64) -> Self {
        Self(value)
    }

    /// The number.
    pub const fn value(self) -> i64 {
        self.0
    }
}

impl fmt::Display for TransactionTypeCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

fn masked_card(json: Json<'_>) -> Option<MaskedCard> {
    match json.number() {
        Some(digits) => Some(MaskedCard::new(digits)),
        None => json.text().map(|text| MaskedCard::new(&text)),
    }
}

fn transaction_type(json: Json<'_>) -> Option<TransactionTypeCode> {
    json.integer().map(TransactionTypeCode)
}
