//! hyper-util's pooled client with serde's derive.

use std::net::SocketAddr;
use std::rc::Rc;

use bench_harness::{API_KEY, Charge, Response, TRANSACTION};
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::{HeaderValue, Request};
use http_body_util::{BodyExt as _, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

#[derive(Clone)]
struct HyperUtil {
    client: Client<HttpConnector, Full<Bytes>>,
    base_url: Rc<str>,
    charge: Rc<Charge>,
}

impl bench_harness::Client for HyperUtil {
    fn new(server: SocketAddr, _connections: usize) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        Self {
            client: Client::builder(TokioExecutor::new()).build(connector),
            base_url: format!("http://{server}/api/v1/public").into(),
            charge: Charge::example().into(),
        }
    }

    async fn charge(&self) -> String {
        let body = serde_json::to_vec(&*self.charge).expect("the charge serializes");
        let request = Request::post(format!("{}/transaction", self.base_url))
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        self.call(request, body.into()).await
    }

    async fn lookup(&self) -> String {
        let request = Request::get(format!("{}/transaction/{TRANSACTION}", self.base_url));
        self.call(request, Bytes::new()).await
    }
}

impl HyperUtil {
    async fn call(&self, request: http::request::Builder, body: Bytes) -> String {
        let request = request
            .header(AUTHORIZATION, HeaderValue::from_static(API_KEY))
            .header(ACCEPT, HeaderValue::from_static("application/json"))
            .header(USER_AGENT, HeaderValue::from_static("bench/1.0"))
            .body(Full::new(body))
            .expect("the request is valid");
        let response = self.client.request(request).await.expect("the server responds");
        assert!(response.status().is_success());
        let body = response.into_body().collect().await.expect("the response is complete").to_bytes();
        let response: Response = serde_json::from_slice(&body).expect("the response is understood");
        response.into_transaction_id()
    }
}

fn main() {
    bench_harness::run::<HyperUtil>();
}
