//! `--verbose`: lines on stderr about what a call does, without secrets.

use payments_core::{
    AttemptAbandoned, AttemptFinished, AttemptStarted, Observer, Outcome, TransportErrorKind,
};

use crate::settings::{JournalPlace, Settings};
use crate::stderr;
use crate::style::{Tone, for_terminal};

/// Where the settings came from.
pub(crate) fn settings(settings: &Settings) {
    settings.described().iter().for_each(|text| line(text));
}

fn line(text: &str) {
    let text = stderr::style().paint(Tone::Dim, &for_terminal(&format!("payments: {text}")));
    stderr::write(text + "\n");
}

/// Warns about the place of the journal before it is used, and with `--verbose` writes where it is.
pub(crate) fn introduce(place: &JournalPlace, is_verbose: bool) {
    if let Some(warning) = place.warning() {
        stderr::warn(&warning);
    }
    if is_verbose {
        line(&format!("journal {place} ({})", place.source));
    }
}

/// How each attempt went.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trace;

impl Observer for Trace {
    fn attempt_started(&self, event: &AttemptStarted<'_>) {
        line(&format!("{} attempt {} started", event.operation, event.attempt));
    }

    fn attempt_finished(&self, event: &AttemptFinished<'_>) {
        let AttemptStarted { operation, attempt, .. } = event.started;
        let latency = event.latency;
        let how = match event.failure {
            None => "succeeded".to_owned(),
            Some(failure) => {
                // A failed lookup has only a kind.
                let outcome = failure.outcome.map_or("failed", Outcome::as_str);
                let kind = failure.transport.map_or(failure.kind.as_str(), TransportErrorKind::as_str);
                format!("{outcome} ({kind})")
            }
        };
        let status = event.http_status.map(|status| format!(", HTTP {}", status.as_u16()));
        let request = event.request_id.map(|id| format!(", request id {id}"));
        let transaction = event.transaction_id.map(|id| format!(", transaction {id}"));
        let facts: String = [status, request, transaction].into_iter().flatten().collect();
        line(&format!("{operation} attempt {attempt} finished after {latency:.1?}: {how}{facts}"));
        let body = event.refusal.map(|refusal| refusal.text()).filter(|body| !body.trim().is_empty());
        if let Some(body) = body {
            line(&format!("{operation} attempt {attempt} was refused with the body: {body}"));
        }
    }

    fn attempt_abandoned(&self, event: &AttemptAbandoned<'_>) {
        let AttemptStarted { operation, attempt, .. } = event.started;
        // A lookup has no outcome.
        let outcome = if operation.moves_money() { ": unknown" } else { "" };
        line(&format!("{operation} attempt {attempt} abandoned after {:.1?}{outcome}", event.latency));
    }
}
