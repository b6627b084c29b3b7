//! A sandbox as the payment service, and processes of the checkout with one journal.

use std::collections::BTreeMap;
use std::env;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

use payments_core::OperationName;
use payments_fake::{FakeGateway, Fault};
use payments_sandbox::{BlockingSandbox, Sandbox};
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) struct Shop {
    sandbox: BlockingSandbox,
    journal: String,
    _folder: TempDir,
}

/// A status and a JSON body, null if the body is not JSON.
pub(crate) type Response = (u16, Value);

/// `SEED`, to repeat a random test, or a new one.
pub(crate) fn seed() -> u64 {
    let seed = env::var("SEED").map_or_else(|_| fastrand::u64(..), |seed| seed.parse().unwrap());
    println!("SEED={seed}");
    seed
}

impl Shop {
    pub(crate) fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let journal = folder.path().join("journal.db").to_str().unwrap().to_owned();
        Self { sandbox: sandbox(), journal, _folder: folder }
    }

    pub(crate) fn open_over(journal: String) -> Self {
        Self { sandbox: sandbox(), journal, _folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn journal(&self) -> &str {
        &self.journal
    }

    pub(crate) fn gateway(&self) -> &FakeGateway {
        self.sandbox.gateway()
    }

    /// Delays each response by this much after the charge.
    pub(crate) fn slow(&self, by: Duration) {
        let late = Fault::on(OperationName::TokenTransaction).after_commit().delay(by);
        self.gateway().arm(late.times(u32::MAX));
    }

    pub(crate) fn start(&self) -> Instance {
        self.start_with(&[])
    }

    pub(crate) fn start_with(&self, environment: &[(&str, &str)]) -> Instance {
        self.start_with_stderr(environment, Stdio::inherit())
    }

    pub(crate) fn start_with_stderr(
        &self,
        environment: &[(&str, &str)],
        stderr: impl Into<Stdio>,
    ) -> Instance {
        let mut process = Command::new(env!("CARGO_BIN_EXE_payments-axum-example"))
            .env("PAYMENTS_BASE_URL", self.sandbox.base_url())
            .env("PAYMENTS_API_KEY", self.sandbox.api_key())
            .env("PAYMENTS_JOURNAL", &self.journal)
            .env("LISTEN", "127.0.0.1:0")
            .env_remove("OTEL_EXPORTER_OTLP_ENDPOINT")
            .envs(environment.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(process.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let address = line.trim_end().strip_prefix("listening on ").expect("it listens").to_owned();
        Instance { process, address, _stdout: stdout }
    }

    /// The number of charges for each order.
    pub(crate) fn charged(&self) -> BTreeMap<String, usize> {
        let ledger = self.gateway().ledger();
        counted(ledger.charged().map(|entry| entry.reference_no.clone().unwrap()))
    }

    /// The number of requests at the service for each order.
    pub(crate) fn sent(&self) -> BTreeMap<String, usize> {
        let requests = self.gateway().requests();
        counted(requests.iter().map(|request| request.field("ReferenceNo").unwrap().into_owned()))
    }
}

fn sandbox() -> BlockingSandbox {
    let gateway = FakeGateway::builder().recorded_requests(10_000).ignore_unfired_faults().build();
    Sandbox::builder().gateway(gateway).start_blocking().unwrap()
}

fn counted(names: impl Iterator<Item = String>) -> BTreeMap<String, usize> {
    let mut counted = BTreeMap::new();
    for name in names {
        *counted.entry(name).or_default() += 1;
    }
    counted
}

/// A process of the checkout, killed when this is dropped.
pub(crate) struct Instance {
    process: Child,
    address: String,
    _stdout: BufReader<ChildStdout>,
}

impl Instance {
    pub(crate) fn pay(&self, order: &str, token: &str) -> Response {
        self.try_to_pay(order, token).expect("a response")
    }

    pub(crate) fn pay_with_another_card(&self, order: &str, token: &str) -> Response {
        self.post(&format!("/orders/{order}/pay-with-another-card"), token, &[]).expect("a response")
    }

    /// `None` if the connection breaks.
    pub(crate) fn try_to_pay(&self, order: &str, token: &str) -> Option<Response> {
        self.post(&format!("/orders/{order}/pay"), token, &[])
    }

    /// Repeats the request as the responses 409 and 503 ask.
    pub(crate) fn pay_patiently(&self, order: &str, token: &str) -> Response {
        for _ in 0..1000 {
            let response = self.pay(order, token);
            if ![409, 503].contains(&response.0) {
                return response;
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("order {order} is never finished");
    }

    /// Sends the request and returns the open connection.
    pub(crate) fn begin(&self, order: &str, token: &str) -> TcpStream {
        let body = json!({"token": token}).to_string();
        let mut browser = TcpStream::connect(&self.address).unwrap();
        write!(
            browser,
            "POST /orders/{order}/pay HTTP/1.1\r\nhost: shop\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        browser
    }

    pub(crate) fn get(&self, path: &str) -> Response {
        let response = agent().get(format!("http://{}{path}", self.address)).call().unwrap();
        read(response)
    }

    pub(crate) fn post(&self, path: &str, token: &str, headers: &[(&str, &str)]) -> Option<Response> {
        let mut request = agent().post(format!("http://{}{path}", self.address));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.send_json(json!({"token": token})).ok().map(read)
    }

    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("sh")
            .args(["-c", "kill -s \"$0\" \"$1\"", name, &self.process.id().to_string()])
            .status()
            .unwrap();
        assert!(status.success(), "it is alive");
    }

    /// Waits for the exit code.
    pub(crate) fn end(mut self) -> Option<i32> {
        self.process.wait().unwrap().code()
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // Both fail if the process has already ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn agent() -> ureq::Agent {
    ureq::Agent::config_builder().http_status_as_error(false).max_idle_connections(0).build().into()
}

fn read(mut response: ureq::http::Response<ureq::Body>) -> Response {
    let status = response.status().as_u16();
    (status, response.body_mut().read_json().unwrap_or_default())
}
