use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::id::shows_nothing;
use crate::json::{Json, Member, Members, WHITESPACE, only, without_byte_order_mark};

use crate::secret::redacted_debug;
use crate::{CustomerRecord, TransactionId, TransactionReceipt, TransactionRecord};

/// A response body that is a JSON object: the members of the interface's envelopes, each as far as it can be read.
///
/// It borrows the body and decides nothing. It does not say whether a payment succeeded, because that also depends on the HTTP
/// status. The service may have sent anything, so [`mask`](crate::mask) its values before showing them.
#[derive(Clone)]
pub struct Envelope<'a> {
    object: &'a str,
    members: EnvelopeMembers<'a, Members<'a>>,
}

/// The members of the interface's envelopes, with `data` as far as it is read.
#[derive(Clone, Deserialize)]
#[serde(bound(deserialize = "D: Deserialize<'de>"))]
struct EnvelopeMembers<'a, D> {
    #[serde(borrow, default, deserialize_with = "present")]
    status: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    status_code: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    message: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    msg: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
    data: Option<D>,
}

/// Keeps `null` as a value. `Option` alone would read it as `None`.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

impl<'a> Envelope<'a> {
    /// Reads a response body. `None` if it is no whole JSON object in UTF-8, the members that are not read included, or if it has a
    /// member of the envelope twice, because then its value is ambiguous. One leading byte order mark is skipped.
    pub fn read(body: &'a [u8]) -> Option<Self> {
        let text = str::from_utf8(without_byte_order_mark(body)).ok()?;
        let object = text.trim_matches(WHITESPACE);
        // A list would be read as the members in their order.
        if !object.starts_with('{') {
            return None;
        }
        // Nearly always `data` is an object with Unicode names, so its members are read in the same pass.
        if let Ok(members) = serde_json::from_str::<EnvelopeMembers<'a, Members<'a>>>(object) {
            return Some(Self { object, members });
        }
        let EnvelopeMembers { status, status_code, message, msg, error, data: _ } =
            serde_json::from_str::<EnvelopeMembers<'a, &'a RawValue>>(object).ok()?;
        Some(Self {
            object,
            members: EnvelopeMembers { status, status_code, message, msg, error, data: None },
        })
    }

    /// The body, without a byte order mark and white space around it.
    pub fn json(&self) -> &'a str {
        self.object
    }

    /// The meaning of the member `status`.
    pub fn status(&self) -> Status {
        let Some(json) = non_null(self.members.status) else {
            return Status::Absent;
        };
        let Some(word) = json.text() else {
            // A string that is not Unicode is still a string.
            return if json.is_string() { Status::Other } else { Status::Unreadable };
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

    /// The value of the member `status_code`. `"100"` is 100.
    pub fn status_code(&self) -> Code {
        match non_null(self.members.status_code) {
            None => Code::Absent,
            Some(json) => json.integer().map_or(Code::Unreadable, Code::Number),
        }
    }

    /// The member `status_code` as JSON text, including quotes.
    pub fn status_code_text(&self) -> Option<&'a str> {
        self.members.status_code.map(RawValue::get)
    }

    /// The service's message: the first of `msg`, `message`, `error`, `error.message`, `error.description` and `errors` that shows
    /// something, the prefix of an HTTP 400 aside. If none is a text, the texts of the list or object `errors` or `msg`, joined by
    /// `; ` and cut after 500 characters.
    pub fn message(&self) -> Option<Message<'a>> {
        let EnvelopeMembers { message, msg, error, .. } = self.members;
        let [msg, message, error] = [msg, message, error].map(non_null);
        let text = |json: Option<Json<'a>>| json?.text().filter(|text| !is_blank(text));
        let of_error = |name| text(only(&error?.members()?, name));
        let single = text(msg).or_else(|| text(message)).or_else(|| text(error));
        let single = single.or_else(|| of_error("message")).or_else(|| of_error("description"));
        single.map(Message::whole).or_else(|| {
            // Nearly no response gets here, so `errors` is not read with the other members.
            let errors = serde_json::from_str::<Members<'a>>(self.object).ok();
            let errors = errors.and_then(|Members(members)| only(&members, "errors"));
            let joined = || [errors, msg].into_iter().flatten().find_map(Message::joined);
            text(errors).map(Message::whole).or_else(joined)
        })
    }

    /// `TransactionId` in `data`: a string that is not empty, or the digits of a whole number.
    pub fn transaction_id(&self) -> Option<TransactionId> {
        TransactionId::from_response(self.data_member("TransactionId")?.text_or_integer()?)
    }

    /// `Status` in `data`. The interface does not explain its codes.
    pub fn data_status(&self) -> Option<String> {
        self.data_member("Status")?.text_or_integer().map(Into::into)
    }

    /// `data` as a transaction record. `None` if it is not an object or has no identifier.
    pub fn transaction_record(&self) -> Option<TransactionRecord> {
        TransactionRecord::read(self.data_members()?)
    }

    /// `data` as a receipt. `None` if it is not an object or has no identifier.
    pub fn transaction_receipt(&self) -> Option<TransactionReceipt> {
        TransactionReceipt::read(self.data_members()?)
    }

    /// `data` as a customer record. `None` if it is not an object.
    pub fn customer_record(&self) -> Option<CustomerRecord> {
        CustomerRecord::read(self.data_members()?)
    }

    fn data_member(&self, name: &str) -> Option<Json<'a>> {
        only(self.data_members()?, name)
    }

    /// The members of `data`, if it is an object with Unicode names.
    fn data_members(&self) -> Option<&[Member<'a>]> {
        self.members.data.as_ref().map(|Members(members)| &**members)
    }
}

