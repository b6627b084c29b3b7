//! What remains in memory of a payment after it, its client and its errors were dropped?
//!
//! The client runs in a child process, because the parent's server has read the body. The child searches its own memory for
//! secrets that it knows only with every bit inverted.
//!
//! The digits of a security code occur in any memory by chance. So the search looks for the code as it appears in the request,
//! `"Cvv":"917"`. It also looks for the four digits of an American Express code alone, in several children with different codes:
//! a code found in two children is a leak, a code found in one may be chance.

#![cfg(target_os = "linux")]
#![allow(clippy::print_stdout, reason = "a child reports its findings on stdout")]

use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crate::support::{Conversation, Server, post, send};
use bytes::Bytes;
use payments_canary::{Hidden, copies_in_memory};
use payments_core::model::{
    AchTransaction, Amount, Card, CardTransaction, ConvenienceFee, Payer, TransactionType,
};
use payments_core::{ApiKey, Client, Endpoint};
use payments_hyper::{HyperTransport, TlsProvider, TokioTimer};
use zeroize::Zeroizing;

const URL: &str = "PAYMENTS_HYPER_TEST_URL";
const AUTHORITY: &str = "PAYMENTS_HYPER_TEST_AUTHORITY";
const PROVIDER: &str = "PAYMENTS_HYPER_TEST_PROVIDER";
const SET: &str = "PAYMENTS_HYPER_TEST_SET";

#[test]
fn no_copy_of_a_payment_remains() {
    assert_no_copies("memory::no_copy_of_a_payment_remains", None);
}

#[cfg(feature = "ring")]
#[test]
fn no_copy_of_a_payment_remains_over_tls_with_ring() {
    assert_no_copies("memory::no_copy_of_a_payment_remains_over_tls_with_ring", Some(TlsProvider::Ring));
}

#[cfg(feature = "aws-lc-rs")]
#[test]
fn no_copy_of_a_payment_remains_over_tls_with_aws_lc_rs() {
    assert_no_copies(
        "memory::no_copy_of_a_payment_remains_over_tls_with_aws_lc_rs",
        Some(TlsProvider::AwsLcRs),
    );
}

#[test]
fn a_kept_copy_is_found() {
    search_if_this_is_a_child();
    // This tests the search itself.
    let copies = copies_in_child("memory::a_kept_copy_is_found", None, KEEPS_A_COPY);
    assert!(copies.iter().all(|(_, count)| *count > 0), "{copies:?}");
}

#[track_caller]
fn assert_no_copies(test: &str, provider: Option<TlsProvider>) {
    search_if_this_is_a_child();
    // In parallel, because the children mostly wait for deadlines.
    let run_all = || -> Vec<_> {
        thread::scope(|scope| {
            let children: Vec<_> =
                (0..SETS).map(|set| scope.spawn(move || copies_in_child(test, provider, set))).collect();
            children.into_iter().map(|child| child.join().unwrap()).collect()
        })
    };
    let runs = run_all();
    for (place, (name, _)) in runs[0].iter().enumerate() {
        let copies: Vec<_> = runs.iter().map(|run| run[place].1).collect();
        match name.as_str() {
            // So short that one find can be chance, and two once in hundreds of runs. A copy that is kept is there again.
            "code" | "expiry" => {
                let is_kept =
                    |runs: &[Vec<(String, usize)>]| runs.iter().filter(|run| run[place].1 > 0).count() > 1;
                assert!(!is_kept(&runs) || !is_kept(&run_all()), "{name}: {copies:?} copies in {runs:?}");
            }
            // hyper copies request heads into its own buffer. `ApiKey` only wipes its own memory.
            "key" => {}
            _ => assert!(copies.iter().all(|count| *count == 0), "{name}: {copies:?} copies in {runs:?}"),
        }
    }
}

/// In a child process: pays, prints how many copies remain, and exits.
#[expect(clippy::exit, reason = "the child runs the same test, and must not continue like its parent")]
fn search_if_this_is_a_child() {
    if let Ok(url) = std::env::var(URL) {
        let copies = pay_and_search(&url, std::env::var(SET).unwrap().parse().unwrap());
        let copies: Vec<_> = copies.iter().map(|(name, count)| format!("{name}={count}")).collect();
        // On a new line, after the output of the test harness.
        println!("\n{COPIES}{}", copies.join(" "));
        std::process::exit(0);
    }
}

/// The number of children, each with its own secrets.
const SETS: u8 = 3;

/// In place of a set's number: uses the first set and keeps a copy of it.
const KEEPS_A_COPY: u8 = SETS;

