//! `payments check`: whether a payment would reach the service, without making one.

use std::error::Error as StdError;
use std::io;

use http::uri::Scheme;
use http::{StatusCode, Uri};
use payments_core::transport::causes;
use payments_core::{Deadlines, Delivery, ErrorKind, LookupError, TransportErrorKind as Kind};
use payments_model::TransactionId;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::args::ClientOptions;
use crate::call::{self, Prepared, hints};
use crate::failure::{Abandoned, FailedOutcome, Failure};
use crate::output::Output;
use crate::process::{Interrupt, run_to_report};
use crate::report::check::{CONNECTION, CheckReport, KEY, STEPS, State, TLS};
use crate::report::{ExitCode, Report};
use crate::settings::{PrintedCommands, Settings, key_hint};

/// Checks each step and reports all of them.
pub(super) fn run(options: ClientOptions, output: &Output) -> ExitCode {
    if options.dry_run {
        return call::run(options, output, unknown_id);
    }
    let (checked, interrupt) =
        run_to_report::start(0, async |interrupt| check(options, &output.commands, interrupt).await);
    let checked = checked.unwrap_or_else(CheckReport::without_settings);
    run_to_report::finish(output, Report::Check(Box::new(checked)), interrupt)
}

/// One lookup through the real client, which takes the same way as a payment.
async fn check(options: ClientOptions, commands: &PrintedCommands, interrupt: &mut Interrupt) -> CheckReport {
    let prepared = match Prepared::new(options, interrupt, unknown_id).await {
        Ok(prepared) => prepared,
        Err(failure) => return CheckReport::without_settings(failure),
    };
    let Prepared { settings, client, call: id } = prepared;
    let uri: Uri = settings.endpoint.base_url().parse().expect("it is the address of an endpoint");
    // At most half of the time, so that enough is left to find out what was slow.
    let connect_timeout = Deadlines::DEFAULT_CONNECT.min(settings.timeout / 2);
    let client = client.connect_timeout(connect_timeout).lookup_retries(0).build();
    let lookup = run_to_report::catch_panic(async {
        match client.transaction(&id).await {
            // No service has a transaction with this id, so something else responded.
            Ok(found) => {
                let message = "the response has a record for an unknown id, so the key could not be checked";
                let failure = Failure::not_processed("unclear_answer", message).with_response(&found);
                (KEY, Some((KEY, failure.hint(settings.path_hint()))))
            }
            Err(error) if is_for_an_unknown_id(&error) => (STEPS.len(), None),
            Err(error) => {
                let (at, hint) = failed_step(&error, &settings, &uri).await;
                let failure = hints::failure(&error, &settings);
                let message = format!("{}; {}", error.failed_call(), what_to_do(&failure));
                (at, Some((at, hint.into_iter().fold(failure.with_message(message), Failure::hint))))
            }
        }
    });
    let unfinished = |why| (CONNECTION, Some((KEY, call::after_sending(&id, None, why, commands))));
    let (passed, failed) = match interrupt.or_signal(lookup).await {
        Ok(ended) => ended.unwrap_or_else(|| unfinished(Abandoned::Panic)),
        Err(signal) => unfinished(Abandoned::Signal(signal)),
    };
    let warning = settings.warning.iter().map(|warning| format!("; WARNING: {warning}"));
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    let tls = match uri.host().filter(|_| is_secure(&uri)) {
        Some(host) => (State::Passed, format!("the certificate is valid for {host}")),
        None => (State::Skipped, "not used: plain http, only to this machine".to_owned()),
    };
    let found = [
        (State::Passed, settings.described().join(", ") + &warning.collect::<String>()),
        (State::Passed, format!("{authority} accepts connections")),
        tls,
        (
            State::Passed,
            "the key is accepted: the lookup of an id that does not exist returned HTTP 404, as it must"
                .to_owned(),
        ),
    ];
    CheckReport::new(settings.document(), found.into_iter().take(passed), failed)
}

/// Nobody has asked for a transaction, so the advice after a lookup is none here.
fn what_to_do(failure: &Failure) -> &'static str {
    if failure.outcome == FailedOutcome::NotProcessed && !failure.advice.needs_a_fix {
        "a payment would fail too: check again"
    } else {
        "a payment would fail too: fix the cause, then check again"
    }
}

/// An id that the service, which generates its ids, never generates.
fn unknown_id() -> Result<TransactionId, Failure> {
    Ok(TransactionId::new("payments-check-of-an-id-that-nobody-has")?)
}

/// The interface's response for an unknown transaction. Its message decides nothing about money, but without it a check would
/// pass at a wrong path.
fn is_for_an_unknown_id(error: &LookupError) -> bool {
    let reason = error.reason().unwrap_or_default().trim().trim_end_matches('.');
    error.http_status() == Some(StatusCode::NOT_FOUND)
        && error.kind() == ErrorKind::NotFound
        && reason.eq_ignore_ascii_case("Transaction not found")
}

/// The step at which the lookup failed, and what to do if the failure does not say it.
async fn failed_step(error: &LookupError, settings: &Settings, uri: &Uri) -> (usize, Option<String>) {
    let transport = error.failed_call().transport_error();
    // With TLS 1.3, the server says this after the handshake.
    if transport.is_some_and(hints::requires_client_certificate) {
        return (TLS, None);
    }
    let Some(unsent) = transport.filter(|error| error.delivery() == Delivery::NotProcessed) else {
        return (KEY, hint(error, settings));
    };
    match unsent.kind() {
        Kind::Closed => (KEY, None),
        // Without an error of the connection the handshake was not started.
        Kind::Tls if causes(unsent).any(<dyn StdError>::is::<io::Error>) => (TLS, None),
        // The transport has one deadline for name resolution, TCP and TLS. A direct connection to the service says nothing
        // about the way through a proxy.
        Kind::Timeout
            if is_secure(uri) && settings.proxy().is_none() && accepts_connections(uri, settings).await =>
        {
            let hint = "the TLS handshake did not finish in time: does the server speak TLS on that port?";
            (TLS, Some(hint.to_owned()))
        }
        _ => (CONNECTION, None),
    }
}

fn is_secure(uri: &Uri) -> bool {
    uri.scheme() == Some(&Scheme::HTTPS)
}

/// Opens a connection without TLS. Nothing is sent.
async fn accepts_connections(uri: &Uri, settings: &Settings) -> bool {
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    let connection = TcpStream::connect((host, uri.port_u16().unwrap_or(443)));
    matches!(timeout(settings.timeout / 2, connection).await, Ok(Ok(_)))
}

/// What to do about a response that is not for an unknown id.
fn hint(error: &LookupError, settings: &Settings) -> Option<String> {
    let call = error.failed_call();
    match call.http_status().map(|status| status.as_u16()) {
        None => {
            let from = &settings.base_url_source;
            Some(format!("is the service up? check the scheme and the address of the base URL ({from})"))
        }
        _ if call.content_coding().is_some() || call.is_truncated() => None,
        Some(403) => Some(key_hint(settings.key_source)),
        Some(401 | 429 | 500..) => None,
        Some(_) => Some(settings.path_hint()),
    }
}
