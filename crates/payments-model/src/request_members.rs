use std::fmt;

use crate::json_object::{Member, Object, ObjectError};
use crate::json_scanner::NotJson;
use crate::{ValidationError, Violation};

/// The members of a request's JSON document, for those who look at them more than once: reading the document is a large
/// part of the work on a request.
///
/// It borrows from the document and is as secret as that is: `Debug` shows only how many members there are.
///
/// ```
/// use payments_model::{RequestMembers, UnknownFields, Void};
///
/// let members = RequestMembers::read(br#"{"TransactionId":"txn_1","Reason":null}"#)?;
/// let names: Vec<_> = members.iter().map(|(name, _)| name).collect();
/// assert_eq!(names, ["TransactionId", "Reason"]);
/// assert!(Void::from_members(&members, UnknownFields::Refused).is_err());
/// # Ok::<(), payments_model::ValidationError>(())
/// ```
pub struct RequestMembers<'a>(Vec<Member<'a>>);

impl<'a> RequestMembers<'a> {
    /// The members in their order, repeated ones included.
    ///
    /// # Errors
    ///
    /// `body`, if the document is no JSON object.
    pub fn read(document: &'a [u8]) -> Result<Self, ValidationError> {
        let document = document.strip_prefix(BYTE_ORDER_MARK).unwrap_or(document);
        let text = str::from_utf8(document).map_err(|_| ValidationError::one("body", "must be UTF-8"))?;
        match Object::open(text).and_then(Object::all) {
            Ok(members) => Ok(Self(members)),
            Err(ObjectError::NotAnObject) => Err(ValidationError::one("body", "must be a JSON object")),
            Err(ObjectError::NameNotUnicode) => {
                Err(ValidationError::one("body", "must be JSON whose names are Unicode"))
            }
            Err(ObjectError::NotJson(NotJson { at })) => {
                let before = &text.as_bytes()[..at];
                let line = before.split(|byte| *byte == b'\n').count();
                let column = before.rsplit(|byte| *byte == b'\n').next().map_or(0, <[u8]>::len) + 1;
                let rule = format!("must be JSON; it stops being so at line {line}, column {column}");
                Err(ValidationError::new(vec![Violation::new("body", rule)]))
            }
        }
    }

    /// Names and values, the latter as JSON.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.0.iter().map(|(name, value)| (name.as_ref(), value.as_str()))
    }

    pub(crate) fn as_slice(&self) -> &[Member<'a>] {
        &self.0
    }
}

impl fmt::Debug for RequestMembers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(members) = self;
        write!(f, "RequestMembers({} members)", members.len())
    }
}

pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
