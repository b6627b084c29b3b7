//! No way of writing a secret that this suite can think of gets past scrubbing.

use std::fmt::Write;

use payments_model::{OtherFields, RawJson, scrub};
use proptest::prelude::*;
use proptest::sample::select;

/// A secret, and the same with separators in it.
#[derive(Clone, Debug)]
struct Echo {
    secret: String,
    spelled: String,
}

/// What an echo is written in.
#[derive(Clone, Copy, Debug)]
enum Notation {
    Plain,
    Json,
    JsonInJson,
    Url,
    Html,
}

/// Card number, key and account: the secrets that are found wherever they stand.
fn secret() -> impl Strategy<Value = String> {
    prop_oneof![
        "62[0-9]{10,17}",
        "[1-9][0-9]{11,18}",
        "(sk|key)_[a-z]{2,6}_[a-zA-Z0-9]{6,12}",
        "[A-Z]{2}[0-9]{2}[A-Z0-9]{10,20}",
        "[0-9]{8,17}",
        "[0-9]{3}/[0-9]{6,9}",
        "[äöü]{2}[0-9a-z]{7,9}",
    ]
}

/// Up to three characters that a person or a program puts between groups.
fn separator() -> impl Strategy<Value = String> {
    let common = select(vec!["", "", "", "", " ", "-", ".", "_", "/", "  ", "\u{a0}", " - "]);
    prop_oneof![9 => common.prop_map(str::to_owned), 1 => "[ ./:+\\-]{0,3}"]
}

fn echo() -> impl Strategy<Value = Echo> {
    (secret(), proptest::collection::vec(separator(), 40)).prop_map(|(secret, separators)| {
        let mut letters = secret.chars().filter(|character| character.is_alphanumeric()).peekable();
        let mut separators = separators.into_iter();
        let mut spelled = String::new();
        while let Some(letter) = letters.next() {
            spelled.push(letter);
            if letters.peek().is_some() {
                spelled.extend(separators.next());
            }
        }
        Echo { secret, spelled }
    })
}

fn notation() -> impl Strategy<Value = Notation> {
    select(vec![Notation::Plain, Notation::Json, Notation::JsonInJson, Notation::Url, Notation::Html])
}

/// Writes a text in a notation; `escapes` decides which of the characters that need no escape have one.
fn written(text: &str, notation: Notation, escapes: &[bool]) -> String {
    let escapes = escapes.iter().cycle();
    let mut written = String::new();
    for (character, &is_escaped) in text.chars().zip(escapes) {
        let must_be = match notation {
            Notation::Plain => false,
            Notation::Json | Notation::JsonInJson => matches!(character, '"' | '\\'),
            Notation::Url => !character.is_ascii_alphanumeric() && character.is_ascii(),
            Notation::Html => matches!(character, '&' | '<' | '"'),
        };
        match notation {
            Notation::Json | Notation::JsonInJson if is_escaped || must_be => {
                let mut units = [0; 2];
                for unit in character.encode_utf16(&mut units) {
                    write!(written, "\\u{unit:04x}").unwrap();
                }
            }
            Notation::Url if (is_escaped && character.is_ascii()) || must_be => {
                write!(written, "%{:02X}", u32::from(character)).unwrap();
            }
            Notation::Html if is_escaped || must_be => {
                write!(written, "&#{};", u32::from(character)).unwrap();
            }
            _ => written.push(character),
        }
    }
    match notation {
        Notation::JsonInJson => written.replace('\\', "\\\\"),
        _ => written,
    }
}

fn undo(text: &str, notation: Notation) -> String {
    let json = |text: &str| serde_json::from_str::<String>(&format!("\"{text}\"")).unwrap();
    match notation {
        Notation::Plain => text.to_owned(),
        Notation::Json => json(text),
        Notation::JsonInJson => json(&json(text)),
        Notation::Url => replace_each(text, "%", 2, |hex| u32::from_str_radix(hex, 16).ok()),
        Notation::Html => (32..0x180).fold(text.to_owned(), |text, code| {
            text.replace(&format!("&#{code};"), &char::from_u32(code).unwrap().to_string())
        }),
    }
}

fn replace_each(text: &str, lead: &str, length: usize, code: impl Fn(&str) -> Option<u32>) -> String {
    let mut parts = text.split(lead);
    let mut undone = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.get(..length).and_then(&code).and_then(char::from_u32) {
            Some(character) => undone.extend([character.to_string().as_str(), &part[length..]]),
            None => undone.extend([lead, part]),
        }
    }
    undone
}

fn letters(text: &str) -> String {
    text.chars().filter(|character| character.is_alphanumeric()).collect()
}

