//! `payments check`: whether a payment would get through, found out without making one.

mod findings;

use std::fmt::Display;
use std::io;
use std::time::Duration;

use http::Uri;
use http::uri::Scheme;
use payments_core::{Client, ClientBuilder, Deadlines, Delivery, LookupError, Success, TransportErrorKind};
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
use crate::report::{FailedDocument, Report};
use crate::settings::Settings;
use crate::style::{Style, Tone, for_terminal};

/// Checks one step after the other and reports them all.
pub(super) fn run(options: GlobalOptions) -> ExitCode {
    if options.client.dry_run {
        return call::run(options, id_that_nobody_has);
    }
    let output = Output::choose(options.output);
    let checked = call::block_on(check(options, output)).unwrap_or_else(Checked::without_settings);
    output::finish(output, Report::Checked(Box::new(checked)))
}

async fn check(options: GlobalOptions, output: Output) -> Checked {
    let configure = |client: ClientBuilder, settings: &Settings| {
        client.connect_timeout(connect_timeout(settings.timeout())).lookup_retries(0)
    };
    let prepared = Prepared::new(options.client, output, configure, id_that_nobody_has).await;
    let Prepared { settings, client, call: id, mut interrupt } = match prepared {
        Ok(prepared) => prepared,
        Err(failure) => return Checked::without_settings(failure),
    };
    let uri: Uri = settings.base_url().parse().expect("an endpoint was made of it");
    let findings = Findings { uri: &uri, settings: &settings };
    let unproven = |failure| Stop { at: StepName::Key, is_before_proven: false, failure };
    let stop = tokio::select! {
        biased;
        stop = call::contained(examine(&client, &id, &findings)) => stop.unwrap_or_else(|| {
            Some(unproven(Failure::not_processed("internal", "internal error; a look-up moves nothing")))
        }),
        signal = interrupt.arrived() => Some(unproven(Failure::not_processed(
            "interrupted",
            format!("interrupted by {signal}; a check moves nothing: it is safe to run it again"),
        ))),
    };
    Checked::new(Some(&findings), stop)
}

/// One look-up through the real client: what it proves is what a payment would meet.
async fn examine(client: &Client, id: &TransactionId, findings: &Findings<'_>) -> Option<Stop> {
    let Findings { uri, settings } = findings;
    let result = client.transaction(id).await;
    // What the service's address takes from here directly says nothing of the way through a proxy.
    let probe = if settings.proxy().is_none() && ended_while_connecting(&result) {
        Some(Probe::of(uri, settings.timeout() / 2).await)
    } else {
        None
    };
    findings.read(result, probe)
}

/// The transport has one deadline for name, TCP and TLS, so its end does not say which of them was late.
fn ended_while_connecting(result: &Result<Success<TransactionRecord>, LookupError>) -> bool {
    let Err(error) = result else { return false };
    error.transport_error().is_some_and(|error| {
        error.kind() == TransportErrorKind::Timeout && error.delivery() == Delivery::NotProcessed
    })
}

/// Half of the time at most, so that enough is left to find out what was late.
fn connect_timeout(total: Duration) -> Duration {
    Deadlines::DEFAULT_CONNECT.min(total / 2)
}

/// The service gives out ids itself, and gives out none like this.
fn id_that_nobody_has() -> Result<TransactionId, Failure> {
    Ok(TransactionId::new("payments-check-of-an-id-that-nobody-has")?)
}

/// The step that failed, after which nothing is tried.
struct Stop {
    at: StepName,
    /// Whether the steps before it passed, which nobody knows after an interruption.
    is_before_proven: bool,
    failure: Failure,
}

/// The steps of a check and how it ended.
#[derive(Clone, Debug)]
pub(crate) struct Checked {
    /// What the settings are, if they are right.
    settings: Option<SettingsFound>,
    steps: Vec<Step>,
    /// Why the key is not proven.
    pub(crate) failure: Option<Failure>,
}

/// One step, as one line says it.
#[derive(Clone, Debug, Serialize)]
struct Step {
    #[serde(rename = "step")]
    name: StepName,
    state: State,
    /// What was seen, and after a failure what to do.
    message: String,
}

