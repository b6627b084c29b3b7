use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use http::HeaderValue;
use payments_model::mask;
use payments_model::unversioned::{
    Envelope, contains_long_secret, contains_secret, redact, without_half_a_number,
};

/// The secrets of a call, to be masked in the texts that are kept of it: those of the request and the API key. They are borrowed, so
/// nothing that outlives the call has a copy.
#[derive(Default)]
pub(crate) struct Secrets<'a> {
    of_request: Vec<&'a str>,
    api_key: Option<&'a str>,
}

impl<'a> Secrets<'a> {
    pub(crate) fn new(of_request: Vec<&'a str>, api_key: &'a HeaderValue) -> Self {
        Self { of_request, api_key: api_key.to_str().ok() }
    }

    fn iter(&self) -> impl Iterator<Item = &'a str> {
        self.of_request.iter().copied().chain(self.api_key)
    }

    /// Whether masking would replace one of them in this text.
    pub(crate) fn are_masked_in(&self, text: &str) -> bool {
        self.iter().any(|secret| contains_secret(text, &[secret]))
    }

    /// The id without the API key and this card number, if it contains one of them. Nothing else is replaced: by chance, a security
    /// code occurs in more than one of a hundred random ids.
    pub(crate) fn redacted_id(&self, id: &str, card_number: Option<&str>) -> Option<String> {
        match redact(id, &[card_number, self.api_key].map(Option::unwrap_or_default)) {
            Cow::Owned(redacted) => Some(redacted),
            Cow::Borrowed(_) => None,
        }
    }

    /// Whether a secret occurs in a text that cannot be masked, such as an id. Secrets that are short enough to occur by chance do not
    /// count.
    pub(crate) fn are_in(&self, text: &str) -> bool {
        self.iter().any(|secret| contains_long_secret(text, &[secret]))
    }

    /// Returns the text [masked](mask), on one line and cut to this length.
    pub(crate) fn mask(&self, text: &str, max_bytes: usize) -> String {
        let kept = match text.as_bytes().get(..max_bytes) {
            None => text,
            Some(start) => &text[..text.floor_char_boundary(self.without_half_a_secret(start).len())],
        };
        let secrets: Vec<&str> = self.iter().collect();
        let text = mask(kept, &secrets);
        let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        let mut text = if is_plain { text.into_owned() } else { text.replace(is_unprintable, " ") };
        text.truncate(text.floor_char_boundary(max_bytes));
        text
    }

    /// The same for a message, which may already be cut.
    pub(crate) fn mask_message(&self, text: &str, max_bytes: usize) -> String {
        let longest = Envelope::MAX_JOINED_CHARACTERS;
        let is_cut = text.len() >= longest && text.chars().count() == longest;
        let length = if is_cut { self.without_half_a_secret(text.as_bytes()).len() } else { text.len() };
        self.mask(&text[..text.floor_char_boundary(length)], max_bytes)
    }

    /// The `Debug` of a value, if it shows one of the secrets.
    pub(crate) fn debug_of(&self, value: &dyn fmt::Debug) -> MaskedDebug {
        let forms = [format!("{value:?}"), format!("{value:#?}")];
        if !forms.iter().any(|form| self.are_masked_in(form)) {
            return MaskedDebug::default();
        }
        let secrets: Vec<&str> = self.iter().collect();
        MaskedDebug(Some(Arc::new(forms.map(|form| mask(&form, &secrets).into_owned()))))
    }

    /// Removes part of a secret from the end of a text that was cut, because masking would not recognize it.
    pub(crate) fn without_half_a_secret<'t>(&self, start: &'t [u8]) -> &'t [u8] {
        let halves = self.iter().filter_map(|secret| {
            let secret = secret.as_bytes();
            (1..secret.len()).rev().find(|&length| start.ends_with(&secret[..length]))
        });
        without_half_a_number(&start[..start.len() - halves.max().unwrap_or(0)])
    }

    /// Returns a `status_code` masked. A short number is kept even if it equals a secret: a security code of 400 must not hide the
    /// service's `status_code` 400.
    pub(crate) fn mask_code(&self, text: &str, max_bytes: usize) -> String {
        let is_short_number =
            text.len() < MIN_DISTINCTIVE_BYTES && text.bytes().all(|byte| byte.is_ascii_digit());
        if is_short_number { text.to_owned() } else { self.mask(text, max_bytes) }
    }
}

/// Whether and how a body repeats a secret of its request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeats {
    Nothing,
    /// Once its escapes are read.
    Escaped,
    AsSent,
}

/// A shorter secret, such as a security code or an expiry, occurs by chance.
const MIN_DISTINCTIVE_BYTES: usize = 8;

/// Control characters, and separators and direction marks that can change how a log line looks.
fn is_unprintable(character: char) -> bool {
    character.is_control() || matches!(character, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The `Debug` of a value in both forms, masked when the value was read, if it shows a secret: no secret is kept for later.
#[derive(Clone, Default)]
pub(crate) struct MaskedDebug(Option<Arc<[String; 2]>>);

impl MaskedDebug {
    /// What to show for the value. Card-like numbers are masked too.
    pub(crate) fn shown<'a>(&'a self, value: &'a dyn fmt::Debug) -> impl fmt::Debug + 'a {
        Shown { value, forms: self.0.as_deref() }
    }
}

struct Shown<'a> {
    value: &'a dyn fmt::Debug,
    forms: Option<&'a [String; 2]>,
}

impl fmt::Debug for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { value, forms } = self;
        match forms {
            Some(forms) => f.write_str(&forms[usize::from(f.alternate())]),
            None if f.alternate() => f.write_str(&mask(&format!("{value:#?}"), &[])),
            None => f.write_str(&mask(&format!("{value:?}"), &[])),
        }
    }
}
