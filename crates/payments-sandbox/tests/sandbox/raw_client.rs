use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use payments_fake::FakeGateway;
use payments_sandbox::{BlockingSandbox, Sandbox, SandboxBuilder};
use serde_json::Value;

/// A fresh sandbox, and a connection to it.
pub(crate) fn start() -> (BlockingSandbox, RawClient) {
    start_with(Sandbox::builder())
}

pub(crate) fn start_with(builder: SandboxBuilder) -> (BlockingSandbox, RawClient) {
    let sandbox = builder.start_blocking().unwrap();
    let client = RawClient::connect(&sandbox);
    (sandbox, client)
}

/// One connection, read byte by byte.
pub(crate) struct RawClient {
    stream: TcpStream,
    api_key: String,
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Closed,
    Reset,
}

/// A complete response.
#[derive(Debug)]
pub(crate) struct RawResponse {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl RawResponse {
    pub(crate) fn status(&self) -> u16 {
        self.head[9..12].parse().unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head
            .lines()
            .filter_map(|line| line.split_once(": "))
            .find(|(own, _)| *own == name)
            .map(|(_, value)| value)
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

impl RawClient {
    pub(crate) fn connect(sandbox: &BlockingSandbox) -> Self {
        Self::to(sandbox.base_url(), sandbox.api_key()).unwrap()
    }

    pub(crate) fn to(base_url: &str, api_key: &str) -> io::Result<Self> {
        let address = base_url.split("://").nth(1).unwrap().split('/').next().unwrap();
        let stream = TcpStream::connect(address)?;
        // A test that would hang fails instead; no test depends on the length.
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        Ok(Self { stream, api_key: api_key.to_owned() })
    }

    pub(crate) fn post(&mut self, path: &str, body: &str) {
        let head = self.head("POST", path);
        let length = body.len();
        self.send(&format!("{head}content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"));
    }

    /// Sends a [payment](Self::payment).
    pub(crate) fn pay(&mut self, headers: &str) {
        self.send(&self.payment(headers));
    }

    /// The request of a [payment](TOKEN_PAYMENT) with further headers, each with `\r\n` at its end.
    pub(crate) fn payment(&self, headers: &str) -> String {
        let head = self.head("POST", "/token-transaction");
        let length = TOKEN_PAYMENT.len();
        format!(
            "{head}{headers}content-type: application/json\r\ncontent-length: {length}\r\n\r\n{TOKEN_PAYMENT}"
        )
    }

    pub(crate) fn get(&mut self, path: &str) {
        let head = self.head("GET", path);
        self.send(&format!("{head}\r\n"));
    }

    /// The status of a lookup.
    pub(crate) fn look_up(&mut self) -> u16 {
        self.fetch("/customer/cus_1").status()
    }

    /// The request line and the headers that every request has, without the empty line.
    pub(crate) fn head(&self, method: &str, path: &str) -> String {
        let key = &self.api_key;
        format!("{method} /api/v1/public{path} HTTP/1.1\r\nhost: localhost\r\nauthorization: {key}\r\n")
    }

    /// Sends a request with any target and further headers, each with `\r\n` at its end, and reads the response.
    pub(crate) fn request(&mut self, method: &str, target: &str, headers: &str, body: &str) -> RawResponse {
        let (key, length) = (&self.api_key, body.len());
        self.send(&format!(
            "{method} {target} HTTP/1.1\r\nhost: localhost\r\nauthorization: {key}\r\n{headers}\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        ));
        self.response()
    }

    /// Sends a request to the admin interface.
    pub(crate) fn admin(&mut self, method: &str, path: &str, body: &str) -> RawResponse {
        self.request(method, &format!("/_sandbox{path}"), "", body)
    }

    /// The JSON of a successful response.
    #[track_caller]
    pub(crate) fn done(&mut self, method: &str, path: &str, body: &Value) -> Value {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let response = self.admin(method, path, &body);
        let head = (response.status(), response.header("content-type"));
        assert_eq!(head, (200, Some("application/json")), "{:?}", response.json());
        response.json()
    }

    /// The JSON of a successful GET.
    #[track_caller]
    pub(crate) fn read(&mut self, path: &str) -> Value {
        self.done("GET", path, &Value::Null)
    }

    /// The status and the message of a refusal.
    #[track_caller]
    pub(crate) fn refused(&mut self, method: &str, path: &str, body: &str) -> (u16, String) {
        let response = self.admin(method, path, body);
        let json = response.json();
        assert!(json["status"] == "failed" && json["status_code"] == response.status(), "{json}");
        (response.status(), json["msg"].as_str().unwrap().to_owned())
    }

    /// The JSON of the response to a [payment](Self::payment).
    pub(crate) fn pay_with_token(&mut self) -> Value {
        self.pay("");
        self.response().json()
    }

    /// Sends a GET to the service, and reads the response.
    pub(crate) fn fetch(&mut self, path: &str) -> RawResponse {
        self.get(path);
        self.response()
    }

    pub(crate) fn send(&mut self, text: &str) {
        self.send_bytes(text.as_bytes());
    }

    /// Closes the sending side; reading is still possible.
    pub(crate) fn close_sending_side(&self) {
        self.stream.shutdown(Shutdown::Write).unwrap();
    }

    /// Makes the drop of this client reset the connection.
    pub(crate) fn reset_on_drop(&self) {
        socket2::SockRef::from(&self.stream).set_linger(Some(Duration::ZERO)).unwrap();
    }

    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// Reads one complete response and leaves the connection open.
    pub(crate) fn response(&mut self) -> RawResponse {
        let head = self.read_head();
        let mut response = RawResponse { head, body: Vec::new() };
        let length = response.header("content-length").unwrap().parse().unwrap();
        response.body.resize(length, 0);
        self.stream.read_exact(&mut response.body).unwrap();
        response
    }

    /// Reads up to and including the empty line.
    pub(crate) fn read_head(&mut self) -> String {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            self.stream.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        String::from_utf8(head).unwrap()
    }

    /// Reads this many bytes.
    pub(crate) fn read_exactly(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.stream.read_exact(&mut bytes).unwrap();
        bytes
    }

    /// Reads until the connection ends, and returns how it ended.
    pub(crate) fn read_to_end(&mut self) -> (Vec<u8>, End) {
        let mut bytes = Vec::new();
        match self.stream.read_to_end(&mut bytes) {
            Ok(_) => (bytes, End::Closed),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => (bytes, End::Reset),
            Err(error) => panic!("neither closed nor reset: {error}"),
        }
    }

    /// Waits until a byte arrives or the connection ends in any way.
    pub(crate) fn wait_for_anything(&mut self) {
        let _ = self.stream.read(&mut [0]);
    }

    /// Whether nothing has arrived and the connection is open.
    pub(crate) fn is_silent(&mut self) -> bool {
        self.stream.set_nonblocking(true).unwrap();
        let peeked = self.stream.peek(&mut [0]);
        self.stream.set_nonblocking(false).unwrap();
        peeked.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    }
}

/// Waits until the gateway has recorded a request.
pub(crate) fn wait_for_a_request(gateway: &FakeGateway) {
    while gateway.requests().is_empty() {
        std::thread::yield_now();
    }
}

/// Any free port of every address.
pub(crate) const EVERYWHERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

/// The body of a token payment of 10.50.
pub(crate) const TOKEN_PAYMENT: &str =
    r#"{"TokenId":"tok_approved","Amount":10.50,"ConvenienceFeeActive":false}"#;
