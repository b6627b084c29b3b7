//! This SDK, with all its safety features.

use std::net::SocketAddr;
use std::rc::Rc;

use bench_harness::{API_KEY, Charge, TRANSACTION};
use payments_core::model::{
    Amount, Card, CardTransaction, ConvenienceFee, Payer, Shipping, TransactionId, TransactionType,
};
use payments_core::{ApiKey, Client, Deadlines, Endpoint, Outcome};
use payments_hyper::{HyperTransport, TokioTimer};

#[derive(Clone)]
struct Payments {
    client: Client,
    payment: Rc<CardTransaction>,
    transaction: TransactionId,
}

impl bench_harness::Client for Payments {
    fn new(server: SocketAddr, connections: usize) -> Self {
        let key = ApiKey::new(API_KEY).expect("visible ASCII");
        let endpoint = Endpoint::new(&format!("http://{server}/api/v1/public"), key).expect("loopback");
        let transport = HyperTransport::builder().max_idle_connections(connections);
        let transport = transport.build().expect("the defaults are valid");
        let client = Client::builder(endpoint, transport, TokioTimer::new());
        // Connecting is slow under valgrind.
        let client = client.connect_timeout(Deadlines::DEFAULT_TOTAL).build();
        Self {
            client,
            payment: payment(&Charge::example()).into(),
            transaction: TRANSACTION.parse().expect("an id"),
        }
    }

    async fn charge(&self) -> String {
        match self.client.process_card(&self.payment).await {
            Ok(charged) => charged.into_data().transaction_id.as_str().to_owned(),
            Err(error) => {
                assert_eq!(error.outcome(), Outcome::Rejected, "{error}");
                error.transaction_id().expect("the decline names its transaction").as_str().to_owned()
            }
        }
    }

    async fn lookup(&self) -> String {
        let found =
            self.client.transaction(&self.transaction).await.expect("the server knows the transaction");
        found.into_data().transaction_id.as_str().to_owned()
    }
}

fn payment(charge: &Charge) -> CardTransaction {
    let shipping = Shipping::default()
        .customer_name(&charge.shipping_customer_name)
        .email(&charge.shipping_email)
        .phone_number(&charge.shipping_phone_number)
        .address(&charge.shipping_address)
        .country(&charge.shipping_country)
        .city(&charge.shipping_city)
        .state(&charge.shipping_state)
        .postal_code(&charge.shipping_postal_code);
    CardTransaction::builder(
        Amount::from_cents(124_950),
        TransactionType::Sale,
        ConvenienceFee::Inactive,
        Card { number: &charge.card_number, cvv: &charge.cvv, expiry: &charge.expiry_date },
        Payer {
            customer_name: &charge.billing_customer_name,
            email: &charge.billing_email,
            country_code: &charge.billing_country_code,
            phone_number: &charge.billing_phone_number,
            country: &charge.billing_country,
            postal_code: &charge.billing_postal_code,
            ip_address: &charge.ip_address,
        },
    )
    .billing_address(&charge.billing_address)
    .billing_city(&charge.billing_city)
    .billing_state(&charge.billing_state)
    .shipping(shipping)
    .shipping_same_as_billing(false)
    .payment_tokenization(false)
    .build()
    .expect("the payment is valid")
}

fn main() {
    bench_harness::run::<Payments>();
}
