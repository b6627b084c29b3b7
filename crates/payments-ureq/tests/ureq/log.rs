//! What ureq logs up to DEBUG has no secret, and a logger may panic or make a call of its own within a call. A process has one
//! logger, so these tests share it.

use std::cell::RefCell;
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::Duration;

use log::{LevelFilter, Log, Metadata, Record};
use payments_core::Outcome;
use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
use payments_sandbox::BlockingSandbox;

type Act = Box<dyn FnOnce()>;

thread_local! {
    /// What to do at this thread's first log line that begins with this text.
    static AT_LINE: RefCell<Option<(&'static str, Act)>> = const { RefCell::new(None) };
}

/// Records every line, and acts as planned.
struct Logger(Mutex<Vec<String>>);

static LOGGER: Logger = Logger(Mutex::new(Vec::new()));

impl Log for Logger {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        let line = record.args().to_string();
        self.0.lock().unwrap().push(line.clone());
        let found = AT_LINE.with_borrow_mut(|planned| planned.take_if(|(start, _)| line.starts_with(*start)));
        if let Some((_, act)) = found {
            act();
        }
    }

    fn flush(&self) {}
}

fn install() {
    // Another test of this process may have set it.
    log::set_logger(&LOGGER).unwrap_or(());
    log::set_max_level(LevelFilter::Debug);
}

fn at_line(start: &'static str, act: impl FnOnce() + 'static) {
    install();
    AT_LINE.set(Some((start, Box::new(act))));
}

/// A line that ureq logs while it holds the lock of its pool.
const LOCKED: &str = "Use pooled";

const TOKEN: &str = "tok_approved";

fn payment(amount: Amount) -> TokenTransaction {
    TokenTransaction::builder(TOKEN, amount, ConvenienceFee::Inactive).build().unwrap()
}

#[test]
fn the_log_has_neither_the_key_nor_the_body_of_a_request() {
    install();
    let sandbox = BlockingSandbox::start().unwrap();
    let client = payments_ureq::client(sandbox.endpoint()).unwrap();
    client.process_token(&payment(Amount::from_cents(10_50))).unwrap();

    let lines = LOGGER.0.lock().unwrap();
    assert!(!lines.is_empty(), "ureq logs something at DEBUG");
    // ureq would write the bytes in rows, so this searches for pieces.
    for secret in [sandbox.api_key(), TOKEN] {
        for piece in secret.as_bytes().windows(6) {
            let piece = str::from_utf8(piece).unwrap();
            assert!(!lines.iter().any(|line| line.contains(piece)), "{piece} of {secret} in {lines:#?}");
        }
    }
}

#[test]
fn a_panic_is_an_error_with_the_evidence_d03() {
    let sandbox = BlockingSandbox::start().unwrap();
    let client = payments_ureq::client(sandbox.endpoint()).unwrap();
    let amount = Amount::from_cents(10_50);

    for (start, outcome) in [("Request {", Outcome::NotProcessed), ("Response {", Outcome::Unknown)] {
        at_line(start, || panic!("on purpose"));
        let error = client.process_token(&payment(amount)).unwrap_err();
        assert_eq!(error.outcome(), outcome, "{error:?}");
        assert!(AT_LINE.with_borrow(Option::is_none), "ureq logs `{start}`");
    }
    sandbox.gateway().ledger().assert_charged_once(amount);
    let receipt = client.transaction(sandbox.gateway().ledger().entries()[0].transaction_id()).unwrap();
    assert_eq!(receipt.amount.value(), Some(&amount));
}

#[test]
fn a_panic_while_ureq_holds_a_lock_breaks_no_later_call_d03() {
    let sandbox = BlockingSandbox::start().unwrap();
    let client = payments_ureq::client(sandbox.endpoint()).unwrap();
    let amount = Amount::from_cents(10_50);
    let id = client.process_token(&payment(amount)).unwrap().transaction_id.clone();
    for _ in 0..2 {
        at_line(LOCKED, || panic!("on purpose"));
        let error = client.process_token(&payment(amount)).unwrap_err();
        assert_eq!(error.outcome(), Outcome::NotProcessed, "{error:?}");
        assert!(AT_LINE.with_borrow(Option::is_none), "ureq logs `{LOCKED}`");
        // The first one opens a connection, the second one uses it again.
        for _ in 0..2 {
            client.transaction(&id).unwrap();
        }
    }
    sandbox.gateway().ledger().assert_charged_once(amount);
}

#[test]
fn a_logger_can_make_a_call_while_ureq_holds_a_lock() {
    let sandbox = BlockingSandbox::start().unwrap();
    let client = payments_ureq::client(sandbox.endpoint()).unwrap();
    let id = client.process_token(&payment(Amount::from_cents(10_50))).unwrap().transaction_id.clone();
    let (end, ended) = mpsc::channel();
    thread::spawn(move || {
        let (inner, inner_id, inner_end) = (client.clone(), id.clone(), end.clone());
        at_line(LOCKED, move || inner_end.send(inner.transaction(&inner_id).is_ok()).unwrap());
        end.send(client.transaction(&id).is_ok()).unwrap();
    });
    // Without an agent of its own, the inner call waits for ever for the lock of the outer one.
    for call in ["inner", "outer"] {
        assert_eq!(ended.recv_timeout(Duration::from_secs(30)), Ok(true), "the {call} call");
    }
}
