use std::error::Error as StdError;
use std::time::Duration;

use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::{HeaderValue, Method, Request};
use payments_core::{
    Deadlines, Delivery, OperationName, Transport, TransportError, TransportErrorKind, TransportRequest,
    TransportResponse,
};
use payments_hyper::HyperTransport;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

/// Secrets that do not occur by chance. No error may show them.
pub(crate) const CARD_NUMBER: &str = "4929000000006";
pub(crate) const KEY: &str = "canary-key-7f3a1c";

/// A request to send, with deadlines far above what a healthy exchange needs.
pub(crate) struct Plan {
    pub(crate) method: Method,
    pub(crate) url: String,
    pub(crate) body: Bytes,
    pub(crate) connect: Duration,
    pub(crate) total: Duration,
    pub(crate) cap: usize,
}

/// Creates a charge.
pub(crate) fn post(url: impl Into<String>) -> Plan {
    Plan {
        method: Method::POST,
        url: url.into(),
        body: Bytes::from(format!(r#"{{"CardNumber":"{CARD_NUMBER}"}}"#)),
        connect: Duration::from_secs(20),
        total: Duration::from_secs(20),
        cap: TransportRequest::DEFAULT_RESPONSE_CAP,
    }
}

impl Plan {
    pub(crate) fn get(mut self) -> Self {
        self.method = Method::GET;
        self.body = Bytes::new();
        self
    }

    pub(crate) fn connect(mut self, deadline: Duration) -> Self {
        self.connect = deadline;
        self
    }

    pub(crate) fn total(mut self, deadline: Duration) -> Self {
        self.total = deadline;
        self
    }

    pub(crate) fn cap(mut self, cap: usize) -> Self {
        self.cap = cap;
        self
    }

    pub(crate) fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    pub(crate) fn request(self) -> TransportRequest {
        let mut key = HeaderValue::from_static(KEY);
        key.set_sensitive(true);
        let request = Request::builder()
            .method(self.method)
            .uri(self.url)
            .header(AUTHORIZATION, key)
            .body(self.body)
            .unwrap();
        TransportRequest::new(
            request,
            OperationName::Transaction,
            Deadlines::new(self.connect, self.total),
            self.cap,
        )
    }
}

/// Sends a request, and asserts that an error contains no secret.
pub(crate) async fn send(
    transport: &HyperTransport,
    plan: Plan,
) -> Result<TransportResponse, TransportError> {
    let result = transport.send(plan.request()).await;
    if let Err(error) = &result {
        assert_holds_no_secret(error);
    }
    result
}

/// Sends a request that must fail, and returns the evidence.
pub(crate) async fn send_failing(
    transport: &HyperTransport,
    plan: Plan,
) -> (Delivery, TransportErrorKind, TransportError) {
    match send(transport, plan).await {
        Ok(response) => panic!("got a response: {response:?}"),
        Err(error) => (error.delivery(), error.kind(), error),
    }
}

/// Sends a request in a task.
pub(crate) fn spawn(
    transport: &HyperTransport,
    plan: Plan,
) -> JoinHandle<Result<TransportResponse, TransportError>> {
    let transport = transport.clone();
    tokio::spawn(async move { send(&transport, plan).await })
}

/// A transport with the defaults.
pub(crate) fn transport() -> HyperTransport {
    HyperTransport::builder().build().unwrap()
}

/// A runtime on the thread that calls it.
pub(crate) fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// Lets other tasks run until this is true. An idle runtime whose clock is paused would advance it.
pub(crate) async fn until(condition: impl Fn() -> bool) {
    while !condition() {
        tokio::task::yield_now().await;
    }
}

/// Lets every other task run as far as it can.
pub(crate) async fn settle() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

fn assert_holds_no_secret(error: &TransportError) {
    let mut texts = vec![format!("{error:?} {error:#?}")];
    let mut this: Option<&dyn StdError> = Some(error);
    while let Some(error) = this {
        texts.push(format!("{error} {error:?}"));
        this = error.source();
    }
    let text = texts.join(" ");
    for secret in [CARD_NUMBER, KEY] {
        assert!(!text.contains(secret), "an error shows a secret: {text}");
    }
}
