//! The same over real sockets, with and without TLS: errors, events, what the sandbox keeps, tells and logs, and what
//! rustls and whoever else traces has to say.

use std::sync::{Mutex, Once};
use std::thread;
use std::time::Duration;

use payments_canary::{Canaries, assert_leaks_in_no_run};
use payments_core::{Client, TracingObserver};
use payments_fake::{FakeGateway, Fault, FaultKind};
use payments_hyper::{HyperTransport, TokioTimer};
use payments_sandbox::Sandbox;
use payments_tests::kinds;

use super::calls::{PHASES, calls, tell_result};
use super::lines::Lines;
use super::page::{Page, tell};
use super::requests::{ach_payment, card_payment};

#[test]
fn no_call_over_http_leaves_a_secret_behind_d62() {
    assert_clean("calls over http", false);
}

#[test]
fn no_call_over_https_leaves_a_secret_behind_d62() {
    let written = log();
    assert_clean("calls over https", true);
    let logged = written.lock().unwrap().clone();
    assert!(logged.contains("rustls"), "rustls logs: {logged}");
    // Unless some crate of the build compiles TRACE out, it must be in what is searched.
    let has_trace = logged.lines().any(|line| line.starts_with("TRACE"));
    assert_eq!(has_trace, log::STATIC_MAX_LEVEL == log::LevelFilter::Trace, "{logged}");
    for set in 0..3 {
        let sightings = Canaries::set(set).sightings(logged.as_bytes());
        let found = sightings.iter().find(|sighting| !matches!(sighting.secret, "cvv" | "expiry"));
        assert_eq!(found, None, "in the log of rustls");
    }
}

/// There are ports and times on the pages, among which a security code may stand by chance.
#[track_caller]
fn assert_clean(place: &str, tls: bool) {
    let pages: Vec<_> = thread::scope(|scope| {
        let runs = [0, 1, 2].map(|set| {
            scope.spawn(move || {
                let canaries = Canaries::set(set);
                let page = Page::default();
                Lines::on(page.clone()).during(|| every_fault(&canaries, &page, tls));
                (canaries, page.text().into_bytes())
            })
        });
        runs.map(|run| run.join().unwrap()).into()
    });
    assert!(pages.iter().all(|(_, page)| page.len() > 100_000), "there is something to find");
    assert_leaks_in_no_run(place, &pages);
}

fn every_fault(canaries: &Canaries, page: &Page, tls: bool) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let gateway = FakeGateway::builder().api_key(canaries.key()).ignore_unfired_faults().build();
        let exchanges = page.clone();
        let sandbox = Sandbox::builder().gateway(gateway.clone());
        let sandbox = sandbox.on_exchange(move |exchange| {
            // So many times hold any three digits by chance, in every run.
            let mut exchange = exchange.clone();
            exchange.took = Duration::ZERO;
            tell!(&exchanges, exchange);
        });
        let sandbox = if tls { sandbox.tls() } else { sandbox }.start().await.unwrap();
        let transport = HyperTransport::builder();
        let transport = match sandbox.ca_certificate_pem() {
            Some(pem) => transport.only_root_certificates_pem(pem),
            None => transport,
        };
        let transport = transport.build().unwrap();
        let client = |page: Option<&Page>| {
            let client =
                Client::builder(sandbox.endpoint(), transport.clone(), TokioTimer::new()).lookup_retries(0);
            match page {
                Some(page) => client.observer(page.clone()),
                None => client.observer(TracingObserver::new()),
            }
            .build()
        };
        for client in [client(Some(page)), client(None)] {
            calls(&client, canaries, page).await;
        }
        // Waited for in each stall. Whether an answer comes in time or not, what is left must hold no secret.
        let client = client(Some(page)).with_total_timeout(Duration::from_millis(60));
        for kind in kinds_without_a_status() {
            for phase in PHASES {
                let fault = gateway.arm(Fault::on_any().at(phase).show(kind).times(2));
                tell_result(page, &client.process_card(&card_payment(canaries)).await);
                tell_result(page, &client.process_ach(&ach_payment(canaries)).await);
                gateway.disarm(fault);
            }
        }
        tell!(page, sandbox);
        tell!(page, transport);
        tell!(page, gateway.ledger());
        page.write(&gateway.first_tenant().state_json());
        for request in gateway.requests() {
            page.write(&request.to_json());
        }
    });
}

/// Of those with a status it is the same answer every time.
fn kinds_without_a_status() -> impl Iterator<Item = FaultKind> {
    kinds().into_iter().filter(|kind| !matches!(kind, FaultKind::Status { .. } | FaultKind::Html { .. }))
}

/// What is written with `log`, at every level that is compiled in, from now on.
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
