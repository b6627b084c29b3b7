//! reqwest with its own JSON, as its documentation shows it and as it ships: without a deadline, which would cost it another
//! 1 300 instructions a call.

use std::net::SocketAddr;

use bench_harness::{API_KEY, Answer, Caller, Charge, TRANSACTION};
use http::header::{ACCEPT, AUTHORIZATION};

#[derive(Clone)]
struct Reqwest {
    client: reqwest::Client,
    base_url: String,
    charge: Charge,
}

impl Caller for Reqwest {
    async fn callers(server: SocketAddr, count: usize) -> Vec<Self> {
        let client = reqwest::Client::new();
        let base_url = format!("http://{server}/api/v1/public");
        vec![Self { client, base_url, charge: Charge::example() }; count]
    }

    async fn charge(&mut self) -> String {
        let request = self.client.post(format!("{}/transaction", self.base_url)).json(&self.charge);
        call(request).await
    }

    async fn look_up(&mut self) -> String {
        call(self.client.get(format!("{}/transaction/{TRANSACTION}", self.base_url))).await
    }
}

async fn call(request: reqwest::RequestBuilder) -> String {
    let request = request.header(AUTHORIZATION, API_KEY).header(ACCEPT, "application/json");
    let answer = request.send().await.expect("the server answers").error_for_status().expect("HTTP 200");
    let answer: Answer = answer.json().await.expect("the answer is understood");
    answer.data.transaction_id
}

fn main() {
    bench_harness::run::<Reqwest>();
}
