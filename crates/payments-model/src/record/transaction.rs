use std::fmt;

use serde::{Deserialize, Serialize};

use super::fields::{code, record, text};
use crate::json::Json;
use crate::{Amount, MaskedCard, TransactionId};

record! {
    /// A transaction as the service describes it: what a card or ACH payment and a lookup return.
    ///
    /// Everything but the identifier is optional when read, because a payment that went through must not become an error over
    /// an odd field. Numbers carried as texts and texts carried as numbers are understood where the field is an identifier, a
    /// code or an amount. Absent, `null` and empty stay distinct.
    ///
    /// `Debug` shows identifiers, amounts, codes and the masked card, and nothing personal.
    pub struct TransactionRecord {
        => {
            /// `TransactionId`, the one field that must be there.
            transaction_id: TransactionId = "TransactionId";
        }
        /// `BaseAmount`. The interface does not show how it relates to `Amount`; nothing is derived from either.
        shown base_amount: Amount = "BaseAmount", Json::amount;
        /// `Amount`. Not compared with what was requested.
        shown amount: Amount = "Amount", Json::amount;
        /// `CardNumber`. At most the last four digits are legible, whatever the service sent.
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
        /// `BillingCountry`. A numeric identifier, where a request has a text. The interface does not show what the numbers
        /// mean.
        shown billing_country: i64 = "BillingCountry", Json::integer;
        /// `BillingCountryCode`.
        personal billing_country_code: String = "BillingCountryCode", code;
        /// `BillingPhoneNumber`.
        personal billing_phone_number: String = "BillingPhoneNumber", text;
        /// `TransactionType`. 1 is a sale, 2 an authorization; other numbers may come.
        shown transaction_type: TransactionTypeCode = "TransactionType", transaction_type;
        /// `Status`. A code whose meaning the interface does not show: it never decides whether a payment succeeded.
        shown status: String = "Status", code;
    }
}

record! {
    /// What a token payment and a void return: the identifier of a transaction and, as the interface has it, no more.
    ///
    /// A void may return an identifier of its own; it need not be the one that was voided.
    pub struct TransactionReceipt {
        => {
            /// `TransactionId`.
            transaction_id: TransactionId = "TransactionId";
        }
    }
}

/// The transaction type that a record carries: a number, open because other values than the documented two may come.
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
