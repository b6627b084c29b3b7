//! Is a secret found in every form?

use payments_canary::Canaries;

type Form = (&'static str, fn(&str) -> String);

fn each_byte(text: &str, write: impl Fn(u8) -> String) -> Vec<String> {
    text.bytes().map(write).collect()
}

fn base64(text: &str) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let letters = text.as_bytes().chunks(3).flat_map(|chunk| {
        let bits =
            chunk.iter().chain(&[0; 2]).take(3).fold(0_usize, |bits, byte| bits << 8 | usize::from(*byte));
        let shown = chunk.len() + 1;
        (0..4).map(
            move |place| {
                if place < shown { char::from(LETTERS[bits >> (18 - 6 * place) & 63]) } else { '=' }
            },
        )
    });
    letters.collect()
}

fn spaced(text: &str, length: usize, separator: &str) -> String {
    let groups: Vec<_> =
        text.as_bytes().chunks(length).map(|group| String::from_utf8_lossy(group).into_owned()).collect();
    groups.join(separator)
}

/// Forms in which every secret is found.
const FORMS_OF_ALL: [Form; 22] = [
    ("plain", str::to_owned),
    ("percent-encoded", |text| each_byte(text, |byte| format!("%{byte:02X}")).concat()),
    ("percent-encoded twice", |text| each_byte(text, |byte| format!("%25{byte:02x}")).concat()),
    ("escaped as JSON", |text| each_byte(text, |byte| format!("\\u{byte:04x}")).concat()),
    ("escaped as JSON within JSON", |text| each_byte(text, |byte| format!("\\\\u{byte:04X}")).concat()),
    ("escaped as Rust", |text| each_byte(text, |byte| format!("\\u{{{byte:x}}}")).concat()),
    ("escaped bytes", |text| each_byte(text, |byte| format!("\\x{byte:02x}")).concat()),
    ("entities", |text| each_byte(text, |byte| format!("&#{byte};")).concat()),
    ("hexadecimal entities", |text| each_byte(text, |byte| format!("&#x{byte:x};")).concat()),
    ("base64", base64),
    ("base64 of a pair", |text| base64(&format!("u:{text}"))),
    ("base64 of another pair", |text| base64(&format!("us:{text}:"))),
    ("base64 of a third pair", |text| base64(&format!("usr:{text}"))),
    ("base64 of JSON", |text| base64(&format!("{{\"Cvv\":\"{text}\"}}"))),
    ("base64 for addresses", |text| base64(&format!("u:{text}")).replace('+', "-").replace('/', "_")),
    ("hex", |text| each_byte(text, |byte| format!("{byte:02x}")).concat()),
    ("hex in capitals", |text| each_byte(text, |byte| format!("{byte:02X}")).concat()),
    ("hex with spaces", |text| each_byte(text, |byte| format!("{byte:02x}")).join(" ")),
    ("hex with marks", |text| format!("[{}]", each_byte(text, |byte| format!("0x{byte:02x}")).join(", "))),
    ("list of bytes", |text| format!("{:?}", text.as_bytes())),
    ("list of bytes, on several lines", |text| format!("{:#?}", text.as_bytes())),
    ("utf-16", |text| each_byte(text, |byte| format!("{}\0", char::from(byte))).concat()),
];

/// Forms in which only long secrets are found, because three digits with a space between them occur everywhere.
const FORMS_OF_LONG: [Form; 8] = [
    ("groups of four", |text| spaced(text, 4, " ")),
    ("groups with hyphens", |text| spaced(text, 4, "-")),
    ("groups with dots", |text| spaced(text, 3, ".")),
    ("single characters", |text| spaced(text, 1, " ")),
    ("groups, percent-encoded", |text| spaced(text, 4, "%20")),
    ("within a word", |text| format!("x{text}y")),
    ("cut off", |text| text[..12].to_owned()),
    ("without its beginning", |text| text[text.len() - 12..].to_owned()),
];

/// The form within text that contains incomplete encodings.
fn planted(form: &str) -> String {
    format!("a 502 at 127.0.0.1:40123, {{\"a\":[1, 2]}} %zz \\q & \\u12 {form} \\ 0x1 %2 &#; ==")
}

#[test]
fn every_secret_is_found_in_every_form() {
    for number in 0..Canaries::SETS {
        let canaries = Canaries::set(number);
        assert_eq!(canaries.sightings(planted("").as_bytes()), []);
        let long = [("card", canaries.card()), ("account", canaries.account()), ("key", canaries.key())];
        let short = [("cvv", canaries.cvv()), ("expiry", canaries.expiry())];
        let of_any = long.iter().chain(&short).flat_map(|secret| FORMS_OF_ALL.map(|form| (*secret, form)));
        let of_long = long.iter().flat_map(|secret| FORMS_OF_LONG.map(|form| (*secret, form)));
        for ((name, secret), (form, write)) in of_any.chain(of_long) {
            let text = planted(&write(secret));
            let found = canaries.sightings(text.as_bytes());
            assert!(found.iter().any(|sighting| sighting.secret == name), "{name}, {form}: {text}");
            assert!(found.iter().all(|sighting| sighting.secret == name), "{name}, {form}: {found:?}");
        }
    }
}

#[test]
fn expiry_is_found_as_people_write_it() {
    let canaries = Canaries::set(0);
    for text in ["11/37", "11-37", "11 / 37", "11/2037", "2037-11", "11\\/37", "11%2f37"] {
        let found = canaries.sightings(planted(text).as_bytes());
        assert!(found.iter().any(|sighting| sighting.secret == "expiry"), "{text}");
    }
}

#[test]
fn card_number_is_found_as_integer() {
    let canaries = Canaries::set(0);
    let integer: u64 = canaries.card().parse().expect("digits");
    for bytes in [integer.to_le_bytes(), integer.to_be_bytes()] {
        let page = [b"row ", bytes.as_slice(), b" end"].concat();
        assert_eq!(canaries.sightings(&page).len(), 1);
    }
}

#[test]
fn masked_values_are_not_sightings() {
    let canaries = Canaries::set(0);
    for text in ["************8794", "visa ending 8794", "x917", "9170", "a917b", "1137000", "4929 8794"] {
        assert_eq!(canaries.sightings(text.as_bytes()), [], "{text}");
    }
}

#[test]
#[should_panic(expected = "secrets in the log:\n  cvv, plain: code 917")]
fn assertion_names_the_secret_and_the_place() {
    Canaries::set(0).assert_absent("the log", b"code 917");
}

#[test]
#[should_panic(expected = "the log is empty")]
fn empty_text_is_an_error() {
    Canaries::set(0).assert_absent("the log", b"");
}