/// What is checked, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
enum StepName {
    /// Address, key and the files that hold them.
    Settings,
    /// The name resolves, and a TCP connection can be made.
    Connection,
    /// The certificate is good.
    Tls,
    /// The service takes the key.
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

impl Checked {
    /// Without `findings` the settings are to blame, or a signal came before they were read.
    fn new(findings: Option<&Findings<'_>>, stop: Option<Stop>) -> Self {
        let checked = |name| {
            let (state, message) = match (&stop, findings) {
                (Some(stop), _) if name == stop.at => (State::Failed, failed_message(stop)),
                (Some(stop), _) if name > stop.at => (State::Skipped, "not tried".to_owned()),
                (Some(stop), _) if !stop.is_before_proven && name != StepName::Settings => {
                    (State::Skipped, "not found out".to_owned())
                }
                (_, Some(findings)) => findings.passed(name),
                (_, None) => unreachable!("without settings the first step fails"),
            };
            Step { name, state, message }
        };
        let steps = [StepName::Settings, StepName::Connection, StepName::Tls, StepName::Key].map(checked);
        Self {
            settings: findings.map(|findings| SettingsFound::of(findings.settings)),
            steps: steps.into(),
            failure: stop.map(|stop| stop.failure.of_a(Purpose::FindTransaction)),
        }
    }

    fn without_settings(failure: Failure) -> Self {
        Self::new(None, Some(Stop { at: StepName::Settings, is_before_proven: true, failure }))
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        self.failure.as_ref().map_or(ExitCode::Processed, Failure::exit_code)
    }

    /// A line for each step.
    pub(crate) fn lines(&self, style: Style) -> String {
        let line = |Step { name, state, message }: &Step| {
            let (tone, word) = match state {
                State::Passed => (Tone::Good, "ok"),
                State::Failed => (Tone::Bad, "FAILED"),
                State::Skipped => (Tone::Faint, "skipped"),
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

/// Of the settings with whatever helps to mend them; the other steps' messages say it themselves.
fn failed_message(Stop { at, failure, .. }: &Stop) -> String {
    let mut message = failure.message.clone();
    if *at == StepName::Settings {
        for more in failure.cause.iter().chain(&failure.advice.hints) {
            message = format!("{message} ({more})");
        }
    }
    message
}

/// As the other commands' documents, with `data` after a failure too.
impl Serialize for Checked {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Data<'a> {
            settings: Option<&'a SettingsFound>,
            steps: &'a [Step],
        }

        #[derive(Serialize)]
        struct Passed {
            outcome: &'static str,
            http_status: u16,
        }

        #[derive(Serialize)]
        struct Document<'a> {
            #[serde(flatten)]
            passed: Option<Passed>,
            #[serde(flatten)]
            failed: Option<FailedDocument<'a>>,
            data: Data<'a>,
        }

        let data = Data { settings: self.settings.as_ref(), steps: &self.steps };
        // The one answer that proves the key.
        let passed = self.failure.is_none().then_some(Passed { outcome: "processed", http_status: 404 });
        let document = Document { passed, failed: self.failure.as_ref().map(FailedDocument::of), data };
        document.serialize(serializer)
    }
}

/// Each setting and where it came from.
#[derive(Clone, Debug, Serialize)]
struct SettingsFound {
    base_url: Setting,
    api_key: Setting,
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
            base_url: setting(Some(settings.shown_base_url().into()), settings.base_url_source()),
            api_key: setting(None, settings.key_source()),
            timeout: setting(Some(settings.timeout().as_secs_f64().into()), settings.timeout_source()),
            ca_cert: settings.ca_cert().map(|(name, from)| setting(name.map(Into::into), from)),
            proxy: settings.proxy().map(|(address, from)| setting(Some(address.into()), from)),
        }
    }
}

/// How far name resolution and TCP get, where the client's own evidence leaves it open. Nothing is sent.
#[derive(Debug)]
enum Probe {
    /// The name did not resolve, or not in time.
    Unresolved(Option<io::Error>),
    /// No address took a connection, or none in time.
    Unconnected(Option<io::Error>),
    /// A connection was made, and closed again.
    Connected,
}

impl Probe {
    /// Tries each within half of the time.
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
