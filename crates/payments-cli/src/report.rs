//! How a client command ended, and its one JSON document.

use payments_model::{TransactionId, Violation};
use serde::ser::{Error as _, Serialize, SerializeMap, SerializeSeq, SerializeStruct, Serializer};
use serde_json::value::RawValue;

use crate::batch_report::{Problems, Summary};
use crate::checked::Checked;
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::intent_note::IntentNote;
use crate::processed::Processed;
use crate::rehearsal::Rehearsal;

/// How a client command ended.
#[derive(Clone, Debug)]
pub(crate) enum Report {
    /// `"outcome":"processed"`
    Processed(Processed),
    /// `"outcome":"dry_run"`
    Rehearsed(Rehearsal),
    /// The steps of a check, with any outcome.
    Checked(Box<Checked>),
    /// A billing run, with any outcome.
    Summed(Box<Summary>),
    /// A file of which no row is sent.
    Refused(Box<Problems>),
    /// Any other outcome.
    Failed(Box<Failure>),
}

impl Report {
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Processed(_) | Self::Rehearsed(_) => ExitCode::Processed,
            Self::Checked(checked) => checked.exit_code(),
            Self::Summed(summary) => summary.exit_code(),
            Self::Refused(problems) => problems.exit_code(),
            Self::Failed(failure) => failure.exit_code(),
        }
    }

    /// What the journal says, if the call has a key.
    pub(crate) fn note(&self) -> Option<&IntentNote> {
        match self {
            Self::Processed(processed) => processed.note.as_ref(),
            Self::Failed(failure) => failure.advice.note.as_ref(),
            Self::Rehearsed(_) | Self::Checked(_) | Self::Summed(_) | Self::Refused(_) => None,
        }
    }
}

impl From<Failure> for Report {
    fn from(failure: Failure) -> Self {
        Self::Failed(Box::new(failure))
    }
}

/// The document's member names are fixed: other programs read it.
impl Serialize for Report {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Processed(processed) => {
                let mut document = serializer.serialize_map(None)?;
                document.serialize_entry("outcome", "processed")?;
                document.serialize_entry("http_status", &processed.http_status)?;
                document.serialize_entry("data", &processed.data)?;
                if let Some(note) = &processed.note {
                    note.serialize_into(&mut document)?;
                }
                document.end()
            }
            Self::Rehearsed(request) => {
                let mut document = serializer.serialize_struct("Report", 2)?;
                document.serialize_field("outcome", "dry_run")?;
                document.serialize_field("request", request)?;
                document.end()
            }
            Self::Checked(checked) => checked.serialize(serializer),
            Self::Summed(summary) => summary.serialize(serializer),
            Self::Refused(problems) => problems.serialize(serializer),
            Self::Failed(failure) => {
                let mut document = serializer.serialize_map(None)?;
                document.serialize_entry("outcome", failure.outcome.as_str())?;
                document.serialize_entry("error", &ErrorObject(failure))?;
                if let Some(note) = &failure.advice.note {
                    note.serialize_into(&mut document)?;
                }
                document.end()
            }
        }
    }
}

/// `error` of a failed command: the documented members always, the further ones where known.
pub(crate) struct ErrorObject<'a>(pub(crate) &'a Failure);

impl Serialize for ErrorObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(failure) = self;
        let answer = failure.answer.as_deref();
        let mut error = serializer.serialize_map(None)?;
        error.serialize_entry("kind", &failure.kind)?;
        error.serialize_entry("message", &failure.message)?;
        error.serialize_entry("http_status", &answer.map(|answer| answer.http_status))?;
        let status_code = answer.and_then(|answer| answer.status_code.as_deref()).map(StatusCode::read);
        error.serialize_entry("status_code", &status_code)?;
        let answered = answer.and_then(|answer| answer.transaction_id.as_deref());
        let transaction_id =
            answered.or_else(|| failure.advice.to_look_up.as_ref().map(TransactionId::as_str));
        error.serialize_entry("transaction_id", &transaction_id)?;
        error.serialize_entry("violations", &Violations(&failure.violations))?;
        if let Some(cause) = &failure.cause {
            error.serialize_entry("cause", cause)?;
        }
        if let Some(answer) = answer {
            for (name, text) in [("reason", &answer.reason), ("request_id", &answer.request_id)] {
                if let Some(text) = text {
                    error.serialize_entry(name, text)?;
                }
            }
            if let Some(seconds) = answer.retry_after_seconds {
                error.serialize_entry("retry_after_seconds", &seconds)?;
            }
        }
        if let Some(sent) = &failure.sent {
            if let Some(amount) = sent.amount {
                let exact = RawValue::from_string(amount.to_string()).map_err(S::Error::custom)?;
                error.serialize_entry("amount", &exact)?;
            }
            if let Some(reference) = &sent.reference {
                error.serialize_entry("reference", reference)?;
            }
            error.serialize_entry("sent_at", &sent.timestamp())?;
        }
        error.end()
    }
}

/// The `status_code` of an answer, which comes without its quotes: a number if it is one, else its text.
enum StatusCode<'a> {
    Number(i64),
    Text(&'a str),
}

impl<'a> StatusCode<'a> {
    fn read(written: &'a str) -> Self {
        written.parse().map_or(Self::Text(written), Self::Number)
    }
}

impl Serialize for StatusCode<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) => serializer.serialize_i64(*number),
            Self::Text(text) => serializer.serialize_str(text),
        }
    }
}

struct Violations<'a>(&'a [Violation]);

impl Serialize for Violations<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.len()))?;
        for violation in self.0 {
            list.serialize_element(&ViolationObject(violation))?;
        }
        list.end()
    }
}

struct ViolationObject<'a>(&'a Violation);

impl Serialize for ViolationObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Violation", 2)?;
        object.serialize_field("field", self.0.field())?;
        object.serialize_field("rule", self.0.rule())?;
        object.end()
    }
}
