//! `payments check`: whether a payment would reach the service, without making one.

mod findings;

use std::fmt::Display;
use std::io;
use std::time::Duration;

use http::Uri;
use http::uri::Scheme;
use payments_core::{Client, Deadlines, Delivery, LookupError, Success, TransportErrorKind};
use payments_model::{TransactionId, TransactionRecord};
use serde::{Serialize, Serializer};
use serde_json::Value;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;

use self::findings::Findings;
use crate::args::GlobalOptions;
use crate::call::{self, Prepared};
use crate::exit_code::ExitCode;
use crate::failure::{Failure, Purpose};
use crate::output::{self, Output};
use crate::report::Report;
use crate::settings::Settings;
use crate::style::{Style, Tone, for_terminal};

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

/// The result of a check.
#[derive(Clone, Debug)]
pub(crate) struct CheckReport {
    /// The settings, if they are valid.
    settings: Option<SettingsFound>,
    steps: Vec<Step>,
    /// Why the check failed.
    pub(crate) failure: Option<Failure>,
}

/// A step and its result.
#[derive(Clone, Debug, Serialize)]
struct Step {
    #[serde(rename = "step")]
    name: StepName,
    state: State,
    /// What was found, and after a failure what to do.
    message: String,
}

/// The steps, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
enum StepName {
    /// Address, key and the files that hold them.
    Settings,
    /// The name resolves, and a TCP connection can be opened.
    Connection,
    /// The certificate is valid.
    Tls,
    /// The service accepts the key.
    Key,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Passed,
    Failed,
    /// Not tried, or not needed.
    Skipped,
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

    pub(crate) fn exit_code(&self) -> ExitCode {
        self.failure.as_ref().map_or(ExitCode::Processed, Failure::exit_code)
    }

    /// A line for each step.
    pub(crate) fn lines(&self, style: Style) -> String {
        let line = |Step { name, state, message }: &Step| {
            let (tone, word) = match state {
                State::Passed => (Tone::Success, "ok"),
                State::Failed => (Tone::Error, "FAILED"),
                State::Skipped => (Tone::Dim, "skipped"),
            };
            let name = match name {
                StepName::Settings => "settings",
                StepName::Connection => "connection",
                StepName::Tls => "tls",
                StepName::Key => "key",
            };
            let word = style.paint(tone, &format!("{word:7}"));
            format!("{word}  {name:10}  {}\n", for_terminal(message))
        };
        self.steps.iter().map(line).collect()
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

/// Like the documents of other commands, but with `data` even after a failure.
impl Serialize for CheckReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Data<'a> {
            settings: Option<&'a SettingsFound>,
            steps: &'a [Step],
        }

        #[derive(Serialize)]
        struct Document<'a> {
            #[serde(skip_serializing_if = "Option::is_none")]
            outcome: Option<&'static str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            http_status: Option<u16>,
            #[serde(flatten)]
            failed: Option<&'a Failure>,
            data: Data<'a>,
        }

        let data = Data { settings: self.settings.as_ref(), steps: &self.steps };
        let failed = self.failure.as_ref();
        // The only response that shows that the key is valid.
        let (outcome, http_status) = failed.is_none().then_some(("processed", 404)).unzip();
        Document { outcome, http_status, failed, data }.serialize(serializer)
    }
}

/// Each setting and where it came from.
#[derive(Clone, Debug, Serialize)]
struct SettingsFound {
    base_url: Setting,
    api_key: Setting,
    merchant: Option<Setting>,
    timeout: Setting,
    ca_cert: Option<Setting>,
    proxy: Option<Setting>,
}

#[derive(Clone, Debug, Serialize)]
struct Setting {
    /// Unless it is secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Value>,
    from: String,
}

impl SettingsFound {
    fn of(settings: &Settings) -> Self {
        let setting = |value: Option<Value>, from: &dyn Display| Setting { value, from: from.to_string() };
        Self {
            base_url: setting(Some(settings.shown_base_url.clone().into()), &settings.base_url_source),
            api_key: setting(None, &settings.key_source),
            merchant: settings.merchant().map(|(label, from)| setting(Some(label.into()), from)),
            timeout: setting(Some(settings.timeout.as_secs_f64().into()), &settings.timeout_source),
            ca_cert: settings.ca_cert().map(|(name, from)| setting(name.map(Into::into), from)),
            proxy: settings.proxy().map(|(address, from)| setting(Some(address.into()), from)),
        }
    }
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
