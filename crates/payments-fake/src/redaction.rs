use std::borrow::Cow;

use http::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, USER_AGENT,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use payments_model::unversioned::FieldName;
use payments_model::{MaskedCard, mask, printable_field_name};
use percent_encoding::percent_decode_str;

/// What is taken out of one request before anything of it is kept.
pub(crate) struct Redaction<'a> {
    /// Those that are accepted and the one that it came with, which somebody may have put elsewhere too.
    keys: Vec<&'a str>,
}

impl<'a> Redaction<'a> {
    /// `presented` is what `Authorization` holds.
    pub(crate) fn of(accepted: &'a [String], presented: Option<&'a HeaderValue>) -> Self {
        // A shorter one would be found in words that have nothing to do with it.
        const SHORTEST_KEY: usize = 8;
        let mut keys: Vec<_> =
            accepted.iter().map(String::as_str).filter(|key| key.len() >= SHORTEST_KEY).collect();
        let presented = presented.and_then(|key| key.to_str().ok());
        keys.extend(presented.filter(|key| key.len() >= SHORTEST_KEY && !keys.contains(key)));
        Self { keys }
    }

    /// The same for what stands in this JSON, where a key may stand behind escapes.
    pub(crate) fn within(&self, json: &str) -> Self {
        let has_escapes = json.contains('\\');
        Self { keys: self.keys.iter().copied().filter(|key| has_escapes || json.contains(key)).collect() }
    }

    /// A method, which is any word: the rest of a body whose length was said too short is read as one.
    pub(crate) fn method(&self, method: &Method) -> Method {
        Method::from_bytes(self.text(method.as_str()).as_bytes())
            .unwrap_or_else(|_| Method::from_bytes(b"REDACTED").expect("a word is a method"))
    }

    /// A path without keys and card numbers. If one is percent-encoded, nothing of the path is shown.
    pub(crate) fn path(&self, path: &str) -> String {
        let decoded = percent_decode_str(path).decode_utf8_lossy();
        if decoded != path && matches!(self.text(&decoded), Cow::Owned(_)) {
            return "/[redacted]".to_owned();
        }
        self.text(path).into_owned()
    }

    /// The text without keys and card numbers, otherwise as it is.
    pub(crate) fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        mask(text, &self.keys)
    }

    /// Every value is copied, also where nothing is taken out of it: what a server hands over are parts of the bytes that it
    /// read, and to keep a part is to keep them all, the key and the body among them.
    pub(crate) fn headers(&self, mut headers: HeaderMap) -> HeaderMap {
        for (name, value) in &mut headers {
            if value.is_sensitive() || has_secret_name(name) {
                *value = REDACTED;
                continue;
            }
            let shown = match self.text(&lossy(value)) {
                Cow::Borrowed(_) => HeaderValue::from_bytes(value.as_bytes()),
                Cow::Owned(shown) => HeaderValue::try_from(shown),
            };
            *value = shown.unwrap_or(REDACTED);
        }
        headers
    }

    /// The name and the value, as JSON, that may be shown of a field of the body.
    pub(crate) fn field<'t>(&self, name: &str, json: &'t str) -> (Cow<'static, str>, Cow<'t, str>) {
        let Some(known) = FieldName::find(name) else {
            let name = self.text(printable_field_name(name)).into_owned();
            return (Cow::Owned(name), Cow::Borrowed(REDACTED_JSON));
        };
        let value = if known.is_of_card() { self.card_value(known, json) } else { self.shown_value(json) };
        (Cow::Borrowed(known.as_str()), value)
    }

    /// The value of a field that may be shown, without keys and card numbers. No field of the interface is an object or an
    /// array, so that what stands in one may be anything.
    fn shown_value<'t>(&self, json: &'t str) -> Cow<'t, str> {
        let text = match json.as_bytes() {
            [b'[' | b'{', ..] => None,
            // A text may hide digits behind escapes.
            [b'"', ..] if json.contains('\\') => serde_json::from_str(json).ok().map(Cow::Owned),
            [b'"', text @ .., b'"'] => Some(Cow::Borrowed(&json[1..=text.len()])),
            _ => Some(Cow::Borrowed(json)),
        };
        let Some(text) = text else { return Cow::Borrowed(REDACTED_JSON) };
        match self.text(&text) {
            Cow::Borrowed(_) => Cow::Borrowed(json),
            Cow::Owned(shown) => Cow::Owned(quoted(&shown)),
        }
    }

    fn card_value(&self, field: FieldName, json: &str) -> Cow<'static, str> {
        let number = (field == FieldName::CardNumber).then(|| serde_json::from_str::<String>(json).ok());
        match number.flatten() {
            Some(number) => Cow::Owned(quoted(&self.text(MaskedCard::new(&number).as_str()))),
            None => Cow::Borrowed(REDACTED_JSON),
        }
    }
}

/// Whether the header may hold a key, to judge by its name.
fn has_secret_name(name: &HeaderName) -> bool {
    // First those that nearly every request has, because it takes long to search names for words.
    *name == AUTHORIZATION
        || !HARMLESS_HEADERS.contains(name)
            && name != IDEMPOTENCY_KEY
            && SECRET_HEADER_WORDS.iter().any(|word| name.as_str().contains(word))
}

pub(crate) fn lossy(value: &HeaderValue) -> Cow<'_, str> {
    // Nearly always ASCII, for which this is the faster way.
    let text = str::from_utf8(value.as_bytes());
    text.map_or_else(|_| String::from_utf8_lossy(value.as_bytes()), Cow::Borrowed)
}

pub(crate) fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a text is JSON")
}

const REDACTED: HeaderValue = HeaderValue::from_static("[redacted]");

