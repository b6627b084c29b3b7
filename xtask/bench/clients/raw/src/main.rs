//! A socket and fixed bytes: what no client can be cheaper than. Only the answer is read as the others read it.

use std::net::SocketAddr;

use bench_harness::{API_KEY, Answer, Caller, Charge, TRANSACTION};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

struct Raw {
    tcp: TcpStream,
    charge: Vec<u8>,
    look_up: Vec<u8>,
    read: Vec<u8>,
}

impl Caller for Raw {
    async fn callers(server: SocketAddr, count: usize) -> Vec<Self> {
        let body = serde_json::to_string(&Charge::example()).expect("it is JSON");
        let length = body.len();
        let head =
            format!("HTTP/1.1\r\nhost: {server}\r\nauthorization: {API_KEY}\r\naccept: application/json\r\n");
        let charge = format!(
            "POST /api/v1/public/transaction {head}content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        let look_up = format!("GET /api/v1/public/transaction/{TRANSACTION} {head}\r\n");
        let mut callers = Vec::new();
        for _ in 0..count {
            let tcp = TcpStream::connect(server).await.expect("the server listens");
            tcp.set_nodelay(true).expect("it is open");
            let (charge, look_up) = (charge.clone().into_bytes(), look_up.clone().into_bytes());
            callers.push(Self { tcp, charge, look_up, read: vec![0; 4096] });
        }
        callers
    }

    async fn charge(&mut self) -> String {
        self.tcp.write_all(&self.charge).await.expect("the server reads");
        self.answer().await
    }

    async fn look_up(&mut self) -> String {
        self.tcp.write_all(&self.look_up).await.expect("the server reads");
        self.answer().await
    }
}

impl Raw {
    /// The server writes each answer at once.
    async fn answer(&mut self) -> String {
        let length = self.tcp.read(&mut self.read).await.expect("the server answers");
        let text = str::from_utf8(&self.read[..length]).expect("UTF-8");
        let (_, body) = text.split_once("\r\n\r\n").expect("the head is whole");
        let answer: Answer = serde_json::from_str(body).expect("the answer is understood");
        answer.data.transaction_id
    }
}

fn main() {
    bench_harness::run::<Raw>();
}
