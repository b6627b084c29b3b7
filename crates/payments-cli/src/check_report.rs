//! How a check ended, as both output shapes and the exit code need it.

use std::fmt::Display;

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::settings::Settings;
use crate::style::{Style, Tone, for_terminal};

/// The result of a check.
#[derive(Clone, Debug)]
pub(crate) struct CheckReport {
    /// The settings, if they are valid.
    pub(crate) settings: Option<SettingsFound>,
    pub(crate) steps: Vec<Step>,
    /// Why the check failed.
    pub(crate) failure: Option<Failure>,
}

/// A step and its result.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Step {
    #[serde(rename = "step")]
    pub(crate) name: StepName,
    pub(crate) state: State,
    /// What was found, and after a failure what to do.
    pub(crate) message: String,
}

/// The steps, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StepName {
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
pub(crate) enum State {
    Passed,
    Failed,
    /// Not tried, or not needed.
    Skipped,
}

impl CheckReport {
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
pub(crate) struct SettingsFound {
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
    pub(crate) fn of(settings: &Settings) -> Self {
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
