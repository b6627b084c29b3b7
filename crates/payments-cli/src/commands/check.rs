//! `payments check`: whether a payment would get through, found out without making one.

mod findings;

use std::fmt::Write as _;
use std::io;
use std::time::Duration;

use http::Uri;
use http::uri::Scheme;
use payments_core::{Client, ClientBuilder, Deadlines, Delivery, LookupError, Success, TransportErrorKind};
use payments_model::{TransactionId, TransactionRecord};
use serde::{Serialize, Serializer};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;

use self::findings::{Examined, Findings};
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
    let checked = call::block_on(check(options, output)).unwrap_or_else(without_settings);
    output::finish(output, Report::Checked(Box::new(checked)))
}

async fn check(options: GlobalOptions, output: Output) -> Checked {
    let configure = |client: ClientBuilder, settings: &Settings| {
        client.connect_timeout(connect_timeout(settings.timeout())).lookup_retries(0)
    };
    let prepared = Prepared::new(options.client, output, configure, id_that_nobody_has).await;
    let Prepared { settings, client, call: id, mut interrupt } = match prepared {
        Ok(prepared) => prepared,
        Err(failure) => return without_settings(failure),
    };
    let examined = tokio::select! {
        biased;
        examined = call::contained(examine(&client, &id, &settings)) => examined.unwrap_or_else(|| {
            Examined::ended(Failure::not_processed("internal", "internal error; a look-up moves nothing"))
        }),
        signal = interrupt.arrived() => Examined::ended(Failure::not_processed(
            "interrupted",
            format!("interrupted by {signal}; a check moves nothing: it is safe to run it again"),
        )),
    };
    let Examined { steps, ended } = examined;
    let settings_step = Step::passed(StepName::Settings, line(&settings));
    Checked {
        settings: Some(SettingsFound::of(&settings)),
        steps: std::iter::once(settings_step).chain(steps).collect(),
        ended: ended.map_err(|failure| failure.of_a(Purpose::FindTransaction)),
    }
}

/// One look-up through the real client: what it proves is what a payment would meet.
async fn examine(client: &Client, id: &TransactionId, settings: &Settings) -> Examined {
    let result = client.transaction(id).await;
    let uri: Uri = settings.base_url().parse().expect("an endpoint was made of it");
    // What the service's address takes from here directly says nothing of the way through a proxy.
    let probe = if settings.proxy().is_none() && ended_while_connecting(&result) {
        Some(Probe::of(&uri, settings.timeout() / 2).await)
    } else {
        None
    };
    Findings { uri: &uri, settings }.read(result, probe)
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

/// Nothing was tried: the settings are to blame, or a signal came first.
fn without_settings(failure: Failure) -> Checked {
    let mut message = failure.message.clone();
    for more in failure.cause.iter().chain(&failure.advice.hints) {
        message = format!("{message} ({more})");
    }
    let skipped =
        [StepName::Connection, StepName::Tls, StepName::Key].map(|name| Step::skipped(name, "not tried"));
    let steps = std::iter::once(Step::failed(StepName::Settings, message)).chain(skipped).collect();
    Checked { settings: None, steps, ended: Err(failure.of_a(Purpose::FindTransaction)) }
}

/// The steps of a check and how it ended.
#[derive(Clone, Debug)]
pub(crate) struct Checked {
    /// What the settings are, if they are right.
    settings: Option<SettingsFound>,
    steps: Vec<Step>,
    /// The HTTP status that proves the key, or why nothing does.
    pub(crate) ended: Result<u16, Failure>,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
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

/// Each setting and where it came from. The key itself is no part of it.
#[derive(Clone, Debug, Serialize)]
struct SettingsFound {
    base_url: Setting<String>,
    api_key: Setting<String>,
    timeout: Setting<f64>,
    ca_cert: Option<Setting<String>>,
    proxy: Option<Setting<String>>,
}

#[derive(Clone, Debug, Serialize)]
struct Setting<T> {
    /// Unless it is secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<T>,
    from: String,
}

impl Checked {
    pub(crate) fn exit_code(&self) -> ExitCode {
        self.ended.as_ref().err().map_or(ExitCode::Processed, Failure::exit_code)
    }

    /// A line for each step.
    pub(crate) fn lines(&self, style: Style) -> String {
        let mut text = String::new();
        for Step { name, state, message } in &self.steps {
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
            let message = for_terminal(message);
            writeln!(text, "{word}  {name:10}  {message}").expect("a String takes every write");
        }
        text
    }
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
        struct Passed<'a> {
            outcome: &'static str,
            http_status: u16,
            data: Data<'a>,
        }

        #[derive(Serialize)]
        struct Failed<'a> {
            #[serde(flatten)]
            failed: FailedDocument<'a>,
            data: Data<'a>,
        }

        let data = Data { settings: self.settings.as_ref(), steps: &self.steps };
        match &self.ended {
            Ok(http_status) => {
                Passed { outcome: "processed", http_status: *http_status, data }.serialize(serializer)
            }
            Err(failure) => Failed { failed: FailedDocument::of(failure), data }.serialize(serializer),
        }
    }
}

impl Step {
    fn passed(name: StepName, message: impl Into<String>) -> Self {
        Self { name, state: State::Passed, message: message.into() }
    }

    fn failed(name: StepName, message: impl Into<String>) -> Self {
        Self { name, state: State::Failed, message: message.into() }
    }

    fn skipped(name: StepName, message: impl Into<String>) -> Self {
        Self { name, state: State::Skipped, message: message.into() }
    }
}

impl SettingsFound {
    fn of(settings: &Settings) -> Self {
        let ca_cert = settings.ca_cert();
        let proxy = settings.proxy();
        Self {
            base_url: Setting {
                value: Some(settings.shown_base_url().to_owned()),
                from: settings.base_url_source().to_string(),
            },
            api_key: Setting { value: None, from: settings.key_source().to_string() },
            timeout: Setting {
                value: Some(settings.timeout().as_secs_f64()),
                from: settings.timeout_source().to_string(),
            },
            ca_cert: ca_cert
                .map(|(name, from)| Setting { value: name.map(str::to_owned), from: from.to_string() }),
            proxy: proxy.map(|(at, from)| Setting { value: Some(at.to_owned()), from: from.to_string() }),
        }
    }
}

/// All settings in one line, with the warnings at its end.
fn line(settings: &Settings) -> String {
    let warnings = settings.warnings().iter().map(|warning| format!("; WARNING: {warning}"));
    settings.described().join(", ") + &warnings.collect::<String>()
}

/// How far a connection gets, where the client's own evidence leaves it open.
///
/// How far name resolution and TCP got. Nothing is sent.
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
