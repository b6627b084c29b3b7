//! Does the chapter on defaults agree with the code?

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::USER_AGENT;
use payments_core::model::{Amount, ConvenienceFee, TokenTransaction, TransactionId};
use payments_core::{Client, Deadlines, Operation as _, RandomSource, Sleep, Timer, TransportRequest};
use payments_fake::{FakeGateway, FakeTransport, ManualClock, Reply, block_on};
use payments_hyper::HyperTransportBuilder;
use payments_ureq::UreqTransportBuilder;

const CHAPTER: &str = include_str!("../crates/payments-core/docs/defaults.md");

/// The sources with the settings.
const BUILDERS: [&str; 3] = [
    include_str!("../crates/payments-core/src/client/builder.rs"),
    include_str!("../crates/payments-hyper/src/builder.rs"),
    include_str!("../crates/payments-ureq/src/builder.rs"),
];

/// The second cell of the row whose first cell is `first`.
fn default_of(first: &str) -> &'static str {
    let row = CHAPTER.lines().find_map(|line| line.strip_prefix(&format!("| {first} | ")));
    row.unwrap_or_else(|| panic!("the chapter has no row for {first}")).split(" |").next().unwrap()
}

fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64())
}

#[test]
fn defaults_in_chapter_match_the_code_d23_d65() {
    assert_eq!(default_of("`connect_timeout`"), seconds(Deadlines::DEFAULT_CONNECT));
    assert_eq!(default_of("`total_timeout`"), seconds(Deadlines::DEFAULT_TOTAL));
    assert_eq!(default_of("disable a deadline"), "never; the longest is a year");
    assert_eq!(Deadlines::LONGEST, Duration::from_hours(365 * 24));
    assert_eq!(default_of("`response_cap`"), format!("{} MiB", TransportRequest::DEFAULT_RESPONSE_CAP >> 20));
    assert_eq!(default_of("`pool_idle_timeout`"), seconds(HyperTransportBuilder::DEFAULT_POOL_IDLE_TIMEOUT));
    let most = HyperTransportBuilder::DEFAULT_MAX_IDLE_CONNECTIONS.to_string();
    assert_eq!(default_of("`max_idle_connections`"), most);
    assert!(CHAPTER.contains(&format!("**{most} of them are kept,**")));
    assert_eq!(
        UreqTransportBuilder::DEFAULT_POOL_IDLE_TIMEOUT,
        HyperTransportBuilder::DEFAULT_POOL_IDLE_TIMEOUT
    );
    assert_eq!(
        UreqTransportBuilder::DEFAULT_MAX_IDLE_CONNECTIONS,
        HyperTransportBuilder::DEFAULT_MAX_IDLE_CONNECTIONS
    );
}

#[test]
fn every_setting_has_a_reason() {
    for builder in BUILDERS {
        let functions = builder.lines().filter_map(|line| line.strip_prefix("    pub fn "));
        let settings: Vec<_> = functions.filter_map(|line| line.split('(').next()).collect();
        assert!(settings.len() > 5, "{settings:?}");
        for setting in settings.into_iter().filter(|name| !name.starts_with("build")) {
            let row = CHAPTER
                .lines()
                .find(|line| line.starts_with("| `") && line.contains(&format!("`{setting}`")));
            assert!(row.is_some(), "give {setting} a row and a reason in payments-core/docs/defaults.md");
        }
    }
}

#[test]
fn links_lead_to_existing_sections() {
    let anchor = |title: &str| {
        let title = title.to_lowercase().replace(' ', "-");
        title.chars().filter(|letter| letter.is_alphanumeric() || *letter == '-').collect::<String>()
    };
    let sections: Vec<_> = CHAPTER.lines().filter_map(|line| line.strip_prefix("# ")).map(anchor).collect();
    for link in CHAPTER.split("](#").skip(1).filter_map(|rest| rest.split(')').next()) {
        assert!(sections.iter().any(|section| section == link), "{link}: {sections:?}");
    }
}

/// A clock that does not advance. Its sleeps end at once and are recorded.
#[derive(Clone)]
struct RecordingTimer {
    slept: Arc<Mutex<Vec<Duration>>>,
    clock: ManualClock,
}

impl Timer for RecordingTimer {
    fn now(&self) -> Instant {
        self.clock.now()
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        self.slept.lock().unwrap().push(duration);
        Box::pin(std::future::ready(()))
    }
}

struct ConstantSource(u64);

