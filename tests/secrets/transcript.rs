//! Collects everything that a test could show to somebody, as one text.

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt::{Debug, Display};
use std::io;
use std::sync::{Arc, Mutex};
use std::thread;

use payments_canary::{Canaries, assert_independent_of_secrets};
use payments_core::{AttemptAbandoned, AttemptFinished, AttemptStarted, Observer};
use serde::Serialize;
use tracing::level_filters::LevelFilter;
use tracing::subscriber::with_default;
use tracing_subscriber::fmt::format::FmtSpan;

/// Clones write to the same transcript.
#[derive(Clone, Default)]
pub(super) struct Transcript(Arc<Mutex<Contents>>);

#[derive(Default)]
struct Contents {
    entries: Vec<String>,
    types: BTreeSet<String>,
}

impl Transcript {
    /// Runs the same code with two sets of secrets. No secret may be in its transcript, and the two transcripts must be equal.
    #[track_caller]
    pub(super) fn assert_clean(place: &str, run: impl Fn(&Canaries) -> Self + Sync) {
        let run_with = |set| {
            let canaries = Canaries::set(set);
            let transcript = run(&canaries);
            transcript.assert_without(place, &canaries);
            transcript.text()
        };
        let transcripts = thread::scope(|scope| {
            let other = scope.spawn(|| run_with(1));
            [run_with(0), other.join().unwrap()]
        });
        assert_independent_of_secrets(place, &transcripts);
    }

    /// Searches the transcript. Repeated entries are searched once.
    #[track_caller]
    pub(super) fn assert_without(&self, place: &str, canaries: &Canaries) {
        let entries: BTreeSet<String> = self.0.lock().unwrap().entries.iter().cloned().collect();
        let entries: Vec<_> = entries.into_iter().collect();
        canaries.assert_absent(place, entries.join("\n").as_bytes());
    }

    pub(super) fn write(&self, text: &str) {
        self.0.lock().unwrap().entries.push(text.to_owned());
    }

    pub(super) fn text(&self) -> String {
        self.0.lock().unwrap().entries.join("\n")
    }

    /// The types whose values were written, each as `crate::Name`.
    pub(super) fn types(&self) -> BTreeSet<String> {
        self.0.lock().unwrap().types.clone()
    }

    /// Runs `body`, and writes every span and event that this thread traces meanwhile, of every level.
    pub(super) fn record_traces<T>(&self, body: impl FnOnce() -> T) -> T {
        let transcript = self.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(LevelFilter::TRACE)
            .with_span_events(FmtSpan::NEW | FmtSpan::CLOSE)
            .without_time()
            .with_ansi(false)
            .with_writer(move || transcript.clone());
        with_default(subscriber.finish(), body)
    }

    /// Writes Debug and alternate Debug. [`transcribe`] writes the other representations too.
    pub(super) fn debug<T: Debug + ?Sized>(&self, value: &T) {
        let path = std::any::type_name::<T>();
        let path = path.split('<').next().unwrap();
        let mut contents = self.0.lock().unwrap();
        if let (Some((krate, _)), Some((_, name))) = (path.split_once("::"), path.rsplit_once("::")) {
            contents.types.insert(format!("{krate}::{name}"));
        }
        contents.entries.push(format!("{value:?}\n{value:#?}"));
    }
}

impl io::Write for Transcript {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Self::write(self, &String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes every representation of a value: Debug and Display, both also in their alternate form, its causes and its JSON.
///
/// This is a macro because the choice depends on the traits of a concrete type: of two methods with the same name, the compiler
/// takes the one that needs fewer references.
macro_rules! transcribe {
    ($transcript:expr, $value:expr) => {{
        #[allow(unused_imports, reason = "which of them are used depends on the type")]
        use $crate::secrets::transcript::{HasCauses, HasDisplay, HasJson, HasNothing, Transcriber};
        let (transcript, value) = ($transcript, &$value);
        transcript.debug(value);
        (&Transcriber(value)).display(transcript);
        (&Transcriber(value)).causes(transcript);
        (&Transcriber(value)).json(transcript);
    }};
}

pub(super) use transcribe;

pub(super) struct Transcriber<'a, T>(pub(super) &'a T);

pub(super) trait HasDisplay {
    fn display(&self, transcript: &Transcript);
}

impl<T: Display> HasDisplay for Transcriber<'_, T> {
    fn display(&self, transcript: &Transcript) {
        transcript.write(&format!("{} {:#}", self.0, self.0));
    }
}

pub(super) trait HasCauses {
    fn causes(&self, transcript: &Transcript);
}

impl<T: Error> HasCauses for Transcriber<'_, T> {
    fn causes(&self, transcript: &Transcript) {
        let mut cause = self.0.source();
        while let Some(error) = cause {
            transcript.write(&format!("{error} {error:#} {error:?} {error:#?}"));
            cause = error.source();
        }
    }
}

pub(super) trait HasJson {
    fn json(&self, transcript: &Transcript);
}

impl<T: Serialize> HasJson for Transcriber<'_, T> {
    fn json(&self, transcript: &Transcript) {
        transcript.write(&serde_json::to_string(self.0).unwrap());
    }
}

/// Taken where a type lacks the trait.
pub(super) trait HasNothing {
    fn display(&self, _: &Transcript) {}
    fn causes(&self, _: &Transcript) {}
    fn json(&self, _: &Transcript) {}
}

impl<T> HasNothing for &Transcriber<'_, T> {}

impl Observer for Transcript {
    fn attempt_started(&self, event: &AttemptStarted<'_>) {
        transcribe!(self, *event);
        transcribe!(self, event.call_id);
    }

    fn attempt_finished(&self, event: &AttemptFinished<'_>) {
        transcribe!(self, *event);
        transcribe!(self, event.started.call_id);
        if let Some(failure) = event.failure {
            transcribe!(self, failure);
        }
        if let Some(snippet) = event.refusal {
            transcribe!(self, snippet);
            transcribe!(self, snippet.text());
        }
    }

    fn attempt_abandoned(&self, event: &AttemptAbandoned<'_>) {
        transcribe!(self, *event);
        transcribe!(self, event.started.call_id);
    }
}

#[test]
fn transcript_has_every_representation_of_a_value() {
    let transcript = Transcript::default();
    let error = payments_core::model::CardNumber::new("x").unwrap_err();
    transcribe!(&transcript, error);
    let id = "txn_7".parse().unwrap();
    transcribe!(&transcript, payments_core::model::TransactionReceipt::new(id));
    let text = transcript.text();
    assert!(text.contains("ValidationError") && text.contains(&error.to_string()), "{text}");
    assert!(text.contains(r#"{"TransactionId":"txn_7"}"#), "{text}");
    let types: Vec<_> = transcript.types().into_iter().collect();
    assert_eq!(types, ["payments_model::TransactionReceipt", "payments_model::ValidationError"]);
}
