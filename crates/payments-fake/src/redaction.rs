use std::borrow::Cow;
use std::collections::BTreeMap;

use http::{HeaderMap, HeaderName, HeaderValue, Method};
use payments_model::unversioned::{CARD_FIELDS, RequestMembers, request_field};
use payments_model::{MaskedCard, mask};
use percent_encoding::percent_decode_str;
use serde_json::value::RawValue;

use crate::document::{shown_name, to_json};

/// Removes secrets from one request before any part of it is stored.
pub(crate) struct Redaction<'a> {
    /// The accepted keys and the key of the request, which may also appear in other places.
    keys: Vec<&'a str>,
}

impl<'a> Redaction<'a> {
    /// `presented` is the value of `Authorization`.
    pub(crate) fn of<'k: 'a>(
        accepted: impl IntoIterator<Item = &'k str>,
        presented: Option<&'a HeaderValue>,
    ) -> Self {
        let mut keys: Vec<_> = accepted.into_iter().filter(|key| key.len() >= SHORTEST_KEY).collect();
        let presented = presented.and_then(|key| key.to_str().ok());
        keys.extend(presented.filter(|key| key.len() >= SHORTEST_KEY && !keys.contains(key)));
        Self { keys }
    }

    /// The redacted fields of a body.
    pub(crate) fn fields(&self, members: &RequestMembers<'_>) -> RedactedFields {
        let mut object = String::new();
        for (name, json) in members.iter() {
            let (name, json) = self.field(name, json);
            object.push(if object.is_empty() { '{' } else { ',' });
            object.extend(["\"", &name, "\":", &json]);
        }
        object.push_str(if object.is_empty() { "{}" } else { "}" });
        RedactedFields(object)
    }

    /// A redacted method. A method can be any word: if the announced length of a body is too short, its rest is read as one.
    pub(crate) fn method(&self, method: &Method) -> Method {
        Method::from_bytes(self.text(method.as_str()).as_bytes())
            .unwrap_or_else(|_| Method::from_bytes(b"REDACTED").expect("a word is a method"))
    }

    /// A path without keys and card numbers. If one of them is percent-encoded, the whole path is redacted.
    pub(crate) fn path(&self, path: &str) -> String {
        let decoded = percent_decode_str(path).decode_utf8_lossy();
        if decoded != path && matches!(self.text(&decoded), Cow::Owned(_)) {
            return "/[redacted]".to_owned();
        }
        self.text(path).into_owned()
    }

