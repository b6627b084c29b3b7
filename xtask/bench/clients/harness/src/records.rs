//! The request and the response as a user of `serde` without this SDK would define them.

use serde::{Deserialize, Serialize};

/// The 27 fields of `POST /transaction`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Charge {
    pub amount: f64,
    pub billing_address: String,
    pub billing_city: String,
    pub billing_country: String,
    pub billing_country_code: String,
    pub billing_customer_name: String,
    pub billing_email: String,
    pub billing_phone_number: String,
    pub billing_postal_code: String,
    pub billing_state: String,
    pub shipping_same_as_billing: bool,
    pub shipping_customer_name: String,
    pub shipping_email: String,
    pub shipping_phone_number: String,
    pub shipping_address: String,
    pub shipping_country: String,
    pub shipping_city: String,
    pub shipping_state: String,
    pub shipping_postal_code: String,
    pub card_number: String,
    pub cvv: String,
    pub expiry_date: String,
    pub suggested_mode: String,
    pub convenience_fee_active: bool,
    pub transaction_type: String,
    pub payment_tokenization: bool,
    pub ip_address: String,
}

impl Charge {
    /// The one in [`CARD_PAYMENT`].
    pub fn example() -> Self {
        serde_json::from_str(CARD_PAYMENT).expect("every field is there")
    }
}

/// The request that every client sends.
pub const CARD_PAYMENT: &str = include_str!("../../../card-payment.json");

#[derive(Debug, Deserialize)]
pub struct Response {
    pub status: String,
    pub status_code: u16,
    pub message: Option<String>,
    pub data: Record,
}

/// The record of a transaction.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Record {
    pub transaction_id: String,
    pub base_amount: f64,
    pub amount: f64,
    pub card_number: String,
    pub billing_email: String,
    pub billing_customer_name: String,
    pub billing_address: Option<String>,
    pub billing_city: Option<String>,
    pub billing_state: Option<String>,
    pub billing_postal_code: Option<String>,
    pub billing_country: i64,
    pub billing_country_code: String,
    pub billing_phone_number: String,
    pub transaction_type: i64,
    pub status: String,
}
