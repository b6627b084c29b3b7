//! The report of `payments check`.

use serde::Serialize;
use serde_json::Value;

use crate::failure::{Failure, Purpose};
use crate::style::{Style, Tone, for_terminal};

/// The steps, in order: address, key and their files; a TCP connection; a valid certificate; the service accepts the key.
pub(crate) const STEPS: [&str; 4] = ["settings", "connection", "tls", "key"];
pub(crate) const CONNECTION: usize = 1;
pub(crate) const TLS: usize = 2;
pub(crate) const KEY: usize = 3;

/// The result of a check. Like the documents of other commands, but with `data` even after a failure.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct CheckReport {
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    http_status: Option<u16>,
    /// Why the check failed.
    #[serde(flatten)]
    pub(crate) failure: Option<Failure>,
    data: Data,
}

#[derive(Clone, Debug, Serialize)]
struct Data {
    /// Each setting and where it came from, if they are valid.
    settings: Value,
    steps: Vec<Step>,
}

/// A step and its result.
#[derive(Clone, Debug, Serialize)]
struct Step {
    #[serde(rename = "step")]
    name: &'static str,
    state: State,
    /// What was found, and after a failure what to do.
    message: String,
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
    /// `found` describes the steps that passed. Those after one that has `failed` are not tried.
    pub(crate) fn new(
        settings: Value,
        found: impl IntoIterator<Item = (State, String)>,
        failed: Option<(usize, Failure)>,
    ) -> Self {
        let mut found = found.into_iter();
        let step = |(index, name)| {
            let (state, message) = match (&failed, found.next()) {
                (_, Some(found)) => found,
                (Some((at, failure)), None) if index == *at => (State::Failed, in_one_line(failure)),
                (_, None) => (State::Skipped, "not tried".to_owned()),
            };
            Step { name, state, message }
        };
        let steps = STEPS.into_iter().enumerate().map(step).collect();
        // The only response that shows that the key is valid.
        let (outcome, http_status) = failed.is_none().then_some(("processed", 404)).unzip();
        let failure = failed.map(|(_, failure)| failure.for_purpose(Purpose::FindTransaction));
        Self { outcome, http_status, failure, data: Data { settings, steps } }
    }

    /// The settings are invalid, or a signal arrived before they were read.
    pub(crate) fn without_settings(failure: Failure) -> Self {
        Self::new(Value::Null, [], Some((0, failure)))
    }

    /// A line for each step.
    pub(crate) fn lines(&self, style: Style) -> String {
        let line = |Step { name, state, message }: &Step| {
            let (tone, word) = match state {
                State::Passed => (Tone::Success, "ok"),
                State::Failed => (Tone::Error, "FAILED"),
                State::Skipped => (Tone::Dim, "skipped"),
            };
            let word = style.paint(tone, &format!("{word:7}"));
            format!("{word}  {name:10}  {}\n", for_terminal(message))
        };
        self.data.steps.iter().map(line).collect()
    }
}

/// The message with the cause in brackets, then what to do.
fn in_one_line(failure: &Failure) -> String {
    let cause = failure.cause.iter().map(|cause| format!(" ({cause})"));
    let hints = failure.advice.hints.iter().map(|hint| format!("; {hint}"));
    cause.chain(hints).fold(failure.message.clone(), |message, more| message + &more)
}