    /// The text without keys and card numbers, otherwise unchanged.
    pub(crate) fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        // Most values are too short for a key or a card number.
        if text.len() < SHORTEST_KEY { Cow::Borrowed(text) } else { mask(text, &self.keys) }
    }

    /// Copies every value, even where nothing is removed: the values are slices of the buffer that the server read, and
    /// keeping a slice would keep the whole buffer, with the key and the body.
    pub(crate) fn headers(&self, headers: &HeaderMap) -> HeaderMap {
        let shown = headers.iter().map(|(name, value)| {
            let shown = match self.text(&lossy(value)) {
                _ if value.is_sensitive() || has_secret_name(name) => Ok(REDACTED),
                Cow::Owned(shown) if !self.is_random_id(name, value) => HeaderValue::try_from(shown),
                _ => HeaderValue::from_bytes(value.as_bytes()),
            };
            (self.header_name(name), shown.unwrap_or(REDACTED))
        });
        let mut redacted = HeaderMap::with_capacity(headers.len());
        for (name, value) in shown {
            redacted.append(name, value);
        }
        redacted
    }

    /// Whether the value has the form of a random identifier, such as a `traceparent`, under a name of one. One in some hundred
    /// contains digits that look like a card number, and a test compares it with the identifier that was sent.
    fn is_random_id(&self, name: &HeaderName, value: &HeaderValue) -> bool {
        let Ok(id) = value.to_str() else { return false };
        let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let lengths: Vec<_> = id.split('-').map(str::len).collect();
        ID_HEADERS.contains(&name.as_str())
            && RANDOM_IDS.contains(&&*lengths)
            && id.bytes().all(|byte| is_hex(byte) || byte == b'-')
            && id.bytes().any(|byte| byte.is_ascii_lowercase())
            && !self.keys.iter().any(|key| id.contains(key))
    }

    /// A header's name without keys and card numbers. It has no upper case, so a key in it has none either.
    fn header_name(&self, name: &HeaderName) -> HeaderName {
        let keys: Vec<_> = self.keys.iter().map(|key| key.to_ascii_lowercase()).collect();
        let keys: Vec<_> = keys.iter().map(String::as_str).collect();
        let shown = mask(shown_name(name.as_str()), &keys);
        HeaderName::try_from(&*shown).unwrap_or(REDACTED_NAME)
    }

    /// The redacted name and value of a field of the body. The value is JSON.
    fn field<'t>(&self, name: &str, json: &'t str) -> (Cow<'static, str>, Cow<'t, str>) {
        let Some(known) = request_field(name) else {
            let name = self.text(shown_name(name)).into_owned();
            return (Cow::Owned(name), Cow::Borrowed(REDACTED_JSON));
        };
        let is_of_card = CARD_FIELDS.contains(&known);
        let value = if is_of_card { self.card_value(known, json) } else { self.shown_value(json) };
        (Cow::Borrowed(known), value)
    }

    /// The value of a field without keys and card numbers. No field of the interface is an object or an array, so those are
    /// redacted completely.
    fn shown_value<'t>(&self, json: &'t str) -> Cow<'t, str> {
        let text = match json.as_bytes() {
            [b'[' | b'{', ..] => None,
            // A string may hide digits behind escapes.
            [b'"', ..] if json.contains('\\') => serde_json::from_str(json).ok().map(Cow::Owned),
            [b'"', text @ .., b'"'] => Some(Cow::Borrowed(&json[1..=text.len()])),
            _ => Some(Cow::Borrowed(json)),
        };
        let Some(text) = text else { return Cow::Borrowed(REDACTED_JSON) };
        match self.text(&text) {
            Cow::Borrowed(_) => Cow::Borrowed(json),
            Cow::Owned(shown) => Cow::Owned(to_json(&shown)),
        }
    }

    fn card_value(&self, field: &str, json: &str) -> Cow<'static, str> {
        let number = (field == "CardNumber").then(|| serde_json::from_str::<String>(json).ok());
        match number.flatten() {
            Some(number) => Cow::Owned(to_json(&self.text(MaskedCard::new(&number).as_str()))),
            None => Cow::Borrowed(REDACTED_JSON),
        }
    }
}

/// The fields of a body without secrets, as a JSON object. One piece of memory, because a gateway stores many requests.
#[derive(Clone, Default)]
pub(crate) struct RedactedFields(String);

impl RedactedFields {
    /// The values as JSON by name. If a name is repeated, the last value counts.
    pub(crate) fn by_name(&self) -> BTreeMap<&str, &RawValue> {
        serde_json::from_str(&self.0).unwrap_or_default()
    }
}

impl PartialEq for RedactedFields {
    fn eq(&self, other: &Self) -> bool {
        to_json(&self.by_name()) == to_json(&other.by_name())
    }
}

/// Whether the header's name suggests a secret value.
fn has_secret_name(name: &HeaderName) -> bool {
    name != IDEMPOTENCY_KEY && SECRET_HEADER_WORDS.iter().any(|word| name.as_str().contains(word))
}

pub(crate) fn lossy(value: &HeaderValue) -> Cow<'_, str> {
    String::from_utf8_lossy(value.as_bytes())
}

/// A shorter key would match parts of unrelated words.
const SHORTEST_KEY: usize = 8;

const REDACTED: HeaderValue = HeaderValue::from_static("[redacted]");

const REDACTED_JSON: &str = r#""[redacted]""#;

/// How many hexadecimal digits stand between the dashes of a `traceparent`, of a UUID and of a trace's or a call's identifier.
const RANDOM_IDS: [&[usize]; 4] = [&[2, 32, 16, 2], &[8, 4, 4, 4, 12], &[32], &[16]];

/// Headers with a random identifier. Under another name, digits that look like a card number may be one.
const ID_HEADERS: [&str; 6] =
    ["traceparent", "x-request-id", "request-id", "x-correlation-id", "x-b3-traceid", "x-b3-spanid"];

/// For a name that cannot be shown.
const REDACTED_NAME: HeaderName = HeaderName::from_static("redacted");

