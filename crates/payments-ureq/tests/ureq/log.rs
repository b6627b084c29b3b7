//! Tests that ureq's log up to DEBUG has no secret. A process has one logger, so this file has one test.

use std::sync::Mutex;

use log::{LevelFilter, Log, Metadata, Record};
use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
use payments_sandbox::BlockingSandbox;

const TOKEN: &str = "tok_approved";

struct Recorder(Mutex<Vec<String>>);

impl Log for Recorder {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        self.0.lock().expect("no holder of the lock panics").push(record.args().to_string());
    }

    fn flush(&self) {}
}

#[test]
fn the_log_has_neither_the_key_nor_the_body_of_a_request() {
    static RECORDER: Recorder = Recorder(Mutex::new(Vec::new()));
    log::set_logger(&RECORDER).unwrap();
    log::set_max_level(LevelFilter::Debug);

    let sandbox = BlockingSandbox::start().unwrap();
    let client = payments_ureq::client(sandbox.endpoint()).unwrap();
    let amount = Amount::from_cents(10_50);
    let payment = TokenTransaction::builder(TOKEN, amount, ConvenienceFee::Inactive).build().unwrap();
    client.process_token(&payment).unwrap();

    let lines = RECORDER.0.lock().unwrap();
    assert!(!lines.is_empty(), "ureq logs something at DEBUG");
    // ureq would write the bytes in rows, so this searches for pieces.
    for secret in [sandbox.api_key(), TOKEN] {
        for piece in secret.as_bytes().windows(6) {
            let piece = str::from_utf8(piece).unwrap();
            assert!(!lines.iter().any(|line| line.contains(piece)), "{piece} of {secret} in {lines:#?}");
        }
    }
}
