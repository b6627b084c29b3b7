use std::fmt;

use crate::RawJson;
use crate::echoes::Echoes;
use crate::redact::{REDACTED, is_secret_name};
use crate::violation::printable_field_name;

/// The fields of a record that the interface does not have, kept as they came and in their order.
///
/// A value whose name says that it holds card or account data (`Cvv`, `ExpiryDate`, `AccountNumber` and the
/// like, in any spelling and at any depth) is replaced by `"[redacted]"` on the way in, so that nothing
/// downstream can leak it. `Debug` shows names only.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct OtherFields(Vec<(String, RawJson)>);

impl OtherFields {
    /// Adds a field after the others. A repeated name is kept twice.
    pub fn insert(&mut self, name: impl Into<String>, value: RawJson) {
        let name = name.into();
        let value = if is_secret_name(&name) { RawJson::redacted() } else { value.redact_nested() };
        self.0.push((name, value));
    }

    /// Replaces every value that holds one of these secrets, at any depth and whatever its name is, and every
    /// field whose name holds one.
    ///
    /// For the secrets of a request whose answer sends them back. They are found as [`scrub`](crate::scrub) finds
    /// them, escaped or spelled with separators, in the same time. Secrets with fewer than five letters and digits
    /// are ignored: a security code would strike amounts and counters that only look alike.
    pub fn redact_echoes(&mut self, secrets: &[&str]) {
        self.redact(&mut Echoes::of(secrets));
    }

    pub(crate) fn redact(&mut self, echoes: &mut Echoes<'_>) {
        for (name, value) in &mut self.0 {
            let is_in_name = echoes.are_in(name);
            if is_in_name {
                REDACTED.clone_into(name);
            }
            if is_in_name || echoes.are_in(value.text()) {
                *value = RawJson::redacted();
            }
        }
    }

    /// The value of the first field with this name.
    pub fn get(&self, name: &str) -> Option<&RawJson> {
        self.iter().find(|(own, _)| *own == name).map(|(_, value)| value)
    }

    /// Names and values in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &RawJson)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// The number of fields.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none, as the interface has it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for OtherFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(fields) = self;
        f.debug_set().entries(fields.iter().map(|(name, _)| printable_field_name(name))).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::OtherFields;
    use crate::RawJson;

    #[track_caller]
    fn after_redaction(name: &str, value: &str, secret: &str) -> (String, String) {
        let mut fields = OtherFields::default();
        fields.insert(name, RawJson::parse(value).unwrap());
        fields.redact_echoes(&[secret, "some other secret"]);
        let (name, value) = fields.iter().next().unwrap();
        (name.to_owned(), value.text().to_owned())
    }

    #[test]
    fn d62_an_echo_is_redacted_however_it_is_written() {
        for (value, secret) in [
            (r#""sk_live_51H""#, "sk_live_51H"),
            (r#"["xsk_live_51Hx"]"#, "sk_live_51H"),
            (r#"{"a":{"sk_live_51H":1}}"#, "sk_live_51H"),
            ("6200000000000009", "6200000000000009"),
            (r#""6200 0000 0000 0009""#, "6200000000000009"),
            (r#""\u0036200000000000009""#, "6200000000000009"),
            (r#""{\"a\":\"\\u0036200000000000009\"}""#, "6200000000000009"),
            (r#""x=%2212345%22""#, "12345"),
            (r#""\u002712345\u0027""#, "12345"),
        ] {
            let expected = ("x".to_owned(), r#""[redacted]""#.to_owned());
            assert_eq!(after_redaction("x", value, secret), expected, "{value}");
        }
        let expected = (r"[redacted]".to_owned(), r#""[redacted]""#.to_owned());
        assert_eq!(after_redaction("of sk_live_51H", "1", "sk_live_51H"), expected);
    }

    #[test]
    fn d60_what_only_looks_like_an_echo_is_kept() {
        for (value, secret) in [
            ("123.45", "12345"),
            ("1234567", "12345"),
            ("[917]", "917"),
            (r#""1137""#, "1137"),
            (r#""11/37""#, "1137"),
        ] {
            assert_eq!(after_redaction("x", value, secret), ("x".to_owned(), value.to_owned()));
        }
    }
}