/// How often each secret occurs in the memory of a child that has sent and dropped it.
fn copies_in_child(test: &str, provider: Option<TlsProvider>, set: u8) -> Vec<(String, usize)> {
    let authority = provider.map(|_| crate::support::Authority::new());
    let server = match &authority {
        None => Server::start(misbehave),
        Some(authority) => Server::start_tls(authority.issue("localhost").server(), misbehave),
    };
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", test, "--nocapture"]).env(SET, set.to_string());
    match (&authority, provider) {
        (Some(authority), Some(provider)) => child
            .env(URL, server.https_url())
            .env(AUTHORITY, authority.pem())
            .env(PROVIDER, if provider == TlsProvider::Ring { "ring" } else { "aws-lc-rs" }),
        _ => child.env(URL, server.url()),
    };
    let output = child.output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let copies = stdout.lines().find_map(|line| line.strip_prefix(COPIES));
    let copies = copies.unwrap_or_else(|| panic!("{stdout}{}", String::from_utf8_lossy(&output.stderr)));
    assert_was_sent(&server, set);
    copies
        .split(' ')
        .map(|word| word.split_once('=').unwrap())
        .map(|(name, count)| (name.to_owned(), count.parse().unwrap()))
        .collect()
}

const COPIES: &str = "copies: ";

/// Asserts that the server received the card and the account in every mode. Otherwise there would be nothing to find.
#[track_caller]
fn assert_was_sent(server: &Server, set: u8) {
    let received = server.received();
    let [card, account] =
        [Secrets::of_set(set).card, Secrets::of_set(set).account].map(|hidden| plain(&hidden));
    for mode in MODES {
        let bodies: Vec<_> = received
            .iter()
            .filter(|request| request.request_line().contains(&format!("/{mode}/")))
            .map(|request| String::from_utf8_lossy(&request.body).into_owned())
            .collect();
        for secret in [&card, &account] {
            let secret = str::from_utf8(secret).unwrap();
            assert!(bodies.iter().any(|body| body.contains(secret)), "{mode}: {bodies:?}");
        }
    }
}

/// What the server does with a request. The request's path contains the mode.
const MODES: [&str; 7] = ["respond", "decline", "html", "garbage", "close", "reset", "silence"];

