//! Tests that a panic within a call is reported with the evidence of how far the request got. The panic comes from the logger, and
//! a process has one logger, so this file has one test.

#![allow(clippy::unwrap_used, reason = "a panic reports a failed test")]

use std::sync::Mutex;

use log::{LevelFilter, Log, Metadata, Record};
use payments_core::Outcome;
use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
use payments_sandbox::BlockingSandbox;

/// Panics at the first log line that begins with this text.
struct PanickingLogger(Mutex<Option<&'static str>>);

impl Log for PanickingLogger {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        let line = record.args().to_string();
        let found = self.0.lock().unwrap().take_if(|start| line.starts_with(*start));
        assert_eq!(found, None, "on purpose");
    }

    fn flush(&self) {}
}

#[test]
fn a_panic_is_an_error_with_the_evidence_d03() {
    static LOGGER: PanickingLogger = PanickingLogger(Mutex::new(None));
    log::set_logger(&LOGGER).unwrap();
    log::set_max_level(LevelFilter::Debug);
    let sandbox = BlockingSandbox::start().unwrap();
    let client = payments_ureq::client(sandbox.endpoint()).unwrap();
    let amount = Amount::from_cents(10_50);
    let payment =
        TokenTransaction::builder("tok_approved", amount, ConvenienceFee::Inactive).build().unwrap();

    for (start, outcome) in [("Request {", Outcome::NotProcessed), ("Response {", Outcome::Unknown)] {
        *LOGGER.0.lock().unwrap() = Some(start);
        let error = client.process_token(&payment).unwrap_err();
        assert_eq!(error.outcome(), outcome, "{error:?}");
        assert_eq!(*LOGGER.0.lock().unwrap(), None, "ureq logs `{start}`");
    }
    sandbox.gateway().ledger().assert_charged_once(amount);
    let receipt = client.transaction(sandbox.gateway().ledger().entries()[0].transaction_id()).unwrap();
    assert_eq!(receipt.amount.value(), Some(&amount));
}