impl RandomSource for ConstantSource {
    fn next(&self) -> u64 {
        self.0
    }
}

/// The pauses of a lookup that always fails, with this number of retries or the default.
fn pauses(retries: Option<u32>, jitter: u64) -> Vec<Duration> {
    let requests = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&requests);
    let refuse = move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        Reply::Refused
    };
    let transport = FakeTransport::over(refuse, ManualClock::new());
    let timer = RecordingTimer { slept: Arc::default(), clock: ManualClock::new() };
    let mut client = Client::builder(FakeGateway::new().endpoint(), transport, timer.clone());
    client = client.random_source(ConstantSource(jitter));
    if let Some(retries) = retries {
        client = client.lookup_retries(retries);
    }
    block_on(client.build().transaction(&TransactionId::new("txn_1").unwrap())).unwrap_err();
    // The longer sleeps are the backstops of the deadline.
    let slept = timer.slept.lock().unwrap();
    let pauses: Vec<_> = slept.iter().copied().filter(|slept| *slept < Duration::from_secs(20)).collect();
    assert_eq!(requests.load(Ordering::Relaxed), pauses.len() + 1);
    pauses
}

#[test]
fn lookup_retries_match_the_chapter_d12_d20() {
    let (shortest, longest) = (pauses(None, 0), pauses(None, 1023));
    assert_eq!(default_of("`lookup_retries`"), shortest.len().to_string());
    let words = format!(
        "The pauses begin with\n{} to {} ms and double up to {};",
        shortest[0].as_millis(),
        longest[0].as_millis().next_multiple_of(10),
        seconds(Duration::from_secs(pauses(Some(15), 1023)[14].as_secs().next_multiple_of(5))),
    );
    assert!(CHAPTER.contains(&words), "{words}");
}

#[test]
fn fixed_limits_in_chapter_match_the_code() {
    let has = |file: &str, line: &str| assert!(file.contains(line), "{line}");
    has(
        include_str!("../crates/payments-model/src/request/body.rs"),
        "const MAX_BODY_BYTES: usize = 64 * 1024;",
    );
    assert_eq!(default_of("body of a request"), "64 KiB at most");
    has(include_str!("../crates/payments-hyper/src/clients.rs"), "const MAX_HEAD_SIZE: usize = 64 * 1024;");
    has(include_str!("../crates/payments-hyper/src/clients.rs"), "const MAX_HEADERS: usize = 1000;");
    assert_eq!(default_of("head of a response"), "1 000 headers and 64 KiB at most");
    has(
        include_str!("../crates/payments-core/src/client/mod.rs"),
        "const BACKSTOP: Duration = Duration::from_millis(20);",
    );
    assert!(CHAPTER.contains("the client's own limit, 20 ms later,"));
    has(include_str!("../crates/payments-hyper/Cargo.toml"), "default = [\"ring\", \"webpki-roots\"]");
    assert_eq!(default_of("`tls_provider`"), "ring");
    assert_eq!(default_of("`trusted_roots`"), "Mozilla's, compiled in");
    has(include_str!("../crates/payments-hyper/src/connector.rs"), "tcp.set_nodelay(true);");
    assert_eq!(default_of("`TCP_NODELAY`"), "set");
    // rustls resumes sessions by default.
    let tls = include_str!("../crates/payments-hyper/src/tls.rs");
    assert!(!tls.contains("resumption"), "the chapter says that sessions are resumed");
    assert_eq!(default_of("TLS sessions"), "resumed");
}

#[test]
fn user_agent_and_body_snippet_match_the_chapter() {
    let endpoint = FakeGateway::new().endpoint();
    let payment = TokenTransaction::builder("tok_1", Amount::from_cents(10_50), ConvenienceFee::Inactive)
        .build()
        .unwrap();
    let request = payment.request(&endpoint).unwrap();
    let user_agent =
        default_of("`User-Agent`").trim_matches('`').replace("VERSION", env!("CARGO_PKG_VERSION"));
    assert_eq!(request.headers()[USER_AGENT], user_agent);

    let response = http::Response::new(Bytes::from("long ".repeat(1000)));
    let kept = payment.read(&endpoint, response).unwrap_err().failed_call().body_snippet().unwrap().len();
    assert_eq!(
        default_of("part of a response kept in results and errors"),
        format!("{} KiB, masked", kept / 1024)
    );
    assert_eq!(kept % 1024, 0);
}