fn misbehave(connection: &mut Conversation) {
    while connection.read_request() {
        match mode(connection).as_str() {
            "respond" => drop(
                connection
                    .peer()
                    .respond(r#"{"status":"success","status_code":100,"data":{"TransactionId":"txn_1"}}"#),
            ),
            "decline" => drop(connection.peer().respond(r#"{"status":"failed","message":"no"}"#)),
            "html" => drop(connection.write("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 6\r\n\r\n<html>")),
            "garbage" => drop(connection.write("\x16\x03\x01\0\x02\x02\x28")),
            "close" => return connection.close(),
            "reset" => return connection.reset(),
            _ => drop(connection.hold()),
        }
    }
}

fn mode(connection: &mut Conversation) -> String {
    let path = connection.last_request_line();
    MODES.into_iter().find(|mode| path.contains(&format!("/{mode}/"))).unwrap().to_owned()
}

/// Pays by card and by account in every mode, drops one payment in flight, sends one to a closed port, and counts the copies.
fn pay_and_search(url: &str, set: u8) -> Vec<(&'static str, usize)> {
    let secrets = Secrets::of_set(set);
    let runtime = crate::support::runtime();
    {
        let transport = transport();
        let base = url.strip_suffix("/api/v1/public/transaction").unwrap();
        for mode in MODES {
            let timeout =
                if mode == "silence" { Duration::from_millis(300) } else { Duration::from_secs(20) };
            let client =
                client(&format!("{base}/{mode}/v1"), &secrets, &transport).with_total_timeout(timeout);
            // On a new connection and on a reused one.
            for _ in 0..2 {
                runtime.block_on(pay(&client, &secrets));
            }
        }
        let client = client(&format!("{base}/silence/v1"), &secrets, &transport);
        let card = secrets.card_payment();
        runtime.block_on(async {
            let result = tokio::time::timeout(Duration::from_millis(300), client.process_card(&card)).await;
            assert!(result.is_err());
        });
        // Bound, so that no other process takes the port, but not listening, so that connections are refused.
        let closed = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
        closed.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
        let address = closed.local_addr().unwrap().as_socket().unwrap();
        let client = self::client(&format!("http://{address}/v1"), &secrets, &transport);
        runtime.block_on(pay(&client, &secrets));
    }
    drop(runtime);
    let kept_copy = (set == KEEPS_A_COPY).then(|| secrets.all().map(|(_, hidden)| plain(&hidden)));
    let needles = secrets.all();
    let copies = copies_in_memory(&needles.clone().map(|(_, hidden)| hidden));
    drop(kept_copy);
    needles.iter().map(|(name, _)| *name).zip(copies).collect()
}

fn transport() -> HyperTransport {
    let builder = HyperTransport::builder();
    match (std::env::var(AUTHORITY), std::env::var(PROVIDER)) {
        (Ok(pem), Ok(provider)) => {
            let provider = if provider == "ring" { TlsProvider::Ring } else { TlsProvider::AwsLcRs };
            builder.root_certificates_pem(pem).tls_provider(provider).build().unwrap()
        }
        _ => builder.build().unwrap(),
    }
}

fn client(base: &str, secrets: &Secrets, transport: &HyperTransport) -> Client {
    let key = plain(&secrets.key);
    let endpoint = Endpoint::new(base, ApiKey::new(text(&key)).unwrap()).unwrap();
    Client::builder(endpoint, transport.clone(), TokioTimer::new()).build()
}

/// Formats the result as a program would, and drops it.
async fn pay(client: &Client, secrets: &Secrets) {
    let results = [
        client.process_card(&secrets.card_payment()).await,
        client.process_ach(&secrets.ach_payment()).await,
    ];
    for result in results {
        match result {
            Ok(charged) => drop(format!("{charged:?} {}", charged.body_snippet())),
            Err(error) => drop(format!("{error:#} {error:?} {:?}", error.failed_call().body_snippet())),
        }
    }
}

/// The secrets of one child, each with every bit inverted.
struct Secrets {
    card: Hidden,
    code: Hidden,
    expiry: Hidden,
    account: Hidden,
    key: Hidden,
}

impl Secrets {
    fn of_set(set: u8) -> Self {
        // Pseudo-random digits (Knuth's MMIX), generated with their bits already inverted.
        let mut random = u64::from(set % SETS) + 7;
        let mut hidden = |first: u8, count: u64, length: usize| {
            let mut next = || {
                random =
                    random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                !(first + ((random >> 33) % count).to_le_bytes()[0])
            };
            (0..length).map(|_| next()).collect::<Vec<_>>()
        };
        let mut card = hidden(b'0', 10, 15);
        card[..2].copy_from_slice(&[!b'3', !b'7']);
        // A date that no machine's clock shows.
        let mut expiry = hidden(b'1', 9, 4);
        [expiry[0], expiry[2]] = [!b'0', !b'7'];
        Self {
            card: Hidden::from_inverted(card),
            code: Hidden::from_inverted(hidden(b'0', 10, 4)),
            expiry: Hidden::from_inverted(expiry),
            account: Hidden::from_inverted(hidden(b'0', 10, 18)),
            key: Hidden::from_inverted(hidden(b'a', 26, 24)),
        }
    }

    /// The byte strings to search for; the short ones also as JSON members.
    fn all(&self) -> [(&'static str, Hidden); 7] {
        let member = |name: &str, value: &Hidden| {
            let name: Vec<u8> = format!("\"{name}\":\"").bytes().map(|byte| !byte).collect();
            Hidden::from_inverted([&name, value.inverted()].concat())
        };
        [
            ("card", self.card.clone()),
            ("code", self.code.clone()),
            ("code_member", member("Cvv", &self.code)),
            ("expiry", self.expiry.clone()),
            ("expiry_member", member("ExpiryDate", &self.expiry)),
            ("account", self.account.clone()),
            ("key", self.key.clone()),
        ]
    }

    fn card_payment(&self) -> CardTransaction {
        let [number, cvv, expiry] = [&self.card, &self.code, &self.expiry].map(plain);
        let card = Card { number: text(&number), cvv: text(&cvv), expiry: text(&expiry) };
        let (amount, fee) = (Amount::from_cents(1_00), ConvenienceFee::Active);
        let payment = CardTransaction::builder(amount, TransactionType::Sale, fee, card, payer());
        payment.without_luhn_check().build().unwrap()
    }

    fn ach_payment(&self) -> AchTransaction {
        let account = plain(&self.account);
        let (amount, fee) = (Amount::from_cents(1_00), ConvenienceFee::Active);
        let payment = AchTransaction::builder(amount, TransactionType::Sale, fee, payer());
        payment.account_field("AccountNumber", text(&account)).build().unwrap()
    }
}

fn payer() -> Payer<'static> {
    Payer {
        customer_name: "Ada Lovelace",
        email: "ada@example.com",
        country_code: "+1",
        phone_number: "415-555-0100",
        country: "US",
        postal_code: "94107",
        ip_address: "203.0.113.7",
    }
}

fn plain(hidden: &Hidden) -> Zeroizing<Vec<u8>> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(hidden.inverted().len()));
    hidden.reveal_into(&mut bytes);
    bytes
}

fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).unwrap()
}

/// A body that wipes itself when it is dropped must be dropped with the call.
#[test]
fn a_body_is_dropped_with_its_call() {
    let server = Server::start(|connection| connection.serve("{}"));
    let body = Arc::new([b'.'; 600]);
    let transport = crate::support::transport();
    let plan = post(server.url()).body(Bytes::from_owner(Shared(Arc::clone(&body))));
    crate::support::runtime().block_on(send(&transport, plan)).unwrap();
    assert_eq!(Arc::strong_count(&body), 1, "the pooled connection keeps the body");
    drop(transport);
}

struct Shared(Arc<[u8; 600]>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        self.0.as_slice()
    }
}
