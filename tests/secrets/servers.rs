//! The same over real sockets, with and without TLS. Also searches what the sandbox keeps and reports, and what rustls and other
//! crates log and trace.

use std::sync::{Mutex, Once};
use std::thread;
use std::time::Duration;

use payments_canary::{Canaries, assert_no_leak_in_runs};
use payments_core::{Client, TracingObserver};
use payments_fake::{FakeGateway, Fault, FaultKind};
use payments_hyper::{HyperTransport, TokioTimer};
use payments_sandbox::Sandbox;
use payments_tests::{PHASES, fault_kinds};

use super::calls::{calls, transcribe_result};
use super::requests::{ach_payment, card_payment};
use super::transcript::{Transcript, transcribe};

#[test]
fn calls_over_http_show_no_secret_d62() {
    assert_clean("calls over http", false);
}

#[test]
fn calls_over_https_show_no_secret_d62() {
    let log = log();
    assert_clean("calls over https", true);
    let logged = log.lock().unwrap().clone();
    assert!(logged.contains("rustls"), "rustls must log: {logged}");
    // The log must contain TRACE, unless a crate of the build compiles it out.
    let has_trace = logged.lines().any(|line| line.starts_with("TRACE"));
    assert_eq!(has_trace, log::STATIC_MAX_LEVEL == log::LevelFilter::Trace, "{logged}");
    for set in 0..3 {
        let sightings = Canaries::set(set).sightings(logged.as_bytes());
        let found = sightings.iter().find(|sighting| !matches!(sighting.secret, "cvv" | "expiry"));
        assert_eq!(found, None, "in the log of rustls");
    }
}

/// The transcripts contain ports and times, which may equal a security code by chance.
#[track_caller]
fn assert_clean(place: &str, tls: bool) {
    let transcripts: Vec<_> = thread::scope(|scope| {
        let runs = [0, 1, 2].map(|set| {
            scope.spawn(move || {
                let canaries = Canaries::set(set);
                let transcript = Transcript::default();
                transcript.record_traces(|| every_fault(&canaries, &transcript, tls));
                (canaries, transcript.text().into_bytes())
            })
        });
        runs.map(|run| run.join().unwrap()).into()
    });
    assert!(
        transcripts.iter().all(|(_, transcript)| transcript.len() > 100_000),
        "a transcript is too short"
    );
    assert_no_leak_in_runs(place, &transcripts);
}

fn every_fault(canaries: &Canaries, transcript: &Transcript, tls: bool) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let gateway = FakeGateway::builder().api_key(canaries.key()).ignore_unfired_faults().build();
        let exchanges = transcript.clone();
        let sandbox = Sandbox::builder().gateway(gateway.clone());
        let sandbox = sandbox.on_exchange(move |exchange| {
            // Every run has so many of these that any three digits occur by chance.
            let mut exchange = exchange.clone();
            exchange.took = Duration::ZERO;
            transcribe!(&exchanges, exchange);
        });
        let sandbox = if tls { sandbox.tls() } else { sandbox }.start().await.unwrap();
        let transport = HyperTransport::builder();
        let transport = match sandbox.ca_certificate_pem() {
            Some(pem) => transport.only_root_certificates_pem(pem),
            None => transport,
        };
        let transport = transport.build().unwrap();
        let client = |transcript: Option<&Transcript>| {
            let client =
                Client::builder(sandbox.endpoint(), transport.clone(), TokioTimer::new()).lookup_retries(0);
            match transcript {
                Some(transcript) => client.observer(transcript.clone()),
                None => client.observer(TracingObserver::new()),
            }
            .build()
        };
        for client in [client(Some(transcript)), client(None)] {
            calls(&client, canaries, transcript).await;
        }
        // Each stall takes this long. The output must hold no secret, whether or not a response arrives in time.
        let client = client(Some(transcript)).with_total_timeout(Duration::from_millis(60));
        for kind in kinds_without_a_status() {
            for phase in PHASES {
                let fault = gateway.arm(Fault::on_any().at(phase).show(kind).times(2));
                transcribe_result(transcript, &client.process_card(&card_payment(canaries)).await);
                transcribe_result(transcript, &client.process_ach(&ach_payment(canaries)).await);
                gateway.disarm(fault);
            }
        }
        transcribe!(transcript, sandbox);
        transcribe!(transcript, transport);
        transcribe!(transcript, gateway.ledger());
        transcript.write(&gateway.first_tenant().state_json());
        for request in gateway.requests() {
            transcript.write(&request.to_json());
        }
    });
}

/// The kinds with a status always send the same response, so one run of them is enough.
fn kinds_without_a_status() -> impl Iterator<Item = FaultKind> {
    fault_kinds()
        .into_iter()
        .filter(|kind| !matches!(kind, FaultKind::Status { .. } | FaultKind::Html { .. }))
}

/// Records everything written with `log` from now on, at every level that is compiled in.
fn log() -> &'static Mutex<String> {
    static LOGGED: Mutex<String> = Mutex::new(String::new());
    static ONCE: Once = Once::new();
    struct Logger;
    impl log::Log for Logger {
        fn enabled(&self, _: &log::Metadata<'_>) -> bool {
            true
        }

        fn log(&self, record: &log::Record<'_>) {
            let line = format!("{} {} {}\n", record.level(), record.target(), record.args());
            LOGGED.lock().unwrap().push_str(&line);
        }

        fn flush(&self) {}
    }
    ONCE.call_once(|| {
        log::set_logger(&Logger).unwrap();
        log::set_max_level(log::LevelFilter::Trace);
    });
    &LOGGED
}