const REDACTED_JSON: &str = r#""[redacted]""#;

/// Names in which none of [`SECRET_HEADER_WORDS`] stands.
const HARMLESS_HEADERS: [HeaderName; 7] =
    [ACCEPT, ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, USER_AGENT];

/// What the names of headers have in common that hold a key: whoever sends one may not have marked it as sensitive, as
/// on a socket nobody can.
const SECRET_HEADER_WORDS: [&str; 7] = ["auth", "cookie", "key", "password", "secret", "session", "token"];

/// A key to nothing, and what a test may well want to see.
const IDEMPOTENCY_KEY: &str = "idempotency-key";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::value::RawValue;

    use super::*;

    static KEY: HeaderValue = HeaderValue::from_static("key_of_a_test");

    #[test]
    fn a_header_is_harmless_only_without_a_word_of_secrets_in_its_name() {
        for name in HARMLESS_HEADERS {
            assert!(!SECRET_HEADER_WORDS.iter().any(|word| name.as_str().contains(word)), "{name}");
        }
    }

    #[test]
    fn a_shown_value_has_neither_key_nor_card_number_d62() {
        let redaction = Redaction::of(&[], Some(&KEY));
        for json in [
            "10.50",
            "null",
            "true",
            r#""""#,
            r#""Ada [1] {2} key_of""#,
            r#""12345678901""#,
            r#""a\nb""#,
            "123456789012",
        ] {
            let shown = redaction.field("Reason", json);
            assert!(matches!(shown, (_, Cow::Borrowed(shown)) if shown == json));
        }
        for (json, shown) in [
            (r#""key\u005fof_a_test""#, r#""[redacted]""#),
            (r#""k\u0065y\u005fof_a_test""#, r#""[redacted]""#),
            (r#""key_of_a_test""#, r#""[redacted]""#),
            ("[1]", r#""[redacted]""#),
            (r#"{"a":1}"#, r#""[redacted]""#),
            (r#""\ud800""#, r#""[redacted]""#),
            (r#""4242 4242 4242 4242""#, r#""**** **** **** 4242""#),
            (r#""4242\n4242\n4242\n4242\n""#, r#""****\n****\n****\n4242\n""#),
            ("4242424242424242", r#""************4242""#),
        ] {
            let (name, value) = redaction.field("Reason", json);
            assert_eq!((&*name, &*value), ("Reason", shown));
        }
    }

    #[test]
    fn s5_a_key_that_opens_nothing_is_a_key_and_one_that_is_as_short_as_a_word_is_none() {
        let accepted = ["accepted_key".to_owned(), "order".to_owned()];
        let shown = |presented| {
            let presented = HeaderValue::from_static(presented);
            Redaction::of(&accepted, Some(&presented))
                .text("accepted_key wrong_key order payment")
                .into_owned()
        };
        assert_eq!(shown("wrong_key"), "[redacted] [redacted] order payment");
        assert_eq!(shown("accepted_key"), "[redacted] wrong_key order payment");
        assert_eq!(shown("payment"), "[redacted] wrong_key order payment");
    }

    #[test]
    fn a_path_for_a_log_has_neither_key_nor_card_number_d62() {
        let accepted = ["accepted_key".to_owned()];
        for (path, shown) in [
            (
                "/customer/accepted_key/4242-4242-4242-4242/cus_1",
                "/customer/[redacted]/****-****-****-4242/cus_1",
            ),
            ("/customer/accepted%5Fkey/cus_1", "/[redacted]"),
            ("/customer/4242%204242%204242%204242", "/[redacted]"),
            ("/customer/cus%201", "/customer/cus%201"),
        ] {
            assert_eq!(Redaction::of(&accepted, None).path(path), shown);
        }
        let key = ["key%41of%42a".to_owned()];
        assert_eq!(Redaction::of(&key, None).path("/customer/key%41of%42a"), "/customer/[redacted]");
    }

    fn value() -> impl Strategy<Value = String> {
        let text = prop_oneof![
            r"[ -~]{0,20}",
            r"([0-9][ ./-]?){8,20}",
            r"(\\u003[0-9]|[0-9]){8,20}",
            r".{0,4}(4242 ?){4}.{0,4}",
            r"[^\\]{0,3}(key_of_a_test|key\\u005fof_a_test|key_of)[a-z]?",
            any::<String>(),
        ];
        let json = text.prop_flat_map(|text| {
            let written = quoted(&text);
            // Escapes of the text stay escapes in one of the two.
            let raw = format!("\"{text}\"");
            let raw = if serde_json::from_str::<&RawValue>(&raw).is_ok() { raw } else { written.clone() };
            prop_oneof![
                Just(written.clone()),
                Just(raw),
                Just(format!("[{written}]")),
                Just(format!("{{{written}:1}}"))
            ]
        });
        let bare = prop_oneof!["-?[1-9][0-9]{0,20}", "0\\.[0-9]{1,14}e[0-9]{1,3}", "true|false|null"];
        prop_oneof![4 => json, 1 => bare]
    }

    proptest! {
        #[test]
        fn what_is_shown_of_a_value_is_json_without_the_key(json in value()) {
            let redaction = Redaction::of(&[], Some(&KEY));
            let shown = redaction.shown_value(&json);
            prop_assert!(serde_json::from_str::<&RawValue>(&shown).is_ok(), "{}", shown);
            let text = |json: &str| serde_json::from_str::<String>(json).ok();
            prop_assert!(!text(&shown).is_some_and(|text| text.contains("key_of_a_test")), "{}", shown);
            if let Some(own) = text(&json) {
                prop_assert_eq!(text(&shown), Some(redaction.text(&own).into_owned()));
            }
        }
    }
}
