//! Reading a request out of a JSON document.

use std::fmt;

use serde_json::error::Category;

use super::{AchTransaction, CardTransaction, FieldName, SuggestedMode};
use crate::json::{Member, Members, WHITESPACE};
use crate::{SecretBytes, ValidationError};

/// The two constructors out of a document, for a request that has `from_members`.
macro_rules! from_document {
    () => {
        /// Reads a request out of a JSON object with the interface's field names.
        ///
        /// In an ACH payment every field that the interface does not name is an account field and is kept verbatim, whatever
        /// its JSON type. An absent `TransactionType` is [`TransactionType::GatewayDefault`](crate::TransactionType), and an
        /// absent `TransactionFor` is `Void`.
        ///
        /// # Errors
        ///
        /// With every rule of the builder that the document breaks, in the same words; and for each field that is unknown,
        /// repeated, `null` or of another JSON type than the interface names. `body` if it is no JSON object or too large.
        /// Nothing was sent.
        pub fn from_json(document: &[u8]) -> Result<Self, crate::ValidationError> {
            Self::from_json_with(document, crate::UnknownFields::Refused)
        }

        /// The same with another rule for fields that the interface does not have.
        ///
        /// # Errors
        ///
        /// As [`from_json`](Self::from_json), but for unknown fields only if they are refused.
        pub fn from_json_with(
            document: &[u8],
            unknown: crate::UnknownFields,
        ) -> Result<Self, crate::ValidationError> {
            Self::from_members(&crate::unversioned::RequestMembers::read(document)?, unknown)
        }
    };
}
pub(crate) use from_document;

/// A request to `POST /transaction` of either kind, for those who learn the kind from the document itself.
///
/// The enum is complete: a request is ACH exactly when its `SuggestedMode` is `ACH` in any case, and a card transaction
/// otherwise.
#[expect(clippy::exhaustive_enums, reason = "complete: a request is ACH or it is not")]
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

/// What becomes of fields that the interface does not have, when a request is read out of JSON.
///
/// The enum is complete: they are refused or they are not.
#[expect(clippy::exhaustive_enums, reason = "complete: a field is refused or it is not")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnknownFields {
    /// Each is a violation: a misspelt optional field must not vanish silently.
    #[default]
    Refused,
    /// They are passed over, for those who play a service that is not as strict. An ACH payment has none: what the interface
    /// does not name is the account's.
    Ignored,
}

/// The members of a request's JSON document, for those who look at them more than once.
///
/// It borrows from the document and is as secret as that is: `Debug` shows only how many members there are.
pub struct RequestMembers<'a> {
    text: &'a str,
    members: Vec<Member<'a>>,
}

impl<'a> RequestMembers<'a> {
    /// The members in their order, repeated ones included.
    ///
    /// # Errors
    ///
    /// `body`, if the document is no JSON object.
    pub fn read(document: &'a [u8]) -> Result<Self, ValidationError> {
        let document = document.strip_prefix(BYTE_ORDER_MARK).unwrap_or(document);
        let text = str::from_utf8(document).map_err(|_| ValidationError::one("body", "must be UTF-8"))?;
        let error = match serde_json::from_str(text) {
            Ok(Members(members)) => return Ok(Self { text, members }),
            Err(error) => error,
        };
        let is_object = text.trim_start_matches(WHITESPACE).starts_with('{');
        Err(match error.classify() {
            // The rest of the document may yet be no JSON, which nobody needs to know of what is no object.
            Category::Data if !is_object => ValidationError::one("body", "must be a JSON object"),
            Category::Data => ValidationError::one("body", "must be JSON whose names are Unicode"),
            Category::Syntax | Category::Eof | Category::Io => {
                // At the end of the text serde_json counts to the last character, not behind it.
                let (line, column) = (error.line(), error.column() + usize::from(error.is_eof()));
                let rule = format!("must be JSON; it stops being so at line {line}, column {column}");
                ValidationError::one("body", rule)
            }
        })
    }

    /// The document.
    pub const fn text(&self) -> &'a str {
        self.text
    }

    /// Names and values, the latter as JSON.
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
