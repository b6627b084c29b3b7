//! The request and the response as a user of `serde` without this SDK would define them.

use serde::{Deserialize, Serialize};

/// The 27 fields of `POST /transaction`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Charge {
    amount: f64,
    billing_address: String,
    billing_city: String,
    billing_country: String,
    billing_country_code: String,
    billing_customer_name: String,
    billing_email: String,
    billing_phone_number: String,
    billing_postal_code: String,
    billing_state: String,
    shipping_same_as_billing: bool,
    shipping_customer_name: String,
    shipping_email: String,
    shipping_phone_number: String,
    shipping_address: String,
    shipping_country: String,
    shipping_city: String,
    shipping_state: String,
    shipping_postal_code: String,
    card_number: String,
    cvv: String,
    expiry_date: String,
    suggested_mode: String,
    convenience_fee_active: bool,
    transaction_type: String,
    payment_tokenization: bool,
    ip_address: String,
}

impl Charge {
    /// The one in [`CARD_PAYMENT`].
    ///
    /// # Panics
    ///
    /// Never.
    pub fn example() -> Self {
        serde_json::from_str(CARD_PAYMENT).expect("every field is there")
    }
}

/// The request that every client sends.
pub const CARD_PAYMENT: &str = include_str!("../../../card-payment.json");

/// The response to a charge or a lookup.
#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "a program reads each of them")]
pub struct Response {
    status: String,
    status_code: u16,
    message: Option<String>,
    data: Record,
}

impl Response {
    /// The id of its transaction.
    pub fn into_transaction_id(self) -> String {
        self.data.transaction_id
    }
}

/// The record of a transaction.
#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "a program reads each of them")]
#[serde(rename_all = "PascalCase")]
struct Record {
    transaction_id: String,
    base_amount: f64,
    amount: f64,
    card_number: String,
    billing_email: String,
    billing_customer_name: String,
    billing_address: Option<String>,
    billing_city: Option<String>,
    billing_state: Option<String>,
    billing_postal_code: Option<String>,
    billing_country: i64,
    billing_country_code: String,
    billing_phone_number: String,
    transaction_type: i64,
    status: String,
}
