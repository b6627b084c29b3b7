use std::fmt;

use serde_json::value::RawValue;

use crate::json_object::{ObjectError, for_each_member, integer, is_null, text, text_or_integer};
use crate::{CustomerRecord, TransactionId, TransactionReceipt, TransactionRecord};

/// A response body that is a JSON object: the members of the interface's envelopes, each as far as it can be
/// read.
///
/// It borrows the body and decides nothing. In particular it does not say whether a payment went through:
/// that needs the HTTP status as well. What it returns may echo whatever the service chose to send;
/// [`scrub`](crate::scrub) it before showing it.
#[derive(Clone, Copy)]
pub struct Answer<'a> {
    status: Option<&'a RawValue>,
    status_code: Option<&'a RawValue>,
    message: Option<&'a RawValue>,
    msg: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
    data: Option<&'a RawValue>,
}

impl<'a> Answer<'a> {
    /// `None` for an object that has one of the envelope's members twice: readers would differ on what it
    /// says.
    pub(crate) fn read(body: &'a str) -> Result<Option<Self>, ObjectError> {
        let mut answer =
            Self { status: None, status_code: None, message: None, msg: None, error: None, data: None };
        let mut is_ambiguous = false;
        for_each_member(body, |name, raw| {
            let member = match &*name {
                "status" => &mut answer.status,
                "status_code" => &mut answer.status_code,
                "message" => &mut answer.message,
                "msg" => &mut answer.msg,
                "error" => &mut answer.error,
                "data" => &mut answer.data,
                _ => return,
            };
            is_ambiguous |= member.replace(raw).is_some();
        })?;
        Ok((!is_ambiguous).then_some(answer))
    }

    /// What the member `status` says.
    pub fn status(&self) -> Status {
        let Some(raw) = self.status.filter(|raw| !is_null(raw)) else {
            return Status::Absent;
        };
        let Some(word) = text(raw) else {
            return Status::Other;
        };
        if word.eq_ignore_ascii_case("success") {
            Status::Success
        } else if FAILURE_WORDS.iter().any(|failure| word.eq_ignore_ascii_case(failure)) {
            Status::Failure
        } else {
            Status::Other
        }
    }

    /// What the member `status_code` says; `"100"` is 100.
    pub fn status_code(&self) -> Code {
        match self.status_code.filter(|raw| !is_null(raw)) {
            None => Code::Absent,
            Some(raw) => integer(raw).map_or(Code::Unreadable, Code::Number),
        }
    }

    /// The member `status_code` as JSON, whatever it is, quotes included.
    pub fn status_code_text(&self) -> Option<&'a str> {
        self.status_code.map(RawValue::get)
    }

    /// The service's words: the first text among `msg`, `message`, `error.message` and `error`.
    pub fn message(&self) -> Option<String> {
        let own = self.msg.and_then(text).or_else(|| self.message.and_then(text));
        own.map(Into::into).or_else(|| {
            let error = self.error?;
            member(error.get(), "message").and_then(text).or_else(|| text(error)).map(Into::into)
        })
    }

    /// What the member `data` is.
    pub fn data(&self) -> Data<'a> {
        match self.data.map(RawValue::get) {
            None | Some("null") => Data::Absent,
            Some(object) if object.starts_with('{') => Data::Object(object),
            Some(_) => Data::Other,
        }
    }

    /// `TransactionId` of `data`: a text that is not empty, or a whole number, kept as text.
    pub fn transaction_id(&self) -> Option<TransactionId> {
        TransactionId::from_answer(text_or_integer(self.data_member("TransactionId")?)?)
    }

    /// `Status` of `data`, whose codes the interface does not explain.
    pub fn data_status(&self) -> Option<String> {
        text_or_integer(self.data_member("Status")?).map(Into::into)
    }

    /// `data` as a transaction record; `None` if it is no object or has no identifier.
    pub fn transaction_record(&self) -> Option<TransactionRecord> {
        self.data_object().and_then(TransactionRecord::read)
    }

    /// `data` as a receipt; `None` if it is no object or has no identifier.
    pub fn transaction_receipt(&self) -> Option<TransactionReceipt> {
        self.data_object().and_then(TransactionReceipt::read)
    }

    /// `data` as a customer record; `None` if it is no object.
    pub fn customer_record(&self) -> Option<CustomerRecord> {
        self.data_object().and_then(CustomerRecord::read)
    }

    fn data_object(&self) -> Option<&'a str> {
        match self.data() {
            Data::Object(object) => Some(object),
            Data::Absent | Data::Other => None,
        }
    }

    fn data_member(&self, name: &str) -> Option<&'a RawValue> {
        member(self.data_object()?, name)
    }
}

impl fmt::Debug for Answer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { status: _, status_code: _, message: _, msg: _, error: _, data: _ } = self;
        f.debug_struct("Answer")
            .field("status", &self.status())
            .field("status_code", &self.status_code())
            .field("data", &self.data())
            .finish_non_exhaustive()
    }
}

/// What the member `status` of an answer says, compared as a whole word without regard to case.
///
/// The enum is complete: a status is missing, says yes, says no, or is none of these.
#[expect(clippy::exhaustive_enums, reason = "complete: whatever is not yes, no or missing is something else")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Missing or `null`.
    Absent,
    /// `success`.
    Success,
    /// `failed`, `failure`, `error`, `declined` or `rejected`. The interface shows `failed` alone; the others
    /// are chosen by this SDK.
    Failure,
    /// Anything else, an empty text and a value that is no text included: it may mean that the payment is
    /// pending.
    Other,
}

/// What the member `status_code` of an answer says.
///
/// The enum is complete: a code is missing, is a whole number, or is something else.
#[expect(clippy::exhaustive_enums, reason = "complete: a code is missing, a whole number, or something else")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// Missing or `null`.
    Absent,
    /// A whole number, or a text that is one.
    Number(i64),
    /// Anything else.
    Unreadable,
}

/// What the member `data` of an answer is.
///
/// The enum is complete: data is missing, an object, or something else.
#[expect(clippy::exhaustive_enums, reason = "complete: data is missing, an object, or something else")]
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Data<'a> {
    /// Missing or `null`.
    Absent,
    /// A JSON object, as text. It may hold anything; do not log it.
    Object(&'a str),
    /// Any other JSON value.
    Other,
}

impl fmt::Debug for Data<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str("Absent"),
            Self::Object(text) => write!(f, "Object({} bytes)", text.len()),
            Self::Other => f.write_str("Other"),
        }
    }
}

/// The member of an object if it is there exactly once.
fn member<'a>(object: &'a str, wanted: &str) -> Option<&'a RawValue> {
    let mut found = None;
    let mut occurrences = 0;
    for_each_member(object, |name, raw| {
        if name == wanted {
            found = Some(raw);
            occurrences += 1;
        }
    })
    .ok()?;
    found.filter(|_| occurrences == 1)
}

const FAILURE_WORDS: [&str; 5] = ["failed", "failure", "error", "declined", "rejected"];
