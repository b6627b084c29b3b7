use std::ops::Deref;

use crate::RawJson;

/// One field of a record, as far as it could be read.
///
/// One malformed field must not turn a successful payment into an error, and an unreadable amount must never look like zero.
/// So there are four distinct states.
///
/// ```
/// use payments_model::{Amount, Field};
///
/// let amount = Field::from(Amount::from_cents(10_50));
/// assert_eq!(amount.value(), Some(&Amount::from_cents(10_50)));
/// let state: Field<String> = Field::Null;
/// assert_eq!(state.as_deref(), None);
/// ```
///
/// The enum is complete: a field is absent, `null`, readable, or unreadable.
#[expect(clippy::exhaustive_enums, reason = "complete: JSON leaves no fifth state")]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Field<T> {
    /// The record does not have the field.
    #[default]
    Absent,
    /// The field is JSON `null`. This is not the same as an empty string.
    Null,
    /// The field has a value of the type in the interface. A number may have been sent as a string, or a string as a number.
    Value(T),
    /// The field has a value of another type, or appears more than once. The JSON is kept: the value, or for a repeated field
    /// an array of all its values in order. Card and account data in it are replaced by `"[redacted]"`.
    Unreadable(RawJson),
}

impl<T> Field<T> {
    /// The value, if there is one that could be read.
    pub const fn value(&self) -> Option<&T> {
        match self {
            Self::Value(value) => Some(value),
            Self::Absent | Self::Null | Self::Unreadable(_) => None,
        }
    }

    /// Converts into the value, if there is one that could be read.
    pub fn into_value(self) -> Option<T> {
        match self {
            Self::Value(value) => Some(value),
            Self::Absent | Self::Null | Self::Unreadable(_) => None,
        }
    }

    /// The dereferenced value, if there is one that could be read: `Option<&str>` for a `String`.
    pub fn as_deref(&self) -> Option<&T::Target>
    where
        T: Deref,
    {
        self.value().map(Deref::deref)
    }

    /// The value as text, if there is one that could be read. For strings, identifiers and masked card numbers.
    pub fn as_str(&self) -> Option<&str>
    where
        T: AsRef<str>,
    {
        self.value().map(AsRef::as_ref)
    }

    /// Whether the record does not have the field. `null` is not absent.
    pub const fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }
}

impl<T> From<T> for Field<T> {
    fn from(value: T) -> Self {
        Self::Value(value)
    }
}

#[cfg(test)]
mod tests {
    use crate::{CustomerId, Field, MaskedCard, RawJson};

    #[test]
    fn value_is_returned_only_for_a_readable_field() {
        let unreadable = || Field::Unreadable(RawJson::parse("[\"secret\"]").unwrap());
        assert_eq!(Field::from(5).into_value(), Some(5));
        for field in [Field::<i64>::default(), Field::Null, unreadable()] {
            assert_eq!((field.value(), field.is_absent()), (None, matches!(field, Field::Absent)));
            assert_eq!(field.into_value(), None);
        }
        assert_eq!(
            format!("{:?}", Field::<i64>::Unreadable(RawJson::parse("[1]").unwrap())),
            "Unreadable(RawJson(3 bytes))"
        );
    }

    #[test]
    fn text_can_be_borrowed_as_str() {
        assert_eq!(Field::from("a".to_owned()).as_deref(), Some("a"));
        assert_eq!(Field::from("cus_1".parse::<CustomerId>().unwrap()).as_str(), Some("cus_1"));
        assert_eq!(Field::from(MaskedCard::new("4242424242424242")).as_str(), Some("************4242"));
        assert_eq!((Field::<String>::Null.as_deref(), Field::<String>::Absent.as_str()), (None, None));
    }
}
