//! hyper's bare connection and serde's derive, without a deadline, a pool or a second look at anything.

use std::net::SocketAddr;

use bench_harness::{API_KEY, Answer, Caller, Charge, TRANSACTION};
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, USER_AGENT};
use http::{HeaderValue, Request};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

struct Bare {
    sender: http1::SendRequest<Full<Bytes>>,
    host: HeaderValue,
    key: HeaderValue,
    charge: Charge,
}

impl Caller for Bare {
    async fn callers(server: SocketAddr, count: usize) -> Vec<Self> {
        let mut callers = Vec::new();
        for _ in 0..count {
            let tcp = TcpStream::connect(server).await.expect("the server listens");
            tcp.set_nodelay(true).expect("it is open");
            let (sender, connection) = http1::handshake(TokioIo::new(tcp)).await.expect("nothing is sent");
            tokio::task::spawn(connection);
            callers.push(Self {
                sender,
                host: HeaderValue::from_str(&server.to_string()).expect("visible ASCII"),
                key: HeaderValue::from_static(API_KEY),
                charge: Charge::example(),
            });
        }
        callers
    }

    async fn charge(&mut self) -> String {
        let body = serde_json::to_vec(&self.charge).expect("it is JSON");
        let request = Request::post("/api/v1/public/transaction")
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        self.call(request, body.into()).await
    }

    async fn look_up(&mut self) -> String {
        let request = Request::get(format!("/api/v1/public/transaction/{TRANSACTION}"));
        self.call(request, Bytes::new()).await
    }
}

impl Bare {
    async fn call(&mut self, request: http::request::Builder, body: Bytes) -> String {
        let request = request
            .header(HOST, &self.host)
            .header(AUTHORIZATION, &self.key)
            .header(ACCEPT, HeaderValue::from_static("application/json"))
            .header(USER_AGENT, HeaderValue::from_static("bench/1.0"))
            .body(Full::new(body))
            .expect("constants make a request");
        let answer = self.sender.send_request(request).await.expect("the server answers");
        assert!(answer.status().is_success());
        let body = answer.into_body().collect().await.expect("the answer is whole").to_bytes();
        let answer: Answer = serde_json::from_slice(&body).expect("the answer is understood");
        answer.data.transaction_id
    }
}

fn main() {
    bench_harness::run::<Bare>();
}
