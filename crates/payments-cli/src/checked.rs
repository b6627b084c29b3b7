//! What `payments check` found out, as both output shapes and the exit code need it.

use std::fmt::Write as _;
use std::time::Duration;

use serde::ser::{Serialize, SerializeStruct, Serializer};

use crate::escape::for_terminal;
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::report::ErrorObject;
use crate::settings::Settings;
use crate::style::{Style, Tone};

/// The steps of a check and how it ended.
#[derive(Clone, Debug)]
pub(crate) struct Checked {
    /// What the settings are, if they are right.
    pub(crate) settings: Option<SettingsFound>,
    pub(crate) steps: Vec<Step>,
    /// The HTTP status that proves the key, or why nothing does.
    pub(crate) ended: Result<u16, Failure>,
}

/// One step, as one line says it.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) name: StepName,
    pub(crate) state: State,
    /// What was seen, and after a failure what to do.
    pub(crate) message: String,
}

/// What is checked, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepName {
    /// Address, key and the files that hold them.
    Settings,
    /// The name resolves, and a TCP connection can be made.
    Connection,
    /// The certificate is good.
    Tls,
    /// The service takes the key.
    Key,
}

/// How a step went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It is proven.
    Passed,
    /// It is not.
    Failed,
    /// Not tried, or not needed.
    Skipped,
}

/// Each setting and where it came from. The key itself is no part of it.
#[derive(Clone, Debug)]
pub(crate) struct SettingsFound {
    base_url: String,
    base_url_from: String,
    api_key_from: String,
    timeout: Duration,
    timeout_from: String,
    ca_cert: Option<(Option<String>, String)>,
    /// Without credentials.
    proxy: Option<(String, String)>,
    warnings: Vec<String>,
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
            let word = style.paint(tone, &format!("{word:7}"));
            let message = for_terminal(message);
            writeln!(text, "{word}  {:10}  {message}", name.as_str()).expect("a String takes every write");
        }
        text
    }
}

impl Step {
    pub(crate) fn passed(name: StepName, message: impl Into<String>) -> Self {
        Self { name, state: State::Passed, message: message.into() }
    }

    pub(crate) fn failed(name: StepName, message: impl Into<String>) -> Self {
        Self { name, state: State::Failed, message: message.into() }
    }

    pub(crate) fn skipped(name: StepName, message: impl Into<String>) -> Self {
        Self { name, state: State::Skipped, message: message.into() }
    }
}

impl StepName {
    /// As both shapes have it.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Settings => "settings",
            Self::Connection => "connection",
            Self::Tls => "tls",
            Self::Key => "key",
        }
    }
}

impl State {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }
}

impl SettingsFound {
    pub(crate) fn of(settings: &Settings) -> Self {
        Self {
            base_url: settings.shown_base_url().to_owned(),
            base_url_from: settings.base_url_source().to_string(),
            api_key_from: settings.key_source().to_string(),
            timeout: settings.timeout(),
            timeout_from: settings.timeout_source().to_string(),
            ca_cert: settings.ca_cert().map(|(name, source)| (name.map(str::to_owned), source.to_string())),
            proxy: settings.proxy().map(|(at, source)| (at.to_owned(), source.to_string())),
            warnings: settings.warnings().to_vec(),
        }
    }

    /// All of them in one line, with what is to be warned of at its end.
    pub(crate) fn line(&self) -> String {
        let Self { base_url, base_url_from, api_key_from, timeout, timeout_from, ca_cert, proxy, warnings } =
            self;
        let mut line = format!(
            "base address {base_url} ({base_url_from}), API key ({api_key_from}), deadline {timeout:?} ({timeout_from})"
        );
        if let Some((name, from)) = ca_cert {
            let name = name.as_deref().unwrap_or("in a file");
            write!(line, ", authority {name} ({from})").expect("a String takes every write");
        }
        if let Some((at, from)) = proxy {
            write!(line, ", proxy {at} ({from})").expect("a String takes every write");
        }
        for warning in warnings {
            write!(line, "; WARNING: {warning}").expect("a String takes every write");
        }
        line
    }
}

/// As the other commands' documents, with `data` after a failure too.
impl Serialize for Checked {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut document = serializer.serialize_struct("Report", 3)?;
        match &self.ended {
            Ok(http_status) => {
                document.serialize_field("outcome", "processed")?;
                document.serialize_field("http_status", http_status)?;
            }
            Err(failure) => {
                document.serialize_field("outcome", failure.outcome.as_str())?;
                document.serialize_field("error", &ErrorObject(failure))?;
            }
        }
        document.serialize_field("data", &Data(self))?;
        document.end()
    }
}

struct Data<'a>(&'a Checked);

impl Serialize for Data<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut data = serializer.serialize_struct("Data", 2)?;
        data.serialize_field("settings", &self.0.settings)?;
        data.serialize_field("steps", &self.0.steps)?;
        data.end()
    }
}

impl Serialize for Step {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { name, state, message } = self;
        let mut step = serializer.serialize_struct("Step", 3)?;
        step.serialize_field("step", name.as_str())?;
        step.serialize_field("state", state.as_str())?;
        step.serialize_field("message", message)?;
        step.end()
    }
}

impl Serialize for SettingsFound {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // The warnings are in the step's message.
        let Self {
            base_url,
            base_url_from,
            api_key_from,
            timeout,
            timeout_from,
            ca_cert,
            proxy,
            warnings: _,
        } = self;
        let ca_cert = ca_cert.as_ref().map(|(name, from)| Setting { value: name.as_deref(), from });
        let mut settings = serializer.serialize_struct("Settings", 5)?;
        settings.serialize_field("base_url", &Setting { value: Some(base_url), from: base_url_from })?;
        settings.serialize_field("api_key", &Setting { value: None::<&str>, from: api_key_from })?;
        let timeout = Setting { value: Some(timeout.as_secs_f64()), from: timeout_from };
        settings.serialize_field("timeout", &timeout)?;
        settings.serialize_field("ca_cert", &ca_cert)?;
        let proxy = proxy.as_ref().map(|(at, from)| Setting { value: Some(at), from });
        settings.serialize_field("proxy", &proxy)?;
        settings.end()
    }
}

/// A value, unless it is secret, and its source.
struct Setting<'a, T> {
    value: Option<T>,
    from: &'a str,
}

impl<T: Serialize> Serialize for Setting<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { value, from } = self;
        let mut setting = serializer.serialize_struct("Setting", 2)?;
        match value {
            Some(value) => setting.serialize_field("value", value)?,
            None => setting.skip_field("value")?,
        }
        setting.serialize_field("from", from)?;
        setting.end()
    }
}
