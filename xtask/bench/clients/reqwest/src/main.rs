//! reqwest with its JSON feature, as in its documentation and with its defaults: without a timeout.

use std::net::SocketAddr;
use std::rc::Rc;

use bench_harness::{API_KEY, Charge, Response, TRANSACTION};
use http::header::{ACCEPT, AUTHORIZATION};

#[derive(Clone)]
struct Reqwest {
    client: reqwest::Client,
    base_url: Rc<str>,
    charge: Rc<Charge>,
}

impl bench_harness::Client for Reqwest {
    fn new(server: SocketAddr, _connections: usize) -> Self {
        let base_url = format!("http://{server}/api/v1/public").into();
        Self { client: reqwest::Client::new(), base_url, charge: Charge::example().into() }
    }

    async fn charge(&self) -> String {
        call(self.client.post(format!("{}/transaction", self.base_url)).json(&*self.charge)).await
    }

    async fn lookup(&self) -> String {
        call(self.client.get(format!("{}/transaction/{TRANSACTION}", self.base_url))).await
    }
}

async fn call(request: reqwest::RequestBuilder) -> String {
    let request = request.header(AUTHORIZATION, API_KEY).header(ACCEPT, "application/json");
    let response = request.send().await.expect("the server responds").error_for_status().expect("HTTP 200");
    let response: Response = response.json().await.expect("the response is understood");
    response.into_transaction_id()
}

fn main() {
    bench_harness::run::<Reqwest>();
}
