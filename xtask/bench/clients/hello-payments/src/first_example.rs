use payments_core::model::{Amount, Card, CardTransaction, ConvenienceFee, Payer, TransactionType};
use payments_core::{ApiKey, Endpoint, Outcome};

#[tokio::main]
async fn main() -> std::process::ExitCode {
    pay().await.map_or_else(|error| { eprintln!("{error:#}"); 1.into() }, |()| 0.into())
}

async fn pay() -> Result<(), Box<dyn std::error::Error>> {
    let key = ApiKey::new(&std::env::var("PAYMENTS_API_KEY").map_err(|_| "set PAYMENTS_API_KEY")?)?;
    let endpoint = Endpoint::new("https://pay.example.com/api/v1/public", key)?;
    let client = payments_hyper::client(endpoint)?;

    let card = Card { number: "4242 4242 4242 4242", cvv: "123", expiry: "12/30" };
    let payer = Payer {
        customer_name: "Ada Lovelace",
        email: "ada@example.com",
        country_code: "+1",
        phone_number: "415-555-0100",
        country: "US",
        postal_code: "94107",
        ip_address: "203.0.113.7",
    };
    let amount = Amount::from_cents(10_50);
    let (kind, fee) = (TransactionType::Sale, ConvenienceFee::Inactive);
    let sale = CardTransaction::builder(amount, kind, fee, card, payer).build()?;

    match client.process_card(&sale).await {
        Ok(charged) => println!("processed: transaction {}", charged.transaction_id),
        Err(error) => match error.outcome() {
            Outcome::NotProcessed => println!("you were not charged ({error:#})"),
            Outcome::Rejected => println!("the payment was refused ({error:#})"),
            Outcome::Unknown => println!("we are checking it ({error:#})"), // never send it again
        },
    }
    Ok(())
}
