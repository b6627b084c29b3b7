use std::borrow::Cow;
use std::fmt;

use crate::json::Json;
use crate::json_object::{Member, Object, ObjectError};
use crate::{CustomerRecord, TransactionId, TransactionReceipt, TransactionRecord, transaction_record};

/// A response body that is a JSON object: the members of the interface's envelopes, each as far as it can be
/// read.
///
/// It borrows the body and decides nothing. In particular it does not say whether a payment went through:
/// that needs the HTTP status as well. What it returns may echo whatever the service chose to send;
/// [`scrub`](crate::scrub) it before showing it.
#[derive(Clone)]
pub struct Answer<'a> {
    status: Option<Json<'a>>,
    status_code: Option<Json<'a>>,
    message: Option<Json<'a>>,
    msg: Option<Json<'a>>,
    error: Option<Json<'a>>,
    data: Option<Json<'a>>,
    /// Of `data`, if that is an object.
    data_members: Option<Vec<Member<'a>>>,
}

impl<'a> Answer<'a> {
    /// `None` for an object that has one of the envelope's members twice: readers would differ on what it
    /// says.
    pub(crate) fn read(body: &'a str) -> Result<Option<Self>, ObjectError> {
        let mut answer = Self {
            status: None,
            status_code: None,
            message: None,
            msg: None,
            error: None,
            data: None,
            data_members: None,
        };
        let mut is_ambiguous = false;
        let mut object = Object::open(body)?.expecting(&["status", "status_code", "message", "data"]);
        while let Some(name) = object.next_name()? {
            let member = match &*name {
                "status" => &mut answer.status,
                "status_code" => &mut answer.status_code,
                "message" => &mut answer.message,
                "msg" => &mut answer.msg,
                "error" => &mut answer.error,
                "data" => {
                    let (data, members) = object.next_value_with_members(&transaction_record::NAMES)?;
                    answer.data_members = members;
                    is_ambiguous |= answer.data.replace(data).is_some();
                    continue;
                }
                _ => {
                    object.next_value()?;
                    continue;
                }
            };
            is_ambiguous |= member.replace(object.next_value()?).is_some();
        }
        object.end()?;
        Ok((!is_ambiguous).then_some(answer))
    }

    /// What the member `status` says.
    pub fn status(&self) -> Status {
        let Some(json) = self.status.filter(|json| !json.is_null()) else {
            return Status::Absent;
        };
        let Some(word) = json.text() else {
            // A text that is no Unicode is some text.
            return if json.as_str().starts_with('"') { Status::Other } else { Status::Unreadable };
        };
        if word.is_empty() {
            Status::Unreadable
        } else if word.eq_ignore_ascii_case("success") {
            Status::Success
        } else if FAILURE_WORDS.iter().any(|failure| word.eq_ignore_ascii_case(failure)) {
            Status::Failure
        } else {
            Status::Other
        }
    }

    /// What the member `status_code` says; `"100"` is 100.
    pub fn status_code(&self) -> Code {
        match self.status_code.filter(|json| !json.is_null()) {
            None => Code::Absent,
            Some(json) => json.integer().map_or(Code::Unreadable, Code::Number),
        }
    }

    /// The member `status_code` as JSON, whatever it is, quotes included.
    pub fn status_code_text(&self) -> Option<&'a str> {
        self.status_code.map(Json::as_str)
    }

    /// The service's words: the first text among `msg`, `message`, `error.message` and `error`.
    pub fn message(&self) -> Option<Cow<'a, str>> {
        let own = self.msg.and_then(Json::text).or_else(|| self.message.and_then(Json::text));
        own.or_else(|| {
            let error = self.error?;
            let in_object = error.members().ok().and_then(|members| only(&members, "message")?.text());
            in_object.or_else(|| error.text())
        })
    }

    /// What the member `data` is.
    pub fn data(&self) -> Data<'a> {
        match self.data.filter(|json| !json.is_null()) {
            None => Data::Absent,
            Some(json) if json.is_object() => Data::Object(json.as_str()),
            Some(_) => Data::Other,
        }
    }

    /// `TransactionId` of `data`: a text that is not empty, or a whole number, kept as text.
    pub fn transaction_id(&self) -> Option<TransactionId> {
        TransactionId::from_answer(self.data_member("TransactionId")?.text_or_integer()?)
    }

    /// `Status` of `data`, whose codes the interface does not explain.
    pub fn data_status(&self) -> Option<String> {
        self.data_member("Status")?.text_or_integer().map(Into::into)
    }

    /// `data` as a transaction record; `None` if it is no object or has no identifier.
    pub fn transaction_record(&self) -> Option<TransactionRecord> {
        TransactionRecord::read(self.data_members.as_ref()?)
    }

    /// `data` as a receipt; `None` if it is no object or has no identifier.
    pub fn transaction_receipt(&self) -> Option<TransactionReceipt> {
        TransactionReceipt::read(self.data_members.as_ref()?)
    }

    /// `data` as a customer record; `None` if it is no object.
    pub fn customer_record(&self) -> Option<CustomerRecord> {
        Some(CustomerRecord::read(self.data_members.as_ref()?))
    }

    fn data_member(&self, name: &str) -> Option<Json<'a>> {
        only(self.data_members.as_ref()?, name)
    }
}

impl fmt::Debug for Answer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { status: _, status_code: _, message: _, msg: _, error: _, data: _, data_members: _ } = self;
        f.debug_struct("Answer")
            .field("status", &self.status())
            .field("status_code", &self.status_code())
            .field("data", &self.data())
            .finish_non_exhaustive()
    }
}

/// What the member `status` of an answer says, compared as a whole word without regard to case.
///
/// The enum is complete: a status is missing, says yes, says no, says something else, or says nothing.
#[expect(clippy::exhaustive_enums, reason = "complete: a status is missing, one of three texts, or no text")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Missing or `null`.
    Absent,
    /// `success`.
    Success,
    /// `failed`, `failure`, `error`, `declined` or `rejected`. The interface shows `failed` alone; the others
    /// are chosen by this SDK.
    Failure,
    /// Any other text. It may mean that the payment is pending.
    Other,
    /// An empty text, or a value that is no text.
    Unreadable,
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

/// The member if it is there exactly once.
fn only<'a>(members: &[Member<'a>], wanted: &str) -> Option<Json<'a>> {
    let mut found = members.iter().filter(|(name, _)| name == wanted);
    let (_, value) = found.next()?;
    found.next().is_none().then_some(*value)
}

const FAILURE_WORDS: [&str; 5] = ["failed", "failure", "error", "declined", "rejected"];