/// The service's message. `Debug` does not show it.
#[non_exhaustive]
#[derive(Clone)]
pub struct Message<'a> {
    /// Borrowed, if the body contains it unchanged.
    pub text: Cow<'a, str>,
    /// Whether its end is missing.
    pub is_cut: bool,
}

impl<'a> Message<'a> {
    /// Whether the body contains it unchanged: as one text, and without escapes.
    pub fn is_as_sent(&self) -> bool {
        matches!(self.text, Cow::Borrowed(_))
    }

    fn whole(text: Cow<'a, str>) -> Self {
        Self { text, is_cut: false }
    }

    /// The texts in a list or an object, in order.
    fn joined(json: Json<'_>) -> Option<Self> {
        let mut texts = Vec::new();
        json.visit(MAX_LEVELS, &mut |json| {
            texts.extend(json.text().filter(|text| !is_blank(text)));
            true
        });
        let mut text = texts.join("; ");
        let end = text.char_indices().nth(MAX_CHARACTERS).map(|(end, _)| end);
        text.truncate(end.unwrap_or(text.len()));
        (!text.is_empty()).then_some(Self { text: text.into(), is_cut: end.is_some() })
    }
}

redacted_debug!(Message<'_>);

/// Whether the text shows nothing but the prefix of every HTTP 400.
fn is_blank(text: &str) -> bool {
    let text = text.strip_prefix(BAD_REQUEST_PREFIX.trim_end()).unwrap_or(text);
    text.chars().all(|letter| letter.is_control() || shows_nothing(letter))
}

/// Enough for several sentences.
const MAX_CHARACTERS: usize = 500;

/// Enough for a list of objects with lists of texts, and few enough to read quickly.
const MAX_LEVELS: u32 = 6;

fn non_null(member: Option<&RawValue>) -> Option<Json<'_>> {
    member.map(Json::from).filter(|json| !json.is_null())
}

impl fmt::Debug for Envelope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { object: _, members: _ } = self;
        f.debug_struct("Envelope")
            .field("status", &self.status())
            .field("status_code", &self.status_code())
            .finish_non_exhaustive()
    }
}

/// The meaning of the member `status` in a response. The whole text is compared, ignoring case.
///
/// The enum is complete: a status is missing, a success, a failure, another text, or unreadable.
#[expect(
    clippy::exhaustive_enums,
    reason = "complete: a status is missing, a success, a failure, another text, or unreadable"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Missing or `null`.
    Absent,
    /// `success`.
    Success,
    /// `failed`, `failure`, `error`, `declined` or `rejected`. The interface shows only `failed`. The others are chosen by
    /// this SDK.
    Failure,
    /// Any other text. It may mean that the payment is pending.
    Other,
    /// An empty string, or a value that is not a string.
    Unreadable,
}

/// The value of the member `status_code` in a response.
///
/// The enum is complete: a code is missing, a whole number, or something else.
#[expect(clippy::exhaustive_enums, reason = "complete: a code is missing, a whole number, or something else")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// Missing or `null`.
    Absent,
    /// A whole number, or a string that contains one.
    Number(i64),
    /// Anything else.
    Unreadable,
}

/// The prefix of `msg` in a 400 response, as in the interface. The reason follows it.
pub const BAD_REQUEST_PREFIX: &str = "bad request error: ";

const FAILURE_WORDS: [&str; 5] = ["failed", "failure", "error", "declined", "rejected"];
