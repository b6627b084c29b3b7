//! Tests that a caller's own builder logs nothing of a request. A process has one logger, so this file has one test.

use std::sync::Mutex;

use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
use payments_core::{Client, Endpoint};
use payments_reqwest::unversioned::from_client_builder;
use payments_sandbox::Sandbox;

static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Lines;

impl log::Log for Lines {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        LINES.lock().unwrap().push(format!("{}: {}", record.target(), record.args()));
    }

    fn flush(&self) {}
}

#[tokio::test]
async fn a_verbose_builder_logs_no_payment() {
    log::set_logger(&Lines).unwrap();
    log::set_max_level(log::LevelFilter::Trace);
    rustls::crypto::ring::default_provider().install_default().ok();

    let sandbox = Sandbox::start().await.unwrap();
    let endpoint: Endpoint = sandbox.endpoint();
    let transport = from_client_builder(|| {
        // No roots are needed, because the sandbox uses plain http.
        reqwest::Client::builder().tls_certs_only([]).connection_verbose(true)
    });
    let client = Client::builder(endpoint, transport.unwrap(), payments_core::SystemTimer::new()).build();
    let payment =
        TokenTransaction::builder("tok_approved", Amount::from_cents(10_50), ConvenienceFee::Inactive);
    client.process_token(&payment.build().unwrap()).await.unwrap();

    let lines = LINES.lock().unwrap().join("\n");
    assert!(!lines.is_empty(), "nothing was logged");
    assert!(!lines.contains("tok_approved"), "{lines}");
}
