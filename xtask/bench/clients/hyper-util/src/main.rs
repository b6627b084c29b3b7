//! hyper-util's legacy client, which has a pool, and serde's derive.

use std::net::SocketAddr;

use bench_harness::{API_KEY, Answer, Caller, Charge, TRANSACTION};
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::{HeaderValue, Request};
use http_body_util::{BodyExt as _, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

struct Pooled {
    client: Client<HttpConnector, Full<Bytes>>,
    base_url: String,
    key: HeaderValue,
    charge: Charge,
}

impl Caller for Pooled {
    async fn callers(server: SocketAddr, count: usize) -> Vec<Self> {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let client = Client::builder(TokioExecutor::new()).build(connector);
        let caller = || Self {
            client: client.clone(),
            base_url: format!("http://{server}/api/v1/public"),
            key: HeaderValue::from_static(API_KEY),
            charge: Charge::example(),
        };
        (0..count).map(|_| caller()).collect()
    }

    async fn charge(&mut self) -> String {
        let body = serde_json::to_vec(&self.charge).expect("it is JSON");
        let request = Request::post(format!("{}/transaction", self.base_url))
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        self.call(request, body.into()).await
    }

    async fn look_up(&mut self) -> String {
        let request = Request::get(format!("{}/transaction/{TRANSACTION}", self.base_url));
        self.call(request, Bytes::new()).await
    }
}

impl Pooled {
    async fn call(&mut self, request: http::request::Builder, body: Bytes) -> String {
        let request = request
            .header(AUTHORIZATION, &self.key)
            .header(ACCEPT, HeaderValue::from_static("application/json"))
            .header(USER_AGENT, HeaderValue::from_static("bench/1.0"))
            .body(Full::new(body))
            .expect("constants make a request");
        let answer = self.client.request(request).await.expect("the server answers");
        assert!(answer.status().is_success());
        let body = answer.into_body().collect().await.expect("the answer is whole").to_bytes();
        let answer: Answer = serde_json::from_slice(&body).expect("the answer is understood");
        answer.data.transaction_id
    }
}

fn main() {
    bench_harness::run::<Pooled>();
}
