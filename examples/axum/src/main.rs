//! A checkout as a web service that charges each order at most once, even if the browser or this process fails.
//!
//! | variable | |
//! |---|---|
//! | `PAYMENTS_BASE_URL`, `PAYMENTS_API_KEY` | the payment service |
//! | `PAYMENTS_JOURNAL` | a file, or `postgres://…` for several instances |
//! | `LISTEN` | the address to listen on, `127.0.0.1:8080` by default |
//! | `OTEL_EXPORTER_OTLP_ENDPOINT` | a collector; nothing is exported without it |

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "it prints its address, a journal that it created, and what it could not record"
)]

mod checkout;
mod telemetry;

use std::env;

use anyhow::Context as _;
use axum::Router;
use payments_core::{ApiKey, Client, Endpoint, Observer};
use payments_hyper::{HyperTransport, TokioTimer};
use payments_journal::{FlushError, Journal, JournaledClient, PostgresStore, SqliteStore};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    // Without that file: `serve(open(|_| TracingObserver::new()).await?, |routes| routes, async |_| ()).await`.
    telemetry::run().await
}

/// Opens the journal, and makes a client that writes each payment into it.
async fn open<O: Observer + 'static>(
    observer: impl FnOnce(&Endpoint) -> O,
) -> anyhow::Result<JournaledClient> {
    let endpoint =
        Endpoint::new(&variable("PAYMENTS_BASE_URL")?, ApiKey::new(&variable("PAYMENTS_API_KEY")?)?)?;
    let observer = observer(&endpoint);
    let transport = HyperTransport::builder().build()?;
    let client = Client::builder(endpoint, transport, TokioTimer::new()).observer(observer).build();
    let place = variable("PAYMENTS_JOURNAL")?;
    let (journal, was_created) = if place.contains("://") {
        let store = PostgresStore::connect(&place).await?;
        let was_created = store.was_created();
        (Journal::open(store).await?, was_created)
    } else {
        let store = SqliteStore::open(place)?;
        let was_created = store.was_created();
        (Journal::open(store).await?, was_created)
    };
    if was_created {
        eprintln!(
            "created the journal that PAYMENTS_JOURNAL names: if there was one before, stop now and find it, because a new \
             journal charges every order again"
        );
    }
    Ok(JournaledClient::new(client, journal))
}

/// Serves the routes until SIGTERM, and closes the journal when all charges are recorded. `before_close` may still read it.
async fn serve(
    payments: JournaledClient,
    with_layers: impl FnOnce(Router) -> Router,
    before_close: impl AsyncFnOnce(&Journal),
) -> anyhow::Result<()> {
    let address = env::var("LISTEN").unwrap_or_else(|_| "127.0.0.1:8080".to_owned());
    let listener = TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);
    let mut terminated = signal(SignalKind::terminate())?;
    axum::serve(listener, with_layers(checkout::routes(payments.clone())))
        .with_graceful_shutdown(async move {
            terminated.recv().await;
        })
        .await?;
    // Waits for the charges of browsers that have disconnected, and records them.
    payments.drain().await;
    // The last chance for outcomes that the journal could not write when their charges ended.
    let flushed = payments.journal().flush().await;
    let ends = flushed.as_ref().map_or_else(FlushError::late_ends, |ends| &**ends);
    for end in ends.iter().filter(|end| !end.is_recorded) {
        eprintln!("{} ended as {:?}: a person resolves the key", end.key, end.ending);
    }
    if let Err(error) = &flushed {
        eprintln!("some outcomes are not recorded: {error:#}");
    }
    before_close(payments.journal()).await;
    payments.journal().close().await;
    Ok(())
}

fn variable(name: &str) -> anyhow::Result<String> {
    env::var(name).with_context(|| format!("set {name}"))
}
