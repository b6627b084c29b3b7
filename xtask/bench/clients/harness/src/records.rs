//! The request and the response as a user of `serde` without this SDK would define them.

use serde::{Deserialize, Serialize};

/// The 27 fields of `POST /transaction`.
#[derive(Clone, Debug, Serialize)]
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
    pub fn example() -> Self {
        Self {
            amount: 1249.50,
            billing_address: "12 St James's Square, 2nd floor".to_owned(),
            billing_city: "London".to_owned(),
            billing_country: "826".to_owned(),
            billing_country_code: "+44".to_owned(),
            billing_customer_name: "Ada King, Countess of Lovelace".to_owned(),
            billing_email: "ada.lovelace@mail.example.com".to_owned(),
            billing_phone_number: "020 7946 0958".to_owned(),
            billing_postal_code: "SW1Y 4JH".to_owned(),
            billing_state: "Greater London".to_owned(),
            shipping_same_as_billing: false,
            shipping_customer_name: "Charles Babbage".to_owned(),
            shipping_email: "charles.babbage@mail.example.com".to_owned(),
            shipping_phone_number: "020 7946 0123".to_owned(),
            shipping_address: "1 Dorset Street, Marylebone".to_owned(),
            shipping_country: "826".to_owned(),
            shipping_city: "London".to_owned(),
            shipping_state: "Greater London".to_owned(),
            shipping_postal_code: "W1U 4EG".to_owned(),
            card_number: "4242424242424242".to_owned(),
            cvv: "917".to_owned(),
            expiry_date: "1137".to_owned(),
            suggested_mode: "Card".to_owned(),
            convenience_fee_active: false,
            transaction_type: "1".to_owned(),
            payment_tokenization: false,
            ip_address: "203.0.113.61".to_owned(),
        }
    }
}

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
