//! This SDK in a fresh process: settings, TLS, pool, client, one charge over https.

use bench_harness::{API_KEY, Charge};
use payments_core::model::CardTransaction;
use payments_core::{ApiKey, Client, Endpoint};
use payments_hyper::{HyperTransport, TokioTimer};

fn main() {
    let payment = serde_json::to_vec(&Charge::example()).expect("it is JSON");
    let payment = CardTransaction::from_json(&payment).expect("every rule is kept");
    bench_harness::run_cold(async |server, root| {
        let key = ApiKey::new(API_KEY).expect("visible ASCII");
        let endpoint = Endpoint::new(&format!("https://{server}/api/v1/public"), key).expect("an address");
        let transport =
            HyperTransport::builder().only_root_certificates_pem(root).build().expect("a certificate");
        let client = Client::builder(endpoint, transport, TokioTimer::new()).build();
        let charged = client.process_card(&payment).await.expect("the server says yes");
        charged.into_data().transaction_id.as_str().to_owned()
    });
}
