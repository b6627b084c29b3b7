//! Reads a request from a JSON document.

use std::fmt;

use serde_json::error::Category;

use super::{AchTransaction, CardTransaction, FieldName, SuggestedMode};
use crate::json::{Member, Members, WHITESPACE};
use crate::{SecretBytes, ValidationError};

/// Declares the two constructors from a document, for a request that has `from_members`.
macro_rules! from_document {
    () => {
        /// Reads a request from a JSON object with the interface's field names.
        ///
        /// In an ACH payment every field that the interface does not name is an account field. It is kept verbatim, and its
        /// value may have any JSON type. Without `TransactionType` a payment has
        /// [`TransactionType::GatewayDefault`](crate::TransactionType). Without `TransactionFor` a void has `Void`.
        ///
        /// # Errors
        ///
        /// With every violation at once. The rules and messages are those of the builder. In addition, no field may be
        /// unknown, repeated, `null` or of the wrong JSON type. A document that is not a JSON object or is too large is a
        /// violation of `body`. Nothing was sent.
        pub fn from_json(document: &[u8]) -> Result<Self, crate::ValidationError> {
            Self::from_json_with(document, crate::UnknownFields::Refused)
        }

        /// Same as [`from_json`](Self::from_json), but the caller chooses what happens to unknown fields.
        ///
        /// # Errors
        ///
        /// Same as [`from_json`](Self::from_json). An unknown field is a violation only if unknown fields are refused.
        pub fn from_json_with(
            document: &[u8],
            unknown: crate::UnknownFields,
        ) -> Result<Self, crate::ValidationError> {
            Self::from_members(&crate::unversioned::RequestMembers::read(document)?, unknown)
        }
    };
}
pub(crate) use from_document;

/// A request to `POST /transaction`, for callers that do not know in advance whether a document is a card or an ACH payment.
///
/// The enum is complete: a request is ACH if its `SuggestedMode` is `ACH` in any case, and a card transaction otherwise.
#[expect(clippy::exhaustive_enums, reason = "complete: a request is ACH or not")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransactionRequest {
    /// A card transaction.
    Card(CardTransaction),
    /// An ACH transaction.
    Ach(AchTransaction),
}

impl TransactionRequest {
    from_document!();

    #[doc(hidden)]
    pub fn from_members(
        members: &RequestMembers<'_>,
        unknown: UnknownFields,
    ) -> Result<Self, ValidationError> {
        let mut modes =
            members.as_slice().iter().filter(|(name, _)| name == FieldName::SuggestedMode.as_str());
        let is_ach = |mode: &str| mode.eq_ignore_ascii_case(SuggestedMode::ACH);
        if modes.any(|(_, mode)| mode.text().is_some_and(|mode| is_ach(&mode))) {
            AchTransaction::from_members(members, unknown).map(Self::Ach)
        } else {
            CardTransaction::from_members(members, unknown).map(Self::Card)
        }
    }

    /// The request as JSON.
    pub fn encode(&self) -> SecretBytes {
        match self {
            Self::Card(request) => request.encode(),
            Self::Ach(request) => request.encode(),
        }
    }

    /// Every secret of this request, to [`mask`](crate::mask) a response that may repeat it.
    pub fn secrets(&self) -> Vec<&str> {
        match self {
            Self::Card(request) => request.secrets(),
            Self::Ach(request) => request.secrets(),
        }
    }
}

/// What happens to unknown fields when a request is read from JSON.
///
/// The enum is complete: they are refused or ignored.
#[expect(clippy::exhaustive_enums, reason = "complete: a field is refused or ignored")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnknownFields {
    /// Each is a violation, so that a misspelled optional field is not lost silently.
    #[default]
    Refused,
    /// They are ignored, for a fake of a less strict service. An ACH payment has no unknown fields: every field that the
    /// interface does not name is an account field.
    Ignored,
}

/// The members of a request's JSON document, for callers that read them more than once.
///
/// It borrows from the document and is as secret as the document. `Debug` shows only the number of members.
pub struct RequestMembers<'a> {
    text: &'a str,
    members: Vec<Member<'a>>,
}

impl<'a> RequestMembers<'a> {
    /// Reads the members in order, including repeated ones.
    ///
    /// # Errors
    ///
    /// A violation of `body` if the document is not a JSON object.
    pub fn read(document: &'a [u8]) -> Result<Self, ValidationError> {
        let document = document.strip_prefix(BYTE_ORDER_MARK).unwrap_or(document);
        let text = str::from_utf8(document).map_err(|_| ValidationError::one("body", "must be UTF-8"))?;
        let error = match serde_json::from_str(text) {
            Ok(Members(members)) => return Ok(Self { text, members }),
            Err(error) => error,
        };
        let is_object = text.trim_start_matches(WHITESPACE).starts_with('{');
        Err(match error.classify() {
            // The rest of the document was not parsed and may not be valid JSON.
            Category::Data if !is_object => ValidationError::one("body", "must be a JSON object"),
            Category::Data => ValidationError::one("body", "must be JSON with field names in valid Unicode"),
            Category::Syntax | Category::Eof | Category::Io => {
                // At the end of the text serde_json reports the column of the last character, not the one after it.
                let (line, column) = (error.line(), error.column() + usize::from(error.is_eof()));
                let rule = format!("must be JSON: syntax error at line {line}, column {column}");
                ValidationError::one("body", rule)
            }
        })
    }

    /// The document.
    pub const fn text(&self) -> &'a str {
        self.text
    }

    /// The names, and the values as JSON.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.members.iter().map(|(name, value)| (name.as_ref(), value.as_str()))
    }

    pub(crate) fn as_slice(&self) -> &[Member<'a>] {
        &self.members
    }
}

impl fmt::Debug for RequestMembers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text: _, members } = self;
        write!(f, "RequestMembers({} members)", members.len())
    }
}

pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
