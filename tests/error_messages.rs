//! Does every error say what happened, whether money can have moved, and what to do? `docs/error-messages.md` lists them.

#![allow(clippy::needless_pass_by_value, reason = "each error is created for one row")]

use std::fmt::Display;
use std::fs;
use std::future::pending;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use payments_core::model::{
    Amount, Card, CardTransaction, ConvenienceFee, Payer, TokenTransaction, TransactionId, TransactionType,
    Void,
};
use payments_core::{
    ApiKey, CallerHeaders, Client, Endpoint, Error, GetTransaction, LookupError, Operation, OperationName,
    Transport, TransportError, TransportErrorKind, TransportRequest, TransportResponse,
};
use payments_fake::{FakeGateway, Fault, test_values};
use payments_hyper::{HyperTransport, TokioTimer};
use payments_journal::internals::{Applied, Change, IntentStore, Rows, async_trait};
use payments_journal::{
    Intent, IntentKey, Journal, JournaledClient, MemoryStore, OwnerId, Purged, Resolution, SqliteStore,
    StateName, StoreError,
};
use payments_reqwest::ReqwestTransport;
use payments_tests::{Message, assert_messages};
use payments_ureq::UreqTransport;

use TransportErrorKind as Kind;

use crate::requests::{payer, sale};

const AMOUNT: Amount = Amount::from_cents(10_50);
const CARD: Card<'static> = Card { number: "4242424242424242", cvv: "917", expiry: "11/31" };

fn endpoint() -> Endpoint {
    Endpoint::new("https://pay.example.com/api/v1/public", ApiKey::new("sk_test").unwrap()).unwrap()
}

fn token(id: &str, cents: i64) -> TokenTransaction {
    TokenTransaction::builder(id, Amount::from_cents(cents), ConvenienceFee::Inactive).build().unwrap()
}

fn response(status: u16, body: &'static str) -> http::Response<Bytes> {
    http::Response::builder().status(status).body(Bytes::from_static(body.as_bytes())).unwrap()
}

fn message(when: &str, outcome: &str, text: &dyn Display) -> Message {
    Message { when: when.to_owned(), outcome: outcome.to_owned(), text: text.to_string() }
}

fn payment(when: &str, error: Error) -> Message {
    message(when, error.outcome().as_str(), &error)
}

fn lookup(when: &str, error: LookupError) -> Message {
    message(when, "", &error)
}

