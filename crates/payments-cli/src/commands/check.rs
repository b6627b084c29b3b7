//! `payments check`: whether a payment would reach the service, without making one.

mod findings;

use std::io;
use std::time::Duration;

use http::Uri;
use http::uri::Scheme;
use payments_core::{Client, Deadlines, Delivery, LookupError, Success, TransportErrorKind};
use payments_model::{TransactionId, TransactionRecord};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;

use self::findings::Findings;
use crate::args::GlobalOptions;
use crate::call::{self, Prepared};
use crate::check_report::{CheckReport, SettingsFound, State, Step, StepName};
use crate::exit_code::ExitCode;
use crate::failure::{Failure, Purpose};
use crate::output::{self, Output};
use crate::report::Report;

/// Checks each step and reports all of them.
pub(super) fn run(options: GlobalOptions) -> ExitCode {
    if options.client.dry_run {
        return call::run(options, unknown_id);
    }
    let output = Output::choose(options.output);
    let checked = call::block_on(check(options, output)).unwrap_or_else(CheckReport::without_settings);
    output::finish(output, Report::Check(Box::new(checked)))
}

async fn check(options: GlobalOptions, output: Output) -> CheckReport {
    let prepared = Prepared::new(options.client, output, unknown_id).await;
    let Prepared { settings, client, call: id, mut interrupt } = match prepared {
        Ok(prepared) => prepared,
        Err(failure) => return CheckReport::without_settings(failure),
    };
    // At most half of the time, so that enough is left to find out what was slow.
    let connect_timeout = Deadlines::DEFAULT_CONNECT.min(settings.timeout / 2);
    let client = client.connect_timeout(connect_timeout).lookup_retries(0).build();
    let uri: Uri = settings.base_url().parse().expect("it is the address of an endpoint");
    let findings = Findings { uri: &uri, settings: &settings };
    let unfinished = |failure| FailedStep { at: StepName::Key, earlier_steps_passed: false, failure };
    let failed = tokio::select! {
        biased;
        failed = call::catch_panic(examine(&client, &id, &findings)) => failed.unwrap_or_else(|| {
            Some(unfinished(Failure::not_processed("internal", "internal error; a lookup moves no money")))
        }),
        signal = interrupt.arrived() => {
            Some(unfinished(Failure::interrupted(signal, "; a check moves no money: it is safe to run it again")))
        }
    };
    CheckReport::new(Some(&findings), failed)
}

/// One lookup through the real client, which takes the same way as a payment.
async fn examine(client: &Client, id: &TransactionId, findings: &Findings<'_>) -> Option<FailedStep> {
    let Findings { uri, settings } = findings;
    let result = client.transaction(id).await;
    // A direct connection to the service says nothing about the way through a proxy.
    let probe = if settings.proxy().is_none() && ended_while_connecting(&result) {
        Some(Probe::of(uri, settings.timeout / 2).await)
    } else {
        None
    };
    findings.read(result, probe)
}

/// The transport has one deadline for name resolution, TCP and TLS, so a timeout does not show which of them was slow.
fn ended_while_connecting(result: &Result<Success<TransactionRecord>, LookupError>) -> bool {
    let Err(error) = result else { return false };
    error.failed_call().transport_error().is_some_and(|error| {
        error.kind() == TransportErrorKind::Timeout && error.delivery() == Delivery::NotProcessed
    })
}

/// An id that the service, which generates its ids, never generates.
fn unknown_id() -> Result<TransactionId, Failure> {
    Ok(TransactionId::new("payments-check-of-an-id-that-nobody-has")?)
}

/// The step that failed. Later steps are not tried.
struct FailedStep {
    at: StepName,
    /// Whether the steps before it passed, which is not known after a signal.
    earlier_steps_passed: bool,
    failure: Failure,
}

impl CheckReport {
    /// `findings` is `None` if the settings are invalid, or a signal arrived before they were read.
    fn new(findings: Option<&Findings<'_>>, failed: Option<FailedStep>) -> Self {
        let step = |name| {
            let (state, message) = match (&failed, findings) {
                (Some(failed), _) if name == failed.at => (State::Failed, failed_message(failed)),
                (Some(failed), _) if name > failed.at => (State::Skipped, "not tried".to_owned()),
                (Some(failed), _) if !failed.earlier_steps_passed && name != StepName::Settings => {
                    (State::Skipped, "not finished".to_owned())
                }
                (_, Some(findings)) => findings.passed(name),
                (_, None) => unreachable!("without settings the first step fails"),
            };
            Step { name, state, message }
        };
        let steps = [StepName::Settings, StepName::Connection, StepName::Tls, StepName::Key].map(step);
        Self {
            settings: findings.map(|findings| SettingsFound::of(findings.settings)),
            steps: steps.into(),
            failure: failed.map(|failed| failed.failure.for_purpose(Purpose::FindTransaction)),
        }
    }

    fn without_settings(failure: Failure) -> Self {
        Self::new(None, Some(FailedStep { at: StepName::Settings, earlier_steps_passed: true, failure }))
    }
}

/// The message of a failed step. If it is about the settings, it includes cause and hints, which the messages of other steps
/// already contain.
fn failed_message(FailedStep { at, failure, .. }: &FailedStep) -> String {
    let mut message = failure.message.clone();
    if *at == StepName::Settings {
        for more in failure.cause.iter().chain(&failure.advice.hints) {
            message = format!("{message} ({more})");
        }
    }
    message
}

/// The result of a connection without TLS, to find out which part of a connection timed out. Nothing is sent.
#[derive(Debug)]
enum Probe {
    /// The name did not resolve, or not in time.
    Unresolved(Option<io::Error>),
    /// No address accepted a connection, or not in time.
    Unconnected(Option<io::Error>),
    /// A connection was opened, and closed again.
    Connected,
}

impl Probe {
    /// Resolves and connects, each within half of the time.
    async fn of(uri: &Uri, within: Duration) -> Self {
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
        let usual_port = if uri.scheme() == Some(&Scheme::HTTP) { 80 } else { 443 };
        let port = uri.port_u16().unwrap_or(usual_port);
        let addresses: Vec<_> = match timeout(within / 2, lookup_host((host, port))).await {
            Ok(Ok(addresses)) => addresses.collect(),
            Ok(Err(error)) => return Self::Unresolved(Some(error)),
            Err(_elapsed) => return Self::Unresolved(None),
        };
        match timeout(within / 2, TcpStream::connect(&*addresses)).await {
            Ok(Ok(_connection)) => Self::Connected,
            Ok(Err(error)) => Self::Unconnected(Some(error)),
            Err(_elapsed) => Self::Unconnected(None),
        }
    }
}
