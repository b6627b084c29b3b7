//! The members of a request's JSON document.

use std::fmt;

use serde_json::error::Category;

use crate::ValidationError;
use crate::json::{Json, Member, Members, WHITESPACE, without_byte_order_mark};

/// The members of a request's JSON document, for callers that read them more than once.
///
/// It borrows from the document and is as secret as the document. `Debug` shows only the number of members.
#[derive(Clone)]
pub struct RequestMembers<'a>(Vec<Member<'a>>);

impl<'a> RequestMembers<'a> {
    /// Reads the members in order, including repeated ones.
    ///
    /// # Errors
    ///
    /// A violation of `body` if the document is not a JSON object.
    pub fn read(document: &'a [u8]) -> Result<Self, ValidationError> {
        let text = str::from_utf8(without_byte_order_mark(document))
            .map_err(|_| ValidationError::one("body", "must be UTF-8"))?;
        let error = match serde_json::from_str(text) {
            Ok(Members(members)) => return Ok(Self(members)),
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

    /// The names, and the values as JSON.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.0.iter().map(|(name, value)| (name.as_ref(), value.as_str()))
    }

    /// Only the members with names for which `is_kept`.
    #[must_use]
    pub fn filtered(&self, is_kept: impl Fn(&str) -> bool) -> Self {
        Self(self.0.iter().filter(|(name, _)| is_kept(name)).cloned().collect())
    }

    pub(crate) fn as_slice(&self) -> &[Member<'a>] {
        &self.0
    }

    /// Whether a member with this name is a text for which `is_so`.
    pub(crate) fn any_text(&self, name: &str, is_so: impl Fn(&str) -> bool) -> bool {
        let mut values = self.0.iter().filter(|member| member.0 == name).map(|(_, json)| *json);
        values.any(|json: Json<'_>| json.text().is_some_and(|text| is_so(&text)))
    }
}

impl fmt::Debug for RequestMembers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(members) = self;
        write!(f, "RequestMembers({} members)", members.len())
    }
}

/// Declares the constructor from a document, for a request that has `from_members`.
macro_rules! from_json {
    ($(#[$meta:meta])*) => {
        /// Reads a request from a JSON object with the interface's field names, such as [`to_json`](Self::to_json) writes.
        ///
        $(#[$meta])*
        ///
        /// # Errors
        ///
        /// With every violation at once. The rules and messages are those of the builder. In addition, no field may be
        /// unknown, repeated, `null` or of the wrong JSON type. A document that is not a JSON object or is too large is a
        /// violation of `body`. Nothing was sent.
        pub fn from_json(document: &[u8]) -> Result<Self, crate::ValidationError> {
            let request = Self::from_members(&crate::unversioned::RequestMembers::read(document)?)?;
            crate::request::body::check_size(&request.to_json()).map(|()| request)
        }
    };
}
pub(super) use from_json;
