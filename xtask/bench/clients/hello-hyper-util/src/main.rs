//! The same charge with only hyper-util, rustls and serde.

#![allow(clippy::print_stdout, reason = "as in the first example")]

use bytes::Bytes;
use http::Request;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http_body_util::{BodyExt as _, Full};
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde::{Deserialize, Serialize};

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Sale {
    amount: f64,
    transaction_type: &'static str,
    convenience_fee_active: bool,
    card_number: &'static str,
    cvv: &'static str,
    expiry_date: &'static str,
    suggested_mode: &'static str,
    billing_customer_name: &'static str,
    billing_email: &'static str,
    billing_country_code: &'static str,
    billing_phone_number: &'static str,
    billing_country: &'static str,
    billing_postal_code: &'static str,
    ip_address: &'static str,
}

#[derive(Deserialize)]
struct Response {
    message: Option<String>,
    data: Option<Record>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Record {
    transaction_id: String,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let https = HttpsConnectorBuilder::new().with_webpki_roots().https_only().enable_http1().build();
    let client = Client::builder(TokioExecutor::new()).build(https);

    let sale = Sale {
        amount: 10.50,
        transaction_type: "1",
        convenience_fee_active: false,
        card_number: "4242424242424242",
        cvv: "123",
        expiry_date: "1230",
        suggested_mode: "Card",
        billing_customer_name: "Ada Lovelace",
        billing_email: "ada@example.com",
        billing_country_code: "+1",
        billing_phone_number: "415-555-0100",
        billing_country: "US",
        billing_postal_code: "94107",
        ip_address: "203.0.113.7",
    };
    let request = Request::post("https://pay.example.com/api/v1/public/transaction")
        .header(AUTHORIZATION, std::env::var("PAYMENTS_API_KEY")?)
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, "application/json")
        .body(Full::new(Bytes::from(serde_json::to_vec(&sale)?)))?;

    let response = client.request(request).await?;
    let status = response.status();
    let response: Response = serde_json::from_slice(&response.into_body().collect().await?.to_bytes())?;
    match response.data {
        Some(record) if status.is_success() => println!("processed: transaction {}", record.transaction_id),
        _ => println!("{status}: {}", response.message.unwrap_or_default()),
    }
    Ok(())
}
