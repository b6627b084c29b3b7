use std::borrow::Cow;
use std::fmt;

use serde_json::value::RawValue;

use crate::json_object::{ObjectError, for_each_member};
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
pub struct RequestMembers<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> RequestMembers<'a> {
    /// The members in their order, repeated ones included.
    ///
    /// # Errors
    ///
    /// `body`, if the document is no JSON object.
    pub fn read(document: &'a [u8]) -> Result<Self, ValidationError> {
        let document = document.strip_prefix(BYTE_ORDER_MARK).unwrap_or(document);
        let text = str::from_utf8(document).map_err(|_| ValidationError::one("body", "must be UTF-8"))?;
        let mut members = Vec::with_capacity(USUAL_COUNT);
        match for_each_member(text, |name, raw| members.push((name, raw))) {
            Ok(()) => Ok(Self(members)),
            Err(ObjectError::NotAnObject) => Err(ValidationError::one("body", "must be a JSON object")),
            Err(ObjectError::NotJson { line, column }) => {
                let rule = format!("must be JSON; it stops being so at line {line}, column {column}");
                Err(ValidationError::new(vec![Violation::new("body", rule)]))
            }
        }
    }

    /// Names and values, the latter as JSON.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.0.iter().map(|(name, raw)| (name.as_ref(), raw.get()))
    }

    pub(crate) fn iter_raw(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.0.iter().map(|(name, raw)| (name.as_ref(), *raw))
    }
}

impl fmt::Debug for RequestMembers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(members) = self;
        write!(f, "RequestMembers({} members)", members.len())
    }
}

pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Room for the largest request that the interface has, which has 27.
const USUAL_COUNT: usize = 32;