#[test]
fn payments_and_voids() {
    let endpoint = endpoint();
    let unsent = |kind| sale(10_50).error_from_transport(&endpoint, TransportError::not_processed(kind));
    let lost = |kind| sale(10_50).error_from_transport(&endpoint, TransportError::unknown(kind));
    let partial = |kind, status, body| {
        sale(10_50).error_from_transport(&endpoint, TransportError::answered(kind, response(status, body)))
    };
    let read = |status, body| sale(10_50).read(&endpoint, response(status, body)).unwrap_err();
    let encoded = |status, body| {
        let mut response = response(status, body);
        response.headers_mut().insert("content-encoding", "gzip".parse().unwrap());
        sale(10_50).read(&endpoint, response).unwrap_err()
    };
    let void = Void::new("txn_1".parse().unwrap());
    let with_reference = TokenTransaction::builder("tok_1", AMOUNT, ConvenienceFee::Inactive);
    let with_reference = with_reference.reference_no("invoice 17").build().unwrap();
    let no_runtime =
        TransportError::not_processed(Kind::Configuration).with_source("a tokio runtime is missing");

    assert_messages("Payments and voids", &[
        payment("DNS failed", unsent(Kind::Resolve)),
        payment("TCP failed", unsent(Kind::Connect)),
        payment(
            "TLS failed",
            sale(10_50).error_from_transport(&endpoint, TransportError::not_processed(Kind::Tls).permanent()),
        ),
        payment(
            "a proxy refused the address",
            sale(10_50).error_from_transport(&endpoint, TransportError::not_processed(Kind::Connect).permanent()),
        ),
        payment("the connect deadline passed", unsent(Kind::Timeout)),
        payment("a pooled connection was already closed", unsent(Kind::Closed)),
        payment("the transport shut down before sending", unsent(Kind::Cancelled)),
        payment("a void could not be sent", void.error_from_transport(&endpoint, TransportError::not_processed(Kind::Connect))),
        payment("the transport needs a runtime", sale(10_50).error_from_transport(&endpoint, no_runtime)),
        payment("the connection was closed", lost(Kind::Closed)),
        payment("the total deadline passed", lost(Kind::Timeout)),
        payment("the response was not HTTP", lost(Kind::Protocol)),
        payment("the attempt was cancelled", lost(Kind::Cancelled)),
        payment("any other failure of the transport", lost(Kind::Other)),
        payment(
            "a token payment with a reference was lost",
            with_reference.error_from_transport(&endpoint, TransportError::unknown(Kind::Closed)),
        ),
        payment(
            "a token payment without a reference was lost",
            token("tok_1", 10_50).error_from_transport(&endpoint, TransportError::unknown(Kind::Closed)),
        ),
        payment("a void was lost", void.error_from_transport(&endpoint, TransportError::unknown(Kind::Closed))),
        payment("the body was truncated", partial(Kind::BodyTruncated, 200, r#"{"status":"suc"#)),
        payment("the body was too large", partial(Kind::BodyTooLarge, 200, "")),
        payment("a refusal was truncated", partial(Kind::BodyTruncated, 400, r#"{"status":"fai"#)),
        payment("a refusal was truncated without an error", read(400, r#"{"status":"fai"#)),
        payment("a response was encoded", encoded(400, r#"{"status":"failed"}"#)),
        payment("HTTP 200 without anything else", read(200, "{}")),
        payment("HTTP 200, pending", read(200, r#"{"status":"pending","status_code":101,"data":{"TransactionId":"t9"}}"#)),
        payment("HTTP 200 without a transaction", read(200, r#"{"status_code":100,"message":"Done"}"#)),
        payment("HTTP 503", read(503, "<html>")),
        payment("HTTP 403, not from the service", read(403, "<html>")),
        payment("declined in HTTP 200", read(200, r#"{"status":"failed","status_code":200,"message":"card declined"}"#)),
        payment("refused without a reason", read(200, r#"{"status":"failed"}"#)),
        payment(
            "HTTP 400",
            read(400, r#"{"status":"failed","status_code":400,"msg":"bad request error: invalid postal code"}"#),
        ),
        payment(
            "HTTP 401",
            read(401, r#"{"status":"failed","status_code":401,"msg":"Unauthorized: Invalid API Key"}"#),
        ),
        payment("HTTP 429 from a proxy", read(429, "<html>")),
        payment(
            "a void was refused",
            void.read(
                &endpoint,
                response(400, r#"{"status":"failed","status_code":400,"msg":"bad request error: invalid transaction id"}"#),
            )
            .unwrap_err(),
        ),
    ]);
}

#[test]
fn lookups() {
    let endpoint = endpoint();
    let get = GetTransaction::new("txn_1".parse().unwrap());
    let read = |status, body| get.read(&endpoint, response(status, body)).unwrap_err();
    let failed = |error| get.error_from_transport(&endpoint, error);
    assert_messages(
        "Lookups",
        &[
            lookup("TCP failed", failed(TransportError::not_processed(Kind::Connect))),
            lookup(
                "a proxy refused the address",
                failed(TransportError::not_processed(Kind::Connect).permanent()),
            ),
            lookup("the total deadline passed", failed(TransportError::unknown(Kind::Timeout))),
            lookup("HTTP 200 without the record", read(200, "<html>")),
            lookup("HTTP 503", read(503, "")),
            lookup(
                "HTTP 401",
                read(401, r#"{"status":"failed","status_code":401,"msg":"Unauthorized: Invalid API Key"}"#),
            ),
            lookup(
                "HTTP 404",
                read(404, r#"{"status":"failed","status_code":404,"msg":"Transaction not found"}"#),
            ),
            lookup("HTTP 404 from a proxy", read(404, "<html>")),
        ],
    );
}

#[test]
fn invalid_requests() {
    let card = Card { number: "4242424242424241", cvv: "12", expiry: "13/30" };
    let wrong_payer =
        Payer { customer_name: " ", email: "ada", country_code: "US", ip_address: "localhost", ..payer() };
    let build = |amount, card, payer| {
        let builder =
            CardTransaction::builder(amount, TransactionType::Sale, ConvenienceFee::Inactive, card, payer);
        Error::from(builder.build().unwrap_err())
    };
    let json = |json: &str| Error::from(CardTransaction::from_json(json.as_bytes()).unwrap_err());
    let unsafe_id = r#"{"status_code":100,"data":{"TransactionId":".."}}"#;
    let unsafe_id = sale(10_50).read(&endpoint(), response(200, unsafe_id)).unwrap().transaction_id.clone();
    assert_messages(
        "Invalid requests",
        &[
            payment("several fields are invalid", build(Amount::from_cents(0), card, wrong_payer)),
            payment("the card number is too short", build(AMOUNT, Card { number: "4242", ..CARD }, payer())),
            payment("the security code is too long", build(AMOUNT, Card { cvv: "91703", ..CARD }, payer())),
            payment("the JSON is not an object", json("[]")),
            payment("the JSON has a syntax error", json("{,}")),
            lookup(
                "the id is not safe in a path",
                GetTransaction::new(unsafe_id).request(&endpoint()).unwrap_err(),
            ),
        ],
    );
}

#[test]
fn settings() {
    let key = |key| ApiKey::new(key).unwrap_err();
    let url = |url: &str| Endpoint::new(url, ApiKey::new("sk_test").unwrap()).unwrap_err();
    let header = |name: &'static str, value: &str| CallerHeaders::new().insert(name, value).unwrap_err();
    let build = |when, error: &dyn std::error::Error| message(when, "", &error);
    let hyper = || HyperTransport::builder();
    let not_pem = "not a certificate";
    assert_messages(
        "Settings",
        &[
            payment("the API key is empty", key("")),
            payment("the API key has a space", key("sk test")),
            payment("the base URL is relative", url("pay.example.com")),
            payment("the base URL has a query", url("https://pay.example.com/?key=1")),
            payment("the base URL is plain http", url("http://pay.example.com")),
            payment("a caller header is malformed", header("x-trace", "line\nbreak")),
            payment("a caller header is reserved", header("authorization", "Bearer 1")),
            payment("the caller headers are too long", header("x-long", &"x".repeat(8 * 1024))),
            build("hyper: a root certificate", &hyper().root_certificates_pem(not_pem).build().unwrap_err()),
            build(
                "hyper: a client certificate",
                &hyper().client_certificate_pem(not_pem, not_pem).build().unwrap_err(),
            ),
            build("hyper: the proxy", &hyper().proxy("socks5://127.0.0.1").build().unwrap_err()),
            build(
                "reqwest: a root certificate",
                &ReqwestTransport::builder().root_certificates_pem(not_pem).build().unwrap_err(),
            ),
            build(
                "ureq: a root certificate",
                &UreqTransport::builder().root_certificates_pem(not_pem).build().unwrap_err(),
            ),
        ],
    );
}

/// A journaled call with the key `invoice-17`.
async fn pay(client: &JournaledClient, id: &str, cents: i64) -> payments_journal::Error {
    client.process_token(&IntentKey::new("invoice-17").unwrap(), &token(id, cents)).await.unwrap_err()
}

async fn journaled(gateway: &FakeGateway) -> JournaledClient {
    JournaledClient::new(gateway.client(), Journal::open(MemoryStore::new()).await.unwrap())
}

fn intent(when: &str, error: payments_journal::Error) -> Message {
    let outcome = error.outcome().as_str();
    let cause = format!("{:?}", error.cause());
    let cause = cause.split([' ', '(']).next().unwrap();
    let row = row_of_cause(cause);
    // The kind and the outcome of these are those of a call.
    if !["Call", "Recorded"].contains(&cause) {
        let kind = format!("`{}`", error.kind());
        assert!(row[1].contains(&kind) && row[2].contains(outcome), "{when}: {kind}, {outcome}: {row:?}");
    }
    message(when, outcome, &error)
}

/// The cells of the row of a cause in the guide of the journal.
fn row_of_cause(cause: &str) -> Vec<&'static str> {
    let guide = include_str!("../docs/journal.md");
    let row = guide.lines().find(|line| line.starts_with(&format!("| `{cause}` | ")));
    row.unwrap_or_else(|| panic!("docs/journal.md has no row for {cause}")).split(" | ").collect()
}

#[test]
fn guide_has_a_row_for_every_cause_of_a_journaled_error() {
    let source = include_str!("../crates/payments-journal/src/error.rs");
    let (_, causes) = source.split_once("pub enum Cause {").unwrap();
    let (causes, _) = causes.split_once("\n}\n").unwrap();
    let causes = causes.lines().filter_map(|line| line.strip_prefix("    "));
    let causes = causes.filter(|line| line.starts_with(char::is_uppercase));
    let rows: Vec<_> = causes.map(|line| row_of_cause(line.split([' ', '(', ',']).next().unwrap())).collect();
    assert!(rows.len() > 10 && rows.iter().all(|row| row.len() == 4), "{rows:?}");
}

#[tokio::test]
async fn journaled_calls() {
    let mut messages = Vec::new();

    let declined = journaled(&FakeGateway::new()).await;
    messages.push(intent("declined now", pay(&declined, test_values::TOK_DECLINED, 10_50).await));
    messages
        .push(intent("declined by an earlier call", pay(&declined, test_values::TOK_DECLINED, 10_50).await));
    messages.push(intent(
        "declined earlier, and the request is now another one",
        pay(&declined, test_values::TOK_APPROVED, 10_50).await,
    ));

    let gateway = FakeGateway::new();
    gateway.arm(Fault::response_lost(OperationName::TokenTransaction));
    let lost = journaled(&gateway).await;
    messages.push(intent("lost now", pay(&lost, test_values::TOK_APPROVED, 10_50).await));
    messages.push(intent("lost by an earlier call", pay(&lost, test_values::TOK_APPROVED, 10_50).await));
    messages.push(intent(
        "lost earlier, and the amount is now another one",
        pay(&lost, test_values::TOK_APPROVED, 11_00).await,
    ));

    let paid = journaled(&FakeGateway::new()).await;
    let key = IntentKey::new("invoice-17").unwrap();
    paid.process_token(&key, &token(test_values::TOK_APPROVED, 10_50)).await.unwrap();
    let error = pay(&paid, test_values::TOK_APPROVED, 11_00).await;
    let id = error.transaction_id().unwrap().to_string();
    messages.push(message(
        "paid earlier, and the amount is now another one",
        error.outcome().as_str(),
        &error.to_string().replace(&id, "txn_1"),
    ));

    let stuck = Client::builder(endpoint(), Stuck, TokioTimer::new()).build();
    let stuck = JournaledClient::new(stuck, Journal::open(MemoryStore::new()).await.unwrap());
    let first = stuck.clone();
    let in_flight = tokio::spawn(async move { pay(&first, test_values::TOK_APPROVED, 10_50).await });
    while stuck.journal().find(&key).await.unwrap().is_none() {
        tokio::task::yield_now().await;
    }
    messages.push(intent("another call is sending it", pay(&stuck, test_values::TOK_APPROVED, 10_50).await));
    messages.push(intent(
        "another call is sending another request with the key",
        pay(&stuck, test_values::TOK_APPROVED, 11_00).await,
    ));
    in_flight.abort();

    let panicking = Client::builder(endpoint(), Panicking, TokioTimer::new()).build();
    let panicking = JournaledClient::new(panicking, Journal::open(MemoryStore::new()).await.unwrap());
    messages.push(intent("the transport panicked", pay(&panicking, test_values::TOK_APPROVED, 10_50).await));

    let new = journaled(&FakeGateway::new()).await;
    let payment = token(test_values::TOK_APPROVED, 10_50);
    messages.push(intent(
        "a new attempt without a first one",
        new.after_rejection(&key).process_token(&payment).await.unwrap_err(),
    ));
    let secret = IntentKey::new(FakeGateway::API_KEY).unwrap();
    messages.push(intent("the key is a secret", new.process_token(&secret, &payment).await.unwrap_err()));
    let before = FakeGateway::builder().api_key("key_before_this_one").build().client();
    let before = JournaledClient::new(before, new.journal().clone());
    before.process_token(&secret, &payment).await.unwrap();
    messages.push(intent(
        "the key is a secret, and an earlier call has paid",
        new.process_token(&secret, &payment).await.unwrap_err(),
    ));

    for (what, error) in [
        (
            "the journal cannot be written",
            StoreError::unavailable("the journal billing.db cannot be written: the disk is full"),
        ),
        (
            "the journal is of a newer version",
            StoreError::newer("the journal billing.db is of a newer version: use the newer version"),
        ),
    ] {
        let store = Failing::default();
        let fails = Arc::clone(&store.error);
        let failing = JournaledClient::new(FakeGateway::new().client(), Journal::open(store).await.unwrap());
        fails.set(error).unwrap();
        messages.push(intent(what, pay(&failing, test_values::TOK_APPROVED, 10_50).await));
    }
    messages.push(intent(
        "there is no runtime",
        std::thread::spawn(move || payments_fake::block_on(pay(&new, test_values::TOK_APPROVED, 10_50)))
            .join()
            .unwrap(),
    ));
    assert_messages("Journaled calls", &messages);
}

/// Never responds.
#[derive(Debug)]
struct Stuck;

impl Transport for Stuck {
    async fn send(&self, _: TransportRequest) -> Result<TransportResponse, TransportError> {
        pending().await
    }
}

#[derive(Debug)]
struct Panicking;

impl Transport for Panicking {
    async fn send(&self, _: TransportRequest) -> Result<TransportResponse, TransportError> {
        panic!("this transport always panics")
    }
}

/// A store that cannot be written once it has an error to return.
#[derive(Default)]
struct Failing {
    below: MemoryStore,
    error: Arc<OnceLock<StoreError>>,
}

#[async_trait]
impl IntentStore for Failing {
    fn owner(&self) -> &OwnerId {
        self.below.owner()
    }

    async fn apply(&self, change: Change) -> Result<Applied, StoreError> {
        match self.error.get() {
            Some(error) => Err(error.clone()),
            None => self.below.apply(change).await,
        }
    }

    async fn find(&self, key: &IntentKey) -> Result<Option<Intent>, StoreError> {
        self.below.find(key).await
    }

    async fn list(&self, states: &[StateName], after: Option<i64>, limit: usize) -> Result<Rows, StoreError> {
        self.below.list(states, after, limit).await
    }

    async fn is_live(&self, owner: &OwnerId) -> Result<bool, StoreError> {
        self.below.is_live(owner).await
    }

    async fn purge(&self, age: Duration) -> Result<Purged, StoreError> {
        self.below.purge(age).await
    }
}

#[tokio::test]
async fn resolving() {
    let key = IntentKey::new("invoice-17").unwrap();
    let gateway = FakeGateway::new();
    let client = journaled(&gateway).await;
    let resolve = || Resolution::not_processed("ada");
    let mut messages = Vec::new();
    let mut push = |when, error: payments_journal::ResolveError| messages.push(message(when, "", &error));
    let unknown: TransactionId = "txn_unknown".parse().unwrap();
    let read = async |key: &IntentKey| client.journal().find(key).await.unwrap().unwrap();
    let look_up = async |id: &TransactionId| {
        let resolution = Resolution::processed(id.clone(), "ada");
        client.look_up_and_resolve(&read(&key).await, resolution).await.unwrap_err()
    };
    gateway.arm(Fault::response_lost(OperationName::TokenTransaction));
    pay(&client, test_values::TOK_APPROVED, 10_50).await;
    let another = Journal::open(MemoryStore::new()).await.unwrap();
    push("the key is not in the journal", another.resolve(&read(&key).await, resolve()).await.unwrap_err());
    push("the transaction is not found", look_up(&unknown).await);

    let other = IntentKey::new("invoice-18").unwrap();
    let charged = client.process_token(&other, &token(test_values::TOK_APPROVED, 11_00)).await.unwrap();
    let id = charged.transaction_id.clone();
    push("the transaction has another amount", look_up(&id).await);
    let resolution = Resolution::processed(id.clone(), "ada");
    let error = client.journal().resolve(&read(&key).await, resolution).await.unwrap_err();
    assert!(error.to_string().contains(id.as_str()), "{error}");
    push("the key is processed", client.journal().resolve(&read(&other).await, resolve()).await.unwrap_err());

    let store = Failing::default();
    let failure = Arc::clone(&store.error);
    let failing = Journal::open(store).await.unwrap();
    failure.set(StoreError::in_doubt("the connection to the database broke")).unwrap();
    push(
        "the journal cannot say whether it was written",
        failing.resolve(&read(&key).await, resolve()).await.unwrap_err(),
    );
    assert_messages("Resolving a key", &messages);
}

#[test]
#[cfg(unix)]
fn opening_a_journal() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let folder = tempfile::tempdir().unwrap();
    let open = |path: &Path| SqliteStore::open(path).unwrap_err().to_string();
    let path = |name: &str| folder.path().join(name);
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
    fs::write(path("notes.txt"), "x".repeat(1024)).unwrap();
    fs::set_permissions(path("notes.txt"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(path("open.db"), "").unwrap();
    fs::set_permissions(path("open.db"), fs::Permissions::from_mode(0o644)).unwrap();
    symlink(path("notes.txt"), path("link.db")).unwrap();
    fs::create_dir(path("shared")).unwrap();
    fs::set_permissions(path("shared"), fs::Permissions::from_mode(0o777)).unwrap();
    let messages = [
        ("its directory and the one above do not exist", path("a/b/billing.db")),
        ("its path is the address of a database", "postgres://ada@db/books".into()),
        ("it is a directory", path("shared")),
        ("it is a symbolic link", path("link.db")),
        ("it is another file", path("notes.txt")),
        ("other users can read it", path("open.db")),
        ("other users can write its directory", path("shared/billing.db")),
    ]
    .map(|(when, path)| {
        message(when, "", &open(&path).replace(&*folder.path().to_string_lossy(), "/var/lib"))
    });
    assert_messages("Opening a journal", &messages);
}
