//! Records `tracing` output of every level.

use std::fmt::{Debug, Write as _};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::with_default;
use tracing::{Event, Metadata, Subscriber};

use super::transcript::Transcript;

/// Writes every span and event to a transcript.
pub(super) struct TraceRecorder(Transcript);

impl TraceRecorder {
    pub(super) fn new(transcript: Transcript) -> Self {
        Self(transcript)
    }

    /// Records what this thread traces while `body` runs.
    pub(super) fn record_during<T>(&self, body: impl FnOnce() -> T) -> T {
        with_default(Self(self.0.clone()), body)
    }
}

impl Subscriber for TraceRecorder {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        self.0.write(&line(span.metadata(), |fields| span.record(fields)));
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        let mut fields = Fields(String::new());
        values.record(&mut fields);
        self.0.write(&fields.0);
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        self.0.write(&line(event.metadata(), |fields| event.record(fields)));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

fn line(metadata: &Metadata<'_>, record: impl FnOnce(&mut Fields)) -> String {
    let mut fields = Fields(format!("{} {}", metadata.level(), metadata.target()));
    record(&mut fields);
    fields.0
}

struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {field}={value:?}").unwrap();
    }
}