/// Words in the names of headers that hold secrets. A value that arrives over a socket has no sensitive mark, so only the
/// name can tell.
const SECRET_HEADER_WORDS: [&str; 10] =
    ["auth", "card", "cookie", "cvc", "cvv", "key", "password", "secret", "session", "token"];

/// Not a secret, despite its name, and useful in tests.
const IDEMPOTENCY_KEY: &str = "idempotency-key";

#[cfg(test)]
mod tests {
    use http::header::{
        ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, USER_AGENT,
    };
    use proptest::prelude::*;

    use super::*;

    static KEY: HeaderValue = HeaderValue::from_static("key_of_a_test");

    #[test]
    fn harmless_header_names_contain_no_secret_word() {
        for name in [ACCEPT, ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, USER_AGENT] {
            assert!(!has_secret_name(&name), "{name}");
        }
        assert!(has_secret_name(&AUTHORIZATION));
    }

    #[test]
    fn a_shown_value_has_neither_key_nor_card_number_d62() {
        let redaction = Redaction::of([], Some(&KEY));
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
    fn a_random_id_keeps_digits_that_look_like_a_card_number() {
        let redaction = Redaction::of([], Some(&KEY));
        let shown = |name, value| {
            let sent =
                HeaderMap::from_iter([(HeaderName::from_static(name), HeaderValue::from_static(value))]);
            redaction.headers(&sent)[name].to_str().unwrap().to_owned()
        };
        for (name, id) in [
            ("traceparent", "00-2b770e962a6e2423008948863ebf383b-5596bb807342c7ee-01"),
            ("x-request-id", "a4242424-2424-4242-8242-42424242424b"),
            ("request-id", "2b770e962a6e2423008948863ebf383b"),
            ("x-correlation-id", "2b770e962a6e2423008948863ebf383b"),
            ("x-b3-traceid", "2b770e962a6e2423008948863ebf383b"),
            ("x-b3-spanid", "a378282246310005"),
        ] {
            assert_eq!(shown(name, id), id);
            // Under any other name it may be a card number.
            assert_ne!(shown("x-order", id), id);
        }
        for (name, number, masked) in [
            ("x-request-id", "4242424242424242", "************4242"),
            ("x-request-id", "a4242424242424242b", "a************4242b"),
            ("x-order", "a378282246310005", "a***********0005"),
        ] {
            assert_eq!(shown(name, number), masked);
        }
        let key = HeaderValue::from_static("0e962a6e2423008948863ebf");
        let sent = HeaderMap::from_iter([(
            HeaderName::from_static("traceparent"),
            HeaderValue::from_static("00-2b770e962a6e2423008948863ebf383b-5596bb807342c7ee-01"),
        )]);
        assert!(!format!("{:?}", Redaction::of([], Some(&key)).headers(&sent)).contains("2423008948863"));
    }

    #[test]
    fn s5_wrong_keys_are_redacted_and_short_keys_are_not() {
        let accepted = ["accepted_key", "order"];
        let shown = |presented| {
            let presented = HeaderValue::from_static(presented);
            Redaction::of(accepted, Some(&presented))
                .text("accepted_key wrong_key order payment")
                .into_owned()
        };
        assert_eq!(shown("wrong_key"), "[redacted] [redacted] order payment");
        assert_eq!(shown("accepted_key"), "[redacted] wrong_key order payment");
        assert_eq!(shown("payment"), "[redacted] wrong_key order payment");
    }

    #[test]
    fn a_path_for_a_log_has_neither_key_nor_card_number_d62() {
        let accepted = ["accepted_key"];
        for (path, shown) in [
            (
                "/customer/accepted_key/4242-4242-4242-4242/cus_1",
                "/customer/[redacted]/****-****-****-4242/cus_1",
            ),
            ("/customer/accepted%5Fkey/cus_1", "/[redacted]"),
            ("/customer/4242%204242%204242%204242", "/[redacted]"),
            ("/customer/cus%201", "/customer/cus%201"),
        ] {
            assert_eq!(Redaction::of(accepted, None).path(path), shown);
        }
        assert_eq!(
            Redaction::of(["key%41of%42a"], None).path("/customer/key%41of%42a"),
            "/customer/[redacted]"
        );
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
            let written = to_json(&text);
            // In one of the two, escapes of the text stay escapes.
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
        fn a_shown_value_is_json_without_the_key(json in value()) {
            let redaction = Redaction::of([], Some(&KEY));
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
