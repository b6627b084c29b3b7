//! This SDK, with all its safety features.

use std::net::SocketAddr;
use std::rc::Rc;

use bench_harness::{API_KEY, CARD_PAYMENT, TRANSACTION};
use payments_core::model::{CardTransaction, TransactionId};
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
            payment: CardTransaction::from_json(CARD_PAYMENT.as_bytes()).expect("a valid payment").into(),
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

fn main() {
    bench_harness::run::<Payments>();
}