#[track_caller]
fn assert_stays(scrubbed: &str, secrets: &[&str]) {
    assert_eq!(scrub(scrubbed, secrets), scrubbed);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn d64_no_spelling_of_a_long_secret_survives(
        echo in echo(),
        notation in notation(),
        escapes in proptest::collection::vec(any::<bool>(), 1..30),
        before in "[a-z0-9 %&\"'\\\\=:/-]{0,6}",
        after in "[a-z0-9 %&\"'\\\\=:/-]{0,6}",
    ) {
        let echoed = written(&format!("{before}{}{after}", echo.spelled), notation, &escapes);
        for text in [format!("{{\"msg\":\"{echoed}\",\"a\":1}}"), format!("<p>{echoed}")] {
            let secrets = ["917", &echo.secret, "1137"];
            let scrubbed = scrub(&text, &secrets);
            assert_stays(&scrubbed, &secrets);
            prop_assert!(!letters(&scrubbed).contains(&letters(&echo.secret)), "{text} became {scrubbed}");
        }
        let scrubbed = scrub(&echoed, &[&echo.secret]);
        let seen = letters(&undo(&scrubbed, notation));
        prop_assert!(!seen.contains(&letters(&echo.secret)), "{echoed} became {scrubbed}");
        prop_assert!(!letters(&scrubbed).contains(&letters(&echo.secret)), "{echoed} became {scrubbed}");
    }

    #[test]
    fn d64_no_short_secret_survives_between_other_words(
        secret in "[0-9]{3,4}",
        notation in notation(),
        escapes in proptest::collection::vec(any::<bool>(), 1..30),
        before in "([a-z]{0,4}[ \"'(=\n\t])?",
        after in "([ \"'),\n\t][a-z]{0,4})?",
    ) {
        let echoed = written(&format!("{before}{secret}{after}"), notation, &escapes);
        let scrubbed = scrub(&echoed, &[&secret]);
        assert_stays(&scrubbed, &[&secret]);
        prop_assert!(!undo(&scrubbed, notation).contains(&secret), "{echoed} became {scrubbed}");
    }

    #[test]
    fn d64_no_valid_card_number_survives(
        notation in notation(),
        escapes in proptest::collection::vec(any::<bool>(), 1..30),
        separator in select(vec!["", " ", "-", ".", "_", "/", "  ", "\u{a0}"]),
        before in "[a-z \"'=:]{0,5}",
        after in "[a-z \"'=:]{0,5}",
    ) {
        let number = ["4929", "9073", "9031", "8794"].join(separator);
        let echoed = written(&format!("{before}{number}{after}"), notation, &escapes);
        let scrubbed = scrub(&echoed, &[]);
        assert_stays(&scrubbed, &[]);
        prop_assert!(!undo(&scrubbed, notation).contains(['0', '2', '3']), "{echoed} became {scrubbed}");
    }

    #[test]
    fn d62_no_spelling_of_a_long_secret_stays_in_a_record(
        echo in echo(),
        escapes in proptest::collection::vec(any::<bool>(), 1..30),
    ) {
        let mut fields = OtherFields::default();
        let json = format!("\"{}\"", written(&echo.spelled, Notation::Json, &escapes));
        fields.insert("x", RawJson::parse(&json).unwrap());
        fields.redact_echoes(&[&echo.secret]);
        prop_assert_eq!(fields.get("x").unwrap().text(), "\"[redacted]\"");
    }

    #[test]
    fn d64_whatever_the_text_nothing_panics_and_what_is_scrubbed_stays(
        text in any::<String>(),
        like in "([cvpan]{1,3}|[0-9]{1,6}|[\\\\u\"'{}\\[\\]:=%&#;* _./,-]|\\\\u00[0-9a-f]{2}|\\\\ud8|cvv|\\\\n|%2|&#4){0,30}",
        secrets in proptest::collection::vec(prop_oneof!["[0-9]{0,10}", "[abn \"\\\\%]{0,5}", any::<String>()], 0..4),
    ) {
        let secrets: Vec<&str> = secrets.iter().map(String::as_str).collect();
        for text in [&text, &like] {
            let scrubbed = scrub(text, &secrets);
            prop_assert!(!scrubbed.contains(char::is_control));
            assert_stays(&scrubbed, &secrets);
        }
    }

    #[test]
    fn d64_a_text_without_secrets_is_left_as_it_is(
        text in "([a-z]{1,9}|[0-9]{1,4}|[0-9]{4}-[0-9]{2}-[0-9]{2}T|[0-9]{1,3}\\.[0-9]{2}, |[\\\\\"'{}\\[\\]=%&#;* _./,-]|\\\\u00e4|%20[a-z]|ä){0,7}",
    ) {
        let could_be_card_number = text.bytes().filter(u8::is_ascii_digit).count() >= 12;
        let not_spelled_by_these = ["SK_LIVE_51HQX", "DE89370400440532013000", "Q17"];
        prop_assert!(could_be_card_number || scrub(&text, &not_spelled_by_these) == text);
    }
}
