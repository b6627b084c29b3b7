use std::fmt;

use crate::Canaries;
use crate::reading::Reading;

/// A secret found where it must not be.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sighting {
    /// `card`, `cvv`, `expiry`, `account` or `key`.
    pub secret: &'static str,
    /// How it is encoded, such as `base64` or `hex of escaped`.
    pub form: String,
    /// The text around it.
    pub excerpt: String,
}

impl fmt::Display for Sighting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { secret, form, excerpt } = self;
        write!(f, "{secret}, {form}: {excerpt}")
    }
}

impl Sighting {
    /// Whether the secret is so short that it may occur by chance.
    pub(crate) fn may_be_chance(&self) -> bool {
        matches!(self.secret, "cvv" | "expiry")
    }
}

pub(crate) fn list(sightings: &[Sighting]) -> String {
    let lines: Vec<_> = sightings.iter().map(|sighting| format!("  {sighting}")).collect();
    lines.join("\n")
}

/// Finds every secret in the bytes and their decodings. A long secret counts if ten consecutive characters of it are there, in
/// any case and with any separators; a short one only as a whole word. The card number is also searched for as an integer.
pub(crate) fn all(canaries: &Canaries, bytes: &[u8]) -> Vec<Sighting> {
    let long = [("card", canaries.card()), ("account", canaries.account()), ("key", canaries.key())];
    let long = long.map(|(name, secret)| (name, Parts::of(secret)));
    let (month, year) = canaries.expiry().split_at(2);
    let expiries = [
        canaries.expiry().to_owned(),
        format!("{month}/{year}"),
        format!("{month}-{year}"),
        format!("{month} / {year}"),
        format!("{month}/20{year}"),
        format!("20{year}-{month}"),
    ];
    let mut found: Vec<Sighting> = Vec::new();
    let mut add = |secret, form: String, text: &[u8], at: usize| {
        if !found.iter().any(|known| known.secret == secret && known.form == form) {
            found.push(Sighting { secret, form, excerpt: excerpt(text, at) });
        }
    };
    for reading in Reading::all(bytes) {
        let text = &reading.text;
        let joined = without_separators(text);
        for (name, parts) in &long {
            if let Some(at) = parts.find(text) {
                add(name, reading.form.clone(), text, at);
            } else if let Some(at) = parts.find(&joined) {
                add(name, format!("{}, split", reading.form), &joined, at);
            }
        }
        if let Some(at) = find_word(text, canaries.cvv()) {
            add("cvv", reading.form.clone(), text, at);
        }
        if let Some(at) = expiries.iter().find_map(|expiry| find_word(text, expiry)) {
            add("expiry", reading.form.clone(), text, at);
        }
    }
    let integer: u64 = canaries.card().parse().expect("sixteen digits are an integer");
    for (form, needle) in [("big-endian", integer.to_be_bytes()), ("little-endian", integer.to_le_bytes())] {
        if let Some(at) = bytes.windows(needle.len()).position(|window| window == needle) {
            add("card", form.to_owned(), bytes, at);
        }
    }
    found
}

/// The parts of a secret that are long enough not to occur by chance.
struct Parts {
    lower: Vec<u8>,
    /// For each pair of bytes, whether a part begins with it.
    begins: Vec<bool>,
}

impl Parts {
    const LENGTH: usize = 10;

    fn of(secret: &str) -> Self {
        let lower = secret.to_ascii_lowercase().into_bytes();
        let mut begins = vec![false; 1 << 16];
        for part in lower.windows(Self::LENGTH) {
            begins[pair(part)] = true;
        }
        Self { lower, begins }
    }

    fn find(&self, text: &[u8]) -> Option<usize> {
        let is_part = |window: &[u8]| {
            self.begins[pair(window)]
                && self.lower.windows(Self::LENGTH).any(|part| part.eq_ignore_ascii_case(window))
        };
        text.windows(Self::LENGTH).position(is_part)
    }
}

fn pair(bytes: &[u8]) -> usize {
    usize::from(bytes[0].to_ascii_lowercase()) << 8 | usize::from(bytes[1].to_ascii_lowercase())
}

/// Whether the text contains this as a whole word. Distinguishes a short secret from digits of a longer number.
pub fn has_word(text: &str, word: &str) -> bool {
    find_word(text.as_bytes(), word).is_some()
}

fn find_word(text: &[u8], word: &str) -> Option<usize> {
    let is_outside = |at: Option<usize>| {
        at.and_then(|at| text.get(at)).is_none_or(|neighbor| !neighbor.is_ascii_alphanumeric())
    };
    let mut from = 0;
    while let Some(at) = find(&text[from..], word.as_bytes()) {
        let at = from + at;
        if is_outside(at.checked_sub(1)) && is_outside(Some(at + word.len())) {
            return Some(at);
        }
        from = at + 1;
    }
    None
}

fn find(text: &[u8], needle: &[u8]) -> Option<usize> {
    text.windows(needle.len()).position(|window| window[0] == needle[0] && window == needle)
}

/// Removes the separators that people and formats put between digits.
fn without_separators(text: &[u8]) -> Vec<u8> {
    let is_separator = |byte: &u8| {
        matches!(
            byte,
            b' ' | b'-' | b'.' | b'_' | b'/' | b',' | b'+' | b':' | b'\'' | b'"' | b'\n' | 0xa0 | 0xc2
        )
    };
    text.iter().copied().filter(|byte| !is_separator(byte)).collect()
}

fn excerpt(text: &[u8], at: usize) -> String {
    const AROUND: usize = 60;
    text[at.saturating_sub(AROUND)..text.len().min(at + AROUND)].escape_ascii().to_string()
}
